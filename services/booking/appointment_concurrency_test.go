package booking

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// rush is a parlour with two processes, whose callers want the same few slots.
type rush struct {
	*parlour
	processes []*parlour
	class     *bookingv1.Event // taught by Lea in the same room
	granted   atomic.Int64
	refused   atomic.Int64
	classes   atomic.Int64 // that were created
	waited    atomic.Int64
	passed    atomic.Int64 // paid by pass
}

func newRush(t *testing.T) *rush {
	p := newParlour(t)
	second := *p
	second.world = p.process()
	second.server.now, second.server.passes = p.server.now, p.server.passes
	w := &rush{parlour: p, processes: []*parlour{p, &second}}
	p.passes.give(p.ann, 10_000)
	p.reserve("2030-01-06T10:00")
	p.reserve("2030-01-06T12:00", func(r *bookingv1.BookAppointmentRequest) { r.PurchaserId = p.ben.String() })
	w.class = p.createEvent(p.ctx, &bookingv1.CreateEventRequest{
		Title: "Yoga", Timezone: "Europe/London", StaffAndRooms: &bookingv1.StaffAndRooms{StaffIds: []string{p.lea.GetId()}, RoomIds: []string{p.studio.GetId()}},
		Dates: []*bookingv1.NewEventDate{{StartsAt: winter("2030-01-07T16:00"), DurationMinutes: 30}},
	})
	return w
}

// tolerate fails the test if err is neither a refusal that callers can cause nor one that they retry.
func (w *rush) tolerate(what string, err error) bool {
	if err == nil {
		w.granted.Add(1)
		return true
	}
	w.refused.Add(1)
	expected := []string{model.ReasonSlotUnavailable, model.ReasonAlreadyCancelled, ReasonHoldExpired, ReasonHoldConfirmed, fault.ReasonServiceUnavailable}
	if f := fault.From(err); !slices.Contains(expected, f.Reason) &&
		((f.Reason != model.ReasonStaffBusy && f.Reason != model.ReasonRoomBusy) || f.Meta["why"] == "" && f.Meta["conflicts"] == "") {
		w.t.Errorf("%s: %v", what, err)
	}
	return false
}

// start is one of four starts of the same morning, two of which overlap.
func start(r *rand.Rand) string {
	return []string{"2030-01-07T10:00", "2030-01-07T10:30", "2030-01-07T12:00", "2030-01-07T13:30"}[r.IntN(4)]
}

// act is one caller.
func (w *rush) act(i int) {
	p, r := w.processes[i%2], rand.New(rand.NewPCG(11, uint64(i)))
	req := p.at(start(r))
	if r.IntN(3) == 0 {
		req.Slot.StaffId = []string{p.lea.GetId(), p.max.GetId()}[r.IntN(2)]
	}
	switch i % 11 {
	case 8, 9, 10:
		w.actMore(p, i, req)
	case 0, 1:
		_, err := p.tryBook(p.ctx, req)
		w.tolerate("book", err)
	case 2, 3:
		w.holdAndEnd(p, r, req.GetSlot())
	case 4:
		if a, err := p.tryBook(p.ctx, req); w.tolerate("book to move", err) {
			_, err = p.move(a, func(m *bookingv1.MoveAppointmentRequest) { to(start(r))(m); m.AnyStaff = true })
			w.tolerate("move", err)
		}
	case 5:
		if a, err := p.tryBook(p.ctx, req); w.tolerate("book to cancel", err) {
			_, err = p.bookings.CancelBooking(p.ctx, &bookingv1.CancelBookingRequest{BookingId: a.GetBooking().GetId()})
			w.tolerate("cancel", err)
		}
	case 6:
		from := winter(start(r)).AsTime()
		off, err := p.staffClient.CreateTimeOff(p.ctx, &bookingv1.CreateTimeOffRequest{
			StaffId: p.lea.GetId(), StartsAt: timestamppb.New(from), EndsAt: timestamppb.New(from.Add(20 * time.Minute))})
		if w.tolerate("time off", err) {
			_, err = p.staffClient.DeleteTimeOff(p.ctx, &bookingv1.DeleteTimeOffRequest{Id: off.GetTimeOff().GetId()})
			w.tolerate("the end of time off", err)
		}
	default:
		_, err := p.events.UpdateEventDate(p.ctx, &bookingv1.UpdateEventDateRequest{Date: &bookingv1.EventDateChange{
			Id: w.class.GetDates()[0].GetId(), StartsAt: winter(start(r))}})
		w.tolerate("move a class", err)
	}
}

