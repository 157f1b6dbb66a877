package booking

import (
	"context"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/tenancy"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/commitqueue"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/store"
)

// Purchases of a company share commits (package commitqueue). A commit makes two round trips. The
// first locks the Idempotency-Keys, then the pending transactions to confirm, then the dates, and
// reads everything that decides. The second stores everything and commits.

// lockWait is the longest time that a shared commit waits for a lock. Its purchases are tried again
// after that, so that a lock does not keep a connection.
const lockWait = 100 * time.Millisecond

// purchase is a purchase by a customer of a company that is being committed: first the order, and if
// it is paid by pass, later its confirmation.
type purchase struct {
	model.Purchase
	company tenancy.Company
	cause   outbox.Cause // the request's trace, because a commit can serve several requests

	key    *idem.Request // nil: none
	resp   proto.Message
	answer func() // fills resp from the purchase
	// replayed reports that resp is the stored response of an earlier request with the key.
	replayed bool

	slot *slotPurchase // the slot that an appointment takes; nil: the dates of the order exist

	// The second step of a purchase by pass: Bought is pending, and paid has taken its credits.
	confirming bool
	paid       passPayment
}

// newPurchase returns the purchase of an order. answer fills resp once it is bought.
func newPurchase(ctx context.Context, req, resp proto.Message, company tenancy.Company, of model.Purchase) (*purchase, error) {
	key, err := idem.RequestOf(ctx, req)
	if err != nil {
		return nil, err
	}
	of.CreatedBy = rpc.Caller(ctx)
	p := &purchase{Purchase: of, company: company, cause: outbox.CauseOf(ctx), key: key, resp: resp}
	if key != nil {
		p.Request = model.RequestKey{Key: key.Fingerprint(), Hash: key.Hash(), Kind: key.Kind()}
	}
	return p, nil
}

// purchaseByCard makes the purchase of an order that is paid by card.
func (s *Server) purchaseByCard(ctx context.Context, req *bookingv1.CreateTransactionRequest, company tenancy.Company, o model.Order) (*bookingv1.CreateTransactionResponse, error) {
	resp := &bookingv1.CreateTransactionResponse{}
	p, err := newPurchase(ctx, req, resp, company, model.Purchase{Order: o, Status: model.Confirmed})
	if err != nil {
		return nil, err
	}
	p.answer = func() { resp.Transaction = convert.Transaction(p.Bought) }
	if err := s.commit(ctx, p); err != nil {
		return nil, err
	}
	return resp, nil
}

// commit settles or confirms a purchase in a shared commit, and fills its response if it is complete.
func (s *Server) commit(ctx context.Context, p *purchase) error {
	var rows []id.EventDate
	if !p.confirming {
		rows = p.Order.Dates()
	}
	if err := s.purchases.Do(ctx, p.company.ID, p, rows...); err != nil {
		return err
	}
	if p.Refused == nil && p.key == nil && p.completes() {
		p.fill()
	}
	return p.Refused
}

// fill fills the response, if the purchase has one.
func (p *purchase) fill() {
	if p.answer != nil {
		p.answer()
	}
}

// completes reports whether this commit is the last step of the purchase.
func (p *purchase) completes() bool { return p.confirming || p.Status != model.Pending }

// commitPurchases settles and confirms purchases of a company in one commit, in their order. The
// error that it returns is an error of the commit; a refusal is recorded in its purchase.
func (s *Server) commitPurchases(ctx context.Context, company id.Company, purchases []*purchase, wait bool) (left []int, err error) {
	s.metrics.shared.Observe(float64(len(purchases)))
	err = s.store.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		c := &sharedCommit{Server: s, tx: tx, company: company, purchases: purchases}
		if err := c.lock(ctx, wait, wait && len(purchases) == 1, pg.LimitLockWait(lockWait), pg.ByIndex()); err != nil {
			return err
		}
		if err := c.decide(ctx); err != nil {
			return err
		}
		left = c.left
		return c.save(ctx)
	})
	if pg.LockTimedOut(err) {
		return nil, commitqueue.ErrLocked
	}
	return left, err
}

