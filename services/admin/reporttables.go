package admin

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"reservation.dev/platform/fault"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
)

// errNoReport says that a report does not exist.
var errNoReport = fault.Missing("report")

// readTakings reads the report of takings.
func (r *request) readTakings(q reportQuery, t *reportTable) error {
	grouping := map[string]reportsv1.TakingsGrouping{
		"day": reportsv1.TakingsGrouping_TAKINGS_GROUPING_DAY, "week": reportsv1.TakingsGrouping_TAKINGS_GROUPING_WEEK,
		"month": reportsv1.TakingsGrouping_TAKINGS_GROUPING_MONTH, "method": reportsv1.TakingsGrouping_TAKINGS_GROUPING_METHOD,
		"tax": reportsv1.TakingsGrouping_TAKINGS_GROUPING_TAX, "product": reportsv1.TakingsGrouping_TAKINGS_GROUPING_PRODUCT,
	}[q.by]
	res, err := r.services.reports.GetTakings(r.ctx, &reportsv1.GetTakingsRequest{Span: r.reportSpan(q), GroupBy: grouping, Currency: q.currency})
	if err != nil {
		return err
	}
	t.Compared, t.Currency, t.Currencies = res.GetCompared(), res.GetCurrency(), res.GetCurrencies()
	amount := func(of func(*reportsv1.Takings) int64) func(*reportsv1.Takings) figure {
		return func(x *reportsv1.Takings) figure { return amountOf(of(x), t.Currency) }
	}
	rows := views(res.GetRows(), func(row *reportsv1.TakingsRow) labelled[*reportsv1.Takings] {
		label, link := r.takingsLabel(q.by, row)
		return labelled[*reportsv1.Takings]{row.GetKey(), label, link, row.GetTakings(), row.GetBefore()}
	})
	t.Rest = len(rows) > 0 && rows[len(rows)-1].key == ""
	tabulate(t, []measure[*reportsv1.Takings]{
		{name: "gross", of: amount((*reportsv1.Takings).GetGross)},
		{name: "paid", detail: true, of: amount((*reportsv1.Takings).GetPaid)},
		{name: "refunded", of: amount((*reportsv1.Takings).GetRefunded)},
		{name: "net", of: amount((*reportsv1.Takings).GetNet)},
		{name: "tax", of: amount((*reportsv1.Takings).GetTax)},
		{name: "payments", detail: true, of: func(x *reportsv1.Takings) figure { return number(x.GetPayments()) }},
		{name: "refunds", hidden: true, of: func(x *reportsv1.Takings) figure { return number(x.GetRefunds()) }},
	}, labelled[*reportsv1.Takings]{"", r.text("reports.total"), "", res.GetTotal(), res.GetTotalBefore()}, rows)
	return nil
}

// takingsLabel returns the label of a row, and the page of its product.
func (r *request) takingsLabel(by string, row *reportsv1.TakingsRow) (label, link string) {
	switch by {
	case "method":
		return r.text(msg("desk.pay.method." + strings.ToLower(row.GetKey())).or(row.GetKey())), ""
	case "tax":
		points, _ := strconv.ParseInt(row.GetKey(), 10, 64)
		return r.text("reports.rate", "rate", r.texts.hundredths(points)), ""
	case "product":
		path := map[reportsv1.ProductKind]string{
			reportsv1.ProductKind_PRODUCT_KIND_EVENT: "/events/", reportsv1.ProductKind_PRODUCT_KIND_PASS: "/pass-types/",
			reportsv1.ProductKind_PRODUCT_KIND_PLAN: "/plans/",
		}[row.GetProductKind()]
		if row.GetKey() == "" {
			return r.text("reports.others"), ""
		}
		return cmp.Or(row.GetTitle(), row.GetKey()), path + row.GetKey()
	}
	return r.periodLabel(by, row.GetKey()), ""
}

