package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

// The lock of a booking's transaction, which every change takes, protects the sequence. Entries of one booking
// in one statement keep their order.
const addHistorySQL = `insert into booking_history
		(company_id, booking_id, sequence, action, at, actor, details, reason, amount, money_method, payment_reference,
			net, tax_rate_basis_points, day)
	select $1, n.booking_id,
		coalesce((select max(h.sequence) from booking_history h where h.company_id = $1 and h.booking_id = n.booking_id), 0)
			+ row_number() over (partition by n.booking_id order by n.n),
		n.action, n.at, n.actor, n.details::jsonb, n.reason, n.amount, n.method, n.payment_reference,
		n.net, n.tax_rate, n.day
	from unnest($2::uuid[], $3::text[], $4::timestamptz[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::text[], $10::text[],
			$11::bigint[], $12::integer[], $13::text[])
		with ordinality n(booking_id, action, at, actor, details, reason, amount, method, payment_reference, net, tax_rate, day, n)`

// historyDetails is the column details: what has no column of its own. Identifiers are UUIDs, as in columns.
type historyDetails struct {
	Before       storedFacts `json:"before"`
	After        storedFacts `json:"after"`
	PolicyWaived bool        `json:"policy_waived,omitempty"`
	SwappedWith  uuid.UUID   `json:"swapped_with,omitzero"`
}

type storedFacts struct {
	Date       uuid.UUID        `json:"event_date_id"`
	StartsAt   time.Time        `json:"starts_at"`
	Timezone   string           `json:"timezone"`
	Event      uuid.UUID        `json:"event_id"`
	EventTitle string           `json:"event_title"`
	Option     uuid.UUID        `json:"pricing_option_id"`
	Spaces     int32            `json:"spaces"`
	Customer   uuid.UUID        `json:"customer_id"`
	ManagedBy  uuid.UUID        `json:"managed_by_id"`
	Attendance model.Attendance `json:"attendance,omitempty"`
	Price      int64            `json:"price,omitempty"`
	Credits    int32            `json:"credits,omitempty"`
}

func storedFactsOf(f *model.BookingFacts) storedFacts {
	return storedFacts{
		Date: uuid.UUID(f.Date), StartsAt: f.StartsAt, Timezone: f.Timezone, Event: uuid.UUID(f.Event), EventTitle: f.EventTitle,
		Option: uuid.UUID(f.Option), Spaces: f.Spaces, Customer: uuid.UUID(f.Customer), ManagedBy: uuid.UUID(f.ManagedBy),
		Attendance: f.Attendance, Price: f.Price, Credits: f.Credits,
	}
}

func (f *storedFacts) facts() model.BookingFacts {
	return model.BookingFacts{
		Date: id.EventDate(f.Date), StartsAt: f.StartsAt, Timezone: f.Timezone, Event: id.Event(f.Event), EventTitle: f.EventTitle,
		Option: id.PricingOption(f.Option), Spaces: f.Spaces, Customer: id.Customer(f.Customer), ManagedBy: id.Customer(f.ManagedBy),
		Attendance: f.Attendance, Price: f.Price, Credits: f.Credits,
	}
}

func detailsOf(e *model.HistoryEntry) string {
	d := historyDetails{
		Before: storedFactsOf(&e.Before), After: storedFactsOf(&e.After), PolicyWaived: e.PolicyWaived, SwappedWith: uuid.UUID(e.SwappedWith),
	}
	text, err := json.Marshal(d)
	if err != nil {
		panic(err) // the types have no values that JSON cannot represent
	}
	return string(text)
}

// AddHistory returns the statement that adds entries to the history of their bookings, whose transactions
// are locked.
func AddHistory(company id.Company, entries ...model.HistoryEntry) pg.Query {
	n := len(entries)
	bookings, actions, times, actors := make([]id.Booking, n), make([]string, n), make([]time.Time, n), make([]string, n)
	details, reasons, amounts := make([]string, n), make([]*string, n), make([]*int64, n)
	methods, references := make([]*string, n), make([]*string, n)
	nets, taxRates, days := make([]*int64, n), make([]*int32, n), make([]*string, n)
	for i := range entries {
		e := &entries[i]
		bookings[i], actions[i], times[i], actors[i] = e.Booking, string(e.Action), e.At, e.Actor
		details[i], reasons[i], references[i] = detailsOf(e), orNull(e.Reason), orNull(e.Reference)
		methods[i] = orNull(string(e.Method))
		if e.Amount > 0 {
			amounts[i] = &e.Amount
			nets[i], taxRates[i], days[i] = &e.Net, &e.TaxRate, orNull(e.Day)
		}
	}
	return pg.Query{SQL: addHistorySQL, Args: []any{company, bookings, actions, times, actors, details, reasons, amounts, methods, references,
		nets, taxRates, days}}
}

