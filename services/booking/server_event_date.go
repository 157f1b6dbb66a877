package booking

import (
	"context"
	"errors"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// ListEventDates implements EventService.
func (s *Server) ListEventDates(ctx context.Context, req *bookingv1.ListEventDatesRequest) (*bookingv1.ListEventDatesResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	p, err := page.Read(page.Of(req), datesByStart(), pageSizes())
	if err != nil {
		return nil, err
	}
	q := scheduleQuery{Page: p, event: id.Filter[id.Event](req.GetEventId())}
	if q.from, err = check.Bound("starts_from", req.GetStartsFrom()); err != nil {
		return nil, err
	}
	if q.before, err = check.Bound("starts_before", req.GetStartsBefore()); err != nil {
		return nil, err
	}
	dates, err := s.store.scheduled(ctx, company.ID, q)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.ListEventDatesResponse{}
	dates, resp.NextPageToken = page.Cut(p, dates, func(d *scheduledDate) page.Cursor { return page.At(d.StartsAt, d.ID.UUID()) })
	for i := range dates {
		resp.Dates = append(resp.Dates, scheduledDateToProto(&dates[i]))
	}
	return resp, nil
}

// UpdateEventDate implements EventService.
func (s *Server) UpdateEventDate(ctx context.Context, req *bookingv1.UpdateEventDateRequest) (*bookingv1.UpdateEventDateResponse, error) {
	company, err := s.companies.Claimed(ctx)
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
	if err := change.checked(); err != nil {
		return nil, err
	}
	resp := &bookingv1.UpdateEventDateResponse{}
	_, err = idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
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
		e.raise(s.now())
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

// CancelEventDate implements EventService.
func (s *Server) CancelEventDate(ctx context.Context, req *bookingv1.CancelEventDateRequest) (*bookingv1.CancelEventDateResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	reason, err := reasonOf(req.GetReason())
	if err != nil {
		return nil, err
	}
	which, err := id.Parse[id.EventDate](req.GetId())
	if err != nil {
		return nil, noSuchPart("id", "event date")
	}
	resp := &bookingv1.CancelEventDateResponse{}
	_, err = idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		e, err := s.store.lockDate(ctx, tx, company.ID, which)
		if err != nil {
			return err
		}
		d := &e.Dates[0]
		if d.Status == DateCancelled {
			e.emptied()
			resp.Date = dateToProto(d)
			return nil
		}
		if resp.CancelledBookings, err = s.store.countBooked(ctx, tx, company.ID, []id.EventDate{d.ID}); err != nil {
			return err
		}
		d.cancel()
		e.raise(s.now())
		if err := s.store.closeDate(ctx, tx, company.ID, e, d.ID); err != nil {
			return err
		}
		resp.Date = dateToProto(d)
		return s.append(ctx, tx, company.ID, e.UpdatedAt, eventDateCancelled(e, d, reason))
	})
	if err == nil {
		err = s.emptyDate(ctx, company.ID, which, waitForOthers)
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}
