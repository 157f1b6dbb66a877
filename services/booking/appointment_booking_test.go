package booking

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// practice is a company with massages of 30 and 60 minutes, which Ann and Bob give every day from 8:00 to
// 20:00 UTC, in a room of two units. Each takes 15 minutes more. They can be booked from 30 days until an hour
// before.
type practice struct {
	*world
	ann, bob    *bookingv1.StaffMember
	room        *bookingv1.Room
	massage     *bookingv1.AppointmentType
	short, long string // prices
	mia, zoe    id.Customer
}

func newPractice(t testing.TB) *practice {
	t.Helper()
	p := &practice{world: newWorld(t)}
	p.ann, p.bob, p.room = p.member("Ann"), p.member("Bob"), p.world.room("Room", 2)
	for _, who := range []*bookingv1.StaffMember{p.ann, p.bob} {
		p.works(who, 480, 1200)
	}
	p.massage = p.newType(&bookingv1.CreateAppointmentTypeRequest{
		Title: "Massage", Timezone: "UTC", Lengths: []int32{30, 60}, BufferAfterMinutes: 15, MinimumNoticeMinutes: 60, MaximumAdvanceDays: 30,
		StaffIds: []string{p.ann.GetId(), p.bob.GetId()}, Rooms: []*bookingv1.RoomRequirement{{AnyOf: []string{p.room.GetId()}}},
		Prices: []*bookingv1.NewAppointmentPrice{
			{Option: &bookingv1.NewPricingOption{Name: "Short", Price: 3000, Credits: new(int32(1))}, LengthMinutes: 30},
			{Option: &bookingv1.NewPricingOption{Name: "Long", Price: 5000, Credits: new(int32(2))}, LengthMinutes: 60},
		},
	})
	p.short, p.long = p.massage.GetPrices()[0].GetOption().GetId(), p.massage.GetPrices()[1].GetOption().GetId()
	p.mia, p.zoe = p.customer(p.company, "Mia"), p.customer(p.company, "Zoe")
	return p
}

// works sets the working hours of every day, in minutes after midnight.
func (p *practice) works(who *bookingv1.StaffMember, starts, ends int) {
	p.t.Helper()
	p.exec(`insert into working_hours (company_id, staff_id, position, weekday, starts, ends, location, timezone)
		select $1, $2, n, n, $3, $4, '', 'UTC' from generate_series(1, 7) n`, p.company, idOf[id.StaffMember](p.t, who.GetId()), starts, ends)
}

// at returns a slot a number of minutes after noon of the next day but one. Without a staff member, anyone will do.
func (p *practice) at(minutes int, staff *bookingv1.StaffMember) *bookingv1.SlotRequest {
	return &bookingv1.SlotRequest{
		AppointmentTypeId: p.massage.GetId(), StaffId: staff.GetId(), StartsAt: timestamppb.New(noon().Add(time.Duration(minutes) * time.Minute)),
	}
}

// reserve books a slot for Mia.
func (p *practice) reserve(slot *bookingv1.SlotRequest) (*bookingv1.Appointment, error) {
	return p.request(&bookingv1.BookAppointmentRequest{Slot: slot})
}

func (p *practice) request(req *bookingv1.BookAppointmentRequest) (*bookingv1.Appointment, error) {
	if req.PurchaserId == "" {
		req.PurchaserId = p.mia.String()
	}
	resp, err := p.appointments.BookAppointment(p.ctx, req)
	return resp.GetAppointment(), err
}

func (p *practice) mustReserve(slot *bookingv1.SlotRequest) *bookingv1.Appointment {
	p.t.Helper()
	a, err := p.reserve(slot)
	if err != nil {
		p.t.Fatal(err)
	}
	return a
}

func (p *practice) keep(slot *bookingv1.SlotRequest) (*bookingv1.HoldAppointmentResponse, error) {
	return p.appointments.HoldAppointment(p.ctx, &bookingv1.HoldAppointmentRequest{Slot: slot, PurchaserId: p.mia.String()})
}

func (p *practice) mustKeep(slot *bookingv1.SlotRequest) *bookingv1.HoldAppointmentResponse {
	p.t.Helper()
	h, err := p.keep(slot)
	if err != nil {
		p.t.Fatal(err)
	}
	return h
}

