package booking

import (
	"context"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/store"
)

// CreateDiscountCode implements DiscountService.
func (s *Server) CreateDiscountCode(ctx context.Context, req *bookingv1.CreateDiscountCodeRequest) (*bookingv1.CreateDiscountCodeResponse, error) {
	company, err := s.companies.Of(ctx)
	if err != nil {
		return nil, err
	}
	c, err := convert.NewDiscountCode(req, company.Currency)
	if err != nil {
		return nil, err
	}
	c.ID, c.CreatedAt = id.DiscountCode(s.newID()), pg.Instant(s.clock(company))
	c.UpdatedAt = c.CreatedAt
	resp := &bookingv1.CreateDiscountCodeResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		existing, err := s.store.ExistingEvents(ctx, tx, company.ID, c.Events)
		if err != nil {
			return err
		}
		if err := c.CheckEvents(existing); err != nil {
			return err
		}
		resp.DiscountCode = convert.DiscountCode(c)
		if err := s.store.InsertDiscount(ctx, tx, company.ID, c); err != nil {
			return err
		}
		return s.outbox.AppendChange(ctx, tx, company.ID, c.ID, outbox.Fact{Field: "code", Value: c.Code})
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
	return &bookingv1.GetDiscountCodeResponse{DiscountCode: convert.DiscountCode(c)}, nil
}

// discount reads a code by its identifier or its text.
func (s *Server) discount(ctx context.Context, company id.Company, req *bookingv1.GetDiscountCodeRequest) (*model.DiscountCode, error) {
	if req.GetId() == "" {
		if !model.IsDiscountCode(req.GetCode()) {
			return nil, fault.Missing("discount code")
		}
		return s.store.DiscountByCode(ctx, company, req.GetCode())
	}
	which, err := check.ID[id.DiscountCode](req.GetId(), "discount code")
	if err != nil {
		return nil, err
	}
	return s.store.Discount(ctx, company, which)
}

// ListDiscountCodes implements DiscountService.
func (s *Server) ListDiscountCodes(ctx context.Context, req *bookingv1.ListDiscountCodesRequest) (*bookingv1.ListDiscountCodesResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	q, err := discountQuery(req)
	if err != nil {
		return nil, err
	}
	codes, total, err := s.store.Discounts(ctx, company.ID, q)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.ListDiscountCodesResponse{Total: total}
	codes, resp.NextPageToken = page.Cut(q.Page, codes, q.Next)
	for i := range codes {
		resp.DiscountCodes = append(resp.DiscountCodes, convert.DiscountCode(&codes[i]))
	}
	return resp, nil
}

// discountQuery reads a list request.
func discountQuery(req *bookingv1.ListDiscountCodesRequest) (*store.DiscountQuery, error) {
	order := store.DiscountsByCreation()
	switch req.GetOrder() {
	case bookingv1.DiscountOrder_DISCOUNT_ORDER_UNSPECIFIED, bookingv1.DiscountOrder_DISCOUNT_ORDER_CREATED:
	case bookingv1.DiscountOrder_DISCOUNT_ORDER_CREATED_DESC:
		order = store.DiscountsByCreationDesc()
	case bookingv1.DiscountOrder_DISCOUNT_ORDER_UPDATED:
		order = store.DiscountsByChange()
	case bookingv1.DiscountOrder_DISCOUNT_ORDER_UPDATED_DESC:
		order = store.DiscountsByChangeDesc()
	default:
		return nil, fault.InvalidParameter("order", "enum", "is not an order of discount codes")
	}
	q := &store.DiscountQuery{}
	var err error
	if q.Page, err = page.Read(page.Of(req), order, pageSizes()); err != nil {
		return nil, err
	}
	q.Since, err = check.Bound("updated_since", req.GetUpdatedSince())
	return q, err
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
		c, err := s.store.LockDiscount(ctx, tx, company.ID, which)
		if err != nil {
			return err
		}
		if err := check.Version(c.Version, req.ExpectedVersion, "discount code"); err != nil {
			return err
		}
		before := *c
		if err := convert.ChangeDiscountCode(c, req); err != nil {
			return err
		}
		// An event that the code has can be deleted, and then stays.
		existing, err := s.store.ExistingEvents(ctx, tx, company.ID, c.Events)
		if err != nil {
			return err
		}
		if err := c.CheckEvents(append(existing, before.Events...)); err != nil {
			return err
		}
		if resp.DiscountCode = convert.DiscountCode(c); proto.Equal(resp.DiscountCode, convert.DiscountCode(&before)) {
			return nil
		}
		c.Version++
		c.UpdatedAt = pg.Instant(s.clock(company))
		resp.DiscountCode = convert.DiscountCode(c)
		if err := s.store.SaveDiscount(ctx, tx, company.ID, c); err != nil {
			return err
		}
		return s.outbox.AppendChange(ctx, tx, company.ID, c.ID, outbox.Fact{Field: "code", Value: c.Code})
	})
}
