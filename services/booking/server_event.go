package booking

import (
	"context"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

const (
	usualPage = 50
	maxPage   = 200
)

// CreateEvent implements EventService.
func (s *Server) CreateEvent(ctx context.Context, req *bookingv1.CreateEventRequest) (*bookingv1.CreateEventResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	made := eventOf(req, company)
	if err := made.check(company); err != nil {
		return nil, err
	}
	e := &made.Event
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
	s.nameOptions(e.Options)
	s.nameDates(e, e.Dates)
	sortDates(e.Dates)
}

func (s *Server) nameOptions(options []PricingOption) {
	for i := range options {
		options[i].ID = id.PricingOption(s.newID())
	}
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
	which, err := eventIDOf(req.GetId())
	if err != nil {
		return nil, err
	}
	e, err := s.store.event(ctx, company.ID, which)
	if err != nil {
		return nil, err
	}
	return &bookingv1.GetEventResponse{Event: eventToProto(e)}, nil
}

func eventIDOf(text string) (id.Event, error) {
	e, err := id.Parse[id.Event](text)
	if err != nil {
		return e, fault.Missing("event")
	}
	return e, nil
}

// ListEvents implements EventService.
func (s *Server) ListEvents(ctx context.Context, req *bookingv1.ListEventsRequest) (*bookingv1.ListEventsResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	q, err := eventsQueryOf(req)
	if err != nil {
		return nil, err
	}
	events, more, total, err := s.store.events(ctx, company.ID, q)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.ListEventsResponse{Total: total}
	if more {
		resp.NextPageToken = q.next(&events[len(events)-1]).token()
	}
	for i := range events {
		resp.Events = append(resp.Events, eventToProto(&events[i]))
	}
	return resp, nil
}

// next is the cursor after an event.
func (q *eventsQuery) next(last *Event) cursor {
	c := cursor{order: q.order, id: last.ID.UUID()}
	switch q.order {
	case eventsByCreation, eventsByCreationDesc:
		c.at = last.CreatedAt
	case eventsByChange, eventsByChangeDesc:
		c.at = last.UpdatedAt
	}
	return c
}

// DeleteEvent implements EventService.
func (s *Server) DeleteEvent(ctx context.Context, req *bookingv1.DeleteEventRequest) (*bookingv1.DeleteEventResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	which, err := eventIDOf(req.GetId())
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.DeleteEventResponse{}
	err = s.write(ctx, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		e, err := s.store.lockEventAndDates(ctx, tx, company.ID, which)
		if err != nil {
			return err
		}
		if v := req.ExpectedVersion; v != nil && *v != e.Version {
			return staleVersion("event", e.Version)
		}
		if e.occupied() {
			return fault.Refuse(ReasonHasRegistrations, "the event has registrations")
		}
		s.raise(e)
		if err := s.store.deleteEvent(ctx, tx, company.ID, e); err != nil {
			return err
		}
		return s.append(ctx, tx, company.ID, e.UpdatedAt, eventDeleted(e))
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// raise gives a locked event its next version.
func (s *Server) raise(e *Event) {
	e.Version++
	e.UpdatedAt = s.now().Truncate(time.Microsecond)
}