func (p *practice) cancelAppointment(a *bookingv1.Appointment) {
	p.t.Helper()
	if _, err := p.bookings.CancelBooking(p.ctx, &bookingv1.CancelBookingRequest{BookingId: a.GetBooking().GetId()}); err != nil {
		p.t.Fatal(err)
	}
}

// get reads an appointment.
func (p *practice) get(which string) *bookingv1.Appointment {
	p.t.Helper()
	resp, err := p.appointments.GetAppointment(p.ctx, &bookingv1.GetAppointmentRequest{Id: which})
	if err != nil {
		p.t.Fatal(err)
	}
	return resp.GetAppointment()
}

// wantUnavailable checks that a slot is refused for a reason.
func wantUnavailable(t testing.TB, err error, why string) {
	t.Helper()
	if f := wantFault(t, err, fault.Refused, model.ReasonSlotUnavailable); f.Meta["why"] != why {
		t.Errorf("why is %q, want %q", f.Meta["why"], why)
	}
}

// wantClean checks that no date of an appointment lacks its booking, and that nothing overlaps.
func (p *practice) wantClean() {
	p.t.Helper()
	if n := p.overlaps(); n != 0 {
		p.t.Errorf("%d overlaps", n)
	}
	p.wantNone("scheduled dates without a booking", `select count(*) from event_dates where appointment_id is not null and status = 'scheduled' and booked = 0`)
	p.wantNone("active assignments of cancelled dates", `select count(*) from assignments a join event_dates d on d.id = a.event_date_id
		where a.active and d.status <> 'scheduled'`)
	p.wantNone("appointments without exactly one active person", `select count(*) from bookings b join transactions t on t.id = b.transaction_id
		join event_dates d on d.id = b.event_date_id and d.appointment_id is not null
		where t.status <> 'released' and not b.is_cancelled and 1 <> (select count(*) from assignments a
			where a.event_date_id = d.id and a.kind = 'staff' and a.active)`)
	p.wantNone("assignments of another booking than that of their date", `select count(*) from assignments a join event_dates d on d.id = a.event_date_id
		where a.active and d.appointment_id is not null and not exists (select from bookings b join transactions t on t.id = b.transaction_id
			where b.event_date_id = d.id and not b.is_cancelled and t.status <> 'released')`)
	p.inStep()
	p.verify()
}

func (p *practice) wantNone(what, sql string, args ...any) {
	p.t.Helper()
	if n := one[int64](p.world, sql, args...); n != 0 {
		p.t.Errorf("%d %s", n, what)
	}
}

func TestBookAppointment(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	t.Run("a booking has its date, staff member, room and price, and is what GetAppointment returns (invariant 34)", func(t *testing.T) {
		slot := p.at(0, p.ann)
		got, err := p.request(&bookingv1.BookAppointmentRequest{Slot: slot, CustomerId: p.zoe.String(), PaymentReference: "ch_1"})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(p.get(got.GetId()), got, protocmp.Transform()); diff != "" {
			t.Error(diff)
		}
		b := got.GetBooking()
		if got.GetStatus() != statusBooked || got.GetStaff().GetId() != p.ann.GetId() || len(got.GetRooms()) != 1 || got.GetRooms()[0].GetUnit() != 1 ||
			got.GetCustomer().GetFirstName() != "Zoe" || got.GetPurchaser().GetFirstName() != "Mia" || got.GetBufferAfterMinutes() != 15 ||
			b.GetDurationMinutes() != 30 || !proto.Equal(b.GetStartsAt(), slot.GetStartsAt()) || b.GetCard().GetGross() != 3000 ||
			b.GetCard().GetReference() != "ch_1" || b.GetSpaces() != 1 || b.GetPricingOptionId() != p.short {
			t.Errorf("got %v", got)
		}
	})
	t.Run("wall time is read in the zone of the type", func(t *testing.T) {
		got := p.mustReserve(&bookingv1.SlotRequest{AppointmentTypeId: p.massage.GetId(), LocalStart: noon().Format("2006-01-02") + "T09:00:00"})
		if want := noon().Add(-3 * time.Hour); !got.GetBooking().GetStartsAt().AsTime().Equal(want) {
			t.Errorf("starts at %s, want %s", got.GetBooking().GetStartsAt().AsTime(), want)
		}
	})
	t.Run("the length determines the price", func(t *testing.T) {
		slot := p.at(120, p.ann)
		slot.LengthMinutes = 60
		_, err := p.request(&bookingv1.BookAppointmentRequest{Slot: slot, PricingOptionId: p.short})
		if got := broken(t, err); got != "pricing_option_id length" {
			t.Error(got)
		}
		if got := p.mustReserve(slot); got.GetBooking().GetCard().GetGross() != 5000 {
			t.Errorf("got %v", got)
		}
	})
	t.Run("the first confirmed appointment lists the event and announces it once, and each booking is announced (invariant 40)", func(t *testing.T) {
		bookings := one[int64](p.world, `select count(*) from bookings`)
		if n := p.published(subjectAppointmentBooked); n != bookings || p.published(subjectBookingConfirmed) != bookings || p.published(subjectEventCreated) != 1 {
			t.Errorf("%d appointments announced, %d events", n, p.published(subjectEventCreated))
		}
		if got := one[int64](p.world, `select version from events`); got != 1 {
			t.Errorf("the event has the version %d", got)
		}
	})
	t.Run("a request with the same Idempotency-Key gets the same appointment", func(t *testing.T) {
		ctx := withKey(p.ctx, "once")
		req := &bookingv1.BookAppointmentRequest{Slot: p.at(240, p.ann), PurchaserId: p.mia.String()}
		first, err := p.appointments.BookAppointment(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			again, err := p.appointments.BookAppointment(ctx, req)
			if diff := cmp.Diff(first, again, protocmp.Transform()); err != nil || diff != "" {
				t.Error(err, diff)
			}
		}
	})
	t.Run("an appointment is a booking on Interface A and in the lists of bookings", func(t *testing.T) {
		list, err := p.bookings.ListTransactions(p.ctx, &bookingv1.ListTransactionsRequest{CustomerId: p.mia.String()})
		if err != nil || list.GetTotal() != one[int64](p.world, `select count(*) from transactions`) {
			t.Errorf("got %v, %v", list, err)
		}
	})
	p.wantClean()
}

