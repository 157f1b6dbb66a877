package testkit_test

import (
	"testing"

	"reservation.dev/platform/pg"
	"reservation.dev/platform/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestDB(t *testing.T) {
	m := pg.Migrations{Part: "sample"}
	t.Run("a database has the platform's tables and no rows", func(t *testing.T) {
		db := testkit.DB(t, m)
		n, err := pg.One[int64](t.Context(), db, pg.AllCompanies(), `select count(*) from outbox`)
		if err != nil || n != 0 {
			t.Fatalf("got %d rows, %v", n, err)
		}
		if err := pg.CheckSchema(t.Context(), db, m); err != nil {
			t.Fatal(err)
		}
	})
}
