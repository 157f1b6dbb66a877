package booking

import (
	"context"

	"reservation.dev/platform/id"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/slots"
	"reservation.dev/services/booking/store"
)

// sharedCalendars are the calendars that a shared commit has read under its locks. It adds each slot that it takes,
// so that no calendar is read again.
type sharedCalendars map[sharedCalendar]*readCalendar

// sharedCalendar identifies a calendar.
type sharedCalendar struct {
	kind id.AppointmentType
	want store.CalendarQuery
}

type readCalendar struct {
	*slots.Calendar
	of *store.CalendarType
}

// calendar reads the calendar of a query, unless its commit has read it before.
func (s *Server) calendar(ctx context.Context, w slotQuery, want store.CalendarQuery) (*slots.Calendar, *store.CalendarType, error) {
	if w.calendars == nil {
		return s.store.Calendar(ctx, w.tx, w.company.ID, w.Type, want)
	}
	which := sharedCalendar{kind: w.Type, want: want.Shared()}
	if found := w.calendars[which]; found != nil {
		return found.Calendar, found.of, nil
	}
	calendar, of, err := s.store.Calendar(ctx, w.tx, w.company.ID, w.Type, want)
	if err == nil {
		w.calendars[which] = &readCalendar{calendar, of}
	}
	return calendar, of, err
}

// take adds a slot that the commit takes to all calendars.
func (c sharedCalendars) take(found *foundSlot, made *model.AppointmentSlot) {
	date := slots.Taken{Span: slots.Span{From: made.Staff.From, Until: made.Staff.Until}, Starts: found.start, Minutes: found.minutes}
	for _, calendar := range c {
		calendar.Take(found.Choice, date)
	}
}

// timezone returns the zone of the type of a query, from a calendar of the type if its commit has read one.
func (s *Server) timezone(ctx context.Context, w slotQuery) (string, error) {
	if w.calendars != nil {
		for which, calendar := range w.calendars {
			if which.kind == w.Type {
				return calendar.of.Timezone, nil
			}
		}
	}
	return s.store.TypeTimezone(ctx, w.tx, w.company.ID, w.Type)
}
