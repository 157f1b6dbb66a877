package customer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/bus"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/privacy"
	"reservation.dev/platform/rpc"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

// erasing is a desk with the job that takes erasures on, and the event stream in
// memory.
type erasing struct {
	*desk
	erasures Erasures
	job      *ErasureJobs
	now      time.Time
	stream   []bus.Message
	removed  []string
	away     error // of the stream
}

func openErasing(t *testing.T) *erasing {
	d := open(t)
	e := &erasing{desk: d, erasures: Erasures{Server: d.server}, now: time.Date(2026, 1, 31, 9, 30, 0, 0, time.UTC)}
	clock := func() time.Time { return e.now }
	d.server.now = clock
	e.job = &ErasureJobs{store: d.server.store, outbox: outbox.New(d.db, nil, testkit.Log(t), clock), settle: 2 * time.Minute, now: clock, log: testkit.Log(t)}
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

// publish empties the outbox into the stream.
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

// answer has services say that they are done.
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

// goOn lets the job run, and returns the rounds it has announced.
func (e *erasing) goOn() []int32 {
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
	t.Run("everything personal is overwritten, and it is a deletion for everybody else", func(t *testing.T) {
		e := openErasing(t)
		e.importN("mark", 3)
		made := e.create("Marked")
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
		if err != nil || strings.Contains(strings.ToLower(left), "mark") || strings.Contains(left, "example.com") || strings.Contains(left, "44") && strings.Contains(left, "7700") {
			t.Errorf("left is %s, %v", left, err)
		}
		events := map[string]int{}
		for _, told := range e.publish() {
			if c := told.GetCustomer(); c.GetFirstName() != "Erased" || c.GetEmail() != erasedEmail || c.GetReference() != "" || c.GetVersion() != 2 {
				t.Errorf("told %v", told)
			}
		}
		for _, m := range e.stream {
			events[m.Subject]++
		}
		if events[subjectDeleted] != 4 || events[subjectErased] != 4 {
			t.Errorf("published %v", events)
		}
	})
	t.Run("a deleted customer is erased too, and is not counted off twice", func(t *testing.T) {
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
	t.Run("of many at once one does it, and all are answered", func(t *testing.T) {
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
	t.Run("who never was, and another company's, is not found, and nobody erases without the scope", func(t *testing.T) {
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
	t.Run("a write that carries a key is not repeated out of its answer, which is gone", func(t *testing.T) {
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

// total3 returns the customers of an import.
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

func TestRounds(t *testing.T) { // invariant 11
	all := erasers()
	t.Run("the second round begins when all have answered the first and the time is over, and its answers end it", func(t *testing.T) {
		e := openErasing(t)
		c := e.create("Ann").GetId()
		e.erase(c, false)
		if told := e.publish(); len(told) != 1 || told[0].GetRound() != 1 {
			t.Fatalf("told %v", told)
		}
		e.answer(c, 1, all[:3]...)
		e.now = e.now.Add(time.Hour)
		if rounds := e.goOn(); len(rounds) != 0 {
			t.Errorf("%v without the last service", rounds)
		}
		e.answer(c, 1, all[3])
		if rounds := e.goOn(); !slices.Equal(rounds, []int32{2}) {
			t.Errorf("announced %v", rounds)
		}
		if rounds := e.goOn(); len(rounds) != 0 || len(e.removed) != 0 {
			t.Errorf("announced %v again", rounds)
		}
		e.answer(c, 2, all...)
		e.stream = append(e.stream,
			bus.Message{Company: e.company, Subject: "booking.v1.booking_confirmed", Payload: []byte("\x0a" + c)},
			bus.Message{Company: id.New[id.Company](), Subject: "booking.v1.booking_confirmed", Payload: []byte("\x0a" + c)},
			bus.Message{Company: e.company, Subject: "booking.v1.booking_confirmed", Payload: []byte("\x0acust_01jb4x9m3vf6ksn8w2d7pq5r0t")},
			bus.Message{Company: e.company, Subject: "pass" + dataErased, Payload: []byte("\x0a" + c)})
		e.goOn()
		if p := e.progress(c); p.GetCompletedAt() == nil || p.GetEventsRemovedAt() == nil || p.GetServices()[0].GetConfirmedAt() == nil {
			t.Errorf("got %v", p)
		}
		if want := []string{subjectCreated, "booking.v1.booking_confirmed"}; !slices.Equal(e.removed, want) {
			t.Errorf("removed %v, want %v", e.removed, want)
		}
	})
	t.Run("before the time is over it does not begin", func(t *testing.T) {
		e := openErasing(t)
		c := e.create("Ann").GetId()
		e.erase(c, false)
		e.publish()
		e.answer(c, 1, all...)
		e.now = e.now.Add(2*time.Minute - time.Second)
		if rounds := e.goOn(); len(rounds) != 0 {
			t.Errorf("announced %v", rounds)
		}
		e.now = e.now.Add(2 * time.Second)
		if rounds := e.goOn(); len(rounds) != 1 {
			t.Errorf("announced %v", rounds)
		}
	})
	t.Run("an event that waits in the outbox, and a stream that is away, hold the end up", func(t *testing.T) {
		e := openErasing(t)
		c := e.create("Ann").GetId()
		e.erase(c, false)
		e.answer(c, 1, all...)
		e.now = e.now.Add(time.Hour)
		if err := e.job.runOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		e.answer(c, 2, all...)
		if err := e.job.runOnce(t.Context()); err != nil || e.progress(c).GetCompletedAt() != nil {
			t.Errorf("ended while customer_created waits: %v", err)
		}
		e.publish()
		e.away = errors.New("away")
		if err := e.job.runOnce(t.Context()); !errors.Is(err, e.away) || e.progress(c).GetCompletedAt() != nil {
			t.Errorf("ended without the stream: %v", err)
		}
		e.away = nil
		if e.goOn(); e.progress(c).GetCompletedAt() == nil {
			t.Error("not ended")
		}
	})
	t.Run("a repeat begins two more rounds, and old answers do not count for them", func(t *testing.T) {
		e := openErasing(t)
		c := e.create("Ann").GetId()
		e.erase(c, false)
		e.publish()
		for round := int32(1); round <= 2; round++ {
			e.answer(c, round, all...)
			e.now = e.now.Add(time.Hour)
			e.goOn()
		}
		if p := e.erase(c, true); p.GetCompletedAt() != nil || p.GetServices()[0].GetErasedAt() != nil || p.GetServices()[0].GetConfirmedAt() != nil {
			t.Errorf("got %v", p)
		}
		if told := e.publish(); len(told) != 1 || told[0].GetRound() != 3 {
			t.Errorf("told %v", told)
		}
		e.now = e.now.Add(time.Hour)
		if rounds := e.goOn(); len(rounds) != 0 {
			t.Errorf("announced %v", rounds)
		}
		e.answer(c, 3, all...)
		if rounds := e.goOn(); !slices.Equal(rounds, []int32{4}) {
			t.Errorf("announced %v", rounds)
		}
		e.answer(c, 4, all...)
		if e.goOn(); e.progress(c).GetCompletedAt() == nil {
			t.Error("not ended")
		}
	})
	t.Run("a repeat of one that is under way begins anew, and what was answered before does not count", func(t *testing.T) {
		e := openErasing(t)
		c := e.create("Ann").GetId()
		e.erase(c, false)
		e.publish()
		e.answer(c, 1, all[:2]...)
		e.erase(c, true)
		if told := e.publish(); len(told) != 1 || told[0].GetRound() != 2 {
			t.Errorf("told %v", told)
		}
		e.now = e.now.Add(time.Hour)
		e.answer(c, 1, all...)
		e.answer(c, 2, all[2:]...)
		if rounds := e.goOn(); len(rounds) != 0 {
			t.Errorf("announced %v by answers of before", rounds)
		}
		e.answer(c, 2, all[:2]...)
		e.goOn()
		e.answer(c, 3, all...)
		if e.goOn(); e.progress(c).GetCompletedAt() == nil {
			t.Error("not ended")
		}
	})
	t.Run("a round that a service has not answered for an hour is announced again, by nobody else's wish", func(t *testing.T) {
		e := openErasing(t)
		late, done := e.create("Ann").GetId(), e.create("Bea").GetId()
		e.erase(late, false)
		e.erase(done, false)
		e.publish()
		e.answer(late, 1, all[1:]...)
		e.answer(done, 1, all...)
		remind := func() (told []*customerv1.CustomerErased) {
			t.Helper()
			if err := e.job.remindOnce(t.Context()); err != nil {
				t.Fatal(err)
			}
			return e.publish()
		}
		e.now = e.now.Add(time.Hour - time.Second)
		if told := remind(); len(told) != 0 {
			t.Errorf("told %v too early", told)
		}
		e.now = e.now.Add(time.Second)
		if told := remind(); len(told) != 1 || told[0].GetRound() != 1 || told[0].GetCustomer().GetId() != late {
			t.Errorf("told %v", told)
		}
		e.answer(late, 1, all...)
		if told := remind(); len(told) != 0 {
			t.Errorf("told %v, who has answered", told)
		}
		if rounds := e.goOn(); !slices.Equal(rounds, []int32{2, 2}) {
			t.Errorf("announced %v", rounds)
		}
	})
	t.Run("a repeat that comes while the stream is read is not lost", func(t *testing.T) {
		e := openErasing(t)
		c := e.create("Ann").GetId()
		e.erase(c, false)
		e.publish()
		e.answer(c, 1, all...)
		e.now = e.now.Add(time.Hour)
		e.goOn()
		e.answer(c, 2, all...)
		read := e.job.remove
		e.job.remove = func(ctx context.Context, remove func(bus.Message) bool) (int, error) {
			e.erase(c, true)
			return read(ctx, remove)
		}
		e.goOn()
		if e.progress(c).GetCompletedAt() != nil {
			t.Error("the erasure that was begun anew is called complete")
		}
		e.job.remove = read
		for round := int32(3); round <= 4; round++ {
			e.answer(c, round, all...)
			e.now = e.now.Add(time.Hour)
			e.goOn()
		}
		if e.progress(c).GetCompletedAt() == nil {
			t.Error("not ended")
		}
	})
	t.Run("what is open, and for how long, is told until it is complete", func(t *testing.T) {
		e := openErasing(t)
		told := func(open, age float64) {
			t.Helper()
			got, err := e.job.readOpen(t.Context())
			if err != nil || !slices.Equal(got, []float64{open, age}) {
				t.Errorf("got %v, %v, want %v and %v", got, err, open, age)
			}
		}
		told(0, 0)
		c := e.create("Ann").GetId()
		e.erase(c, false)
		e.publish()
		e.now = e.now.Add(time.Hour)
		told(1, 3600)
		e.answer(c, 1, all...)
		e.goOn()
		told(1, 0) // the second round has just begun
		e.answer(c, 2, all...)
		e.goOn()
		told(0, 0)
		registry := prometheus.NewRegistry()
		if err := e.job.Collect(registry); err != nil {
			t.Fatal(err)
		}
		if families, err := registry.Gather(); err != nil || len(families) != 2 {
			t.Errorf("got %v, %v", families, err)
		}
	})
	t.Run("the list has all, by pages", func(t *testing.T) {
		e := openErasing(t)
		var want []string
		for range 5 {
			c := e.create("Ann").GetId()
			e.erase(c, false)
			want = append(want, c)
		}
		slices.Sort(want)
		var got []string
		for req := (&privacyv1.ListErasuresRequest{PageSize: 2}); ; {
			res, err := e.erasures.ListErasures(e.ctx(), req)
			if err != nil {
				t.Fatal(err)
			}
			for _, erasure := range res.GetErasures() {
				got = append(got, erasure.GetCustomerId())
			}
			if req.PageToken = res.GetNextPageToken(); req.PageToken == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		for _, req := range []*privacyv1.ListErasuresRequest{{PageSize: -1}, {PageSize: 1001}, {PageToken: "x"}} {
			if _, err := e.erasures.ListErasures(e.ctx(), req); !fault.Is(err, fault.Invalid) {
				t.Errorf("%v: got %v", req, err)
			}
		}
	})
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

func TestSubjects(t *testing.T) {
	if subjectErased != privacy.SubjectErased {
		t.Errorf("consumers listen to %s", privacy.SubjectErased)
	}
}
