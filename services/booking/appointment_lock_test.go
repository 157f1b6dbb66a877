package booking

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// TestLockedPerson checks that a purchase waits for another process that is taking the time of its person, and is
// then refused by the service. Without the lock of the person, it meets the constraint.
func TestLockedPerson(t *testing.T) { // invariant 32
	t.Parallel()
	p := newParlour(t)
	p.reserve("2030-01-06T09:00") // puts Ann in the copy
	lea := idOf[id.StaffMember](t, p.lea.GetId())
	for hour := 9; hour < 15; hour += 2 {
		local := fmt.Sprintf("2030-01-07T%02d:00", hour)
		done := make(chan error, 1)
		err := p.db.InTx(t.Context(), pg.For(p.company), func(ctx context.Context, tx *pg.Tx) error {
			if _, err := tx.Exec(ctx, `select from staff where id = $1 for no key update`, lea); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `insert into assignments (company_id, event_date_id, resource_id, kind, unit, position, taken_from, taken_until)
				values ($1, gen_random_uuid(), $2, 'staff', 0, 0, $3::timestamptz, $3::timestamptz + interval '30 minutes')`,
				p.company, lea, winter(local).AsTime().Add(30*time.Minute)); err != nil {
				return err
			}
			go func() {
				_, err := p.tryBook(p.ctx, p.at(local, by(p.lea)))
				done <- err
			}()
			testkit.Eventually(t, time.Minute, func() error {
				if one[int64](p.world, `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`) == 0 {
					return errors.New("nobody waits for a lock")
				}
				return nil
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		wantWhy(t, <-done, "staff_busy")
	}
	p.finish()
}

func TestHeldAppointmentByPass(t *testing.T) { // invariants 15 and 16
	t.Parallel()
	p := newParlour(t)
	pass := p.passes.give(p.ann, 2)
	held := p.keep("2030-01-07T10:00", by(p.lea))
	confirmed, err := p.bookings.ConfirmHold(p.ctx, &bookingv1.ConfirmHoldRequest{HoldId: held.GetHold().GetId(), PaymentMethod: byPass})
	if err != nil {
		t.Fatal(err)
	}
	b := confirmed.GetTransaction().GetBookings()[0]
	if b.GetPass().GetCreditsUsed() != 2 || p.passes.credits(pass) != 0 {
		t.Errorf("got %v, %d credits left", b, p.passes.credits(pass))
	}
	if got := p.subjects(); got != "event_created booking_confirmed appointment_booked" {
		t.Errorf("got %s", got)
	}
	t.Run("a refused payment leaves the hold, which expires", func(t *testing.T) {
		held := p.keep("2030-01-08T10:00", by(p.lea))
		if _, err := p.bookings.ConfirmHold(p.ctx, &bookingv1.ConfirmHoldRequest{HoldId: held.GetHold().GetId(), PaymentMethod: byPass}); !refusedFor(err, "PASS_EXHAUSTED") {
			t.Errorf("got %v", err)
		}
		_, err := p.tryBook(p.ctx, p.at("2030-01-08T10:00", by(p.lea)))
		wantWhy(t, err, "staff_busy")
		p.later(16 * time.Minute)
		p.reserve("2030-01-08T10:00", by(p.lea))
	})
	p.finish()
}

// TestTotalsOfAppointments checks the totals of the event of an appointment type.
func TestTotalsOfAppointments(t *testing.T) { // invariant 34
	t.Parallel()
	p := newParlour(t)
	event := id.Event(idOf[id.AppointmentType](t, p.massage.GetId())).String()
	want := func(what string, upcoming, dates int32, booked int64) {
		t.Helper()
		resp, err := p.events.GetEvent(p.ctx, &bookingv1.GetEventRequest{Id: event})
		if err != nil {
			t.Fatal(err)
		}
		s := resp.GetEvent().GetSummary()
		if s.GetUpcoming() != upcoming || s.GetDates() != dates || s.GetBooked() != booked || s.GetCapacity() != booked {
			t.Errorf("%s: got %v", what, s)
		}
	}
	first := p.reserve("2030-01-07T10:00", by(p.lea))
	second := p.reserve("2030-01-07T10:00", by(p.max))
	want("two appointments", 2, 2, 2)
	p.keep("2030-01-08T10:00")
	want("with a hold", 3, 3, 3)
	p.cancelBooking(first)
	want("one is cancelled", 2, 3, 2)
	p.mustMove(second, to("2030-01-09T10:00"))
	want("the other is moved", 2, 3, 2)
	p.finish()
}
