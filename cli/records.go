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
		return p.out.writeList(p.cfg.Stdout, items)
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
	first := &records[0]
	mixed, scoped := false, p.scoped
	for i := range records {
		mixed = mixed || records[i].GroupKind() != first.GroupKind()
		scoped = scoped || records[i].Scope != first.Scope
	}
	kind, _ := p.kinds.of(first)
	columns := p.columns(kind)
	if mixed {
		columns = nil
	}
	wide := p.out.format == formatWide
	// A kind may have an Age of its own, as those from Kubernetes often do.
	age := !slices.ContainsFunc(columns, func(c column) bool { return c.header == "AGE" })
	for i := -1; i < len(records); i++ {
		var row []string
		add := func(when bool, header string, cell func(r *resource.Resource) string) {
			switch {
			case when && i < 0:
				row = append(row, header)
			case when:
				row = append(row, cell(&records[i]))
			}
		}
		add(true, "NAME", func(r *resource.Resource) string {
			if mixed {
				return p.kinds.label(r)
			}
			return r.Name
		})
		add(scoped, "SCOPE", func(r *resource.Resource) string { return r.Scope.String() })
		for _, c := range columns {
			add(true, c.header, func(r *resource.Resource) string { return c.cell(r, p.cfg.Now()) })
		}
		add(age, "AGE", func(r *resource.Resource) string { return ageOf(r.CreatedAt, p.cfg.Now()) })
		add(wide, "ID", func(r *resource.Resource) string { return r.ID })
		add(wide, "STATE", stateOf)
		add(wide, "ACTOR", func(r *resource.Resource) string { return r.WriterActor.String() })
		add(wide, "WRITER", func(r *resource.Resource) string { return r.LastWriterID })
		add(wide, "VERSION", func(r *resource.Resource) string { return strconv.FormatInt(r.Version, 10) })
		add(wide, "DIGEST", func(r *resource.Resource) string { return short(r.Digest) })
		t.row(row...)
	}
}

// column is a print column of a kind.
type column struct {
	header string
	path   jsonpath.Path
	date   bool
}

// columns reads a kind's print columns. One whose path is not supported is
// left out with a warning: records are worth more than a column.
func (p recordPrinter) columns(k resource.Kind) (out []column) {
	for _, c := range k.PrintColumns {
		path, err := jsonpath.ParsePath(c.JSONPath)
		if err != nil {
			p.warn("kind %s: column %s is left out: %v", k.Name, c.Name, err)
			continue
		}
		out = append(out, column{strings.ToUpper(c.Name), path, c.Type == "date"})
	}
	return out
}

func (c column) cell(r *resource.Resource, now time.Time) string {
	raw, err := r.MarshalJSON()
	if err != nil {
		return none
	}
	var cells []string
	for _, v := range c.path.Find(raw) {
		text := jsonpath.Text(v)
		if at, err := time.Parse(time.RFC3339, text); c.date && err == nil {
			text = ageOf(at, now)
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
