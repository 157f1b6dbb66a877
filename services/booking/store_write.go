package booking

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// The writes of transactions. Locks are taken in one order everywhere, so that
// no two commits wait for each other: events, then transactions, then dates, and
// each kind by id. Rows of customers are locked for key share at any time: only
// the fence of a deletion waits for that lock, and it holds no other (deletion.go).

const (
	// From the dates to their events, and to the options of these: every lateral is
	// walked once per date, also where the planner knows nothing of the tables yet.
	lockDatesSQL = `select d.id, d.starts_at, d.timezone, d.duration_minutes, d.status, d.capacity, d.booked,
			e.id, e.title, e.type, case when d.draft and e.status <> 'cancelled' then 'draft' else e.status end
		from event_dates d cross join lateral (select e.id, e.title, e.type, e.status
			from events e where e.company_id = $1 and e.id = d.event_id and e.deleted_at is null offset 0) e
		where d.company_id = $1 and d.id = any($2) order by d.id for no key update of d`

	offeredOptionsSQL = `select o.*
		from (select distinct d.event_id from event_dates d where d.company_id = $1 and d.id = any($2)) e
		cross join lateral (select o.event_id, o.id, o.name, o.price, o.currency, o.credits, o.tax_rate_basis_points, o.ended_at is not null
			from pricing_options o where o.company_id = $1 and o.event_id = e.event_id offset 0) o`

	knownCustomersSQL = `select id, first_name, last_name, email, deleted_at is not null as deleted
		from customers where company_id = $1 and id = any($2) order by id for key share`
)

// lockOffer reads what orders are decided on. The dates stay locked until the
// end of tx, and nobody confirms the deletion of the customers before it. Pricing
// options need no lock.
func (s *store) lockOffer(ctx context.Context, tx *pg.Tx, company id.Company, dates []id.EventDate, customers []id.Customer, codes []string) (*offer, error) {
	of := &offer{
		dates: map[id.EventDate]*offeredDate{}, options: map[id.Event][]PricingOption{}, ended: map[id.Event][]PricingOption{},
		customers: map[id.Customer]knownCustomer{}, codes: map[string]*discountCode{},
	}
	queries := []pg.Query{
		{SQL: knownCustomersSQL, Args: []any{company, customers}, Scan: each(func(rows pgx.Rows) error {
			var c knownCustomer
			if err := c.scan(rows); err != nil {
				return err
			}
			of.customers[c.ID] = c
			return nil
		})},
		{SQL: offeredOptionsSQL, Args: []any{company, dates}, Scan: of.scanOptions()},
		// Last, so that the lock is held no longer than it must be.
		{SQL: lockDatesSQL, Args: []any{company, dates}, Scan: each(func(rows pgx.Rows) error {
			var d offeredDate
			if err := d.scan(rows); err != nil {
				return err
			}
			of.dates[d.ID] = &d
			return nil
		})},
	}
	if len(codes) > 0 {
		queries = append(queries, of.lockCodes(company, codes))
	}
	return of, tx.Pipeline(ctx, queries...)
}

// scanOptions tells what is sold from what has ended.
func (of *offer) scanOptions() func(pgx.Rows) error {
	return each(func(rows pgx.Rows) error {
		var event id.Event
		var o PricingOption
		var ended bool
		err := rows.Scan(&event, &o.ID, &o.Name, &o.Price, &o.Currency, &o.Credits, &o.TaxRate, &ended)
		into := of.options
		if ended {
			into = of.ended
		}
		into[event] = append(into[event], o)
		return err
	})
}

func (d *offeredDate) scan(rows pgx.Rows) error {
	return rows.Scan(&d.ID, &d.StartsAt, &d.Timezone, &d.Minutes, &d.status, &d.capacity, &d.booked,
		&d.Event, &d.EventTitle, &d.EventType, &d.eventStatus)
}

