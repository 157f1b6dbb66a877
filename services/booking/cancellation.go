package booking

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// outcome is what a cancellation does to what was paid.
type outcome struct {
	late      bool
	freeUntil time.Time
	credits   int32 // that go back
	refundDue int64 // minor units
	currency  string
}

// outcomeOf decides what cancelling b at an instant means. It is free until so
// many minutes before the date starts; nil: until it starts.
func outcomeOf(b *Booking, freeMinutes *int32, waive bool, now time.Time) outcome {
	o := outcome{freeUntil: b.Date.StartsAt}
	if freeMinutes != nil {
		o.freeUntil = o.freeUntil.Add(-time.Duration(*freeMinutes) * time.Minute)
	}
	o.late = now.After(o.freeUntil) && !waive
	if b.Payment.Method == Card {
		o.currency = b.Payment.Currency
	}
	if o.late || b.Refunded {
		return o
	}
	if b.Payment.Method == Card {
		o.refundDue = b.Payment.Gross
	} else if !b.Payment.CustomerPass.IsZero() {
		o.credits = b.Payment.Credits
	}
	return o
}

func (o *outcome) toProto() *bookingv1.CancellationOutcome {
	return &bookingv1.CancellationOutcome{
		Late: o.late, FreeUntil: timestamppb.New(o.freeUntil), CreditsReturned: o.credits, RefundDue: o.refundDue, Currency: o.currency,
	}
}

// CancelBooking implements BookingService.
func (s *Server) CancelBooking(ctx context.Context, req *bookingv1.CancelBookingRequest) (*bookingv1.CancelBookingResponse, error) {
	resp := &bookingv1.CancelBookingResponse{}
	which := registrationRef{booking: req.GetBookingId(), event: req.GetEventId(), version: req.ExpectedVersion}
	err := s.changeBooking(ctx, req, resp, which, func(b *Booking, freeMinutes *int32, now time.Time) change {
		o := outcomeOf(b, freeMinutes, req.GetWaivePolicy(), now)
		done := b.cancel()
		if done.changed {
			b.CancelledAt = now
			resp.Outcome = o.toProto()
			if o.credits > 0 {
				done.returns = b.refund().changed
			}
		}
		resp.Booking, resp.Changed = bookingToProto(b), done.changed
		return done
	}, bookingCancelled)
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// PreviewCancellation implements BookingService.
func (s *Server) PreviewCancellation(ctx context.Context, req *bookingv1.PreviewCancellationRequest) (*bookingv1.PreviewCancellationResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	which, err := id.Parse[id.Booking](req.GetBookingId())
	if err != nil {
		return nil, fault.Missing("booking")
	}
	var l listing
	var freeMinutes *int32
	args := []any{company.ID, which}
	err = s.store.read(ctx, company.ID,
		pg.Query{SQL: bookingSQL, Args: args, Scan: l.scanTransactions},
		pg.Query{SQL: freeMinutesSQL, Args: args, Scan: scanMinutes(&freeMinutes)})
	if err != nil {
		return nil, err
	}
	if len(l.transactions) == 0 {
		return nil, fault.Missing("booking")
	}
	b := &l.transactions[0].Bookings[0]
	o := outcomeOf(b, freeMinutes, false, s.now())
	return &bookingv1.PreviewCancellationResponse{Outcome: o.toProto(), AlreadyCancelled: b.Cancelled}, nil
}

// RefundBooking implements BookingService.
func (s *Server) RefundBooking(ctx context.Context, req *bookingv1.RefundBookingRequest) (*bookingv1.RefundBookingResponse, error) {
	resp := &bookingv1.RefundBookingResponse{}
	err := s.changeBooking(ctx, req, resp, registrationRef{booking: req.GetBookingId()}, func(b *Booking, _ *int32, _ time.Time) change {
		done := b.refund()
		done.returns = done.changed
		resp.Booking, resp.Changed = bookingToProto(b), done.changed
		return done
	}, bookingRefunded)
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// registrationRef names a booking, the event that it must belong to ("": any), and
// the version that the caller has seen (nil: any).
type registrationRef struct {
	booking, event string
	version        *int64
}

// check refuses a booking of another event, which looks as if it did not exist,
// before it compares the version.
func (r *registrationRef) check(t *Transaction) error {
	if r.event != "" && r.event != t.Bookings[0].Date.Event.String() {
		return fault.Missing("booking")
	}
	if r.version != nil && *r.version != t.Version {
		return staleVersion("registration", t.Version)
	}
	return nil
}

// changeBooking sets a flag of one booking, and with it, in one commit, its
// transaction's version, what becomes free, the credits that are owed, and the
// event. Where the flag is set already nothing changes.
func (s *Server) changeBooking(ctx context.Context, req, resp proto.Message, of registrationRef,
	decide func(b *Booking, freeMinutes *int32, now time.Time) change, event func(*bookingv1.BookingSnapshot) outbox.Event,
) error {
	company, err := s.tenant(ctx)
	if err != nil {
		return err
	}
	which, err := id.Parse[id.Booking](of.booking)
	if err != nil {
		return fault.Missing("booking")
	}
	var returns []creditReturn
	err = s.write(ctx, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		returns = nil
		t, freeMinutes, err := s.store.lockBooking(ctx, tx, company.ID, which)
		if err != nil {
			return err
		}
		if err := of.check(t); err != nil {
			return err
		}
		b := &t.Bookings[0]
		now := s.now()
		done := decide(b, freeMinutes, now)
		if done.refused != nil || !done.changed {
			return done.refused
		}
		t.Version++
		if err := s.store.saveBooking(ctx, tx, company.ID, t, done.frees, now); err != nil {
			return err
		}
		if r, owed := owes(company.ID, t, b); owed && done.returns {
			returns = append(returns, r)
		}
		if err := s.owe(ctx, tx, company.ID, returns); err != nil {
			return err
		}
		if err := s.append(ctx, tx, company.ID, now, event(snapshotToProto(t, b))); err != nil || done.frees == 0 {
			return err
		}
		return s.promote(ctx, tx, company.ID, b.Date.ID)
	})
	if err == nil {
		s.giveBack(ctx, returns)
	}
	return err
}
