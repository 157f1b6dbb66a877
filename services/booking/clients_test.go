package booking

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"reservation.dev/devkit/testkit"
	"reservation.dev/devkit/tokentest"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/tenancy"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	"reservation.dev/services/booking/model"
)

// neighbours is a fake of the services that the booking service calls.
type neighbours struct {
	customerv1.UnimplementedCustomerServiceServer
	authv1.UnimplementedCompanyServiceServer
	passv1.UnimplementedPassServiceServer

	redeemed []*passv1.RedeemCreditsRequest
	refused  error // of each second redemption
	company  id.Company
	request  *customerv1.BatchGetCustomersRequest
	answer   []*customerv1.Customer
	change   *passv1.ChangeRedemptionRequest
	err      error
}

func (n *neighbours) BatchGetCustomers(ctx context.Context, req *customerv1.BatchGetCustomersRequest) (*customerv1.BatchGetCustomersResponse, error) {
	n.company, n.request = rpc.Company(ctx), req
	return &customerv1.BatchGetCustomersResponse{Customers: n.answer}, n.err
}

func (n *neighbours) GetCompany(ctx context.Context, req *authv1.GetCompanyRequest) (*authv1.GetCompanyResponse, error) {
	n.company = rpc.Company(ctx)
	return &authv1.GetCompanyResponse{Company: &authv1.Company{Id: req.GetId(), Timezone: "Europe/Paris", Currency: "EUR", Version: 4}}, n.err
}

func (n *neighbours) RedeemCredits(_ context.Context, req *passv1.RedeemCreditsRequest) (*passv1.RedeemCreditsResponse, error) {
	n.redeemed = append(n.redeemed, req)
	if len(n.redeemed)%2 == 0 && n.refused != nil {
		return nil, n.refused
	}
	return &passv1.RedeemCreditsResponse{CustomerPassId: req.GetCustomerPassId()}, n.err
}

func (n *neighbours) BatchRedeemCredits(ctx context.Context, req *passv1.BatchRedeemCreditsRequest) (*passv1.BatchRedeemCreditsResponse, error) {
	resp := &passv1.BatchRedeemCreditsResponse{}
	for _, r := range req.GetRedemptions() {
		result := &passv1.RedemptionResult{}
		if one, err := n.RedeemCredits(ctx, r); err != nil {
			result.Result = &passv1.RedemptionResult_Refused{Refused: fault.Status(err).Proto()}
		} else {
			result.Result = &passv1.RedemptionResult_Redeemed{Redeemed: one}
		}
		resp.Results = append(resp.Results, result)
	}
	return resp, n.err
}

func (n *neighbours) ChangeRedemption(ctx context.Context, req *passv1.ChangeRedemptionRequest) (*passv1.ChangeRedemptionResponse, error) {
	n.company, n.change = rpc.Company(ctx), req
	return &passv1.ChangeRedemptionResponse{Credits: 2}, n.err
}

