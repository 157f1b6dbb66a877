package admin

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// withSales adds a service that books and checks in.
func withSales(w *world) {
	on(w.backend, "CreateTransaction", func(req *bookingv1.CreateTransactionRequest) (*bookingv1.CreateTransactionResponse, error) {
		gross := int64(1250)
		if req.GetPaymentMethod() == bookingv1.PaymentMethod_PAYMENT_METHOD_FREE {
			gross = 0
		}
		return &bookingv1.CreateTransactionResponse{Transaction: &bookingv1.Transaction{Bookings: []*bookingv1.Booking{{
			Id: "booking_9", Spaces: req.GetLines()[0].GetSpaces(), EventDateId: req.GetLines()[0].GetEventDateId(),
			Payment: &bookingv1.Booking_Card{Card: &bookingv1.CardPayment{Currency: "GBP", Gross: gross, Method: req.GetPaymentMethod()}},
		}}}}, nil
	})
	on(w.backend, "RecordAttendance", func(*bookingv1.RecordAttendanceRequest) (*bookingv1.RecordAttendanceResponse, error) {
		return &bookingv1.RecordAttendanceResponse{}, nil
	})
	on(w.backend, "CreateCustomer", func(req *customerv1.CreateCustomerRequest) (*customerv1.CreateCustomerResponse, error) {
		return &customerv1.CreateCustomerResponse{Customer: &customerv1.Customer{
			Id: "cust_1", FirstName: req.GetFirstName(), LastName: req.GetLastName(), Email: req.GetEmail(),
		}}, nil
	})
}

// entries returns the actions of the audit entries, with their targets.
func (w *world) entries() []string {
	var all []string
	for _, c := range w.backend.called("RecordAuditEntry") {
		req := c.req.(*authv1.RecordAuditEntryRequest)
		all = append(all, req.GetAction()+" "+req.GetTarget())
	}
	return all
}

