package pass

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
)

// passColumns are the columns of a customer pass p, without the title of its type.
const passColumns = `p.id, p.customer_id, p.pass_type_id, p.remaining_uses, p.unlimited_uses, p.start_date, p.expiry_date, p.status,
	p.paused_on, p.paused_at, p.version, p.created_at, p.updated_at, p.paid_gross, p.paid_currency, p.paid_method, p.paid_reference,
	p.created_on, case when p.created_on is null then earlier_zone(p.company_id) else '' end as earlier_zone,
	coalesce(p.subscription_version, 0) as subscription_version, coalesce(p.subscription_state, '') as subscription_state,
	coalesce(p.last_period, 0) as last_period, p.period_last_day, p.unusable_from, p.usable_again_from,
	coalesce(p.total_uses, (select l.credits from ledger_entries l
		where l.company_id = p.company_id and l.customer_pass_id = p.id and l.sequence = 1)) as total_uses`

const (
	// The title is in a subselect, so that lists and locks concern only rows of customer_passes.
	customerPassColumns = passColumns + `,
	(select t.title from pass_types t where t.company_id = p.company_id and t.id = p.pass_type_id) as title`

	customerPassSQL = `select ` + customerPassColumns + ` from customer_passes p where p.company_id = $1 and p.id = $2`

	addCustomerPassSQL = `insert into customer_passes (company_id, id, customer_id, pass_type_id, total_uses, remaining_uses, unlimited_uses,
			start_date, expiry_date, status, version, created_at, updated_at, created_on, paid_gross, paid_currency, paid_method, paid_reference)
		values (@company, @id, @customer, @pass_type, @uses, @uses, @unlimited, @start, @expiry, @status, @version, @created_at, @updated_at,
			@created_on, @paid_gross, @paid_currency, @paid_method, @paid_reference)`

	countCustomerPassSQL = `insert into pass_totals as t (company_id, customer_passes) values ($1, 1)
		on conflict (company_id) do update set customer_passes = t.customer_passes + 1`

	openLedgerSQL = `insert into ledger_entries (company_id, customer_pass_id, sequence, kind, credits, balance, actor, created_at, day)
		values ($1, $2, 1, 'assigned', $3, $3, $4, $5, $6)`

	ledgerColumns = `sequence, kind, credits, balance, actor, created_at, redemption_id, item_id, coalesce(reason, '') as reason, period, day,
		case when day is null then earlier_zone(company_id) else '' end as earlier_zone`

	// The entries of a pass are numbered from 1 without gaps.
	ledgerLengthSQL = `select coalesce(max(sequence), 0) from ledger_entries where company_id = $1 and customer_pass_id = $2`

	ledgerSQL = `select ` + ledgerColumns + ` from ledger_entries
		where company_id = $1 and customer_pass_id = $2 and sequence > coalesce($5::bigint, $4::bigint) order by sequence limit $3`

	customerPassTotalSQL = `select customer_passes from pass_totals where company_id = $1`

	ledgerDescSQL = `select ` + ledgerColumns + ` from ledger_entries
		where company_id = $1 and customer_pass_id = $2 and sequence < coalesce($5::bigint, (` + ledgerLengthSQL + `) + 1 - $4::bigint)
		order by sequence desc limit $3`
)

// customerPass returns one customer pass.
func (s *store) customerPass(ctx context.Context, company id.Company, pass id.CustomerPass) (CustomerPass, error) {
	return pg.Get[CustomerPass](ctx, s.Store, company, "customer pass", customerPassSQL, company, pass)
}

// customerPassFilter filters a list of customer passes; zero means no filter.
type customerPassFilter struct {
	customer                   *id.Customer
	passType                   *id.PassType
	status                     string    // the status as shown on day
	day                        time.Time // of the status
	updatedSince               time.Time
	createdFrom, createdBefore time.Time
	mostCounted                int64 // the largest total; 0: any
}

