package tenancy_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/bus"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/subjects"
	"reservation.dev/platform/tenancy"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

func TestMain(m *testing.M) { testkit.Main(m) }

var schema = pg.Migrations{Part: "sample", FS: fstest.MapFS{
	"0001_companies.sql": {Data: []byte(`-- +goose Up
create table companies (company_id uuid primary key, name text not null default '', timezone text not null, unique_emails boolean not null default false,
	optional_emails boolean not null default false,
	clock_offset_seconds bigint not null default 0, version bigint not null);
select tenant_table('companies');
`)},
}}

// fakeAuth is an auth service that has one company, or is unavailable.
type fakeAuth struct {
	mu      sync.Mutex
	company tenancy.Company
	err     error
	calls   int
}

func (a *fakeAuth) Company(context.Context, id.Company) (tenancy.Company, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls++
	return a.company, a.err
}

type world struct {
	*tenancy.Companies
	claimable *tenancy.Companies // with columns that tokens contain
	db        *pg.DB
	auth      *fakeAuth
	company   id.Company
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	w := &world{db: testkit.DB(t, schema), auth: &fakeAuth{}, company: id.New[id.Company]()}
	w.Companies = tenancy.New(w.db, w.auth, tenancy.Timezone(), tenancy.UniqueEmails(), tenancy.OptionalEmails())
	w.claimable = tenancy.New(w.db, w.auth, tenancy.Timezone())
	return w
}

// at returns the company with a time zone and a version.
func (w *world) at(zone string, version int64) tenancy.Company {
	return tenancy.Company{ID: w.company, Timezone: zone, UniqueEmails: true, OptionalEmails: true, Version: version}
}

func (w *world) keep(t *testing.T, companies ...tenancy.Company) {
	t.Helper()
	err := w.db.InTx(t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error { return w.Keep(ctx, tx, companies) })
	if err != nil {
		t.Fatal(err)
	}
}

// kept returns the copy of the company, or the zero value if there is none.
func (w *world) kept(t *testing.T) tenancy.Company {
	t.Helper()
	var c tenancy.Company
	if err := w.db.Read(t.Context(), pg.For(w.company), w.Query(w.company, &c)); err != nil {
		t.Fatal(err)
	}
	return c
}

// signed returns the context of a caller whose token describes the company.
func (w *world) signed(t *testing.T, zone string, version int64) context.Context {
	return rpc.WithClaims(t.Context(), &token.Claims{Company: w.company, Zone: zone, Currency: "GBP", CompanyVersion: version})
}

// named returns the context of a platform credential that names the company.
func (w *world) named(t *testing.T) context.Context {
	return rpc.WithCompany(rpc.WithClaims(t.Context(), &token.Claims{}), w.company)
}

func TestKeep(t *testing.T) {
	w := newWorld(t)
	for _, batch := range [][]tenancy.Company{
		{w.at("Europe/Berlin", 3), w.at("Europe/Paris", 2)},
		{w.at("Europe/London", 1)},
		{w.at("Europe/London", 1), {ID: id.New[id.Company](), Timezone: "Asia/Tokyo", Version: 9}},
		{},
	} {
		w.keep(t, batch...)
	}
	if got := w.kept(t); got != w.at("Europe/Berlin", 3) {
		t.Errorf("the copy is %+v, not the newest state", got)
	}
}

func TestKeepOfAnEarlierRelease(t *testing.T) {
	w := newWorld(t)
	w.keep(t, w.at("Europe/Berlin", 3))
	err := w.db.InTx(t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, `update companies set optional_emails = false where company_id = $1`, w.company)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	old := w.at("Asia/Tokyo", 2)
	if w.keep(t, old); w.kept(t).OptionalEmails {
		t.Error("an older version changed the copy")
	}
	if w.keep(t, w.at("Europe/Berlin", 3)); w.kept(t) != w.at("Europe/Berlin", 3) {
		t.Errorf("the same version does not complete the copy: %+v", w.kept(t))
	}
}

