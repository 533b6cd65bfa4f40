//go:build chaos

package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"

	"driftless.dev/chaos-tests/history"
	"driftless.dev/client"
	view "driftless.dev/fleet"
	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/store/bolt"
	"driftless.dev/wire"
	"time"
)

// state is all that a node answers about its records.
func (n *node) state(ctx context.Context) (history.State, error) {
	s := history.State{Node: n.name, Records: map[string]history.Record{}, Holders: map[string]string{}}
	info, err := n.client.Node(ctx)
	if err != nil {
		return s, err
	}
	s.Root = info.SuperRoot
	for _, kind := range []string{itemKind, tagKind} {
		if err := n.records(ctx, kind, &s); err != nil {
			return s, err
		}
	}
	rows, err := n.ledger(ctx)
	if err != nil {
		return s, err
	}
	for _, l := range rows {
		var r resource.Resource
		if err := json.Unmarshal(l.Resource, &r); err != nil {
			return s, err
		}
		if l.Register != "desired" || r.APIVersion != itemVersion {
			continue
		}
		spec, err := resource.DecodeSpec[itemSpec](r)
		if err != nil {
			return s, err
		}
		s.Lost = append(s.Lost, history.Loss{Key: l.Name, Value: spec.Value, Human: l.Actor == "human", Winner: l.Winner})
	}
	return s, nil
}

func (n *node) records(ctx context.Context, kind string, s *history.State) error {
	for r, err := range n.client.All(ctx, client.Query{Kind: kind}) {
		if err != nil {
			return err
		}
		text, err := json.Marshal(r)
		if err != nil {
			return err
		}
		spec, err := resource.DecodeSpec[itemSpec](r)
		if err != nil {
			return err
		}
		s.Records[r.ID] = history.Record{Key: r.Name, Digest: r.Digest, JSON: string(text), Value: spec.Value, Human: r.WriterActor == resource.Human || r.DesiredStamp.Actor == resource.Human}
		if s.Holders[r.Name] == "" {
			holder, err := n.client.Get(ctx, kind, r.Scope, r.Name)
			if err != nil {
				return fmt.Errorf("get %s: %w", r.Name, err)
			}
			s.Holders[r.Name] = holder.ID
		}
	}
	return nil
}

// ledger reads the whole ledger; one that was cut short would show nothing.
func (n *node) ledger(ctx context.Context) ([]view.Loss, error) {
	var list view.List[view.Loss]
	if err := n.get(ctx, "/v1/ledger?full=true&limit=5000", &list); err != nil {
		return nil, err
	}
	if list.Truncated || list.Continue != "" {
		return nil, fmt.Errorf("the ledger of %s is longer than one answer: the run is too long for its check", n.name)
	}
	return list.Items, nil
}

// get reads what the client package has no call for.
func (n *node) get(ctx context.Context, path string, into any) error {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", strings.TrimPrefix(n.url, "unix://"))
	}}
	defer transport.CloseIdleConnections()
	rq, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, nil)
	if err != nil {
		return err
	}
	resp, err := transport.RoundTrip(rq)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("get %s: status %d", path, resp.StatusCode)
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

// sound opens the store of a node that is stopped and returns what its own
// check finds: P9 and the invariants.
func (n *node) sound() (problems []string, err error) {
	e, err := bolt.OpenEngine(filepath.Join(n.data, "driftless.db"), bolt.Options{})
	if err != nil {
		return nil, err
	}
	key, err := wire.NewFleet(fleetName, nil)
	if err != nil {
		return nil, err
	}
	s, err := store.Open(e, store.Config{Wall: time.Now, Secret: key.Key})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.Check()
}
