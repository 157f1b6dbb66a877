package media

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
)

const (
	absentSQL = `select exists (select from customers where company_id = $1 and id = $2 and deleted_at is not null)
		or exists (select from erased_customers where company_id = $1 and customer_id = $2)`

	ruleOfItem = ` and (e.last_day is null or e.last_day >= $4)
		and (e.item_id = $2 or e.collection_id in (select m.collection_id from collection_items m where m.company_id = $1 and m.item_id = $2))`

	// The entitlements that concern an item and can concern a customer. $3 is the customer, $4 today. The
	// two parts have indexes of their own, because an item can be given to many customers.
	rulesOfItemSQL = entitlementsSQL + ` where e.company_id = $1 and e.customer_id is null` + ruleOfItem + `
		union all ` + entitlementsSQL + ` where e.company_id = $1 and e.customer_id = $3` + ruleOfItem

	// The entitlement that a link names, as far as it still concerns the item. $3 is the entitlement.
	ruleOfLinkSQL = entitlementsSQL + ` where e.company_id = $1 and e.id = $3` + ruleOfItem

	// Which holdings of customers matter in a company. $2 is today.
	needsSQL = `select exists (select from entitlements where company_id = $1 and pass_type_id is not null and (last_day is null or last_day >= $2)),
		exists (select from collection_items where company_id = $1)
			or exists (select from entitlements where company_id = $1 and plan_id is not null and (last_day is null or last_day >= $2)),
		coalesce((select array_agg(distinct event_id) from entitlements
			where company_id = $1 and event_id is not null and (last_day is null or last_day >= $2)), '{}')`

	// rulesMet is the condition that an entitlement e of today names the customer or something of which the
	// customer has a holding.
	rulesMet = `(e.last_day is null or e.last_day >= %s) and (e.customer_id = %s
		or e.pass_type_id = any(%s) or e.plan_id = any(%s) or e.event_id = any(%s))`

	// granted is the condition that an entitlement that is met, or a plan, grants an item i.
	granted = `i.id in (with met as (select e.item_id, e.collection_id from entitlements e where e.company_id = $1 and ` + rulesMet + `)
		select item_id from met where item_id is not null
		union select m.item_id from collection_items m where m.company_id = $1
			and (m.collection_id in (select collection_id from met where collection_id is not null) or m.collection_id = any(%s)))`

	rulesOfItemsSQL = entitlementsSQL + ` where e.company_id = $1
		and (e.item_id = any($2) or e.collection_id in (select m.collection_id from collection_items m where m.company_id = $1 and m.item_id = any($2)))`

	progressOfItemsSQL = `select item_id, position_seconds, completed, updated_at from progress
		where company_id = $1 and customer_id = $3 and item_id` + pg.AmongIDs
)

// playable is what the database has about an item for a customer.
type playable struct {
	item     Item
	rules    []Entitlement // that concern the item
	absent   bool          // the customer is deleted
	progress *Progress
}

// playable reads an item for a customer, in one round trip, with the entitlements that can matter.
func (s *store) playable(ctx context.Context, company id.Company, customer id.Customer, item id.MediaItem, today time.Time) (playable, error) {
	return s.playableBy(ctx, company, customer, item, pg.Query{SQL: rulesOfItemSQL, Args: []any{company, item, customer, today}})
}

// playableByLink reads the item of a link, in one round trip, with the entitlement that the link names. more
// are further queries.
func (s *store) playableByLink(ctx context.Context, link play, today time.Time, more ...pg.Query) (playable, error) {
	rule := pg.Query{SQL: ruleOfLinkSQL, Args: []any{link.company, link.item, link.reason.Entitlement, today}}
	return s.playableBy(ctx, link.company, link.customer, link.item, rule, more...)
}

