package booking

import (
	"context"
	"errors"
	"strings"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// purchase is an order on its way through a commit.
type purchase struct {
	company Company
	order   order
	// What it is stored as, and until when; zero: confirmed.
	status    status
	expiresAt time.Time
	discount  id.DiscountCode // what it used
	cause     outbox.Cause    // the request's trace: a commit may serve several
	// Set by sell: one of the two.
	bought  *Transaction
	refused error
}

// date returns the date that all lines are for; false: there are several.
func (p *purchase) date() (id.EventDate, bool) {
	first := p.order.lines[0].date
	for _, l := range p.order.lines[1:] {
		if l.date != first {
			return id.EventDate{}, false
		}
	}
	return first, true
}

// purchase settles one order. Those for one date queue at the desk. One under an
// idempotency key has a commit of its own, in which its answer is stored, and so
// has one for several dates.
func (s *Server) purchase(ctx context.Context, req *bookingv1.CreateTransactionRequest, company Company, o order) (*bookingv1.CreateTransactionResponse, error) {
	p := &purchase{company: company, order: o, status: confirmed}
	if date, one := p.date(); one && idem.Key(ctx) == "" {
		if err := s.desk.buy(ctx, date, p); err != nil {
			return nil, err
		}
		return &bookingv1.CreateTransactionResponse{Transaction: transactionToProto(p.bought)}, nil
	}
	resp := &bookingv1.CreateTransactionResponse{}
	err := s.write(ctx, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		if err := s.settle(ctx, tx, company.ID, []*purchase{p}); err != nil {
			return err
		}
		if p.refused != nil {
			return p.refused
		}
		resp.Transaction = transactionToProto(p.bought)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// sell settles purchases of one company in one commit, in their order. Its error
// is about the commit; what is refused is said in each.
func (s *Server) sell(ctx context.Context, company id.Company, purchases []*purchase) error {
	return s.store.inTx(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		return s.settle(ctx, tx, company, purchases)
	})
}

func (s *Server) settle(ctx context.Context, tx *pg.Tx, company id.Company, purchases []*purchase) error {
	var dates []id.EventDate
	var customers []id.Customer
	var codes []string
	for _, p := range purchases {
		if codeFormat.MatchString(p.order.code) { // no other exists
			codes = append(codes, strings.ToLower(p.order.code))
		}
		customers = append(customers, p.order.customers()...)
		for _, l := range p.order.lines {
			dates = append(dates, l.date)
		}
	}
	of, err := s.store.lockOffer(ctx, tx, company, distinct(dates), distinct(customers), codes)
	if err != nil {
		return err
	}
	// The clock is read under the lock: who waited for it past the start is late.
	now := s.now()
	var settled []*purchase
	var events []outbox.Event
	for _, p := range purchases {
		p.bought, p.refused = nil, nil // this may be a repetition
		bookings, err := of.grant(&p.order, now)
		if err != nil {
			p.refused = err
			continue
		}
		p.bought = s.confirm(p, of, bookings, now)
		settled = append(settled, p)
		if p.order.code != "" {
			p.discount = of.codes[strings.ToLower(p.order.code)].ID
		}
		if p.status != confirmed {
			continue // nobody is told before it is paid
		}
		for i := range p.bought.Bookings {
			e := bookingConfirmed(snapshotToProto(p.bought, &p.bought.Bookings[i]))
			e.Cause = p.cause
			events = append(events, e)
		}
	}
	if len(settled) == 0 {
		return nil
	}
	queries := of.save(company, settled)
	if len(events) > 0 {
		told, err := s.outbox.Query(ctx, tx, s.stamp(company, now, events)...)
		if err != nil {
			return err
		}
		queries = append(queries, told)
	}
	return tx.Pipeline(ctx, queries...)
}

// confirm makes the transaction of bookings that were granted.
func (s *Server) confirm(p *purchase, of *offer, bookings []Booking, now time.Time) *Transaction {
	t := &Transaction{
		ID: id.Transaction(s.newID()), Purchaser: of.customers[p.order.purchaser].Customer,
		PurchasedAt: now.Truncate(time.Second), Timezone: p.company.newest(of.company).Timezone, Version: 1, Bookings: bookings,
	}
	for i := range t.Bookings {
		t.Bookings[i].ID = id.Booking(s.newID())
	}
	return t
}

// asUnknown reports an error about customers who may exist nevertheless.
func asUnknown(err error) (*unknownCustomers, bool) {
	var unknown *unknownCustomers
	ok := errors.As(err, &unknown)
	return unknown, ok
}
