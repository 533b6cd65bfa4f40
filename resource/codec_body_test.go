package resource_test

import (
	"bytes"
	"errors"
	"testing"

	"driftless.dev/pack"
	"driftless.dev/resource"
	"driftless.dev/resource/resourcetest"
)

// Each part of a register's body is replaced by something that does not belong
// there.
func TestRegister_RefusesBodies(t *testing.T) {
	list, text := resourcetest.Join, func(s string) []byte { return pack.AppendText(nil, s) }
	bin := func(b byte) []byte { return pack.AppendBin(nil, bytes.Repeat([]byte{b}, 16)) }
	null, knows := []byte{0xc0}, func(b byte) []byte { return list([][]byte{bin(b), {5}}) }
	stamp := func(actor byte, hlc byte, writer []byte) []byte {
		return list([][]byte{{0}, {actor}, {0}, {0}, null, {hlc}, writer})
	}
	crowd := [][]byte{}
	for i := range byte(resource.MaxContext + 1) {
		crowd = append(crowd, knows(i))
	}
	strings := func(s ...string) []byte {
		var fields [][]byte
		for _, v := range s {
			fields = append(fields, text(v))
		}
		return list(fields)
	}
	owner := [][]byte{text(""), text(""), text(""), text("x"), {0}, null, {0}, null, {0xc2}}

	for name, c := range map[string]struct {
		register, part, field int // field of the value when part is 3
		with                  []byte
	}{
		"version 2":             {resourcetest.DesiredField, 0, 0, []byte{2}},
		"stamp of six":          {resourcetest.DesiredField, 1, 0, list([][]byte{{0}, {0}, {0}, {0}, null, {5}})},
		"unknown actor":         {resourcetest.DesiredField, 1, 0, stamp(3, 5, bin(1))},
		"stamp without time":    {resourcetest.DeletionField, 1, 0, stamp(0, 0, bin(1))},
		"stamp without writer":  {resourcetest.ObservedField, 1, 0, stamp(0, 5, null)},
		"zero writer spelt out": {resourcetest.DesiredField, 1, 0, stamp(0, 5, bin(0))},
		"context out of order":  {resourcetest.DesiredField, 2, 0, list([][]byte{knows(2), knows(1)})},
		"context with a double": {resourcetest.DesiredField, 2, 0, list([][]byte{knows(1), knows(1)})},
		"context of 33":         {resourcetest.DesiredField, 2, 0, list(crowd)},
		"context of nil":        {resourcetest.DesiredField, 2, 0, list([][]byte{list([][]byte{null, {5}})})},
		"value too short":       {resourcetest.DesiredField, 3, -1, list([][]byte{text("v1")})},
		"labels out of order":   {resourcetest.DesiredField, 3, 1, strings("b", "", "a", "")},
		"label twice":           {resourcetest.DesiredField, 3, 1, strings("a", "", "a", "")},
		"label without value":   {resourcetest.DesiredField, 3, 2, strings("a")},
		"spec as text":          {resourcetest.DesiredField, 3, 3, text("{}")},
		"owner of eight":        {resourcetest.DesiredField, 3, 5, list([][]byte{list(owner[:8])})},
		"time not canonical":    {resourcetest.DesiredField, 3, 6, text("2026-01-02T03:04:05.500Z")},
		"time with an offset":   {resourcetest.DesiredField, 3, 6, text("2026-01-02T03:04:05+00:00")},
		"time with a comma":     {resourcetest.DesiredField, 3, 7, text("2026-01-02T03:04:05,5Z")},
		"no time at all":        {resourcetest.DesiredField, 3, 7, text("tomorrow")},
		"strength 0":            {resourcetest.DeletionField, 3, 0, []byte{0}},
		"strength 3":            {resourcetest.DeletionField, 3, 0, []byte{3}},
		"status as text":        {resourcetest.ObservedField, 3, 2, text("{}")},
	} {
		rec := whole()
		frame := resourcetest.Split(rec.AppendTo(nil))
		body := resourcetest.Split(pack.NewReader(resourcetest.Split(frame[c.register])[0]).Bin())
		if c.part == 3 && c.field >= 0 {
			value := resourcetest.Split(body[3])
			value[c.field] = c.with
			body[3] = resourcetest.Join(value)
		} else {
			body[c.part] = c.with
		}
		frame[c.register] = resourcetest.Join([][]byte{pack.AppendBin(nil, resourcetest.Join(body)), null})
		if _, err := resource.DecodeRecord(resourcetest.Join(frame)); !errors.Is(err, pack.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRegister_EmptySignatureIsRefused(t *testing.T) {
	rec := whole()
	frame := resourcetest.Split(rec.AppendTo(nil))
	frame[resourcetest.DesiredField] = resourcetest.Join([][]byte{resourcetest.Split(frame[resourcetest.DesiredField])[0], {0xc4, 0}})
	if _, err := resource.DecodeRecord(resourcetest.Join(frame)); !errors.Is(err, pack.ErrMalformed) {
		t.Errorf("%v", err)
	}
}
