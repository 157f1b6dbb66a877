package store

import (
	"context"
	"fmt"
	"slices"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/privacy"
	"reservation.dev/services/booking/model"
)

// purchasesOfCustomerSQL selects the transactions of the customer $2, with one index for each part.
const purchasesOfCustomerSQL = `with mine as (
		select id from transactions where company_id = $1 and purchaser_id = $2 and status = 'confirmed'
		union all
		select id from transactions where company_id = $1 and purchaser_id = $2 and status <> 'confirmed'
	) `

const (
	// Money and counts stay. References to records in other systems are deleted. A transaction has
	// few bookings, which have an index by transaction.
	forgetPaymentsSQL = purchasesOfCustomerSQL + `update bookings b set payment_reference = null from mine
		where b.company_id = $1 and b.transaction_id = mine.id and b.payment_reference is not null`

	// A reason is a text about the customer who attends, or who bought the booking.
	forgetReasonsSQL = purchasesOfCustomerSQL + `update bookings b set cancellation_reason = null from (
			select b.id from mine join bookings b on b.company_id = $1 and b.transaction_id = mine.id where b.cancellation_reason is not null
			union
			select b.id from bookings b where b.company_id = $1 and b.bought_for = $2 and b.cancellation_reason is not null) m
		where b.company_id = $1 and b.id = m.id`

	// The same for the history, and also for bookings that the customer transferred. Only own ones have payments of
	// the customer.
	bookingsAboutSQL = purchasesOfCustomerSQL + `, about as (
			select a.id, bool_or(a.own) as own from (
				select b.id, true as own from mine join bookings b on b.company_id = $1 and b.transaction_id = mine.id
				union all
				select b.id, false from bookings b where b.company_id = $1 and b.bought_for = $2
				union all
				select h.booking_id, false from booking_history h where h.company_id = $1 and h.action = 'transferred'
					and h.details->'before'->>'customer_id' = $2::text) a
			group by a.id
		) `

	forgetHistorySQL = bookingsAboutSQL + `update booking_history h set reason = null,
			payment_reference = case when about.own then null else h.payment_reference end from about
		where h.company_id = $1 and h.booking_id = about.id and (h.reason is not null or about.own and h.payment_reference is not null)`

	// Only a customer who attends manages a booking that another one bought.
	forgetManagerSQL = `update bookings b set managed_by = null where b.company_id = $1 and b.bought_for = $2 and b.managed_by = $2`

	forgetAfterStartSQL = bookingsAboutSQL + `update transactions t set after_start_reason = null
		from (select distinct b.transaction_id as id from about join bookings b on b.company_id = $1 and b.id = about.id) n
		where t.company_id = $1 and t.id = n.id and t.after_start_reason is not null`

	forgetReferencesSQL = purchasesOfCustomerSQL + `update transactions t set reference = null from mine
		where t.company_id = $1 and t.id = mine.id and t.reference is not null`

	// Keys of finished purchases; a pending purchase still needs its key.
	forgetPurchaseKeysSQL = purchasesOfCustomerSQL + `delete from purchase_keys k using mine, transactions t
		where k.company_id = $1 and k.transaction_id = mine.id and t.company_id = $1 and t.id = mine.id and t.status in ('confirmed', 'released')`
)

// Erase overwrites the copy of a customer, and deletes the references and the reasons in the customer's
// bookings and their history. The purchasers of the others manage their bookings again. Money and counts stay. It also runs leave, which ends the customer's
// waitlist entries.
func (s *Store) Erase(ctx context.Context, left model.CustomerRecord, leave func(context.Context, *pg.Tx, []model.CustomerRecord) error) error {
	return s.Write(ctx, left.Company, func(ctx context.Context, tx *pg.Tx) error {
		if err := s.KeepCustomers(ctx, tx, []model.CustomerRecord{left}); err != nil {
			return err
		}
		if err := leave(ctx, tx, []model.CustomerRecord{left}); err != nil {
			return err
		}
		for _, statement := range []string{forgetPaymentsSQL, forgetReasonsSQL, forgetHistorySQL, forgetAfterStartSQL, forgetManagerSQL, forgetReferencesSQL, forgetPurchaseKeysSQL} {
			if _, err := tx.Exec(ctx, statement, left.Company, left.ID); err != nil {
				return err
			}
		}
		return nil
	})
}

