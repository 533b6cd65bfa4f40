package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"driftless.dev/resource"
)

// scopeFlags say where records are looked for.
type scopeFlags struct {
	scope   scopeValue
	project string
	all     bool
}

func (f *scopeFlags) add(cmd *cobra.Command, all bool) {
	cmd.Flags().Var(&f.scope, "scope", "global, or project=P,workspace=W (default: the kind's default scope)")
	cmd.Flags().StringVarP(&f.project, "project", "p", "", "short for --scope project=`P`")
	cmd.MarkFlagsMutuallyExclusive("scope", "project")
	if all {
		cmd.Flags().BoolVarP(&f.all, "all-scopes", "A", false, "every scope")
		cmd.MarkFlagsMutuallyExclusive("scope", "project", "all-scopes")
	}
}

// named reports whether a scope was given.
func (f *scopeFlags) named() bool { return f.scope.set || f.project != "" }

// pick is the scope that was given, else the kind's.
func (f *scopeFlags) pick(k resource.Kind) (resource.Scope, error) {
	switch {
	case f.project != "":
		s := resource.Scope{Project: f.project}
		return s, s.Validate()
	case f.scope.set:
		return f.scope.value, nil
	}
	return k.DefaultScope, nil
}

// only is the scope that was given, nil for none.
func (f *scopeFlags) only() (*resource.Scope, error) {
	if !f.named() {
		return nil, nil
	}
	s, err := f.pick(resource.Kind{})
	return &s, err
}

// scopeValue is a scope as a flag.
type scopeValue struct {
	value resource.Scope
	set   bool
}

func (v *scopeValue) String() string {
	if !v.set {
		return ""
	}
	return v.value.String()
}

func (v *scopeValue) Type() string { return "scope" }

func (v *scopeValue) Set(s string) (err error) {
	v.value, err = resource.ParseScope(s)
	v.set = true
	return err
}

// actorValue is an actor as a flag.
type actorValue struct{ value resource.Actor }

func (v *actorValue) String() string { return v.value.String() }
func (v *actorValue) Type() string   { return "actor" }

func (v *actorValue) Set(s string) (err error) {
	if s == "" {
		return errors.New("want human, agent or system")
	}
	v.value, err = resource.ParseActor(s)
	return err
}

// epochValue is a holder's token as a flag.
type epochValue struct{ value resource.Epoch }

func (v *epochValue) String() string { return v.value.String() }
func (v *epochValue) Type() string   { return "token" }

func (v *epochValue) Set(s string) (err error) {
	v.value, err = resource.ParseEpoch(s)
	return err
}

// concernValue is a write concern as a flag.
type concernValue string

func (v *concernValue) String() string { return string(*v) }
func (v *concernValue) Type() string   { return "concern" }

func (v *concernValue) Set(s string) error {
	digits, peers := strings.CutPrefix(s, "peers=")
	n, err := strconv.ParseUint(digits, 10, 16)
	if s != "local" && s != "stream" && s != "fleet" && !(peers && err == nil && n > 0) {
		return errors.New("want local, stream, peers=N or fleet")
	}
	*v = concernValue(s)
	return nil
}

// writeFlags are the flags of every write.
type writeFlags struct {
	as          actorValue
	wait        concernValue
	waitTimeout time.Duration
	owner       string
	epoch       epochValue
	dryRun      bool
}

func (f *writeFlags) add(cmd *cobra.Command) {
	f.wait = "local"
	fs := cmd.Flags()
	fs.Var(&f.as, "as", "who writes: human, agent or system; a person's write outranks the others'")
	fs.Var(&f.wait, "wait", "where the write shall be before it is reported: local, stream, peers=N or fleet")
	fs.DurationVar(&f.waitTimeout, "wait-timeout", 5*time.Second, "how long to wait; the write stands whatever comes of it")
	fs.StringVar(&f.owner, "owner", "", "write as the controller of this `name`")
	fs.Var(&f.epoch, "epoch", "the holder's token, as claim gives it")
	fs.BoolVar(&f.dryRun, "dry-run", false, "let the node judge the write without making it")
}

func (f *writeFlags) options() writeOptions {
	o := writeOptions{actor: f.as.value, owner: f.owner, epoch: f.epoch.value, dryRun: f.dryRun}
	if f.wait != "local" && !f.dryRun {
		o.wait, o.waitTimeout = string(f.wait), f.waitTimeout
	}
	return o
}

// prefix marks the lines of a dry run.
func (f *writeFlags) prefix() string {
	if f.dryRun {
		return "(dry run) "
	}
	return ""
}

// selectorValue is a label selector as a flag, in the form that nodes take.
type selectorValue struct {
	text string
	set  bool
}

func (v *selectorValue) String() string { return v.text }
func (v *selectorValue) Type() string   { return "selector" }

func (v *selectorValue) Set(s string) error {
	sel, err := resource.ParseSelector(s)
	if err != nil {
		return fmt.Errorf("%w (k, !k, k=v, k!=v, k in (a,b), k notin (a,b))", err)
	}
	v.text, v.set = sel.String(), true
	return nil
}
