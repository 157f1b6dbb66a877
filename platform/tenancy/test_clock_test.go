package tenancy_test

import (
	"context"
	"testing"
	"time"

	"reservation.dev/platform/pg"
	"reservation.dev/platform/tenancy"
)

func TestNowAndReal(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 31, 9, 30, 0, 1000, time.UTC)
	for offset, want := range map[int64]time.Time{0: at, 90: at.Add(90 * time.Second)} {
		c := tenancy.Company{ClockOffset: offset}
		if got := c.Now(at); !got.Equal(want) || !c.Real(got).Equal(at) {
			t.Errorf("%d seconds ahead: %s shows %s, which is %s", offset, at, got, c.Real(got))
		}
	}
}

func TestClocked(t *testing.T) {
	w := newWorld(t)
	clocked := tenancy.New(w.db, w.auth, tenancy.Timezone(), tenancy.ClockOffset())
	live := w.company
	inTx := func(t *testing.T) tenancy.Company {
		t.Helper()
		var c tenancy.Company
		err := w.db.InTx(t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) (err error) {
			c, err = clocked.ClockedInTx(ctx, tx, w.company)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	t.Run("a company in live mode is not read", func(t *testing.T) {
		c, err := clocked.Clocked(w.signed(t, "Europe/London", 1))
		if want := (tenancy.Company{ID: live}); err != nil || c != want || inTx(t) != want || w.auth.calls != 0 {
			t.Errorf("got %v, %v after %d calls of auth", c, err, w.auth.calls)
		}
	})
	w.company = live.Test()
	t.Run("a company in test mode without a copy is the one of the token", func(t *testing.T) {
		c, err := clocked.Clocked(w.signed(t, "Europe/London", 1))
		if err != nil || c.ID != live.Test() || c.Timezone != "Europe/London" {
			t.Errorf("got %v, %v", c, err)
		}
		if c := inTx(t); c != (tenancy.Company{ID: live.Test()}) {
			t.Errorf("got %v within a transaction", c)
		}
	})
	t.Run("a clock that was moved after the token was issued counts", func(t *testing.T) {
		err := w.db.InTx(t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
			return clocked.Keep(ctx, tx, []tenancy.Company{{ID: w.company, Timezone: "Europe/London", ClockOffset: 3600, Version: 2}})
		})
		if err != nil {
			t.Fatal(err)
		}
		c, err := clocked.Clocked(w.signed(t, "Europe/London", 1))
		if err != nil || c.ClockOffset != 3600 || inTx(t) != c {
			t.Errorf("got %v, %v; within a transaction %v", c, err, inTx(t))
		}
		if c, err := clocked.Claimed(w.signed(t, "Europe/London", 1)); err != nil || c.ClockOffset != 3600 {
			t.Errorf("Claimed returns %v, %v", c, err)
		}
	})
}
