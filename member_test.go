package driftless_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"driftless.dev/resource"
	"driftless.dev/store"
)

// memberOf reads a node's Member record on any member.
func memberOf(t *testing.T, on, of *member) (resource.Resource, error) {
	t.Helper()
	return on.Store().Get(t.Context(), resource.MemberKind, resource.Scope{}, of.Store().Identity().Instance.String())
}

func deleteMember(t *testing.T, on, of *member, as resource.Actor) {
	t.Helper()
	if err := on.Store().Delete(t.Context(), resource.MemberKind, resource.Scope{}, of.Store().Identity().Instance.String(), store.As(as)); err != nil {
		t.Fatal(err)
	}
}

func condition(m *member, prefix string) bool {
	for _, c := range m.Info().Conditions {
		if strings.HasPrefix(c, prefix) {
			return true
		}
	}
	return false
}

// A live node's Member record comes back when automation deletes or changes
// it. A person's deletion stands, and the node says so, until it is released.
func TestFleet_MemberRecordIsKept(t *testing.T) {
	fleet := newFleet(t, []string{"a", "b"}, nil)
	a, b := fleet[0], fleet[1]
	says := func(name string) func() bool {
		return func() bool {
			r, err := memberOf(t, a, b)
			return err == nil && strings.Contains(string(r.Spec), `"name":"`+name+`"`)
		}
	}
	eventually(t, 10*time.Second, "b is counted in", says("b"))
	deleteMember(t, a, b, resource.Agent)
	eventually(t, 20*time.Second, "b counts itself in again", says("b"))
	r, err := memberOf(t, a, b)
	if err != nil {
		t.Fatal(err)
	}
	r.Spec = []byte(strings.Replace(string(r.Spec), `"b"`, `"somebody"`, 1))
	put(t, a, r)
	eventually(t, 20*time.Second, "b says its name again", says("b"))

	deleteMember(t, a, b, resource.Human)
	eventually(t, 20*time.Second, "b says that it was removed", func() bool { return condition(b, "MemberRemoved") })
	settle(t, fleet)
	if _, err := memberOf(t, b, b); !errors.Is(err, resource.ErrNotFound) {
		t.Errorf("a person's deletion did not stand: %v", err)
	}
	_, errOut, code := command(t, a, "release", "member", b.Store().Identity().Instance.String())
	if code != 0 {
		t.Fatalf("release: %s", errOut)
	}
	eventually(t, 20*time.Second, "b is back", says("b"))
	eventually(t, 10*time.Second, "and says no more that it was removed", func() bool { return !condition(b, "MemberRemoved") })
}
