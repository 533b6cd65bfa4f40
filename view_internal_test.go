package driftless

import (
	"slices"
	"strings"
	"testing"
	"time"

	"driftless.dev/replicate"
)

// Conditions name what is wrong now: each cause has its own words, and what
// happened once goes after a minute.
func TestTroubles(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		status replicate.Status
		want   []string
	}{
		"nothing":                             {replicate.Status{}, nil},
		"another process":                     {replicate.Status{CloneAt: now}, []string{"CloneSuspected: another process"}},
		"a stamp twice":                       {replicate.Status{Counters: replicate.Counters{Clones: 1}}, []string{"CloneSuspected: two writes carry one stamp"}},
		"foreign":                             {replicate.Status{Foreign: "x", ForeignAt: now.Add(-59 * time.Second)}, []string{"ForeignHeartbeat: x"}},
		"foreign, once":                       {replicate.Status{Foreign: "x", ForeignAt: now.Add(-time.Minute)}, nil},
		"foreign, before the clock went back": {replicate.Status{Foreign: "x", ForeignAt: now.Add(time.Hour)}, nil},
		"publishing":                          {replicate.Status{PublishError: "no space"}, []string{"PublishFailing: no space"}},
		"clock":                               {replicate.Status{ClockSure: true, ClockOffset: -31 * time.Second, PublishError: "y"}, []string{"ClockSkew: ", "PublishFailing: y"}},
		"clock, unsure":                       {replicate.Status{ClockOffset: time.Hour}, nil},
	} {
		if got := troubles(&c.status, now, time.Minute); !slices.EqualFunc(got, c.want, strings.HasPrefix) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
