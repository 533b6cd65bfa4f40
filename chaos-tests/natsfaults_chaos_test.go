//go:build chaos

package chaos

import (
	"os"
	"path/filepath"
	"time"
)

func natsFaults() []scenario {
	return []scenario{
		{name: "nats-kill", fault: "SIGKILL of NATS", rows: "N10", short: true, run: killNATS},
		{name: "nats-wipe", fault: "NATS killed and its store wiped", rows: "N11", short: true, run: wipeNATS},
		{name: "nats-freeze", fault: "SIGSTOP of NATS", rows: "N6", short: true, run: freezeNATS},
	}
}

func killNATS(r *round) {
	f := r.newFleet(options{})
	for range r.times(1, 5) {
		r.under(func() {
			for range r.times(2, 5) {
				f.nats.kill()
				r.injected++
				pause(r.t, time.Second)
				f.nats.launch()
				pause(r.t, time.Second)
			}
		})
	}
	r.verify()
}

func wipeNATS(r *round) {
	f := r.newFleet(options{})
	store := f.nats.args[len(f.nats.args)-1]
	for range r.times(1, 5) {
		r.under(func() {
			f.nats.kill()
			streams, err := filepath.Glob(filepath.Join(store, "jetstream", "*", "streams", "*"))
			if err != nil || len(streams) == 0 {
				r.t.Fatalf("no stream in %s to wipe: %v", store, err)
			}
			if err := os.RemoveAll(store); err != nil {
				r.t.Fatal(err)
			}
			r.injected++
			f.nats.launch()
			pause(r.t, time.Second)
		})
	}
	r.verify()
}

func freezeNATS(r *round) {
	f := r.newFleet(options{})
	for range r.times(1, 4) {
		r.under(func() { r.freeze(f.nats, r.lasting(8*time.Second, 15*time.Second)) })
	}
	r.verify()
}
