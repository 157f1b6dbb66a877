package webhook

import (
	"context"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/webhook/message"
)

// The engine's statements cover all companies at the same time: each row has its company, and every
// join compares it.

// claimedRow is a delivery that this process has leased.
type claimedRow struct {
	CompanyID  id.Company         `db:"company_id"`
	ID         id.WebhookDelivery `db:"id"`
	MessageID  id.WebhookMessage  `db:"message_id"`
	EndpointID id.WebhookEndpoint `db:"endpoint_id"`
	Tries      int32              `db:"tries"`
	Version    int64              `db:"version"` // of the endpoint
	Event      string             `db:"event"`
	OccurredAt time.Time          `db:"occurred_at"`
	JSON       []byte             `db:"body"`
	Trace      map[string]string  `db:"trace"`
}

func (c *claimedRow) key() endpointKey { return endpointKey{c.CompanyID, c.EndpointID} }

// queueSQL stores each message once, whether or not an endpoint subscribes to it, and creates a
// delivery for each subscribed endpoint. As many deliveries per endpoint as the process has room for
// are leased to it immediately, so that they need no claim. Versions are read from the endpoints'
// index: PostgreSQL estimates the new rows as one or two, and would compare each of them with each
// subscription. Messages that name an erased customer are dropped. The others get their positions in
// the given order, because the rows of insert … select get their defaults in the order of the select.
const queueSQL = `with erased as (
		select n.id from unnest($13::uuid[], $14::uuid[], $15::uuid[]) as n (company_id, id, customer_id)
		join erased_customers e on e.company_id = n.company_id and e.customer_id = n.customer_id
	), incoming as (
		select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::timestamptz[], $5::bytea[], $12::text[])
			with ordinality as m (company_id, id, event, occurred_at, body, trace, number)
		where not exists (select from erased where erased.id = m.id)
	), wanted as (
		select m.company_id, m.id, m.event, e.id as endpoint_id,
			row_number() over (partition by e.company_id, e.id order by m.id) <= coalesce(f.free, $6) as mine
		from incoming m
		join endpoints e on e.company_id = m.company_id and e.enabled and m.event = any (e.events)
		left join unnest($7::uuid[], $8::int[]) as f (endpoint_id, free) on f.endpoint_id = e.id
	), stored as (
		insert into messages (company_id, id, event, occurred_at, body, trace)
		select company_id, id, event, occurred_at, body, trace::jsonb from incoming order by number
		on conflict do nothing
	), queued as (
		insert into deliveries (company_id, id, message_id, endpoint_id, event, state, due_at, lease, created_at)
		select company_id, delivery_id(id, endpoint_id), id, endpoint_id, event, 'pending',
			case when mine then $9::timestamptz else $10 end, case when mine then $11::uuid end, now()
		from wanted
		on conflict do nothing
		returning company_id, id, message_id, endpoint_id, lease is not null as leased
	)
	select q.company_id, q.id, q.message_id, q.endpoint_id, q.leased, e.version from queued q
	join endpoints e on e.company_id = q.company_id and e.id = q.endpoint_id`

// queuedRow is a created delivery.
type queuedRow struct {
	CompanyID  id.Company         `db:"company_id"`
	ID         id.WebhookDelivery `db:"id"`
	MessageID  id.WebhookMessage  `db:"message_id"`
	EndpointID id.WebhookEndpoint `db:"endpoint_id"`
	Leased     bool               `db:"leased"`
	Version    int64              `db:"version"`
}

// room is how many new deliveries of each endpoint a process can take: the number in free for each
// endpoint in endpoints, and usual for every other endpoint.
type room struct {
	usual     int
	endpoints []id.WebhookEndpoint
	free      []int32
}

// uuidOf returns an identifier as an argument that is not null, even if it is zero.
func uuidOf[T ~[16]byte](v T) pgtype.UUID { return pgtype.UUID{Bytes: v, Valid: true} }

// uuidsOf returns identifiers as an array that is not null.
func uuidsOf[T ~[16]byte](list []T) []pgtype.UUID {
	uuids := make([]pgtype.UUID, len(list))
	for i, v := range list {
		uuids[i] = uuidOf(v)
	}
	return uuids
}

