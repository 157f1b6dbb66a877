package booking

import (
	"context"
	"errors"
	"testing"
	"time"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// TestFreedKeyOfAppointment checks that a repeated request gets its appointment if the first request with its
// Idempotency-Key fails between the two lookups of the key.
func TestFreedKeyOfAppointment(t *testing.T) { // invariant 32
	t.Parallel()
	p := newParlour(t)
	p.reserve("2030-01-07T09:00") // puts Ann in the copy
	if _, err := p.tryBook(withKey(p.ctx, "first"), p.at("2030-01-07T11:00")); err != nil {
		t.Fatal(err)
	}
	caller := one[string](p.world, `select caller from idempotency_keys where key = 'first'`)
	dates := p.dates()
	type result struct {
		appointment *bookingv1.Appointment
		err         error
	}
	done := make(chan result, 1)
	err := p.db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended(
			concat_ws(e'\x1f', 'idempotency', $1::uuid, $2::text, 'second'), 0))`, p.company, caller); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `select from staff for no key update`); err != nil {
			return err
		}
		go func() {
			a, err := p.tryBook(withKey(p.ctx, "second"), p.at("2030-01-07T14:00"))
			done <- result{a, err}
		}()
		testkit.Eventually(t, 20*time.Second, func() error {
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
	got := <-done
	if got.err != nil {
		t.Fatal(got.err)
	}
	again, err := p.tryBook(withKey(p.ctx, "second"), p.at("2030-01-07T14:00"))
	if err != nil {
		t.Fatal(err)
	}
	sameAppointment(t, got.appointment, again)
	if p.dates() != dates+1 {
		t.Errorf("%d dates", p.dates()-dates)
	}
	p.finish()
}
