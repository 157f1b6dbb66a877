package booking

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// movingEvent creates a published event with dates at hours from now, of one capacity. Its options are Adult
// (1000, 1 credit) and Family (1500, 2 credits).
func (w *world) movingEvent(capacity int32, hours ...int) *bookingv1.Event {
	w.t.Helper()
	req := &bookingv1.CreateEventRequest{Title: "Yoga", PricingOptions: []*bookingv1.NewPricingOption{
		{Name: "Adult", Price: 1000, TaxRateBasisPoints: 2000, Credits: proto.Int32(1)},
		{Name: "Family", Price: 1500, TaxRateBasisPoints: 2000, Credits: proto.Int32(2)},
	}}
	for _, h := range hours {
		req.Dates = append(req.Dates, newDate(time.Duration(h)*time.Hour, &capacity))
	}
	return w.createEvent(w.ctx, req)
}

// take books spaces of a date with the option Adult.
func (w *world) take(of id.Customer, e *bookingv1.Event, date int, spaces int32, how ...func(*bookingv1.CreateTransactionRequest)) *bookingv1.Booking {
	w.t.Helper()
	req := &bookingv1.CreateTransactionRequest{PurchaserId: of.String(), Lines: []*bookingv1.TransactionLine{{
		EventDateId: e.GetDates()[date].GetId(), PricingOptionId: e.GetPricingOptions()[0].GetId(), Spaces: spaces,
	}}}
	for _, change := range how {
		change(req)
	}
	resp, err := w.bookings.CreateTransaction(w.ctx, req)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.GetTransaction().GetBookings()[0]
}

func payByPass(r *bookingv1.CreateTransactionRequest) { r.PaymentMethod = byPass }

func onto(date string) *bookingv1.MoveBookingRequest {
	return &bookingv1.MoveBookingRequest{EventDateId: date}
}

// move moves a booking.
func (w *world) move(b *bookingv1.Booking, req *bookingv1.MoveBookingRequest) (*bookingv1.MoveBookingResponse, error) {
	req.BookingId = b.GetId()
	return w.changes.MoveBooking(w.ctx, req)
}

func (w *world) mustMove(b *bookingv1.Booking, req *bookingv1.MoveBookingRequest) *bookingv1.MoveBookingResponse {
	w.t.Helper()
	resp, err := w.move(b, req)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp
}

func (w *world) current(b *bookingv1.Booking) *bookingv1.Registration {
	w.t.Helper()
	resp, err := w.bookings.GetRegistration(w.ctx, &bookingv1.GetRegistrationRequest{BookingId: b.GetId()})
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.GetRegistration()
}

// wantBooked checks the counts of the dates of an event.
func (w *world) wantBooked(e *bookingv1.Event, want ...int32) {
	w.t.Helper()
	resp, err := w.events.GetEvent(w.ctx, &bookingv1.GetEventRequest{Id: e.GetId()})
	if err != nil {
		w.t.Fatal(err)
	}
	for i, n := range want {
		if got := resp.GetEvent().GetDates()[i].GetBooked(); got != n {
			w.t.Errorf("date %d has %d booked, want %d", i, got, n)
		}
	}
}

