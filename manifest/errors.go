package manifest

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNotCRD says that a document is something else than a
// CustomResourceDefinition.
var ErrNotCRD = errors.New("not a CustomResourceDefinition")

// Error is a fault of one document, with the place where it is.
type Error struct {
	Line    int    // 1-based line in the text given, 0 if not known
	Pointer string // RFC 6901 JSON pointer, "" is the whole document
	Message string
	Near    bool // Line is only near where it is
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.Near {
		b.WriteString("near ")
	}
	if e.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", e.Line)
	}
	if e.Pointer != "" {
		fmt.Fprintf(&b, "%s: ", e.Pointer)
	}
	return b.String() + e.Message
}

// fault makes an Error at a JSON pointer.
func fault(pointer, format string, args ...any) *Error {
	return &Error{Pointer: pointer, Message: fmt.Sprintf(format, args...)}
}

// faultLine makes an Error at a line.
func faultLine(line int, format string, args ...any) *Error {
	return &Error{Line: line, Message: fmt.Sprintf(format, args...)}
}

// under puts a reference token before the pointer of an Error on its way up, so
// that pointers cost nothing while there is no fault.
func under(token string, err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		e.Pointer = "/" + escapePointer(token) + e.Pointer
	}
	return err
}

// shifted moves the line of an Error from a section to its source.
func shifted(err error, lines int) error {
	if e, ok := errors.AsType[*Error](err); ok && e.Line > 0 {
		e.Line += lines
	}
	return err
}

// escapePointer escapes one reference token of a JSON pointer.
func escapePointer(token string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(token)
}
