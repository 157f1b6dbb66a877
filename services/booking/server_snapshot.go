package booking

import (
	"context"
	"time"

	"google.golang.org/grpc"

	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	"reservation.dev/platform/rpc"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/model"
)

const (
	// snapshotBookings is the number of bookings in a message of a snapshot.
	snapshotBookings = 500
	// snapshotEvents is the number of events that a snapshot reads at a time, and snapshotDates the number of
	// dates in a message.
	snapshotEvents = 20
	snapshotDates  = 1000
)

// StreamBookings implements BookingSnapshotService.
func (s *Server) StreamBookings(req *bookingv1.StreamBookingsRequest, out grpc.ServerStreamingServer[bookingv1.StreamBookingsResponse]) error {
	company, err := rpc.Tenant(out.Context())
	if err != nil {
		return err
	}
	after, err := check.After[id.Booking]("after_id", req.GetAfterId())
	if err != nil {
		return err
	}
	return page.Keyset[id.Booking, model.Registration]{
		Size: snapshotBookings, Key: func(r *model.Registration) id.Booking { return r.Booking().ID },
		Read: func(ctx context.Context, after id.Booking) ([]model.Registration, error) {
			return s.store.SnapshotBookings(ctx, company, after, snapshotBookings)
		},
		Send: func(all []model.Registration) error {
			resp := &bookingv1.StreamBookingsResponse{Bookings: make([]*bookingv1.BookingSnapshot, len(all))}
			for i := range all {
				resp.Bookings[i] = convert.Snapshot(&all[i].Transaction, all[i].Booking())
			}
			return out.Send(resp)
		},
	}.Stream(out.Context(), after)
}

// StreamEvents implements BookingSnapshotService.
func (s *Server) StreamEvents(req *bookingv1.StreamEventsRequest, out grpc.ServerStreamingServer[bookingv1.StreamEventsResponse]) error {
	company, err := rpc.Tenant(out.Context())
	if err != nil {
		return err
	}
	after, err := check.After[id.Event]("after_id", req.GetAfterId())
	if err != nil {
		return err
	}
	e := eventStream{Server: s, company: company, out: out}
	return page.Keyset[id.Event, model.Event]{
		Size: snapshotEvents, Key: func(e *model.Event) id.Event { return e.ID },
		Read: func(ctx context.Context, after id.Event) ([]model.Event, error) {
			return s.store.SnapshotEvents(ctx, company, after, snapshotEvents)
		},
		Send: e.send,
	}.Stream(out.Context(), after)
}

// eventStream sends events with all their dates.
type eventStream struct {
	*Server
	company id.Company
	out     grpc.ServerStreamingServer[bookingv1.StreamEventsResponse]
	next    []*bookingv1.Event // of the next message
	dates   int                // in next
}

// send sends a page of events. An event whose dates do not fit in one message is sent several times.
func (x *eventStream) send(events []model.Event) error {
	var dated []id.Event
	for i := range events {
		if !events[i].OfAppointments {
			dated = append(dated, events[i].ID)
		}
	}
	first, err := x.store.SnapshotDates(x.out.Context(), x.company, dated, time.Time{}, snapshotDates)
	if err != nil {
		return err
	}
	for i := range events {
		e := &events[i]
		for e.Dates = first[e.ID]; ; {
			if err := x.add(e); err != nil {
				return err
			}
			if len(e.Dates) < snapshotDates {
				break
			}
			last := e.Dates[len(e.Dates)-1].StartsAt
			more, err := x.store.SnapshotDates(x.out.Context(), x.company, []id.Event{e.ID}, last, snapshotDates)
			if err != nil {
				return err
			}
			if e.Dates = more[e.ID]; len(e.Dates) == 0 {
				break
			}
		}
	}
	return x.flush()
}

// add adds an event to the next message.
func (x *eventStream) add(e *model.Event) error {
	if x.dates > 0 && x.dates+len(e.Dates) > snapshotDates {
		if err := x.flush(); err != nil {
			return err
		}
	}
	x.dates += len(e.Dates)
	x.next = append(x.next, convert.Event(e))
	return nil
}

func (x *eventStream) flush() error {
	if len(x.next) == 0 {
		return nil
	}
	err := x.out.Send(&bookingv1.StreamEventsResponse{Events: x.next})
	x.next, x.dates = nil, 0
	return err
}
