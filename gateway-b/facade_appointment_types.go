package gatewayb

import (
	"context"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/resource"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

// ListAppointmentTypes is GET /appointment-types.
func (f *facade) ListAppointmentTypes(ctx context.Context, req *edgebv1.ListAppointmentTypesRequest) (*edgebv1.ListAppointmentTypesResponse, error) {
	var q edge.Query
	p := newPage(&q, parameters{req.Page, req.PerPage, req.Cursor, req.Sort, req.UpdatedSince}, 4)
	list := &bookingv1.ListAppointmentTypesRequest{
		PageSize: p.size, PageToken: p.cursor, Offset: p.offset(), UpdatedSince: p.since, Order: bookingv1.ResourceOrder(p.sort),
		Active: q.Bool("active", req.Active), StaffId: identifier(req.StaffId),
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := noneIfMissing(f.appointmentTypes.ListAppointmentTypes(ctx, list))
	if err != nil {
		return nil, err
	}
	return &edgebv1.ListAppointmentTypesResponse{
		AppointmentTypes: edge.Convert(res.GetAppointmentTypes(), resource.AppointmentType),
		Total:            res.GetTotal(), Page: p.number, PerPage: p.size, NextCursor: nextCursor(res.GetNextPageToken()),
	}, nil
}

// GetAppointmentType is GET /appointment-types/{id}.
func (f *facade) GetAppointmentType(ctx context.Context, req *edgebv1.GetAppointmentTypeRequest) (*edgebv1.GetAppointmentTypeResponse, error) {
	res, err := f.appointmentTypes.GetAppointmentType(ctx, &bookingv1.GetAppointmentTypeRequest{Id: req.GetId()})
	if err != nil {
		return nil, err
	}
	return &edgebv1.GetAppointmentTypeResponse{AppointmentType: resource.AppointmentType(edge.Tag(ctx, res.GetAppointmentType()))}, nil
}

// CreateAppointmentType is POST /appointment-types.
func (f *facade) CreateAppointmentType(ctx context.Context, req *edgebv1.CreateAppointmentTypeRequest) (*edgebv1.CreateAppointmentTypeResponse, error) {
	create, err := newAppointmentType(req.GetAppointmentType())
	if err != nil {
		return nil, err
	}
	res, err := f.appointmentTypes.CreateAppointmentType(ctx, create)
	if err != nil {
		return nil, appointmentTypeFault(err)
	}
	return &edgebv1.CreateAppointmentTypeResponse{
		AppointmentType: resource.AppointmentType(setCreated(ctx, "appointment-types", res.GetAppointmentType())),
	}, nil
}

// UpdateAppointmentType is PUT and PATCH /appointment-types/{id}.
func (f *facade) UpdateAppointmentType(ctx context.Context, req *edgebv1.UpdateAppointmentTypeRequest) (*edgebv1.UpdateAppointmentTypeResponse, error) {
	update, err := appointmentTypeUpdate(req.GetAppointmentType())
	if err != nil {
		_, look := f.appointmentTypes.GetAppointmentType(ctx, &bookingv1.GetAppointmentTypeRequest{Id: req.GetId()})
		return nil, missingOr(look, err)
	}
	update.Id, update.ExpectedVersion = req.GetId(), edge.ExpectedVersion(ctx)
	res, err := f.appointmentTypes.UpdateAppointmentType(ctx, update)
	if err != nil {
		return nil, appointmentTypeFault(err)
	}
	return &edgebv1.UpdateAppointmentTypeResponse{AppointmentType: resource.AppointmentType(edge.Tag(ctx, res.GetAppointmentType()))}, nil
}

// appointmentTypeFault gives the fields of an appointment type their public names: the service nests
// lists that a change can leave out, and the members of prices.
func appointmentTypeFault(err error) error {
	return renamePaths(err, "prices", "pricingOptions", ".option.", ".", "staff.staff_ids", "staffIds", "rooms.rooms", "rooms")
}