func TestKept(t *testing.T) {
	w := newWorld(t)
	named := tenancy.New(w.db, w.auth, tenancy.Timezone(), tenancy.Name())
	must := func(c tenancy.Company, err error) tenancy.Company {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	withName := w.at("Europe/Berlin", 3)
	withName.Name = "Quiet Yoga"
	w.auth.company = withName

	t.Run("fetches a company that is not in the copy, once", func(t *testing.T) {
		for range 2 {
			if got := must(named.Kept(t.Context(), w.company)); got.Name != "Quiet Yoga" || got.Timezone != "Europe/Berlin" {
				t.Errorf("got %+v", got)
			}
		}
		if w.auth.calls != 1 {
			t.Errorf("%d calls", w.auth.calls)
		}
	})
	t.Run("a row of an earlier release gets its name from the same version", func(t *testing.T) {
		err := w.db.InTx(t.Context(), pg.For(w.company), func(ctx context.Context, tx *pg.Tx) error {
			_, err := tx.Exec(ctx, `update companies set name = '' where company_id = $1`, w.company)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := must(named.Kept(t.Context(), w.company)); got.Name != "" {
			t.Errorf("got %+v", got)
		}
		must(named.Fetch(t.Context(), w.company))
		if got := must(named.Kept(t.Context(), w.company)); got.Name != "Quiet Yoga" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("the name of the same version does not change otherwise", func(t *testing.T) {
		w.auth.company.Name = "Loud Yoga"
		must(named.Fetch(t.Context(), w.company))
		if got := must(named.Kept(t.Context(), w.company)); got.Name != "Quiet Yoga" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("a column of the name leaves the token enough", func(t *testing.T) {
		before := w.auth.calls
		if got := must(named.Claimed(w.signed(t, "Europe/Rome", 4))); got.Timezone != "Europe/Rome" || w.auth.calls != before {
			t.Errorf("got %+v", got)
		}
	})
}

func TestOf(t *testing.T) {
	t.Run("a newer token replaces only the facts that it contains", func(t *testing.T) {
		w := newWorld(t)
		w.keep(t, w.at("Asia/Tokyo", 3))
		for version, zone := range map[int64]string{2: "Asia/Tokyo", 3: "Asia/Tokyo", 4: "UTC"} {
			for name, read := range map[string]func(context.Context) (tenancy.Company, error){"Of": w.Of, "Claimed": w.Claimed} {
				if got, err := read(w.signed(t, "UTC", version)); err != nil || got.Timezone != zone || !got.UniqueEmails || !got.OptionalEmails {
					t.Errorf("%s with a token of version %d: %+v, %v", name, version, got, err)
				}
			}
		}
		if w.auth.calls > 0 {
			t.Error("auth was called")
		}
	})
	t.Run("a token with every fact needs no copy", func(t *testing.T) {
		w := newWorld(t)
		want := tenancy.Company{ID: w.company, Timezone: "UTC", Currency: "GBP", Version: 1}
		if got, err := w.claimable.Of(w.signed(t, "UTC", 1)); err != nil || got != want {
			t.Errorf("%+v, %v", got, err)
		}
		if got, err := w.claimable.Claimed(w.signed(t, "UTC", 1)); err != nil || got != want {
			t.Errorf("claimed: %+v, %v", got, err)
		}
		if w.auth.calls > 0 {
			t.Error("auth was called")
		}
	})
	t.Run("a fact that tokens do not contain is fetched if there is no copy", func(t *testing.T) {
		w := newWorld(t)
		w.auth.company = w.at("UTC", 1)
		if got, err := w.Claimed(w.signed(t, "UTC", 1)); err != nil || got != w.auth.company {
			t.Errorf("%+v, %v", got, err)
		}
	})
	t.Run("a platform credential must name a company", func(t *testing.T) {
		w := newWorld(t)
		if _, err := w.Of(rpc.WithClaims(t.Context(), &token.Claims{})); !fault.Is(err, fault.Invalid) {
			t.Errorf("%v", err)
		}
	})
	t.Run("a new company is fetched once and kept", func(t *testing.T) {
		w := newWorld(t)
		w.auth.err = fault.Away(errors.New("auth is away"))
		if _, err := w.Of(w.named(t)); !fault.Is(err, fault.Unavailable) {
			t.Fatalf("while auth is unavailable: %v", err)
		}
		w.auth.err, w.auth.company = nil, w.at("Asia/Tokyo", 1)
		for range 3 {
			if got, err := w.Claimed(w.named(t)); err != nil || got != w.auth.company {
				t.Errorf("%+v, %v", got, err)
			}
		}
		if w.auth.calls != 2 {
			t.Errorf("auth was called %d times", w.auth.calls)
		}
	})
	t.Run("the copy of another company is not used", func(t *testing.T) {
		w := newWorld(t)
		w.keep(t, w.at("Asia/Tokyo", 1))
		w.auth.err = fault.Missing("company")
		if got, err := w.Of(rpc.WithCompany(w.named(t), id.New[id.Company]())); !fault.Is(err, fault.NotFound) {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestRefreshCompany(t *testing.T) {
	w := newWorld(t)
	for range 2 {
		w.auth.company = w.at("Asia/Tokyo", 3)
		res, err := w.RefreshCompany(w.signed(t, "UTC", 1), &authv1.RefreshCompanyRequest{})
		if err != nil || res.GetVersion() != 3 || w.kept(t) != w.auth.company {
			t.Errorf("%v, %v, kept %+v", res, err, w.kept(t))
		}
	}
	w.auth.err = fault.Away(errors.New("auth is away"))
	if _, err := w.RefreshCompany(w.signed(t, "UTC", 1), &authv1.RefreshCompanyRequest{}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("while auth is unavailable: %v", err)
	}
}

func TestFollow(t *testing.T) {
	event := func(t *testing.T, w *world, subject, zone string, version int64) bus.Message {
		snapshot := &authv1.CompanySnapshot{Id: w.company.String(), Timezone: zone, Currency: "EUR", UniqueCustomerEmails: true, OptionalCustomerEmails: true, Version: version}
		var e proto.Message = &authv1.CompanyUpdated{Company: snapshot}
		if subject == subjects.CompanyCreated {
			e = &authv1.CompanyCreated{Company: snapshot}
		}
		payload, err := proto.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		return bus.Message{ID: id.NewUUID(), Company: w.company, Subject: subject, Payload: payload, OccurredAt: time.Now()}
	}
	t.Run("events reach the copy over the bus", func(t *testing.T) {
		w := newWorld(t)
		b := testkit.Bus(t)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.Follow(ctx, b, "sample-copies") }()
		created := event(t, w, subjects.CompanyCreated, "Europe/London", 1)
		updated := event(t, w, subjects.CompanyUpdated, "Asia/Tokyo", 2)
		if _, err := b.Publish(t.Context(), []bus.Message{updated, created}); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, time.Minute, func() error {
			if got := w.kept(t); got != w.at("Asia/Tokyo", 2) {
				return fmt.Errorf("the copy is %+v", got)
			}
			return nil
		})
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Run("an event that cannot be read is an error", func(t *testing.T) {
		w := newWorld(t)
		unreadable := event(t, w, subjects.CompanyUpdated, "UTC", 1)
		unreadable.Payload = []byte{0xff}
		other := event(t, w, "auth.v1.company_closed", "UTC", 1)
		nobody := event(t, &world{}, subjects.CompanyCreated, "UTC", 1)
		for _, m := range []bus.Message{unreadable, other, nobody} {
			if c, err := tenancy.FromEvent(m); err == nil {
				t.Errorf("%s became %+v", m.Subject, c)
			}
		}
	})
}
