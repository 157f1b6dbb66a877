package auth

import (
	"context"
	"net/http"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
)

const requestColumns = `company_id, id, credential_id, kind, interface, status, idempotency_key, replayed, method, path, route,
	error_code, request_id, client_address, duration_us, request_bytes, response_bytes`

// insertRequestsSQL adds a batch. It finds the company of a request that has none by the credential, and
// leaves the request out if the credential does not exist, or if the company moves to another installation.
// A request that is delivered again changes nothing.
const insertRequestsSQL = `insert into requests (` + requestColumns + `)
	select coalesce(r.company_id, c.company_id, p.company_id), r.id, r.credential_id, r.kind, r.interface, r.status, r.idempotency_key,
		r.replayed, r.method, r.path, r.route, r.error_code, r.request_id, r.client_address, r.duration_us, r.request_bytes, r.response_bytes
	from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::smallint[], $5::smallint[], $6::smallint[], $7::boolean[], $8::boolean[],
		$9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::bigint[], $16::bigint[], $17::bigint[]) r(` + requestColumns + `)
	left join credentials c on r.company_id is null and c.id = r.credential_id and c.kind = (array['client', 'key'])[r.kind]
	left join publishable_keys p on r.company_id is null and p.id = r.credential_id and r.kind = 3
	where coalesce(r.company_id, c.company_id, p.company_id) is not null
		and coalesce(r.company_id, c.company_id, p.company_id) <> all ((select app_moving_companies())::uuid[])
	on conflict do nothing`

// insertRequests adds requests of any companies, in one statement.
func (s *store) insertRequests(ctx context.Context, list []LoggedRequest) error {
	args := []any{
		column(list, func(r *LoggedRequest) id.Company { return r.Company }),
		column(list, func(r *LoggedRequest) id.LoggedRequest { return r.ID }),
		column(list, func(r *LoggedRequest) id.UUID { return r.Credential }),
		column(list, func(r *LoggedRequest) int16 { return r.Kind }),
		column(list, func(r *LoggedRequest) int16 { return r.Interface }),
		column(list, func(r *LoggedRequest) int16 { return r.Status }),
		column(list, func(r *LoggedRequest) bool { return r.IdempotencyKey }),
		column(list, func(r *LoggedRequest) bool { return r.Replayed }),
		column(list, func(r *LoggedRequest) string { return r.Method }),
		column(list, func(r *LoggedRequest) string { return r.Path }),
		column(list, func(r *LoggedRequest) string { return r.Route }),
		column(list, func(r *LoggedRequest) string { return r.ErrorCode }),
		column(list, func(r *LoggedRequest) *string { return r.RequestID }),
		column(list, func(r *LoggedRequest) string { return r.ClientAddress }),
		column(list, func(r *LoggedRequest) int64 { return r.DurationUS }),
		column(list, func(r *LoggedRequest) int64 { return r.RequestBytes }),
		column(list, func(r *LoggedRequest) int64 { return r.ResponseBytes }),
	}
	return s.Write(ctx, id.Company{}, func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, insertRequestsSQL, args...)
		return err
	})
}

// column returns one value of each row.
func column[R, V any](rows []R, value func(*R) V) []V {
	values := make([]V, len(rows))
	for i := range rows {
		values[i] = value(&rows[i])
	}
	return values
}

const (
	requestSQL = `select ` + requestColumns + ` from requests where company_id = $1 and id = $2`

	requestsSQL = `select ` + requestColumns + ` from requests where company_id = $1`

	countRequestsSQL = `select count(*) from (select from requests where company_id = $1`
)

func (s *store) request(ctx context.Context, company id.Company, request id.LoggedRequest) (LoggedRequest, error) {
	return one[LoggedRequest](ctx, s, scope(company), "request", requestSQL, company, request)
}

// requests returns a page of the company's requests. It always has a starting position, so that the
// planner uses the index of the order even before the table has statistics.
func (s *store) requests(ctx context.Context, company id.Company, f requestFilter, p page.Page) ([]LoggedRequest, error) {
	if p.After == nil {
		p.After = new(p.Order.Start())
	}
	sql := pg.Statement{SQL: requestsSQL, Args: []any{company}}
	f.narrow(&sql)
	p.Add(&sql)
	return all[LoggedRequest](ctx, s, scope(company), sql.SQL, sql.Args...)
}

// countRequests counts the requests of a list, up to a limit.
func (s *store) countRequests(ctx context.Context, company id.Company, f requestFilter, most int) (int64, error) {
	sql := pg.Statement{SQL: countRequestsSQL, Args: []any{company}}
	f.narrow(&sql)
	sql.SQL += " limit " + sql.Arg(most) + ") r"
	return one[int64](ctx, s, scope(company), "count", sql.SQL, sql.Args...)
}

// narrow adds the filter to a statement. The status of an error and the method GET are constants in its
// text, because the planner otherwise does not use the indexes of errors and of writes. The total of the usual filters needs columns of
// their indexes only.
func (f *requestFilter) narrow(s *pg.Statement) {
	if f.only != nil {
		s.And("id = %s", *f.only)
	}
	if f.credential != nil {
		s.And("credential_id = %s", *f.credential)
	}
	if f.requestID != "" {
		s.And("request_id = %s", f.requestID)
	}
	if f.minStatus >= leastError {
		s.And("status >= 400")
	}
	if f.minStatus != 0 && f.minStatus != leastError {
		s.And("status >= %s", f.minStatus)
	}
	if f.maxStatus != 0 && f.maxStatus != highestStatus {
		s.And("status <= %s", f.maxStatus)
	}
	if f.interfaceID != 0 {
		s.And("interface = %s", f.interfaceID)
	}
	if f.method != "" {
		s.And("method = %s", f.method)
	}
	if f.method != "" && f.method != http.MethodGet {
		s.And("method <> 'GET'")
	}
	if f.since != nil {
		s.And("id >= %s", [16]byte(id.First(*f.since)))
	}
	if f.until != nil {
		s.And("id < %s", [16]byte(id.First(*f.until)))
	}
}

// pruneRequestsSQL deletes old requests of all companies. It finds them company by company, because
// each company's begin its part of the index.
const pruneRequestsSQL = `with old as (
		select r.company_id, r.id from companies c cross join lateral (
			select company_id, id from requests where company_id = c.company_id and id < $1 order by id limit $2) r limit $2)
	delete from requests r using old where r.company_id = old.company_id and r.id = old.id`

// pruneRequests deletes at most limit requests from before an instant, and returns how many it deleted.
func (s *store) pruneRequests(ctx context.Context, tx *pg.Tx, before time.Time, limit int) (int, error) {
	tag, err := tx.Exec(ctx, pruneRequestsSQL, [16]byte(id.First(before)), limit)
	return int(tag.RowsAffected()), err
}
