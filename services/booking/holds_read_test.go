package booking

import (
	"errors"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

const (
	isActive    = bookingv1.HoldStatus_HOLD_STATUS_ACTIVE
	isConfirmed = bookingv1.HoldStatus_HOLD_STATUS_CONFIRMED
	isExpired   = bookingv1.HoldStatus_HOLD_STATUS_EXPIRED
	isReleased  = bookingv1.HoldStatus_HOLD_STATUS_RELEASED
)

func (w *world) readHold(which string) (*bookingv1.Hold, error) {
	resp, err := w.bookings.GetHold(w.ctx, &bookingv1.GetHoldRequest{HoldId: which})
	return resp.GetHold(), err
}

// wantHold checks that a hold is unchanged, except for its status and version.
func (w *world) wantHold(h *bookingv1.Hold, status bookingv1.HoldStatus, version int64) *bookingv1.Hold {
	w.t.Helper()
	want := proto.CloneOf(h)
	want.Status, want.Version = status, version
	got, err := w.readHold(h.GetId())
	if err != nil || !proto.Equal(got, want) {
		w.t.Errorf("got  %v, %v\nwant %v", got, err, want)
	}
	return got
}

func (w *world) releaseHold(h *bookingv1.Hold) *bookingv1.ReleaseHoldResponse {
	w.t.Helper()
	resp, err := w.bookings.ReleaseHold(w.ctx, &bookingv1.ReleaseHoldRequest{HoldId: h.GetId()})
	if err != nil {
		w.t.Fatal(err)
	}
	return resp
}

func TestReadingHolds(t *testing.T) { // invariant 16
	t.Parallel()
	w := newWorld(t)
	w.code(percent("HALF", 5000))
	mia, zoe := w.customer(w.company, "Mia"), w.customer(w.company, "Zoe")
	w.passes.give(mia, 100)
	e := w.passEvent(nil, 100*24*time.Hour, nil)
	holdFor := func(recipient id.Customer) *bookingv1.Hold {
		t.Helper()
		resp, err := w.bookings.HoldPlaces(w.ctx, &bookingv1.HoldPlacesRequest{PurchaserId: mia.String(), DiscountCode: "HALF", Lines: []*bookingv1.TransactionLine{
			{EventId: e.GetId(), Spaces: 2, BoughtForId: recipient.String()}, {EventId: e.GetId()},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return resp.GetHold()
	}
	t.Run("an active hold has its prices, discount, time and version", func(t *testing.T) {
		h := w.wantHold(holdFor(zoe), isActive, 1)
		card := h.GetBookings()[0].GetCard()
		if card.GetGross() != 1000 || card.GetDiscountCode() != "HALF" || h.GetBookings()[0].GetBoughtFor().GetFirstName() != "Zoe" ||
			h.GetPurchaserId() != mia.String() || time.Since(h.GetCreatedAt().AsTime()) > time.Minute {
			t.Errorf("got %v", h)
		}
	})
	t.Run("a confirmed hold is its transaction", func(t *testing.T) {
		for _, method := range []bookingv1.PaymentMethod{0, byPass} {
			h := w.hold(mia, e, 1, "")
			resp, err := w.bookings.ConfirmHold(w.ctx, &bookingv1.ConfirmHoldRequest{HoldId: h.GetId(), PaymentMethod: method})
			if err != nil {
				t.Fatal(err)
			}
			got, err := w.readHold(h.GetId())
			if err != nil || got.GetStatus() != isConfirmed || got.GetVersion() != 2 || !proto.Equal(got.GetExpiresAt(), h.GetExpiresAt()) ||
				!proto.Equal(got.GetBookings()[0], resp.GetTransaction().GetBookings()[0]) {
				t.Errorf("got %v, %v\nwant %v", got, err, resp)
			}
			w.cancel(resp.GetTransaction())
			if got, err = w.readHold(h.GetId()); err != nil || got.GetStatus() != isConfirmed || got.GetVersion() <= 2 || !got.GetBookings()[0].GetIsCancelled() {
				t.Errorf("after a cancellation: %v, %v", got, err)
			}
		}
	})
	t.Run("a released hold is returned and can be read", func(t *testing.T) {
		h := holdFor(zoe)
		got := w.wantHold(h, isActive, 1)
		resp := w.releaseHold(h)
		if want := w.wantHold(got, isReleased, 2); !resp.GetChanged() || !proto.Equal(resp.GetHold(), want) {
			t.Errorf("got %v\nwant %v", resp, want)
		}
		if again := w.releaseHold(h); again.GetChanged() || !proto.Equal(again.GetHold(), resp.GetHold()) {
			t.Errorf("again: %v", again)
		}
	})
	t.Run("an expired hold looks the same before and after its release, also if its caller releases it", func(t *testing.T) {
		byJob, byCaller := holdFor(zoe), holdFor(zoe)
		defer w.shift(0)
		w.shift(16 * time.Minute)
		w.wantHold(byJob, isExpired, 2)
		w.wantHold(byCaller, isExpired, 2)
		if resp := w.releaseHold(byCaller); resp.GetChanged() || resp.GetHold().GetStatus() != isExpired {
			t.Errorf("got %v", resp)
		}
		if err := w.server.expireOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.wantHold(byJob, isExpired, 2)
		w.wantHold(byCaller, isExpired, 2)
	})
	t.Run("an ended hold is kept for 30 days without names and without its bookings", func(t *testing.T) {
		h := holdFor(zoe)
		w.releaseHold(h)
		which := idOf[id.Transaction](t, h.GetId())
		if n := one[int64](w, `select count(*) from ended_holds where id = $1 and hold::text not like '%Smith%' and recipients[1] = $2 and recipients[2] is null`, which, zoe); n != 1 {
			t.Error("it has a name, or not its recipient")
		}
		defer w.shift(0)
		w.shift(29 * 24 * time.Hour)
		if err := w.server.expireOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := one[int64](w, `select count(*) from bookings where transaction_id = $1`, which); n != 0 {
			t.Errorf("%d bookings of it slow down the lists", n)
		}
		w.wantHold(h, isReleased, 2)
		if again := w.releaseHold(h); again.GetChanged() || again.GetHold().GetStatus() != isReleased {
			t.Errorf("got %v", again)
		}
		_, err := w.bookings.ConfirmHold(w.ctx, &bookingv1.ConfirmHoldRequest{HoldId: h.GetId()})
		wantFault(t, err, fault.Refused, ReasonHoldExpired)
		w.shift(31 * 24 * time.Hour)
		if err := w.server.expireOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, err = w.readHold(h.GetId())
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		_, err = w.bookings.ReleaseHold(w.ctx, &bookingv1.ReleaseHoldRequest{HoldId: h.GetId()})
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
	})
	t.Run("a purchase that never was a hold does not exist", func(t *testing.T) {
		w.passes.give(mia, 1)
		byPass, err := w.byPass(w.ctx, mia, w.passEvent(nil, time.Hour, nil), 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, which := range []string{"", "x", id.New[id.Transaction]().String(), w.mustBook(w.ctx, mia, e, 1).GetId(), byPass.GetId()} {
			_, err := w.readHold(which)
			wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
			_, err = w.bookings.ConfirmHold(w.ctx, &bookingv1.ConfirmHoldRequest{HoldId: which})
			wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
			_, err = w.bookings.ReleaseHold(w.ctx, &bookingv1.ReleaseHoldRequest{HoldId: which})
			wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		}
	})
	t.Run("the offer of a waitlist entry is a hold", func(t *testing.T) {
		full, bought := w.fullEvent(2)
		left, lapsed := w.waits(full, 1, byOffer), w.waits(full, 1, byOffer)
		w.cancel(bought)
		for _, c := range []struct {
			entry *bookingv1.WaitlistEntry
			end   func()
			want  bookingv1.HoldStatus
		}{
			{left, func() { _, _ = w.waitlist.LeaveWaitlist(w.ctx, &bookingv1.LeaveWaitlistRequest{Id: left.GetId()}) }, isReleased},
			{lapsed, func() { w.later(16 * time.Minute) }, isExpired},
		} {
			offer := w.entry(c.entry).GetTransactionId()
			h, err := w.readHold(offer)
			if err != nil || h.GetStatus() != isActive || h.GetPurchaserId() != c.entry.GetCustomerId() {
				t.Fatalf("got %v, %v", h, err)
			}
			c.end()
			w.wantHold(h, c.want, 2)
		}
	})
	t.Run("a hold of an earlier release can be read while it has a transaction", func(t *testing.T) {
		h, paid, gone := w.hold(mia, e, 1, ""), w.hold(mia, e, 1, ""), w.hold(mia, e, 1, "")
		w.exec(`update transactions set hold_expires_at = null where id = any($1)`,
			[]id.Transaction{idOf[id.Transaction](t, h.GetId()), idOf[id.Transaction](t, paid.GetId())})
		w.wantHold(h, isActive, 1)
		if _, err := w.bookings.ConfirmHold(w.ctx, &bookingv1.ConfirmHoldRequest{HoldId: paid.GetId()}); err != nil {
			t.Fatal(err)
		}
		if got, err := w.readHold(paid.GetId()); err != nil || got.GetStatus() != isConfirmed || !proto.Equal(got.GetExpiresAt(), paid.GetExpiresAt()) {
			t.Errorf("got %v, %v", got, err)
		}
		w.releaseHold(h)
		w.wantHold(h, isReleased, 2)
		w.releaseHold(gone)
		w.exec(`delete from ended_holds where id = $1`, idOf[id.Transaction](t, gone.GetId()))
		w.wantHold(gone, isExpired, 2)
	})
	w.verify()
}

func TestExpiredHoldEvents(t *testing.T) { // invariant 16
	t.Parallel()
	w := newWorld(t)
	mia := w.customer(w.company, "Mia")
	w.passes.give(mia, 100)
	// wantEvents checks how many events a step publishes.
	wantEvents := func(t *testing.T, want int64, step func()) {
		t.Helper()
		before := w.published(subjectHoldExpired)
		step()
		if n := w.published(subjectHoldExpired) - before; n != want {
			t.Errorf("%d events, want %d", n, want)
		}
	}
	t.Run("processes that expire a hold at the same time publish one event", func(t *testing.T) {
		e := w.passEvent(nil, time.Hour, nil)
		const holds = releaseBatch + 10
		for range holds {
			w.hold(mia, e, 1, "")
		}
		servers := []*Server{w.server}
		for range 2 {
			servers = append(servers, NewServer(w.db, outbox.New(w.db, nil, testkit.Log(t), time.Now), w.customers, NewCompanies(w.db, w.companies), w.passes))
		}
		for _, s := range servers {
			s.now = func() time.Time { return time.Now().Add(16 * time.Minute) }
		}
		wantEvents(t, holds, func() {
			together(12, func(i int) {
				if err := servers[i%len(servers)].expireHolds(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
		w.server.now = func() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }
	})
	t.Run("a commit that fails ends no hold, and its repetition publishes one event", func(t *testing.T) {
		h := w.hold(mia, w.passEvent(nil, time.Hour, nil), 1, "")
		taken := id.NewUUID()
		w.exec(`insert into outbox (id, company_id, subject, payload, occurred_at) values ($1, $2, 'x', '', now())`, taken, w.company)
		fresh := w.server.newID
		w.shift(16 * time.Minute)
		defer w.shift(0)
		wantEvents(t, 0, func() {
			w.server.newID = func() id.UUID { return taken }
			if err := w.server.expireHolds(t.Context()); err == nil {
				t.Error("it was committed")
			}
			w.server.newID = fresh
		})
		if n := one[int64](w, `select count(*) from transactions where id = $1 and status = 'held'`, idOf[id.Transaction](t, h.GetId())); n != 1 {
			t.Error("the hold has ended")
		}
		wantEvents(t, 1, func() {
			if err := errors.Join(w.server.expireHolds(t.Context()), w.server.expireHolds(t.Context())); err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("a cancelled date ends its holds, and an offer is announced as a waitlist entry", func(t *testing.T) {
		e, bought := w.fullEvent(3)
		entry := w.waits(e, 1, byOffer)
		w.cancel(bought)
		w.wantEntry(entry, "OFFERED", 0, "")
		h := w.hold(mia, e, 1, "")
		ended := w.published(subjectWaitlistEnded)
		wantEvents(t, 1, func() {
			if _, err := w.events.CancelEvent(w.ctx, &bookingv1.CancelEventRequest{Id: e.GetId()}); err != nil {
				t.Fatal(err)
			}
		})
		if n := w.published(subjectWaitlistEnded) - ended; n != 1 {
			t.Errorf("%d entries ended", n)
		}
		if got, err := w.readHold(h.GetId()); err != nil || got.GetStatus() != isExpired {
			t.Errorf("got %v, %v", got, err)
		}
	})
	t.Run("a hold whose customer is deleted ends with an event", func(t *testing.T) {
		gone := w.customer(w.company, "Gone")
		w.hold(gone, w.passEvent(nil, time.Hour, nil), 1, "")
		w.exec(`update customers set deleted_at = now() where id = $1`, gone)
		wantEvents(t, 1, func() { w.later(16 * time.Minute) })
	})
	t.Run("a payment by pass that is interrupted ends the hold with an event, another purchase has none", func(t *testing.T) {
		e := w.passEvent(nil, time.Hour, nil)
		h := w.hold(mia, e, 1, "")
		w.passes.before = func(string) error { return errPassAway }
		if _, err := w.bookings.ConfirmHold(w.ctx, &bookingv1.ConfirmHoldRequest{HoldId: h.GetId(), PaymentMethod: byPass}); err == nil {
			t.Fatal("it was paid")
		}
		if _, err := w.byPass(w.ctx, mia, e, 1); err == nil {
			t.Fatal("it was paid")
		}
		if got, err := w.readHold(h.GetId()); err != nil || got.GetStatus() != isActive || got.GetVersion() != 1 {
			t.Errorf("during the payment: %v, %v", got, err)
		}
		w.passes.before = nil
		wantEvents(t, 1, func() { w.later(model.PendingTime + time.Second) })
		if got, err := w.readHold(h.GetId()); err != nil || got.GetStatus() != isExpired {
			t.Errorf("got %v, %v", got, err)
		}
	})
	t.Run("a caller who releases or confirms a hold causes no event", func(t *testing.T) {
		e := w.passEvent(nil, time.Hour, nil)
		wantEvents(t, 0, func() {
			w.releaseHold(w.hold(mia, e, 1, ""))
			if _, err := w.bookings.ConfirmHold(w.ctx, &bookingv1.ConfirmHoldRequest{HoldId: w.hold(mia, e, 1, "").GetId()}); err != nil {
				t.Fatal(err)
			}
			w.later(16 * time.Minute)
		})
	})
	w.verify()
}

func TestRemovalsKeepUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const removed = 2500 // more than two batches
	add := func(n int, ended string) {
		w.exec(`insert into ended_holds (company_id, id, purchaser_id, recipients, ended_at, hold)
			select $1, gen_random_uuid(), gen_random_uuid(), '{}', now() - $3::interval, '{}' from generate_series(1, $2::integer)`, w.company, n, ended)
	}
	add(removed, "31 days")
	add(1, "29 days")
	if err := w.server.removeReleased(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := one[int64](w, `select count(*) from ended_holds`); n != 1 {
		t.Errorf("%d ended holds are left, want the one that can still be read", n)
	}
}