// readAttendance reads the report of attendance.
func (r *request) readAttendance(q reportQuery, t *reportTable) error {
	grouping := map[string]reportsv1.AttendanceGrouping{
		"event": reportsv1.AttendanceGrouping_ATTENDANCE_GROUPING_EVENT, "weekday": reportsv1.AttendanceGrouping_ATTENDANCE_GROUPING_WEEKDAY,
		"day": reportsv1.AttendanceGrouping_ATTENDANCE_GROUPING_DAY, "week": reportsv1.AttendanceGrouping_ATTENDANCE_GROUPING_WEEK,
		"month": reportsv1.AttendanceGrouping_ATTENDANCE_GROUPING_MONTH,
	}[q.by]
	res, err := r.services.reports.GetAttendance(r.ctx, &reportsv1.GetAttendanceRequest{Span: r.reportSpan(q), GroupBy: grouping})
	if err != nil {
		return err
	}
	t.Compared = res.GetCompared()
	counted := func(of func(*reportsv1.Attendance) int64) func(*reportsv1.Attendance) figure {
		return func(x *reportsv1.Attendance) figure { return number(of(x)) }
	}
	rows := views(res.GetRows(), func(row *reportsv1.AttendanceRow) labelled[*reportsv1.Attendance] {
		label, link := r.attendanceLabel(q.by, row)
		return labelled[*reportsv1.Attendance]{row.GetKey(), label, link, row.GetAttendance(), row.GetBefore()}
	})
	t.Rest = len(rows) > 0 && rows[len(rows)-1].key == ""
	tabulate(t, []measure[*reportsv1.Attendance]{
		{name: "booked", of: counted((*reportsv1.Attendance).GetBooked)},
		{name: "attended", of: counted((*reportsv1.Attendance).GetAttended)},
		{name: "no_shows", of: counted((*reportsv1.Attendance).GetNoShows)},
		{name: "no_show_rate", hidden: true, of: func(x *reportsv1.Attendance) figure {
			return part(x.GetNoShows(), x.GetNoShows()+x.GetAttended())
		}},
		{name: "occupancy", of: func(x *reportsv1.Attendance) figure { return part(x.GetBookedOfCapacity(), x.GetCapacity()) }},
		{name: "cancelled", detail: true, of: counted((*reportsv1.Attendance).GetCancelled)},
		{name: "cancelled_late", hidden: true, of: counted((*reportsv1.Attendance).GetCancelledLate)},
		{name: "not_recorded", hidden: true, of: counted((*reportsv1.Attendance).GetNotRecorded)},
		{name: "dates", detail: true, of: counted((*reportsv1.Attendance).GetDates)},
		{name: "capacity", hidden: true, of: counted((*reportsv1.Attendance).GetCapacity)},
	}, labelled[*reportsv1.Attendance]{"", r.text("reports.total"), "", res.GetTotal(), res.GetTotalBefore()}, rows)
	return nil
}

// attendanceLabel returns the label of a row, and the page of its event.
func (r *request) attendanceLabel(by string, row *reportsv1.AttendanceRow) (label, link string) {
	switch by {
	case "event":
		if row.GetKey() == "" {
			return r.text("reports.others"), ""
		}
		return cmp.Or(row.GetTitle(), row.GetKey()), "/events/" + row.GetKey()
	case "weekday":
		number, err := strconv.Atoi(row.GetKey())
		if err != nil || number < 1 || number > 7 {
			return row.GetKey(), ""
		}
		return r.weekdayName(number), ""
	}
	return r.periodLabel(by, row.GetKey()), ""
}

