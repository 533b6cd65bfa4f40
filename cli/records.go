package cli

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/util/duration"

	"driftless.dev/cli/jsonpath"
	"driftless.dev/resource"
)

// recordPrinter prints records in any format.
type recordPrinter struct {
	*app
	out   *output
	kinds kindSet
	// scoped shows the scope even when there is one.
	scoped bool
}

// print prints records. One that was asked for by its name is one value,
// others are a list.
func (p recordPrinter) print(records []resource.Resource, single bool) error {
	if p.out.isData() {
		items, err := marshalAll(records)
		if err != nil {
			return err
		}
		if single && len(items) == 1 {
			return p.out.writeOne(p.cfg.Stdout, items[0])
		}
		return p.out.writeRecords(p.cfg.Stdout, items)
	}
	t := &table{}
	if p.out.format == formatName {
		for i := range records {
			t.row(p.kinds.label(&records[i]))
		}
		return t.write(p.cfg.Stdout)
	}
	if len(records) > 0 {
		p.fill(t, records)
	}
	return t.write(p.cfg.Stdout)
}

// fill makes the table of one kind's records; of several kinds it shows what
// they have in common.
func (p recordPrinter) fill(t *table, records []resource.Resource) {
	columns := p.columns(records)
	var header []string
	for _, c := range columns {
		header = append(header, c.header)
	}
	t.row(header...)
	for i := range records {
		v := view{Resource: &records[i]}
		// Paths are walked over the JSON form; what it cannot show is absent.
		v.form, _ = marshal(v.Resource)
		var row []string
		for _, c := range columns {
			row = append(row, c.cell(v))
		}
		t.row(row...)
	}
}

// view is a record and its JSON form.
type view struct {
	*resource.Resource
	form jsontext.Value
}

// column is a column of a table of records.
type column struct {
	header string
	cell   func(v view) string
}

func (p recordPrinter) columns(records []resource.Resource) []column {
	first := &records[0]
	mixed, scoped := false, p.scoped
	for i := range records {
		mixed = mixed || records[i].GroupKind() != first.GroupKind()
		scoped = scoped || records[i].Scope != first.Scope
	}
	out := []column{{"NAME", func(v view) string { return v.Name }}}
	if mixed {
		out[0].cell = func(v view) string { return p.kinds.label(v.Resource) }
	}
	if scoped {
		out = append(out, column{"SCOPE", func(v view) string { return v.Scope.String() }})
	}
	if kind, ok := p.kinds.of(first); ok && !mixed {
		out = append(out, p.ofKind(kind)...)
	}
	// A kind may have an age of its own, as those from Kubernetes often do.
	if !slices.ContainsFunc(out, func(c column) bool { return c.header == "AGE" }) {
		out = append(out, column{"AGE", func(v view) string { return ageOf(v.CreatedAt, p.cfg.Now()) }})
	}
	leaving := slices.ContainsFunc(records, func(r resource.Resource) bool { return r.DeletionTimestamp != nil })
	if leaving && p.out.format != formatWide { // wide has it anyway
		out = append(out, column{"STATE", func(v view) string { return stateOf(v.Resource) }})
	}
	if p.out.format == formatWide {
		out = append(out, wideColumns()...)
	}
	return out
}

// wideColumns are what -o wide adds.
func wideColumns() []column {
	return []column{
		{"ID", func(v view) string { return v.ID }},
		{"STATE", func(v view) string { return stateOf(v.Resource) }},
		{"ACTOR", func(v view) string { return v.WriterActor.String() }},
		{"WRITER", func(v view) string { return v.LastWriterID }},
		{"VERSION", func(v view) string { return strconv.FormatInt(v.Version, 10) }},
		{"DIGEST", func(v view) string { return short(v.Digest) }},
	}
}

// ofKind are a kind's own columns. One whose path is not supported is left out
// with a warning: records are worth more than a column.
func (p recordPrinter) ofKind(k resource.Kind) (out []column) {
	for _, c := range k.PrintColumns {
		path, err := jsonpath.ParsePath(c.JSONPath)
		if err != nil {
			p.warn("kind %s: column %s is left out: %v", k.Name, c.Name, err)
			continue
		}
		out = append(out, column{strings.ToUpper(c.Name), func(v view) string {
			return p.found(path.Find(v.form), c.Type == "date")
		}})
	}
	return out
}

// found is what a path led to, as a cell; dates are ages.
func (p recordPrinter) found(values []jsontext.Value, dates bool) string {
	var cells []string
	for _, v := range values {
		text := jsonpath.Text(v)
		if at, err := time.Parse(time.RFC3339, text); dates && err == nil {
			text = ageOf(at, p.cfg.Now())
		}
		if v.Kind() != jsontext.KindNull {
			cells = append(cells, text)
		}
	}
	return strings.Join(cells, ",")
}

// stateOf says whether a record is on its way out.
func stateOf(r *resource.Resource) string {
	switch {
	case r.DeletionTimestamp == nil:
		return "live"
	case r.DeletionStrength == resource.Teardown:
		return "tearingDown"
	}
	return "terminating"
}

// ageOf is how long ago something was, in the largest units that matter.
func ageOf(at, now time.Time) string {
	if at.IsZero() {
		return none
	}
	return duration.HumanDuration(max(now.Sub(at), 0))
}

// short is the beginning of a digest, enough to tell two apart by eye.
func short(digest string) string { return digest[:min(len(digest), 12)] }

// marshalAll writes each value as JSON.
func marshalAll[T any](values []T) ([]jsontext.Value, error) {
	items := make([]jsontext.Value, len(values))
	for i := range values {
		var err error
		if items[i], err = marshal(&values[i]); err != nil {
			return nil, err
		}
	}
	return items, nil
}
