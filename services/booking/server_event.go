package booking

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

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

// CreateEvent implements EventService.
func (s *Server) CreateEvent(ctx context.Context, req *bookingv1.CreateEventRequest) (*bookingv1.CreateEventResponse, error) {
	company, err := s.companies.Of(ctx)
	if err != nil {
		return nil, err
	}
	made, err := convert.NewEvent(req, company)
	if err != nil {
		return nil, err
	}
	if err := made.Check(company.Currency); err != nil {
		return nil, err
	}
	e := &made.Event
	resp := &bookingv1.CreateEventResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		s.name(e, pg.Instant(s.clock(company)))
		staffing := e.StaffNew()
		if err := s.place(ctx, tx, company.ID, staffing); err != nil {
			return err
		}
		if err := s.store.InsertEvent(ctx, tx, company.ID, e, staffing); err != nil {
			return err
		}
		resp.Event = convert.Event(e.Summarized(e.CreatedAt))
		return s.append(ctx, tx, company, e.CreatedAt, eventCreated(resp.Event))
	})
}

// name assigns identifiers to a new event, its dates and its options.
func (s *Server) name(e *model.Event, now time.Time) {
	e.ID, e.Version = id.Event(s.newID()), 1
	e.CreatedAt = now
	e.UpdatedAt = e.CreatedAt
	s.nameOptions(e.Options)
	s.nameDates(e, e.Dates)
	model.SortDates(e.Dates)
}

func (s *Server) nameOptions(options []model.PricingOption) {
	for i := range options {
		options[i].ID = id.PricingOption(s.newID())
	}
}

func (s *Server) nameDates(e *model.Event, dates []model.EventDate) {
	for i := range dates {
		dates[i].ID, dates[i].Timezone = id.EventDate(s.newID()), e.Timezone
	}
}

// GetEvent implements EventService.
func (s *Server) GetEvent(ctx context.Context, req *bookingv1.GetEventRequest) (*bookingv1.GetEventResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	which, err := check.ID[id.Event](req.GetId(), "event")
	if err != nil {
		return nil, err
	}
	most, err := maxDates(req)
	if err != nil {
		return nil, err
	}
	e, err := s.store.Event(ctx, company.ID, which, store.EventView{MaxDates: most, Published: catalogOnly(ctx), Now: s.clock(company)})
	if err != nil {
		return nil, err
	}
	hideStaff(ctx, e)
	return &bookingv1.GetEventResponse{Event: convert.Event(e)}, nil
}

// ListEvents implements EventService.
func (s *Server) ListEvents(ctx context.Context, req *bookingv1.ListEventsRequest) (*bookingv1.ListEventsResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	q, err := eventsQueryOf(req)
	if err != nil {
		return nil, err
	}
	q.Published, q.Now = catalogOnly(ctx), s.clock(company)
	events, more, total, err := s.store.Events(ctx, company.ID, q)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.ListEventsResponse{Total: total}
	if more {
		resp.NextPageToken = q.Next(&events[len(events)-1]).Token()
	}
	for i := range events {
		hideStaff(ctx, &events[i])
		resp.Events = append(resp.Events, convert.Event(&events[i]))
	}
	return resp, nil
}

// eventsQueryOf reads the filters of a list of events.
func eventsQueryOf(r *bookingv1.ListEventsRequest) (*store.EventQuery, error) {
	orders := map[bookingv1.EventOrder]page.Order{
		bookingv1.EventOrder_EVENT_ORDER_UNSPECIFIED:  store.EventsByID(),
		bookingv1.EventOrder_EVENT_ORDER_CREATED:      store.EventsByCreation(),
		bookingv1.EventOrder_EVENT_ORDER_CREATED_DESC: store.EventsByCreationDesc(),
		bookingv1.EventOrder_EVENT_ORDER_UPDATED:      store.EventsByChange(),
		bookingv1.EventOrder_EVENT_ORDER_UPDATED_DESC: store.EventsByChangeDesc(),
	}
	order, ok := orders[r.GetOrder()]
	if !ok {
		return nil, fault.InvalidParameter("order", "enum", "is not an order of events")
	}
	p, err := page.Read(page.Of(r), order, pageSizes())
	if err != nil {
		return nil, err
	}
	q := &store.EventQuery{Page: p, WithDates: r.GetWithDates(), MostDates: store.ListedDates}
	if q.MaxDates, err = maxDates(r); err != nil {
		return nil, err
	}
	if q.EventType, err = eventTypeFilter("type", r.GetType()); err != nil {
		return nil, err
	}
	if q.Status, err = eventStatusFilter("status", r.GetStatus()); err != nil {
		return nil, err
	}
	return q, readBounds(
		bound{"starts_from", r.GetStartsFrom(), &q.StartsFrom}, bound{"starts_before", r.GetStartsBefore(), &q.StartsBefore},
		bound{"updated_since", r.GetUpdatedSince(), &q.UpdatedSince},
	)
}