func TestMoveBooking(t *testing.T) { // invariants 42 and 44
	t.Parallel()
	w := newWorld(t)
	ann := w.customer(w.company, "Ann")
	t.Run("moves to another date, option and number of spaces, and keeps its identifiers", func(t *testing.T) {
		e := w.movingEvent(5, 48, 72)
		b := w.take(ann, e, 0, 3)
		before := w.current(b)
		req := onto(e.GetDates()[1].GetId())
		req.PricingOptionId, req.Spaces, req.ExpectedAmountDue = e.GetPricingOptions()[1].GetId(), 4, proto.Int64(3000)
		req.PaymentMethod, req.PaymentReference = bookingv1.PaymentMethod_PAYMENT_METHOD_CASH, " till 7 "
		resp := w.mustMove(b, req)
		r := resp.GetRegistration()
		got := r.GetBooking()
		if !resp.GetChanged() || got.GetEventDateId() != req.GetEventDateId() || got.GetSpaces() != 4 || got.GetPrice() != 6000 ||
			got.GetCard().GetGross() != 6000 || got.GetCard().GetNet() != 5000 || got.GetPricingOptionId() != req.GetPricingOptionId() {
			t.Errorf("got %v", got)
		}
		if r.GetTransactionId() != before.GetTransactionId() || !r.GetCreatedAt().AsTime().Equal(before.GetCreatedAt().AsTime()) ||
			r.GetVersion() != before.GetVersion()+1 || got.GetId() != b.GetId() {
			t.Errorf("got %v, was %v", r, before)
		}
		if o := resp.GetOutcome(); o.GetPriceBefore() != 3000 || o.GetPriceAfter() != 6000 || o.GetAmountDue() != 3000 || o.GetCurrency() != "GBP" || o.GetLate() {
			t.Errorf("got %v", o)
		}
		if stored := w.current(b); !proto.Equal(stored, r) {
			t.Errorf("stored %v\nanswered %v", stored, r)
		}
		w.wantBooked(e, 0, 4)
		var paid [3]string
		paid[0] = one[string](w, `select money_method from booking_history where booking_id = $1`, idOf[id.Booking](t, b.GetId()))
		paid[1] = one[string](w, `select payment_reference from booking_history where booking_id = $1`, idOf[id.Booking](t, b.GetId()))
		paid[2] = one[string](w, `select amount::text from booking_history where booking_id = $1 and action = 'moved'`, idOf[id.Booking](t, b.GetId()))
		if paid != [3]string{"CASH", "till 7", "3000"} {
			t.Errorf("the history has %v", paid)
		}
	})
	t.Run("a fall becomes due, and is then refunded", func(t *testing.T) {
		e := w.movingEvent(5, 48)
		b := w.take(ann, e, 0, 3)
		resp := w.mustMove(b, &bookingv1.MoveBookingRequest{Spaces: 1})
		if got := resp.GetRegistration().GetBooking(); got.GetRefundDue() != 2000 || got.GetPrice() != 1000 || got.GetCard().GetGross() != 3000 {
			t.Errorf("got %v", got)
		}
		refunded, err := w.bookings.RefundBooking(w.ctx, &bookingv1.RefundBookingRequest{BookingId: b.GetId()})
		if err != nil || refunded.GetBooking().GetRefundedAmount() != 2000 || refunded.GetBooking().GetRefundDue() != 0 {
			t.Errorf("got %v, %v", refunded, err)
		}
		w.wantBooked(e, 1)
	})
	t.Run("a rise after a refund without an amount, as an earlier release recorded it, is paid in full", func(t *testing.T) {
		e := w.movingEvent(5, 48)
		b := w.take(ann, e, 0, 1)
		w.exec(`update bookings set is_refunded = true, refunded_at = now(), refunded_amount = null where id = $1`, idOf[id.Booking](t, b.GetId()))
		resp := w.mustMove(b, &bookingv1.MoveBookingRequest{Spaces: 2})
		if got := resp.GetRegistration().GetBooking(); got.GetRefundedAmount() != 1000 || got.GetCard().GetGross() != 2000 || got.GetRefundDue() != 0 {
			t.Errorf("got %v", got)
		}
		if got := w.current(b).GetBooking(); got.GetRefundedAmount() != 1000 || got.GetRefundDue() != 0 {
			t.Errorf("stored %v", got)
		}
	})
	t.Run("a move that changes nothing publishes nothing", func(t *testing.T) {
		e := w.movingEvent(5, 48)
		b := w.take(ann, e, 0, 1)
		before := w.published(subjectBookingMoved)
		resp := w.mustMove(b, onto(e.GetDates()[0].GetId()))
		if resp.GetChanged() || resp.GetOutcome() != nil || resp.GetRegistration().GetVersion() != 1 || w.published(subjectBookingMoved) != before {
			t.Errorf("got %v", resp)
		}
	})
	t.Run("a repeated request moves once", func(t *testing.T) {
		e := w.movingEvent(5, 48)
		b := w.take(ann, e, 0, 1)
		before := w.published(subjectBookingMoved)
		req := &bookingv1.MoveBookingRequest{BookingId: b.GetId(), Spaces: 3}
		ctx := withKey(w.ctx, "move-once")
		for range 2 {
			resp, err := w.changes.MoveBooking(ctx, req)
			if err != nil || !resp.GetChanged() || resp.GetRegistration().GetVersion() != 2 {
				t.Fatalf("got %v, %v", resp, err)
			}
		}
		if n := w.published(subjectBookingMoved) - before; n != 1 {
			t.Errorf("%d events", n)
		}
	})
	t.Run("the left spaces go to the waitlist in the same commit", func(t *testing.T) { // invariant 18
		e, bought := w.fullEvent(2)
		waiting := w.waits(e, 2, bookingv1.WaitlistMode_WAITLIST_MODE_BOOK)
		another := w.passEvent(proto.Int32(5), 72*time.Hour, nil)
		w.mustMove(bought.GetBookings()[0], onto(another.GetDates()[0].GetId()))
		w.wantEntry(waiting, "BOOKED", 0, "")
	})
	w.verify()
	w.inStep()
}

func TestMoveBookingIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.customer(w.company, "Ann")
	e := w.movingEvent(3, 48, 72)
	there := e.GetDates()[1].GetId()
	empty := func() {
		w.exec(`delete from bookings`)
		w.exec(`update event_dates set booked = 0`)
	}
	for behaviour, tt := range map[string]struct {
		given func(b *bookingv1.Booking)
		req   *bookingv1.MoveBookingRequest
		kind  fault.Kind
		want  string
	}{
		"a stale version": {nil, &bookingv1.MoveBookingRequest{Spaces: 2, ExpectedVersion: proto.Int64(7)}, fault.VersionMismatch, "VERSION_MISMATCH"},
		"a cancelled booking": {func(b *bookingv1.Booking) {
			if _, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: b.GetId()}); err != nil {
				t.Fatal(err)
			}
		}, onto(there), fault.Refused, "ALREADY_CANCELLED"},
		"a customer who has checked in": {func(b *bookingv1.Booking) {
			w.exec(`update bookings set attendance = 'checked_in' where id = $1`, idOf[id.Booking](t, b.GetId()))
		}, onto(there), fault.Refused, "ALREADY_ATTENDED"},
		"more spaces than there are":   {nil, &bookingv1.MoveBookingRequest{Spaces: 4}, fault.Refused, "EVENT_FULL"},
		"a date that does not exist":   {nil, onto(id.New[id.EventDate]().String()), fault.NotFound, "NOT_FOUND"},
		"a malformed date":             {nil, onto("x"), fault.NotFound, "NOT_FOUND"},
		"another amount":               {nil, &bookingv1.MoveBookingRequest{Spaces: 2, ExpectedAmountDue: proto.Int64(1)}, fault.Refused, "PRICE_CHANGED"},
		"payment of the rest by pass":  {nil, &bookingv1.MoveBookingRequest{Spaces: 2, PaymentMethod: byPass}, fault.Invalid, "VALIDATION_ERROR"},
		"an unknown payment method":    {nil, &bookingv1.MoveBookingRequest{Spaces: 2, PaymentMethod: 99}, fault.Invalid, "VALIDATION_ERROR"},
		"too many spaces":              {nil, &bookingv1.MoveBookingRequest{Spaces: 1001}, fault.Invalid, "VALIDATION_ERROR"},
		"a negative number of spaces":  {nil, &bookingv1.MoveBookingRequest{Spaces: -1}, fault.Invalid, "VALIDATION_ERROR"},
		"a reason that is too long":    {nil, &bookingv1.MoveBookingRequest{Spaces: 2, AfterStartReason: strings.Repeat("x", 501)}, fault.Invalid, "VALIDATION_ERROR"},
		"a reference that is too long": {nil, &bookingv1.MoveBookingRequest{Spaces: 2, PaymentReference: strings.Repeat("x", 201)}, fault.Invalid, "VALIDATION_ERROR"},
	} {
		t.Run(behaviour, func(t *testing.T) {
			b := w.take(ann, e, 0, 1)
			if tt.given != nil {
				tt.given(b)
			}
			before := w.current(b)
			_, err := w.move(b, tt.req)
			wantFault(t, err, tt.kind, tt.want)
			if after := w.current(b); !proto.Equal(before, after) {
				t.Errorf("it was changed to %v", after)
			}
			empty()
		})
	}
	t.Run("a member that names nothing, which the fault names", func(t *testing.T) {
		defer empty()
		b := w.take(ann, e, 0, 1)
		for member, req := range map[string]*bookingv1.MoveBookingRequest{
			"event_date_id": onto("x"), "pricing_option_id": {PricingOptionId: "x"},
		} {
			_, err := w.move(b, req)
			wantMember(t, err, member)
		}
		for _, other := range []string{"x", id.New[id.Booking]().String()} {
			_, err := w.changes.SwapBookings(w.ctx, &bookingv1.SwapBookingsRequest{BookingId: b.GetId(), OtherBookingId: other})
			wantMember(t, err, "other_booking_id")
		}
		_, err := w.changes.SwapBookings(w.ctx, &bookingv1.SwapBookingsRequest{BookingId: id.New[id.Booking]().String(), OtherBookingId: b.GetId()})
		if f := wantFault(t, err, fault.NotFound, "NOT_FOUND"); len(f.Fields) > 0 {
			t.Errorf("the fault of the first booking names %v", f.Fields)
		}
	})
	t.Run("a method by which no money is paid, and names the others", func(t *testing.T) {
		defer empty()
		b := w.take(ann, e, 0, 1)
		_, err := w.move(b, &bookingv1.MoveBookingRequest{Spaces: 2, PaymentMethod: 99})
		if f := wantFault(t, err, fault.Invalid, "VALIDATION_ERROR"); f.Message != "payment_method must be card, cash, bank_transfer, online or other" {
			t.Errorf("got %v", f)
		}
	})
	t.Run("a booking of another company", func(t *testing.T) { // invariant 5
		b := w.take(ann, e, 0, 1)
		for _, err := range []error{
			func() error {
				_, err := w.changes.MoveBooking(w.as(id.New[id.Company]()), &bookingv1.MoveBookingRequest{BookingId: b.GetId(), Spaces: 2})
				return err
			}(),
			func() error {
				_, err := w.changes.PreviewMove(w.as(id.New[id.Company]()), &bookingv1.PreviewMoveRequest{BookingId: b.GetId(), Spaces: 2})
				return err
			}(),
		} {
			wantFault(t, err, fault.NotFound, "NOT_FOUND")
		}
	})
	t.Run("once per customer, except the booking that leaves", func(t *testing.T) { // invariant 26
		once := w.ruled(5, 48*time.Hour, &bookingv1.BookingRules{OncePerCustomer: true})
		mine, other := w.mustBook(w.ctx, ann, once, 1).GetBookings()[0], w.take(ann, e, 0, 1)
		if _, err := w.move(mine, &bookingv1.MoveBookingRequest{Spaces: 2}); err != nil {
			t.Fatal(err)
		}
		_, err := w.move(other, onto(once.GetDates()[0].GetId()))
		wantFault(t, err, fault.Refused, "ALREADY_BOOKED")
		_, err = w.changes.PreviewMove(w.ctx, &bookingv1.PreviewMoveRequest{BookingId: other.GetId(), EventDateId: once.GetDates()[0].GetId()})
		wantFault(t, err, fault.Refused, "ALREADY_BOOKED")
		if _, err := w.swap(mine, other); err != nil {
			t.Errorf("a swap of one customer's bookings: %v", err)
		}
	})
}

