package booking

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

func TestCreateTransaction(t *testing.T) {
	t.Parallel()
	t.Run("the response equals the stored purchase, and one event per booking is published (invariants 2, 4, 11)", func(t *testing.T) {
		w := newWorld(t)
		ann, ben := w.customer(w.company, "ann"), w.customer(w.company, "ben")
		e := w.event(w.ctx, new(int32(10)))
		date := e.GetDates()[0].GetId()
		resp, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{
			PurchaserId: ann.String(), PaymentReference: " ch_1 ",
			Lines: []*bookingv1.TransactionLine{
				{EventDateId: date, Spaces: 2, BoughtForId: ben.String()},
				{EventDateId: date, PricingOptionId: e.GetPricingOptions()[0].GetId(), BoughtForId: ann.String()},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		got := resp.GetTransaction()
		first, second := got.GetBookings()[0], got.GetBookings()[1]
		want := &bookingv1.CardPayment{Method: bookingv1.PaymentMethod_PAYMENT_METHOD_CARD, Currency: "GBP", Gross: 2400, Net: 2000, Reference: "ch_1"}
		if !proto.Equal(first.GetCard(), want) || first.GetSpaces() != 2 || second.GetSpaces() != 1 || second.GetCard().GetNet() != 1000 {
			t.Errorf("got %v", got)
		}
		if first.GetBoughtFor().GetFirstName() != "ben" || second.GetBoughtFor() != nil || got.GetPurchaser().GetEmail() != "ann@example.com" {
			t.Errorf("got %v", got)
		}
		if got.GetPurchasedAt().GetNanos() != 0 || got.GetTimezone() != "Europe/London" || got.GetVersion() != 1 {
			t.Errorf("got %v", got)
		}
		read, err := w.bookings.GetTransaction(w.ctx, &bookingv1.GetTransactionRequest{CustomerId: ann.String(), TransactionId: got.GetId()})
		if err != nil || !proto.Equal(read.GetTransaction(), got) {
			t.Errorf("read %v, %v\nwant %v", read.GetTransaction(), err, got)
		}
		if n := w.published(subjectBookingConfirmed); n != 2 {
			t.Errorf("%d events", n)
		}
		w.inStep()
	})
	t.Run("lines of several dates are one commit", func(t *testing.T) {
		w := newWorld(t)
		ann := w.customer(w.company, "ann")
		roomy, tight := w.event(w.ctx, nil), w.event(w.ctx, new(int32(1)))
		req := &bookingv1.CreateTransactionRequest{PurchaserId: ann.String(), Lines: []*bookingv1.TransactionLine{
			{EventDateId: roomy.GetDates()[0].GetId()}, {EventDateId: tight.GetDates()[0].GetId(), Spaces: 2},
		}}
		_, err := w.bookings.CreateTransaction(w.ctx, req)
		f := wantFault(t, err, fault.Refused, model.ReasonEventFull)
		if f.Meta["event_date_id"] != tight.GetDates()[0].GetId() {
			t.Errorf("the fault names %v", f.Meta)
		}
		if n := one[int64](w, `select count(*) from transactions`) + w.published(subjectBookingConfirmed); n != 0 {
			t.Errorf("%d rows are left of a refused purchase", n)
		}
		req.Lines[1].Spaces = 1
		if _, err := w.bookings.CreateTransaction(w.ctx, req); err != nil {
			t.Fatal(err)
		}
		w.inStep()
	})
	t.Run("fetches a customer once and then uses the copy", func(t *testing.T) {
		w := newWorld(t)
		ann := w.customer(w.company, "ann")
		e := w.event(w.ctx, nil)
		w.mustBook(w.ctx, ann, e, 1)
		w.mustBook(w.ctx, ann, e, 1)
		if n := w.customers.lookups(); n != 1 {
			t.Errorf("the customer service was called %d times", n)
		}
	})
	t.Run("a retry with the same Idempotency-Key gets the first response, and the purchase is made once", func(t *testing.T) {
		w := newWorld(t)
		ann := w.customer(w.company, "ann")
		e := w.event(w.ctx, new(int32(1)))
		ctx := withKey(w.ctx, "k1")
		first := w.mustBook(ctx, ann, e, 1)
		again := w.mustBook(ctx, ann, e, 1)
		if !proto.Equal(first, again) {
			t.Errorf("got %v\nwant %v", again, first)
		}
		_, err := w.book(ctx, ann, e, 2)
		wantFault(t, err, fault.Conflict, fault.ReasonIdempotencyKeyReused)
		w.customers.add(w.company, model.CustomerRecord{Customer: model.Customer{ID: ann}, Version: 9, DeletedAt: time.Now()})
		if again := w.mustBook(ctx, ann, e, 1); again.GetId() != first.GetId() {
			t.Errorf("got %v", again)
		}
		if n := w.published(subjectBookingConfirmed); n != 1 {
			t.Errorf("%d events", n)
		}
		w.inStep()
	})
}

func TestCreateTransactionRefusals(t *testing.T) {
	t.Parallel()
	t.Run("customers who do not exist, are deleted, or belong to another company are NOT_FOUND", func(t *testing.T) {
		w := newWorld(t)
		e := w.event(w.ctx, nil)
		gone := w.customers.add(w.company, model.CustomerRecord{Customer: model.Customer{ID: id.New[id.Customer]()}, Version: 2, DeletedAt: time.Now()})
		for _, c := range []id.Customer{id.New[id.Customer](), gone, gone, w.customer(id.New[id.Company](), "zoe")} {
			_, err := w.book(w.ctx, c, e, 1)
			wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		}
		if n := one[int64](w, `select count(*) from transactions`); n != 0 {
			t.Errorf("%d transactions", n)
		}
	})
	t.Run("customers in the copy can book while the customer service is unavailable", func(t *testing.T) {
		w := newWorld(t)
		ann, ben := w.customer(w.company, "ann"), w.customer(w.company, "ben")
		e := w.event(w.ctx, nil)
		w.mustBook(w.ctx, ann, e, 1)
		w.customers.goAway()
		w.mustBook(w.ctx, ann, e, 1)
		_, err := w.book(w.ctx, ben, e, 1)
		wantFault(t, err, fault.Unavailable, fault.ReasonServiceUnavailable)
	})
	t.Run("refuses drafts, cancelled dates and past dates", func(t *testing.T) {
		w := newWorld(t)
		ann := w.customer(w.company, "ann")
		draft := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{
			Title: "Draft", Status: bookingv1.EventStatus_EVENT_STATUS_DRAFT, Dates: []*bookingv1.NewEventDate{newDate(time.Hour, nil)},
		})
		_, err := w.book(w.ctx, ann, draft, 1)
		wantFault(t, err, fault.Refused, model.ReasonEventNotPublished)

		past := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{Title: "Past", Dates: []*bookingv1.NewEventDate{newDate(-time.Hour, nil)}})
		_, err = w.book(w.ctx, ann, past, 1)
		wantFault(t, err, fault.Refused, model.ReasonEventPast)

		e := w.event(w.ctx, nil)
		w.exec(`update event_dates set status = 'cancelled' where id = $1`, idOf[id.EventDate](t, e.GetDates()[0].GetId()))
		_, err = w.book(w.ctx, ann, e, 1)
		wantFault(t, err, fault.Refused, model.ReasonEventCancelled)
	})
	t.Run("a malformed identifier is NOT_FOUND, and invalid fields are named", func(t *testing.T) {
		w := newWorld(t)
		ann := w.customer(w.company, "ann")
		line := &bookingv1.TransactionLine{EventDateId: id.New[id.EventDate]().String()}
		for _, req := range []*bookingv1.CreateTransactionRequest{
			{PurchaserId: "cust_x", Lines: []*bookingv1.TransactionLine{line}},
			{PurchaserId: ann.String(), Lines: []*bookingv1.TransactionLine{{EventDateId: "x"}}},
			{PurchaserId: ann.String(), Lines: []*bookingv1.TransactionLine{line}},
			{PurchaserId: ann.String(), Lines: []*bookingv1.TransactionLine{{EventDateId: line.GetEventDateId(), PricingOptionId: "x"}}},
			{PurchaserId: ann.String(), Lines: []*bookingv1.TransactionLine{{EventDateId: line.GetEventDateId(), BoughtForId: "x"}}},
		} {
			_, err := w.bookings.CreateTransaction(w.ctx, req)
			wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		}
		_, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{PurchaserId: ann.String()})
		f := wantFault(t, err, fault.Invalid, fault.ReasonValidation)
		if f.Fields[0].Field != "lines" {
			t.Errorf("got %v", f.Fields)
		}
	})
}

