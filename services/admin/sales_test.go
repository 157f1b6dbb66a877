package admin

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// withSale adds two customers, and an event that passes can pay for.
func withSale(t *testing.T) (*world, *bookingv1.Event) {
	t.Helper()
	w := newWorld(t)
	w.signIn()
	event, ann := withEvent(w, "Yoga", "Ann")
	credits := int32(2)
	event.PricingOptions[0].Credits = &credits
	ben := &customerv1.Customer{Id: "cust_2", FirstName: "Ben", LastName: "Jones"}
	on(w.backend, "BatchGetCustomers", func(req *customerv1.BatchGetCustomersRequest) (*customerv1.BatchGetCustomersResponse, error) {
		var found []*customerv1.Customer
		for _, c := range []*customerv1.Customer{ann, ben} {
			if slices.Contains(req.GetIds(), c.GetId()) {
				found = append(found, c)
			}
		}
		return &customerv1.BatchGetCustomersResponse{Customers: found}, nil
	})
	on(w.backend, "ListCustomers", func(req *customerv1.ListCustomersRequest) (*customerv1.ListCustomersResponse, error) {
		switch req.GetQuery() {
		case "ben":
			return &customerv1.ListCustomersResponse{Customers: []*customerv1.Customer{ben}}, nil
		case "nobody":
			return &customerv1.ListCustomersResponse{}, nil
		}
		return &customerv1.ListCustomersResponse{Customers: []*customerv1.Customer{ann, ben}}, nil
	})
	on(w.backend, "ListEligiblePasses", func(*passv1.ListEligiblePassesRequest) (*passv1.ListEligiblePassesResponse, error) {
		return &passv1.ListEligiblePassesResponse{CustomerPasses: []*passv1.CustomerPass{{Id: "cp_1", RemainingUses: 5, NeverExpires: true}}}, nil
	})
	return w, event
}