func TestMoveAfterTheEndOfFreeCancellation(t *testing.T) { // invariants 46 and 50
	t.Parallel()
	w := newWorld(t)
	ann := w.customer(w.company, "Ann")
	e := w.movingEvent(5, 2, 72)
	there := e.GetDates()[1].GetId()
	w.exec(`update events set free_cancellation_minutes = 240`)
	b := w.take(ann, e, 0, 2)
	preview := func(req *bookingv1.PreviewMoveRequest) (*bookingv1.PreviewMoveResponse, error) {
		req.BookingId = b.GetId()
		return w.changes.PreviewMove(w.ctx, req)
	}
	f := wantFault(t, func() error { _, err := w.move(b, onto(there)); return err }(), fault.Refused, "LATE_CHANGE")
	if f.Meta["free_until"] == "" {
		t.Errorf("got %v", f.Meta)
	}
	if p, err := preview(&bookingv1.PreviewMoveRequest{EventDateId: there}); err != nil || !p.GetOutcome().GetLate() {
		t.Errorf("got %v, %v", p, err)
	}
	if p, err := preview(&bookingv1.PreviewMoveRequest{Spaces: 2}); err != nil || !p.GetUnchanged() || p.GetOutcome() != nil {
		t.Errorf("got %v, %v", p, err)
	}
	if resp := w.mustMove(b, &bookingv1.MoveBookingRequest{Spaces: 1}); resp.GetOutcome().GetPriceAfter() != 2000 || resp.GetOutcome().GetRefundDue() != 0 {
		t.Errorf("got %v", resp.GetOutcome())
	}
	req := onto(there)
	req.WaivePolicy = true
	w.mustMove(b, req)
	if !one[bool](w, `select (details->>'policy_waived')::boolean from booking_history where booking_id = $1 order by sequence desc limit 1`, idOf[id.Booking](t, b.GetId())) {
		t.Error("the history does not say that the policy was waived")
	}
	w.exec(`update bookings set attendance = 'no_show', attendance_at = now() where id = $1`, idOf[id.Booking](t, b.GetId()))
	w.shift(100 * time.Hour)
	for _, wrong := range []*bookingv1.MoveBookingRequest{{Spaces: 3}, {EventDateId: e.GetDates()[0].GetId(), WaivePolicy: true}} {
		_, err := w.move(b, wrong)
		if f := wantFault(t, err, fault.Refused, "EVENT_PAST"); !strings.Contains(f.Message, "with a reason") {
			t.Errorf("got %v", f)
		}
	}
	late := &bookingv1.MoveBookingRequest{EventDateId: e.GetDates()[0].GetId(), WaivePolicy: true, AfterStartReason: " came on Monday "}
	if got := w.mustMove(b, late).GetRegistration().GetBooking(); got.GetAttendance() != bookingv1.Attendance_ATTENDANCE_UNKNOWN {
		t.Errorf("got %v", got)
	}
	if p, err := preview(&bookingv1.PreviewMoveRequest{EventDateId: there, AfterStart: true}); err != nil || !p.GetOutcome().GetLate() {
		t.Errorf("got %v, %v", p, err)
	}
	if got := one[string](w, `select reason from booking_history where booking_id = $1 order by sequence desc limit 1`, idOf[id.Booking](t, b.GetId())); got != "came on Monday" {
		t.Errorf("the history has the reason %q", got)
	}
	w.verify()
}