// customerPasses returns a page of customer passes and the number of matches.
func (s *store) customerPasses(ctx context.Context, company id.Company, f customerPassFilter, p page.Page) (passes []CustomerPass, total int64, err error) {
	where := f.where(company)
	count := where.CountUpTo("customer_passes", customerPassTotalSQL, f.mostCounted, &total)
	f, p = f.walking(p)
	err = s.ReadOf(ctx, company, f.page(f.where(company), customerPassColumns, p).Query(pg.Collect(&passes)), count)
	return passes, total, err
}

// walking returns the filter and the page of a statement that walks along the creation of passes. The index is
// searched from one lower bound: that of the page, or of the filter on its first page.
func (f customerPassFilter) walking(p page.Page) (customerPassFilter, page.Page) {
	if p.Order.Column != "created_at" || p.Order.Desc || f.createdFrom.IsZero() {
		return f, p
	}
	if p.After == nil || p.After.Time().Before(f.createdFrom) {
		p.After = new(page.At(f.createdFrom, id.UUID{}))
	}
	f.createdFrom = time.Time{}
	return f, p
}

func (f customerPassFilter) where(company id.Company) *page.Filter {
	where := page.NewFilter("company_id = $1", company)
	if f.customer != nil {
		where.And("customer_id = %s", *f.customer)
	}
	if f.passType != nil {
		where.And("pass_type_id = %s", *f.passType)
	}
	f.hasStatus(where)
	where.Since("updated_at", f.updatedSince)
	where.Since("created_at", f.createdFrom)
	if !f.createdBefore.IsZero() {
		where.And("created_at < %s", f.createdBefore)
	}
	return where
}

// page returns the statement that reads a page. Passes that have not expired are the newest, so a list of
// them from the oldest would walk along all that have expired. It is sorted instead.
func (f customerPassFilter) page(where *page.Filter, columns string, p page.Page) *pg.Statement {
	isCurrent := f.status == statusActive || f.status == statusPending || f.status == statusExhausted
	if !isCurrent || p.Order.Desc {
		return where.Page("select "+columns+" from customer_passes p", p)
	}
	order := "p.id"
	if p.Order.Column != "" {
		order = "p." + p.Order.Column + ", p.id"
	}
	s := where.Rows("with matching as materialized (select id, created_at, updated_at from customer_passes")
	s.SQL += ") select id from matching where true"
	p.Add(s)
	s.SQL = "select " + columns + " from (" + s.SQL + ") page join customer_passes p on p.company_id = $1 and p.id = page.id order by " + order
	return s
}

// hasStatus adds the condition that a pass has the status on the day of f, as StatusOn defines it.
func (f customerPassFilter) hasStatus(where *page.Filter) {
	switch day := f.day; f.status {
	case statusActive:
		where.And("status = 'active' and expiry_date >= %s and start_date <= %s and remaining_uses > 0", day, day)
	case statusPending:
		// A pass that starts later also expires later.
		where.And("status = 'active' and expiry_date >= %s and start_date > %s and remaining_uses > 0", day, day)
	case statusExhausted:
		where.And("status = 'active' and expiry_date >= %s and remaining_uses = 0", day)
	case statusExpired:
		where.And("status = 'active' and expiry_date < %s", day)
	case statusPaused: // a literal, so that every plan can use the index customer_passes_ended
		where.And("status = 'paused'")
	case statusCancelled:
		where.And("status = 'cancelled'")
	}
}

// addCustomerPass stores a new pass and the first entry of its ledger, when tx commits.
func addCustomerPass(tx *pg.Tx, company id.Company, p CustomerPass, actor string) {
	tx.Queue(
		pg.Query{SQL: addCustomerPassSQL, Args: []any{pgx.NamedArgs{
			"company": company, "id": p.ID, "customer": p.CustomerID, "pass_type": p.PassTypeID, "uses": p.TotalUses, "unlimited": p.UnlimitedUses,
			"start": p.StartDate, "expiry": p.ExpiryDate, "status": p.Status, "version": p.Version,
			"created_at": p.CreatedAt, "updated_at": p.UpdatedAt, "created_on": p.CreatedOn, "paid_gross": p.PaidGross, "paid_currency": p.PaidCurrency,
			"paid_method": p.PaidMethod, "paid_reference": p.PaidReference,
		}}},
		pg.Query{SQL: openLedgerSQL, Args: []any{company, p.ID, p.RemainingUses, actor, p.CreatedAt, p.CreatedOn}},
		pg.Query{SQL: countCustomerPassSQL, Args: []any{company}})
}

