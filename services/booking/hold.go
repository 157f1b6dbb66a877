package booking

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// ReasonHoldExpired is a hold whose places are given back.
const ReasonHoldExpired = "HOLD_EXPIRED"

const (
	defaultHoldMinutes = 15
	maxHoldMinutes     = 1440
)

// HoldPlaces implements BookingService.
func (s *Server) HoldPlaces(ctx context.Context, req *bookingv1.HoldPlacesRequest) (*bookingv1.HoldPlacesResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	minutes := req.GetMinutes()
	if minutes == 0 {
		minutes = defaultHoldMinutes
	}
	if minutes < 1 || minutes > maxHoldMinutes {
		return nil, fault.InvalidFields(fault.Field{Field: "minutes", Rule: "range", Message: "must be 1 to 1440"})
	}
	o, err := orderOf(asked{purchaser: req.GetPurchaserId(), lines: req.GetLines(), code: req.GetDiscountCode()})
	if err != nil {
		return nil, err
	}
	if err := s.store.nameDates(ctx, company.ID, &o); err != nil {
		return nil, err
	}
	resp := &bookingv1.HoldPlacesResponse{}
	err = s.knowing(ctx, company.ID, func() error {
		p := &purchase{company: company, order: o, status: held, expiresAt: s.now().Add(time.Duration(minutes) * time.Minute).Truncate(time.Microsecond)}
		if date, one := p.date(); one && idem.Key(ctx) == "" {
			if err := s.desk.buy(ctx, date, p); err != nil {
				return err
			}
			resp.Hold = holdToProto(p)
			return nil
		}
		return s.write(ctx, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
			if err := s.settle(ctx, tx, company.ID, []*purchase{p}); err != nil {
				return err
			}
			if p.refused != nil {
				return p.refused
			}
			resp.Hold = holdToProto(p)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

func holdToProto(p *purchase) *bookingv1.Hold {
	out := &bookingv1.Hold{Id: p.bought.ID.String(), PurchaserId: p.order.purchaser.String(), ExpiresAt: timestamppb.New(p.expiresAt)}
	for i := range p.bought.Bookings {
		out.Bookings = append(out.Bookings, bookingToProto(&p.bought.Bookings[i]))
	}
	return out
}

// ReleaseHold implements BookingService.
func (s *Server) ReleaseHold(ctx context.Context, req *bookingv1.ReleaseHoldRequest) (*bookingv1.ReleaseHoldResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	which, err := id.Parse[id.Transaction](req.GetHoldId())
	if err != nil {
		return nil, fault.Missing("hold")
	}
	resp := &bookingv1.ReleaseHoldResponse{}
	err = s.write(ctx, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		h, err := s.store.lockHold(ctx, tx, company.ID, which)
		if err != nil {
			return err
		}
		if h.status == confirmed || h.status == pending || h.status == undoing {
			return fault.Refuse(ReasonHoldConfirmed, "the hold is a purchase already; cancel its bookings")
		}
		n, err := s.releaseIn(ctx, tx, company.ID, []id.Transaction{which}, held)
		resp.Changed = n > 0
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// ReasonHoldConfirmed is a hold that has become a purchase.
const ReasonHoldConfirmed = "HOLD_CONFIRMED"

// ConfirmHold implements BookingService.
func (s *Server) ConfirmHold(ctx context.Context, req *bookingv1.ConfirmHoldRequest) (*bookingv1.ConfirmHoldResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	which, err := id.Parse[id.Transaction](req.GetHoldId())
	if err != nil {
		return nil, fault.Missing("hold")
	}
	how, err := paymentOf(payment{req.GetPaymentMethod(), req.GetPaymentReference(), req.GetCustomerPassId()})
	if err != nil {
		return nil, err
	}
	t, err := s.confirmHold(ctx, company, which, how)
	if err != nil {
		return nil, err
	}
	return &bookingv1.ConfirmHoldResponse{Transaction: transactionToProto(t)}, nil
}

// confirmHold pays a hold. It is idempotent by the hold itself: what is confirmed
// is answered as it is.
func (s *Server) confirmHold(ctx context.Context, company Company, which id.Transaction, how paying) (*Transaction, error) {
	var t *Transaction
	needsCredits := false
	err := s.store.inTx(ctx, company.ID, func(ctx context.Context, tx *pg.Tx) error {
		needsCredits = false
		h, err := s.store.lockHold(ctx, tx, company.ID, which)
		if err != nil {
			return err
		}
		now := s.now()
		switch {
		case h.status == confirmed:
			t, err = s.store.unconfirmed(ctx, tx, company.ID, which, confirmed)
			return err
		case h.status == pending && how.method == Pass:
			needsCredits = true
			if _, err := tx.Exec(ctx, joinPendingSQL, company.ID, which); err != nil {
				return err
			}
			t, err = s.store.unconfirmed(ctx, tx, company.ID, which, pending)
			if err == nil && t.Bookings[0].Payment.Method != Pass {
				return errBeingUndone // it was begun by an earlier release of this service
			}
			return err
		case h.status == pending || h.status == undoing:
			return errBeingUndone
		case h.status == released || !now.Before(h.expiresAt):
			return fault.Refuse(ReasonHoldExpired, "the hold has expired, its places are given back")
		}
		if err := tx.Pipeline(ctx, takesPlace(company.ID, which), namesCustomers(company.ID, which)); err != nil {
			return err
		}
		if t, err = s.store.unconfirmed(ctx, tx, company.ID, which, held); err != nil {
			return err
		}
		t.PurchasedAt = now.Truncate(time.Second)
		if how.method == Pass {
			needsCredits = true
			return s.holdByPass(ctx, tx, company.ID, t, now)
		}
		for i := range t.Bookings {
			t.Bookings[i].Payment.Reference = how.reference
		}
		if _, err := tx.Exec(ctx, confirmHeldSQL, company.ID, t.ID, t.PurchasedAt, orNull(how.reference)); err != nil {
			return err
		}
		return s.appendConfirmed(ctx, tx, company.ID, t)
	})
	if err != nil || !needsCredits {
		return t, err
	}
	err = s.payByPass(ctx, company, t, how.pass, func(_ context.Context, _ *pg.Tx, confirm func() error) error { return confirm() })
	return t, err
}

const (
	lockHoldSQL = `select status, coalesce(expires_at, 'epoch') from transactions where company_id = $1 and id = $2 for no key update`

	confirmHeldSQL = `with paid as (update bookings set payment_reference = $4 where company_id = $1 and transaction_id = $2),
			waited as (` + bookWaiterSQL + `)
		update transactions set status = 'confirmed', expires_at = null, purchased_at = $3 where company_id = $1 and id = $2`

	heldCreditsSQL = `select b.id, o.credits from bookings b join pricing_options o on o.company_id = b.company_id and o.id = b.pricing_option_id
		where b.company_id = $1 and b.transaction_id = $2`

	heldToPassSQL = `with paid as (update bookings b set method = 'PASS', credits_used = n.credits, currency = null, gross = null, net = null,
				payment_reference = null from unnest($5::uuid[], $6::integer[]) n(id, credits)
			where b.company_id = $1 and b.transaction_id = $2 and b.id = n.id)
		update transactions set status = 'pending', held_until = expires_at, expires_at = $3, purchased_at = $4, held_prices = (
				select jsonb_agg(jsonb_build_object('id', b.id, 'currency', b.currency, 'gross', b.gross, 'net', b.net))
				from bookings b where b.company_id = $1 and b.transaction_id = $2)
			where company_id = $1 and id = $2`

	joinPendingSQL = `update transactions set held_until = null, held_prices = null where company_id = $1 and id = $2`
)

type lockedHold struct {
	status    status
	expiresAt time.Time
}

func (s *store) lockHold(ctx context.Context, tx *pg.Tx, company id.Company, which id.Transaction) (lockedHold, error) {
	var h lockedHold
	err := tx.QueryRow(ctx, lockHoldSQL, company, which).Scan(&h.status, &h.expiresAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return h, fault.Missing("hold")
	}
	return h, err
}

// holdByPass turns a hold into a pending purchase by pass.
func (s *Server) holdByPass(ctx context.Context, tx *pg.Tx, company id.Company, t *Transaction, now time.Time) error {
	perSpace := map[id.Booking]*int32{}
	err := tx.Pipeline(ctx, pg.Query{SQL: heldCreditsSQL, Args: []any{company, t.ID}, Scan: each(func(rows pgx.Rows) error {
		var b id.Booking
		var credits *int32
		err := rows.Scan(&b, &credits)
		perSpace[b] = credits
		return err
	})})
	if err != nil {
		return err
	}
	var ids []id.Booking
	var credits []int32
	for i := range t.Bookings {
		b := &t.Bookings[i]
		if b.Payment.Code != "" {
			return fault.Refuse(ReasonDiscountInvalid, "a hold with a discount is paid by card").With("why", "method")
		}
		price := perSpace[b.ID]
		if price == nil {
			return fault.Refuse(ReasonPassNotApplicable, "this price cannot be paid by pass").With("pricing_option_id", b.Option.String())
		}
		b.Payment = Payment{Method: Pass, Credits: *price * b.Spaces}
		ids, credits = append(ids, b.ID), append(credits, b.Payment.Credits)
	}
	_, err = tx.Exec(ctx, heldToPassSQL, company, t.ID, now.Add(pendingTime), t.PurchasedAt, ids, credits)
	return err
}
