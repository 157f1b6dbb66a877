package admin

import (
	"time"

	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
)

// monthPage is everything about one month, to print.
type monthPage struct {
	Month          time.Time
	Previous, Next string // addresses
	Currencies     []currencyLink
	Sections       []*reportTable
	Compared       *reportsv1.Compared
	// Printed is when the page was made.
	Printed string
}

func (p monthPage) head() (*message, string) {
	return msg("reports.month.title", "month", p.Name()), "reports"
}

// Name returns the name of the month.
func (p monthPage) Name() *message { return timeText("long_month", p.Month) }

// monthlyReport shows the printable page of a month, by default of the last one that is over.
func (r *request) monthlyReport() error {
	today := r.midnight(r.now(), 0)
	month, err := time.Parse("2006-01", r.query("month"))
	if err != nil || month.Year() < 1900 || month.Year() > 9000 {
		month = time.Date(today.Year(), today.Month()-1, 1, 0, 0, 0, 0, time.UTC)
	}
	page := monthPage{
		Month: month, Previous: r.with("month", month.AddDate(0, -1, 0).Format("2006-01")), Next: r.with("month", month.AddDate(0, 1, 0).Format("2006-01")),
		Printed: r.session.Clock.Present(),
	}
	q := reportQuery{from: isoDay(month), to: isoDay(month.AddDate(0, 1, -1)), currency: r.query("currency")}
	for _, section := range []struct{ name, by string }{
		{"takings", "day"}, {"takings", "method"}, {"takings", "tax"}, {"takings", "product"},
		{"attendance", "event"}, {"attendance", "weekday"}, {"customers", "week"}, {"credits", "pass_type"}, {expiringReport, "pass_type"},
	} {
		q.by = section.by
		t, err := r.readReport(section.name, q)
		if err != nil {
			return r.refused(reportsPath, err)
		}
		page.Sections, page.Compared = append(page.Sections, t), t.Compared
	}
	page.Currencies = currencyLinks(func(code string) string { return r.with("currency", code) }, page.Sections...)
	return r.render("report-month", page)
}

// isoDay prints a day as YYYY-MM-DD.
func isoDay(t time.Time) string { return t.Format(time.DateOnly) }
