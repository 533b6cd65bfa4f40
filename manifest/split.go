package manifest

import (
	"bytes"
	"errors"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Split reads the documents of one text: YAML documents divided by --- or ...,
// JSON values one behind the other, or both. Empty documents are left out, the
// items of a v1 List stand in its place. source names the text in errors; the
// result keeps nothing of text.
func Split(source string, text []byte) []Document {
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	var docs []Document
	index := 0
	for _, part := range sections(text) {
		for _, d := range part.read() {
			if d.Err == nil && jsontext.Value(d.JSON).Kind() == 'n' {
				continue
			}
			index++
			d.Source, d.Index = source, index
			if d.Err != nil {
				d.JSON, d.Err = nil, d.Wrap(d.Err)
			}
			docs = append(docs, d.items()...)
		}
	}
	return docs
}

// section is the text between two markers.
type section struct {
	text []byte
	line int // lines before it in the source
}

// sections cuts a text at document markers. Those are recognised by the line
// alone, as YAML says, so a bad document cannot swallow the next one.
func sections(text []byte) []section {
	var (
		out        []section
		start      int // of the current section
		at, line   int
		current    int  // lines before the current section
		content    bool // the section has more than comments
		directives bool // and that is directives alone
	)
	cut := func(end int) {
		if len(bytes.TrimSpace(text[start:end])) > 0 {
			out = append(out, section{text[start:end], current})
		}
	}
	for at < len(text) {
		this := firstLine(text[at:])
		next := min(at+len(this)+1, len(text))
		switch {
		case isMarker(this, "---") && directives:
			directives = false
		case isMarker(this, "---"):
			cut(at)
			start, current, content = at, line, !isBlank(this[3:])
			if !content {
				start, current = next, line+1
			}
		case isMarker(this, "...") && isBlank(this[3:]):
			cut(at)
			start, current, content, directives = next, line+1, false, false
		case isBlank(this):
		case this[0] == '%' && !content:
			content, directives = true, true
		default:
			content, directives = true, directives && this[0] == '%'
		}
		at, line = next, line+1
	}
	cut(len(text))
	return out
}

// isBlank tells whether a line has neither content nor a directive.
func isBlank(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) == 0 || line[0] == '#'
}

// read gives the documents of a section, without their source.
func (s section) read() []Document {
	first := s.line + 1
	for line := range bytes.Lines(s.text) {
		if !isBlank(line) {
			break
		}
		first++
	}
	body := bytes.TrimSpace(s.text)
	var values []Document
	if body[0] == '{' || body[0] == '[' {
		var whole bool
		if values, whole = s.readJSON(); whole {
			return values
		}
	}
	out, err := ToJSON(s.text)
	// A JSON stream that breaks off keeps its good values, and text that looks
	// like JSON is told what is wrong with it as JSON.
	if err != nil && (len(values) > 1 || looksJSON(body)) {
		return values
	}
	if err == nil && jsontext.Value(out).Kind() != '{' && jsontext.Value(out).Kind() != 'n' {
		err = fault("", "a document is an object, this is %s", kindName(jsontext.Value(out).Kind()))
	}
	return []Document{{Line: first, JSON: out, Err: shifted(err, s.line)}}
}

// looksJSON tells JSON from a YAML flow mapping by its first key.
func looksJSON(body []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(body[1:], " \t\r\n"), []byte{'"'}) && body[0] == '{'
}

// readJSON reads a stream of JSON values; whole is false if it is not one up to
// the end, then the last Document has the error.
func (s section) readJSON() (docs []Document, whole bool) {
	dec := jsontext.NewDecoder(bytes.NewReader(s.text))
	line, counted := s.line+1, 0
	lineAt := func(offset int) int {
		line += bytes.Count(s.text[counted:offset], []byte{'\n'})
		counted = offset
		return line
	}
	for {
		value, err := dec.ReadValue()
		if errors.Is(err, io.EOF) {
			return docs, true
		}
		end := int(dec.InputOffset())
		if err != nil {
			rest := bytes.TrimLeft(s.text[end:], " \t\r\n")
			return append(docs, Document{
				Line: lineAt(len(s.text) - len(rest)),
				Err:  shifted(jsonFault(s.text, err), s.line),
			}), false
		}
		at := lineAt(end - len(value))
		out, err := strictJSON(value)
		if err == nil && out.Kind() != '{' && out.Kind() != 'n' {
			err = fault("", "a document is an object, this is %s", kindName(out.Kind()))
		}
		docs = append(docs, Document{Line: at, JSON: out, Err: shifted(err, at-1)})
	}
}

// items expands a v1 List into its items; any other document is its own.
func (d Document) items() []Document {
	if d.Err != nil {
		return []Document{d}
	}
	fields, err := parseObject(d.JSON)
	kind, _ := unquote(fields.get("kind"))
	version, _ := unquote(fields.get("apiVersion"))
	if err != nil || kind != "List" || version != "v1" {
		return []Document{d}
	}
	items, err := parseArray(fields.get("items"))
	if err != nil {
		d.JSON, d.Err = nil, d.Wrap(under("items", err))
		return []Document{d}
	}
	docs := make([]Document, 0, len(items))
	for i, item := range items {
		child := d
		child.Pointer = "/items/" + strconv.Itoa(i)
		child.JSON = bytes.Clone(item)
		if item.Kind() != '{' {
			child.JSON, child.Err = nil, child.Wrap(fault("", "a document is an object, this is %s", kindName(item.Kind())))
		}
		docs = append(docs, child)
	}
	return docs
}
