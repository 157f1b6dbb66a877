package booking

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// parlour is a world at 09:00 UTC on Tuesday, 1 January 2030. Lea and Max give massages of 30 and 60 minutes
// from 09:00 to 17:00 London time every day, in a room with two units. A massage has buffers of 5 and 10 minutes.
type parlour struct {
	*world
	massage    *bookingv1.AppointmentType
	half, full string // the prices of 30 and 60 minutes: 3000 and 1 credit, 5000 and 2 credits
	lea, max   *bookingv1.StaffMember
	studio     *bookingv1.Room
	ann, ben   id.Customer
}

func parlourTime() time.Time { return time.Date(2030, 1, 1, 9, 0, 0, 0, time.UTC) }

func newParlour(t testing.TB) *parlour {
	t.Helper()
	return parlourOn(newWorld(t))
}

func parlourOn(w *world) *parlour {
	p := &parlour{world: w}
	p.stopClock()
	p.ann, p.ben = p.customer(p.company, "ann"), p.customer(p.company, "ben")
	p.lea, p.max, p.studio = p.worker("Lea"), p.worker("Max"), p.room("Studio", 2)
	price := func(name string, price int64, credits, minutes int32) *bookingv1.NewAppointmentPrice {
		return &bookingv1.NewAppointmentPrice{LengthMinutes: minutes,
			Option: &bookingv1.NewPricingOption{Name: name, Price: price, Currency: "GBP", Credits: &credits}}
	}
	p.massage = p.newType(&bookingv1.CreateAppointmentTypeRequest{
		Title: "Massage", Location: "Harbour", Timezone: "Europe/London", Lengths: []int32{30, 60}, BufferBeforeMinutes: 5, BufferAfterMinutes: 10,
		SlotMinutes: 15, StaffIds: []string{p.lea.GetId(), p.max.GetId()}, Rooms: []*bookingv1.RoomRequirement{{AnyOf: []string{p.studio.GetId()}}},
		Prices: []*bookingv1.NewAppointmentPrice{price("Half", 3000, 1, 30), price("Full", 5000, 2, 60)},
	})
	p.half, p.full = p.massage.GetPrices()[0].GetOption().GetId(), p.massage.GetPrices()[1].GetOption().GetId()
	return p
}

// stopClock sets the clock to the time of the parlour, plus what shift adds. Each reading is a microsecond later.
func (w *world) stopClock() {
	w.server.now = func() time.Time { return parlourTime().Add(time.Duration(w.ahead.Add(int64(time.Microsecond)))) }
}

// worker adds a person who works from 09:00 to 17:00 London time every day.
func (w *world) worker(name string) *bookingv1.StaffMember {
	w.t.Helper()
	who := w.member(name)
	w.works(who, "09:00", "17:00")
	return who
}

// works sets the hours of every day.
func (w *world) works(who *bookingv1.StaffMember, start, end string) {
	w.t.Helper()
	req := &bookingv1.SetWorkingHoursRequest{StaffId: who.GetId()}
	for day := range int32(7) {
		req.Weekly = append(req.Weekly, &bookingv1.WeeklyHours{Weekday: day + 1,
			Range: &bookingv1.HoursRange{Starts: start, Ends: end, Timezone: "Europe/London"}})
	}
	if _, err := w.staffClient.SetWorkingHours(w.ctx, req); err != nil {
		w.t.Fatal(err)
	}
}

// at returns a request of ann for 60 minutes at a local time such as 2030-01-07T10:00.
func (p *parlour) at(local string, change ...func(*bookingv1.BookAppointmentRequest)) *bookingv1.BookAppointmentRequest {
	req := &bookingv1.BookAppointmentRequest{
		PurchaserId: p.ann.String(),
		Slot:        &bookingv1.SlotRequest{AppointmentTypeId: p.massage.GetId(), LengthMinutes: 60, LocalStart: local + ":00"},
	}
	for _, do := range change {
		do(req)
	}
	return req
}

// by asks for a staff member.
func by(who *bookingv1.StaffMember) func(*bookingv1.BookAppointmentRequest) {
	return func(r *bookingv1.BookAppointmentRequest) { r.Slot.StaffId = who.GetId() }
}

func withPass(r *bookingv1.BookAppointmentRequest) { r.PaymentMethod = byPass }

func (p *parlour) tryBook(ctx context.Context, req *bookingv1.BookAppointmentRequest) (*bookingv1.Appointment, error) {
	resp, err := p.appointments.BookAppointment(ctx, req)
	return resp.GetAppointment(), err
}

// reserve books an appointment.
func (p *parlour) reserve(local string, change ...func(*bookingv1.BookAppointmentRequest)) *bookingv1.Appointment {
	p.t.Helper()
	a, err := p.tryBook(p.ctx, p.at(local, change...))
	if err != nil {
		p.t.Fatal(err)
	}
	return a
}

// keep holds a slot.
func (p *parlour) keep(local string, change ...func(*bookingv1.BookAppointmentRequest)) *bookingv1.HoldAppointmentResponse {
	p.t.Helper()
	req := p.at(local, change...)
	resp, err := p.appointments.HoldAppointment(p.ctx, &bookingv1.HoldAppointmentRequest{Slot: req.GetSlot(), PurchaserId: req.GetPurchaserId()})
	if err != nil {
		p.t.Fatal(err)
	}
	return resp
}

func (p *parlour) move(a *bookingv1.Appointment, change func(*bookingv1.MoveAppointmentRequest)) (*bookingv1.MoveAppointmentResponse, error) {
	req := &bookingv1.MoveAppointmentRequest{Id: a.GetId()}
	change(req)
	return p.appointments.MoveAppointment(p.ctx, req)
}

