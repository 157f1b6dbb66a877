package customer

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

func TestRounds(t *testing.T) { // invariant 11
	all := erasers()
	t.Run("begins the second round after all answers and the settling time, and ends with its answers", func(t *testing.T) {
		e := openErasing(t)
		c := e.create("Ann").GetId()
		e.erase(c, false)
		if told := e.publish(); len(told) != 1 || told[0].GetRound() != 1 {
			t.Fatalf("announced %v", told)
		}
		last := len(all) - 1
		e.answer(c, 1, all[:last]...)
		e.now = e.now.Add(time.Hour)
		if rounds := e.advance(); len(rounds) != 0 {
			t.Errorf("%v without the last service", rounds)
		}
		e.answer(c, 1, all[last])
		if rounds := e.advance(); !slices.Equal(rounds, []int32{2}) {
			t.Errorf("announced %v", rounds)
		}
		if rounds := e.advance(); len(rounds) != 0 || len(e.removed) != 0 {
			t.Errorf("announced %v again", rounds)
		}
		e.answer(c, 2, all...)
		e.stream = append(e.stream,
			bus.Message{Company: e.company, Subject: "booking.v1.booking_confirmed", Payload: []byte("\x0a" + c)},
			bus.Message{Company: id.New[id.Company](), Subject: "booking.v1.booking_confirmed", Payload: []byte("\x0a" + c)},
			bus.Message{Company: e.company, Subject: "booking.v1.booking_confirmed", Payload: []byte("\x0acust_01jb4x9m3vf6ksn8w2d7pq5r0t")},
			bus.Message{Company: e.company, Subject: "pass" + dataErased, Payload: []byte("\x0a" + c)})
		e.advance()
		if p := e.progress(c); p.GetCompletedAt() == nil || p.GetEventsRemovedAt() == nil || p.GetServices()[0].GetConfirmedAt() == nil {
			t.Errorf("got %v", p)
		}
		if want := []string{subjectCreated, "booking.v1.booking_confirmed"}; !slices.Equal(e.removed, want) {
			t.Errorf("removed %v, want %v", e.removed, want)
		}
	})
	t.Run("does not begin the second round before the settling time has passed", func(t *testing.T) {
		e := openErasing(t)
		c := e.create("Ann").GetId()
		e.erase(c, false)
		e.publish()
		e.answer(c, 1, all...)
		e.now = e.now.Add(2*time.Minute - time.Second)
		if rounds := e.advance(); len(rounds) != 0 {
			t.Errorf("announced %v", rounds)
		}
		e.now = e.now.Add(2 * time.Second)
		if rounds := e.advance(); len(rounds) != 1 {
			t.Errorf("announced %v", rounds)
		}
	})
	t.Run("does not end while an event waits in the outbox or the stream is unavailable", func(t *testing.T) {
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
		if e.advance(); e.progress(c).GetCompletedAt() == nil {
			t.Error("not ended")
		}
	})
}

func TestRepeatedErasure(t *testing.T) { // invariant 11
	all := erasers()
	t.Run("begins two more rounds, for which old answers do not count", func(t *testing.T) {
		e := openErasing(t)
		c := e.create("Ann").GetId()
		e.erase(c, false)
		e.publish()
		for round := int32(1); round <= 2; round++ {
			e.answer(c, round, all...)
			e.now = e.now.Add(time.Hour)
			e.advance()
		}
		if p := e.erase(c, true); p.GetCompletedAt() != nil || p.GetServices()[0].GetErasedAt() != nil || p.GetServices()[0].GetConfirmedAt() != nil {
			t.Errorf("got %v", p)
		}
		if told := e.publish(); len(told) != 1 || told[0].GetRound() != 3 {
			t.Errorf("announced %v", told)
		}
		e.now = e.now.Add(time.Hour)
		if rounds := e.advance(); len(rounds) != 0 {
			t.Errorf("announced %v", rounds)
		}
		e.answer(c, 3, all...)
		if rounds := e.advance(); !slices.Equal(rounds, []int32{4}) {
			t.Errorf("announced %v", rounds)
		}
		e.answer(c, 4, all...)
		if e.advance(); e.progress(c).GetCompletedAt() == nil {
			t.Error("not ended")
		}
	})
	t.Run("restarts an erasure that is under way, and ignores earlier answers", func(t *testing.T) {
		e := openErasing(t)
		c := e.create("Ann").GetId()
		e.erase(c, false)
		e.publish()
		e.answer(c, 1, all[:2]...)
		e.erase(c, true)
		if told := e.publish(); len(told) != 1 || told[0].GetRound() != 2 {
			t.Errorf("announced %v", told)
		}
		e.now = e.now.Add(time.Hour)
		e.answer(c, 1, all...)
		e.answer(c, 2, all[2:]...)
		if rounds := e.advance(); len(rounds) != 0 {
			t.Errorf("announced %v after old answers", rounds)
		}
		e.answer(c, 2, all[:2]...)
		e.advance()
		e.answer(c, 3, all...)
		if e.advance(); e.progress(c).GetCompletedAt() == nil {
			t.Error("not ended")
		}
	})
	t.Run("a round that is unanswered for an hour is announced again automatically", func(t *testing.T) {
		e := openErasing(t)
		late, done := e.create("Ann").GetId(), e.create("Bea").GetId()
		e.erase(late, false)
		e.erase(done, false)
		e.publish()
		e.answer(late, 1, all[1:]...)
		e.answer(done, 1, all...)
		remind := func() (announced []*customerv1.CustomerErased) {
			t.Helper()
			if err := e.job.remindOnce(t.Context()); err != nil {
				t.Fatal(err)
			}
			return e.publish()
		}
		e.now = e.now.Add(time.Hour - time.Second)
		if told := remind(); len(told) != 0 {
			t.Errorf("announced %v too early", told)
		}
		e.now = e.now.Add(time.Second)
		if told := remind(); len(told) != 1 || told[0].GetRound() != 1 || told[0].GetCustomer().GetId() != late {
			t.Errorf("announced %v", told)
		}
		e.answer(late, 1, all...)
		if told := remind(); len(told) != 0 {
			t.Errorf("announced %v although it was answered", told)
		}
		if rounds := e.advance(); !slices.Equal(rounds, []int32{2, 2}) {
			t.Errorf("announced %v", rounds)
		}
	})
	t.Run("a repetition that arrives while the stream is read is not lost", func(t *testing.T) {
		e := openErasing(t)
		c := e.create("Ann").GetId()
		e.erase(c, false)
		e.publish()
		e.answer(c, 1, all...)
		e.now = e.now.Add(time.Hour)
		e.advance()
		e.answer(c, 2, all...)
		read := e.job.remove
		e.job.remove = func(ctx context.Context, remove func(bus.Message) bool) (int, error) {
			e.erase(c, true)
			return read(ctx, remove)
		}
		e.advance()
		if e.progress(c).GetCompletedAt() != nil {
			t.Error("the restarted erasure is marked as complete")
		}
		e.job.remove = read
		for round := int32(3); round <= 4; round++ {
			e.answer(c, round, all...)
			e.now = e.now.Add(time.Hour)
			e.advance()
		}
		if e.progress(c).GetCompletedAt() == nil {
			t.Error("not ended")
		}
	})
}

