// Package hlc is a hybrid logical clock: stamps that follow wall time when it
// behaves, and keep rising when it does not.
//
// The rule is Kulkarni et al., "Logical Physical Clocks and Consistent
// Snapshots in Globally Distributed Databases" (2014): a stamp is the larger of
// the wall clock and one past everything issued or observed before it. A write
// made after reading a value is therefore stamped above that value, whatever
// the two machines' clocks say.
//
// HAZARD: a stamp far in the future drags the clock with it, and nothing here
// pulls it back but Reset. One peer with a clock a year ahead, once observed, makes every
// later stamp of this node a year ahead too, and the nodes that observe those
// follow. Callers bound a stamp against a reference time before they observe
// it, and check Peek before they issue.
package hlc

import (
	"sync/atomic"
	"time"
)

// Clock issues stamps. It is safe for concurrent use and must not be copied.
type Clock struct {
	wall func() time.Time
	// last is the highest stamp issued or observed. It only ever rises, save by
	// Reset.
	last atomic.Uint64
}

// NewClock returns a clock that reads physical time from wall and issues
// nothing at or below floor. A node that reopens passes the highest stamp it
// may have issued before, or the restart reissues stamps. wall is called from
// the caller's goroutine and must be safe for concurrent use.
func NewClock(wall func() time.Time, floor Timestamp) *Clock {
	c := &Clock{wall: wall}
	c.last.Store(uint64(floor))
	return c
}

// Now issues a stamp, strictly above every stamp issued or observed before.
// A wall clock before 1970 counts as 1970. Only at Max, in the year 10889, is
// there nothing above to issue, and Max is repeated.
func (c *Clock) Now() Timestamp {
	wall := c.wallStamp()
	for {
		last := c.last.Load()
		next := after(Timestamp(last), wall)
		if c.last.CompareAndSwap(last, uint64(next)) {
			return next
		}
	}
}

// Observe takes note of a stamp seen elsewhere: every later Now is above t.
// It is the paper's receive rule, written as a maximum over whole stamps, so
// that an equal wall part cannot lose the larger counter. See HAZARD above.
func (c *Clock) Observe(t Timestamp) {
	for {
		last := c.last.Load()
		if uint64(t) <= last || c.last.CompareAndSwap(last, uint64(t)) {
			return
		}
	}
}

// Reset sets the clock back to t, for a caller that issues from here on under
// another name: stamps rise per writer, and a writer whose clock was wrong is
// over.
func (c *Clock) Reset(t Timestamp) { c.last.Store(uint64(t)) }

// Last returns the highest stamp issued or observed, or the floor.
func (c *Clock) Last() Timestamp { return Timestamp(c.last.Load()) }

// Peek returns the stamp Now would issue at this moment, without issuing it.
func (c *Clock) Peek() Timestamp { return after(c.Last(), c.wallStamp()) }

// Wall returns physical time as the clock reads it, untouched by any stamp.
func (c *Clock) Wall() time.Time { return c.wall() }

func (c *Clock) wallStamp() Timestamp { return At(c.wall().UnixMilli(), 0) }

func after(last, wall Timestamp) Timestamp { return max(last.Next(), wall) }
