package booking

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// payloads reads the events of a subject in the order of their publication.
func payloads[T any, P interface {
	*T
	proto.Message
}](w *world, subject string) (all []P) {
	w.t.Helper()
	err := w.db.Read(w.t.Context(), pg.AllCompanies(), pg.Query{
		SQL: `select payload from outbox where subject = $1 order by created_at, id`, Args: []any{subject}, Scan: pg.Each(func(rows pgx.Rows) error {
			var payload []byte
			if err := rows.Scan(&payload); err != nil {
				return err
			}
			var event T
			all = append(all, &event)
			return proto.Unmarshal(payload, P(&event))
		})})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// wantEnd checks that an entry has ended once, that its event has the entry before and after the end,
// and that each change has raised its version.
func (w *world) wantEnd(entry *bookingv1.WaitlistEntry, from, to bookingv1.WaitlistState) {
	w.t.Helper()
	var ends []*bookingv1.WaitlistEnded
	for _, e := range payloads[bookingv1.WaitlistEnded](w, subjectWaitlistEnded) {
		if e.GetEntry().GetId() == entry.GetId() {
			ends = append(ends, e)
		}
	}
	if len(ends) != 1 {
		w.t.Errorf("%d events: %v", len(ends), ends)
		return
	}
	after, before, now := ends[0].GetEntry(), ends[0].GetPrevious(), w.entry(entry)
	if !proto.Equal(after, now) || after.GetState() != to || before.GetState() != from || before.GetVersion() >= after.GetVersion() {
		w.t.Errorf("announced %v\nafter %v\nis %v", after, before, now)
	}
}

const (
	entryWaiting = bookingv1.WaitlistState_WAITLIST_STATE_WAITING
	entryOffered = bookingv1.WaitlistState_WAITLIST_STATE_OFFERED
	entryBooked  = bookingv1.WaitlistState_WAITLIST_STATE_BOOKED
	entryLapsed  = bookingv1.WaitlistState_WAITLIST_STATE_EXPIRED
	entryLeft    = bookingv1.WaitlistState_WAITLIST_STATE_LEFT
	entryClosed  = bookingv1.WaitlistState_WAITLIST_STATE_CLOSED
)

func TestWaitlistEnds(t *testing.T) { // invariant 19
	t.Parallel()
	w := newWorld(t)
	accept := func(entry *bookingv1.WaitlistEntry, method bookingv1.PaymentMethod) {
		t.Helper()
		if _, err := w.waitlist.AcceptOffer(w.ctx, &bookingv1.AcceptOfferRequest{Id: entry.GetId(), PaymentMethod: method}); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("an entry ends when it is booked, by card or by pass, with or without an offer", func(t *testing.T) {
		e, bought := w.fullEvent(4)
		rich, req := w.payerByPass(5)
		byPassNow, err := w.join(req, rich, e)
		if err != nil {
			t.Fatal(err)
		}
		mia := w.customer(w.company, "Mia")
		w.passes.give(mia, 5)
		offeredByPass, err := w.join(&bookingv1.JoinWaitlistRequest{}, mia, e)
		if err != nil {
			t.Fatal(err)
		}
		byCardNow, offeredByCard := w.waits(e, 1, byBooking), w.waits(e, 1, byOffer)
		w.cancel(bought)
		accept(offeredByCard, 0)
		accept(offeredByPass, byPass)
		w.eventually("it is paid by pass", func() bool { return w.entry(byPassNow).GetState() == entryBooked })
		w.wantEnd(byPassNow, entryWaiting, entryBooked)
		w.wantEnd(byCardNow, entryWaiting, entryBooked)
		w.wantEnd(offeredByCard, entryOffered, entryBooked)
		w.wantEnd(offeredByPass, entryOffered, entryBooked)
	})
	t.Run("an entry ends when its offer expires or the customer leaves", func(t *testing.T) {
		e, bought := w.fullEvent(1)
		first, second, third := w.waits(e, 1, byOffer), w.waits(e, 1, byOffer), w.waits(e, 1, byOffer)
		w.cancel(bought)
		w.later(16 * time.Minute)
		for _, entry := range []*bookingv1.WaitlistEntry{second, third} {
			if _, err := w.waitlist.LeaveWaitlist(w.ctx, &bookingv1.LeaveWaitlistRequest{Id: entry.GetId()}); err != nil {
				t.Fatal(err)
			}
		}
		w.wantEnd(first, entryOffered, entryLapsed)
		w.wantEnd(second, entryOffered, entryLeft)
		w.wantEnd(third, entryOffered, entryLeft)
	})
	t.Run("the entries of a cancelled date end before the call returns, also without bookings", func(t *testing.T) {
		full, bought := w.fullEvent(2)
		had, has := w.waits(full, 1, byOffer), w.waits(full, 2, byOffer)
		w.cancel(bought)
		empty := w.passEvent(new(int32(0)), time.Hour, nil)
		waits := w.waits(empty, 1, byOffer)
		for _, e := range []*bookingv1.Event{full, empty} {
			if _, err := w.events.CancelEvent(w.ctx, &bookingv1.CancelEventRequest{Id: e.GetId()}); err != nil {
				t.Fatal(err)
			}
		}
		w.wantEnd(had, entryOffered, entryClosed)
		w.wantEnd(has, entryWaiting, entryClosed)
		w.wantEnd(waits, entryWaiting, entryClosed)
		if _, err := w.waitlist.AcceptOffer(w.ctx, &bookingv1.AcceptOfferRequest{Id: had.GetId()}); fault.From(err).Reason != model.ReasonEventCancelled {
			t.Errorf("accepting the offer: %v", err)
		}
	})
	t.Run("the entries of a deleted event end", func(t *testing.T) {
		e := w.passEvent(new(int32(0)), time.Hour, nil)
		entry := w.waits(e, 1, byOffer)
		if _, err := w.events.DeleteEvent(w.ctx, &bookingv1.DeleteEventRequest{Id: e.GetId()}); err != nil {
			t.Fatal(err)
		}
		if err := w.server.finishClosings(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.wantEnd(entry, entryWaiting, entryClosed)
	})
	t.Run("the entries of a date end when it starts, and look the same from then on", func(t *testing.T) {
		moved, bought := w.fullEvent(1)
		_ = bought
		entries := []*bookingv1.WaitlistEntry{w.waits(moved, 1, byOffer), w.waits(moved, 1, byBooking)}
		earlier := timestamppb.New(time.Now().Add(30 * time.Minute).Truncate(time.Second))
		if _, err := w.events.UpdateEventDate(w.ctx, &bookingv1.UpdateEventDateRequest{Date: &bookingv1.EventDateChange{
			Id: moved.GetDates()[0].GetId(), StartsAt: earlier,
		}}); err != nil {
			t.Fatal(err)
		}
		w.exec(`update waitlist_entries set closes_at = '-infinity' where id = $1`, idOf[id.WaitlistEntry](t, entries[1].GetId())) // by an earlier release
		w.later(20 * time.Minute)
		w.wantEntry(entries[1], "WAITING", 2, "")
		defer w.shift(0)
		w.shift(31 * time.Minute)
		shown := w.entry(entries[0])
		if _, err := w.waitlist.LeaveWaitlist(w.ctx, &bookingv1.LeaveWaitlistRequest{Id: entries[0].GetId()}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := w.server.closeWaitlists(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for _, entry := range entries {
			w.wantEnd(entry, entryWaiting, entryClosed)
			if _, err := w.waitlist.AcceptOffer(w.ctx, &bookingv1.AcceptOfferRequest{Id: entry.GetId()}); fault.From(err).Reason != model.ReasonNotOffered {
				t.Errorf("accepting an offer that was never made: %v", err)
			}
		}
		shown.UpdatedAt = w.entry(entries[0]).GetUpdatedAt()
		if now := w.entry(entries[0]); !proto.Equal(now, shown) {
			t.Errorf("shown as %v\nstored as %v", shown, now)
		}
	})
	t.Run("the entries of a deleted customer end", func(t *testing.T) {
		e, _ := w.fullEvent(1)
		entry := w.waits(e, 1, byOffer)
		gone := w.customers.known[idOf[id.Customer](t, entry.GetCustomerId())]
		gone.DeletedAt, gone.Version = time.Now(), 2
		w.customers.add(w.company, gone)
		for range 2 {
			if err := w.confirmDeletion(gone.ID); err != nil {
				t.Fatal(err)
			}
		}
		w.wantEnd(entry, entryWaiting, entryLeft)
	})
	w.verify()
	w.endsInStep()
}

// endsInStep checks that each waitlist entry that has ended was announced once, and each hold that has
// expired once, either as a hold or as the entry whose offer it was.
func (w *world) endsInStep() {
	w.t.Helper()
	if ended, events := one[int64](w, `select count(*) from waitlist_entries where state in ('booked', 'expired', 'left', 'closed')`),
		w.published(subjectWaitlistEnded); ended != events {
		w.t.Errorf("%d entries have ended, with %d events", ended, events)
	}
	offers, announced := map[string]bool{}, map[string]bool{}
	for _, e := range payloads[bookingv1.WaitlistOffered](w, subjectWaitlistOffered) {
		offers[e.GetEntry().GetTransactionId()] = true
	}
	for _, e := range payloads[bookingv1.HoldExpired](w, subjectHoldExpired) {
		if which := e.GetHold().GetId(); announced[which] || offers[which] {
			w.t.Errorf("hold %s was announced twice, or is an offer", which)
		} else {
			announced[which] = true
		}
	}
	ended, err := pg.Rows[string](w.t.Context(), w.db, pg.AllCompanies(), `select hold->>'id' from ended_holds where hold->>'status' = 'HOLD_STATUS_EXPIRED'`)
	if err != nil {
		w.t.Fatal(err)
	}
	ended = slices.DeleteFunc(ended, func(which string) bool { return offers[which] })
	for _, which := range ended {
		if !announced[which] {
			w.t.Errorf("hold %s has expired without an event", which)
		}
	}
	if len(ended) != len(announced) {
		w.t.Errorf("%d holds have expired, with %d events", len(ended), len(announced))
	}
	if n := one[int64](w, `select count(*) from transactions t where t.status = 'released' and t.hold_expires_at is not null
		and not exists (select from ended_holds h where h.company_id = t.company_id and h.id = t.id)`); n != 0 {
		w.t.Errorf("%d ended holds cannot be read", n)
	}
}

func TestWaitlistVersions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e, _ := w.fullEvent(2)
	three, entry := w.waits(e, 3, byOffer), w.waits(e, 1, byOffer)
	if entry.GetVersion() != 1 || entry.GetEventId() != e.GetId() || !proto.Equal(entry.GetUpdatedAt(), entry.GetJoinedAt()) {
		t.Errorf("joined as %v", entry)
	}
	w.setCapacity(e, 3)
	for _, changed := range []*bookingv1.WaitlistEntry{three, entry} { // passed over, and offered
		if got := w.entry(changed); got.GetVersion() != 2 || !got.GetUpdatedAt().AsTime().After(changed.GetUpdatedAt().AsTime()) {
			t.Errorf("got %v", got)
		}
	}
	leave := func(version int64) (*bookingv1.LeaveWaitlistResponse, error) {
		return w.waitlist.LeaveWaitlist(w.ctx, &bookingv1.LeaveWaitlistRequest{Id: entry.GetId(), ExpectedVersion: &version})
	}
	_, err := leave(1)
	wantFault(t, err, fault.VersionMismatch, fault.ReasonVersionMismatch)
	accept := &bookingv1.AcceptOfferRequest{Id: entry.GetId(), ExpectedVersion: new(int64(1))}
	_, err = w.waitlist.AcceptOffer(w.ctx, accept)
	wantFault(t, err, fault.VersionMismatch, fault.ReasonVersionMismatch)
	w.wantEntry(entry, "OFFERED", 0, "")
	if resp, err := leave(2); err != nil || !resp.GetChanged() || resp.GetEntry().GetVersion() != 3 {
		t.Errorf("got %v, %v", resp, err)
	}
	_, err = leave(2)
	wantFault(t, err, fault.VersionMismatch, fault.ReasonVersionMismatch)
	if resp, err := leave(3); err != nil || resp.GetChanged() || resp.GetEntry().GetVersion() != 3 {
		t.Errorf("got %v, %v", resp, err)
	}
	_, err = w.waitlist.AcceptOffer(w.ctx, accept)
	wantFault(t, err, fault.VersionMismatch, fault.ReasonVersionMismatch)
	w.setCapacity(e, 2)
	offered := w.waits(e, 1, byOffer)
	w.setCapacity(e, 3)
	accept = &bookingv1.AcceptOfferRequest{Id: offered.GetId(), ExpectedVersion: new(w.entry(offered).GetVersion())}
	for range 2 { // the second response is a replay
		if resp, err := w.waitlist.AcceptOffer(withKey(w.ctx, offered.GetId()), accept); err != nil || resp.GetAlreadyAccepted() {
			t.Errorf("got %v, %v", resp, err)
		}
	}
}

func TestListCompanyWaitlist(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	busy, boughtBusy := w.fullEvent(1)
	other, _ := w.fullEvent(1)
	cancelled, _ := w.fullEvent(1)
	a, b := w.waits(busy, 1, byOffer), w.waits(other, 1, byOffer)
	c, d := w.waits(busy, 1, byBooking), w.waits(other, 1, byOffer)
	gone := w.waits(cancelled, 1, byOffer)
	names := map[string]string{a.GetId(): "a", b.GetId(): "b", c.GetId(): "c", d.GetId(): "d", gone.GetId(): "g"}
	if _, err := w.events.CancelEvent(w.ctx, &bookingv1.CancelEventRequest{Id: cancelled.GetId()}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.waitlist.LeaveWaitlist(w.ctx, &bookingv1.LeaveWaitlistRequest{Id: b.GetId()}); err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	w.cancel(boughtBusy) // a is offered the space
	// read lists all pages and returns the names of the entries with their positions.
	read := func(t *testing.T, req *bookingv1.ListWaitlistRequest) (got string) {
		t.Helper()
		req.PageSize = 1
		for {
			resp, err := w.waitlist.ListWaitlist(w.ctx, req)
			if err != nil {
				t.Fatal(err)
			}
			for _, entry := range resp.GetEntries() {
				got += names[entry.GetId()]
				if entry.GetPosition() > 0 {
					got += strconv.Itoa(int(entry.GetPosition()))
				}
			}
			if req.PageToken, req.Offset = resp.GetNextPageToken(), 0; req.PageToken == "" {
				return got
			}
		}
	}
	const (
		created     = bookingv1.WaitlistOrder_WAITLIST_ORDER_CREATED
		createdDesc = bookingv1.WaitlistOrder_WAITLIST_ORDER_CREATED_DESC
		updated     = bookingv1.WaitlistOrder_WAITLIST_ORDER_UPDATED
		updatedDesc = bookingv1.WaitlistOrder_WAITLIST_ORDER_UPDATED_DESC
	)
	for name, l := range map[string]struct {
		req  *bookingv1.ListWaitlistRequest
		want string
	}{
		"open entries by creation":                {&bookingv1.ListWaitlistRequest{Order: created}, "ac1d1"},
		"open entries, newest first":              {&bookingv1.ListWaitlistRequest{Order: createdDesc}, "d1c1a"},
		"all entries":                             {&bookingv1.ListWaitlistRequest{Order: created, IncludeEnded: true}, "abc1d1g"},
		"all entries by change":                   {&bookingv1.ListWaitlistRequest{Order: updated, IncludeEnded: true}, "c1d1gba"},
		"all entries, latest change first":        {&bookingv1.ListWaitlistRequest{Order: updatedDesc, IncludeEnded: true}, "abgd1c1"},
		"what has changed since":                  {&bookingv1.ListWaitlistRequest{Order: updated, UpdatedSince: timestamppb.New(before)}, "a"},
		"a customer's entries":                    {&bookingv1.ListWaitlistRequest{Order: created, CustomerId: d.GetCustomerId()}, "d1"},
		"a customer's entries on another date":    {&bookingv1.ListWaitlistRequest{EventDateId: a.GetEventDateId(), CustomerId: d.GetCustomerId()}, ""},
		"the entries of an unknown customer":      {&bookingv1.ListWaitlistRequest{Order: created, CustomerId: "x"}, ""},
		"waiting entries":                         {&bookingv1.ListWaitlistRequest{Order: created, State: entryWaiting}, "c1d1"},
		"offered entries":                         {&bookingv1.ListWaitlistRequest{Order: created, State: entryOffered}, "a"},
		"expired entries without closed ones":     {&bookingv1.ListWaitlistRequest{Order: created, State: entryLapsed}, ""},
		"expired and closed entries":              {&bookingv1.ListWaitlistRequest{Order: created, State: entryLapsed, WithClosed: true}, "g"},
		"closed entries, which have ended":        {&bookingv1.ListWaitlistRequest{Order: created, State: entryClosed}, "g"},
		"the entries of a date, newest first":     {&bookingv1.ListWaitlistRequest{EventDateId: a.GetEventDateId(), Order: createdDesc}, "c1a"},
		"the entries of a date in waitlist order": {&bookingv1.ListWaitlistRequest{EventDateId: a.GetEventDateId()}, "ac1"},
		"all but the first entry":                 {&bookingv1.ListWaitlistRequest{Order: created, Offset: 1}, "c1d1"},
		"all but the first entry of a date":       {&bookingv1.ListWaitlistRequest{EventDateId: a.GetEventDateId(), Offset: 1}, "c1"},
	} {
		t.Run(name, func(t *testing.T) {
			full := proto.CloneOf(l.req)
			full.PageSize = 200
			resp, err := w.waitlist.ListWaitlist(w.ctx, full)
			if err != nil || resp.GetTotal() != int64(len(resp.GetEntries()))+full.GetOffset() {
				t.Errorf("got %v, %v", resp, err)
			}
			if got := read(t, l.req); got != l.want {
				t.Errorf("got %s, want %s", got, l.want)
			}
		})
	}
	t.Run("an entry whose date has started is not listed as waiting, even before it is closed", func(t *testing.T) {
		w.shift(2 * time.Hour)
		defer w.shift(0)
		for want, req := range map[string]*bookingv1.ListWaitlistRequest{
			"a": {Order: created}, "": {Order: created, State: entryWaiting}, "abcdg": {Order: created, IncludeEnded: true},
		} {
			if got := read(t, req); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	})
	for field, req := range map[string]*bookingv1.ListWaitlistRequest{
		"order":         {},
		"state":         {Order: created, State: 99},
		"updated_since": {Order: created, UpdatedSince: &timestamppb.Timestamp{Seconds: 1 << 60}},
		"offset":        {Order: created, Offset: -1},
		"page_token":    {Order: updated, PageToken: "x"},
	} {
		_, err := w.waitlist.ListWaitlist(w.ctx, req)
		if f := wantFault(t, err, fault.Invalid, fault.ReasonInvalidParameter); f.Fields[0].Field != field {
			t.Errorf("got %v, want %s", f, field)
		}
	}
	_, err := w.waitlist.ListWaitlist(w.ctx, &bookingv1.ListWaitlistRequest{Order: 99})
	wantFault(t, err, fault.Invalid, fault.ReasonInvalidParameter)
}