// sharedCommit is a commit of several purchases.
type sharedCommit struct {
	*Server
	tx        *pg.Tx
	company   id.Company
	purchases []*purchase

	kept    tenancy.Company
	offer   *model.Offer
	locked  store.Locked // by another process, and the dates of purchases that are left out
	left    []int        // purchases that are left out because of them
	freed   bool         // a slot of a purchase that was refused or left out afterwards
	payable store.Payable
	begun   map[string]store.Begun

	calendars sharedCalendars // of slots

	clock  tenancy.Company // the newest facts
	now    time.Time       // by the company's clock
	sale   store.Sale
	events []outbox.Event
}

// lock locks and reads everything that the purchases name, after it has run first, in one round trip.
// It waits for dates only if wait is set, and for other rows only if alone is set. It leaves out what
// another process has locked.
func (c *sharedCommit) lock(ctx context.Context, wait, alone bool, first ...pg.Query) (err error) {
	var wanted model.Demand
	var keys []*idem.Request
	var requests [][]byte
	var pending []id.Transaction
	var dates []id.EventDate
	for _, p := range c.purchases {
		if p.key != nil {
			keys = append(keys, p.key)
		}
		if !p.confirming {
			wanted.Add(&p.Order)
			if p.Request.Key != nil {
				requests = append(requests, p.Request.Key)
			}
			continue
		}
		pending = append(pending, p.Bought.ID)
		for i := range p.Bought.Bookings {
			dates = append(dates, p.Bought.Bookings[i].Date.ID)
		}
		wanted.Customers = append(wanted.Customers, p.Bought.Customers()...)
	}
	if len(keys) > 0 {
		first = append(first, idem.Lookup(keys...)...)
	}
	if len(requests) > 0 {
		c.begun = map[string]store.Begun{}
		first = append(first, store.BegunBy(c.company, requests, c.begun))
	}
	if len(pending) > 0 {
		first = append(first, store.LockPayable(c.company, pending, model.Distinct(dates), alone, &c.payable)...)
	}
	first = append(first, c.companies.Query(c.company, &c.kept))
	if alone {
		c.offer, err = c.store.LockOffer(ctx, c.tx, c.company, wanted, first...)
	} else {
		c.offer, c.locked, err = c.store.LockFreeOffer(ctx, c.tx, c.company, wanted, wait, first...)
	}
	return err
}

// decide decides the purchases in their order, except those that locked dates leave out.
func (c *sharedCommit) decide(ctx context.Context) error {
	// The clock is read under the lock, so that a buyer who waited for the lock past the
	// start time is refused.
	c.clock = c.kept
	for _, p := range c.purchases {
		c.clock = p.company.Newest(c.clock)
	}
	c.now = pg.Instant(c.Server.clock(c.clock))
	for i, p := range c.purchases {
		p.Refused, p.replayed = nil, false // the commit may be a retry
		if p.key != nil {
			if p.replayed, p.Refused = p.key.Replay(p.resp); p.replayed || p.Refused != nil {
				continue
			}
		}
		if c.leaveOut(p) {
			c.left = append(c.left, i)
			continue
		}
		if p.slot != nil && p.slot.refused != nil {
			p.Refused = p.slot.refused
			continue
		}
		if err := c.decideOne(ctx, p); err != nil {
			return err
		}
		c.freed = c.freed || p.slot != nil && p.slot.made != nil && p.Refused != nil
	}
	return nil
}

// leaveOut reports whether a purchase needs a row that another process has locked, or must be tried again for
// another reason. The dates of an order that is left out are then left out of later orders as well, so that
// none overtakes it.
func (c *sharedCommit) leaveOut(p *purchase) bool {
	switch {
	case p.confirming:
		return c.payable.Locked[p.Bought.ID]
	case p.slot != nil:
		return c.leaveOutSlot(p)
	}
	dates := p.Order.Dates()
	if !slices.Contains(c.locked.Codes, strings.ToLower(p.Order.Code)) &&
		!slices.ContainsFunc(dates, func(d id.EventDate) bool { return slices.Contains(c.locked.Dates, d) }) {
		return false
	}
	c.locked.Dates = append(c.locked.Dates, dates...)
	return true
}

// decideOne decides a purchase whose Idempotency-Key is free.
func (c *sharedCommit) decideOne(ctx context.Context, p *purchase) error {
	begun, ok := c.begun[string(p.Request.Key)]
	switch {
	case p.confirming:
		return c.confirm(p)
	case ok && p.Request.Key != nil:
		return c.resume(ctx, p, begun)
	}
	return c.settle(p)
}

