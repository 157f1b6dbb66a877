package store

import (
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

// Writes of transactions. To prevent deadlocks, all statements take locks in the same order:
// events, then transactions, then dates, and rows of each kind by id; then waitlist entries, each under
// the lock of its transaction or its date, and discount codes. Rows of customers can be locked for key share
// at any time. Only the confirmation of a deletion (customers.AwaitCommits) waits for that lock, and it holds
// no other.

const (
	// A CHECK of the table repeats the decision made under the lock.
	TakeSpacesSQL = `update event_dates d set booked = d.booked + n.spaces
		from (select $1::uuid as company_id, unnest($2::uuid[]) as id, unnest($3::integer[]) as spaces offset 0) n
		where d.company_id = n.company_id and d.id = n.id`

	insertTransactionsSQL = `insert into transactions
			(company_id, id, purchaser_id, purchased_at, timezone, source, reference, status, version, expires_at, discount_code_id,
				request_key, request_hash, request_kind, updated_at, hold_expires_at, created_by, after_start_reason)
		select $1, n.id, n.purchaser_id, n.purchased_at, n.timezone, $2, n.reference, n.status, n.version, n.expires_at, n.discount_code_id,
			n.request_key, n.request_hash, n.request_kind, n.updated_at, case when n.status = 'held' then n.expires_at end,
			n.created_by, n.after_start_reason
		from unnest($3::uuid[], $4::uuid[], $5::timestamptz[], $6::text[], $7::text[], $8::bigint[], $9::text[], $10::timestamptz[], $11::uuid[],
				$12::bytea[], $13::bytea[], $14::text[], $15::timestamptz[], $16::text[], $17::text[])
			n(id, purchaser_id, purchased_at, timezone, reference, version, status, expires_at, discount_code_id,
				request_key, request_hash, request_kind, updated_at, created_by, after_start_reason)`

	insertBookingsSQL = `insert into bookings (company_id, id, transaction_id, position, event_id, event_date_id,
			pricing_option_id, bought_for, spaces, is_cancelled, is_refunded,
			method, currency, gross, net, payment_reference, credits_used, customer_pass_id, discount, discount_code, money_method,
			tax_rate_basis_points)
		select $1, n.id, n.transaction_id, n.position, n.event_id, n.event_date_id,
			n.pricing_option_id, n.bought_for, n.spaces, n.is_cancelled, n.is_refunded,
			n.method, n.currency, n.gross, n.net, n.payment_reference, n.credits_used, n.customer_pass_id, n.discount, n.discount_code, n.money_method,
			n.tax_rate
		from unnest($2::uuid[], $3::uuid[], $4::integer[], $5::uuid[], $6::uuid[],
				$7::uuid[], $8::uuid[], $9::integer[], $10::boolean[], $11::boolean[],
				$12::text[], $13::text[], $14::bigint[], $15::bigint[], $16::text[], $17::integer[], $18::uuid[], $19::bigint[], $20::text[], $21::text[],
				$22::integer[])
			n(id, transaction_id, position, event_id, event_date_id,
				pricing_option_id, bought_for, spaces, is_cancelled, is_refunded,
				method, currency, gross, net, payment_reference, credits_used, customer_pass_id, discount, discount_code, money_method,
				tax_rate)`
)

// source says how a transaction was created. Its values are stored.
type source string

const (
	live    source = "live"
	history source = "import"
)

// purchases are the column values of transactions and their bookings to insert.
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
	keys       [][]byte
	hashes     [][]byte
	kinds      []*string
	changes    []time.Time
	creators   []*string
	reasons    []*string // of bookings after the start
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
	moneyMethods        []*string
	currencies          []*string
	gross, net          []*int64
	taxRates            []*int32
	paymentReferences   []*string
	credits             []*int32
	passes              []id.CustomerPass
	discounts           []*int64
	codes               []*string
}

// add adds a confirmed transaction. reference is its key in an earlier system, or "".
func (p *purchases) add(t *model.Transaction, reference string) {
	p.addGranted(&model.Purchase{Bought: t, Status: model.Confirmed}, reference)
}

// addGranted adds the transaction of a granted purchase. reference is its key in an earlier system,
// or "".
func (p *purchases) addGranted(granted *model.Purchase, reference string) {
	t := granted.Bought
	p.statuses = append(p.statuses, string(granted.Status))
	var expiry *time.Time
	if granted.Status != model.Confirmed {
		expiry = &granted.ExpiresAt
	}
	p.expiries = append(p.expiries, expiry)
	p.discounts = append(p.discounts, granted.Discount)
	var request model.RequestKey // only a retry of a pending purchase needs it
	if granted.Status == model.Pending {
		request = granted.Request
	}
	p.keys, p.hashes, p.kinds = append(p.keys, request.Key), append(p.hashes, request.Hash), append(p.kinds, orNull(request.Kind))
	p.ids = append(p.ids, t.ID)
	p.purchasers = append(p.purchasers, t.Purchaser.ID)
	p.times = append(p.times, t.PurchasedAt)
	p.zones = append(p.zones, t.Timezone)
	p.references = append(p.references, orNull(reference))
	p.versions, p.changes = append(p.versions, t.Version), append(p.changes, t.UpdatedAt)
	p.creators, p.reasons = append(p.creators, orNull(granted.CreatedBy)), append(p.reasons, orNull(granted.AfterStart()))
	for i := range t.Bookings {
		p.bookings.add(t.ID, int32(i), &t.Bookings[i])
	}
}

