package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"driftless.dev/resource"
)

// LossQuery asks for a page of the ledger; its zero value is all of it.
type LossQuery struct {
	// ID, Kind, Scope, Name and Reason keep entries that have each, where set.
	// Kind is a kind's name in any form that the registry resolves, or that of
	// one which is not known here.
	ID     resource.ID
	Kind   string
	Scope  *resource.Scope
	Name   string
	Reason string
	// Limit bounds the page's entries and Bytes what they hold together, 0 for
	// no bound: a page holds one entry at least. Continue is the last page's.
	Limit, Bytes int
	Continue     string
}

// LossPage is a part of the ledger. Continue is empty on the last.
type LossPage struct {
	Items    []Loss
	Continue string
}

// Losses returns a page of the ledger, by record, register and stamp.
func (s *Store) Losses(ctx context.Context, q LossQuery) (page LossPage, err error) {
	w, prefix := lossWalk{q: q, page: &page}, []byte{}
	if !q.ID.IsZero() {
		prefix = q.ID[:]
	}
	if w.kind, err = s.kindMeant(q.Kind); err != nil {
		return LossPage{}, err
	}
	from := prefix
	if q.Continue != "" {
		if from, err = hex.DecodeString(q.Continue); err != nil || !bytes.HasPrefix(from, prefix) {
			return LossPage{}, fmt.Errorf("%w: continue token is not of this listing", resource.ErrInvalid)
		}
	}
	for from != nil {
		if from, err = s.walkLedger(ctx, prefix, from, w.visit); err != nil {
			return LossPage{}, err
		}
		if from != nil && w.full {
			page.Continue = hex.EncodeToString(from)
			break
		}
	}
	return page, nil
}

// kindMeant is the kind that a word means, zero for none. The ledger may hold
// records of kinds that are not known here (any more).
func (s *Store) kindMeant(word string) (resource.GroupKind, error) {
	if word == "" {
		return resource.GroupKind{}, nil
	}
	k, err := s.registry.Resolve(word)
	if errors.Is(err, resource.ErrNotFound) {
		return resource.ParseGroupKind(word), nil
	}
	return k.GroupKind(), err
}

// walkLedger shows visit up to chunk rows that begin with prefix, in one short
// read, until it returns false. next is the key to go on from, nil at the end.
func (s *Store) walkLedger(ctx context.Context, prefix, from []byte, visit func(key, value []byte) (bool, error)) (next []byte, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	err = s.engine.View(func(tx Tx) (err error) {
		walked := 0
		tx.Ascend(BucketLedger, from, func(key, value []byte) bool {
			if !bytes.HasPrefix(key, prefix) {
				return false
			}
			more := false
			if walked++; walked <= chunk {
				more, err = visit(key, value)
			}
			if !more && err == nil {
				next = bytes.Clone(key)
			}
			return more && err == nil
		})
		return err
	})
	return next, err
}

// lossWalk fills a page.
type lossWalk struct {
	q    LossQuery
	kind resource.GroupKind
	page *LossPage
	size int
	full bool
}

// visit takes a row into the page; it returns false for the one that the next
// page begins with.
func (w *lossWalk) visit(key, value []byte) (bool, error) {
	n := len(w.page.Items)
	if w.q.Limit > 0 && n >= w.q.Limit || w.q.Bytes > 0 && n > 0 && w.size+len(value) > w.q.Bytes {
		w.full = true
		return false, nil
	}
	l, err := readLoss(key, bytes.Clone(value))
	if err == nil && w.wants(&l) {
		w.page.Items = append(w.page.Items, l)
		w.size += len(value)
	}
	return true, err
}

func (w *lossWalk) wants(l *Loss) bool {
	r := &l.Record
	return (w.kind == resource.GroupKind{} || r.Kind == w.kind) && (w.q.Scope == nil || r.Scope == *w.q.Scope) &&
		(w.q.Name == "" || r.Name == w.q.Name) && (w.q.Reason == "" || string(l.Reason) == w.q.Reason)
}

// Entry is what people call an entry of the ledger: 16 characters made of the
// record, register and stamp, so the same loss goes by the same name on every
// node.
func (l *Loss) Entry() string {
	return entryOf(ledgerKey(l.Record.ID, l.Register, l.Stamp.Point()))
}

const (
	entryTag      = "driftless-ledger-entry/1"
	entryAlphabet = "0123456789abcdefghjkmnpqrstvwxyz" // Crockford's
	entrySize     = 10
)

func entryOf(key []byte) string {
	sum := sha256.Sum256(append([]byte(entryTag), key...))
	return base32.NewEncoding(entryAlphabet).WithPadding(base32.NoPadding).EncodeToString(sum[:entrySize])
}

// parseEntry reads an entry's name, or its beginning, as people type it.
func parseEntry(text string) (string, error) {
	word := strings.NewReplacer("o", "0", "i", "1", "l", "1").Replace(strings.ToLower(text))
	if word == "" || len(word) > len(entryOf(nil)) || strings.Trim(word, entryAlphabet) != "" {
		return "", fmt.Errorf("%w: %.32q is no entry of a ledger: one is named by 16 letters and digits, or the first few", resource.ErrInvalid, text)
	}
	return word, nil
}

// maxCandidates bounds the entries that an ambiguous name is told to mean.
const maxCandidates = 8

// Loss returns the entry of a name, or of the beginning of one when only one
// has it: else ErrNotFound, or ErrAmbiguous with the candidates.
func (s *Store) Loss(ctx context.Context, entry string) (Loss, error) {
	word, err := parseEntry(entry)
	if err != nil {
		return Loss{}, err
	}
	var found []Loss
	look := func(key, value []byte) (bool, error) {
		if len(found) > maxCandidates || !strings.HasPrefix(entryOf(key), word) {
			return true, nil
		}
		l, err := readLoss(key, bytes.Clone(value))
		found = append(found, l)
		return true, err
	}
	for from := []byte{}; from != nil && len(found) <= maxCandidates; {
		if from, err = s.walkLedger(ctx, nil, from, look); err != nil {
			return Loss{}, err
		}
	}
	switch len(found) {
	case 0:
		return Loss{}, fmt.Errorf("%w: no entry %s in this node's ledger: it may have gone with age, or lie in another node's", resource.ErrNotFound, word)
	case 1:
		return found[0], nil
	}
	return Loss{}, fmt.Errorf("%w: entry %s is the beginning of several: %s", resource.ErrAmbiguous, word, candidates(found))
}

func candidates(found []Loss) string {
	var names []string
	for i := range found[:min(len(found), maxCandidates)] {
		l := &found[i]
		names = append(names, fmt.Sprintf("%s (%s of %s %q)", l.Entry(), l.Register, l.Record.Kind, l.Record.Name))
	}
	text := strings.Join(names, ", ")
	if len(found) > maxCandidates {
		text += " and more"
	}
	return text
}
