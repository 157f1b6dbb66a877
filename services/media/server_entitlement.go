package media

import (
	"context"

	"reservation.dev/platform/check"
	"reservation.dev/platform/customers"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
)

// CreateEntitlement implements MediaService.
func (s *Server) CreateEntitlement(ctx context.Context, req *mediav1.CreateEntitlementRequest) (*mediav1.CreateEntitlementResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	e, err := entitlementOf(req, s.today(company))
	if err == nil {
		err = s.requireHolders(ctx, company.ID, e)
	}
	if err != nil {
		return nil, err
	}
	e.ID, e.CreatedAt = id.Entitlement(s.newID()), s.clock(company)
	resp := &mediav1.CreateEntitlementResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		if !e.Customer.IsZero() {
			if err := customers.RequirePresent(ctx, tx, company.ID, e.Customer); err != nil {
				return err
			}
		}
		if same, ok, err := s.store.sameEntitlement(ctx, tx, company.ID, e); err != nil || ok {
			resp.Entitlement = entitlementMessage(same)
			return err
		}
		resp.Entitlement = entitlementMessage(e)
		addEntitlement(tx, company.ID, e)
		return s.outbox.Append(ctx, tx, entitlementCreated(company.ID, e))
	})
}

// requireHolders returns fault.NotFound unless the pass type, plan, event or customer of an entitlement
// exists.
func (s *Server) requireHolders(ctx context.Context, company id.Company, e Entitlement) error {
	switch {
	case !e.PassType.IsZero():
		return s.clients.requirePassType(ctx, company, e.PassType)
	case !e.Plan.IsZero():
		return s.clients.requirePlan(ctx, company, e.Plan)
	case !e.Event.IsZero():
		return s.clients.requireEvent(ctx, company, e.Event)
	}
	return s.clients.customers.Require(ctx, company, e.Customer)
}

// GetEntitlement implements MediaService.
func (s *Server) GetEntitlement(ctx context.Context, req *mediav1.GetEntitlementRequest) (*mediav1.GetEntitlementResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	entitlement, err := check.ID[id.Entitlement](req.GetId(), "entitlement")
	if err != nil {
		return nil, err
	}
	e, err := s.store.entitlement(ctx, company.ID, entitlement)
	if err != nil {
		return nil, err
	}
	return &mediav1.GetEntitlementResponse{Entitlement: entitlementMessage(e)}, nil
}

// ListEntitlements implements MediaService.
func (s *Server) ListEntitlements(ctx context.Context, req *mediav1.ListEntitlementsRequest) (*mediav1.ListEntitlementsResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	if o := req.GetOrder(); o == mediav1.MediaOrder_MEDIA_ORDER_UPDATED || o == mediav1.MediaOrder_MEDIA_ORDER_UPDATED_DESC {
		return nil, fault.InvalidParameter("order", "enum", "must be by creation, because entitlements do not change")
	}
	p, err := pageOf(req, entitlementOrders, "e")
	if err != nil {
		return nil, err
	}
	found, total, err := s.store.entitlements(ctx, company.ID, entitlementFilter{
		collection: id.Filter[id.Collection](req.GetCollectionId()), item: id.Filter[id.MediaItem](req.GetItemId()),
		customer: id.Filter[id.Customer](req.GetCustomerId()),
	}, p)
	if err != nil {
		return nil, err
	}
	resp := &mediav1.ListEntitlementsResponse{Total: total}
	found, resp.NextPageToken = page.Cut(p, found, func(e *Entitlement) page.Cursor { return page.At(e.CreatedAt, e.ID.UUID()) })
	for _, e := range found {
		resp.Entitlements = append(resp.Entitlements, entitlementMessage(e))
	}
	return resp, nil
}

// DeleteEntitlement implements MediaService.
func (s *Server) DeleteEntitlement(ctx context.Context, req *mediav1.DeleteEntitlementRequest) (*mediav1.DeleteEntitlementResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	entitlement, err := check.ID[id.Entitlement](req.GetId(), "entitlement")
	if err != nil {
		return nil, err
	}
	resp := &mediav1.DeleteEntitlementResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		e, err := s.store.lockEntitlement(ctx, tx, company.ID, entitlement)
		if err != nil {
			return err
		}
		deleteEntitlement(tx, company.ID, entitlement)
		return s.outbox.Append(ctx, tx, entitlementDeleted(company.ID, e))
	})
}