func TestSale(t *testing.T) {
	t.Parallel()
	two := []string{"customer", "cust_1", "date-0", "date_1", "for-0", "", "option-0", "po-1", "spaces-0", "1", "method-0", "pass", "date-1", "date_1", "for-1", "cust_2", "option-1", "po-1", "spaces-1", "2", "method-1", "cash"}
	t.Run("finds the buyer first", func(t *testing.T) {
		t.Parallel()
		w, _ := withSale(t)
		w.get("/sales/new?q=a").must(t, "Who pays?", "/sales/new?customer=cust_2")
		w.get("/sales/new?customer=cust_1&date=date_1").must(t, `name="date-0" value="date_1"`, `value="pass"`, "Total:", "£12.50")
	})
	t.Run("adds and removes lines without writing", func(t *testing.T) {
		t.Parallel()
		w, _ := withSale(t)
		a := w.post("/sales", "customer", "cust_1", "add-date", "date_1", "add-who", "ben", "do", "add")
		a.must(t, `name="for-0" value="cust_2"`, "Ben Jones")
		a = w.post("/sales", "customer", "cust_1", "add-date", "date_1", "add-who", "smith", "do", "add")
		a.must(t, "Which customer?", `name="add-for" value="cust_2"`)
		a = w.post("/sales", "customer", "cust_1", "add-date", "date_1", "add-for", "cust_2")
		a.must(t, `name="for-0" value="cust_2"`)
		a = w.post("/sales", append(slices.Clone(two), "do", "remove-0")...)
		a.must(t, `name="for-0" value="cust_2"`, `value="2"`)
		if strings.Contains(a.body, "date-1") {
			t.Error("the page still has two lines")
		}
		a = w.post("/sales", "customer", "cust_1", "add-date", "date_1", "add-who", "nobody", "do", "add")
		if a.must(t, "No customers found"); a.StatusCode != http.StatusUnprocessableEntity {
			t.Error(describe(a))
		}
		if n := len(w.backend.called("CreateTransaction")) + len(w.entries()); n != 0 {
			t.Errorf("%d writes", n)
		}
	})
	t.Run("adds up money and credits", func(t *testing.T) {
		t.Parallel()
		w, _ := withSale(t)
		a := w.post("/sales", append(slices.Clone(two), "do", "update")...)
		a.must(t, "£25.00 and 2 credits")
	})
	t.Run("sells lines with payments of their own in one purchase", func(t *testing.T) {
		t.Parallel()
		w, _ := withSale(t)
		on(w.backend, "CreateTransaction", func(*bookingv1.CreateTransactionRequest) (*bookingv1.CreateTransactionResponse, error) {
			return &bookingv1.CreateTransactionResponse{Transaction: &bookingv1.Transaction{Bookings: []*bookingv1.Booking{
				{Id: "booking_8", Payment: &bookingv1.Booking_Pass{Pass: &bookingv1.PassPayment{CreditsUsed: 2}}},
				{Id: "booking_9", Payment: &bookingv1.Booking_Card{Card: &bookingv1.CardPayment{Currency: "GBP", Gross: 2500}}},
			}}}, nil
		})
		a := w.post("/sales", append(slices.Clone(two), "do", "sell", "pass", "cp_1", "reference", "till 4")...)
		if a.to() != "/customers/cust_1" {
			t.Fatal(describe(a))
		}
		w.get(a.to()).must(t, "Booked: 2 bookings for Ann Smith and Ben Jones, £25.00 and 2 credits.")
		want := &bookingv1.CreateTransactionRequest{PurchaserId: "cust_1", CustomerPassId: "cp_1", Lines: []*bookingv1.TransactionLine{
			{EventId: "evt_1", EventDateId: "date_1", PricingOptionId: "po-1", Spaces: 1, Payment: &bookingv1.LinePayment{Method: bookingv1.PaymentMethod_PAYMENT_METHOD_PASS}},
			{EventId: "evt_1", EventDateId: "date_1", PricingOptionId: "po-1", Spaces: 2, BoughtForId: "cust_2", Payment: &bookingv1.LinePayment{Method: bookingv1.PaymentMethod_PAYMENT_METHOD_CASH, Reference: "till 4"}},
		}}
		if diff := cmp.Diff(want, w.backend.called("CreateTransaction")[0].req, protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
		if got := w.entries(); !slices.Equal(got, []string{"booking.create booking_8"}) {
			t.Error(got)
		}
	})
	t.Run("shows a refusal at its line", func(t *testing.T) {
		t.Parallel()
		w, _ := withSale(t)
		on(w.backend, "CreateTransaction", func(*bookingv1.CreateTransactionRequest) (*bookingv1.CreateTransactionResponse, error) {
			return nil, fault.InvalidFields(fault.Field{Field: "lines[1].spaces", Rule: "range", Message: "must be at most 1"})
		})
		a := w.post("/sales", append(slices.Clone(two), "do", "sell")...)
		a.must(t, `href="#spaces-1"`, `id="spaces-1-wrong"`, "must be at most 1")
	})
	t.Run("requires a reason after the start, and a line", func(t *testing.T) {
		t.Parallel()
		w, event := withSale(t)
		event.GetDates()[0].StartsAt = timestamppb.New(time.Now().Add(-time.Hour))
		w.post("/sales", append(slices.Clone(two), "do", "sell")...).must(t, "Enter a reason.", `id="reason"`)
		w.post("/sales", "customer", "cust_1", "do", "sell").must(t, "Add a booking first.")
		if n := len(w.backend.called("CreateTransaction")); n != 0 {
			t.Errorf("%d purchases", n)
		}
	})
	t.Run("sells nothing while a typed person is not part of the sale", func(t *testing.T) {
		t.Parallel()
		w, _ := withSale(t)
		a := w.post("/sales", append(slices.Clone(two), "do", "sell", "add-who", "ben")...)
		a.must(t, "ben is not part of this sale yet.", `value="ben"`)
		if a.StatusCode != http.StatusUnprocessableEntity || len(w.backend.called("CreateTransaction")) != 0 {
			t.Error(describe(a))
		}
	})
	t.Run("adds up each currency for itself", func(t *testing.T) {
		t.Parallel()
		w, event := withSale(t)
		event.PricingOptions = append(event.PricingOptions, &bookingv1.PricingOption{Id: "po-2", Name: "Abroad", Price: 800, Currency: "EUR"})
		form := append(slices.Clone(two), "do", "update")
		form[7], form[11] = "po-2", "cash"
		w.post("/sales", form...).must(t, "€8.00 and £25.00")
	})
	t.Run("sends a discount code with one payment, and refuses it with several", func(t *testing.T) {
		t.Parallel()
		w, _ := withSale(t)
		on(w.backend, "CreateTransaction", func(*bookingv1.CreateTransactionRequest) (*bookingv1.CreateTransactionResponse, error) {
			return nil, fault.InvalidFields(fault.Field{Field: "discount_code", Rule: "unknown", Message: "must exist"})
		})
		form := append(slices.Clone(two), "do", "sell", "discount", "SUMMER", "reference", "till 4")
		a := w.post("/sales", form...)
		a.must(t, "A discount code can be used only if all bookings are paid in the same way.", `value="SUMMER"`)
		if n := len(w.backend.called("CreateTransaction")); n != 0 {
			t.Fatalf("%d purchases", n)
		}
		form[11] = "cash"
		a = w.post("/sales", form...)
		a.must(t, `id="discount-wrong"`)
		want := &bookingv1.CreateTransactionRequest{
			PurchaserId: "cust_1", DiscountCode: "SUMMER", PaymentMethod: bookingv1.PaymentMethod_PAYMENT_METHOD_CASH, PaymentReference: "till 4",
			Lines: []*bookingv1.TransactionLine{
				{EventId: "evt_1", EventDateId: "date_1", PricingOptionId: "po-1", Spaces: 1},
				{EventId: "evt_1", EventDateId: "date_1", PricingOptionId: "po-1", Spaces: 2, BoughtForId: "cust_2"},
			},
		}
		if diff := cmp.Diff(want, w.backend.called("CreateTransaction")[0].req, protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("has at most ten lines", func(t *testing.T) {
		t.Parallel()
		w, _ := withSale(t)
		form := []string{"customer", "cust_1", "add-date", "date_1", "do", "add"}
		for i := range saleMost {
			form = append(form, lineField("date", i), "date_1")
		}
		a := w.post("/sales", form...)
		a.must(t, "One sale has at most 10 bookings.")
		if strings.Contains(a.body, "date-10") {
			t.Error("the page has another line")
		}
	})
	t.Run("books nothing for a customer who does not exist", func(t *testing.T) {
		t.Parallel()
		w, _ := withSale(t)
		a := w.post("/sales", "customer", "cust_1", "date-0", "date_1", "for-0", "cust_9", "spaces-0", "1", "do", "sell")
		if a.StatusCode != http.StatusNotFound || len(w.backend.called("CreateTransaction")) != 0 {
			t.Error(describe(a))
		}
	})
}

func TestSaleDates(t *testing.T) {
	t.Parallel()
	setUp := func(t *testing.T, classes int) *world {
		w, _ := withSale(t)
		noon := time.Now().UTC().Truncate(24 * time.Hour).Add(36 * time.Hour)
		on(w.backend, "ListEventDates", func(req *bookingv1.ListEventDatesRequest) (*bookingv1.ListEventDatesResponse, error) {
			res := &bookingv1.ListEventDatesResponse{}
			add := func(title string, starts time.Time) {
				if from, before := req.GetStartsFrom().AsTime(), req.GetStartsBefore().AsTime(); starts.Before(from) || !starts.Before(before) {
					return
				}
				if len(res.GetDates()) == int(req.GetPageSize()) {
					res.NextPageToken = "more"
					return
				}
				res.Dates = append(res.Dates, &bookingv1.ScheduledDate{EventTitle: title, Date: &bookingv1.EventDate{Id: "date_" + title, StartsAt: timestamppb.New(starts)}})
			}
			switch req.GetType() {
			case bookingv1.EventType_EVENT_TYPE_CLASS:
				for i := range classes {
					add("Class"+strconv.Itoa(i), noon.Add(time.Duration(i)*time.Hour))
				}
			case bookingv1.EventType_EVENT_TYPE_WORKSHOP:
				add("Early", noon.Add(time.Minute))
				add("Late", noon.AddDate(0, 0, 12))
			case bookingv1.EventType_EVENT_TYPE_UNSPECIFIED, bookingv1.EventType_EVENT_TYPE_APPOINTMENT:
				add("Massage", noon)
			}
			return res, nil
		})
		return w
	}
	chosen := regexp.MustCompile(`<option value="(date_[^"]*)"`)
	offered := func(body string) []string {
		var all []string
		for _, match := range chosen.FindAllStringSubmatch(body, -1) {
			all = append(all, strings.TrimPrefix(match[1], "date_"))
		}
		return all
	}
	t.Run("offers classes and workshops in order, and no appointments", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, 2)
		a := w.get("/sales/new?customer=cust_1")
		if diff := cmp.Diff([]string{"Class0", "Early", "Class1", "Late"}, offered(a.body)); diff != "" || strings.Contains(a.body, "Only the dates") {
			t.Error(diff, text(a.body))
		}
	})
	t.Run("says up to which day it lists dates if there are too many", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, 300)
		a := w.get("/sales/new?customer=cust_1")
		all := offered(a.body)
		if len(all) != calendarSize+1 || all[len(all)-1] != "Class199" || !strings.Contains(a.body, "Only the dates up to ") {
			t.Errorf("%d dates, the last is %s", len(all), all[len(all)-1])
		}
	})
	t.Run("lists dates from another day on", func(t *testing.T) {
		t.Parallel()
		w := setUp(t, 300)
		day := time.Now().AddDate(0, 0, 12).Format(time.DateOnly)
		a := w.post("/sales", "customer", "cust_1", "add-from", day, "do", "update")
		all := offered(a.body)
		if !slices.Contains(all, "Late") || slices.Contains(all, "Early") || strings.Contains(a.body, "Only the dates") {
			t.Errorf("%q", all)
		}
		a.must(t, `value="`+day+`"`)
	})
}

