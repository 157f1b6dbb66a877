package testkit_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func sample(columns string) pg.Migrations {
	return pg.Migrations{Part: "sample", FS: fstest.MapFS{"0001_things.sql": {Data: []byte(
		"-- +goose Up\ncreate table things (" + columns + ");\nselect tenant_table('things');\n")}}}
}

func count(t *testing.T, db *pg.DB) int64 {
	t.Helper()
	n, err := pg.One[int64](t.Context(), db, pg.AllCompanies(), `select count(*) from things`)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func insert(t *testing.T, db *pg.DB) {
	t.Helper()
	company := id.New[id.Company]()
	err := db.InTx(t.Context(), pg.For(company), func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, `insert into things (company_id) values ($1)`, company)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestDB(t *testing.T) {
	m := sample(`company_id uuid`)
	t.Run("a database has the schemas of the service and of the platform, and is opened as the application role", func(t *testing.T) {
		db := testkit.DB(t, m)
		if err := pg.CheckSchema(t.Context(), db, m); err != nil {
			t.Fatal(err)
		}
		role, err := pg.One[string](t.Context(), db, pg.Scope{}, `select current_user::text`)
		if err != nil || role != testkit.AppRole() {
			t.Fatal(role, err)
		}
	})
	t.Run("parallel tests do not see each other's rows", func(t *testing.T) {
		for i := range 4 {
			t.Run(fmt.Sprint("test ", i), func(t *testing.T) {
				t.Parallel()
				db := testkit.DB(t, m)
				insert(t, db)
				if n := count(t, db); n != 1 {
					t.Fatalf("%d rows", n)
				}
			})
		}
	})
	t.Run("two sets of migrations with one name give two schemas", func(t *testing.T) {
		other := testkit.DB(t, sample(`company_id uuid, extra text`))
		if _, err := pg.Rows[string](t.Context(), other, pg.Scope{}, `select extra from things`); err != nil {
			t.Fatal(err)
		}
		if _, err := pg.Rows[string](t.Context(), testkit.DB(t, m), pg.Scope{}, `select extra from things`); err == nil {
			t.Fatal("the first schema has the column of the second")
		}
	})
	t.Run("a service without migrations has the platform's tables", func(t *testing.T) {
		n, err := pg.One[int64](t.Context(), testkit.DB(t, pg.Migrations{Part: "bare"}), pg.Scope{}, `select count(*) from outbox`)
		if err != nil || n != 0 {
			t.Fatal(n, err)
		}
	})
	t.Run("the database is dropped after the test, even if somebody is still connected", func(t *testing.T) {
		var ownerURL string
		t.Run("the test", func(t *testing.T) {
			ownerURL, _ = testkit.DBURLs(t, m)
			if _, err := pgx.Connect(t.Context(), ownerURL); err != nil {
				t.Fatal(err)
			}
		})
		if c, err := pgx.Connect(t.Context(), ownerURL); err == nil {
			c.Close(t.Context())
			t.Fatal("the database still exists")
		}
	})
}

// failing is a fake test that records its output. Its failure does not fail the real test.
type failing struct {
	testing.TB
	mu     sync.Mutex
	output []string
}

func (f *failing) record(s string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.output = append(f.output, s)
}

type stop struct{}

func (f *failing) Fatalf(format string, args ...any) {
	f.record(fmt.Sprintf(format, args...))
	panic(stop{})
}

func (f *failing) Log(args ...any) { f.record(fmt.Sprint(args...)) }

func TestEventually(t *testing.T) {
	t.Run("returns when the condition holds", func(t *testing.T) {
		calls := 0
		testkit.Eventually(t, time.Minute, func() error {
			if calls++; calls < 3 {
				return errors.New("not yet")
			}
			return nil
		})
		if calls != 3 {
			t.Fatal(calls)
		}
	})
	t.Run("fails with the last error after the timeout", func(t *testing.T) {
		f := &failing{TB: t}
		defer func() {
			if recover() != (stop{}) || len(f.output) != 1 || !strings.Contains(f.output[0], "not yet") {
				t.Fatal(f.output)
			}
		}()
		testkit.Eventually(f, 10*time.Millisecond, func() error { return errors.New("not yet") })
	})
}

func TestLog(t *testing.T) {
	f := &failing{}
	var log *slog.Logger
	t.Run("a test", func(t *testing.T) {
		f.TB = t
		log = testkit.Log(f)
		log.Info("during the test", "n", 1)
	})
	log.Info("after the test")
	if len(f.output) != 1 || !strings.Contains(f.output[0], "during the test") {
		t.Fatal(f.output)
	}
}