// ledger returns a page of a pass's ledger and its number of entries. Every pass has an entry.
func (s *store) ledger(ctx context.Context, company id.Company, pass id.CustomerPass, p page.Page) (list []LedgerEntry, total int64, err error) {
	entries := pg.Query{SQL: ledgerSQL, Args: []any{company, pass, p.Size + 1, p.Offset, nil}, Scan: pg.Collect(&list)}
	if p.Order.Desc {
		entries.SQL = ledgerDescSQL
	}
	if p.After != nil {
		entries.Args[4] = p.After.Key
	}
	err = s.ReadOf(ctx, company, pg.Query{SQL: ledgerLengthSQL, Args: []any{company, pass}, Scan: pg.First(&total)}, entries)
	if err == nil && total == 0 {
		err = fault.Missing("customer pass")
	}
	return list, total, err
}

const (
	lockCustomerPassSQL = customerPassSQL + ` for no key update`

	// The company is joined too. PostgreSQL would otherwise expect few rows of a company in a new
	// table, and read all of them.
	saveCustomerPassesSQL = `update customer_passes p set remaining_uses = n.remaining_uses, expiry_date = n.expiry_date, status = n.status,
			paused_on = n.paused_on, paused_at = n.paused_at, version = n.version, updated_at = $2
		from (select $1::uuid as company_id, unnest($3::uuid[]) as id, unnest($4::integer[]) as remaining_uses, unnest($5::date[]) as expiry_date,
			unnest($6::text[]) as status, unnest($7::date[]) as paused_on, unnest($8::timestamptz[]) as paused_at,
			unnest($9::bigint[]) as version offset 0) n
		where p.company_id = n.company_id and p.id = n.id`

	// The passes are locked, so their last sequence numbers do not change.
	appendLedgerSQL = `insert into ledger_entries (company_id, customer_pass_id, sequence, kind, credits, balance, actor, created_at,
			redemption_id, item_id, reason, period, item_credits, day)
		select $1, n.customer_pass_id, n.place + (select coalesce(max(l.sequence), 0) from ledger_entries l
				where l.company_id = $1 and l.customer_pass_id = n.customer_pass_id),
			n.kind, n.credits, n.balance, $3, $2, n.redemption_id, n.item_id, $4, n.period, n.item_credits, $14
		from unnest($5::uuid[], $6::integer[], $7::text[], $8::integer[], $9::integer[], $10::uuid[], $11::uuid[], $12::integer[], $13::integer[])
			n(customer_pass_id, place, kind, credits, balance, redemption_id, item_id, period, item_credits)`
)

// lockCustomerPass reads a customer pass and locks it until the end of tx.
func (s *store) lockCustomerPass(ctx context.Context, tx *pg.Tx, company id.Company, pass id.CustomerPass) (CustomerPass, error) {
	var found []CustomerPass
	var entries int64
	err := tx.Pipeline(ctx,
		pg.Query{SQL: lockCustomerPassSQL, Args: []any{company, pass}, Scan: pg.Collect(&found)},
		ledgerLength(company, pass, &entries))
	if err != nil {
		return CustomerPass{}, err
	}
	if len(found) == 0 {
		return CustomerPass{}, fault.Missing("customer pass")
	}
	found[0].Entries = entries
	return found[0], nil
}

// ledgerLength returns the query for the length of a pass's ledger. It follows the lock of the pass, because a
// statement that waits for a lock does not see what other tables got in the meantime.
func ledgerLength(company id.Company, pass id.CustomerPass, length *int64) pg.Query {
	return pg.Query{SQL: ledgerLengthSQL, Args: []any{company, pass}, Scan: pg.First(length)}
}

