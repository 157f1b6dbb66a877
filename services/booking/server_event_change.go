package booking

import (
	"context"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// UpdateEvent implements EventService.
func (s *Server) UpdateEvent(ctx context.Context, req *bookingv1.UpdateEventRequest) (*bookingv1.UpdateEventResponse, error) {
	company, err := s.companies.Of(ctx)
	if err != nil {
		return nil, err
	}
	which, err := check.ID[id.Event](req.GetId(), "event")
	if err != nil {
		return nil, err
	}
	change, err := eventChangeOf(req)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.UpdateEventResponse{}
	_, err = idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		lock := s.store.lockEvent
		if change.touchesDates() {
			lock = s.store.lockEventAndDates
		}
		e, err := lock(ctx, tx, company.ID, which)
		if err != nil {
			return err
		}
		now := s.now()
		p, err := change.apply(e, company.Currency, now)
		if err != nil {
			return err
		}
		if p.changes() {
			if err := s.saveEvent(ctx, tx, company.ID, p, now); err != nil {
				return err
			}
		}
		resp.Event = eventToProto(e)
		return nil
	})
	if err == nil && change.status == Cancelled {
		err = s.emptyEvent(ctx, company.ID, which)
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// saveEvent stores what becomes of an event, with its events, and promotes waiting
// customers.
func (s *Server) saveEvent(ctx context.Context, tx *pg.Tx, company id.Company, p *eventPlan, now time.Time) error {
	e := p.Event
	e.raise(now)
	s.nameOptions(p.addedOptions)
	s.nameDates(e, p.addedDates)
	if p.rezones {
		for i := range e.Dates {
			e.Dates[i].Timezone = e.Timezone
		}
		for i := range p.changedDates {
			p.changedDates[i].date.Timezone = e.Timezone
		}
	}
	if err := s.store.saveEvent(ctx, tx, company, p); err != nil {
		return err
	}
	var events []outbox.Event
	if p.said {
		events = append(events, eventUpdated(e))
	}
	if len(p.addedDates) > 0 {
		events = append(events, eventDatesAdded(e, datesToProto(p.addedDates)))
	}
	for i := range p.changedDates {
		events = append(events, eventDateUpdated(e, &p.changedDates[i].date))
	}
	e.Dates = append(e.Dates, p.addedDates...)
	sortDates(e.Dates)
	if p.cancels {
		e.cancel(e.UpdatedAt)
		events = append(events, eventCancelled(e, ""))
	}
	if err := s.append(ctx, tx, company, e.UpdatedAt, events...); err != nil || e.Status != Published {
		return err
	}
	return s.promote(ctx, tx, company, p.offers()...)
}

// AddEventDates implements EventService.
func (s *Server) AddEventDates(ctx context.Context, req *bookingv1.AddEventDatesRequest) (*bookingv1.AddEventDatesResponse, error) {
	company, err := s.companies.Of(ctx)
	if err != nil {
		return nil, err
	}
	change, rule := &eventChange{dates: datesOf(req.GetDates())}, recurrenceOf(req.GetRecurrence())
	if err := checkAdded(change, rule); err != nil {
		return nil, err
	}
	which, err := check.ID[id.Event](req.GetEventId(), "event")
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.AddEventDatesResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		e, err := s.store.lockEvent(ctx, tx, company.ID, which)
		if err != nil {
			return err
		}
		if e.Status == Cancelled {
			return eventCancelledFault()
		}
		adds := change
		if rule != nil {
			if adds, err = recurring(rule, change.dates[0], e.Timezone); err != nil {
				return err
			}
		}
		now := s.now()
		p, err := adds.apply(e, company.Currency, now)
		if err != nil {
			return err
		}
		if err := s.saveEvent(ctx, tx, company.ID, p, now); err != nil {
			return err
		}
		resp.Dates = datesToProto(p.addedDates)
		return nil
	})
}
