// Command bench measures what a durable write costs, beside the physical
// limit: bare bbolt that writes the very same keys and values with the same
// durability. Both sides run in turns in one process on one disk, so that
// noise hits both; what counts is the ratio of the medians.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"text/tabwriter"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// options are what a run is made of.
type options struct {
	writers  []int
	size     int
	records  int
	rounds   int
	duration time.Duration
	dir      string
	// floor and ceiling are what the ratios must keep to; 0 only prints.
	ceiling, floor float64
}

func run() error {
	var o options
	writers := flag.String("writers", "1,64,256", "numbers of concurrent writers")
	flag.IntVar(&o.size, "size", 1024, "size of a spec in bytes")
	flag.IntVar(&o.records, "records", 10_000, "records, all written before the measurement")
	flag.IntVar(&o.rounds, "rounds", 5, "turns each side takes")
	flag.DurationVar(&o.duration, "duration", 2*time.Second, "length of a turn")
	flag.StringVar(&o.dir, "dir", "", "directory on the disk to measure (default: a temporary one)")
	flag.Float64Var(&o.ceiling, "max-latency-ratio", 0, "fail when one writer's median latency is over this times bare bbolt's")
	flag.Float64Var(&o.floor, "min-throughput-ratio", 0, "fail when many writers reach less than this times a bare group committer")
	flag.Parse()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // as driftless-node sets it
	}
	for s := range strings.SplitSeq(*writers, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return fmt.Errorf("writers: %q is no number above zero", s)
		}
		o.writers = append(o.writers, n)
	}
	if o.dir == "" {
		dir, err := os.MkdirTemp("", "driftless-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		o.dir = dir
	}
	return measure(o)
}

// side is one contestant: write makes one durable write, numbered.
type side interface {
	write(ctx context.Context, n int) error
	close() error
}

// turn is what one side did in one turn.
type turn struct {
	perSecond float64
	p50, p99  time.Duration
	// cpu is the processor time of one write, of all threads.
	cpu time.Duration
}

func measure(o options) error {
	rows, err := record(o)
	if err != nil {
		return fmt.Errorf("record rows: %w", err)
	}
	ours, err := newOurs(filepath.Join(o.dir, "ours"), o)
	if err != nil {
		return err
	}
	defer ours.close()
	bare, err := newBare(filepath.Join(o.dir, "bare.db"), rows)
	if err != nil {
		return err
	}
	defer bare.close()
	tw := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintf(tw, "durable updates of %d records, %d byte specs; medians of %d turns of %s each\n", o.records, o.size, o.rounds, o.duration)
	fmt.Fprintln(tw, "writers\tdriftless/s\tbare/s\tthroughput\tdriftless p50\tp99\tbare p50\tp99\tlatency\tCPU/write\tbare")
	var failed []string
	var next atomic.Int64 // never repeats: a write of what is there already is none
	next.Store(int64(2 * o.records))
	for _, writers := range o.writers {
		a, b, err := compare(ours, bare, writers, o, &next)
		if err != nil {
			return err
		}
		throughput, latency := a.perSecond/b.perSecond, float64(a.p50)/float64(b.p50)
		fmt.Fprintf(tw, "%d\t%.0f\t%.0f\t%.2fx\t%s\t%s\t%s\t%s\t%.2fx\t%s\t%s\n", writers, a.perSecond, b.perSecond, throughput,
			a.p50.Round(time.Microsecond), a.p99.Round(time.Microsecond), b.p50.Round(time.Microsecond), b.p99.Round(time.Microsecond), latency, a.cpu.Round(time.Microsecond), b.cpu.Round(time.Microsecond))
		if writers == 1 && o.ceiling > 0 && latency > o.ceiling {
			failed = append(failed, fmt.Sprintf("1 writer: latency %.2fx is over %.2fx", latency, o.ceiling))
		}
		if writers > 1 && o.floor > 0 && throughput < o.floor {
			failed = append(failed, fmt.Sprintf("%d writers: throughput %.2fx is under %.2fx", writers, throughput, o.floor))
		}
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	if len(failed) > 0 {
		return fmt.Errorf("goal missed: %s", strings.Join(failed, "; "))
	}
	return nil
}

// compare lets both sides take turns and returns the median turn of each.
func compare(ours, bare side, writers int, o options, next *atomic.Int64) (a, b turn, err error) {
	var as, bs []turn
	for range o.rounds {
		for _, p := range []struct {
			side side
			out  *[]turn
		}{{ours, &as}, {bare, &bs}} {
			t, err := play(p.side, writers, o.duration, next)
			if err != nil {
				return a, b, err
			}
			*p.out = append(*p.out, t)
		}
	}
	return medianTurn(as), medianTurn(bs), nil
}

func medianTurn(ts []turn) turn {
	pick := func(less func(a, b turn) int) turn {
		s := slices.Clone(ts)
		slices.SortFunc(s, less)
		return s[len(s)/2]
	}
	return turn{
		perSecond: pick(func(a, b turn) int { return int(a.perSecond - b.perSecond) }).perSecond,
		p50:       pick(func(a, b turn) int { return int(a.p50 - b.p50) }).p50,
		p99:       pick(func(a, b turn) int { return int(a.p99 - b.p99) }).p99,
		cpu:       pick(func(a, b turn) int { return int(a.cpu - b.cpu) }).cpu,
	}
}

// play runs one side's turn.
func play(s side, writers int, d time.Duration, next *atomic.Int64) (turn, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var mu sync.Mutex
	var all []time.Duration
	var failure error
	start, used := time.Now(), processorTime()
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			var took []time.Duration
			for time.Since(start) < d {
				began := time.Now()
				if err := s.write(ctx, int(next.Add(1))); err != nil {
					mu.Lock()
					failure = err
					mu.Unlock()
					return
				}
				took = append(took, time.Since(began))
			}
			mu.Lock()
			all = append(all, took...)
			mu.Unlock()
		})
	}
	wg.Wait()
	elapsed, used := time.Since(start), processorTime()-used
	if failure != nil || len(all) == 0 {
		return turn{}, fmt.Errorf("no turn: %w", failure)
	}
	slices.Sort(all)
	return turn{perSecond: float64(len(all)) / elapsed.Seconds(), p50: all[len(all)/2], p99: all[len(all)*99/100], cpu: used / time.Duration(len(all))}, nil
}

// processorTime is what this process has used so far.
func processorTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