// queue stores messages and creates their deliveries, in one commit.
func (s *store) queue(ctx context.Context, msgs []message.Message, r room, lease id.UUID, until, now time.Time) (queued []queuedRow, err error) {
	err = s.DB.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) (err error) {
		queued, err = queueInTx(ctx, tx, msgs, r, lease, until, now)
		return err
	})
	return queued, s.Fault(err)
}

// queueInTx is queue within tx.
func queueInTx(ctx context.Context, tx *pg.Tx, msgs []message.Message, r room, lease id.UUID, until, now time.Time) ([]queuedRow, error) {
	n := len(msgs)
	companies, ids := make([]pgtype.UUID, n), make([]pgtype.UUID, n)
	events, times, bodies, traces := make([]string, n), make([]time.Time, n), make([][]byte, n), make([]*string, n)
	for i, m := range msgs {
		companies[i], ids[i], events[i], times[i] = uuidOf(m.Company), uuidOf(m.ID), m.Event, m.OccurredAt
		bodies[i], traces[i] = m.JSON, traceText(m.Trace)
	}
	named := namedCustomers(msgs)
	rows, err := tx.Query(ctx, queueSQL, companies, ids, events, times, bodies, r.usual, uuidsOf(r.endpoints), r.free, until, now, lease, traces,
		named.companies, named.messages, named.customers)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[queuedRow])
}

// namedColumns are the customers that messages name.
type namedColumns struct{ companies, messages, customers []pgtype.UUID }

func namedCustomers(msgs []message.Message) namedColumns {
	var c namedColumns
	for _, m := range msgs {
		for _, customer := range m.Customers {
			c.companies, c.messages, c.customers = append(c.companies, uuidOf(m.Company)), append(c.messages, uuidOf(m.ID)), append(c.customers, uuidOf(customer))
		}
	}
	return c
}

// claimSQL leases the oldest due deliveries of each endpoint, as many as its queue has room for. It
// skips deliveries that another process is claiming.
const claimSQL = `with wanted as (
		select * from unnest($1::uuid[], $2::uuid[], $3::int[]) as w (company_id, endpoint_id, most)
	), picked as (
		select d.company_id, d.id, e.version
		from wanted w
		join endpoints e on e.company_id = w.company_id and e.id = w.endpoint_id and e.enabled
		cross join lateral (
			select company_id, id from deliveries
			where endpoint_id = w.endpoint_id and company_id = w.company_id and due_at <= $4
			order by due_at limit w.most for update skip locked
		) d
	), claimed as (
		update deliveries d set lease = $5, due_at = $6 from picked p
		where d.company_id = p.company_id and d.id = p.id
		returning d.company_id, d.id, d.message_id, d.endpoint_id, d.tries, p.version
	)
	select c.company_id, c.id, c.message_id, c.endpoint_id, c.tries, c.version,
		coalesce(m.event, '') as event, coalesce(m.occurred_at, 'epoch') as occurred_at, m.body, m.trace
	from claimed c
	left join lateral (
		select event, occurred_at, body, trace from messages where company_id = c.company_id and id = c.message_id limit 1
	) m on true`

// byIndex runs a statement over many deliveries, which must find every row that it joins in an index.
// Without a scan, the statement shares the round trip of the commit.
func byIndex(ctx context.Context, tx *pg.Tx, sql string, args []any, scan func(pgx.Rows) error) error {
	statement := pg.Query{SQL: sql, Args: args, Scan: scan}
	if scan == nil {
		tx.Queue(pg.ByIndex(), statement)
		return nil
	}
	return tx.Pipeline(ctx, pg.ByIndex(), statement)
}

// claim leases due deliveries.
func (s *store) claim(ctx context.Context, requests []claimRequest, lease id.UUID, until, now time.Time) ([]claimedRow, error) {
	companies, endpoints, most := claimColumns(requests)
	var claimed []claimedRow
	err := s.DB.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		return byIndex(ctx, tx, claimSQL, []any{companies, endpoints, most, now, lease, until}, func(rows pgx.Rows) (err error) {
			claimed, err = pgx.CollectRows(rows, pgx.RowToStructByName[claimedRow])
			return err
		})
	})
	return claimed, err
}

