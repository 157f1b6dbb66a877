package booking

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/check"
	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/rpc"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/store"
)

// GetAppointment implements AppointmentService.
func (s *Server) GetAppointment(ctx context.Context, req *bookingv1.GetAppointmentRequest) (*bookingv1.GetAppointmentResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	which, err := check.ID[id.Appointment](req.GetId(), "appointment")
	if err != nil {
		return nil, err
	}
	list, err := s.store.Appointments(ctx, nil, company.ID, []id.Booking{id.Booking(which)})
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fault.Missing("appointment")
	}
	if c := id.Filter[id.Customer](req.GetCustomerId()); c != nil && *c != list[0].Purchaser.ID && *c != list[0].Customer() {
		return nil, fault.Missing("appointment")
	}
	return &bookingv1.GetAppointmentResponse{Appointment: convert.AppointmentOf(&list[0])}, nil
}

// ListAppointments implements AppointmentService.
func (s *Server) ListAppointments(ctx context.Context, req *bookingv1.ListAppointmentsRequest) (*bookingv1.ListAppointmentsResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	q, err := appointmentsQueryOf(req)
	if err != nil {
		return nil, err
	}
	if req.GetCustomerMustExist() {
		if err := s.customerExists(ctx, company.ID, req.GetCustomerId()); err != nil {
			return nil, err
		}
	}
	found, total, err := s.store.AppointmentIDs(ctx, company.ID, q)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.ListAppointmentsResponse{Total: total}
	found, resp.NextPageToken = page.Cut(q.Page, found, func(a *store.ListedAppointment) page.Cursor { return a.Cursor(q.Page.Order) })
	ids := make([]id.Booking, len(found))
	for i := range found {
		ids[i] = found[i].ID
	}
	list, err := s.store.Appointments(ctx, nil, company.ID, ids)
	if err != nil {
		return nil, err
	}
	for i := range list {
		resp.Appointments = append(resp.Appointments, convert.AppointmentOf(&list[i]))
	}
	return resp, nil
}

// appointmentsQueryOf reads the filters of a list of appointments.
func appointmentsQueryOf(r *bookingv1.ListAppointmentsRequest) (*store.AppointmentQuery, error) {
	orders := map[bookingv1.AppointmentOrder]page.Order{
		bookingv1.AppointmentOrder_APPOINTMENT_ORDER_UNSPECIFIED:  store.AppointmentsByStart(),
		bookingv1.AppointmentOrder_APPOINTMENT_ORDER_START:        store.AppointmentsByStart(),
		bookingv1.AppointmentOrder_APPOINTMENT_ORDER_START_DESC:   store.AppointmentsByStartDesc(),
		bookingv1.AppointmentOrder_APPOINTMENT_ORDER_UPDATED:      store.AppointmentsByChange(),
		bookingv1.AppointmentOrder_APPOINTMENT_ORDER_UPDATED_DESC: store.AppointmentsByChangeDesc(),
	}
	order, ok := orders[r.GetOrder()]
	if !ok {
		return nil, fault.InvalidParameter("order", "enum", "is not an order of appointments")
	}
	p, err := page.Read(page.Of(r), order, pageSizes())
	if err != nil {
		return nil, err
	}
	q := &store.AppointmentQuery{
		Page: p, MostCounted: mostCounted, Staff: id.Filter[id.StaffMember](r.GetStaffId()), Room: id.Filter[id.Room](r.GetRoomId()),
		Type: id.Filter[id.AppointmentType](r.GetAppointmentTypeId()), Customer: id.Filter[id.Customer](r.GetCustomerId()),
	}
	if q.StartsFrom, err = check.Bound("starts_from", r.GetStartsFrom()); err != nil {
		return nil, err
	}
	if q.StartsBefore, err = check.Bound("starts_before", r.GetStartsBefore()); err != nil {
		return nil, err
	}
	if q.Since, err = check.Bound("updated_since", r.GetUpdatedSince()); err != nil {
		return nil, err
	}
	for i, status := range r.GetStatuses() {
		read, ok := convert.AppointmentStatus(status)
		if !ok {
			return nil, fault.InvalidParameter(fmt.Sprintf("statuses[%d]", i), "enum", fault.OneOf(enum.Names[bookingv1.AppointmentStatus]()))
		}
		q.Statuses = append(q.Statuses, read)
	}
	return q, nil
}

const (
	// maxAssignments is the maximum number of assignments in a response.
	maxAssignments = 10_000
	// maxAssignmentBytes is the size at which a response is truncated, below the limit of messages.
	maxAssignmentBytes = rpc.MaxMessage * 3 / 4
	// maxAssignmentSpan is 31 days, of which the longest is one on which the clocks go back.
	maxAssignmentSpan = 31*24*time.Hour + 2*time.Hour
)

// ListAssignments implements AppointmentService.
func (s *Server) ListAssignments(ctx context.Context, req *bookingv1.ListAssignmentsRequest) (*bookingv1.ListAssignmentsResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	q, err := assignmentsQueryOf(req)
	if err != nil {
		return nil, err
	}
	taken, err := s.store.TakenTimes(ctx, company.ID, q)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.ListAssignmentsResponse{Truncated: len(taken) > q.Max}
	taken = taken[:min(len(taken), q.Max)]
	var dates []id.EventDate
	for i := range taken {
		if taken[i].IsAppointment {
			dates = append(dates, taken[i].Date)
		}
	}
	appointments, err := s.store.AppointmentsOnDates(ctx, company.ID, model.Distinct(dates))
	if err != nil {
		return nil, err
	}
	addAssignments(resp, taken, appointments)
	return resp, nil
}

// addAssignments adds assignments to resp, as many as fit in a message.
func addAssignments(resp *bookingv1.ListAssignmentsResponse, taken []model.TakenTime, appointments map[id.EventDate]*model.AppointmentBooking) {
	size := 0
	for i := range taken {
		a := convert.TakenTime(&taken[i], appointments[taken[i].Date])
		if size += proto.Size(a) + perAssignment; size > maxAssignmentBytes {
			resp.Truncated = true
			return
		}
		resp.Assignments = append(resp.Assignments, a)
	}
}

// perAssignment is what an assignment adds to the size of its list, in bytes: its tag and its length.
const perAssignment = 6

// assignmentsQueryOf reads the span and the resources of a list of assignments. An identifier that does
// not exist matches nothing.
func assignmentsQueryOf(r *bookingv1.ListAssignmentsRequest) (q store.TakenTimeQuery, err error) {
	q.Max = maxAssignments
	if q.From, q.Until, err = spanOf(r); err != nil {
		return q, err
	}
	if len(r.GetResourceIds()) == 0 {
		return q, nil
	}
	q.Resources = []id.UUID{}
	for _, text := range r.GetResourceIds() {
		if staff, err := id.Parse[id.StaffMember](text); err == nil {
			q.Resources = append(q.Resources, staff.UUID())
		} else if room, err := id.Parse[id.Room](text); err == nil {
			q.Resources = append(q.Resources, room.UUID())
		}
	}
	q.Resources = model.Distinct(q.Resources)
	return q, nil
}

// requiredBound is check.Bound for a parameter that must be given.
func requiredBound(parameter string, t *timestamppb.Timestamp) (time.Time, error) {
	if t == nil {
		return time.Time{}, fault.InvalidParameter(parameter, "required", "is required")
	}
	return check.Bound(parameter, t)
}