const (
	myTransactionsSQL = purchasesOfCustomerSQL + `select id from mine`
	myBookingsSQL     = purchasesOfCustomerSQL + `select b.id from mine join bookings b on b.company_id = $1 and b.transaction_id = mine.id`
	myEndedHoldsSQL   = `select id from ended_holds where company_id = $1 and purchaser_id = $2`
	myEntriesSQL      = `select id from waitlist_entries where company_id = $1 and customer_id = $2`
)

// CustomerIdentifiers returns the identifiers of what a customer has booked or waits for.
func (s *Store) CustomerIdentifiers(ctx context.Context, company id.Company, customer id.Customer) ([]string, error) {
	var transactions, holds []id.Transaction
	var bookings []id.Booking
	var entries []id.WaitlistEntry
	args := []any{company, customer}
	err := s.ReadOf(ctx, company,
		pg.Query{SQL: myTransactionsSQL, Args: args, Scan: pg.Collect(&transactions)},
		pg.Query{SQL: myBookingsSQL, Args: args, Scan: pg.Collect(&bookings)},
		pg.Query{SQL: myEndedHoldsSQL, Args: args, Scan: pg.Collect(&holds)},
		pg.Query{SQL: myEntriesSQL, Args: args, Scan: pg.Collect(&entries)},
	)
	return slices.Concat(formatAll(transactions), formatAll(holds), formatAll(bookings), formatAll(entries)), err
}

// formatAll formats identifiers as responses contain them.
func formatAll[T fmt.Stringer](list []T) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = v.String()
	}
	return out
}

// exportedAppointment is what a booking's date d has if it is an appointment: its length, and the names of the
// staff and the rooms.
const exportedAppointment = `case when d.appointment_id is null then '{}' else jsonb_build_object('duration_minutes', d.duration_minutes,
				'staff', coalesce((select jsonb_agg(s.name order by a.position) from assignments a join staff s on s.company_id = a.company_id and s.id = a.resource_id
					where a.company_id = d.company_id and a.event_date_id = d.id and a.kind = 'staff' and a.position >= 0), '[]'),
				'rooms', coalesce((select jsonb_agg(r.name order by a.position) from assignments a join rooms r on r.company_id = a.company_id and r.id = a.resource_id
					where a.company_id = d.company_id and a.event_date_id = d.id and a.kind = 'room' and a.position >= 0), '[]')) end`

const (
	// The customer's own purchases; and bookings for the customer that others bought.
	exportTransactionsSQL = purchasesOfCustomerSQL + `select t.id, to_jsonb(t) - array['held_prices', 'request_key', 'request_hash'] || jsonb_build_object('bookings', (
			select jsonb_agg(to_jsonb(b) - array['transaction_id', 'position', 'calendar_offset'] || jsonb_build_object('event_title', e.title, 'starts_at', d.starts_at)
				|| ` + exportedAppointment + ` order by b.position)
			from bookings b
			left join events e on e.company_id = b.company_id and e.id = b.event_id
			left join event_dates d on d.company_id = b.company_id and d.id = b.event_date_id
			where b.company_id = t.company_id and b.transaction_id = t.id))
		from mine join transactions t on t.company_id = $1 and t.id = mine.id order by t.id`

	exportBoughtForSQL = `select b.id, to_jsonb(b) - array['payment_reference', 'gross', 'net', 'currency', 'discount', 'discount_code', 'customer_pass_id',
				'credits_used', 'method', 'money_method', 'refund_due', 'refunded_amount', 'price', 'position', 'calendar_offset']
			|| jsonb_build_object('event_title', e.title, 'starts_at', d.starts_at) || ` + exportedAppointment + `
		from bookings b
		left join events e on e.company_id = b.company_id and e.id = b.event_id
		left join event_dates d on d.company_id = b.company_id and d.id = b.event_date_id
		where b.company_id = $1 and b.bought_for = $2 order by b.id`

	// The history of the customer's own purchases; and, without money and credits, of other bookings while the
	// customer attended. The entry that gave a booking to the customer has neither its reason nor the booking before.
	exportHistorySQL = purchasesOfCustomerSQL + `select h.booking_id, jsonb_build_object('entries',
			jsonb_agg(to_jsonb(h) - array['company_id', 'booking_id'] order by h.sequence))
		from mine join bookings b on b.company_id = $1 and b.transaction_id = mine.id
			join booking_history h on h.company_id = $1 and h.booking_id = b.id
		group by h.booking_id order by h.booking_id`

	exportHistoryForSQL = purchasesOfCustomerSQL + `, others as (
			select b.id from bookings b where b.company_id = $1 and b.bought_for = $2
			union
			select h.booking_id from booking_history h where h.company_id = $1 and h.action = 'transferred'
				and h.details->'before'->>'customer_id' = $2::text
		)
		select h.booking_id, jsonb_build_object('entries', jsonb_agg((to_jsonb(h)
				- array['company_id', 'booking_id', 'amount', 'money_method', 'payment_reference']
				- case when h.details->'before'->>'customer_id' <> $2::text then 'reason' else '' end)
				#- case when h.details->'before'->>'customer_id' <> $2::text then '{details,before}'::text[] else '{details,before,price}' end
				#- '{details,after,price}' #- '{details,before,credits}' #- '{details,after,credits}' order by h.sequence))
		from booking_history h
		where h.company_id = $1 and h.booking_id in (select o.id from others o)
			and $2::text in (h.details->'before'->>'customer_id', h.details->'after'->>'customer_id')
			and not exists (select from mine join bookings b on b.company_id = $1 and b.transaction_id = mine.id where b.id = h.booking_id)
		group by h.booking_id order by h.booking_id`

	exportWaitlistSQL = `select id, to_jsonb(w) - array['seq'] from waitlist_entries w where company_id = $1 and customer_id = $2 order by id`

	// Holds that ended without a purchase, after their transactions were removed: the customer's own; and,
	// without prices, the bookings that others held for the customer. There are 30 days of them.
	exportHoldsSQL = `select h.id, h.hold || jsonb_build_object('id', h.id, 'ended_at', h.ended_at) from ended_holds h
		where h.company_id = $1 and h.purchaser_id = $2
			and not exists (select from transactions t where t.company_id = $1 and t.id = h.id)
		order by h.id`

	exportHeldForSQL = `select h.id, jsonb_build_object('id', h.id, 'ended_at', h.ended_at, 'bookings', (
				select jsonb_agg(b.booking - array['card', 'price', 'managed_by_id'] order by b.n) from jsonb_array_elements(h.hold->'bookings') with ordinality b(booking, n)
				where h.recipients[b.n] = $2))
		from ended_holds h where h.company_id = $1 and $2 = any(h.recipients)
			and not exists (select from transactions t where t.company_id = $1 and t.id = h.id)
		order by h.id`

	// Without the secret, which only its reader has.
	exportCalendarsSQL = `select id, to_jsonb(c) - array['secret_hash'] from calendars c where company_id = $1 and kind = 'customer' and subject_id = $2 order by id`

	exportCopySQL = `select id, to_jsonb(c) from customers c where company_id = $1 and id = $2`
)

