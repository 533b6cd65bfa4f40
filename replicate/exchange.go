package replicate

import (
	"fmt"
	"slices"

	"driftless.dev/merkle"
	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/wire"
)

// pushBytes bounds the frames of one push.
const pushBytes = 192 << 10

// pullNext asks for the next records that the member has differently.
func (c *Core) pullNext() error {
	s := c.rec.session
	if len(s.pull) == 0 {
		return c.pushNext()
	}
	req := wire.RecordsRequest{Realm: s.realm, Places: s.pull[:min(len(s.pull), wire.MaxPlaces)], Offset: uint64(len(s.partial))}
	if req.Offset > 0 {
		req.Places = req.Places[:1]
	}
	c.ask(VerbRecords, c.cfg.Fleet.AppendRecordsRequest(nil, &req), c.recordsAnswered)
	return nil
}

func (c *Core) recordsAnswered(s *session, in Replied) error {
	m, err := c.cfg.Fleet.ReadRecords(in.Data)
	if err != nil {
		return err
	}
	if m.Size > 0 {
		return c.pieceAnswered(s, &m)
	}
	if len(s.partial) > 0 {
		return c.changedOnItsWay()
	}
	if m.Done == 0 || m.Done > uint64(len(s.pull)) {
		return fmt.Errorf("%w: %d of %d records answered", resource.ErrInvalid, m.Done, len(s.pull))
	}
	done := s.pull[:m.Done]
	s.pull = s.pull[m.Done:]
	return c.applyFrames(s, m.Frames, done)
}

// changedOnItsWay ends a session whose pieces do not belong together: an honest
// member's record changed meanwhile.
func (c *Core) changedOnItsWay() error {
	c.endSession(resultMoved, "a large record changed on its way")
	return nil
}

// unfit reports whether an assembled record is not the one whose digest the
// member announced: it changed while its pieces were on their way, and what
// they make together nobody ever wrote.
func (c *Core) unfit(s *session, frame []byte) bool {
	rec, err := resource.DecodeRecord(frame)
	if err != nil {
		return true
	}
	digest := rec.Digest()
	return !slices.Contains(s.remote[s.pull[0]], merkle.Digest(digest[:16]))
}

// pieceAnswered gathers a record that does not fit one message.
func (c *Core) pieceAnswered(s *session, m *wire.Records) error {
	fits := len(m.Frames) == 1 && len(m.Frames[0]) > 0 && uint64(len(s.partial)+len(m.Frames[0])) <= m.Size
	switch {
	case !fits && len(s.partial) > 0:
		return c.changedOnItsWay()
	case !fits:
		return fmt.Errorf("%w: piece of a record does not fit", resource.ErrInvalid)
	}
	s.partial = append(s.partial, m.Frames[0]...)
	if uint64(len(s.partial)) < m.Size {
		return c.pullNext()
	}
	if c.unfit(s, s.partial) {
		return c.changedOnItsWay()
	}
	frame, done := s.partial, s.pull[:1]
	s.partial, s.pull = nil, s.pull[1:]
	return c.applyFrames(s, [][]byte{frame}, done)
}

// applyFrames decodes what was pulled and sends it to the disk.
func (c *Core) applyFrames(s *session, frames [][]byte, places []merkle.Key) error {
	take, refuse, err := c.admit(c.now, s.realm, s.peer, frames)
	if err != nil {
		return err
	}
	answered := map[merkle.Key]bool{}
	for _, in := range append(slices.Clone(take), refuse...) {
		place := merkle.Place(&c.cfg.Fleet.Key, in.Record.ID)
		if _, ok := slices.BinarySearch(places, place); !ok {
			return fmt.Errorf("%w: record %s was not asked for", resource.ErrInvalid, in.Record.ID)
		}
		answered[place] = true
	}
	if len(answered) < len(places) {
		s.whole = false // announced and not handed over
	}
	c.remember(refuse)
	c.counts.Pulled += uint64(len(take))
	c.apply(store.Batch{Records: take, Bootstrap: s.boot}, refuse, func(*session, Applied) error { return c.pullNext() })
	return nil
}

// Admit decodes and validates frames that a peer pushed.
func (c *Core) Admit(now Now, from resource.ID, frames [][]byte) (take, refuse []store.Incoming, err error) {
	return c.admit(now, "", from, frames)
}

