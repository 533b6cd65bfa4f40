package cli

import (
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// none stands in a cell that has nothing to show, so that columns can be
// counted.
const none = "<none>"

// gap is the space between columns.
const gap = 3

// table is text in columns.
type table struct{ rows [][]string }

// row adds a row; the first is the header.
func (t *table) row(cells ...string) {
	for i := range cells {
		if cells[i] = clean(cells[i]); cells[i] == "" {
			cells[i] = none
		}
	}
	t.rows = append(t.rows, cells)
}

// widths are those of the columns.
func (t *table) widths() (widths []int) {
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// width is that of the whole.
func (t *table) width() int {
	sum := -gap
	for _, w := range t.widths() {
		sum += w + gap
	}
	return sum
}

// write aligns the columns. A terminal's own idea of wide characters is not
// followed.
func (t *table) write(w io.Writer) error {
	widths := t.widths()
	var out strings.Builder
	for _, row := range t.rows {
		for i, cell := range row {
			out.WriteString(cell)
			if i < len(row)-1 {
				out.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+gap))
			}
		}
		out.WriteByte('\n')
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// clean shows what a terminal would obey: a record's text comes from anyone.
func clean(s string) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	if strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return s
	}
	var out strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) {
			out.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRuneToASCII(r)
		out.WriteString(quoted[1 : len(quoted)-1])
	}
	return out.String()
}

// fold breaks a line between words where it would be wider than a terminal of
// known width, and indents what follows.
func fold(line string, width int) string {
	if width <= 0 {
		return line
	}
	var out strings.Builder
	at := 0
	for i, word := range strings.Fields(line) {
		size := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case at+1+size > width:
			out.WriteString("\n  ")
			at = 2
		default:
			out.WriteByte(' ')
			at++
		}
		out.WriteString(word)
		at += size
	}
	return out.String()
}
