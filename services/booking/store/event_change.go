package store

import (
	"context"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

// Changes of events. Each runs under the lock of the event.

const (
	raiseEventSQL = `update events set version = $3, updated_at = $4 where company_id = $1 and id = $2`

	updateEventSQL = `update events set version = $3, updated_at = $4, title = $5, description = $6, type = $7, status = $8,
			timezone = $9, location = $10, staff_ids = $11, room_ids = $12`

	rezoneDatesSQL = `update event_dates set timezone = $3 where company_id = $1 and event_id = $2`

	// Moves the dates whose start changes to starts that no date has, because two dates can swap theirs.
	clearDatesSQL = `update event_dates d set starts_at = d.starts_at + interval '100000 years'
		from unnest($2::uuid[], $3::timestamptz[]) n(id, starts_at)
		where d.company_id = $1 and d.id = n.id and d.starts_at <> n.starts_at`

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

	// A purchase that waits for the lock of a date then sees that the date is closed, even if it
	// read the event before.
	CloseDatesSQL = `update event_dates d set status = 'cancelled', closing = ` + toEmptySQL + `
		where d.company_id = $1 and d.event_id = $2 and d.status = 'scheduled' and d.starts_at > $3`

	CloseDateSQL = `update event_dates d set status = 'cancelled', closing = ` + toEmptySQL + ` where d.company_id = $1 and d.id = $2`

	// A date with bookings or waiting entries must be emptied.
	toEmptySQL = `d.booked > 0 or exists (select from waitlist_entries w
			where w.company_id = d.company_id and w.event_date_id = d.id and w.state = 'waiting')`

	// The reference can be used for another event.
	deleteEventSQL = `update events set deleted_at = $4, updated_at = $4, version = $3, reference = null
		where company_id = $1 and id = $2`

	// Its result is empty if the event is listed already.
	listEventSQL = `with listed as (
			update events set listed = true, updated_at = $3 where company_id = $1 and id = $2 and not listed returning 1)
		insert into event_totals (company_id, events) select $1, count(*) from listed having count(*) > 0
		on conflict (company_id) do update set events = event_totals.events + excluded.events`

	uncountEventSQL = `update event_totals set events = events - 1 where company_id = $1`
)

// SaveEvent stores the changes of a locked event.
func (s *Store) SaveEvent(ctx context.Context, tx *pg.Tx, company id.Company, p *model.EventPlan) error {
	e := p.Event
	update := pg.Statement{SQL: updateEventSQL, Args: []any{company, e.ID, e.Version, e.UpdatedAt, e.Title, e.Description,
		string(e.Type), string(e.Status), e.Timezone, e.Location, orEmpty(e.StaffAndRooms.Staff), orEmpty(e.StaffAndRooms.Rooms)}}
	setPolicy(&update, e.Policy)
	setRules(&update, &e.Rules)
	update.SQL += ` where company_id = $1 and id = $2`
	queries := []pg.Query{{SQL: update.SQL, Args: update.Args}}
	if p.Rezones {
		queries = append(queries, pg.Query{SQL: rezoneDatesSQL, Args: []any{company, e.ID, e.Timezone}})
	}
	queries = append(queries, updateDates(company, p.ChangedDates)...)
	if len(p.EndedOptions) > 0 {
		queries = append(queries, pg.Query{SQL: endOptionsSQL, Args: []any{company, p.EndedOptions, e.UpdatedAt}})
	}
	queries = append(queries, updateOptions(company, p.ChangedOptions)...)
	var o offerings
	for i := range p.AddedDates {
		o.addDate(e.ID, &p.AddedDates[i])
	}
	for i := range p.AddedOptions {
		o.addOption(e.ID, int32(len(e.Options)-len(p.AddedOptions)+i), &p.AddedOptions[i])
	}
	queries = append(queries, o.insert(company, e.UpdatedAt)...)
	if p.Drafts || len(p.AddedDates) > 0 {
		queries = append(queries, pg.Query{SQL: draftDatesSQL, Args: []any{company, e.ID, e.Status == model.Draft}})
	}
	queries = append(queries, assign(company, p.Staffing)...)
	if p.Cancels {
		queries = append(queries, pg.Query{SQL: CloseDatesSQL, Args: []any{company, e.ID, e.UpdatedAt}})
	}
	return tx.Pipeline(ctx, queries...)
}

// ListEvent lists an event of appointments at now, if its first appointment was confirmed. It reports
// whether the event was not listed before; the caller then publishes event_created. It locks the event after
// the dates, unlike other writes, and only once for each event. If that causes a deadlock with another write,
// PostgreSQL ends one of the two, and its transaction is repeated.
func (s *Store) ListEvent(ctx context.Context, tx *pg.Tx, company id.Company, e id.Event, now time.Time) (first bool, err error) {
	done, err := tx.Exec(ctx, listEventSQL, company, e, now)
	return done.RowsAffected() > 0, err
}

func updateDates(company id.Company, changed []model.DateDifference) []pg.Query {
	if len(changed) == 0 {
		return nil
	}
	var ids []id.EventDate
	var starts []time.Time
	var minutes []int32
	var capacity []*int32
	for _, c := range changed {
		ids, starts = append(ids, c.Date.ID), append(starts, c.Date.StartsAt)
		minutes, capacity = append(minutes, c.Date.Minutes), append(capacity, c.Date.Capacity)
	}
	var queries []pg.Query
	if len(changed) > 1 {
		queries = append(queries, pg.Query{SQL: clearDatesSQL, Args: []any{company, ids, starts}})
	}
	return append(queries, pg.Query{SQL: updateDatesSQL, Args: []any{company, ids, starts, minutes, capacity}},
		pg.Query{SQL: MoveClosingSQL, Args: []any{company, ids, starts}})
}

func updateOptions(company id.Company, changed []*model.PricingOption) []pg.Query {
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

// SaveDate stores a changed date of a locked event, and its staffing.
func (s *Store) SaveDate(ctx context.Context, tx *pg.Tx, company id.Company, e *model.Event, d model.DateDifference, f *model.Staffing) error {
	queries := append(updateDates(company, []model.DateDifference{d}), assign(company, f)...)
	return tx.Pipeline(ctx, append(queries, pg.Query{SQL: raiseEventSQL, Args: []any{company, e.ID, e.Version, e.UpdatedAt}})...)
}

// CloseDate cancels a locked date and marks it as closing if it has booked spaces or waiting entries.
func (s *Store) CloseDate(ctx context.Context, tx *pg.Tx, company id.Company, e *model.Event, d id.EventDate) error {
	return tx.Pipeline(ctx,
		pg.Query{SQL: CloseDateSQL, Args: []any{company, d}},
		pg.Query{SQL: raiseEventSQL, Args: []any{company, e.ID, e.Version, e.UpdatedAt}})
}

// DeleteEvent soft-deletes a locked event. It also cancels its dates, so that a purchase that waits
// for the lock of a date is refused.
func (s *Store) DeleteEvent(ctx context.Context, tx *pg.Tx, company id.Company, e *model.Event) error {
	return tx.Pipeline(ctx,
		pg.Query{SQL: CloseDatesSQL, Args: []any{company, e.ID, e.UpdatedAt}},
		pg.Query{SQL: deleteEventSQL, Args: []any{company, e.ID, e.Version, e.UpdatedAt}},
		pg.Query{SQL: uncountEventSQL, Args: []any{company}})
}
