package resource

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// DecodeSpec reads a resource's typed spec. An empty spec is the zero value, so
// a kind whose spec is optional needs no nil check. Keys match exactly, a
// duplicate is an error, and one that T does not know is passed over: a
// program older than the kind still reads it. Errors wrap ErrInvalid.
func DecodeSpec[T any](r Resource) (T, error) { return decode[T]("spec", r, r.Spec) }

// DecodeStatus reads a resource's typed status, by the rules of DecodeSpec: a
// fresh resource has no status yet.
func DecodeStatus[T any](r Resource) (T, error) { return decode[T]("status", r, r.Status) }

// EncodeSpec writes a typed spec in canonical form.
func EncodeSpec[T any](s T) (json.RawMessage, error) { return encode("spec", s) }

// EncodeStatus writes a typed status in canonical form.
func EncodeStatus[T any](s T) (json.RawMessage, error) { return encode("status", s) }

// typedOptions are the rules between Go types and JSON: keys match exactly,
// and a nil slice is written as [], which a schema's "type": "array" accepts.
// omitempty, durations and json.Number mean what they mean to encoding/json,
// for which callers' types are written.
var typedOptions = jsonv2.JoinOptions(
	jsonv2.DefaultOptionsV2(),
	jsonv1.OmitEmptyWithLegacySemantics(true),
	jsonv1.FormatDurationAsNano(true),
	jsonv2.WithMarshalers(jsonv2.MarshalToFunc(writeNumber)),
	jsonv2.WithUnmarshalers(jsonv2.UnmarshalFromFunc(readNumber)),
)

func writeNumber(enc *jsontext.Encoder, n json.Number) error {
	if n == "" {
		n = "0"
	}
	v := jsontext.Value(n)
	if v.Kind() != jsontext.KindNumber {
		return fmt.Errorf("%.64q is not a number", string(n))
	}
	return enc.WriteValue(v)
}

func readNumber(dec *jsontext.Decoder, n *json.Number) error {
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	switch v.Kind() {
	case jsontext.KindNumber:
		*n = json.Number(v)
	case jsontext.KindNull:
		*n = ""
	default:
		return fmt.Errorf("got %s, want number", kindName(v.Kind()))
	}
	return nil
}

func decode[T any](field string, r Resource, raw json.RawMessage) (T, error) {
	var v T
	if len(raw) == 0 {
		return v, nil
	}
	if err := jsonv2.Unmarshal(raw, &v, typedOptions); err != nil {
		var zero T
		return zero, fmt.Errorf("decode %s of %s %q: %w", field, r.Kind, r.Name, invalidJSON(field, err))
	}
	return v, nil
}

func encode(field string, v any) (json.RawMessage, error) {
	raw, err := jsonv2.Marshal(v, typedOptions)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w: %w", field, ErrInvalid, err)
	}
	return canonicalAt(field, raw)
}

// Condition says where a resource stands (Ready, Stalled, ...), in one shape
// for every kind, so that a generic reader can interpret any status.
type Condition struct {
	Type               string    `json:"type"`
	Status             string    `json:"status"` // "True", "False" or "Unknown"
	Reason             string    `json:"reason,omitempty"`
	Message            string    `json:"message,omitempty"`
	LastTransitionTime time.Time `json:"lastTransitionTime"`
}

// SetCondition returns conds with c in the place of the condition of its type,
// or appended. LastTransitionTime is now when the status value changes, else
// what it was: a reconcile that finds nothing new does not churn the time.
// conds itself is left as it is.
func SetCondition(conds []Condition, c Condition, now time.Time) []Condition {
	c.LastTransitionTime = now
	out := slices.Clone(conds)
	for i, old := range out {
		if old.Type != c.Type {
			continue
		}
		if old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		out[i] = c
		return out
	}
	return append(out, c)
}
