package booking

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// process starts another process of the service on the same database.
func (w *world) process() *world {
	other := newWorldOn(w.t, w.db)
	other.company, other.customers = w.company, w.customers
	other.server.customers = w.customers
	other.ctx = other.as(w.company)
	return other
}

func TestCapacityChangesUnderConcurrency(t *testing.T) {
	t.Run("capacity changes during hundreds of concurrent purchases and cancellations, in two processes, never go below the booked spaces (invariant 1)", func(t *testing.T) {
		w := newWorld(t)
		processes := []*world{w, w.process()}
		ann := w.customer(w.company, "ann")
		e := w.event(w.ctx, new(int32(10)))
		w.mustBook(w.ctx, ann, e, 1)
		var granted, full, grown, shrunk, refused atomic.Int64
		together(240, func(i int) {
			p := processes[i%2]
			r := rand.New(rand.NewPCG(3, uint64(i)))
			if i%4 == 0 {
				capacity := int32(r.IntN(60))
				var err error
				if i%8 == 0 {
					_, err = p.events.UpdateEventDate(p.ctx, &bookingv1.UpdateEventDateRequest{Date: &bookingv1.EventDateChange{Id: e.GetDates()[0].GetId(), Capacity: &capacity}})
				} else {
					_, err = p.events.UpdateEvent(p.ctx, &bookingv1.UpdateEventRequest{Id: e.GetId(), OnlyDate: &bookingv1.EventDateChange{Capacity: &capacity}})
				}
				switch f := fault.From(err); {
				case err == nil && capacity > 10:
					grown.Add(1)
				case err == nil:
					shrunk.Add(1)
				case f.Kind == fault.Invalid && len(f.Fields) == 1 && f.Fields[0].Rule == "min":
					refused.Add(1)
				default:
					t.Error(err)
				}
				return
			}
			made, err := p.book(p.ctx, ann, e, int32(1+i%3))
			switch {
			case refusedFor(err, model.ReasonEventFull):
				full.Add(1)
				return
			case err != nil:
				t.Error(err)
				return
			}
			granted.Add(1)
			if i%3 == 0 {
				if _, err := p.bookings.CancelBooking(p.ctx, &bookingv1.CancelBookingRequest{BookingId: made.GetBookings()[0].GetId()}); err != nil {
					t.Error(err)
				}
			}
		})
		w.inStep()
		if granted.Load() == 0 || full.Load() == 0 || grown.Load() == 0 || refused.Load() == 0 {
			t.Errorf("%d granted, %d refused, capacity grew %d times, shrank %d times and was refused %d times: not enough contention",
				granted.Load(), full.Load(), grown.Load(), shrunk.Load(), refused.Load())
		}
		if v := w.getEvent(e.GetId()).GetVersion(); v < 2 {
			t.Errorf("version %d", v)
		}
	})
}

func TestEndOfSaleUnderConcurrency(t *testing.T) {
	t.Run("a date cancelled during hundreds of purchases keeps no booking, and a drafted, deleted or cancelled event sells none afterwards (invariants 1, 13)", func(t *testing.T) {
		w := newWorld(t)
		processes := []*world{w, w.process()}
		ann := w.customer(w.company, "ann")
		w.mustBook(w.ctx, ann, w.event(w.ctx, nil), 1)
		ends := []func(p *world, e *bookingv1.Event) error{
			func(p *world, e *bookingv1.Event) error {
				_, err := p.events.CancelEventDate(p.ctx, &bookingv1.CancelEventDateRequest{Id: e.GetDates()[0].GetId()})
				return err
			},
			func(p *world, e *bookingv1.Event) error {
				_, err := p.events.CancelEvent(p.ctx, &bookingv1.CancelEventRequest{Id: e.GetId()})
				return err
			},
			func(p *world, e *bookingv1.Event) error {
				_, err := p.events.DeleteEvent(p.ctx, &bookingv1.DeleteEventRequest{Id: e.GetId()})
				return err
			},
			func(p *world, e *bookingv1.Event) error {
				_, err := p.events.UpdateEvent(p.ctx, &bookingv1.UpdateEventRequest{Id: e.GetId(), Status: bookingv1.EventStatus_EVENT_STATUS_DRAFT})
				return err
			},
		}
		var ended, kept atomic.Int64
		together(32, func(round int) {
			e := w.event(w.ctx, new(int32(1000)))
			together(9, func(i int) {
				p := processes[i%2]
				if i == 4 {
					switch err := ends[round%len(ends)](p, e); {
					case err == nil:
						ended.Add(1)
					case refusedFor(err, model.ReasonHasRegistrations):
						kept.Add(1)
					default:
						t.Error(err)
					}
					return
				}
				_, err := p.book(p.ctx, ann, e, 1)
				if err != nil && !refusedFor(err, model.ReasonEventCancelled) && !refusedFor(err, model.ReasonEventNotPublished) && !fault.Is(err, fault.NotFound) {
					t.Error(err)
				}
			})
		})
		w.inStep()
		wrong := one[int64](w, `select count(*) from bookings b join event_dates d on d.id = b.event_date_id join events e on e.id = d.event_id
			where not b.is_cancelled and (d.status = 'cancelled' or e.status <> 'published' or e.deleted_at is not null)`)
		if wrong != 0 {
			t.Errorf("%d bookings of what is not on offer", wrong)
		}
		if ended.Load() < 16 || one[int64](w, `select count(*) from event_dates where closing and booked > 0`) != 0 {
			t.Errorf("%d were ended, %d had bookings", ended.Load(), kept.Load())
		}
	})
}

func TestEventChangesUnderConcurrency(t *testing.T) {
	t.Run("of many concurrent requests that add the same date, one adds it", func(t *testing.T) {
		w := newWorld(t)
		e := w.event(w.ctx, nil)
		d := newDate(9*time.Hour, nil)
		var added atomic.Int64
		together(12, func(i int) {
			var err error
			if i%2 == 0 {
				_, err = w.events.AddEventDates(w.ctx, &bookingv1.AddEventDatesRequest{EventId: e.GetId(), Dates: []*bookingv1.NewEventDate{d}})
			} else {
				_, err = w.events.UpdateEvent(w.ctx, &bookingv1.UpdateEventRequest{Id: e.GetId(), Dates: []*bookingv1.EventDateChange{{StartsAt: d.GetStartsAt(), DurationMinutes: new(int32(5))}}})
			}
			if err == nil {
				added.Add(1)
			} else if f := fault.From(err); f.Kind != fault.Invalid || f.Fields[0].Rule != "unique" {
				t.Error(err)
			}
		})
		if got := w.getEvent(e.GetId()); added.Load() != 1 || len(got.GetDates()) != 2 || got.GetVersion() != 2 {
			t.Errorf("%d were added: %v", added.Load(), got)
		}
	})
	t.Run("of many concurrent changes of the same version, one succeeds", func(t *testing.T) {
		w := newWorld(t)
		e := w.event(w.ctx, nil)
		var changed atomic.Int64
		together(12, func(i int) {
			_, err := w.events.UpdateEvent(w.ctx, &bookingv1.UpdateEventRequest{Id: e.GetId(), Description: new(time.Duration(i + 1).String()), ExpectedVersion: new(int64(1))})
			if err == nil {
				changed.Add(1)
			} else if !fault.Is(err, fault.VersionMismatch) {
				t.Error(err)
			}
		})
		if changed.Load() != 1 {
			t.Errorf("%d changed it", changed.Load())
		}
	})
}
