package booking

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/service"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// A date is cancelled in two steps. The first commit closes it: nobody can book it
// from then on, and it is marked as closing. Then its bookings are cancelled batch
// by batch, each batch a commit with its events, and the mark is taken away when
// nothing is left. The caller waits for both; what a crash leaves is found by its
// mark and finished by whichever process looks first.

// CancelEvent implements EventService.
func (s *Server) CancelEvent(ctx context.Context, req *bookingv1.CancelEventRequest) (*bookingv1.CancelEventResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	reason, err := reasonOf(req.GetReason())
	if err != nil {
		return nil, err
	}
	which, err := eventIDOf(req.GetId())
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.CancelEventResponse{}
	err = s.write(ctx, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		e, err := s.store.lockEventAndDates(ctx, tx, company.ID, which)
		if err != nil {
			return err
		}
		resp.CancelledBookings = 0
		if e.Status != Cancelled {
			s.raise(e)
			if resp.CancelledBookings, err = s.store.countBooked(ctx, tx, company.ID, e.upcoming(e.UpdatedAt)); err != nil {
				return err
			}
			e.cancel(e.UpdatedAt)
			if err := s.store.saveEvent(ctx, tx, company.ID, &eventPlan{Event: e, cancels: true}); err != nil {
				return err
			}
			if err := s.append(ctx, tx, company.ID, e.UpdatedAt, eventCancelled(e, reason)); err != nil {
				return err
			}
		}
		e.emptied()
		resp.Event = eventToProto(e)
		return nil
	})
	if err == nil {
		err = s.emptyEvent(ctx, company.ID, which)
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// CancelEventDate implements EventService.
func (s *Server) CancelEventDate(ctx context.Context, req *bookingv1.CancelEventDateRequest) (*bookingv1.CancelEventDateResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	reason, err := reasonOf(req.GetReason())
	if err != nil {
		return nil, err
	}
	change, err := dateChangeOf("", &bookingv1.EventDateChange{Id: req.GetId()})
	if err != nil || change.adds {
		return nil, noSuchPart("id", "event date")
	}
	resp := &bookingv1.CancelEventDateResponse{}
	err = s.write(ctx, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		e, err := s.store.lockDate(ctx, tx, company.ID, change.id)
		if err != nil {
			return err
		}
		d := &e.Dates[0]
		resp.CancelledBookings = 0
		if d.Status == DateCancelled {
			e.emptied()
			resp.Date = dateToProto(d)
			return nil
		}
		if resp.CancelledBookings, err = s.store.countBooked(ctx, tx, company.ID, []id.EventDate{d.ID}); err != nil {
			return err
		}
		d.cancel()
		s.raise(e)
		if err := s.store.closeDate(ctx, tx, company.ID, e, d.ID); err != nil {
			return err
		}
		resp.Date = dateToProto(d)
		return s.append(ctx, tx, company.ID, e.UpdatedAt, eventDateCancelled(e, d, reason))
	})
	if err == nil {
		err = s.empty(ctx, company.ID, change.id, waitForOthers)
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

func reasonOf(text string) (string, error) {
	var faults fields
	text = strings.TrimSpace(text)
	faults.prose("reason", text, maxReason)
	return text, faults.err()
}

// emptyEvent cancels what is booked of the closed dates of an event.
func (s *Server) emptyEvent(ctx context.Context, company id.Company, e id.Event) error {
	dates, err := s.store.closing(ctx, company, e)
	if err != nil {
		return err
	}
	for _, d := range dates {
		if err := s.empty(ctx, company, d, waitForOthers); err != nil {
			return err
		}
	}
	return nil
}

// turn is what to do about a date that another process is emptying.
type turn string

const (
	waitForOthers turn = `select pg_advisory_xact_lock(hashtextextended('empty ' || $1::uuid::text, 0)) is not null`
	leaveToOthers turn = `select pg_try_advisory_xact_lock(hashtextextended('empty ' || $1::uuid::text, 0))`
)

const openedSQL = `update event_dates set closing = false where company_id = $1 and id = $2 and closing and booked = 0`

// empty cancels what is booked of a closed date, batch by batch. Places that are
// neither booked nor free yet, because somebody is paying by pass, keep the date
// marked, and are looked at again.
func (s *Server) empty(ctx context.Context, company id.Company, date id.EventDate, t turn) error {
	for {
		var mine bool
		var cancelled int
		err := s.store.inTx(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
			if err := tx.QueryRow(ctx, string(t), date).Scan(&mine); err != nil || !mine {
				return err
			}
			var err error
			if cancelled, err = s.cancelBookings(ctx, tx, company, date); err != nil || cancelled > 0 {
				return err
			}
			if cancelled, err = s.releaseHolds(ctx, tx, company, date); err != nil || cancelled > 0 {
				return err
			}
			_, err = tx.Exec(ctx, openedSQL, company, date)
			return err
		})
		if err != nil || !mine || cancelled == 0 {
			return err
		}
	}
}

const (
	// closingsEvery is how often what a crash left is looked for.
	closingsEvery = 5 * time.Second

	// In any order, so that one that cannot be finished is in nobody's way.
	closingsSQL = `select company_id, id from event_dates where closing order by random() limit 1000`
)

// FinishClosings empties closed dates that a crash left behind, until ctx ends. Any
// number of processes may do it at once.
func (s *Server) FinishClosings(ctx context.Context, jobs *service.Jobs) error {
	return jobs.Every(ctx, "finish_closings", closingsEvery, s.finishClosings)
}

// finishClosings goes through all closed dates once. The trouble of one is not
// that of the others.
func (s *Server) finishClosings(ctx context.Context) error {
	type closing struct {
		company id.Company
		date    id.EventDate
	}
	var all []closing
	err := s.store.db.Read(ctx, pg.AllCompanies(), pg.Query{SQL: closingsSQL, Scan: each(func(rows pgx.Rows) error {
		var c closing
		err := rows.Scan(&c.company, &c.date)
		all = append(all, c)
		return err
	})})
	if err != nil {
		return s.store.fault(err)
	}
	var faults []error
	for _, c := range all {
		if err := s.empty(ctx, c.company, c.date, leaveToOthers); err != nil {
			faults = append(faults, fmt.Errorf("date %s: %w", c.date, err))
		}
	}
	return errors.Join(faults...)
}

const countBookedSQL = `select count(*) from bookings b where b.company_id = $1 and b.event_date_id = any($2) and not b.is_cancelled
	and (select t.status from transactions t where t.company_id = $1 and t.id = b.transaction_id) = 'confirmed'`

// countBooked counts the bookings of dates that are not cancelled.
func (s *store) countBooked(ctx context.Context, tx *pg.Tx, company id.Company, dates []id.EventDate) (n int32, err error) {
	err = tx.QueryRow(ctx, countBookedSQL, company, dates).Scan(&n)
	return n, err
}
