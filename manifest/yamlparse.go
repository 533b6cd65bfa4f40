package manifest

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// parseYAML reads one YAML document; nil is an empty one. The parser is the
// libyaml port that kubectl reads manifests with.
func parseYAML(doc []byte) (root *yaml.Node, err error) {
	text, err := yamlText(doc)
	if err != nil {
		return nil, err
	}
	// The parser is not ours and the text is anybody's: a panic in there is a
	// document that cannot be read, not the end of the process.
	defer func() {
		if r := recover(); r != nil {
			root, err = nil, fault("", "YAML parser failed: %v", r)
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var first, second yaml.Node
	if err := dec.Decode(&first); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, parserFault(text, err)
	}
	if err := dec.Decode(&second); err == nil {
		return nil, faultLine(second.Line, "more than one document")
	} else if !errors.Is(err, io.EOF) {
		return nil, parserFault(text, err)
	}
	return first.Content[0], nil
}

var (
	parserMessage = regexp.MustCompile(`^yaml: (?:line ([0-9]+): )?((?s:.*))$`)
	// grammarMessage tells what the parser says from what its scanner says.
	grammarMessage = regexp.MustCompile("^(did not find expected (key|'-' indicator|',' or '[]}]'|node content|<document start>)|" +
		"found (undefined tag handle|duplicate %(YAML|TAG) directive|incompatible YAML document))$")
)

// parserFault takes the line out of the message on a text, which leaves it out
// for the first one. For the grammar's faults it is counted from 0, and often
// that of where the collection begins: nearby is all that can be said.
func parserFault(text []byte, err error) error {
	part := parserMessage.FindStringSubmatch(err.Error())
	if part == nil {
		return fault("", "%v", err)
	}
	line, _ := strconv.Atoi(part[1])
	if !grammarMessage.MatchString(part[2]) {
		return faultLine(max(line, 1), "%s", part[2])
	}
	last := bytes.Count(bytes.TrimRight(text, "\n"), []byte{'\n'}) + 1
	fault := faultLine(min(line+1, last), "%s", part[2])
	fault.Near = true
	return fault
}

// yamlText checks that a text can be YAML at all. Errors: size, no UTF-8, a
// character that YAML does not allow or that its versions read differently.
func yamlText(doc []byte) ([]byte, error) {
	if len(doc) > maxBytes {
		return nil, fault("", "document has %d bytes, the limit is %d", len(doc), maxBytes)
	}
	doc = bytes.TrimPrefix(doc, []byte("\uFEFF"))
	line := 1
	for at := 0; at < len(doc); {
		r, size := utf8.DecodeRune(doc[at:])
		switch {
		case r == utf8.RuneError && size == 1:
			return nil, faultLine(line, "invalid UTF-8")
		case r == '\n':
			line++
		case r != '\r' && (!yamlPrintable(r) || yamlBreak(r)):
			return nil, faultLine(line, "character %U is not allowed in YAML as it is, write an escape", r)
		}
		at += size
	}
	return withoutVersion(doc), nil
}

// withoutVersion makes a comment of %YAML 1.2, which the parser, being one for
// 1.1, refuses. What differs between the versions is decided in resolve.
func withoutVersion(doc []byte) []byte {
	at := 0
	for line := range bytes.Lines(doc) {
		if bytes.HasPrefix(line, []byte("%YAML 1.")) {
			doc = bytes.Clone(doc)
			doc[at] = '#'
			break
		}
		if !isBlank(line) && line[0] != '%' {
			break
		}
		at += len(line)
	}
	return doc
}

// yamlPrintable is c-printable of YAML 1.2.
func yamlPrintable(r rune) bool {
	switch {
	case r == '\t', r == '\n', r == 0x85:
		return true
	case r < 0x20, r >= 0x7F && r < 0xA0, r == 0xFEFF, r == 0xFFFE, r == 0xFFFF:
		return false
	}
	return true
}

// yamlBreak tells the characters that break lines in YAML 1.1 and are text in 1.2.
func yamlBreak(r rune) bool { return r == 0x85 || r == 0x2028 || r == 0x2029 }

// firstLine returns the text up to the first line break.
func firstLine(text []byte) []byte {
	line, _, _ := bytes.Cut(text, []byte{'\n'})
	return line
}

// isMarker tells whether a line is the document marker --- or ..., alone or
// with content behind it.
func isMarker(line []byte, marker string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(marker))
	return ok && (len(rest) == 0 || rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r')
}
