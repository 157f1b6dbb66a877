package reports

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/privacy"
)

// factKind is a kind of facts that VerifyReports streams.
type factKind struct {
	name string
	// sql selects the facts. {of} is where a condition on their identifiers goes, and key the column of these.
	sql, key string
	id       func(id.UUID) string
	parse    func(string) (id.UUID, error)
	refersTo []func(id.UUID) string
}

// factKinds are the kinds of facts, sorted by name.
var factKinds = []factKind{
	{
		name: "booking", sql: bookingFactsSQL, key: "b.id", id: privacy.Named[id.Booking], parse: uuidOf[id.Booking],
		refersTo: []func(id.UUID) string{privacy.Named[id.Event], privacy.Named[id.EventDate], privacy.Named[id.Customer]},
	},
	{name: "customer", sql: customerFactsSQL, key: "id", id: privacy.Named[id.Customer], parse: uuidOf[id.Customer]},
	{
		name: "customer_pass", sql: passFactsSQL, key: "p.id", id: privacy.Named[id.CustomerPass], parse: uuidOf[id.CustomerPass],
		refersTo: []func(id.UUID) string{privacy.Named[id.PassType], privacy.Named[id.Customer]},
	},
	{
		name: "event_date", sql: dateFactsSQL, key: "d.id", id: privacy.Named[id.EventDate], parse: uuidOf[id.EventDate],
		refersTo: []func(id.UUID) string{privacy.Named[id.Event]},
	},
	{name: "subscription", sql: subscriptionFactsSQL, key: "subscription_id", id: privacy.Named[id.Subscription], parse: uuidOf[id.Subscription]},
}

// uuidOf parses an identifier of kind T.
func uuidOf[T ~[16]byte, P interface {
	*T
	UnmarshalText([]byte) error
}](s string) (id.UUID, error) {
	var v T
	err := P(&v).UnmarshalText([]byte(s))
	return id.UUID(v), err
}

// Each statement selects an identifier, the version, gross, net, a quantity, the status, a day, what the fact
// refers to, its terms, and the number of its entries with their digest. An entry is a line of text.
const (
	entriesSQL = `count(*)::bigint as entries, sha256(convert_to(coalesce(string_agg(`

	bookingFactsSQL = `select b.id, b.version, m.gross, m.net, b.spaces::bigint, b.status, coalesce(b.day::text, ''), array[b.event_id, b.date_id, b.customer_id],
			case when b.late then '{late}'::text[] else '{}' end, m.entries, m.digest
		from bookings b cross join lateral (select coalesce(sum(gross), 0)::bigint as gross, coalesce(sum(net), 0)::bigint as net, ` + entriesSQL + `
				concat_ws(' ', sequence, day, currency, method, tax_rate, gross, net), E'\n' order by sequence), ''), 'UTF8')) as digest
			from movements where company_id = $1 and generation = $2 and booking_id = b.id) m
		where b.company_id = $1 and b.generation = $2 {of} order by b.id`

	// Dates of events that only a deletion has named, and those without a day, have no counterpart.
	dateFactsSQL = `select d.id, d.version, 0::bigint, 0::bigint, coalesce(d.capacity, 0)::bigint, case when d.is_cancelled then 'cancelled' else 'scheduled' end,
			d.day::text, array[d.event_id], '{}'::text[], 0::bigint, ''::bytea
		from dates d left join events e on e.company_id = $1 and e.generation = $2 and e.id = d.event_id
		where d.company_id = $1 and d.generation = $2 and d.day is not null and e.status is distinct from 'deleted' {of} order by d.event_id, d.id`

	passFactsSQL = `select p.id, p.version, case when p.of_subscription then 0 else p.paid end, case when p.of_subscription then 0 else p.paid end,
			p.remaining::bigint, case when p.is_cancelled then 'cancelled' else '' end, p.created_on::text, array[p.pass_type_id, p.customer_id],
			array_remove(array[p.currency, p.method, p.expires::text, p.assigned::text, case when p.is_unlimited then 'unlimited' end,
				case when p.of_subscription then 'subscription' end], null), l.entries, l.digest
		from customer_passes p cross join lateral (select ` + entriesSQL + `
				concat_ws(' ', sequence, kind, credits, day), E'\n' order by sequence), ''), 'UTF8')) as digest
			from ledger_entries where company_id = $1 and generation = $2 and pass_id = p.id) l
		where p.company_id = $1 and p.generation = $2 {of} order by p.id`

	subscriptionFactsSQL = `select subscription_id, 0::bigint, sum(amount)::bigint, sum(amount)::bigint, 0::bigint, '', '', '{}'::uuid[], '{}'::text[], ` + entriesSQL + `
			concat_ws(' ', period, account_entry, day, currency, method, plan_id, amount), E'\n' order by period, account_entry), ''), 'UTF8')) as digest
		from subscription_movements` + ofGeneration + ` {of} group by subscription_id order by subscription_id`

	customerFactsSQL = `select id, version, 0::bigint, 0::bigint, 0::bigint, case when is_deleted then 'deleted' else 'current' end, created_on::text,
			'{}'::uuid[], '{}'::text[], 0::bigint, ''::bytea
		from customers` + ofGeneration + ` {of} order by id`
)

// statement returns the text that selects all facts, or those that $3 names.
func (k factKind) statement(named []id.UUID) string {
	condition := ""
	if named != nil {
		condition = "and " + k.key + " = any((select $3::uuid[])::uuid[])"
	}
	return strings.Replace(k.sql, "{of}", condition, 1)
}

// storedFact is a fact as VerifyReports streams it.
type storedFact struct {
	id                            id.UUID
	version, gross, net, quantity int64
	status, day                   string
	refersTo                      []id.UUID
	terms                         []string
	entries                       int64
	digest                        []byte
}

// eachFact calls each for the facts of a kind in their order: all of them, or those that are named if it is not nil.
func (s *store) eachFact(ctx context.Context, company id.Company, generation int64, kind factKind, named []id.UUID, each func(storedFact) error) error {
	args := []any{company, generation}
	if named != nil {
		args = append(args, named)
	}
	return s.Fault(s.Stream(ctx, pg.For(company), kind.statement(named), args, func(rows pgx.Rows) error {
		var f storedFact
		err := rows.Scan(&f.id, &f.version, &f.gross, &f.net, &f.quantity, &f.status, &f.day, &f.refersTo, &f.terms, &f.entries, &f.digest)
		if err != nil {
			return err
		}
		return each(f)
	}))
}
