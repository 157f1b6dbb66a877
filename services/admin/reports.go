package admin

import (
	"bytes"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"reservation.dev/platform/csvfile"
	"reservation.dev/platform/roles"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
)

// reportsPath is the path of the reports.
const reportsPath = "/reports"

func reportRoutes() []route {
	return []route{
		get(reportsPath, roles.SeeReports, (*request).reports),
		get(reportsPath+"/month", roles.SeeReports, (*request).monthlyReport),
		get(reportsPath+"/expiring-passes", roles.SeeReports, (*request).expiringPasses),
		get(reportsPath+"/{report}", roles.SeeReports, (*request).report),
		{pattern: "GET " + reportsPath + "/{report}/csv", capability: roles.SeeReports, audited: audited{"company_data.export", given}, serve: (*request).reportFile},
	}
}

// reportQuery is what a page asks a report.
type reportQuery struct {
	from, to string // YYYY-MM-DD; empty: as the service chooses
	by       string // "": the report's first grouping
	currency string // "": the company's
}

// reportSpan returns the span of a query, with the weeks of the administrator's locale.
func (r *request) reportSpan(q reportQuery) *reportsv1.Span {
	return &reportsv1.Span{From: q.from, To: q.to, WeekStart: int32(r.locale.weekStart())}
}

// reportTable is a report as pages and files show it.
type reportTable struct {
	Name       string
	Compared   *reportsv1.Compared
	Currency   string // "": the report has no amounts
	Currencies []string
	Grouping   string
	Groupings  []string
	Columns    []reportColumn
	Tiles      []reportTile
	Rows       []reportRow
	Total      reportRow
	Chart      *reportChart
	// Rest says that the last row sums up what the others do not show.
	Rest bool
	// Note says how the report differs from what was asked; nil if it does not.
	Note *message
}

// Empty reports whether all figures of the span and of the span before are 0.
func (t *reportTable) Empty() bool {
	return !slices.ContainsFunc(slices.Concat(t.Total.Now, t.Total.Before), func(f figure) bool { return f.n != 0 })
}

// Title returns the report's title.
func (t *reportTable) Title() *message { return msg("reports.title." + t.textID()) }

// About says what the report counts.
func (t *reportTable) About() *message { return msg("reports.about." + t.textID()) }

// textID returns the report's name in the identifiers of its texts.
func (t *reportTable) textID() string { return strings.ReplaceAll(t.Name, "-", "_") }

// KeyLabel returns the label of the first column.
func (t *reportTable) KeyLabel() *message { return groupingLabel(t.Grouping) }

// ShownColumns returns the columns of the table on the page.
func (t *reportTable) ShownColumns() []reportColumn {
	var shown []reportColumn
	for _, c := range t.Columns {
		if !c.Hidden {
			shown = append(shown, c)
		}
	}
	return shown
}

// Cells returns the figures of a row that the table on the page shows.
func (t *reportTable) Cells(r reportRow) []figure {
	var shown []figure
	for i, c := range t.Columns {
		if !c.Hidden {
			shown = append(shown, r.Now[i])
		}
	}
	return shown
}

// Filed returns the path of the CSV file.
func (t *reportTable) Filed() string { return t.path(t.Name+"/csv", t.Grouping, t.Currency) }

// By returns the path of the report with another grouping.
func (t *reportTable) By(grouping string) string { return t.path(t.Name, grouping, t.Currency) }

// Page returns the path of the report.
func (t *reportTable) Page() string { return t.By(t.Grouping) }

// CurrencyLinks returns the report in each of its currencies; nil if it has only one.
func (t *reportTable) CurrencyLinks() []currencyLink {
	return currencyLinks(func(code string) string { return t.path(t.Name, t.Grouping, code) }, t)
}

// currencyLinks returns the addresses of a page in each currency of its reports; nil if they have only one. path returns
// the address in a currency.
func currencyLinks(path func(code string) string, reports ...*reportTable) []currencyLink {
	shown := ""
	var codes []string
	for _, t := range reports {
		codes = append(codes, t.Currencies...)
		if t.Currency != "" { // also one that the span does not have
			shown, codes = t.Currency, append(codes, t.Currency)
		}
	}
	slices.Sort(codes)
	if codes = slices.Compact(codes); len(codes) < 2 {
		return nil
	}
	links := make([]currencyLink, len(codes))
	for i, code := range codes {
		links[i] = currencyLink{code, path(code), code == shown}
	}
	return links
}

