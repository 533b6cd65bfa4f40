package jetstream

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/nats-io/nats.go"

	"driftless.dev/resource"
	"driftless.dev/wire"
)

// ErrConfig is returned by New and StartServer for a configuration that no
// waiting cures; the text says what to change.
var ErrConfig = errors.New("transport configuration invalid")

// Config says how to reach the fleet. Fleet, Instance and one of URLs,
// InProcess and Context are required; the zero value of the rest works.
type Config struct {
	// Fleet names the stream and all subjects: wire.ValidateFleet.
	Fleet string
	// Instance is the address that requests reach this node by.
	Instance resource.ID
	// Name is for people: connection lists, the micro service.
	Name string
	// Version is the program's, a semantic version; shown by the micro service.
	Version string

	// URLs are tried in random order. User and password may stand in them; they
	// are never reported nor logged.
	URLs []string
	// InProcess is a server in this process, used instead of URLs.
	InProcess nats.InProcessConnProvider
	// Context names a NATS CLI context (ADR-21) that fills in what is unset here.
	Context string

	// At most one of Creds, NKeyFile, Token and User; files are read again at
	// each connection, so that they may be rotated.
	Creds, NKeyFile, Token, User, Password string
	// CAFile verifies the server, CertFile and KeyFile prove the client.
	CAFile, CertFile, KeyFile string
	// TLSFirst starts TLS before the server's greeting.
	TLSFirst bool
	// InboxPrefix is where replies come to, "_INBOX.<instance>" by default, so
	// that a permission can let each node read its own replies only.
	InboxPrefix string

	// Domain selects the JetStream domain of a leaf node or its hub.
	Domain string
	// Streamless never touches JetStream: no events, all else works.
	Streamless bool
	// Replicas, MaxAge and MaxBytes of the stream. Zero takes the default when
	// the stream is made, and leaves an existing stream as it is.
	Replicas int
	MaxAge   time.Duration
	MaxBytes int64

	Tuning Tuning
	// Logger is told what people should know; nil is silent.
	Logger *slog.Logger
}

// Tuning holds the times and bounds that tests and odd links change.
type Tuning struct {
	// PingInterval and a fixed two missed answers find a black-holed link.
	PingInterval time.Duration // 20 s
	// Dial bounds one attempt to connect, the greeting included.
	Dial time.Duration // 5 s
	// API bounds one call of the JetStream API.
	API time.Duration // 5 s
	// Ack bounds the wait for a publish to be acknowledged.
	Ack time.Duration // 8 s
	// Watch is how often the stream is looked at behind the consumer's back.
	Watch time.Duration // 5 s
	// BackoffMin and BackoffMax bound the jittered wait between attempts.
	BackoffMin, BackoffMax time.Duration // 250 ms, 10 s
	// Serve bounds one request in the handler.
	Serve time.Duration // 30 s
	// Window bounds the publishes in flight.
	Window int // 256
	// Workers bounds the requests served at once.
	Workers int // 8
}

// Of the stream, when this node is the one that makes it.
const (
	defaultMaxAge   = 7 * 24 * time.Hour
	defaultMaxBytes = 1 << 30
	defaultReplicas = 1
)

// withDefaults fills in what is zero.
func (t Tuning) withDefaults() Tuning {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&t.PingInterval, 20 * time.Second},
		{&t.Dial, 5 * time.Second},
		{&t.API, 5 * time.Second},
		{&t.Ack, 8 * time.Second},
		{&t.Watch, 5 * time.Second},
		{&t.BackoffMin, 250 * time.Millisecond},
		{&t.BackoffMax, 10 * time.Second},
		{&t.Serve, 30 * time.Second},
	} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	if t.Window <= 0 {
		t.Window = 256
	}
	if t.Workers <= 0 {
		t.Workers = 8
	}
	return t
}

// complete loads the context, checks what can be checked without a server, and
// fills in the defaults. Errors wrap ErrConfig.
func (c Config) complete() (Config, error) {
	if err := wire.ValidateFleet(c.Fleet); err != nil {
		return c, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if c.Instance.IsZero() {
		return c, fmt.Errorf("%w: instance id is missing", ErrConfig)
	}
	if c.Context != "" {
		if err := c.useContext(); err != nil {
			return c, fmt.Errorf("%w: load NATS context %q: %w", ErrConfig, c.Context, err)
		}
	}
	if c.InProcess == nil && len(c.URLs) == 0 {
		return c, fmt.Errorf("%w: no server to connect to: give a URL, a NATS context or an embedded server", ErrConfig)
	}
	for i, text := range c.URLs {
		// The text may hold a password, and so may what url.Parse complains of.
		if u, err := url.Parse(text); err != nil || u.Host == "" {
			return c, fmt.Errorf("%w: URL %d is not of the form nats://host:4222", ErrConfig, i+1)
		}
	}
	if err := c.checkCredentials(); err != nil {
		return c, err
	}
	if c.Version == "" {
		c.Version = "0.0.0"
	}
	if c.InboxPrefix == "" {
		c.InboxPrefix = "_INBOX." + c.Instance.String()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Tuning = c.Tuning.withDefaults()
	return c, nil
}

func (c Config) checkCredentials() error {
	kinds := 0
	for _, given := range []string{c.Creds, c.NKeyFile, c.Token, c.User} {
		if given != "" {
			kinds++
		}
	}
	if kinds > 1 {
		return fmt.Errorf("%w: give one of credentials file, nkey file, token and user", ErrConfig)
	}
	if (c.CertFile == "") != (c.KeyFile == "") {
		return fmt.Errorf("%w: a TLS certificate and its key go together", ErrConfig)
	}
	return nil
}
