// Package resourcetest draws records for property tests.
package resourcetest

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"driftless.dev/hlc"
	"driftless.dev/resource"
)

// Options say from which space a record is drawn.
type Options struct {
	// Wide draws identities, times and texts from all that the format can
	// hold. Without it every record has one identity, and the few times,
	// writers and values make equal stamps and equal writes common.
	Wide bool
	// Finalizers is the most entries of one record, 4 when zero.
	Finalizers int
}

// Record draws a record of any shape that Validate accepts: each optional part
// present or absent, registers with and without fields of a later version.
func Record(t *rapid.T, o Options) resource.Record {
	g := drawing{T: t, Options: o}
	rec := resource.Record{
		ID:    resource.ID{15: 1},
		Kind:  resource.GroupKind{Group: "skill.example.dev", Kind: "Skill"},
		Scope: resource.Scope{Project: "atlas"},
		Name:  "summarise",
	}
	if o.Wide {
		rec.ID, rec.Name = g.id("id", 1), g.name("name")
		rec.Kind = resource.GroupKind{Group: g.pick("group", "", "skill.example.dev"), Kind: g.pick("kind", "Skill", "K")}
		rec.Scope = resource.Scope{Instance: g.maybe("instance"), Project: g.maybe("project"), Workspace: g.maybe("workspace")}
	}
	p := g.point("creation", 1)
	rec.Creation = resource.Creation{HLC: p.HLC, Writer: p.Writer, Actor: g.actor(), Origin: g.id("origin", 1)}
	rec.Desired = *register(&g, "desired", g.desired(rec.Kind.Group))
	if g.bool("deletion") {
		rec.Deletion = register(&g, "deletion", resource.Deletion{
			Strength: resource.Strength(g.int("strength", 1, 2)), RequestedAt: g.time("requestedAt", 0), Ends: g.point("ends", 0),
		})
	}
	if g.bool("observed") {
		rec.Observed = register(&g, "observed", resource.Observed{Incarnation: g.point("statusOf", 0), Status: g.json("status")})
	}
	rec.Finalizers = g.finalizers()
	rec.SyncVersion, rec.Version = g.counter("syncVersion", resource.MaxCounter), g.counter("version", resource.MaxCounter)
	rec.Fence = fence(&rec, g.epoch("fence"))
	return extended(&g, rec)
}

// fence is the highest of an epoch and those of the record's stamps.
func fence(r *resource.Record, e resource.Epoch) resource.Epoch {
	epochs := []resource.Epoch{e, r.Desired.Stamp.Epoch}
	if r.Deletion != nil {
		epochs = append(epochs, r.Deletion.Stamp.Epoch)
	}
	if r.Observed != nil {
		epochs = append(epochs, r.Observed.Stamp.Epoch)
	}
	return slices.MaxFunc(epochs, resource.Epoch.Compare)
}

// drawing adds the record's own kinds of value to a rapid.T.
type drawing struct {
	*rapid.T
	Options
}

func (g *drawing) bool(label string) bool { return rapid.Bool().Draw(g.T, label) }

func (g *drawing) int(label string, from, to int) int {
	return rapid.IntRange(from, to).Draw(g.T, label)
}

func (g *drawing) pick(label string, from ...string) string {
	return rapid.SampledFrom(from).Draw(g.T, label)
}

func (g *drawing) counter(label string, most uint64) uint64 {
	if !g.Wide {
		most = 3
	}
	return rapid.Uint64Range(0, most).Draw(g.T, label)
}

func (g *drawing) time(label string, least uint64) hlc.Timestamp {
	if !g.Wide {
		return hlc.Timestamp(rapid.Uint64Range(least, 4).Draw(g.T, label))
	}
	return hlc.Timestamp(rapid.Uint64Range(least, uint64(resource.MaxHLC)).Draw(g.T, label))
}

func (g *drawing) id(label string, least byte) (id resource.ID) {
	if !g.Wide {
		id[15] = byte(g.int(label, int(least), 3))
		return id
	}
	copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(g.T, label))
	id[0] |= least
	return id
}

