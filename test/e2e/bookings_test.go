package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/test/harness"
)

// eventLimit bounds how long a change in one service takes to reach another. A loaded machine can need many
// seconds.
const eventLimit = time.Minute

// testBookings books over gRPC, as internal teams do, and reads on Interface A. The clocks of the company's zone
// never change, so every local time is one instant.
func (w *world) testBookings(t *testing.T) {
	const zone = "Asia/Kolkata"
	n := w.tenant(t, zone)
	ada, ben := n.NewCustomer(t, "Ada", "Purchaser"), n.NewCustomer(t, "Ben", "Guest")
	starts := time.Now().Add(48 * time.Hour).Truncate(time.Minute)
	capacity := int32(5)
	made, err := n.Operator().Events.CreateEvent(n.Ctx(t.Context()), &bookingv1.CreateEventRequest{
		Title: "Morning Vinyasa", Timezone: "America/New_York",
		Dates:          []*bookingv1.NewEventDate{{StartsAt: timestamppb.New(starts), DurationMinutes: 75, Capacity: &capacity}},
		PricingOptions: []*bookingv1.NewPricingOption{{Name: "Drop-in", Price: 1200, TaxRateBasisPoints: 2000}},
	})
	if err != nil {
		t.Fatal(err)
	}
	event := made.GetEvent()
	date, option := event.GetDates()[0], event.GetPricingOptions()[0]
	before := time.Now().Truncate(time.Second)
	res, err := n.Operator().Bookings.CreateTransaction(n.Ctx(t.Context()), &bookingv1.CreateTransactionRequest{
		PurchaserId: ada.GetId(), PaymentReference: "pay_1",
		Lines: []*bookingv1.TransactionLine{
			{EventDateId: date.GetId(), Spaces: 2}, {EventDateId: date.GetId(), Spaces: 1, BoughtForId: ben.GetId()},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	made2 := res.GetTransaction()

	t.Run("a new booking is listed immediately, with all its fields", func(t *testing.T) {
		n := n.at(t, w)
		page := n.bookings(t, ada.GetId(), "")
		if page.Total != 1 || page.Page != 0 || page.PageSize != 30 || len(page.Data) != 1 {
			t.Fatalf("got %+v", page)
		}
		got := page.Data[0]
		at, err := time.ParseInLocation("2006-01-02T15:04:05", got.PurchaseDate, location(t, zone))
		if err != nil || at.Before(before) || at.After(time.Now()) {
			t.Errorf("purchase_date %s (%v), not after %s", got.PurchaseDate, err, before)
		}
		if got.ID != made2.GetId() || got.Type != "event-booking" || len(got.Bookings) != 2 {
			t.Fatalf("got %+v", got)
		}
		first, second := got.Bookings[0], got.Bookings[1]
		purchaser := reference{ID: ada.GetId(), Type: "customer", Firstname: "Ada", Lastname: "Purchaser", Email: ada.GetEmail()}
		guest := reference{ID: ben.GetId(), Type: "customer", Firstname: "Ben", Lastname: "Guest", Email: ben.GetEmail()}
		if first.Type != "event-booking" || first.Spaces != 2 || first.IsCancelled || first.IsRefunded || first.PurchasedBy != purchaser || first.BoughtFor != nil {
			t.Errorf("first booking: %+v", first)
		}
		if second.PurchasedBy != purchaser || second.BoughtFor == nil || *second.BoughtFor != guest || second.Spaces != 1 {
			t.Errorf("second booking: %+v", second)
		}
		e := first.Event
		if e.ID != event.GetId() || e.Type != "event" || e.Name != "Morning Vinyasa" || e.Date.ID != date.GetId() || e.Date.Type != "event_date" {
			t.Errorf("event: %+v", e)
		}
		local := starts.In(location(t, "America/New_York")).Format("2006-01-02T15:04:05")
		if e.Date.Datetime != local || e.Date.TZ != "America/New_York" || e.Date.Duration != 75 {
			t.Errorf("date: %+v, want %s", e.Date, local)
		}
		if first.PricingOption.ID != option.GetId() {
			t.Errorf("pricing option %s", first.PricingOption.ID)
		}
		paid(t, first, `{"method":"CARD","currency":"GBP","base100gross_price":2400,"base100net_price":2000}`)
		paid(t, second, `{"method":"CARD","currency":"GBP","base100gross_price":1200,"base100net_price":1000}`)
	})
	t.Run("a booking is listed for its purchaser, not for its guest", func(t *testing.T) {
		n := n.at(t, w)
		if page := n.bookings(t, ben.GetId(), allTime); page.Total != 0 || len(page.Data) != 0 {
			t.Errorf("got %+v", page)
		}
		n.get(t, bookingPath(ben.GetId(), made2.GetId())).Refused(t, http.StatusNotFound, "NOT_FOUND")
	})
	t.Run("a cancellation and a refund each set their own flag", func(t *testing.T) {
		n := n.at(t, w)
		ids := []string{made2.GetBookings()[0].GetId(), made2.GetBookings()[1].GetId()}
		flags := func() string {
			got := n.bookings(t, ada.GetId(), "").Data[0].Bookings
			return fmt.Sprint(got[0].IsCancelled, got[0].IsRefunded, got[1].IsCancelled, got[1].IsRefunded)
		}
		ctx := n.Ctx(t.Context())
		if _, err := n.Operator().Bookings.CancelBooking(ctx, &bookingv1.CancelBookingRequest{BookingId: ids[0]}); err != nil {
			t.Fatal(err)
		}
		if got := flags(); got != "true false false false" {
			t.Errorf("after a cancellation: %s", got)
		}
		if _, err := n.Operator().Bookings.RefundBooking(ctx, &bookingv1.RefundBookingRequest{BookingId: ids[1]}); err != nil {
			t.Fatal(err)
		}
		if got := flags(); got != "true false false true" {
			t.Errorf("after a refund: %s", got)
		}
	})
	t.Run("a customer without purchases has an empty list", func(t *testing.T) {
		n := n.at(t, w)
		nobody := n.NewCustomer(t, "No", "Body").GetId()
		if answer := n.get(t, bookingsPath(nobody)); string(answer.Body) != `{"data":[],"total":0,"page":0,"pageSize":30}` {
			t.Errorf("answered %s", answer.Body)
		}
	})
}

// paid fails t unless a booking's payment has exactly the given members.
func paid(t *testing.T, b booking, want string) {
	t.Helper()
	var got, wanted map[string]any
	if err := json.Unmarshal(b.Payment, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("payment (-want +got):\n%s", diff)
	}
}

// testShapes checks bookings that only an import can create: flags, free bookings, credits, and
// times around a clock change.
func (w *world) testShapes(t *testing.T) {
	n := w.tenant(t, "Europe/London")
	people := n.ImportCustomers(t, "s", 2)
	ada, ben := people[0], people[1]
	utc := func(text string) time.Time {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	one := func(t *testing.T, at time.Time, b *bookingv1.ImportedBooking) (transaction, string) {
		t.Helper()
		n := n.at(t, w)
		id := n.ImportTransactions(t, importedPurchase(ada, at, b))[0]
		answer := n.get(t, bookingPath(ada, id))
		var body struct{ Data transaction }
		answer.Into(t, http.StatusOK, &body)
		return body.Data, string(answer.Body)
	}
	base := utc("2026-01-05T10:00:00Z")

	t.Run("a free booking is shown as a card payment of zero", func(t *testing.T) {
		b := cardBooking(importedDate("free", base, ""))
		b.Payment = &bookingv1.ImportedBooking_Card{Card: &bookingv1.CardPayment{Currency: "EUR"}}
		got, _ := one(t, base, b)
		paid(t, got.Bookings[0], `{"method":"CARD","currency":"EUR","base100gross_price":0,"base100net_price":0}`)
	})
	t.Run("a payment by pass shows credits and no prices", func(t *testing.T) {
		for i, credits := range []int32{3, 0} {
			b := cardBooking(importedDate("pass", base, ""))
			b.Payment = &bookingv1.ImportedBooking_Pass{Pass: &bookingv1.PassPayment{CreditsUsed: credits}}
			got, _ := one(t, base.Add(time.Duration(i+1)*time.Second), b)
			paid(t, got.Bookings[0], fmt.Sprintf(`{"method":"PASS","currency":"CR","credits_used":%d}`, credits))
		}
	})
	t.Run("large amounts keep full precision", func(t *testing.T) {
		b := cardBooking(importedDate("dear", base, ""))
		b.Payment = &bookingv1.ImportedBooking_Card{Card: &bookingv1.CardPayment{Currency: "USD", Gross: 99_999_999_999_999, Net: 99_999_999_999_998}}
		_, text := one(t, base.Add(10*time.Second), b)
		if !strings.Contains(text, `"base100gross_price":99999999999999,"base100net_price":99999999999998`) {
			t.Errorf("answered %s", text)
		}
	})
	t.Run("flags and spaces are shown as imported", func(t *testing.T) {
		for i, flags := range [][2]bool{{false, false}, {true, false}, {false, true}, {true, true}} {
			b := cardBooking(importedDate("flags", base, ""))
			b.IsCancelled, b.IsRefunded, b.Spaces = flags[0], flags[1], int32(i+1)
			got, _ := one(t, base.Add(time.Duration(20+i)*time.Second), b)
			if first := got.Bookings[0]; first.IsCancelled != flags[0] || first.IsRefunded != flags[1] || first.Spaces != i+1 {
				t.Errorf("%v: got %+v", flags, first)
			}
		}
	})
	t.Run("bought_for is absent when the booking is for the purchaser", func(t *testing.T) {
		for i, whom := range []string{"", ada, "s0"} {
			b := cardBooking(importedDate("mine", base, ""))
			b.BoughtFor = whom
			if _, text := one(t, base.Add(time.Duration(30+i)*time.Second), b); strings.Contains(text, "bought_for") {
				t.Errorf("for %q: %s", whom, text)
			}
		}
		for i, whom := range []string{ben, "s1"} {
			b := cardBooking(importedDate("theirs", base, ""))
			b.BoughtFor = whom
			if got, text := one(t, base.Add(time.Duration(40+i)*time.Second), b); got.Bookings[0].BoughtFor == nil || got.Bookings[0].BoughtFor.ID != ben {
				t.Errorf("for %q: %s", whom, text)
			}
		}
	})
	t.Run("a purchase date is the company's local time without offset, across clock changes", func(t *testing.T) {
		for instant, want := range map[string]string{
			"2026-01-15T12:00:00Z": "2026-01-15T12:00:00", "2026-07-15T12:00:00Z": "2026-07-15T13:00:00",
			"2026-03-29T00:59:59Z": "2026-03-29T00:59:59", "2026-03-29T01:00:00Z": "2026-03-29T02:00:00",
			"2025-10-26T00:30:00Z": "2025-10-26T01:30:00", "2025-10-26T01:30:00Z": "2025-10-26T01:30:00",
			"2025-12-31T23:59:59Z": "2025-12-31T23:59:59",
		} {
			if got, _ := one(t, utc(instant), cardBooking(importedDate("clock", base, ""))); got.PurchaseDate != want {
				t.Errorf("%s is shown as %s, want %s", instant, got.PurchaseDate, want)
			}
		}
	})
	t.Run("an event date shows local time in its own time zone, and names the zone", func(t *testing.T) {
		for i, tt := range []struct{ zone, instant, want string }{
			{"America/New_York", "2026-07-15T12:00:00Z", "2026-07-15T08:00:00"}, {"Asia/Kathmandu", "2026-01-15T12:00:00Z", "2026-01-15T17:45:00"},
			{"Pacific/Auckland", "2026-01-15T12:00:00Z", "2026-01-16T01:00:00"}, {"UTC", "2026-01-15T12:00:00Z", "2026-01-15T12:00:00"},
			{"", "2026-07-15T12:00:00Z", "2026-07-15T13:00:00"},
		} {
			got, _ := one(t, base.Add(time.Duration(50+i)*time.Second), cardBooking(importedDate("zone"+tt.zone, utc(tt.instant), tt.zone)))
			date := got.Bookings[0].Event.Date
			wantZone := tt.zone
			if wantZone == "" {
				wantZone = "Europe/London"
			}
			if date.Datetime != tt.want || date.TZ != wantZone || date.Duration != 60 {
				t.Errorf("%s: got %+v", tt.zone, date)
			}
		}
	})
	t.Run("bookings of a purchase keep their order", func(t *testing.T) {
		n := n.at(t, w)
		var all []*bookingv1.ImportedBooking
		for i := range 12 {
			all = append(all, cardBooking(importedDate(fmt.Sprint("many", i), base, "")))
		}
		id := n.ImportTransactions(t, importedPurchase(ada, base.Add(time.Minute), all...))[0]
		var body struct{ Data transaction }
		n.get(t, bookingPath(ada, id)).Into(t, http.StatusOK, &body)
		var names, want []string
		for i, b := range body.Data.Bookings {
			names, want = append(names, b.Event.Name), append(want, fmt.Sprint("Class many", i))
		}
		equal(t, "bookings", names, want)
	})
}

func (w *world) testPages(t *testing.T) {
	n := w.tenant(t, "Europe/London")
	people := n.ImportCustomers(t, "g", 2)
	ada := people[0]
	at := time.Now().Add(-24 * time.Hour).Truncate(time.Second)
	const count = 205
	var history []*bookingv1.ImportedTransaction
	for i := range count {
		// Three purchases share each second, so that the order also depends on the identifiers.
		purchase := importedPurchase(ada, at.Add(-time.Duration(i/3)*time.Second), cardBooking(importedDate("page", at, "")))
		purchase.Reference = fmt.Sprint("page-", i)
		history = append(history, purchase)
	}
	history = append(history, importedPurchase(people[1], at, cardBooking(importedDate("page", at, ""))))
	ids := n.ImportTransactions(t, history...)[:count]
	order := make([]int, count)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		if a/3 != b/3 {
			return a/3 - b/3
		}
		return strings.Compare(ids[b], ids[a])
	})
	var want []string
	for _, i := range order {
		want = append(want, ids[i])
	}

	t.Run("the pages contain every transaction once, newest first, then by id", func(t *testing.T) {
		n := n.at(t, w)
		for _, size := range []int{1, 7, 30, 100} {
			var got []string
			pages := (count + size - 1) / size
			if size == 1 {
				pages = 8
			}
			for page := range pages {
				p := n.bookings(t, ada, fmt.Sprintf("?page=%d&pageSize=%d", page, size))
				if p.Total != count || p.Page != page || p.PageSize != size {
					t.Fatalf("total %d, page %d, pageSize %d", p.Total, p.Page, p.PageSize)
				}
				got = append(got, p.ids()...)
			}
			equal(t, fmt.Sprint("in pages of ", size), got, want[:min(count, pages*size)])
		}
	})
	t.Run("the defaults are page 0 and 30 transactions", func(t *testing.T) {
		p := n.at(t, w).bookings(t, ada, "")
		equal(t, "first page", p.ids(), want[:30])
		if p.Total != count || p.Page != 0 || p.PageSize != 30 {
			t.Errorf("total %d, page %d, pageSize %d", p.Total, p.Page, p.PageSize)
		}
	})
	t.Run("a pageSize above 100 is treated as 100, and the answer says 100", func(t *testing.T) {
		n := n.at(t, w)
		for _, size := range []string{"100", "101", "5000", "2147483647"} {
			p := n.bookings(t, ada, "?pageSize="+size)
			equal(t, size, p.ids(), want[:100])
			if p.PageSize != 100 {
				t.Errorf("%s was answered with pageSize %d", size, p.PageSize)
			}
		}
	})
	t.Run("a page beyond the end is empty and has the same total", func(t *testing.T) {
		n := n.at(t, w)
		for _, page := range []int{7, 1000, 2147483647} {
			p := n.bookings(t, ada, fmt.Sprint("?page=", page))
			if len(p.Data) != 0 || p.Total != count || p.Page != page {
				t.Errorf("page %d: %d of %d", p.Page, len(p.Data), p.Total)
			}
		}
	})
	t.Run("an invalid page or pageSize is 400 and the field is named", func(t *testing.T) {
		n := n.at(t, w)
		for query, field := range map[string]string{
			"page=-1": "page", "page=x": "page", "page=": "page", "page=1.0": "page", "page=99999999999": "page", "page=%201": "page",
			"pageSize=0": "pageSize", "pageSize=-1": "pageSize", "pageSize=ten": "pageSize", "pageSize=": "pageSize", "pageSize=1e1": "pageSize",
			"future_only=yes": "future_only", "future_only=1": "future_only", "future_only=": "future_only",
		} {
			f := n.get(t, bookingsPath(ada)+"?"+query).Refused(t, http.StatusBadRequest, "INVALID_PARAMETER")
			if f.Error.Details["field"] != field || f.Error.Details["rule"] == "" {
				t.Errorf("%s: details %v", query, f.Error.Details)
			}
		}
	})
}

// testSingle compares the answer for one transaction with the item in the list.
func (w *world) testSingle(t *testing.T) {
	n := w.tenant(t, "Europe/London")
	people := n.ImportCustomers(t, "o", 2)
	at := time.Now().Add(-48 * time.Hour)
	forBen := cardBooking(importedDate("two", at, "Asia/Tokyo"))
	forBen.BoughtFor, forBen.IsCancelled, forBen.IsRefunded = people[1], true, true
	byPass := cardBooking(importedDate("three", at, ""))
	byPass.Payment = &bookingv1.ImportedBooking_Pass{Pass: &bookingv1.PassPayment{CreditsUsed: 2}}
	ids := n.ImportTransactions(t,
		importedPurchase(people[0], at, cardBooking(importedDate("one", at, "")), forBen, byPass),
		importedPurchase(people[0], at.Add(time.Hour), byPass),
		importedPurchase(people[1], at, cardBooking(importedDate("one", at, ""))),
	)
	t.Run("a transaction is byte for byte the item of the list", func(t *testing.T) {
		n := n.at(t, w)
		var list struct{ Data []json.RawMessage }
		n.get(t, bookingsPath(people[0])).Into(t, http.StatusOK, &list)
		if len(list.Data) != 2 {
			t.Fatalf("the list has %d", len(list.Data))
		}
		for i, id := range []string{ids[1], ids[0]} {
			var one map[string]json.RawMessage
			answer := n.get(t, bookingPath(people[0], id))
			answer.Into(t, http.StatusOK, &one)
			if len(one) != 1 || string(one["data"]) != string(list.Data[i]) {
				t.Errorf("single answer %s\nlist item %s", one["data"], list.Data[i])
			}
			if answer.Header.Get("ETag") == "" {
				t.Error("the answer has no ETag")
			}
		}
	})
	t.Run("an unknown transaction, or another customer's, is 404", func(t *testing.T) {
		n := n.at(t, w)
		var booked struct{ Data transaction }
		n.get(t, bookingPath(people[0], ids[0])).Into(t, http.StatusOK, &booked)
		for _, tt := range [][2]string{
			{people[0], ids[2]}, {people[1], ids[0]}, {people[0], "txn_01jb4x9m3vf6ksn8w2d7pq5r0t"}, {people[0], "nonsense"},
			{people[0], booked.Data.Bookings[0].ID}, {people[0], strings.TrimPrefix(ids[0], "txn_")}, {people[0], ids[0] + "0"},
			{"cust_01jb4x9m3vf6ksn8w2d7pq5r0t", ids[0]}, {people[0], "%00"}, {people[0], strings.ToUpper(ids[0])},
		} {
			n.get(t, bookingPath(tt[0], tt[1])).Refused(t, http.StatusNotFound, "NOT_FOUND")
		}
	})
	t.Run("a transaction of any age is served", func(t *testing.T) {
		n := n.at(t, w)
		id := n.ImportTransactions(t, importedPurchase(people[0], time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC), cardBooking(importedDate("old", at, ""))))[0]
		var body struct{ Data transaction }
		n.get(t, bookingPath(people[0], id)).Into(t, http.StatusOK, &body)
		if body.Data.PurchaseDate != "2001-02-03T04:05:06" {
			t.Errorf("purchase_date %s", body.Data.PurchaseDate)
		}
	})
}

// testNames renames customers and checks the names on their bookings.
func (w *world) testNames(t *testing.T) {
	n := w.tenant(t, "Europe/London")
	people := n.ImportCustomers(t, "n", 2)
	b := cardBooking(importedDate("E", time.Now(), ""))
	b.BoughtFor = people[1]
	n.ImportTransactions(t, importedPurchase(people[0], time.Now().Add(-time.Hour), b))
	names := func(t *testing.T, n *tenant) (string, string) {
		t.Helper()
		got := n.bookings(t, people[0], "").Data[0].Bookings[0]
		return got.PurchasedBy.Firstname + " " + got.PurchasedBy.Email, got.BoughtFor.Firstname + " " + got.BoughtFor.Email
	}
	t.Run("a profile update reaches the bookings", func(t *testing.T) {
		n := n.at(t, w)
		n.put(t, profilePath(people[0]), update("Ada", "New", "ada@example.org")).Into(t, http.StatusOK, nil)
		n.put(t, profilePath(people[1]), update("Ben", "New", "ben@example.org")).Into(t, http.StatusOK, nil)
		harness.Eventually(t, eventLimit, func() error {
			purchaser, guest := names(t, n)
			if purchaser != "Ada ada@example.org" || guest != "Ben ben@example.org" {
				return fmt.Errorf("still %s and %s", purchaser, guest)
			}
			return nil
		})
	})
	t.Run("a deleted guest's name stays on past bookings", func(t *testing.T) {
		n := n.at(t, w)
		n.delete(t, people[1])
		harness.Eventually(t, eventLimit, func() error {
			if got := n.get(t, bookingsPath(people[1])); got.Code != http.StatusNotFound {
				return fmt.Errorf("the guest's bookings: %d", got.Code)
			}
			return nil
		})
		if _, guest := names(t, n); guest != "Ben ben@example.org" {
			t.Errorf("got %s", guest)
		}
	})
}

// testTenancy requests one company's data with another company's token.
func (w *world) testTenancy(t *testing.T) {
	owner, stranger := w.tenant(t, "Europe/London"), w.tenant(t, "America/New_York")
	at := time.Now().Add(-time.Hour)
	mine, theirs := stranger.NewCustomer(t, "Str", "Anger").GetId(), owner.NewCustomer(t, "Ow", "Ner").GetId()
	myBooking := stranger.ImportTransactions(t, importedPurchase(mine, at, cardBooking(importedDate("E", at, ""))))[0]
	theirBooking := owner.ImportTransactions(t, importedPurchase(theirs, at, cardBooking(importedDate("E", at, ""))))[0]
	const nobody, nothing = "cust_01jb4x9m3vf6ksn8w2d7pq5r0t", "txn_01jb4x9m3vf6ksn8w2d7pq5r0t"

	absent := operations(nobody, nothing)
	for i, op := range operations(theirs, theirBooking) {
		if !strings.Contains(op.request.Path, theirs) {
			continue
		}
		t.Run(op.name+" of another company is answered like an unknown one", func(t *testing.T) {
			n := stranger.at(t, w)
			r, none := op.request, absent[i].request
			r.Token, none.Token = n.token, n.token
			answer, reference := n.a.Do(t, r), n.a.Do(t, none)
			answer.Refused(t, http.StatusNotFound, "NOT_FOUND")
			if string(answer.Body) != string(reference.Body) {
				t.Errorf("answered %s, but for an unknown id %s", answer.Body, reference.Body)
			}
		})
	}
	t.Run("a path that mixes the ids of two companies is 404", func(t *testing.T) {
		n := stranger.at(t, w)
		n.get(t, bookingPath(mine, theirBooking)).Refused(t, http.StatusNotFound, "NOT_FOUND")
		n.get(t, bookingPath(theirs, myBooking)).Refused(t, http.StatusNotFound, "NOT_FOUND")
		n.get(t, bookingPath(mine, myBooking)).Into(t, http.StatusOK, nil)
	})
	t.Run("lists show only the caller's company", func(t *testing.T) {
		n := stranger.at(t, w)
		for _, path := range []string{"/customers", "/customers?page=0", bookingsPath(mine) + allTime} {
			if body := string(n.get(t, path).Body); strings.Contains(body, theirs) || strings.Contains(body, theirBooking) || !strings.Contains(body, mine) {
				t.Errorf("%s: %s", path, body)
			}
		}
	})
	t.Run("another company's idempotency keys and ETags have no effect", func(t *testing.T) {
		a, b := owner.at(t, w), stranger.at(t, w)
		a.put(t, profilePath(theirs), update("Ow", "Ner", "a@example.org"), "Idempotency-Key", "shared").Into(t, http.StatusOK, nil)
		b.put(t, profilePath(mine), update("My", "Own", "b@example.org"), "Idempotency-Key", "shared").Into(t, http.StatusOK, nil)
		b.put(t, profilePath(theirs), update("In", "Truder", "b@example.org"), "If-Match", "*").Refused(t, http.StatusNotFound, "NOT_FOUND")
	})
	t.Run("the other company's data is unchanged", func(t *testing.T) {
		if got := owner.at(t, w).profile(t, theirs); got.Firstname != "Ow" || got.Lastname != "Ner" {
			t.Errorf("got %+v", got)
		}
	})
}
