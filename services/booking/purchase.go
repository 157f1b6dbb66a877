package booking

import (
	"context"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/tenancy"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/model"
)

// purchase is a purchase by a customer of a company that is being committed.
type purchase struct {
	model.Purchase
	company tenancy.Company
	cause   outbox.Cause // the request's trace, because a commit can serve several requests
}

// purchaseByCard makes the purchase of an order that is paid by card, and fills the response.
func (s *Server) purchaseByCard(ctx context.Context, req *bookingv1.CreateTransactionRequest, company tenancy.Company, o model.Order) (*bookingv1.CreateTransactionResponse, error) {
	resp := &bookingv1.CreateTransactionResponse{}
	p := &purchase{Purchase: model.Purchase{Order: o, Status: model.Confirmed}, company: company}
	err := s.settleOnce(ctx, req, resp, p, func() { resp.Transaction = convert.Transaction(p.Bought) })
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// settleOnce settles a purchase once per Idempotency-Key. answer fills resp from the purchase.
func (s *Server) settleOnce(ctx context.Context, req, resp proto.Message, p *purchase, answer func()) error {
	shared, err := s.settleInCommit(ctx, p, func(ctx context.Context, tx *pg.Tx) error {
		return idem.Do(ctx, tx, req, resp, func() error {
			if err := s.settleOne(ctx, tx, p); err != nil {
				return err
			}
			answer()
			return nil
		})
	})
	if err == nil && shared {
		answer()
	}
	return err
}

// settleInCommit chooses the commit of a purchase. Purchases of one date share commits. A purchase
// with an Idempotency-Key has its own commit, because its response is stored in it. A purchase of
// several dates has its own commit as well. In both cases alone settles the purchase.
func (s *Server) settleInCommit(ctx context.Context, p *purchase, alone func(ctx context.Context, tx *pg.Tx) error) (shared bool, err error) {
	date, one := p.OnlyDate()
	if !one || idem.Key(ctx) != "" {
		return false, s.store.Write(ctx, p.company.ID, alone)
	}
	p.cause = outbox.CauseOf(ctx)
	if err := s.queue.Do(ctx, queueKey{p.company.ID, date}, p); err != nil {
		return true, err
	}
	return true, p.Refused
}

// queueKey is the row that purchases of one date lock.
type queueKey struct {
	company id.Company
	date    id.EventDate
}

// commitPurchases settles purchases of one date in one commit, in their order. The error that it
// returns is an error of the commit; a refusal is recorded in its purchase.
func (s *Server) commitPurchases(ctx context.Context, key queueKey, purchases []*purchase) error {
	s.metrics.shared.Observe(float64(len(purchases)))
	return s.store.Write(ctx, key.company, func(ctx context.Context, tx *pg.Tx) error {
		return s.settle(ctx, tx, key.company, purchases)
	})
}

// settleOne settles one purchase in tx and returns the refusal, if any.
func (s *Server) settleOne(ctx context.Context, tx *pg.Tx, p *purchase) error {
	if err := s.settle(ctx, tx, p.company.ID, []*purchase{p}); err != nil {
		return err
	}
	return p.Refused
}

// settle decides purchases of one company in their order, and stores the granted ones with their
// events.
func (s *Server) settle(ctx context.Context, tx *pg.Tx, company id.Company, purchases []*purchase) error {
	var wanted model.Demand
	for _, p := range purchases {
		wanted.Add(&p.Order)
	}
	var kept tenancy.Company
	of, err := s.store.LockOffer(ctx, tx, company, wanted, s.companies.Query(company, &kept))
	if err != nil {
		return err
	}
	// The clock is read under the lock, so that a buyer who waited for the lock past the
	// start time is refused.
	now := s.now()
	var granted []*model.Purchase
	var events []outbox.Event
	for _, p := range purchases {
		p.Settle(of, now, p.company.Newest(kept).Timezone, s.newID)
		if p.Refused != nil {
			continue
		}
		granted = append(granted, &p.Purchase)
		if p.Status == model.Confirmed { // the others are announced when they are paid
			events = append(events, confirmations(p.Bought, p.cause)...)
		}
	}
	if len(granted) == 0 {
		return nil
	}
	var announced []pg.Query
	if len(events) > 0 {
		query, err := s.outbox.Query(ctx, tx, s.stamp(company, now, events)...)
		if err != nil {
			return err
		}
		announced = append(announced, query)
	}
	return s.store.SavePurchases(ctx, tx, company, of, granted, announced...)
}
