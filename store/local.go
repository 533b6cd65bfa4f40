package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"driftless.dev/hlc"
	"driftless.dev/resource"
)

// errDryRun ends a dry run's operation before it writes.
var errDryRun = errors.New("dry run")

// Write judges a mutation and, when it is allowed, makes it durable: one
// transaction covers admission, identity, stamps, hashes, event and
// projection. It returns resource's sentinels (wrapped) for what is refused,
// and the engine's for what could not be stored. Once it has been queued the
// write may happen although ctx ends.
func (s *Store) Write(ctx context.Context, w Write) (Written, error) {
	if err := ctx.Err(); err != nil {
		return Written{}, err
	}
	target, err := s.prepare(&w)
	if err != nil {
		return Written{}, err
	}
	if err := s.awaitConfirmed(ctx); err != nil && !w.DryRun {
		return Written{}, err
	}
	var out Written
	var frame []byte
	err = s.commits.do(func(t *txn) error {
		var err error
		out, frame, err = t.write(&w, target)
		return err
	})
	if err != nil && !errors.Is(err, errDryRun) {
		return Written{}, err
	}
	out.Resource, err = s.shape(frame)
	return out, err
}

// prepare does the part of a write that needs no transaction. So many writers
// at once as there are processors do it: more would only make the one that
// commits, for all of them, wait for its turn after every sync.
func (s *Store) prepare(w *Write) (address, error) {
	s.slots <- struct{}{}
	defer func() { <-s.slots }()
	a, err := s.admit(w)
	if err != nil {
		return address{}, err
	}
	return a, w.prepare()
}

// shape turns what was stored into what the caller sees, outside the
// transaction too.
func (s *Store) shape(frame []byte) (resource.Resource, error) {
	s.slots <- struct{}{}
	defer func() { <-s.slots }()
	rec, err := resource.DecodeRecord(frame)
	if err != nil {
		return resource.Resource{}, err
	}
	return rec.Resource(), nil
}

// find returns the record that an address means, tombstones included, or nil.
func (t *txn) find(a address) (*stored, error) {
	if !a.id.IsZero() {
		return lookup(t.s, t.tx, a.id)
	}
	n, ok, err := holder(t.tx, a.kind, a.scope, a.name)
	if err != nil || !ok {
		return nil, err
	}
	return lookup(t.s, t.tx, n.id)
}

// write judges and stores one mutation. Nothing is written before the last
// check has passed.
func (t *txn) write(w *Write, a address) (out Written, frame []byte, err error) {
	prev, err := t.find(a)
	if err != nil {
		return Written{}, nil, err
	}
	if t.s.cfg.Guard != nil {
		// Asked before a stamp is issued: one that is refused must not drag the
		// clock along.
		if err := t.s.cfg.Guard(t.s.clock.Peek()); err != nil {
			return Written{}, nil, err
		}
	}
	now := t.s.clock.Now()
	next, err := t.nextIdentity()
	if err != nil {
		return Written{}, nil, err
	}
	post, img, err := t.judge(w, a, prev, now)
	if err != nil {
		return Written{}, nil, err
	}
	out = Written{Created: post.Created, Changed: post.Changed, Seq: t.head.Seq, HLC: now}
	switch {
	case w.DryRun:
		return out, img.frame, errDryRun
	case !post.Changed:
		out.Seq, out.HLC = prev.seq, prev.rec.Newest().HLC
		return out, img.frame, nil
	}
	if t.unsure {
		t.become(next, t.head.Own)
	}
	t.head.HLC = now
	t.appendOwn(prev, img, post.Died)
	out.Seq, out.Incarnation, out.OriginSeq = t.head.Seq, t.identity.Incarnation, t.head.Own.Seq
	return out, img.frame, t.broken
}

// judge routes a write to the stamper's rule for it.
func (t *txn) judge(w *Write, a address, prev *stored, now hlc.Timestamp) (Post, image, error) {
	var existing *resource.Record
	if prev != nil {
		existing = &prev.rec
	}
	post, err := t.apply(w, a, existing, now)
	if err != nil {
		return Post{}, image{}, err
	}
	img := imageOf(&post.Record)
	if size := len(img.frame); size > resource.MaxRecordSize && size > sizeOf(prev)+growthAlways {
		return Post{}, image{}, fmt.Errorf("%w: %d bytes encoded, at most %d", resource.ErrTooLarge, size, resource.MaxRecordSize)
	}
	if post.Died || w.Op == OpDelete || w.Op == OpTeardown {
		err = t.kindInUse(&post.Record)
	}
	return post, img, err
}

