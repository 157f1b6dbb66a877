package auth

import (
	"context"
	"errors"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/money"
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// fakeCopies is a service that keeps a copy of companies.
type fakeCopies struct {
	mu    sync.Mutex
	err   error
	calls chan id.Company
}

func (f *fakeCopies) fails(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *fakeCopies) RefreshCompany(ctx context.Context, _ *authv1.RefreshCompanyRequest, _ ...grpc.CallOption) (*authv1.RefreshCompanyResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls <- rpc.Company(ctx)
	return &authv1.RefreshCompanyResponse{}, f.err
}

func TestCompanies(t *testing.T) {
	t.Parallel()
	r := newWorld(t).start()
	t.Run("a company can have every currency", func(t *testing.T) {
		for _, currency := range money.Currencies() {
			made, err := r.companies.CreateCompany(r.as(""), &authv1.CreateCompanyRequest{Name: "x", Timezone: "UTC", Currency: currency})
			if err != nil || made.GetCompany().GetCurrency() != currency {
				t.Errorf("%s: got %v, %v", currency, made, err)
			}
		}
	})
	t.Run("a rejected company is reported with every invalid field", func(t *testing.T) {
		for tz, bad := range map[string]bool{"Europe/London": false, "UTC": false, "": true, "Local": true, "Mars/Olympus": true, "../x": true, "BST": true} {
			_, err := r.companies.CreateCompany(r.as(""), &authv1.CreateCompanyRequest{Name: "x", Timezone: tz, Currency: "EUR"})
			if fault.Is(err, fault.Invalid) != bad {
				t.Errorf("%q: got %v", tz, err)
			}
		}
		_, err := r.companies.CreateCompany(r.as(""), &authv1.CreateCompanyRequest{Name: " ", Timezone: "x", Currency: "gbp"})
		if f := fault.From(err); len(f.Fields) != 3 {
			t.Errorf("got %v", f)
		}
	})
	t.Run("an update changes only the fields that are set, once", func(t *testing.T) {
		company := r.company()
		res, err := r.companies.UpdateCompany(r.as(company), &authv1.UpdateCompanyRequest{Timezone: ptr("Asia/Tokyo")})
		if err != nil || res.GetCompany().GetVersion() != 2 || res.GetCompany().GetTimezone() != "Asia/Tokyo" || res.GetCompany().GetName() != "Studio" {
			t.Errorf("got %v, %v", res, err)
		}
		res, err = r.companies.UpdateCompany(r.as(""), &authv1.UpdateCompanyRequest{Id: company, Timezone: ptr("Asia/Tokyo")})
		if err != nil || res.GetCompany().GetVersion() != 2 {
			t.Errorf("got %v, %v", res, err)
		}
	})
	t.Run("an update reaches every copy before the response, and again on a retry", func(t *testing.T) {
		company := r.company()
		two := &fakeCopies{calls: make(chan id.Company, 10)}
		r.server.companyCopies = companyCopies{two, two}
		defer func() { r.server.companyCopies = nil }()
		two.fails(fault.Status(fault.Away(errors.New("booking is unavailable"))).Err())
		req := &authv1.UpdateCompanyRequest{Id: company, Timezone: ptr("Asia/Tokyo")}
		ctx := rpc.WithIdempotencyKey(r.as(""), "move")
		if _, err := r.companies.UpdateCompany(ctx, req); !fault.Is(err, fault.Unavailable) {
			t.Fatalf("got %v", err)
		}
		two.fails(nil)
		for range 2 {
			res, err := r.companies.UpdateCompany(ctx, req)
			if err != nil || res.GetCompany().GetVersion() != 2 || res.GetCompany().GetTimezone() != "Asia/Tokyo" {
				t.Fatalf("got %v, %v", res, err)
			}
		}
		for range 6 { // two copies, three attempts
			if got := <-two.calls; got.String() != company {
				t.Errorf("a copy of %s was refreshed, not of %s", got, company)
			}
		}
		two.fails(status.Error(codes.Unimplemented, "an earlier release"))
		if _, err := r.companies.UpdateCompany(r.as(company), &authv1.UpdateCompanyRequest{Currency: ptr("EUR")}); err != nil {
			t.Errorf("with an earlier release: %v", err)
		}
		two.fails(fault.Status(fault.Away(nil)).Err())
		if _, err := r.companies.UpdateCompany(r.as(company), &authv1.UpdateCompanyRequest{Name: ptr("Riverside")}); err != nil {
			t.Errorf("a change of the name, which is not copied: %v", err)
		}
	})
	t.Run("a company says whether customers' e-mail addresses must be unique", func(t *testing.T) {
		made, err := r.companies.CreateCompany(r.as(""), &authv1.CreateCompanyRequest{Name: "x", Timezone: "UTC", Currency: "GBP", UniqueCustomerEmails: true})
		if err != nil || !made.GetCompany().GetUniqueCustomerEmails() {
			t.Fatalf("got %v, %v", made, err)
		}
		company := made.GetCompany().GetId()
		for _, step := range []struct {
			req     *authv1.UpdateCompanyRequest
			unique  bool
			version int64
		}{
			{&authv1.UpdateCompanyRequest{Name: ptr("y")}, true, 2},
			{&authv1.UpdateCompanyRequest{UniqueCustomerEmails: ptr(true)}, true, 2},
			{&authv1.UpdateCompanyRequest{UniqueCustomerEmails: ptr(false)}, false, 3},
		} {
			res, err := r.companies.UpdateCompany(r.as(company), step.req)
			if err != nil || res.GetCompany().GetUniqueCustomerEmails() != step.unique || res.GetCompany().GetVersion() != step.version {
				t.Errorf("%v: got %v, %v", step.req, res, err)
			}
			got, err := r.companies.GetCompany(r.as(company), &authv1.GetCompanyRequest{})
			if err != nil || got.GetCompany().GetUniqueCustomerEmails() != step.unique {
				t.Errorf("%v: got %v, %v", step.req, got, err)
			}
		}
	})
	t.Run("a company says whether customers may have no e-mail address", func(t *testing.T) {
		made, err := r.companies.CreateCompany(r.as(""), &authv1.CreateCompanyRequest{Name: "x", Timezone: "UTC", Currency: "GBP", OptionalCustomerEmails: true})
		if err != nil || !made.GetCompany().GetOptionalCustomerEmails() {
			t.Fatalf("got %v, %v", made, err)
		}
		company := made.GetCompany().GetId()
		for _, step := range []struct {
			req      *authv1.UpdateCompanyRequest
			optional bool
			version  int64
		}{
			{&authv1.UpdateCompanyRequest{Name: ptr("y")}, true, 2},
			{&authv1.UpdateCompanyRequest{OptionalCustomerEmails: ptr(true)}, true, 2},
			{&authv1.UpdateCompanyRequest{OptionalCustomerEmails: ptr(false)}, false, 3},
		} {
			res, err := r.companies.UpdateCompany(r.as(company), step.req)
			if err != nil || res.GetCompany().GetOptionalCustomerEmails() != step.optional || res.GetCompany().GetVersion() != step.version {
				t.Errorf("%v: got %v, %v", step.req, res, err)
			}
			got, err := r.companies.GetCompany(r.as(company), &authv1.GetCompanyRequest{})
			if err != nil || got.GetCompany().GetOptionalCustomerEmails() != step.optional {
				t.Errorf("%v: got %v, %v", step.req, got, err)
			}
		}
	})
	t.Run("a company must exist before it gets credentials", func(t *testing.T) {
		_, err := r.clients.CreateApiClient(r.as(id.New[id.Company]().String()), &authv1.CreateApiClientRequest{Name: "x", Scopes: []string{"profile:read"}})
		if !fault.Is(err, fault.NotFound) {
			t.Errorf("got %v", err)
		}
		_, err = r.apiKeys.CreateApiKey(r.as(id.New[id.Company]().String()), &authv1.CreateApiKeyRequest{Name: "x"})
		if !fault.Is(err, fault.NotFound) {
			t.Errorf("got %v", err)
		}
	})
}
