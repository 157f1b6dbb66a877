package booking

import (
	"context"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/store"
)

// MoveBooking implements BookingChangeService.
func (s *Server) MoveBooking(ctx context.Context, req *bookingv1.MoveBookingRequest) (*bookingv1.MoveBookingResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	which, err := check.ID[id.Booking](req.GetBookingId(), "booking")
	if err != nil {
		return nil, err
	}
	m := &bookingMove{
		Server: s, company: company, bookings: []id.Booking{which}, versions: []*int64{req.ExpectedVersion}, expected: req.ExpectedAmountDue,
	}
	if m.how, m.reference, err = convert.PaidMove(req); err != nil {
		return nil, err
	}
	if m.reason, err = afterStartReason(req.GetAfterStartReason()); err != nil {
		return nil, err
	}
	m.how.AfterStart = m.reason != ""
	resp := &bookingv1.MoveBookingResponse{}
	m.reply = func(all []*bookingv1.Registration, moved []*model.MovedBooking) {
		resp.Registration, resp.Changed = all[0], len(moved) > 0
		if resp.Changed {
			resp.Outcome = convert.MoveOutcome(&moved[0].Outcome)
		}
	}
	if err := m.run(ctx, req, resp); err != nil {
		return nil, err
	}
	return resp, nil
}

// PreviewMove implements BookingChangeService.
func (s *Server) PreviewMove(ctx context.Context, req *bookingv1.PreviewMoveRequest) (*bookingv1.PreviewMoveResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	which, err := check.ID[id.Booking](req.GetBookingId(), "booking")
	if err != nil {
		return nil, err
	}
	how, err := convert.Move(req)
	if err != nil {
		return nil, err
	}
	how.AfterStart = req.GetAfterStart()
	found, err := s.store.Booking(ctx, company.ID, which)
	if err != nil {
		return nil, err
	}
	one := []store.FoundBooking{found}
	m := &bookingMove{Server: s, company: company, bookings: []id.Booking{which}, how: how}
	of, err := s.store.Offer(ctx, company.ID, m.demand(one))
	if err != nil {
		return nil, err
	}
	refresh(of, one)
	moved, err := of.Move(movable(&one[0]), how, s.clock(company))
	if err != nil {
		return nil, err
	}
	if moved == nil {
		return &bookingv1.PreviewMoveResponse{Unchanged: true}, nil
	}
	return &bookingv1.PreviewMoveResponse{Outcome: convert.MoveOutcome(&moved.Outcome)}, nil
}

// SwapBookings implements BookingChangeService.
func (s *Server) SwapBookings(ctx context.Context, req *bookingv1.SwapBookingsRequest) (*bookingv1.SwapBookingsResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	one, err := check.ID[id.Booking](req.GetBookingId(), "booking")
	if err != nil {
		return nil, err
	}
	other, err := convert.IDIn[id.Booking]("other_booking_id", req.GetOtherBookingId(), "booking")
	if err != nil {
		return nil, err
	}
	if one == other {
		return nil, fault.InvalidFields(fault.Field{Field: "other_booking_id", Rule: "distinct", Message: "must be another booking"})
	}
	m := &bookingMove{
		Server: s, company: company, bookings: []id.Booking{one, other}, versions: []*int64{req.ExpectedVersion, req.OtherExpectedVersion},
		how: model.Move{Waived: req.GetWaivePolicy()},
	}
	if m.reason, err = afterStartReason(req.GetAfterStartReason()); err != nil {
		return nil, err
	}
	m.how.AfterStart = m.reason != ""
	resp := &bookingv1.SwapBookingsResponse{}
	m.reply = func(all []*bookingv1.Registration, moved []*model.MovedBooking) {
		resp.Registration, resp.Other, resp.Changed = all[0], all[1], len(moved) > 0
	}
	if err := m.run(ctx, req, resp); err != nil {
		return nil, err
	}
	return resp, nil
}
