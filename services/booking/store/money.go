package store

import (
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

const (
	// A booking of an earlier release has the rate that its option had when rates were first stored.
	taxRate = `coalesce(b.tax_rate_basis_points, (select coalesce(o.earlier_tax_rate_basis_points, o.tax_rate_basis_points)
			from pricing_options o where o.company_id = $1 and o.id = b.pricing_option_id), 0)`

	taxRatesSQL = `select b.id, ` + taxRate + ` from bookings b where b.company_id = $1 and b.transaction_id = $2 and b.gross is not null`

	// MoneySQL reads what the movements of bookings need, with the version of their transactions at that time.
	MoneySQL = `select b.id, t.version, ` + taxRate + `, coalesce(b.unrecorded_refund_at, b.refunded_at, t.purchased_at), coalesce(l.entries, 0),
			h.sequence, h.action, h.at, h.amount, h.money_method, h.net, h.tax_rate_basis_points, h.day
		from (select b.id, b.transaction_id, b.pricing_option_id, b.tax_rate_basis_points, b.unrecorded_refund_at, b.refunded_at
			from bookings b where b.company_id = $1 and b.id` + pg.AmongIDs + ` offset 0) b
		cross join lateral (select t.version, t.purchased_at from transactions t where t.company_id = $1 and t.id = b.transaction_id offset 0) t
		cross join lateral (select max(h.sequence) as entries from booking_history h where h.company_id = $1 and h.booking_id = b.id offset 0) l
		left join lateral (select h.sequence, h.action, h.at, h.amount, coalesce(h.money_method, '') as money_method,
				coalesce(h.net, 0) as net, coalesce(h.tax_rate_basis_points, 0) as tax_rate_basis_points, coalesce(h.day, '') as day
			from booking_history h where h.company_id = $1 and h.booking_id = b.id and h.amount is not null offset 0) h on true
		order by b.id, h.sequence`
)

// bookingMoney is what the movements of a booking need in addition to the booking.
type bookingMoney struct {
	model.BookingMoney
	version      int64 // of the transaction
	taxRate      int32
	unrecordedAt time.Time
}

// moneys collects the rows of MoneySQL.
type moneys map[id.Booking]*bookingMoney

func (m moneys) query(company id.Company, bookings []id.Booking) pg.Query {
	return pg.Query{SQL: MoneySQL, Args: []any{company, bookings}, Scan: pg.Each(m.scan)}
}

func (m moneys) scan(rows pgx.Rows) error {
	var b id.Booking
	var found bookingMoney
	var e struct {
		sequence, taxRate   *int32
		action, method, day *string
		at                  *time.Time
		amount, net         *int64
	}
	err := rows.Scan(&b, &found.version, &found.taxRate, &found.unrecordedAt, &found.Entries,
		&e.sequence, &e.action, &e.at, &e.amount, &e.method, &e.net, &e.taxRate, &e.day)
	if err != nil {
		return err
	}
	if m[b] == nil {
		m[b] = &found
	}
	if e.sequence != nil {
		m[b].Changes = append(m[b].Changes, model.HistoryEntry{
			Booking: b, Sequence: *e.sequence, Action: model.BookingAction(*e.action), At: *e.at,
			Amount: *e.amount, Method: model.Method(*e.method), Net: *e.net, TaxRate: *e.taxRate, Day: *e.day,
		})
	}
	return nil
}

// complete sets what the movements of t's bookings need. It reports whether it was read at the version of t.
func (m moneys) complete(t *model.Transaction) bool {
	for i := range t.Bookings {
		b := &t.Bookings[i]
		found := m[b.ID]
		if found == nil || found.version != t.Version {
			return false
		}
		b.Money, b.UnrecordedRefundAt = found.BookingMoney, found.unrecordedAt
		if b.Payment.Method.IsMoney() {
			b.Payment.TaxRate = found.taxRate
		}
	}
	return true
}

// taxRates returns the query that sets the tax rates of the bookings of a transaction, which l has read.
func (l *Listing) taxRates(company id.Company, t id.Transaction) pg.Query {
	return pg.Query{SQL: taxRatesSQL, Args: []any{company, t}, Scan: pg.Each(func(rows pgx.Rows) error {
		var which id.Booking
		var rate int32
		err := rows.Scan(&which, &rate)
		for i := range l.Transactions {
			for j := range l.Transactions[i].Bookings {
				if b := &l.Transactions[i].Bookings[j]; b.ID == which {
					b.Payment.TaxRate = rate
				}
			}
		}
		return err
	})}
}
