package admin

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// withChanges adds an event with a date and a booking, and a service that previews moves.
func withChanges(t *testing.T) (*world, *bookingv1.MoveOutcome) {
	t.Helper()
	w := newWorld(t)
	w.signIn()
	event, _ := withEvent(w, "Yoga", "Ann")
	later := &bookingv1.EventDate{Id: "date_2", StartsAt: timestamppb.New(time.Now().Add(48 * time.Hour)), DurationMinutes: 60, Timezone: "Europe/London"}
	on(w.backend, "ListEventDates", func(*bookingv1.ListEventDatesRequest) (*bookingv1.ListEventDatesResponse, error) {
		return &bookingv1.ListEventDatesResponse{Dates: []*bookingv1.ScheduledDate{{Date: event.GetDates()[0], EventId: "evt_1"}, {Date: later, EventId: "evt_1"}}}, nil
	})
	outcome := &bookingv1.MoveOutcome{PriceBefore: 1250, PriceAfter: 1500, Currency: "GBP", AmountDue: 250}
	on(w.backend, "PreviewMove", func(*bookingv1.PreviewMoveRequest) (*bookingv1.PreviewMoveResponse, error) {
		return &bookingv1.PreviewMoveResponse{Outcome: outcome}, nil
	})
	return w, outcome
}

// after returns the booking of the fixture on another date.
func after() *bookingv1.Registration {
	who := &bookingv1.CustomerReference{Id: "cust_1", FirstName: "Ann", LastName: "Smith"}
	return &bookingv1.Registration{Purchaser: who, Version: 2, Booking: &bookingv1.Booking{
		Id: "booking_1", Spaces: 1, EventId: "evt_1", EventTitle: "Yoga", EventDateId: "date_2", StartsAt: timestamppb.New(time.Now().Add(48 * time.Hour)),
		Payment: &bookingv1.Booking_Card{Card: &bookingv1.CardPayment{Currency: "GBP", Gross: 1500}},
	}}
}

func TestMoveBooking(t *testing.T) {
	t.Parallel()
	chosen := []string{"event", "evt_1", "date", "date_2", "option", "po-1", "spaces", "1", "due", "250", "version", "1", "method", "cash"}
	t.Run("previews the first later date, and other choices", func(t *testing.T) {
		t.Parallel()
		w, _ := withChanges(t)
		w.get("/bookings/booking_1").must(t, "/bookings/booking_1/move", "/bookings/booking_1/transfer", "/bookings/booking_1/swap", "/bookings/booking_1/history")
		w.get("/bookings/booking_1/move").must(t, `value="date_2" selected`, "£12.50 before, £15.00 afterwards", "The customer pays £2.50 now.", `name="due" value="250"`)
		w.get("/bookings/booking_1/move?date=date_1&spaces=2&keep=on&waive=on")
		calls := w.backend.called("PreviewMove")
		got := calls[len(calls)-1].req.(*bookingv1.PreviewMoveRequest)
		if got.GetEventDateId() != "date_1" || got.GetSpaces() != 2 || !got.GetKeepPrice() || !got.GetWaivePolicy() || got.GetAfterStart() {
			t.Errorf("%v", got)
		}
	})
	t.Run("explains why a move is refused, and offers no button", func(t *testing.T) {
		t.Parallel()
		w, _ := withChanges(t)
		on(w.backend, "PreviewMove", func(*bookingv1.PreviewMoveRequest) (*bookingv1.PreviewMoveResponse, error) {
			return nil, fault.Refuse("ALREADY_ATTENDED", "attended")
		})
		a := w.get("/bookings/booking_1/move")
		a.must(t, "The customer has checked in. Undo the check-in first.")
		if strings.Contains(a.body, "Move the booking</button>") {
			t.Error("the booking can be moved")
		}
	})
	t.Run("moves with the amount that was shown, and records it", func(t *testing.T) {
		t.Parallel()
		w, outcome := withChanges(t)
		on(w.backend, "MoveBooking", func(*bookingv1.MoveBookingRequest) (*bookingv1.MoveBookingResponse, error) {
			return &bookingv1.MoveBookingResponse{Registration: after(), Changed: true, Outcome: outcome}, nil
		})
		a := w.post("/bookings/booking_1/move", chosen...)
		if a.to() != "/bookings/booking_1" {
			t.Fatal(describe(a))
		}
		w.get(a.to()).must(t, "The booking was moved to Yoga", "Paid: £2.50.")
		got := w.backend.called("MoveBooking")[0].req.(*bookingv1.MoveBookingRequest)
		if got.GetExpectedAmountDue() != 250 || got.GetExpectedVersion() != 1 || got.GetPaymentMethod() != bookingv1.PaymentMethod_PAYMENT_METHOD_CASH || got.GetEventDateId() != "date_2" {
			t.Errorf("%v", got)
		}
		if got := strings.Join(w.entries(), ", "); got != "booking.move booking_1" {
			t.Error(got)
		}
	})
	t.Run("shows the new effect after a refusal", func(t *testing.T) {
		t.Parallel()
		w, outcome := withChanges(t)
		outcome.AmountDue = 500
		on(w.backend, "MoveBooking", func(*bookingv1.MoveBookingRequest) (*bookingv1.MoveBookingResponse, error) {
			return nil, fault.Refuse("PRICE_CHANGED", "another amount")
		})
		a := w.post("/bookings/booking_1/move", chosen...)
		if a.StatusCode != http.StatusUnprocessableEntity {
			t.Error(describe(a))
		}
		a.must(t, "The amount that is due has changed.", `name="due" value="500"`)
	})
	t.Run("requires a reason if a date has started", func(t *testing.T) {
		t.Parallel()
		w, _ := withChanges(t)
		event, _ := withEvent(w, "Yoga", "Ann")
		event.GetDates()[0].StartsAt = timestamppb.New(time.Now().Add(-time.Hour))
		on(w.backend, "ListEventDates", func(*bookingv1.ListEventDatesRequest) (*bookingv1.ListEventDatesResponse, error) {
			return &bookingv1.ListEventDatesResponse{Dates: []*bookingv1.ScheduledDate{{Date: event.GetDates()[0], EventId: "evt_1"}}}, nil
		})
		w.get("/bookings/booking_1/move?date=date_1").must(t, `id="reason"`)
		a := w.post("/bookings/booking_1/move", "event", "evt_1", "date", "date_1", "option", "po-1", "spaces", "1", "due", "0")
		if a.must(t, "Enter a reason."); len(w.backend.called("MoveBooking")) != 0 {
			t.Error("it was moved")
		}
	})
}

