package booking

import (
	"context"
	"errors"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/recurrence"
)

// UpdateEvent implements EventService.
func (s *Server) UpdateEvent(ctx context.Context, req *bookingv1.UpdateEventRequest) (*bookingv1.UpdateEventResponse, error) {
	company, err := s.currentTenant(ctx)
	if err != nil {
		return nil, err
	}
	which, err := eventIDOf(req.GetId())
	if err != nil {
		return nil, err
	}
	change, err := eventChangeOf(req)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.UpdateEventResponse{}
	err = s.write(ctx, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		lock := s.store.lockEvent
		if change.touchesDates() {
			lock = s.store.lockEventAndDates
		}
		e, err := lock(ctx, tx, company.ID, which)
		if err != nil {
			return err
		}
		p, err := change.apply(e, company, s.now)
		if err != nil {
			return err
		}
		if p.changes() {
			if err := s.carryOut(ctx, tx, company.ID, p); err != nil {
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

// carryOut stores a plan and tells of it, in the commit of tx.
func (s *Server) carryOut(ctx context.Context, tx *pg.Tx, company id.Company, p *eventPlan) error {
	e := p.Event
	s.raise(e)
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
	company, err := s.currentTenant(ctx)
	if err != nil {
		return nil, err
	}
	change, rule := &eventChange{dates: datesOf(req.GetDates())}, recurrenceOf(req.GetRecurrence())
	if err := checkAdded(change, rule); err != nil {
		return nil, err
	}
	which, err := eventIDOf(req.GetEventId())
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.AddEventDatesResponse{}
	err = s.write(ctx, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
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
		p, err := adds.apply(e, company, s.now)
		if err != nil {
			return err
		}
		if err := s.carryOut(ctx, tx, company.ID, p); err != nil {
			return err
		}
		resp.Dates = datesToProto(p.addedDates)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// checkAdded reports what is wrong with dates to be added whatever their event is.
func checkAdded(c *eventChange, rule *recurrence.Recurrence) error {
	var faults fields
	most := maxDates
	if rule != nil {
		most = 1
	}
	if !faults.count("dates", len(c.dates), 1, most) {
		return faults.err()
	}
	if rule == nil {
		return c.check()
	}
	c.dates[0].checkSize(&faults)
	return faults.err()
}

// UpdateEventDate implements EventService.
func (s *Server) UpdateEventDate(ctx context.Context, req *bookingv1.UpdateEventDateRequest) (*bookingv1.UpdateEventDateResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	if req.GetDate().GetId() == "" {
		return nil, fault.Missing("event date")
	}
	change, err := dateChangeOf("date.", req.GetDate())
	if err != nil {
		return nil, err
	}
	var faults fields
	change.check(&faults)
	if err := faults.err(); err != nil {
		return nil, err
	}
	resp := &bookingv1.UpdateEventDateResponse{}
	err = s.write(ctx, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		e, err := s.store.lockDate(ctx, tx, company.ID, change.id)
		if err != nil {
			return err
		}
		done, err := change.alone(e)
		if err != nil {
			return err
		}
		resp.Date = dateToProto(&done.date)
		if !done.changed {
			return nil
		}
		s.raise(e)
		if err := s.store.saveDate(ctx, tx, company.ID, e, done); err != nil {
			return err
		}
		if err := s.append(ctx, tx, company.ID, e.UpdatedAt, eventDateUpdated(e, &done.date)); err != nil {
			return err
		}
		return s.promote(ctx, tx, company.ID, done.date.ID)
	})
	var taken *fault.Error
	if errors.As(err, &taken) {
		err = taken.Rename(map[string]string{"dates": "date.starts_at"})
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}
