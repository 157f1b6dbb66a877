package booking

import (
	"context"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/store"
)

// registrationsQueryOf reads the filters of a list of registrations.
func registrationsQueryOf(r *bookingv1.ListRegistrationsRequest) (*store.RegistrationQuery, error) {
	order := store.RegistrationsByCreation()
	switch r.GetOrder() {
	case bookingv1.RegistrationOrder_REGISTRATION_ORDER_UNSPECIFIED, bookingv1.RegistrationOrder_REGISTRATION_ORDER_CREATED:
	case bookingv1.RegistrationOrder_REGISTRATION_ORDER_CREATED_DESC:
		order = store.RegistrationsByCreationDesc()
	default:
		return nil, fault.InvalidParameter("order", "enum", "is not an order of registrations")
	}
	p, err := page.Read(page.Of(r), order, pageSizes())
	if err != nil {
		return nil, err
	}
	q := &store.RegistrationQuery{Page: p, Cancelled: r.Cancelled}
	if q.Since, err = check.Bound("updated_since", r.GetUpdatedSince()); err != nil {
		return nil, err
	}
	if q.Event, err = check.ID[id.Event](r.GetEventId(), "event"); err != nil {
		return nil, err
	}
	if r.GetEventDateId() != "" {
		if q.Date, err = check.ID[id.EventDate](r.GetEventDateId(), "event date"); err != nil {
			return nil, err
		}
	}
	q.Customer = id.Filter[id.Customer](r.GetCustomerId())
	return q, nil
}

// ListRegistrations implements BookingService.
func (s *Server) ListRegistrations(ctx context.Context, req *bookingv1.ListRegistrationsRequest) (*bookingv1.ListRegistrationsResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	q, err := registrationsQueryOf(req)
	if err != nil {
		return nil, err
	}
	ids, total, err := s.store.RegistrationIDs(ctx, company.ID, q)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.ListRegistrationsResponse{Total: total}
	ids, resp.NextPageToken = page.Cut(q.Page, ids, func(b *id.Booking) page.Cursor { return page.Cursor{ID: b.UUID()} })
	list, err := s.store.Registrations(ctx, company.ID, ids)
	if err != nil {
		return nil, err
	}
	for i := range list {
		resp.Registrations = append(resp.Registrations, convert.Registration(&list[i]))
	}
	return resp, nil
}

// GetRegistration implements BookingService.
func (s *Server) GetRegistration(ctx context.Context, req *bookingv1.GetRegistrationRequest) (*bookingv1.GetRegistrationResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	which, err := check.ID[id.Booking](req.GetBookingId(), "booking")
	if err != nil {
		return nil, err
	}
	list, err := s.store.Registrations(ctx, company.ID, []id.Booking{which})
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fault.Missing("booking")
	}
	return &bookingv1.GetRegistrationResponse{Registration: convert.Registration(&list[0])}, nil
}

// RecordAttendance implements BookingService.
func (s *Server) RecordAttendance(ctx context.Context, req *bookingv1.RecordAttendanceRequest) (*bookingv1.RecordAttendanceResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	attendance, ok := convert.Attendance(req.GetAttendance())
	if !ok {
		return nil, fault.InvalidFields(fault.Field{Field: "attendance", Rule: "enum", Message: "must be unknown, checked in or no-show"})
	}
	which, err := check.ID[id.Booking](req.GetBookingId(), "booking")
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.RecordAttendanceResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		found, err := s.store.LockBooking(ctx, tx, company.ID, which)
		if err != nil {
			return err
		}
		t := found.Transaction
		b := &t.Bookings[0]
		if resp.Changed, err = b.Attend(attendance); err != nil {
			return err
		}
		resp.Booking = convert.Booking(b)
		if !resp.Changed {
			return nil
		}
		t.Version++
		now := s.now()
		if err := s.store.SaveAttendance(ctx, tx, company.ID, t, now); err != nil {
			return err
		}
		return s.append(ctx, tx, company.ID, now, attendanceRecorded(convert.Snapshot(t, b)))
	})
}
