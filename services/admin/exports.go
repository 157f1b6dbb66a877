package admin

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/csvfile"
	"reservation.dev/platform/roles"
)

// dataAccess are the people who export and import data.
const dataAccess = roles.ExportAndImport

// countedMost is the most rows that the page counts before an export.
const countedMost = 10_000

// exportDaysMost is the longest span of an export, in days: ten years.
const exportDaysMost = 3653

// exportKind is a kind of data that can be exported.
type exportKind struct {
	name   string
	header []string
	// count returns the number of matches, up to countedMost.
	count func(r *request, s exportSpan) (int64, error)
	// rows returns what reads the rows of the file.
	rows func(r *request, s exportSpan) rowSource
	// several says that a match can have several rows.
	several bool
}

// rowSource returns the next rows of a file. more is false with the last ones.
type rowSource func() (rows [][]csvfile.Cell, more bool, err error)

// exportKinds returns the kinds of data, in the order of the form.
func exportKinds() []exportKind {
	return []exportKind{customersExport(), registrationsExport(), transactionsExport(), passesExport(), ledgerExport()}
}

// exportSpan is a number of days in the company's zone.
type exportSpan struct {
	first, last  string // YYYY-MM-DD
	from, before time.Time
	zone         *time.Location
}

// bounds returns the bounds of the span for a request.
func (s exportSpan) bounds() (from, before *timestamppb.Timestamp) {
	return timestamppb.New(s.from), timestamppb.New(s.before)
}

// dataPage is the page of exports and imports.
type dataPage struct {
	Form *form
	// Kinds are the choices of the form.
	Kinds []option
	// File is the address of the file that the form describes; "" if the form is empty or wrong.
	File string
	// Found is the number of matches, up to countedMost.
	Found int64
	// Several says that a match can have several rows.
	Several bool
	Import  importView
}

func (dataPage) head() (*message, string) { return msg("data.title"), "exports" }

// Most reports whether there are more matches than Found says.
func (p dataPage) Most() bool { return p.Found >= countedMost }

// FoundText says how many matches there are.
func (p dataPage) FoundText() *message {
	if p.Most() {
		return msg("data.export.found_most", "count", p.Found)
	}
	return msg("data.export.found", "count", p.Found)
}

// exports shows the form of an export. If the form is complete, the page says how many rows the file has.
func (r *request) exports() error {
	page := r.dataPage()
	if !r.http.URL.Query().Has("what") {
		return r.render("exports", page)
	}
	kind, s := r.exportOf(page.Form)
	if page.Form.Failed() {
		return r.notAccepted("exports", page)
	}
	found, err := kind.count(r, s)
	if err != nil {
		return err
	}
	page.Found, page.Several = found, kind.several
	page.File = "/exports/file?" + url.Values{"what": {kind.name}, "from": {s.first}, "to": {s.last}}.Encode()
	return r.render("exports", page)
}

// dataPage returns the page with the form of the address.
func (r *request) dataPage() dataPage {
	f := r.filterForm("what", "from", "to")
	if !r.http.URL.Query().Has("what") {
		today := r.now().In(r.session.Clock.Zone)
		f.values.Set("from", today.AddDate(0, -1, 0).Format(time.DateOnly))
		f.values.Set("to", today.Format(time.DateOnly))
	}
	page := dataPage{Form: f, Import: newImportView(importKindNamed(r.query("import")).name)}
	for _, kind := range exportKinds() {
		page.Kinds = append(page.Kinds, option{kind.name, r.text("data.kind." + kind.name)})
	}
	return page
}

// exportOf reads the form of an export, and adds its errors to the form.
func (r *request) exportOf(f *form) (kind exportKind, s exportSpan) {
	all := exportKinds()
	at := slices.IndexFunc(all, func(k exportKind) bool { return k.name == f.text("what") })
	if at < 0 {
		f.add("what", msg("data.export.choose"))
	} else {
		kind = all[at]
	}
	s.zone = r.session.Clock.Zone
	s.first, s.from = r.exportDay(f, "from", 0)
	s.last, s.before = r.exportDay(f, "to", 1)
	switch {
	case f.Failed():
	case !s.from.Before(s.before):
		f.add("to", msg("data.export.order"))
	case s.before.Sub(s.from) > exportDaysMost*24*time.Hour:
		f.add("to", msg("data.export.too_long"))
	}
	return kind, s
}

// exportDay reads a day of the form. It returns the start of the day that is plus days later.
func (r *request) exportDay(f *form, name string, plus int) (text string, at time.Time) {
	text = f.text(name)
	day, err := time.Parse(time.DateOnly, text)
	if err != nil || day.Year() < 1900 || day.Year() > 9998 {
		f.add(name, msg("data.export.day"))
		return text, at
	}
	return text, startOf(day.Year(), day.Month(), day.Day()+plus, r.session.Clock.Zone)
}

// exportFile responds with a file. The first rows are read before the first byte is sent, so that a failure then is
// an error page. After that, a failure cuts the connection: browsers report an incomplete file.
func (r *request) exportFile() error {
	page := r.dataPage()
	kind, s := r.exportOf(page.Form)
	if page.Form.Failed() {
		return r.notAccepted("exports", page)
	}
	release, free := r.web.exporting.take(r.session.Company.GetId())
	if !free {
		page.Form.Summary = msg("data.export.busy")
		r.w.Header().Set("Retry-After", "30")
		return r.renderStatus(http.StatusTooManyRequests, "exports", page)
	}
	defer release()
	next := r.renewing(kind.rows(r, s))
	rows, more, err := next()
	if err != nil {
		return err
	}
	company := r.session.Company.GetName()
	head := r.w.Header()
	head.Set("Content-Type", "text/csv; charset=utf-8")
	head.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s"`, fileName(company, kind.name, s)))
	r.done = true
	if r.http.Method == http.MethodHead {
		return nil
	}
	out := r.stream(kind.header)
	defer func() {
		r.ctx = context.WithoutCancel(r.ctx) // the browser can be gone
		r.changed()
		r.target(kind.name)
		r.detail("first_day", "", s.first)
		r.detail("last_day", "", s.last)
		r.detail("rows", "", strconv.FormatInt(out.file.Rows(), 10))
		r.detail("incomplete", "", yes(!out.complete))
		r.record()
	}()
	for {
		if err := out.write(rows); err != nil {
			return &cutError{err}
		}
		if !more {
			return out.end()
		}
		if rows, more, err = next(); err != nil {
			return &cutError{err}
		}
	}
}

// fileName returns the name of a file: "riverside-yoga-customers-2026-03-01-2026-03-31.csv".
func fileName(company, kind string, s exportSpan) string {
	var slug strings.Builder
	for _, c := range strings.ToLower(company) {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			slug.WriteRune(c)
		case slug.Len() > 0 && !strings.HasSuffix(slug.String(), "-"):
			slug.WriteByte('-')
		}
		if slug.Len() >= 40 {
			break
		}
	}
	parts := []string{kind}
	if s.first != "" {
		parts = append(parts, s.first, s.last)
	}
	if name := strings.Trim(slug.String(), "-"); name != "" {
		parts = append([]string{name}, parts...)
	}
	return strings.Join(parts, "-") + ".csv"
}
