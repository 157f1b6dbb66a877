package auth

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// testMode returns a client of TestModeService.
func (r *replica) testMode() authv1.TestModeServiceClient {
	return authv1.NewTestModeServiceClient(r.conn)
}

// testCompany returns the company in test mode of a company.
func (r *replica) testCompany(live string) *authv1.Company {
	r.t.Helper()
	res, err := r.testMode().EnableTestMode(r.as(live), &authv1.EnableTestModeRequest{})
	if err != nil {
		r.t.Fatal(err)
	}
	return res.GetCompany()
}

// read returns a company.
func (r *replica) read(company string) *authv1.Company {
	r.t.Helper()
	res, err := r.companies.GetCompany(r.as(company), &authv1.GetCompanyRequest{})
	if err != nil {
		r.t.Fatal(err)
	}
	return res.GetCompany()
}

func (r *replica) rename(company, name string) error {
	_, err := r.companies.UpdateCompany(r.as(company), &authv1.UpdateCompanyRequest{Name: &name})
	return err
}

func TestEnableTestMode(t *testing.T) {
	t.Parallel()
	r := newWorld(t).start()
	t.Run("a company has one company in test mode, however often and by whom it is enabled", func(t *testing.T) {
		live := r.company()
		var group sync.WaitGroup
		for range 16 {
			group.Go(func() {
				res, err := r.testMode().EnableTestMode(r.as(live), &authv1.EnableTestModeRequest{})
				if err != nil || res.GetCompany().GetId() != testID(t, live) {
					t.Errorf("got %v, %v", res, err)
				}
			})
		}
		group.Wait()
		test := r.testCompany(live)
		if again := r.testCompany(test.GetId()); again.String() != test.String() {
			t.Errorf("by the test mode itself: %v, not %v", again, test)
		}
		if test.GetVersion() != 1 || test.GetName() != "Studio" || test.GetTimezone() != "Europe/London" || test.GetCurrency() != "GBP" {
			t.Errorf("got %v", test)
		}
		if got := spelled(r.entries(test.GetId(), &authv1.ListAuditEntriesRequest{})); len(got) != 1 || !strings.HasPrefix(got[0], "company.create ") {
			t.Errorf("the audit log has %q", got)
		}
	})
	t.Run("a live company's entry in the audit log does not mention a clock", func(t *testing.T) {
		live := r.company()
		for _, line := range spelled(r.entries(live, &authv1.ListAuditEntriesRequest{})) {
			if strings.Contains(line, "clock") {
				t.Error(line)
			}
		}
	})
	t.Run("the dashboard enables it too, on behalf of the administrator", func(t *testing.T) {
		live := r.company()
		ada := r.administrator(live, owner)
		ada.testAccess()
		test := r.testCompany(live)
		entries := r.entries(test.GetId(), &authv1.ListAuditEntriesRequest{})
		if len(entries) != 1 || entries[0].GetActor() != ada.id {
			t.Errorf("got %v, want an entry by %s", entries, ada.id)
		}
	})
	t.Run("a list of companies has only companies in live mode", func(t *testing.T) {
		live := r.company()
		r.testCompany(live)
		found := false
		for token := ""; ; {
			res, err := r.companies.ListCompanies(r.as(""), &authv1.ListCompaniesRequest{PageToken: token})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range res.GetCompanies() {
				found = found || c.GetId() == live
				if strings.Contains(c.GetId(), "test") {
					t.Errorf("got %s", c.GetId())
				}
			}
			if token = res.GetNextPageToken(); token == "" {
				break
			}
		}
		if !found {
			t.Error("the company is missing")
		}
	})
	t.Run("a company that does not exist has no test mode", func(t *testing.T) {
		for _, company := range []id.Company{id.New[id.Company](), id.New[id.Company]().Test()} {
			if _, err := r.testMode().EnableTestMode(r.as(company.String()), &authv1.EnableTestModeRequest{}); !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: got %v", company, err)
			}
		}
	})
}

// testID returns the identifier of the company in test mode of a company.
func testID(t *testing.T, live string) string {
	t.Helper()
	company, err := id.Parse[id.Company](live)
	if err != nil {
		t.Fatal(err)
	}
	return company.Test().String()
}

