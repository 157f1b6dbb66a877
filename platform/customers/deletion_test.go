package customers_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"reservation.dev/devkit/customertest"
	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/customers"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/privacy"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// schema has the table customers, and notes, which are written for customers.
func schema() pg.Migrations {
	return pg.Migrations{Part: "sample", AppRole: testkit.AppRole(), FS: fstest.MapFS{"0001_customers.sql": {Data: []byte(`-- +goose Up
		create table customers (company_id uuid not null, id uuid not null, deleted_at timestamptz, primary key (company_id, id));
		create table notes (company_id uuid not null, customer_id uuid not null);
		select tenant_table('customers');
		select tenant_table('notes');
	`)}}}
}

// shop is a service with one company.
type shop struct {
	t       *testing.T
	store   pg.Store
	lookup  *customertest.Fake
	company id.Company
}

func newShop(t *testing.T) *shop {
	t.Helper()
	t.Parallel()
	return &shop{t: t, store: pg.Store{DB: testkit.DB(t, schema())}, lookup: customertest.New(), company: id.New[id.Company]()}
}

func (s *shop) customer() id.Customer {
	customer := id.New[id.Customer]()
	s.lookup.Add(s.company, customer)
	return customer
}

func (s *shop) confirm(customer id.Customer) error {
	return customers.ConfirmDeletion(s.t.Context(), s.store, s.lookup, s.company, customer, time.Now())
}

// write adds a note for a customer, as a service does. before runs before the commit.
func (s *shop) write(customer id.Customer, before func()) error {
	return s.store.Write(s.t.Context(), s.company, func(ctx context.Context, tx *pg.Tx) error {
		note := pg.Query{SQL: `insert into notes (company_id, customer_id) values ($1, $2)`, Args: []any{s.company, customer}}
		err := customers.RequirePresent(ctx, tx, s.company, customer, note)
		before()
		return err
	})
}

func (s *shop) notes(customer id.Customer) int64 {
	s.t.Helper()
	n, err := pg.One[int64](s.t.Context(), s.store.DB, pg.For(s.company), `select count(*) from notes where customer_id = $1`, customer)
	if err != nil {
		s.t.Error(err)
	}
	return n
}

func TestRequirePresent(t *testing.T) {
	s := newShop(t)
	customer, erased := s.customer(), s.customer()
	for range 2 {
		if err := s.write(customer, func() {}); err != nil {
			t.Fatal(err)
		}
	}
	err := s.store.Write(t.Context(), s.company, func(ctx context.Context, tx *pg.Tx) error {
		return privacy.Mark(ctx, tx, s.company, erased, time.Now())
	})
	if err != nil {
		t.Fatal(err)
	}
	s.lookup.Delete(customer)
	for range 2 { // a confirmation can be repeated
		if err := s.confirm(customer); err != nil {
			t.Fatal(err)
		}
	}
	for name, refused := range map[string]id.Customer{"deleted": customer, "erased": erased} {
		if err := s.write(refused, func() {}); !fault.Is(err, fault.NotFound) {
			t.Errorf("a customer who is %s: got %v, want NOT_FOUND", name, err)
		}
	}
	if n := s.notes(customer); n != 2 {
		t.Errorf("%d notes, want those from before the deletion", n)
	}
}

func TestConfirmDeletion(t *testing.T) { // invariant 2
	s := newShop(t)
	customer := s.customer()
	if err := s.confirm(customer); !fault.Is(err, fault.Invalid) {
		t.Errorf("a customer who is not deleted: got %v", err)
	}
	if err := s.write(customer, func() {}); err != nil {
		t.Error(err)
	}
	if err := s.confirm(id.New[id.Customer]()); !fault.Is(err, fault.NotFound) {
		t.Errorf("a customer who never existed: got %v", err)
	}
	s.lookup.Delete(customer)
	s.lookup.Fail(fault.Away(nil))
	if err := s.confirm(customer); !fault.Is(err, fault.Unavailable) {
		t.Errorf("without the customer service: got %v", err)
	}
	if err := s.write(customer, func() {}); err != nil {
		t.Error(err)
	}
}

