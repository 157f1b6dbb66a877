package booking

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

func (w *world) transfer(booking string, to id.Customer, change ...func(*bookingv1.TransferBookingRequest)) (*bookingv1.TransferBookingResponse, error) {
	req := &bookingv1.TransferBookingRequest{BookingId: booking, CustomerId: to.String()}
	for _, c := range change {
		c(req)
	}
	return w.changes.TransferBooking(w.ctx, req)
}

func (w *world) mustTransfer(booking string, to id.Customer, change ...func(*bookingv1.TransferBookingRequest)) *bookingv1.Registration {
	w.t.Helper()
	resp, err := w.transfer(booking, to, change...)
	if err != nil || !resp.GetChanged() {
		w.t.Fatalf("got %v, %v", resp, err)
	}
	return resp.GetRegistration()
}

func keepsControl(r *bookingv1.TransferBookingRequest) { r.BuyerKeepsControl = true }

func because(reason string) func(*bookingv1.TransferBookingRequest) {
	return func(r *bookingv1.TransferBookingRequest) { r.AfterStartReason = reason }
}

func TestTransferBooking(t *testing.T) { // invariants 43, 47 and 49
	t.Parallel()
	w := newWorld(t)
	mia, ben := w.customer(w.company, "Mia"), w.customer(w.company, "Ben")
	e := w.passEvent(nil, time.Hour, nil)
	buy := func() string { return w.mustBook(w.ctx, mia, e, 1).GetBookings()[0].GetId() }
	t.Run("gives the booking and its control to a customer who is not in the copy, and nothing else", func(t *testing.T) {
		b := buy()
		before := w.registration(b)
		w.exec(`delete from outbox`)
		after := w.mustTransfer(b, ben)
		if after.GetBooking().GetBoughtFor().GetFirstName() != "Ben" || after.GetBooking().GetManagedById() != ben.String() || after.GetVersion() != 2 ||
			!proto.Equal(after.GetPurchaser(), before.GetPurchaser()) || !proto.Equal(after.GetBooking().GetCard(), before.GetBooking().GetCard()) {
			t.Errorf("got %v", after)
		}
		if read := w.registration(b); !proto.Equal(read, after) {
			t.Errorf("read %v\nwant %v", read, after)
		}
		event := announced(w, subjectBookingTransferred, &bookingv1.BookingTransferred{})
		if !proto.Equal(event.GetBooking().GetBooking(), after.GetBooking()) || !proto.Equal(event.GetPrevious().GetBooking(), before.GetBooking()) ||
			event.GetBooking().GetVersion() != 2 || event.GetActor() == "" || one[int64](w, `select count(*) from outbox`) != 1 {
			t.Errorf("announced %v", event)
		}
		got := w.history(b)
		if actions(got) != "booked transferred" || got[1].GetActor() != event.GetActor() || got[1].GetBefore().GetCustomerId() != mia.String() ||
			got[1].GetAfter().GetCustomerId() != ben.String() || got[1].GetAfter().GetManagedById() != ben.String() || got[0].GetAfter().GetCustomerId() != mia.String() {
			t.Errorf("the history is %v", got)
		}
		if mine := w.registrations(&bookingv1.ListRegistrationsRequest{CustomerId: ben.String()}); !slices.Contains(mine, b) {
			t.Errorf("the recipient has %v", mine)
		}
	})
	t.Run("the buyer can keep control, give it later, and take the booking back", func(t *testing.T) {
		b := buy()
		if r := w.mustTransfer(b, ben, keepsControl).GetBooking(); r.GetBoughtFor().GetId() != ben.String() || r.GetManagedById() != mia.String() {
			t.Errorf("got %v", r)
		}
		if r := w.mustTransfer(b, ben).GetBooking(); r.GetManagedById() != ben.String() {
			t.Errorf("got %v", r)
		}
		if r := w.mustTransfer(b, mia).GetBooking(); r.GetBoughtFor() != nil || r.GetManagedById() != mia.String() {
			t.Errorf("got %v", r)
		}
		if n := one[int64](w, `select count(*) from bookings where id = $1 and bought_for is null and managed_by is null`, idOf[id.Booking](t, b)); n != 1 {
			t.Error("the purchaser is stored as the attendee or the manager")
		}
	})
	t.Run("a repeated transfer changes nothing, with and without an Idempotency-Key", func(t *testing.T) {
		b := buy()
		req := &bookingv1.TransferBookingRequest{BookingId: b, CustomerId: ben.String()}
		first, err := w.changes.TransferBooking(withKey(w.ctx, "give"), req)
		if err != nil {
			t.Fatal(err)
		}
		again, err := w.changes.TransferBooking(withKey(w.ctx, "give"), req)
		if err != nil || !proto.Equal(first, again) {
			t.Errorf("got %v, %v", again, err)
		}
		events := w.published(subjectBookingTransferred)
		unchanged, err := w.transfer(b, ben)
		if err != nil || unchanged.GetChanged() || unchanged.GetRegistration().GetVersion() != 2 || w.published(subjectBookingTransferred) != events || len(w.history(b)) != 2 {
			t.Errorf("got %v, %v", unchanged, err)
		}
	})
	t.Run("clears a no-show, and refuses a customer who has checked in", func(t *testing.T) {
		b := buy()
		w.mustAttend(b, bookingv1.Attendance_ATTENDANCE_CHECKED_IN)
		_, err := w.transfer(b, ben)
		wantFault(t, err, fault.Refused, model.ReasonAlreadyAttended)
		w.mustAttend(b, bookingv1.Attendance_ATTENDANCE_NO_SHOW)
		if r := w.mustTransfer(b, ben).GetBooking(); r.GetAttendance() != bookingv1.Attendance_ATTENDANCE_UNKNOWN {
			t.Errorf("got %v", r)
		}
		if n := one[int64](w, `select count(*) from bookings where id = $1 and attendance is null`, idOf[id.Booking](t, b)); n != 1 {
			t.Error("the no-show is stored")
		}
	})
	t.Run("refuses a cancelled booking, also while its date is being emptied", func(t *testing.T) {
		b := buy()
		if _, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: b}); err != nil {
			t.Fatal(err)
		}
		_, err := w.transfer(b, ben)
		wantFault(t, err, fault.Refused, model.ReasonAlreadyCancelled)
		closing := w.passEvent(nil, time.Hour, nil)
		b = w.mustBook(w.ctx, mia, closing, 1).GetBookings()[0].GetId()
		w.exec(`update event_dates set status = 'cancelled', closing = true where id = $1`, idOf[id.EventDate](t, closing.GetDates()[0].GetId()))
		_, err = w.transfer(b, ben)
		wantFault(t, err, fault.Refused, model.ReasonAlreadyCancelled)
		if err := w.server.finishClosings(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("needs a reason after the start, within 31 days, and keeps it", func(t *testing.T) {
		for ago, allowed := range map[time.Duration]bool{time.Hour: true, 30 * 24 * time.Hour: true, 32 * 24 * time.Hour: false} {
			past := w.passEvent(nil, time.Hour, nil)
			b := w.mustBook(w.ctx, mia, past, 1).GetBookings()[0].GetId()
			w.exec(`update event_dates set starts_at = $2 where id = $1`, idOf[id.EventDate](t, past.GetDates()[0].GetId()), time.Now().Add(-ago))
			_, err := w.transfer(b, ben)
			if f := wantFault(t, err, fault.Refused, model.ReasonEventPast); f.Meta["event_date_id"] != past.GetDates()[0].GetId() ||
				strings.Contains(f.Message, "with a reason") != allowed {
				t.Errorf("got %v %v", f, f.Meta)
			}
			_, err = w.transfer(b, ben, because(" Ben came. "))
			if !allowed {
				if f := wantFault(t, err, fault.Refused, model.ReasonEventPast); !strings.Contains(f.Message, "more than 31 days ago") {
					t.Errorf("got %v", f)
				}
				continue
			}
			if got := w.history(b); err != nil || len(got) != 2 || got[1].GetReason() != "Ben came." {
				t.Errorf("got %v, %v", got, err)
			}
			w.exec(`update events set status = 'cancelled' where id = $1`, idOf[id.Event](t, past.GetId()))
			_, err = w.transfer(b, mia, because("Ben left."))
			wantFault(t, err, fault.Refused, model.ReasonEventCancelled)
		}
		_, err := w.transfer(buy(), ben, because(strings.Repeat("x", 501)))
		wantFault(t, err, fault.Invalid, fault.ReasonValidation)
	})
	t.Run("refuses a recipient with another booking of the date if the event allows one", func(t *testing.T) {
		once := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{
			Title: "Once", BookingRules: &bookingv1.BookingRules{OncePerCustomer: true}, Dates: []*bookingv1.NewEventDate{newDate(time.Hour, nil)},
			PricingOptions: []*bookingv1.NewPricingOption{{Name: "Adult", Price: 1000}},
		})
		mine, his := w.mustBook(w.ctx, mia, once, 1).GetBookings()[0].GetId(), w.mustBook(w.ctx, ben, once, 1)
		_, err := w.transfer(mine, ben)
		wantFault(t, err, fault.Refused, model.ReasonAlreadyBooked)
		w.cancel(his)
		w.mustTransfer(mine, ben)
		w.mustTransfer(mine, ben, keepsControl) // the booking itself does not count
		_, err = w.book(w.ctx, ben, once, 1)
		wantFault(t, err, fault.Refused, model.ReasonAlreadyBooked)
		w.mustBook(w.ctx, mia, once, 1)
	})
	t.Run("refuses an unknown and a deleted recipient, another version, and a booking of another company", func(t *testing.T) {
		b, gone := buy(), w.customer(w.company, "Gone")
		w.deleteAndConfirm(gone)
		for _, c := range []id.Customer{gone, id.New[id.Customer](), w.customer(id.New[id.Company](), "Foreign")} {
			_, err := w.transfer(b, c)
			wantMember(t, err, "customer_id")
		}
		_, err := w.changes.TransferBooking(w.ctx, &bookingv1.TransferBookingRequest{BookingId: b, CustomerId: "x"})
		wantMember(t, err, "customer_id")
		_, err = w.transfer(b, ben, func(r *bookingv1.TransferBookingRequest) { r.ExpectedVersion = new(int64(7)) })
		wantFault(t, err, fault.VersionMismatch, fault.ReasonVersionMismatch)
		_, err = w.changes.TransferBooking(w.as(id.New[id.Company]()), &bookingv1.TransferBookingRequest{BookingId: b, CustomerId: ben.String()})
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		if r := w.registration(b); r.GetVersion() != 1 || len(w.history(b)) != 1 {
			t.Errorf("got %v", r)
		}
	})
	t.Run("a booking of a deleted purchaser can be transferred, but not kept under the purchaser's control", func(t *testing.T) {
		zoe := w.customer(w.company, "Zoe")
		b := w.mustBook(w.ctx, zoe, e, 1).GetBookings()[0].GetId()
		w.deleteAndConfirm(zoe)
		_, err := w.transfer(b, ben, keepsControl)
		if f := wantFault(t, err, fault.NotFound, fault.ReasonNotFound); len(f.Fields) > 0 {
			t.Errorf("the fault of a deleted purchaser names %v", f.Fields)
		}
		w.mustTransfer(b, ben)
	})
	t.Run("refunds and returned credits stay the purchaser's", func(t *testing.T) {
		pass := w.passes.give(mia, 1)
		bought, err := w.byPass(w.ctx, mia, e, 1)
		if err != nil {
			t.Fatal(err)
		}
		w.mustTransfer(bought.GetBookings()[0].GetId(), ben)
		w.cancel(bought)
		w.eventually("the credit", func() bool { return w.passes.credits(pass) == 1 })
	})
	w.verify()
	w.reconcile()
}

