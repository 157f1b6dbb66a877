package admin

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

func TestCalendar(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withEvent(w, "Yoga", "Ann")
	t.Run("lists a day from midnight to midnight in the company's zone", func(t *testing.T) {
		w.backend.count()
		w.get("/?day=2026-03-29").must(t, "Yoga", "2 of 8 spaces booked", "1 waiting", "Europe/London")
		req := w.backend.called("ListEventDates")[0].req.(*bookingv1.ListEventDatesRequest)
		if from, before := req.GetStartsFrom().AsTime(), req.GetStartsBefore().AsTime(); from.Hour() != 0 || before.Sub(from) != 23*time.Hour {
			t.Errorf("from %s to %s", from, before)
		}
		if n := w.backend.count(); n != 3 {
			t.Errorf("%d calls", n)
		}
	})
	t.Run("starts a week on Monday", func(t *testing.T) {
		w.get("/week?from=2026-11-22").must(t, "16 November", "22 November 2026", "/week?from=2026-11-09", "/week?from=2026-11-23")
	})
	t.Run("shows a date with its bookings and its waitlist in six calls", func(t *testing.T) {
		w.backend.count()
		w.get("/events/evt_1/dates/date_1").must(t, "Ann Smith", "£12.50", "Check in", "1 waiting")
		if n := w.backend.count(); n != 6 {
			t.Errorf("%d calls", n)
		}
	})
}

func TestBooking(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withEvent(w, "Yoga", "Ann")
	const path = "/events/evt_1/dates/date_1/book"
	full := true
	on(w.backend, "CreateTransaction", func(req *bookingv1.CreateTransactionRequest) (*bookingv1.CreateTransactionResponse, error) {
		if full {
			return nil, fault.Refuse("EVENT_FULL", "the event does not have that many spaces left")
		}
		return &bookingv1.CreateTransactionResponse{Transaction: &bookingv1.Transaction{Bookings: []*bookingv1.Booking{{
			Id: "booking_9", Spaces: req.GetLines()[0].GetSpaces(), Payment: &bookingv1.Booking_Card{Card: &bookingv1.CardPayment{Currency: "GBP", Gross: 2500}},
		}}}}, nil
	})
	t.Run("finds the customer first", func(t *testing.T) {
		w.get(path+"?q=an").must(t, path+"?customer=cust_1")
	})
	t.Run("explains a refusal and keeps the form's values", func(t *testing.T) {
		a := w.post(path, "customer", "cust_1", "spaces", "2", "option", "po-1", "method", "card", "reference", "till 4")
		if a.StatusCode != http.StatusUnprocessableEntity {
			t.Fatal(describe(a))
		}
		a.must(t, "waitlist", "till 4", `value="2"`)
	})
	t.Run("confirms a booking once and records it in the audit log", func(t *testing.T) {
		full = false
		a := w.post(path, "customer", "cust_1", "spaces", "2", "option", "po-1", "method", "card")
		if a.to() != "/events/evt_1/dates/date_1" {
			t.Fatal(describe(a))
		}
		w.get(a.to()).must(t, "Booked: 2 spaces for Ann Smith, £25.00.", `role="status"`)
		if strings.Contains(w.page(a.to()), "Booked: 2 spaces") {
			t.Error("the message is shown twice")
		}
		records := w.backend.called("RecordAuditEntry")
		if got := records[len(records)-1].req.(*authv1.RecordAuditEntryRequest); got.GetAction() != "booking.create" || got.GetTarget() != "booking_9" {
			t.Errorf("%v", got)
		}
	})
	t.Run("shows the outcome under the policy before cancelling", func(t *testing.T) {
		w.get("/bookings/booking_1/cancel").must(t, "late cancellation", "Money is not refunded and credits are not returned.")
		on(w.backend, "CancelBooking", func(req *bookingv1.CancelBookingRequest) (*bookingv1.CancelBookingResponse, error) {
			return &bookingv1.CancelBookingResponse{Changed: true, Outcome: &bookingv1.CancellationOutcome{RefundDue: 1250, Currency: "GBP"}}, nil
		})
		a := w.post("/bookings/booking_1/waive")
		w.get(a.to()).must(t, "Refund due: £12.50.")
		if !w.backend.called("CancelBooking")[0].req.(*bookingv1.CancelBookingRequest).GetWaivePolicy() {
			t.Error("the policy was not waived")
		}
	})
}

