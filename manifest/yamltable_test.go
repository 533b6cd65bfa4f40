package manifest

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestToJSON_Table(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", `null`},
		{"comment", "# nothing\n", `null`},
		{"key order", "b: 1\na: 2\n", `{"b":1,"a":2}`},
		{"numbers as written", "[1.0, 9007199254740993, 1e3, 1E400, -0, 0.10, 12345678901234567890123]", `[1.0,9007199254740993,1e3,1E400,-0,0.10,12345678901234567890123]`},
		{"numbers normalised", "[0x1F, 0o17, +5, .5, 5., -.5e1, +1.5, 00.5]", `[31,15,5,0.5,5.0,-0.5e1,1.5,0.5]`},
		{"not numbers", "[1_000, 0b11, 12:30, 1.2.3, 0x, -0x1, 1e, ., -, 2024-01-02]", `["1_000","0b11","12:30","1.2.3","0x","-0x1","1e",".","-","2024-01-02"]`},
		{"words", "[yes, no, on, off, true, True, FALSE, null, ~, Null, tRUE]", `["yes","no","on","off",true,true,false,null,null,null,"tRUE"]`},
		{"quoted", `["1", 'true', "null", "~", '']`, `["1","true","null","~",""]`},
		{"empty value", "a:\nb: 1\n", `{"a":null,"b":1}`},
		{"literal", "a: |\n  x\n   y\n\n  z\nb: 1\n", `{"a":"x\n y\n\nz\n","b":1}`},
		{"literal strip", "a: |-\n  x  \nb: 1\n", `{"a":"x  ","b":1}`},
		{"literal keep", "a: |+\n  x\n\nb: 1\n", `{"a":"x\n\n","b":1}`},
		{"literal at the end", "a: |\n  x", `{"a":"x"}`},
		{"folded", "a: >\n  x\n  y\n\n  z\n", `{"a":"x y\nz\n"}`},
		{"folded strip", "a: >-\n  x\n  y\n", `{"a":"x y"}`},
		{"plain lines", "a: x\n  y\n\n \n  z\n", `{"a":"x y\n\nz"}`},
		{"alias", "a: &x {k: 1}\nb: *x\nc: *x\n", `{"a":{"k":1},"b":{"k":1},"c":{"k":1}}`},
		{"alias of a redefined anchor", "- &x 1\n- *x\n- &x 2\n- *x\n", `[1,1,2,2]`},
		{"merge", "a: &x {k: 1, l: 2}\nb:\n  <<: *x\n  l: 3\n", `{"a":{"k":1,"l":2},"b":{"l":3,"k":1}}`},
		{"merge list, earlier wins", "x: &x {k: 1}\ny: &y {k: 2, l: 2}\nb: {<<: [*x, *y]}\n", `{"x":{"k":1},"y":{"k":2,"l":2},"b":{"k":1,"l":2}}`},
		{"quoted merge key", `"<<": 1`, `{"\u003c\u003c":1}`},
		{"scalar keys", "1: a\ntrue: b\nnull: c\n0x10: d\n012: e\n", `{"1":"a","true":"b","null":"c","0x10":"d","012":"e"}`},
		{"tags", "[!!str 1, !!int \"2\", !!float 1, !!bool \"true\", !!null \"\", !!seq [], !!map {}]", `["1",2,1,true,null,[],{}]`},
		{"binary", "a: !!binary |\n  aGVs\n  bG8=\n", `{"a":"aGVsbG8="}`},
		{"escapes", `"\x41\u00e9\U0001F600\e\_"`, `"Aé😀\u001b` + "\u00a0" + `"`},
		{"folded quotes", "\"a\n  b\\\n  c\n\n  d\"", `"a bc\nd"`},
		{"flow over lines", "a: {b: [1,\n  2], c: 3}\n", `{"a":{"b":[1,2],"c":3}}`},
		{"windows", "a: |\r\n  x\r\nb: 1\r\n", `{"a":"x\n","b":1}`},
		{"sequence below its key", "a:\n- 1\n- b: 2\n  c: 3\n", `{"a":[1,{"b":2,"c":3}]}`},
		{"directive", "%YAML 1.2\n---\na: 1\n", `{"a":1}`},
		{"colon in a flow", "a: {args: [foo:bar, -x:1]}\n", `{"a":{"args":["foo:bar","-x:1"]}}`},
		{"empty item before a key", "a:\n-\nb: 1\n", `{"a":[null],"b":1}`},
		{"empty anchor before a key", "q:\n  &a\nz: *a\n", `{"q":null,"z":null}`},
		{"dash in a text", "q:\n  x\n  - y # c\n", `{"q":"x - y"}`},
		{"tab in a text", "a: b\tc\n", `{"a":"b\tc"}`},
		{"escaped space at a fold", "a: \"x\\x20\n  y\"\n", `{"a":"x  y"}`},
		{"hash and colon inside", "a: b#c\nd: http://x:80/\n", `{"a":"b#c","d":"http://x:80/"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ToJSON([]byte(c.in))
			want := strings.ReplaceAll(c.want, `\u003c`, "<")
			if err != nil || string(got) != want {
				t.Errorf("ToJSON(%q)\n got %s, %v\nwant %s", c.in, got, err, want)
			}
		})
	}
}

func TestToJSON_Errors(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'j'; c++ {
		bomb += string(c) + ": &" + string(c) + " [" + strings.TrimSuffix(strings.Repeat("*"+string(c-1)+",", 10), ",") + "]\n"
	}
	for _, c := range []struct {
		name, in, want string
		line           int
	}{
		{"duplicate key", "a: 1\nb: 2\na: 3\n", "/a: duplicate key", 3},
		{"nested pointer", "a:\n- b: 1\n- c: .nan\n", "/a/1/c", 3},
		{"octal", "mode: 0644\n", "octal in YAML 1.1", 1},
		{"inf", "a: -.inf\n", "not a JSON number", 1},
		{"bomb", bomb, "aliases expand to more than", 5},
		{"recursive alias", "a: &a [*a]\n", "alias *a has no anchor before it", 1},
		{"unknown alias", "a: *b\n", "unknown anchor", 1},
		{"complex key", "{a: 1}: b\n", "", 1},
		{"key alias to a mapping", "a: &x {b: 1}\n*x : 1\n", "a key must be a scalar", 2},
		{"merge of a scalar", "a:\n  <<: 1\n", "a merge key takes mappings", 2},
		{"tab", "a:\n\tb: 1\n", "", 2},
		{"unknown tag", "a: !foo b\n", "tag !foo is not supported", 1},
		{"wrong tag", "a: !!int x\n", "is not a !!int", 1},
		{"bad base64", "a: !!binary '*'\n", "not base64", 1},
		{"set", "--- !!set\n? a\n", "!!set", 1},
		{"two documents", "a: 1\n---\nb: 1\n", "more than one document", 2},
		{"control character", "a: 1\nb: \x01\n", "U+0001", 2},
		{"invalid UTF-8", "a: 1\nb: \xff\n", "invalid UTF-8", 2},
		{"lone surrogate", `a: "\ud800x"`, "", 1},
		{"low surrogate", `a: "\udc00"`, "invalid Unicode character", 1},
		{"bad escape", `a: "\xzz"`, "hexdecimal", 1},
		{"deep flow", strings.Repeat("[", 65) + strings.Repeat("]", 65), "nested deeper than 64", 1},
		{"deep dashes", strings.Repeat("- ", 65), "nested deeper than 64", 1},
		{"very deep dashes", strings.Repeat("- ", 1_000_000), "max depth", 1},
		{"very deep flow", strings.Repeat("[", 1_000_000), "max depth", 1},
		{"unclosed mapping", "a: 1\nb: 2\nc: {d: 1\ne: 2\n", "near line 3: did not find expected ',' or '}'", 3},
		{"unclosed at the end", "a: {b: 1\n", "near line 1: did not find", 1},
		{"bad indentation", "a: 1\nb:\n  c: 1\n d: 2\n", "near line 4: did not find expected key", 4},
		{"unclosed quote", "a: 1\nb: \"x\n", "line 2: found unexpected end of stream", 2},
		{"mapping in a value", "a: 1\nb: c: d\n", "line 2: mapping values are not allowed", 2},
		{"line separator", "a: 1\nb: x\u2028y\n", "U+2028", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ToJSON([]byte(c.in))
			e, ok := errors.AsType[*Error](err)
			if !ok || !strings.Contains(err.Error(), c.want) || e.Line != c.line {
				t.Errorf("ToJSON(%.60q) = %.60s, %v; want line %d and %q", c.in, got, err, c.line, c.want)
			}
		})
	}
}

// TestToJSON_Bounded holds that large texts are answered in about linear time,
// and that those which would grow beyond the bounds are refused.
func TestToJSON_Bounded(t *testing.T) {
	var keys strings.Builder
	for i := range 50_000 {
		keys.WriteString("k" + strconv.Itoa(i) + ": v\n")
	}
	for name, c := range map[string]struct {
		in string
		ok bool
	}{
		"fields":        {keys.String(), true},
		"blank lines":   {"a: |\n  x" + strings.Repeat("\n", 1<<20), true},
		"tabs":          {"a: \"" + strings.Repeat("\t", 1<<20) + "x\"", true},
		"angles":        {"a: " + strings.Repeat("<", 1<<20), true},
		"size":          {"a: " + strings.Repeat("x", maxBytes), false},
		"aliased bytes": {"a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*a,", 10) + "]\n", false},
		"merged bytes":  {"a: &a {k: " + strings.Repeat("x", 1<<20) + "}\nb:\n" + strings.Repeat("- {<<: *a, k: 1}\n", 10), false},
	} {
		if out, err := ToJSON([]byte(c.in)); (err == nil) != c.ok {
			t.Errorf("%s: %d bytes, %v", name, len(out), err)
		}
	}
}

func TestToJSON_Depth(t *testing.T) {
	deep := strings.Repeat("[", 64) + strings.Repeat("]", 64)
	if got, err := ToJSON([]byte(deep)); err != nil || string(got) != deep {
		t.Errorf("64 levels: %v", err)
	}
	alias := "a: &a " + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "\nb: " + strings.Repeat("[", 30) + "*a" + strings.Repeat("]", 30)
	if _, err := ToJSON([]byte(alias)); err == nil {
		t.Error("70 levels through an alias were accepted")
	}
}

// suiteDeviations are the documents of the YAML test suite that are read as
// something else than it says.
var suiteDeviations = map[string]string{
	"construct-binary":                          "line breaks in base64 are stripped",
	"anchor-with-colon-in-the-middle":           "libyaml ends the name of an anchor at a colon",
	"question-mark-at-start-of-flow-key":        "libyaml takes ? in a flow collection for a key",
	"scalars-in-flow-start-with-syntax-char/01": "the same",
	"spec-example-6-28-non-specific-tags":       "libyaml drops the tag !",
	"tabs-that-look-like-indentation/01":        "this copy of the suite has half the text in its JSON",
	"trailing-line-of-spaces/01":                "text without a last line break gets none",
	"trailing-whitespace-in-streams/02":         "the same",
}

// TestToJSON_Suite reads the valid documents of the YAML test suite, in the copy
// that another YAML library ships.
func TestToJSON_Suite(t *testing.T) {
	root := filepath.Join(moduleDir(t, "github.com/goccy/go-yaml@v1.19.2"), "testdata/yaml-test-suite")
	cases, _ := filepath.Glob(filepath.Join(root, "*"))
	more, _ := filepath.Glob(filepath.Join(root, "*/*"))
	right, refused := 0, 0
	for _, path := range append(cases, more...) {
		name, _ := filepath.Rel(root, path)
		in, inErr := os.ReadFile(filepath.Join(path, "in.yaml"))
		want, wantErr := os.ReadFile(filepath.Join(path, "in.json"))
		value, err := strictJSON(want)
		if inErr != nil || wantErr != nil || err != nil {
			continue
		}
		got, err := ToJSON(in)
		switch {
		case err != nil:
			refused++
		case sameValue(got, value):
			right++
		case suiteDeviations[name] == "":
			t.Errorf("%s: %q\n got %s\nwant %s", name, in, got, value)
		}
	}
	if right < 200 || refused > 51 {
		t.Errorf("%d right, %d refused", right, refused)
	}
}

func TestFromJSON_Table(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"scalars", `[1.0,9007199254740993,1e3,true,null,"a"]`, "- 1.0\n- 9007199254740993\n- 1e3\n- true\n- null\n- a\n"},
		{"empty", `{"a":{},"b":[],"c":""}`, "a: {}\nb: []\nc: \"\"\n"},
		{"nesting", `{"a":[{"b":1,"c":[2,[3]]}],"d":{"e":"f"}}`, "a:\n- b: 1\n  c:\n  - 2\n  - - 3\nd:\n  e: f\n"},
		{"words", `["yes","No","null","~","true","y","1e3","012","0x1","1_000","2024-01-02","12:30:45",".5",".inf"]`,
			"- \"yes\"\n- \"No\"\n- \"null\"\n- \"~\"\n- \"true\"\n- \"y\"\n- \"1e3\"\n- \"012\"\n- \"0x1\"\n- \"1_000\"\n- \"2024-01-02\"\n- \"12:30:45\"\n- \".5\"\n- \".inf\"\n"},
		{"plain where possible", `["a b","a#b","a:b","10.0.0.1","1.2.3","-x","--flag","80/tcp","^a$","it's","a\"b","é 日本"]`,
			"- a b\n- a#b\n- a:b\n- 10.0.0.1\n- 1.2.3\n- -x\n- --flag\n- 80/tcp\n- ^a$\n- it's\n- a\"b\n- é 日本\n"},
		{"quotes", `["a: b","a #b","- a","*x","{a}"," a","a ","a:","'x'","\"x\"","a\\: b","@x","%x"]`,
			"- \"a: b\"\n- \"a #b\"\n- \"- a\"\n- \"*x\"\n- \"{a}\"\n- \" a\"\n- \"a \"\n- \"a:\"\n- \"'x'\"\n- '\"x\"'\n- 'a\\: b'\n- \"@x\"\n- \"%x\"\n"},
		{"escapes", `["\t","a\u0000b","\u202e","\ufeff","a\r\nb"]`, "- \"\\t\"\n- \"a\\u0000b\"\n- \"\\u202e\"\n- \"\\ufeff\"\n- \"a\\u000d\\nb\"\n"},
		{"blocks", `{"a":"x\ny\n","b":"x\n\n\ty","c":["x\ny"]}`, "a: |\n  x\n  y\nb: |-\n  x\n\n  \ty\nc:\n- |-\n  x\n  y\n"},
		{"no blocks", `["x \ny"," x\ny","x\n\n","\n"]`, "- \"x \\ny\"\n- \" x\\ny\"\n- \"x\\n\\n\"\n- \"\\n\"\n"},
		{"keys", `{"yes":1,"a: b":2,"":3,"x\ny":4}`, "\"yes\": 1\n\"a: b\": 2\n\"\": 3\n\"x\\ny\": 4\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := FromJSON([]byte(c.in))
			if err != nil || string(got) != c.want {
				t.Errorf("FromJSON(%s) %v\n got %q\nwant %q", c.in, err, got, c.want)
			}
		})
	}
	for _, in := range []string{`{"a":1,"a":2}`, `"\ud800"`, "\"\xff\"", `{`, ``, `1 2`, strings.Repeat("[", 65) + strings.Repeat("]", 65)} {
		if got, err := FromJSON([]byte(in)); err == nil {
			t.Errorf("FromJSON(%s) = %s, want an error", in, got)
		}
	}
	roundTrip(t, []byte(`{"`+strings.Repeat("k", 5000)+`":{"`+strings.Repeat("é: ", 700)+`":[1]}}`))
}
