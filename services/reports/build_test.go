package reports

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/subjects"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
)

func TestBuildWhileEventsArrive(t *testing.T) { // invariants 2, 3 and 6
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("business ", seed), func(t *testing.T) {
			w := open(t)
			b := newBusiness(w, seed)
			b.act(300)
			msgs := b.take()
			w.handle(msgs[:10]...)
			n := 0
			// Each message of a snapshot is preceded by changes, whose events arrive sooner or later.
			late := msgs[10:]
			w.sources.before = func() error {
				n++
				b.act(3)
				msgs := b.take()
				if n%3 == 0 {
					late = append(late, msgs...)
					return nil
				}
				return w.server.intake.handle(t.Context(), msgs)
			}
			w.build()
			w.sources.before = nil
			w.handle(shuffled(b.r, late)...)
			w.verify()
			w.compare(b)
			followed := w.sums(w.status().GetGeneration())
			w.rebuild()
			w.compare(b)
			sameSums(t, w.sums(w.status().GetGeneration()), followed)
		})
	}
}

func TestBuildContinuesAfterACrash(t *testing.T) { // invariant 11
	w := open(t)
	b := newBusiness(w, 9)
	b.act(250)
	w.handle(b.take()...)
	w.build()
	whole := w.sums(w.status().GetGeneration())
	for stop := 1; ; stop++ {
		if _, err := w.maintenance.RebuildReports(w.ctx(), &reportsv1.RebuildReportsRequest{}); err != nil {
			t.Fatal(err)
		}
		// The process ends after its commit number stop, and another one continues when the lease ends.
		crashed, commits := w.newServer(), 0
		crashed.builder.reached = func(step string) error {
			if commits++; commits == stop && step != lastStep {
				return errStopped
			}
			return nil
		}
		err := crashed.builder.buildOnce(t.Context())
		if err == nil {
			break
		}
		if !errors.Is(err, errStopped) {
			t.Fatal(err)
		}
		before := w.status()
		if !before.GetBuilding() || before.GetGeneration() == 0 {
			t.Fatalf("got %v", before)
		}
		w.build()
		if got := w.status(); got.GetGeneration() != before.GetGeneration() || got.GetRows() != before.GetRows() {
			t.Fatalf("another process continues before the lease has ended: %v", got)
		}
		w.clock.set(w.clock.Now().Add(2 * buildLease))
		w.build()
		got := w.status()
		if got.GetBuilding() || got.GetGeneration() != before.GetGeneration()+1 {
			t.Fatalf("got %v", got)
		}
		sameSums(t, w.sums(got.GetGeneration()), whole)
		w.clock.set(w.clock.Now().Add(2 * retiredKept))
		if err := w.server.builder.removeOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range generationTables {
		if n := w.count(`select count(distinct generation) from ` + table); n > 2 {
			t.Errorf("%s has rows of %d generations", table, n)
		}
	}
}

func TestRebuild(t *testing.T) {
	t.Run("repeated while it runs, is the same build", func(t *testing.T) { // invariant 11
		w := open(t)
		b := newBusiness(w, 3)
		w.handle(b.take()...)
		w.build()
		var started []time.Time
		for range 3 {
			res, err := w.maintenance.RebuildReports(w.ctx(), &reportsv1.RebuildReportsRequest{})
			if err != nil || !res.GetStatus().GetBuilding() || res.GetStatus().GetStep() != "events" {
				t.Fatalf("got %v, %v", res, err)
			}
			started = append(started, res.GetStatus().GetStartedAt().AsTime())
			w.clock.set(w.clock.Now().Add(time.Second))
		}
		if len(slices.Compact(started)) != 1 {
			t.Errorf("the builds started at %v", started)
		}
		w.build()
		if got := w.status(); got.GetGeneration() != 2 || got.GetBuiltAt() == nil {
			t.Errorf("got %v", got)
		}
	})
	t.Run("shows the present read models until the new ones are complete", func(t *testing.T) { // invariant 6
		w := open(t)
		b := newBusiness(w, 3)
		b.act(200)
		w.handle(b.take()...)
		w.build()
		commits := 0
		w.server.builder.reached = func(step string) error {
			if commits++; step != lastStep {
				w.compare(b)
			}
			return nil
		}
		w.rebuild()
		if commits < 10 {
			t.Errorf("%d commits", commits)
		}
		w.compare(b)
	})
	t.Run("says that reports are not complete before the first build has ended", func(t *testing.T) { // invariant 6
		w := open(t)
		b := newBusiness(w, 3)
		read := func() *reportsv1.Compared {
			t.Helper()
			res, err := w.client.GetTakings(w.ctx(), &reportsv1.GetTakingsRequest{})
			if err != nil {
				t.Fatal(err)
			}
			return res.GetCompared()
		}
		if got := read(); got.GetComplete() || got.GetAsOf() != nil {
			t.Errorf("got %v", got)
		}
		w.build() // the request has started it
		w.handle(b.take()...)
		if got := read(); !got.GetComplete() || !got.GetAsOf().AsTime().Equal(began) {
			t.Errorf("got %v", got)
		}
	})
	t.Run("keeps deletions, so that an earlier event that arrives later brings nothing back", func(t *testing.T) { // invariants 2 and 3
		w := open(t)
		b := quiet(w)
		c := &customerv1.CustomerSnapshot{Id: id.New[id.Customer]().String(), Version: 1, CreatedAt: timestamppb.New(began)}
		e := &bookingv1.Event{
			Id: id.New[id.Event]().String(), Version: 1, Title: "Vinyasa", Status: bookingv1.EventStatus_EVENT_STATUS_PUBLISHED,
			Dates: []*bookingv1.EventDate{{Id: id.New[id.EventDate]().String(), StartsAt: timestamppb.New(began), Timezone: w.zone, Capacity: proto.Int32(5)}},
		}
		b.publish(subjects.CustomerCreated, &customerv1.CustomerCreated{Customer: c})
		b.publish(subjects.EventCreated, &bookingv1.EventCreated{Event: e})
		created := b.take()
		deleted := proto.CloneOf(c)
		deleted.Version, deleted.DeletedAt = 2, timestamppb.New(began)
		b.publish(subjects.CustomerDeleted, &customerv1.CustomerDeleted{Customer: deleted})
		b.publish(subjectEventDeleted, &bookingv1.EventDeleted{EventId: e.Id, Version: 2})
		w.handle(b.take()...)
		for range 2 { // the next build has them from the one before
			w.rebuild()
		}
		w.handle(created...)
		for _, f := range w.verify().facts {
			if f.GetStatus() != "deleted" {
				t.Errorf("got %v", f)
			}
		}
		people, err := w.client.GetCustomers(w.ctx(), &reportsv1.GetCustomersRequest{})
		if err != nil || people.GetTotal().GetTotal() != 0 {
			t.Errorf("got %v, %v", people, err)
		}
		dates, err := w.client.GetAttendance(w.ctx(), &reportsv1.GetAttendanceRequest{})
		if err != nil || dates.GetTotal().GetDates() != 0 {
			t.Errorf("got %v, %v", dates, err)
		}
	})
	t.Run("tries again after a failure, and says why it failed", func(t *testing.T) {
		w := open(t)
		b := newBusiness(w, 3)
		w.handle(b.take()...)
		w.sources.before = func() error { return fault.Away(errors.New("restarting")) }
		if err := w.server.builder.buildOnce(t.Context()); err == nil {
			t.Error("the failure is not reported")
		}
		if got := w.status(); !got.GetBuilding() || got.GetFailure() == "" || got.GetGeneration() != 0 {
			t.Errorf("got %v", got)
		}
		w.sources.before = nil
		w.clock.set(w.clock.Now().Add(lastRetry))
		w.build()
		if got := w.status(); got.GetBuilding() || got.GetGeneration() != 1 {
			t.Errorf("got %v", got)
		}
	})
	t.Run("starts when the company's time zone changes, and counts customers by their new days", func(t *testing.T) {
		w := open(t)
		b := newBusiness(w, 3)
		w.handle(b.take()...)
		w.build()
		zoned := *b.w
		zoned.zone = "Pacific/Apia"
		b.w = &zoned
		b.publish(subjects.CompanyUpdated, &authv1.CompanyUpdated{Company: &authv1.CompanySnapshot{
			Id: w.company.String(), Timezone: "Pacific/Apia", Currency: "GBP", Version: 7,
		}})
		w.handle(b.take()...)
		w.build()
		if got := w.status(); got.GetGeneration() != 2 {
			t.Errorf("got %v", got)
		}
		zoned.compare(b)
		b.act(1)
		w.handle(b.take()...)
		if got := w.status(); got.GetBuilding() {
			t.Errorf("another build started: %v", got)
		}
	})
	t.Run("starts over after a reset of test data, whose events change nothing", func(t *testing.T) { // invariants 11 and 12
		w := open(t)
		w = w.of(w.company.Test())
		b := newBusiness(w, 3)
		b.act(100)
		msgs := b.take()
		w.handle(msgs...)
		crashed := w.newServer()
		crashed.builder.reached = func(step string) error {
			if step != "bookings" {
				return nil
			}
			w.deleteTestData()
			return nil
		}
		if err := crashed.builder.buildOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, table := range append(generationTables, "generations") {
			if n := w.count(`select count(*) from ` + table); n != 0 {
				t.Errorf("%d rows in %s", n, table)
			}
		}
		w.handle(msgs...)
		w.build()
		if got := w.status(); got.GetGeneration() != 2 {
			t.Errorf("got %v", got)
		}
		w.compare(b)
	})
}

func (w *world) deleteTestData() {
	w.t.Helper()
	if _, err := w.tests.DeleteTestData(w.ctx(), &authv1.DeleteTestDataRequest{}); err != nil {
		w.t.Error(err)
	}
}

func TestReplicas(t *testing.T) { // invariants 1, 2 and 7
	w := open(t)
	other := w.of(w.company.Test())
	businesses := []*business{newBusiness(w, 5), newBusiness(other, 6)}
	var msgs []bus.Message
	for _, b := range businesses {
		b.act(400)
		msgs = append(msgs, b.take()...)
	}
	msgs = shuffled(businesses[0].r, msgs)
	w.handle(msgs[:1]...)
	var all sync.WaitGroup
	for i := range 4 {
		s := w.newServer()
		all.Go(func() { // each handles every other message, and some that another one handles
			for at := i * 20; at < len(msgs); at += 50 {
				if err := s.intake.handle(t.Context(), msgs[at:min(at+40, len(msgs))]); err != nil {
					t.Error(err)
				}
			}
		})
		all.Go(func() {
			if err := s.builder.buildOnce(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	w.handle(msgs...)
	w.build()
	for i, v := range []*world{w, other} {
		v.verify()
		v.compare(businesses[i])
	}
}

func TestTenants(t *testing.T) { // invariant 7
	w := open(t)
	b := newBusiness(w, 8)
	b.act(200)
	w.handle(b.take()...)
	w.build()
	stranger := w.of(id.New[id.Company]())
	if _, err := stranger.client.GetTakings(stranger.ctx(), &reportsv1.GetTakingsRequest{}); err != nil {
		t.Fatal(err)
	}
	w.build()
	empty := &business{w: stranger, o: newOwned(), r: b.r}
	stranger.compare(empty)
	if v := stranger.verified(); len(v.facts) != 0 || v.checked != 0 {
		t.Errorf("got %v", v)
	}
	if got := stranger.status(); got.GetGeneration() != 1 || got.GetRows() != 0 {
		t.Errorf("got %v", got)
	}
	list, err := stranger.client.ListExpiringPasses(stranger.ctx(), &reportsv1.ListExpiringPassesRequest{Span: &reportsv1.Span{From: "2026-06-01", To: "2028-01-01"}})
	if err != nil || len(list.GetPasses()) != 0 {
		t.Errorf("got %v, %v", list, err)
	}
	w.compare(b)
}
