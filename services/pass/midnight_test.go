package pass

import (
	"sync/atomic"
	"testing"
	"time"

	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// TestMidnight lets requests wait for a lock past midnight. They must then use the new day.
func TestMidnight(t *testing.T) {
	w := open(t)
	var now atomic.Pointer[time.Time]
	clock := func(day, hour int) {
		at := time.Date(2026, 3, day, hour, 30, 0, 0, time.UTC)
		now.Store(&at)
	}
	w.server.now = func() time.Time { return *now.Load() }
	// pastMidnight starts on 20 March and releases the lock on 21 March.
	pastMidnight := func(t *testing.T, release func(), waits string, begin func() error) {
		t.Helper()
		clock(20, 23)
		begun := make(chan error, 1)
		go func() { begun <- begin() }()
		w.waitsFor(waits, begun)
		clock(21, 0)
		release()
		if err := <-begun; err != nil {
			t.Fatal(err)
		}
	}
	t.Run("a pause starts on the day on which the pass is locked", func(t *testing.T) {
		clock(20, 12)
		p := w.give(w.customer(), nil) // expires on 20 April
		paused, active := passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED, passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE
		pastMidnight(t, w.hold(`select from customer_passes where company_id = $1 for update`), lockCustomerPassSQL, func() error {
			_, err := w.client.UpdateCustomerPass(w.as(w.company), &passv1.UpdateCustomerPassRequest{Id: p.GetId(), Status: paused})
			return err
		})
		clock(30, 12)
		if p = w.update(&passv1.UpdateCustomerPassRequest{Id: p.GetId(), Status: active}); p.GetExpiryDate() != "2026-04-29" {
			t.Errorf("got %v, want a pause of 9 days", p)
		}
	})
	t.Run("a pass pays on its first day, which begins while the redemption waits", func(t *testing.T) {
		clock(20, 12)
		p := w.assign("2026-03-21")
		req := redeemRequest(p.GetCustomerId(), p.GetId(), 1)
		pastMidnight(t, w.hold(`select from customer_passes where company_id = $1 for update`), lockCandidatesSQL, func() error {
			_, err := w.redeem(req)
			return err
		})
	})
}
