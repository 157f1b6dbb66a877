package pass

import (
	"context"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/privacy"
	"reservation.dev/platform/rpc"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// AssignCustomerPass implements PassService.
func (s *Server) AssignCustomerPass(ctx context.Context, req *passv1.AssignCustomerPassRequest) (*passv1.AssignCustomerPassResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	p, t, err := s.newCustomerPass(ctx, company, req)
	if err != nil {
		return nil, err
	}
	resp := &passv1.AssignCustomerPassResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		resp.CustomerPass = customerPassMessage(p, company.zone, dayOf(p.CreatedAt, company.zone))
		if err := s.store.requirePresent(ctx, tx, company.ID, p.CustomerID, t.ID); err != nil {
			return err
		}
		addCustomerPass(tx, company.ID, p, rpc.Caller(ctx))
		first := LedgerEntry{
			Sequence: 1, Kind: entryAssigned, Credits: p.RemainingUses, Balance: p.RemainingUses, Actor: rpc.Caller(ctx), CreatedAt: p.CreatedAt, Day: p.CreatedOn,
		}
		return s.outbox.Append(ctx, tx, customerPassAssigned(company.ID, resp.GetCustomerPass(), passTypeMessage(t), ledgerMessages([]LedgerEntry{first}, company.zone)))
	})
}

// newCustomerPass returns the pass that a request assigns, and its type.
func (s *Server) newCustomerPass(ctx context.Context, company tenant, req *passv1.AssignCustomerPassRequest) (p CustomerPass, t PassType, err error) {
	a, err := assignmentOf(req, s.today(company))
	if err != nil {
		return p, t, err
	}
	if t, err = s.store.passType(ctx, company.ID, a.passType); err != nil {
		return p, t, err
	}
	switch {
	case t.ofPlan():
		return p, t, passOfSubscription()
	case t.Status == typeArchived:
		return p, t, archivedType()
	}
	if p, err = newPurchase(req.GetPurchase(), t); err != nil {
		return p, t, err
	}
	err = s.customers.Require(ctx, company.ID, a.customer)
	p.start(t, a.customer, a.start)
	p.ID, p.CreatedAt = id.CustomerPass(s.newID()), s.clock(company)
	p.UpdatedAt, p.CreatedOn = p.CreatedAt, new(dayOf(p.CreatedAt, company.zone))
	return p, t, err
}

// GetCustomerPass implements PassService.
func (s *Server) GetCustomerPass(ctx context.Context, req *passv1.GetCustomerPassRequest) (*passv1.GetCustomerPassResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	pass, err := check.ID[id.CustomerPass](req.GetId(), "customer pass")
	if err != nil {
		return nil, err
	}
	p, err := s.store.customerPass(ctx, company.ID, pass)
	if customer := req.GetCustomerId(); err == nil && customer != "" {
		err = s.requireHolder(ctx, company.ID, customer, p)
	}
	if err != nil {
		return nil, err
	}
	return &passv1.GetCustomerPassResponse{CustomerPass: customerPassMessage(p, company.zone, s.today(company))}, nil
}

// requireHolder returns fault.NotFound unless the customer holds p and exists.
func (s *Server) requireHolder(ctx context.Context, company id.Company, customer string, p CustomerPass) error {
	if p.CustomerID.String() != customer {
		return fault.Missing("customer pass")
	}
	return s.requireCustomer(ctx, company, customer)
}

// requireCustomer returns fault.NotFound unless the customer exists and is not deleted.
func (s *Server) requireCustomer(ctx context.Context, company id.Company, identifier string) error {
	customer, err := check.ID[id.Customer](identifier, "customer")
	if err != nil {
		return err
	}
	return s.customers.Require(ctx, company, customer)
}

// ListCustomerPasses implements PassService.
func (s *Server) ListCustomerPasses(ctx context.Context, req *passv1.ListCustomerPassesRequest) (*passv1.ListCustomerPassesResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	p, err := pageOf(req)
	if err != nil {
		return nil, err
	}
	today := s.today(company)
	f, err := customerPassFilterOf(req, today)
	if err == nil && req.GetCustomerMustExist() {
		err = s.requireCustomer(ctx, company.ID, req.GetCustomerId())
	}
	if err != nil {
		return nil, err
	}
	passes, total, err := s.store.customerPasses(ctx, company.ID, f, p)
	if err != nil {
		return nil, err
	}
	resp := &passv1.ListCustomerPassesResponse{Total: total}
	passes, resp.NextPageToken = page.Cut(p, passes, func(c *CustomerPass) page.Cursor { return page.At(sortedBy(p, c.CreatedAt, c.UpdatedAt), c.ID.UUID()) })
	for _, c := range passes {
		resp.CustomerPasses = append(resp.CustomerPasses, customerPassMessage(c, company.zone, today))
	}
	return resp, nil
}

