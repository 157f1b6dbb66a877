package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

const localTime = "2006-01-02T15:04:05"

// threeMonthsBefore returns the start of the day three months before now's day, in now's zone. A
// day that the month does not have becomes its last day.
func threeMonthsBefore(now time.Time) time.Time {
	first := time.Date(now.Year(), now.Month()-3, 1, 0, 0, 0, 0, now.Location())
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(now.Day(), last)-1)
}

// testWindow uses a zone whose day differs from the day in UTC most of the time. The window moves at midnight, so
// it uses another zone in the hours around midnight.
func (w *world) testWindow(t *testing.T) {
	zone := "Pacific/Auckland"
	if hour := time.Now().In(location(t, zone)).Hour(); hour == 23 || hour == 0 {
		zone = "America/Los_Angeles"
	}
	n := w.tenant(t, zone)
	loc := location(t, zone)
	ada := n.ImportCustomers(t, "w", 1)[0]
	now := time.Now().In(loc)
	day := time.Date(now.Year(), now.Month(), now.Day()-10, 0, 0, 0, 0, loc)
	opens := threeMonthsBefore(now)
	instants := map[string]time.Time{
		"before": day.Add(-time.Second), "midnight": day, "noon": day.Add(12 * time.Hour), "last": day.AddDate(0, 0, 1).Add(-time.Second),
		"next": day.AddDate(0, 0, 1), "opens": opens, "too old": opens.Add(-time.Second), "ancient": time.Date(1999, 12, 31, 23, 59, 59, 0, loc),
	}
	name := map[string]string{} // transaction id to name
	for what, at := range instants {
		name[n.ImportTransactions(t, importedPurchase(ada, at, cardBooking(importedDate("E", at, ""))))[0]] = what
	}
	list := func(t *testing.T, pairs ...string) []string {
		t.Helper()
		query := url.Values{}
		for i := 0; i+1 < len(pairs); i += 2 {
			query.Set(pairs[i], pairs[i+1])
		}
		page := n.at(t, w).bookings(t, ada, "?"+query.Encode())
		var got []string
		for _, id := range page.ids() {
			got = append(got, name[id])
		}
		if page.Total != len(got) {
			t.Errorf("%v: total %d for %v", pairs, page.Total, got)
		}
		return got
	}
	date := day.Format(time.DateOnly)

	t.Run("without startDate the window starts three months before today, in the company's zone", func(t *testing.T) {
		equal(t, "transactions", list(t), []string{"next", "last", "noon", "midnight", "before", "opens"})
	})
	t.Run("a startDate far in the past shows everything", func(t *testing.T) {
		equal(t, "transactions", list(t, "startDate", "1970-01-01"), []string{"next", "last", "noon", "midnight", "before", "opens", "too old", "ancient"})
	})
	t.Run("a date includes that whole day in the company's zone, as start and as end", func(t *testing.T) {
		equal(t, "one day", list(t, "startDate", date, "endDate", date), []string{"last", "noon", "midnight"})
		equal(t, "from it", list(t, "startDate", date), []string{"next", "last", "noon", "midnight"})
		equal(t, "until it", list(t, "endDate", date), []string{"last", "noon", "midnight", "before", "opens"})
		equal(t, "until the day before", list(t, "endDate", day.AddDate(0, 0, -1).Format(time.DateOnly)), []string{"before", "opens"})
	})
	t.Run("a local date-time is in the company's zone, inclusive as start and as end", func(t *testing.T) {
		last := instants["last"].Format(localTime)
		equal(t, "to the second", list(t, "startDate", day.Format(localTime), "endDate", last), []string{"last", "noon", "midnight"})
		equal(t, "a second less", list(t, "startDate", day.Add(time.Second).Format(localTime), "endDate", instants["last"].Add(-time.Second).Format(localTime)), []string{"noon"})
		equal(t, "one instant", list(t, "startDate", last, "endDate", last), []string{"last"})
	})
	t.Run("a date-time with an offset is that instant", func(t *testing.T) {
		for _, format := range []func(time.Time) string{
			func(at time.Time) string { return at.UTC().Format(time.RFC3339) },
			func(at time.Time) string { return at.Format(time.RFC3339) },
			func(at time.Time) string { return at.In(time.FixedZone("", -5*3600)).Format(time.RFC3339) },
		} {
			equal(t, format(day), list(t, "startDate", format(day), "endDate", format(instants["last"])), []string{"last", "noon", "midnight"})
		}
	})
	t.Run("a startDate after the endDate is 400", func(t *testing.T) {
		n := n.at(t, w)
		for _, query := range []string{
			"startDate=2026-02-02&endDate=2026-02-01", "startDate=2026-02-01T00:00:01&endDate=2026-02-01T00:00:00",
			"startDate=2026-02-01T00:00:00Z&endDate=2026-01-31T23:00:00Z",
		} {
			n.get(t, bookingsPath(ada)+"?"+query).Refused(t, http.StatusBadRequest, "INVALID_PARAMETER")
		}
	})
	t.Run("an invalid date is 400 and the parameter is named", func(t *testing.T) {
		n := n.at(t, w)
		for _, field := range []string{"startDate", "endDate"} {
			for _, bad := range []string{
				"", "yesterday", "2026-13-01", "2026-02-30", "2026-00-10", "01/02/2026", "20260201", "2026-2-1", "2026-02-01T25:00:00", "2026-02-01T10:61:00",
				"2026-02-01T10:00:00X", "2026-02-01T", "1767225600", "2026-02-01T10:00:00+99:00", "'2026-02-01'", "２０２６-02-01", "2026-02-01\x00",
			} {
				query := "?" + url.Values{field: {bad}}.Encode()
				f := n.get(t, bookingsPath(ada)+query).Refused(t, http.StatusBadRequest, "INVALID_PARAMETER")
				if f.Error.Details["field"] != field {
					t.Errorf("%s: details %v", query, f.Error.Details)
				}
			}
		}
	})
	t.Run("a day with a clock change has its actual length", func(t *testing.T) {
		n := w.tenant(t, "Europe/London")
		customer := n.ImportCustomers(t, "d", 1)[0]
		// 29 March 2026 has 23 hours in London, and 25 October 2026 has 25.
		for i, tt := range []struct{ date, first, last string }{
			{"2026-03-29", "2026-03-29T00:00:00Z", "2026-03-29T22:59:59Z"},
			{"2025-10-26", "2025-10-25T23:00:00Z", "2025-10-26T23:59:59Z"},
		} {
			first, _ := time.Parse(time.RFC3339, tt.first)
			last, _ := time.Parse(time.RFC3339, tt.last)
			e := importedDate(fmt.Sprint("E", i), first, "")
			ids := n.ImportTransactions(t, importedPurchase(customer, first.Add(-time.Second), cardBooking(e)), importedPurchase(customer, first, cardBooking(e)),
				importedPurchase(customer, last, cardBooking(e)), importedPurchase(customer, last.Add(time.Second), cardBooking(e)))
			got := n.bookings(t, customer, "?startDate="+tt.date+"&endDate="+tt.date).ids()
			equal(t, tt.date, got, []string{ids[2], ids[1]})
		}
	})
}