const (
	// The condition repeats what was decided under the lock, and the table's
	// CHECK repeats it once more.
	takeSpacesSQL = `update event_dates d set booked = d.booked + n.spaces
		from unnest($2::uuid[], $3::integer[]) n(id, spaces)
		where d.company_id = $1 and d.id = n.id and (d.capacity is null or d.booked + n.spaces <= d.capacity)`

	insertTransactionsSQL = `insert into transactions
			(company_id, id, purchaser_id, purchased_at, timezone, source, reference, status, version, expires_at, discount_code_id)
		select $1, n.id, n.purchaser_id, n.purchased_at, n.timezone, $2, n.reference, n.status, n.version, n.expires_at, n.discount_code_id
		from unnest($3::uuid[], $4::uuid[], $5::timestamptz[], $6::text[], $7::text[], $8::bigint[], $9::text[], $10::timestamptz[], $11::uuid[])
			n(id, purchaser_id, purchased_at, timezone, reference, version, status, expires_at, discount_code_id)`

	insertBookingsSQL = `insert into bookings (company_id, id, transaction_id, position, event_id, event_date_id,
			pricing_option_id, bought_for, spaces, is_cancelled, is_refunded,
			method, currency, gross, net, payment_reference, credits_used, customer_pass_id, discount, discount_code)
		select $1, n.id, n.transaction_id, n.position, n.event_id, n.event_date_id,
			n.pricing_option_id, n.bought_for, n.spaces, n.is_cancelled, n.is_refunded,
			n.method, n.currency, n.gross, n.net, n.payment_reference, n.credits_used, n.customer_pass_id, n.discount, n.discount_code
		from unnest($2::uuid[], $3::uuid[], $4::integer[], $5::uuid[], $6::uuid[],
				$7::uuid[], $8::uuid[], $9::integer[], $10::boolean[], $11::boolean[],
				$12::text[], $13::text[], $14::bigint[], $15::bigint[], $16::text[], $17::integer[], $18::uuid[], $19::bigint[], $20::text[])
			n(id, transaction_id, position, event_id, event_date_id,
				pricing_option_id, bought_for, spaces, is_cancelled, is_refunded,
				method, currency, gross, net, payment_reference, credits_used, customer_pass_id, discount, discount_code)`
)

// status is where a transaction is in its life. The value is what is stored.
type status string

const (
	// held has places until it expires.
	held status = "held"
	// pending has places, and credits are being taken.
	pending status = "pending"
	// undoing has places, and credits are being given back.
	undoing status = "undoing"
	// confirmed is what readers see.
	confirmed status = "confirmed"
	// released has nothing any more.
	released status = "released"
)

// source says how a transaction came to be stored. The value is what is stored.
type source string

const (
	live    source = "live"
	history source = "import"
)

// purchases are the columns of transactions and their bookings to be inserted.
type purchases struct {
	ids        []id.Transaction
	purchasers []id.Customer
	times      []time.Time
	zones      []string
	references []*string
	versions   []int64
	statuses   []string
	expiries   []*time.Time
	discounts  []id.DiscountCode
	bookings   bookingColumns
}

type bookingColumns struct {
	ids                 []id.Booking
	transactions        []id.Transaction
	positions           []int32
	events              []id.Event
	dates               []id.EventDate
	options             []id.PricingOption
	boughtFor           []id.Customer
	spaces              []int32
	cancelled, refunded []bool
	methods             []string
	currencies          []*string
	gross, net          []*int64
	paymentReferences   []*string
	credits             []*int32
	passes              []id.CustomerPass
	discounts           []*int64
	codes               []*string
}

// add takes a confirmed transaction; reference is its key in an earlier system,
// or "".
func (p *purchases) add(t *Transaction, reference string) {
	p.addAs(t, reference, confirmed, time.Time{}, id.DiscountCode{})
}

