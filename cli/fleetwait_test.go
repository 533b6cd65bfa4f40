package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"driftless.dev/fleet"
)

// slowNode agrees after a while.
type slowNode struct {
	node
	agreesAt time.Time
}

func (n *slowNode) Wait(_ context.Context, timeout time.Duration) (fleet.Fleet, error) {
	time.Sleep(min(timeout, max(time.Until(n.agreesAt), 0)))
	if time.Now().Before(n.agreesAt) {
		return fleet.Fleet{Reason: "2 different roots"}, nil
	}
	return fleet.Fleet{Converged: true}, nil
}

// Progress is for terminals; the time is kept to either way.
func TestAwait(t *testing.T) {
	for _, tt := range []struct {
		name           string
		terminal       bool
		after, timeout time.Duration
		converged      bool
		notes          int
	}{
		{"agrees, seen", true, 5 * time.Second, time.Minute, true, 2},
		{"agrees, unseen", false, 45 * time.Second, time.Minute, true, 0},
		{"too late, seen", true, time.Hour, 5 * time.Second, false, 2},
		{"too late, unseen", false, time.Hour, time.Minute, false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var stderr bytes.Buffer
				a := &app{cfg: Config{Stderr: &stderr, Terminal: tt.terminal}}
				start := time.Now()
				f, err := a.await(t.Context(), &slowNode{agreesAt: start.Add(tt.after)}, tt.timeout)
				if err != nil || f.Converged != tt.converged {
					t.Fatalf("got %+v, %v", f, err)
				}
				if took := time.Since(start); took != min(tt.after, tt.timeout) {
					t.Errorf("took %s", took)
				}
				if got := strings.Count(stderr.String(), "NOT CONVERGED: 2 different roots ("); got != tt.notes {
					t.Errorf("%d notes, want %d:\n%s", got, tt.notes, &stderr)
				}
			})
		})
	}
}
