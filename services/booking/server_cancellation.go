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
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/model"
)

// CancelBooking implements BookingService.
func (s *Server) CancelBooking(ctx context.Context, req *bookingv1.CancelBookingRequest) (*bookingv1.CancelBookingResponse, error) {
	resp := &bookingv1.CancelBookingResponse{}
	which := registrationRef{booking: req.GetBookingId(), event: req.GetEventId(), version: req.ExpectedVersion}
	err := s.changeBooking(ctx, req, resp, which, func(b *model.Booking, policy model.CancellationPolicy, now time.Time) model.BookingChange {
		o := policy.Outcome(b, req.GetWaivePolicy(), now)
		done := b.Cancel()
		if done.Changed {
			b.CancelledAt = now
			resp.Outcome = convert.CancellationOutcome(&o)
			if o.Credits > 0 {
				done.Returns = b.Refund().Changed
			}
		}
		resp.Booking, resp.Changed = convert.Booking(b), done.Changed
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
	found, err := s.store.Booking(ctx, company.ID, which)
	if err != nil {
		return nil, err
	}
	b := &found.Transaction.Bookings[0]
	o := found.Policy.Outcome(b, false, s.now())
	return &bookingv1.PreviewCancellationResponse{Outcome: convert.CancellationOutcome(&o), AlreadyCancelled: b.Cancelled}, nil
}

// RefundBooking implements BookingService.
func (s *Server) RefundBooking(ctx context.Context, req *bookingv1.RefundBookingRequest) (*bookingv1.RefundBookingResponse, error) {
	resp := &bookingv1.RefundBookingResponse{}
	err := s.changeBooking(ctx, req, resp, registrationRef{booking: req.GetBookingId()}, func(b *model.Booking, _ model.CancellationPolicy, _ time.Time) model.BookingChange {
		done := b.Refund()
		done.Returns = done.Changed
		resp.Booking, resp.Changed = convert.Booking(b), done.Changed
		return done
	}, bookingRefunded)
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// registrationRef identifies a booking, the event that it must belong to ("" means any), and the
// version that the caller has read (nil means any).
type registrationRef struct {
	booking, event string
	version        *int64
}

// check returns the same error for a booking of another event as for one that does not exist. Only
// then does it compare the version.
func (r *registrationRef) check(t *model.Transaction) error {
	if r.event != "" && r.event != t.Bookings[0].Date.Event.String() {
		return fault.Missing("booking")
	}
	return check.Version(t.Version, r.version, "registration")
}

// changeBooking sets a flag of one booking. In the same commit it increases the version of the
// transaction, frees spaces, stores owed credits and appends the event. If the flag is already set,
// nothing changes.
func (s *Server) changeBooking(ctx context.Context, req, resp proto.Message, of registrationRef,
	decide func(b *model.Booking, policy model.CancellationPolicy, now time.Time) model.BookingChange, event func(*bookingv1.BookingSnapshot) outbox.Event,
) error {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return err
	}
	which, err := check.ID[id.Booking](of.booking, "booking")
	if err != nil {
		return err
	}
	var returns []model.CreditReturn
	_, err = idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		returns = nil
		found, err := s.store.LockBooking(ctx, tx, company.ID, which)
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
		if !done.Changed {
			return nil
		}
		t.Version++
		if err := s.store.SaveBooking(ctx, tx, company.ID, t, done.Frees, now); err != nil {
			return err
		}
		if r, owed := model.CreditsOwed(company.ID, t, b); owed && done.Returns {
			returns = append(returns, r)
		}
		if err := s.oweCredits(ctx, tx, company.ID, returns); err != nil {
			return err
		}
		if err := s.append(ctx, tx, company.ID, now, event(convert.Snapshot(t, b))); err != nil || done.Frees == 0 {
			return err
		}
		return s.promote(ctx, tx, company.ID, b.Date.ID)
	})
	if err == nil {
		s.returnCredits(ctx, returns)
	}
	return err
}