// While test data are deleted, a client can erase a customer after the erasures were deleted and before
// the customers are. The erasure is then stored without its customer.
func TestErasureWithoutCustomer(t *testing.T) { // invariant 11
	for name, c := range map[string]struct {
		answered []string // services
		run      func(*ErasureJobs, context.Context) error
		round    int32
	}{
		"is deleted, and does not stop the next round of others":             {erasers(), (*ErasureJobs).runOnce, 2},
		"is deleted, and does not stop the repeated announcements of others": {erasers()[1:], (*ErasureJobs).remindOnce, 1},
	} {
		t.Run(name, func(t *testing.T) {
			live := openErasing(t)
			test := *live
			test.world = live.of(live.company.Test())
			customers := map[*erasing]string{}
			for _, e := range []*erasing{&test, live, &test} { // from the oldest announcement to the latest
				live.now = live.now.Add(time.Second)
				test.now = live.now
				customers[e] = e.create("Ann").GetId()
				e.erase(customers[e], false)
				e.answer(customers[e], 1, c.answered...)
			}
			live.publish()
			live.sql(`delete from customers where company_id = $1`, test.company)
			live.now = live.now.Add(time.Hour)
			if err := c.run(live.job, t.Context()); err != nil {
				t.Error(err)
			}
			if told := live.publish(); len(told) != 1 || told[0].GetRound() != c.round || told[0].GetCustomer().GetId() != customers[live] {
				t.Errorf("announced %v, want round %d of %s", told, c.round, customers[live])
			}
			left, err := pg.One[int64](t.Context(), live.db, pg.AllCompanies(), `select count(*) from customer_erasures where company_id = $1`, test.company)
			if err != nil || left > 0 {
				t.Errorf("%d erasures without a customer, %v", left, err)
			}
		})
	}
}

func TestErasureReports(t *testing.T) {
	all := erasers()
	t.Run("report open erasures and their age until they are complete", func(t *testing.T) {
		e := openErasing(t)
		reported := func(open, age float64) {
			t.Helper()
			got, err := e.job.readOpen(t.Context())
			if err != nil || !slices.Equal(got, []float64{open, age}) {
				t.Errorf("got %v, %v, want %v and %v", got, err, open, age)
			}
		}
		reported(0, 0)
		c := e.create("Ann").GetId()
		e.erase(c, false)
		e.publish()
		e.now = e.now.Add(time.Hour)
		reported(1, 3600)
		e.answer(c, 1, all...)
		e.advance()
		reported(1, 0) // the second round has just begun
		e.answer(c, 2, all...)
		e.advance()
		reported(0, 0)
		registry := prometheus.NewRegistry()
		if err := e.job.Collect(registry); err != nil {
			t.Fatal(err)
		}
		if families, err := registry.Gather(); err != nil || len(families) != 2 {
			t.Errorf("got %v, %v", families, err)
		}
	})
	t.Run("list all erasures in pages", func(t *testing.T) {
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