// addAs takes a transaction that may not be confirmed, and the discount it used.
func (p *purchases) addAs(t *Transaction, reference string, as status, expiresAt time.Time, discount id.DiscountCode) {
	p.statuses = append(p.statuses, string(as))
	var expiry *time.Time
	if as != confirmed {
		expiry = &expiresAt
	}
	p.expiries = append(p.expiries, expiry)
	p.discounts = append(p.discounts, discount)
	p.ids = append(p.ids, t.ID)
	p.purchasers = append(p.purchasers, t.Purchaser.ID)
	p.times = append(p.times, t.PurchasedAt)
	p.zones = append(p.zones, t.Timezone)
	p.references = append(p.references, orNull(reference))
	p.versions = append(p.versions, t.Version)
	for i := range t.Bookings {
		p.bookings.add(t.ID, int32(i), &t.Bookings[i])
	}
}

func (c *bookingColumns) add(t id.Transaction, position int32, b *Booking) {
	c.ids = append(c.ids, b.ID)
	c.transactions = append(c.transactions, t)
	c.positions = append(c.positions, position)
	c.events = append(c.events, b.Date.Event)
	c.dates = append(c.dates, b.Date.ID)
	c.options = append(c.options, b.Option)
	var boughtFor id.Customer
	if b.BoughtFor != nil {
		boughtFor = b.BoughtFor.ID
	}
	c.boughtFor = append(c.boughtFor, boughtFor)
	c.spaces = append(c.spaces, b.Spaces)
	c.cancelled = append(c.cancelled, b.Cancelled)
	c.refunded = append(c.refunded, b.Refunded)

	p := &b.Payment
	c.methods = append(c.methods, string(p.Method))
	c.currencies = append(c.currencies, orNull(p.Currency))
	c.paymentReferences = append(c.paymentReferences, orNull(p.Reference))
	c.passes = append(c.passes, p.CustomerPass)
	var gross, net *int64
	var credits *int32
	if p.Method == Card {
		gross, net = &p.Gross, &p.Net
	} else {
		credits = &p.Credits
	}
	c.gross = append(c.gross, gross)
	c.net = append(c.net, net)
	c.credits = append(c.credits, credits)
	var discount *int64
	if p.Code != "" {
		discount = &p.Discount
	}
	c.discounts = append(c.discounts, discount)
	c.codes = append(c.codes, orNull(p.Code))
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// insert returns the statements that store p.
func (p *purchases) insert(company id.Company, from source) []pg.Query {
	b := &p.bookings
	return []pg.Query{
		{SQL: insertTransactionsSQL, Args: []any{company, string(from),
			p.ids, p.purchasers, p.times, p.zones, p.references, p.versions, p.statuses, p.expiries, p.discounts}},
		{SQL: insertBookingsSQL, Args: []any{company, b.ids, b.transactions, b.positions, b.events, b.dates,
			b.options, b.boughtFor, b.spaces, b.cancelled, b.refunded,
			b.methods, b.currencies, b.gross, b.net, b.paymentReferences, b.credits, b.passes, b.discounts, b.codes}},
	}
}

// takes are the spaces to add to dates' counts.
type takes map[id.EventDate]int32

// errTakes reports a date that changed although it was locked.
var errTakes = errors.New("the spaces of a locked date could not be taken")

// update returns the statement that adds t to the dates' counts.
func (t takes) update(company id.Company) pg.Query {
	dates := make([]id.EventDate, 0, len(t))
	spaces := make([]int32, 0, len(t))
	for date, n := range t {
		dates, spaces = append(dates, date), append(spaces, n)
	}
	return pg.Query{SQL: takeSpacesSQL, Args: []any{company, dates, spaces}, Scan: func(rows pgx.Rows) error {
		rows.Close()
		if rows.CommandTag().RowsAffected() != int64(len(t)) {
			return errTakes
		}
		return nil
	}}
}

// save returns the statements that store purchases that were decided on the offer,
// which is locked.
func (of *offer) save(company id.Company, settled []*purchase) []pg.Query {
	spaces := takes{}
	for _, d := range of.dates {
		if d.takes > 0 {
			spaces[d.ID] = d.takes
		}
	}
	var p purchases
	for _, t := range settled {
		p.addAs(t.bought, "", t.status, t.expiresAt, t.discount)
	}
	queries := append([]pg.Query{spaces.update(company)}, p.insert(company, live)...)
	return append(queries, of.countUses(company)...)
}

const (
	lockTransactionSQL = `select t.id from transactions t where t.company_id = $1 and t.status = 'confirmed'
			and t.id = (select b.transaction_id from bookings b where b.company_id = $1 and b.id = $2)
		for no key update of t`

	bookingSQL = `with page as materialized (select ` + purchaseColumns + ` from transactions t
		where t.company_id = $1 and t.status = 'confirmed'
			and t.id = (select b.transaction_id from bookings b where b.company_id = $1 and b.id = $2))` +
		selectBookings + ` where b.id = $2`

	bookingPurchaserSQL = `select c.id, c.first_name, c.last_name, c.email, c.deleted_at is not null as deleted
		from customers c where c.company_id = $1 and c.id = (
			select t.purchaser_id from transactions t where t.company_id = $1 and t.id = (
				select b.transaction_id from bookings b where b.company_id = $1 and b.id = $2))`

	freeMinutesSQL = `select e.free_cancellation_minutes from events e where e.company_id = $1 and e.id = (
		select b.event_id from bookings b where b.company_id = $1 and b.id = $2)`

	changeBookingSQL = `update bookings set is_cancelled = $3, is_refunded = $4,
			cancelled_at = case when $3 and not is_cancelled then $5 else cancelled_at end,
			refunded_at = case when $4 and not is_refunded then $5 else refunded_at end
		where company_id = $1 and id = $2`

	raiseTransactionSQL = `update transactions set version = $3 where company_id = $1 and id = $2`

	freeSpacesSQL = `update event_dates set booked = booked - $3 where company_id = $1 and id = $2`
)

// lockBooking reads one booking, alone in its transaction, whose row stays
// locked until the end of tx: every change of a booking waits for it. With it
// comes until how many minutes before its date it can be cancelled freely.
func (s *store) lockBooking(ctx context.Context, tx *pg.Tx, company id.Company, b id.Booking) (*Transaction, *int32, error) {
	var l listing
	var freeMinutes *int32
	args := []any{company, b}
	err := tx.Pipeline(ctx,
		pg.Query{SQL: lockTransactionSQL, Args: args},
		pg.Query{SQL: bookingSQL, Args: args, Scan: l.scanTransactions},
		pg.Query{SQL: bookingPurchaserSQL, Args: args, Scan: l.scanPurchaser},
		pg.Query{SQL: freeMinutesSQL, Args: args, Scan: scanMinutes(&freeMinutes)},
	)
	if err != nil {
		return nil, nil, err
	}
	if len(l.transactions) == 0 {
		return nil, nil, fault.Missing("booking")
	}
	return &l.named().transactions[0], freeMinutes, nil
}

func scanMinutes(into **int32) func(pgx.Rows) error {
	return each(func(rows pgx.Rows) error { return rows.Scan(into) })
}

// saveBooking stores the flags of t's only booking, t's version, and what
// becomes free.
func (s *store) saveBooking(ctx context.Context, tx *pg.Tx, company id.Company, t *Transaction, frees int32, now time.Time) error {
	b := &t.Bookings[0]
	queries := []pg.Query{
		{SQL: changeBookingSQL, Args: []any{company, b.ID, b.Cancelled, b.Refunded, now}},
		{SQL: raiseTransactionSQL, Args: []any{company, t.ID, t.Version}},
	}
	if frees > 0 {
		queries = append(queries, pg.Query{SQL: freeSpacesSQL, Args: []any{company, b.Date.ID, frees}})
	}
	return tx.Pipeline(ctx, queries...)
}

// distinct sorts ids and drops repetitions.
func distinct[T ~[16]byte](ids []T) []T {
	slices.SortFunc(ids, func(a, b T) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(ids)
}
