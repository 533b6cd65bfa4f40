package jsonpath

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// ParsePath reads a path, without braces.
func ParsePath(text string) (Path, error) {
	p := parser{text: text}
	path, err := p.path()
	if err == nil && p.at < len(text) {
		err = p.fault("unexpected %q at %d", text[p.at], p.at)
	}
	return path, err
}

type parser struct {
	text string
	at   int
}

func (p *parser) fault(format string, args ...any) error { return syntax(p.text, format, args...) }

// rest is the text not read yet.
func (p *parser) rest() string { return p.text[p.at:] }

// take reads a word when it is next.
func (p *parser) take(word string) bool {
	if !strings.HasPrefix(p.rest(), word) {
		return false
	}
	p.at += len(word)
	return true
}

// path reads steps up to whatever is none.
func (p *parser) path() (Path, error) {
	var out Path
	bare := !p.take("$") && !p.take("@") && p.at == 0
	for p.at < len(p.text) {
		var s step
		var err error
		switch {
		case strings.HasPrefix(p.rest(), ".."):
			err = p.fault("recursive descent (..) is not supported")
		case len(out.steps) == 0 && p.root():
			return out, nil
		case p.take("."):
			s, err = p.field()
		case p.take("["):
			s, err = p.bracket()
		case bare && len(out.steps) == 0: // kubectl reads "metadata.name" too
			s, err = p.field()
		default:
			return out, nil
		}
		if err != nil {
			return Path{}, err
		}
		out.steps = append(out.steps, s)
	}
	return out, nil
}

// root reads a dot that no name follows: the value itself.
func (p *parser) root() bool {
	after, dot := strings.CutPrefix(p.rest(), ".")
	if !dot || after != "" && after[0] != '}' {
		return false
	}
	p.at++
	return true
}

// field reads a name after a dot. A backslash takes the next character into
// the name.
func (p *parser) field() (step, error) {
	if p.take("*") {
		return every{}, nil
	}
	var name strings.Builder
	for p.at < len(p.text) {
		c := p.text[p.at]
		if c == '\\' && p.at+1 < len(p.text) {
			name.WriteByte(p.text[p.at+1])
			p.at += 2
			continue
		}
		if strings.IndexByte(".[]=!<>()|,?*'\"{}\\ \t\n", c) >= 0 {
			break
		}
		name.WriteByte(c)
		p.at++
	}
	if name.Len() == 0 {
		return nil, p.fault("a name is missing at %d", p.at)
	}
	return member(name.String()), nil
}

// bracket reads a step after "[" and its "]".
func (p *parser) bracket() (s step, err error) {
	switch rest := p.rest(); {
	case p.take("*"):
		s = every{}
	case p.take("?("):
		s, err = p.filter()
	case rest != "" && (rest[0] == '\'' || rest[0] == '"'):
		var name string
		name, err = p.quoted()
		s = member(name)
	default:
		s, err = p.index()
	}
	if err == nil && !p.take("]") {
		err = p.fault("want ] at %d: slices and unions are not supported", p.at)
	}
	return s, err
}

func (p *parser) index() (step, error) {
	end := p.at
	for end < len(p.text) && strings.IndexByte("-0123456789", p.text[end]) >= 0 {
		end++
	}
	n, err := strconv.Atoi(p.text[p.at:end])
	if err != nil {
		return nil, p.fault("want a number, a quoted name, * or ?( at %d", p.at)
	}
	p.at = end
	return index(n), nil
}

// filter reads a condition after "?(" and its ")".
func (p *parser) filter() (step, error) {
	if !strings.HasPrefix(p.rest(), "@") {
		return nil, p.fault("a filter begins with @, at %d", p.at)
	}
	f := filter{}
	var err error
	if f.path, err = p.path(); err != nil {
		return nil, err
	}
	p.space()
	if !p.take(")") {
		for _, op := range []string{"==", "!="} {
			if f.op == "" && p.take(op) {
				f.op = op
			}
		}
		if f.op == "" {
			return nil, p.fault("a filter compares with == or !=, at %d", p.at)
		}
		p.space()
		if f.literal, err = p.literal(); err != nil {
			return nil, err
		}
		p.space()
		if !p.take(")") {
			return nil, p.fault("want ) at %d", p.at)
		}
	}
	return f, nil
}

func (p *parser) space() {
	for p.take(" ") {
	}
}

// literal reads a quoted text or a JSON number, true, false or null.
func (p *parser) literal() (jsontext.Value, error) {
	if rest := p.rest(); rest != "" && (rest[0] == '\'' || rest[0] == '"') {
		s, err := p.quoted()
		if err != nil {
			return nil, err
		}
		return jsontext.AppendQuote(nil, s)
	}
	end := p.at
	for end < len(p.text) && p.text[end] != ')' && p.text[end] != ' ' {
		end++
	}
	v := jsontext.Value(p.text[p.at:end])
	if !v.IsValid() {
		return nil, p.fault("%q is no JSON value: quote a text", v)
	}
	p.at = end
	return v, nil
}

// quoted reads a text in single or double quotes.
func (p *parser) quoted() (string, error) {
	quote := p.text[p.at]
	var out strings.Builder
	for i := p.at + 1; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == quote:
			p.at = i + 1
			return out.String(), nil
		case c == '\\' && i+1 < len(p.text):
			i++
			out.WriteByte(unescape(p.text[i]))
		default:
			out.WriteByte(c)
		}
	}
	return "", p.fault("the quote at %d is not closed", p.at)
}

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	}
	return c
}