// testAccess returns a new access token for the test mode.
func (p *person) testAccess() string {
	p.t.Helper()
	res, err := p.admins.Authenticate(p.t.Context(), &authv1.AuthenticateRequest{SessionToken: p.session, TestMode: true})
	if err != nil {
		p.t.Fatal(err)
	}
	return res.GetIdentity().GetAccessToken()
}

func TestTheTestModeFollows(t *testing.T) {
	t.Parallel()
	r := newWorld(t).start()
	t.Run("an update of the company in live mode", func(t *testing.T) {
		live := r.company()
		test := r.testCompany(live).GetId()
		req := &authv1.UpdateCompanyRequest{Name: ptr("Atelier"), Timezone: ptr("Europe/Paris"), Currency: ptr("EUR"), UniqueCustomerEmails: ptr(true), OptionalCustomerEmails: ptr(true)}
		if _, err := r.companies.UpdateCompany(r.as(live), req); err != nil {
			t.Fatal(err)
		}
		if got := r.read(test); got.GetName() != "Atelier" || got.GetTimezone() != "Europe/Paris" || got.GetCurrency() != "EUR" || !got.GetUniqueCustomerEmails() ||
			!got.GetOptionalCustomerEmails() || got.GetVersion() != 2 {
			t.Errorf("got %v", got)
		}
	})
	t.Run("concurrent updates, and one while the test mode is enabled", func(t *testing.T) {
		live := r.company()
		var group sync.WaitGroup
		for i := range 24 {
			group.Go(func() {
				if i%3 == 0 {
					if _, err := r.testMode().EnableTestMode(r.as(live), &authv1.EnableTestModeRequest{}); err != nil {
						t.Error(err)
					}
					return
				}
				if err := r.rename(live, "Studio "+strings.Repeat("I", i)); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		test := r.read(testID(t, live))
		if want := r.read(live); test.GetName() != want.GetName() {
			t.Errorf("the test mode has %q, the company %q", test.GetName(), want.GetName())
		}
	})
	t.Run("an update of which it was not yet told, when the request is repeated or the test mode is enabled again", func(t *testing.T) {
		ctx := t.Context()
		for name, repair := range map[string]func(live, session string) error{
			"a repeated request": func(live, _ string) error { return r.rename(live, "Riverside") },
			"EnableTestMode": func(live, _ string) error {
				_, err := r.testMode().EnableTestMode(r.as(live), &authv1.EnableTestModeRequest{})
				return err
			},
			"Authenticate": func(_, session string) error {
				_, err := r.admins.Authenticate(ctx, &authv1.AuthenticateRequest{SessionToken: session, TestMode: true})
				return err
			},
		} {
			live := r.company()
			test, ada := r.testCompany(live).GetId(), r.administrator(live, owner)
			r.updateOnly(live, "Riverside")
			if got := r.read(test); got.GetName() != "Studio" {
				t.Fatalf("got %v", got)
			}
			if err := repair(live, ada.session); err != nil {
				t.Fatal(err)
			}
			if got := r.read(test); got.GetName() != "Riverside" || got.GetVersion() != 2 {
				t.Errorf("after %s: got %v", name, got)
			}
		}
	})
	t.Run("no update of older settings, and keeps its clock", func(t *testing.T) {
		live := r.company()
		test := r.testCompany(live).GetId()
		r.mustAdvance(test, time.Now().Add(time.Hour))
		if err := r.rename(live, "Riverside"); err != nil {
			t.Fatal(err)
		}
		before := r.read(test)
		if before.GetName() != "Riverside" || before.GetClockOffsetSeconds() == 0 {
			t.Errorf("got %v", before)
		}
		older := Company{Name: "Old", Version: 1}
		c := Company{Name: "New", LiveVersion: 1}
		if c.follow(older, time.Now()) || c.Name != "New" {
			t.Errorf("got %v", c)
		}
		if err := r.rename(live, "Riverside"); err != nil {
			t.Fatal(err)
		}
		if after := r.read(test); after.String() != before.String() {
			t.Errorf("an update that changed nothing changed %v to %v", before, after)
		}
	})
}

// updateOnly renames a company in live mode, as a process does that ends right after its commit.
func (r *replica) updateOnly(live, name string) {
	r.t.Helper()
	company, err := id.Parse[id.Company](live)
	if err != nil {
		r.t.Fatal(err)
	}
	err = r.server.store.Write(r.t.Context(), company, func(ctx context.Context, tx *pg.Tx) error {
		c, err := r.server.store.lockCompany(ctx, tx, company)
		if err != nil {
			return err
		}
		c.Name, c.Version = name, c.Version+1
		return r.server.store.updateCompany(ctx, tx, c)
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

func TestWhatExistsInOneModeOnly(t *testing.T) {
	t.Parallel()
	r := newWorld(t).start()
	live := r.company()
	test, boss := r.testCompany(live).GetId(), r.administrator(live, owner)
	inTest := with(t.Context(), boss.testAccess())
	for name, call := range map[string]func(ctx context.Context) error{
		"UpdateCompany": func(ctx context.Context) error {
			_, err := r.companies.UpdateCompany(ctx, &authv1.UpdateCompanyRequest{Name: ptr("x")})
			return err
		},
		"InviteAdministrator": func(ctx context.Context) error {
			_, err := r.admins.InviteAdministrator(ctx, &authv1.InviteAdministratorRequest{Email: email(), Role: manager})
			return err
		},
	} {
		for credential, ctx := range map[string]context.Context{"a platform credential": r.as(test), "an owner": inTest} {
			if err := call(ctx); reason(err) != ReasonTestMode {
				t.Errorf("%s in test mode by %s: %v", name, credential, err)
			}
		}
	}
	_, err := r.admins.CreateAdministrator(r.as(test), &authv1.CreateAdministratorRequest{Email: email(), Name: "Ben", Password: goodPassword, Role: owner})
	if reason(err) != ReasonTestMode {
		t.Errorf("CreateAdministrator in test mode: %v", err)
	}
	for name, call := range map[string]func(ctx context.Context) error{
		"GetTestClock": func(ctx context.Context) error {
			_, err := r.testMode().GetTestClock(ctx, &authv1.GetTestClockRequest{})
			return err
		},
		"AdvanceTestClock": func(ctx context.Context) error { _, err := r.advance(ctx, time.Now().Add(time.Hour)); return err },
		"ResetTestData":    func(ctx context.Context) error { _, err := r.reset(ctx); return err },
	} {
		for credential, ctx := range map[string]context.Context{"a platform credential": r.as(live), "an owner": boss.ctx()} {
			if err := call(ctx); reason(err) != fault.ReasonLiveMode {
				t.Errorf("%s in live mode by %s: %v", name, credential, err)
			}
		}
	}
}

func (r *replica) advance(ctx context.Context, to time.Time) (*authv1.TestClock, error) {
	res, err := r.testMode().AdvanceTestClock(ctx, &authv1.AdvanceTestClockRequest{To: timestamppb.New(to)})
	return res.GetClock(), err
}

func (r *replica) mustAdvance(company string, to time.Time) *authv1.TestClock {
	r.t.Helper()
	clock, err := r.advance(r.as(company), to)
	if err != nil {
		r.t.Fatal(err)
	}
	return clock
}

func TestAdvanceTestClock(t *testing.T) {
	t.Parallel()
	r := newWorld(t).start()
	now := time.Now().UTC().Truncate(time.Second).Add(400 * time.Millisecond)
	r.server.now = func() time.Time { return now }
	test := r.testCompany(r.company()).GetId()
	for _, step := range []struct {
		name   string
		to     time.Time
		rule   string
		offset int64
	}{
		{"to no time", time.Time{}, "required", 0},
		{"to the present", now, "", 0},
		{"into the past", now.Add(-time.Microsecond), "range", 0},
		{"by a microsecond", now.Add(time.Microsecond), "", 1},
		{"to the time that it shows", now.Add(time.Second), "", 1},
		{"to less than it shows", now.Add(time.Second - time.Microsecond), "range", 1},
		{"by half a second more", now.Add(1500 * time.Millisecond), "", 2},
		{"by a day", now.Add(24 * time.Hour), "", 86400},
		{"back to the present", now, "range", 86400},
		{"beyond 5 years", now.AddDate(5, 0, 0).Add(time.Microsecond), "range", 86400},
		{"to 5 years", now.AddDate(5, 0, 0), "", int64(now.AddDate(5, 0, 0).Sub(now) / time.Second)},
		{"to the year 10000", time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), "range", int64(now.AddDate(5, 0, 0).Sub(now) / time.Second)},
	} {
		clock, err := r.advance(r.as(test), step.to)
		if f := fault.From(err); step.rule == "" && err != nil || step.rule != "" && (err == nil || len(f.Fields) != 1 || f.Fields[0].Field != "to" || f.Fields[0].Rule != step.rule) {
			t.Errorf("%s: got %v", step.name, err)
		}
		read, rerr := r.testMode().GetTestClock(r.as(test), &authv1.GetTestClockRequest{})
		if rerr != nil || read.GetClock().GetOffsetSeconds() != step.offset || !read.GetClock().GetNow().AsTime().Equal(now.Add(time.Duration(step.offset)*time.Second)) {
			t.Errorf("%s: the clock is %v, %v", step.name, read, rerr)
		}
		if err == nil && clock.String() != read.GetClock().String() {
			t.Errorf("%s: the response is %v, the clock %v", step.name, clock, read)
		}
	}
	if _, err := r.testMode().AdvanceTestClock(r.as(test), &authv1.AdvanceTestClockRequest{}); !fault.Is(err, fault.Invalid) {
		t.Errorf("without a time: got %v", err)
	}
	lines := spelled(r.entries(test, &authv1.ListAuditEntriesRequest{Action: "test_clock.advance"}))
	if !slices.Contains(lines, "test_clock.advance clock_offset_seconds: 2 → 86400") {
		t.Errorf("the audit log has %q", lines)
	}
}

func TestAdvanceTestClockReachesEveryCopy(t *testing.T) {
	t.Parallel()
	r := newWorld(t).start()
	test := r.testCompany(r.company()).GetId()
	away, works := &fakeCopies{calls: make(chan id.Company, 10)}, &fakeCopies{calls: make(chan id.Company, 10)}
	r.server.companyCopies = companyCopies{works, away}
	away.fails(fault.Status(fault.Away(errors.New("booking is unavailable"))).Err())
	ctx, to := rpc.WithIdempotencyKey(r.as(test), "advance"), time.Now().Add(time.Hour)
	if _, err := r.advance(ctx, to); !fault.Is(err, fault.Unavailable) {
		t.Fatalf("got %v", err)
	}
	if got := r.read(test).GetClockOffsetSeconds(); got < 3000 || got > 3601 {
		t.Errorf("the clock is %d s ahead", got)
	}
	away.fails(nil)
	version := r.read(test).GetVersion()
	for range 2 {
		if _, err := r.advance(ctx, to); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.advance(ctx, to.Add(time.Hour)); reason(err) != fault.ReasonIdempotencyKeyReused {
		t.Errorf("another time with the key: %v", err)
	}
	if got := r.read(test).GetVersion(); got != version || len(works.calls) != 3 || len(away.calls) != 3 {
		t.Errorf("version %d after %d; %d and %d refreshes", got, version, len(works.calls), len(away.calls))
	}
	for range 3 {
		if got := <-away.calls; got.String() != test {
			t.Errorf("the copy of %s was refreshed", got)
		}
	}
}

// fakeTestData is a service that stores rows of test data.
type fakeTestData struct {
	name string
	log  *[]string // the names of the services in the order of the calls
	rows int64
	err  error
}

func (f *fakeTestData) DeleteTestData(ctx context.Context, _ *authv1.DeleteTestDataRequest, _ ...grpc.CallOption) (*authv1.DeleteTestDataResponse, error) {
	*f.log = append(*f.log, f.name+" "+rpc.Company(ctx).String())
	if f.err != nil {
		return nil, f.err
	}
	deleted := f.rows
	f.rows = 0
	return &authv1.DeleteTestDataResponse{Deleted: deleted}, nil
}

func (r *replica) reset(ctx context.Context) (*authv1.ResetTestDataResponse, error) {
	return r.testMode().ResetTestData(ctx, &authv1.ResetTestDataRequest{})
}

func TestResetTestData(t *testing.T) {
	t.Parallel()
	r := newWorld(t).start()
	test := r.testCompany(r.company()).GetId()
	clientID, secret := r.client(test)
	var log []string
	first, second := &fakeTestData{name: "first", log: &log, rows: 3}, &fakeTestData{name: "second", log: &log, rows: 4}
	copies := &fakeCopies{calls: make(chan id.Company, 10)}
	r.server.testData, r.server.companyCopies = testData{first, second}, companyCopies{copies}
	r.mustAdvance(test, time.Now().Add(time.Hour))
	ctx := rpc.WithIdempotencyKey(r.as(test), "reset")

	second.err = fault.Status(fault.Away(errors.New("second is unavailable"))).Err()
	if _, err := r.reset(ctx); !fault.Is(err, fault.Unavailable) {
		t.Fatalf("got %v", err)
	}
	if got := r.read(test); got.GetClockOffsetSeconds() == 0 || first.rows != 0 || second.rows != 4 {
		t.Errorf("while a service is unavailable: %v, %d and %d rows", got, first.rows, second.rows)
	}
	second.err = nil
	done, err := r.reset(ctx)
	if err != nil || done.GetDeleted() != 4 || done.GetClock().GetOffsetSeconds() != 0 {
		t.Errorf("got %v, %v", done, err)
	}
	if got := r.read(test); got.GetClockOffsetSeconds() != 0 {
		t.Errorf("got %v", got)
	}
	first.rows = 5
	if again, err := r.reset(ctx); err != nil || again.String() != done.String() || first.rows != 5 {
		t.Errorf("repeated: %v, %v, %d rows are left", again, err, first.rows)
	}
	if again, err := r.reset(r.as(test)); err != nil || again.GetDeleted() != 5 {
		t.Errorf("another reset: %v, %v", again, err)
	}
	if want := []string{"first " + test, "second " + test}; !slices.Equal(log, slices.Repeat(want, 5)) {
		t.Errorf("the calls were %q", log)
	}
	if lines := spelled(r.entries(test, &authv1.ListAuditEntriesRequest{Action: "test_data.reset"})); len(lines) != 2 || !strings.HasSuffix(lines[1], " → 0") {
		t.Errorf("the audit log has %q", lines)
	}
	r.token(clientID, secret) // credentials remain
}

// awaited counts the waits for events. The first adds rows, as the handler of an event does.
type awaited struct {
	waits int
	add   func()
}

func (a *awaited) AwaitHandled(context.Context) error {
	if a.waits++; a.waits == 1 {
		a.add()
	}
	return nil
}

func TestResetFindsWhatIsAddedMeanwhile(t *testing.T) {
	t.Parallel()
	r := newWorld(t).start()
	test := r.testCompany(r.company()).GetId()
	var log []string
	service := &fakeTestData{log: &log, rows: 3}
	events := &awaited{add: func() { service.rows = 2 }}
	r.server.testData, r.server.companyCopies, r.server.events = testData{service}, nil, events
	if done, err := r.reset(r.as(test)); err != nil || done.GetDeleted() != 5 || events.waits != 2 || len(log) != 3 {
		t.Errorf("%v, %v, %d waits, %q", done, err, events.waits, log)
	}
	t.Run("and refuses while more is added", func(t *testing.T) {
		service.err = fault.Status(errTestDataAdded).Err()
		before := r.read(test)
		if _, err := r.reset(r.as(test)); !fault.Is(err, fault.Conflict) || reason(err) != fault.ReasonIdempotencyInProgress {
			t.Errorf("got %v", err)
		}
		if after := r.read(test); after.String() != before.String() {
			t.Errorf("the company changed from %v to %v", before, after)
		}
	})
	t.Run("and reports an error that does not pass", func(t *testing.T) {
		service.err = status.Error(codes.Internal, "internal error")
		if _, err := r.reset(r.as(test)); !fault.Is(err, fault.Internal) {
			t.Errorf("got %v", err)
		}
	})
}

func TestOnlyOwnersEnableTestMode(t *testing.T) {
	t.Parallel()
	r := newWorld(t).start()
	live := r.company()
	boss, help := r.administrator(live, owner), r.administrator(live, manager)
	enter := func(p *person) error {
		_, err := p.admins.Authenticate(t.Context(), &authv1.AuthenticateRequest{SessionToken: p.session, TestMode: true})
		return err
	}
	if err := enter(help); reason(err) != ReasonTestMode {
		t.Errorf("staff enabled test mode: %v", err)
	}
	if err := enter(boss); err != nil {
		t.Error(err)
	}
	if err := enter(help); err != nil {
		t.Errorf("staff cannot enter test mode: %v", err)
	}
}
