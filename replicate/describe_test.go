package replicate_test

import (
	"fmt"
	"slices"
	"strings"

	"driftless.dev/replicate"
	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/wire"
)

// note writes down one step. Heartbeats and ticks that lead to nothing else are
// left out, or there would be little else.
func (w *world) note(r *rig, in replicate.Input, out []replicate.Effect) {
	var effects []string
	for _, e := range out {
		if _, ok := e.(replicate.Broadcast); !ok {
			effects = append(effects, w.effect(r, e))
		}
	}
	input := w.input(r, in)
	if len(effects) == 0 && input == "" {
		return
	}
	if input == "" {
		input = w.minor(r, in)
	}
	at := fmt.Sprintf("%6dms %s", w.mono.Milliseconds(), r.name)
	w.say("%s <- %s", at, input)
	for _, e := range effects {
		w.say("%s -> %s", at, e)
	}
}

// input describes one; "" is for those that are worth a line only by what they
// lead to.
func (w *world) input(r *rig, in replicate.Input) string {
	f := r.fleet
	switch in := in.(type) {
	case replicate.OutboxRead:
		return fmt.Sprintf("outbox up to log %d: %s", in.Last, w.events(in.Events))
	case replicate.Published:
		return fmt.Sprintf("stream took message %d%s", in.ID, failed(in.Err))
	case replicate.Message:
		b, _ := f.ReadBatch(in.Data)
		return fmt.Sprintf("message %d of the stream, realm %s: %s", in.At.Seq, in.Realm, w.events(b.Events))
	case replicate.Acked:
		m, _ := f.ReadAck(in.Data)
		return fmt.Sprintf("%s has applied %s", w.who(m.From), w.positions(m.Position))
	case replicate.Applied:
		return fmt.Sprintf("applied %d: %d new, %d unchanged%s", in.ID, in.Result.Applied, in.Result.Unchanged, failed(in.Err))
	case replicate.TookPush:
		return fmt.Sprintf("took a push: %d new, %d unchanged, covers [%s]", in.Result.Applied, in.Result.Unchanged, w.vector(in.Result.Covered))
	case replicate.Replied:
		return fmt.Sprintf("answer %d: %s%s", in.ID, w.reply(r, in), failed(in.Err))
	case replicate.Vouched:
		return fmt.Sprintf("vouched %d: %d%s", in.ID, in.Vouching, failed(in.Err))
	case replicate.Claimed:
		return fmt.Sprintf("own event %d is claimed: %d", in.Position.Seq, in.Vouching)
	case replicate.Reincarnated:
		return fmt.Sprintf("reincarnated %d%s", in.ID, failed(in.Err))
	case replicate.RecordsRead:
		return fmt.Sprintf("read %d: %d records of %d places", in.ID, len(in.Frames), in.Done)
	}
	return ""
}

// minor describes an input that input leaves out.
func (w *world) minor(r *rig, in replicate.Input) string {
	switch in := in.(type) {
	case replicate.Appended:
		return fmt.Sprintf("log has grown to %d", in.Seq)
	case replicate.Heard:
		hb, _ := r.fleet.ReadHeartbeat(in.Data)
		return fmt.Sprintf("heartbeat of %s", w.who(hb.Instance))
	case replicate.TransportChanged:
		return fmt.Sprintf("transport connected %v, stream %v", in.Transport.Connected, in.Transport.Stream)
	}
	return "tick"
}

func failed(err error) string {
	if err == nil {
		return ""
	}
	return " failed: " + err.Error()
}

func (w *world) reply(r *rig, in replicate.Replied) string {
	verb := w.verbs[fmt.Sprint(r.name, in.ID)]
	switch verb {
	case replicate.VerbHello:
		m, _ := r.fleet.ReadStanding(in.Data)
		return fmt.Sprintf("stands at [%s] with %d realms", w.positions(m.Vector...), len(m.Realms))
	case replicate.VerbNodes:
		m, _ := r.fleet.ReadNodes(in.Data)
		return fmt.Sprintf("%d nodes", len(m.Nodes))
	case replicate.VerbRecords:
		m, _ := r.fleet.ReadRecords(in.Data)
		return fmt.Sprintf("%d records of %d places", len(m.Frames), m.Done)
	}
	m, _ := r.fleet.ReadPushed(in.Data)
	return fmt.Sprintf("%d taken, %d refused", m.Taken, m.Refused)
}

