package store

import (
	"encoding/json"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

// The lock of a booking's transaction, which every change takes, protects the sequence. Entries of one booking
// in one statement keep their order.
const addHistorySQL = `insert into booking_history
		(company_id, booking_id, sequence, action, at, actor, details, reason, amount, money_method, payment_reference)
	select $1, n.booking_id,
		coalesce((select max(h.sequence) from booking_history h where h.company_id = $1 and h.booking_id = n.booking_id), 0)
			+ row_number() over (partition by n.booking_id order by n.n),
		n.action, n.at, n.actor, n.details::jsonb, n.reason, n.amount, n.method, n.payment_reference
	from unnest($2::uuid[], $3::text[], $4::timestamptz[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::text[], $10::text[])
		with ordinality n(booking_id, action, at, actor, details, reason, amount, method, payment_reference, n)`

// historyDetails is the column details: what has no column of its own.
type historyDetails struct {
	Before       model.BookingFacts `json:"before"`
	After        model.BookingFacts `json:"after"`
	PolicyWaived bool               `json:"policy_waived,omitempty"`
	SwappedWith  *id.Booking        `json:"swapped_with,omitempty"`
}

func detailsOf(e *model.HistoryEntry) string {
	d := historyDetails{Before: e.Before, After: e.After, PolicyWaived: e.PolicyWaived}
	if !e.SwappedWith.IsZero() {
		d.SwappedWith = &e.SwappedWith
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
	for i := range entries {
		e := &entries[i]
		bookings[i], actions[i], times[i], actors[i] = e.Booking, string(e.Action), e.At, e.Actor
		details[i], reasons[i], references[i] = detailsOf(e), orNull(e.Reason), orNull(e.Reference)
		methods[i] = orNull(string(e.Method))
		if e.Amount > 0 {
			amounts[i] = &e.Amount
		}
	}
	return pg.Query{SQL: addHistorySQL, Args: []any{company, bookings, actions, times, actors, details, reasons, amounts, methods, references}}
}