func TestAppointmentRefusals(t *testing.T) {
	t.Parallel()
	p := newPractice(t)
	taken := p.mustReserve(p.at(0, p.ann))
	p.away(idOf[id.StaffMember](t, p.bob.GetId()).UUID(), "staff", noon().Add(3*time.Hour), noon().Add(4*time.Hour))
	p.exec(`insert into holidays (company_id, id, date, name, location, created_at) values ($1, gen_random_uuid(), $2, 'Closed', '', now())`, p.company, noon().AddDate(0, 0, 3))
	other := p.member("Eve") // does not offer massages
	soon := time.Now().Truncate(15 * time.Minute).Add(30 * time.Minute)
	p.exec(`update working_hours set starts = 0, ends = 1440 where staff_id = $1`, idOf[id.StaffMember](t, p.bob.GetId()))
	withLength := func(s *bookingv1.SlotRequest, minutes int32) *bookingv1.SlotRequest {
		s.LengthMinutes = minutes
		return s
	}
	starting := func(s *bookingv1.SlotRequest, at time.Time) *bookingv1.SlotRequest {
		s.StartsAt = timestamppb.New(at)
		return s
	}
	for _, c := range []struct {
		why  string
		slot *bookingv1.SlotRequest
	}{
		{"staff_busy", p.at(0, p.ann)},
		{"staff_busy", p.at(-30, p.ann)},
		{"staff_busy", p.at(30, p.ann)},
		{"off_grid", p.at(51, p.ann)},
		{"length", withLength(p.at(60, p.ann), 45)},
		{"time_off", p.at(3*60, p.bob)},
		{"holiday", p.at(3*24*60, p.ann)},
		{"no_hours", p.at(-6*60, p.ann)},
		{"no_staff", p.at(60, other)},
		{"too_short_notice", starting(p.at(0, p.bob), soon)},
		{"past", starting(p.at(0, p.bob), soon.Add(-2*time.Hour))},
		{"beyond_horizon", p.at(31*24*60, p.bob)},
	} {
		t.Run("refuses a slot: "+c.why, func(t *testing.T) {
			_, err := p.reserve(c.slot)
			wantUnavailable(t, err, c.why)
			_, err = p.keep(c.slot)
			wantUnavailable(t, err, c.why)
		})
	}
	t.Run("refuses a slot for which no room is left", func(t *testing.T) {
		eve := p.member("Eva")
		p.works(eve, 480, 1200)
		p.exec(`insert into appointment_type_staff (company_id, appointment_type_id, staff_id) values ($1, $2, $3)`,
			p.company, idOf[id.AppointmentType](t, p.massage.GetId()), idOf[id.StaffMember](t, eve.GetId()))
		p.mustReserve(p.at(0, p.bob))
		_, err := p.reserve(p.at(0, nil))
		wantUnavailable(t, err, "room_busy")
	})
	t.Run("notice and hours can be waived for a given person, and time off and appointments cannot", func(t *testing.T) {
		slot := starting(p.at(0, p.bob), soon)
		slot.WaiveNotice = true
		p.mustReserve(slot)
		night := p.at(-6*60, p.ann)
		night.WaiveHours = true
		p.mustReserve(night)
		for why, slot := range map[string]*bookingv1.SlotRequest{"time_off": p.at(3*60, p.bob), "staff_busy": p.at(0, p.ann)} {
			slot.WaiveHours = true
			_, err := p.reserve(slot)
			wantUnavailable(t, err, why)
		}
	})
	t.Run("refuses a type that is not active, and what does not exist or belongs to another company", func(t *testing.T) {
		idle := p.newType(&bookingv1.CreateAppointmentTypeRequest{Inactive: true, StaffIds: []string{p.ann.GetId()}})
		_, err := p.reserve(&bookingv1.SlotRequest{AppointmentTypeId: idle.GetId(), StartsAt: p.at(60, nil).GetStartsAt()})
		wantFault(t, err, fault.Refused, model.ReasonEventNotPublished)
		for _, slot := range []*bookingv1.SlotRequest{
			{AppointmentTypeId: id.New[id.AppointmentType]().String(), StartsAt: noonAt()},
			{AppointmentTypeId: "x", StartsAt: noonAt()},
			{AppointmentTypeId: p.massage.GetId(), StartsAt: noonAt(), StaffId: id.New[id.StaffMember]().String()},
		} {
			_, err := p.reserve(slot)
			wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		}
		stranger := p.as(id.New[id.Company]())
		_, err = p.appointments.BookAppointment(stranger, &bookingv1.BookAppointmentRequest{Slot: p.at(60, nil), PurchaserId: p.mia.String()})
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
	})
	t.Run("names the faults of a request", func(t *testing.T) {
		for want, slot := range map[string]*bookingv1.SlotRequest{
			"slot.starts_at required":    {AppointmentTypeId: p.massage.GetId()},
			"slot.local_start exclusive": {AppointmentTypeId: p.massage.GetId(), StartsAt: noonAt(), LocalStart: "2030-01-01T09:00:00"},
			"slot.local_start format":    {AppointmentTypeId: p.massage.GetId(), LocalStart: "9:00"},
			"slot.starts_at format":      {AppointmentTypeId: p.massage.GetId(), StartsAt: timestamppb.New(noon().Add(time.Second))},
			"slot.length_minutes range":  {AppointmentTypeId: p.massage.GetId(), StartsAt: noonAt(), LengthMinutes: 4},
			"slot.staff_id required":     {AppointmentTypeId: p.massage.GetId(), StartsAt: noonAt(), WaiveHours: true},
		} {
			_, err := p.reserve(slot)
			if got := broken(t, err); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
	})
	t.Run("a refused purchase leaves nothing behind", func(t *testing.T) {
		dates := one[int64](p.world, `select count(*) from event_dates`)
		for _, req := range []*bookingv1.BookAppointmentRequest{
			{PurchaserId: id.New[id.Customer]().String()},
			{DiscountCode: "NONE"},
			{PricingOptionId: id.New[id.PricingOption]().String()},
			{PaymentMethod: byPass}, // has no pass
		} {
			req.Slot = p.at(5*60, p.ann)
			if _, err := p.request(req); !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.Refused) {
				t.Errorf("got %v", err)
			}
		}
		p.wantNone("dates that are scheduled", `select count(*) from event_dates where starts_at = $1 and status = 'scheduled'`, noon().Add(5*time.Hour))
		if n := one[int64](p.world, `select count(*) from event_dates`); n != dates+1 { // that of the pass, with its released booking
			t.Errorf("%d dates more", n-dates)
		}
		p.mustReserve(p.at(5*60, p.ann))
	})
	p.cancelAppointment(taken)
	p.wantClean()
}

func noonAt() *timestamppb.Timestamp { return timestamppb.New(noon()) }
