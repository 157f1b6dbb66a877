package booking

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// entry returns the only entry of a calendar with an identifier.
func (w *calendarWorld) entry(secret, uid string) *bookingv1.CalendarEntry {
	w.t.Helper()
	resp, err := w.read(secret)
	if err != nil {
		w.t.Fatal(err)
	}
	var found []*bookingv1.CalendarEntry
	for _, e := range resp.GetEntries() {
		if e.GetUid() == uid {
			found = append(found, e)
		}
	}
	if len(found) != 1 {
		w.t.Fatalf("%d entries %s", len(found), uid)
	}
	return found[0]
}

// postpone changes the time of a date of an event.
func (w *calendarWorld) postpone(e *bookingv1.Event, date int) {
	w.t.Helper()
	d := e.GetDates()[date]
	d.StartsAt = timestamppb.New(d.GetStartsAt().AsTime().Add(time.Minute))
	_, err := w.events.UpdateEventDate(w.ctx, &bookingv1.UpdateEventDateRequest{Date: &bookingv1.EventDateChange{Id: d.GetId(), StartsAt: d.GetStartsAt()}})
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestCalendarEntriesOfMovedBookings(t *testing.T) { // invariant 41
	t.Parallel()
	w := newCalendarWorld(t)
	sam := w.staff("Sam")
	ann, bob := w.customer(w.company, "Ann"), w.customer(w.company, "Bob")
	_, ofSam := w.subscribe(ofStaff, sam.String())
	_, ofAnn := w.subscribe(ofCustomer, ann.String())
	_, ofBob := w.subscribe(ofCustomer, bob.String())
	_, all := w.subscribe(ofCompany, "")
	e, other := w.movingEvent(5, 48, 72), w.movingEvent(5, 96)
	first, second := e.GetDates()[0].GetId(), e.GetDates()[1].GetId()
	w.assign(second, "staff", sam.UUID(), nil)
	b, of := w.take(ann, e, 0, 1), w.take(bob, other, 0, 1)

	mine, bobs := w.entry(ofAnn, b.GetId()), w.entry(ofBob, of.GetId())
	// rises checks that a change raises the sequence of the entry in a calendar, and that its date then starts at a
	// time.
	rises := func(t *testing.T, secret string, before **bookingv1.CalendarEntry, starts *timestamppb.Timestamp) {
		t.Helper()
		after := w.entry(secret, (*before).GetUid())
		if after.GetSequence() <= (*before).GetSequence() || !proto.Equal(after.GetStartsAt(), starts) {
			t.Errorf("the sequence was %d and is %d, at %v, not %v", (*before).GetSequence(), after.GetSequence(), after.GetStartsAt().AsTime(), starts.AsTime())
		}
		*before = after
	}
	start := func(e *bookingv1.Event, date int) *timestamppb.Timestamp { return e.GetDates()[date].GetStartsAt() }
	swap := func() {
		w.t.Helper()
		if _, err := w.changes.SwapBookings(w.ctx, &bookingv1.SwapBookingsRequest{BookingId: b.GetId(), OtherBookingId: of.GetId()}); err != nil {
			t.Fatal(err)
		}
	}
	steps := []struct {
		behaviour string
		change    func()
		starts    func() *timestamppb.Timestamp
	}{
		{"the time of its date changes", func() { w.postpone(e, 0); w.postpone(e, 0) }, func() *timestamppb.Timestamp { return start(e, 0) }},
		{"it moves to a date with a lower sequence", func() { w.mustMove(b, onto(second)) }, func() *timestamppb.Timestamp { return start(e, 1) }},
		{"the time of its new date changes", func() { w.postpone(e, 1) }, func() *timestamppb.Timestamp { return start(e, 1) }},
		{"it moves back", func() { w.mustMove(b, onto(first)) }, func() *timestamppb.Timestamp { return start(e, 0) }},
		{"it moves again to the date where it was", func() { w.mustMove(b, onto(second)) }, func() *timestamppb.Timestamp { return start(e, 1) }},
		{"it is swapped", swap, func() *timestamppb.Timestamp { return start(other, 0) }},
		{"the time of the date of the other booking changes", func() { w.postpone(other, 0) }, func() *timestamppb.Timestamp { return start(other, 0) }},
		{"it is cancelled", func() {
			if _, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: b.GetId()}); err != nil {
				t.Fatal(err)
			}
		}, func() *timestamppb.Timestamp { return start(other, 0) }},
	}
	for _, step := range steps {
		t.Run("the sequence of a booking increases when "+step.behaviour, func(t *testing.T) {
			step.change()
			rises(t, ofAnn, &mine, step.starts())
		})
	}
	if !mine.GetCancelled() {
		t.Error("the entry is not cancelled")
	}
	t.Run("the sequence of the other booking of a swap increases", func(t *testing.T) {
		rises(t, ofBob, &bobs, start(e, 1))
	})
	t.Run("a change that keeps the date keeps the sequence", func(t *testing.T) {
		w.mustMove(of, &bookingv1.MoveBookingRequest{Spaces: 2})
		if after := w.entry(ofBob, of.GetId()); after.GetSequence() != bobs.GetSequence() {
			t.Errorf("was %d, is %d", bobs.GetSequence(), after.GetSequence())
		}
	})
	t.Run("a date keeps its own sequence, whatever bookings leave it or enter it", func(t *testing.T) {
		for _, secret := range []string{all, ofSam} {
			date := w.entry(secret, second)
			if date.GetSequence() != 1 {
				t.Errorf("the sequence is %d after one change", date.GetSequence())
			}
			w.mustMove(of, onto(first))
			w.mustMove(of, onto(second))
			if after := w.entry(secret, second); after.GetSequence() != date.GetSequence() {
				t.Errorf("was %d, is %d", date.GetSequence(), after.GetSequence())
			}
		}
		w.postpone(e, 1)
		if got := w.entry(all, second).GetSequence(); got != 2 {
			t.Errorf("the sequence is %d after two changes", got)
		}
	})
	t.Run("personal data has the booking without what its entry needs", func(t *testing.T) {
		exported := w.exported(ann)["transaction"]
		if len(exported) != 1 || !strings.Contains(exported[0], b.GetId()) || strings.Contains(exported[0], "calendar_offset") {
			t.Errorf("exported %v", exported)
		}
	})
	t.Run("a booking that leaves a deleted event has a higher sequence than the deletion gave it", func(t *testing.T) {
		bobs = w.entry(ofBob, of.GetId())
		which, _ := id.Parse[id.Event](e.GetId())
		w.exec(`update events set deleted_at = now() where id = $1`, which)
		rises(t, ofBob, &bobs, start(e, 1))
		w.mustMove(of, &bookingv1.MoveBookingRequest{EventDateId: other.GetDates()[0].GetId(), PricingOptionId: other.GetPricingOptions()[0].GetId()})
		rises(t, ofBob, &bobs, start(other, 0))
	})
}
