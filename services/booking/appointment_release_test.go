package booking

import (
	"context"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/store"
)

func TestHeldAppointments(t *testing.T) { // invariants 16, 34, 40
	t.Parallel()
	p := newParlour(t)
	t.Run("a hold takes the slot, and publishes nothing before it is confirmed", func(t *testing.T) {
		held := p.keep("2030-01-07T10:00", by(p.lea))
		a := held.GetAppointment()
		if a.GetStatus() != bookingv1.AppointmentStatus_APPOINTMENT_STATUS_HELD || a.GetHeldUntil().AsTime().Truncate(time.Minute) != parlourTime().Add(15*time.Minute) ||
			held.GetHold().GetId() != a.GetTransactionId() || p.subjects() != "" {
			t.Errorf("got %v, %s", held, p.subjects())
		}
		_, err := p.tryBook(p.ctx, p.at("2030-01-07T10:00", by(p.lea)))
		wantWhy(t, err, "staff_busy")
		_, err = p.move(a, to("2030-01-07T12:00"))
		wantFault(t, err, fault.Refused, ReasonHoldNotConfirmed)
		if _, err := p.bookings.ConfirmHold(p.ctx, &bookingv1.ConfirmHoldRequest{HoldId: held.GetHold().GetId()}); err != nil {
			t.Fatal(err)
		}
		if got := p.subjects(); got != "event_created booking_confirmed appointment_booked" {
			t.Errorf("got %s", got)
		}
		if got := p.read(a); got.GetStatus() != bookingv1.AppointmentStatus_APPOINTMENT_STATUS_BOOKED || got.GetStaff().GetName() != "Lea" {
			t.Errorf("got %v", got)
		}
	})
	t.Run("a released hold frees the slot, and its date is removed a day later", func(t *testing.T) {
		held := p.keep("2030-01-08T10:00", by(p.lea))
		date := p.dateOf(held.GetAppointment())
		p.releaseHold(held.GetHold())
		p.wantEnded(date)
		p.reserve("2030-01-08T10:00", by(p.lea))
		p.later(23 * time.Hour)
		if n := one[int64](p.world, `select count(*) from event_dates where id = $1 and vacated_at is not null`, date); n != 1 {
			t.Errorf("%d dates after 23 hours", n)
		}
		p.later(25 * time.Hour)
		if n := one[int64](p.world, `select count(*) from event_dates d left join assignments a on a.event_date_id = d.id where d.id = $1`, date); n != 0 {
			t.Errorf("%d rows after 25 hours", n)
		}
	})
	t.Run("a hold that expires frees the slot", func(t *testing.T) {
		date := p.dateOf(p.keep("2030-01-09T10:00", by(p.lea)).GetAppointment())
		p.later(14 * time.Minute)
		if n := one[int64](p.world, `select count(*) from assignments where event_date_id = $1 and active`, date); n != 2 {
			t.Errorf("%d assignments before the expiry", n)
		}
		p.later(16 * time.Minute)
		p.wantEnded(date)
		p.reserve("2030-01-09T10:00", by(p.lea))
	})
	t.Run("a hold of a customer who is not known is refused and leaves no date", func(t *testing.T) {
		dates := p.dates()
		_, err := p.appointments.HoldAppointment(p.ctx, &bookingv1.HoldAppointmentRequest{Slot: p.at("2030-01-10T10:00").GetSlot(), PurchaserId: id.New[id.Customer]().String()})
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		if p.dates() != dates {
			t.Error("a date is left")
		}
	})
	t.Run("minutes are checked", func(t *testing.T) {
		_, err := p.appointments.HoldAppointment(p.ctx, &bookingv1.HoldAppointmentRequest{Slot: p.at("2030-01-10T10:00").GetSlot(), PurchaserId: p.ann.String(), Minutes: 1441})
		if got := broken(t, err); got != "minutes range" {
			t.Errorf("got %s", got)
		}
	})
	p.finish()
}