func TestTotals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct {
		want string
		of   totals
	}{
		{"free", totals{}},
		{"free", totals{minor: map[string]int64{"GBP": 0}}},
		{"£12.50", totals{minor: map[string]int64{"GBP": 1250, "": 0}}},
		{"2 credits", totals{credits: 2}},
		{"€8.00 and £12.50", totals{minor: map[string]int64{"GBP": 1250, "EUR": 800}}},
		{"€8.00, £12.50 and 1 credit", totals{minor: map[string]int64{"GBP": 1250, "EUR": 800}, credits: 1}},
		{"CHF\u00a01.00, €8.00, £12.50 and 1 credit", totals{minor: map[string]int64{"GBP": 1250, "EUR": 800, "CHF": 100}, credits: 1}},
	} {
		if got := w.web.pages.catalogue.of("", "en").text(c.of.text()); got != c.want {
			t.Errorf("%q instead of %q", got, c.want)
		}
	}
}

func TestVisits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withEvent(w, "Yoga", "Ann")
	on(w.backend, "ListRegistrations", func(req *bookingv1.ListRegistrationsRequest) (*bookingv1.ListRegistrationsResponse, error) {
		booked := func(booking, title, buyer string, days int) *bookingv1.Registration {
			return &bookingv1.Registration{
				Purchaser: &bookingv1.CustomerReference{Id: buyer, FirstName: "Ben"},
				Booking:   &bookingv1.Booking{Id: booking, EventTitle: title, StartsAt: timestamppb.New(time.Now().AddDate(0, 0, days))},
			}
		}
		if req.GetAttendance() == bookingv1.Attendance_ATTENDANCE_CHECKED_IN {
			return &bookingv1.ListRegistrationsResponse{Registrations: []*bookingv1.Registration{booked("booking_5", "Old", "cust_1", -9), booked("booking_6", "Pilates", "cust_1", -2)}}, nil
		}
		list := []*bookingv1.Registration{booked("booking_7", "Judo", "cust_2", 3)}
		if !req.GetBoughtByOthers() {
			list = append(list, booked("booking_8", "Own", "cust_1", 3))
		}
		return &bookingv1.ListRegistrationsResponse{Registrations: list}, nil
	})
	a := w.get("/customers/cust_1")
	a.must(t, "Last visit:", "/bookings/booking_6", "Booked by others", "/bookings/booking_7", "/customers/cust_2", `id="waitlists"`, "/events/", "Position 1", `href="/sales/new?customer=cust_1"`)
	if strings.Contains(a.body, "/bookings/booking_8") || strings.Contains(a.body, "/bookings/booking_5") {
		t.Error("the page lists the customer's own bookings as those of others, or an older visit")
	}
}

