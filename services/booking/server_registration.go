package booking

import (
	"context"
	"fmt"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/store"
)

// registrationsQueryOf reads the filters of a list of registrations.
func registrationsQueryOf(r *bookingv1.ListRegistrationsRequest) (*store.RegistrationQuery, error) {
	orders := map[bookingv1.RegistrationOrder]page.Order{
		bookingv1.RegistrationOrder_REGISTRATION_ORDER_UNSPECIFIED:  store.RegistrationsByCreation(),
		bookingv1.RegistrationOrder_REGISTRATION_ORDER_CREATED:      store.RegistrationsByCreation(),
		bookingv1.RegistrationOrder_REGISTRATION_ORDER_CREATED_DESC: store.RegistrationsByCreationDesc(),
		bookingv1.RegistrationOrder_REGISTRATION_ORDER_UPDATED:      store.RegistrationsByChange(),
		bookingv1.RegistrationOrder_REGISTRATION_ORDER_UPDATED_DESC: store.RegistrationsByChangeDesc(),
	}
	order, ok := orders[r.GetOrder()]
	if !ok {
		return nil, fault.InvalidParameter("order", "enum", "is not an order of registrations")
	}
	p, err := page.Read(page.Of(r), order, pageSizes())
	if err != nil {
		return nil, err
	}
	q := &store.RegistrationQuery{
		Page: p, Cancelled: r.Cancelled, Customer: id.Filter[id.Customer](r.GetCustomerId()), Purchaser: id.Filter[id.Customer](r.GetPurchaserId()),
		BoughtByOthers: r.GetBoughtByOthers(),
	}
	if q.BoughtByOthers && q.Customer == nil {
		return nil, fault.InvalidParameter("bought_by_others", "required", "needs a customer_id")
	}
	if q.Since, err = check.Bound("updated_since", r.GetUpdatedSince()); err != nil {
		return nil, err
	}
	if q.StartsFrom, err = check.Bound("starts_from", r.GetStartsFrom()); err != nil {
		return nil, err
	}
	if q.StartsBefore, err = check.Bound("starts_before", r.GetStartsBefore()); err != nil {
		return nil, err
	}
	if r.GetAttendance() != bookingv1.Attendance_ATTENDANCE_UNSPECIFIED {
		a, ok := convert.Attendance(r.GetAttendance())
		if !ok {
			return nil, fault.InvalidParameter("attendance", "enum", "must be unknown, checked in or no-show")
		}
		q.Attendance = &a
	}
	if r.GetEventId() != "" {
		if q.Event, err = check.ID[id.Event](r.GetEventId(), "event"); err != nil {
			return nil, err
		}
	}
	if r.GetEventDateId() != "" {
		if q.Date, err = check.ID[id.EventDate](r.GetEventDateId(), "event date"); err != nil {
			return nil, err
		}
	}
	q.MostCounted, err = registrationsCounted(r)
	return q, err
}

// registrationsCounted returns the limit of the total of a list of registrations; 0: none.
func registrationsCounted(r *bookingv1.ListRegistrationsRequest) (int64, error) {
	switch limit := r.GetTotalLimit(); {
	case limit < 0 || limit > mostCounted:
		return 0, fault.InvalidParameter("total_limit", "range", fmt.Sprintf("must be 0 to %d", mostCounted))
	case limit == 0 && r.GetEventId() == "" && r.GetEventDateId() == "":
		return mostCounted, nil
	default:
		return limit, nil
	}
}

// mostCounted is the largest total of a list of all registrations or transactions of a company. Counting
// them all would cost more the longer the company exists.
const mostCounted = 10_000

// ListRegistrations implements BookingService.
func (s *Server) ListRegistrations(ctx context.Context, req *bookingv1.ListRegistrationsRequest) (*bookingv1.ListRegistrationsResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	return s.listRegistrations(ctx, company.ID, req)
}

func (s *Server) listRegistrations(ctx context.Context, company id.Company, req *bookingv1.ListRegistrationsRequest) (*bookingv1.ListRegistrationsResponse, error) {
	q, err := registrationsQueryOf(req)
	if err != nil {
		return nil, err
	}
	found, total, err := s.store.RegistrationIDs(ctx, company, q)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.ListRegistrationsResponse{Total: total}
	found, resp.NextPageToken = page.Cut(q.Page, found, func(b *store.ListedBooking) page.Cursor { return b.Cursor(q.Page.Order) })
	ids := make([]id.Booking, len(found))
	for i := range found {
		ids[i] = found[i].ID
	}
	list, err := s.store.Registrations(ctx, company, ids)
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