func TestHoldsNameAppointments(t *testing.T) { // invariant 16
	t.Parallel()
	p := newParlour(t)
	const (
		active, confirmed = bookingv1.HoldStatus_HOLD_STATUS_ACTIVE, bookingv1.HoldStatus_HOLD_STATUS_CONFIRMED
		expired, released = bookingv1.HoldStatus_HOLD_STATUS_EXPIRED, bookingv1.HoldStatus_HOLD_STATUS_RELEASED
	)
	// kept holds a slot, and checks that the hold is read as it was made.
	kept := func(t *testing.T, local string) *bookingv1.Hold {
		t.Helper()
		held := p.keep(local, by(p.lea))
		h := held.GetHold()
		if h.GetAppointmentId() != held.GetAppointment().GetId() {
			t.Errorf("the hold is of %q, want %s", h.GetAppointmentId(), held.GetAppointment().GetId())
		}
		p.wantHold(h, active, 1)
		return h
	}
	t.Run("a hold that is paid", func(t *testing.T) {
		h := kept(t, "2030-01-07T10:00")
		if _, err := p.bookings.ConfirmHold(p.ctx, &bookingv1.ConfirmHoldRequest{HoldId: h.GetId()}); err != nil {
			t.Fatal(err)
		}
		if got, err := p.readHold(h.GetId()); err != nil || got.GetStatus() != confirmed || got.GetAppointmentId() != h.GetAppointmentId() {
			t.Errorf("got %v, %v", got, err)
		}
	})
	t.Run("a hold that is released", func(t *testing.T) {
		h := kept(t, "2030-01-08T10:00")
		if got := p.releaseHold(h).GetHold().GetAppointmentId(); got != h.GetAppointmentId() {
			t.Errorf("got %q", got)
		}
		p.wantHold(h, released, 2)
	})
	t.Run("a hold that expires, and its event", func(t *testing.T) {
		h := kept(t, "2030-01-09T10:00")
		p.later(16 * time.Minute)
		p.wantHold(h, expired, 2)
		events := payloads[bookingv1.HoldExpired](p.world, subjectHoldExpired)
		if len(events) != 1 || events[0].GetHold().GetAppointmentId() != h.GetAppointmentId() || events[0].GetPrevious().GetAppointmentId() != h.GetAppointmentId() {
			t.Errorf("got %v", events)
		}
	})
	t.Run("the offer of a slot to a waiting customer has an appointment of its own", func(t *testing.T) {
		a := p.reserve("2030-01-10T10:00", by(p.lea))
		p.waitFor(a, bookingv1.WaitlistMode_WAITLIST_MODE_OFFER)
		p.cancelBooking(a)
		offer := one[id.Transaction](p.world, `select transaction_id from waitlist_entries where state = 'offered'`)
		booking := one[id.Booking](p.world, `select id from bookings where transaction_id = $1`, offer)
		h, err := p.readHold(offer.String())
		if err != nil || h.GetStatus() != active || h.GetAppointmentId() != id.Appointment(booking).String() || h.GetAppointmentId() == a.GetId() {
			t.Errorf("got %v, %v", h, err)
		}
	})
	t.Run("a hold of a class has none", func(t *testing.T) {
		e := p.createEvent(p.ctx, &bookingv1.CreateEventRequest{Title: "Yoga", Timezone: "Europe/London",
			Dates:          []*bookingv1.NewEventDate{{LocalStart: "2030-01-11T10:00:00", DurationMinutes: 60}},
			PricingOptions: []*bookingv1.NewPricingOption{{Name: "Adult", Price: 1200}}})
		if h := p.hold(p.ann, e, 1, ""); h.GetAppointmentId() != "" {
			t.Errorf("got %v", h)
		}
	})
	p.finish()
}

