package replicate_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"driftless.dev/replicate"
)

// golden compares the transcript with testdata, or rewrites that.
func (w *world) golden(name, about string) {
	w.t.Helper()
	path := filepath.Join("testdata", name+".txt")
	got := "# " + about + "\n# time node <- input, -> effect; a/2 is the second event of a. Heartbeats that lead to nothing are left out.\n" + w.text.String()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			w.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		w.t.Errorf("transcript differs from %s (-want +got); rewrite it with -update if that is meant:\n%s", path, diff)
	}
}

// TestTranscript_Write: the write is in the stream and at both peers, and the
// writer knows, before a heartbeat has passed.
func TestTranscript_Write(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	out := w.write(w.rigs[0], "note")
	w.run(100 * time.Millisecond)
	w.agreed()
	for _, p := range w.rigs[0].status().Peers {
		if p.Applied != out.OriginSeq {
			t.Errorf("%s has applied %d, want %d", p.Name, p.Applied, out.OriginSeq)
		}
	}
	w.golden("write", "A write reaches two peers, which acknowledge it.")
}

// TestTranscript_Heal: both sides of a cut wrote; the stream's messages of then
// are gone for them.
func TestTranscript_Heal(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.cut = func(_, to *rig) bool { return true }
	w.write(w.rigs[0], "left")
	w.write(w.rigs[1], "right")
	w.run(100 * time.Millisecond)
	for _, r := range w.rigs {
		r.step(replicate.TransportChanged{Transport: replicate.Transport{Connected: true}}) // the stream stays away
	}
	w.run(12 * time.Second)
	w.say("\n# the cut heals")
	w.cut = nil
	w.run(2 * time.Second)
	w.agreed()
	w.golden("heal", "After a cut two nodes compare roots, descend, pull, push and adopt each other's vector.")
}

// TestTranscript_StreamLoss: the one message that b never gets is found by the
// roots.
func TestTranscript_StreamLoss(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	w.lose = func(_ int, to *rig) bool { return to.name == "b" }
	w.write(w.rigs[0], "lost on the way to b")
	w.run(100 * time.Millisecond)
	w.lose = nil
	w.run(4 * time.Second)
	w.agreed()
	w.golden("stream-loss", "The stream loses a message for one peer; the difference lasts, so a session repairs it.")
}