func idOf[T any, P interface {
	*T
	UnmarshalText([]byte) error
}](t testing.TB, s string) T {
	t.Helper()
	var v T
	if err := P(&v).UnmarshalText([]byte(s)); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestCancellingABookingOfAnEvent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann, e := w.customer(w.company, "ann"), w.event(w.ctx, new(int32(5)))
	booking := w.mustBook(w.ctx, ann, e, 1).GetBookings()[0].GetId()
	cancel := func(event string) (*bookingv1.CancelBookingResponse, error) {
		return w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: booking, EventId: event})
	}
	for _, event := range []string{w.event(w.ctx, nil).GetId(), "evt_x", "evt_00000000000000000000000000"} {
		t.Run("is refused for another event: "+event, func(t *testing.T) {
			_, err := cancel(event)
			wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
			if w.booked(e) != 1 {
				t.Errorf("%d are booked", w.booked(e))
			}
		})
	}
	t.Run("is refused for another event even with a stale version", func(t *testing.T) {
		_, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{
			BookingId: booking, EventId: w.event(w.ctx, nil).GetId(), ExpectedVersion: new(int64(99)),
		})
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
	})
	if res, err := cancel(e.GetId()); err != nil || !res.GetChanged() || w.booked(e) != 0 {
		t.Errorf("got %v, %v", res, err)
	}
}

