package day

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/devkit/pgserver"
	"reservation.dev/platform/id"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
	"reservation.dev/test/harness"
)

// services are those with a database, and processes are all processes.
var (
	services  = []string{"auth", "customer", "booking", "pass", "subscription", "media", "reports", "webhook"}
	processes = append(slices.Clone(services), "gateway-a-1", "gateway-b-1")
)

// world is the platform with its studios.
type world struct {
	*harness.Cluster
	op      *harness.Operator
	studios []*studio
	// databases are connections of the superuser: by service, and "postgres".
	databases map[string]*pgx.Conn
	// oldPartitions are those that should be dropped.
	oldPartitions []string
	delivered     atomic.Int64
	failing       id.WebhookEndpoint
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		Cluster: harness.StartCluster(t, harness.ClusterOptions{
			GatewaysB: 1, Webhooks: 1, OwnNATS: true, Durable: pgserver.Safe, Env: map[string]string{"LOG_LEVEL": "info"},
		}),
		databases: map[string]*pgx.Conn{},
	}
	w.connect(t, "postgres")
	w.exec(t, "postgres", `alter system set shared_preload_libraries = 'pg_stat_statements'`)
	w.Postgres.Stop(t)
	w.Postgres.Start(t)
	w.connect(t, "postgres")
	w.exec(t, "postgres", `create extension pg_stat_statements`)
	for _, service := range services {
		w.connect(t, service)
		w.exec(t, service, `create extension pgstattuple`)
	}
	for _, name := range processes {
		w.Part(name).AwaitReady(t)
	}
	w.op = w.Operator(t)
	for range companies {
		w.studios = append(w.studios, newStudio(t, w))
	}
	w.endpoints(t)
	return w
}

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
	failing, _ := w.studios[0].company.NewEndpoint(t, fails+"/hook", events...)
	var err error
	if w.failing, err = id.Parse[id.WebhookEndpoint](failing); err != nil {
		t.Fatal(err)
	}
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

// settleTime is longer than a hold, so that holds end at a constant rate afterwards.
const settleTime = 2 * time.Minute

// TestDay measures a day.
func TestDay(t *testing.T) {
	p := newPlan(t)
	w := newWorld(t)
	f := start(t, w.studios, float64(p.bookings)/p.length.Seconds()*requestsPerBooking())
	pause(t, settleTime)
	before := w.counts(t)
	pause(t, p.warmUp())
	growth := w.counts(t)
	for name := range growth {
		growth[name] -= before[name]
	}
	w.addYesterday(t, p, growth)
	added := time.Now()
	pause(t, settleTime) // until the new pages have left the caches
	sold, began := f.bookings.Load(), time.Now()
	periods := w.measureDay(t, p, f)
	sold = f.bookings.Load() - sold
	least := 0.98 * float64(p.bookings) * time.Since(began).Seconds() / p.length.Seconds()
	if late := len(f.due); late > int(f.rate) {
		t.Errorf("%d requests were late at the end", late)
	}
	f.end()
	if err := f.failure(); err != nil {
		t.Error(err)
	}
	if float64(sold) < least {
		t.Errorf("%d bookings, want %.0f: the platform did not keep up", sold, least)
	}
	w.checkSettled(t)
	tables := w.bloats(t)
	printDay(t, periods, tables)
	checkCosts(t, periods)
	checkSizes(t, periods, tables)
	w.checkRetention(t, added)
}