// eventTypeFilter reads the type of a filter; unspecified means any.
func eventTypeFilter(name string, t bookingv1.EventType) (model.EventType, error) {
	if t == bookingv1.EventType_EVENT_TYPE_UNSPECIFIED {
		return "", nil
	}
	if known := convert.EventType(t); known != "" {
		return known, nil
	}
	return "", fault.InvalidParameter(name, "enum", "is not an event type")
}

// eventStatusFilter reads the status of a filter; unspecified means any.
func eventStatusFilter(name string, s bookingv1.EventStatus) (model.EventStatus, error) {
	if s == bookingv1.EventStatus_EVENT_STATUS_UNSPECIFIED {
		return "", nil
	}
	if known := convert.EventStatus(s); known != "" {
		return known, nil
	}
	return "", fault.InvalidParameter(name, "enum", "must be draft, published or cancelled")
}

// bound is a time in the filters of a list.
type bound struct {
	name string
	from *timestamppb.Timestamp
	to   *time.Time
}

func readBounds(bounds ...bound) (err error) {
	for _, b := range bounds {
		if *b.to, err = check.Bound(b.name, b.from); err != nil {
			return err
		}
	}
	return nil
}

// maxDates reads the number of dates of each event to return; 0 means all.
func maxDates(r interface{ GetMaxDates() int32 }) (int, error) {
	if n := r.GetMaxDates(); n < 0 || n > model.ShownDates {
		return 0, fault.InvalidParameter("max_dates", "range", fmt.Sprintf("must be 0 to %d", model.ShownDates))
	}
	return int(r.GetMaxDates()), nil
}

// editable passes on a locked event, unless an appointment type owns it.
func editable(e *model.Event, err error) (*model.Event, error) {
	if err != nil {
		return nil, err
	}
	return e, e.Editable()
}

// DeleteEvent implements EventService.
func (s *Server) DeleteEvent(ctx context.Context, req *bookingv1.DeleteEventRequest) (*bookingv1.DeleteEventResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	which, err := check.ID[id.Event](req.GetId(), "event")
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.DeleteEventResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		e, err := editable(s.store.LockEventAndDates(ctx, tx, company.ID, which))
		if err != nil {
			return err
		}
		if err := check.Version(e.Version, req.ExpectedVersion, "event"); err != nil {
			return err
		}
		if e.Occupied() {
			return fault.Refuse(model.ReasonHasRegistrations, "the event has registrations: cancel the event first")
		}
		e.Raise(s.clock(company))
		if err := s.store.DeleteEvent(ctx, tx, company.ID, e); err != nil {
			return err
		}
		return s.append(ctx, tx, company, e.UpdatedAt, eventDeleted(e))
	})
}

// CancelEvent implements EventService.
func (s *Server) CancelEvent(ctx context.Context, req *bookingv1.CancelEventRequest) (*bookingv1.CancelEventResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	reason, err := reasonOf(req.GetReason())
	if err != nil {
		return nil, err
	}
	which, err := check.ID[id.Event](req.GetId(), "event")
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.CancelEventResponse{}
	_, err = idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		e, err := editable(s.store.LockEventAndDates(ctx, tx, company.ID, which))
		if err != nil {
			return err
		}
		now := s.clock(company)
		if e.Status != model.Cancelled {
			before := e.Clone()
			e.Raise(now)
			upcoming := e.Upcoming(e.UpdatedAt)
			if resp.CancelledBookings, err = s.store.CountBooked(ctx, tx, company.ID, upcoming); err != nil {
				return err
			}
			e.Cancel(e.UpdatedAt)
			if err := s.store.SaveEvent(ctx, tx, company.ID, &model.EventPlan{Event: e, Cancels: true}); err != nil {
				return err
			}
			if err := s.store.SetClosingReason(ctx, tx, company.ID, upcoming, reason); err != nil {
				return err
			}
			if err := s.append(ctx, tx, company, e.UpdatedAt, eventCancelled(model.EventStep{Before: before, After: e}, reason, now)); err != nil {
				return err
			}
		}
		e.ClearCancelled()
		resp.Event = convert.Event(e.Summarized(now))
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

// reasonOf reads and checks the reason of a cancellation.
func reasonOf(text string) (string, error) {
	var faults check.Fields
	text = faults.Prose("reason", text, 0, model.MaxReason)
	return text, faults.Err()
}
