package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"driftless.dev/fleet"
)

// Offline works on files of this machine: snapshot files, and data directories
// that no node has open.
type Offline interface {
	Save(ctx context.Context, data string, w io.Writer) (fleet.Snapshot, error)
	Inspect(r io.Reader) (fleet.Snapshot, error)
	Verify(ctx context.Context, r io.ReadSeeker) (fleet.Snapshot, error)
	// Restore returns where what was in the directory is now, "" for nowhere.
	Restore(ctx context.Context, r io.ReadSeeker, data string, force, newInstance bool) (s fleet.Snapshot, aside string, err error)
	Fsck(ctx context.Context, data string, repair bool) (fleet.Fsck, error)
}

// fleetFlags say which fleet files belong to.
type fleetFlags struct{ name, secretFile string }

func (f *fleetFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.name, "fleet", "", "the fleet's `name`; without it, what the file or directory says")
	cmd.Flags().StringVar(&f.secretFile, "fleet-secret-file", "", "`file` with the fleet's secret, as the node was given it")
}

// offline returns what works on files.
func (a *app) offline(f *fleetFlags) (Offline, error) {
	var secret []byte
	if f.secretFile != "" {
		text, err := os.ReadFile(f.secretFile)
		if err == nil && strings.TrimSpace(string(text)) == "" {
			err = fmt.Errorf("%s is empty", f.secretFile)
		}
		if err != nil {
			return nil, misuse("driftless", "--fleet-secret-file: %w", err)
		}
		secret = []byte(strings.TrimSpace(string(text)))
	}
	return a.cfg.Offline(f.name, secret), nil
}