// actMore is a caller who pays by pass, waits for the slot of an appointment, or creates a class, on one
// of three other days.
func (w *rush) actMore(p *parlour, i int, req *bookingv1.BookAppointmentRequest) {
	req.Slot.LocalStart = fmt.Sprintf("2030-01-%02d%s", 8+i%3, req.GetSlot().GetLocalStart()[10:])
	switch i % 11 {
	case 8:
		withPass(req)
		if _, err := p.tryBook(p.ctx, req); w.tolerate("pay by pass", err) {
			w.passed.Add(1)
		}
	case 9:
		a, err := p.tryBook(p.ctx, req)
		if !w.tolerate("book to wait", err) {
			return
		}
		_, err = p.waitlist.JoinWaitlist(p.ctx, &bookingv1.JoinWaitlistRequest{CustomerId: p.ben.String(), EventDateId: a.GetBooking().GetEventDateId(),
			Mode: bookingv1.WaitlistMode_WAITLIST_MODE_BOOK, Spaces: 1, PricingOptionId: a.GetBooking().GetPricingOptionId()})
		if w.tolerate("wait", err) {
			w.waited.Add(1)
		}
		_, err = p.bookings.CancelBooking(p.ctx, &bookingv1.CancelBookingRequest{BookingId: a.GetBooking().GetId()})
		w.tolerate("cancel for the waiting customer", err)
	default:
		_, err := p.events.CreateEvent(p.ctx, &bookingv1.CreateEventRequest{
			Title: "Class", Timezone: "Europe/London", StaffAndRooms: &bookingv1.StaffAndRooms{StaffIds: []string{p.max.GetId()}},
			Dates: []*bookingv1.NewEventDate{{StartsAt: winter(req.GetSlot().GetLocalStart()[:16]), DurationMinutes: 20}}})
		if w.tolerate("create a class", err) {
			w.classes.Add(1)
		}
	}
}

// holdAndEnd holds a slot, and releases or confirms it.
func (w *rush) holdAndEnd(p *parlour, r *rand.Rand, slot *bookingv1.SlotRequest) {
	held, err := p.appointments.HoldAppointment(p.ctx, &bookingv1.HoldAppointmentRequest{Slot: slot, PurchaserId: p.ben.String()})
	if !w.tolerate("hold", err) {
		return
	}
	if r.IntN(2) == 0 {
		_, err = p.bookings.ReleaseHold(p.ctx, &bookingv1.ReleaseHoldRequest{HoldId: held.GetHold().GetId()})
		w.tolerate("release", err)
		return
	}
	_, err = p.bookings.ConfirmHold(p.ctx, &bookingv1.ConfirmHoldRequest{HoldId: held.GetHold().GetId()})
	w.tolerate("confirm", err)
}

