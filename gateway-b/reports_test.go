package gatewayb

import (
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
)

func aComparison() *reportsv1.Compared {
	return &reportsv1.Compared{
		Span: &reportsv1.Span{From: "2026-03-01", To: "2026-03-31"}, Before: &reportsv1.Span{From: "2026-02-01", To: "2026-02-28"},
		AsOf: at("2026-04-01T09:30:00Z"), Complete: true,
	}
}

func reportAnswers() []proto.Message {
	taken := &reportsv1.Takings{Paid: 125000, Refunded: 2405, Gross: 122595, Net: 102163, Tax: 20432, Payments: 52, Refunds: 1}
	refunded := &reportsv1.Takings{Refunded: 5, Gross: -5, Net: -5, Refunds: 1}
	came := &reportsv1.Attendance{Dates: 9, Booked: 81, Attended: 70, NoShows: 6, NotRecorded: 5, Cancelled: 7, CancelledLate: 2, Capacity: 108, BookedOfCapacity: 80}
	credits := &reportsv1.Credits{Opening: 120, Closing: 138, Added: 80, Used: 50, Expired: 10, Adjusted: -2, OpeningWorth: 144000, ClosingWorth: 165650}
	customers := &reportsv1.Customers{Total: 240, New: 12, Active: 96, Lost: 14, Returned: 5}
	return []proto.Message{
		&reportsv1.GetTakingsResponse{
			Compared: aComparison(), Currency: "GBP", Currencies: []string{"EUR", "GBP"}, Total: taken, TotalBefore: refunded,
			Rows: []*reportsv1.TakingsRow{
				{Key: "550", Title: "Yoga", ProductKind: reportsv1.ProductKind_PRODUCT_KIND_EVENT, Takings: taken, Before: refunded},
				{Takings: refunded, Before: &reportsv1.Takings{}},
			},
		},
		&reportsv1.GetAttendanceResponse{Compared: aComparison(), Total: came, TotalBefore: came, Rows: []*reportsv1.AttendanceRow{{Key: "7", Attendance: came, Before: &reportsv1.Attendance{}}}},
		&reportsv1.GetCreditsResponse{
			Compared: &reportsv1.Compared{Span: &reportsv1.Span{From: "2026-03-01", To: "2026-03-31"}, Before: &reportsv1.Span{From: "2026-02-01", To: "2026-02-28"}},
			Currency: "GBP", Total: credits, TotalBefore: credits, Rows: []*reportsv1.CreditsRow{{PassTypeId: "pass_" + idOf, Title: "Ten", Credits: credits, Before: &reportsv1.Credits{}}},
		},
		&reportsv1.GetCustomersResponse{Compared: aComparison(), Total: customers, TotalBefore: customers, Rows: []*reportsv1.CustomersRow{{Key: "2026-03-01", Customers: customers, Before: customers}}},
		&reportsv1.ListExpiringPassesResponse{
			Passes: []*reportsv1.ExpiringPass{{
				CustomerPassId: "cp_" + idOf, CustomerId: "cust_" + idOf, PassTypeId: "pass_" + idOf, Title: "Ten", ExpiryDate: "2026-04-20", RemainingUses: 3, Worth: 3605, Currency: "GBP",
			}},
			NextPageToken: "next", Total: 2, AsOf: at("2026-04-01T09:30:00Z"), Complete: true,
		},
	}
}

