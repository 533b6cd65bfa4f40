package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"driftless.dev/hlc"
	"driftless.dev/resource"
)

// Written is what a write came to.
type Written struct {
	Resource resource.Resource
	// Created tells a create (or a return after a deletion) from an update.
	Created bool
	// Seq is the node's log after the write, HLC its stamp.
	Seq uint64
	HLC hlc.Timestamp
	// Epoch is the record's fence, zero when nobody ever claimed it.
	Epoch resource.Epoch
	// Wait is what a wait came to, nil when nothing was waited for.
	Wait *WaitResult
}

// WaitResult is how far a write was when its wait ended. The write is durable
// on the node that took it all the same.
type WaitResult struct {
	Reached, Wanted int
	// Missing names the members that had not applied it.
	Missing []string
	// Superseded: it lost to another write meanwhile.
	Superseded bool
}

// Complete reports whether the write is where it was wanted.
func (w *WaitResult) Complete() bool { return w == nil || w.Reached >= w.Wanted && !w.Superseded }

// defaultNodeWait is how long a node waits when it is not told.
const defaultNodeWait = 5 * time.Second

func (c *Client) write(ctx context.Context, method, path string, body []byte) (Written, error) {
	rq := request{method: method, path: path, body: body, write: true}
	if c.call.DryRun {
		rq.query = url.Values{"dry-run": {"true"}}
	}
	if c.call.Wait != "" {
		rq.extra = max(c.call.WaitTimeout, defaultNodeWait)
	}
	a, err := c.do(ctx, rq)
	if err != nil {
		return Written{}, err
	}
	w, err := a.written()
	if err != nil {
		return Written{}, fmt.Errorf("%w: %s %s: %w", ErrProtocol, method, path, err)
	}
	return w, nil
}

func (a *answer) written() (w Written, err error) {
	w.Created = a.status == http.StatusCreated
	if err := jsonv2.Unmarshal(a.body, &w.Resource); err != nil {
		return w, err
	}
	if w.Seq, err = strconv.ParseUint(a.header.Get("Driftless-Seq"), 10, 64); err != nil {
		return w, err
	}
	if w.HLC, err = hlc.Parse(a.header.Get("Driftless-HLC")); err != nil {
		return w, err
	}
	if w.Epoch, err = resource.ParseEpoch(a.header.Get("Driftless-Epoch")); err != nil {
		return w, err
	}
	if text := a.header.Get("Driftless-Wait-Result"); text != "" {
		w.Wait, err = parseWait(text)
	}
	return w, err
}

// parseWait reads "reached=2/3 missing=c superseded". Words it does not know
// are passed over: a node may be newer.
func parseWait(text string) (*WaitResult, error) {
	var w WaitResult
	for word := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "reached":
			if _, err := fmt.Sscanf(value, "%d/%d", &w.Reached, &w.Wanted); err != nil {
				return nil, fmt.Errorf("wait result %q: %w", text, err)
			}
		case "missing":
			for escaped := range strings.SplitSeq(value, ",") {
				name, err := url.PathUnescape(escaped)
				if err != nil {
					return nil, fmt.Errorf("wait result %q: %w", text, err)
				}
				w.Missing = append(w.Missing, name)
			}
		case "superseded":
			w.Superseded = true
		}
	}
	return &w, nil
}

// form is what a caller writes of a resource. Unlike resource's own JSON form
// it can say of a list that it is empty, which is not the same as saying
// nothing.
type form struct {
	APIVersion string         `json:"apiVersion,omitzero"`
	Kind       string         `json:"kind,omitzero"`
	Metadata   metadata       `json:"metadata"`
	Spec       jsontext.Value `json:"spec,omitzero"`
}

type metadata struct {
	Name            string                    `json:"name,omitzero"`
	GenerateName    string                    `json:"generateName,omitzero"`
	Scope           resource.Scope            `json:"scope,omitzero"`
	Labels          map[string]string         `json:"labels,omitzero"`
	Annotations     map[string]string         `json:"annotations,omitzero"`
	Finalizers      []string                  `json:"finalizers,omitzero"`
	OwnerReferences []resource.OwnerReference `json:"ownerReferences,omitzero"`
	Owner           string                    `json:"owner,omitzero"`
	ValidFrom       *time.Time                `json:"validFrom,omitzero"`
	ValidTo         *time.Time                `json:"validTo,omitzero"`
}

func formOf(r *resource.Resource) ([]byte, error) {
	f := form{APIVersion: r.APIVersion, Kind: r.Kind, Metadata: metadata{
		Name: r.Name, GenerateName: r.GenerateName, Scope: r.Scope, Labels: r.Labels, Annotations: r.Annotations,
		Finalizers: r.Finalizers, OwnerReferences: r.OwnerReferences, Owner: r.Owner, ValidFrom: r.ValidFrom, ValidTo: r.ValidTo,
	}}
	if len(r.Spec) > 0 {
		f.Spec = jsontext.Value(r.Spec)
	}
	b, err := jsonv2.Marshal(f, jsonv2.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("write %s %q: %w: %w", r.Kind, r.Name, resource.ErrInvalid, err)
	}
	return b, nil
}
