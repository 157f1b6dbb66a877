package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// Verification is a statement that recomputes stored numbers from the rows.
type Verification string

const (
	VerifyDates Verification = `select d.id, d.booked::bigint, coalesce(n.spaces, 0)::bigint, d.capacity
		from event_dates d left join (
			select b.event_date_id, sum(b.spaces) as spaces from bookings b join transactions t on t.company_id = b.company_id and t.id = b.transaction_id
			where b.company_id = $1 and not b.is_cancelled and t.status <> 'released' group by b.event_date_id
		) n on n.event_date_id = d.id
		where d.company_id = $1`

	VerifyCodes Verification = `select c.id, c.uses::bigint, (select count(*) from transactions t
			where t.company_id = $1 and t.discount_code_id = c.id and t.status <> 'released'), null::integer
		from discount_codes c where c.company_id = $1`

	// The spaces of an open offer, or of a purchase in progress for a waitlist entry. The booking of an entry can
	// have other spaces since, but it exists.
	VerifyWaitlist Verification = `select w.id, w.spaces::bigint, coalesce((
			select case w.state when 'booked' then case when count(*) > 0 then w.spaces end else sum(b.spaces) end from bookings b join transactions t
				on t.company_id = b.company_id and t.id = b.transaction_id
			where b.company_id = $1 and b.transaction_id = w.transaction_id
				and case w.state when 'booked' then t.status = 'confirmed' else t.status in ('held', 'pending', 'undoing') end), 0)::bigint, null::integer
		from waitlist_entries w where w.company_id = $1 and w.state in ('offered', 'booking', 'booked')`

	// Refunds are at most the price. A booking has refunds that are not 0 if and only if it is refunded
	// and cost something.
	VerifyRefunds Verification = `select b.id, ` + refundedAmount + `, case when not b.is_refunded then 0
			when ` + refundedAmount + ` = 0 then b.gross else least(b.gross, ` + refundedAmount + `) end, null::integer
		from bookings b where b.company_id = $1 and b.gross is not null and (b.is_refunded or b.refunded_amount is not null)`

	// After a cancellation in time, what was paid without the refunds is due. Otherwise money is due only up to
	// the difference between what was paid and the price, and only if it was not refunded.
	VerifyRefundsDue Verification = `select b.id, ` + refundDue + `,
			case when b.is_cancelled and not b.late then coalesce(b.gross, 0) - ` + refundedAmount + `
				else greatest(0, least(` + refundDue + `, b.gross - coalesce(b.price, b.gross), b.gross - ` + refundedAmount + `)) end, null::integer
		from bookings b where b.company_id = $1 and ` + refundDue + ` <> 0`

	// A price is 0 or more, and never more than what was paid.
	VerifyPrices Verification = `select b.id, b.price, greatest(0, least(b.price, b.gross)), null::integer
		from bookings b where b.company_id = $1 and b.price is not null`

	// The members in which the last entry of a booking's history differs from the booking. The dates of appointments
	// are left out, because the previous release moves them without an entry. An erasure changes the manager.
	VerifyHistory Verification = `select b.id, (h.at->>'event_date_id' <> b.event_date_id::text
					and not exists (select from event_dates d where d.company_id = $1 and d.id = b.event_date_id and d.appointment_id is not null))::integer::bigint
				+ (h.at->>'pricing_option_id' <> b.pricing_option_id::text)::integer
				+ ((h.at->>'spaces')::integer <> b.spaces)::integer
				+ (h.at->>'customer_id' <> coalesce(b.bought_for, t.purchaser_id)::text)::integer
				+ (h.at->>'managed_by_id' <> coalesce(b.managed_by, t.purchaser_id)::text
					and not exists (select from customers c where c.company_id = $1 and c.id = (h.at->>'managed_by_id')::uuid and c.deleted_at is not null))::integer,
			0::bigint, null::integer
		from (select distinct on (h.booking_id) h.booking_id, h.details->'after' as at from booking_history h
				where h.company_id = $1 order by h.booking_id, h.sequence desc) h
			join bookings b on b.company_id = $1 and b.id = h.booking_id
			join transactions t on t.company_id = $1 and t.id = b.transaction_id`

	verifyEventsSQL = `select coalesce((select events from event_totals where company_id = $1), 0),
		(select count(*) from events where company_id = $1 and deleted_at is null and listed)`

	passPaymentsSQL = `select t.id, b.id, b.customer_pass_id, case when b.is_refunded then 0 else b.credits_used end,
			exists (select from credit_changes c where c.company_id = $1 and c.booking_id = b.id)
		from transactions t join bookings b on b.company_id = t.company_id and b.transaction_id = t.id
		where t.company_id = $1 and t.status = 'confirmed' and t.source = 'live' and b.method = 'PASS' and b.customer_pass_id is not null
		order by t.id, b.id`
)

// CheckedCount is a stored number and the number computed from the rows.
type CheckedCount struct {
	ID               id.UUID
	Stored, Computed int64
	Most             *int32 // the maximum of the stored number; nil: no limit
}

// VerifiedCounts calls each for every row that the statement checks. args are its arguments after the company.
func (s *Store) VerifiedCounts(ctx context.Context, company id.Company, which Verification, args []any, each func(CheckedCount) error) error {
	return s.stream(ctx, string(which), company, args, func(rows pgx.Rows) error {
		var c CheckedCount
		if err := rows.Scan(&c.ID, &c.Stored, &c.Computed, &c.Most); err != nil {
			return err
		}
		return each(c)
	})
}

// VerifiedEvents returns the stored and the computed number of events.
func (s *Store) VerifiedEvents(ctx context.Context, company id.Company) (stored, computed int64, err error) {
	err = s.stream(ctx, verifyEventsSQL, company, nil, func(rows pgx.Rows) error { return rows.Scan(&stored, &computed) })
	return stored, computed, err
}

// PassPayment is the payment of a booking by a pass.
type PassPayment struct {
	Transaction id.Transaction
	Booking     id.Booking
	Pass        id.CustomerPass
	Credits     int32
	Changing    bool // a change of the credits is not finished
}

// PassPayments calls each for every confirmed booking that was paid by a known pass.
func (s *Store) PassPayments(ctx context.Context, company id.Company, each func(PassPayment) error) error {
	return s.stream(ctx, passPaymentsSQL, company, nil, func(rows pgx.Rows) error {
		var p PassPayment
		if err := rows.Scan(&p.Transaction, &p.Booking, &p.Pass, &p.Credits, &p.Changing); err != nil {
			return err
		}
		return each(p)
	})
}

func (s *Store) stream(ctx context.Context, sql string, company id.Company, args []any, each func(pgx.Rows) error) error {
	return s.Fault(s.Stream(ctx, pg.For(company), sql, append([]any{company}, args...), each))
}
