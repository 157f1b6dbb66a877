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
//	                                   └─────────────▶ cancel the redemption, give the places back;
//	                                                   or make it the hold again that it was
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

// undoWait is how long a refused request takes to undo what it has begun.
const undoWait = 3 * time.Second

// purchaseByPass settles an order that is paid with credits.
func (s *Server) purchaseByPass(ctx context.Context, req *bookingv1.CreateTransactionRequest, company Company, o order) (*bookingv1.CreateTransactionResponse, error) {
	resp := &bookingv1.CreateTransactionResponse{}
	p := &purchase{company: company, order: o, status: pending, expiresAt: s.now().Add(pendingTime)}
	t, done, err := s.begin(ctx, req, resp, p)
	if err != nil || done {
		return resp, err
	}
	err = s.payByPass(ctx, company, t, o.payment.pass, func(ctx context.Context, tx *pg.Tx, confirm func() error) error {
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
// runs confirm in the transaction that it is given.
func (s *Server) payByPass(ctx context.Context, company Company, t *Transaction, pass id.CustomerPass,
	within func(ctx context.Context, tx *pg.Tx, confirm func() error) error,
) error {
	paid, err := s.passes.Redeem(ctx, company.ID, t, pass)
	if err == nil {
		err = s.store.inTx(ctx, company.ID, func(ctx context.Context, tx *pg.Tx) error {
			return within(ctx, tx, func() error { return s.confirmPending(ctx, tx, company.ID, t, paid) })
		})
		if errors.Is(err, errNotPending) {
			// It took so long that it was undone meanwhile, or a repetition was faster.
			return fault.Away(err)
		}
		if fault.Is(err, fault.Refused) || fault.Is(err, fault.NotFound) {
			// The credits are taken, and the date is cancelled or a customer deleted.
			return errors.Join(s.undo(ctx, company.ID, t.ID, err), err)
		}
		return err
	}
	if f := fault.From(err); f.Kind != fault.Refused && f.Kind != fault.NotFound && f.Kind != fault.Invalid {
		return err // what it did is not known
	}
	back, undo := s.backToHold(ctx, company.ID, t.ID)
	if undo == nil && !back {
		undo = s.undo(ctx, company.ID, t.ID, err)
	}
	if undo != nil {
		return undo
	}
	return err
}

const (
	backToHoldSQL = `update transactions set status = 'held', expires_at = held_until, held_until = null, held_prices = null
		where company_id = $1 and id = $2 and status = 'pending' and held_until is not null`

	backToCardSQL = `update bookings b set method = 'CARD', currency = n.currency, gross = n.gross, net = n.net, credits_used = null
		from transactions t, jsonb_to_recordset(t.held_prices) n(id uuid, currency text, gross bigint, net bigint)
		where t.company_id = $1 and t.id = $2 and t.status = 'pending' and t.held_until is not null
			and b.company_id = $1 and b.transaction_id = $2 and b.id = n.id`

	lockPendingSQL = `select from transactions where company_id = $1 and id = $2 for no key update`

	undoSQL = `update transactions set status = 'undoing', expires_at = $3 where company_id = $1 and id = $2 and status = 'pending'`
)

// backToHold makes a pending transaction the hold that it was, and says whether it
// did: not when it never was one, nor when there are several attempts to pay it.
func (s *Server) backToHold(ctx context.Context, company id.Company, t id.Transaction) (back bool, err error) {
	err = s.store.inTx(context.WithoutCancel(ctx), company, func(ctx context.Context, tx *pg.Tx) error {
		args := []any{company, t}
		return tx.Pipeline(ctx, pg.Query{SQL: lockPendingSQL, Args: args}, pg.Query{SQL: backToCardSQL, Args: args},
			pg.Query{SQL: backToHoldSQL, Args: args, Scan: func(rows pgx.Rows) error {
				rows.Close()
				back = rows.CommandTag().RowsAffected() > 0
				return nil
			}})
	})
	return back, err
}

// undo gives the places of a pending transaction back, and what another attempt to
// pay it takes or has taken. A caller who leaves does not leave his places behind.
// Somebody who waited for the places is told why they are not booked.
func (s *Server) undo(ctx context.Context, company id.Company, t id.Transaction, why error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoWait)
	defer cancel()
	mine := false
	err := s.store.inTx(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		tag, err := tx.Exec(ctx, undoSQL, company, t, s.now().Add(undoTime))
		mine = tag.RowsAffected() > 0
		if err == nil && mine {
			_, err = tx.Exec(ctx, refuseWaiterSQL, company, t, whyNot(why))
		}
		return err
	})
	if err != nil || !mine {
		return err
	}
	if s.passes.Cancel(ctx, company, t) != nil {
		return nil // whoever looks for what is due goes on
	}
	return s.release(ctx, company, t, undoing)
}

// errNotPending reports a transaction whose state has changed under its purchase.
var errNotPending = errors.New("the transaction is not pending any more")

const (
	// A date that was cancelled while somebody paid for it is not booked.
	cancelledDatesSQL = `select count(*) from bookings b join event_dates d on d.company_id = b.company_id and d.id = b.event_date_id
		where b.company_id = $1 and b.transaction_id = $2 and d.status = 'cancelled'`

	confirmSQL = `with waited as (` + bookWaiterSQL + `)
		update transactions set status = 'confirmed', expires_at = null, held_until = null, held_prices = null
		where company_id = $1 and id = $2 and status = 'pending'`

	nameUsedPassSQL = `update bookings set customer_pass_id = $3 where company_id = $1 and transaction_id = $2 and method = 'PASS'`
)

// confirmPending makes a pending transaction one that everybody sees.
func (s *Server) confirmPending(ctx context.Context, tx *pg.Tx, company id.Company, t *Transaction, pass id.CustomerPass) error {
	for i := range t.Bookings {
		t.Bookings[i].Payment.CustomerPass = pass
	}
	told, err := s.outbox.Query(ctx, tx, s.stamp(company, s.now(), confirmations(t))...)
	if err != nil {
		return err
	}
	return tx.Pipeline(ctx,
		pg.Query{SQL: confirmSQL, Args: []any{company, t.ID}, Scan: func(rows pgx.Rows) error {
			rows.Close()
			if rows.CommandTag().RowsAffected() == 0 {
				return errNotPending
			}
			return nil
		}},
		takesPlace(company, t.ID),
		namesCustomers(company, t.ID),
		pg.Query{SQL: nameUsedPassSQL, Args: []any{company, t.ID, pass}},
		told)
}

// takesPlace returns the query that refuses a transaction whose dates are cancelled.
func takesPlace(company id.Company, t id.Transaction) pg.Query {
	return pg.Query{SQL: cancelledDatesSQL, Args: []any{company, t}, Scan: func(rows pgx.Rows) error {
		cancelled, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[int64])
		if err == nil && cancelled > 0 {
			err = fault.Refuse(ReasonEventCancelled, "the event is cancelled")
		}
		return err
	}}
}

// appendConfirmed publishes the bookings of a transaction that has become visible.
func (s *Server) appendConfirmed(ctx context.Context, tx *pg.Tx, company id.Company, t *Transaction) error {
	return s.append(ctx, tx, company, s.now(), confirmations(t)...)
}

const (
	begunSQL = `select transaction_id, request_hash from purchase_keys k where company_id = $1 and caller = $2 and key = $3
		and exists (select from transactions t where t.company_id = $1 and t.id = k.transaction_id and t.status in ('pending', 'undoing'))`

	beginsSQL = `insert into purchase_keys (company_id, caller, key, request_hash, transaction_id, created_at) values ($1, $2, $3, $4, $5, $6)
		on conflict (company_id, caller, key) do update set request_hash = excluded.request_hash,
			transaction_id = excluded.transaction_id, created_at = excluded.created_at`
)

// begun returns the transaction that an earlier request under the same key has
// begun and not finished; zero: there is none.
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