func (c *bookingColumns) add(t id.Transaction, position int32, b *model.Booking) {
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
	method, money := storedMethod(p.Method)
	c.methods, c.moneyMethods = append(c.methods, method), append(c.moneyMethods, money)
	c.currencies = append(c.currencies, orNull(p.Currency))
	c.paymentReferences = append(c.paymentReferences, orNull(p.Reference))
	c.passes = append(c.passes, p.CustomerPass)
	amounts := amountsOf(p)
	c.gross, c.net = append(c.gross, amounts.gross), append(c.net, amounts.net)
	c.credits, c.taxRates = append(c.credits, amounts.credits), append(c.taxRates, amounts.taxRate)
	var discount *int64
	if p.Code != "" {
		discount = &p.Discount
	}
	c.discounts = append(c.discounts, discount)
	c.codes = append(c.codes, orNull(p.Code))
}

// paidAmounts are the columns of a payment: money, or credits of a pass.
type paidAmounts struct {
	gross, net       *int64
	credits, taxRate *int32
}

func amountsOf(p *model.Payment) paidAmounts {
	if p.Method.IsMoney() {
		return paidAmounts{gross: &p.Gross, net: &p.Net, taxRate: &p.TaxRate}
	}
	return paidAmounts{credits: &p.Credits}
}

// storedMethod returns the values of the columns method and money_method. The previous release reads
// only the first, in which every amount is one by card.
func storedMethod(m model.Method) (method string, money *string) {
	if m == model.Pass || m == model.Card {
		return string(m), nil
	}
	name := string(m)
	return string(model.Card), &name
}

// insert returns the statements that insert p.
func (p *purchases) insert(company id.Company, from source) []pg.Query {
	b := &p.bookings
	return []pg.Query{
		{SQL: insertTransactionsSQL, Args: []any{company, string(from),
			p.ids, p.purchasers, p.times, p.zones, p.references, p.versions, p.statuses, p.expiries, p.discounts, p.keys, p.hashes, p.kinds, p.changes,
			p.creators, p.reasons}},
		{SQL: insertBookingsSQL, Args: []any{company, b.ids, b.transactions, b.positions, b.events, b.dates,
			b.options, b.boughtFor, b.spaces, b.cancelled, b.refunded,
			b.methods, b.currencies, b.gross, b.net, b.paymentReferences, b.credits, b.passes, b.discounts, b.codes, b.moneyMethods,
			b.taxRates}},
	}
}

// takes are the spaces to add to dates' counts.
type takes map[id.EventDate]int32

// update returns the statement that adds the spaces to the dates' counts.
func (t takes) update(company id.Company) pg.Query {
	dates := make([]id.EventDate, 0, len(t))
	spaces := make([]int32, 0, len(t))
	for date, n := range t {
		dates, spaces = append(dates, date), append(spaces, n)
	}
	return pg.Query{SQL: TakeSpacesSQL, Args: []any{company, dates, spaces}}.Affecting(len(t))
}

// Sale is what a commit of purchases stores.
type Sale struct {
	Offer     *model.Offer // the locked offer on which the purchases were granted
	Granted   []*model.Purchase
	Confirmed []Confirmation
	Keys      []*idem.Request // whose responses are stored
	Now       time.Time
}

// SaveSale stores a sale when tx commits.
func SaveSale(tx *pg.Tx, company id.Company, sale Sale) {
	if len(sale.Confirmed) > 0 {
		tx.Queue(confirm(company, sale.Confirmed, sale.Now)...)
	}
	if len(sale.Granted) > 0 {
		var p purchases
		for _, granted := range sale.Granted {
			p.addGranted(granted, "")
		}
		tx.Queue(takes(sale.Offer.Taken()).update(company))
		tx.Queue(p.insert(company, live)...)
		tx.Queue(countUses(company, sale.Offer)...)
	}
	if len(sale.Keys) > 0 {
		tx.Queue(idem.Save(sale.Keys...))
	}
}

// countUses returns the statement that adds the uses of the offer's codes.
func countUses(company id.Company, of *model.Offer) []pg.Query {
	var ids []id.DiscountCode
	var uses []int32
	for _, c := range of.Codes {
		if c.NewUses > 0 {
			ids, uses = append(ids, c.ID), append(uses, c.NewUses)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return []pg.Query{{SQL: countUsesSQL, Args: []any{company, ids, uses}}}
}