func TestMoveOfAnAppointment(t *testing.T) {
	t.Parallel()
	p := newParlour(t)
	a := p.reserve("2030-01-07T10:00", by(p.max))
	e := p.movingEvent(5, 48)
	_, err := p.changes.MoveBooking(p.ctx, &bookingv1.MoveBookingRequest{BookingId: a.GetBooking().GetId(), EventDateId: e.GetDates()[0].GetId()})
	wantFault(t, err, fault.Refused, model.ReasonAppointmentEvent)
}

// swap swaps two bookings.
func (w *world) swap(one, other *bookingv1.Booking) (*bookingv1.SwapBookingsResponse, error) {
	return w.changes.SwapBookings(w.ctx, &bookingv1.SwapBookingsRequest{BookingId: one.GetId(), OtherBookingId: other.GetId()})
}

func TestSwapBookings(t *testing.T) { // invariant 48
	t.Parallel()
	w := newWorld(t)
	ann, bob := w.customer(w.company, "Ann"), w.customer(w.company, "Bob")
	t.Run("swaps bookings of full dates, and keeps their prices", func(t *testing.T) {
		e := w.movingEvent(2, 48, 72)
		one, other := w.take(ann, e, 0, 2), w.take(bob, e, 1, 2)
		before := w.published(subjectBookingMoved)
		resp, err := w.swap(one, other)
		if err != nil || !resp.GetChanged() {
			t.Fatalf("got %v, %v", resp, err)
		}
		a, b := resp.GetRegistration().GetBooking(), resp.GetOther().GetBooking()
		if a.GetId() != one.GetId() || a.GetEventDateId() != other.GetEventDateId() || b.GetEventDateId() != one.GetEventDateId() ||
			a.GetPrice() != 2000 || b.GetPrice() != 2000 || resp.GetOther().GetVersion() != 2 || w.published(subjectBookingMoved) != before+2 {
			t.Errorf("got %v", resp)
		}
		w.wantBooked(e, 2, 2)
	})
	t.Run("two bookings of one purchase raise its version once", func(t *testing.T) {
		e := w.movingEvent(3, 48, 72)
		resp, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{PurchaserId: ann.String(), Lines: []*bookingv1.TransactionLine{
			{EventDateId: e.GetDates()[0].GetId(), PricingOptionId: e.GetPricingOptions()[0].GetId()},
			{EventDateId: e.GetDates()[1].GetId(), PricingOptionId: e.GetPricingOptions()[1].GetId(), BoughtForId: bob.String(), Spaces: 3},
		}})
		if err != nil {
			t.Fatal(err)
		}
		both := resp.GetTransaction().GetBookings()
		swapped, err := w.swap(both[0], both[1])
		if err != nil || swapped.GetRegistration().GetVersion() != 2 || w.current(both[1]).GetVersion() != 2 {
			t.Errorf("got %v, %v", swapped, err)
		}
		w.wantBooked(e, 3, 1)
	})
	t.Run("refuses a date without enough spaces", func(t *testing.T) {
		e := w.movingEvent(3, 48, 72)
		one, other := w.take(ann, e, 0, 3), w.take(bob, e, 1, 1)
		w.take(ann, e, 1, 2)
		_, err := w.swap(one, other)
		wantFault(t, err, fault.Refused, "EVENT_FULL")
	})
	t.Run("names the booking that refuses it", func(t *testing.T) {
		e := w.movingEvent(3, 48, 72)
		one, other := w.take(ann, e, 0, 1), w.take(bob, e, 1, 1)
		if _, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: other.GetId()}); err != nil {
			t.Fatal(err)
		}
		for _, swap := range [][2]*bookingv1.Booking{{one, other}, {other, one}} {
			_, err := w.swap(swap[0], swap[1])
			if f := wantFault(t, err, fault.Refused, "ALREADY_CANCELLED"); f.Meta["booking_id"] != other.GetId() {
				t.Errorf("names %v", f.Meta)
			}
		}
	})
	t.Run("frees spaces for the waitlist", func(t *testing.T) {
		full, bought := w.fullEvent(3)
		waiting := w.waits(full, 2, bookingv1.WaitlistMode_WAITLIST_MODE_BOOK)
		other := w.take(bob, w.movingEvent(5, 48), 0, 1)
		if _, err := w.swap(bought.GetBookings()[0], other); err != nil {
			t.Fatal(err)
		}
		w.wantEntry(waiting, "BOOKED", 0, "")
	})
	t.Run("changes nothing on one date with one option", func(t *testing.T) {
		e := w.movingEvent(3, 48)
		resp, err := w.swap(w.take(ann, e, 0, 1), w.take(bob, e, 0, 2))
		if err != nil || resp.GetChanged() || resp.GetOther().GetVersion() != 1 {
			t.Errorf("got %v, %v", resp, err)
		}
	})
	t.Run("refuses a booking with itself, an unknown one, and stale versions of either", func(t *testing.T) {
		e := w.movingEvent(3, 48, 72)
		one, other := w.take(ann, e, 0, 1), w.take(bob, e, 1, 1)
		_, err := w.swap(one, one)
		wantFault(t, err, fault.Invalid, "VALIDATION_ERROR")
		_, err = w.swap(one, &bookingv1.Booking{Id: id.New[id.Booking]().String()})
		wantFault(t, err, fault.NotFound, "NOT_FOUND")
		for _, req := range []*bookingv1.SwapBookingsRequest{{ExpectedVersion: proto.Int64(2)}, {OtherExpectedVersion: proto.Int64(2)}} {
			req.BookingId, req.OtherBookingId = one.GetId(), other.GetId()
			_, err := w.changes.SwapBookings(w.ctx, req)
			wantFault(t, err, fault.VersionMismatch, "VERSION_MISMATCH")
		}
		w.wantBooked(e, 1, 1)
	})
	w.verify()
	w.inStep()
}