func claimColumns(requests []claimRequest) (companies, endpoints []pgtype.UUID, most []int32) {
	for _, w := range requests {
		companies, endpoints, most = append(companies, uuidOf(w.key.company)), append(endpoints, uuidOf(w.key.endpoint)), append(most, int32(w.most))
	}
	return companies, endpoints, most
}

// dueAt is the nearest due_at of an endpoint.
type dueAt struct {
	CompanyID  id.Company         `db:"company_id"`
	EndpointID id.WebhookEndpoint `db:"endpoint_id"`
	DueAt      time.Time          `db:"due_at"`
}

func (d *dueAt) key() endpointKey { return endpointKey{d.CompanyID, d.EndpointID} }

const nearestSQL = `select w.company_id, w.endpoint_id, d.due_at
	from unnest($1::uuid[], $2::uuid[]) as w (company_id, endpoint_id)
	cross join lateral (
		select due_at from deliveries where endpoint_id = w.endpoint_id and due_at is not null order by due_at limit 1
	) d`

// nearest returns when each endpoint next has a delivery due; endpoints without one are left out.
func (s *store) nearest(ctx context.Context, requests []claimRequest) ([]dueAt, error) {
	companies, endpoints, _ := claimColumns(requests)
	return pg.Rows[dueAt](ctx, s.DB, pg.AllCompanies(), nearestSQL, companies, endpoints)
}

// sweepSQL jumps from endpoint to endpoint in the index, so its cost depends on the number of
// endpoints and not of deliveries.
const sweepSQL = `with recursive e (company_id, endpoint_id, due_at) as (
		(select company_id, endpoint_id, due_at from deliveries where due_at is not null order by endpoint_id, due_at limit 1)
		union all
		select n.company_id, n.endpoint_id, n.due_at from e cross join lateral (
			select company_id, endpoint_id, due_at from deliveries
			where due_at is not null and endpoint_id > e.endpoint_id order by endpoint_id, due_at limit 1
		) n
	) select company_id, endpoint_id, due_at from e`

// sweep returns when each endpoint with queued deliveries has the next one due.
func (s *store) sweep(ctx context.Context) ([]dueAt, error) {
	return pg.Rows[dueAt](ctx, s.DB, pg.AllCompanies(), sweepSQL)
}

// abandonSQL fails due deliveries to endpoints that are disabled or deleted: retries that were
// scheduled while that happened.
const abandonSQL = `update deliveries d set state = 'failed', due_at = null, lease = null, last_failure = 'endpoint', finished_at = $3
	from unnest($1::uuid[], $2::uuid[]) as w (company_id, endpoint_id)
	join endpoints e on e.company_id = w.company_id and e.id = w.endpoint_id and not e.enabled
	where d.company_id = w.company_id and d.endpoint_id = w.endpoint_id and d.due_at <= $3`

// abandon fails the deliveries that nobody will send, and returns their number.
func (s *store) abandon(ctx context.Context, due []dueAt, now time.Time) (n int64, err error) {
	var companies, endpoints []pgtype.UUID
	for _, d := range due {
		if !d.DueAt.After(now) {
			companies, endpoints = append(companies, uuidOf(d.CompanyID)), append(endpoints, uuidOf(d.EndpointID))
		}
	}
	if len(companies) == 0 {
		return 0, nil
	}
	err = s.DB.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		tag, err := tx.Exec(ctx, abandonSQL, companies, endpoints, now)
		n = tag.RowsAffected()
		return err
	})
	return n, err
}

const releaseSQL = `update deliveries d set lease = null, due_at = $4 from unnest($1::uuid[], $2::uuid[], $3::uuid[]) as r (company_id, id, lease)
	where d.company_id = r.company_id and d.id = r.id and d.lease = r.lease`

