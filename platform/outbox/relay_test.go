package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go/jetstream"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/bus"
	"reservation.dev/platform/config"
	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
)

func TestRelay(t *testing.T) {
	t.Parallel()
	t.Run("a commit wakes the relay", func(t *testing.T) {
		w := newWorld(t)
		o := w.outbox(t)
		background(t, o.Run)
		for i := range 5 {
			w.commit(t, o, w.event(fmt.Sprint(i)))
			w.waitDrained(t)
		}
	})

	t.Run("finds the events of other processes by polling", func(t *testing.T) {
		w := newWorld(t)
		background(t, w.outbox(t).Run)
		w.commit(t, w.outbox(t), w.event("from elsewhere"))
		w.waitDrained(t)
	})

	t.Run("two concurrent relays publish all events, each with one effect (invariant 2)", func(t *testing.T) {
		w := newWorld(t)
		w.consume(t)
		other := *w
		other.db, other.bus = w.pool(t), testkit.Bus(t)
		outboxes := []*outbox.Outbox{w.outbox(t), other.outbox(t)}
		for _, o := range outboxes {
			background(t, o.Run)
		}
		const writers, commits, perCommit = 4, 100, 10
		var writing sync.WaitGroup
		for writer := range writers {
			writing.Go(func() {
				for n := range commits {
					var events []outbox.Event
					for i := range perCommit {
						events = append(events, w.event(fmt.Sprintf("%d/%d/%d", writer, n, i)))
					}
					err := w.db.InTx(context.Background(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
						return outboxes[n%2].Append(ctx, tx, events...)
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		writing.Wait()
		w.waitDrained(t)
		if n := w.stored(t); n != writers*commits*perCommit {
			t.Errorf("the stream has %d events", n)
		}
		w.wantEffects(t, writers*commits*perCommit)
	})

	t.Run("two relays never lease the same event (invariant 3)", func(t *testing.T) {
		w := newWorld(t)
		o := w.outbox(t)
		w.commit(t, o, w.events(3000)...)
		var mu sync.Mutex
		total := 0
		var racing sync.WaitGroup
		for range 8 {
			racing.Go(func() {
				n, err := w.outbox(t).LeaseAndDie(context.Background())
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				total += n
			})
		}
		racing.Wait()
		if once := w.count(t, `select count(*) from outbox where attempt = 1`); int64(total) != once || total != 3000 {
			t.Errorf("%d leases of %d events", total, once)
		}
	})

	t.Run("a relay that is stopped settles its leased events (invariant 5)", func(t *testing.T) {
		w := newWorld(t)
		o := w.outbox(t)
		for round := range 5 {
			w.commit(t, o, w.events(1500)...)
			stop := background(t, o.Run)
			testkit.Eventually(t, patience, func() error {
				if w.stored(t) <= int64(round*1500) {
					return errors.New("nothing is published yet")
				}
				return nil
			})
			stop()
			if n := w.count(t, `select count(*) from outbox where lease is not null`); n != 0 {
				t.Fatalf("%d events are still leased", n)
			}
		}
		background(t, o.Run)
		w.waitDrained(t)
		if n := w.stored(t); n != 5*1500 {
			t.Errorf("the stream has %d events", n)
		}
	})

	t.Run("returns an error without a bus", func(t *testing.T) {
		w := newWorld(t)
		if err := outbox.New(w.db, nil, testkit.Log(t), time.Now).Run(t.Context()); err == nil {
			t.Error("no error")
		}
	})
}

// expireLeases makes the leases of a crashed relay expire.
func (w *world) expireLeases(t *testing.T) {
	t.Helper()
	w.exec(t, `update outbox set lease_until = now() - interval '1 s' where lease is not null`)
}

func TestRelayDies(t *testing.T) {
	t.Parallel()
	t.Run("between publishing and deleting: publishes again with the same id, for one effect (invariant 2)", func(t *testing.T) {
		w := newWorld(t)
		w.consume(t)
		o := w.outbox(t)
		w.commit(t, o, w.events(100)...)
		died, err := o.PublishAndDie(t.Context())
		if err != nil || len(died) != 100 {
			t.Fatalf("%d published, %v", len(died), err)
		}
		if n := w.count(t, `select count(*) from outbox`); n != 100 {
			t.Fatalf("%d events are left, want all", n)
		}
		w.expireLeases(t)
		background(t, o.Run)
		w.waitDrained(t)
		w.wantEffects(t, 100)
		if n := w.stored(t); n != 100 {
			t.Errorf("the stream has %d events", n)
		}
	})

	t.Run("and the stream has forgotten the ids: delivers twice, for one effect", func(t *testing.T) {
		w := newWorld(t)
		forgetSoon(t, w.bus)
		w.consume(t)
		o := w.outbox(t)
		w.commit(t, o, w.events(10)...)
		died, err := o.PublishAndDie(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		w.wantEffects(t, 10)
		waitForgotten(t, w.bus)
		w.expireLeases(t)
		background(t, o.Run)
		w.waitDrained(t)
		seen := map[id.UUID]int{}
		for _, m := range received(t, w.bus, 20, subject) {
			seen[m.ID]++
		}
		for _, m := range died {
			if seen[m.ID] != 2 {
				t.Errorf("%s was published %d times", m.ID, seen[m.ID])
			}
		}
		w.commit(t, o, w.event("the last one"))
		w.wantEffects(t, 11)
	})

	t.Run("a relay that lost its lease deletes nothing (invariant 3)", func(t *testing.T) {
		w := newWorld(t)
		o := w.outbox(t)
		w.commit(t, o, w.events(10)...)
		settle, err := o.PublishAndStall(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		w.expireLeases(t)
		if n, err := w.outbox(t).LeaseAndDie(t.Context()); n != 10 || err != nil {
			t.Fatalf("%d leased by the next relay, %v", n, err)
		}
		if err := settle(); err != nil {
			t.Fatal(err)
		}
		if n := w.count(t, `select count(*) from outbox where lease is not null and attempt = 2`); n != 10 {
			t.Errorf("%d events are left to the relay that holds them", n)
		}
	})
}

// waitOpen waits until commits put their events into the queue of o.
func waitOpen(t *testing.T, o *outbox.Outbox) {
	t.Helper()
	testkit.Eventually(t, patience, func() error {
		if !o.IsOpen() {
			return errors.New("the queue is closed")
		}
		return nil
	})
}

func TestDirectPublishing(t *testing.T) {
	t.Parallel()
	t.Run("publishes events without a claim", func(t *testing.T) {
		w := newWorld(t)
		o := w.outbox(t)
		background(t, o.Run)
		waitOpen(t, o)
		w.forbidUpdates(t)
		for i := range 20 {
			w.commit(t, o, w.event(fmt.Sprint(i)))
		}
		w.waitDrained(t)
		if n := w.stored(t); n != 20 {
			t.Errorf("the stream has %d events", n)
		}
	})

	t.Run("never publishes events that were rolled back (invariant 1)", func(t *testing.T) {
		w := newWorld(t)
		o := w.outbox(t)
		background(t, o.Run)
		waitOpen(t, o)
		gone := errors.New("changed my mind")
		err := w.db.InTx(t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
			return errors.Join(o.Append(ctx, tx, w.event("rolled back")), gone)
		})
		if !errors.Is(err, gone) {
			t.Fatal(err)
		}
		w.commit(t, o, w.event("committed"))
		w.waitDrained(t)
		if n := w.stored(t); n != 1 {
			t.Errorf("%d published, want 1", n)
		}
	})

	t.Run("another relay publishes the events of a process that died after the commit (invariant 2)", func(t *testing.T) {
		w := newWorld(t)
		w.consume(t)
		died := w.outbox(t)
		died.Open()
		w.commit(t, died, w.events(10)...)
		if n := w.count(t, `select count(*) from outbox where lease is not null and lease_until > now()`); n != 10 {
			t.Fatalf("%d events are leased by their process, want 10", n)
		}
		o := w.outbox(t)
		if n, err := o.LeaseAndDie(t.Context()); n != 0 || err != nil {
			t.Fatalf("another relay has leased %d of them, %v", n, err)
		}
		w.expireLeases(t)
		background(t, o.Run)
		w.waitDrained(t)
		w.wantEffects(t, 10)
	})

	t.Run("a relay that falls behind publishes all events", func(t *testing.T) {
		w := newWorld(t)
		o := w.outbox(t)
		o.Open()
		n := 0
		for ; o.IsOpen(); n += 100 {
			w.commit(t, o, w.events(100)...)
		}
		if n <= outbox.MostQueued {
			t.Errorf("has fallen behind after %d events", n)
		}
		background(t, o.Run)
		waitOpen(t, o)
		w.waitDrained(t)
		if stored := w.stored(t); stored != int64(n) {
			t.Errorf("the stream has %d of %d events", stored, n)
		}
	})
}

// forbidUpdates makes every later update of an event fail.
func (w *world) forbidUpdates(t *testing.T) {
	t.Helper()
	admin, err := pgx.Connect(t.Context(), w.ownerURL)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(context.Background())
	_, err = admin.Exec(t.Context(), `create function forbid() returns trigger language plpgsql as $$ begin raise exception 'an event was updated'; end $$;
		create trigger forbid before update on outbox_events for each row execute function forbid()`)
	if err != nil {
		t.Fatal(err)
	}
}

func TestRelayProcessesDie(t *testing.T) {
	t.Parallel()
	t.Run("processes that are killed at any moment lose no events (invariant 2)", func(t *testing.T) {
		w := newWorld(t)
		w.consume(t)
		o := w.outbox(t)
		const total = 6000
		err := w.db.InTx(t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
			return o.AppendAll(ctx, tx, w.events(total))
		})
		if err != nil {
			t.Fatal(err)
		}
		for round := range 3 {
			relay := exec.Command(os.Args[0])
			relay.Env = append(os.Environ(), relayEnv+"="+w.appURL, "PGAPPNAME=relay", "NATS_URL="+testkit.NATSURL(t), "BUS_PREFIX="+w.bus.Prefix())
			relay.Stderr = os.Stderr
			if err := relay.Start(); err != nil {
				t.Fatal(err)
			}
			// Kill the process as soon as it has published some more events.
			testkit.Eventually(t, patience, func() error {
				if n := w.stored(t); n <= int64(round*total/4) {
					return fmt.Errorf("%d published", n)
				}
				return nil
			})
			if err := relay.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = relay.Wait()
			// The server may still be executing a statement of the killed process.
			testkit.Eventually(t, patience, func() error {
				if n := w.count(t, `select count(*) from pg_stat_activity where application_name = 'relay'`); n > 0 {
					return fmt.Errorf("%d of its sessions are left", n)
				}
				return nil
			})
			w.expireLeases(t)
		}
		t.Logf("%d events left to the last relay", w.count(t, `select count(*) from outbox`))
		background(t, o.Run)
		w.waitDrained(t)
		if n := w.stored(t); n != total {
			t.Errorf("the stream has %d events", n)
		}
		w.wantEffects(t, total)
	})
}

// forgetSoon makes the stream remember ids for the shortest possible time.
func forgetSoon(t *testing.T, b *bus.Bus) {
	t.Helper()
	s, err := b.JetStream().Stream(t.Context(), strings.ToUpper(b.Prefix())+"_EVENTS")
	if err != nil {
		t.Fatal(err)
	}
	cfg := s.CachedInfo().Config
	cfg.Duplicates = 100 * time.Millisecond
	if _, err := b.JetStream().UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
}

// waitForgotten waits until the stream has forgotten the ids that it remembers now.
func waitForgotten(t *testing.T, b *bus.Bus) {
	t.Helper()
	probe := func() (known bool) {
		ack, err := b.JetStream().Publish(t.Context(), b.Prefix()+".pass.v1.probe", nil, jetstream.WithMsgID("probe"))
		if err != nil {
			t.Fatal(err)
		}
		return ack.Duplicate
	}
	probe()
	testkit.Eventually(t, patience, func() error {
		if probe() {
			return errors.New("still known")
		}
		return nil
	})
}

// relayEnv makes this test binary a process that relays until it is killed.
const relayEnv = "OUTBOX_TEST_RELAY"

func relayProcess() {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	ctx := context.Background()
	db, err := pg.Open(ctx, pg.Config{URL: config.Secret(os.Getenv(relayEnv))}, log)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	b, err := bus.Connect(ctx, bus.Config{URL: os.Getenv("NATS_URL"), Prefix: os.Getenv("BUS_PREFIX")}, log)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = outbox.New(db, b, log, time.Now).Run(ctx)
}

func TestRelayOutages(t *testing.T) {
	t.Parallel()
	t.Run("commits succeed while NATS is unavailable, and the relay publishes their events afterwards", func(t *testing.T) {
		srv := testkit.NewNATSServer(t)
		b := srv.Connect(t, bus.Config{})
		if err := b.EnsureStreams(t.Context()); err != nil {
			t.Fatal(err)
		}
		w := newWorldOn(t, b)
		w.consume(t)
		o := w.outbox(t)
		background(t, o.Run)
		w.commit(t, o, w.event("before"))
		w.waitDrained(t)
		for round := range 3 {
			srv.Stop(t)
			for i := range 20 {
				var events []outbox.Event
				for n := range 25 {
					events = append(events, w.event(fmt.Sprintf("%d/%d/%d", round, i, n)))
				}
				w.commit(t, o, events...)
			}
			if n := w.count(t, `select count(*) from outbox`); n != 500 {
				t.Fatalf("%d are waiting", n)
			}
			srv.Start(t)
			w.waitDrained(t)
		}
		w.wantEffects(t, 1501)
	})

	t.Run("an outage of NATS while the relay publishes loses no events", func(t *testing.T) {
		srv := testkit.NewNATSServer(t)
		b := srv.Connect(t, bus.Config{})
		if err := b.EnsureStreams(t.Context()); err != nil {
			t.Fatal(err)
		}
		w := newWorldOn(t, b)
		w.consume(t)
		o := w.outbox(t)
		err := w.db.InTx(t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
			return o.AppendAll(ctx, tx, w.events(5000))
		})
		if err != nil {
			t.Fatal(err)
		}
		background(t, o.Run)
		testkit.Eventually(t, patience, func() error {
			if w.count(t, `select count(*) from outbox`) > 4500 {
				return errors.New("not begun")
			}
			return nil
		})
		srv.Stop(t)
		t.Logf("%d events are left", w.count(t, `select count(*) from outbox`))
		srv.Start(t)
		w.waitDrained(t)
		w.wantEffects(t, 5000)
	})

	t.Run("replaces lost database connections", func(t *testing.T) {
		w := newWorld(t)
		o := w.outbox(t)
		background(t, o.Run)
		admin, err := pgx.Connect(t.Context(), testkit.AdminURL(t))
		if err != nil {
			t.Fatal(err)
		}
		defer admin.Close(context.Background())
		for i := range 5 {
			w.commit(t, o, w.event(fmt.Sprint(i)))
			w.waitDrained(t)
			_, err := admin.Exec(t.Context(), `select pg_terminate_backend(pid) from pg_stat_activity where datname = $1`,
				w.db.Pool().Config().ConnConfig.Database)
			if err != nil {
				t.Fatal(err)
			}
		}
		w.commit(t, o, w.event("the last one"))
		w.waitDrained(t)
		if n := w.stored(t); n != 6 {
			t.Errorf("the stream has %d events", n)
		}
	})
}

func TestUnpublishableEvents(t *testing.T) {
	t.Parallel()
	// insert writes an event without Append, which would refuse it.
	insert := func(t *testing.T, w *world, subject string, n int) {
		w.exec(t, `insert into outbox (id, company_id, subject, payload, occurred_at, created_at)
			select gen_random_uuid(), $1, $2, '', now(), now() - interval '1 hour' from generate_series(1, $3::integer)`,
			w.company, subject, n)
	}

	t.Run("events that no stream accepts do not hold up the others (invariant 4)", func(t *testing.T) {
		w := newWorld(t)
		o := w.outbox(t)
		insert(t, w, "nobody.listens", 1200) // more than two batches, all older
		background(t, o.Run)
		w.commit(t, o, w.events(50)...)
		testkit.Eventually(t, patience, func() error {
			if n := w.stored(t); n != 50 {
				return fmt.Errorf("%d published", n)
			}
			return nil
		})
	})

	t.Run("retries them at growing intervals until a stream accepts them", func(t *testing.T) {
		w := newWorld(t)
		o := w.outbox(t)
		insert(t, w, "nobody.listens", 1)
		w.exec(t, `update outbox set attempt = 20`)
		stop := background(t, o.Run)
		testkit.Eventually(t, patience, func() error {
			if w.count(t, `select count(*) from outbox where attempt = 21 and lease is null`) != 1 {
				return errors.New("not tried yet")
			}
			return nil
		})
		if n := w.count(t, `select count(*) from outbox where lease_until between now() + interval '50 s' and now() + interval '60 s'`); n != 1 {
			t.Error("the next try is not in a minute")
		}
		stop()
		w.exec(t, `update outbox set subject = $1, lease_until = now()`, subject)
		background(t, o.Run)
		w.waitDrained(t)
		if n := w.stored(t); n != 1 {
			t.Errorf("%d published", n)
		}
	})
}
