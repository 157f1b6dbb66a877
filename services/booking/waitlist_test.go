package booking

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

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

// fullEvent makes an event whose places are all booked.
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

// waits adds somebody new to the waitlist.
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

// wantEntry checks an entry's state, position and why it was passed over.
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

// eventually waits for what happens after a commit.
func (w *world) eventually(what string, ok func() bool) {
	w.t.Helper()
	for range 200 {
		if ok() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	w.t.Fatal("did not happen: " + what)
}

func TestWaitlistOffers(t *testing.T) { // invariants 18 and 19
	w := newWorld(t)
	t.Run("go in the order of joining, in the commit that frees a place", func(t *testing.T) {
		e, bought := w.fullEvent(1)
		first, second := w.waits(e, 1, byOffer), w.waits(e, 1, byOffer)
		w.wantEntry(first, "WAITING", 1, "")
		w.wantEntry(second, "WAITING", 2, "")
		w.cancel(bought)
		offer := w.wantEntry(first, "OFFERED", 0, "")
		if until := time.Until(offer.GetOfferExpiresAt().AsTime()); until < 14*time.Minute || until > 15*time.Minute {
			t.Errorf("it expires in %v", until)
		}
		w.wantEntry(second, "WAITING", 1, "")
		if _, err := w.book(w.ctx, w.customer(w.company, "Zoe"), e, 1); fault.From(err).Reason != model.ReasonEventFull {
			t.Errorf("somebody else booked it: %v", err)
		}
		accept := func(req *bookingv1.AcceptOfferRequest) (*bookingv1.Transaction, error) {
			resp, err := w.waitlist.AcceptOffer(w.ctx, req)
			return resp.GetTransaction(), err
		}
		if _, err := accept(&bookingv1.AcceptOfferRequest{Id: second.GetId()}); fault.From(err).Reason != model.ReasonNotOffered {
			t.Errorf("got %v", err)
		}
		for range 2 {
			made, err := accept(&bookingv1.AcceptOfferRequest{Id: first.GetId(), PaymentReference: "ch_1"})
			if err != nil || made.GetBookings()[0].GetCard().GetReference() != "ch_1" || made.GetId() != offer.GetTransactionId() {
				t.Fatalf("got %v, %v", made, err)
			}
		}
		w.wantEntry(first, "BOOKED", 0, "")
		w.verify()
	})
	t.Run("that are not taken go to the next", func(t *testing.T) {
		e, bought := w.fullEvent(2)
		first, second := w.waits(e, 2, byOffer), w.waits(e, 1, byOffer)
		w.cancel(bought)
		w.wantEntry(first, "OFFERED", 0, "")
		w.later(16 * time.Minute)
		w.wantEntry(first, "EXPIRED", 0, "")
		w.wantEntry(second, "OFFERED", 0, "")
		if _, err := w.waitlist.AcceptOffer(w.ctx, &bookingv1.AcceptOfferRequest{Id: first.GetId()}); fault.From(err).Reason != ReasonHoldExpired {
			t.Errorf("got %v", err)
		}
		if n := w.booked(e); n != 1 {
			t.Errorf("%d places are taken", n)
		}
	})
	t.Run("are left to the next", func(t *testing.T) {
		e, bought := w.fullEvent(1)
		first, second, third := w.waits(e, 1, byOffer), w.waits(e, 1, byOffer), w.waits(e, 1, byOffer)
		leave := func(entry *bookingv1.WaitlistEntry, changed bool) {
			t.Helper()
			resp, err := w.waitlist.LeaveWaitlist(w.ctx, &bookingv1.LeaveWaitlistRequest{Id: entry.GetId()})
			if err != nil || resp.GetChanged() != changed || resp.GetEntry().GetState() != bookingv1.WaitlistState_WAITLIST_STATE_LEFT {
				t.Errorf("got %v, %v", resp, err)
			}
		}
		leave(second, true)
		leave(second, false)
		w.cancel(bought)
		w.wantEntry(first, "OFFERED", 0, "")
		leave(first, true)
		w.wantEntry(third, "OFFERED", 0, "")
		w.wantEntry(first, "LEFT", 0, "")
	})
	t.Run("pass over who does not fit, who keeps the place", func(t *testing.T) {
		e, _ := w.fullEvent(2)
		three, one, two := w.waits(e, 3, byOffer), w.waits(e, 1, byOffer), w.waits(e, 2, byOffer)
		told := w.published(subjectWaitlistPassedOver)
		w.setCapacity(e, 3)
		w.wantEntry(three, "WAITING", 1, "NOT_ENOUGH_PLACES")
		w.wantEntry(one, "OFFERED", 0, "")
		w.wantEntry(two, "WAITING", 2, "")
		w.setCapacity(e, 5)
		w.wantEntry(two, "OFFERED", 0, "")
		w.setCapacity(e, 8)
		w.wantEntry(three, "OFFERED", 0, "NOT_ENOUGH_PLACES")
		if n := w.published(subjectWaitlistPassedOver) - told; n != 1 {
			t.Errorf("%d events say that somebody was passed over", n)
		}
	})
	t.Run("are paid by pass, and stay when the pass does not pay", func(t *testing.T) {
		e, bought := w.fullEvent(1)
		mia := w.customer(w.company, "Mia")
		pass := w.passes.give(mia, 0)
		entry, err := w.join(&bookingv1.JoinWaitlistRequest{}, mia, e)
		if err != nil {
			t.Fatal(err)
		}
		w.cancel(bought)
		accept := func() error {
			_, err := w.waitlist.AcceptOffer(w.ctx, &bookingv1.AcceptOfferRequest{Id: entry.GetId(), PaymentMethod: byPass})
			return err
		}
		if err := accept(); fault.From(err).Reason != "PASS_EXHAUSTED" {
			t.Fatalf("got %v", err)
		}
		w.wantEntry(entry, "OFFERED", 0, "")
		w.passes.set(pass, 1)
		if err := accept(); err != nil {
			t.Fatal(err)
		}
		w.wantEntry(entry, "BOOKED", 0, "")
	})
	t.Run("that are too many for a commit are gone on with", func(t *testing.T) {
		e, _ := w.fullEvent(1)
		w.waits(e, 1, byOffer)
		const more = promotionBatch*promotionRounds + 20
		w.exec(`insert into waitlist_entries (company_id, id, event_id, event_date_id, customer_id, spaces, mode, pricing_option_id, method,
				offer_minutes, timezone, joined_at)
			select x.company_id, gen_random_uuid(), x.event_id, x.event_date_id, c.id, 1, 'offer', x.pricing_option_id, 'CARD', 15, 'UTC', now()
			from waitlist_entries x, generate_series(1, $2) n, lateral (select gen_random_uuid() as id where n > 0) c
			where x.event_date_id = $1`, idOf[id.EventDate](t, e.GetDates()[0].GetId()), more-1)
		w.exec(`insert into customers (company_id, id, first_name, last_name, email, version)
			select company_id, customer_id, 'W', 'W', 'w@example.com', 1 from waitlist_entries on conflict do nothing`)
		offered := func() int64 {
			return one[int64](w, `select count(*) from waitlist_entries where state = 'offered' and event_date_id = $1`, idOf[id.EventDate](t, e.GetDates()[0].GetId()))
		}
		w.setCapacity(e, 10_000)
		if n := offered(); n != promotionBatch*promotionRounds {
			t.Errorf("%d of %d are offered places", n, more)
		}
		w.later(time.Second)
		if n := offered(); n != more || one[int64](w, `select count(*) from event_dates where promoting`) != 0 {
			t.Errorf("then %d of %d are", n, more)
		}
	})
	t.Run("end with the date", func(t *testing.T) {
		e, _ := w.fullEvent(1)
		first, second := w.waits(e, 1, byOffer), w.waits(e, 1, byOffer)
		w.setCapacity(e, 2)
		w.wantEntry(first, "OFFERED", 0, "")
		if _, err := w.events.CancelEvent(w.ctx, &bookingv1.CancelEventRequest{Id: e.GetId()}); err != nil {
			t.Fatal(err)
		}
		w.wantEntry(first, "CLOSED", 0, "")
		w.wantEntry(second, "CLOSED", 0, "")
		if n := w.booked(e); n != 0 {
			t.Errorf("%d places are taken", n)
		}
	})
	t.Run("do not outlast the start, nor does the waiting", func(t *testing.T) {
		capacity := int32(1)
		e := w.passEvent(&capacity, 10*time.Minute, nil)
		bought := w.mustBook(w.ctx, w.customer(w.company, "Full"), e, 1)
		first, second := w.waits(e, 1, byOffer), w.waits(e, 1, byOffer)
		w.cancel(bought)
		if got := w.entry(first).GetOfferExpiresAt().AsTime(); !got.Equal(e.GetDates()[0].GetStartsAt().AsTime()) {
			t.Errorf("it expires at %v", got)
		}
		w.later(11 * time.Minute)
		w.shift(11 * time.Minute)
		w.wantEntry(first, "EXPIRED", 0, "")
		w.wantEntry(second, "CLOSED", 0, "")
		w.shift(0)
	})
	t.Run("are made when an event is published", func(t *testing.T) {
		e := w.passEvent(new(int32(0)), time.Hour, nil)
		entry := w.waits(e, 1, byOffer)
		update := func(req *bookingv1.UpdateEventRequest) {
			t.Helper()
			req.Id = e.GetId()
			if _, err := w.events.UpdateEvent(w.ctx, req); err != nil {
				t.Fatal(err)
			}
		}
		update(&bookingv1.UpdateEventRequest{Status: bookingv1.EventStatus_EVENT_STATUS_DRAFT})
		update(&bookingv1.UpdateEventRequest{Dates: []*bookingv1.EventDateChange{{Id: e.GetDates()[0].GetId(), Capacity: new(int32(1))}}})
		w.wantEntry(entry, "WAITING", 1, "")
		update(&bookingv1.UpdateEventRequest{Status: bookingv1.EventStatus_EVENT_STATUS_PUBLISHED})
		w.wantEntry(entry, "OFFERED", 0, "")
	})
	w.verify()
}

func TestWaitlistBookings(t *testing.T) { // invariants 18 and 19
	w := newWorld(t)
	byCredits := func(credits int32) (id.Customer, *bookingv1.JoinWaitlistRequest) {
		c := w.customer(w.company, "Mia")
		w.passes.give(c, credits)
		return c, &bookingv1.JoinWaitlistRequest{Mode: byBooking, PaymentMethod: byPass}
	}
	t.Run("by card are confirmed at once", func(t *testing.T) {
		e, bought := w.fullEvent(3)
		entries := []*bookingv1.WaitlistEntry{w.waits(e, 1, byBooking), w.waits(e, 2, byBooking), w.waits(e, 1, byBooking)}
		confirmed := w.published(subjectBookingConfirmed)
		w.cancel(bought)
		for _, entry := range entries[:2] {
			got := w.wantEntry(entry, "BOOKED", 0, "")
			made, err := w.bookings.GetTransaction(w.ctx, &bookingv1.GetTransactionRequest{CustomerId: entry.GetCustomerId(), TransactionId: got.GetTransactionId()})
			if err != nil || made.GetTransaction().GetBookings()[0].GetSpaces() != entry.GetSpaces() {
				t.Errorf("got %v, %v", made, err)
			}
		}
		w.wantEntry(entries[2], "WAITING", 1, "")
		if n := w.published(subjectBookingConfirmed) - confirmed; n != 2 {
			t.Errorf("%d events", n)
		}
	})
	t.Run("by pass take the credits, and who has none is passed over", func(t *testing.T) {
		e, bought := w.fullEvent(1)
		poor, req := byCredits(0)
		first, err := w.join(req, poor, e)
		if err != nil {
			t.Fatal(err)
		}
		alsoPoor, req := byCredits(0)
		second, err := w.join(req, alsoPoor, e)
		if err != nil {
			t.Fatal(err)
		}
		rich, req := byCredits(5)
		third, err := w.join(req, rich, e)
		if err != nil {
			t.Fatal(err)
		}
		w.cancel(bought)
		w.eventually("the third is booked", func() bool {
			return w.entry(third).GetState() == bookingv1.WaitlistState_WAITLIST_STATE_BOOKED
		})
		w.wantEntry(first, "WAITING", 1, "PASS_EXHAUSTED")
		w.wantEntry(second, "WAITING", 2, "PASS_EXHAUSTED")
		if n := w.passes.credits(w.passes.owner[rich]); n != 4 {
			t.Errorf("%d credits are left", n)
		}
		w.passes.set(w.passes.owner[poor], 1)
		w.setCapacity(e, 2)
		w.eventually("the first is booked", func() bool {
			return w.entry(first).GetState() == bookingv1.WaitlistState_WAITLIST_STATE_BOOKED
		})
		w.wantEntry(second, "WAITING", 1, "PASS_EXHAUSTED")
	})
	t.Run("that are refused leave their places, with those beside them, to who did not fit", func(t *testing.T) {
		e, bought := w.fullEvent(1)
		two := w.waits(e, 2, byOffer)
		poor, req := byCredits(0)
		one, err := w.join(req, poor, e)
		if err != nil {
			t.Fatal(err)
		}
		asked, goOn := make(chan struct{}), make(chan struct{})
		w.passes.mu.Lock()
		w.passes.before = func(call string) error {
			if call == "redeem" {
				close(asked)
				<-goOn
			}
			return nil
		}
		w.passes.mu.Unlock()
		w.cancel(bought)
		<-asked
		w.setCapacity(e, 2) // one is being booked and one is free: too few for the first
		w.wantEntry(two, "WAITING", 1, "NOT_ENOUGH_PLACES")
		close(goOn)
		w.eventually("the first has both", func() bool {
			return w.entry(two).GetState() == bookingv1.WaitlistState_WAITLIST_STATE_OFFERED
		})
		w.wantEntry(one, "WAITING", 1, "PASS_EXHAUSTED")
		w.passes.mu.Lock()
		w.passes.before = nil
		w.passes.mu.Unlock()
	})
	t.Run("whose pass cannot be asked are tried again", func(t *testing.T) {
		e, bought := w.fullEvent(1)
		mia, req := byCredits(1)
		entry, err := w.join(req, mia, e)
		if err != nil {
			t.Fatal(err)
		}
		w.passes.mu.Lock()
		w.passes.before = func(call string) error {
			if call == "redeem" {
				return errPassAway
			}
			return nil
		}
		w.passes.mu.Unlock()
		w.cancel(bought)
		w.wantEntry(entry, "WAITING", 1, "")
		if n := w.booked(e); n != 1 {
			t.Errorf("%d places are taken", n)
		}
		w.later(model.PendingTime + time.Second)
		w.wantEntry(entry, "WAITING", 1, model.PassedOverPassAway)
		if n := w.booked(e); n != 0 {
			t.Errorf("%d places are taken", n)
		}
		w.passes.mu.Lock()
		w.passes.before = nil
		w.passes.mu.Unlock()
		w.later(2*model.PendingTime + 2*time.Second)
		w.eventually("it is booked", func() bool {
			return w.entry(entry).GetState() == bookingv1.WaitlistState_WAITLIST_STATE_BOOKED
		})
	})
	w.verify()
	w.reconcile()
}

func TestJoiningAWaitlist(t *testing.T) {
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
		"twice":                         {full, &bookingv1.JoinWaitlistRequest{}, fault.Refused, model.ReasonAlreadyWaiting},
		"where there are places":        {w.event(w.ctx, nil), &bookingv1.JoinWaitlistRequest{}, fault.Refused, model.ReasonEventNotFull},
		"for a cancelled event":         {cancelled, &bookingv1.JoinWaitlistRequest{}, fault.Refused, model.ReasonEventCancelled},
		"for a draft":                   {draft, &bookingv1.JoinWaitlistRequest{}, fault.Refused, model.ReasonEventNotPublished},
		"with a price for cards":        {cardOnly, &bookingv1.JoinWaitlistRequest{Mode: byBooking, PaymentMethod: byPass}, fault.Refused, model.ReasonPassNotApplicable},
		"without one of several prices": {two, &bookingv1.JoinWaitlistRequest{}, fault.Invalid, fault.ReasonValidation},
		"with another event's price":    {two, &bookingv1.JoinWaitlistRequest{PricingOptionId: full.GetPricingOptions()[0].GetId()}, fault.NotFound, fault.ReasonNotFound},
		"with a malformed price":        {two, &bookingv1.JoinWaitlistRequest{PricingOptionId: "x"}, fault.NotFound, fault.ReasonNotFound},
		"for too many":                  {full, &bookingv1.JoinWaitlistRequest{Spaces: 1001}, fault.Invalid, fault.ReasonValidation},
		"for fewer than one":            {full, &bookingv1.JoinWaitlistRequest{Spaces: -1}, fault.Invalid, fault.ReasonValidation},
		"in an unknown mode":            {full, &bookingv1.JoinWaitlistRequest{Mode: 9}, fault.Invalid, fault.ReasonValidation},
		"with an offer of a month":      {full, &bookingv1.JoinWaitlistRequest{OfferMinutes: 40_000}, fault.Invalid, fault.ReasonValidation},
		"with an offer by pass":         {full, &bookingv1.JoinWaitlistRequest{PaymentMethod: byPass}, fault.Invalid, fault.ReasonValidation},
		"with minutes of no offer":      {full, &bookingv1.JoinWaitlistRequest{Mode: byBooking, OfferMinutes: 5}, fault.Invalid, fault.ReasonValidation},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.join(c.req, mia, c.event)
			wantFault(t, err, c.kind, c.reason)
		})
	}
	t.Run("as nobody", func(t *testing.T) {
		_, err := w.join(&bookingv1.JoinWaitlistRequest{}, id.New[id.Customer](), full)
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
	})
	t.Run("again after leaving", func(t *testing.T) {
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
	t.Run("under one key is done once", func(t *testing.T) {
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
	t.Run("ends with the customer", func(t *testing.T) {
		e, _ := w.fullEvent(1)
		gone := w.customer(w.company, "Gone")
		entry, err := w.join(&bookingv1.JoinWaitlistRequest{}, gone, e)
		if err != nil {
			t.Fatal(err)
		}
		next := w.waits(e, 1, byOffer)
		err = w.db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
			return w.server.store.LeaveWaitlists(ctx, tx, []model.CustomerRecord{{Company: w.company, Customer: model.Customer{ID: gone}, DeletedAt: time.Now()}})
		})
		if err != nil {
			t.Fatal(err)
		}
		w.wantEntry(entry, "LEFT", 0, "")
		w.wantEntry(next, "WAITING", 1, "")
	})
}

func TestListWaitlist(t *testing.T) {
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
	w.setCapacity(e, 3) // the first is offered a place
	for name, c := range map[string]struct {
		ended     bool
		want      []string
		positions []int32
	}{
		"those who wait": {false, append(all[:1:1], all[2:]...), []int32{0, 1, 2, 3, 4, 5}},
		"all":            {true, all, []int32{0, 0, 1, 2, 3, 4, 5}},
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
