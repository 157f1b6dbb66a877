package booking

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// TestConstraints checks that the database itself refuses states that the rules exclude.
func TestConstraints(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.customer(w.company, "ann")
	e := w.event(w.ctx, new(int32(2)))
	w.mustBook(w.ctx, ann, e, 1)
	if results, err := w.send(w.ctx, past("p1", ann.String(), "yoga", 1), past("p2", ann.String(), "run", 1)); err != nil || outcomes(results) != "cc" {
		t.Fatalf("got %v, %v", results, err)
	}
	tests := []struct{ behaviour, constraint, sql string }{
		{"a date never holds more than its capacity (invariant 1)", "event_dates_capacity", `update event_dates set booked = 3 where capacity = 2`},
		{"a capacity is never less than the booked spaces (invariant 1)", "event_dates_capacity", `update event_dates set capacity = 0`},
		{"the booked spaces of a date are never negative", "event_dates_booked", `update event_dates set booked = -1`},
		{"a capacity is not negative", "event_dates_capacity", `update event_dates set capacity = -1, booked = 0`},
		{"an event has only one date at a time", "event_dates_start", `insert into event_dates (company_id, id, event_id, starts_at, duration_minutes, timezone)
			select company_id, gen_random_uuid(), event_id, starts_at, 60, 'UTC' from event_dates`},
		{"a date belongs to an event", "event_dates_event", `update event_dates set event_id = gen_random_uuid()`},
		{"an option belongs to an event", "pricing_options_event", `update pricing_options set event_id = gen_random_uuid()`},
		{"an option's name is unique in its event", "pricing_options_name", `insert into pricing_options
			(company_id, id, event_id, position, name, price, currency, tax_rate_basis_points)
			select company_id, gen_random_uuid(), event_id, 9, name, 0, 'GBP', 0 from pricing_options`},
		{"a purchase is at a whole second (invariant 11)", "transactions_whole_second", `update transactions set purchased_at = purchased_at + interval '1 ms'`},
		{"a reference is imported once (invariant 9)", "transactions_reference", `update transactions set reference = 'p1' where reference = 'p2'`},
		{"an event's reference is unique", "events_reference", `update events set reference = 'yoga'`},
		{"a card payment has amounts (invariant 11)", "bookings_payment", `update bookings set gross = null`},
		{"a card payment has a currency (invariant 11)", "bookings_payment", `update bookings set currency = null`},
		{"net is at most gross (invariant 11)", "bookings_payment", `update bookings set net = gross + 1`},
		{"a card payment has no credits (invariant 11)", "bookings_payment", `update bookings set credits_used = 1`},
		{"a pass payment has credits (invariant 11)", "bookings_payment", `update bookings set method = 'PASS', currency = null, gross = null, net = null, payment_reference = null`},
		{"a pass payment has no amounts (invariant 11)", "bookings_payment", `update bookings set method = 'PASS', credits_used = 1`},
		{"there is no other payment method (invariant 11)", "bookings_payment", `update bookings set method = 'CASH'`},
		{"a booking has spaces", "bookings_spaces", `update bookings set spaces = 0`},
		{"a cancellation time needs the flag", "bookings_cancelled", `update bookings set cancelled_at = now()`},
		{"a refund time needs the flag", "bookings_refunded", `update bookings set refunded_at = now()`},
		{"attendance has only its two values", "bookings_attendance", `update bookings set attendance = 'late'`},
		{"free cancellation ends before the start", "events_free_cancellation", `update events set free_cancellation_minutes = -1`},
		{"a recurrence is complete", "events_recurrence", `update events set recurrence_rule = 'FREQ=DAILY'`},
		{"a position in a transaction is unique", "bookings_position", `insert into bookings (company_id, id, transaction_id, position,
			event_id, event_date_id, pricing_option_id, spaces, method, credits_used)
			select company_id, gen_random_uuid(), transaction_id, position, event_id, event_date_id, pricing_option_id, 1, 'PASS', 1 from bookings`},
	}
	for _, tt := range tests {
		t.Run(tt.behaviour, func(t *testing.T) {
			err := w.db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
				_, err := tx.Exec(ctx, tt.sql)
				return err
			})
			var pe *pgconn.PgError
			if !errors.As(err, &pe) || pe.ConstraintName != tt.constraint {
				t.Errorf("got %v, want %s", err, tt.constraint)
			}
		})
	}
	t.Run("a version never starts over, whichever statement writes it (invariant 8)", func(t *testing.T) {
		before := w.copyOf(w.company, ann)
		err := w.server.store.Write(t.Context(), w.company, func(ctx context.Context, tx *pg.Tx) error {
			return w.server.store.KeepCustomers(ctx, tx, []model.CustomerRecord{{Company: w.company, Customer: model.Customer{ID: ann, FirstName: "old"}, Version: 0}})
		})
		if after := w.copyOf(w.company, ann); err != nil || after != before {
			t.Errorf("was %q, is %q, %v", before, after, err)
		}
	})
	t.Run("a later change of a price does not change earlier bookings (invariant 11)", func(t *testing.T) {
		made := w.mustBook(w.ctx, ann, e, 1)
		w.exec(`update pricing_options set price = 9900, tax_rate_basis_points = 0`)
		read, err := w.bookings.GetTransaction(w.ctx, &bookingv1.GetTransactionRequest{CustomerId: ann.String(), TransactionId: made.GetId()})
		if err != nil || read.GetTransaction().GetBookings()[0].GetCard().GetGross() != 1200 {
			t.Errorf("got %v, %v", read, err)
		}
	})
}

func TestCommitIsAtomic(t *testing.T) {
	t.Parallel()
	t.Run("if the event cannot be stored, nothing is stored (invariant 2)", func(t *testing.T) {
		w := newWorld(t)
		ann := w.customer(w.company, "ann")
		e := w.event(w.ctx, new(int32(5)))
		kept := w.mustBook(w.ctx, ann, e, 1)
		// An event identifier that already exists makes the last statement fail.
		taken := id.NewUUID()
		w.exec(`insert into outbox (id, company_id, subject, payload, occurred_at) values ($1, $2, 'x', '', $3)`, taken, w.company, time.Now())
		fresh := w.server.newID
		w.server.newID = func() id.UUID { return taken }
		if _, err := w.book(w.ctx, ann, e, 1); err == nil {
			t.Fatal("it was booked")
		}
		if _, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: kept.GetBookings()[0].GetId()}); err == nil {
			t.Fatal("it was cancelled")
		}
		w.server.newID = fresh
		w.inStep()
		if n := one[int64](w, `select count(*) from bookings where not is_cancelled`); n != 1 {
			t.Errorf("%d bookings", n)
		}
		w.mustBook(w.ctx, ann, e, 4)
	})
}
