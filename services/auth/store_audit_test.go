package auth

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/config"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/auth/migrations"
)

// A page of the audit log reads only the entries that it returns, or those of the one actor or
// target, even with a generic plan.
func TestAuditPlans(t *testing.T) {
	t.Parallel()
	ownerURL, appURL := testkit.DBURLs(t, pg.Migrations{Part: "auth", FS: migrations.FS, AppRole: testkit.AppRole()})
	db, err := pg.Open(t.Context(), pg.Config{URL: config.Secret(appURL)}, slog.New(slog.DiscardHandler))
	must(t, err)
	t.Cleanup(db.Close)
	owner, err := pgx.Connect(t.Context(), ownerURL)
	must(t, err)
	defer owner.Close(context.WithoutCancel(t.Context()))
	company := id.New[id.Company]()
	must(t, db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, `insert into audit_log (company_id, id, at, actor, action, target, by_credential)
			select case when n % 10 < 5 then $1 else md5((n % 10)::text)::uuid end, gen_random_uuid(), now() - n * interval '1 minute',
				'admin_' || n % 500, 'thing_' || n % 20 || '.create', 'sess_' || n, n % 5 <> 1 from generate_series(1, 30000) n`, company)
		return err
	}))
	_, err = owner.Exec(t.Context(), `vacuum (analyze) audit_log`)
	must(t, err)
	args := func(actor, target string, action ...string) string {
		return fmt.Sprintf(`'%s', '9999-01-01', 'ffffffff-ffff-ffff-ffff-ffffffffffff', '%s', '%s', '%s', null, null, 51`,
			uuid(company), actor, strings.Join(action, ""), target)
	}
	for name, tt := range map[string]struct{ sql, args, index string }{
		"all":              {auditEntriesSQL + anyActorSQL + anyTargetSQL + newestSQL, args("", ""), "audit_log_at"},
		"by actor":         {auditEntriesSQL + byActorSQL + anyTargetSQL + newestSQL, args("admin_10", ""), "audit_log_actor"},
		"by kind of thing": {auditEntriesSQL + anyActorSQL + anyTargetSQL + byThingSQL + newestSQL, args("", "", "thing_3."), "audit_log_thing"},
		"by credentials":   {auditEntriesSQL + anyActorSQL + anyTargetSQL + byCredentialsSQL + newestSQL, args("", ""), "audit_log_credentials"},
		"by others":        {auditEntriesSQL + anyActorSQL + anyTargetSQL + byOthersSQL + newestSQL, args("", ""), "audit_log_others"},
		"by target":        {auditEntriesSQL + anyActorSQL + byTargetSQL + newestSQL, args("", "sess_10"), "audit_log_target"},
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			must(t, db.InTx(t.Context(), pg.For(company), func(ctx context.Context, tx *pg.Tx) error {
				for _, sql := range []string{
					`set local plan_cache_mode = force_generic_plan`,
					`prepare probe (uuid, timestamptz, uuid, text, text, text, timestamptz, timestamptz, int) as ` + tt.sql,
				} {
					if _, err := tx.Exec(ctx, sql); err != nil {
						return err
					}
				}
				defer tx.Exec(ctx, `deallocate probe`)
				rows, err := tx.Query(ctx, `explain (costs off) execute probe (`+tt.args+`)`)
				if err != nil {
					return err
				}
				defer rows.Close()
				for rows.Next() {
					var line string
					if err := rows.Scan(&line); err != nil {
						return err
					}
					lines = append(lines, line)
				}
				return rows.Err()
			}))
			if plan := strings.Join(lines, "\n"); !strings.Contains(plan+" ", tt.index) || strings.Contains(plan, "Seq Scan") || (name == "all" && strings.Contains(plan, "Sort")) {
				t.Errorf("got\n%s", plan)
			}
		})
	}
}

// uuid formats an identifier as PostgreSQL does.
func uuid(c id.Company) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", c[0:4], c[4:6], c[6:8], c[8:10], c[10:16])
}
