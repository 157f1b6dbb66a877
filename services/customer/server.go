package customer

import (
	"context"
	"fmt"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/tenancy"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// Server implements CustomerService. server_*.go have the RPCs for deletions, imports, exports and
// erasures.
type Server struct {
	customerv1.UnimplementedCustomerServiceServer
	customerv1.UnimplementedCustomerSnapshotServiceServer

	store     *store
	outbox    *outbox.Outbox
	companies *tenancy.Companies
	confirmer Confirmer
	// bulk holds a token for each import or export that is using the database, so that they leave
	// connections to other requests.
	bulk  chan struct{}
	now   func() time.Time
	newID func() id.UUID
}

// bulkAtOnce is the number of imports and exports of one process that use the database at the same
// time.
const bulkAtOnce = 2

// NewServer returns a server on db, which appends its events to box and gets deletions confirmed by
// confirmer.
func NewServer(db *pg.DB, box *outbox.Outbox, companies *tenancy.Companies, confirmer Confirmer) *Server {
	return &Server{
		store: newStore(db), outbox: box, companies: companies, confirmer: confirmer, bulk: make(chan struct{}, bulkAtOnce), now: time.Now, newID: id.NewUUID,
	}
}

// clock returns the time of a company, which resources show.
func (s *Server) clock(company tenancy.Company) time.Time { return pg.Instant(company.Now(s.now())) }

// CreateCustomer implements CustomerService.
func (s *Server) CreateCustomer(ctx context.Context, req *customerv1.CreateCustomerRequest) (*customerv1.CreateCustomerResponse, error) {
	company, err := s.companies.Clocked(ctx)
	if err != nil {
		return nil, err
	}
	c := described(req)
	if err := s.checkNew(ctx, &c); err != nil {
		return nil, err
	}
	c.ID, c.Version, c.CreatedAt = id.Customer(s.newID()), 1, s.clock(company)
	c.UpdatedAt = c.CreatedAt
	resp := &customerv1.CreateCustomerResponse{}
	return idem.Write(ctx, s.companyStore(), company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		resp.Customer = message(c)
		if err := s.store.giveEmail(ctx, tx, company.ID, c); err != nil {
			return err
		}
		s.store.insert(tx, company.ID, c)
		return s.outbox.Append(ctx, tx, created(company, c))
	})
}

