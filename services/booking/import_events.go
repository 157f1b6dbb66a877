package booking

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/model"
)

// Imports publish events of their own, so that read models have all history, and no webhook announces it (ADR 5).

const (
	// importedItems is the number of bookings, or of events and dates, in an event of an import.
	importedItems = 200
	// importedBytes bounds the size of such an event. NATS accepts 1 MB.
	importedBytes = 512 << 10
)

func eventsImported(m *bookingv1.EventsImported) outbox.Event {
	return outbox.Event{Subject: subjectEventsImported, Payload: m}
}

func transactionsImported(bookings []*bookingv1.BookingSnapshot) outbox.Event {
	return outbox.Event{Subject: subjectTransactionsImported, Payload: &bookingv1.TransactionsImported{Bookings: bookings}}
}

// importedHistory returns the events of imported transactions.
func importedHistory(transactions []*model.Transaction) []outbox.Event {
	var all []*bookingv1.BookingSnapshot
	for _, t := range transactions {
		for i := range t.Bookings {
			all = append(all, convert.Snapshot(t, &t.Bookings[i]))
		}
	}
	var events []outbox.Event
	for part := range parts(all) {
		events = append(events, transactionsImported(part))
	}
	return events
}

// parts divides messages so that each part fits in an event.
func parts[M proto.Message](all []M) func(yield func([]M) bool) {
	return func(yield func([]M) bool) {
		for from := 0; from < len(all); {
			to, size := from, 0
			for to < len(all) && to-from < importedItems {
				if size += proto.Size(all[to]); size > importedBytes && to > from {
					break
				}
				to++
			}
			if !yield(all[from:to]) {
				return
			}
			from = to
		}
	}
}

// importedPlan returns the events of a planned import, which is stored.
func importedPlan(l *model.ImportPlan) []outbox.Event {
	var created []*bookingv1.Event
	for _, e := range sorted(l.EventsByID) {
		if e.Origin == model.Used {
			created = append(created, convert.Event(l.NewEvent(e)))
		}
	}
	events := announcedEvents(created)
	var dates []*bookingv1.EventDatesAdded
	for _, d := range sorted(l.Dates) {
		if d.Origin == model.Used {
			dates = append(dates, &bookingv1.EventDatesAdded{
				EventId: d.EventID.String(), Version: l.EventsByID[d.EventID].Version, Dates: []*bookingv1.EventDate{convert.Date(&d.EventDate)},
			})
		}
	}
	for part := range parts(dates) {
		events = append(events, eventsImported(&bookingv1.EventsImported{Dates: byEvent(part)}))
	}
	transactions := make([]*model.Transaction, len(l.Recorded))
	for i := range l.Recorded {
		transactions[i] = &l.Recorded[i].Transaction
	}
	return append(events, importedHistory(transactions)...)
}

// announcedEvents returns the events that announce events without dates.
func announcedEvents(all []*bookingv1.Event) (events []outbox.Event) {
	for part := range parts(all) {
		events = append(events, eventsImported(&bookingv1.EventsImported{Events: part}))
	}
	return events
}

// byEvent joins the dates of each event.
func byEvent(dates []*bookingv1.EventDatesAdded) []*bookingv1.EventDatesAdded {
	var joined []*bookingv1.EventDatesAdded
	of := map[string]*bookingv1.EventDatesAdded{}
	for _, d := range dates {
		if first := of[d.GetEventId()]; first != nil {
			first.Dates = append(first.Dates, d.GetDates()...)
			continue
		}
		of[d.GetEventId()] = d
		joined = append(joined, d)
	}
	return joined
}

// sorted returns the values of a map by their identifiers.
func sorted[K ~[16]byte, V any](all map[K]V) []V {
	keys := slices.SortedFunc(maps.Keys(all), func(a, b K) int { return bytes.Compare(a[:], b[:]) })
	values := make([]V, len(keys))
	for i, k := range keys {
		values[i] = all[k]
	}
	return values
}

// importedAppointments returns the events of imported appointments, which are stored. An event of appointments is
// announced when it has its first one.
func (s *Server) importedAppointments(ctx context.Context, tx *pg.Tx, l *model.AppointmentImport) ([]outbox.Event, error) {
	var listed []*bookingv1.Event
	transactions := make([]*model.Transaction, len(l.Recorded))
	for i := range l.Recorded {
		transactions[i] = &l.Recorded[i].Transaction
	}
	for _, which := range l.NewlyListed() {
		e, err := s.store.EventInTx(ctx, tx, l.Company, id.Event(which), l.Now)
		if err != nil {
			return nil, err
		}
		e.Dates, e.Summary = nil, nil
		listed = append(listed, convert.Event(e))
	}
	return append(announcedEvents(listed), importedHistory(transactions)...), nil
}
