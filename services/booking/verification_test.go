package booking

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// differences returns what VerifyBookings finds.
func (w *world) differences() (found []string) {
	w.t.Helper()
	stream, err := w.verifier.VerifyBookings(w.ctx, &bookingv1.VerifyBookingsRequest{})
	if err != nil {
		w.t.Fatal(err)
	}
	for {
		res, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			w.t.Fatal(err)
		}
		if d := res.GetDifference(); d != nil {
			found = append(found, fmt.Sprintf("%s %s %d %d", d.GetWhat(), d.GetId(), d.GetStored(), d.GetComputed()))
		}
	}
}

func TestVerifyFindsEveryDamagedSum(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.customer(w.company, "ann")
	e := w.event(w.ctx, proto.Int32(5))
	date := e.GetDates()[0].GetId()
	booking := w.mustBook(w.ctx, ann, e, 2).GetBookings()[0].GetId()
	code := w.code(percent("TENTH", 1000))
	hold := w.hold(ann, e, 1, code.GetCode())
	full, bought := w.fullEvent(3)
	offered, booked := w.waits(full, 1, byOffer), w.waits(full, 2, bookingv1.WaitlistMode_WAITLIST_MODE_BOOK)
	w.cancel(bought)
	w.wantEntry(offered, "OFFERED", 0, "")
	w.wantEntry(booked, "BOOKED", 0, "")
	dateOf := func(column string) string { return `update event_dates set booked = ` + column + ` where id = $1` }
	stateOf := func(status string) string { return `update transactions set status = '` + status + `' where id = $1` }
	spacesOf := func(table, n string) string {
		return `update ` + table + ` set spaces = spaces ` + n + ` where id = $1`
	}
	for behaviour, tt := range map[string]struct {
		damage, repair string
		row            id.UUID
		want           []string
	}{
		"a date with a space too few": {dateOf("booked - 1"), dateOf("booked + 1"), idOf[id.EventDate](t, date).UUID(),
			[]string{"event_date.booked " + date + " 2 3"}},
		"a hold that ended without freeing its spaces and its use of a code": {stateOf("released"), stateOf("held"), idOf[id.Transaction](t, hold.GetId()).UUID(),
			[]string{"event_date.booked " + date + " 3 2", "discount_code.uses " + code.GetId() + " 1 0"}},
		"bookings with more spaces than the date has": {spacesOf("bookings", "+ 10"), spacesOf("bookings", "- 10"), idOf[id.Booking](t, booking).UUID(),
			[]string{"event_date.booked " + date + " 3 13", "event_date.capacity " + date + " 5 13"}},
		"a use of a discount code without a purchase": {
			`update discount_codes set uses = uses + 1 where id = $1`, `update discount_codes set uses = uses - 1 where id = $1`,
			idOf[id.DiscountCode](t, code.GetId()).UUID(), []string{"discount_code.uses " + code.GetId() + " 2 1"}},
		"an offer with other spaces than its entry": {
			spacesOf("waitlist_entries", "+ 1"), spacesOf("waitlist_entries", "- 1"), idOf[id.WaitlistEntry](t, offered.GetId()).UUID(),
			[]string{"waitlist_entry.spaces " + offered.GetId() + " 2 1"}},
		"an entry that is booked without a booking": {
			`update waitlist_entries set transaction_id = id where id = $1`,
			`update waitlist_entries w set transaction_id = (select b.transaction_id from bookings b
				where b.event_date_id = w.event_date_id and b.spaces = 2 and not b.is_cancelled) where id = $1`,
			idOf[id.WaitlistEntry](t, booked.GetId()).UUID(), []string{"waitlist_entry.spaces " + booked.GetId() + " 2 0"}},
		"a wrong number of events": {
			`update event_totals set events = events + 1 where company_id = $1`, `update event_totals set events = events - 1 where company_id = $1`,
			w.company.UUID(), []string{"events.total  3 2"}},
	} {
		t.Run("finds "+behaviour, func(t *testing.T) {
			w.exec(tt.damage, tt.row)
			if found := w.differences(); !slices.Equal(found, tt.want) {
				t.Errorf("got %q, want %q", found, tt.want)
			}
			w.exec(tt.repair, tt.row)
		})
	}
	w.verify()
}

func TestVerifyFindsAMoveWithoutAnEntry(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.movingEvent(5, 48, 72)
	b := w.take(w.customer(w.company, "ann"), e, 0, 2)
	first, second := e.GetDates()[0].GetId(), e.GetDates()[1].GetId()
	w.mustMove(b, onto(second))
	w.verify()
	w.exec(`update bookings set event_date_id = $2, spaces = 3 where id = $1`, idOf[id.Booking](t, b.GetId()), idOf[id.EventDate](t, first))
	want := []string{"booking.history " + b.GetId() + " 2 0", "event_date.booked " + first + " 0 3", "event_date.booked " + second + " 2 0"}
	slices.Sort(want)
	if found := w.differences(); !slices.Equal(slices.Sorted(slices.Values(found)), want) {
		t.Errorf("got %q, want %q", found, want)
	}
}
