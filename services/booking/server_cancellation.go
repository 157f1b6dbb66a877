package booking

import (
	"context"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/store"
)

// CancelBooking implements BookingService.
func (s *Server) CancelBooking(ctx context.Context, req *bookingv1.CancelBookingRequest) (*bookingv1.CancelBookingResponse, error) {
	reason, err := reasonOf(req.GetReason())
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.CancelBookingResponse{}
	which := registrationRef{booking: req.GetBookingId(), event: req.GetEventId(), version: req.ExpectedVersion}
	err = s.changeBooking(ctx, req, resp, which, func(found store.FoundBooking, now time.Time) []bookingStep {
		o := found.Policy.Outcome(&found.Transaction.Bookings[0], req.GetWaivePolicy(), now)
		resp.Outcome = convert.CancellationOutcome(&o)
		return cancellation(&o, reason, now)
	}, func(r *bookingv1.Registration, changed bool) {
		resp.Booking, resp.Registration, resp.Changed = r.GetBooking(), r, changed
		if !changed {
			resp.Outcome = nil
		}
	})
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
	o := found.Policy.Outcome(b, false, s.clock(company))
	return &bookingv1.PreviewCancellationResponse{Outcome: convert.CancellationOutcome(&o), AlreadyCancelled: b.Cancelled}, nil
}

// RefundBooking implements BookingService.
func (s *Server) RefundBooking(ctx context.Context, req *bookingv1.RefundBookingRequest) (*bookingv1.RefundBookingResponse, error) {
	resp := &bookingv1.RefundBookingResponse{}
	which := registrationRef{booking: req.GetBookingId(), version: req.ExpectedVersion}
	err := s.changeBooking(ctx, req, resp, which, func(_ store.FoundBooking, now time.Time) []bookingStep {
		return []bookingStep{refundStep(req.Amount, now)}
	}, func(r *bookingv1.Registration, changed bool) {
		resp.Booking, resp.Registration, resp.Changed = r.GetBooking(), r, changed
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// RecordAttendance implements BookingService.
func (s *Server) RecordAttendance(ctx context.Context, req *bookingv1.RecordAttendanceRequest) (*bookingv1.RecordAttendanceResponse, error) {
	attendance, ok := convert.Attendance(req.GetAttendance())
	if !ok {
		return nil, fault.InvalidFields(fault.Field{Field: "attendance", Rule: "enum", Message: "must be unknown, checked in or no-show"})
	}
	resp := &bookingv1.RecordAttendanceResponse{}
	which := registrationRef{booking: req.GetBookingId(), version: req.ExpectedVersion}
	err := s.changeBooking(ctx, req, resp, which, func(store.FoundBooking, time.Time) []bookingStep {
		return []bookingStep{attendStep(attendance)}
	}, func(r *bookingv1.Registration, changed bool) {
		resp.Booking, resp.Registration, resp.Changed = r.GetBooking(), r, changed
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}
