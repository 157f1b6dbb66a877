package privacy_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/privacy"
	"reservation.dev/platform/subjects"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// schema has a table of notes about customers; some notes have lines.
func schema() pg.Migrations {
	return pg.Migrations{Part: "sample", AppRole: testkit.AppRole(), FS: fstest.MapFS{"0001_notes.sql": {Data: []byte(`-- +goose Up
		create table notes (company_id uuid not null, id uuid not null, customer_id uuid not null, note text, lines jsonb, primary key (company_id, id));
		select tenant_table('notes');
	`)}}}
}

const done = "sample.v1.customer_data_erased"

// shop is a service with one company, and the bus that it uses.
type shop struct {
	t        *testing.T
	db       *pg.DB
	bus      *bus.Bus
	company  id.Company
	customer id.Customer
	// erase is the service's own part of the erasure.
	erase func(ctx context.Context, e privacy.Erasure) error
	names []string
	heard chan *privacyv1.CustomerDataErased
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{
		t: t, db: testkit.DB(t, schema()), bus: testkit.Bus(t), company: id.New[id.Company](), customer: id.New[id.Customer](),
		heard: make(chan *privacyv1.CustomerDataErased, 10), erase: func(context.Context, privacy.Erasure) error { return nil },
	}
	return s
}

// run runs the participant, its relay, and a listener for its answers.
func (s *shop) run() {
	s.t.Helper()
	box := outbox.New(s.db, s.bus, testkit.Log(s.t), time.Now)
	p := &privacy.Participant{
		Service: "sample", Done: done, DB: s.db, Outbox: box, Log: testkit.Log(s.t), Now: time.Now,
		Erase: func(ctx context.Context, e privacy.Erasure) error { return s.erase(ctx, e) },
		Names: func(context.Context, privacy.Erasure) ([]string, error) { return s.names, nil },
	}
	ctx, stop := context.WithCancel(context.Background())
	members := []func(context.Context) error{
		box.Run, func(ctx context.Context) error { return p.Run(ctx, s.bus) },
		func(ctx context.Context) error {
			return s.bus.Consume(ctx, bus.Consumer{Name: "listener", Subjects: []string{done}, Handle: func(_ context.Context, msgs []bus.Message) error {
				for _, m := range msgs {
					var e privacyv1.CustomerDataErased
					if err := proto.Unmarshal(m.Payload, &e); err != nil {
						return err
					}
					s.heard <- &e
				}
				return nil
			}})
		},
	}
	ended := make(chan error, len(members))
	for _, run := range members {
		go func() { ended <- run(ctx) }()
	}
	s.t.Cleanup(func() {
		stop()
		for range members {
			if err := <-ended; err != nil {
				s.t.Error(err)
			}
		}
	})
}

func (s *shop) announce(round int32) {
	s.t.Helper()
	body, err := proto.Marshal(&customerv1.CustomerErased{Customer: &customerv1.CustomerSnapshot{Id: s.customer.String(), FirstName: "Erased"}, Round: round})
	if err != nil {
		s.t.Fatal(err)
	}
	m := bus.Message{ID: id.NewUUID(), Company: s.company, Subject: subjects.CustomerErased, Payload: body, OccurredAt: time.Now()}
	if _, err := s.bus.Publish(s.t.Context(), []bus.Message{m}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *shop) answer() *privacyv1.CustomerDataErased {
	s.t.Helper()
	select {
	case e := <-s.heard:
		return e
	case <-time.After(time.Minute):
		s.t.Fatal("no answer")
		return nil
	}
}

func (s *shop) exec(sql string, args ...any) {
	s.t.Helper()
	err := s.db.InTx(s.t.Context(), pg.For(s.company), func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, sql, args...)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *shop) count(sql string, args ...any) int64 {
	s.t.Helper()
	n, err := pg.One[int64](s.t.Context(), s.db, pg.AllCompanies(), sql, args...)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *shop) erased() bool {
	s.t.Helper()
	var erased bool
	err := s.db.InTx(s.t.Context(), pg.For(s.company), func(ctx context.Context, tx *pg.Tx) (err error) {
		erased, err = privacy.Erased(ctx, tx, s.company, s.customer)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return erased
}

func TestParticipant(t *testing.T) {
	t.Run("each round is answered after the service has erased, no matter how often that fails (invariants 1 and 2)", func(t *testing.T) {
		s := newShop(t)
		var tries atomic.Int64
		s.erase = func(_ context.Context, e privacy.Erasure) error {
			if !s.erased() { // invariant 3
				return errors.New("what comes late would not find the mark")
			}
			if e.Company != s.company || e.Customer != s.customer || e.Left.GetFirstName() != "Erased" {
				return fmt.Errorf("asked to erase %v", e)
			}
			if tries.Add(1) < 3 {
				return errors.New("killed")
			}
			return nil
		}
		s.run()
		for round := range int32(2) {
			s.announce(round + 1)
			if a := s.answer(); a.GetRound() != round+1 || a.GetCustomerId() != s.customer.String() || a.GetService() != "sample" || a.GetErasedAt() == nil {
				t.Errorf("got %v", a)
			}
		}
		if n := tries.Load(); n != 4 {
			t.Errorf("%d tries", n)
		}
	})

	t.Run("stored responses about the customer or the customer's items are deleted (invariant 1)", func(t *testing.T) {
		s := newShop(t)
		s.names = []string{"booking_01jb4x9m3vf6ksn8w2d7pq5r0t"}
		other := id.New[id.Customer]().String()
		for key, response := range map[string]string{
			"of the customer": "\x0a\x1f" + s.customer.String(), "of a booking": "\x0abooking_01jb4x9m3vf6ksn8w2d7pq5r0t\x12", "of another": other, "of nobody": "",
		} {
			s.exec(`insert into idempotency_keys (company_id, caller, key, request_hash, response, expires_at) values ($1, 'm2m_a', $2, '', $3, now() + interval '1 day')`,
				s.company, key, []byte(response))
		}
		s.run()
		s.announce(1)
		s.answer()
		if n := s.count(`select count(*) from idempotency_keys where key like 'of the%' or key like 'of a booking'`); n != 0 {
			t.Errorf("%d are left", n)
		}
		if n := s.count(`select count(*) from idempotency_keys`); n != 2 {
			t.Errorf("%d are there", n)
		}
	})

	t.Run("a round is not answered while an event about the customer waits (invariant 1)", func(t *testing.T) {
		s := newShop(t)
		// Another relay has claimed it and does not respond.
		event := id.NewUUID()
		s.exec(`insert into outbox (id, company_id, subject, payload, occurred_at, lease, lease_until) values ($1, $2, 'sample.v1.thing_done', $3, now(), $1, now() + interval '1 hour')`,
			event, s.company, []byte("\x0a"+s.customer.String()))
		erased := make(chan struct{}, 100)
		s.erase = func(context.Context, privacy.Erasure) error {
			erased <- struct{}{}
			return nil
		}
		s.run()
		s.announce(1)
		<-erased
		// It was redelivered: the first time it was not acknowledged.
		select {
		case <-erased:
		case <-time.After(time.Minute):
			t.Fatal("the event was not redelivered")
		}
		if len(s.heard) != 0 {
			t.Fatal("it was answered")
		}
		s.exec(`delete from outbox where id = $1`, event)
		s.answer()
	})
}
