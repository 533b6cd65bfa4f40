package loopback

import (
	"context"
	"fmt"
	"math"
	"time"

	"driftless.dev/replicate"
	"driftless.dev/resource"
	"driftless.dev/store"
)

// memberPause is the time between two looks at the roster, as in a node.
const memberPause = 2 * time.Second

// keepMember keeps the node's Member record and tells the core who the others
// are, now and from now on.
func (n *Node) keepMember() {
	if head := n.Store.Head().Seq; head != n.rosterAt {
		n.rosterAt = head
		if r, err := n.Roster(); err == nil {
			n.core.SetRoster(r)
		}
		if !n.sayMember() {
			n.rosterAt = math.MaxUint64 // refused, for now
		}
	}
	n.later(memberPause, n.keepMember)
}

// Roster lists the live members, this one included.
func (n *Node) Roster() (replicate.Roster, error) {
	return replicate.ReadRoster(context.Background(), n.Store, n.name())
}

// sayMember writes what the node is into its record, when it does not say so.
// A removed member stays removed until a person says otherwise.
func (n *Node) sayMember() bool {
	_, err := replicate.SayMember(impatient{context.Background()}, n.Store, n.name())
	n.failStop()
	n.grown()
	return err == nil
}

func (n *Node) name() string { return fmt.Sprint("n", n.index) }

func (n *Node) putMember(spec replicate.MemberSpec, by resource.Actor) error {
	r := resource.Resource{APIVersion: resource.CoreGroupVersion, Kind: resource.MemberKind, Name: n.Store.Identity().Instance.String()}
	var err error
	if r.Spec, err = resource.EncodeSpec(spec); err != nil {
		return err
	}
	_, err = n.Write(store.Write{Op: store.OpPut, Resource: r, Actor: by})
	return err
}

// Evict removes another node from the roster, as a person does.
func (n *Node) Evict(other *Node) error {
	_, err := n.Write(store.Write{
		Op: store.OpDelete, Kind: resource.MemberKind, Name: other.Store.Identity().Instance.String(), Actor: resource.Human,
	})
	return err
}

// Readmit puts the node back on the roster, as a person does, when it is not
// there.
func (n *Node) Readmit() error {
	id := n.Store.Identity()
	if _, err := n.Store.Get(context.Background(), resource.MemberKind, resource.Scope{}, id.Instance.String()); err == nil {
		return nil
	}
	return n.putMember(replicate.MemberSpec{Name: n.name(), Incarnations: []string{id.Incarnation.String()}, Realms: []string{"*"}}, resource.Human)
}

// AllowRejoin is the operator's word to a node that is older than what the
// fleet has collected.
func (n *Node) AllowRejoin() error {
	err := n.Store.AllowRejoin()
	n.failStop()
	return err
}

// Reidentify makes a node that is another's clone a member of its own, and
// starts it again. What only it wrote goes under its new name.
func (n *Node) Reidentify() error {
	keep, err := n.core.Confirmed()
	if err != nil {
		return err
	}
	how := store.Reincarnation{Fork: true, Keep: keep, Instance: true}
	if err := n.Store.Reincarnate(context.Background(), how); err != nil {
		return err
	}
	n.crash()
	return n.Start()
}
