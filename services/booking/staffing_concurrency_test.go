package booking

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// overlaps returns the number of pairs of active assignments of one person or unit at the same time.
func (w *world) overlaps() int64 {
	return one[int64](w, `select count(*) from assignments a join assignments b on b.company_id = a.company_id and b.resource_id = a.resource_id
		and b.unit = a.unit and b.event_date_id > a.event_date_id and tstzrange(a.taken_from, a.taken_until) && tstzrange(b.taken_from, b.taken_until)
		where a.active and b.active`)
}

func TestStaffAndRoomsUnderConcurrency(t *testing.T) {
	t.Run("hundreds of concurrent new dates, moves, substitutions and cancellations, in two processes, never overlap (invariants 32, 33)", func(t *testing.T) {
		w := newWorld(t)
		processes := []*world{w, w.process()}
		ann, bob, hall := w.teacher("Ann"), w.teacher("Bob"), w.studio("Hall", 2)
		var events []*bookingv1.Event
		for i := range 8 {
			events = append(events, w.class(with(), time.Duration(i)*time.Hour, time.Duration(i+20)*time.Hour))
		}
		var granted, refused atomic.Int64
		together(240, func(i int) {
			p, r := processes[i%2], rand.New(rand.NewPCG(7, uint64(i)))
			e := events[r.IntN(len(events))]
			date, at := e.GetDates()[r.IntN(2)].GetId(), timestamppb.New(noon().Add(time.Duration(r.IntN(48))*30*time.Minute))
			who := []*bookingv1.StaffAndRooms{with(ann), with(bob, hall), with(ann, bob), with(hall, ann)}[r.IntN(4)]
			var err error
			switch i % 6 {
			case 0:
				_, err = p.events.CreateEvent(p.ctx, classOf(who, time.Duration(r.IntN(48))*30*time.Minute))
			case 1:
				_, err = p.events.AddEventDates(p.ctx, &bookingv1.AddEventDatesRequest{EventId: e.GetId(), Dates: []*bookingv1.NewEventDate{{StartsAt: at}}})
			case 2:
				_, err = p.events.UpdateEvent(p.ctx, &bookingv1.UpdateEventRequest{Id: e.GetId(), StaffAndRooms: who})
			case 3:
				_, err = p.events.UpdateEventDate(p.ctx, &bookingv1.UpdateEventDateRequest{Date: &bookingv1.EventDateChange{Id: date, StaffAndRooms: who}})
			case 4:
				_, err = p.events.UpdateEvent(p.ctx, &bookingv1.UpdateEventRequest{Id: e.GetId(), Dates: []*bookingv1.EventDateChange{{Id: date, StartsAt: at}}})
			default:
				if i%24 == 5 {
					_, err = p.events.CancelEventDate(p.ctx, &bookingv1.CancelEventDateRequest{Id: date})
				} else {
					_, err = p.events.UpdateEventDate(p.ctx, &bookingv1.UpdateEventDateRequest{Date: &bookingv1.EventDateChange{Id: date, StartsAt: at}})
				}
			}
			switch f := fault.From(err); {
			case err == nil:
				granted.Add(1)
			case refusedFor(err, model.ReasonStaffBusy) || refusedFor(err, model.ReasonRoomBusy):
				refused.Add(1)
				if f.Meta["why"] == "" {
					t.Errorf("the constraint decided: %v", err)
				}
			case refusedFor(err, model.ReasonEventCancelled) || f.Kind == fault.Invalid && f.Fields[0].Rule == "unique":
			default:
				t.Error(err)
			}
		})
		if n := w.overlaps(); n != 0 {
			t.Errorf("%d overlaps", n)
		}
		if granted.Load() < 20 || refused.Load() < 20 {
			t.Errorf("%d granted, %d refused: not enough contention", granted.Load(), refused.Load())
		}
		w.verify()
	})
	t.Run("one teacher is given to one of many classes at the same time", func(t *testing.T) {
		w := newWorld(t)
		processes := []*world{w, w.process()}
		ann := w.teacher("Ann")
		var granted atomic.Int64
		w.class(nil, 0)
		together(100, func(i int) {
			p := processes[i%2]
			_, err := p.events.CreateEvent(p.ctx, classOf(with(ann), time.Duration(i%50)*time.Minute))
			if err == nil {
				granted.Add(1)
			} else if !refusedFor(err, model.ReasonStaffBusy) || fault.From(err).Meta["why"] != "staff_busy" {
				t.Errorf("the service did not decide: %v", err)
			}
		})
		if granted.Load() != 1 || w.overlaps() != 0 {
			t.Errorf("%d got her", granted.Load())
		}
	})
}
