package gatewayb

import (
	"context"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/resource"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	edgev1 "reservation.dev/proto/gen/reservation/edge/v1"
)

const (
	reasonAlreadyCancelled = "ALREADY_CANCELLED"
	reasonAlreadyRefunded  = "ALREADY_REFUNDED"
)

// ListRegistrations is GET /events/{id}/registrations.
func (f *facade) ListRegistrations(ctx context.Context, req *edgebv1.ListRegistrationsRequest) (*edgebv1.ListRegistrationsResponse, error) {
	var q edge.Query
	p := newPage(&q, parameters{req.Page, req.PerPage, req.Cursor, req.Sort, req.UpdatedSince}, 2)
	list := &bookingv1.ListRegistrationsRequest{
		EventId: req.GetId(), PageSize: p.size, PageToken: p.cursor, Offset: p.offset(), UpdatedSince: p.since,
		Order: bookingv1.RegistrationOrder(p.sort), EventDateId: identifier(req.EventDateId), CustomerId: identifier(req.CustomerId),
		Cancelled: cancelledFilter(&q, req.Status),
	}
	if err := q.Err(); err != nil {
		return nil, f.missingEventOr(ctx, req.GetId(), err)
	}
	res, err := f.bookings.ListRegistrations(ctx, list)
	if fault.Is(err, fault.NotFound) && req.EventDateId != nil { // the event or the date that filters
		_, missing := f.bookings.ListRegistrations(ctx, &bookingv1.ListRegistrationsRequest{EventId: req.GetId(), PageSize: 1})
		res, err = nil, missing
	}
	if err != nil {
		return nil, err
	}
	return &edgebv1.ListRegistrationsResponse{
		Registrations: edge.Convert(res.GetRegistrations(), registrationIn(companyCurrency(ctx))),
		Total:         res.GetTotal(), Page: p.number, PerPage: p.size, NextCursor: nextCursor(res.GetNextPageToken()),
	}, nil
}

// registrationIn returns the conversion of registrations in a company's currency.
func registrationIn(currency string) func(*bookingv1.Registration) *edgebv1.Registration {
	return func(r *bookingv1.Registration) *edgebv1.Registration { return resource.Registration(r, currency) }
}

// cancelledFilter reads the status filter of registrations; nil means any status.
func cancelledFilter(q *edge.Query, status *string) *bool {
	if status == nil {
		return nil
	}
	if *status != resource.StatusConfirmed && *status != resource.StatusCancelled {
		q.Fail(fault.InvalidParameter("status", "enum", "must be confirmed or cancelled"))
	}
	is := *status == resource.StatusCancelled
	return &is
}

// CreateRegistration is POST /events/{id}/registrations.
func (f *facade) CreateRegistration(ctx context.Context, req *edgebv1.CreateRegistrationRequest) (*edgebv1.CreateRegistrationResponse, error) {
	create, err := newPurchase(req.GetId(), req.GetRegistration())
	if err != nil {
		return nil, f.missingEventOr(ctx, req.GetId(), err)
	}
	res, err := f.bookings.CreateTransaction(ctx, create)
	if err != nil {
		return nil, renameFields(err, purchaseNames(req.GetRegistration()))
	}
	t := edge.Tag(ctx, res.GetTransaction())
	made := resource.Registration(&bookingv1.Registration{
		Booking: t.GetBookings()[0], TransactionId: t.GetId(), Purchaser: t.GetPurchaser(), CreatedAt: t.GetBookings()[0].GetCreatedAt(),
	}, companyCurrency(ctx))
	edge.Created(ctx, base+"/events/"+req.GetId()+"/registrations/"+made.GetId())
	return &edgebv1.CreateRegistrationResponse{Registration: made}, nil
}

// GetRegistration is GET /events/{id}/registrations/{registration_id}.
func (f *facade) GetRegistration(ctx context.Context, req *edgebv1.GetRegistrationRequest) (*edgebv1.GetRegistrationResponse, error) {
	res, err := f.bookings.GetRegistration(ctx, &bookingv1.GetRegistrationRequest{BookingId: resource.BookingID(req.GetRegistrationId())})
	if fault.Is(err, fault.NotFound) || err == nil && res.GetRegistration().GetBooking().GetEventId() != req.GetId() {
		return nil, fault.Missing("registration")
	}
	if err != nil {
		return nil, err
	}
	return &edgebv1.GetRegistrationResponse{Registration: taggedRegistration(ctx, res.GetRegistration())}, nil
}

// DeleteRegistration is DELETE /events/{id}/registrations/{registration_id}.
func (f *facade) DeleteRegistration(ctx context.Context, req *edgebv1.DeleteRegistrationRequest) (*edgebv1.DeleteRegistrationResponse, error) {
	res, err := f.bookings.CancelBooking(ctx, &bookingv1.CancelBookingRequest{
		BookingId: resource.BookingID(req.GetRegistrationId()), EventId: req.GetId(), ExpectedVersion: edge.ExpectedVersion(ctx),
	})
	if err != nil {
		return nil, registrationFault(err)
	}
	if !res.GetChanged() {
		return nil, alreadyCancelled()
	}
	outcome := res.GetOutcome()
	return &edgebv1.DeleteRegistrationResponse{
		Id: req.GetRegistrationId(), Deleted: true, Status: resource.StatusCancelled, Late: outcome.GetLate(),
		CreditsReturned: outcome.GetCreditsReturned(), RefundDue: &edgev1.Amount{Minor: outcome.GetRefundDue()},
	}, nil
}

// companyCurrency returns the currency of the caller's company.
func companyCurrency(ctx context.Context) string {
	if c := edge.Claims(ctx); c != nil {
		return c.Currency
	}
	return ""
}

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
	res, err := noneIfMissing(f.bookings.ListRegistrations(ctx, list))
	if err != nil {
		return nil, err
	}
	return &edgebv1.ListAllRegistrationsResponse{
		Registrations: edge.Convert(res.GetRegistrations(), registrationIn(companyCurrency(ctx))),
		Total:         res.GetTotal(), Page: p.number, PerPage: p.size, NextCursor: nextCursor(res.GetNextPageToken()),
	}, nil
}

// GetAnyRegistration is GET /registrations/{id}.
func (f *facade) GetAnyRegistration(ctx context.Context, req *edgebv1.GetAnyRegistrationRequest) (*edgebv1.GetAnyRegistrationResponse, error) {
	res, err := f.bookings.GetRegistration(ctx, &bookingv1.GetRegistrationRequest{BookingId: resource.BookingID(req.GetId())})
	if err != nil {
		return nil, registrationFault(err)
	}
	return &edgebv1.GetAnyRegistrationResponse{Registration: taggedRegistration(ctx, res.GetRegistration())}, nil
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
