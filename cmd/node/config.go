package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"driftless.dev"
	"driftless.dev/resource"
)

// config turns settings into a node's configuration, reading the files that
// hold secrets.
func (s *settings) config(version string, logger *slog.Logger) (driftless.Config, error) {
	r := reader{s: s}
	c := driftless.Config{
		Name: r.text("name"), Data: r.text("data"), Verify: true, Fleet: r.text("fleet"), FleetSecret: []byte(r.secret("fleet-secret-file")),
		HTTP: r.text("http"), HTTPHosts: r.list("http-hosts"), TLSCert: r.text("tls-cert"), TLSKey: r.text("tls-key"), TLSClientCA: r.text("tls-client-ca"),
		SyncInterval: r.duration("sync-interval"), MaxClockOffset: r.duration("max-clock-offset"), DrainTimeout: r.duration("drain-timeout"),
		CollectAge: r.duration("collect-age"), CollectEvery: r.duration("collect-every"), Horizon: r.horizon("horizon"), Rejoin: r.choice("rejoin", "manual", "auto") == "auto",
		LogKeep: orNever(r.integer("log-keep")), LogAge: r.orZero("log-age"), LedgerKeep: orNever(r.integer("ledger-keep")), LedgerAge: orNever(r.orZero("ledger-age")),
		ScrubInterval: orNever(r.orZero("scrub-interval")),
		SnapshotEvery: r.integer("snapshot-every"), Tokens: r.tokens("token-file"), Version: version, Logger: logger,
		NATS: driftless.NATS{
			Join: r.list("join"), Context: r.text("nats-context"), Listen: r.text("nats-listen"), Streamless: r.boolean("no-stream"),
			Creds: r.text("nats-creds"), NKey: r.text("nats-nkey"), User: r.text("nats-user"),
			Password: r.secret("nats-password-file"), Token: r.secret("nats-token-file"),
			CA: r.text("nats-ca"), Cert: r.text("nats-cert"), Key: r.text("nats-key"),
			Domain: r.text("nats-domain"), Replicas: int(r.integer("nats-replicas")),
			ClusterListen: r.text("nats-cluster-listen"), Routes: r.list("nats-routes"), Leaf: r.list("nats-leaf"),
		},
	}
	return c, r.err
}

// reader reads typed values; the first that does not read is kept.
type reader struct {
	s   *settings
	err error
}

func (r *reader) fail(key string, err error) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s (from %s): %w", errUsage, key, r.s.from[key], err)
	}
}

func (r *reader) text(key string) string { return r.s.k.String(key) }

// list reads a list, or one text with commas as the environment has it.
func (r *reader) list(key string) []string {
	if v, ok := r.s.k.Get(key).(string); ok {
		if v == "" {
			return nil
		}
		return strings.Split(v, ",")
	}
	return r.s.k.Strings(key)
}

func (r *reader) duration(key string) time.Duration {
	d, ok := r.s.k.Get(key).(time.Duration)
	var err error
	if !ok {
		d, err = time.ParseDuration(r.text(key))
	}
	if err == nil && d <= 0 {
		err = fmt.Errorf("%s is not above zero", d)
	}
	if err != nil {
		r.fail(key, err)
	}
	return d
}

// horizon reads a duration that is below zero for never.
func (r *reader) horizon(key string) time.Duration {
	d, err := time.ParseDuration(r.text(key))
	if err == nil && d == 0 {
		err = errors.New("0s would remove whoever is silent for a moment")
	}
	if err != nil {
		r.fail(key, err)
	}
	return d
}

// choice reads one of a few words.
func (r *reader) choice(key string, words ...string) string {
	word := r.text(key)
	if !slices.Contains(words, word) {
		r.fail(key, fmt.Errorf("%q is not %s", word, strings.Join(words, " or ")))
	}
	return word
}

// orZero reads a duration that may be 0.
func (r *reader) orZero(key string) time.Duration {
	if d, ok := r.s.k.Get(key).(time.Duration); ok && d == 0 || r.text(key) == "0" || r.text(key) == "0s" {
		return 0
	}
	return r.duration(key)
}

// orNever turns a setting's 0, which sets no limit, into the configuration's.
func orNever[N int64 | time.Duration](n N) N {
	if n == 0 {
		return -1
	}
	return n
}

func (r *reader) integer(key string) int64 {
	text := fmt.Sprint(r.s.k.Get(key))
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		r.fail(key, fmt.Errorf("%q is no whole number", text))
	}
	return n
}

func (r *reader) boolean(key string) bool {
	switch fmt.Sprint(r.s.k.Get(key)) {
	case "true", "1":
		return true
	case "false", "0":
		return false
	}
	r.fail(key, fmt.Errorf("%q is neither true nor false", fmt.Sprint(r.s.k.Get(key))))
	return false
}

// secret reads a file that holds one secret.
func (r *reader) secret(key string) string {
	path := r.text(key)
	if path == "" {
		return ""
	}
	text, err := os.ReadFile(path)
	if err == nil && len(strings.TrimSpace(string(text))) == 0 {
		err = fmt.Errorf("%s is empty", path)
	}
	if err != nil {
		r.fail(key, err)
	}
	return strings.TrimSpace(string(text))
}

// tokens reads a file of bearer tokens: NAME SECRET [ACTOR,...] a line, the
// agent's when no actor is named.
func (r *reader) tokens(key string) (out []driftless.Token) {
	for n, line := range strings.Split(r.secret(key), "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) < 2 || len(fields) > 3 {
			r.fail(key, fmt.Errorf("line %d is not NAME SECRET [ACTOR,...]", n+1))
			return nil
		}
		t := driftless.Token{Name: fields[0], Secret: fields[1], Actors: []resource.Actor{resource.Agent}}
		if len(fields) == 3 {
			t.Actors = nil
			for actor := range strings.SplitSeq(fields[2], ",") {
				a, err := resource.ParseActor(actor)
				if err != nil {
					r.fail(key, fmt.Errorf("line %d: %w", n+1, err))
					return nil
				}
				t.Actors = append(t.Actors, a)
			}
		}
		out = append(out, t)
	}
	return out
}

// logger makes the process's logger.
func (s *settings) logger() (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(s.k.String("log-level"))); err != nil {
		return nil, fmt.Errorf("%w: log-level: %q is not debug, info, warn or error", errUsage, s.k.String("log-level"))
	}
	opts := &slog.HandlerOptions{Level: level}
	switch s.k.String("log-format") {
	case "text":
		return slog.New(slog.NewTextHandler(os.Stderr, opts)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(os.Stderr, opts)), nil
	}
	return nil, fmt.Errorf("%w: log-format: %q is not text or json", errUsage, s.k.String("log-format"))
}
