package booking

import (
	"testing"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

func TestWaitlistOffers(t *testing.T) { // invariants 18 and 19
	t.Parallel()
	w := newWorld(t)
	t.Run("offers are made in the order of joining, in the commit that frees a space", func(t *testing.T) {
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
			t.Errorf("another customer booked it: %v", err)
		}
		already := false
		accept := func(req *bookingv1.AcceptOfferRequest) (*bookingv1.Transaction, error) {
			resp, err := w.waitlist.AcceptOffer(w.ctx, req)
			already = resp.GetAlreadyAccepted()
			return resp.GetTransaction(), err
		}
		if _, err := accept(&bookingv1.AcceptOfferRequest{Id: second.GetId()}); fault.From(err).Reason != model.ReasonNotOffered {
			t.Errorf("got %v", err)
		}
		for _, again := range []bool{false, true} {
			made, err := accept(&bookingv1.AcceptOfferRequest{Id: first.GetId(), PaymentReference: "ch_1"})
			if err != nil || already != again || made.GetBookings()[0].GetCard().GetReference() != "ch_1" || made.GetId() != offer.GetTransactionId() {
				t.Fatalf("got %v, %v", made, err)
			}
		}
		w.wantEntry(first, "BOOKED", 0, "")
		w.verify()
	})
	t.Run("the spaces of an expired offer go to the next entry", func(t *testing.T) {
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
			t.Errorf("%d spaces are taken", n)
		}
	})
	t.Run("the spaces of an offer go to the next entry when the customer leaves", func(t *testing.T) {
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
	t.Run("pass over an entry that does not fit and keeps its position", func(t *testing.T) {
		e, _ := w.fullEvent(2)
		three, one, two := w.waits(e, 3, byOffer), w.waits(e, 1, byOffer), w.waits(e, 2, byOffer)
		before := w.published(subjectWaitlistPassedOver)
		w.setCapacity(e, 3)
		w.wantEntry(three, "WAITING", 1, "NOT_ENOUGH_PLACES")
		w.wantEntry(one, "OFFERED", 0, "")
		w.wantEntry(two, "WAITING", 2, "")
		w.setCapacity(e, 5)
		w.wantEntry(two, "OFFERED", 0, "")
		w.setCapacity(e, 8)
		w.wantEntry(three, "OFFERED", 0, "NOT_ENOUGH_PLACES")
		if n := w.published(subjectWaitlistPassedOver) - before; n != 1 {
			t.Errorf("%d events for entries that were passed over", n)
		}
	})
	t.Run("an offer can be paid by pass, and stays open when the pass is refused", func(t *testing.T) {
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
	w.verify()
}

func TestWaitlistOffersWhenTheEventChanges(t *testing.T) { // invariants 18 and 19
	t.Parallel()
	w := newWorld(t)
	t.Run("the job makes the offers that are too many for one commit", func(t *testing.T) {
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
			t.Errorf("%d of %d are offered spaces", n, more)
		}
		w.later(time.Second)
		if n := offered(); n != more || one[int64](w, `select count(*) from event_dates where promoting`) != 0 {
			t.Errorf("then %d of %d are", n, more)
		}
	})
	t.Run("offers end with the date", func(t *testing.T) {
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
			t.Errorf("%d spaces are taken", n)
		}
	})
	t.Run("expire at the start of the date, when waiting also ends", func(t *testing.T) {
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
	t.Run("offers are made when an event is published", func(t *testing.T) {
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
