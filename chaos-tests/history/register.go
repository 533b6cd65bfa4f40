package history

import (
	"fmt"
	"math"
	"time"

	"github.com/anishathalye/porcupine"
)

// registerInput is a call on one key of one node; the state is the value that
// stands there.
type registerInput struct {
	read       bool
	value, saw int64
}

// registerOutput is what the client was told. unknown leaves it open whether
// the write was done.
type registerOutput struct {
	value            int64
	refused, unknown bool
}

// register is a value that is read, and written when it still is what the
// writer saw.
func register() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return int64(0) },
		Step: func(state, input, output any) (bool, any) {
			at, in, out := state.(int64), input.(registerInput), output.(registerOutput)
			switch {
			case in.read:
				return out.value == at, at
			case out.refused:
				return at != in.saw, at
			case at == in.saw:
				return true, in.value
			}
			return out.unknown, at
		},
	}
}

// Linearizable judges the calls on the given keys, each of which is a register
// that one node alone is asked for: whether one order of them, in which each
// happens between its call and its answer, explains all answers. budget bounds
// the search; a search that does not end is a problem too.
func Linearizable(ops []Op, isRegister func(key string) bool, budget time.Duration) (out []Problem, judged int) {
	byKey := map[string][]porcupine.Operation{}
	for _, op := range ops {
		if !isRegister(op.Key) {
			continue
		}
		p, ok := registerOp(op)
		if ok {
			byKey[op.Key] = append(byKey[op.Key], p)
			judged++
		}
	}
	for key, history := range byKey {
		if r := porcupine.CheckOperationsTimeout(register(), history, budget); r != porcupine.Ok {
			out = append(out, Problem{Text: fmt.Sprintf("the %d calls on %s are not linearizable: %s", len(history), key, r)})
		}
	}
	return out, judged
}

// registerOp is a call for the search. A read that failed says nothing, and
// neither does a write that was refused for another reason than its
// precondition.
func registerOp(op Op) (porcupine.Operation, bool) {
	p := porcupine.Operation{ClientId: op.Client, Call: int64(op.Invoked), Return: int64(op.Returned)}
	in, out := registerInput{read: op.Action == Read, value: op.Value, saw: op.Saw}, registerOutput{value: op.Value}
	switch op.Outcome {
	case Refused:
		if in.read || op.Code != CodeMismatch {
			return p, false
		}
		out.refused = true
	case Unknown:
		if in.read {
			return p, false
		}
		out.unknown = true
		p.Return = math.MaxInt64 // it may be done at any time, or never
	}
	p.Input, p.Output = in, out
	return p, true
}

// CodeMismatch is the code of a refusal because the record is not what the
// writer saw.
const CodeMismatch = "mismatch"
