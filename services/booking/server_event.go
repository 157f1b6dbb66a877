package booking

import (
	"context"
	"slices"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

const (
	defaultEventsPage = 50
	maxEventsPage     = 200
)

// CreateEvent implements EventService.
func (s *Server) CreateEvent(ctx context.Context, req *bookingv1.CreateEventRequest) (*bookingv1.CreateEventResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	e := eventOf(req, company)
	if err := checkEvent(e, company); err != nil {
		return nil, err
	}
	resp := &bookingv1.CreateEventResponse{}
	err = s.write(ctx, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		s.name(e)
		if err := s.store.insertEvent(ctx, tx, company.ID, e); err != nil {
			return err
		}
		resp.Event = eventToProto(e)
		return s.append(ctx, tx, company.ID, e.CreatedAt, eventCreated(resp.Event))
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// name gives a new event, its dates and its options their identifiers.
func (s *Server) name(e *Event) {
	e.ID, e.Version = id.Event(s.newID()), 1
	e.CreatedAt = s.now().Truncate(time.Microsecond)
	e.UpdatedAt = e.CreatedAt
	for i := range e.Options {
		e.Options[i].ID = id.PricingOption(s.newID())
	}
	s.nameDates(e, e.Dates)
	slices.SortStableFunc(e.Dates, func(a, b EventDate) int { return a.StartsAt.Compare(b.StartsAt) })
}

func (s *Server) nameDates(e *Event, dates []EventDate) {
	for i := range dates {
		dates[i].ID, dates[i].Timezone = id.EventDate(s.newID()), e.Timezone
	}
}

// GetEvent implements EventService.
func (s *Server) GetEvent(ctx context.Context, req *bookingv1.GetEventRequest) (*bookingv1.GetEventResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	which, err := id.Parse[id.Event](req.GetId())
	if err != nil {
		return nil, fault.Missing("event")
	}
	e, err := s.store.event(ctx, company.ID, which)
	if err != nil {
		return nil, err
	}
	return &bookingv1.GetEventResponse{Event: eventToProto(e)}, nil
}

// ListEvents implements EventService.
func (s *Server) ListEvents(ctx context.Context, req *bookingv1.ListEventsRequest) (*bookingv1.ListEventsResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	size := int(req.GetPageSize())
	if size == 0 {
		size = defaultEventsPage
	}
	if size < 1 || size > maxEventsPage {
		return nil, fault.InvalidParameter("page_size", "range", "must be 1 to 200")
	}
	after, err := afterToken(req.GetPageToken())
	if err != nil {
		return nil, err
	}
	// One more than the page says whether there is another page.
	events, total, err := s.store.eventsAfter(ctx, company.ID, after, size+1)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.ListEventsResponse{Total: total}
	if len(events) > size {
		events = events[:size]
		resp.NextPageToken = pageToken(events[size-1].ID)
	}
	for i := range events {
		resp.Events = append(resp.Events, eventToProto(&events[i]))
	}
	return resp, nil
}

// AddEventDates implements EventService.
func (s *Server) AddEventDates(ctx context.Context, req *bookingv1.AddEventDatesRequest) (*bookingv1.AddEventDatesResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	dates := datesOf(req.GetDates())
	if err := checkDates(dates); err != nil {
		return nil, err
	}
	which, err := id.Parse[id.Event](req.GetEventId())
	if err != nil {
		return nil, fault.Missing("event")
	}
	resp := &bookingv1.AddEventDatesResponse{}
	err = s.write(ctx, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		e, err := s.store.lockEvent(ctx, tx, company.ID, which)
		if err != nil {
			return err
		}
		if e.Status == Cancelled {
			return fault.Refuse(ReasonEventCancelled, "the event is cancelled")
		}
		s.nameDates(e, dates)
		e.Version++
		e.UpdatedAt = s.now().Truncate(time.Microsecond)
		if err := s.store.saveDates(ctx, tx, company.ID, e, dates); err != nil {
			return err
		}
		resp.Dates = datesToProto(dates)
		return s.append(ctx, tx, company.ID, e.UpdatedAt, eventDatesAdded(e, resp.Dates))
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}
