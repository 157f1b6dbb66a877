package faults

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/test/harness"
)

// changeRow is an entry of a booking's history.
type changeRow struct {
	Booking, Date, Customer [16]byte
	Action                  string
	Spaces                  int
}

const (
	changesSQL = `select h.booking_id as booking, h.action, (h.details->'after'->>'event_date_id')::uuid as date,
			(h.details->'after'->>'customer_id')::uuid as customer, (h.details->'after'->>'spaces')::integer as spaces
		from booking_history h where h.company_id = $1`

	// Entries that do not follow the one before them.
	brokenChainsSQL = `select count(*) from (
			select h.sequence, h.details->'before' as before, row_number() over n as position, lag(h.details->'after') over n as former
			from booking_history h where h.company_id = $1 window n as (partition by h.booking_id order by h.sequence)) e
		where e.sequence <> e.position or e.former <> e.before`

	// Bookings that differ from the last entry of their history.
	otherThanHistorySQL = `select count(*) from (
			select distinct on (h.booking_id) h.booking_id, h.details->'after' as at from booking_history h
			where h.company_id = $1 order by h.booking_id, h.sequence desc) h
		join bookings b on b.company_id = $1 and b.id = h.booking_id
		join transactions t on t.company_id = $1 and t.id = b.transaction_id
		where (h.at->>'event_date_id')::uuid <> b.event_date_id or (h.at->>'pricing_option_id')::uuid <> b.pricing_option_id
			or (h.at->>'spaces')::integer <> b.spaces or (h.at->>'customer_id')::uuid <> coalesce(b.bought_for, t.purchaser_id)
			or (h.at->>'managed_by_id')::uuid <> coalesce(b.managed_by, t.purchaser_id)
			or coalesce((h.at->>'price')::bigint, 0) <> coalesce(b.price, b.gross, 0)
			or coalesce((h.at->>'credits')::integer, 0) <> coalesce(b.credits_used, 0)`

	// Cancelled bookings without exactly one cancellation in their history, and cancellations of other bookings.
	otherCancellationsSQL = `select count(*) from bookings b join transactions t on t.company_id = b.company_id and t.id = b.transaction_id
		where b.company_id = $1 and t.status = 'confirmed' and b.is_cancelled::integer <> (select count(*) from booking_history h
			where h.company_id = $1 and h.booking_id = b.id and h.action = 'cancelled')`

	unfinishedChangesSQL = `select count(*) from credit_changes where company_id = $1`

	unpublishedSQL = `select o.id, o.subject, o.payload from outbox_events o where o.company_id = $1`
)

// auditChanges checks the history of a company's bookings: each entry follows the one before it, the last one
// is the booking, each has one event, and no credits are left to take or return.
func auditChanges(t *testing.T, m *salesCluster, db *pgx.Conn, company string) {
	t.Helper()
	which := companyID(t, company)
	for _, check := range []struct{ what, sql string }{
		{"entries of the history do not follow the one before", brokenChainsSQL},
		{"bookings differ from the last entry of their history", otherThanHistorySQL},
		{"bookings have other cancellations than their history", otherCancellationsSQL},
		{"changes of credits are not finished", unfinishedChangesSQL},
	} {
		if n := number(t, db, check.sql, which); n > 0 {
			t.Errorf("%d %s", n, check.what)
		}
	}
	var want []string
	actions := map[string]int{}
	for _, r := range rows[changeRow](t, db, changesSQL, which) {
		actions[r.Action]++
		want = append(want, r.String())
	}
	if err := compareSets("events of changes", changeEvents(t, m, db, company), want); err != nil {
		t.Error(err)
	}
	t.Logf("changes of bookings: %v", actions)
}

func (r changeRow) String() string {
	return changeText(id.Booking(r.Booking).String(), r.Action, id.EventDate(r.Date).String(), id.Customer(r.Customer).String(), r.Spaces)
}

// changeText is a change of a booking, and the date, the customer and the spaces that the booking has after it.
func changeText(booking, action, date, customer string, spaces int) string {
	return fmt.Sprintf("%s was %s: %d spaces of %s for %s", booking, action, spaces, date, customer)
}

// changeEvents returns the events about changes of a company's bookings, as strings of changeRow. An event is
// in the outbox until it is published, and in the stream from then on. So the outbox is read first.
func changeEvents(t *testing.T, m *salesCluster, db *pgx.Conn, company string) (all []string) {
	t.Helper()
	waiting, err := db.Query(t.Context(), unpublishedSQL, companyID(t, company))
	if err != nil {
		t.Fatal(err)
	}
	events, err := pgx.CollectRows(waiting, func(row pgx.CollectableRow) (e harness.Event, err error) {
		var event [16]byte
		err = row.Scan(&event, &e.Subject, &e.Payload)
		e.ID, e.Company = id.UUID(event).String(), company
		return e, err
	})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, e := range append(events, m.Events(t)...) {
		if e.Company != company || found[e.ID] {
			continue
		}
		found[e.ID] = true
		change, err := changeOf(e)
		if err != nil {
			t.Fatal(err)
		}
		if change != "" {
			all = append(all, change)
		}
	}
	return all
}

// changeOf returns the change that an event is about; "": none.
func changeOf(e harness.Event) (string, error) {
	var moved bookingv1.BookingMoved
	var transferred bookingv1.BookingTransferred
	var cancelled bookingv1.BookingCancelled
	var refunded bookingv1.BookingRefunded
	kind, found := map[string]struct {
		action string
		into   interface {
			proto.Message
			GetBooking() *bookingv1.BookingSnapshot
		}
	}{
		"booking.v1.booking_moved": {"moved", &moved}, "booking.v1.booking_transferred": {"transferred", &transferred},
		"booking.v1.booking_cancelled": {"cancelled", &cancelled}, "booking.v1.booking_refunded": {"refunded", &refunded},
	}[e.Subject]
	if !found {
		return "", nil
	}
	if err := proto.Unmarshal(e.Payload, kind.into); err != nil {
		return "", err
	}
	s := kind.into.GetBooking()
	b := s.GetBooking()
	customer := s.GetPurchaser().GetId()
	if b.GetBoughtFor() != nil {
		customer = b.GetBoughtFor().GetId()
	}
	return changeText(b.GetId(), kind.action, b.GetEventDateId(), customer, int(b.GetSpaces())), nil
}
