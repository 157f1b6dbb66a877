package gatewaya

import (
	"context"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgeav1 "reservation.dev/proto/gen/reservation/edge/a/v1"
)

// The values of status for appointments on Interface A. Held appointments are not listed.
const (
	statusBooked    = "booked"
	statusCancelled = "cancelled"
)

// ListAppointments is GET /customer/{id}/appointments.
func (f *facade) ListAppointments(ctx context.Context, req *edgeav1.ListAppointmentsRequest) (*edgeav1.ListAppointmentsResponse, error) {
	var q edge.Query
	p := newPage(&q, req.Page, req.PageSize)
	list := &bookingv1.ListAppointmentsRequest{
		CustomerId: req.GetId(), CustomerMustExist: true, PageSize: p.size, Offset: p.offset(), Order: bookingv1.AppointmentOrder_APPOINTMENT_ORDER_START_DESC, Statuses: appointmentStatuses(&q, req.Status),
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := f.appointments.ListAppointments(ctx, list)
	if err != nil {
		return nil, err
	}
	data, err := appointments(res.GetAppointments())
	if err != nil {
		return nil, err
	}
	return &edgeav1.ListAppointmentsResponse{Data: data, Total: res.GetTotal(), Page: p.number, PageSize: p.size}, nil
}

// appointmentStatuses reads the parameter status. None means booked and cancelled ones.
func appointmentStatuses(q *edge.Query, status *string) []bookingv1.AppointmentStatus {
	switch {
	case status == nil:
		return nil
	case *status == statusBooked:
		return []bookingv1.AppointmentStatus{bookingv1.AppointmentStatus_APPOINTMENT_STATUS_BOOKED}
	case *status == statusCancelled:
		return []bookingv1.AppointmentStatus{bookingv1.AppointmentStatus_APPOINTMENT_STATUS_CANCELLED}
	}
	q.Fail(fault.InvalidParameter("status", "enum", fault.OneOf([]string{statusBooked, statusCancelled})))
	return nil
}

// GetAppointment is GET /customer/{id}/appointment/{appointmentId}.
func (f *facade) GetAppointment(ctx context.Context, req *edgeav1.GetAppointmentRequest) (*edgeav1.GetAppointmentResponse, error) {
	res, err := f.appointments.GetAppointment(ctx, &bookingv1.GetAppointmentRequest{Id: req.GetAppointmentId(), CustomerId: req.GetId()})
	if err != nil {
		return nil, err
	}
	if res.GetAppointment().GetStatus() == bookingv1.AppointmentStatus_APPOINTMENT_STATUS_HELD {
		return nil, fault.Missing("appointment")
	}
	data, err := appointment(edge.Tag(ctx, res.GetAppointment()))
	if err != nil {
		return nil, err
	}
	return &edgeav1.GetAppointmentResponse{Data: data}, nil
}
