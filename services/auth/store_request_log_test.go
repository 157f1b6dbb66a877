package auth

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/config"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/services/auth/migrations"
)

// A page of the usual filters reads only the requests that it returns, in the order of an index, even with
// a generic plan.
func TestRequestPlans(t *testing.T) {
	t.Parallel()
	ownerURL, appURL := testkit.DBURLs(t, pg.Migrations{Part: "auth", FS: migrations.FS, AppRole: testkit.AppRole()})
	db, err := pg.Open(t.Context(), pg.Config{URL: config.Secret(appURL)}, slog.New(slog.DiscardHandler))
	must(t, err)
	t.Cleanup(db.Close)
	owner, err := pgx.Connect(t.Context(), ownerURL)
	must(t, err)
	defer owner.Close(context.WithoutCancel(t.Context()))
	company, credentials := id.New[id.Company](), []id.UUID{id.NewUUID(), id.NewUUID(), id.NewUUID(), id.NewUUID()}
	_, err = owner.Exec(t.Context(), `insert into requests (`+requestColumns+`)
		select $1, (lpad(to_hex(1764000000000 + n), 12, '0') || '7' || substr(md5(n::text), 1, 3) || '8' || substr(md5(n::text), 4, 15))::uuid,
			($2::uuid[])[1 + n % 4], 2, case when n % 50 = 0 then 1 else 2 end, case when n % 40 = 0 then 404 else 200 end, false, false, case when n % 60 = 0 then 'DELETE' else 'GET' end, '/x', '/x', '', case when n % 100 = 0 then 'mine' end,
			'192.0.2.1', 1, 0, 0 from generate_series(1, 30000) n`, company, credentials)
	must(t, err)
	_, err = owner.Exec(t.Context(), `vacuum (analyze) requests`)
	must(t, err)
	for name, tt := range map[string]struct {
		filter requestFilter
		index  string
	}{
		"all":                     {requestFilter{}, "requests_pkey"},
		"of a credential":         {requestFilter{credential: &credentials[1]}, "requests_credential"},
		"errors":                  {requestFilter{minStatus: 400, maxStatus: 599}, "requests_errors"},
		"errors of a credential":  {requestFilter{credential: &credentials[1], minStatus: 400}, "requests_credential_errors"},
		"one status of an error":  {requestFilter{minStatus: 404, maxStatus: 404}, "requests_errors"},
		"of an interface":         {requestFilter{interfaceID: 1}, "requests_interface"},
		"of a method":             {requestFilter{method: "DELETE"}, "requests_writes"},
		"of an id of the caller":  {requestFilter{requestID: "mine"}, "requests_request_id"},
		"of an id of the request": {requestFilter{only: new(id.New[id.LoggedRequest]())}, "requests_pkey"},
	} {
		t.Run(name, func(t *testing.T) {
			after := latestRequests().Start()
			sql := pg.Statement{SQL: requestsSQL, Args: []any{company}}
			tt.filter.narrow(&sql)
			page.Page{Order: latestRequests(), Size: 25, After: &after}.Add(&sql)
			var lines []string
			must(t, db.InTx(t.Context(), pg.For(company), func(ctx context.Context, tx *pg.Tx) error {
				if _, err := tx.Exec(ctx, `set local plan_cache_mode = force_generic_plan`); err != nil {
					return err
				}
				rows, err := tx.Query(ctx, `explain (costs off) `+sql.SQL, sql.Args...)
				if err != nil {
					return err
				}
				lines, err = pgx.CollectRows(rows, pgx.RowTo[string])
				return err
			}))
			if plan := strings.Join(lines, "\n"); !strings.Contains(plan, "using "+tt.index+" ") || strings.Contains(plan, "Seq Scan") || strings.Contains(plan, "Sort") {
				t.Errorf("got\n%s", plan)
			}
		})
	}
}
