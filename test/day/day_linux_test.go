package day

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/devkit/pgserver"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
	"reservation.dev/test/harness"
)

// world is the platform with its studios.
type world struct {
	*harness.Cluster
	op      *harness.Operator
	studios []*studio
	// databases are connections of the superuser: by service, and "postgres".
	databases map[string]*pgx.Conn
	parts     []string
	delivered atomic.Int64
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		Cluster: harness.StartCluster(t, harness.ClusterOptions{
			GatewaysB: 1, Webhooks: 1, OwnNATS: true, Durable: pgserver.Safe, Env: map[string]string{"LOG_LEVEL": "info"},
		}),
		databases: map[string]*pgx.Conn{},
		parts:     []string{"auth", "customer", "booking", "pass", "subscription", "media", "reports", "webhook", "gateway-a-1", "gateway-b-1"},
	}
	w.connect(t, "postgres")
	w.exec(t, "postgres", `alter system set shared_preload_libraries = 'pg_stat_statements'`)
	w.Postgres.Stop(t)
	w.Postgres.Start(t)
	w.connect(t, "postgres")
	w.exec(t, "postgres", `create extension pg_stat_statements`)
	for _, service := range w.services() {
		w.connect(t, service)
		w.exec(t, service, `create extension pgstattuple`)
	}
	for _, name := range w.parts {
		w.Part(name).AwaitReady(t)
	}
	w.op = w.Operator(t)
	for range companies {
		w.studios = append(w.studios, newStudio(t, w))
	}
	w.endpoints(t)
	return w
}

// services are the parts that have a database.
func (w *world) services() []string { return w.parts[:8] }

// endpoints gives every studio an endpoint that works, and the largest one also an endpoint that
// always fails.
func (w *world) endpoints(t *testing.T) {
	t.Helper()
	works := w.Listen(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		w.delivered.Add(1)
		rw.WriteHeader(http.StatusNoContent)
	}))
	fails := w.Listen(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusInternalServerError) }))
	events := []webhookv1.EventType{webhookv1.EventType_EVENT_TYPE_REGISTRATION_CREATED, webhookv1.EventType_EVENT_TYPE_PASS_PURCHASED}
	for _, s := range w.studios {
		s.company.NewEndpoint(t, works+"/hook", events...)
	}
	w.studios[0].company.NewEndpoint(t, fails+"/hook", events...)
}

func (w *world) connect(t *testing.T, database string) {
	t.Helper()
	server, err := url.Parse(w.Postgres.AdminURL())
	if err != nil {
		t.Fatal(err)
	}
	server.Path = "/" + database
	db, err := pgx.Connect(t.Context(), server.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(context.WithoutCancel(t.Context())) })
	w.databases[database] = db
}

// TestDay measures a day.
func TestDay(t *testing.T) {
	p := newPlan(t)
	w := newWorld(t)
	f := start(t, w.studios, float64(p.bookings)/p.length.Seconds()*perBooking())
	before := w.counts(t)
	pause(t, p.warmUp())
	growth := w.counts(t)
	for name := range growth {
		growth[name] -= before[name]
	}
	w.addYesterday(t, p, growth)
	pause(t, p.warmUp()/2) // until the caches have forgotten that
	backups := harness.TempDir(t)
	var parts []part
	for i, of := range []struct {
		what string
		run  func() error
	}{
		{"first", nil},
		{"second", nil},
		{"with a backup", func() error { return w.backup(filepath.Join(backups, "quick"), "") }},
		{"with a slow backup", func() error {
			return w.backup(filepath.Join(backups, "slow"), fmt.Sprintf("sleep %.0f; cat", p.part().Seconds()*0.9/7))
		}},
		{"with a base backup", func() error { return w.baseBackup(filepath.Join(backups, "base")) }},
		{"last", nil},
	} {
		parts = append(parts, w.measure(t, f, of.what, func() {
			done := make(chan error, 1)
			go func() {
				began := time.Now()
				if of.run == nil {
					done <- nil
					return
				}
				err := of.run()
				t.Logf("%s: it took %s", of.what, time.Since(began).Round(time.Second))
				done <- err
			}()
			pause(t, p.part())
			if err := <-done; err != nil {
				t.Error(err)
			}
		}))
		_, fault := f.take()
		t.Logf("%d of %d: %d requests so far, %d late, %d repeated, %d webhooks", i+1, partCount, f.planned.Load(), len(f.due), f.repeats(), w.delivered.Load())
		if fault != nil {
			t.Fatal(fault)
		}
	}
	f.end()
	w.print(t, parts)
	w.check(t, p, f, parts)
}

// pause lets the traffic go on.
func pause(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

// backup makes a backup as docs/BACKUP.md says.
func (w *world) backup(dir, filter string) error {
	root, err := harness.Root()
	if err != nil {
		return err
	}
	return w.run(filepath.Join(root, "deploy", "backup", "backup.sh"), []string{dir}, "BACKUP_FILTER="+filter)
}

// baseBackup makes a base backup as docs/BACKUP.md says.
func (w *world) baseBackup(dir string) error {
	return w.run("pg_basebackup", []string{"--pgdata=" + dir, "--checkpoint=fast"})
}

// run runs a program that connects to PostgreSQL.
func (w *world) run(program string, args []string, env ...string) error {
	admin, err := url.Parse(w.Postgres.AdminURL())
	if err != nil {
		return err
	}
	password, _ := admin.User.Password()
	host := admin.Hostname()
	if socket := admin.Query().Get("host"); host == "" {
		host = socket
	}
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "PGHOST="+host, "PGPORT="+admin.Port(), "PGUSER="+admin.User.Username(), "PGPASSWORD="+password)
	cmd.Env = append(cmd.Env, env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(append([]string{filepath.Base(program)}, args...), " "), err, stderr.String())
	}
	return nil
}

const (
	// mostGrowth is how much larger a table with constant content may be at the end of the day.
	mostGrowth = 1.5
	// mostCost is how much more a request may read in a part of the day than in the first part.
	mostCost = 1.5
	// largestOutbox is the largest size of all outboxes together, in bytes.
	largestOutbox = 16_000_000
)

// check compares what was measured with what must hold.
func (w *world) check(t *testing.T, p plan, f *traffic, parts []part) {
	t.Helper()
	if got, want := f.bookings.Load(), int64(p.bookings); got < want {
		t.Errorf("%d bookings, want %d: the platform did not keep up", got, want)
	}
	first, last := parts[0], parts[len(parts)-1]
	for _, x := range parts {
		if x.blocksEach() > mostCost*first.blocksEach() {
			t.Errorf("%s: a request reads %.0f blocks, but %.0f at first", x.what, x.blocksEach(), first.blocksEach())
		}
		if size := x.sizes["outbox"]; size > largestOutbox {
			t.Errorf("%s: the outboxes have %s MB", x.what, mb(size))
		}
	}
	for _, name := range []string{"idempotency keys", "inbox", "ended holds"} {
		if float64(last.sizes[name]) > mostGrowth*float64(first.sizes[name]) {
			t.Errorf("%s: %s MB, but %s MB at first", name, mb(last.sizes[name]), mb(first.sizes[name]))
		}
	}
	for _, e := range expirings {
		for _, service := range e.services {
			if n := w.overdue(t, e, service, time.Now().Add(-e.every-time.Minute)); n > 0 {
				t.Errorf("%s.%s has %d rows that should have been deleted", service, e.table, n)
			}
		}
	}
}