const (
	// Moves that raised the price added to what was paid for the booking. The first change knows the booking as
	// it was bought.
	BookedSQL = `select 1 + coalesce((select max(h.sequence) from booking_history h where h.company_id = $1 and h.booking_id = $2), 0)::bigint,
			t.purchased_at, coalesce(t.created_by, ''), coalesce(t.after_start_reason, ''),
			coalesce(b.money_method, b.method), coalesce(b.payment_reference, ''),
			coalesce(b.gross, 0) - coalesce((select sum(h.amount) from booking_history h
				where h.company_id = $1 and h.booking_id = $2 and h.action = 'moved'), 0)::bigint,
			coalesce((select (h.details->'before')::text from booking_history h where h.company_id = $1 and h.booking_id = $2 and h.sequence = 1), '')
		from bookings b join transactions t on t.company_id = $1 and t.id = b.transaction_id where b.company_id = $1 and b.id = $2`

	HistorySQL = `select h.sequence, h.action, h.at, h.actor, h.details::text, coalesce(h.reason, ''), coalesce(h.amount, 0),
			coalesce(h.money_method, ''), coalesce(h.payment_reference, '')
		from booking_history h where h.company_id = $1 and h.booking_id = $2 and h.sequence > $3 order by h.sequence limit $4`
)

// HistoryOf returns the order of the history of a booking: by sequence, which is the key of its cursors.
func HistoryOf(b id.Booking) page.Order { return page.Order{Code: 37, Within: b.UUID()} }

// History reads a page of the history of a booking, which begins with its purchase, plus one more entry if
// there is another page, and counts all entries. It returns fault.NotFound if the booking does not exist or is
// not confirmed.
func (s *Store) History(ctx context.Context, company id.Company, b id.Booking, p page.Page) ([]model.HistoryEntry, int64, error) {
	var l Listing
	var found FoundBooking
	var changes []model.HistoryEntry
	booked := model.HistoryEntry{Booking: b, Action: model.Booked}
	var before string // the first change; "": none
	var total int64
	after := max(0, p.Offset-1) // the purchase has no row
	if p.After != nil {
		after = p.After.Key
	}
	args := []any{company, b}
	err := s.ReadOf(ctx, company,
		pg.Query{SQL: bookingSQL, Args: args, Scan: l.scanTransactions},
		pg.Query{SQL: bookingPurchaserSQL, Args: args, Scan: l.scanPurchaser},
		pg.Query{SQL: BookedSQL, Args: args, Scan: pg.First(&total, &booked.At, &booked.Actor, &booked.Reason,
			&booked.Method, &booked.Reference, &booked.Amount, &before)},
		pg.Query{SQL: HistorySQL, Args: []any{company, b, after, p.Size + 1}, Scan: scanHistory(b, &changes)})
	if err := l.only(&found, err); err != nil {
		return nil, 0, err
	}
	if p.After != nil || p.Offset > 0 {
		return changes, total, nil
	}
	if before == "" {
		booked.After = model.FactsOf(found.Transaction, &found.Transaction.Bookings[0])
	} else {
		var f storedFacts
		if err := json.Unmarshal([]byte(before), &f); err != nil {
			return nil, 0, err
		}
		booked.After = f.facts()
	}
	return append([]model.HistoryEntry{booked}, changes...), total, nil
}

func scanHistory(b id.Booking, into *[]model.HistoryEntry) func(pgx.Rows) error {
	return pg.Each(func(rows pgx.Rows) error {
		e := model.HistoryEntry{Booking: b}
		var text string
		err := rows.Scan(&e.Sequence, &e.Action, &e.At, &e.Actor, &text, &e.Reason, &e.Amount, &e.Method, &e.Reference)
		if err != nil {
			return err
		}
		var d historyDetails
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			return err
		}
		e.Before, e.After = d.Before.facts(), d.After.facts()
		e.PolicyWaived, e.SwappedWith = d.PolicyWaived, id.Booking(d.SwappedWith)
		*into = append(*into, e)
		return nil
	})
}