func TestCancelAndRefund(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.customer(w.company, "ann")
	e := w.event(w.ctx, new(int32(3)))
	made := w.mustBook(w.ctx, ann, e, 3)
	booking := made.GetBookings()[0].GetId()

	t.Run("cancelling frees the spaces, increases the version and publishes (invariants 3, 4)", func(t *testing.T) {
		resp, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: booking})
		if err != nil || !resp.GetChanged() || !resp.GetBooking().GetIsCancelled() || resp.GetBooking().GetIsRefunded() {
			t.Fatalf("got %v, %v", resp, err)
		}
		w.inStep()
		other := w.mustBook(w.ctx, ann, e, 3)
		if _, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: other.GetBookings()[0].GetId()}); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("a repeated cancellation returns the current state and changes nothing (invariant 3)", func(t *testing.T) {
		before := w.published(subjectBookingCancelled)
		resp, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: booking})
		if err != nil || resp.GetChanged() || !resp.GetBooking().GetIsCancelled() {
			t.Fatalf("got %v, %v", resp, err)
		}
		if n := w.published(subjectBookingCancelled); n != before {
			t.Errorf("%d events more", n-before)
		}
		w.inStep()
	})
	t.Run("refunding frees no spaces and does not cancel (invariant 3)", func(t *testing.T) {
		for _, changed := range []bool{true, false} {
			resp, err := w.bookings.RefundBooking(w.ctx, &bookingv1.RefundBookingRequest{BookingId: booking})
			if err != nil || resp.GetChanged() != changed || !resp.GetBooking().GetIsRefunded() || !resp.GetBooking().GetIsCancelled() {
				t.Fatalf("got %v, %v", resp, err)
			}
		}
		kept := w.mustBook(w.ctx, ann, e, 2)
		resp, err := w.bookings.RefundBooking(w.ctx, &bookingv1.RefundBookingRequest{BookingId: kept.GetBookings()[0].GetId()})
		if err != nil || resp.GetBooking().GetIsCancelled() {
			t.Fatalf("got %v, %v", resp, err)
		}
		w.inStep()
		if n := w.published(subjectBookingRefunded); n != 2 {
			t.Errorf("%d events", n)
		}
	})
	t.Run("each change, and its repetition, returns the registration as it is read later", func(t *testing.T) {
		which := w.mustBook(w.ctx, ann, w.event(w.ctx, nil), 2).GetBookings()[0].GetId()
		wantRead := func(got *bookingv1.Registration, b *bookingv1.Booking, err error) {
			t.Helper()
			read, readErr := w.bookings.GetRegistration(w.ctx, &bookingv1.GetRegistrationRequest{BookingId: which})
			if err != nil || readErr != nil || !proto.Equal(got, read.GetRegistration()) || !proto.Equal(got.GetBooking(), b) {
				t.Errorf("%v, %v\ngot  %v\nread %v", err, readErr, got, read)
			}
		}
		for range 2 {
			attended, err := w.bookings.RecordAttendance(w.ctx, &bookingv1.RecordAttendanceRequest{BookingId: which, Attendance: bookingv1.Attendance_ATTENDANCE_CHECKED_IN})
			wantRead(attended.GetRegistration(), attended.GetBooking(), err)
		}
		for range 2 {
			cancelled, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: which, Reason: "moved"})
			wantRead(cancelled.GetRegistration(), cancelled.GetBooking(), err)
		}
		for range 2 {
			refunded, err := w.bookings.RefundBooking(w.ctx, &bookingv1.RefundBookingRequest{BookingId: which})
			wantRead(refunded.GetRegistration(), refunded.GetBooking(), err)
		}
	})
	t.Run("the event of each change has the version of the change (invariant 4)", func(t *testing.T) {
		type event struct {
			Subject string
			Payload []byte
		}
		rows, err := pg.Rows[event](t.Context(), w.db, pg.AllCompanies(), `select subject, payload from outbox order by id`)
		if err != nil {
			t.Fatal(err)
		}
		var versions []int64
		for _, r := range rows {
			var e bookingv1.BookingCancelled // all three have only this field
			if r.Subject != subjectEventCreated && proto.Unmarshal(r.Payload, &e) == nil && e.GetBooking().GetTransactionId() == made.GetId() {
				versions = append(versions, e.GetBooking().GetVersion())
			}
		}
		read, err := w.bookings.GetTransaction(w.ctx, &bookingv1.GetTransactionRequest{CustomerId: ann.String(), TransactionId: made.GetId()})
		if err != nil || read.GetTransaction().GetVersion() != 3 || !slices.Equal(versions, []int64{1, 2, 3}) {
			t.Errorf("read %v, %v; events have %v", read, err, versions)
		}
	})
	t.Run("the times of the cancellation and the refund are stored", func(t *testing.T) {
		n := one[int64](w, `select count(*) from bookings where id = $1 and cancelled_at <= refunded_at`, idOf[id.Booking](t, booking))
		if n != 1 {
			t.Error("it is not")
		}
	})
	t.Run("returns NOT_FOUND for a booking that does not exist", func(t *testing.T) {
		for _, which := range []string{"", "booking_x", id.New[id.Booking]().String()} {
			_, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: which})
			wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
			_, err = w.bookings.RefundBooking(w.ctx, &bookingv1.RefundBookingRequest{BookingId: which})
			wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		}
	})
}
