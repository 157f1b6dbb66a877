package booking

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/tenancy"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// of returns a world for another company on the same server.
func (w *world) of(company id.Company) *world {
	return &world{
		t: w.t, db: w.db, server: w.server, conn: w.conn, bookings: w.bookings, events: w.events, issuer: w.issuer,
		customers: w.customers, companies: w.companies, passes: w.passes, discounts: w.discounts, verifier: w.verifier,
		waitlist: w.waitlist, company: company, ctx: w.as(company),
	}
}

// setClock sets by how much the company's test clock is ahead, as auth does.
func (w *world) setClock(ahead time.Duration, version int64) {
	w.t.Helper()
	err := w.db.InTx(w.t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		return w.server.companies.Keep(ctx, tx, []tenancy.Company{{
			ID: w.company, Timezone: "Europe/London", Currency: "GBP", ClockOffset: int64(ahead / time.Second), Version: version,
		}})
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// jobs runs the jobs once, by the real time.
func (w *world) jobs() {
	w.t.Helper()
	if err := w.server.expireOnce(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// inModes returns worlds of a company in live mode and in test mode.
func inModes(w *world) (live, test *world) { return w, w.of(w.company.Test()) }

const month = 30 * 24 * time.Hour

// reasonOfBooking books a space and returns the reason of a refusal.
func (w *world) reasonOfBooking(e *bookingv1.Event, code string) string {
	w.t.Helper()
	_, err := w.bookings.HoldPlaces(w.ctx, &bookingv1.HoldPlacesRequest{
		PurchaserId: w.customer(w.company, "ann").String(), Lines: []*bookingv1.TransactionLine{{EventDateId: e.GetDates()[0].GetId(), Spaces: 1}}, DiscountCode: code,
	})
	if err == nil {
		return "booked"
	}
	return fault.From(err).Reason
}

// clockDecisions make something that the time decides about, and return a function that shows the decision.
var clockDecisions = map[string]struct {
	make          func(w *world) func() string
	before, after string // two days later
}{
	"a hold expires": {func(w *world) func() string {
		e := w.passEvent(new(int32(5)), month, nil)
		h := w.hold(w.customer(w.company, "ann"), e, 2, "")
		return func() string {
			got, err := w.readHold(h.GetId())
			return fmt.Sprint(got.GetStatus(), err, w.booked(e))
		}
	}, "HOLD_STATUS_ACTIVE <nil> 2", "HOLD_STATUS_EXPIRED <nil> 0"},
	"an offer expires": {func(w *world) func() string {
		e := w.passEvent(new(int32(1)), month, nil)
		bought := w.mustBook(w.ctx, w.customer(w.company, "Full"), e, 1)
		entry := w.waits(e, 1, byOffer)
		w.cancel(bought)
		return func() string { return fmt.Sprint(w.entry(entry).GetState(), w.booked(e)) }
	}, "WAITLIST_STATE_OFFERED 1", "WAITLIST_STATE_EXPIRED 0"},
	"a waitlist closes when its date starts": {func(w *world) func() string {
		e := w.passEvent(new(int32(1)), 24*time.Hour, nil)
		w.mustBook(w.ctx, w.customer(w.company, "Full"), e, 1)
		entry := w.waits(e, 1, byOffer)
		return func() string {
			stored := one[string](w, `select state from waitlist_entries where company_id = $1 and id = $2`, w.company, idOf[id.WaitlistEntry](w.t.(*testing.T), entry.GetId()))
			return fmt.Sprint(w.entry(entry).GetState(), " ", stored)
		}
	}, "WAITLIST_STATE_WAITING waiting", "WAITLIST_STATE_CLOSED closed"},
	"booking opens": {func(w *world) func() string {
		e := w.ruled(100, month, &bookingv1.BookingRules{OpensAt: inSeconds(24 * time.Hour)})
		return func() string { return w.reasonOfBooking(e, "") }
	}, model.ReasonBookingNotOpen, "booked"},
	"booking closes": {func(w *world) func() string {
		e := w.ruled(100, month, &bookingv1.BookingRules{ClosesAt: inSeconds(24 * time.Hour)})
		return func() string { return w.reasonOfBooking(e, "") }
	}, "booked", model.ReasonBookingClosed},
	"the minimum notice begins": {func(w *world) func() string {
		e := w.ruled(100, 72*time.Hour, &bookingv1.BookingRules{MinimumNoticeMinutes: 36 * 60})
		return func() string { return w.reasonOfBooking(e, "") }
	}, "booked", model.ReasonBookingClosed},
	"the maximum advance begins": {func(w *world) func() string {
		e := w.ruled(100, 72*time.Hour, &bookingv1.BookingRules{MaximumAdvanceDays: 2})
		return func() string { return w.reasonOfBooking(e, "") }
	}, model.ReasonBookingNotOpen, "booked"},
	"a date starts": {func(w *world) func() string {
		e := w.ruled(100, 24*time.Hour, nil)
		return func() string { return w.reasonOfBooking(e, "") }
	}, "booked", model.ReasonEventPast},
	"a date is not available after its start": {func(w *world) func() string {
		e := w.ruled(100, 24*time.Hour, nil)
		return func() string {
			got, err := w.events.GetEventDate(w.ctx, &bookingv1.GetEventDateRequest{Id: e.GetDates()[0].GetId()})
			listed, _ := w.events.ListEventDates(w.ctx, &bookingv1.ListEventDatesRequest{EventId: e.GetId(), Available: true})
			return fmt.Sprint(got.GetDate().GetAvailable(), err, len(listed.GetDates()))
		}
	}, "true <nil> 1", "false <nil> 0"},
	"a date is not to come after its start": {func(w *world) func() string {
		e := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{Title: "Yoga", Dates: []*bookingv1.NewEventDate{newDate(24*time.Hour, nil), newDate(month, nil)}})
		return func() string {
			listed, err := w.events.ListEvents(w.ctx, &bookingv1.ListEventsRequest{})
			at := slices.IndexFunc(listed.GetEvents(), func(l *bookingv1.Event) bool { return l.GetId() == e.GetId() })
			return fmt.Sprint(w.getEvent(e.GetId()).GetSummary().GetUpcoming(), listed.GetEvents()[at].GetSummary().GetUpcoming(), err)
		}
	}, "2 2 <nil>", "1 1 <nil>"},
	"a cancellation becomes late": {func(w *world) func() string {
		e := w.passEvent(nil, 72*time.Hour, new(int32(36*60)))
		booking := w.mustBook(w.ctx, w.customer(w.company, "ann"), e, 1).GetBookings()[0].GetId()
		return func() string {
			got, err := w.bookings.PreviewCancellation(w.ctx, &bookingv1.PreviewCancellationRequest{BookingId: booking})
			return fmt.Sprint(got.GetOutcome().GetLate(), err)
		}
	}, "false <nil>", "true <nil>"},
	"a discount code begins": {func(w *world) func() string {
		e, code := w.ruled(100, month, nil), percent("SOON", 1000)
		code.ValidFrom = inSeconds(24 * time.Hour)
		w.code(code)
		return func() string { return w.reasonOfBooking(e, "SOON") }
	}, model.ReasonDiscountInvalid, "booked"},
	"a discount code ends": {func(w *world) func() string {
		e, code := w.ruled(100, month, nil), percent("NOW", 1000)
		code.ValidUntil = inSeconds(24 * time.Hour)
		w.code(code)
		return func() string { return w.reasonOfBooking(e, "NOW") }
	}, "booked", model.ReasonDiscountInvalid},
	"a booking is not in the future after its start": {func(w *world) func() string {
		e, ann := w.passEvent(nil, 24*time.Hour, nil), w.customer(w.company, "ann")
		w.mustBook(w.ctx, ann, e, 1)
		return func() string {
			got, err := w.bookings.ListTransactions(w.ctx, &bookingv1.ListTransactionsRequest{CustomerId: ann.String(), FutureOnly: true})
			return fmt.Sprint(got.GetTotal(), err)
		}
	}, "1 <nil>", "0 <nil>"},
	"a purchase of a course has the dates to come": {func(w *world) func() string {
		e := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{
			Title: "Course", Type: bookingv1.EventType_EVENT_TYPE_COURSE, Dates: []*bookingv1.NewEventDate{newDate(24*time.Hour, nil), newDate(month, nil)},
			PricingOptions: []*bookingv1.NewPricingOption{{Name: "All", Price: 1000, WholeCourse: true}},
		})
		return func() string {
			got, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{
				PurchaserId: w.customer(w.company, "ann").String(), Lines: []*bookingv1.TransactionLine{{EventId: e.GetId(), Spaces: 1}},
			})
			return fmt.Sprint(len(got.GetTransaction().GetBookings()), err)
		}
	}, "2 <nil>", "1 <nil>"},
}

func TestTestClockDecides(t *testing.T) { // invariant 30
	t.Parallel()
	for name, d := range clockDecisions {
		t.Run(name+" by the test clock, and in live mode by the real time", func(t *testing.T) {
			t.Parallel()
			live, test := inModes(newWorld(t))
			other := live.of(id.New[id.Company]().Test()) // in test mode, with a clock that is not moved
			shows := map[string]func() string{"live": d.make(live), "test": d.make(test), "other": d.make(other)}
			check := func(mode, want string) {
				t.Helper()
				if got := shows[mode](); got != want {
					t.Errorf("%s mode: got %s, want %s", mode, got, want)
				}
			}
			check("live", d.before)
			check("test", d.before)
			test.setClock(48*time.Hour, 2)
			live.jobs()
			check("live", d.before)
			check("other", d.before)
			check("test", d.after)
			live.inStep()
		})
	}
}

func TestTestClockBeforeTheJobsRun(t *testing.T) { // invariant 30
	t.Parallel()
	live, test := inModes(newWorld(t))
	confirm := map[*world]func() error{}
	for _, w := range []*world{live, test} {
		h := w.hold(w.customer(w.company, "ann"), w.passEvent(nil, month, nil), 1, "")
		confirm[w] = func() error {
			_, err := w.bookings.ConfirmHold(w.ctx, &bookingv1.ConfirmHoldRequest{HoldId: h.GetId()})
			return err
		}
	}
	test.setClock(time.Hour, 2)
	if err := confirm[live](); err != nil {
		t.Errorf("live mode: %v", err)
	}
	wantFault(t, confirm[test](), fault.Refused, ReasonHoldExpired)
}

func TestTestClockIsShown(t *testing.T) { // invariant 30
	t.Parallel()
	live, test := inModes(newWorld(t))
	const ahead = 400 * 24 * time.Hour
	test.setClock(ahead, 2)
	for mode, w := range map[*world]time.Duration{live: 0, test: ahead} {
		now := time.Now().Add(w)
		recent := func(what string, at *timestamppb.Timestamp) {
			t.Helper()
			if d := at.AsTime().Sub(now); d < -2*time.Second || d > time.Minute {
				t.Errorf("%s of %s is %s from the company's time", what, mode.company, d)
			}
		}
		e := mode.createEvent(mode.ctx, &bookingv1.CreateEventRequest{
			Title: "Yoga", Dates: []*bookingv1.NewEventDate{newDate(ahead+time.Hour, new(int32(2)))}, PricingOptions: []*bookingv1.NewPricingOption{{Name: "Adult", Price: 100}},
		})
		recent("the creation of an event", e.GetCreatedAt())
		recent("the change of an event", mode.updateEvent(&bookingv1.UpdateEventRequest{Id: e.GetId(), Title: new("Yin")}).GetUpdatedAt())
		ann := mode.customer(mode.company, "ann")
		bought := mode.mustBook(mode.ctx, ann, e, 1)
		recent("a purchase", bought.GetPurchasedAt())
		held := mode.hold(ann, e, 1, "")
		recent("a hold", held.GetCreatedAt())
		recent("the expiry of a hold", timestamppb.New(held.GetExpiresAt().AsTime().Add(-defaultHoldMinutes*time.Minute)))
		recent("a waitlist entry", mode.waits(e, 1, byOffer).GetJoinedAt())
		mode.releaseHold(held)
		mode.cancel(bought)
		r := mode.registration(bought.GetBookings()[0].GetId())
		recent("a registration", r.GetCreatedAt())
		recent("the change of a registration", r.GetUpdatedAt())
		recent("a cancellation", r.GetBooking().GetCancelledAt())
		recent("a discount code", mode.code(percent("TEN", 1000)).GetCreatedAt())
	}
	t.Run("domain events occur at the real time", func(t *testing.T) {
		if n := one[int64](live, `select count(*) from outbox where occurred_at > clock_timestamp() or occurred_at < clock_timestamp() - interval '1 hour'`); n > 0 {
			t.Errorf("%d events occurred at another time", n)
		}
		if n := one[int64](live, `select count(distinct company_id) from outbox`); n != 2 {
			t.Errorf("%d companies have events", n)
		}
	})
	t.Run("what is kept for a time is kept by the real time", func(t *testing.T) {
		if n := one[int64](live, `select (select count(*) from ended_holds where ended_at > clock_timestamp())
			+ (select count(*) from transactions where status = 'released' and expires_at > clock_timestamp())`); n > 0 {
			t.Errorf("%d rows are kept longer", n)
		}
	})
}

func TestTestClockAndPurchasesByPass(t *testing.T) { // invariants 15 and 30
	t.Parallel()
	live, test := inModes(newWorld(t))
	test.setClock(48*time.Hour, 2)
	mia := test.customer(test.company, "Mia")
	test.passes.give(mia, 10)
	e := test.passEvent(nil, month, nil)
	t.Run("a purchase that was interrupted is undone by the real time", func(t *testing.T) {
		test.passes.setBefore(func(string) error { return errPassAway })
		if _, err := test.byPass(test.ctx, mia, e, 1); err == nil {
			t.Fatal("the purchase is complete")
		}
		test.passes.setBefore(nil)
		live.jobs()
		if test.booked(e) != 1 {
			t.Error("the purchase was undone before its time")
		}
		live.later(model.PendingTime + time.Second)
		if test.booked(e) != 0 {
			t.Error("the purchase was not undone")
		}
	})
	t.Run("an entry whose pass could not be checked is retried by the time since then", func(t *testing.T) {
		e := test.passEvent(new(int32(1)), month, nil)
		bought := test.mustBook(test.ctx, mia, e, 1)
		payer, req := test.payerByPass(5)
		entry, err := test.join(req, payer, e)
		if err != nil {
			t.Fatal(err)
		}
		var called atomic.Bool // the payment begins after the commit that takes the space
		test.passes.setBefore(func(string) error { called.Store(true); return errPassAway })
		test.cancel(bought)
		test.eventually("the call of the pass service", called.Load)
		if n := test.booked(e); n != 1 {
			t.Errorf("%d spaces are taken", n)
		}
		test.passes.setBefore(nil)
		live.later(model.PendingTime + 30*time.Second)
		test.wantEntry(entry, "WAITING", 1, model.PassedOverPassAway)
		live.later(model.PendingTime + 40*time.Second)
		test.wantEntry(entry, "WAITING", 1, model.PassedOverPassAway)
		live.later(model.PendingTime + 2*retryAfter + time.Minute)
		test.eventually("the booking", func() bool { return test.entry(entry).GetState() == bookingv1.WaitlistState_WAITLIST_STATE_BOOKED })
	})
}

func TestTestClocksOfManyCompanies(t *testing.T) { // invariant 30
	t.Parallel()
	w := newWorld(t)
	const most = expiryBatch
	// holds adds n holds of a company that expire in a minute, one after the other.
	holds := func(company id.Company, n int) {
		w.exec(`insert into transactions (company_id, id, purchaser_id, purchased_at, timezone, source, status, expires_at, hold_expires_at)
			select $1, gen_random_uuid(), gen_random_uuid(), date_trunc('second', now()), 'UTC', 'live', 'held', e.at, e.at
			from (select now() + interval '1 minute' + n * interval '1 ms' as at from generate_series(1, $2::integer) n) e`, company, n)
	}
	busy, quiet, unmoved := w.of(id.New[id.Company]().Test()), w.of(id.New[id.Company]().Test()), w.of(id.New[id.Company]().Test())
	for _, test := range []*world{busy, quiet} {
		test.setClock(time.Hour, 2)
	}
	unmoved.setClock(0, 2)
	holds(busy.company, most)
	holds(quiet.company, most)
	holds(unmoved.company, 5)
	holds(w.company, most+5)
	found := func(at time.Time) map[id.Company]int {
		t.Helper()
		due, err := w.server.store.ExpiredHolds(t.Context(), at, most)
		if err != nil {
			t.Fatal(err)
		}
		count, seen := map[id.Company]int{}, map[id.Transaction]bool{}
		for _, d := range due {
			if seen[d.ID] {
				t.Errorf("%s is found twice", d.ID)
			}
			seen[d.ID] = true
			count[d.Company]++
		}
		return count
	}
	t.Run("finds holds by test clocks that are ahead, of every such company, and no others", func(t *testing.T) {
		got := found(time.Now())
		if got[w.company]+got[unmoved.company] > 0 || got[busy.company] == 0 || got[quiet.company] == 0 || got[busy.company]+got[quiet.company] != most {
			t.Errorf("got %v", got)
		}
	})
	t.Run("they take nothing from the limit of holds that have expired by the real time", func(t *testing.T) {
		w.exec(`update transactions set expires_at = now() - interval '1 minute' where company_id = $1`, w.company)
		if got := found(time.Now()); got[w.company] != most || got[busy.company]+got[quiet.company] != most {
			t.Errorf("got %v", got)
		}
	})
	t.Run("a clock that is set back to the present finds no more", func(t *testing.T) {
		busy.setClock(0, 3)
		if got := found(time.Now()); got[busy.company] != 0 || got[quiet.company] != most {
			t.Errorf("got %v", got)
		}
	})
}

func TestDeletedTestData(t *testing.T) {
	t.Parallel()
	live, test := inModes(newWorld(t))
	neighbour := live.of(id.New[id.Company]().Test())
	events, bookings := map[*world]*bookingv1.Event{}, map[*world]string{}
	for _, w := range []*world{live, test, neighbour} {
		e := w.passEvent(new(int32(5)), month, nil)
		ann := w.customer(w.company, "ann")
		events[w], bookings[w] = e, w.mustBook(w.ctx, ann, e, 1).GetBookings()[0].GetId()
		w.hold(ann, e, 1, "")
		w.code(percent("TEN", 1000))
	}
	t.Run("a company in live mode cannot delete its data", func(t *testing.T) {
		_, err := authv1.NewTestDataServiceClient(live.conn).DeleteTestData(live.asPlatform(live.company), &authv1.DeleteTestDataRequest{})
		wantFault(t, err, fault.Refused, fault.ReasonLiveMode)
	})
	deleted, err := authv1.NewTestDataServiceClient(live.conn).DeleteTestData(live.asPlatform(test.company), &authv1.DeleteTestDataRequest{})
	if err != nil || deleted.GetDeleted() == 0 {
		t.Fatalf("got %v, %v", deleted, err)
	}
	t.Run("no process shows or sells what was deleted", func(t *testing.T) {
		for _, w := range []*world{test, test.process().of(test.company)} {
			_, err := w.events.GetEvent(w.ctx, &bookingv1.GetEventRequest{Id: events[test].GetId()})
			wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
			if got, err := w.events.ListEvents(w.ctx, &bookingv1.ListEventsRequest{}); err != nil || got.GetTotal() != 0 {
				t.Errorf("got %v, %v", got, err)
			}
			if got := w.registrations(&bookingv1.ListRegistrationsRequest{}); len(got) != 0 {
				t.Errorf("got the registrations %v", got)
			}
			ben := w.customer(w.company, "ben")
			_, err = w.book(w.ctx, ben, events[test], 1)
			wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
			_, err = w.byPass(w.ctx, ben, events[test], 1) // names only the event
			wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		}
	})
	t.Run("the company in live mode and other companies keep their data", func(t *testing.T) {
		for _, w := range []*world{live, neighbour} {
			if w.booked(events[w]) != 2 || w.registration(bookings[w]).GetBooking().GetId() != bookings[w] {
				t.Errorf("the data of %s changed", w.company)
			}
		}
	})
	t.Run("the company starts again", func(t *testing.T) {
		e := test.passEvent(new(int32(5)), month, nil)
		test.mustBook(test.ctx, test.customer(test.company, "ann"), e, 1)
		test.code(percent("TEN", 1000))
		live.inStep()
		test.verify()
	})
}
