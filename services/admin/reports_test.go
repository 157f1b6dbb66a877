package admin

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/csvfile"
	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
)

// withReports answers every report with a few rows.
func withReports(w *world) *reportsv1.Compared {
	compared := &reportsv1.Compared{
		Span: &reportsv1.Span{From: "2026-10-01", To: "2026-10-31"}, Before: &reportsv1.Span{From: "2026-09-01", To: "2026-09-30"},
		AsOf: timestamppb.Now(), Complete: true,
	}
	on(w.backend, "GetTakings", func(req *reportsv1.GetTakingsRequest) (*reportsv1.GetTakingsResponse, error) {
		if from := req.GetSpan().GetFrom(); from > "2100" {
			return nil, fault.InvalidParameter("span.from", "range", "must not be after to")
		}
		now := &reportsv1.Takings{Paid: 130_000, Refunded: 5_000, Gross: 125_000, Net: 104_167, Tax: 20_833, Payments: 104, Refunds: 4}
		before := &reportsv1.Takings{Paid: 100_000, Gross: 100_000, Net: 100_000, Payments: 80}
		rows := map[reportsv1.TakingsGrouping][]*reportsv1.TakingsRow{
			reportsv1.TakingsGrouping_TAKINGS_GROUPING_DAY:    {{Key: "2026-10-01", Takings: now, Before: before}, {Key: "2026-10-02"}},
			reportsv1.TakingsGrouping_TAKINGS_GROUPING_METHOD: {{Key: "CASH", Takings: now}, {Key: "BANK_TRANSFER", Before: before}},
			reportsv1.TakingsGrouping_TAKINGS_GROUPING_TAX:    {{Key: "750", Takings: now}},
			reportsv1.TakingsGrouping_TAKINGS_GROUPING_PRODUCT: {
				{Key: "evt_1", Title: "=Yoga & <b>", ProductKind: reportsv1.ProductKind_PRODUCT_KIND_EVENT, Takings: now, Before: before}, {Takings: before},
			},
		}
		return &reportsv1.GetTakingsResponse{
			Compared: compared, Currency: "GBP", Currencies: []string{"EUR", "GBP"}, Total: now, TotalBefore: before, Rows: rows[req.GetGroupBy()],
		}, nil
	})
	on(w.backend, "GetAttendance", func(req *reportsv1.GetAttendanceRequest) (*reportsv1.GetAttendanceResponse, error) {
		a := &reportsv1.Attendance{Dates: 4, Booked: 30, Attended: 25, NoShows: 5, Capacity: 36, BookedOfCapacity: 30, Cancelled: 3, CancelledLate: 1}
		rows := []*reportsv1.AttendanceRow{{Key: "evt_1", Title: "Pilates", Attendance: a}}
		if req.GetGroupBy() == reportsv1.AttendanceGrouping_ATTENDANCE_GROUPING_WEEKDAY {
			rows = []*reportsv1.AttendanceRow{{Key: "7", Attendance: a}}
		}
		return &reportsv1.GetAttendanceResponse{Compared: compared, Total: a, TotalBefore: &reportsv1.Attendance{}, Rows: rows}, nil
	})
	on(w.backend, "GetCredits", func(req *reportsv1.GetCreditsRequest) (*reportsv1.GetCreditsResponse, error) {
		c := &reportsv1.Credits{Opening: 100, Closing: 80, Added: 20, Used: -38, Expired: -2, ClosingWorth: 96_000}
		return &reportsv1.GetCreditsResponse{
			Compared: compared, Currency: cmp.Or(req.GetCurrency(), "GBP"), Currencies: []string{"EUR", "GBP"}, Total: c, TotalBefore: &reportsv1.Credits{Closing: 100},
			Rows: []*reportsv1.CreditsRow{
				{PassTypeId: "pass_1", Title: "Ten classes", Credits: c}, {PassTypeId: "pass_2", PlanId: "plan_2", Title: "Four a month", Credits: c}, {Credits: c},
			},
		}, nil
	})
	on(w.backend, "GetCustomers", func(req *reportsv1.GetCustomersRequest) (*reportsv1.GetCustomersResponse, error) {
		if req.GetPeriod() == reportsv1.Period_PERIOD_DAY && req.GetSpan().GetFrom() == "2026-01-01" {
			return nil, fault.InvalidParameter("period", "period", "must be a longer one: the span has 365 rows, and 160 are allowed")
		}
		c := &reportsv1.Customers{Total: 900, New: 12, Active: 240, Lost: 31, Returned: 7}
		return &reportsv1.GetCustomersResponse{
			Compared: compared, Total: c, TotalBefore: &reportsv1.Customers{Active: 300}, Rows: []*reportsv1.CustomersRow{{Key: "2026-10-01", Customers: c}},
		}, nil
	})
	on(w.backend, "ListExpiringPasses", func(*reportsv1.ListExpiringPassesRequest) (*reportsv1.ListExpiringPassesResponse, error) {
		return &reportsv1.ListExpiringPassesResponse{
			Total: 2, AsOf: timestamppb.Now(), Complete: true,
			Passes: []*reportsv1.ExpiringPass{
				{CustomerPassId: "cp_1", CustomerId: "cust_1", PassTypeId: "pass_1", Title: "Ten classes", ExpiryDate: "2026-12-05", RemainingUses: 3, Worth: 3600, Currency: "GBP"},
				{CustomerPassId: "cp_2", CustomerId: "cust_2", PassTypeId: "pass_2", Title: "Unlimited", ExpiryDate: "2026-12-06", RemainingUses: 999999, UnlimitedUses: true},
			},
		}, nil
	})
	on(w.backend, "SumExpiringPasses", func(req *reportsv1.SumExpiringPassesRequest) (*reportsv1.SumExpiringPassesResponse, error) {
		if from := req.GetSpan().GetFrom(); from > "2100" {
			return nil, fault.InvalidParameter("span.from", "range", "must not be after to")
		}
		now, before := &reportsv1.Expiring{Passes: 2, Credits: 3, Worth: 3600}, &reportsv1.Expiring{Passes: 4, Credits: 9, Worth: 12_000}
		rows := []*reportsv1.ExpiringRow{{Key: "2026-12-01", Expiring: now, Before: before}, {Key: "2026-12-07"}}
		if req.GetGroupBy() == reportsv1.ExpiringGrouping_EXPIRING_GROUPING_PASS_TYPE {
			rows = []*reportsv1.ExpiringRow{{Key: "pass_1", Title: "Ten classes", Expiring: now}, {Key: "pass_2", PlanId: "plan_2", Title: "Unlimited"}, {Before: before}}
		}
		return &reportsv1.SumExpiringPassesResponse{
			Compared: &reportsv1.Compared{
				Span: &reportsv1.Span{From: "2026-12-01", To: "2026-12-31"}, Before: &reportsv1.Span{From: "2026-11-01", To: "2026-11-30"}, AsOf: timestamppb.Now(), Complete: true,
			},
			Currency: cmp.Or(req.GetCurrency(), "GBP"), Currencies: []string{"EUR", "GBP"}, Total: now, TotalBefore: before, Rows: rows,
		}, nil
	})
	on(w.backend, "BatchGetCustomers", func(req *customerv1.BatchGetCustomersRequest) (*customerv1.BatchGetCustomersResponse, error) {
		return &customerv1.BatchGetCustomersResponse{Customers: []*customerv1.Customer{{Id: "cust_1", FirstName: "Zoë", LastName: "Brien"}}}, nil
	})
	return compared
}

