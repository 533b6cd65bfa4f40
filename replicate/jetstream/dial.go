package jetstream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/nats-io/nats.go"
)

// dial connects to one server, or says why not, within Tuning.Dial and ctx.
// closed is closed when the connection has ended for good, which any fault does.
func (b *Bus) dial(ctx context.Context, t target) (nc *nats.Conn, closed <-chan struct{}, err error) {
	end := make(chan struct{})
	d := &dialer{timeout: b.cfg.Tuning.Dial}
	d.ctx, d.cut = context.WithCancel(ctx)
	opts := nats.GetDefaultOptions()
	for _, set := range append(b.options(t), nats.SetCustomDialer(d), nats.ClosedHandler(func(*nats.Conn) { close(end) })) {
		if err := set(&opts); err != nil {
			d.cut()
			return nil, nil, fmt.Errorf("read credentials: %w", err)
		}
	}
	opts.Servers = []string{t.url}
	if b.cfg.InProcess != nil {
		opts.Servers, opts.InProcessServer = nil, b.cfg.InProcess
	}
	if t.tlsName != "" {
		if opts.TLSConfig == nil {
			opts.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		opts.Secure, opts.TLSConfig.ServerName = true, t.tlsName
	}
	nc, err = opts.Connect()
	d.settle()
	if err == nil {
		return nc, end, nil
	}
	// nats.go replaces a refused connection by "no servers available".
	if d.err != nil && errors.Is(err, nats.ErrNoServers) {
		err = d.err
	}
	return nil, nil, err
}

// options are those of every connection.
func (b *Bus) options(t target) []nats.Option {
	c := b.cfg
	opts := []nats.Option{
		nats.Name("driftless " + c.Name),
		nats.NoReconnect(), // see the package comment
		// Own heartbeats do not come back; those of a clone under the same
		// incarnation do, and must.
		nats.NoEcho(),
		nats.SkipHostLookup(), // the dialer does it, and can be interrupted
		nats.Timeout(c.Tuning.Dial),
		nats.PingInterval(c.Tuning.PingInterval),
		nats.MaxPingsOutstanding(2),
		nats.FlusherTimeout(c.Tuning.Dial), // a write to a black hole, with the lock held
		nats.CustomInboxPrefix(c.InboxPrefix),
		nats.ErrorHandler(b.asyncError),
	}
	switch {
	case c.Creds != "":
		opts = append(opts, nats.UserCredentials(c.Creds))
	case c.NKeyFile != "":
		opts = append(opts, func(o *nats.Options) error {
			nkey, err := nats.NkeyOptionFromSeed(c.NKeyFile)
			if err != nil {
				return err
			}
			return nkey(o)
		})
	case c.Token != "":
		opts = append(opts, nats.Token(c.Token))
	case c.User != "":
		opts = append(opts, nats.UserInfo(c.User, c.Password))
	}
	if c.CAFile != "" {
		opts = append(opts, nats.RootCAs(c.CAFile))
	}
	if c.CertFile != "" {
		opts = append(opts, nats.ClientCert(c.CertFile, c.KeyFile))
	}
	if c.TLSFirst {
		opts = append(opts, nats.TLSHandshakeFirst())
	}
	return opts
}

// asyncError hears what belongs to no call: a denied subject, a slow reader.
func (b *Bus) asyncError(_ *nats.Conn, sub *nats.Subscription, err error) {
	if errors.Is(err, nats.ErrSlowConsumer) {
		b.stats.dropped.Add(1)
		return
	}
	if errors.Is(err, nats.ErrPermissionViolation) {
		// Denied calls only time out; this is what names the reason.
		b.denied.Store(&denial{at: time.Now(), err: err})
	}
	subject := ""
	if sub != nil {
		subject = sub.Subject
	}
	b.log.Warn("transport refused something", slog.String("subject", subject), slog.Any("err", err))
}

// dialer connects under a context, which nats.go does not take, keeps the reason
// of a failure, and cuts a greeting short that nobody waits for any more.
type dialer struct {
	ctx     context.Context // of the attempt: the interface leaves no other way
	cut     context.CancelFunc
	timeout time.Duration
	stop    func() bool
	err     error
}

// Dial implements nats.CustomDialer.
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: d.timeout}).DialContext(d.ctx, network, address)
	if d.err = err; err != nil {
		return nil, err
	}
	d.stop = context.AfterFunc(d.ctx, func() { _ = conn.Close() })
	return conn, nil
}

// settle ends the attempt: from now on the connection outlives the context.
func (d *dialer) settle() {
	if d.stop != nil {
		d.stop()
	}
	d.cut()
}
