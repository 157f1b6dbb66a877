package gatewayb

import (
	"context"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/resource"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

// ListCalendars is GET /calendars.
func (f *facade) ListCalendars(ctx context.Context, req *edgebv1.ListCalendarsRequest) (*edgebv1.ListCalendarsResponse, error) {
	var q edge.Query
	p := newPage(&q, parameters{page: req.Page, perPage: req.PerPage, cursor: req.Cursor}, 1)
	subject := identifier(req.StaffId)
	if req.CustomerId != nil {
		if subject != "" {
			q.Fail(fault.InvalidParameter("customerId", "exclusive", "cannot be used together with staffId"))
		}
		subject = identifier(req.CustomerId)
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	res, err := noneIfMissing(f.calendars.ListCalendars(ctx, &bookingv1.ListCalendarsRequest{
		PageSize: p.size, PageToken: p.cursor, Offset: p.offset(), SubjectId: subject,
	}))
	if err != nil {
		return nil, err
	}
	return &edgebv1.ListCalendarsResponse{
		Calendars: edge.Convert(res.GetCalendars(), resource.Calendar),
		Total:     res.GetTotal(), Page: p.number, PerPage: p.size, NextCursor: nextCursor(res.GetNextPageToken()),
	}, nil
}

// GetCalendar is GET /calendars/{id}.
func (f *facade) GetCalendar(ctx context.Context, req *edgebv1.GetCalendarRequest) (*edgebv1.GetCalendarResponse, error) {
	res, err := f.calendars.GetCalendar(ctx, &bookingv1.GetCalendarRequest{Id: req.GetId()})
	if err != nil {
		return nil, err
	}
	return &edgebv1.GetCalendarResponse{Calendar: resource.Calendar(res.GetCalendar())}, nil
}

// CreateCalendar is POST /calendars.
func (f *facade) CreateCalendar(ctx context.Context, req *edgebv1.CreateCalendarRequest) (*edgebv1.CreateCalendarResponse, error) {
	create, err := newCalendar(req.GetCalendar())
	if err != nil {
		return nil, err
	}
	res, err := f.calendars.CreateCalendar(ctx, create)
	if err != nil {
		return nil, err
	}
	calendar := resource.Calendar(res.GetCalendar())
	if secret := res.GetSecret(); secret != "" {
		calendar.Url = new(f.calendarURL(secret))
	}
	edge.Created(ctx, base+"/calendars/"+calendar.GetId())
	return &edgebv1.CreateCalendarResponse{Calendar: calendar}, nil
}

// newCalendar converts the body of POST /calendars.
func newCalendar(in *edgebv1.CalendarWrite) (*bookingv1.CreateCalendarRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	out := &bookingv1.CreateCalendarRequest{Kind: choice[bookingv1.CalendarKind](&b, "kind", in.Kind, enum.Names[bookingv1.CalendarKind]())}
	if in.Kind == nil {
		b.required("kind", "")
	}
	b.subject("staffId", in.StaffId, out, bookingv1.CalendarKind_CALENDAR_KIND_STAFF)
	b.subject("customerId", in.CustomerId, out, bookingv1.CalendarKind_CALENDAR_KIND_CUSTOMER)
	return out, b.Err()
}

// subject sets the subject of a calendar of one kind, and refuses it for the others.
func (b *body) subject(field string, subject *string, out *bookingv1.CreateCalendarRequest, kind bookingv1.CalendarKind) {
	switch {
	case out.GetKind() == kind && subject == nil:
		b.required(field, "")
	case out.GetKind() == kind:
		out.SubjectId = identifier(subject)
	case subject != nil && out.GetKind() != bookingv1.CalendarKind_CALENDAR_KIND_UNSPECIFIED:
		b.Add(field, "exclusive", "can be used only if kind is "+enum.Name(kind))
	}
}

// DeleteCalendar is DELETE /calendars/{id}.
func (f *facade) DeleteCalendar(ctx context.Context, req *edgebv1.DeleteCalendarRequest) (*edgebv1.DeleteCalendarResponse, error) {
	if _, err := f.calendars.RevokeCalendar(ctx, &bookingv1.RevokeCalendarRequest{Id: req.GetId()}); err != nil {
		return nil, err
	}
	return &edgebv1.DeleteCalendarResponse{Id: req.GetId(), Deleted: true}, nil
}