// point draws a whole point, or, with least 0, perhaps the zero one.
func (g *drawing) point(label string, least byte) resource.Point {
	if least == 0 {
		if !g.bool(label) {
			return resource.Point{}
		}
		least = 1
	}
	return resource.Point{HLC: g.time(label, uint64(least)), Writer: g.id(label, least)}
}

func (g *drawing) epoch(label string) resource.Epoch {
	if !g.bool(label) {
		return resource.Epoch{}
	}
	return resource.Epoch{Number: 1 + g.counter(label, resource.MaxRank-1), Claim: g.point(label, 1)}
}

func (g *drawing) actor() resource.Actor { return resource.Actor(g.int("actor", 0, 2)) }

func (g *drawing) stamp(label string) resource.Stamp {
	p := g.point(label, 1)
	return resource.Stamp{Release: g.counter("release", resource.MaxRank), Actor: g.actor(), Epoch: g.epoch("epoch"), HLC: p.HLC, Writer: p.Writer}
}

func (g *drawing) context() (c resource.Context) {
	most := 3
	if g.Wide {
		most = resource.MaxContext
	}
	for range g.int("context", 0, most) {
		c = append(c, g.point("knows", 1))
	}
	slices.SortFunc(c, func(a, b resource.Point) int { return strings.Compare(string(a.Writer[:]), string(b.Writer[:])) })
	return slices.CompactFunc(c, func(a, b resource.Point) bool { return a.Writer == b.Writer })
}

// name draws what ValidateName accepts; "_" is no project.
func (g *drawing) name(label string) string {
	return rapid.StringMatching(`[a-zé世][a-z0-9._ -]{0,40}`).Draw(g.T, label)
}

func (g *drawing) maybe(label string) string {
	if !g.bool(label) {
		return ""
	}
	return g.name(label)
}

func (g *drawing) text(label string) string {
	if !g.Wide {
		return g.pick(label, "", "x", "y")
	}
	return rapid.StringN(0, 300, -1).Draw(g.T, label)
}

func (g *drawing) strings(label string) map[string]string {
	var m map[string]string
	for range g.int(label, 0, 3) {
		if m == nil {
			m = map[string]string{}
		}
		m[g.text(label)] = g.text(label)
	}
	return m
}

// json draws canonical JSON or nil.
func (g *drawing) json(label string) []byte {
	switch g.int(label, 0, 3) {
	case 0:
		return nil
	case 1:
		return fmt.Appendf(nil, `{"size":%d}`, g.int(label, 0, 2))
	case 2:
		return []byte(g.pick(label, `"é"`, `[1,1.0,1e400]`, `{"a":{"b":[null]},"é":true}`))
	default:
		return fmt.Appendf(nil, `{"text":"%s"}`, strings.Repeat("x", g.int(label, 0, 300)))
	}
}

func (g *drawing) desired(group string) resource.Desired {
	d := resource.Desired{
		APIVersion: strings.TrimPrefix(group+g.pick("version", "/v1", "/v2"), "/"),
		Labels:     g.strings("labels"), Annotations: g.strings("annotations"),
		Spec:  g.json("spec"),
		Owner: g.text("owner"),
	}
	for range g.int("owners", 0, 2) {
		d.OwnerReferences = append(d.OwnerReferences, resource.OwnerReference{
			APIVersion: g.text("owner"), Kind: g.text("owner"), Name: g.text("owner"), ID: g.id("owner", 1).String(),
			Incarnation: g.point("owner", 0), Creation: g.point("owner", 0), Controller: g.bool("controller"),
		})
	}
	d.ValidFrom = g.pick("validFrom", "", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000000006Z")
	d.ValidTo = g.pick("validTo", "", "9999-12-31T23:59:59.9Z")
	return d
}

func (g *drawing) finalizers() (fs []resource.Finalizer) {
	most := g.Finalizers
	if most == 0 {
		most = 4
	}
	n := g.int("finalizers", 0, most)
	for i := range 2 * most {
		if len(fs) == n {
			break
		}
		if n-len(fs) < 2*most-i && !g.bool("key") {
			continue
		}
		fs = append(fs, resource.Finalizer{
			Key: fmt.Sprintf("example.dev/%03d", i), Incarnation: g.point("finalizer", 0), At: g.point("finalizer", 0), Present: g.bool("present"),
		})
	}
	return fs
}
