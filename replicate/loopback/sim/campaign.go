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
	// Failures are of the seeds that failed, in order of their seeds.
	Failures []*Failure
}

// RunAll runs the seeds on several processors and sums up. After most failures
// it starts no further seed.
func RunAll(seeds []uint64, workers, most int) Campaign {
	c := Campaign{Reached: map[string]uint64{}}
	began := time.Now()
	next := make(chan uint64)
	compiled := NewSchemas()
	failures := map[uint64]*Failure{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for seed := range next {
				res, err := Run(Draw(seed), compiled)
				mu.Lock()
				if f, ok := err.(*Failure); ok {
					failures[seed] = f
				}
				c.add(res)
				mu.Unlock()
			}
		})
	}
	for _, seed := range seeds {
		mu.Lock()
		stop := len(failures) >= most
		mu.Unlock()
		if stop {
			break
		}
		next <- seed
	}
	close(next)
	wg.Wait()
	for _, seed := range seeds {
		if f := failures[seed]; f != nil {
			c.Failures = append(c.Failures, f)
			delete(failures, seed)
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
