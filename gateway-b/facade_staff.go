package gatewayb

import (
	"context"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/resource"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

// ListStaff is GET /staff.
func (f *facade) ListStaff(ctx context.Context, req *edgebv1.ListStaffRequest) (*edgebv1.ListStaffResponse, error) {
	var q edge.Query
	p := newPage(&q, parameters{req.Page, req.PerPage, req.Cursor, req.Sort, req.UpdatedSince}, 4)
	list := &bookingv1.ListStaffRequest{
		PageSize: p.size, PageToken: p.cursor, Offset: p.offset(), UpdatedSince: p.since, Order: bookingv1.ResourceOrder(p.sort),
		Active: q.Bool("active", req.Active), AppointmentTypeId: identifier(req.AppointmentTypeId),
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := noneIfMissing(f.staff.ListStaff(ctx, list))
	if err != nil {
		return nil, err
	}
	return &edgebv1.ListStaffResponse{
		Staff: edge.Convert(res.GetStaff(), resource.StaffMember),
		Total: res.GetTotal(), Page: p.number, PerPage: p.size, NextCursor: nextCursor(res.GetNextPageToken()),
	}, nil
}

// GetStaffMember is GET /staff/{id}.
func (f *facade) GetStaffMember(ctx context.Context, req *edgebv1.GetStaffMemberRequest) (*edgebv1.GetStaffMemberResponse, error) {
	res, err := f.staff.GetStaffMember(ctx, &bookingv1.GetStaffMemberRequest{Id: req.GetId()})
	if err != nil {
		return nil, err
	}
	return &edgebv1.GetStaffMemberResponse{StaffMember: resource.StaffMember(edge.Tag(ctx, res.GetStaffMember()))}, nil
}

// CreateStaffMember is POST /staff.
func (f *facade) CreateStaffMember(ctx context.Context, req *edgebv1.CreateStaffMemberRequest) (*edgebv1.CreateStaffMemberResponse, error) {
	res, err := f.staff.CreateStaffMember(ctx, newStaffMember(req.GetStaffMember()))
	if err != nil {
		return nil, err
	}
	return &edgebv1.CreateStaffMemberResponse{StaffMember: resource.StaffMember(setCreated(ctx, "staff", res.GetStaffMember()))}, nil
}

// UpdateStaffMember is PUT and PATCH /staff/{id}.
func (f *facade) UpdateStaffMember(ctx context.Context, req *edgebv1.UpdateStaffMemberRequest) (*edgebv1.UpdateStaffMemberResponse, error) {
	update, err := staffUpdate(req.GetStaffMember())
	if err != nil {
		return nil, f.missingStaffOr(ctx, req.GetId(), err)
	}
	update.Id, update.ExpectedVersion = req.GetId(), edge.ExpectedVersion(ctx)
	res, err := f.staff.UpdateStaffMember(ctx, update)
	if err != nil {
		return nil, err
	}
	return &edgebv1.UpdateStaffMemberResponse{StaffMember: resource.StaffMember(edge.Tag(ctx, res.GetStaffMember()))}, nil
}

// GetWorkingHours is GET /staff/{id}/hours.
func (f *facade) GetWorkingHours(ctx context.Context, req *edgebv1.GetWorkingHoursRequest) (*edgebv1.GetWorkingHoursResponse, error) {
	res, err := f.staff.GetWorkingHours(ctx, &bookingv1.GetWorkingHoursRequest{StaffId: req.GetId()})
	if err != nil {
		return nil, err
	}
	return &edgebv1.GetWorkingHoursResponse{Hours: resource.WorkingHours(edge.Tag(ctx, res.GetHours()))}, nil
}

// UpdateWorkingHours is PUT /staff/{id}/hours. It replaces the working hours as a whole.
func (f *facade) UpdateWorkingHours(ctx context.Context, req *edgebv1.UpdateWorkingHoursRequest) (*edgebv1.UpdateWorkingHoursResponse, error) {
	update, err := workingHours(req.GetHours())
	if err != nil {
		return nil, f.missingStaffOr(ctx, req.GetId(), err)
	}
	update.StaffId, update.ExpectedVersion = req.GetId(), edge.ExpectedVersion(ctx)
	res, err := f.staff.SetWorkingHours(ctx, update)
	if err != nil {
		return nil, renamePaths(err, ".range.", ".")
	}
	return &edgebv1.UpdateWorkingHoursResponse{Hours: resource.WorkingHours(edge.Tag(ctx, res.GetHours()))}, nil
}

// missingStaffOr is missingEventOr for a staff member.
func (f *facade) missingStaffOr(ctx context.Context, id string, wrong error) error {
	_, look := f.staff.GetStaffMember(ctx, &bookingv1.GetStaffMemberRequest{Id: id})
	return missingOr(look, wrong)
}
