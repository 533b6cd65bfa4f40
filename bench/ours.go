package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/store/bolt"
)

const benchVersion = "bench.example.dev/v1"

// ours is a store as a node opens it.
type ours struct {
	o       options
	s       *store.Store
	payload string
}

func newOurs(dir string, o options) (*ours, error) {
	e, err := bolt.OpenEngine(filepath.Join(dir, "driftless.db"), bolt.Options{})
	if err != nil {
		return nil, err
	}
	w, err := loaded(e, o)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// loaded opens a store over an engine and writes every record once.
func loaded(e store.Engine, o options) (*ours, error) {
	s, err := store.Open(e, store.Config{Wall: time.Now})
	if err != nil {
		return nil, err
	}
	w := &ours{o: o, s: s, payload: strings.Repeat("x", max(0, o.size-30))}
	kind, err := resource.KindResource(resource.Kind{
		APIVersion: benchVersion, Name: "Item", Plural: "items",
		Schema: []byte(`{"type":"object","required":["n","payload"],"properties":{"n":{"type":"integer"},"payload":{"type":"string"}}}`),
	}, resource.Scope{})
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	if _, err := s.Put(ctx, kind); err != nil {
		return nil, err
	}
	errs := make(chan error, 64)
	for i := range cap(errs) {
		go func() {
			for n := i; n < o.records; n += cap(errs) {
				if err := w.write(ctx, n); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			return nil, err
		}
	}
	return w, nil
}

// write updates one record, unconditionally, as a client's PUT does.
func (w *ours) write(ctx context.Context, n int) error {
	_, err := w.s.Put(ctx, resource.Resource{
		APIVersion: benchVersion, Kind: "Item", Name: fmt.Sprintf("item-%06d", n%w.o.records),
		Scope: resource.Scope{Project: "bench"},
		Spec:  w.spec(n),
	})
	return err
}

// spec is cheap to make: what is measured is the store's work.
func (w *ours) spec(n int) []byte {
	b := make([]byte, 0, w.o.size+32)
	b = strconv.AppendInt(append(b, `{"n":`...), int64(n), 10)
	b = append(append(b, `,"payload":"`...), w.payload...)
	return append(b, `"}`...)
}

func (w *ours) close() error { return w.s.Close() }