// ListLedgerEntries implements PassService.
func (s *Server) ListLedgerEntries(ctx context.Context, req *passv1.ListLedgerEntriesRequest) (*passv1.ListLedgerEntriesResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	pass, err := check.ID[id.CustomerPass](req.GetCustomerPassId(), "customer pass")
	if err != nil {
		return nil, err
	}
	order := page.Order{Code: ledgerOrder, Within: pass.UUID()}
	if req.GetDescending() {
		order.Code, order.Desc = ledgerOrderDesc, true
	}
	p, err := page.Read(page.Of(req), order, page.Sizes{Default: 200, Max: 1000})
	if err != nil {
		return nil, err
	}
	entries, total, err := s.store.ledger(ctx, company.ID, pass, p)
	if err != nil {
		return nil, err
	}
	resp := &passv1.ListLedgerEntriesResponse{Total: total}
	entries, resp.NextPageToken = page.Cut(p, entries, func(e *LedgerEntry) page.Cursor { return page.Cursor{Key: e.Sequence} })
	for _, e := range entries {
		resp.Entries = append(resp.Entries, ledgerMessage(e, company.zone))
	}
	return resp, nil
}

// AdjustCredits implements PassService.
func (s *Server) AdjustCredits(ctx context.Context, req *passv1.AdjustCreditsRequest) (*passv1.AdjustCreditsResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	pass, err := check.ID[id.CustomerPass](req.GetCustomerPassId(), "customer pass")
	if err != nil {
		return nil, err
	}
	if err := checkAdjustment(req); err != nil {
		return nil, err
	}
	resp := &passv1.AdjustCreditsResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		p, err := s.store.lockCustomerPass(ctx, tx, company.ID, pass)
		if err != nil {
			return err
		}
		uses, err := p.adjusted(req.GetCredits())
		if err != nil {
			return err
		}
		p, err = s.change(ctx, tx, company, p, passChange{uses: &uses}, req.GetReason())
		resp.CustomerPass = customerPassMessage(p, company.zone, s.today(company))
		return err
	})
}

// UpdateCustomerPass implements PassService.
func (s *Server) UpdateCustomerPass(ctx context.Context, req *passv1.UpdateCustomerPassRequest) (*passv1.UpdateCustomerPassResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	pass, err := check.ID[id.CustomerPass](req.GetId(), "customer pass")
	if err != nil {
		return nil, err
	}
	change, err := newPassChange(req)
	if err != nil {
		// A pass that does not exist is reported before faults of the change.
		if _, missing := s.store.customerPass(ctx, company.ID, pass); missing != nil {
			return nil, missing
		}
		return nil, err
	}
	resp := &passv1.UpdateCustomerPassResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		p, err := s.store.lockCustomerPass(ctx, tx, company.ID, pass)
		if err != nil {
			return err
		}
		if err := check.Version(p.Version, req.ExpectedVersion, "customer pass"); err != nil {
			return err
		}
		if p.ofSubscription() && p.changes(change, s.today(company)) {
			return passOfSubscription()
		}
		p, err = s.change(ctx, tx, company, p, change, req.GetReason())
		resp.CustomerPass = customerPassMessage(p, company.zone, s.today(company))
		return err
	})
}

// change applies a change to a locked pass. If the change has no effect, nothing is stored.
func (s *Server) change(ctx context.Context, tx *pg.Tx, company tenant, p CustomerPass, c passChange, reason string) (CustomerPass, error) {
	locked := changing(&p)
	changed, credits, err := p.apply(c, s.clock(company), company.zone)
	if err != nil || !changed {
		return p, err
	}
	adjusted := entries{kind: entryAdjusted, actor: rpc.Caller(ctx), reason: &reason}
	erased, err := privacy.Erased(ctx, tx, company.ID, p.CustomerID)
	if err != nil {
		return p, err
	}
	if erased { // the reason may contain personal data
		adjusted.reason = nil
	}
	if credits != 0 {
		adjusted.add(&p, credits)
	}
	err = s.savePasses(ctx, tx, company, []change{locked}, adjusted)
	return p, err
}

// savePasses stores changed passes when tx commits, with their ledger entries and one event each.
func (s *Server) savePasses(ctx context.Context, tx *pg.Tx, company tenant, passes []change, e entries) error {
	at := s.moment(company)
	events := make([]outbox.Event, len(passes))
	for n, c := range passes {
		c.pass.Version++
		c.pass.UpdatedAt = at.now
		events[n] = customerPassUpdated(company.ID, customerPassMessage(*c.pass, company.zone, at.today),
			customerPassMessage(c.before, company.zone, at.today), ledgerMessages(e.of(c.pass, at), company.zone))
	}
	tx.Queue(saveCustomerPasses(company.ID, at, passes, e)...)
	return s.outbox.Append(ctx, tx, events...)
}