func (w *world) testFuture(t *testing.T) {
	n := w.tenant(t, "Europe/London")
	ada := n.ImportCustomers(t, "f", 1)[0]
	now := time.Now()
	past, future := importedDate("past", now.Add(-time.Hour), ""), importedDate("future", now.Add(time.Hour), "")
	later := importedDate("later", now.Add(30*24*time.Hour), "")
	cancelled := cardBooking(later)
	cancelled.IsCancelled = true
	transactions := []*bookingv1.ImportedTransaction{
		importedPurchase(ada, now.Add(-1*time.Hour), cardBooking(past), cardBooking(future), cardBooking(past), cardBooking(later)),
		importedPurchase(ada, now.Add(-2*time.Hour), cardBooking(past)),
		importedPurchase(ada, now.Add(-3*time.Hour), cardBooking(future)),
		importedPurchase(ada, now.Add(-4*time.Hour), cancelled),
		importedPurchase(ada, now.AddDate(0, -5, 0), cardBooking(later)),
	}
	ids := n.ImportTransactions(t, transactions...)

	t.Run("only bookings with future dates are shown, and no transaction without one", func(t *testing.T) {
		page := n.at(t, w).bookings(t, ada, "?future_only=true")
		equal(t, "transactions", page.ids(), []string{ids[0], ids[2], ids[3]})
		if page.Total != 3 {
			t.Errorf("total %d", page.Total)
		}
		var names []string
		for _, b := range page.Data[0].Bookings {
			names = append(names, b.Event.Name)
		}
		equal(t, "bookings of the first", names, []string{"Class future", "Class later"})
	})
	t.Run("the default startDate applies to future bookings too", func(t *testing.T) {
		page := n.at(t, w).bookings(t, ada, "?future_only=true&startDate=2000-01-01")
		equal(t, "transactions", page.ids(), []string{ids[0], ids[2], ids[3], ids[4]})
	})
	t.Run("pages and totals count only matching transactions", func(t *testing.T) {
		n := n.at(t, w)
		for page, want := range [][]string{{ids[0], ids[2]}, {ids[3]}, {}} {
			got := n.bookings(t, ada, fmt.Sprintf("?future_only=true&pageSize=2&page=%d", page))
			equal(t, fmt.Sprint("page ", page), got.ids(), want)
			if got.Total != 3 {
				t.Errorf("total %d", got.Total)
			}
		}
	})
	t.Run("false has no effect", func(t *testing.T) {
		n := n.at(t, w)
		equal(t, "transactions", n.bookings(t, ada, "?future_only=false").ids(), n.bookings(t, ada, "").ids())
		equal(t, "transactions", n.bookings(t, ada, "").ids(), ids[:4])
	})
}