// release ends leases, so that any process with room can claim the deliveries.
func (s *store) release(ctx context.Context, jobs []*job, now time.Time) error {
	if len(jobs) == 0 {
		return nil
	}
	var companies, ids, leases []pgtype.UUID
	for _, j := range jobs {
		companies, ids, leases = append(companies, uuidOf(j.target.key.company)), append(ids, uuidOf(j.delivery)), append(leases, uuidOf(j.lease))
	}
	return s.DB.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		return byIndex(ctx, tx, releaseSQL, []any{companies, ids, leases, now}, nil)
	})
}

const targetsSQL = `select e.company_id, e.id as endpoint_id, e.url, e.version, e.failing_since, e.warned_at is not null as warned,
		s.id, s.sealed, s.created_at, s.expires_at
	from unnest($1::uuid[], $2::uuid[]) as w (company_id, endpoint_id)
	join endpoints e on e.company_id = w.company_id and e.id = w.endpoint_id and e.deleted_at is null
	join endpoint_secrets s on s.company_id = e.company_id and s.endpoint_id = e.id
	order by s.created_at desc, s.id desc`

// target returns what is needed to send to one endpoint.
func (s *store) target(ctx context.Context, key endpointKey) (*target, error) {
	targets, err := s.targets(ctx, []endpointKey{key})
	if err == nil && len(targets) == 0 {
		err = pgx.ErrNoRows
	}
	if err != nil {
		return nil, pg.Missing(s.Fault(err), "endpoint")
	}
	return targets[0], nil
}

// targets returns what is needed to send to endpoints; deleted endpoints are left out.
func (s *store) targets(ctx context.Context, keys []endpointKey) ([]*target, error) {
	type row struct {
		secretRow
		CompanyID    id.Company         `db:"company_id"`
		EndpointID   id.WebhookEndpoint `db:"endpoint_id"`
		URL          string             `db:"url"`
		Version      int64              `db:"version"`
		FailingSince *time.Time         `db:"failing_since"`
		Warned       bool               `db:"warned"`
	}
	var companies, endpoints []pgtype.UUID
	for _, k := range keys {
		companies, endpoints = append(companies, uuidOf(k.company)), append(endpoints, uuidOf(k.endpoint))
	}
	rows, err := pg.Rows[row](ctx, s.DB, pg.AllCompanies(), targetsSQL, companies, endpoints)
	if err != nil {
		return nil, err
	}
	byKey := map[endpointKey]*target{}
	var out []*target
	for _, r := range rows {
		key := endpointKey{r.CompanyID, r.EndpointID}
		t := byKey[key]
		if t == nil {
			t = &target{key: key, version: r.Version, rawURL: r.URL, warned: r.Warned}
			if t.url, err = url.Parse(r.URL); err != nil {
				return nil, err
			}
			if r.FailingSince != nil {
				t.failingSince = *r.FailingSince
			}
			byKey[key] = t
			out = append(out, t)
		}
		secret, err := s.open(r.CompanyID, r.EndpointID, r.secretRow)
		if err != nil {
			return nil, err
		}
		t.signers = append(t.signers, message.NewSigner(secret))
	}
	return out, nil
}

// queueMost is the limit of the count in a sample.
const queueMost = 20000

// queueSampleSQL walks the index of pending deliveries, which is only as long as their number.
const queueSampleSQL = `select count(*) as pending,
		coalesce(extract(epoch from now() - min(created_at)), 0)::float8 as oldest,
		coalesce(extract(epoch from now() - min(due_at) filter (where endpoint_id <> all ($2::uuid[]))), 0)::float8 as due
	from (select endpoint_id, created_at, due_at from deliveries where due_at is not null order by endpoint_id, due_at limit $1) q`

// queueSample describes the pending deliveries.
type queueSample struct {
	Pending int64
	Oldest  float64 // age of the oldest delivery, in seconds
	Due     float64 // how long the first delivery has been due, in seconds
}

// sampleQueue returns a sample. Due leaves out the endpoints in except.
func (s *store) sampleQueue(ctx context.Context, except []id.WebhookEndpoint) (queueSample, error) {
	return pg.One[queueSample](ctx, s.DB, pg.AllCompanies(), queueSampleSQL, queueMost, uuidsOf(except))
}