func TestTransferOfAnAppointment(t *testing.T) { // invariant 47
	t.Parallel()
	p := newParlour(t)
	a := p.reserve("2030-01-07T10:00", by(p.lea))
	ben := p.customer(p.company, "Ben")
	p.exec(`delete from outbox`)
	p.mustTransfer(a.GetBooking().GetId(), ben)
	if got := p.read(a); got.GetCustomer().GetId() != ben.String() || !got.GetBooking().GetStartsAt().AsTime().Equal(a.GetBooking().GetStartsAt().AsTime()) {
		t.Errorf("got %v", got)
	}
	if n := p.published(subjectBookingTransferred); n != 1 {
		t.Errorf("%d transfers", n)
	}
	p.verify()
}

func TestTransferUnderConcurrency(t *testing.T) { // invariants 22, 26 and 43
	t.Parallel()
	tried := func(t *testing.T, w *world, transfer, other func() error, allowed ...string) (transferred, done bool) {
		t.Helper()
		errs := make([]error, 2)
		together(2, func(i int) { errs[i] = []func() error{transfer, other}[i]() })
		for _, err := range errs {
			if err != nil && !slices.ContainsFunc(allowed, func(reason string) bool { return fault.From(err).Reason == reason }) {
				t.Errorf("got %v", err)
			}
		}
		return errs[0] == nil, errs[1] == nil
	}
	for name, run := range map[string]func(t *testing.T, w *world, mia, ben id.Customer){
		"and a cancellation of the booking": func(t *testing.T, w *world, mia, ben id.Customer) {
			b := w.mustBook(w.ctx, mia, w.event(w.ctx, nil), 1).GetBookings()[0].GetId()
			transferred, cancelled := tried(t, w, func() error { _, err := w.transfer(b, ben); return err }, func() error {
				_, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: b})
				return err
			}, model.ReasonAlreadyCancelled)
			r := w.registration(b).GetBooking()
			if !cancelled || !r.GetIsCancelled() || transferred != (r.GetBoughtFor().GetId() == ben.String()) {
				t.Errorf("transferred %v, cancelled %v: %v", transferred, cancelled, r)
			}
		},
		"and a cancellation of the date": func(t *testing.T, w *world, mia, ben id.Customer) {
			e := w.event(w.ctx, nil)
			b := w.mustBook(w.ctx, mia, e, 1).GetBookings()[0].GetId()
			transferred, _ := tried(t, w, func() error { _, err := w.transfer(b, ben); return err }, func() error {
				_, err := w.cancelDate(w.ctx, e.GetDates()[0].GetId())
				return err
			}, model.ReasonAlreadyCancelled)
			r := w.registration(b).GetBooking()
			if !r.GetIsCancelled() || w.booked(e) != 0 || transferred != (r.GetBoughtFor().GetId() == ben.String()) {
				t.Errorf("transferred %v: %v", transferred, r)
			}
		},
		"and a purchase by the recipient, who may attend once": func(t *testing.T, w *world, mia, ben id.Customer) {
			e := w.event(w.ctx, nil)
			w.exec(`update events set once_per_customer = true where id = $1`, idOf[id.Event](t, e.GetId()))
			b := w.mustBook(w.ctx, mia, e, 1).GetBookings()[0].GetId()
			transferred, bought := tried(t, w, func() error { _, err := w.transfer(b, ben); return err }, func() error {
				_, err := w.book(w.ctx, ben, e, 1)
				return err
			}, model.ReasonAlreadyBooked)
			if transferred == bought {
				t.Errorf("transferred %v, bought %v", transferred, bought)
			}
		},
		"and a deletion of the recipient": func(t *testing.T, w *world, mia, _ id.Customer) {
			zoe := w.customer(w.company, "Zoe")
			b := w.mustBook(w.ctx, mia, w.event(w.ctx, nil), 1).GetBookings()[0].GetId()
			var confirmed time.Time
			transferred, _ := tried(t, w, func() error { _, err := w.transfer(b, zoe); return err }, func() error {
				w.customers.deletes(zoe)
				err := w.confirmDeletion(zoe)
				confirmed = time.Now()
				return err
			}, fault.ReasonNotFound)
			if changed := w.registration(b).GetUpdatedAt().AsTime(); transferred && changed.After(confirmed) {
				t.Errorf("it was given to a deleted customer at %v, after %v", changed, confirmed)
			}
			_, err := w.transfer(b, zoe)
			wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		},
		"of two bookings of one purchase to each other's customers": func(t *testing.T, w *world, mia, ben id.Customer) {
			e := w.event(w.ctx, nil)
			line := func(c id.Customer) *bookingv1.TransactionLine {
				return &bookingv1.TransactionLine{EventId: e.GetId(), BoughtForId: c.String()}
			}
			bought, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{PurchaserId: mia.String(), Lines: []*bookingv1.TransactionLine{line(mia), line(ben)}})
			if err != nil {
				t.Fatal(err)
			}
			one, two := bought.GetTransaction().GetBookings()[0].GetId(), bought.GetTransaction().GetBookings()[1].GetId()
			first, second := tried(t, w, func() error { _, err := w.transfer(one, ben); return err }, func() error { _, err := w.transfer(two, mia); return err })
			if !first || !second || w.registration(one).GetVersion() != 3 {
				t.Errorf("got %v", w.registration(one))
			}
		},
	} {
		t.Run("a transfer "+name+" do not contradict each other", func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			mia, ben := w.customer(w.company, "Mia"), w.customer(w.company, "Ben")
			w.mustBook(w.ctx, ben, w.event(w.ctx, nil), 1) // puts Ben in the copy
			for range 15 {
				run(t, w, mia, ben)
			}
			w.verify()
			w.inStep()
		})
	}
	t.Run("a deletion of the recipient is confirmed after a transfer that saw the customer", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		mia, ben := w.customer(w.company, "Mia"), w.customer(w.company, "Ben")
		e := w.event(w.ctx, nil)
		b := w.mustBook(w.ctx, mia, e, 1).GetBookings()[0].GetId()
		w.mustBook(w.ctx, ben, w.event(w.ctx, nil), 1)
		release := w.lockDate(e) // the transfer locks its customers, and then waits
		var transfer, deletion error
		var all sync.WaitGroup
		all.Go(func() { _, transfer = w.transfer(b, ben) })
		w.waitsFor("event_dates")
		w.customers.deletes(ben)
		all.Go(func() { deletion = w.confirmDeletion(ben) })
		select {
		case <-w.fenced():
		case <-time.After(time.Minute):
			t.Error("the deletion does not wait")
		}
		release()
		all.Wait()
		if transfer != nil || deletion != nil || w.registration(b).GetBooking().GetBoughtFor().GetId() != ben.String() {
			t.Errorf("got %v and %v", transfer, deletion)
		}
	})
}

