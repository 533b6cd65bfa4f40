package hlc_test

import (
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"driftless.dev/hlc"
	"pgregory.net/rapid"
)

// manual is a wall clock that the test moves, in Unix milliseconds.
type manual struct{ ms int64 }

func (m *manual) now() time.Time { return time.UnixMilli(m.ms) }

// The send and receive steps of Kulkarni et al., figure 5, at one node. A
// receive here is Observe and then the stamp of the receive event itself.
func TestClock_PaperStepTable(t *testing.T) {
	wall := &manual{}
	clock := hlc.NewClock(wall.now, 0)
	for i, step := range []struct {
		wall    int64
		receive hlc.Timestamp // zero: a local or send event
		want    hlc.Timestamp
	}{
		{wall: 5, want: hlc.At(5, 0)},
		{wall: 6, want: hlc.At(6, 0)},
		{wall: 6, want: hlc.At(6, 1)},                                  // l' = l: count
		{wall: 10, receive: hlc.At(10, 5), want: hlc.At(10, 6)},        // l' = pt = m: above m's counter
		{wall: 7, want: hlc.At(10, 7)},                                 // wall behind
		{wall: 8, receive: hlc.At(10, 4), want: hlc.At(10, 8)},         // l' = l = m: above the larger counter
		{wall: 8, receive: hlc.At(10, 99), want: hlc.At(10, 100)},      // the same, m's counter larger
		{wall: 9, receive: hlc.At(1100, 888), want: hlc.At(1100, 889)}, // l' = m
		{wall: 20, receive: hlc.At(1099, 888), want: hlc.At(1100, 890)},
		{wall: 1200, receive: hlc.At(1150, 3), want: hlc.At(1200, 0)}, // l' = pt: count anew
		{wall: 1200, want: hlc.At(1200, 1)},
	} {
		wall.ms = step.wall
		clock.Observe(step.receive)
		if got := clock.Now(); got != step.want {
			t.Fatalf("step %d: %v, want %v", i, got, step.want)
		}
	}
}

// calimero-network/core#2635: the receive rule skipped an equal wall part.
func TestObserve_EqualMillisecondKeepsTheLargerCounter(t *testing.T) {
	wall := &manual{ms: 100}
	clock := hlc.NewClock(wall.now, hlc.At(100, 5))
	clock.Observe(hlc.At(100, 9))
	if got := clock.Now(); got < hlc.At(100, 10) {
		t.Fatalf("Now() = %v after observing 100.9", got)
	}
}

// P6: stamps rise strictly, across clock steps and restarts.
func TestNow_RisesWhileTheWallGoesBackAnHour(t *testing.T) {
	wall := &manual{ms: time.Hour.Milliseconds() * 24}
	clock := hlc.NewClock(wall.now, 0)
	before := clock.Now()
	wall.ms -= time.Hour.Milliseconds()
	if got := clock.Now(); got != before.Next() {
		t.Fatalf("Now() = %v after %v", got, before)
	}
	reopened := hlc.NewClock(wall.now, clock.Last())
	if got := reopened.Now(); got <= clock.Last() {
		t.Fatalf("reissued %v at floor %v", got, clock.Last())
	}
}

func TestNow_CounterOverflowBorrowsTheNextMillisecond(t *testing.T) {
	wall := &manual{ms: 50}
	clock := hlc.NewClock(wall.now, 0)
	last := clock.Now()
	for range math.MaxUint16 + 2 {
		next := clock.Now()
		if next != last.Next() {
			t.Fatalf("%v after %v", next, last)
		}
		last = next
	}
	if last != hlc.At(51, 1) {
		t.Fatalf("last = %v, want 51.1", last)
	}
}

func TestNow_WallOutOfRange(t *testing.T) {
	wall := &manual{ms: -12345}
	clock := hlc.NewClock(wall.now, 0)
	if got := clock.Now(); got != hlc.At(0, 1) {
		t.Fatalf("before 1970: %v, want 0.1", got)
	}
	clock.Observe(hlc.Max)
	if got := clock.Now(); got != hlc.Max {
		t.Fatalf("at the end of time: %v", got)
	}
}