// admit decodes and validates frames from a peer, and parts off those whose
// stamps lie too far ahead.
func (c *Core) admit(now Now, realm string, from resource.ID, frames [][]byte) (take, refuse []store.Incoming, err error) {
	for _, f := range frames {
		rec, err := resource.DecodeRecord(f)
		if err == nil {
			err = rec.Validate()
		}
		if err != nil {
			return nil, nil, fmt.Errorf("record from %s: %w", from, err)
		}
		if realm != "" && rec.Realm() != realm {
			return nil, nil, fmt.Errorf("%w: record %s is of another realm", resource.ErrInvalid, rec.ID)
		}
		in := store.Incoming{Record: rec, From: from}
		if c.tooFar(now, &rec) {
			refuse = append(refuse, in)
		} else {
			take = append(take, in)
		}
	}
	return take, refuse, nil
}

// pushNext reads the next records that the member lacks or has differently.
// What was pulled for the same keys has been joined in by now.
func (c *Core) pushNext() error {
	s := c.rec.session
	if len(s.push) == 0 {
		return c.nextRealm()
	}
	s.waiting, s.read, s.deadline = c.id(), c.pushRead, c.now.Mono+sessionTimeout
	c.emit(ReadRecords{ID: s.waiting, Realm: s.realm, Places: s.push[:min(len(s.push), wire.MaxPlaces)]})
	return nil
}

func (c *Core) pushRead(s *session, in RecordsRead) error {
	if in.Done <= 0 || in.Done > len(s.push) {
		return fmt.Errorf("%w: %d of %d records read", resource.ErrInvalid, in.Done, len(s.push))
	}
	s.push = s.push[in.Done:]
	if s.boot != nil {
		return c.dropAbsent(s, in.Frames)
	}
	p := wire.Push{From: c.cfg.Identity.Instance, FloorDigest: s.mine.Floor.Digest()}
	for _, f := range in.Frames {
		switch {
		case c.held(s, f):
		case len(f) > pushBytes:
			s.whole = false // too large to push: the member pulls it
		default:
			p.Frames = append(p.Frames, f)
		}
	}
	if len(p.Frames) == 0 {
		return c.pushNext()
	}
	c.counts.Pushed += uint64(len(p.Frames))
	c.ask(VerbPush, c.cfg.Fleet.AppendPush(nil, &p), c.pushAnswered)
	return nil
}

// dropAbsent lets go of local records that the member has collected.
func (c *Core) dropAbsent(s *session, frames [][]byte) error {
	boot := *s.boot
	for _, f := range frames {
		rec, err := resource.DecodeRecord(f)
		if err != nil {
			return err
		}
		if len(s.remote[merkle.Place(&c.cfg.Fleet.Key, rec.ID)]) == 0 {
			boot.Absent = append(boot.Absent, rec.ID)
		}
	}
	c.apply(store.Batch{Bootstrap: &boot}, nil, func(*session, Applied) error { return c.pushNext() })
	return nil
}

// held reports whether the member has the very record already: after the pull
// both are the same join.
func (c *Core) held(s *session, frame []byte) bool {
	rec, err := resource.DecodeRecord(frame)
	if err != nil {
		return false
	}
	digest := rec.Digest()
	return slices.Contains(s.remote[merkle.Place(&c.cfg.Fleet.Key, rec.ID)], merkle.Digest(digest[:16]))
}

func (c *Core) pushAnswered(s *session, in Replied) error {
	m, err := c.cfg.Fleet.ReadPushed(in.Data)
	if err != nil {
		return err
	}
	if m.Refused > 0 {
		s.whole = false
	}
	return c.pushNext()
}

// concludeSession adopts the member's vector and offers this node's, both as
// pinned at the hello: either state now includes the other's of then.
func (c *Core) concludeSession() error {
	s := c.rec.session
	if !s.whole {
		again := s.again
		peer := s.peer
		c.endSession(resultPartial, "")
		if again {
			c.rec.ask(peer)
		}
		return nil
	}
	if s.boot != nil {
		return c.bootstrapped(s)
	}
	c.apply(store.Batch{Adopt: storeVector(s.theirs.Vector)}, nil, func(*session, Applied) error {
		p := wire.Push{From: c.cfg.Identity.Instance, Adopt: wireVector(s.mine.Vector), FloorDigest: s.mine.Floor.Digest(), Boot: s.theirs.Heartbeat.Boot}
		c.ask(VerbPush, c.cfg.Fleet.AppendPush(nil, &p), func(*session, Replied) error {
			c.endSession(resultRepaired, "")
			return nil
		})
		return nil
	})
	return nil
}
