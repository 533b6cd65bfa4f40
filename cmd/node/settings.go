package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/posflag"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"

	"driftless.dev"
	"driftless.dev/replicate"
)

// errUsage is returned for settings that cannot be; the process exits with 2.
var errUsage = errors.New("settings invalid")

// envPrefix begins the names of environment variables: nats-listen is
// DRIFTLESS_NATS_LISTEN.
const envPrefix = "DRIFTLESS_"

// clientEnv are the variables with the prefix that belong to the command line
// client and say nothing to a node.
func clientEnv() []string { return []string{"NODE", "TOKEN", "CONTEXT"} }

// flags declares every setting: its name, default and help stand here and
// nowhere else.
func flags() *pflag.FlagSet {
	f := pflag.NewFlagSet("driftless-node", pflag.ContinueOnError)
	f.SortFlags = false
	f.String("config", "", "YAML `file` with any of the settings below")
	f.String("name", "", "this node's name, for people (default: the host's)")
	f.String("data", "", "`directory` that everything is kept in (required)")
	f.String("http", "127.0.0.1:7117", "address of the HTTP API, or unix:/path; \"\" for none")
	f.StringSlice("http-hosts", nil, "further `name`s that callers know the API by, * for any")
	f.StringSlice("join", nil, "`URL`s of NATS servers; without any the node runs its own")
	f.String("nats-listen", driftless.DefaultNATSListen, "address of the embedded NATS server, \"-\" for none")
	f.String("fleet", driftless.DefaultFleet, "the fleet's name")
	f.String("fleet-secret-file", "", "`file` with the fleet's secret, the same on every member")
	f.Bool("no-stream", false, "use core NATS only: converge by reconciliation alone")
	f.Duration("sync-interval", replicate.DefaultSyncInterval, "mean time between reconciliations with a random peer")
	f.Duration("max-clock-offset", replicate.DefaultMaxClockOffset, "how far ahead of the members' median a stamp may be")
	f.Duration("collect-age", replicate.DefaultCollectAge, "how old a tombstone is at least when it is collected")
	f.Duration("collect-every", replicate.DefaultCollectEvery, "mean time between two looks at whether tombstones can be collected")
	f.Duration("horizon", driftless.DefaultHorizon, "how long a member may be silent before a majority takes it off the roster, -1s for ever")
	f.String("rejoin", "manual", "what a copy older than what the fleet has collected does: manual waits for an operator, auto takes the fleet's state")
	f.Int64("snapshot-every", driftless.DefaultSnapshotEvery, "write a snapshot after so many events, -1 for never")
	f.Int64("log-keep", driftless.DefaultLogKeep, "keep so many of the log's newest entries, 0 for all")
	f.Duration("log-age", 0, "keep entries of the log for so long, 0 for no such limit")
	f.Int64("ledger-keep", driftless.DefaultLedgerKeep, "bytes that the ledger, and so the quarantine, may take, 0 for any")
	f.Duration("ledger-age", driftless.DefaultLedgerAge, "how long the ledger and the quarantine keep what they hold, 0 for ever")
	f.Duration("scrub-interval", driftless.DefaultScrubInterval, "time between two slow readings of the whole store, 0 for never")
	f.Duration("drain-timeout", driftless.DefaultDrainTimeout, "how long the outbox may take to empty at the end")
	f.String("token-file", "", "`file` with the API's bearer tokens, a line each: NAME SECRET [ACTOR,...]")
	f.String("tls-cert", "", "certificate `file` of the API")
	f.String("tls-key", "", "key `file` of the API")
	f.String("tls-client-ca", "", "CA `file` that clients of the API must prove themselves by")
	f.String("nats-context", "", "`name` of a NATS CLI context to connect by")
	f.String("nats-creds", "", "NATS credentials `file`")
	f.String("nats-nkey", "", "NATS nkey seed `file`")
	f.String("nats-user", "", "NATS user, of the embedded server too")
	f.String("nats-password-file", "", "`file` with the user's password")
	f.String("nats-token-file", "", "`file` with a NATS token, of the embedded server too")
	f.String("nats-ca", "", "CA `file` that the NATS server must prove itself by")
	f.String("nats-cert", "", "client certificate `file` for NATS")
	f.String("nats-key", "", "client key `file` for NATS")
	f.String("nats-domain", "", "JetStream domain")
	f.Int("nats-replicas", 0, "replicas of the stream, 3 or 5 on a NATS cluster")
	f.String("nats-cluster-listen", "", "address for other embedded servers' routes")
	f.StringSlice("nats-routes", nil, "`URL`s of other embedded servers to cluster with")
	f.StringSlice("nats-leaf", nil, "`URL`s of hubs to connect the embedded server to as a leaf node")
	f.String("log-level", "info", "debug, info, warn or error")
	f.String("log-format", "text", "text or json")
	f.Bool("print-config", false, "print the settings in force, and where from, and exit")
	f.Bool("version", false, "print the version and exit")
	return f
}