func TestMovesAgreeWithTheVerification(t *testing.T) { // invariants 23 and 46
	t.Parallel()
	w := newWorld(t)
	ann := w.customer(w.company, "Ann")
	e := w.movingEvent(9, 48)
	for _, free := range []int{0, 7200} {
		w.exec(`update events set free_cancellation_minutes = 0`)
		b := w.take(ann, e, 0, 3)
		w.mustMove(b, &bookingv1.MoveBookingRequest{Spaces: 1})
		w.exec(`update events set free_cancellation_minutes = $1`, free)
		w.verify()
		resp, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: b.GetId()})
		want := int64(3000)
		if free > 0 {
			want = 2000
		}
		if err != nil || resp.GetBooking().GetRefundDue() != want || resp.GetOutcome().GetRefundDue() != want {
			t.Errorf("got %v, %v, want %d due", resp, err, want)
		}
		w.verify()
	}
	full, bought := w.fullEvent(3)
	waiting := w.waits(full, 2, bookingv1.WaitlistMode_WAITLIST_MODE_BOOK)
	w.cancel(bought)
	w.wantEntry(waiting, "BOOKED", 0, "")
	booked := one[id.Booking](w, `select b.id from bookings b join waitlist_entries e on e.transaction_id = b.transaction_id`)
	w.mustMove(&bookingv1.Booking{Id: booked.String()}, &bookingv1.MoveBookingRequest{Spaces: 1})
	w.verify()
}
