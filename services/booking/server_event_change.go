package booking

import (
	"context"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/tenancy"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/model"
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
	change, err := convert.EventChange(req)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.UpdateEventResponse{}
	_, err = idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		lock := s.store.LockEvent
		if change.TouchesDates() {
			lock = s.store.LockEventAndDates
		}
		e, err := lock(ctx, tx, company.ID, which)
		if err != nil {
			return err
		}
		now, before := s.clock(company), e.Clone()
		p, err := change.Apply(e, company.Currency, now)
		if err != nil {
			return err
		}
		if p.Changes() {
			if err := before.Editable(); err != nil {
				return err
			}
			if err := s.saveEvent(ctx, tx, company, p, before, now); err != nil {
				return err
			}
		}
		resp.Event = convert.Event(e.Summarized(now))
		return nil
	})
	if err == nil && change.Status == model.Cancelled {
		err = s.emptyEvent(ctx, company.ID, which)
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// saveEvent stores the changes of an event, appends their events, and serves the waitlist. before is the
// event before the changes.
func (s *Server) saveEvent(ctx context.Context, tx *pg.Tx, company tenancy.Company, p *model.EventPlan, before *model.Event, now time.Time) error {
	e := p.Event
	e.Raise(now)
	s.nameOptions(p.AddedOptions)
	s.nameDates(e, p.AddedDates)
	if p.Rezones {
		for i := range e.Dates {
			e.Dates[i].Timezone = e.Timezone
		}
		for i := range p.ChangedDates {
			p.ChangedDates[i].Date.Timezone = e.Timezone
		}
	}
	p.Staffing = p.Staff(before, now)
	if err := s.place(ctx, tx, company.ID, p.Staffing); err != nil {
		return err
	}
	if err := s.store.SaveEvent(ctx, tx, company.ID, p); err != nil {
		return err
	}
	e.Dates = append(e.Dates, p.AddedDates...)
	model.SortDates(e.Dates)
	events, err := s.eventsOf(ctx, tx, company.ID, p, before)
	if err != nil {
		return err
	}
	if p.Cancels {
		e.Cancel(e.UpdatedAt)
	}
	if err := s.append(ctx, tx, company, e.UpdatedAt, events...); err != nil || e.Status != model.Published {
		return err
	}
	return s.promote(ctx, tx, company, p.Offers()...)
}

// eventsOf returns the events of a change of an event.
func (s *Server) eventsOf(ctx context.Context, tx *pg.Tx, company id.Company, p *model.EventPlan, before *model.Event) ([]outbox.Event, error) {
	now := p.UpdatedAt
	steps := p.Steps(before, now)
	var events []outbox.Event
	if p.EventChanged {
		events = append(events, eventUpdated(steps.Fields, now))
	}
	waiting, err := s.store.Waiting(ctx, tx, company, p.Announced()...)
	if err != nil {
		return nil, err
	}
	for _, d := range dateSteps(steps.Dates, p.Announced(), waiting, now) {
		events = append(events, d.updated(now))
	}
	if len(p.AddedDates) > 0 {
		events = append(events, eventDatesAdded(steps.Added, convert.Dates(p.AddedDates), now))
	}
	if p.Cancels {
		events = append(events, eventCancelled(steps.Cancelled, "", now))
	}
	return events, nil
}

// AddEventDates implements EventService.
func (s *Server) AddEventDates(ctx context.Context, req *bookingv1.AddEventDatesRequest) (*bookingv1.AddEventDatesResponse, error) {
	company, err := s.companies.Of(ctx)
	if err != nil {
		return nil, err
	}
	change, rule := &model.EventChange{Dates: convert.AddedDates(req.GetDates())}, convert.Recurrence(req.GetRecurrence())
	if err := model.CheckAdded(change, rule); err != nil {
		return nil, err
	}
	which, err := check.ID[id.Event](req.GetEventId(), "event")
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.AddEventDatesResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		e, err := editable(s.store.LockEvent(ctx, tx, company.ID, which))
		if err != nil {
			return err
		}
		if e.Status == model.Cancelled {
			return model.EventIsCancelled()
		}
		adds := change
		if rule != nil {
			if adds, err = model.Recurring(rule, change.Dates[0], e.Timezone); err != nil {
				return err
			}
		}
		now, before := s.clock(company), e.Clone()
		p, err := adds.Apply(e, company.Currency, now)
		if err != nil {
			return err
		}
		if err := s.saveEvent(ctx, tx, company, p, before, now); err != nil {
			return err
		}
		resp.Dates = convert.Dates(p.AddedDates)
		resp.Scheduled = convert.ScheduledDate(e.Schedule(&p.AddedDates[0], 0, now), now)
		return nil
	})
}
