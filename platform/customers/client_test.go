package customers_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/devkit/testkit"
	"reservation.dev/devkit/testkit/edgetest"
	"reservation.dev/devkit/tokentest"
	"reservation.dev/platform/customers"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// service is a fake of the customer service with a customer who is present and one who is deleted.
type service struct {
	customerv1.UnimplementedCustomerServiceServer
	company          id.Company
	present, deleted id.Customer
	err              error
	batches          [][]string // the identifiers of each call of BatchGetCustomers
}

func (s *service) GetCustomer(ctx context.Context, req *customerv1.GetCustomerRequest) (*customerv1.GetCustomerResponse, error) {
	if s.err != nil {
		return nil, s.err
	}
	if rpc.Company(ctx) != s.company || req.GetId() != s.present.String() {
		return nil, fault.Missing("customer")
	}
	return &customerv1.GetCustomerResponse{Customer: &customerv1.Customer{Id: req.GetId()}}, nil
}

func (s *service) BatchGetCustomers(ctx context.Context, req *customerv1.BatchGetCustomersRequest) (*customerv1.BatchGetCustomersResponse, error) {
	s.batches = append(s.batches, req.GetIds())
	resp := &customerv1.BatchGetCustomersResponse{}
	if rpc.Company(ctx) != s.company {
		return resp, s.err
	}
	if slices.Contains(req.GetIds(), s.present.String()) {
		resp.Customers = append(resp.Customers, &customerv1.Customer{Id: s.present.String()})
	}
	if req.GetIncludeDeleted() && slices.Contains(req.GetIds(), s.deleted.String()) {
		resp.Customers = append(resp.Customers, &customerv1.Customer{Id: s.deleted.String(), DeletedAt: timestamppb.Now()})
	}
	return resp, s.err
}

// newClient returns a client of a fake of the customer service.
func newClient(t *testing.T) (*service, *customers.Client) {
	t.Helper()
	issuer := tokentest.New(t)
	s := &service{company: id.New[id.Company](), present: id.New[id.Customer](), deleted: id.New[id.Customer]()}
	conn := edgetest.Services(t, rpc.ServerOptions{Log: testkit.Log(t), Verifier: issuer.Verifier, Policy: rpc.Policy{
		customerv1.CustomerService_GetCustomer_FullMethodName:       "customers:read",
		customerv1.CustomerService_BatchGetCustomers_FullMethodName: "customers:read",
	}}, func(r grpc.ServiceRegistrar) { customerv1.RegisterCustomerServiceServer(r, s) })
	source := token.NewSource(func(context.Context) (string, time.Time, error) {
		return issuer.Admin(), time.Now().Add(time.Hour), nil
	})
	return s, customers.NewClient(conn, source)
}

func TestRequire(t *testing.T) {
	s, c := newClient(t)
	if err := c.Require(t.Context(), s.company, s.present); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"deleted":            c.Require(t.Context(), s.company, s.deleted),
		"of another company": c.Require(t.Context(), id.New[id.Company](), s.present),
	} {
		if !fault.Is(err, fault.NotFound) {
			t.Errorf("customer %s: got %v, want NOT_FOUND", name, err)
		}
	}
}

func TestMissing(t *testing.T) {
	s, c := newClient(t)
	never := id.New[id.Customer]()
	got, err := c.Missing(t.Context(), s.company, []id.Customer{s.present, s.deleted, never, s.present, never})
	if want := map[id.Customer]bool{s.deleted: true, never: true}; err != nil || !maps.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if want := [][]string{{s.present.String(), s.deleted.String(), never.String()}}; !slices.EqualFunc(s.batches, want, slices.Equal) {
		t.Errorf("calls with %v, want %v", s.batches, want)
	}
	if got, err := c.Missing(t.Context(), s.company, nil); err != nil || len(got) != 0 || len(s.batches) != 1 {
		t.Errorf("no customers: got %v, %v after %d calls", got, err, len(s.batches))
	}
}

func TestDeleted(t *testing.T) {
	s, c := newClient(t)
	for customer, want := range map[id.Customer]bool{s.present: false, s.deleted: true} {
		if got, err := c.Deleted(t.Context(), s.company, customer); err != nil || got != want {
			t.Errorf("got %t, %v, want %t", got, err, want)
		}
	}
	if _, err := c.Deleted(t.Context(), s.company, id.New[id.Customer]()); !fault.Is(err, fault.NotFound) {
		t.Errorf("a customer who never existed: got %v, want NOT_FOUND", err)
	}
}

// TestFailures checks that callers learn that the customer service is unavailable, but not what it refuses
// of the client's own call.
func TestFailures(t *testing.T) {
	s, c := newClient(t)
	for name, call := range map[string]func() error{
		"Require": func() error { return c.Require(t.Context(), s.company, s.present) },
		"Missing": func() error {
			_, err := c.Missing(t.Context(), s.company, []id.Customer{s.present})
			return err
		},
		"Deleted": func() error {
			_, err := c.Deleted(t.Context(), s.company, s.present)
			return err
		},
	} {
		s.err = fault.Away(nil)
		if err := call(); !fault.Is(err, fault.Unavailable) {
			t.Errorf("%s: got %v, want SERVICE_UNAVAILABLE", name, err)
		}
		s.err = fault.MissingScope("customers:read")
		if err := call(); fault.From(err).Kind != fault.Internal {
			t.Errorf("%s: got %v, want an internal error", name, err)
		}
	}
}
