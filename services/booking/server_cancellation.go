package booking

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// CancelBooking implements BookingService.
func (s *Server) CancelBooking(ctx context.Context, req *bookingv1.CancelBookingRequest) (*bookingv1.CancelBookingResponse, error) {
	resp := &bookingv1.CancelBookingResponse{}
	which := registrationRef{booking: req.GetBookingId(), event: req.GetEventId(), version: req.ExpectedVersion}
	err := s.changeBooking(ctx, req, resp, which, func(b *Booking, policy CancellationPolicy, now time.Time) change {
		o := policy.Outcome(b, req.GetWaivePolicy(), now)
		done := b.cancel()
		if done.changed {
			b.CancelledAt = now
			resp.Outcome = outcomeToProto(&o)
			if o.Credits > 0 {
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
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	which, err := check.ID[id.Booking](req.GetBookingId(), "booking")
	if err != nil {
		return nil, err
	}
	found, err := s.store.booking(ctx, company.ID, which)
	if err != nil {
		return nil, err
	}
	b := &found.Transaction.Bookings[0]
	o := found.Policy.Outcome(b, false, s.now())
	return &bookingv1.PreviewCancellationResponse{Outcome: outcomeToProto(&o), AlreadyCancelled: b.Cancelled}, nil
}

// RefundBooking implements BookingService.
func (s *Server) RefundBooking(ctx context.Context, req *bookingv1.RefundBookingRequest) (*bookingv1.RefundBookingResponse, error) {
	resp := &bookingv1.RefundBookingResponse{}
	err := s.changeBooking(ctx, req, resp, registrationRef{booking: req.GetBookingId()}, func(b *Booking, _ CancellationPolicy, _ time.Time) change {
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
	return check.Version(t.Version, r.version, "registration")
}

// changeBooking sets a flag of one booking. In the same commit it raises the version of
// the transaction, frees spaces, stores owed credits, and appends the event. A flag that
// is set already changes nothing.
func (s *Server) changeBooking(ctx context.Context, req, resp proto.Message, of registrationRef,
	decide func(b *Booking, policy CancellationPolicy, now time.Time) change, event func(*bookingv1.BookingSnapshot) outbox.Event,
) error {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return err
	}
	which, err := check.ID[id.Booking](of.booking, "booking")
	if err != nil {
		return err
	}
	var returns []creditReturn
	_, err = idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		returns = nil
		found, err := s.store.lockBooking(ctx, tx, company.ID, which)
		if err != nil {
			return err
		}
		t := found.Transaction
		if err := of.check(t); err != nil {
			return err
		}
		b := &t.Bookings[0]
		now := s.now()
		done := decide(b, found.Policy, now)
		if !done.changed {
			return nil
		}
		t.Version++
		if err := s.store.saveBooking(ctx, tx, company.ID, t, done.frees, now); err != nil {
			return err
		}
		if r, owed := owes(company.ID, t, b); owed && done.returns {
			returns = append(returns, r)
		}
		if err := s.oweCredits(ctx, tx, company.ID, returns); err != nil {
			return err
		}
		if err := s.append(ctx, tx, company.ID, now, event(snapshotToProto(t, b))); err != nil || done.frees == 0 {
			return err
		}
		return s.promote(ctx, tx, company.ID, b.Date.ID)
	})
	if err == nil {
		s.returnCredits(ctx, returns)
	}
	return err
}
