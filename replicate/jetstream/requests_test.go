package jetstream_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/micro"

	"driftless.dev/replicate"
	"driftless.dev/replicate/jetstream"
)

func TestRequest_AbsentMemberIsUnreachableAtOnce(t *testing.T) {
	s := startServer(t, nil)
	n := startNode(t, 1, s.ClientURL())
	n.untilStream()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	began := time.Now()
	if _, err := n.bus.Request(ctx, id(9), replicate.VerbHello, nil); !errors.Is(err, replicate.ErrUnreachable) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took > patience/2 {
		t.Errorf("took %v", took)
	}
}

func TestRequest_AnswersErrorsAndTimeouts(t *testing.T) {
	s := startServer(t, nil)
	release := make(chan struct{})
	defer close(release)
	b := startNode(t, 2, s.ClientURL(), onServe(func(ctx context.Context, verb string, data []byte) ([]byte, error) {
		switch verb {
		case "echo":
			return data, nil
		case "hang":
			select {
			case <-release:
			case <-ctx.Done():
			}
			return nil, ctx.Err()
		case "huge":
			return make([]byte, 2<<20), nil
		default:
			return nil, errors.New("no\r\nsuch verb: " + verb)
		}
	}))
	a := startNode(t, 1, s.ClientURL())
	a.untilStream()
	b.untilStream()

	for _, size := range []int{0, 1, replicate.MaxFrame + 64<<10} {
		data := bytes.Repeat([]byte{'x'}, size)
		if got, err := a.bus.Request(t.Context(), b.id, "echo", data); err != nil || !bytes.Equal(got, data) {
			t.Errorf("echo of %d bytes: %d bytes, %v", size, len(got), err)
		}
	}
	var remote *jetstream.RemoteError
	if _, err := a.bus.Request(t.Context(), b.id, "other", nil); !errors.As(err, &remote) || remote.Text != "no  such verb: other" || errors.Is(err, replicate.ErrUnreachable) {
		t.Errorf("unknown verb: %v", err)
	}
	if _, err := a.bus.Request(t.Context(), b.id, "huge", nil); !errors.As(err, &remote) || !strings.Contains(remote.Text, "payload") {
		t.Errorf("answer too large: %v", err)
	}
	if _, err := a.bus.Request(t.Context(), b.id, "echo", make([]byte, 2<<20)); err == nil || errors.Is(err, replicate.ErrUnreachable) {
		t.Errorf("request too large: %v", err)
	}
	// A slow one neither answers in time nor holds up the others.
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := a.bus.Request(ctx, b.id, "hang", nil); !errors.Is(err, replicate.ErrUnreachable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("slow member: %v", err)
	}
	if got, err := a.bus.Request(t.Context(), b.id, "echo", []byte("meanwhile")); err != nil || string(got) != "meanwhile" {
		t.Errorf("behind a slow request: %q %v", got, err)
	}
}

// More requests than workers and queue hold are refused at once, not piled up.
func TestRequest_BusyMemberSaysSo(t *testing.T) {
	s := startServer(t, nil)
	release := make(chan struct{})
	b := startNode(t, 2, s.ClientURL(), onServe(func(context.Context, string, []byte) ([]byte, error) {
		<-release
		return nil, nil
	}))
	a := startNode(t, 1, s.ClientURL())
	a.untilStream()
	b.untilStream()
	const calls = 100
	results := make(chan error, calls)
	for range calls {
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			_, err := a.bus.Request(ctx, b.id, replicate.VerbHello, nil)
			results <- err
		}()
	}
	busy := <-results // only a refusal can come before the release
	if !errors.Is(busy, replicate.ErrUnreachable) || !strings.Contains(busy.Error(), "busy") {
		t.Errorf("got %v", busy)
	}
	close(release)
	for range calls - 1 {
		if err := <-results; err != nil && !strings.Contains(err.Error(), "busy") {
			t.Errorf("got %v", err)
		}
	}
	if b.bus.Stats().Dropped == 0 {
		t.Error("no refusal was counted")
	}
}

// `nats micro ls` finds the members.
func TestService_IsVisible(t *testing.T) {
	s := startServer(t, nil)
	n := startNode(t, 1, s.ClientURL(), func(_ *node, c *jetstream.Config) { c.Version = "1.2.3" })
	n.untilStream()
	subject, err := micro.ControlSubject(micro.InfoVerb, "driftless", "")
	if err != nil {
		t.Fatal(err)
	}
	msg, err := admin(t, s.ClientURL()).Conn().Request(subject, nil, patience)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"version":"1.2.3"`, `"instance":"` + n.id.String(), `"name":"node-1"`} {
		if !strings.Contains(string(msg.Data), part) {
			t.Errorf("%s lacks %s", msg.Data, part)
		}
	}
}
