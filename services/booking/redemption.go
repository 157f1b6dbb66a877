package booking

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// A purchase by pass goes through two services, and a crash may come between any
// two steps:
//
//	take the places, pending ──▶ take the credits ──▶ confirm, with its events
//	                                   │ refused
//	                                   └─────────────▶ give the places back
//
// Taking the credits is idempotent by the transaction's identifier. A purchase
// that stays pending is finished by a repetition under its idempotency key, or
// undone when its time is up: its redemption is cancelled first, which the pass
// service remembers for ever, so that a step which comes late finds it cancelled.

// Passes is what the booking service asks of the pass service. Errors are faults;
// those that a pass gives reason for are fault.Refused or fault.NotFound.
type Passes interface {
	// Redeem takes the credits of a transaction, once, from the pass named or from
	// the one that the pass service chooses.
	Redeem(ctx context.Context, company id.Company, t *Transaction, pass id.CustomerPass) (id.CustomerPass, error)
	// Cancel gives back what a redemption holds, and refuses it from then on.
	Cancel(ctx context.Context, company id.Company, t id.Transaction) error
	// Return gives the credits of a booking back, once.
	Return(ctx context.Context, company id.Company, r creditReturn) error
}

// pendingTime is how long a purchase may stay pending before it is undone. It is
// longer than all calls of one may take.
const pendingTime = 30 * time.Second

