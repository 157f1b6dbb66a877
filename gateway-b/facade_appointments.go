package gatewayb

import (
	"context"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/resource"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

// FindSlots is GET /slots.
func (f *facade) FindSlots(ctx context.Context, req *edgebv1.FindSlotsRequest) (*edgebv1.FindSlotsResponse, error) {
	find, err := slotQuery(req)
	if err != nil {
		return nil, err
	}
	res, err := f.appointments.FindSlots(ctx, find)
	if err != nil {
		return nil, err
	}
	return resource.Slots(res), nil
}

// appointmentSorts returns the values of sort for appointments, in the order of the service's numbers.
func appointmentSorts() []string { return []string{"startsAt", "-startsAt", "updatedAt", "-updatedAt"} }

// ListAppointments is GET /appointments.
func (f *facade) ListAppointments(ctx context.Context, req *edgebv1.ListAppointmentsRequest) (*edgebv1.ListAppointmentsResponse, error) {
	var q edge.Query
	p := newPage(&q, parameters{page: req.Page, perPage: req.PerPage, cursor: req.Cursor, updatedSince: req.UpdatedSince}, 0)
	list := &bookingv1.ListAppointmentsRequest{
		PageSize: p.size, PageToken: p.cursor, Offset: p.offset(), UpdatedSince: p.since,
		Order:      queryChoice[bookingv1.AppointmentOrder](&q, "sort", req.Sort, appointmentSorts()),
		CustomerId: identifier(req.CustomerId), StaffId: identifier(req.StaffId), RoomId: identifier(req.RoomId), AppointmentTypeId: identifier(req.AppointmentTypeId),
		StartsFrom: q.Instant("startsFrom", req.StartsFrom), StartsBefore: q.Instant("startsBefore", req.StartsBefore),
	}
	if status := edge.QueryEnum[bookingv1.AppointmentStatus](&q, "status", req.Status); status != 0 {
		list.Statuses = []bookingv1.AppointmentStatus{status}
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := noneIfMissing(f.appointments.ListAppointments(ctx, list))
	if err != nil {
		return nil, err
	}
	currency := companyCurrency(ctx)
	return &edgebv1.ListAppointmentsResponse{
		Appointments: edge.Convert(res.GetAppointments(), func(a *bookingv1.Appointment) *edgebv1.Appointment { return resource.Appointment(a, currency) }),
		Total:        res.GetTotal(), Page: p.number, PerPage: p.size, NextCursor: nextCursor(res.GetNextPageToken()),
	}, nil
}

// GetAppointment is GET /appointments/{id}.
func (f *facade) GetAppointment(ctx context.Context, req *edgebv1.GetAppointmentRequest) (*edgebv1.GetAppointmentResponse, error) {
	a, err := f.appointment(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	return &edgebv1.GetAppointmentResponse{Appointment: taggedAppointment(ctx, a)}, nil
}

// CreateAppointment is POST /appointments.
func (f *facade) CreateAppointment(ctx context.Context, req *edgebv1.CreateAppointmentRequest) (*edgebv1.CreateAppointmentResponse, error) {
	in := edge.OrEmpty(req.GetAppointment())
	create, err := newAppointment(in)
	if err != nil {
		return nil, err
	}
	res, err := f.appointments.BookAppointment(ctx, create)
	if err != nil {
		return nil, renameFields(err, slotNames(in.GetPayment(), in.PurchasedById, in.LocalStart))
	}
	return &edgebv1.CreateAppointmentResponse{
		Appointment: resource.Appointment(setCreated(ctx, "appointments", res.GetAppointment()), companyCurrency(ctx)),
	}, nil
}

// MoveAppointment is POST /appointments/{id}/move. It sets the slot, so a repeated move succeeds.
func (f *facade) MoveAppointment(ctx context.Context, req *edgebv1.MoveAppointmentRequest) (*edgebv1.MoveAppointmentResponse, error) {
	move, err := appointmentMove(req.GetMove())
	if err != nil {
		_, look := f.appointment(ctx, req.GetId())
		return nil, missingOr(look, err)
	}
	move.Id, move.ExpectedVersion = req.GetId(), edge.ExpectedVersion(ctx)
	res, err := f.appointments.MoveAppointment(ctx, move)
	if err != nil {
		return nil, renameFields(err, slotNames(nil, nil, edge.OrEmpty(req.GetMove()).LocalStart))
	}
	return &edgebv1.MoveAppointmentResponse{Appointment: taggedAppointment(ctx, res.GetAppointment())}, nil
}

// CancelAppointment is POST /appointments/{id}/cancel. The booking has the UUID of the appointment. Reading
// the appointment first makes sure that the booking is one: the permission for appointments does not allow
// cancelling bookings of classes.
func (f *facade) CancelAppointment(ctx context.Context, req *edgebv1.CancelAppointmentRequest) (*edgebv1.CancelAppointmentResponse, error) {
	before, err := f.appointment(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	if before.GetStatus() == bookingv1.AppointmentStatus_APPOINTMENT_STATUS_HELD {
		return nil, fault.Refuse(reasonHoldNotConfirmed, "the slot is only held; release the hold instead")
	}
	res, err := f.bookings.CancelBooking(ctx, &bookingv1.CancelBookingRequest{
		BookingId: before.GetBooking().GetId(), WaivePolicy: req.GetCancellation().GetWaivePolicy(), Reason: req.GetCancellation().GetReason(),
		ExpectedVersion: edge.ExpectedVersion(ctx),
	})
	if f := fault.From(err); f != nil && f.Kind == fault.VersionMismatch {
		return nil, fault.Stale("appointment", before.GetVersion())
	}
	if err != nil {
		return nil, err
	}
	if !res.GetChanged() {
		return nil, fault.Refuse(reasonAlreadyCancelled, "the appointment is already cancelled")
	}
	after, err := f.appointment(ctx, req.GetId())
	if err != nil {
		return nil, err
	}
	return &edgebv1.CancelAppointmentResponse{Appointment: taggedAppointment(ctx, after)}, nil
}

// CreateAppointmentHold is POST /appointment-holds. The hold is one of /holds.
func (f *facade) CreateAppointmentHold(ctx context.Context, req *edgebv1.CreateAppointmentHoldRequest) (*edgebv1.CreateAppointmentHoldResponse, error) {
	in := edge.OrEmpty(req.GetHold())
	create, err := newAppointmentHold(in)
	if err != nil {
		return nil, err
	}
	res, err := f.appointments.HoldAppointment(ctx, create)
	if err != nil {
		return nil, renameFields(err, slotNames(nil, in.PurchasedById, in.LocalStart))
	}
	made := resource.AppointmentHold(edge.Tag(ctx, res.GetHold()), companyCurrency(ctx))
	edge.Created(ctx, base+"/holds/"+made.GetId())
	return &edgebv1.CreateAppointmentHoldResponse{Hold: made}, nil
}

// ListAssignments is GET /assignments.
func (f *facade) ListAssignments(ctx context.Context, req *edgebv1.ListAssignmentsRequest) (*edgebv1.ListAssignmentsResponse, error) {
	var q edge.Query
	queryRequired(&q, "endsAfter", req.EndsAfter)
	queryRequired(&q, "startsBefore", req.StartsBefore)
	list := &bookingv1.ListAssignmentsRequest{
		StartsFrom: q.Instant("endsAfter", req.EndsAfter), StartsBefore: q.Instant("startsBefore", req.StartsBefore), ResourceIds: resources(req.ResourceIds),
	}
	if len(list.GetResourceIds()) > maxResources {
		q.Fail(fault.InvalidParameter("resourceIds", "max_items", "must have at most 200 identifiers"))
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := f.appointments.ListAssignments(ctx, list)
	if err != nil {
		return nil, renameFields(err, spanNames())
	}
	return &edgebv1.ListAssignmentsResponse{Assignments: edge.Convert(res.GetAssignments(), resource.Assignment), Truncated: res.GetTruncated()}, nil
}

// spanNames maps the start of a span to the parameter of lists of what lies in the span in part.
func spanNames() map[string]string { return map[string]string{"starts_from": "endsAfter"} }

// maxResources is how many staff and rooms a list of assignments can name.
const maxResources = 200

// appointment reads an appointment.
func (f *facade) appointment(ctx context.Context, id string) (*bookingv1.Appointment, error) {
	res, err := f.appointments.GetAppointment(ctx, &bookingv1.GetAppointmentRequest{Id: id})
	return res.GetAppointment(), err
}

// taggedAppointment converts an appointment and sets the ETag of the response.
func taggedAppointment(ctx context.Context, a *bookingv1.Appointment) *edgebv1.Appointment {
	return resource.Appointment(edge.Tag(ctx, a), companyCurrency(ctx))
}
