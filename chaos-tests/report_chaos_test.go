//go:build chaos

package chaos

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"driftless.dev/chaos-tests/history"
)

// row is one fault's line of the summary. Times are in seconds; a fault
// without a fleet has no time to agree.
type row struct {
	Name, Fault, Rows              string
	Injected                       int
	Acked, Refused, Unknown, Lost  int
	Agreements                     int
	AgreeP50, AgreeMax, TookSecond float64
	Failed                         bool
}

func (r *round) row(failed bool) row {
	c := history.Count(r.rec.Ops())
	out := row{
		Name: r.s.name, Fault: r.s.fault, Rows: r.s.rows, Injected: r.injected, Acked: c.Acked, Refused: c.Refused, Unknown: c.Unknown,
		Lost: r.lost, Agreements: len(r.agreed), TookSecond: time.Since(r.began).Round(time.Second).Seconds(), Failed: failed,
	}
	if len(r.agreed) > 0 {
		slices.Sort(r.agreed)
		out.AgreeP50 = r.agreed[len(r.agreed)/2].Round(10 * time.Millisecond).Seconds()
		out.AgreeMax = r.agreed[len(r.agreed)-1].Round(10 * time.Millisecond).Seconds()
	}
	return out
}

// report is the summary of a run.
type report struct {
	Round string
	Rows  []row

	mu sync.Mutex
}

func (rep *report) add(r row) {
	rep.mu.Lock()
	defer rep.mu.Unlock()
	rep.Rows = append(rep.Rows, r)
}

// finish prints the summary in the table's order and writes it to files.
func (rep *report) finish(t *testing.T, path string) {
	t.Helper()
	order := map[string]int{}
	for i, s := range scenarios() {
		order[s.name] = i
	}
	slices.SortFunc(rep.Rows, func(a, b row) int { return order[a.Name] - order[b.Name] })
	text := rep.table()
	t.Log("\n" + text)
	if path == "" {
		return
	}
	b, err := json.MarshalIndent(rep, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{path: append(b, '\n'), strings.TrimSuffix(path, filepath.Ext(path)) + ".txt": []byte(text)} {
		if err := os.WriteFile(name, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// table is the summary as Markdown.
func (rep *report) table() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 1, ' ', 0)
	fmt.Fprintln(w, "| fault\t| injected\t| acknowledged\t| refused\t| unknown\t| lost\t| agree p50\t| agree max\t| took\t|")
	fmt.Fprintln(w, "|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|")
	for _, r := range rep.Rows {
		p50, most := "–", "–"
		if r.Agreements > 0 {
			p50, most = fmt.Sprintf("%.2f s", r.AgreeP50), fmt.Sprintf("%.2f s", r.AgreeMax)
		}
		name := r.Fault
		if r.Failed {
			name += " **FAILED**"
		}
		fmt.Fprintf(w, "| %s\t| %d\t| %d\t| %d\t| %d\t| %d\t| %s\t| %s\t| %.0f s\t|\n", name, r.Injected, r.Acked, r.Refused, r.Unknown, r.Lost, p50, most, r.TookSecond)
	}
	w.Flush()
	return b.String()
}
