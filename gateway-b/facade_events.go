package gatewayb

import (
	"context"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/resource"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

// ListEvents is GET /events.
func (f *facade) ListEvents(ctx context.Context, req *edgebv1.ListEventsRequest) (*edgebv1.ListEventsResponse, error) {
	var q edge.Query
	p := newPage(&q, parameters{req.Page, req.PerPage, req.Cursor, req.Sort, req.UpdatedSince}, 4)
	list := &bookingv1.ListEventsRequest{
		PageSize: p.size, PageToken: p.cursor, Offset: p.offset(), UpdatedSince: p.since, Order: bookingv1.EventOrder(p.sort), WithDates: true, MaxDates: resource.MaxDatesInList,
		Type: edge.QueryEnum[bookingv1.EventType](&q, "type", req.Type), Status: edge.QueryEnum[bookingv1.EventStatus](&q, "status", req.Status),
		StartsFrom: q.Instant("startsFrom", req.StartsFrom), StartsBefore: q.Instant("startsBefore", req.StartsBefore),
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := f.events.ListEvents(ctx, list)
	if err != nil {
		return nil, err
	}
	return &edgebv1.ListEventsResponse{
		Events: edge.Convert(res.GetEvents(), resource.Event),
		Total:  res.GetTotal(), Page: p.number, PerPage: p.size, NextCursor: nextCursor(res.GetNextPageToken()),
	}, nil
}

// GetEvent is GET /events/{id}.
func (f *facade) GetEvent(ctx context.Context, req *edgebv1.GetEventRequest) (*edgebv1.GetEventResponse, error) {
	res, err := f.events.GetEvent(ctx, &bookingv1.GetEventRequest{Id: req.GetId(), MaxDates: resource.MaxDates})
	if err != nil {
		return nil, err
	}
	return &edgebv1.GetEventResponse{Event: resource.Event(edge.Tag(ctx, res.GetEvent()))}, nil
}

// CreateEvent is POST /events.
func (f *facade) CreateEvent(ctx context.Context, req *edgebv1.CreateEventRequest) (*edgebv1.CreateEventResponse, error) {
	create, names, err := newEvent(req.GetEvent())
	if err != nil {
		return nil, err
	}
	res, err := f.events.CreateEvent(ctx, create)
	if err != nil {
		return nil, renameFields(staffFault(err), names)
	}
	return &edgebv1.CreateEventResponse{Event: resource.WholeEvent(setCreated(ctx, "events", res.GetEvent()))}, nil
}

// UpdateEvent is PUT and PATCH /events/{id}.
func (f *facade) UpdateEvent(ctx context.Context, req *edgebv1.UpdateEventRequest) (*edgebv1.UpdateEventResponse, error) {
	update, err := eventUpdate(req.GetEvent())
	if err != nil {
		return nil, f.missingEventOr(ctx, req.GetId(), err)
	}
	update.Id, update.ExpectedVersion = req.GetId(), edge.ExpectedVersion(ctx)
	res, err := f.events.UpdateEvent(ctx, update)
	if err != nil {
		return nil, renameFields(staffFault(err), topDateNames("only_date"))
	}
	return &edgebv1.UpdateEventResponse{Event: resource.WholeEvent(edge.Tag(ctx, res.GetEvent()))}, nil
}

// missingEventOr returns wrong, the fault of a request, or the fault of a missing event if the
// event that the request names does not exist.
func (f *facade) missingEventOr(ctx context.Context, id string, wrong error) error {
	_, look := f.events.GetEvent(ctx, &bookingv1.GetEventRequest{Id: id, MaxDates: 1})
	return missingOr(look, wrong)
}

// DeleteEvent is DELETE /events/{id}.
func (f *facade) DeleteEvent(ctx context.Context, req *edgebv1.DeleteEventRequest) (*edgebv1.DeleteEventResponse, error) {
	_, err := f.events.DeleteEvent(ctx, &bookingv1.DeleteEventRequest{Id: req.GetId(), ExpectedVersion: edge.ExpectedVersion(ctx)})
	if err != nil {
		return nil, err
	}
	return &edgebv1.DeleteEventResponse{Id: req.GetId(), Deleted: true}, nil
}
