package gatewayb

import (
	"context"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/resource"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

// mostDatesCounted bounds the total of a list of event dates, so that a page of a list without bounds
// costs the same for any number of dates.
const mostDatesCounted = 10_000

// ListEventDates is GET /event-dates.
func (f *facade) ListEventDates(ctx context.Context, req *edgebv1.ListEventDatesRequest) (*edgebv1.ListEventDatesResponse, error) {
	var q edge.Query
	p := newPage(&q, parameters{page: req.Page, perPage: req.PerPage, cursor: req.Cursor, updatedSince: req.UpdatedSince}, 0)
	available := q.Bool("available", req.Available)
	list := &bookingv1.ListEventDatesRequest{
		PageSize: p.size, PageToken: p.cursor, Offset: p.offset(), UpdatedSince: p.since, TotalLimit: mostDatesCounted,
		StartsFrom: q.Instant("startsFrom", req.StartsFrom), StartsBefore: q.Instant("startsBefore", req.StartsBefore),
		EventId: identifier(req.EventId), Available: available != nil && *available,
		Type: edge.QueryEnum[bookingv1.EventType](&q, "type", req.Type), Status: edge.QueryEnum[bookingv1.EventDateStatus](&q, "status", req.Status),
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := f.events.ListEventDates(ctx, list)
	if err != nil {
		return nil, err
	}
	return &edgebv1.ListEventDatesResponse{
		EventDates: edge.Convert(res.GetDates(), resource.ScheduledDate),
		Total:      res.GetTotal(), Page: p.number, PerPage: p.size, NextCursor: nextCursor(res.GetNextPageToken()),
	}, nil
}

// GetEventDate is GET /event-dates/{id}.
func (f *facade) GetEventDate(ctx context.Context, req *edgebv1.GetEventDateRequest) (*edgebv1.GetEventDateResponse, error) {
	res, err := f.events.GetEventDate(ctx, &bookingv1.GetEventDateRequest{Id: req.GetId()})
	if err != nil {
		return nil, err
	}
	return &edgebv1.GetEventDateResponse{EventDate: resource.ScheduledDate(edge.Tag(ctx, res.GetDate()))}, nil
}

// UpdateEventDate is PUT and PATCH /event-dates/{id}.
func (f *facade) UpdateEventDate(ctx context.Context, req *edgebv1.UpdateEventDateRequest) (*edgebv1.UpdateEventDateResponse, error) {
	change, err := eventDateUpdate(req.GetId(), req.GetEventDate())
	if err != nil {
		return nil, f.missingDateOr(ctx, req.GetId(), err)
	}
	res, err := f.events.UpdateEventDate(ctx, &bookingv1.UpdateEventDateRequest{Date: change, ExpectedVersion: edge.ExpectedVersion(ctx)})
	if err != nil {
		return nil, renameFields(staffFault(err), topDateNames("date"))
	}
	return &edgebv1.UpdateEventDateResponse{EventDate: resource.ScheduledDate(edge.Tag(ctx, res.GetScheduled()))}, nil
}

// CancelEventDate is POST /event-dates/{id}/cancel.
func (f *facade) CancelEventDate(ctx context.Context, req *edgebv1.CancelEventDateRequest) (*edgebv1.CancelEventDateResponse, error) {
	res, err := f.events.CancelEventDate(ctx, &bookingv1.CancelEventDateRequest{
		Id: req.GetId(), Reason: req.GetCancellation().GetReason(), ExpectedVersion: edge.ExpectedVersion(ctx),
	})
	if err != nil {
		return nil, err
	}
	if !res.GetChanged() {
		return nil, fault.Refuse(reasonAlreadyCancelled, "the event date is already cancelled")
	}
	return &edgebv1.CancelEventDateResponse{EventDate: resource.ScheduledDate(edge.Tag(ctx, res.GetScheduled()))}, nil
}

// AddEventDate is POST /events/{id}/dates.
func (f *facade) AddEventDate(ctx context.Context, req *edgebv1.AddEventDateRequest) (*edgebv1.AddEventDateResponse, error) {
	add, err := newEventDate(req.GetDate())
	if err != nil {
		return nil, f.missingEventOr(ctx, req.GetId(), err)
	}
	add.EventId = req.GetId()
	res, err := f.events.AddEventDates(ctx, add)
	if err != nil {
		return nil, renameFields(err, firstDateNames())
	}
	date := resource.ScheduledDate(edge.Tag(ctx, res.GetScheduled()))
	edge.Created(ctx, base+"/event-dates/"+date.GetId())
	return &edgebv1.AddEventDateResponse{Date: date}, nil
}

// missingDateOr is missingEventOr for an event date.
func (f *facade) missingDateOr(ctx context.Context, id string, wrong error) error {
	_, look := f.events.GetEventDate(ctx, &bookingv1.GetEventDateRequest{Id: id})
	return missingOr(look, wrong)
}
