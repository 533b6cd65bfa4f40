package resource

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// listKinds is the next step of errors about unknown kinds.
const listKinds = `"driftless kinds" lists the kinds`

// Registry holds the registered kinds and is the point of admission: a
// resource of a kind that is not registered, or with a spec that breaks its
// kind's schema, is refused before it is stored. It is safe for concurrent
// use, and readers never wait.
//
// A Kind that it returns shares its slices with the registry: copy before
// changing them.
type Registry struct {
	compiler SchemaCompiler
	// mu orders writers; readers take the current table, which never changes.
	mu    sync.Mutex
	table atomic.Pointer[kindTable]
}

// RegistryOption configures a Registry.
type RegistryOption func(*Registry)

// WithSchemaCompiler judges schemas with another engine than
// NewSchemaCompiler's.
func WithSchemaCompiler(c SchemaCompiler) RegistryOption {
	return func(r *Registry) { r.compiler = c }
}

// NewRegistry returns a registry without kinds.
func NewRegistry(opts ...RegistryOption) *Registry {
	r := &Registry{compiler: NewSchemaCompiler()}
	for _, opt := range opts {
		opt(r)
	}
	r.table.Store(newKindTable(nil))
	return r
}

// Register adds a kind, or replaces the one of the same apiVersion and name.
// ErrInvalid when it is malformed, when its schema does not compile, or when it
// would change the identity or level that its group and kind are registered
// with.
func (r *Registry) Register(k Kind) error {
	k = k.clone()
	validator, err := r.compile(k)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.table.Load()
	if err := old.admits(k); err != nil {
		return err
	}
	kinds := maps.Clone(old.kinds)
	kinds[kindKey{k.APIVersion, k.Name}] = registered{k, validator}
	r.table.Store(newKindTable(kinds))
	return nil
}

// Replace makes the registry hold these kinds and no others. One that cannot
// stand beside those before it, or whose schema does not compile, is left out:
// what is registered follows from the list alone. Schemas that are registered
// already are not compiled again.
func (r *Registry) Replace(kinds []Kind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.table.Load()
	next, groups := map[kindKey]registered{}, map[GroupKind]Kind{}
	for _, k := range kinds {
		key := kindKey{k.APIVersion, k.Name}
		if _, taken := next[key]; taken || !compatible(groups, k) {
			continue
		}
		e, same := old.kinds[key]
		if !same || !reflect.DeepEqual(e.kind, k) {
			k = k.clone()
			validator, err := r.compile(k)
			if err != nil {
				continue
			}
			e = registered{k, validator}
		}
		next[key] = e
		if _, known := groups[k.GroupKind()]; !known {
			groups[k.GroupKind()] = k
		}
	}
	r.table.Store(newKindTable(next))
}

// compatible reports whether a kind keeps the identity and level that its
// group and kind came with first.
func compatible(first map[GroupKind]Kind, k Kind) bool {
	f, known := first[k.GroupKind()]
	return !known || f.NamedByAddress() == k.NamedByAddress() && f.FleetLevel() == k.FleetLevel()
}

// Check returns what Register would, and registers nothing.
func (r *Registry) Check(k Kind) error {
	if _, err := r.compile(k); err != nil {
		return err
	}
	return r.table.Load().admits(k)
}

// Unregister removes a kind, if it is there.
func (r *Registry) Unregister(apiVersion, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kinds := maps.Clone(r.table.Load().kinds)
	delete(kinds, kindKey{apiVersion, name})
	r.table.Store(newKindTable(kinds))
}

// compile validates a kind and compiles its schema; nil without one.
func (r *Registry) compile(k Kind) (Validator, error) {
	if err := k.Validate(); err != nil {
		return nil, fmt.Errorf("register kind %.64q: %w", k.Name, err)
	}
	if len(k.Schema) == 0 {
		return nil, nil
	}
	v, err := r.compiler.Compile(k.Schema)
	if err != nil {
		return nil, fmt.Errorf("compile schema of kind %s: %w", k.GroupKind(), err)
	}
	return v, nil
}