func TestReports(t *testing.T) {
	t.Parallel()
	t.Run("the overview shows the figures of every report, compared with the span before", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.signIn()
		withReports(w)
		w.get("/reports").must(t, "Takings", "£1,250.00", "before: £1,000.00", "25% more", "83%", "Active customers", "240", "20% less",
			"Credits at the end", "80", "2 passes with credits left expire", "1 Oct 2026 to 31 Oct 2026, compared with 1 Sep 2026 to 30 Sep 2026")
	})
	t.Run("takings by each grouping have a table and a chart", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.signIn()
		withReports(w)
		for by, wants := range map[string][]string{
			"day": {"Thu 1 Oct", `class="chart"`, "£50.00"}, "method": {"Cash", "Bank transfer", `class="bars"`},
			"tax": {"7.5%"}, "product": {`<a href="/events/evt_1">`, "=Yoga &amp; &lt;b&gt;", "All others", "adds up everything"},
		} {
			w.get("/reports/takings?by="+by).must(t, append(wants, "£1,250.00", "Download as CSV", "104")...)
		}
	})
	t.Run("attendance shows occupancy, and a share of nothing as a dash", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.signIn()
		withReports(w)
		w.get("/reports/attendance").must(t, "Pilates", "83%", "before: –")
		w.get("/reports/attendance?by=weekday").must(t, "Sunday")
	})
	t.Run("weeks begin on the first day of the locale", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.signIn()
		withReports(w)
		var weekStart int32
		on(w.backend, "GetAttendance", func(req *reportsv1.GetAttendanceRequest) (*reportsv1.GetAttendanceResponse, error) {
			weekStart = req.GetSpan().GetWeekStart()
			return &reportsv1.GetAttendanceResponse{}, nil
		})
		on(w.backend, "GetTakings", func(req *reportsv1.GetTakingsRequest) (*reportsv1.GetTakingsResponse, error) {
			weekStart = req.GetSpan().GetWeekStart()
			return &reportsv1.GetTakingsResponse{}, nil
		})
		on(w.backend, "GetCustomers", func(req *reportsv1.GetCustomersRequest) (*reportsv1.GetCustomersResponse, error) {
			weekStart = req.GetSpan().GetWeekStart()
			return &reportsv1.GetCustomersResponse{}, nil
		})
		on(w.backend, "SumExpiringPasses", func(req *reportsv1.SumExpiringPassesRequest) (*reportsv1.SumExpiringPassesResponse, error) {
			weekStart = req.GetSpan().GetWeekStart()
			return &reportsv1.SumExpiringPassesResponse{}, nil
		})
		for language, want := range map[string]int32{"en-US": 7, "en-GB": 1, "de": 1} {
			for _, name := range []string{"attendance", "takings", "customers", "expiring-passes"} {
				weekStart = 0
				if w.getIn(language, "/reports/"+name+"?by=week"); weekStart != want {
					t.Errorf("%s, %s: weeks begin on weekday %d, want %d", name, language, weekStart, want)
				}
			}
		}
	})
	t.Run("credits lead to the pass type or the plan, can be worth another currency, and have a row of all others", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.signIn()
		withReports(w)
		w.get("/reports/credits").must(t, `<a href="/pass-types/pass_1">Ten classes</a>`, `<a href="/plans/plan_2">Four a month</a>`, "All others", "adds up everything",
			"/reports/credits?by=pass_type&amp;currency=EUR&amp;from=2026-10-01&amp;to=2026-10-31", "£960.00")
		w.get("/reports/credits?currency=EUR").must(t, "€960.00")
	})
	t.Run("customers by day are shown by month if the span is too long", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.signIn()
		withReports(w)
		w.get("/reports/customers?by=day&from=2026-01-01&to=2026-12-31").must(t, "It is shown by month.", "Oct 2026", "240")
		if page := w.get("/reports/customers?by=day"); strings.Contains(page.body, "It is shown by month.") {
			t.Error("a short span is shown by month")
		}
	})
	t.Run("the overview shows a span that has only refunds", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.signIn()
		compared := withReports(w)
		refunded := &reportsv1.Takings{Refunded: 5_000, Gross: -5_000, Net: -5_000, Refunds: 1}
		rows := []*reportsv1.TakingsRow{{Key: "2026-10-01"}, {Key: "2026-10-02", Takings: refunded}}
		on(w.backend, "GetTakings", func(*reportsv1.GetTakingsRequest) (*reportsv1.GetTakingsResponse, error) {
			return &reportsv1.GetTakingsResponse{Compared: compared, Currency: "GBP", Total: refunded, Rows: rows}, nil
		})
		page := w.get("/reports")
		page.must(t, "−£50.00", `class="in-span below"`, "This span, below 0", "Fri 2 Oct: −£50.00")
		if strings.Contains(page.body, "Nothing to report") {
			t.Error("the span is called empty")
		}
		refunded.Gross, refunded.Paid = 0, 5_000
		if page := w.get("/reports"); strings.Contains(page.body, "Nothing to report") {
			t.Error("a span with payments that were refunded is called empty")
		}
	})
	t.Run("a span that the service refuses is explained, and the person stays at the reports", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.signIn()
		withReports(w)
		res := w.get("/reports/takings?from=2101-01-01&to=2100-01-01")
		if res.Header.Get("Location") != "/reports" {
			t.Errorf("leads to %q", res.Header.Get("Location"))
		}
		w.get("/reports").must(t, "must not be after to")
	})
	t.Run("passes that expire soon lead to the customer and the pass", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.signIn()
		withReports(w)
		w.get("/reports/expiring-passes").must(t, `<a href="/customers/cust_1" dir="auto">Zoë Brien</a>`, `href="/passes/cp_1"`, "5 Dec 2026", "£36.00", "Unknown customer")
	})
	t.Run("passes that expire are compared with the span before, with a chart, and by pass type", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.signIn()
		withReports(w)
		w.get("/reports/expiring-passes").must(t, "1 Dec 2026 to 31 Dec 2026, compared with 1 Nov 2026 to 30 Nov 2026", "before: 4 · 50% less", "before: £120.00 · 70% less",
			`class="chart"`, "Tue 1 Dec", "/reports/expiring-passes/csv?by=week&amp;currency=GBP&amp;from=2026-12-01&amp;to=2026-12-31")
		w.get("/reports/expiring-passes?by=pass_type&currency=EUR").must(t, `<a href="/pass-types/pass_1">Ten classes</a>`, `<a href="/plans/plan_2">Unlimited</a>`, "All others",
			`class="bars"`, "adds up everything", "before: €120.00")
		if res := w.get("/reports/expiring-passes?from=2101-01-01&to=2100-01-01"); res.Header.Get("Location") != "/reports" {
			t.Errorf("a span that is refused leads to %q", res.Header.Get("Location"))
		}
	})
	t.Run("the page of a month has every report", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.signIn()
		withReports(w)
		w.get("/reports/month?month=2026-10").must(t, "Report for October 2026", "Takings: Payment method", "Attendance: Weekday", "Customers: Week",
			"Credits outstanding: Pass type", "Passes that expire: Pass type", "/reports/month?month=2026-09", "data-print")
	})
	t.Run("the overview and the page of a month have each currency of the takings", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.signIn()
		withReports(w)
		w.get("/reports?from=2026-10-01").must(t, `href="/reports?currency=EUR&amp;from=2026-10-01"`, `aria-current="true">GBP</a>`)
		w.get("/reports?currency=EUR").must(t, `<input type="hidden" name="currency" value="EUR">`, "€960.00",
			`href="/reports/month?currency=EUR"`, `href="/reports/expiring-passes?currency=EUR"`)
		w.get("/reports/credits?currency=USD").must(t, `aria-current="true">USD</a>`, `>GBP</a>`) // none of which the span has
		w.get("/reports/month?month=2026-10").must(t, `href="/reports/month?currency=EUR&amp;month=2026-10"`)
		w.get("/reports/month?month=2026-10&currency=EUR").must(t, `href="/reports/month?currency=EUR&amp;month=2026-09"`)
	})
	t.Run("an unknown report does not exist", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.signIn()
		if res := w.get("/reports/secrets"); res.StatusCode != http.StatusNotFound {
			t.Errorf("status %d", res.StatusCode)
		}
	})
}

func TestReportFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withReports(w)
	res := w.get("/reports/takings/csv?by=product")
	if got := res.Header.Get("Content-Type"); got != "text/csv; charset=utf-8" {
		t.Errorf("Content-Type %q", got)
	}
	if got := res.Header.Get("Content-Disposition"); got != `attachment; filename="takings-2026-10-01-2026-10-31-GBP.csv"` {
		t.Errorf("Content-Disposition %q", got)
	}
	lines := strings.Split(strings.TrimSpace(res.body), "\n")
	for i, want := range []string{
		csvfile.Mark + "product,title,gross,gross_before,paid,paid_before,refunded,refunded_before,net,net_before,tax,tax_before,payments,payments_before,refunds,refunds_before",
		"evt_1,'=Yoga & <b>,1250.00,1000.00,1300.00,1000.00,50.00,0.00,1041.67,1000.00,208.33,0.00,104,80,4,0",
		",All others,1000.00,0.00",
		",Total,1250.00,1000.00",
	} {
		if i >= len(lines) || !strings.HasPrefix(strings.TrimSpace(lines[i]), want) {
			t.Errorf("line %d is %q, want %q", i+1, lines[min(i, len(lines)-1)], want)
		}
	}
}

func TestFilesOfExpiringPasses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withReports(w)
	passes := []*reportsv1.ExpiringPass{
		{CustomerPassId: "cp_1", CustomerId: "cust_1", Title: "=Ten", ExpiryDate: "2026-12-05", RemainingUses: 3, Worth: 3600, Currency: "GBP"},
		{CustomerPassId: "cp_2", CustomerId: "cust_2", Title: "Unlimited", ExpiryDate: "2026-12-06", RemainingUses: 999999, UnlimitedUses: true, Currency: "EUR"},
	}
	total := int64(2)
	on(w.backend, "ListExpiringPasses", func(req *reportsv1.ListExpiringPassesRequest) (*reportsv1.ListExpiringPassesResponse, error) {
		span := &reportsv1.Span{From: "2026-12-01", To: "2026-12-31"}
		if req.GetPageToken() == "" {
			return &reportsv1.ListExpiringPassesResponse{Total: total, Passes: passes[:1], NextPageToken: "next", Span: span}, nil
		}
		return &reportsv1.ListExpiringPassesResponse{Total: total, Passes: passes[1:], Span: span}, nil
	})
	res := w.get("/reports/expiring-passes/csv") // the days that the service chooses
	if got := res.Header.Get("Content-Disposition"); got != `attachment; filename="expiring-passes-2026-12-01-2026-12-31.csv"` {
		t.Errorf("Content-Disposition %q", got)
	}
	want := csvfile.Mark + "last_day,customer_id,customer,customer_pass_id,pass,credits,worth,currency\n" +
		"2026-12-05,cust_1,Zoë Brien,cp_1,'=Ten,3,36.00,GBP\n2026-12-06,cust_2,,cp_2,Unlimited,,,EUR\n"
	if res.body != want {
		t.Errorf("got %q, want %q", res.body, want)
	}
	entry := &authv1.RecordAuditEntryRequest{Action: "company_data.export", Target: "expiring_passes", Details: []*authv1.AuditDetail{
		{Field: "first_day", After: "2026-12-01"}, {Field: "last_day", After: "2026-12-31"}, {Field: "rows", After: "2"},
	}}
	if calls := w.backend.called("RecordAuditEntry"); len(calls) != 1 || !proto.Equal(calls[0].req, entry) {
		t.Errorf("the audit log got %v", calls)
	}
	total = maxExpiringRows + 1
	if res := w.get("/reports/expiring-passes/csv?from=2026-12-01"); res.Header.Get("Location") != "/reports/expiring-passes" {
		t.Errorf("too many passes lead to %q", res.Header.Get("Location"))
	}
	w.get("/reports/expiring-passes").must(t, "10,001 passes expire in this span. A file has at most 10,000: choose a shorter span.")
}

