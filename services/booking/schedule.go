package booking

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// scheduledDate is a date with what a calendar shows of its event.
type scheduledDate struct {
	EventDate
	event    id.Event
	title    string
	kind     EventType
	status   EventStatus
	location string
	waiting  int32
}

// The index of dates by their start is walked in its order, and of each date of
// the page those who wait are counted.
const listDatesSQL = `select ` + dateColumns + `, e.title, e.type, e.status, e.location,
		(select count(*) from waitlist_entries w where w.company_id = $1 and w.event_date_id = d.id and w.state = 'waiting')
	from event_dates d join events e on e.company_id = $1 and e.id = d.event_id and e.deleted_at is null
	where d.company_id = $1`

// scheduled reads a page of dates in the order of their start, and one more.
func (s *store) scheduled(ctx context.Context, company id.Company, p paging, event *id.Event, from, before time.Time) ([]scheduledDate, error) {
	q := statement{sql: listDatesSQL, args: []any{company}}
	if event != nil {
		q.where("d.event_id = %s", *event)
	}
	if !from.IsZero() {
		q.where("d.starts_at >= %s", from)
	}
	if !before.IsZero() {
		q.where("d.starts_at < %s", before)
	}
	if p.after != nil {
		last := q.arg([16]byte(p.after.id))
		q.where("(d.starts_at, d.id) > (%s, "+last+")", p.after.at)
	}
	q.sql += " order by d.starts_at, d.id limit " + q.arg(p.size+1)
	var dates []scheduledDate
	err := s.read(ctx, company, pg.Query{SQL: q.sql, Args: q.args, Scan: each(func(rows pgx.Rows) error {
		var d scheduledDate
		err := rows.Scan(&d.event, &d.ID, &d.StartsAt, &d.Minutes, &d.Timezone, &d.Capacity, &d.Booked, &d.Status,
			&d.title, &d.kind, &d.status, &d.location, &d.waiting)
		dates = append(dates, d)
		return err
	})})
	return dates, err
}

// ListEventDates implements EventService.
func (s *Server) ListEventDates(ctx context.Context, req *bookingv1.ListEventDatesRequest) (*bookingv1.ListEventDatesResponse, error) {
	company, err := s.tenant(ctx)
	if err != nil {
		return nil, err
	}
	p, err := pagingOf(datesByStart, req.GetPageSize(), req.GetPageToken(), 0, usualPage, maxPage)
	if err != nil {
		return nil, err
	}
	from, err := boundOf("starts_from", req.GetStartsFrom())
	if err != nil {
		return nil, err
	}
	before, err := boundOf("starts_before", req.GetStartsBefore())
	if err != nil {
		return nil, err
	}
	dates, err := s.store.scheduled(ctx, company.ID, p, id.Filter[id.Event](req.GetEventId()), from, before)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.ListEventDatesResponse{}
	if len(dates) > p.size {
		dates = dates[:p.size]
		last := dates[p.size-1]
		resp.NextPageToken = cursor{order: datesByStart, at: last.StartsAt, id: last.ID.UUID()}.token()
	}
	for i := range dates {
		d := &dates[i]
		resp.Dates = append(resp.Dates, &bookingv1.ScheduledDate{
			Date: dateToProto(&d.EventDate), EventId: d.event.String(), EventTitle: d.title, EventType: eventTypeToProto(d.kind),
			EventStatus: eventStatusToProto(d.status), Location: d.location, Waiting: d.waiting,
		})
	}
	return resp, nil
}
