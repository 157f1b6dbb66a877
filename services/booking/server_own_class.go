package booking

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/rpc"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/store"
)

// teacherOf returns the caller's company, and the staff member to whose dates the token is confined. A token that
// names none is FORBIDDEN, also one of the platform.
func (s *Server) teacherOf(ctx context.Context) (company id.Company, staff id.StaffMember, err error) {
	claims := rpc.ClaimsFrom(ctx)
	if claims == nil || claims.Staff.IsZero() {
		return company, staff, fault.New(fault.Forbidden, fault.ReasonForbidden, "only a teacher can do this: the token names no staff member")
	}
	known, err := s.companies.Claimed(ctx)
	return known.ID, claims.Staff, err
}

// ownDate returns a date of the caller. Any other date is NOT_FOUND.
func (s *Server) ownDate(ctx context.Context, text string) (*model.ScheduledDate, id.Company, error) {
	company, staff, err := s.teacherOf(ctx)
	if err != nil {
		return nil, company, err
	}
	which, err := check.ID[id.EventDate](text, "event date")
	if err != nil {
		return nil, company, err
	}
	d, err := s.store.OwnDate(ctx, company, staff, which)
	return d, company, err
}

// ListOwnDates implements OwnClassService.
func (s *Server) ListOwnDates(ctx context.Context, req *bookingv1.ListOwnDatesRequest) (*bookingv1.ListOwnDatesResponse, error) {
	company, staff, err := s.teacherOf(ctx)
	if err != nil {
		return nil, err
	}
	q, err := ownDateQueryOf(req)
	if err != nil {
		return nil, err
	}
	q.Staff = staff
	dates, err := s.store.OwnDates(ctx, company, q)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.ListOwnDatesResponse{}
	dates, resp.NextPageToken = page.Cut(q.Page, dates, func(d *model.ScheduledDate) page.Cursor { return page.At(d.StartsAt, d.ID.UUID()) })
	for i := range dates {
		resp.Dates = append(resp.Dates, convert.OwnDate(&dates[i]))
	}
	return resp, nil
}

// ownDateQueryOf reads the span and the page of a list of the caller's dates.
func ownDateQueryOf(req *bookingv1.ListOwnDatesRequest) (*store.OwnDateQuery, error) {
	q := &store.OwnDateQuery{}
	var err error
	if q.Page, err = page.Read(page.Of(req), store.OwnDatesByStart(), pageSizes()); err != nil {
		return nil, err
	}
	if q.From, q.Until, err = spanOf(req); err != nil {
		return nil, err
	}
	return q, nil
}

// spanOf reads the required span of a list, of at most 31 days.
func spanOf(req interface {
	GetStartsFrom() *timestamppb.Timestamp
	GetStartsBefore() *timestamppb.Timestamp
},
) (from, until time.Time, err error) {
	if from, err = requiredBound("starts_from", req.GetStartsFrom()); err != nil {
		return from, until, err
	}
	if until, err = requiredBound("starts_before", req.GetStartsBefore()); err != nil {
		return from, until, err
	}
	if span := until.Sub(from); span <= 0 || span > maxAssignmentSpan {
		return from, until, fault.InvalidParameter("starts_before", "range", "must be after the start of the span, by at most 31 days")
	}
	return from, until, nil
}

// GetOwnDate implements OwnClassService.
func (s *Server) GetOwnDate(ctx context.Context, req *bookingv1.GetOwnDateRequest) (*bookingv1.GetOwnDateResponse, error) {
	d, _, err := s.ownDate(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	return &bookingv1.GetOwnDateResponse{Date: convert.OwnDate(d)}, nil
}

// ListOwnBookings implements OwnClassService.
func (s *Server) ListOwnBookings(ctx context.Context, req *bookingv1.ListOwnBookingsRequest) (*bookingv1.ListOwnBookingsResponse, error) {
	d, company, err := s.ownDate(ctx, req.GetEventDateId())
	if err != nil {
		return nil, err
	}
	list, err := s.listRegistrations(ctx, company, &bookingv1.ListRegistrationsRequest{
		EventDateId: d.ID.String(), Cancelled: new(bool), PageSize: req.GetPageSize(), PageToken: req.GetPageToken(),
	})
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.ListOwnBookingsResponse{NextPageToken: list.GetNextPageToken(), Total: list.GetTotal()}
	for _, r := range list.GetRegistrations() {
		resp.Bookings = append(resp.Bookings, convert.OwnBooking(r))
	}
	return resp, nil
}

// RecordOwnAttendance implements OwnClassService.
func (s *Server) RecordOwnAttendance(ctx context.Context, req *bookingv1.RecordOwnAttendanceRequest) (*bookingv1.RecordOwnAttendanceResponse, error) {
	attendance, ok := convert.Attendance(req.GetAttendance())
	if !ok {
		return nil, fault.InvalidFields(fault.Field{Field: "attendance", Rule: "enum", Message: "must be unknown, checked in or no-show"})
	}
	_, staff, err := s.teacherOf(ctx)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.RecordOwnAttendanceResponse{}
	err = s.changeBooking(ctx, req, resp, registrationRef{booking: req.GetBookingId(), staff: staff}, func(store.FoundBooking, time.Time) []bookingStep {
		return []bookingStep{attendStep(attendance)}
	}, func(r *bookingv1.Registration, changed bool) {
		resp.Booking, resp.Changed = convert.OwnBooking(r), changed
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}