func (s *store) playableBy(ctx context.Context, company id.Company, customer id.Customer, item id.MediaItem, rules pg.Query, more ...pg.Query) (p playable, err error) {
	rules.Scan = pg.Collect(&p.rules)
	var items []Item
	var progress []Progress
	err = s.ReadOf(ctx, company, append(more,
		pg.Query{SQL: itemSQL, Args: []any{company, item}, Scan: pg.Collect(&items)},
		rules,
		pg.Query{SQL: absentSQL, Args: []any{company, customer}, Scan: pg.First(&p.absent)},
		pg.Query{SQL: progressSQL, Args: []any{company, customer, item}, Scan: pg.Collect(&progress)})...)
	if err == nil && len(items) == 0 {
		err = fault.Missing("media item")
	}
	if err != nil {
		return p, err
	}
	p.item = items[0]
	if len(progress) > 0 {
		p.progress = &progress[0]
	}
	return p, nil
}

// needs returns which holdings of a customer can matter in a company today, and the events among them.
func (s *store) needs(ctx context.Context, company id.Company, today time.Time) (n needs, events []id.Event, err error) {
	err = s.ReadOf(ctx, company, pg.Query{SQL: needsSQL, Args: []any{company, today}, Scan: pg.First(&n.passes, &n.subscriptions, &events)})
	n.bookings = len(events) > 0
	return n, events, err
}

// grants are what a customer holds, as arguments of the condition granted.
type grants struct {
	today                      time.Time
	customer                   id.Customer
	passTypes, plans, bookings []id.UUID
	collections                []id.Collection // that plans include
}

func grantsOf(customer id.Customer, held []holding, today time.Time) grants {
	g := grants{today: today, customer: customer, passTypes: []id.UUID{}, plans: []id.UUID{}, bookings: []id.UUID{}, collections: []id.Collection{}}
	for _, h := range held {
		switch h.kind {
		case reasonPass:
			g.passTypes = append(g.passTypes, h.of)
		case reasonSubscription:
			g.plans = append(g.plans, h.of)
			g.collections = append(g.collections, h.collections...)
		case reasonBooking:
			g.bookings = append(g.bookings, h.of)
		}
	}
	return g
}

func (g grants) rules() []any { return []any{g.today, g.customer, g.passTypes, g.plans, g.bookings} }

// customerItems returns a page of the published items that a customer can play, and their number.
func (s *store) customerItems(ctx context.Context, company id.Company, g grants, p page.Page) (items []Item, total int64, err error) {
	where := page.NewFilter("i.company_id = $1 and i.status = 'published'", company)
	where.And(granted, append(g.rules(), g.collections)...)
	err = s.ReadOf(ctx, company, where.Page(itemsSQL, p).Query(pg.Collect(&items)), where.Count("media_items i", "", &total))
	return items, total, err
}

// rulesOfItems returns the entitlements to items that a customer meets, and the customer's progress.
func (s *store) rulesOfItems(ctx context.Context, company id.Company, g grants, items []id.MediaItem) (rules []Entitlement, progress map[id.MediaItem]Progress, err error) {
	met := pg.Statement{SQL: rulesOfItemsSQL, Args: []any{company, items}}
	met.And(rulesMet, g.rules()...)
	progress = map[id.MediaItem]Progress{}
	err = s.ReadOf(ctx, company, met.Query(pg.Collect(&rules)),
		pg.Query{SQL: progressOfItemsSQL, Args: []any{company, items, g.customer}, Scan: pg.Each(func(rows pgx.Rows) error {
			var p Progress
			err := rows.Scan(&p.Item, &p.Position, &p.Completed, &p.UpdatedAt)
			progress[p.Item] = p
			return err
		})})
	return rules, progress, err
}

const (
	coverSQL = `select f.id, f.name, f.content_type, f.size, f.sha256, f.uploaded_at from media_items i
		join media_files f on f.company_id = i.company_id and f.id = i.cover_id where i.company_id = $1 and i.id = $2 and f.id = $3`
)

// cover reads the cover of an item, unless it was replaced. more are further queries.
func (s *store) cover(ctx context.Context, company id.Company, item id.MediaItem, file id.UUID, more ...pg.Query) (f File, err error) {
	err = s.ReadOf(ctx, company, append(more, pg.Query{SQL: coverSQL, Args: []any{company, item, file},
		Scan: pg.First(&f.ID, &f.Name, &f.Type, &f.Size, &f.SHA256, &f.UploadedAt)})...)
	if err == nil && f.ID.IsZero() {
		err = fault.Missing("cover")
	}
	return f, err
}