func TestReports(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	const head = `{"span":{"from":"2026-03-01","to":"2026-03-31"},"before":{"from":"2026-02-01","to":"2026-02-28"},"asOf":"2026-04-01T09:30:00Z","complete":true,`
	for _, tt := range []operation{
		{"GET", "/reports/takings?from=2026-03-01&to=2026-03-31&groupBy=tax&currency=GBP", "", 200, []string{
			head + `"currency":"GBP","currencies":["EUR","GBP"],"total":{"paid":1250,"refunded":24.05,"gross":1225.95,"net":1021.63,"tax":204.32,"payments":52,"refunds":1},"totalBefore":{"paid":0,`,
			`"rows":[{"key":"5.5","title":"Yoga","productKind":"event","takings":{"paid":1250,`, `"gross":-0.05,`, `{"key":null,"title":null,"productKind":null,`,
		}, `span:{from:"2026-03-01" to:"2026-03-31"} group_by:TAKINGS_GROUPING_TAX currency:"GBP"`},
		{"GET", "/reports/takings?groupBy=product", "", 200, []string{`"key":"550"`}, `span:{} group_by:TAKINGS_GROUPING_PRODUCT`},
		{"GET", "/reports/attendance?from=2026-03-01&groupBy=weekday", "", 200, []string{
			head + `"total":{"dates":9,"booked":81,"attended":70,"noShows":6,"notRecorded":5,"cancelled":7,"cancelledLate":2,"capacity":108,"bookedOfCapacity":80},`,
			`"rows":[{"key":"7","title":null,"attendance":{"dates":9,`, `"before":{"dates":0,`,
		}, `span:{from:"2026-03-01"} group_by:ATTENDANCE_GROUPING_WEEKDAY`},
		{"GET", "/reports/credits?currency=EUR", "", 200, []string{
			`"asOf":null,"complete":false,"currency":"GBP","total":{"opening":120,"closing":138,"added":80,"used":50,"expired":10,"adjusted":-2,"openingWorth":1440,"closingWorth":1656.5},`,
			`"rows":[{"passId":"pass_` + idOf + `","title":"Ten","credits":{"opening":120,`,
		}, `span:{} currency:"EUR"`},
		{"GET", "/reports/customers?to=2026-03-31&period=week", "", 200, []string{
			head + `"total":{"total":240,"new":12,"active":96,"lost":14,"returned":5},`, `"rows":[{"key":"2026-03-01","customers":{"total":240,`,
		}, `span:{to:"2026-03-31"} period:PERIOD_WEEK`},
		{"GET", "/reports/expiring-passes?perPage=500&page=2&from=2026-04-01", "", 200, []string{
			`{"expiringPasses":[{"customerPassId":"cp_` + idOf + `","customerId":"cust_` + idOf + `","passId":"pass_` + idOf + `","title":"Ten","expiryDate":"2026-04-20","remainingUses":3,"unlimitedUses":false,"worth":36.05,"currency":"GBP"}],`,
			`"total":2,"page":2,"perPage":100,"nextCursor":"next","asOf":"2026-04-01T09:30:00Z","complete":true}`,
		}, `span:{from:"2026-04-01"} page_size:100 offset:100`},
		{"GET", "/reports/expiring-passes?cursor=next", "", 200, nil, `span:{} page_size:25 page_token:"next"`},
	} {
		t.Run(tt.method+" "+tt.path, func(t *testing.T) { g.check(t, tt, reportAnswers()) })
	}
}

func TestRefusedReports(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	for name, tt := range map[string]struct {
		path string
		err  error
		want string
	}{
		"a first day that is none":       {"/reports/takings?from=2026-02-30", nil, `"field":"from","rule":"format"`},
		"an empty last day":              {"/reports/customers?to=", nil, `"field":"to","rule":"format"`},
		"an unknown grouping":            {"/reports/attendance?groupBy=method", nil, `"field":"groupBy","rule":"enum"`},
		"an unknown period":              {"/reports/customers?period=year", nil, `"field":"period","rule":"enum"`},
		"a page that is no number":       {"/reports/expiring-passes?page=x", nil, `"field":"page","rule":"type"`},
		"a span that the service denies": {"/reports/takings?from=2026-03-02&to=2026-03-01", fault.InvalidParameter("span.to", "order", "must not be before 2026-03-02, the first day"), `"field":"to","rule":"order"`},
		"a first day too early":          {"/reports/credits?from=0001-01-01", fault.InvalidParameter("span.from", "range", "must be later"), `"field":"from","rule":"range"`},
		"too many rows":                  {"/reports/customers?period=day", fault.InvalidParameter("period", "period", "must be a longer one"), `"field":"period","rule":"period"`},
		"an unknown currency":            {"/reports/takings?currency=", fault.InvalidParameter("currency", "enum", "must be one of GBP"), `"field":"currency","rule":"enum"`},
	} {
		t.Run("names the parameter of "+name, func(t *testing.T) {
			g.services.prepare(tt.err)
			a := g.do(request{Method: http.MethodGet, Path: tt.path, Token: g.token()})
			if a.Code != http.StatusBadRequest || !strings.Contains(a.Body, tt.want) {
				t.Errorf("got %d %s, want %s", a.Code, a.Body, tt.want)
			}
		})
	}
}
