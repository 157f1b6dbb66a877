package edge

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/token"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// heldCustomers is a customer service in which each customer but "gone" exists. Its calls wait for
// release.
type heldCustomers struct {
	customerv1.CustomerServiceClient
	release chan struct{}
	err     error

	mu    sync.Mutex
	calls [][]string // the token and the identifiers of each call
}

func (h *heldCustomers) call(ctx context.Context, customers ...string) {
	slices.Sort(customers)
	h.mu.Lock()
	h.calls = append(h.calls, append([]string{rpc.ClaimsFrom(ctx).Raw}, customers...))
	h.mu.Unlock()
	<-h.release
}

func (h *heldCustomers) GetCustomer(ctx context.Context, req *customerv1.GetCustomerRequest, _ ...grpc.CallOption) (*customerv1.GetCustomerResponse, error) {
	if h.call(ctx, req.GetId()); req.GetId() == "gone" {
		return nil, fault.Missing("customer")
	}
	return &customerv1.GetCustomerResponse{Customer: &customerv1.Customer{Id: req.GetId()}}, h.err
}

func (h *heldCustomers) BatchGetCustomers(ctx context.Context, req *customerv1.BatchGetCustomersRequest, _ ...grpc.CallOption) (*customerv1.BatchGetCustomersResponse, error) {
	h.call(ctx, slices.Clone(req.GetIds())...)
	res := &customerv1.BatchGetCustomersResponse{}
	for _, customer := range req.GetIds() {
		if customer != "gone" {
			res.Customers = append(res.Customers, &customerv1.Customer{Id: customer})
		}
	}
	return res, h.err
}

func TestConcurrentLookupsOfCustomers(t *testing.T) {
	// look looks up customers with a token each, all at the same time, while a call for the customer
	// "first" with the first token is in progress. It returns the calls after that one.
	look := func(t *testing.T, service *heldCustomers, scope string, check func(customer, found string, err error), customers ...[2]string) [][]string {
		service.release = make(chan struct{})
		c := NewCustomers(service)
		var all sync.WaitGroup
		for _, l := range append([][2]string{{customers[0][0], "first"}}, customers...) {
			ctx := rpc.WithClaims(t.Context(), &token.Claims{Raw: l[0], Scopes: []string{scope}})
			all.Go(func() {
				found, err := c.Get(ctx, l[1])
				check(l[1], found.GetId(), err)
			})
			synctest.Wait()
		}
		close(service.release)
		all.Wait()
		return service.calls[1:]
	}
	found := func(customer, found string, err error) {
		if missing := fault.Is(err, fault.NotFound); missing != (customer == "gone") || !missing && (err != nil || found != customer) {
			t.Errorf("%s: got %s, %v", customer, found, err)
		}
	}
	for name, test := range map[string]struct {
		scope string
		looks [][2]string
		want  [][]string
	}{
		"share a call": {scopes.CustomersRead, [][2]string{{"a", "1"}, {"a", "2"}, {"a", "gone"}, {"a", "1"}}, [][]string{{"a", "1", "2", "gone"}}},
		"share a call only with the same token": {
			scopes.CustomersRead, [][2]string{{"a", "1"}, {"b", "1"}, {"b", "gone"}, {"a", "2"}}, [][]string{{"b", "1"}, {"a", "1", "2"}, {"b", "gone"}},
		},
		"do not share a call for which the token has no scope": {scopes.ProfileRead, [][2]string{{"a", "1"}, {"a", "gone"}}, [][]string{{"a", "1"}, {"a", "gone"}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := look(t, &heldCustomers{}, test.scope, found, test.looks...)
				for _, calls := range [][][]string{got, test.want} {
					slices.SortFunc(calls, slices.Compare)
				}
				if !slices.EqualFunc(got, test.want, slices.Equal) {
					t.Errorf("called %v, want %v", got, test.want)
				}
			})
		})
	}
	t.Run("share its error", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			down := fault.Away(errors.New("down"))
			look(t, &heldCustomers{err: down}, scopes.CustomersRead, func(customer, _ string, err error) {
				if !errors.Is(err, down) {
					t.Errorf("%s: got %v", customer, err)
				}
			}, [2]string{"a", "1"}, [2]string{"a", "2"})
		})
	})
}