// entries are ledger entries to add together.
type entries struct {
	kind   string // of entries without a period
	reason *string
	actor  string

	passes            []id.CustomerPass
	places            []int32 // of the entry among those of its pass, from 1
	kinds             []string
	credits, balances []int32
	redemptions       []id.Transaction
	items             []id.Booking
	periods           []*int32
	itemCredits       []*int32
}

// add adds an entry of a pass. The pass has the credits already, so its stored uses are the balance.
func (e *entries) add(p *CustomerPass, credits int32) { e.append(p, e.kind, credits, nil) }

// addItem adds the credits of a booking to a pass, or removes them if negative, and adds an entry that
// explains it.
func (e *entries) addItem(p *CustomerPass, credits int32, redemption id.Transaction, item id.Booking) {
	e.append(p, e.kind, p.add(credits), nil)
	last := len(e.passes) - 1
	e.redemptions[last], e.items[last], e.itemCredits[last] = redemption, item, &credits
}

// addPeriod adds an entry of a period of a subscription.
func (e *entries) addPeriod(p *CustomerPass, kind string, credits, period int32) {
	e.append(p, kind, credits, &period)
}

func (e *entries) append(p *CustomerPass, kind string, credits int32, period *int32) {
	place := int32(1)
	for n := len(e.passes) - 1; n >= 0; n-- {
		if e.passes[n] == p.ID {
			place = e.places[n] + 1
			break
		}
	}
	e.passes = append(e.passes, p.ID)
	e.places = append(e.places, place)
	e.kinds = append(e.kinds, kind)
	e.credits = append(e.credits, credits)
	e.balances = append(e.balances, p.RemainingUses)
	e.redemptions = append(e.redemptions, id.Transaction{})
	e.items = append(e.items, id.Booking{})
	e.periods = append(e.periods, period)
	e.itemCredits = append(e.itemCredits, nil)
}

// of returns the entries that e adds to the ledger of a locked pass.
func (e *entries) of(p *CustomerPass, at moment) (added []LedgerEntry) {
	for n := range e.passes {
		if e.passes[n] != p.ID {
			continue
		}
		entry := LedgerEntry{
			Sequence: p.Entries + int64(e.places[n]), Kind: e.kinds[n], Credits: e.credits[n], Balance: e.balances[n], Actor: e.actor,
			CreatedAt: at.now, Redemption: e.redemptions[n], Item: e.items[n], Period: e.periods[n], Day: &at.today,
		}
		if e.reason != nil {
			entry.Reason = *e.reason
		}
		added = append(added, entry)
	}
	return added
}

// saveCustomerPasses returns the statements that store locked passes, all changed at the same time,
// and append to their ledgers.
func saveCustomerPasses(company id.Company, at moment, passes []change, e entries) []pg.Query {
	n := len(passes)
	ids, uses, expiries, statuses := make([]id.CustomerPass, n), make([]int32, n), make([]time.Time, n), make([]string, n)
	pausedOn, pausedAt, versions := make([]*time.Time, n), make([]*time.Time, n), make([]int64, n)
	for i, c := range passes {
		p := c.pass
		ids[i], uses[i], expiries[i], statuses[i] = p.ID, p.RemainingUses, p.ExpiryDate, p.Status
		pausedOn[i], pausedAt[i], versions[i] = p.PausedOn, p.PausedAt, p.Version
	}
	queries := []pg.Query{{SQL: saveCustomerPassesSQL, Args: []any{company, at.now, ids, uses, expiries, statuses, pausedOn, pausedAt, versions}}}
	return append(queries, appendLedger(company, at, e)...)
}

// appendLedger returns the statement that adds entries to ledgers, if there are any.
func appendLedger(company id.Company, at moment, e entries) []pg.Query {
	if len(e.credits) == 0 {
		return nil
	}
	return []pg.Query{{SQL: appendLedgerSQL, Args: []any{
		company, at.now, e.actor, e.reason, e.passes, e.places, e.kinds, e.credits, e.balances, e.redemptions, e.items, e.periods,
		e.itemCredits, at.today,
	}}}
}