func TestCustomers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	_, ann := withEvent(w, "Yoga", "Ann")
	t.Run("searches customers in two calls", func(t *testing.T) {
		w.backend.count()
		w.get("/customers?q=ann+sm").must(t, "Ann Smith", "1 customer found")
		if req := w.backend.called("ListCustomers")[0].req.(*customerv1.ListCustomersRequest); req.GetQuery() != "ann sm" || req.GetArchived() {
			t.Errorf("%v", req)
		}
		if n := w.backend.count(); n != 2 {
			t.Errorf("%d calls", n)
		}
	})
	t.Run("returns only the search results to JavaScript", func(t *testing.T) {
		req, err := http.NewRequest(http.MethodGet, w.server.URL+"/customers?q=ann", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Hx-Request", "true")
		if a := w.do(req); strings.Contains(a.body, "<html") || !strings.HasPrefix(a.body, `<div id="found"`) {
			t.Error(a.body)
		}
	})
	t.Run("shows a refused profile again with the customer's bookings", func(t *testing.T) {
		on(w.backend, "UpdateCustomer", func(*customerv1.UpdateCustomerRequest) (*customerv1.UpdateCustomerResponse, error) {
			return nil, fault.InvalidFields(fault.Field{Field: "email", Rule: "email", Message: "must be an e-mail address"})
		})
		a := w.post("/customers/cust_1", "first", "Ann", "last", "Smith", "email", "nonsense")
		a.must(t, "This must be an e-mail address.", `value="nonsense"`, "Yoga")
	})
	t.Run("does not overwrite another person's changes unseen", func(t *testing.T) {
		ann.Version = 7
		on(w.backend, "UpdateCustomer", func(req *customerv1.UpdateCustomerRequest) (*customerv1.UpdateCustomerResponse, error) {
			if req.ExpectedVersion != nil && req.GetExpectedVersion() != ann.GetVersion() {
				return nil, fault.New(fault.VersionMismatch, fault.ReasonVersionMismatch, "the customer has changed")
			}
			return &customerv1.UpdateCustomerResponse{Customer: ann}, nil
		})
		w.get("/customers/cust_1").must(t, `name="version" value="7"`)
		typed := []string{"first", "Mine", "last", "Smith", "email", "x@example.com"}
		a := w.post("/customers/cust_1", append(typed, "version", "6")...)
		a.must(t, "Someone else has changed this", `value="Mine"`, `name="version" value="7"`)
		if a := w.post("/customers/cust_1", append(typed, "version", "7")...); a.to() != "/customers/cust_1" {
			t.Error(describe(a))
		}
	})
}

func TestMoney(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]int64{"12.50": 1250, "12": 1200, "12,5": 1250, "0.07": 7, "1000000": 100000000} {
		f := newForm("price", typed)
		if got, given := f.money("price", literal("the price")); !given || got != want || f.Failed() {
			t.Errorf("%q is %d", typed, got)
		}
	}
	for _, typed := range []string{"12.345", "-1", ".5", "1e3", "abc", "12.5.0", "99999999999999999999"} {
		f := newForm("price", typed)
		if _, given := f.money("price", literal("the price")); given || !f.Failed() {
			t.Errorf("%q is accepted", typed)
		}
	}
	for minor, want := range map[int64]string{0: "£0.00", 7: "£0.07", 123456789: "£1,234,567.89", -150: "−£1.50"} {
		if got := textsIn(t, "en-GB").price(minor, "GBP"); got != want {
			t.Errorf("%d is %q", minor, got)
		}
	}
}