// currencyLink leads to a page in a currency.
type currencyLink struct {
	Code, Path string
	Current    bool
}

func (t *reportTable) path(page, grouping, currency string) string {
	q := url.Values{}
	for name, value := range map[string]string{
		"from": t.Compared.GetSpan().GetFrom(), "to": t.Compared.GetSpan().GetTo(), "by": grouping, "currency": currency,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return reportsPath + "/" + page + "?" + q.Encode()
}

// groupingLabel returns the name of a grouping.
func groupingLabel(grouping string) *message { return msg("reports.by." + grouping) }

// GroupingLabel returns the name of a grouping, for templates.
func (*reportTable) GroupingLabel(grouping string) *message { return groupingLabel(grouping) }

// reportKind is one report: its groupings, the first of which is the default, and how it is read.
type reportKind struct {
	groupings []string
	read      func(r *request, q reportQuery, t *reportTable) error
}

var reportKinds = map[string]reportKind{
	"takings":    {[]string{"day", "week", "month", "method", "tax", "product"}, (*request).readTakings},
	"attendance": {[]string{"event", "weekday", "day", "week", "month"}, (*request).readAttendance},
	"credits":    {[]string{"pass_type"}, (*request).readCredits},
	"customers":  {[]string{"month", "week", "day"}, (*request).readCustomers},

	expiringReport: {[]string{"week", "day", "month", "pass_type"}, (*request).readExpiring},
}

// overTime reports whether a grouping is by periods.
func overTime(grouping string) bool {
	return grouping == "day" || grouping == "week" || grouping == "month"
}

// readReport reads a report.
func (r *request) readReport(name string, q reportQuery) (*reportTable, error) {
	kind, ok := reportKinds[name]
	if !ok {
		return nil, errNoReport
	}
	t := &reportTable{Name: name, Groupings: kind.groupings, Grouping: kind.groupings[0]}
	for _, grouping := range kind.groupings {
		if grouping == q.by {
			t.Grouping = grouping
		}
	}
	q.by = t.Grouping
	if err := kind.read(r, q, t); err != nil {
		return nil, err
	}
	t.Chart = chartOf(r.texts, t.Rows, overTime(t.Grouping))
	return t, nil
}

// asked returns what the address of a page asks.
func (r *request) asked() reportQuery {
	return reportQuery{from: r.query("from"), to: r.query("to"), by: r.query("by"), currency: r.query("currency")}
}

// spanLink is a span that a page offers.
type spanLink struct {
	Label    *message
	From, To string
	Current  bool
}

// spanChoice is the choice of a span.
type spanChoice struct {
	Action string // the path of the page
	Form   *form
	Links  []spanLink
	// Kept has the other parameters of the address.
	Kept []option
}

// choice returns the choice of spans of a page that shows a span.
func (r *request) choice(action string, shown *reportsv1.Span, kept ...option) spanChoice {
	c := spanChoice{Action: action, Form: newForm("from", shown.GetFrom(), "to", shown.GetTo())}
	for _, k := range kept {
		if k.Value != "" {
			c.Kept = append(c.Kept, k)
		}
	}
	today := r.midnight(r.now(), 0)
	month := time.Date(today.Year(), today.Month(), 1, 0, 0, 0, 0, time.UTC)
	day := time.Date(today.Year(), today.Month(), today.Day(), 0, 0, 0, 0, time.UTC)
	for _, s := range []struct {
		name     string
		from, to time.Time
	}{
		{"this_month", month, month.AddDate(0, 1, -1)},
		{"last_month", month.AddDate(0, -1, 0), month.AddDate(0, 0, -1)},
		{"last_30_days", day.AddDate(0, 0, -29), day},
		{"last_12_months", month.AddDate(0, -12, 0), month.AddDate(0, 0, -1)},
		{"this_year", time.Date(today.Year(), 1, 1, 0, 0, 0, 0, time.UTC), time.Date(today.Year(), 12, 31, 0, 0, 0, 0, time.UTC)},
	} {
		link := spanLink{Label: msg("reports.span." + s.name), From: s.from.Format(time.DateOnly), To: s.to.Format(time.DateOnly)}
		link.Current = link.From == shown.GetFrom() && link.To == shown.GetTo()
		c.Links = append(c.Links, link)
	}
	return c
}

// Path returns the path of a span.
func (c spanChoice) Path(s spanLink) string {
	q := url.Values{"from": {s.From}, "to": {s.To}}
	for _, k := range c.Kept {
		q.Set(k.Text, k.Value)
	}
	return c.Action + "?" + q.Encode()
}

// reportPage is the page of one report.
type reportPage struct {
	Report *reportTable
	Spans  spanChoice
}

func (p reportPage) head() (*message, string) { return p.Report.Title(), "reports" }

// report shows a report with its chart and table.
func (r *request) report() error {
	q := r.asked()
	t, err := r.readReport(r.path("report"), q)
	if err != nil {
		return r.refused(reportsPath, err)
	}
	return r.render("report", reportPage{t, r.choice(reportsPath+"/"+t.Name, t.Compared.GetSpan(), option{t.Grouping, "by"}, option{q.currency, "currency"})})
}

// reportsPage is the overview: the figures of every report for one span.
type reportsPage struct {
	Takings, Attendance, Credits, Customers *reportTable
	Expiring                                int64
	Spans                                   spanChoice
	Currencies                              []currencyLink
	Currency                                string // as asked; "": the company's
}

func (reportsPage) head() (*message, string) { return msg("reports.page.title"), "reports" }

// Reports returns the reports of the page.
func (p reportsPage) Reports() []*reportTable {
	return []*reportTable{p.Takings, p.Attendance, p.Customers, p.Credits}
}

// reports shows the overview.
func (r *request) reports() error {
	q := r.asked()
	page, err := r.overview(q, map[string]string{"takings": "day", "attendance": "weekday", "customers": "month"})
	if err != nil {
		back := home
		if r.http.URL.RawQuery != "" { // without it, the page shows its usual span
			back = reportsPath
		}
		return r.refused(back, err)
	}
	page.Spans = r.choice(reportsPath, page.Takings.Compared.GetSpan(), option{q.currency, "currency"})
	page.Currency = q.currency
	page.Currencies = currencyLinks(func(code string) string { return r.with("currency", code) }, page.Reports()...)
	return r.render("reports", page)
}

// overview reads every report for one span, at the same time.
func (r *request) overview(q reportQuery, by map[string]string) (reportsPage, error) {
	var page reportsPage
	var group errgroup.Group
	for name, into := range map[string]**reportTable{
		"takings": &page.Takings, "attendance": &page.Attendance, "credits": &page.Credits, "customers": &page.Customers,
	} {
		q := q
		q.by = by[name]
		group.Go(func() (err error) {
			*into, err = r.readReport(name, q)
			return err
		})
	}
	group.Go(func() error {
		res, err := r.services.reports.ListExpiringPasses(r.ctx, &reportsv1.ListExpiringPassesRequest{PageSize: 1})
		page.Expiring = res.GetTotal()
		return err
	})
	return page, group.Wait()
}

// reportFile sends a report as a CSV file.
func (r *request) reportFile() error {
	if r.path("report") == expiringReport {
		return r.expiringFile()
	}
	t, err := r.readReport(r.path("report"), r.asked())
	if err != nil {
		return r.refused(reportsPath, err)
	}
	var b bytes.Buffer
	if err := t.write(csvfile.NewWriter(&b, ',')); err != nil {
		return err
	}
	span := t.Compared.GetSpan()
	name := fmt.Sprintf("%s-%s-%s", t.Name, span.GetFrom(), span.GetTo())
	if t.Currency != "" {
		name += "-" + t.Currency
	}
	r.sendFile(name, b.Bytes())
	return nil
}

// write writes the report as a file: all figures of each row, now and in the span before, and the total.
func (t *reportTable) write(w *csvfile.Writer) error {
	header := []string{t.Grouping, "title"}
	for _, c := range t.Columns {
		header = append(header, c.Name, c.Name+"_before")
	}
	if err := w.Begin(header); err != nil {
		return err
	}
	for _, row := range append(t.Rows, t.Total) {
		cells := []csvfile.Cell{csvfile.Own(row.Key), csvfile.Text(row.Label)}
		for i := range t.Columns {
			cells = append(cells, row.Now[i].cell(), row.Before[i].cell())
		}
		if err := w.Write(cells...); err != nil {
			return err
		}
	}
	return w.Flush()
}