func TestClients(t *testing.T) {
	issuer := tokentest.New(t)
	n := &neighbours{}
	srv := rpc.NewServer(rpc.ServerOptions{Log: testkit.Log(t), Verifier: issuer.Verifier, Policy: rpc.Policy{
		customerv1.CustomerService_BatchGetCustomers_FullMethodName: "customers:read",
		authv1.CompanyService_GetCompany_FullMethodName:             rpc.AnyToken,
		passv1.PassService_RedeemCredits_FullMethodName:             "redemptions:write",
		passv1.PassService_BatchRedeemCredits_FullMethodName:        "redemptions:write",
		passv1.PassService_ChangeRedemption_FullMethodName:          "redemptions:write",
	}})
	customerv1.RegisterCustomerServiceServer(srv, n)
	authv1.RegisterCompanyServiceServer(srv, n)
	passv1.RegisterPassServiceServer(srv, n)
	dial := func(srv *rpc.Server) *grpc.ClientConn {
		conn, err := rpc.Dial(serveOn(t, srv).Target(), rpc.DialOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	conn := dial(srv)
	source := token.NewSource(func(context.Context) (string, time.Time, error) {
		return issuer.Admin(), time.Now().Add(time.Hour), nil
	})
	customers, companies := NewCustomerClient(conn, source), tenancy.NewAuth(conn, source)
	company, ann := id.New[id.Company](), id.New[id.Customer]()

	t.Run("fetches customers with its own token on behalf of the company, including deleted customers", func(t *testing.T) {
		n.answer = []*customerv1.Customer{{
			Id: ann.String(), FirstName: "Ann", LastName: "Lee", Email: "ann@example.com", Version: 7, Reference: "a1",
		}}
		got, err := customers.Lookup(t.Context(), company, []id.Customer{ann}, []string{"a1"})
		want := model.CustomerRecord{Customer: model.Customer{ID: ann, FirstName: "Ann", LastName: "Lee", Email: "ann@example.com"}, Reference: "a1", Version: 7}
		if err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("got %+v, %v", got, err)
		}
		if n.company != company || !n.request.GetIncludeDeleted() || n.request.GetIds()[0] != ann.String() || n.request.GetReferences()[0] != "a1" {
			t.Errorf("asked for %s: %v", n.company, n.request)
		}
	})
	t.Run("fetches a company with its own token", func(t *testing.T) {
		got, err := companies.Company(t.Context(), company)
		want := tenancy.Company{ID: company, Timezone: "Europe/Paris", Currency: "EUR", Version: 4}
		if err != nil || got != want || n.company != company {
			t.Errorf("got %+v, %v for %s", got, err, n.company)
		}
	})
	t.Run("returns the credits that a booking holds if they are not those that a change expects", func(t *testing.T) {
		defer func() { n.err = nil }()
		n.err = fault.New(fault.VersionMismatch, fault.ReasonVersionMismatch, "other credits").With("credits", "3")
		_, err := NewPassClient(conn, source).Change(t.Context(), model.CreditChange{Company: company}, false)
		var differs *heldCreditsError
		if !errors.As(err, &differs) || differs.held != 3 {
			t.Errorf("got %v", err)
		}
	})
	t.Run("changes the credits of a booking with its own token on behalf of the company", func(t *testing.T) {
		change := model.CreditChange{
			Company: company, Booking: id.New[id.Booking](), Transaction: id.New[id.Transaction](), ID: id.New[id.Event]().UUID(),
			EventType: "class", Day: "2026-03-29", Expected: 1, Credits: 2,
		}
		credits, err := NewPassClient(conn, source).Change(t.Context(), change, true)
		want := &passv1.ChangeRedemptionRequest{
			RedemptionId: change.Transaction.String(), ChangeId: change.ID.String(), ExpectedCredits: 1, ValidateOnly: true,
			Item: &passv1.RedemptionItem{ItemId: change.Booking.String(), EventType: "class", Credits: 2, Day: "2026-03-29"},
		}
		if err != nil || credits != 2 || n.company != company || !proto.Equal(n.change, want) {
			t.Errorf("%d credits, %v for %s, asked for %v", credits, err, n.company, n.change)
		}
	})
	for behaviour, tt := range map[string]struct {
		theirs error
		kind   fault.Kind
		reason string
		meta   string
	}{
		"a pass that is gone is NOT_FOUND":                                       {fault.Missing("pass"), fault.NotFound, fault.ReasonNotFound, ""},
		"too few credits is the refusal of the pass service":                     {fault.Refuse("PASS_EXHAUSTED", "too few").With("credits", "3"), fault.Refused, "PASS_EXHAUSTED", "3"},
		"a pass that is not valid on the day is the refusal of the pass service": {fault.Refuse("PASS_EXPIRED", "not valid"), fault.Refused, "PASS_EXPIRED", ""},
		"credits that were returned are a refusal to decide again":               {fault.Refuse(reasonRedemptionCancelled, "returned"), fault.Refused, reasonRedemptionCancelled, ""},
		"an unavailable pass service is SERVICE_UNAVAILABLE":                     {fault.Away(nil), fault.Unavailable, fault.ReasonServiceUnavailable, ""},
		"a refusal that only concerns its own token is internal":                 {fault.MissingScope("redemptions:write"), fault.Internal, fault.ReasonInternal, ""},
	} {
		t.Run("a change of credits: "+behaviour, func(t *testing.T) {
			defer func() { n.err = nil }()
			n.err = tt.theirs
			credits, err := NewPassClient(conn, source).Change(t.Context(), model.CreditChange{Company: company}, false)
			if f := wantFault(t, err, tt.kind, tt.reason); f.Meta["credits"] != tt.meta || credits != 0 {
				t.Errorf("%d credits, %v", credits, f.Meta)
			}
		})
	}
	t.Run("a pass must be valid on the local day of each date", func(t *testing.T) {
		starts := time.Date(2026, 3, 28, 23, 30, 0, 0, time.UTC)
		bought := &model.Transaction{ID: id.New[id.Transaction](), Purchaser: model.Customer{ID: ann}, Bookings: []model.Booking{
			{ID: id.New[id.Booking](), Date: model.BookedDate{StartsAt: starts, Timezone: "Europe/Paris", EventType: model.Class}, Payment: model.Payment{Method: model.Pass, Credits: 2}},
			{ID: id.New[id.Booking](), Date: model.BookedDate{StartsAt: starts, Timezone: "America/New_York", EventType: model.Class}, Payment: model.Payment{Method: model.Pass, Credits: 1}},
			{ID: id.New[id.Booking](), Date: model.BookedDate{StartsAt: starts, Timezone: "Asia/Tokyo", EventType: model.Class}, Payment: model.Payment{Method: model.Card, Gross: 1}},
		}}
		r := &Redemption{Transaction: bought, Requested: id.New[id.CustomerPass]()}
		if err := NewPassClient(conn, source).Redeem(t.Context(), company, []*Redemption{r}); err != nil || r.Err != nil || r.Paid.pass != r.Requested {
			t.Fatalf("got %v, %v, %v", err, r.Err, r.Paid)
		}
		var days []string
		for _, i := range n.redeemed[0].GetItems() {
			days = append(days, i.GetDay())
		}
		if want := []string{"2026-03-29", "2026-03-28"}; !slices.Equal(days, want) {
			t.Errorf("got %v, want %v", days, want)
		}
	})
	// The previous release of the pass service does not have BatchRedeemCredits.
	previous := rpc.NewServer(rpc.ServerOptions{Log: testkit.Log(t), Verifier: issuer.Verifier, Policy: rpc.Policy{
		passv1.PassService_RedeemCredits_FullMethodName: "redemptions:write",
	}})
	desc := passv1.PassService_ServiceDesc
	desc.Methods = slices.DeleteFunc(slices.Clone(desc.Methods), func(m grpc.MethodDesc) bool { return m.MethodName == "BatchRedeemCredits" })
	previous.RegisterService(&desc, n)
	for name, conn := range map[string]*grpc.ClientConn{"this release": conn, "the previous release": dial(previous)} {
		t.Run("redeems for several transactions, and each has its own result, with "+name, func(t *testing.T) {
			n.redeemed, n.refused = nil, fault.Refuse("PASS_EXHAUSTED", "the pass does not have that many uses left").With("credits", "3")
			defer func() { n.refused = nil }()
			var all []*Redemption
			for range 3 {
				bought := &model.Transaction{ID: id.New[id.Transaction](), Purchaser: model.Customer{ID: ann}}
				all = append(all, &Redemption{Transaction: bought, Requested: id.New[id.CustomerPass]()})
			}
			if err := NewPassClient(conn, source).Redeem(t.Context(), company, all); err != nil {
				t.Fatal(err)
			}
			for i, r := range all {
				if n.redeemed[i].GetRedemptionId() != r.Transaction.ID.String() {
					t.Errorf("number %d is out of order", i)
				}
				if i == 1 {
					if f := fault.From(r.Err); f.Reason != "PASS_EXHAUSTED" || f.Meta["credits"] != "3" {
						t.Errorf("got %v", r.Err)
					}
				} else if r.Err != nil || r.Paid.pass != r.Requested {
					t.Errorf("got %v, %v", r.Paid, r.Err)
				}
			}
		})
	}
	t.Run("a company that does not exist is NOT_FOUND", func(t *testing.T) {
		n.err = fault.Missing("company")
		_, err := companies.Company(t.Context(), company)
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
	})
	t.Run("reports an unavailable service to the caller", func(t *testing.T) {
		n.err = fault.Away(nil)
		_, err := customers.Lookup(t.Context(), company, nil, []string{"a1"})
		wantFault(t, err, fault.Unavailable, fault.ReasonServiceUnavailable)
	})
	t.Run("does not pass on refusals that only concern its own request", func(t *testing.T) {
		for _, theirs := range []error{fault.MissingScope("customers:read"), fault.InvalidParameter("ids", "max", "are too many"), fault.Missing("customer")} {
			n.err = theirs
			_, err := customers.Lookup(t.Context(), company, nil, []string{"a1"})
			wantFault(t, err, fault.Internal, fault.ReasonInternal)
		}
	})
}
