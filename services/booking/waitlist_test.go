package booking

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

const (
	byOffer   = bookingv1.WaitlistMode_WAITLIST_MODE_OFFER
	byBooking = bookingv1.WaitlistMode_WAITLIST_MODE_BOOK
)

// fullEvent creates an event whose spaces are all booked.
func (w *world) fullEvent(capacity int32) (*bookingv1.Event, *bookingv1.Transaction) {
	w.t.Helper()
	e := w.passEvent(&capacity, time.Hour, nil)
	return e, w.mustBook(w.ctx, w.customer(w.company, "Full"), e, capacity)
}

func (w *world) join(req *bookingv1.JoinWaitlistRequest, c id.Customer, e *bookingv1.Event) (*bookingv1.WaitlistEntry, error) {
	req.CustomerId, req.EventDateId = c.String(), e.GetDates()[0].GetId()
	resp, err := w.waitlist.JoinWaitlist(w.ctx, req)
	return resp.GetEntry(), err
}

// waits adds a new customer to the waitlist.
func (w *world) waits(e *bookingv1.Event, spaces int32, mode bookingv1.WaitlistMode) *bookingv1.WaitlistEntry {
	w.t.Helper()
	entry, err := w.join(&bookingv1.JoinWaitlistRequest{Spaces: spaces, Mode: mode}, w.customer(w.company, fmt.Sprint("W", spaces)), e)
	if err != nil {
		w.t.Fatal(err)
	}
	return entry
}

func (w *world) entry(e *bookingv1.WaitlistEntry) *bookingv1.WaitlistEntry {
	w.t.Helper()
	resp, err := w.waitlist.GetWaitlistEntry(w.ctx, &bookingv1.GetWaitlistEntryRequest{Id: e.GetId()})
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.GetEntry()
}

// wantEntry checks an entry's state, position and the reason for which it was passed over.
func (w *world) wantEntry(e *bookingv1.WaitlistEntry, state string, position int32, passedOver string) *bookingv1.WaitlistEntry {
	w.t.Helper()
	got := w.entry(e)
	if got.GetState().String() != "WAITLIST_STATE_"+state || got.GetPosition() != position || got.GetPassedOverReason() != passedOver {
		w.t.Errorf("got %v\nwant %s %d %q", got, state, position, passedOver)
	}
	return got
}

func (w *world) cancel(t *bookingv1.Transaction) {
	w.t.Helper()
	for _, b := range t.GetBookings() {
		if _, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: b.GetId()}); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) setCapacity(e *bookingv1.Event, to int32) {
	w.t.Helper()
	_, err := w.events.UpdateEventDate(w.ctx, &bookingv1.UpdateEventDateRequest{Date: &bookingv1.EventDateChange{
		Id: e.GetDates()[0].GetId(), Capacity: &to,
	}})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) later(by time.Duration) {
	w.t.Helper()
	w.shift(by)
	if err := w.server.expireOnce(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	w.shift(0)
}

// eventually waits for an effect that follows a commit.
func (w *world) eventually(what string, ok func() bool) {
	w.t.Helper()
	testkit.Eventually(w.t, time.Minute, func() error {
		if !ok() {
			return errors.New("did not happen: " + what)
		}
		return nil
	})
}

func TestJoiningAWaitlist(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	full, _ := w.fullEvent(1)
	mia := w.customer(w.company, "Mia")
	if _, err := w.join(&bookingv1.JoinWaitlistRequest{}, mia, full); err != nil {
		t.Fatal(err)
	}
	cancelled, _ := w.fullEvent(1)
	if _, err := w.events.CancelEvent(w.ctx, &bookingv1.CancelEventRequest{Id: cancelled.GetId()}); err != nil {
		t.Fatal(err)
	}
	cardOnly := w.event(w.ctx, new(int32(1)))
	w.mustBook(w.ctx, mia, cardOnly, 1)
	draft := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{
		Title: "Yoga", Status: bookingv1.EventStatus_EVENT_STATUS_DRAFT, Dates: []*bookingv1.NewEventDate{newDate(time.Hour, new(int32(1)))},
		PricingOptions: []*bookingv1.NewPricingOption{{Name: "Adult", Price: 1000}},
	})
	two := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{
		Title: "Yoga", Dates: []*bookingv1.NewEventDate{newDate(time.Hour, new(int32(0)))},
		PricingOptions: []*bookingv1.NewPricingOption{{Name: "Adult", Price: 1000}, {Name: "Child", Price: 500}},
	})
	for name, c := range map[string]struct {
		event  *bookingv1.Event
		req    *bookingv1.JoinWaitlistRequest
		kind   fault.Kind
		reason string
	}{
		"twice":                               {full, &bookingv1.JoinWaitlistRequest{}, fault.Refused, model.ReasonAlreadyWaiting},
		"for a date with free spaces":         {w.event(w.ctx, nil), &bookingv1.JoinWaitlistRequest{}, fault.Refused, model.ReasonEventNotFull},
		"for a cancelled event":               {cancelled, &bookingv1.JoinWaitlistRequest{}, fault.Refused, model.ReasonEventCancelled},
		"for a draft":                         {draft, &bookingv1.JoinWaitlistRequest{}, fault.Refused, model.ReasonEventNotPublished},
		"by pass with a price only for cards": {cardOnly, &bookingv1.JoinWaitlistRequest{Mode: byBooking, PaymentMethod: byPass}, fault.Refused, model.ReasonPassNotApplicable},
		"without one of several prices":       {two, &bookingv1.JoinWaitlistRequest{}, fault.Invalid, fault.ReasonValidation},
		"with another event's price":          {two, &bookingv1.JoinWaitlistRequest{PricingOptionId: full.GetPricingOptions()[0].GetId()}, fault.NotFound, fault.ReasonNotFound},
		"with a malformed price":              {two, &bookingv1.JoinWaitlistRequest{PricingOptionId: "x"}, fault.NotFound, fault.ReasonNotFound},
		"for too many spaces":                 {full, &bookingv1.JoinWaitlistRequest{Spaces: 1001}, fault.Invalid, fault.ReasonValidation},
		"for fewer than one space":            {full, &bookingv1.JoinWaitlistRequest{Spaces: -1}, fault.Invalid, fault.ReasonValidation},
		"in an unknown mode":                  {full, &bookingv1.JoinWaitlistRequest{Mode: 9}, fault.Invalid, fault.ReasonValidation},
		"with an offer of a month":            {full, &bookingv1.JoinWaitlistRequest{OfferMinutes: 40_000}, fault.Invalid, fault.ReasonValidation},
		"with an offer by pass":               {full, &bookingv1.JoinWaitlistRequest{PaymentMethod: byPass}, fault.Invalid, fault.ReasonValidation},
		"with offer minutes in mode book":     {full, &bookingv1.JoinWaitlistRequest{Mode: byBooking, OfferMinutes: 5}, fault.Invalid, fault.ReasonValidation},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.join(c.req, mia, c.event)
			wantFault(t, err, c.kind, c.reason)
		})
	}
	t.Run("refuses an unknown customer", func(t *testing.T) {
		_, err := w.join(&bookingv1.JoinWaitlistRequest{}, id.New[id.Customer](), full)
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
	})
	t.Run("a customer can join again after leaving", func(t *testing.T) {
		zoe := w.customer(w.company, "Zoe")
		for range 2 {
			entry, err := w.join(&bookingv1.JoinWaitlistRequest{}, zoe, full)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.waitlist.LeaveWaitlist(w.ctx, &bookingv1.LeaveWaitlistRequest{Id: entry.GetId()}); err != nil {
				t.Fatal(err)
			}
		}
	})
	t.Run("a retry with the same Idempotency-Key joins once", func(t *testing.T) {
		ctx := withKey(w.ctx, "join")
		req := &bookingv1.JoinWaitlistRequest{EventDateId: full.GetDates()[0].GetId(), CustomerId: w.customer(w.company, "Ada").String()}
		first, err := w.waitlist.JoinWaitlist(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := w.waitlist.JoinWaitlist(ctx, req); err != nil || !proto.Equal(first, again) {
			t.Errorf("got %v, %v", again, err)
		}
	})
	t.Run("ends when the customer is deleted", func(t *testing.T) {
		e, _ := w.fullEvent(1)
		gone := w.customer(w.company, "Gone")
		entry, err := w.join(&bookingv1.JoinWaitlistRequest{}, gone, e)
		if err != nil {
			t.Fatal(err)
		}
		next := w.waits(e, 1, byOffer)
		err = w.db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
			l := &leaver{store: w.server.store, outbox: w.server.outbox, now: w.server.now, newID: w.server.newID}
			return l.leave(ctx, tx, []model.CustomerRecord{{Company: w.company, Customer: model.Customer{ID: gone}, DeletedAt: time.Now()}})
		})
		if err != nil {
			t.Fatal(err)
		}
		w.wantEntry(entry, "LEFT", 0, "")
		w.wantEntry(next, "WAITING", 1, "")
	})
}

