package cli

import (
	"context"
	"slices"
	"strings"

	"driftless.dev/client"
	"driftless.dev/resource"
)

// elsewhere adds to the error of a name that is not found in its scope in which
// scopes it is.
func elsewhere(ctx context.Context, n node, at address, err error) error {
	if !isNotFound(err) || at.id != "" {
		return err
	}
	records, lost := n.List(ctx, query{kind: at.kind, name: at.name})
	if lost != nil {
		return hinted(err, " (-A looks in every scope)")
	}
	if len(records) == 0 {
		return hinted(err, ", nor in any other")
	}
	var scopes []string
	for i := range records {
		scopes = append(scopes, records[i].Scope.String())
	}
	return hinted(err, "; it is in "+strings.Join(slices.Compact(scopes), " and in ")+" (--scope SCOPE, or -A)")
}

// hinted adds to what a node answered.
func hinted(err error, hint string) error {
	p, ok := problemOf(err)
	if !ok {
		return err
	}
	p.Detail += hint
	return &client.Error{Problem: p}
}

// warnShared tells of names that several of a kind's records claim, once each.
func (a *app) warnShared(kinds kindSet, records []resource.Resource) {
	type name struct {
		scope resource.Scope
		name  string
	}
	count := map[name]int{}
	for i := range records {
		count[name{records[i].Scope, records[i].Name}]++
	}
	for i := range records {
		r := &records[i]
		key := name{r.Scope, r.Name}
		if count[key] > 1 {
			a.warn("%s in %s is claimed by %d records (driftless conflicts shows which holds the name)", kinds.label(r), r.Scope, count[key])
			delete(count, key)
		}
	}
}