func TestAppointmentsByPass(t *testing.T) { // invariants 15, 34
	t.Parallel()
	p := newParlour(t)
	pass := p.passes.give(p.ann, 7)
	t.Run("a pass pays the credits of the length", func(t *testing.T) {
		a := p.reserve("2030-01-07T10:00", by(p.lea), withPass)
		if a.GetStatus() != bookingv1.AppointmentStatus_APPOINTMENT_STATUS_BOOKED || a.GetBooking().GetPass().GetCreditsUsed() != 2 || p.passes.credits(pass) != 5 {
			t.Errorf("got %v", a)
		}
		sameAppointment(t, p.read(a), a)
		if got := p.subjects(); got != "event_created booking_confirmed appointment_booked" {
			t.Errorf("got %s", got)
		}
		p.cancelBooking(a)
		p.wantEnded(p.dateOf(a))
		p.eventually("credits returned", func() bool { return p.passes.credits(pass) == 7 })
	})
	t.Run("a refused payment frees the slot", func(t *testing.T) {
		p.passes.set(pass, 1)
		_, err := p.tryBook(p.ctx, p.at("2030-01-08T10:00", by(p.lea), withPass))
		wantFault(t, err, fault.Refused, "PASS_EXHAUSTED")
		p.passes.set(pass, 5)
		p.reserve("2030-01-08T10:00", by(p.lea))
	})
	t.Run("a retry with the same key continues with the same slot after a crash", func(t *testing.T) {
		p.passes.setBefore(func(string) error { return errPassAway })
		ctx, req := withKey(p.ctx, "crash"), p.at("2030-01-09T10:00", withPass)
		if _, err := p.tryBook(ctx, req); !fault.Is(err, fault.Unavailable) {
			t.Fatalf("got %v", err)
		}
		date := one[id.EventDate](p.world, `select b.event_date_id from bookings b join transactions t on t.id = b.transaction_id where t.status = 'pending'`)
		staff := one[string](p.world, `select s.name from assignments a join staff s on s.id = a.resource_id where a.event_date_id = $1 and a.active`, date)
		p.passes.setBefore(nil)
		dates := p.dates()
		a, err := p.tryBook(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		if p.dateOf(a) != date || a.GetStaff().GetName() != staff || p.dates() != dates || p.passes.credits(pass) != 3 {
			t.Errorf("got %v, %d credits left", a, p.passes.credits(pass))
		}
		again, err := p.tryBook(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		sameAppointment(t, again, a)
		sameAppointment(t, p.read(a), a)
	})
	t.Run("a second attempt that loses against the first keeps the person and the room of the appointment", func(t *testing.T) {
		ctx, req := idem.WithKey(p.serverSide(), "twice", "caller", "appointments"), p.at("2030-01-10T10:00", by(p.lea), withPass)
		redeemed, confirm := make(chan struct{}), make(chan struct{})
		p.passes.after = func(call string) error {
			if call == "redeem" {
				redeemed <- struct{}{}
				<-confirm
			}
			return nil
		}
		type result struct {
			a   *bookingv1.Appointment
			err error
		}
		results := make(chan result, 2)
		other := NewServer(p.db, p.server.outbox, p.customers, p.server.companies, p.passes)
		other.now = p.server.now
		for _, from := range []*Server{p.server, other} {
			go func() {
				resp, err := from.BookAppointment(ctx, req)
				results <- result{resp.GetAppointment(), err}
			}()
			select {
			case <-redeemed:
			case r := <-results:
				t.Fatal(r.err)
			}
		}
		close(confirm)
		var booked *bookingv1.Appointment
		for range 2 {
			switch r := <-results; {
			case r.err == nil:
				booked = r.a
			case fault.From(r.err).Reason != fault.ReasonServiceUnavailable && fault.From(r.err).Reason != fault.ReasonIdempotencyInProgress:
				t.Error(r.err)
			}
		}
		p.passes.after = nil
		if booked == nil {
			t.Fatal("neither attempt succeeded")
		}
		sameAppointment(t, p.read(booked), booked)
		if p.incomplete() != 0 {
			t.Error("the appointment has lost its person or room")
		}
	})
	t.Run("a payment for a date that was cancelled is refused, and the date still shows who had it", func(t *testing.T) {
		p.passes.set(pass, 5)
		var date id.EventDate
		p.passes.after = func(call string) error {
			if call != "redeem" {
				return nil
			}
			date = one[id.EventDate](p.world, `select b.event_date_id from bookings b join transactions t on t.id = b.transaction_id where t.status = 'pending'`)
			_, err := p.cancelDate(p.ctx, date.String())
			return err
		}
		_, err := p.tryBook(p.ctx, p.at("2030-01-12T10:00", by(p.lea), withPass))
		p.passes.after = nil
		wantFault(t, err, fault.Refused, model.ReasonEventCancelled)
		p.wantEnded(date)
		if n := one[int64](p.world, `select count(*) from assignments where event_date_id = $1 and not active`, date); n != 2 || p.passes.credits(pass) != 5 {
			t.Errorf("%d assignments, %d credits", n, p.passes.credits(pass))
		}
	})
	t.Run("a purchase that times out is undone and frees the slot", func(t *testing.T) {
		p.passes.set(pass, 5)
		p.passes.setBefore(func(string) error { return errPassAway })
		_, err := p.tryBook(p.ctx, p.at("2030-01-11T10:00", by(p.lea), withPass))
		if !fault.Is(err, fault.Unavailable) {
			t.Fatalf("got %v", err)
		}
		date := one[id.EventDate](p.world, `select b.event_date_id from bookings b join transactions t on t.id = b.transaction_id where t.status = 'pending'`)
		p.passes.setBefore(nil)
		p.settleDown()
		p.wantEnded(date)
		p.reserve("2030-01-11T10:00", by(p.lea))
	})
	p.finish()
	p.reconcile()
}

func TestFreedAppointments(t *testing.T) { // invariants 18, 34, 39, 40
	t.Parallel()
	p := newParlour(t)
	t.Run("a cancellation frees the slot, and publishes one appointment_cancelled", func(t *testing.T) {
		a := p.reserve("2030-01-07T10:00", by(p.lea))
		p.exec(`delete from outbox`)
		p.cancelBooking(a)
		if got := p.subjects(); got != "booking_cancelled appointment_cancelled" {
			t.Errorf("got %s", got)
		}
		p.wantEnded(p.dateOf(a))
		if got := p.read(a); got.GetStatus() != bookingv1.AppointmentStatus_APPOINTMENT_STATUS_CANCELLED || got.GetStaff().GetName() != "Lea" || len(got.GetRooms()) != 1 {
			t.Errorf("got %v", got)
		}
		if b := p.reserve("2030-01-07T10:00", by(p.lea)); p.dateOf(b) == p.dateOf(a) {
			t.Error("the date was used again")
		}
		p.later(30 * time.Hour)
		p.read(a) // its date is kept
		_, err := p.move(a, to("2030-01-07T14:00"))
		wantFault(t, err, fault.Refused, model.ReasonAlreadyCancelled)
	})
	t.Run("a waiting customer is booked on the freed date", func(t *testing.T) {
		a := p.reserve("2030-01-08T10:00", by(p.lea))
		p.waitFor(a, byBooking)
		p.exec(`delete from outbox`)
		p.cancelBooking(a)
		if p.published(subjectAppointmentBooked) != 1 || p.published(subjectAppointmentCancelled) != 1 {
			t.Errorf("got %s", p.subjects())
		}
		_, err := p.tryBook(p.ctx, p.at("2030-01-08T10:00", by(p.lea)))
		wantWhy(t, err, "staff_busy")
		if n := one[int64](p.world, `select count(*) from bookings where event_date_id = $1`, p.dateOf(a)); n != 2 {
			t.Errorf("%d bookings", n)
		}
	})
	t.Run("a waiting customer is offered the freed date, and the slot is free when the offer ends", func(t *testing.T) {
		a := p.reserve("2030-01-09T10:00", by(p.lea))
		entry := p.waitFor(a, byOffer)
		p.cancelBooking(a)
		offered := p.entry(entry)
		if offered.GetState() != bookingv1.WaitlistState_WAITLIST_STATE_OFFERED {
			t.Fatalf("got %v", offered)
		}
		if _, err := p.waitlist.LeaveWaitlist(p.ctx, &bookingv1.LeaveWaitlistRequest{Id: entry.GetId()}); err != nil {
			t.Fatal(err)
		}
		p.wantEnded(p.dateOf(a))
	})
	t.Run("nobody is served during time off: the date ends, and the entry is closed", func(t *testing.T) {
		a := p.reserve("2030-01-10T10:00", by(p.lea))
		entry := p.waitFor(a, byBooking)
		p.off(p.lea, "2030-01-10T09:00", "2030-01-10T12:00", true)
		p.cancelBooking(a)
		p.wantEnded(p.dateOf(a))
		if err := p.server.finishClosings(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := p.entry(entry).GetState(); got != bookingv1.WaitlistState_WAITLIST_STATE_CLOSED {
			t.Errorf("got %s", got)
		}
	})
	t.Run("CancelEventDate cancels the appointment, and UpdateEventDate is refused", func(t *testing.T) {
		a := p.reserve("2030-01-11T10:00", by(p.lea))
		p.exec(`delete from outbox where subject like '%appointment%'`)
		_, err := p.events.UpdateEventDate(p.ctx, &bookingv1.UpdateEventDateRequest{Date: &bookingv1.EventDateChange{
			Id: a.GetBooking().GetEventDateId(), StartsAt: winter("2030-01-11T12:00")}})
		wantFault(t, err, fault.Refused, model.ReasonAppointmentEvent)
		if _, err := p.cancelDate(p.ctx, a.GetBooking().GetEventDateId()); err != nil {
			t.Fatal(err)
		}
		p.wantEnded(p.dateOf(a))
		if got := p.read(a); got.GetStatus() != bookingv1.AppointmentStatus_APPOINTMENT_STATUS_CANCELLED || p.published(subjectAppointmentCancelled) != 1 {
			t.Errorf("got %v, %s", got, p.subjects())
		}
		p.reserve("2030-01-11T10:00", by(p.lea))
	})
	t.Run("a date whose waitlist is too long for one commit is kept until the job has tried everybody", func(t *testing.T) {
		a := p.reserve("2030-01-14T10:00", by(p.lea))
		entry := p.waitFor(a, byBooking)
		p.exec(`update event_dates set promoting = true, booked = 0 where id = $1`, p.dateOf(a))
		p.exec(`update bookings set is_cancelled = true where event_date_id = $1`, p.dateOf(a))
		err := p.db.InTx(t.Context(), pg.AllCompanies(), func(_ context.Context, tx *pg.Tx) error {
			store.Vacate(tx, p.company, []id.EventDate{p.dateOf(a)}, p.server.now())
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := one[string](p.world, `select status from event_dates where id = $1`, p.dateOf(a)); got != "scheduled" {
			t.Errorf("the date is %s", got)
		}
		if err := p.server.promoteDue(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := p.entry(entry).GetState(); got != bookingv1.WaitlistState_WAITLIST_STATE_BOOKED {
			t.Errorf("got %s", got)
		}
	})
	p.finish()
}