func TestListWaitlist(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e, _ := w.fullEvent(2)
	var all []string
	var entries []*bookingv1.WaitlistEntry
	for range 7 {
		entries = append(entries, w.waits(e, 1, byOffer))
		all = append(all, entries[len(entries)-1].GetId())
	}
	if _, err := w.waitlist.LeaveWaitlist(w.ctx, &bookingv1.LeaveWaitlistRequest{Id: all[1]}); err != nil {
		t.Fatal(err)
	}
	w.setCapacity(e, 3) // the first entry is offered a space
	for name, c := range map[string]struct {
		ended     bool
		want      []string
		positions []int32
	}{
		"waiting entries": {false, append(all[:1:1], all[2:]...), []int32{0, 1, 2, 3, 4, 5}},
		"all":             {true, all, []int32{0, 0, 1, 2, 3, 4, 5}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			var positions []int32
			token := ""
			for {
				resp, err := w.waitlist.ListWaitlist(w.ctx, &bookingv1.ListWaitlistRequest{
					EventDateId: e.GetDates()[0].GetId(), IncludeEnded: c.ended, PageSize: 2, PageToken: token,
				})
				if err != nil || resp.GetTotal() != int64(len(c.want)) {
					t.Fatalf("got %v, %v", resp, err)
				}
				for _, entry := range resp.GetEntries() {
					got, positions = append(got, entry.GetId()), append(positions, entry.GetPosition())
				}
				if token = resp.GetNextPageToken(); token == "" {
					break
				}
			}
			if !slices.Equal(got, c.want) || !slices.Equal(positions, c.positions) {
				t.Errorf("got %v %v\nwant %v %v", got, positions, c.want, c.positions)
			}
		})
	}
	for name, req := range map[string]*bookingv1.ListWaitlistRequest{
		"page_size":  {EventDateId: e.GetDates()[0].GetId(), PageSize: 201},
		"page_token": {EventDateId: e.GetDates()[0].GetId(), PageToken: "x"},
	} {
		_, err := w.waitlist.ListWaitlist(w.ctx, req)
		if f := wantFault(t, err, fault.Invalid, fault.ReasonInvalidParameter); f.Fields[0].Field != name {
			t.Errorf("got %v", f)
		}
	}
	for _, date := range []string{"x", id.New[id.EventDate]().String()} {
		_, err := w.waitlist.ListWaitlist(w.ctx, &bookingv1.ListWaitlistRequest{EventDateId: date})
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
	}
}