func TestLastSlotsUnderConcurrency(t *testing.T) { // invariants 32 to 36, 39 and 40
	w := newRush(t)
	t.Run("hundreds of callers for the last slots, with moves, holds, time off and classes in two processes, never overlap", func(t *testing.T) {
		together(330, w.act)
		w.finish()
		if w.granted.Load() < 20 || w.refused.Load() < 20 {
			t.Errorf("%d granted, %d refused: not enough contention", w.granted.Load(), w.refused.Load())
		}
		if w.passed.Load() == 0 || w.waited.Load() == 0 || w.classes.Load() == 0 {
			t.Errorf("%d paid by pass, %d waited, %d classes", w.passed.Load(), w.waited.Load(), w.classes.Load())
		}
	})
	t.Run("no slot is confirmed twice, and each confirmation and cancellation is published once", func(t *testing.T) {
		if n := one[int64](w.world, `select count(*) from (select b.event_date_id from bookings b join transactions t on t.id = b.transaction_id
			where t.status = 'confirmed' and not b.is_cancelled and b.event_date_id in (select id from event_dates where appointment_id is not null)
			group by 1 having count(*) > 1) twice`); n != 0 {
			t.Errorf("%d slots", n)
		}
		appointments := one[int64](w.world, `select count(*) from bookings b join transactions t on t.id = b.transaction_id and t.status = 'confirmed'`)
		cancelled := one[int64](w.world, `select count(*) from bookings where is_cancelled`)
		if w.published(subjectAppointmentBooked) != appointments || w.published(subjectAppointmentCancelled) != cancelled {
			t.Errorf("%d appointments, %d cancelled, but %d and %d events", appointments, cancelled, w.published(subjectAppointmentBooked), w.published(subjectAppointmentCancelled))
		}
		if n := w.published(subjectEventCreated); n != 2+w.classes.Load() { // the first class and the type
			t.Errorf("%d event_created", n)
		}
	})
	t.Run("no free date of an appointment is left", func(t *testing.T) {
		if n := one[int64](w.world, `select count(*) from event_dates where appointment_id is not null and booked = 0 and status = 'scheduled'`); n != 0 {
			t.Errorf("%d dates", n)
		}
	})
}

func TestOneSlotForHundreds(t *testing.T) {
	p := newParlour(t)
	p.reserve("2030-01-06T10:00")
	t.Run("exactly two of hundreds get the slot of two people, and the others a reason", func(t *testing.T) {
		var granted atomic.Int64
		together(200, func(int) {
			switch _, err := p.tryBook(p.ctx, p.at("2030-01-07T10:00")); {
			case err == nil:
				granted.Add(1)
			case !refusedFor(err, model.ReasonSlotUnavailable) || fault.From(err).Meta["why"] != "staff_busy":
				t.Error(err)
			}
		})
		if granted.Load() != 2 {
			t.Errorf("%d got it", granted.Load())
		}
	})
	t.Run("hundreds of callers who wait for a locked person hold few connections", func(t *testing.T) {
		release := p.lockPerson(p.lea)
		done := make(chan struct{})
		go func() {
			defer close(done)
			together(200, func(i int) {
				_, err := p.tryBook(p.ctx, p.at(fmt.Sprintf("2030-01-%02dT10:00", 8+i%20), by(p.lea)))
				if err != nil && !refusedFor(err, model.ReasonSlotUnavailable) && !fault.Is(err, fault.Unavailable) {
					t.Error(err)
				}
			})
		}()
		p.waitsFor("staff")
		if n := one[int64](p.world, `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`); n > 4 {
			t.Errorf("%d connections wait", n)
		}
		release()
		<-done
		if n := one[int64](p.world, `select count(*) from event_dates where appointment_id is not null and starts_at > '2030-01-08'`); n != 20 {
			t.Errorf("%d dates", n)
		}
	})
	p.finish()
}

// lockPerson locks a staff member, as a change of their time does, until the returned function is called.
func (p *parlour) lockPerson(who *bookingv1.StaffMember) (release func()) {
	p.t.Helper()
	locked, done, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- p.db.InTx(p.t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
			_, err := tx.Exec(ctx, `select from staff where id = $1 for no key update`, idOf[id.StaffMember](p.t, who.GetId()))
			close(locked)
			wait(ctx, done)
			return err
		})
	}()
	<-locked
	return func() {
		close(done)
		if err := <-ended; err != nil {
			p.t.Error(err)
		}
	}
}
