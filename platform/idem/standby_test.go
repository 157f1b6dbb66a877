package idem_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/devkit/pgserver"
	"reservation.dev/platform/config"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
)

// TestReplayWaitsForTheStandby commits a write that no standby gets. PostgreSQL shows it after the
// session that waits for the standby has ended (5).
func TestReplayWaitsForTheStandby(t *testing.T) {
	t.Parallel()
	server, err := pgserver.Start(t.Context(), pgserver.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Remove(context.Background()); err != nil {
			t.Error(err)
		}
	})
	owner, app, err := server.EnsureDatabase(t.Context(), "sample", "sample_owner", "sample")
	if err != nil {
		t.Fatal(err)
	}
	migrations := schema
	migrations.AppRole = "sample"
	if err := pg.Migrate(t.Context(), owner, migrations); err != nil {
		t.Fatal(err)
	}
	db, err := pg.Open(t.Context(), pg.Config{URL: config.Secret(app)}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	admin, err := pgx.Connect(t.Context(), server.AdminURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = admin.Close(context.Background()) })

	needStandby(t, admin, "'nobody'")
	awaitNeed(t, server.AdminURL(), admin)
	w := world{db: db, company: id.New[id.Company]()}
	first, second := make(chan error, 1), make(chan error, 1)
	var answer string
	go func() {
		_, err := w.do(context.Background(), w.request("key", "a"))
		first <- err
	}()
	if _, err := admin.Exec(t.Context(), `select pg_terminate_backend($1)`, awaitWaiting(t, admin, first)); err != nil {
		t.Fatal(err)
	}
	if err := <-first; !errors.Is(err, pg.ErrUncertain) {
		t.Fatalf("the first request: %v", err)
	}
	go func() {
		var err error
		answer, err = w.do(context.Background(), w.request("key", "a"))
		second <- err
	}()
	awaitWaiting(t, admin, second)
	needStandby(t, admin, "''")
	if err := <-second; err != nil {
		t.Fatal(err)
	}
	var effects int
	if err := db.Pool().QueryRow(t.Context(), `select count(*) from effects`).Scan(&effects); err != nil || effects != 1 || answer == "" {
		t.Errorf("the answer is %q after %d runs, %v", answer, effects, err)
	}
}

// needStandby sets the standbys that commits wait for.
func needStandby(t *testing.T, admin *pgx.Conn, names string) {
	t.Helper()
	for _, statement := range []string{`alter system set synchronous_standby_names = ` + names, `select pg_reload_conf()`} {
		if _, err := admin.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitNeed returns when commits wait for a standby. They do so only after the checkpointer, which runs on its own,
// has read the setting. So another session commits until one of its commits waits, which then ends the session.
func awaitNeed(t *testing.T, url string, admin *pgx.Conn) {
	t.Helper()
	probe, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		var err error
		for err == nil {
			_, err = probe.Exec(context.Background(), `select pg_logical_emit_message(true, 'probe', '')`)
		}
		ended <- err
	}()
	if _, err := admin.Exec(t.Context(), `select pg_terminate_backend($1, 60000)`, awaitWaiting(t, admin, ended)); err != nil {
		t.Fatal(err)
	}
	<-ended
	_ = probe.Close(context.WithoutCancel(t.Context()))
}

// awaitWaiting returns the session that waits for a standby. It fails t if the request is answered.
func awaitWaiting(t *testing.T, admin *pgx.Conn, answered <-chan error) (pid int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		select {
		case err := <-answered:
			t.Fatalf("the request was answered before a standby had its commit: %v", err)
		default:
		}
		err := admin.QueryRow(t.Context(), `select pid from pg_stat_activity where wait_event = 'SyncRep'`).Scan(&pid)
		if err == nil {
			return pid
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			t.Fatal(err)
		}
	}
	t.Fatal("no session waits for a standby")
	return 0
}
