package booking

import (
	"context"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

func TestBookAppointment(t *testing.T) { // invariants 32, 34, 36, 40
	t.Parallel()
	p := newParlour(t)
	t.Run("books a slot with its date, person and room in one commit", func(t *testing.T) {
		a := p.reserve("2030-01-07T10:00", by(p.max))
		if a.GetStatus() != bookingv1.AppointmentStatus_APPOINTMENT_STATUS_BOOKED || a.GetStaff().GetName() != "Max" || len(a.GetRooms()) != 1 ||
			a.GetRooms()[0].GetUnit() != 1 || a.GetBufferBeforeMinutes() != 5 || a.GetBufferAfterMinutes() != 10 || a.GetTitle() != "Massage" {
			t.Errorf("got %v", a)
		}
		if got := a.GetBooking(); got.GetCard().GetGross() != 5000 || got.GetDurationMinutes() != 60 || !got.GetStartsAt().AsTime().Equal(winter("2030-01-07T10:00").AsTime()) {
			t.Errorf("got %v", got)
		}
		if idOf[id.Appointment](t, a.GetId()).UUID() != idOf[id.Booking](t, a.GetBooking().GetId()).UUID() {
			t.Errorf("%s is not %s", a.GetId(), a.GetBooking().GetId())
		}
		sameAppointment(t, p.read(a), a)
		if n := one[int64](p.world, `select count(*) from assignments where active and booking_id = $1 and taken_from = '2030-01-07 09:55Z' and taken_until = '2030-01-07 11:10Z'`,
			idOf[id.Booking](t, a.GetBooking().GetId())); n != 2 {
			t.Errorf("%d assignments with the buffers", n)
		}
	})
	t.Run("the first appointment lists the event, once", func(t *testing.T) {
		p.reserve("2030-01-08T10:00")
		if n := p.published(subjectEventCreated); n != 1 {
			t.Errorf("%d event_created", n)
		}
	})
	t.Run("publishes appointment_booked after booking_confirmed, and nothing about the event's dates", func(t *testing.T) {
		p.exec(`delete from outbox`)
		before := one[int64](p.world, `select version from events`)
		p.reserve("2030-01-09T10:00")
		if got := p.subjects(); got != "booking_confirmed appointment_booked" {
			t.Errorf("got %s", got)
		}
		if one[int64](p.world, `select version from events`) != before {
			t.Error("the version of the event changed")
		}
	})
	t.Run("a length has its price, and the price of another length is refused", func(t *testing.T) {
		half := p.reserve("2030-01-09T13:00", func(r *bookingv1.BookAppointmentRequest) { r.Slot.LengthMinutes = 0 })
		if half.GetBooking().GetCard().GetGross() != 3000 || half.GetBooking().GetDurationMinutes() != 30 {
			t.Errorf("got %v", half.GetBooking())
		}
		_, err := p.tryBook(p.ctx, p.at("2030-01-09T15:00", func(r *bookingv1.BookAppointmentRequest) { r.PricingOptionId = p.half }))
		if got := broken(t, err); got != "pricing_option_id length" {
			t.Errorf("got %s", got)
		}
		_, err = p.tryBook(p.ctx, p.at("2030-01-09T15:00", func(r *bookingv1.BookAppointmentRequest) { r.PricingOptionId = id.New[id.PricingOption]().String() }))
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		p.reserve("2030-01-09T15:00", func(r *bookingv1.BookAppointmentRequest) { r.PricingOptionId = p.full })
	})
	t.Run("records other payments", func(t *testing.T) {
		cash := p.reserve("2030-01-10T10:00", func(r *bookingv1.BookAppointmentRequest) {
			r.PaymentMethod, r.PaymentReference = bookingv1.PaymentMethod_PAYMENT_METHOD_CASH, "till 1"
		})
		free := p.reserve("2030-01-10T10:00", func(r *bookingv1.BookAppointmentRequest) {
			r.PaymentMethod = bookingv1.PaymentMethod_PAYMENT_METHOD_FREE
		})
		if cash.GetBooking().GetCard().GetReference() != "till 1" || free.GetBooking().GetCard().GetGross() != 0 {
			t.Errorf("got %v and %v", cash.GetBooking(), free.GetBooking())
		}
	})
	t.Run("another customer can attend, and one who is not in the copy is fetched", func(t *testing.T) {
		dates, cat := p.dates(), p.customer(p.company, "cat")
		a := p.reserve("2030-01-11T10:00", func(r *bookingv1.BookAppointmentRequest) { r.CustomerId = cat.String() })
		if a.GetCustomer().GetId() != cat.String() || a.GetPurchaser().GetId() != p.ann.String() || p.dates() != dates+1 {
			t.Errorf("got %v, %d dates", a, p.dates()-dates)
		}
	})
	t.Run("a refused purchase leaves no date and no assignment behind", func(t *testing.T) {
		dates, assigned := p.dates(), one[int64](p.world, `select count(*) from assignments`)
		_, err := p.tryBook(p.ctx, p.at("2030-01-12T10:00", func(r *bookingv1.BookAppointmentRequest) { r.PurchaserId = id.New[id.Customer]().String() }))
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		_, err = p.tryBook(p.ctx, p.at("2030-01-12T10:00", func(r *bookingv1.BookAppointmentRequest) { r.DiscountCode = "NONE" }))
		wantFault(t, err, fault.Refused, model.ReasonDiscountInvalid)
		if p.dates() != dates || one[int64](p.world, `select count(*) from assignments`) != assigned {
			t.Errorf("%d dates more", p.dates()-dates)
		}
	})
	t.Run("a type that is not active is refused", func(t *testing.T) {
		if _, err := p.typeClient.UpdateAppointmentType(p.ctx, &bookingv1.UpdateAppointmentTypeRequest{Id: p.massage.GetId(), Active: proto.Bool(false)}); err != nil {
			t.Fatal(err)
		}
		_, err := p.tryBook(p.ctx, p.at("2030-01-12T10:00"))
		wantFault(t, err, fault.Refused, model.ReasonEventNotPublished)
	})
	p.finish()
}

func TestRefusedSlots(t *testing.T) { // invariants 36, 37
	t.Parallel()
	p := newParlour(t)
	why := func(want string, req *bookingv1.BookAppointmentRequest) {
		t.Helper()
		_, err := p.tryBook(p.ctx, req)
		wantWhy(t, err, want)
	}
	waive := func(r *bookingv1.BookAppointmentRequest) { r.Slot.WaiveHours = true }
	notice := func(r *bookingv1.BookAppointmentRequest) { r.Slot.WaiveNotice = true }
	t.Run("each rule has its reason", func(t *testing.T) {
		why("past", p.at("2029-12-31T10:00"))
		why("length", p.at("2030-01-07T10:00", func(r *bookingv1.BookAppointmentRequest) { r.Slot.LengthMinutes = 45 }))
		_, err := p.tryBook(p.ctx, p.at("2030-01-07T10:05"))
		wantWhy(t, err, "off_grid")
		if got := fault.From(err).Message; got != "the start is not on the grid of 15 minutes" {
			t.Errorf("got %q", got)
		}
		why("no_hours", p.at("2030-01-07T16:15"))
		if _, err := p.staffClient.CreateHoliday(p.ctx, &bookingv1.CreateHolidayRequest{Date: "2030-01-08", Name: "Holiday"}); err != nil {
			t.Fatal(err)
		}
		why("holiday", p.at("2030-01-08T10:00"))
		why("no_staff", p.at("2030-01-07T10:00", by(p.member("Eve"))))
		p.off(p.lea, "2030-01-09T11:05", "2030-01-09T12:00", false)
		why("time_off", p.at("2030-01-09T10:00", by(p.lea)))
		p.reserve("2030-01-09T12:15", by(p.lea))
		p.reserve("2030-01-10T10:00")
		p.reserve("2030-01-10T11:15", by(p.lea))
		why("staff_busy", p.at("2030-01-10T11:00", by(p.lea)))
		p.reserve("2030-01-10T11:15", by(p.max))
		eva := p.worker("Eva")
		if _, err := p.typeClient.UpdateAppointmentType(p.ctx, &bookingv1.UpdateAppointmentTypeRequest{Id: p.massage.GetId(),
			Staff: &bookingv1.StaffChoice{StaffIds: []string{p.lea.GetId(), p.max.GetId(), eva.GetId()}}}); err != nil {
			t.Fatal(err)
		}
		why("room_busy", p.at("2030-01-10T11:30"))
	})
	t.Run("notice and horizon can be waived", func(t *testing.T) {
		if _, err := p.typeClient.UpdateAppointmentType(p.ctx, &bookingv1.UpdateAppointmentTypeRequest{Id: p.massage.GetId(),
			MinimumNoticeMinutes: proto.Int32(180), MaximumAdvanceDays: proto.Int32(30)}); err != nil {
			t.Fatal(err)
		}
		why("too_short_notice", p.at("2030-01-01T11:45"))
		why("beyond_horizon", p.at("2030-03-01T10:00"))
		p.reserve("2030-01-01T11:45", notice)
		p.reserve("2030-03-01T10:00", notice)
	})
	t.Run("hours, holidays and the grid can be waived for a person, and time off and other dates cannot", func(t *testing.T) {
		p.reserve("2030-01-13T20:07", by(p.lea), waive)
		p.reserve("2030-01-08T10:00", by(p.lea), waive)
		why("time_off", p.at("2030-01-09T11:00", by(p.lea), waive))
		why("staff_busy", p.at("2030-01-13T20:10", by(p.lea), waive))
		_, err := p.tryBook(p.ctx, p.at("2030-01-13T20:00", waive))
		if got := broken(t, err); got != "slot.staff_id required" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("a local start that the clocks skip is refused, and the first of two is meant", func(t *testing.T) {
		p.works(p.lea, "00:00", "08:00")
		_, err := p.tryBook(p.ctx, p.at("2030-03-31T01:30", by(p.lea), notice))
		if got := broken(t, err); got != "slot.local_start skipped" {
			t.Errorf("got %s", got)
		}
		a := p.reserve("2030-10-27T01:30", by(p.lea), notice)
		if got := a.GetBooking().GetStartsAt().AsTime(); !got.Equal(time.Date(2030, 10, 27, 0, 30, 0, 0, time.UTC)) {
			t.Errorf("got %s", got)
		}
		second := p.at("2030-10-27T01:30", by(p.lea), notice)
		second.Slot.LocalStart, second.Slot.StartsAt = "", timestamppb.New(time.Date(2030, 10, 27, 1, 45, 0, 0, time.UTC))
		if _, err := p.tryBook(p.ctx, second); err != nil {
			t.Error(err)
		}
	})
	t.Run("the fields of the request are checked", func(t *testing.T) {
		for want, change := range map[string]func(*bookingv1.SlotRequest){
			"slot.starts_at required":    func(s *bookingv1.SlotRequest) { s.LocalStart = "" },
			"slot.local_start exclusive": func(s *bookingv1.SlotRequest) { s.StartsAt = winter("2030-01-07T10:00") },
			"slot.local_start format":    func(s *bookingv1.SlotRequest) { s.LocalStart = "tomorrow" },
			"slot.length_minutes range":  func(s *bookingv1.SlotRequest) { s.LengthMinutes = 4 },
		} {
			_, err := p.tryBook(p.ctx, p.at("2030-01-07T10:00", func(r *bookingv1.BookAppointmentRequest) { change(r.Slot) }))
			if got := broken(t, err); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	})
	t.Run("what belongs to another company does not exist (invariant 5)", func(t *testing.T) {
		other := p.as(id.New[id.Company]())
		_, err := p.tryBook(other, p.at("2030-01-14T10:00"))
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		_, err = p.tryBook(p.ctx, p.at("2030-01-14T10:00", func(r *bookingv1.BookAppointmentRequest) { r.Slot.StaffId = id.New[id.StaffMember]().String() }))
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
	})
	p.finish()
}

func TestFairChoice(t *testing.T) { // invariant 38
	t.Parallel()
	p := newParlour(t)
	t.Run("the person with the fewest minutes of the week is chosen", func(t *testing.T) {
		p.reserve("2030-01-07T10:00", by(p.lea))
		if a := p.reserve("2030-01-13T10:00"); a.GetStaff().GetName() != "Max" { // the Sunday of the same week
			t.Errorf("%s was chosen", a.GetStaff().GetName())
		}
	})
	t.Run("with as many minutes in the week, the one with fewer on the day", func(t *testing.T) {
		if a := p.reserve("2030-01-13T13:00"); a.GetStaff().GetName() != "Lea" {
			t.Errorf("%s was chosen", a.GetStaff().GetName())
		}
	})
	t.Run("held slots count", func(t *testing.T) {
		first := p.keep("2030-01-15T10:00").GetAppointment().GetStaff().GetName()
		if a := p.reserve("2030-01-16T10:00"); a.GetStaff().GetName() == first {
			t.Errorf("%s was chosen twice", first)
		}
	})
	t.Run("a week of appointments is divided equally", func(t *testing.T) {
		count := map[string]int{}
		for _, day := range []string{"21", "22", "23", "24"} {
			for _, hour := range []string{"09:00", "11:00", "13:00"} {
				count[p.reserve("2030-01-"+day+"T"+hour).GetStaff().GetName()]++
			}
		}
		if count["Lea"] != 6 || count["Max"] != 6 {
			t.Errorf("got %v", count)
		}
	})
	t.Run("several requirements get a unit each, and the lowest free one", func(t *testing.T) {
		table := p.room("Table", 2)
		if _, err := p.typeClient.UpdateAppointmentType(p.ctx, &bookingv1.UpdateAppointmentTypeRequest{Id: p.massage.GetId(),
			Rooms: &bookingv1.RoomRequirements{Rooms: []*bookingv1.RoomRequirement{{AnyOf: []string{p.studio.GetId()}}, {AnyOf: []string{table.GetId()}}}}}); err != nil {
			t.Fatal(err)
		}
		for unit := range int32(2) {
			a := p.reserve("2030-02-05T10:00")
			if len(a.GetRooms()) != 2 || a.GetRooms()[0].GetName() != "Studio" || a.GetRooms()[0].GetUnit() != unit+1 || a.GetRooms()[1].GetName() != "Table" || a.GetRooms()[1].GetUnit() != unit+1 {
				t.Errorf("got %v", a.GetRooms())
			}
		}
	})
	p.verify()
}

func TestRepeatedAppointmentRequests(t *testing.T) {
	t.Parallel()
	p := newParlour(t)
	p.reserve("2030-01-07T09:00")
	held := p.keep("2030-01-07T14:00", by(p.lea))
	moving := p.reserve("2030-01-08T14:00", by(p.lea))
	for name, call := range map[string]func(context.Context) (*bookingv1.Appointment, error){
		"BookAppointment": func(ctx context.Context) (*bookingv1.Appointment, error) {
			return p.tryBook(ctx, p.at("2030-01-07T11:00", by(p.lea)))
		},
		"HoldAppointment": func(ctx context.Context) (*bookingv1.Appointment, error) {
			resp, err := p.appointments.HoldAppointment(ctx, &bookingv1.HoldAppointmentRequest{Slot: p.at("2030-01-07T12:30", by(p.lea)).GetSlot(), PurchaserId: p.ann.String()})
			return resp.GetAppointment(), err
		},
		"MoveAppointment": func(ctx context.Context) (*bookingv1.Appointment, error) {
			resp, err := p.appointments.MoveAppointment(ctx, &bookingv1.MoveAppointmentRequest{Id: moving.GetId(), LocalStart: "2030-01-08T10:00:00"})
			if err == nil && !resp.GetChanged() {
				t.Error("the response of a repeated move differs")
			}
			return resp.GetAppointment(), err
		},
	} {
		t.Run(name+" makes one appointment for one key, also concurrently", func(t *testing.T) {
			dates := p.dates()
			ctx, first := withKey(p.ctx, name), make([]*bookingv1.Appointment, 8)
			together(len(first), func(i int) {
				a, err := call(ctx)
				if err != nil && fault.From(err).Reason != fault.ReasonIdempotencyInProgress {
					t.Error(err)
				}
				first[i] = a
			})
			again, err := call(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range first {
				if a != nil {
					sameAppointment(t, a, again)
				}
			}
			if p.dates() != dates+1 {
				t.Errorf("%d dates", p.dates()-dates)
			}
		})
	}
	if held.GetAppointment().GetHeldUntil() == nil {
		t.Error("no end of the hold")
	}
	p.finish()
}
