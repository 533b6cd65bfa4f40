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

// write aligns the columns. A terminal's own idea of wide characters is not
// followed.
func (t *table) write(w io.Writer) error {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
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