// to moves to a local time.
func to(local string) func(*bookingv1.MoveAppointmentRequest) {
	return func(r *bookingv1.MoveAppointmentRequest) { r.LocalStart = local + ":00" }
}

func (p *parlour) mustMove(a *bookingv1.Appointment, change func(*bookingv1.MoveAppointmentRequest)) *bookingv1.Appointment {
	p.t.Helper()
	resp, err := p.move(a, change)
	if err != nil {
		p.t.Fatal(err)
	}
	if !resp.GetChanged() {
		p.t.Error("nothing changed")
	}
	return resp.GetAppointment()
}

func (p *parlour) read(a *bookingv1.Appointment) *bookingv1.Appointment {
	p.t.Helper()
	resp, err := p.appointments.GetAppointment(p.ctx, &bookingv1.GetAppointmentRequest{Id: a.GetId()})
	if err != nil {
		p.t.Fatal(err)
	}
	return resp.GetAppointment()
}

// cancelBooking cancels the booking of an appointment.
func (p *parlour) cancelBooking(a *bookingv1.Appointment) {
	p.t.Helper()
	if _, err := p.bookings.CancelBooking(p.ctx, &bookingv1.CancelBookingRequest{BookingId: a.GetBooking().GetId()}); err != nil {
		p.t.Fatal(err)
	}
}

// off gives a person time off from and until local times in winter.
func (p *parlour) off(who *bookingv1.StaffMember, from, until string, keep bool) {
	p.t.Helper()
	_, err := p.staffClient.CreateTimeOff(p.ctx, &bookingv1.CreateTimeOffRequest{StaffId: who.GetId(), StartsAt: winter(from), EndsAt: winter(until), KeepBookings: keep})
	if err != nil {
		p.t.Fatal(err)
	}
}

// winter returns a local time of London in winter.
func winter(local string) *timestamppb.Timestamp {
	at, err := time.Parse("2006-01-02T15:04", local)
	if err != nil {
		panic(err)
	}
	return timestamppb.New(at)
}

// wantWhy checks that a slot was refused for a reason.
func wantWhy(t testing.TB, err error, why string) {
	t.Helper()
	f := wantFault(t, err, fault.Refused, model.ReasonSlotUnavailable)
	if f.Meta["why"] != why {
		t.Errorf("got %q, want %q", f.Meta["why"], why)
	}
	if strings.Contains(f.Message, "the slot is not free") {
		t.Errorf("%s has no message of its own", why)
	}
}

// dateOf returns the identifier of the date of an appointment.
func (p *parlour) dateOf(a *bookingv1.Appointment) id.EventDate {
	p.t.Helper()
	return idOf[id.EventDate](p.t, a.GetBooking().GetEventDateId())
}

// wantEnded checks that a date is cancelled, has no space taken and takes nobody's time.
func (p *parlour) wantEnded(date id.EventDate) {
	p.t.Helper()
	if got := one[bool](p.world, `select status = 'cancelled' and booked = 0 and not exists (
		select from assignments a where a.event_date_id = d.id and a.active) from event_dates d where id = $1`, date); !got {
		p.t.Error("the date has not ended")
	}
}

func (p *parlour) dates() int64 {
	return one[int64](p.world, `select count(*) from event_dates where appointment_id is not null`)
}

// finish closes the waitlists of cancelled dates, and then verifies all numbers.
func (p *parlour) finish() {
	p.t.Helper()
	if err := p.server.finishClosings(p.t.Context()); err != nil {
		p.t.Error(err)
	}
	p.verify()
	if n := p.overlaps(); n != 0 {
		p.t.Errorf("%d overlaps", n)
	}
	if err := p.incomplete(); err != 0 {
		p.t.Errorf("%d appointments without exactly one person and their rooms", err)
	}
}

// incomplete returns the number of appointments to come that do not have exactly one person and one room.
func (p *parlour) incomplete() int64 {
	return one[int64](p.world, `select count(*) from bookings b join transactions t on t.company_id = b.company_id and t.id = b.transaction_id and t.status in ('confirmed', 'held', 'pending')
			join event_dates d on d.company_id = b.company_id and d.id = b.event_date_id and d.appointment_id is not null
		where not b.is_cancelled and d.starts_at > $1 and (d.status <> 'scheduled' or d.booked <> 1
			or (select count(*) from assignments a where a.event_date_id = d.id and a.active and a.kind = 'staff') <> 1
			or (select count(*) from assignments a where a.event_date_id = d.id and a.active and a.kind = 'room') <> 1)`, p.server.now())
}

// waitFor puts ben on the waitlist of the date of an appointment.
func (p *parlour) waitFor(a *bookingv1.Appointment, mode bookingv1.WaitlistMode) *bookingv1.WaitlistEntry {
	p.t.Helper()
	resp, err := p.waitlist.JoinWaitlist(p.ctx, &bookingv1.JoinWaitlistRequest{
		CustomerId: p.ben.String(), EventDateId: a.GetBooking().GetEventDateId(), Mode: mode, Spaces: 1, PricingOptionId: a.GetBooking().GetPricingOptionId()})
	if err != nil {
		p.t.Fatal(err)
	}
	return resp.GetEntry()
}

func sameAppointment(t testing.TB, got, want *bookingv1.Appointment) {
	t.Helper()
	if !proto.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// subjects returns the subjects of the events in the outbox, in their order.
func (w *world) subjects() string {
	w.t.Helper()
	return one[string](w, `select coalesce(string_agg(substr(subject, 12), ' ' order by id), '') from outbox where subject <> 'booking.v1.change_recorded'`)
}
