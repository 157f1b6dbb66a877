package pass

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/bus"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/subjects"
	"reservation.dev/platform/tenancy"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

func TestCopyOfCompanies(t *testing.T) {
	w := open(t)
	b := testkit.Bus(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.server.companies.Follow(ctx, b, consumer) }()
	payload, err := proto.Marshal(&authv1.CompanyCreated{Company: &authv1.CompanySnapshot{
		Id: w.company.String(), Timezone: "Asia/Tokyo", Currency: "EUR", Version: 1,
	}})
	if err != nil {
		t.Fatal(err)
	}
	event := bus.Message{ID: id.NewUUID(), Company: w.company, Subject: subjects.CompanyCreated, Payload: payload, OccurredAt: time.Now()}
	if _, err := b.Publish(t.Context(), []bus.Message{event}); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, time.Minute, func() error {
		got, err := w.server.companies.Of(w.as(w.company))
		if err == nil && (got.Timezone != "Asia/Tokyo" || got.Currency != "EUR") {
			err = fmt.Errorf("the copy is %v", got)
		}
		return err
	})
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// signed returns the context of a caller whose token has this zone and version of the company.
func (w *world) signed(zone string, version int64, scopes ...string) context.Context {
	w.t.Helper()
	claims, err := w.issuer.Verifier.Verify(w.t.Context(), w.issuer.Sign(token.Claims{
		Company: w.company, Zone: zone, Currency: "GBP", CompanyVersion: version, Scopes: scopes,
	}))
	if err != nil {
		w.t.Fatal(err)
	}
	return rpc.WithClaims(w.t.Context(), claims)
}

func TestCompanyMoves(t *testing.T) {
	w := open(t)
	passType, customer := w.passType().GetId(), w.customer()
	now := time.Date(2026, 3, 28, 23, 30, 0, 0, time.UTC) // already the next day in Tokyo
	w.server.now = func() time.Time { return now }
	assign := func(t *testing.T, ctx context.Context) *passv1.CustomerPass {
		t.Helper()
		res, err := w.client.AssignCustomerPass(ctx, &passv1.AssignCustomerPassRequest{CustomerId: customer, PassTypeId: passType})
		if err != nil {
			t.Fatal(err)
		}
		read, err := w.client.GetCustomerPass(ctx, &passv1.GetCustomerPassRequest{Id: res.GetCustomerPass().GetId()})
		if err != nil || read.GetCustomerPass().GetStatus() != passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE {
			t.Errorf("read as %v, %v", read, err)
		}
		return res.GetCustomerPass()
	}
	before := w.signed("UTC", 1, "customer-passes:write", "customer-passes:read")
	if p := assign(t, before); p.GetStartDate() != "2026-03-28" {
		t.Fatalf("before: %v", p)
	}
	refresh := func(t *testing.T, zone string, version int64) {
		t.Helper()
		w.auth.moved = &tenancy.Company{ID: w.company, Timezone: zone, Currency: "EUR", Version: version}
		res, err := w.copies.RefreshCompany(w.signed("UTC", 1, "company:write"), &authv1.RefreshCompanyRequest{})
		if err != nil || res.GetVersion() != version {
			t.Fatalf("got %v, %v", res, err)
		}
	}
	refresh(t, "Asia/Tokyo", 3)
	t.Run("a token from before the move does not bring back the old zone", func(t *testing.T) {
		if p := assign(t, before); p.GetStartDate() != "2026-03-29" || p.GetExpiryDate() != "2026-04-29" {
			t.Errorf("got %v", p)
		}
	})
	t.Run("a token newer than the copy takes precedence, as after a restore", func(t *testing.T) {
		if p := assign(t, w.signed("UTC", 4, "customer-passes:write", "customer-passes:read")); p.GetStartDate() != "2026-03-28" {
			t.Errorf("got %v", p)
		}
	})
	t.Run("a repeated refresh changes nothing, and fails while auth is unavailable", func(t *testing.T) {
		refresh(t, "Asia/Tokyo", 3)
		w.auth.down = fault.Away(errors.New("auth is unavailable"))
		defer func() { w.auth.down = nil }()
		if _, err := w.copies.RefreshCompany(w.signed("UTC", 1, "company:write"), &authv1.RefreshCompanyRequest{}); !fault.Is(err, fault.Unavailable) {
			t.Errorf("got %v", err)
		}
	})
}

func TestPlatformCredentials(t *testing.T) {
	w := open(t)
	passType := w.passType().GetId()
	// A platform credential acts for the company in its metadata.
	source := token.NewSource(func(context.Context) (string, time.Time, error) {
		return w.issuer.Admin(), time.Now().Add(time.Hour), nil
	})
	assign := func() (*passv1.CustomerPass, error) {
		res, err := w.client.AssignCustomerPass(rpc.As(t.Context(), source, w.company), &passv1.AssignCustomerPassRequest{
			CustomerId: w.customer(), PassTypeId: passType,
		})
		return res.GetCustomerPass(), err
	}
	w.auth.down = errors.New("auth is unavailable")
	if _, err := assign(); !fault.Is(err, fault.Unavailable) {
		t.Fatalf("while auth is unavailable, a company that is not in the copy gives %v", err)
	}
	w.auth.down = nil
	if _, err := assign(); err != nil {
		t.Fatal(err)
	}
	w.auth.down = errors.New("auth is unavailable")
	if _, err := assign(); err != nil {
		t.Errorf("while auth is unavailable, a company in the copy gives %v", err)
	}
}