func TestGoldenBookingTransferred(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at, serial := time.Date(2026, 1, 31, 9, 30, 0, 0, time.UTC), byte(0)
	w.server.now = func() time.Time { at = at.Add(time.Minute); return at }
	w.server.newID = func() id.UUID { serial++; return id.UUID{0x01, 0x9c, 15: serial} }
	known := func(n byte, first string) id.Customer {
		return w.customers.add(w.company, model.CustomerRecord{Version: 1, Customer: model.Customer{
			ID: id.Customer{0x01, 0x9c, 15: n}, FirstName: first, LastName: "O'Brien", Email: "zoe@example.com",
		}})
	}
	e := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{
		Title: "Sunrise yoga", PricingOptions: []*bookingv1.NewPricingOption{{Name: "Adult", Price: 1200, TaxRateBasisPoints: 2000}},
		Dates: []*bookingv1.NewEventDate{{StartsAt: timestamppb.New(time.Date(2026, 3, 29, 8, 30, 0, 0, time.UTC)), DurationMinutes: 60}},
	})
	bought := w.mustBook(w.ctx, known(0xf1, "Zoë"), e, 1)
	ctx := w.callerNamed("m2m_01kg0000000000000000000001")
	_, err := w.changes.TransferBooking(ctx, &bookingv1.TransferBookingRequest{BookingId: bought.GetBookings()[0].GetId(), CustomerId: known(0xf2, "Max").String()})
	if err != nil {
		t.Fatal(err)
	}
	w.wantGolden("booking.v1.booking_transferred", map[string]proto.Message{subjectBookingTransferred: &bookingv1.BookingTransferred{}})
}
