package service

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/devkit/testkit"
)

// fresh returns URLs of a database and two roles that do not exist yet. It deletes
// them after the test.
func fresh(t *testing.T, admin string) (owner, app string) {
	t.Helper()
	name := fmt.Sprintf("fresh_%d", time.Now().UnixNano())
	t.Cleanup(func() {
		conn, err := pgx.Connect(context.WithoutCancel(t.Context()), admin)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close(context.WithoutCancel(t.Context()))
		for _, statement := range []string{
			"drop database if exists " + name, "drop role if exists " + name + "_owner", "drop role if exists " + name,
		} {
			if _, err := conn.Exec(context.WithoutCancel(t.Context()), statement); err != nil {
				t.Error(err)
			}
		}
	})
	u, err := url.Parse(admin)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	u.User = url.UserPassword(name+"_owner", "insecure-owner")
	owner = u.String()
	u.User = url.UserPassword(name, "insecure-app")
	return owner, u.String()
}

func TestMigrateCreatesTheDatabase(t *testing.T) {
	admin := testkit.AdminURL(t)
	owner, app := fresh(t, admin)
	role := strings.TrimPrefix(must(url.Parse(app)).Path, "/")
	t.Setenv("MIGRATION_DATABASE_URL", owner)
	t.Setenv("DATABASE_APP_ROLE", role)
	t.Setenv("DATABASE_ADMIN_URL", admin)

	t.Run("needs the service's password", func(t *testing.T) {
		err := run(t.Context(), newSample().part(), "migrate", &bytes.Buffer{})
		if err == nil || !strings.Contains(err.Error(), "DATABASE_URL") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("the URLs must have the same database, and no error shows a password", func(t *testing.T) {
		for _, wrong := range []string{
			strings.Replace(app, role+"?", "another?", 1), strings.Replace(app, "://"+role, "://another", 1),
			strings.Replace(app, ":insecure-app@", "@", 1), "host=elsewhere password=insecure-app",
		} {
			t.Setenv("DATABASE_URL", wrong)
			err := run(t.Context(), newSample().part(), "migrate", &bytes.Buffer{})
			if err == nil || !strings.Contains(err.Error(), "DATABASE_URL") || strings.Contains(err.Error(), "insecure-app") {
				t.Errorf("%s: got %v", wrong, err)
			}
		}
	})
	t.Run("in production, refuses to give a role a published password", func(t *testing.T) {
		t.Setenv("RESERVATION_ENV", "production")
		t.Setenv("DATABASE_URL", app)
		err := run(t.Context(), newSample().part(), "migrate", &bytes.Buffer{})
		if err == nil || ExitCode(err) != exitSettings {
			t.Fatalf("got %v", err)
		}
		for _, name := range []string{"\n  DATABASE_URL contains", "\n  MIGRATION_DATABASE_URL contains"} {
			if !strings.Contains(err.Error(), name) {
				t.Errorf("%q is missing in %v", name, err)
			}
		}
	})
	t.Run("creates the database for the service's role, and changes nothing when repeated", func(t *testing.T) {
		t.Setenv("DATABASE_URL", app)
		for range 2 {
			if err := run(t.Context(), newSample().part(), "migrate", &bytes.Buffer{}); err != nil {
				t.Fatal(err)
			}
		}
		conn, err := pgx.Connect(t.Context(), app)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.WithoutCancel(t.Context()))
		var creates bool
		err = conn.QueryRow(t.Context(), "select has_schema_privilege(current_user, 'public', 'create')").Scan(&creates)
		if err != nil || creates {
			t.Errorf("the service's role can create tables: %v, %v", creates, err)
		}
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