// measureDay measures the periods of the day. In some of them, it makes backups.
func (w *world) measureDay(t *testing.T, p plan, f *traffic) (periods []period) {
	dir := filepath.Join(harness.TempDir(t), "backup")
	steps := [periodCount]struct {
		what   string
		backup func() error // repeated
	}{
		{what: "first"},
		{what: "second"},
		{"backups", func() error { return w.backup(dir, "") }},
		// The snapshot of booking lasts for most of the period, as in a large database.
		{"a slow backup", func() error {
			return w.backup(dir, fmt.Sprintf(`case "$file" in booking.dump) sleep %.0f ;; esac; cat`, p.period().Seconds()*0.9))
		}},
		{"base backups", func() error { return w.baseBackup(dir) }},
		{what: "last"},
	}
	for i, step := range steps {
		periods = append(periods, w.measure(t, f, step.what, func() {
			end := time.Now().Add(p.period())
			if step.backup == nil {
				pause(t, p.period())
				return
			}
			count := 0
			for ; time.Now().Before(end.Add(-p.period() / 10)); count++ {
				if err := errors.Join(step.backup(), os.RemoveAll(dir)); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("%s: %d", step.what, count)
			pause(t, time.Until(end))
		}))
		if err := f.failure(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%d of %d: %d bookings so far, %d requests late, %d repeated, %d webhooks", i+1, periodCount, f.bookings.Load(), len(f.due), f.repeats(), w.delivered.Load())
	}
	return periods
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

// checkSettled checks that all events are published, and all deliveries are made except those to the
// endpoint that fails.
func (w *world) checkSettled(t *testing.T) {
	t.Helper()
	harness.Eventually(t, time.Minute, func() error {
		for _, service := range services {
			if n := w.number(t, service, `select count(*) from outbox_events`); n > 0 {
				return fmt.Errorf("%s has %d events in its outbox", service, n)
			}
		}
		if n := w.number(t, "webhook", `select count(*) from deliveries where state = 'pending' and due_at < now() and endpoint_id <> $1`, w.failing); n > 0 {
			return fmt.Errorf("%d deliveries are late", n)
		}
		return nil
	})
}

const (
	// mostGrowth is how much larger a group of tables may be at the end than after the first period.
	// mostHourlyGrowth is that of groups that are cut every hour.
	mostGrowth, mostHourlyGrowth = 1.5, 2.2
	// mostCost is how much more a request may cost than in the first period.
	mostCost = 1.5
	// mostLog is how much more it may write to the write-ahead log, which depends on checkpoints.
	mostLog = 2
	// mostWait is how much longer the median booking may take during backups than before them.
	mostWait = 2
	// largestOutbox is the largest size of all outboxes together, in bytes.
	largestOutbox = 16_000_000
	// mostDead is the largest share of dead rows, in percent, of a table of more than smallTable bytes
	// that vacuum has not visited.
	mostDead   = 20
	smallTable = 1_000_000
)

// checkCosts checks that requests have not become more expensive, and that backups did not slow down
// sales.
func checkCosts(t *testing.T, periods []period) {
	t.Helper()
	first, calm := periods[0], periods[1]
	for _, p := range periods[1:] {
		for what, cost := range map[string]func(period) float64{
			"blocks":               func(p period) float64 { return p.each(p.blocks) },
			"ms of processor time": func(p period) float64 { return p.eachMS(p.processorTime()) },
			"bytes of logs":        func(p period) float64 { return p.each(p.logs) },
		} {
			if now, at := cost(p), cost(first); now > mostCost*at {
				t.Errorf("%s: a request costs %.0f %s, but %.0f at first", p.what, now, what, at)
			}
		}
		// A base backup begins with a checkpoint, after which the log has whole pages.
		isAfterCheckpoint := strings.HasPrefix(p.what, "base backup")
		if now, at := p.each(p.wal), first.each(first.wal); !isAfterCheckpoint && now > mostLog*at {
			t.Errorf("%s: a request writes %.0f bytes to the write-ahead log, but %.0f at first", p.what, now, at)
		}
		if now, at := p.quantile(50), calm.quantile(50); now > mostWait*at {
			t.Errorf("%s: the median booking takes %s, but %s before the backups", p.what, now, at)
		}
		for _, s := range costlier(first, p) {
			if strings.Contains(s.SQL, "outbox_events") || strings.Contains(s.SQL, "idempotency_keys") || strings.Contains(s.SQL, "deliveries") {
				t.Errorf("%s: a statement reads more blocks than at first: %s", p.what, s.SQL)
			}
		}
	}
}

// checkSizes checks that tables stay as large as they are, and that vacuum keeps up.
func checkSizes(t *testing.T, periods []period, tables []bloat) {
	t.Helper()
	first, last := periods[0], periods[len(periods)-1]
	for _, g := range groups {
		most := float64(first.sizes[g.name]) * mostGrowth
		switch {
		case g.name == "outbox":
			most = largestOutbox
		case g.hourly:
			most = float64(first.sizes[g.name]) * mostHourlyGrowth
		}
		if float64(last.sizes[g.name]) > most {
			t.Errorf("%s: %s MB, but %s MB at first", g.name, mb(last.sizes[g.name]), mb(first.sizes[g.name]))
		}
	}
	for _, x := range tables {
		if x.Bytes > smallTable && x.Vacuums == 0 && x.Dead > mostDead {
			t.Errorf("%s.%s has %.0f %% dead rows, and was not vacuumed", x.Service, x.Table, x.Dead)
		}
	}
}
