package api

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"driftless.dev/resource"
)

// Concern is where a write shall be before it is answered. It is acknowledged
// when it is local, whatever else is waited for.
type Concern struct {
	Level string
	// Peers is how many other members LevelPeers waits for.
	Peers int
}

// The levels.
const (
	LevelLocal  = "local"
	LevelStream = "stream" // JetStream's acknowledgement, which is not durable
	LevelPeers  = "peers"
	LevelFleet  = "fleet"
)

// ParseConcern reads the form of the Driftless-Wait header: local, stream,
// peers=N or fleet; "" is local. Errors wrap resource.ErrInvalid.
func ParseConcern(s string) (Concern, error) {
	switch s {
	case "", LevelLocal:
		return Concern{Level: LevelLocal}, nil
	case LevelStream, LevelFleet:
		return Concern{Level: s}, nil
	}
	if digits, ok := strings.CutPrefix(s, LevelPeers+"="); ok {
		if n, err := strconv.ParseUint(digits, 10, 16); err == nil && n > 0 {
			return Concern{Level: LevelPeers, Peers: int(n)}, nil
		}
	}
	return Concern{}, fmt.Errorf("%w: %.64q is not local, stream, peers=N or fleet", resource.ErrInvalid, s)
}

// String is the form that ParseConcern reads.
func (c Concern) String() string {
	if c.Level == LevelPeers {
		return LevelPeers + "=" + strconv.Itoa(c.Peers)
	}
	return c.Level
}

// WaitResult is what a wait came to.
type WaitResult struct {
	Reached, Wanted int
	// Missing names the members that have not applied the write.
	Missing []string
	// Superseded: the write lost to another one meanwhile.
	Superseded bool
}

// String is the form of the Driftless-Wait-Result header:
// "reached=2/3 missing=c superseded". Names are escaped as in a path.
func (r WaitResult) String() string {
	s := fmt.Sprintf("reached=%d/%d", r.Reached, r.Wanted)
	for i, name := range r.Missing {
		sep := ","
		if i == 0 {
			sep = " missing="
		}
		s += sep + url.PathEscape(name)
	}
	if r.Superseded {
		s += " superseded"
	}
	return s
}

// Bounds of a wait.
const (
	defaultWait      = 5 * time.Second
	defaultFleetWait = 30 * time.Second
	maxWait          = 10 * time.Minute
)

// parseTimeout reads a duration such as "5s".
func parseTimeout(field, s string, otherwise time.Duration) (time.Duration, error) {
	if s == "" {
		return otherwise, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 || d > maxWait {
		return 0, malformed("%s %.64q is not a duration such as 5s, at most %s", field, s, maxWait)
	}
	return d, nil
}