func TestWalkIn(t *testing.T) {
	t.Parallel()
	const date = "/events/evt_1/dates/date_1"
	newcomer := []string{"first", "Nell", "last", "Newcombe", "email", "nell@example.com", "spaces", "1", "option", "po-1", "method", "cash", "checkin", "on"}
	setUp := func(t *testing.T) (*world, *bookingv1.Event) {
		w := newWorld(t)
		w.signIn()
		event, _ := withEvent(w, "Yoga", "Nell")
		withSales(w)
		return w, event
	}
	t.Run("adds the customer, books, checks in and records each", func(t *testing.T) {
		t.Parallel()
		w, _ := setUp(t)
		w.get(date).must(t, date+"/walk-in")
		w.get(date+"/walk-in").must(t, `value="cash" checked`, `name="checkin" value="on" checked`, "autofocus")
		a := w.post(date+"/walk-in", newcomer...)
		if a.to() != date {
			t.Fatal(describe(a))
		}
		w.get(a.to()).must(t, "Booked: 1 space for Nell Newcombe, £12.50 (cash). Checked in: Nell Newcombe.")
		if got := strings.Join(w.entries(), ", "); got != "customer.create cust_1, booking.create booking_9, booking.attendance booking_9" {
			t.Error(got)
		}
		if got := w.backend.called("RecordAttendance")[0].req.(*bookingv1.RecordAttendanceRequest); got.GetBookingId() != "booking_9" || got.GetAttendance() != bookingv1.Attendance_ATTENDANCE_CHECKED_IN {
			t.Errorf("%v", got)
		}
	})
	for method, c := range map[string]struct {
		want bookingv1.PaymentMethod
		says string
	}{
		"card":          {bookingv1.PaymentMethod_PAYMENT_METHOD_CARD, "£12.50. Checked in"},
		"bank_transfer": {bookingv1.PaymentMethod_PAYMENT_METHOD_BANK_TRANSFER, "£12.50 (bank transfer). Checked in"},
		"free":          {bookingv1.PaymentMethod_PAYMENT_METHOD_FREE, "free of charge. Checked in"},
	} {
		t.Run("books a person who pays another way: "+method, func(t *testing.T) {
			t.Parallel()
			w, _ := setUp(t)
			w.get(date+"/walk-in").must(t, `name="method" value="`+method+`"`)
			form := slices.Clone(newcomer)
			form[slices.Index(form, "cash")] = method
			a := w.post(date+"/walk-in", form...)
			w.get(a.to()).must(t, "Booked: 1 space for Nell Newcombe, "+c.says)
			got := w.backend.called("CreateTransaction")[0].req.(*bookingv1.CreateTransactionRequest)
			if got.GetPaymentMethod() != c.want || got.GetPurchaserId() != "cust_1" {
				t.Errorf("%v", got)
			}
		})
	}
	t.Run("writes once if the form is sent twice", func(t *testing.T) {
		t.Parallel()
		w, _ := setUp(t)
		keyed := append([]string{keyField, strings.Repeat("k", 26)}, newcomer...)
		w.postKeyed(date+"/walk-in", keyed...)
		w.postKeyed(date+"/walk-in", keyed...)
		keys := map[string]bool{}
		for _, method := range []string{"CreateCustomer", "CreateTransaction", "RecordAttendance"} {
			calls := w.backend.called(method)
			if len(calls) != 2 || calls[0].key == "" || calls[0].key != calls[1].key || keys[calls[0].key] {
				t.Errorf("%s: %v", method, calls)
			}
			keys[calls[0].key] = true
		}
	})
	t.Run("adds nobody while a field is wrong", func(t *testing.T) {
		t.Parallel()
		w, _ := setUp(t)
		a := w.post(date+"/walk-in", "first", "Nell", "last", "Newcombe", "email", "nell@example.com", "spaces", "0", "option", "po-1", "method", "cash")
		if a.StatusCode != http.StatusUnprocessableEntity || len(w.backend.called("CreateCustomer")) != 0 {
			t.Error(describe(a))
		}
		a.must(t, `value="Newcombe"`)
	})
	t.Run("goes on with the added customer if the booking is refused", func(t *testing.T) {
		t.Parallel()
		w, _ := setUp(t)
		on(w.backend, "CreateTransaction", func(*bookingv1.CreateTransactionRequest) (*bookingv1.CreateTransactionResponse, error) {
			return nil, fault.Refuse("EVENT_FULL", "full")
		})
		a := w.post(date+"/walk-in", newcomer...)
		a.must(t, `name="customer" value="cust_1"`, "There are not enough spaces left", "Nell Newcombe was added as a customer, but is not booked yet.", `href="/customers/cust_1"`)
		if a.StatusCode != http.StatusUnprocessableEntity || len(w.backend.called("RecordAttendance")) != 0 {
			t.Error(describe(a))
		}
	})
	t.Run("says that the date is full, and adds nobody as long as it is", func(t *testing.T) {
		t.Parallel()
		w, event := setUp(t)
		event.GetDates()[0].Booked = 8
		w.get(date+"/walk-in").must(t, "This date is full", `href="`+date+`/wait"`, `name="full" value="on"`)
		sent := append(slices.Clone(newcomer), "full", "on")
		a := w.post(date+"/walk-in", sent...)
		a.must(t, "This date is full", `value="Newcombe"`)
		if a.StatusCode != http.StatusUnprocessableEntity || len(w.backend.called("CreateCustomer")) != 0 {
			t.Fatal(describe(a))
		}
		event.GetDates()[0].Booked = 7
		if a = w.post(date+"/walk-in", sent...); a.to() != date {
			t.Error(describe(a))
		}
	})
	t.Run("offers no waitlist for a full date that has started", func(t *testing.T) {
		t.Parallel()
		w, event := setUp(t)
		event.GetDates()[0].Booked, event.GetDates()[0].StartsAt = 8, timestamppb.New(time.Now().Add(-time.Hour))
		a := w.get(date + "/walk-in")
		a.must(t, "This date is full")
		if strings.Contains(a.body, date+"/wait") {
			t.Error(text(a.body))
		}
	})
	t.Run("says that the customer is booked if only the check-in fails", func(t *testing.T) {
		t.Parallel()
		w, _ := setUp(t)
		on(w.backend, "RecordAttendance", func(*bookingv1.RecordAttendanceRequest) (*bookingv1.RecordAttendanceResponse, error) {
			return nil, fault.Refuse("ALREADY_CANCELLED", "cancelled")
		})
		a := w.post(date+"/walk-in", newcomer...)
		w.get(a.to()).must(t, "Booked: 1 space", "The customer is not checked in: This booking is already cancelled.")
	})
	t.Run("says that nobody is checked in if the course has no booking on the date", func(t *testing.T) {
		t.Parallel()
		w, _ := setUp(t)
		on(w.backend, "CreateTransaction", func(*bookingv1.CreateTransactionRequest) (*bookingv1.CreateTransactionResponse, error) {
			payment := &bookingv1.Booking_Card{Card: &bookingv1.CardPayment{Currency: "GBP", Gross: 1250}}
			return &bookingv1.CreateTransactionResponse{Transaction: &bookingv1.Transaction{Bookings: []*bookingv1.Booking{
				{Id: "booking_8", Spaces: 1, EventDateId: "date_2", Payment: payment}, {Id: "booking_9", Spaces: 1, EventDateId: "date_3", Payment: payment},
			}}}, nil
		})
		a := w.post(date+"/walk-in", newcomer...)
		a = w.get(a.to())
		a.must(t, "Booked: 1 space", "The customer is not checked in: the price is for the dates of the course")
		if strings.Contains(a.body, "Checked in:") || len(w.backend.called("RecordAttendance")) != 0 {
			t.Error(text(a.body))
		}
	})
	t.Run("books without checking in", func(t *testing.T) {
		t.Parallel()
		w, _ := setUp(t)
		w.post(date+"/walk-in", newcomer[:len(newcomer)-2]...)
		if n := len(w.backend.called("RecordAttendance")); n != 0 || len(w.backend.called("CreateTransaction")) != 1 {
			t.Errorf("%d check-ins", n)
		}
	})
	t.Run("proposes known customers with the name", func(t *testing.T) {
		t.Parallel()
		w, _ := setUp(t)
		req, err := http.NewRequest(http.MethodGet, w.server.URL+date+"/walk-in?first=Nell&last=New", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Hx-Request", "true")
		a := w.do(req)
		a.must(t, date+"/walk-in?customer=cust_1")
		if strings.Contains(a.body, "<html") {
			t.Error(a.body)
		}
		w.get(date+"/walk-in?customer=cust_1").must(t, "Nell Smith", `name="customer" value="cust_1"`)
	})
}

func TestBookingAfterTheStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	event, _ := withEvent(w, "Yoga", "Ann")
	withSales(w)
	const date = "/events/evt_1/dates/date_1"
	start := func(ago time.Duration) { event.GetDates()[0].StartsAt = timestamppb.New(time.Now().Add(-ago)) }
	form := []string{"customer", "cust_1", "spaces", "1", "option", "po-1", "method", "cash"}
	for _, action := range []string{"/book", "/walk-in"} {
		t.Run("requires a reason: "+action, func(t *testing.T) {
			start(26 * time.Hour)
			w.get(date).must(t, date+action)
			w.get(date+action+"?customer=cust_1").must(t, "Reason for booking after the start")
			w.backend.count()
			a := w.post(date+action, form...)
			if a.StatusCode != http.StatusUnprocessableEntity || len(w.backend.called("CreateTransaction")) != 0 {
				t.Error(describe(a))
			}
			a = w.post(date+action, append(form, "reason", "Paid yesterday")...)
			if a.to() != date || w.backend.called("CreateTransaction")[0].req.(*bookingv1.CreateTransactionRequest).GetAfterStartReason() != "Paid yesterday" {
				t.Error(describe(a))
			}
		})
	}
	t.Run("sends no reason before the start", func(t *testing.T) {
		start(-time.Hour)
		if strings.Contains(w.page(date+"/book?customer=cust_1"), "after the start") {
			t.Error("the form asks for a reason")
		}
		w.backend.count()
		w.post(date+"/book", append(form, "reason", "none")...)
		if got := w.backend.called("CreateTransaction")[0].req.(*bookingv1.CreateTransactionRequest).GetAfterStartReason(); got != "" {
			t.Error(got)
		}
	})
	t.Run("is not offered after 31 days", func(t *testing.T) {
		start(32 * 24 * time.Hour)
		if page := w.page(date); strings.Contains(page, date+"/book") || strings.Contains(page, date+"/walk-in") {
			t.Error(text(page))
		}
	})
}
