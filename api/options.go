package api

import (
	"fmt"
	"strings"
	"time"

	"driftless.dev/resource"
	"driftless.dev/store"
)

// options are what a write's headers and query ask for beside the write.
type options struct {
	concern   Concern
	timeout   time.Duration
	mustExist bool
}

func (c *call) options(w *store.Write) (o options, err error) {
	if w.DryRun, err = c.flag("dry-run"); err != nil {
		return o, err
	}
	if w.DryRun {
		c.op = ""
	}
	if w.Actor, err = c.actor(); err != nil {
		return o, err
	}
	for _, step := range []func(*store.Write, *options) error{c.epoch, c.owner, c.preconditions, c.concern} {
		if err := step(w, &o); err != nil {
			return o, err
		}
	}
	return o, nil
}

func (c *call) epoch(w *store.Write, _ *options) error {
	text, err := c.header(headerEpoch)
	if err != nil {
		return err
	}
	if w.Epoch, err = resource.ParseEpoch(text); err != nil {
		return malformed("%s: %v", headerEpoch, err)
	}
	return nil
}

// owner is the calling controller's name. A put carries it in its metadata.
func (c *call) owner(w *store.Write, _ *options) error {
	owner, err := c.header(headerOwner)
	if err != nil || owner == "" {
		return err
	}
	if err := resource.ValidateName(headerOwner, owner); err != nil {
		return malformed("%v", err)
	}
	w.Owner = owner
	if w.Op != store.OpPut {
		return nil
	}
	if w.Resource.Owner == "" {
		w.Resource.Owner = owner
	}
	if w.Resource.Owner != owner {
		return fmt.Errorf("%w: metadata.owner: the body says %.64q, %s %.64q", resource.ErrInvalid, w.Resource.Owner, headerOwner, owner)
	}
	return nil
}

// preconditions reads If-Match and If-None-Match.
func (c *call) preconditions(w *store.Write, o *options) error {
	match, err := c.header("If-Match")
	if err != nil {
		return err
	}
	none, err := c.header("If-None-Match")
	if err != nil {
		return err
	}
	digest := strings.TrimSuffix(strings.TrimPrefix(match, `"`), `"`)
	switch {
	case none != "" && (none != "*" || w.Op != store.OpPut || match != ""):
		return malformed("If-None-Match: only * is known, for a create by PUT, alone")
	case none == "*":
		w.CreateOnly = true
	case match == "*":
		o.mustExist = true
	case match == "":
	case match != `"`+digest+`"` || len(digest) != 64 || strings.Trim(digest, "0123456789abcdef") != "":
		return malformed("If-Match: %.80q is not * or one strong ETag as a read gives it", match)
	default:
		w.IfDigest = digest
	}
	return nil
}

func (c *call) concern(_ *store.Write, o *options) error {
	text, err := c.header(headerWait)
	if err != nil {
		return err
	}
	if o.concern, err = ParseConcern(text); err != nil {
		return malformed("%s: %v", headerWait, err)
	}
	timeout, err := c.header(headerWaitTimeout)
	if err != nil {
		return err
	}
	o.timeout, err = parseTimeout(headerWaitTimeout, timeout, defaultWait)
	return err
}
