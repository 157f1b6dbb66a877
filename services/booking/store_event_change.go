package booking

import (
	"context"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// The changes of events, each under the lock of the event.

const (
	raiseEventSQL = `update events set version = $3, updated_at = $4 where company_id = $1 and id = $2`

	updateEventSQL = `update events set version = $3, updated_at = $4, title = $5, description = $6, type = $7, status = $8,
			timezone = $9, location = $10`

	rezoneDatesSQL = `update event_dates set timezone = $3 where company_id = $1 and event_id = $2`

	// Out of the way of each other: two dates may change places.
	clearDatesSQL = `update event_dates set starts_at = starts_at + interval '100000 years'
		where company_id = $1 and id = any($2)`

	updateDatesSQL = `update event_dates d set starts_at = n.starts_at, duration_minutes = n.minutes, capacity = n.capacity
		from unnest($2::uuid[], $3::timestamptz[], $4::integer[], $5::integer[]) n(id, starts_at, minutes, capacity)
		where d.company_id = $1 and d.id = n.id`

	clearOptionsSQL = `update pricing_options set name = id::text where company_id = $1 and id = any($2)`

	endOptionsSQL = `update pricing_options set ended_at = $3 where company_id = $1 and id = any($2)`

	updateOptionsSQL = `update pricing_options o set name = n.name, price = n.price, currency = n.currency,
			credits = n.credits, tax_rate_basis_points = n.tax_rate
		from unnest($2::uuid[], $3::text[], $4::bigint[], $5::text[], $6::integer[], $7::integer[])
			n(id, name, price, currency, credits, tax_rate)
		where o.company_id = $1 and o.id = n.id`

	// Purchases that wait for a date see that it is closed, whatever they saw of its
	// event before.
	closeDatesSQL = `update event_dates set status = 'cancelled', closing = booked > 0
		where company_id = $1 and event_id = $2 and status = 'scheduled' and starts_at > $3`

	closeDateSQL = `update event_dates set status = 'cancelled', closing = booked > 0 where company_id = $1 and id = $2`

	// Its reference is free for another event.
	deleteEventSQL = `update events set deleted_at = $4, updated_at = $4, version = $3, reference = null
		where company_id = $1 and id = $2`

	uncountEventSQL = `update event_totals set events = events - 1 where company_id = $1`
)

// saveEvent stores what a plan changes of a locked event.
func (s *store) saveEvent(ctx context.Context, tx *pg.Tx, company id.Company, p *eventPlan) error {
	e := p.Event
	update := pg.Statement{SQL: updateEventSQL, Args: []any{company, e.ID, e.Version, e.UpdatedAt, e.Title, e.Description,
		string(e.Type), string(e.Status), e.Timezone, e.Location}}
	setPolicy(&update, e.Policy)
	update.SQL += ` where company_id = $1 and id = $2`
	queries := []pg.Query{{SQL: update.SQL, Args: update.Args}}
	if p.rezones {
		queries = append(queries, pg.Query{SQL: rezoneDatesSQL, Args: []any{company, e.ID, e.Timezone}})
	}
	queries = append(queries, updateDates(company, p.changedDates)...)
	if len(p.endedOptions) > 0 {
		queries = append(queries, pg.Query{SQL: endOptionsSQL, Args: []any{company, p.endedOptions, e.UpdatedAt}})
	}
	queries = append(queries, updateOptions(company, p.changedOptions)...)
	var o offerings
	for i := range p.addedDates {
		o.addDate(e.ID, &p.addedDates[i])
	}
	for i := range p.addedOptions {
		o.addOption(e.ID, int32(len(e.Options)-len(p.addedOptions)+i), &p.addedOptions[i])
	}
	queries = append(queries, o.insert(company, e.UpdatedAt)...)
	if p.drafts || len(p.addedDates) > 0 {
		queries = append(queries, pg.Query{SQL: draftDatesSQL, Args: []any{company, e.ID, e.Status == Draft}})
	}
	if p.cancels {
		queries = append(queries, pg.Query{SQL: closeDatesSQL, Args: []any{company, e.ID, e.UpdatedAt}})
	}
	return tx.Pipeline(ctx, queries...)
}

func updateDates(company id.Company, changed []difference) []pg.Query {
	if len(changed) == 0 {
		return nil
	}
	var ids []id.EventDate
	var starts []time.Time
	var minutes []int32
	var capacity []*int32
	for _, c := range changed {
		ids, starts = append(ids, c.date.ID), append(starts, c.date.StartsAt)
		minutes, capacity = append(minutes, c.date.Minutes), append(capacity, c.date.Capacity)
	}
	var queries []pg.Query
	if len(changed) > 1 {
		queries = append(queries, pg.Query{SQL: clearDatesSQL, Args: []any{company, ids}})
	}
	return append(queries, pg.Query{SQL: updateDatesSQL, Args: []any{company, ids, starts, minutes, capacity}})
}

func updateOptions(company id.Company, changed []*PricingOption) []pg.Query {
	if len(changed) == 0 {
		return nil
	}
	var ids []id.PricingOption
	var names, currencies []string
	var prices []int64
	var credits []*int32
	var taxRates []int32
	for _, o := range changed {
		ids, names, prices = append(ids, o.ID), append(names, o.Name), append(prices, o.Price)
		currencies, credits, taxRates = append(currencies, o.Currency), append(credits, o.Credits), append(taxRates, o.TaxRate)
	}
	var queries []pg.Query
	if len(changed) > 1 {
		queries = append(queries, pg.Query{SQL: clearOptionsSQL, Args: []any{company, ids}})
	}
	return append(queries, pg.Query{SQL: updateOptionsSQL, Args: []any{company, ids, names, prices, currencies, credits, taxRates}})
}

// saveDate stores a changed date of a locked event.
func (s *store) saveDate(ctx context.Context, tx *pg.Tx, company id.Company, e *Event, d difference) error {
	return tx.Pipeline(ctx, append(updateDates(company, []difference{d}),
		pg.Query{SQL: raiseEventSQL, Args: []any{company, e.ID, e.Version, e.UpdatedAt}})...)
}

// closeDate takes a locked date off the offer.
func (s *store) closeDate(ctx context.Context, tx *pg.Tx, company id.Company, e *Event, d id.EventDate) error {
	return tx.Pipeline(ctx,
		pg.Query{SQL: closeDateSQL, Args: []any{company, d}},
		pg.Query{SQL: raiseEventSQL, Args: []any{company, e.ID, e.Version, e.UpdatedAt}})
}

// deleteEvent takes a locked event away from every reader, and its dates off the
// offer, so that a purchase which waits for one sees it.
func (s *store) deleteEvent(ctx context.Context, tx *pg.Tx, company id.Company, e *Event) error {
	return tx.Pipeline(ctx,
		pg.Query{SQL: closeDatesSQL, Args: []any{company, e.ID, e.UpdatedAt}},
		pg.Query{SQL: deleteEventSQL, Args: []any{company, e.ID, e.Version, e.UpdatedAt}},
		pg.Query{SQL: uncountEventSQL, Args: []any{company}})
}
