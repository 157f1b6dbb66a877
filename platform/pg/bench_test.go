package pg_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/config"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// BenchmarkPointRead compares a read of one row through this package with the same read on
// a plain pool as the tables' owner, to whom no policy applies.
func BenchmarkPointRead(b *testing.B) {
	ownerURL, appURL := testkit.DBURLs(b, things())
	const sql = `select company_id, id, name from things where company_id = $1 and id = $2`
	company := id.New[id.Company]()
	openB := func(url string) *pg.DB {
		db, err := pg.Open(b.Context(), pg.Config{URL: config.Secret(url)}, testkit.Log(b))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(db.Close)
		return db
	}
	app, owner := openB(appURL), openB(ownerURL)
	err := app.InTx(b.Context(), pg.For(company), func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, `insert into things select $1, i, 'thing' from generate_series(1, 10000) i`, company)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		read func(ctx context.Context) error
	}{
		{"One", func(ctx context.Context) error {
			_, err := pg.One[thing](ctx, app, pg.For(company), sql, company, 7)
			return err
		}},
		{"Read", func(ctx context.Context) error {
			var got thing
			return app.Read(ctx, pg.For(company), pg.Query{SQL: sql, Args: []any{company, 7}, Scan: func(rows pgx.Rows) error {
				rows.Next()
				return rows.Scan(&got.CompanyID, &got.ID, &got.Name)
			}})
		}},
		{"InTx", func(ctx context.Context) error {
			return app.InTx(ctx, pg.For(company), func(ctx context.Context, tx *pg.Tx) error {
				var got thing
				return tx.QueryRow(ctx, sql, company, 7).Scan(&got.CompanyID, &got.ID, &got.Name)
			})
		}},
		{"bare", func(ctx context.Context) error {
			var got thing
			return owner.Pool().QueryRow(ctx, sql, company, 7).Scan(&got.CompanyID, &got.ID, &got.Name)
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := c.read(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