// GetCustomer implements CustomerService.
func (s *Server) GetCustomer(ctx context.Context, req *customerv1.GetCustomerRequest) (*customerv1.GetCustomerResponse, error) {
	company, customer, err := customerOf(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	c, err := s.store.get(ctx, company, customer)
	if err != nil {
		return nil, err
	}
	return &customerv1.GetCustomerResponse{Customer: message(c)}, nil
}

// maxBatch is the largest number of customers in one BatchGetCustomers call.
const maxBatch = 5000

// BatchGetCustomers implements CustomerService. Texts that are not identifiers are left out, like
// customers that do not exist.
func (s *Server) BatchGetCustomers(ctx context.Context, req *customerv1.BatchGetCustomersRequest) (*customerv1.BatchGetCustomersResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	if n := len(req.GetIds()) + len(req.GetReferences()) + len(req.GetEmails()); n > maxBatch {
		return nil, fault.InvalidFields(fault.Field{
			Field: "ids", Rule: "max_items", Message: fmt.Sprintf("must be at most %d, together with the references and the e-mail addresses", maxBatch),
		})
	}
	var ids []id.Customer
	for _, text := range req.GetIds() {
		if customer, err := id.Parse[id.Customer](text); err == nil {
			ids = append(ids, customer)
		}
	}
	list, err := s.store.batch(ctx, company, ids, storable(req.GetReferences()), req.GetIncludeDeleted())
	if err == nil && len(req.GetEmails()) > 0 {
		list, err = s.withAddresses(ctx, company, list, storable(req.GetEmails()))
	}
	if err != nil {
		return nil, err
	}
	resp := &customerv1.BatchGetCustomersResponse{Customers: make([]*customerv1.Customer, 0, len(list))}
	for _, c := range list {
		resp.Customers = append(resp.Customers, message(c))
	}
	return resp, nil
}

// withAddresses adds to a list the customers who have e-mail addresses, up to two for each address.
func (s *Server) withAddresses(ctx context.Context, company id.Company, list []Customer, emails []string) ([]Customer, error) {
	having, err := s.store.byEmail(ctx, company, emails)
	if err != nil {
		return nil, err
	}
	listed := make(map[id.Customer]bool, len(list))
	for _, c := range list {
		listed[c.ID] = true
	}
	for _, c := range having {
		if !listed[c.ID] {
			listed[c.ID] = true
			list = append(list, c)
		}
	}
	return list, nil
}

// UpdateCustomer implements CustomerService.
func (s *Server) UpdateCustomer(ctx context.Context, req *customerv1.UpdateCustomerRequest) (*customerv1.UpdateCustomerResponse, error) {
	company, customer, err := s.clockedCustomer(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	change := changeOf(req)
	if err := s.checkChange(ctx, company, customer, change, req); err != nil {
		return nil, err
	}
	resp := &customerv1.UpdateCustomerResponse{}
	return idem.Write(ctx, s.companyStore(), company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		c, err := s.update(ctx, tx, company, customer, change, req.ExpectedVersion)
		resp.Customer = message(c)
		return err
	})
}

// update locks the customer, applies the change, saves it and publishes the event.
func (s *Server) update(ctx context.Context, tx *pg.Tx, company tenancy.Company, customer id.Customer, change Change, expected *int64) (Customer, error) {
	c, err := s.store.lock(ctx, tx, company.ID, customer)
	if err != nil {
		return c, err
	}
	if change.emptiesEmail() && c.Email != "" {
		if err := s.store.omitEmail(ctx, tx, company.ID); err != nil {
			return c, err
		}
	}
	if err := check.Version(c.Version, expected, "customer"); err != nil {
		return c, err
	}
	before := c
	if !c.Apply(change, s.clock(company)) {
		return c, nil
	}
	if c.Email != before.Email && c.Email != "" {
		if err := s.store.takeEmail(ctx, tx, company.ID, c, before.Email); err != nil {
			return c, err
		}
	}
	s.store.save(tx, company.ID, c)
	return c, s.outbox.Append(ctx, tx, updated(company, c, before))
}

// ArchiveCustomer implements CustomerService.
func (s *Server) ArchiveCustomer(ctx context.Context, req *customerv1.ArchiveCustomerRequest) (*customerv1.ArchiveCustomerResponse, error) {
	company, customer, err := s.clockedCustomer(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	resp := &customerv1.ArchiveCustomerResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		c, err := s.update(ctx, tx, company, customer, Change{Archived: &req.Archived}, nil)
		resp.Customer = message(c)
		return err
	})
}

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

// enter waits until another import or export can use the database.
func (s *Server) enter(ctx context.Context) (release func(), err error) {
	select {
	case s.bulk <- struct{}{}:
		return func() { <-s.bulk }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *Server) companyStore() companyStore { return companyStore{s.store, s.companies} }

// clockedCustomer is customerOf for a change, which has the time of the company.
func (s *Server) clockedCustomer(ctx context.Context, text string) (tenancy.Company, id.Customer, error) {
	company, err := s.companies.Clocked(ctx)
	if err != nil {
		return company, id.Customer{}, err
	}
	customer, err := check.ID[id.Customer](text, "customer")
	return company, customer, err
}

// customerOf returns the company of a request and the customer that it names.
func customerOf(ctx context.Context, text string) (id.Company, id.Customer, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return company, id.Customer{}, err
	}
	customer, err := check.ID[id.Customer](text, "customer")
	return company, customer, err
}