func TestLock(t *testing.T) {
	s := newShop(t)
	present, deleted, never := s.customer(), s.customer(), id.New[id.Customer]()
	s.lookup.Delete(deleted)
	err := errors.Join(s.write(present, func() {}), s.confirm(deleted))
	if err != nil {
		t.Fatal(err)
	}
	got := map[id.Customer]bool{}
	err = s.store.Write(t.Context(), s.company, func(ctx context.Context, tx *pg.Tx) error {
		return tx.Pipeline(ctx, customers.Lock(s.company, []id.Customer{never, deleted, present, present}, got))
	})
	if gone, known := got[never]; err != nil || len(got) != 2 || got[present] || !got[deleted] || gone || known {
		t.Errorf("got %v, %v", got, err)
	}
}

// TestConfirmationWaits delays a commit that has read a customer as present, and checks that the confirmation
// does not return before it.
func TestConfirmationWaits(t *testing.T) { // invariant 1
	s := newShop(t)
	customer := s.customer()
	if err := s.write(customer, func() {}); err != nil { // so that the row exists
		t.Fatal(err)
	}
	locked, done := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(done) })
	defer release()
	written, confirmed := make(chan error, 1), make(chan error, 1)
	go func() { written <- s.write(customer, func() { close(locked); <-done }) }()
	<-locked
	s.lookup.Delete(customer)
	go func() { confirmed <- s.confirm(customer) }()
	testkit.Eventually(t, time.Minute, func() error {
		waiting, err := pg.One[bool](t.Context(), s.store.DB, pg.AllCompanies(), `select exists (select from pg_stat_activity
			where datname = current_database() and wait_event_type = 'Lock' and query = $1)`, customers.AwaitSQL)
		if err == nil && !waiting {
			err = errors.New("the confirmation does not wait")
		}
		return err
	})
	if err := s.write(customer, func() {}); !fault.Is(err, fault.NotFound) {
		t.Errorf("a write during the confirmation: got %v", err)
	}
	release()
	if err := errors.Join(<-written, <-confirmed); err != nil {
		t.Error(err)
	}
	if n := s.notes(customer); n != 2 {
		t.Errorf("%d notes", n)
	}
}

// TestRefusedWritesDoNotDelay checks that a transaction whose customer is deleted does not hold up a
// confirmation.
func TestRefusedWritesDoNotDelay(t *testing.T) { // invariant 3
	s := newShop(t)
	customer := s.customer()
	s.lookup.Delete(customer)
	if err := s.confirm(customer); err != nil {
		t.Fatal(err)
	}
	refused, again := s.write(customer, func() {
		if err := s.confirm(customer); err != nil {
			t.Error(err)
		}
	}), s.confirm(customer)
	if !fault.Is(refused, fault.NotFound) || again != nil {
		t.Errorf("got %v, %v", refused, again)
	}
}

// TestDeletionUnderConcurrency deletes customers during many writes for them. After a confirmation has
// returned, no note is added.
func TestDeletionUnderConcurrency(t *testing.T) { // invariant 1
	s := newShop(t)
	const count, writers = 6, 4
	names, before := make([]id.Customer, count), make([]int64, count)
	stop := make(chan struct{})
	var busy, deletions sync.WaitGroup
	for i := range names {
		names[i] = s.customer()
		began := make(chan struct{}, writers)
		for range writers {
			busy.Go(func() { s.writeUntil(stop, names[i], began) })
		}
		deletions.Go(func() {
			<-began
			s.lookup.Delete(names[i])
			if err := s.confirm(names[i]); err != nil {
				t.Error(err)
			}
			before[i] = s.notes(names[i])
		})
	}
	deletions.Wait()
	close(stop)
	busy.Wait()
	for i, customer := range names {
		if n := s.notes(customer); n != before[i] || n == 0 {
			t.Errorf("%d notes when the deletion was confirmed and %d later", before[i], n)
		}
	}
}

// writeUntil writes notes until stop is closed. It signals its first one to began.
func (s *shop) writeUntil(stop chan struct{}, customer id.Customer, began chan struct{}) {
	for first := true; ; {
		err := s.write(customer, func() {})
		if err == nil && first {
			first = false
			began <- struct{}{}
		}
		if err != nil && !fault.Is(err, fault.NotFound) {
			s.t.Error(err)
			return
		}
		select {
		case <-stop:
			return
		default:
		}
	}
}