// growthAlways is how much a record over the bound, which only a join can have
// made, may still grow: what a deletion or a finalizer's removal takes.
const growthAlways = 16 << 10

func sizeOf(prev *stored) int {
	if prev == nil {
		return 0
	}
	return len(prev.rec.AppendTo(nil))
}

func (t *txn) apply(w *Write, a address, existing *resource.Record, now hlc.Timestamp) (Post, error) {
	switch w.Op {
	case OpPut:
		return t.applyPut(w, a, existing, now)
	case OpRelease:
		if existing == nil {
			return Post{}, fmt.Errorf("%w: %s", resource.ErrNotFound, a.describe())
		}
		return t.stamper.Release(existing, w, now)
	}
	if existing != nil && !t.s.shown(existing) {
		return Post{}, fmt.Errorf("%w: %s", resource.ErrNotFound, a.describe())
	}
	var post Post
	var err error
	switch w.Op {
	case OpStatus:
		post, err = t.stamper.Status(existing, w, now)
	case OpClaim:
		post, err = t.stamper.Claim(existing, w, now)
	default:
		post, err = t.stamper.Delete(existing, w, now)
	}
	if errors.Is(err, resource.ErrNotFound) {
		err = fmt.Errorf("%w: %s", resource.ErrNotFound, a.describe())
	}
	return post, err
}

func (a address) describe() string {
	if !a.id.IsZero() {
		return "id " + a.id.String()
	}
	return fmt.Sprintf("%s %q in scope %s", a.kind, a.name, a.scope)
}

func (t *txn) applyPut(w *Write, a address, existing *resource.Record, now hlc.Timestamp) (Post, error) {
	if !a.id.IsZero() {
		switch {
		case existing == nil:
			return Post{}, fmt.Errorf("%w: id %s", resource.ErrNotFound, a.id)
		case existing.Kind != a.kind || existing.Scope != a.scope || existing.Name != w.Resource.Name:
			return Post{}, fmt.Errorf("%w: id %s is %s %q in scope %s: a record cannot be renamed or moved",
				resource.ErrInvalid, a.id, existing.Kind, existing.Name, existing.Scope)
		}
	}
	if serves, err := t.serves(w.Resource.APIVersion, w.Resource.Kind); err != nil {
		return Post{}, err
	} else if !serves {
		return Post{}, fmt.Errorf("%w: kind %s was removed meanwhile", resource.ErrInvalid, a.kind)
	}
	if err := t.fillOwners(w); err != nil {
		return Post{}, err
	}
	var id resource.ID
	if existing == nil {
		if err := t.realmFits(a.scope.Realm()); err != nil {
			return Post{}, err
		}
		var err error
		if id, err = t.s.newID(now); err != nil {
			return Post{}, err
		}
		if w.Resource.Name == "" {
			w.Resource.Name = w.Resource.GenerateName + id.String()
			if err := resource.ValidateName("metadata.generateName", w.Resource.Name); err != nil {
				return Post{}, err
			}
		}
		if a.named {
			id = resource.NameID(a.kind, a.scope, w.Resource.Name)
			if err := t.absent(a.scope.Realm(), id); err != nil {
				return Post{}, err
			}
		}
	}
	return t.stamper.Put(existing, w, id, now)
}

// maxRealms bounds the projects of a fleet: members tell each other all roots.
const maxRealms = 1024

func (t *txn) realmFits(realm string) error {
	t.s.mu.RLock()
	defer t.s.mu.RUnlock()
	if _, known := t.s.tries[realm]; !known && len(t.s.tries) >= maxRealms {
		return fmt.Errorf("%w: a fleet holds at most %d projects", resource.ErrInvalid, maxRealms)
	}
	return nil
}

// fillOwners completes owner references with the incarnation and creation of
// the owners that are known here.
func (t *txn) fillOwners(w *Write) error {
	refs := slices.Clone(w.Resource.OwnerReferences)
	for i := range refs {
		if !refs[i].Incarnation.IsZero() || !refs[i].Creation.IsZero() {
			continue
		}
		id, err := resource.ParseID(refs[i].ID)
		if err != nil {
			return err
		}
		owner, err := lookup(t.s, t.tx, id)
		if err != nil {
			return err
		}
		if owner != nil {
			refs[i].Incarnation, refs[i].Creation = owner.rec.Incarnation(), owner.rec.Creation.Point()
		}
	}
	w.Resource.OwnerReferences, w.desired.OwnerReferences = refs, refs
	return nil
}