// settings are the values in force: flags over environment over file over
// defaults.
type settings struct {
	k *koanf.Koanf
	// from says where each value comes from, for --print-config.
	from map[string]string
}

// load reads all sources. An unknown key anywhere is an error that names it.
func load(f *pflag.FlagSet, environ []string) (*settings, error) {
	s := &settings{k: koanf.New("."), from: map[string]string{}}
	known := map[string]bool{}
	f.VisitAll(func(fl *pflag.Flag) { known[fl.Name] = true })
	defaults := map[string]any{}
	f.VisitAll(func(fl *pflag.Flag) { defaults[fl.Name], s.from[fl.Name] = posflag.FlagVal(f, fl), "default" })
	if err := s.k.Load(confmap.Provider(defaults, ""), nil); err != nil {
		return nil, fmt.Errorf("load defaults: %w", err)
	}
	fromEnv, err := environment(environ, known)
	if err != nil {
		return nil, err
	}
	path, _ := f.GetString("config")
	if v, ok := fromEnv["config"].(string); ok && path == "" {
		path = v
	}
	if path != "" {
		fromFile, err := file(path, known)
		if err != nil {
			return nil, err
		}
		if err := s.over(fromFile, "file "+path); err != nil {
			return nil, err
		}
	}
	if err := s.over(fromEnv, "environment"); err != nil {
		return nil, err
	}
	given := map[string]any{}
	f.Visit(func(fl *pflag.Flag) { given[fl.Name] = posflag.FlagVal(f, fl) })
	return s, s.over(given, "flag")
}

func (s *settings) over(values map[string]any, source string) error {
	for key := range values {
		s.from[key] = source
	}
	if err := s.k.Load(confmap.Provider(values, ""), nil); err != nil {
		return fmt.Errorf("load settings from %s: %w", source, err)
	}
	return nil
}

func environment(environ []string, known map[string]bool) (map[string]any, error) {
	k := koanf.New(".")
	err := k.Load(env.Provider(".", env.Opt{
		Prefix: envPrefix, EnvironFunc: func() []string { return environ },
		TransformFunc: func(key, v string) (string, any) {
			key = strings.TrimPrefix(key, envPrefix)
			if slices.Contains(clientEnv(), key) {
				return "", nil
			}
			return strings.ReplaceAll(strings.ToLower(key), "_", "-"), v
		},
	}), nil)
	if err != nil {
		return nil, fmt.Errorf("read environment: %w", err)
	}
	for _, key := range k.Keys() {
		if !known[key] {
			return nil, fmt.Errorf("%w: environment variable %s%s is not known", errUsage, envPrefix, strings.ToUpper(strings.ReplaceAll(key, "-", "_")))
		}
	}
	return k.All(), nil
}

// file reads a YAML file strictly: no key twice, none unknown.
func file(path string, known map[string]bool) (map[string]any, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: read config: %w", errUsage, err)
	}
	values := map[string]any{}
	if err := yaml.UnmarshalWithOptions(text, &values, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errUsage, path, err)
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !known[key] || key == "config" || key == "print-config" || key == "version" {
			return nil, fmt.Errorf("%w: %s: key %q is not known (driftless-node --help lists them)", errUsage, path, key)
		}
	}
	return values, nil
}

// print writes the settings in force as YAML that --config reads back, with
// each one's source. Secrets stand in files; only URLs may hold some, and those
// are hidden.
func (s *settings) print(w io.Writer) error {
	r := reader{s: s}
	for _, key := range slices.Sorted(maps.Keys(s.from)) {
		if key == "print-config" || key == "version" || key == "config" {
			continue
		}
		v := s.k.Get(key)
		if d, ok := v.(time.Duration); ok {
			v = d.String()
		}
		if slices.Contains(urlSettings(), key) {
			v = redacted(r.list(key))
		}
		line, err := yaml.MarshalWithOptions(map[string]any{key: v}, yaml.Flow(false))
		if err != nil {
			return fmt.Errorf("print %s: %w", key, err)
		}
		if _, err := fmt.Fprintf(w, "%-44s # %s\n", strings.TrimSpace(string(line)), s.from[key]); err != nil {
			return err
		}
	}
	return nil
}

// urlSettings are the lists of URLs, in which a user and a password may stand.
func urlSettings() []string { return []string{"join", "nats-routes", "nats-leaf"} }

// redacted hides what stands before the host, well formed or not.
func redacted(urls []string) []string {
	out := make([]string, len(urls))
	for i, u := range urls {
		out[i] = u
		if at := strings.LastIndex(u, "@"); at >= 0 {
			start := 0
			if i := strings.Index(u[:at], "://"); i >= 0 {
				start = i + len("://")
			}
			out[i] = u[:start] + "redacted" + u[at:]
		}
	}
	return out
}
