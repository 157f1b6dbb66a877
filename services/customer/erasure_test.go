package customer

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/bus"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

// erasing is a world with the job that advances erasures, and an in-memory event stream.
type erasing struct {
	*world
	erasures Erasures
	job      *ErasureJobs
	now      time.Time
	stream   []bus.Message
	removed  []string
	away     error // the error of the unavailable stream
}

func openErasing(t *testing.T) *erasing {
	w := open(t)
	e := &erasing{world: w, erasures: Erasures{Server: w.server}, now: time.Date(2026, 1, 31, 9, 30, 0, 0, time.UTC)}
	clock := func() time.Time { return e.now }
	w.server.now = clock
	e.job = &ErasureJobs{store: w.server.store, outbox: outbox.New(w.db, nil, testkit.Log(t), clock), settle: 2 * time.Minute, now: clock, log: testkit.Log(t)}
	e.job.remove = func(_ context.Context, remove func(bus.Message) bool) (int, error) {
		for _, m := range e.stream {
			if remove(m) {
				e.removed = append(e.removed, m.Subject)
			}
		}
		return len(e.removed), e.away
	}
	return e
}

func (e *erasing) erase(customer string, repeat bool) *privacyv1.Erasure {
	e.t.Helper()
	res, err := e.erasures.EraseCustomer(e.ctx(), &privacyv1.EraseCustomerRequest{CustomerId: customer, Repeat: repeat})
	if err != nil {
		e.t.Fatal(err)
	}
	return res.GetErasure()
}

// publish moves the events of the outbox to the stream.
func (e *erasing) publish() []*customerv1.CustomerErased {
	e.t.Helper()
	type row struct {
		Subject string `db:"subject"`
		Payload []byte `db:"payload"`
	}
	rows, err := pg.Rows[row](e.t.Context(), e.db, pg.AllCompanies(), `select subject, payload from outbox order by created_at, subject`)
	if err != nil {
		e.t.Fatal(err)
	}
	e.sql(`delete from outbox`)
	var told []*customerv1.CustomerErased
	for _, r := range rows {
		e.stream = append(e.stream, bus.Message{Company: e.company, Subject: r.Subject, Payload: r.Payload})
		if r.Subject == subjectErased {
			var event customerv1.CustomerErased
			if err := proto.Unmarshal(r.Payload, &event); err != nil {
				e.t.Fatal(err)
			}
			told = append(told, &event)
		}
	}
	return told
}

func (e *erasing) sql(statement string, args ...any) {
	e.t.Helper()
	err := e.db.InTx(e.t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, statement, args...)
		return err
	})
	if err != nil {
		e.t.Fatal(err)
	}
}

// answer stores the answers of services.
func (e *erasing) answer(customer string, round int32, services ...string) {
	e.t.Helper()
	for _, s := range services {
		body, err := proto.Marshal(&privacyv1.CustomerDataErased{CustomerId: customer, Service: s, Round: round, ErasedAt: timestamppb.New(e.now)})
		if err != nil {
			e.t.Fatal(err)
		}
		m := bus.Message{Company: e.company, Subject: s + dataErased, Payload: body}
		if err := e.job.handle(e.t.Context(), []bus.Message{m, m}); err != nil {
			e.t.Fatal(err)
		}
	}
}

// advance runs the job once, and returns the rounds that it has announced.
func (e *erasing) advance() []int32 {
	e.t.Helper()
	if err := e.job.runOnce(e.t.Context()); err != nil {
		e.t.Fatal(err)
	}
	var rounds []int32
	for _, told := range e.publish() {
		rounds = append(rounds, told.GetRound())
	}
	return rounds
}

func (e *erasing) progress(customer string) *privacyv1.Erasure {
	e.t.Helper()
	res, err := e.erasures.GetErasure(e.ctx(), &privacyv1.GetErasureRequest{CustomerId: customer})
	if err != nil {
		e.t.Fatal(err)
	}
	return res.GetErasure()
}

