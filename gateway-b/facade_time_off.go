package gatewayb

import (
	"context"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/resource"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

// ListTimeOff is GET /time-off.
func (f *facade) ListTimeOff(ctx context.Context, req *edgebv1.ListTimeOffRequest) (*edgebv1.ListTimeOffResponse, error) {
	var q edge.Query
	p := newPage(&q, parameters{page: req.Page, perPage: req.PerPage, cursor: req.Cursor}, 0)
	list := &bookingv1.ListTimeOffRequest{
		PageSize: p.size, PageToken: p.cursor, Offset: p.offset(), StaffId: identifier(req.StaffId), RoomId: identifier(req.RoomId),
		StartsFrom: q.Instant("endsAfter", req.EndsAfter), StartsBefore: q.Instant("startsBefore", req.StartsBefore),
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := noneIfMissing(f.staff.ListTimeOff(ctx, list))
	if err != nil {
		return nil, renameFields(err, spanNames())
	}
	return &edgebv1.ListTimeOffResponse{
		TimeOff: edge.Convert(res.GetTimeOff(), resource.TimeOff),
		Total:   res.GetTotal(), Page: p.number, PerPage: p.size, NextCursor: nextCursor(res.GetNextPageToken()),
	}, nil
}

// GetTimeOff is GET /time-off/{id}.
func (f *facade) GetTimeOff(ctx context.Context, req *edgebv1.GetTimeOffRequest) (*edgebv1.GetTimeOffResponse, error) {
	res, err := f.staff.GetTimeOff(ctx, &bookingv1.GetTimeOffRequest{Id: req.GetId()})
	if err != nil {
		return nil, err
	}
	return &edgebv1.GetTimeOffResponse{TimeOff: resource.TimeOff(res.GetTimeOff())}, nil
}

// CreateTimeOff is POST /time-off.
func (f *facade) CreateTimeOff(ctx context.Context, req *edgebv1.CreateTimeOffRequest) (*edgebv1.CreateTimeOffResponse, error) {
	create, err := newTimeOff(req.GetTimeOff())
	if err != nil {
		return nil, err
	}
	res, err := f.staff.CreateTimeOff(ctx, create)
	if err != nil {
		return nil, err
	}
	edge.Created(ctx, base+"/time-off/"+res.GetTimeOff().GetId())
	return &edgebv1.CreateTimeOffResponse{TimeOff: resource.TimeOff(res.GetTimeOff())}, nil
}

// DeleteTimeOff is DELETE /time-off/{id}.
func (f *facade) DeleteTimeOff(ctx context.Context, req *edgebv1.DeleteTimeOffRequest) (*edgebv1.DeleteTimeOffResponse, error) {
	if _, err := f.staff.DeleteTimeOff(ctx, &bookingv1.DeleteTimeOffRequest{Id: req.GetId()}); err != nil {
		return nil, err
	}
	return &edgebv1.DeleteTimeOffResponse{Id: req.GetId(), Deleted: true}, nil
}

// ListHolidays is GET /holidays.
func (f *facade) ListHolidays(ctx context.Context, req *edgebv1.ListHolidaysRequest) (*edgebv1.ListHolidaysResponse, error) {
	var q edge.Query
	p := newPage(&q, parameters{page: req.Page, perPage: req.PerPage, cursor: req.Cursor}, 0)
	list := &bookingv1.ListHolidaysRequest{
		PageSize: p.size, PageToken: p.cursor, Offset: p.offset(), From: queryDay(&q, "from", req.From), To: queryDay(&q, "to", req.To),
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := f.staff.ListHolidays(ctx, list)
	if err != nil {
		return nil, err
	}
	return &edgebv1.ListHolidaysResponse{
		Holidays: edge.Convert(res.GetHolidays(), resource.Holiday),
		Total:    res.GetTotal(), Page: p.number, PerPage: p.size, NextCursor: nextCursor(res.GetNextPageToken()),
	}, nil
}

// GetHoliday is GET /holidays/{id}.
func (f *facade) GetHoliday(ctx context.Context, req *edgebv1.GetHolidayRequest) (*edgebv1.GetHolidayResponse, error) {
	res, err := f.staff.GetHoliday(ctx, &bookingv1.GetHolidayRequest{Id: req.GetId()})
	if err != nil {
		return nil, err
	}
	return &edgebv1.GetHolidayResponse{Holiday: resource.Holiday(res.GetHoliday())}, nil
}

// CreateHoliday is POST /holidays.
func (f *facade) CreateHoliday(ctx context.Context, req *edgebv1.CreateHolidayRequest) (*edgebv1.CreateHolidayResponse, error) {
	in := req.GetHoliday()
	res, err := f.staff.CreateHoliday(ctx, &bookingv1.CreateHolidayRequest{Date: in.GetDate(), Name: in.GetName(), Location: in.GetLocation()})
	if err != nil {
		return nil, err
	}
	edge.Created(ctx, base+"/holidays/"+res.GetHoliday().GetId())
	return &edgebv1.CreateHolidayResponse{Holiday: resource.Holiday(res.GetHoliday())}, nil
}

// DeleteHoliday is DELETE /holidays/{id}.
func (f *facade) DeleteHoliday(ctx context.Context, req *edgebv1.DeleteHolidayRequest) (*edgebv1.DeleteHolidayResponse, error) {
	if _, err := f.staff.DeleteHoliday(ctx, &bookingv1.DeleteHolidayRequest{Id: req.GetId()}); err != nil {
		return nil, err
	}
	return &edgebv1.DeleteHolidayResponse{Id: req.GetId(), Deleted: true}, nil
}