// englishTexts returns the texts of English in the United Kingdom.
func englishTexts(t *testing.T) *texts {
	t.Helper()
	p, err := embeddedPages()
	if err != nil {
		t.Fatal(err)
	}
	return p.catalogue.of("", "en-GB")
}

func TestFigures(t *testing.T) {
	t.Parallel()
	english := englishTexts(t)
	for _, c := range []struct {
		f    figure
		text string
		cell csvfile.Cell
	}{
		{number(1250), "1,250", csvfile.Int(1250)}, {number(-3), "-3", csvfile.Int(-3)}, {amountOf(-5, "GBP"), "−£0.05", csvfile.Own("-0.05")}, {amountOf(125_099, "EUR"), "€1,250.99", csvfile.Own("1250.99")},
		{part(1, 3), "33%", csvfile.Own("0.3333")}, {part(0, 0), "–", csvfile.Cell{}}, {part(5, 4), "125%", csvfile.Own("1.2500")},
	} {
		if got := c.f.print(english); got != c.text || c.f.cell() != c.cell {
			t.Errorf("%+v is %q and %v, want %q and %v", c.f, got, c.f.cell(), c.text, c.cell)
		}
	}
	for _, c := range []struct {
		now, before figure
		want        string
	}{
		{number(3), number(2), "50% more"}, {number(1), number(2), "50% less"}, {number(2), number(2), "the same"}, {number(2), number(0), ""},
		{part(3, 4), part(1, 2), "25 points more"}, {part(51, 100), part(1, 2), "1 point more"}, {part(0, 0), part(1, 2), ""}, {number(0), number(5), "100% less"},
		{number(-2), number(5), ""},
	} {
		if got := english.text(c.now.change(c.before)); got != c.want {
			t.Errorf("%+v after %+v is %q, want %q", c.now, c.before, got, c.want)
		}
	}
}

