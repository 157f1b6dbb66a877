package booking

import (
	"context"
	"errors"
	"fmt"

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
	q, err := scheduleQueryOf(req, p)
	if err != nil {
		return nil, err
	}
	q.Published, q.Now = catalogOnly(ctx), s.clock(company)
	dates, total, err := s.store.ScheduledDates(ctx, company.ID, q)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.ListEventDatesResponse{Total: total}
	dates, resp.NextPageToken = page.Cut(p, dates, func(d *model.ScheduledDate) page.Cursor { return page.At(d.StartsAt, d.ID.UUID()) })
	for i := range dates {
		resp.Dates = append(resp.Dates, convert.ScheduledDate(&dates[i], q.Now))
	}
	return resp, nil
}

// maxCounted is the largest number of dates that a list counts.
const maxCounted = 100_000

// scheduleQueryOf reads the filters of a list of dates.
func scheduleQueryOf(r *bookingv1.ListEventDatesRequest, p page.Page) (*store.ScheduleQuery, error) {
	q := &store.ScheduleQuery{
		Page: p, Event: id.Filter[id.Event](r.GetEventId()), Available: r.GetAvailable(), MostCounted: r.GetTotalLimit(),
	}
	if q.MostCounted < 0 || q.MostCounted > maxCounted {
		return nil, fault.InvalidParameter("total_limit", "range", fmt.Sprintf("must be 0 to %d", maxCounted))
	}
	for _, text := range r.GetIds() {
		date, err := id.Parse[id.EventDate](text)
		if err != nil {
			date = id.EventDate{} // which no date has
		}
		q.IDs = append(q.IDs, date)
	}
	var err error
	if q.EventType, err = eventTypeFilter("type", r.GetType()); err != nil {
		return nil, err
	}
	if q.EventStatus, err = eventStatusFilter("event_status", r.GetEventStatus()); err != nil {
		return nil, err
	}
	var ok bool
	if q.Status, ok = convert.DateStatus(r.GetStatus()); !ok {
		return nil, fault.InvalidParameter("status", "enum", "must be scheduled or cancelled")
	}
	return q, readBounds(
		bound{"starts_from", r.GetStartsFrom(), &q.From}, bound{"starts_before", r.GetStartsBefore(), &q.Before},
		bound{"updated_since", r.GetUpdatedSince(), &q.UpdatedSince},
	)
}

// GetEventDate implements EventService.
func (s *Server) GetEventDate(ctx context.Context, req *bookingv1.GetEventDateRequest) (*bookingv1.GetEventDateResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	which, err := check.ID[id.EventDate](req.GetId(), "event date")
	if err != nil {
		return nil, err
	}
	now := s.clock(company)
	d, err := s.store.ScheduledDate(ctx, company.ID, which, now, catalogOnly(ctx))
	if err != nil {
		return nil, err
	}
	return &bookingv1.GetEventDateResponse{Date: convert.ScheduledDate(d, now)}, nil
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
		e, waiting, err := s.lockDate(ctx, tx, company.ID, change.ID, req.ExpectedVersion)
		if err != nil {
			return err
		}
		now, before := s.clock(company), e.Clone()
		done, err := change.ApplyToOnlyDate(e)
		if err != nil {
			return err
		}
		if done.Changed || change.StaffAndRooms != nil {
			if err := before.Editable(); err != nil {
				return err
			}
		}
		staffing := change.Staff(before, e)
		if err := s.place(ctx, tx, company.ID, staffing); err != nil {
			return err
		}
		if done = done.Staffed(e, staffing); done.Changed {
			e.Raise(now)
		}
		d := dateSteps(model.EventStep{Before: before, After: e}, []id.EventDate{change.ID}, waiting, now)[0]
		resp.Date, resp.Scheduled = convert.Date(&done.Date), convert.ScheduledDate(d.after, now)
		if !done.Changed {
			return nil
		}
		if err := s.store.SaveDate(ctx, tx, company.ID, e, done, staffing); err != nil {
			return err
		}
		if err := s.append(ctx, tx, company, e.UpdatedAt, d.updated(now)); err != nil {
			return err
		}
		return s.promote(ctx, tx, company, done.Date.ID)
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
		e, waiting, err := s.lockDate(ctx, tx, company.ID, which, req.ExpectedVersion)
		if err != nil {
			return err
		}
		assigned, err := s.store.Assignments(ctx, tx, company.ID, []id.EventDate{which})
		if err != nil {
			return err
		}
		e.Dates[0].Assigned = assigned[which]
		now, before, d := s.clock(company), e.Clone(), &e.Dates[0]
		resp.Changed = d.Status != model.DateCancelled
		if resp.Changed {
			if resp.CancelledBookings, err = s.store.CountBooked(ctx, tx, company.ID, []id.EventDate{d.ID}); err != nil {
				return err
			}
			e.Raise(now)
		}
		d.Cancel()
		step := dateSteps(model.EventStep{Before: before, After: e}, []id.EventDate{d.ID}, waiting, now)[0]
		resp.Date, resp.Scheduled = convert.Date(d), convert.ScheduledDate(step.after, now)
		if !resp.Changed {
			return nil
		}
		if err := s.store.CloseDate(ctx, tx, company.ID, e, d.ID); err != nil {
			return err
		}
		if err := s.store.SetClosingReason(ctx, tx, company.ID, []id.EventDate{d.ID}, reason); err != nil {
			return err
		}
		return s.append(ctx, tx, company, e.UpdatedAt, step.cancelled(reason, now))
	})
	if err == nil {
		err = s.emptyDate(ctx, company.ID, which, store.WaitForOthers)
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// lockDate locks a date and its event, which must have the expected version, and returns the event with
// this date only and the number of entries that wait for the date.
func (s *Server) lockDate(ctx context.Context, tx *pg.Tx, company id.Company, date id.EventDate, expected *int64) (*model.Event, map[id.EventDate]int32, error) {
	e, err := s.store.LockDate(ctx, tx, company, date)
	if err != nil {
		return nil, nil, err
	}
	if err := check.Version(e.Version, expected, "event"); err != nil {
		return nil, nil, err
	}
	waiting, err := s.store.Waiting(ctx, tx, company, date)
	return e, waiting, err
}
