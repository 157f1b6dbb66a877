package pgserver

import (
	"context"
	"errors"
	"net/url"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"reservation.dev/platform/pg"
)

// insufficientPrivilege is PostgreSQL's error code for a role that is not allowed to connect.
const insufficientPrivilege = "42501"

func TestRolesConnectToTheirOwnDatabaseOnly(t *testing.T) {
	s := start(t, Options{Dir: t.TempDir(), Durable: Fast})
	ctx := t.Context()
	urls := map[string][]string{} // by database: of the owner and of the application
	for _, part := range []string{"booking", "pass", "subscription", "media", "reports"} {
		owner, app, err := s.EnsureDatabase(ctx, part, part+"_owner", part)
		if err != nil {
			t.Fatal(err)
		}
		urls[part] = []string{owner, app}
	}
	// An administrator may create a database without revoking the right to connect.
	byHand(t, s, "create role webhook_owner login password 'p'", "create role webhook login password 'p'", "create database webhook owner webhook_owner")
	urls["webhook"] = []string{roleURL(t, s, "webhook_owner", "webhook"), roleURL(t, s, "webhook", "webhook")}
	schema := pg.Migrations{Part: "webhook", AppRole: "webhook", FS: fstest.MapFS{"0001_a.sql": {Data: []byte("-- +goose Up\ncreate table a (b integer);\n")}}}
	for range 2 { // the second run changes nothing
		if err := pg.Migrate(ctx, urls["webhook"][0], schema); err != nil {
			t.Fatal(err)
		}
	}
	for role, own := range urls {
		for _, raw := range own {
			for _, database := range []string{"booking", "pass", "subscription", "media", "reports", "webhook", "postgres", "template1"} {
				err := tryConnecting(ctx, t, raw, database)
				var refused *pgconn.PgError
				switch {
				case database == role && err != nil:
					t.Errorf("a role of %s cannot connect to its own database: %v", role, err)
				case database != role && (!errors.As(err, &refused) || refused.Code != insufficientPrivilege):
					t.Errorf("a role of %s connects to %s: %v", role, database, err)
				}
			}
		}
	}
}

func byHand(t *testing.T, s *Server, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.AdminURL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	for _, sql := range statements {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
}

func roleURL(t *testing.T, s *Server, role, database string) string {
	t.Helper()
	u, err := url.Parse(s.AdminURL())
	if err != nil {
		t.Fatal(err)
	}
	u.User, u.Path = url.UserPassword(role, "p"), "/"+database
	return u.String()
}

// tryConnecting tries to connect to another database with a role's URL.
func tryConnecting(ctx context.Context, t *testing.T, raw, database string) error {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + database
	conn, err := pgx.Connect(ctx, u.String())
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}