func TestPeek_IssuesNothing(t *testing.T) {
	wall := &manual{ms: 10}
	clock := hlc.NewClock(wall.now, hlc.At(3, 0))
	if got := clock.Peek(); got != hlc.At(10, 0) || clock.Last() != hlc.At(3, 0) {
		t.Fatalf("Peek() = %v, Last() = %v", got, clock.Last())
	}
	if clock.Now() != hlc.At(10, 0) || clock.Peek() != hlc.At(10, 1) || !clock.Wall().Equal(wall.now()) {
		t.Fatalf("Last() = %v, Peek() = %v, Wall() = %v", clock.Last(), clock.Peek(), clock.Wall())
	}
}

func TestNow_ConcurrentStampsAreUniqueAndRise(t *testing.T) {
	const workers, each = 8, 2000
	clock := hlc.NewClock(func() time.Time { return time.UnixMilli(1000) }, 0)
	issued := make([][]hlc.Timestamp, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for range each {
				stamp := clock.Now()
				clock.Observe(stamp - 1)
				issued[w] = append(issued[w], stamp)
			}
		})
	}
	wg.Wait()
	for w := range workers {
		if !slices.IsSorted(issued[w]) {
			t.Fatalf("worker %d saw time fall", w)
		}
	}
	all := slices.Concat(issued...)
	slices.Sort(all)
	if len(slices.Compact(all)) != workers*each {
		t.Fatal("a stamp was issued twice")
	}
}

// paper is the oracle: the algorithm of figure 5, case by case, on two fields.
type paper struct{ l, c int64 }

func (p *paper) send(pt int64) hlc.Timestamp {
	if pt > p.l {
		p.l, p.c = pt, 0
	} else {
		p.c++
	}
	return p.stamp()
}

func (p *paper) receive(pt, ml, mc int64) hlc.Timestamp {
	l := max(p.l, ml, pt)
	switch {
	case l == p.l && l == ml:
		p.c = max(p.c, mc) + 1
	case l == p.l:
		p.c++
	case l == ml:
		p.c = mc + 1
	default:
		p.c = 0
	}
	p.l = l
	return p.stamp()
}

// stamp adds what the paper leaves open: a full counter borrows a millisecond.
func (p *paper) stamp() hlc.Timestamp {
	if p.c > math.MaxUint16 {
		p.l, p.c = p.l+1, 0
	}
	return hlc.At(p.l, uint16(p.c))
}

func TestClock_AgreesWithThePaper(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wall := &manual{}
		clock := hlc.NewClock(wall.now, hlc.At(2, 0))
		oracle := &paper{l: 2}
		counters := rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(math.MaxUint16-2, math.MaxUint16))
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			wall.ms = rapid.Int64Range(1, 12).Draw(t, "wall")
			peek, want := clock.Peek(), hlc.Timestamp(0)
			if rapid.Bool().Draw(t, "receive") {
				ml, mc := rapid.Int64Range(0, 12).Draw(t, "l"), counters.Draw(t, "c")
				want = oracle.receive(wall.ms, ml, mc)
				clock.Observe(hlc.At(ml, uint16(mc)))
				peek = clock.Peek()
			} else {
				want = oracle.send(wall.ms)
			}
			if got := clock.Now(); got != want || peek != want || clock.Last() != want {
				t.Fatalf("Now() = %v, Peek() was %v, the paper says %v", got, peek, want)
			}
		}
	})
}

func TestClock_DoesNotAllocate(t *testing.T) {
	wall := &manual{ms: 1}
	clock := hlc.NewClock(wall.now, 0)
	if n := testing.AllocsPerRun(100, func() { clock.Observe(clock.Now() + 1); clock.Last() }); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

func BenchmarkNow(b *testing.B) {
	clock := hlc.NewClock(time.Now, 0)
	b.ReportAllocs()
	for b.Loop() {
		clock.Now()
	}
}