func TestPlacesAreNamedByTheirDates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withEvent(w, "Yoga", "Ann")
	on(w.backend, "ListWaitlist", func(*bookingv1.ListWaitlistRequest) (*bookingv1.ListWaitlistResponse, error) {
		var all []*bookingv1.WaitlistEntry
		for i := range visitsShown {
			all = append(all, &bookingv1.WaitlistEntry{Id: "wait_" + strconv.Itoa(i), EventId: "evt_1", EventDateId: "date_" + strconv.Itoa(i/2), Position: 1})
		}
		return &bookingv1.ListWaitlistResponse{Entries: all}, nil
	})
	on(w.backend, "ListEventDates", func(req *bookingv1.ListEventDatesRequest) (*bookingv1.ListEventDatesResponse, error) {
		resp := &bookingv1.ListEventDatesResponse{}
		for _, id := range req.GetIds()[:min(len(req.GetIds()), int(req.GetPageSize()))] {
			if id != "date_3" {
				resp.Dates = append(resp.Dates, &bookingv1.ScheduledDate{EventTitle: "Class of " + id, Date: &bookingv1.EventDate{Id: id, StartsAt: timestamppb.Now()}})
			}
		}
		return resp, nil
	})
	a := w.get("/customers/cust_1")
	a.must(t, "Class of date_0", "Class of date_9", "Open the date")
	if n := strings.Count(a.body, "Class of date_"); n != visitsShown-2 {
		t.Errorf("%d places have a name", n)
	}
	if lists, reads := len(w.backend.called("ListEventDates")), len(w.backend.called("GetEventDate")); lists != 1 || reads != 0 {
		t.Errorf("%d lists of dates, %d dates", lists, reads)
	}
	on(w.backend, "ListEventDates", func(*bookingv1.ListEventDatesRequest) (*bookingv1.ListEventDatesResponse, error) {
		return nil, fault.Away(errors.New("no connection"))
	})
	if a := w.get("/customers/cust_1"); a.StatusCode != http.StatusServiceUnavailable {
		t.Error(describe(a))
	}
}