func TestChartsOfReports(t *testing.T) {
	t.Parallel()
	english := englishTexts(t)
	rows := make([]reportRow, 40)
	for i := range rows {
		rows[i] = reportRow{Label: fmt.Sprint(i), Now: []figure{number(int64(i) - 1)}, Before: []figure{number(3)}}
	}
	c := chartOf(english, rows, true)
	if len(c.Columns) != 40 || c.Ticks[2].Text != "40" || len(c.Labels) > 12 {
		t.Errorf("%d columns, ticks %v, %d labels", len(c.Columns), c.Ticks, len(c.Labels))
	}
	for _, bar := range c.Columns {
		if bar.Height < 0 || bar.Y < reportTop || bar.Y+bar.Height > reportChartHeight {
			t.Errorf("a column outside the chart: %+v", bar)
		}
	}
	if c.Columns[0].Y != c.Columns[1].Y || c.Columns[0].Height <= 0 || c.Columns[1].Height != 0 {
		t.Errorf("the column below 0 is %+v, and that of 0 %+v", c.Columns[0], c.Columns[1])
	}
	refunds := chartOf(english, []reportRow{{Now: []figure{amountOf(-150, "GBP")}, Before: []figure{amountOf(0, "GBP")}}}, true)
	if n := len(refunds.Ticks); n != 3 || refunds.Ticks[0].Text != "−£1.00" || refunds.Ticks[1].Text != "−£2.00" || refunds.Ticks[2].Text != "£0.00" {
		t.Errorf("ticks %v", refunds.Ticks)
	}
	across := chartOf(english, rows, false)
	if len(across.Bars) != maxBars || across.More != 25 {
		t.Errorf("%d bars and %d more", len(across.Bars), across.More)
	}
	if c := chartOf(english, []reportRow{{Now: []figure{number(0)}, Before: []figure{number(0)}}}, true); c != nil {
		t.Error("a chart of nothing")
	}
}
