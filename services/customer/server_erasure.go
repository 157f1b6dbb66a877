package customer

import (
	"context"

	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/privacy"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/tenancy"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

// Erasures implements ErasureService.
type Erasures struct {
	privacyv1.UnimplementedErasureServiceServer
	*Server
}

// EraseCustomer implements ErasureService.
func (s Erasures) EraseCustomer(ctx context.Context, req *privacyv1.EraseCustomerRequest) (*privacyv1.EraseCustomerResponse, error) {
	company, customer, err := s.clockedCustomer(ctx, req.GetCustomerId())
	if err != nil {
		return nil, err
	}
	unconfirmed := false
	err = s.store.Write(ctx, company.ID, func(ctx context.Context, tx *pg.Tx) error {
		resp := &privacyv1.EraseCustomerResponse{}
		// The effect happens once per key. The response is not stored, because it reports the
		// progress.
		err := idem.Do(ctx, tx, req, resp, func() error { return s.erase(ctx, tx, company, customer, req.GetRepeat()) })
		if err == nil {
			unconfirmed, err = s.store.unconfirmed(ctx, tx, company.ID, customer)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if unconfirmed {
		if err := s.confirmErasure(ctx, company.ID, customer); err != nil {
			return nil, err
		}
	}
	e, answers, err := s.store.erasure(ctx, company.ID, customer)
	if err != nil {
		return nil, err
	}
	return &privacyv1.EraseCustomerResponse{Erasure: erasureMessage(e, answers)}, nil
}

// confirmErasure gets confirmations that the other services no longer serve the customer. The
// rounds of the erasure do not wait for it.
func (s *Server) confirmErasure(ctx context.Context, company id.Company, customer id.Customer) error {
	if err := s.confirm(ctx, customer); err != nil {
		return err
	}
	return s.store.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		_, err := s.store.confirmed(ctx, tx, company, customer)
		return err
	})
}

// erase overwrites the customer and announces the erasure, or finds that this is already done. The erasure
// keeps to the real time.
func (s *Server) erase(ctx context.Context, tx *pg.Tx, company tenancy.Company, customer id.Customer, repeat bool) error {
	c, err := s.store.lockAny(ctx, tx, company.ID, customer)
	if err != nil {
		return err
	}
	now := pg.Instant(s.now())
	e, err := s.store.erasureIn(ctx, tx, company.ID, customer)
	switch {
	case err != nil:
		return err
	case e == nil:
		e = &Erasure{
			Company: company.ID, Customer: customer, RequestedBy: rpc.Caller(ctx), RequestedAt: now, Round: 1, LastRound: rounds, AnnouncedAt: now,
		}
		if c.Reference != nil {
			e.ReferenceDigest = referenceDigest(company.ID, *c.Reference)
		}
	case !repeat:
		return nil
	default:
		e.restart(now)
	}
	counted := c.DeletedAt == nil
	c.Erase(company.Now(now))
	// A repeated erasure is for databases that may have the customer again.
	if err := s.store.erase(ctx, tx, company.ID, c, erasureChange{counted: counted, unconfirmed: counted || repeat}); err != nil {
		return err
	}
	if err := s.store.saveErasure(ctx, tx, *e); err != nil {
		return err
	}
	if err := privacy.Mark(ctx, tx, company.ID, customer, now); err != nil {
		return err
	}
	if err := privacy.ForgetAnswers(ctx, tx, company.ID, customer); err != nil {
		return err
	}
	// For consumers that do not handle erasures it is a deletion.
	return s.outbox.Append(ctx, tx, deleted(company, c), erased(*e, c))
}

// GetErasure implements ErasureService.
func (s Erasures) GetErasure(ctx context.Context, req *privacyv1.GetErasureRequest) (*privacyv1.GetErasureResponse, error) {
	company, customer, err := customerOf(ctx, req.GetCustomerId())
	if err != nil {
		return nil, err
	}
	e, answers, err := s.store.erasure(ctx, company, customer)
	if err != nil {
		return nil, err
	}
	return &privacyv1.GetErasureResponse{Erasure: erasureMessage(e, answers)}, nil
}

// erasureOrder is the code of the order of erasures in page tokens.
const erasureOrder = 5

// ListErasures implements ErasureService.
func (s Erasures) ListErasures(ctx context.Context, req *privacyv1.ListErasuresRequest) (*privacyv1.ListErasuresResponse, error) {
	company, err := rpc.Tenant(ctx)
	if err != nil {
		return nil, err
	}
	p, err := page.Read(page.Of(req), page.Order{Code: erasureOrder}, pageSizes())
	if err != nil {
		return nil, err
	}
	list, answers, err := s.store.erasures(ctx, company, p)
	if err != nil {
		return nil, err
	}
	resp := &privacyv1.ListErasuresResponse{}
	list, resp.NextPageToken = page.Cut(p, list, func(e *Erasure) page.Cursor { return page.Cursor{ID: e.Customer.UUID()} })
	for _, e := range list {
		resp.Erasures = append(resp.Erasures, erasureMessage(e, answers[e.Customer]))
	}
	return resp, nil
}