// purchaseByPass settles an order that is paid with credits.
func (s *Server) purchaseByPass(ctx context.Context, req *bookingv1.CreateTransactionRequest, company Company, o order) (*bookingv1.CreateTransactionResponse, error) {
	resp := &bookingv1.CreateTransactionResponse{}
	p := &purchase{company: company, order: o, status: pending, expiresAt: s.now().Add(pendingTime)}
	t, done, err := s.begin(ctx, req, resp, p)
	if err != nil || done {
		return resp, err
	}
	// A caller who leaves does not leave his places behind.
	refused := func(ctx context.Context) error { return s.release(ctx, company.ID, t.ID, pending) }
	err = s.payByPass(ctx, company, t, o.payment.pass, refused, func(ctx context.Context, tx *pg.Tx, confirm func() error) error {
		return idem.Do(ctx, tx, req, resp, func() error {
			if err := confirm(); err != nil {
				return err
			}
			resp.Transaction = transactionToProto(t)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// begin takes the places of a purchase by pass. Under an idempotency key it finds
// what an earlier request has begun, or done, in which case it fills resp.
func (s *Server) begin(ctx context.Context, req *bookingv1.CreateTransactionRequest, resp *bookingv1.CreateTransactionResponse, p *purchase) (t *Transaction, done bool, err error) {
	company := p.company.ID
	if idem.Key(ctx) == "" {
		if date, one := p.date(); one {
			err = s.desk.buy(ctx, date, p)
		} else {
			err = s.sell(ctx, company, []*purchase{p})
			if err == nil {
				err = p.refused
			}
		}
		return p.bought, false, err
	}
	err = s.store.inTx(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		t = nil
		seen, err := idem.Seen(ctx, tx, req, resp)
		if done = seen; err != nil || seen {
			return err
		}
		begun, err := s.store.begun(ctx, tx, company, req)
		if err != nil {
			return err
		}
		if !begun.IsZero() {
			t, err = s.store.unconfirmed(ctx, tx, company, begun, pending)
			if fault.Is(err, fault.NotFound) {
				return errBeingUndone
			}
			return err
		}
		if err := s.settle(ctx, tx, company, []*purchase{p}); err != nil {
			return err
		}
		if p.refused != nil {
			return p.refused
		}
		t = p.bought
		return s.store.begins(ctx, tx, company, req, t.ID, s.now())
	})
	return t, done, err
}

// errBeingUndone is told to a repetition that comes while its first attempt is
// being undone: a later one begins anew.
var errBeingUndone = fault.New(fault.Conflict, fault.ReasonIdempotencyInProgress,
	"an earlier attempt of this request is being undone").After(2 * time.Second)

// payByPass takes the credits of a pending transaction and confirms it. within
// runs confirm in the transaction that it is given; refused undoes what is pending
// when the pass does not pay.
func (s *Server) payByPass(ctx context.Context, company Company, t *Transaction, pass id.CustomerPass,
	refused func(ctx context.Context) error, within func(ctx context.Context, tx *pg.Tx, confirm func() error) error,
) error {
	paid, err := s.passes.Redeem(ctx, company.ID, t, pass)
	if err != nil {
		f := fault.From(err)
		if f.Kind == fault.Refused || f.Kind == fault.NotFound {
			if undo := refused(context.WithoutCancel(ctx)); undo != nil {
				return undo
			}
		}
		return err
	}
	err = s.store.inTx(ctx, company.ID, func(ctx context.Context, tx *pg.Tx) error {
		return within(ctx, tx, func() error { return s.confirmPending(ctx, tx, company.ID, t, paid) })
	})
	if errors.Is(err, errNotPending) {
		// It took so long that it was undone meanwhile, or a repetition was faster.
		return fault.Away(err)
	}
	return err
}

// errNotPending reports a transaction whose state has changed under its purchase.
var errNotPending = errors.New("the transaction is not pending any more")

const (
	confirmSQL = `update transactions set status = 'confirmed', expires_at = null where company_id = $1 and id = $2 and status = 'pending'`

	// A hold was priced for a card.
	paidByPassSQL = `update bookings b set method = 'PASS', customer_pass_id = $3, credits_used = n.credits, currency = null, gross = null,
			net = null, payment_reference = null
		from unnest($4::uuid[], $5::integer[]) n(id, credits) where b.company_id = $1 and b.transaction_id = $2 and b.id = n.id`
)

// confirmPending makes a pending transaction one that everybody sees.
func (s *Server) confirmPending(ctx context.Context, tx *pg.Tx, company id.Company, t *Transaction, pass id.CustomerPass) error {
	tag, err := tx.Exec(ctx, confirmSQL, company, t.ID)
	if err != nil {
		return err
	}
	if tag.RowsAffected() == 0 {
		return errNotPending
	}
	ids, credits := make([]id.Booking, len(t.Bookings)), make([]int32, len(t.Bookings))
	for i := range t.Bookings {
		p := &t.Bookings[i].Payment
		p.CustomerPass = pass
		ids[i], credits[i] = t.Bookings[i].ID, p.Credits
	}
	if _, err := tx.Exec(ctx, paidByPassSQL, company, t.ID, pass, ids, credits); err != nil {
		return err
	}
	return s.appendConfirmed(ctx, tx, company, t)
}

// appendConfirmed publishes the bookings of a transaction that has become visible.
func (s *Server) appendConfirmed(ctx context.Context, tx *pg.Tx, company id.Company, t *Transaction) error {
	return s.append(ctx, tx, company, s.now(), confirmations(t)...)
}

const (
	begunSQL = `select transaction_id, request_hash from purchase_keys k where company_id = $1 and caller = $2 and key = $3
		and exists (select from transactions t where t.company_id = $1 and t.id = k.transaction_id and t.status <> 'released')`

	beginsSQL = `insert into purchase_keys (company_id, caller, key, request_hash, transaction_id, created_at) values ($1, $2, $3, $4, $5, $6)
		on conflict (company_id, caller, key) do update set request_hash = excluded.request_hash,
			transaction_id = excluded.transaction_id, created_at = excluded.created_at`
)

// begun returns the transaction that an earlier request under the same key has
// begun; zero: there is none.
func (s *store) begun(ctx context.Context, tx *pg.Tx, company id.Company, req *bookingv1.CreateTransactionRequest) (id.Transaction, error) {
	caller, key, hash, err := idem.Request(ctx, req)
	if err != nil {
		return id.Transaction{}, err
	}
	var t id.Transaction
	var stored []byte
	err = tx.QueryRow(ctx, begunSQL, company, caller, key).Scan(&t, &stored)
	if errors.Is(err, pgx.ErrNoRows) {
		return id.Transaction{}, nil
	}
	if err == nil && string(stored) != string(hash) {
		return t, idem.Reused()
	}
	return t, err
}

// begins remembers which transaction a key has begun.
func (s *store) begins(ctx context.Context, tx *pg.Tx, company id.Company, req *bookingv1.CreateTransactionRequest, t id.Transaction, now time.Time) error {
	caller, key, hash, err := idem.Request(ctx, req)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, beginsSQL, company, caller, key, hash, t, now)
	return err
}
