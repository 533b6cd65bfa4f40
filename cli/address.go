package cli

import (
	"fmt"
	"strings"

	"driftless.dev/resource"
)

// addressesOf reads ids, or KIND NAME... or KIND/NAME... (recordArgs has
// checked their shape).
func addressesOf(kinds kindSet, scope *scopeFlags, ids, args []string) (out []address, err error) {
	for _, id := range ids {
		if _, err := resource.ParseID(id); err != nil {
			return nil, err
		}
		out = append(out, address{id: id})
	}
	if len(args) == 0 {
		return out, nil
	}
	word, names := args[0], args[1:]
	if strings.Contains(word, "/") {
		names = args
	}
	for _, name := range names {
		if w, n, ok := strings.Cut(name, "/"); ok {
			word, name = w, n
		}
		at, err := addressOf(kinds, scope, word, name)
		if err != nil {
			return nil, err
		}
		out = append(out, at)
	}
	return out, nil
}

func addressOf(kinds kindSet, scope *scopeFlags, word, name string) (address, error) {
	kind, err := kinds.resolve(word)
	if err != nil {
		return address{}, err
	}
	if err := resource.ValidateName("name", name); err != nil {
		return address{}, err
	}
	s, err := scope.pick(kind)
	if err != nil {
		return address{}, err
	}
	if kind.FleetLevel() && !s.IsGlobal() {
		return address{}, fmt.Errorf("%w: kind %s lives in the global scope only", resource.ErrInvalid, kind.Name)
	}
	return address{kind: pathWord(kind.GroupKind()), scope: s, name: name}, nil
}