func TestTransferBooking(t *testing.T) {
	t.Parallel()
	w, _ := withChanges(t)
	on(w.backend, "TransferBooking", func(req *bookingv1.TransferBookingRequest) (*bookingv1.TransferBookingResponse, error) {
		return &bookingv1.TransferBookingResponse{Registration: after(), Changed: req.GetBuyerKeepsControl()}, nil
	})
	w.get("/bookings/booking_1/transfer").must(t, "Who gets the booking?", "/bookings/booking_1/transfer?customer=cust_1")
	w.get("/bookings/booking_1/transfer?customer=cust_1").must(t, "Ann Smith keeps control of the booking")
	a := w.post("/bookings/booking_1/transfer", "customer", "cust_1", "control", "on", "version", "1")
	w.get(a.to()).must(t, "The booking now belongs to Ann Smith.")
	a = w.post("/bookings/booking_1/transfer", "customer", "cust_1", "version", "1")
	w.get(a.to()).must(t, "Ann Smith already has this booking.")
	if got := strings.Join(w.entries(), ", "); got != "booking.transfer booking_1" {
		t.Error(got)
	}
}

func TestSwapBookings(t *testing.T) {
	t.Parallel()
	w, _ := withChanges(t)
	other := after()
	other.Booking.Id = "booking_2"
	first := w.backend.methods["GetRegistration"]
	on(w.backend, "GetRegistration", func(req *bookingv1.GetRegistrationRequest) (*bookingv1.GetRegistrationResponse, error) {
		if req.GetBookingId() == "booking_2" {
			return &bookingv1.GetRegistrationResponse{Registration: other}, nil
		}
		res, err := first(t.Context(), req)
		if err != nil {
			return nil, err
		}
		return res.(*bookingv1.GetRegistrationResponse), nil
	})
	on(w.backend, "ListRegistrations", func(*bookingv1.ListRegistrationsRequest) (*bookingv1.ListRegistrationsResponse, error) {
		return &bookingv1.ListRegistrationsResponse{Registrations: []*bookingv1.Registration{other}}, nil
	})
	on(w.backend, "SwapBookings", func(*bookingv1.SwapBookingsRequest) (*bookingv1.SwapBookingsResponse, error) {
		return &bookingv1.SwapBookingsResponse{Registration: after(), Other: other, Changed: true}, nil
	})
	w.get("/bookings/booking_1/swap").must(t, "/bookings/booking_1/swap?customer=cust_1")
	w.get("/bookings/booking_1/swap?customer=cust_1").must(t, "/bookings/booking_1/swap?other=booking_2")
	w.get("/bookings/booking_1/swap?other=booking_2").must(t, `name="other-version" value="2"`, "Ann Smith gets")
	a := w.post("/bookings/booking_1/swap", "other", "booking_2", "version", "0", "other-version", "2")
	w.get(a.to()).must(t, "The booking was swapped with that of Ann Smith: Yoga")
	got := w.backend.called("SwapBookings")[0].req.(*bookingv1.SwapBookingsRequest)
	if got.GetOtherBookingId() != "booking_2" || got.GetOtherExpectedVersion() != 2 || got.ExpectedVersion == nil {
		t.Errorf("%v", got)
	}
	if got := strings.Join(w.entries(), ", "); got != "booking.swap booking_1" {
		t.Error(got)
	}
}