// Kinds returns every registered kind, by apiVersion, then name.
func (r *Registry) Kinds() []Kind {
	var kinds []Kind
	for _, e := range r.table.Load().kinds {
		kinds = append(kinds, e.kind)
	}
	slices.SortFunc(kinds, func(a, b Kind) int {
		return cmp.Or(strings.Compare(a.APIVersion, b.APIVersion), strings.Compare(a.Name, b.Name))
	})
	return kinds
}

// Lookup returns the kind registered for an apiVersion and a name.
func (r *Registry) Lookup(apiVersion, name string) (Kind, bool) {
	e, ok := r.table.Load().kinds[kindKey{apiVersion, name}]
	return e.kind, ok
}

// LookupKind returns the highest registered version of a kind, in Kubernetes'
// order of versions: v2, v1, v1beta2, v1alpha1.
func (r *Registry) LookupKind(g GroupKind) (Kind, bool) {
	k, ok := r.table.Load().highest[g]
	return k, ok
}

// Resolve returns the kind that a person's word means: its name, singular,
// plural or an alias, in any case, alone or followed by "." and its group
// (nothing after the dot is the empty group). Versions of one kind are one, and
// the highest is returned. ErrAmbiguous when kinds of two groups, or two kinds
// of one, claim the word; ErrNotFound when none does.
func (r *Registry) Resolve(word string) (Kind, error) {
	t := r.table.Load()
	name, group, qualified := strings.Cut(strings.ToLower(word), ".")
	claims := t.words[name]
	if qualified {
		// The exact form always leads to its kind, whatever others claim.
		if k, ok := t.highest[ParseGroupKind(word)]; ok {
			return k, nil
		}
		claims = slices.DeleteFunc(slices.Clone(claims), func(g GroupKind) bool { return g.Group != group })
	}
	switch len(claims) {
	case 0:
		return Kind{}, fmt.Errorf("resolve kind %.64q: %w: %s", word, ErrNotFound, listKinds)
	case 1:
		return t.highest[claims[0]], nil
	}
	texts := make([]string, len(claims))
	for i, g := range claims {
		texts[i] = g.Kind + "." + g.Group // the dot also before an empty group
	}
	return Kind{}, fmt.Errorf("resolve kind %.64q: %w: say one of %s", word, ErrAmbiguous, strings.Join(texts, ", "))
}

// Validate is admission: the kind must be registered, and spec must satisfy
// its schema if it has one. A spec that is not there (empty, not "null") counts
// as {}, so a kind that requires a field refuses its absence. Errors wrap
// ErrInvalid and name the place of the first violation:
// "spec/size: got string, want integer".
func (r *Registry) Validate(apiVersion, kind string, spec []byte) error {
	e, err := r.entry(apiVersion, kind)
	if err != nil {
		return err
	}
	if len(spec) == 0 {
		spec = []byte("{}")
	}
	canonical, err := canonicalAt("spec", spec)
	if err != nil {
		return err
	}
	return e.judge(canonical)
}

func (r *Registry) entry(apiVersion, kind string) (*registered, error) {
	e, ok := r.table.Load().kinds[kindKey{apiVersion, kind}]
	if !ok {
		return nil, invalidAt("kind", fmt.Sprintf("%s of %s is not registered: apply its Kind first; %s", kind, apiVersion, listKinds))
	}
	return &e, nil
}

// ValidateCanonical is Validate for a spec in canonical form, nil when unset.
func (r *Registry) ValidateCanonical(apiVersion, kind string, canonical []byte) error {
	e, err := r.entry(apiVersion, kind)
	if err != nil {
		return err
	}
	if canonical == nil {
		canonical = []byte("{}")
	}
	return e.judge(canonical)
}

// judge holds a canonical spec to the kind's schema, when there is one.
func (e *registered) judge(canonical []byte) error {
	if e.validator == nil {
		return nil
	}
	err := e.validator.Validate(decodeCanonical(canonical))
	if v, ok := err.(*violation); ok {
		return v.in("spec")
	}
	if err != nil {
		return invalidAt("spec", err.Error())
	}
	return nil
}