// readCredits reads the report of credits.
func (r *request) readCredits(q reportQuery, t *reportTable) error {
	res, err := r.services.reports.GetCredits(r.ctx, &reportsv1.GetCreditsRequest{Span: r.reportSpan(q), Currency: q.currency})
	if err != nil {
		return err
	}
	t.Compared, t.Currency, t.Currencies = res.GetCompared(), res.GetCurrency(), res.GetCurrencies()
	counted := func(of func(*reportsv1.Credits) int64) func(*reportsv1.Credits) figure {
		return func(x *reportsv1.Credits) figure { return number(of(x)) }
	}
	rows := views(res.GetRows(), func(row *reportsv1.CreditsRow) labelled[*reportsv1.Credits] {
		label, link := r.passTypeLabel(row.GetPassTypeId(), row.GetPlanId(), row.GetTitle())
		return labelled[*reportsv1.Credits]{row.GetPassTypeId(), label, link, row.GetCredits(), row.GetBefore()}
	})
	t.Rest = len(rows) > 0 && rows[len(rows)-1].key == ""
	tabulate(t, []measure[*reportsv1.Credits]{
		{name: "closing", of: counted((*reportsv1.Credits).GetClosing)},
		{name: "closing_worth", of: func(x *reportsv1.Credits) figure { return amountOf(x.GetClosingWorth(), t.Currency) }},
		{name: "opening", detail: true, of: counted((*reportsv1.Credits).GetOpening)},
		{name: "added", detail: true, of: counted((*reportsv1.Credits).GetAdded)},
		{name: "used", of: counted((*reportsv1.Credits).GetUsed)},
		{name: "expired", of: counted((*reportsv1.Credits).GetExpired)},
		{name: "adjusted", detail: true, of: counted((*reportsv1.Credits).GetAdjusted)},
		{name: "opening_worth", hidden: true, of: func(x *reportsv1.Credits) figure { return amountOf(x.GetOpeningWorth(), t.Currency) }},
	}, labelled[*reportsv1.Credits]{"", r.text("reports.total"), "", res.GetTotal(), res.GetTotalBefore()}, rows)
	return nil
}

// passTypeLabel returns the label of a row about a pass type, and the page of the pass type or of its plan.
func (r *request) passTypeLabel(passType, plan, title string) (label, link string) {
	switch {
	case passType == "":
		return r.text("reports.others"), ""
	case plan != "":
		return cmp.Or(title, plan), "/plans/" + plan
	}
	return cmp.Or(title, passType), "/pass-types/" + passType
}

// readCustomers reads the report of customers.
func (r *request) readCustomers(q reportQuery, t *reportTable) error {
	req := &reportsv1.GetCustomersRequest{Span: r.reportSpan(q), Period: map[string]reportsv1.Period{
		"day": reportsv1.Period_PERIOD_DAY, "week": reportsv1.Period_PERIOD_WEEK, "month": reportsv1.Period_PERIOD_MONTH,
	}[q.by]}
	res, err := r.services.reports.GetCustomers(r.ctx, req)
	if isTooManyPeriods(err) && q.by != "month" {
		q.by, req.Period = "month", reportsv1.Period_PERIOD_MONTH
		t.Grouping, t.Note = q.by, msg("reports.by_month_instead")
		res, err = r.services.reports.GetCustomers(r.ctx, req)
	}
	if err != nil {
		return err
	}
	t.Compared = res.GetCompared()
	counted := func(of func(*reportsv1.Customers) int64) func(*reportsv1.Customers) figure {
		return func(x *reportsv1.Customers) figure { return number(of(x)) }
	}
	rows := views(res.GetRows(), func(row *reportsv1.CustomersRow) labelled[*reportsv1.Customers] {
		return labelled[*reportsv1.Customers]{row.GetKey(), r.periodLabel(q.by, row.GetKey()), "", row.GetCustomers(), row.GetBefore()}
	})
	tabulate(t, []measure[*reportsv1.Customers]{
		{name: "active", of: counted((*reportsv1.Customers).GetActive)},
		{name: "new", of: counted((*reportsv1.Customers).GetNew)},
		{name: "lost", of: counted((*reportsv1.Customers).GetLost)},
		{name: "returned", detail: true, of: counted((*reportsv1.Customers).GetReturned)},
		{name: "total", of: counted((*reportsv1.Customers).GetTotal)},
	}, labelled[*reportsv1.Customers]{"", r.text("reports.total"), "", res.GetTotal(), res.GetTotalBefore()}, rows)
	return nil
}

// isTooManyPeriods reports whether the service refused a span because it has too many of the periods.
func isTooManyPeriods(err error) bool {
	return err != nil && slices.ContainsFunc(fault.From(err).Fields, func(f fault.Field) bool { return f.Field == "period" && f.Rule == "period" })
}

// periodLabel returns the label of a period that begins on a day.
func (r *request) periodLabel(by, day string) string {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return day
	}
	if by == "month" {
		return r.texts.format("month", t)
	}
	return r.texts.format("weekday_month_day", t)
}