// settle grants or refuses an order.
func (c *sharedCommit) settle(p *purchase) error {
	if p.Status == model.Pending { // it is undone by the real time
		p.ExpiresAt = c.clock.Real(c.now).Add(model.PendingTime)
	}
	p.Settle(c.offer, c.now, p.company.Newest(c.kept).Timezone, c.newIDs(c.clock))
	if p.Refused != nil {
		return nil
	}
	c.sale.Granted = append(c.sale.Granted, &p.Purchase)
	if p.Status == model.Confirmed { // the others are announced when they are paid
		c.events = append(c.events, confirmations(p.Bought, p.cause)...)
	}
	return c.respond(p)
}

// resume continues the purchase by pass that an earlier request with the same Idempotency-Key began.
func (c *sharedCommit) resume(ctx context.Context, p *purchase, begun store.Begun) (err error) {
	if p.Refused = p.key.Continues(begun.Hash, begun.Kind); p.Refused != nil {
		return nil
	}
	p.Bought, err = c.store.Unconfirmed(ctx, c.tx, c.company, begun.Transaction, model.Pending)
	if fault.Is(err, fault.NotFound) {
		p.Refused, err = errBeingUndone(), nil
	}
	if err == nil && p.Refused == nil && p.slot != nil {
		err = c.resumedSlot(ctx, p)
	}
	return err
}

// confirm confirms a pending transaction, which makes it visible to readers, unless it was undone,
// one of its dates was cancelled, or one of its customers deleted.
func (c *sharedCommit) confirm(p *purchase) error {
	p.Refused = p.unpayable(c.payable, c.offer)
	if p.Refused != nil {
		return nil
	}
	p.paid.record(p.Bought)
	p.Bought.UpdatedAt = c.now
	waiter := c.payable.Waiter(p.Bought.ID)
	c.sale.Confirmed = append(c.sale.Confirmed, store.Confirmation{Transaction: p.Bought, Waiter: waiter})
	c.events = append(c.events, confirmations(p.Bought, p.cause)...)
	if waiter != nil {
		before := *waiter
		waiter.Book(c.now)
		ended := waitlistEnded(waiter, &before, c.now)
		ended.Cause = p.cause
		c.events = append(c.events, ended)
	}
	delete(c.payable.Pending, p.Bought.ID) // a second attempt finds it confirmed
	return c.respond(p)
}

// unpayable returns why a pending transaction whose credits are taken cannot be confirmed; nil if it
// can.
func (p *purchase) unpayable(payable store.Payable, of *model.Offer) error {
	if !payable.Pending[p.Bought.ID] {
		return errNotPending
	}
	for i := range p.Bought.Bookings {
		if payable.Cancelled[p.Bought.Bookings[i].Date.ID] {
			return fault.Refuse(model.ReasonEventCancelled, "the event is cancelled")
		}
	}
	for _, customer := range p.Bought.Customers() {
		if of.Customers[customer].Deleted {
			return fault.Missing("customer")
		}
	}
	return nil
}

// respond makes the response of a complete purchase, which is stored if the request has a key.
func (c *sharedCommit) respond(p *purchase) error {
	if p.key == nil || !p.completes() {
		return nil
	}
	p.fill()
	c.sale.Keys = append(c.sale.Keys, p.key)
	return p.key.Respond(p.resp)
}

// save stores what was granted and confirmed, with the responses and the events, when tx commits.
func (c *sharedCommit) save(ctx context.Context) error {
	c.sale.Offer, c.sale.Now = c.offer, c.now
	store.SaveSale(c.tx, c.company, c.sale)
	c.settleSlots()
	return c.append(ctx, c.tx, c.clock, c.now, c.events...)
}

// settle decides purchases of one company in their order within tx, and stores the granted ones with
// their events. None of them has an Idempotency-Key.
func (s *Server) settle(ctx context.Context, tx *pg.Tx, company id.Company, purchases []*purchase) error {
	c := &sharedCommit{Server: s, tx: tx, company: company, purchases: purchases}
	if err := c.lock(ctx, true, true); err != nil {
		return err
	}
	if err := c.decide(ctx); err != nil {
		return err
	}
	return c.save(ctx)
}