func (w *world) effect(r *rig, e replicate.Effect) string {
	switch e := e.(type) {
	case replicate.ReadOutbox:
		return fmt.Sprintf("read outbox after log %d", e.After)
	case replicate.Publish:
		return fmt.Sprintf("publish message %d, realm %s: %s", e.ID, e.Realm, w.events(batch(r, e).Events))
	case replicate.Request:
		w.verbs[fmt.Sprint(r.name, e.ID)] = e.Verb
		id := ""
		if e.ID != 0 {
			id = fmt.Sprint(" ", e.ID)
		}
		return fmt.Sprintf("ask%s %s: %s%s", id, w.who(e.To), e.Verb, w.question(r, e))
	case replicate.Apply:
		adopt := ""
		if len(e.Batch.Adopt) > 0 {
			adopt = fmt.Sprintf(", adopt [%s]", w.vector(e.Batch.Adopt))
		}
		return fmt.Sprintf("apply %d: %d records%s", e.ID, len(e.Batch.Records), adopt)
	case replicate.ReadRecords:
		return fmt.Sprintf("read %d: %d places of realm %s", e.ID, len(e.Places), e.Realm)
	case replicate.Vouch:
		return fmt.Sprintf("vouch %d: own event %d", e.ID, e.Position.Seq)
	case replicate.Reincarnate:
		return fmt.Sprintf("reincarnate %d: keep %d, reissue %v", e.ID, e.How.Keep, e.How.Fork)
	case replicate.Answered:
		return fmt.Sprintf("local writes may go on, confirmed %v", e.Confirmed)
	case replicate.Joined:
		return "this state is a member's"
	case replicate.Stage:
		return "stage cursor " + e.Name
	}
	return fmt.Sprintf("%T", e)
}

func (w *world) question(r *rig, e replicate.Request) string {
	switch e.Verb {
	case replicate.VerbNodes:
		m, _ := r.fleet.ReadNodesRequest(e.Data)
		return fmt.Sprintf(" at %d prefixes of realm %s", len(m.Prefixes), m.Realm)
	case replicate.VerbRecords:
		m, _ := r.fleet.ReadRecordsRequest(e.Data)
		return fmt.Sprintf(" at %d places of realm %s", len(m.Places), m.Realm)
	case replicate.VerbPush:
		m, _ := r.fleet.ReadPush(e.Data)
		if len(m.Adopt) > 0 {
			return fmt.Sprintf(" %d records, adopt [%s]", len(m.Frames), w.positions(m.Adopt...))
		}
		return fmt.Sprintf(" %d records", len(m.Frames))
	case replicate.VerbApplied:
		m, _ := r.fleet.ReadAck(e.Data)
		return " " + w.positions(m.Position)
	}
	return ""
}

func (w *world) who(id resource.ID) string {
	for _, r := range w.rigs {
		if ident := r.store.Identity(); ident.Instance == id || ident.Incarnation == id {
			return r.name
		}
	}
	return "?"
}

func (w *world) events(events []resource.Event) string {
	var out []string
	for _, ev := range events {
		out = append(out, fmt.Sprintf("%s/%d", w.who(ev.Incarnation), ev.Seq))
	}
	return strings.Join(out, " ")
}

func (w *world) vector(v store.Vector) string {
	var ps []wire.Position
	for inc, p := range v {
		ps = append(ps, wire.Position{Incarnation: inc, Seq: p.Seq})
	}
	return w.positions(ps...)
}

func (w *world) positions(ps ...wire.Position) string {
	var out []string
	for _, p := range ps {
		out = append(out, fmt.Sprintf("%s/%d", w.who(p.Incarnation), p.Seq))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}
