package pass

import (
	"cmp"
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/check"
	"reservation.dev/platform/customers"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// SyncPlanPassType implements SubscriptionPassService.
func (s *Server) SyncPlanPassType(ctx context.Context, req *passv1.SyncPlanPassTypeRequest) (*passv1.SyncPlanPassTypeResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	var f check.Fields
	t, err := newPlanPassType(&f, "pass_type", req.GetPassType())
	if err == nil {
		err = f.Err()
	}
	if err != nil {
		return nil, err
	}
	resp := &passv1.SyncPlanPassTypeResponse{}
	return idem.Write(ctx, repeating{s.store}, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		_, err := s.syncPassType(ctx, tx, company, t)
		return err
	})
}

// syncPassType stores the pass type of a plan, unless the stored one has the same or a newer version of
// the plan. It returns the stored pass type, and locks it only to change it.
func (s *Server) syncPassType(ctx context.Context, tx *pg.Tx, company tenant, t PassType) (PassType, error) {
	before, err := s.store.findPassType(ctx, tx, company.ID, t.ID, false)
	if err == nil && before != nil && isNewer(t, *before) {
		before, err = s.store.findPassType(ctx, tx, company.ID, t.ID, true)
	}
	now := s.clock(company)
	switch {
	case err != nil:
		return t, err
	case before == nil:
		t.CreatedAt, t.UpdatedAt = now, now
		addPassType(tx, company.ID, t)
		return t, s.outbox.Append(ctx, tx, passTypeCreated(company.ID, passTypeMessage(t)))
	case !before.ofPlan():
		return t, fault.Missing("plan")
	case !isNewer(t, *before):
		return *before, nil
	}
	t.CreatedAt, t.UpdatedAt, t.Version = before.CreatedAt, now, before.Version+1
	savePassType(tx, company.ID, t)
	return t, s.outbox.Append(ctx, tx, passTypeUpdated(company.ID, passTypeMessage(t)))
}

// isNewer reports whether t has a newer version of the plan than a stored pass type.
func isNewer(t, stored PassType) bool {
	return stored.ofPlan() && *t.PlanVersion > *stored.PlanVersion
}

// SyncSubscriptionPass implements SubscriptionPassService.
func (s *Server) SyncSubscriptionPass(ctx context.Context, req *passv1.SyncSubscriptionPassRequest) (*passv1.SyncSubscriptionPassResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	in, err := newPassSync(req)
	if err != nil {
		return nil, err
	}
	created, err := s.newSubscriptionPass(ctx, company, in, req)
	if err != nil {
		return nil, err
	}
	resp := &passv1.SyncSubscriptionPassResponse{}
	return idem.Write(ctx, repeating{s.store}, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		return s.syncPass(ctx, tx, company, in, created, resp)
	})
}

// newSubscriptionPass returns the pass to create, without credits, and checks its customer and payment.
// It returns nil if the pass exists.
func (s *Server) newSubscriptionPass(ctx context.Context, company tenant, in passSync, req *passv1.SyncSubscriptionPassRequest) (*CustomerPass, error) {
	_, err := s.store.customerPass(ctx, company.ID, in.pass)
	if !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	err = s.customers.Require(ctx, company.ID, in.customer)
	if fault.Is(err, fault.NotFound) {
		if _, err = s.customers.Deleted(ctx, company.ID, in.customer); err == nil {
			err = customerDeleted()
		}
	}
	if err != nil {
		return nil, err
	}
	if in.passType == nil {
		return nil, fault.InvalidFields(fault.Field{Field: "pass_type", Rule: "required", Message: "is required to create the pass"})
	}
	paid := *in.passType
	paid.Currency = cmp.Or(req.GetPurchase().GetCurrency(), paid.Currency)
	p, err := newPurchase(req.GetPurchase(), paid)
	p.ID, p.CustomerID, p.PassTypeID, p.Title, p.Version = in.pass, in.customer, in.passType.ID, in.passType.Title, 1
	return &p, err
}

