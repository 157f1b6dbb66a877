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
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/store"
)

// ListEventDates implements EventService.
func (s *Server) ListEventDates(ctx context.Context, req *bookingv1.ListEventDatesRequest) (*bookingv1.ListEventDatesResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	p, err := page.Read(page.Of(req), store.DatesByStart(), pageSizes())
	if err != nil {
		return nil, err
	}
	q := store.ScheduleQuery{Page: p, Event: id.Filter[id.Event](req.GetEventId())}
	if q.From, err = check.Bound("starts_from", req.GetStartsFrom()); err != nil {
		return nil, err
	}
	if q.Before, err = check.Bound("starts_before", req.GetStartsBefore()); err != nil {
		return nil, err
	}
	dates, err := s.store.ScheduledDates(ctx, company.ID, q)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.ListEventDatesResponse{}
	dates, resp.NextPageToken = page.Cut(p, dates, func(d *model.ScheduledDate) page.Cursor { return page.At(d.StartsAt, d.ID.UUID()) })
	for i := range dates {
		resp.Dates = append(resp.Dates, convert.ScheduledDate(&dates[i]))
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
	change, err := convert.DateChange("date.", req.GetDate())
	if err != nil {
		return nil, err
	}
	if err := change.Checked(); err != nil {
		return nil, err
	}
	resp := &bookingv1.UpdateEventDateResponse{}
	_, err = idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		e, err := s.store.LockDate(ctx, tx, company.ID, change.ID)
		if err != nil {
			return err
		}
		done, err := change.ApplyToOnlyDate(e)
		if err != nil {
			return err
		}
		resp.Date = convert.Date(&done.Date)
		if !done.Changed {
			return nil
		}
		e.Raise(s.now())
		if err := s.store.SaveDate(ctx, tx, company.ID, e, done); err != nil {
			return err
		}
		if err := s.append(ctx, tx, company.ID, e.UpdatedAt, eventDateUpdated(e, &done.Date)); err != nil {
			return err
		}
		return s.promote(ctx, tx, company.ID, done.Date.ID)
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
		return nil, model.MissingPart("id", "event date")
	}
	resp := &bookingv1.CancelEventDateResponse{}
	_, err = idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		e, err := s.store.LockDate(ctx, tx, company.ID, which)
		if err != nil {
			return err
		}
		d := &e.Dates[0]
		if d.Status == model.DateCancelled {
			e.ClearCancelled()
			resp.Date = convert.Date(d)
			return nil
		}
		if resp.CancelledBookings, err = s.store.CountBooked(ctx, tx, company.ID, []id.EventDate{d.ID}); err != nil {
			return err
		}
		d.Cancel()
		e.Raise(s.now())
		if err := s.store.CloseDate(ctx, tx, company.ID, e, d.ID); err != nil {
			return err
		}
		if err := s.store.SetClosingReason(ctx, tx, company.ID, []id.EventDate{d.ID}, reason); err != nil {
			return err
		}
		resp.Date = convert.Date(d)
		return s.append(ctx, tx, company.ID, e.UpdatedAt, eventDateCancelled(e, d, reason))
	})
	if err == nil {
		err = s.emptyDate(ctx, company.ID, which, store.WaitForOthers)
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}
