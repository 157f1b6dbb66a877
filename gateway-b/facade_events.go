package gatewayb

import (
	"context"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

// ListEvents is GET /events.
func (f *facade) ListEvents(ctx context.Context, req *edgebv1.ListEventsRequest) (*edgebv1.ListEventsResponse, error) {
	p, err := newPage(parameters{req.Page, req.PerPage, req.Cursor, req.Sort, req.UpdatedSince}, 4)
	if err != nil {
		return nil, err
	}
	list := &bookingv1.ListEventsRequest{
		PageSize: p.size, PageToken: p.cursor, Offset: p.offset(), UpdatedSince: p.since, Order: bookingv1.EventOrder(p.sort), WithDates: true,
	}
	if list.Type, err = enumParameter[bookingv1.EventType]("type", req.Type); err != nil {
		return nil, err
	}
	if list.Status, err = enumParameter[bookingv1.EventStatus]("status", req.Status); err != nil {
		return nil, err
	}
	if list.StartsFrom, err = instantParameter("startsFrom", req.StartsFrom); err != nil {
		return nil, err
	}
	if list.StartsBefore, err = instantParameter("startsBefore", req.StartsBefore); err != nil {
		return nil, err
	}
	out := &edgebv1.ListEventsResponse{Page: p.number, PerPage: p.size}
	for {
		res, err := f.events.ListEvents(ctx, list)
		if err != nil {
			return nil, named(err, listNames())
		}
		for _, e := range res.GetEvents() {
			out.Events = append(out.Events, event(e, f.now()))
		}
		out.Total, out.NextCursor = res.GetTotal(), next(res.GetNextPageToken())
		missing := p.size - int32(len(out.GetEvents()))
		if out.GetNextCursor() == "" || missing == 0 {
			return out, nil
		}
		// Events with very many dates come in several parts.
		list.PageSize, list.PageToken, list.Offset = missing, res.GetNextPageToken(), 0
	}
}

// GetEvent is GET /events/{id}.
func (f *facade) GetEvent(ctx context.Context, req *edgebv1.GetEventRequest) (*edgebv1.GetEventResponse, error) {
	res, err := f.events.GetEvent(ctx, &bookingv1.GetEventRequest{Id: req.GetId()})
	if err != nil {
		return nil, err
	}
	edge.SetETag(ctx, res.GetEvent().GetVersion())
	return &edgebv1.GetEventResponse{Event: event(res.GetEvent(), f.now())}, nil
}

// CreateEvent is POST /events.
func (f *facade) CreateEvent(ctx context.Context, req *edgebv1.CreateEventRequest) (*edgebv1.CreateEventResponse, error) {
	create, names, err := newEvent(req.GetEvent())
	if err != nil {
		return nil, err
	}
	res, err := f.events.CreateEvent(ctx, create)
	if err != nil {
		return nil, named(err, names)
	}
	edge.SetETag(ctx, res.GetEvent().GetVersion())
	created(ctx, "events", res.GetEvent().GetId())
	return &edgebv1.CreateEventResponse{Event: event(res.GetEvent(), f.now())}, nil
}

// UpdateEvent is PUT and PATCH /events/{id}.
func (f *facade) UpdateEvent(ctx context.Context, req *edgebv1.UpdateEventRequest) (*edgebv1.UpdateEventResponse, error) {
	update, err := eventUpdate(req.GetEvent())
	if err != nil {
		return nil, f.unlessMissing(ctx, req.GetId(), err)
	}
	update.Id, update.ExpectedVersion = req.GetId(), edge.ExpectedVersion(ctx)
	res, err := f.events.UpdateEvent(ctx, update)
	if err != nil {
		return nil, named(err, dateNames("only_date"))
	}
	edge.SetETag(ctx, res.GetEvent().GetVersion())
	return &edgebv1.UpdateEventResponse{Event: event(res.GetEvent(), f.now())}, nil
}

// unlessMissing returns wrong, the fault of a request, unless the event that the
// request names does not exist: then it returns that fault.
func (f *facade) unlessMissing(ctx context.Context, id string, wrong error) error {
	_, err := f.events.GetEvent(ctx, &bookingv1.GetEventRequest{Id: id})
	return graver(err, wrong)
}

// graver returns the error of reading the resource that a request names or, if the
// resource exists, the fault of the request itself. A caller who may change the
// resource but not read it gets the request's fault, because this interface requires
// one permission per route.
func graver(look, wrong error) error {
	if look == nil || fault.Is(look, fault.Forbidden) {
		return wrong
	}
	return look
}

// DeleteEvent is DELETE /events/{id}.
func (f *facade) DeleteEvent(ctx context.Context, req *edgebv1.DeleteEventRequest) (*edgebv1.DeleteEventResponse, error) {
	_, err := f.events.DeleteEvent(ctx, &bookingv1.DeleteEventRequest{Id: req.GetId(), ExpectedVersion: edge.ExpectedVersion(ctx)})
	if err != nil {
		return nil, err
	}
	return &edgebv1.DeleteEventResponse{Id: req.GetId(), Deleted: true}, nil
}
