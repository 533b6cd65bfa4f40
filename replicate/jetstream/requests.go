package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"driftless.dev/replicate"
	"driftless.dev/resource"
)

// Codes of the answers that are errors.
const (
	codeFailed = "500"
	codeBusy   = "503"
	// maxErrorText bounds the text of an error that crosses the network.
	maxErrorText = 1 << 10
)

// RemoteError is what another member answered: it got the request, and refused
// it or failed.
type RemoteError struct {
	Verb string
	Text string
}

func (e *RemoteError) Error() string { return "member answered " + e.Verb + ": " + e.Text }

// Request implements replicate.Bus. Its errors wrap ErrUnreachable when nobody
// listens at that address, the answer did not come within ctx, the member is too
// busy to look at it, or there is no connection; a *RemoteError is an answer.
func (b *Bus) Request(ctx context.Context, to resource.ID, verb string, data []byte) ([]byte, error) {
	s := b.session.Load()
	if s == nil {
		return nil, fmt.Errorf("request %s: %w: %w", verb, replicate.ErrUnreachable, replicate.ErrDisconnected)
	}
	msg, err := s.nc.RequestWithContext(ctx, b.subjects.RPC(to, verb), data)
	switch {
	case errors.Is(err, nats.ErrMaxPayload):
		return nil, fmt.Errorf("request %s: %w", verb, err) // the caller's doing
	case err != nil:
		return nil, fmt.Errorf("request %s: %w: %w", verb, replicate.ErrUnreachable, err)
	}
	switch msg.Header.Get(micro.ErrorCodeHeader) {
	case "":
		return msg.Data, nil
	case codeBusy:
		return nil, fmt.Errorf("request %s: %w: it is busy", verb, replicate.ErrUnreachable)
	default:
		return nil, &RemoteError{Verb: verb, Text: msg.Header.Get(micro.ErrorHeader)}
	}
}

// offer puts up the micro service. One endpoint takes every verb, so that a verb
// this version does not know is answered, by the handler, instead of looking
// like an absent member. There is no queue group: the subject names one instance.
func (s *session) offer() (micro.Service, error) {
	c := s.bus.cfg
	service, err := micro.AddService(s.nc, micro.Config{
		Name: "driftless", Version: c.Version, Description: "fleet replication node",
		Metadata:           map[string]string{"fleet": c.Fleet, "instance": c.Instance.String(), "name": c.Name},
		QueueGroupDisabled: true,
	})
	if err != nil {
		return nil, fmt.Errorf("offer service: %w", err)
	}
	subject := micro.WithEndpointSubject(s.bus.subjects.RPCFilter(c.Instance))
	if err := service.AddEndpoint("rpc", micro.HandlerFunc(s.accept), subject); err != nil {
		_ = service.Stop()
		return nil, fmt.Errorf("offer requests: %w", err)
	}
	return service, nil
}

// accept runs in the subscription's goroutine, one request at a time, so it only
// hands over. A full queue is said at once: the caller can ask another member.
func (s *session) accept(req micro.Request) {
	select {
	case s.calls <- req:
	default:
		s.bus.stats.dropped.Add(1)
		_ = req.Error(codeBusy, "busy", nil)
	}
}

func (s *session) work(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case req := <-s.calls:
			s.answer(ctx, req)
		}
	}
}

// answer serves one request. The connection may be gone by then, and the caller
// with it: what cannot be sent is only noted.
func (s *session) answer(ctx context.Context, req micro.Request) {
	ctx, cancel := context.WithTimeout(ctx, s.bus.cfg.Tuning.Serve)
	defer cancel()
	_, verb, err := s.bus.subjects.ParseRPC(req.Subject())
	var data []byte
	if err == nil {
		data, err = s.handler.Serve(ctx, verb, req.Data())
	}
	if err == nil {
		if err = req.Respond(data); err == nil {
			return
		}
	}
	if errors.Is(err, replicate.ErrSilent) {
		return
	}
	if err := req.Error(codeFailed, headerText(err), nil); err != nil {
		s.bus.log.Debug("answer not sent", slog.String("verb", verb), slog.Any("err", err))
	}
}

// headerText makes an error fit a header: one line, not empty, bounded.
func headerText(err error) string {
	text := strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, err.Error())
	if len(text) > maxErrorText {
		text = strings.ToValidUTF8(text[:maxErrorText], "")
	}
	if strings.TrimSpace(text) == "" {
		return "failed"
	}
	return text
}