// PersonalData returns the queries for a customer's personal data.
func PersonalData() []privacy.Collection {
	names := func(own func(id.UUID) string) map[string]func(id.UUID) string {
		return map[string]func(id.UUID) string{
			"id": own, "bookings.id": privacy.Named[id.Booking], "purchaser_id": privacy.Named[id.Customer], "bought_for": privacy.Named[id.Customer],
			"customer_id": privacy.Named[id.Customer], "managed_by": privacy.Named[id.Customer], "managed_by_id": privacy.Named[id.Customer],
			"swapped_with": privacy.Named[id.Booking], "subject_id": privacy.Named[id.Customer], "transaction_id": privacy.Named[id.Transaction], "event_id": privacy.Named[id.Event],
			"event_date_id": privacy.Named[id.EventDate], "pricing_option_id": privacy.Named[id.PricingOption],
			"customer_pass_id": privacy.Named[id.CustomerPass], "discount_code_id": privacy.Named[id.DiscountCode],
		}
	}
	return []privacy.Collection{
		{Kind: "customer_copy", SQL: exportCopySQL, Names: names(privacy.Named[id.Customer])},
		{Kind: "transaction", SQL: exportTransactionsSQL, Names: names(privacy.Named[id.Transaction])},
		{Kind: "booking_for_the_customer", SQL: exportBoughtForSQL, Names: names(privacy.Named[id.Booking])},
		{Kind: "booking_history", SQL: exportHistorySQL, Names: names(privacy.Named[id.Booking])},
		{Kind: "booking_history_for_the_customer", SQL: exportHistoryForSQL, Names: names(privacy.Named[id.Booking])},
		{Kind: "ended_hold", SQL: exportHoldsSQL, Names: names(privacy.Named[id.Transaction])},
		{Kind: "ended_hold_for_the_customer", SQL: exportHeldForSQL, Names: names(privacy.Named[id.Transaction])},
		{Kind: "waitlist_entry", SQL: exportWaitlistSQL, Names: names(privacy.Named[id.WaitlistEntry])},
		{Kind: "calendar", SQL: exportCalendarsSQL, Names: names(privacy.Named[id.Calendar])},
	}
}