func TestErase(t *testing.T) { // invariant 10
	t.Run("overwrites all personal data, and is a deletion for other services", func(t *testing.T) {
		e := openErasing(t)
		e.importN("mark", 3)
		res, err := e.client.CreateCustomer(e.ctx(), &customerv1.CreateCustomerRequest{
			FirstName: "Marked", LastName: "O'Brien", Email: "a@example.com", Mobile: "+44 7700 900123",
		})
		if err != nil {
			t.Fatal(err)
		}
		made := res.GetCustomer()
		e.publish()
		all := append(slices.Clone(e.total3()), made.GetId())
		before := e.total()
		for i, customer := range all {
			if got := e.erase(customer, false); got.GetRequestedBy() == "" || !got.GetRequestedAt().AsTime().Equal(e.now) || got.GetCompletedAt() != nil {
				t.Errorf("got %v", got)
			}
			if n := e.total(); n != before-int64(i+1) {
				t.Errorf("the total is %d", n)
			}
			if _, err := e.client.GetCustomer(e.ctx(), &customerv1.GetCustomerRequest{Id: customer}); !fault.Is(err, fault.NotFound) {
				t.Errorf("got %v", err)
			}
		}
		left, err := pg.One[string](t.Context(), e.db, pg.AllCompanies(), `select string_agg(c::text, ' ') from customers c`)
		if err != nil || strings.Contains(strings.ToLower(left), "mark") || strings.Contains(left, "example.com") ||
			strings.Contains(left, "+44") || strings.Contains(left, "7700900123") { // shorter digits can be part of an identifier
			t.Errorf("left is %s, %v", left, err)
		}
		events := map[string]int{}
		for _, told := range e.publish() {
			if c := told.GetCustomer(); c.GetFirstName() != "Erased" || c.GetEmail() != erasedEmail || c.GetReference() != "" || c.GetVersion() != 2 {
				t.Errorf("announced %v", told)
			}
		}
		for _, m := range e.stream {
			events[m.Subject]++
		}
		if events[subjectDeleted] != 4 || events[subjectErased] != 4 {
			t.Errorf("published %v", events)
		}
	})
	t.Run("erases a deleted customer too, and does not subtract them twice", func(t *testing.T) {
		e := openErasing(t)
		stays, goes := e.create("Ann"), e.create("Bea")
		if _, err := e.client.DeleteCustomer(e.ctx(), &customerv1.DeleteCustomerRequest{Id: goes.GetId()}); err != nil {
			t.Fatal(err)
		}
		e.now = e.now.Add(time.Hour)
		e.erase(goes.GetId(), false)
		if n := e.total(); n != 1 {
			t.Errorf("the total is %d", n)
		}
		_ = stays
	})
	t.Run("one of several concurrent requests erases, and all are answered", func(t *testing.T) {
		e := openErasing(t)
		c := e.create("Ann")
		var racing sync.WaitGroup
		for range 16 {
			racing.Go(func() { e.erase(c.GetId(), false) })
		}
		racing.Wait()
		if n := e.events(subjectErased); n != 1 || e.total() != 0 {
			t.Errorf("%d events", n)
		}
	})
	t.Run("returns NOT_FOUND for unknown and other companies' customers, and requires the scope", func(t *testing.T) {
		e := openErasing(t)
		c := e.create("Ann")
		ask := func(ctx context.Context, customer string) error {
			_, err := e.erasures.EraseCustomer(ctx, &privacyv1.EraseCustomerRequest{CustomerId: customer})
			return err
		}
		for _, err := range []error{ask(e.ctx(), id.New[id.Customer]().String()), ask(e.ctx(), "x"), ask(e.as(id.New[id.Company]()), c.GetId())} {
			if !fault.Is(err, fault.NotFound) {
				t.Errorf("got %v", err)
			}
		}
		if _, err := e.erasures.GetErasure(e.ctx(), &privacyv1.GetErasureRequest{CustomerId: c.GetId()}); !fault.Is(err, fault.NotFound) {
			t.Errorf("got %v", err)
		}
		if err := Policy().Check(&privacyv1.ErasureService_ServiceDesc, &privacyv1.PersonalDataService_ServiceDesc); err != nil {
			t.Error(err)
		}
		for method, scope := range Policy() {
			if strings.Contains(method, ".privacy.") && !strings.HasPrefix(scope, "privacy:") {
				t.Errorf("%s needs %s", method, scope)
			}
		}
	})
	t.Run("deletes the stored responses of idempotency keys", func(t *testing.T) {
		e := openErasing(t)
		made, err := e.client.CreateCustomer(rpc.WithIdempotencyKey(e.ctx(), "k"), &customerv1.CreateCustomerRequest{FirstName: "Ann", LastName: "B", Email: "a@example.com"})
		if err != nil {
			t.Fatal(err)
		}
		e.erase(made.GetCustomer().GetId(), false)
		n, err := pg.One[int64](t.Context(), e.db, pg.AllCompanies(), `select count(*) from idempotency_keys`)
		if err != nil || n != 0 {
			t.Errorf("%d answers are kept, %v", n, err)
		}
	})
}

// total3 returns the customers of an import of three.
func (e *erasing) total3() []string {
	e.t.Helper()
	res, err := e.client.ListCustomers(e.ctx(), &customerv1.ListCustomersRequest{PageSize: 3})
	if err != nil || len(res.GetCustomers()) != 3 {
		e.t.Fatal(res, err)
	}
	var ids []string
	for _, c := range res.GetCustomers() {
		ids = append(ids, c.GetId())
	}
	return ids
}

func TestImportAfterErasure(t *testing.T) { // invariant 12
	e := openErasing(t)
	first := e.importN("mark", 2)
	e.erase(first[0].GetId(), false)
	again := e.importN("mark", 2)
	if again[0].GetOutcome() != customerv1.ImportOutcome_IMPORT_OUTCOME_REFUSED || again[0].GetField() != "reference" || again[0].GetRule() != "erased" {
		t.Errorf("got %v", again[0])
	}
	if again[1].GetOutcome() != customerv1.ImportOutcome_IMPORT_OUTCOME_EXISTED || again[1].GetId() != first[1].GetId() {
		t.Errorf("got %v", again[1])
	}
	if n := e.total(); n != 1 {
		t.Errorf("the total is %d", n)
	}
}
