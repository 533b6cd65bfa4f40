package jetstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// natsContext is what a NATS CLI context file (ADR-21) says. Fields that only
// matter to the CLI are left out, and so ignored.
type natsContext struct {
	URL         string `json:"url"`
	Token       string `json:"token"`
	User        string `json:"user"`
	Password    string `json:"password"`
	Creds       string `json:"creds"`
	NKey        string `json:"nkey"`
	Cert        string `json:"cert"`
	Key         string `json:"key"`
	CA          string `json:"ca"`
	TLSFirst    bool   `json:"tls_first"`
	Domain      string `json:"jetstream_domain"`
	InboxPrefix string `json:"inbox_prefix"`

	// Understood by the CLI, not by us: refused rather than half obeyed.
	NSC        string `json:"nsc"`
	UserJWT    string `json:"user_jwt"`
	APIPrefix  string `json:"jetstream_api_prefix"`
	SocksProxy string `json:"socks_proxy"`
}

// useContext fills in what is unset from the context of that name. Credentials
// are taken from it only when none are set, all of one kind.
func (c *Config) useContext() error {
	ctx, err := readContext(c.Context)
	if err != nil {
		return err
	}
	if len(c.URLs) == 0 && c.InProcess == nil && ctx.URL != "" {
		c.URLs = strings.Split(ctx.URL, ",")
	}
	if c.Creds+c.NKeyFile+c.Token+c.User == "" {
		c.Creds, c.NKeyFile, c.Token = home(ctx.Creds), home(ctx.NKey), ctx.Token
		c.User, c.Password = ctx.User, ctx.Password
	}
	if c.CertFile+c.KeyFile == "" {
		c.CertFile, c.KeyFile = home(ctx.Cert), home(ctx.Key)
	}
	for _, f := range []struct {
		field *string
		value string
	}{{&c.CAFile, home(ctx.CA)}, {&c.Domain, ctx.Domain}, {&c.InboxPrefix, ctx.InboxPrefix}} {
		if *f.field == "" {
			*f.field = f.value
		}
	}
	c.TLSFirst = c.TLSFirst || ctx.TLSFirst
	return nil
}

// readContext reads <config>/nats/context/<name>.json.
func readContext(name string) (natsContext, error) {
	var ctx natsContext
	if name != filepath.Base(name) || strings.HasPrefix(name, ".") {
		return ctx, errors.New("not a context's name")
	}
	// Not os.UserConfigDir: the NATS CLI uses ~/.config on every system.
	dir := os.Getenv("XDG_CONFIG_HOME")
	if dir == "" {
		dir = home("~/.config")
	}
	data, err := os.ReadFile(filepath.Join(dir, "nats", "context", name+".json"))
	if err != nil {
		return ctx, fmt.Errorf("read file: %w", err)
	}
	if err := json.Unmarshal(data, &ctx); err != nil {
		return ctx, fmt.Errorf("decode file: %w", err)
	}
	for key, value := range map[string]string{
		"nsc": ctx.NSC, "user_jwt": ctx.UserJWT, "jetstream_api_prefix": ctx.APIPrefix, "socks_proxy": ctx.SocksProxy,
	} {
		if value != "" {
			return ctx, fmt.Errorf("its %q is not supported here: use creds, or give the address and credentials yourself", key)
		}
	}
	return ctx, nil
}

// home expands a leading "~/". A user without a home directory keeps the path as
// it is written, and reading it says so.
func home(path string) string {
	rest, ok := strings.CutPrefix(path, "~/")
	if !ok {
		return path
	}
	dir, err := os.UserHomeDir()
	if err != nil {
		return path
	}
	return filepath.Join(dir, rest)
}