func TestBookingHistory(t *testing.T) {
	t.Parallel()
	w, _ := withChanges(t)
	on(w.backend, "BatchGetCustomers", func(*customerv1.BatchGetCustomersRequest) (*customerv1.BatchGetCustomersResponse, error) {
		return &customerv1.BatchGetCustomersResponse{Customers: []*customerv1.Customer{{Id: "cust_1", FirstName: "<b>Ann"}, {Id: "cust_2", FirstName: "Ben"}}}, nil
	})
	on(w.backend, "ListAdministrators", func(*authv1.ListAdministratorsRequest) (*authv1.ListAdministratorsResponse, error) {
		return &authv1.ListAdministratorsResponse{Administrators: []*authv1.Administrator{{Id: "admin_7", Name: "Grace"}}}, nil
	})
	facts := func(date, customer string, spaces int32, price int64) *bookingv1.BookingFacts {
		return &bookingv1.BookingFacts{EventDateId: date, StartsAt: timestamppb.Now(), EventId: "evt_1", EventTitle: "Yoga", Spaces: spaces, CustomerId: customer, ManagedById: customer, Price: price}
	}
	on(w.backend, "ListBookingHistory", func(*bookingv1.ListBookingHistoryRequest) (*bookingv1.ListBookingHistoryResponse, error) {
		return &bookingv1.ListBookingHistoryResponse{Entries: []*bookingv1.BookingHistoryEntry{
			{Action: bookingv1.BookingAction_BOOKING_ACTION_BOOKED, Actor: "m2m_9", After: facts("date_1", "cust_1", 1, 1250)},
			{Action: bookingv1.BookingAction_BOOKING_ACTION_MOVED, Actor: "admin_7", Before: facts("date_1", "cust_1", 1, 1250), After: facts("date_2", "cust_1", 2, 2500), Amount: 1250, PaymentMethod: bookingv1.PaymentMethod_PAYMENT_METHOD_CASH, Reason: "<i>ill"},
			{Action: bookingv1.BookingAction_BOOKING_ACTION_TRANSFERRED, Actor: "booking", Before: facts("date_2", "cust_1", 2, 2500), After: facts("date_2", "cust_2", 2, 2500)},
			{Action: bookingv1.BookingAction_BOOKING_ACTION_ATTENDANCE_RECORDED, After: &bookingv1.BookingFacts{Attendance: bookingv1.Attendance_ATTENDANCE_CHECKED_IN}},
		}, NextPageToken: "more"}, nil
	})
	a := w.get("/bookings/booking_1/history")
	for _, want := range []string{
		"An API client booked 1 space for &lt;b&gt;Ann : Yoga,", "Grace moved the booking from Yoga,", "Spaces: from 1 space to 2 spaces", "Price: from £12.50 to £25.00", "Amount: £12.50 (cash)", "Reason: &lt;i&gt;ill",
		"The platform gave the booking from &lt;b&gt;Ann to Ben", "Managed by: from", "Somebody checked the customer in",
	} {
		if got := text(a.body); !strings.Contains(got, want) {
			t.Errorf("the page lacks %q:\n%s", want, got)
		}
	}
	a.must(t, "/customers/cust_2", "/settings/administrators/admin_7", "/events/evt_1/dates/date_2", "page=more")
	t.Run("hides the names of others from staff", func(t *testing.T) {
		w.role = authv1.AdministratorRole_ADMINISTRATOR_ROLE_STAFF
		w.backend.count()
		w.get("/bookings/booking_1/history").must(t, "An administrator")
		if n := len(w.backend.called("ListAdministrators")); n != 0 {
			t.Errorf("%d calls", n)
		}
	})
}
