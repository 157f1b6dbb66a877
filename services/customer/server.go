package customer

import (
	"context"
	"fmt"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

// Server answers the RPCs of CustomerService; export.go and import.go have the
// streams.
type Server struct {
	customerv1.UnimplementedCustomerServiceServer
	authv1.UnimplementedCompanyCopyServiceServer

	store     *store
	outbox    *outbox.Outbox
	companies Companies
	confirmer Confirmer
	// bulk holds a token per import or export that is using the database, so that
	// they leave connections to everyone else.
	bulk  chan struct{}
	now   func() time.Time
	newID func() id.UUID
}

// bulkAtOnce is how many imports and exports of one process use the database at
// the same time.
const bulkAtOnce = 2

// NewServer returns a server on db, which appends its events to box, asks
// companies for those that it does not know yet, and has deletions confirmed by
// confirmer.
func NewServer(db *pg.DB, box *outbox.Outbox, companies Companies, confirmer Confirmer) *Server {
	return &Server{
		store: newStore(db), outbox: box, companies: companies, confirmer: confirmer, bulk: make(chan struct{}, bulkAtOnce), now: time.Now, newID: id.NewUUID,
	}
}

// Policy is the scope that each RPC needs.
func Policy() rpc.Policy {
	return rpc.Policy{
		privacyv1.PersonalDataService_ExportPersonalData_FullMethodName: "privacy:read",

		authv1.CompanyCopyService_RefreshCompany_FullMethodName: "company:write",

		privacyv1.ErasureService_EraseCustomer_FullMethodName:       "privacy:write",
		privacyv1.ErasureService_GetErasure_FullMethodName:          "privacy:read",
		privacyv1.ErasureService_ListErasures_FullMethodName:        "privacy:read",
		customerv1.CustomerService_CreateCustomer_FullMethodName:    "customers:write",
		customerv1.CustomerService_GetCustomer_FullMethodName:       "customers:read|profile:read",
		customerv1.CustomerService_BatchGetCustomers_FullMethodName: "customers:read",
		customerv1.CustomerService_UpdateCustomer_FullMethodName:    "customers:write|profile:write",
		customerv1.CustomerService_ArchiveCustomer_FullMethodName:   "customers:write",
		customerv1.CustomerService_DeleteCustomer_FullMethodName:    "customers:write",
		customerv1.CustomerService_ListCustomers_FullMethodName:     "customers:read",
		customerv1.CustomerService_ExportCustomers_FullMethodName:   "customers:read",
		customerv1.CustomerService_ImportCustomers_FullMethodName:   "customers:write",
	}
}

// CreateCustomer implements CustomerService.
func (s *Server) CreateCustomer(ctx context.Context, req *customerv1.CreateCustomerRequest) (*customerv1.CreateCustomerResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	var check checks
	c := described(req)
	check.customer(&c)
	if err := check.err(); err != nil {
		return nil, err
	}
	c.ID, c.Version, c.CreatedAt = id.Customer(s.newID()), 1, s.instant()
	c.UpdatedAt = c.CreatedAt
	var resp *customerv1.CreateCustomerResponse
	err = s.inCompany(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		resp = &customerv1.CreateCustomerResponse{}
		return idem.Do(ctx, tx, req, resp, func() error {
			resp.Customer = message(c)
			if err := s.store.takeEmail(ctx, tx, company, c, ""); err != nil {
				return err
			}
			if err := s.store.insert(ctx, tx, company, c); err != nil {
				return err
			}
			return s.outbox.Append(ctx, tx, created(company, c))
		})
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// GetCustomer implements CustomerService.
func (s *Server) GetCustomer(ctx context.Context, req *customerv1.GetCustomerRequest) (*customerv1.GetCustomerResponse, error) {
	company, customer, err := named(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	c, err := s.store.get(ctx, company, customer)
	if err != nil {
		return nil, err
	}
	return &customerv1.GetCustomerResponse{Customer: message(c)}, nil
}

// maxBatch is the most customers of one BatchGetCustomers.
const maxBatch = 5000

// BatchGetCustomers implements CustomerService. What is no identifier is left
// out, like one that does not exist.
func (s *Server) BatchGetCustomers(ctx context.Context, req *customerv1.BatchGetCustomersRequest) (*customerv1.BatchGetCustomersResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	if n := len(req.GetIds()) + len(req.GetReferences()); n > maxBatch {
		return nil, fault.InvalidFields(fault.Field{Field: "ids", Rule: "max_items", Message: fmt.Sprintf("must be at most %d with the references", maxBatch)})
	}
	var ids []id.Customer
	for _, text := range req.GetIds() {
		if customer, err := id.Parse[id.Customer](text); err == nil {
			ids = append(ids, customer)
		}
	}
	list, err := s.store.batch(ctx, company, ids, storable(req.GetReferences()), req.GetIncludeDeleted())
	if err != nil {
		return nil, err
	}
	resp := &customerv1.BatchGetCustomersResponse{Customers: make([]*customerv1.Customer, 0, len(list))}
	for _, c := range list {
		resp.Customers = append(resp.Customers, message(c))
	}
	return resp, nil
}

// UpdateCustomer implements CustomerService.
func (s *Server) UpdateCustomer(ctx context.Context, req *customerv1.UpdateCustomerRequest) (*customerv1.UpdateCustomerResponse, error) {
	company, customer, err := named(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	var check checks
	change := changeOf(req)
	check.change(change)
	if err := check.err(); err != nil {
		// A customer that does not exist is the greater fault.
		if _, missing := s.store.get(ctx, company, customer); missing != nil {
			return nil, missing
		}
		return nil, err
	}
	var resp *customerv1.UpdateCustomerResponse
	err = s.inCompany(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		resp = &customerv1.UpdateCustomerResponse{}
		return idem.Do(ctx, tx, req, resp, func() error {
			c, err := s.update(ctx, tx, company, customer, change, req.ExpectedVersion)
			resp.Customer = message(c)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// update locks, decides, saves and announces.
func (s *Server) update(ctx context.Context, tx *pg.Tx, company id.Company, customer id.Customer, change Change, expected *int64) (Customer, error) {
	c, err := s.store.lock(ctx, tx, company, customer)
	if err != nil {
		return c, err
	}
	if err := c.expect(expected); err != nil {
		return c, err
	}
	former := c.Email
	if !c.Apply(change, s.instant()) {
		return c, nil
	}
	if c.Email != former {
		if err := s.store.takeEmail(ctx, tx, company, c, former); err != nil {
			return c, err
		}
	}
	if err := s.store.save(ctx, tx, company, c); err != nil {
		return c, err
	}
	return c, s.outbox.Append(ctx, tx, updated(company, c))
}

// ArchiveCustomer implements CustomerService.
func (s *Server) ArchiveCustomer(ctx context.Context, req *customerv1.ArchiveCustomerRequest) (*customerv1.ArchiveCustomerResponse, error) {
	company, customer, err := named(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	var resp *customerv1.ArchiveCustomerResponse
	err = s.store.inTx(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		resp = &customerv1.ArchiveCustomerResponse{}
		return idem.Do(ctx, tx, req, resp, func() error {
			c, err := s.update(ctx, tx, company, customer, Change{Archived: &req.Archived}, nil)
			resp.Customer = message(c)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

const (
	defaultPage = 100
	maxPage     = 1000
)

// ListCustomers implements CustomerService.
func (s *Server) ListCustomers(ctx context.Context, req *customerv1.ListCustomersRequest) (*customerv1.ListCustomersResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	l, err := listOf(req)
	if err != nil {
		return nil, err
	}
	page, err := s.store.list(ctx, company, l)
	if err != nil {
		return nil, err
	}
	resp := &customerv1.ListCustomersResponse{Total: page.total, NextPageToken: page.next}
	for _, c := range page.customers {
		resp.Customers = append(resp.Customers, message(c))
	}
	return resp, nil
}

// enter waits for a place among those who use the database in bulk.
func (s *Server) enter(ctx context.Context) (release func(), err error) {
	select {
	case s.bulk <- struct{}{}:
		return func() { <-s.bulk }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// instant is now, as PostgreSQL keeps it.
func (s *Server) instant() time.Time { return s.now().UTC().Truncate(time.Microsecond) }

// named returns the tenant and the customer that a request names. What is no
// identifier is answered like one that does not exist.
func named(ctx context.Context, text string) (id.Company, id.Customer, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return company, id.Customer{}, err
	}
	customer, err := id.Parse[id.Customer](text)
	if err != nil {
		return company, customer, missing()
	}
	return company, customer, nil
}
