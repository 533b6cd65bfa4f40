package manifest

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

var (
	// otherType matches text that some reader takes for a number or a time.
	otherType = regexp.MustCompile(`^(?:` +
		`[-+]?0[bB][01_]*|[-+]?0[oO][0-7_]*|[-+]?0[xX][0-9a-fA-F_.pP+-]*` +
		`|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?` +
		`|[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9_]+)(?:[eE][-+]?[0-9_]+)?` +
		`|[-+]?\.?(?i:inf|infinity|nan)` +
		`|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt \t].*)?` +
		`)$`)
	// otherWord matches text that some reader takes for null, a boolean, a
	// merge key or a default key.
	otherWord = regexp.MustCompile(`^(?:|~|<<|=|(?i:null|true|false|yes|no|on|off|y|n))$`)
	// badStart matches text that YAML does not read as a plain scalar because of
	// its first characters.
	badStart = regexp.MustCompile("^(?:[,\\[\\]{}#&*!|>'\"%@` ]|[-?:](?: |$)|---|\\.\\.\\.)")
	badRest  = regexp.MustCompile(`: |:$| #| $`)
)

// scalar writes text on one line, quoted only where needed.
func scalar(text string) string {
	switch {
	case strings.ContainsFunc(text, needsEscape):
		return doubleQuoted(text)
	case !otherWord.MatchString(text) && !otherType.MatchString(text) &&
		!badStart.MatchString(text) && !badRest.MatchString(text):
		return text
	case strings.ContainsAny(text, `"\`):
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	return `"` + text + `"`
}

// needsEscape tells which characters go into double quotes as escapes: controls,
// what YAML does not print, line and paragraph separators (YAML 1.1 breaks lines
// there), and marks that reorder text on a screen. No text hides in a manifest.
func needsEscape(r rune) bool {
	switch {
	case r == '\n', r == '\t', yamlBreak(r),
		r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069:
		return true
	}
	return !yamlPrintable(r)
}

// doubleQuoted writes text with the escapes that JSON and YAML share.
func doubleQuoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"', r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case needsEscape(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// literal writes text of several lines as a literal block, when every reader
// gets it back: it has no white space that an editor would take away, and no
// character that needs an escape.
func literal(text string, indent int, at place) (string, bool) {
	body := strings.TrimRight(text, "\n")
	if body == "" || !strings.Contains(text, "\n") || !utf8.ValidString(text) {
		return "", false
	}
	if body[0] == ' ' || body[0] == '\t' || body[0] == '\n' {
		return "", false // would need an indentation indicator
	}
	lines := strings.Split(body, "\n")
	for _, line := range lines {
		plain := strings.ReplaceAll(line, "\t", " ")
		if strings.HasSuffix(plain, " ") || strings.ContainsFunc(plain, needsEscape) {
			return "", false
		}
	}
	header := map[int]string{0: "|-", 1: "|"}[len(text)-len(body)]
	if header == "" {
		return "", false // |+ does not survive every editor and parser
	}
	if at == atStart {
		indent = 2
	}
	var b strings.Builder
	b.WriteString(header)
	for _, line := range lines {
		b.WriteByte('\n')
		if line != "" {
			b.WriteString(strings.Repeat(" ", indent) + line)
		}
	}
	return b.String(), true
}
