package booking

import (
	"strings"
	"testing"
	"time"

	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

func TestHistoryIsPersonalData(t *testing.T) { // invariants 21 and 49
	t.Parallel()
	w := newWorld(t)
	mia, ben, zoe, max := w.customer(w.company, "Mia"), w.customer(w.company, "Ben"), w.customer(w.company, "Zoe"), w.customer(w.company, "Max")
	sell := func(reason string) string {
		bought, err := w.late(mia, reason, lineOf(w.startedEvent(time.Hour, 5, nil), 1))
		if err != nil {
			t.Fatal(err)
		}
		return bought.GetBookings()[0].GetId()
	}
	cancel := func(b string) {
		if _, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: b, Reason: "Ill."}); err != nil {
			t.Fatal(err)
		}
	}
	kept, given := sell("first"), sell("second")
	w.mustTransfer(given, ben, because("Ben came."))
	w.mustTransfer(given, zoe, because("No, Zoe did."))
	cancel(kept)
	cancel(given)
	w.exec(`update booking_history set payment_reference = 'ch_2', amount = 5, money_method = 'CARD' where action = 'cancelled'`)

	t.Run("the purchaser's export has the history of both bookings", func(t *testing.T) {
		own := w.exported(mia)
		all := strings.Join(own["booking_history"], "\n")
		if len(own["booking_history"]) != 2 || len(own["booking_history_for_the_customer"]) != 0 || !strings.Contains(all, "ch_2") ||
			!strings.Contains(all, ben.String()) || !strings.Contains(all, `"Ben came."`) || !strings.Contains(all, `"price"`) {
			t.Errorf("got %v", own)
		}
		if !strings.Contains(strings.Join(own["transaction"], ""), `"second"`) {
			t.Error("the reason of the booking after the start is missing")
		}
	})
	t.Run("an attendee's export has the history while the customer attended, without money", func(t *testing.T) {
		for c, others := range map[id.Customer][]string{zoe: {mia.String(), ben.String(), "Ben came.", "No, Zoe did."}, ben: {mia.String(), "Ben came.", "Ill."}} {
			theirs := w.exported(c)["booking_history_for_the_customer"]
			if len(theirs) != 1 || strings.Count(theirs[0], `"action"`) != 2 || !strings.Contains(theirs[0], c.String()) {
				t.Fatalf("want 2 entries: %v", theirs)
			}
			for _, other := range append(others, "ch_2", `"price"`, `"amount"`) {
				if strings.Contains(theirs[0], other) {
					t.Errorf("it has %s: %v", other, theirs)
				}
			}
		}
		if theirs := w.exported(ben)["booking_history_for_the_customer"]; !strings.Contains(theirs[0], "No, Zoe did.") {
			t.Errorf("the reason why the booking was transferred is missing: %v", theirs)
		}
		for kind, records := range w.exported(max) {
			if strings.HasPrefix(kind, "booking_history") {
				t.Errorf("another customer's %s: %v", kind, records)
			}
		}
	})
	texts := func(booking string) int64 {
		return one[int64](w, `select count(*) filter (where reason is not null) + count(*) filter (where payment_reference is not null)
			from booking_history where booking_id = $1`, idOf[id.Booking](t, booking))
	}
	t.Run("an erasure of another customer removes nothing", func(t *testing.T) {
		w.mustBook(w.ctx, max, w.event(w.ctx, nil), 1)
		w.erase(max)
		if texts(kept) != 2 || texts(given) != 4 {
			t.Errorf("%d and %d texts are left", texts(kept), texts(given))
		}
	})
	t.Run("an erasure of a former attendee removes the reasons of that booking, and keeps the purchaser's payment", func(t *testing.T) {
		w.erase(ben)
		if texts(kept) != 2 || texts(given) != 1 {
			t.Errorf("%d and %d texts are left", texts(kept), texts(given))
		}
		if n := one[int64](w, `select count(*) from transactions where after_start_reason is not null`); n != 1 {
			t.Errorf("%d reasons are left", n)
		}
	})
	t.Run("after an erasure of the attendee, the purchaser manages the booking", func(t *testing.T) {
		w.erase(zoe)
		if n := one[int64](w, `select count(*) from bookings where managed_by is not null`); n != 0 {
			t.Errorf("%d bookings name a manager", n)
		}
		if b := w.registration(given).GetBooking(); b.GetManagedById() != mia.String() || texts(given) != 1 {
			t.Errorf("got %v, and %d texts", b, texts(given))
		}
		w.verify()
	})
	t.Run("an erasure of the purchaser removes all text, and keeps the changes", func(t *testing.T) {
		w.erase(mia)
		if texts(kept) != 0 || texts(given) != 0 || one[int64](w, `select count(*) from transactions where after_start_reason is not null`) != 0 {
			t.Errorf("%d texts are left", texts(kept))
		}
		got := w.history(given)
		if actions(got) != "booked transferred transferred cancelled" || got[0].GetReason() != "" || got[1].GetAfter().GetManagedById() != ben.String() || got[3].GetAmount() != 5 {
			t.Errorf("got %v", got)
		}
	})
	w.verify()
}
