package storetest

import (
	"bytes"
	"fmt"
	"strings"

	"driftless.dev/resource"
	"driftless.dev/store"
)

var quarantineTests = []test{
	{"Quarantine/OtherIdentityUnderAKnownID", testOtherIdentity},
	{"Quarantine/KeepsWhatTheCallerRefuses", testQuarantine},
	{"Quarantine/P12/IsBoundedPerSource", testQuarantineBound},
}

func testOtherIdentity(e *env) {
	a, b := e.pair()
	known := a.put(skill("a", `{"size":1}`))
	b.pullEvents(a)
	for _, change := range []func(*resource.Record){
		func(r *resource.Record) { r.Name = "b" },
		func(r *resource.Record) { r.Scope.Project = "atlas" },
		func(r *resource.Record) { r.Kind = resource.GroupKind{Group: "slot.example.dev", Kind: "Slot"} },
	} {
		rec := a.record(e, known.ID)
		change(&rec)
		out := b.apply(e, store.Batch{Records: []store.Incoming{{Record: rec, From: a.Identity().Instance}}})
		if out.Quarantined != 1 || out.Applied != 0 {
			e.Errorf("came to %+v", out)
		}
	}
	if got := b.get("a"); got.Digest != known.Digest {
		e.Errorf("the record is %+v", got)
	}
	b.reopenIfPossible()
	list := must(b.QuarantineList(10))(e)
	if len(list) != 3 || list[0].From != a.Identity().Instance || !strings.Contains(list[0].Reason, "identity differs") {
		e.Errorf("quarantine %+v", list)
	}
	agree(e, a, b)
}

func testQuarantine(e *env) {
	a, b, news := e.written(1)
	must(0, b.Quarantine(news, "stamped too far ahead"))(e)
	must(0, b.Quarantine(news, "again"))(e)
	list := must(b.QuarantineList(10))(e)
	if len(list) != 1 || list[0].Reason != "stamped too far ahead" || !bytes.Equal(list[0].Frame, news[0].Record.AppendTo(nil)) {
		e.Errorf("quarantine %+v", list)
	}
	b.absent("n0") // never served, merged or forwarded
	b.wantBehind(a, 1)
	b.pullEvents(a)
	b.get("n0")
}

func testQuarantineBound(e *env) {
	a, b := e.pair()
	rec := a.record(e, a.put(skill("a", "")).ID)
	var many []store.Incoming
	for i := range 1100 {
		rec.Name = fmt.Sprint("n", i)
		many = append(many, store.Incoming{Record: rec, From: a.Identity().Instance})
	}
	must(0, b.Quarantine(many, "no"))(e)
	many[0].From = b.Identity().Instance
	must(0, b.Quarantine(many[:1], "another source"))(e)
	if list := must(b.QuarantineList(5000))(e); len(list) != 1025 {
		e.Errorf("%d are held", len(list))
	}
	if list := must(b.QuarantineList(7))(e); len(list) != 7 {
		e.Errorf("%d are listed, want 7", len(list))
	}
}
