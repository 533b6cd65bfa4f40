package sim

import (
	"sync"

	"driftless.dev/resource"
)

// NewSchemas returns a compiler that compiles every schema once, however many
// nodes of however many runs ask for it.
func NewSchemas() resource.SchemaCompiler {
	return &schemas{compiler: resource.NewSchemaCompiler(), done: map[string]resource.Validator{}}
}

type schemas struct {
	compiler resource.SchemaCompiler
	mu       sync.Mutex
	done     map[string]resource.Validator
}

// Compile is resource.SchemaCompiler's.
func (s *schemas) Compile(schema []byte) (resource.Validator, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, ok := s.done[string(schema)]; ok {
		return v, nil
	}
	v, err := s.compiler.Compile(schema)
	if err == nil {
		s.done[string(schema)] = v
	}
	return v, err
}