// syncPass applies the state and the grants of a subscription to its pass, and fills resp. created is the
// pass if it does not exist yet.
func (s *Server) syncPass(ctx context.Context, tx *pg.Tx, company tenant, in passSync, created *CustomerPass, resp *passv1.SyncSubscriptionPassResponse) error {
	present, err := customers.Present(ctx, tx, company.ID, in.customer)
	if err != nil {
		return err
	}
	p, grants, exists, err := s.store.lockSubscriptionPass(ctx, tx, company.ID, in)
	if err == nil {
		err = checkSynced(p, in.customer, exists, present, created)
	}
	if err != nil {
		return err
	}
	if in.passType != nil {
		t, err := s.syncPassType(ctx, tx, company, *in.passType)
		if err != nil {
			return err
		}
		in.passType = &t
	}
	at := s.moment(company)
	if !exists {
		p = *created
		p.CreatedAt, p.UpdatedAt, p.CreatedOn = at.now, at.now, &at.today
	}
	before, added := changing(&p), entries{actor: rpc.Caller(ctx)}
	made, err := p.sync(in, at, &added)
	if err != nil {
		return err
	}
	changed := len(made) > 0 || p.SubscriptionVersion > before.before.SubscriptionVersion
	if changed && !present && p.Status != statusCancelled {
		return customerDeleted()
	}
	if changed {
		if err := s.saveSynced(ctx, tx, company, before, exists, in, made, added, at); err != nil {
			return err
		}
	}
	fillSynced(resp, customerPassMessage(p, company.zone, at.today), p, in, grants, made)
	return nil
}

// checkSynced refuses the pass of another customer, a pass that no subscription has, and a new pass for
// a deleted customer.
func checkSynced(p CustomerPass, customer id.Customer, exists, present bool, created *CustomerPass) error {
	switch {
	case exists && !p.ofSubscription():
		return fault.Missing("subscription")
	case exists && p.CustomerID != customer:
		return fault.InvalidParameter("customer_id", "immutable", "must be the customer who has the pass")
	case !exists && created == nil: // a reset of test data deleted it
		return fault.Away(errors.New("the pass was deleted during the request"))
	case !exists && !present:
		return customerDeleted()
	}
	return nil
}

// saveSynced stores a new or changed pass of a subscription, with its ledger entries, its grants and at
// most one event.
func (s *Server) saveSynced(ctx context.Context, tx *pg.Tx, company tenant, c change, exists bool, in passSync, made []grant, added entries, at moment) error {
	var event *outbox.Event
	if entries := ledgerMessages(added.of(c.pass, at), company.zone); !exists {
		tx.Queue(addSubscriptionPass(company.ID, c.pass)...)
		announce := customerPassAssigned
		if in.quiet {
			announce = customerPassImported
		}
		event = new(announce(company.ID, customerPassMessage(*c.pass, company.zone, at.today), passTypeMessage(*in.passType), entries))
	} else {
		event = s.changedBySync(company, c, entries, at)
		tx.Queue(saveSubscriptionPass(company.ID, c.pass))
	}
	tx.Queue(appendLedger(company.ID, at, added)...)
	tx.Queue(addGrants(company.ID, c.pass.ID, made)...)
	if event == nil {
		return nil
	}
	return s.outbox.Append(ctx, tx, *event)
}

// changedBySync returns the event of a changed pass, which has a new version. It returns nil if readers
// of the pass and of its ledger see no change.
func (s *Server) changedBySync(company tenant, c change, entries []*passv1.LedgerEntry, at moment) *outbox.Event {
	previous := customerPassMessage(c.before, company.zone, at.today)
	if len(entries) == 0 && proto.Equal(previous, customerPassMessage(*c.pass, company.zone, at.today)) {
		return nil
	}
	c.pass.Version++
	c.pass.UpdatedAt = at.now
	return new(customerPassUpdated(company.ID, customerPassMessage(*c.pass, company.zone, at.today), previous, entries))
}

// fillSynced fills the response with what the service has after the request.
func fillSynced(resp *passv1.SyncSubscriptionPassResponse, shown *passv1.CustomerPass, p CustomerPass, in passSync, known map[int32]grant, made []grant) {
	resp.CustomerPass, resp.Version, resp.StateId, resp.LastPeriod = shown, p.SubscriptionVersion, p.SubscriptionState, p.LastPeriod
	for _, g := range made {
		known[g.Period] = g
	}
	for _, g := range in.grants {
		resp.Grants = append(resp.Grants, grantMessage(p.ID, known[g.period]))
	}
}

// ExportPassGrants implements SubscriptionPassService.
func (s *Server) ExportPassGrants(_ *passv1.ExportPassGrantsRequest, out grpc.ServerStreamingServer[passv1.ExportPassGrantsResponse]) error {
	company, err := s.tenant(out.Context())
	if err != nil {
		return err
	}
	chunk := &passv1.ExportPassGrantsResponse{}
	err = s.store.exportGrants(out.Context(), company.ID, func(pass id.CustomerPass, g grant) error {
		chunk.Grants = append(chunk.Grants, grantMessage(pass, g))
		if len(chunk.GetGrants()) < redemptionChunk {
			return nil
		}
		err := out.Send(chunk)
		chunk = &passv1.ExportPassGrantsResponse{}
		return err
	})
	if err != nil || len(chunk.GetGrants()) == 0 {
		return err
	}
	return out.Send(chunk)
}
