package booking

import (
	"context"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// CreateDiscountCode implements DiscountService.
func (s *Server) CreateDiscountCode(ctx context.Context, req *bookingv1.CreateDiscountCodeRequest) (*bookingv1.CreateDiscountCodeResponse, error) {
	company, err := s.companies.Of(ctx)
	if err != nil {
		return nil, err
	}
	c, err := discountOf(req, company.Currency)
	if err != nil {
		return nil, err
	}
	c.ID, c.CreatedAt = id.DiscountCode(s.newID()), pg.Instant(s.now())
	c.UpdatedAt = c.CreatedAt
	resp := &bookingv1.CreateDiscountCodeResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		existing, err := s.store.existingEvents(ctx, tx, company.ID, c.Events)
		if err != nil {
			return err
		}
		if err := c.checkEvents(existing); err != nil {
			return err
		}
		resp.DiscountCode = discountToProto(c)
		return s.store.insertDiscount(ctx, tx, company.ID, c)
	})
}

// GetDiscountCode implements DiscountService.
func (s *Server) GetDiscountCode(ctx context.Context, req *bookingv1.GetDiscountCodeRequest) (*bookingv1.GetDiscountCodeResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	c, err := s.discount(ctx, company.ID, req)
	if err != nil {
		return nil, err
	}
	return &bookingv1.GetDiscountCodeResponse{DiscountCode: discountToProto(c)}, nil
}

// discount reads a code by its identifier or its text.
func (s *Server) discount(ctx context.Context, company id.Company, req *bookingv1.GetDiscountCodeRequest) (*discountCode, error) {
	if req.GetId() == "" {
		if !isCode(req.GetCode()) {
			return nil, fault.Missing("discount code")
		}
		return s.store.discountByCode(ctx, company, req.GetCode())
	}
	which, err := check.ID[id.DiscountCode](req.GetId(), "discount code")
	if err != nil {
		return nil, err
	}
	return s.store.discount(ctx, company, which)
}

// ListDiscountCodes implements DiscountService.
func (s *Server) ListDiscountCodes(ctx context.Context, req *bookingv1.ListDiscountCodesRequest) (*bookingv1.ListDiscountCodesResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	p, err := page.Read(page.Of(req), discountsByCreation(), pageSizes())
	if err != nil {
		return nil, err
	}
	codes, total, err := s.store.discounts(ctx, company.ID, p)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.ListDiscountCodesResponse{Total: total}
	codes, resp.NextPageToken = page.Cut(p, codes, func(c *discountCode) page.Cursor { return page.Cursor{ID: c.ID.UUID()} })
	for i := range codes {
		resp.DiscountCodes = append(resp.DiscountCodes, discountToProto(&codes[i]))
	}
	return resp, nil
}

// UpdateDiscountCode implements DiscountService.
func (s *Server) UpdateDiscountCode(ctx context.Context, req *bookingv1.UpdateDiscountCodeRequest) (*bookingv1.UpdateDiscountCodeResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	which, err := check.ID[id.DiscountCode](req.GetId(), "discount code")
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.UpdateDiscountCodeResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		c, err := s.store.lockDiscount(ctx, tx, company.ID, which)
		if err != nil {
			return err
		}
		if err := changeDiscount(c, req); err != nil {
			return err
		}
		c.Version++
		c.UpdatedAt = pg.Instant(s.now())
		resp.DiscountCode = discountToProto(c)
		return s.store.saveDiscount(ctx, tx, company.ID, c)
	})
}
