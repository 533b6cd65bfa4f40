package sim

import (
	"fmt"
	"sync"
	"time"
)

// Campaign is what many runs came to.
type Campaign struct {
	Seeds, Nodes, Acked, Ledger int
	Virtual, Slowest, Took      time.Duration
	Reached                     map[string]uint64
	// Failures are of the runs that failed, in their order.
	Failures []*Failure
}

// RunAll carries out runs on several processors and sums up. After most failures
// it starts no further one.
func RunAll(runs []Options, workers, most int) Campaign {
	c := Campaign{Reached: map[string]uint64{}}
	began := time.Now()
	next := make(chan int)
	compiled := NewSchemas()
	failures := map[int]*Failure{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range next {
				res, err := Run(runs[i], compiled)
				mu.Lock()
				if f, ok := err.(*Failure); ok {
					failures[i] = f
				}
				c.add(res)
				mu.Unlock()
			}
		})
	}
	for i := range runs {
		mu.Lock()
		stop := len(failures) >= most
		mu.Unlock()
		if stop {
			break
		}
		next <- i
	}
	close(next)
	wg.Wait()
	for i := range runs {
		if f := failures[i]; f != nil {
			c.Failures = append(c.Failures, f)
		}
	}
	c.Took = time.Since(began)
	return c
}

func (c *Campaign) add(r Result) {
	c.Seeds++
	c.Nodes += r.Nodes
	c.Acked += r.Acked
	c.Ledger += r.Ledger
	c.Virtual += r.Virtual
	c.Slowest = max(c.Slowest, r.Agreed)
	for what, times := range r.Reached {
		c.Reached[what] += times
	}
}

// String is the one line of figures.
func (c *Campaign) String() string {
	return fmt.Sprintf("sim: %d seeds, %d failures, %d nodes, %d writes acknowledged, %d ledger entries, %.0f seeds/min, %s of virtual time, slowest agreement %s",
		c.Seeds, len(c.Failures), c.Nodes, c.Acked, c.Ledger, float64(c.Seeds)/max(c.Took.Minutes(), 1e-9), c.Virtual.Round(time.Second), c.Slowest)
}
