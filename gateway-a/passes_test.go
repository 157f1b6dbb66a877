package gatewaya

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/token"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// fakePasses has passes, and keeps the requests that it gets.
type fakePasses struct {
	passv1.UnimplementedPassServiceServer
	passes []*passv1.CustomerPass
	err    error

	mu     sync.Mutex
	listed *passv1.ListCustomerPassesRequest
	read   *passv1.GetCustomerPassRequest
}

func (f *fakePasses) ListCustomerPasses(_ context.Context, req *passv1.ListCustomerPassesRequest) (*passv1.ListCustomerPassesResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listed = req
	return &passv1.ListCustomerPassesResponse{CustomerPasses: f.passes, Total: 41}, f.err
}

func (f *fakePasses) GetCustomerPass(_ context.Context, req *passv1.GetCustomerPassRequest) (*passv1.GetCustomerPassResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.read = req
	if f.err != nil {
		return nil, f.err
	}
	return &passv1.GetCustomerPassResponse{CustomerPass: f.passes[0]}, nil
}

func TestPasses(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	gross := int64(11000)
	bought := &passv1.CustomerPass{
		Id: id.New[id.CustomerPass]().String(), CustomerId: id.New[id.Customer]().String(), PassTypeId: id.New[id.PassType]().String(),
		Title: "Ten Classes", RemainingUses: 7, TotalUses: 10, StartDate: "2026-03-01", ExpiryDate: "2026-05-31",
		Status:    passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE,
		CreatedAt: at(t, "2026-03-29T00:59:59Z"), UpdatedAt: at(t, "2026-03-29T01:00:00Z"), Version: 4,
		Purchase: &passv1.PassPurchase{Gross: &gross, Method: "BANK_TRANSFER", Reference: "secret-ref", Currency: "EUR"},
	}
	paused := &passv1.CustomerPass{
		Id: id.New[id.CustomerPass]().String(), CustomerId: bought.GetCustomerId(), PassTypeId: bought.GetPassTypeId(),
		Title: "Teacher Pass", RemainingUses: 999999, TotalUses: 999999, UnlimitedUses: true, StartDate: "2026-03-01", ExpiryDate: "9999-12-31", NeverExpires: true,
		Status:    passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED,
		CreatedAt: at(t, "2026-03-29T00:59:59Z"), UpdatedAt: at(t, "2026-03-29T01:00:00Z"), PausedSince: at(t, "2026-07-01T12:00:00Z"),
	}
	g.passes.passes = []*passv1.CustomerPass{bought, paused}
	start := func(p *passv1.CustomerPass) string {
		return `{"id":"` + p.GetId() + `","type":"pass","customer_id":"` + p.GetCustomerId() + `","pass_id":"` + p.GetPassTypeId() + `",`
	}
	wantBought := start(bought) + `"title":"Ten Classes","status":"active","total_uses":10,"remaining_uses":7,"unlimited_uses":false,` +
		`"start_date":"2026-03-01","expiry_date":"2026-05-31","never_expires":false,` +
		`"created_at":"2026-03-29T00:59:59","updated_at":"2026-03-29T02:00:00","tz":"Europe/London",` +
		`"payment":{"method":"BANK_TRANSFER","currency":"EUR","base100gross_price":11000,"base100net_price":11000}}`
	wantPaused := start(paused) + `"title":"Teacher Pass","status":"paused","total_uses":999999,"remaining_uses":999999,"unlimited_uses":true,` +
		`"start_date":"2026-03-01","expiry_date":"9999-12-31","never_expires":true,"paused_since":"2026-07-01T13:00:00",` +
		`"created_at":"2026-03-29T00:59:59","updated_at":"2026-03-29T02:00:00","tz":"Europe/London"}`
	list := "/customer/" + bought.GetCustomerId() + "/passes"
	inLondon := g.issuer.Sign(token.Claims{Company: g.company, Zone: "Europe/London", Scopes: scopes.InToken(scopes.InterfaceA())})

	t.Run("a payment in another currency has a form of its own", func(t *testing.T) {
		defer func() { bought.Purchase.Currency = "EUR" }()
		bought.Purchase.Currency = "CHF"
		a := g.do(request{Method: http.MethodGet, Path: list, Token: inLondon})
		want := `"payment":{"method":"OTHER_CURRENCY","base100gross_price":11000,"base100net_price":11000,"payment_method":"BANK_TRANSFER","currency_code":"CHF"}`
		if a.Code != 200 || !strings.Contains(a.Body, want) {
			t.Errorf("got %d %s", a.Code, a.Body)
		}
	})
	t.Run("the list has exactly the documented JSON", func(t *testing.T) {
		a := g.do(request{Method: http.MethodGet, Path: list, Token: inLondon})
		if want := `{"data":[` + wantBought + `,` + wantPaused + `],"total":41,"page":0,"pageSize":30}`; a.Code != 200 || a.Body != want {
			t.Errorf("got  %s\nwant %s", a.Body, want)
		}
		if l := g.passes.listed; !l.GetCustomerMustExist() || l.GetCustomerId() != bought.GetCustomerId() || l.GetPageSize() != 30 || l.GetOffset() != 0 {
			t.Errorf("requested %v", l)
		}
	})
	t.Run("a single pass is the same as in the list, and must be the customer's", func(t *testing.T) {
		a := g.do(request{Method: http.MethodGet, Path: "/customer/" + bought.GetCustomerId() + "/pass/" + bought.GetId(), Token: inLondon})
		if a.Code != 200 || a.Body != `{"data":`+wantBought+`}` || !strings.HasPrefix(a.Header.Get("ETag"), `"4`) {
			t.Errorf("got %d %s %v", a.Code, a.Body, a.Header)
		}
		if g.passes.read.GetCustomerId() != bought.GetCustomerId() || g.passes.read.GetId() != bought.GetId() {
			t.Errorf("requested %v", g.passes.read)
		}
	})
	t.Run("passes on the page and the status", func(t *testing.T) {
		a := g.do(request{Method: http.MethodGet, Path: list + "?page=3&pageSize=500&status=paused", Token: inLondon})
		if a.Code != 200 || !strings.HasSuffix(a.Body, `"total":41,"page":3,"pageSize":100}`) {
			t.Errorf("got %d %s", a.Code, a.Body)
		}
		if l := g.passes.listed; l.GetOffset() != 300 || l.GetPageSize() != 100 || l.GetStatus() != passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED {
			t.Errorf("requested %v", l)
		}
	})
	t.Run("refuses an invalid parameter", func(t *testing.T) {
		for query, field := range map[string]string{"page=-1": "page", "pageSize=0": "pageSize", "page=x": "page", "status=Active": "status"} {
			a := g.do(request{Method: http.MethodGet, Path: list + "?" + query, Token: inLondon})
			if a.Code != 400 || !strings.Contains(a.Body, `"code":"INVALID_PARAMETER"`) || !strings.Contains(a.Body, `"field":"`+field+`"`) {
				t.Errorf("%s: got %d %s", query, a.Code, a.Body)
			}
		}
	})
	t.Run("a missing customer or pass is 404", func(t *testing.T) {
		g.passes.err = fault.Missing("customer")
		defer func() { g.passes.err = nil }()
		for _, path := range []string{list, "/customer/x/pass/y"} {
			if a := g.do(request{Method: http.MethodGet, Path: path, Token: inLondon}); a.Code != 404 {
				t.Errorf("%s: got %d %s", path, a.Code, a.Body)
			}
		}
	})
	t.Run("a token without a zone shows times in UTC", func(t *testing.T) {
		a := g.do(request{Method: http.MethodGet, Path: list, Token: g.issuer.Sign(token.Claims{Company: g.company, Zone: "Mars/Base", Scopes: scopes.InToken(scopes.InterfaceA())})})
		if a.Code != 200 || !strings.Contains(a.Body, `"updated_at":"2026-03-29T01:00:00","tz":"UTC"`) {
			t.Errorf("got %d %s", a.Code, a.Body)
		}
	})
}
