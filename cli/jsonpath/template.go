package jsonpath

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Template is text with paths in braces:
//
//	{.metadata.name}{"\t"}{.spec.size}{"\n"}
//	{range .items[*]}{.metadata.name}{"\n"}{end}
//
// A template without a brace is one path.
type Template struct{ nodes []node }

// node is a part of a template: literal text, a path, or a range over a path.
type node struct {
	literal string
	path    *Path
	body    []node // of a range
	ranged  bool
}

// ParseTemplate reads a template.
func ParseTemplate(text string) (Template, error) {
	if !strings.Contains(text, "{") {
		path, err := ParsePath(text)
		return Template{[]node{{path: &path}}}, err
	}
	p := parser{text: text}
	nodes, err := p.nodes(false)
	return Template{nodes}, err
}

// Execute renders the template over a value. Several values of one path are
// separated by a space; within a range paths begin at its value, and $ does
// too.
func (t Template) Execute(root jsontext.Value) string {
	var out strings.Builder
	render(&out, t.nodes, root)
	return out.String()
}

func render(out *strings.Builder, nodes []node, root jsontext.Value) {
	for _, n := range nodes {
		if n.path == nil {
			out.WriteString(n.literal)
			continue
		}
		for i, v := range n.path.Find(root) {
			if n.ranged {
				render(out, n.body, v)
				continue
			}
			if i > 0 {
				out.WriteByte(' ')
			}
			out.WriteString(Text(v))
		}
	}
}

// nodes reads up to the end of the text, or to the {end} of a range.
func (p *parser) nodes(ranged bool) (out []node, err error) {
	for p.at < len(p.text) {
		literal, _, found := strings.Cut(p.rest(), "{")
		p.at += len(literal)
		if literal != "" {
			out = append(out, node{literal: literal})
		}
		if !found {
			break
		}
		p.at++
		p.space()
		if p.take("end") {
			if !ranged {
				return nil, p.fault("{end} without {range}")
			}
			return out, p.close()
		}
		n, err := p.node()
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	if ranged {
		return nil, p.fault("{range} without {end}")
	}
	return out, nil
}

// node reads what stands after "{", and its "}".
func (p *parser) node() (n node, err error) {
	if p.take("range ") {
		p.space()
		n.ranged = true
	}
	if rest := p.rest(); !n.ranged && rest != "" && (rest[0] == '\'' || rest[0] == '"') {
		if n.literal, err = p.quoted(); err != nil {
			return node{}, err
		}
		return n, p.close()
	}
	path, err := p.path()
	if err != nil {
		return node{}, err
	}
	n.path = &path
	if err := p.close(); err != nil {
		return node{}, err
	}
	if n.ranged {
		n.body, err = p.nodes(true)
	}
	return n, err
}

func (p *parser) close() error {
	p.space()
	if !p.take("}") {
		return p.fault("want } at %d", p.at)
	}
	return nil
}
