package store_test

import (
	"context"
	"testing"
	"time"

	"driftless.dev/resource"
	"driftless.dev/store"
	"driftless.dev/store/memory"
)

func TestSmoke(t *testing.T) {
	ctx := context.Background()
	s, err := store.Open(memory.NewEngine(), store.Config{Wall: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	k, err := resource.KindResource(resource.Kind{APIVersion: "skill.example.dev/v1", Name: "Skill", Plural: "skills"}, resource.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(ctx, k); err != nil {
		t.Fatal(err)
	}
	r, err := s.Put(ctx, resource.Resource{APIVersion: "skill.example.dev/v1", Kind: "Skill", Name: "a", Spec: []byte(`{"b":1,"a":2.0}`)})
	if err != nil {
		t.Fatal(err)
	}
	b, _ := r.MarshalJSON()
	t.Log(string(b))
	if err := s.Delete(ctx, "skills", resource.Scope{}, "a"); err != nil {
		t.Fatal(err)
	}
	p, err := s.Check()
	if err != nil || len(p) > 0 {
		t.Fatal(p, err)
	}
	if err := s.Snapshot(ctx); err != nil {
		t.Fatal(err)
	}
}
