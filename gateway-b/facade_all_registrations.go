package gatewayb

import (
	"context"
	"slices"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/resource"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

const reasonAlreadyRefunded = "ALREADY_REFUNDED"

// ListAllRegistrations is GET /registrations.
func (f *facade) ListAllRegistrations(ctx context.Context, req *edgebv1.ListAllRegistrationsRequest) (*edgebv1.ListAllRegistrationsResponse, error) {
	var q edge.Query
	p := newPage(&q, parameters{req.Page, req.PerPage, req.Cursor, req.Sort, req.UpdatedSince}, 4)
	list := &bookingv1.ListRegistrationsRequest{
		PageSize: p.size, PageToken: p.cursor, Offset: p.offset(), UpdatedSince: p.since, Order: bookingv1.RegistrationOrder(p.sort),
		EventId: identifier(req.EventId), EventDateId: identifier(req.EventDateId), CustomerId: identifier(req.CustomerId),
		PurchaserId: identifier(req.PurchasedById), Cancelled: cancelledFilter(&q, req.Status),
		Attendance: queryChoice[bookingv1.Attendance](&q, "attendance", req.Attendance, resource.AttendanceNames()),
		StartsFrom: q.Instant("startsFrom", req.StartsFrom), StartsBefore: q.Instant("startsBefore", req.StartsBefore),
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := f.bookings.ListRegistrations(ctx, list)
	if err != nil {
		return nil, err
	}
	return &edgebv1.ListAllRegistrationsResponse{
		Registrations: edge.Convert(res.GetRegistrations(), registrationIn(companyCurrency(ctx))),
		Total:         res.GetTotal(), Page: p.number, PerPage: p.size, NextCursor: nextCursor(res.GetNextPageToken()),
	}, nil
}

// queryChoice returns the position of a parameter in names, counted from 1, or 0 if it is absent.
func queryChoice[T ~int32](q *edge.Query, name string, value *string, names []string) T {
	if value == nil {
		return 0
	}
	i := slices.Index(names, *value)
	if i < 0 {
		q.Fail(fault.InvalidParameter(name, "enum", fault.OneOf(names)))
	}
	return T(i + 1)
}

// GetRegistrationById is GET /registrations/{id}.
func (f *facade) GetRegistrationById(ctx context.Context, req *edgebv1.GetRegistrationByIdRequest) (*edgebv1.GetRegistrationByIdResponse, error) {
	res, err := f.bookings.GetRegistration(ctx, &bookingv1.GetRegistrationRequest{BookingId: resource.BookingID(req.GetId())})
	if err != nil {
		return nil, registrationFault(err)
	}
	return &edgebv1.GetRegistrationByIdResponse{Registration: taggedRegistration(ctx, res.GetRegistration())}, nil
}

// CancelRegistration is POST /registrations/{id}/cancel.
func (f *facade) CancelRegistration(ctx context.Context, req *edgebv1.CancelRegistrationRequest) (*edgebv1.CancelRegistrationResponse, error) {
	res, err := f.bookings.CancelBooking(ctx, &bookingv1.CancelBookingRequest{
		BookingId: resource.BookingID(req.GetId()), WaivePolicy: req.GetCancellation().GetWaivePolicy(), Reason: req.GetCancellation().GetReason(),
		ExpectedVersion: edge.ExpectedVersion(ctx),
	})
	if err != nil {
		return nil, registrationFault(err)
	}
	if !res.GetChanged() {
		return nil, alreadyCancelled()
	}
	return &edgebv1.CancelRegistrationResponse{Registration: taggedRegistration(ctx, res.GetRegistration())}, nil
}

// PreviewCancellation is GET /registrations/{id}/cancellation-preview.
func (f *facade) PreviewCancellation(ctx context.Context, req *edgebv1.PreviewCancellationRequest) (*edgebv1.PreviewCancellationResponse, error) {
	res, err := f.bookings.PreviewCancellation(ctx, &bookingv1.PreviewCancellationRequest{BookingId: resource.BookingID(req.GetId())})
	if err != nil {
		return nil, registrationFault(err)
	}
	if res.GetAlreadyCancelled() {
		return nil, alreadyCancelled()
	}
	return resource.CancellationPreview(res.GetOutcome(), companyCurrency(ctx)), nil
}

// RefundRegistration is POST /registrations/{id}/refund.
func (f *facade) RefundRegistration(ctx context.Context, req *edgebv1.RefundRegistrationRequest) (*edgebv1.RefundRegistrationResponse, error) {
	amount, err := refund(req.GetRefund())
	if err != nil {
		return nil, f.missingRegistrationOr(ctx, req.GetId(), err)
	}
	res, err := f.bookings.RefundBooking(ctx, &bookingv1.RefundBookingRequest{
		BookingId: resource.BookingID(req.GetId()), Amount: amount, ExpectedVersion: edge.ExpectedVersion(ctx),
	})
	if err != nil {
		return nil, refundFault(registrationFault(err))
	}
	if !res.GetChanged() {
		return nil, fault.Refuse(reasonAlreadyRefunded, "nothing is left to refund")
	}
	return &edgebv1.RefundRegistrationResponse{Registration: taggedRegistration(ctx, res.GetRegistration())}, nil
}

// RecordAttendance is POST /registrations/{id}/attendance. It sets a value, so recording the same
// attendance again succeeds.
func (f *facade) RecordAttendance(ctx context.Context, req *edgebv1.RecordAttendanceRequest) (*edgebv1.RecordAttendanceResponse, error) {
	attended, err := attendance(req.GetAttendance())
	if err != nil {
		return nil, f.missingRegistrationOr(ctx, req.GetId(), err)
	}
	res, err := f.bookings.RecordAttendance(ctx, &bookingv1.RecordAttendanceRequest{
		BookingId: resource.BookingID(req.GetId()), Attendance: attended, ExpectedVersion: edge.ExpectedVersion(ctx),
	})
	if err != nil {
		return nil, registrationFault(err)
	}
	return &edgebv1.RecordAttendanceResponse{Registration: taggedRegistration(ctx, res.GetRegistration())}, nil
}

// taggedRegistration converts a registration and sets the ETag of the response.
func taggedRegistration(ctx context.Context, r *bookingv1.Registration) *edgebv1.Registration {
	return resource.Registration(edge.Tag(ctx, r), companyCurrency(ctx))
}

// missingRegistrationOr is missingEventOr for a registration.
func (f *facade) missingRegistrationOr(ctx context.Context, id string, wrong error) error {
	_, look := f.bookings.GetRegistration(ctx, &bookingv1.GetRegistrationRequest{BookingId: resource.BookingID(id)})
	return registrationFault(missingOr(look, wrong))
}

// registrationFault calls a missing booking a registration.
func registrationFault(err error) error {
	if fault.Is(err, fault.NotFound) {
		return fault.Missing("registration")
	}
	return err
}

func alreadyCancelled() error {
	return fault.Refuse(reasonAlreadyCancelled, "the registration is already cancelled")
}
