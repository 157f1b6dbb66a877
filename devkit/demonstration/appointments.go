package demonstration

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// The people, in the order of people.
const (
	thora = iota
	maya
	sam
)

// The rooms and the equipment, in the order of createRooms. Classes alternate between the studios.
const (
	studioA = iota
	studioB
	tables
)

// The appointment types, in the order of createAppointmentTypes.
const (
	massage = iota
	privateLesson
	consultation
)

// person is a staff member with weekly shifts from one weekday to another (1 is Monday).
type person struct {
	name, email, bio string
	from, to         int32
	shifts           [][2]string
}

func people() []person {
	return []person{
		thora: {"Þóra Jónsdóttir", "thora@riverside.example", "Teaches Vinyasa, and can explain every handstand.", 1, 4, [][2]string{{"09:00", "12:30"}, {"13:30", "18:00"}}},
		maya:  {"Maya Okafor", "maya@riverside.example", "Pilates and massage.", 2, 6, [][2]string{{"10:00", "14:00"}, {"15:00", "19:00"}}},
		sam:   {"Sam Whitfield", "sam@riverside.example", "Massage, yin and nutrition.", 1, 5, [][2]string{{"12:00", "18:30"}}},
	}
}

// createStaff creates the staff with their hours. One person has a day off in three weeks.
func (d *demoData) createStaff(ctx context.Context) error {
	for i, p := range people() {
		key := withKey(ctx, fmt.Sprintf("staff-%d", i))
		res, err := d.on.staff.CreateStaffMember(key, &bookingv1.CreateStaffMemberRequest{
			Name: p.name, Email: p.email, Bio: p.bio, Reference: fmt.Sprintf("demo-staff-%d", i),
		})
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		id := res.GetStaffMember().GetId()
		d.staff = append(d.staff, id)
		hours := &bookingv1.SetWorkingHoursRequest{StaffId: id}
		for day := p.from; day <= p.to; day++ {
			for _, shift := range p.shifts {
				hours.Weekly = append(hours.Weekly, &bookingv1.WeeklyHours{
					Weekday: day, Range: &bookingv1.HoursRange{Starts: shift[0], Ends: shift[1], Timezone: demoZone},
				})
			}
		}
		if i == sam {
			hours.Dates = []*bookingv1.DateHours{{Date: d.dateAfter(21)}}
		}
		if _, err := d.on.staff.SetWorkingHours(withKey(ctx, fmt.Sprintf("hours-%d", i)), hours); err != nil {
			return fmt.Errorf("the hours of %s: %w", p.name, err)
		}
	}
	return nil
}

// dateAfter returns the day that is so many days after today.
func (d *demoData) dateAfter(days int) string {
	return d.today.In(d.zone).AddDate(0, 0, days).Format(time.DateOnly)
}

func (d *demoData) createRooms(ctx context.Context) error {
	for i, req := range []*bookingv1.CreateRoomRequest{
		studioA: {Name: "Studio A"},
		studioB: {Name: "Studio B"},
		tables:  {Name: "Massage table", Kind: bookingv1.RoomKind_ROOM_KIND_EQUIPMENT, Capacity: 2},
	} {
		req.Reference = fmt.Sprintf("demo-room-%d", i)
		res, err := d.on.rooms.CreateRoom(withKey(ctx, req.GetReference()), req)
		if err != nil {
			return fmt.Errorf("%s: %w", req.GetName(), err)
		}
		d.rooms = append(d.rooms, res.GetRoom().GetId())
	}
	return nil
}

// closeForHolidays creates the holidays of a year, and a training day of one person.
func (d *demoData) closeForHolidays(ctx context.Context) error {
	today := d.today.In(d.zone)
	for _, h := range []struct {
		name  string
		month time.Month
		day   int
	}{{"New Year's Day", time.January, 1}, {"Christmas Day", time.December, 25}, {"Boxing Day", time.December, 26}} {
		date := time.Date(today.Year(), h.month, h.day, 0, 0, 0, 0, time.UTC)
		if date.Format(time.DateOnly) < d.dateAfter(0) {
			date = time.Date(today.Year()+1, h.month, h.day, 0, 0, 0, 0, time.UTC)
		}
		req := &bookingv1.CreateHolidayRequest{Date: date.Format(time.DateOnly), Name: h.name}
		if _, err := d.on.staff.CreateHoliday(withKey(ctx, "holiday-"+h.name), req); err != nil {
			return fmt.Errorf("%s: %w", h.name, err)
		}
	}
	// Maya's classes on that day stay, and somebody else must teach them.
	starts := time.Date(today.Year(), today.Month(), today.Day()+20, 0, 0, 0, 0, d.zone)
	_, err := d.on.staff.CreateTimeOff(withKey(ctx, "time-off"), &bookingv1.CreateTimeOffRequest{
		StaffId: d.staff[maya], StartsAt: timestamppb.New(starts), EndsAt: timestamppb.New(starts.AddDate(0, 0, 1)), Reason: "Training", KeepBookings: true,
	})
	return err
}

func (d *demoData) createAppointmentTypes(ctx context.Context) error {
	price := func(minutes int32, price int64, credits int32) *bookingv1.NewAppointmentPrice {
		option := &bookingv1.NewPricingOption{Name: "Standard", Price: price, TaxRateBasisPoints: 2000}
		if minutes > 0 {
			option.Name = fmt.Sprintf("%d minutes", minutes)
		}
		if credits > 0 {
			option.Credits = &credits
		}
		return &bookingv1.NewAppointmentPrice{Option: option, LengthMinutes: minutes}
	}
	aDay := int32(24 * 60)
	for i, req := range []*bookingv1.CreateAppointmentTypeRequest{
		massage: {
			Title: "Massage", Description: "Deep tissue or Swedish, as you like.", Lengths: []int32{30, 60, 90}, BufferAfterMinutes: 15, SlotMinutes: 15,
			MinimumNoticeMinutes: 120, MaximumAdvanceDays: 90, FreeCancellationMinutes: &aDay, StaffIds: []string{d.staff[maya], d.staff[sam]},
			Rooms:  []*bookingv1.RoomRequirement{{AnyOf: []string{d.rooms[tables]}}},
			Prices: []*bookingv1.NewAppointmentPrice{price(30, 4000, 1), price(60, 7000, 2), price(90, 9500, 3)},
		},
		privateLesson: {
			Title: "Private Lesson", Description: "One teacher, one student, one studio.", Lengths: []int32{60}, BufferBeforeMinutes: 5, BufferAfterMinutes: 10, SlotMinutes: 30,
			MaximumAdvanceDays: 60, FreeCancellationMinutes: &aDay, StaffIds: []string{d.staff[thora], d.staff[maya]},
			Rooms:  []*bookingv1.RoomRequirement{{AnyOf: []string{d.rooms[studioB], d.rooms[studioA]}}},
			Prices: []*bookingv1.NewAppointmentPrice{price(0, 6500, 0)},
		},
		consultation: {
			Title: "Nutrition Consultation", Description: "The first one is free.", Lengths: []int32{45}, SlotMinutes: 15, StaffIds: []string{d.staff[sam]},
		},
	} {
		req.Timezone, req.Reference = demoZone, fmt.Sprintf("demo-type-%d", i)
		res, err := d.on.appointmentTypes.CreateAppointmentType(withKey(ctx, req.GetReference()), req)
		if err != nil {
			return fmt.Errorf("%s: %w", req.GetTitle(), err)
		}
		d.appointmentTypes = append(d.appointmentTypes, res.GetAppointmentType())
	}
	return nil
}

// importAppointments imports the appointments of the last weeks. Every seventh was cancelled.
func (d *demoData) importAppointments(ctx context.Context) error {
	today := d.today.In(d.zone)
	req := &bookingv1.ImportAppointmentsRequest{}
	for i := range 24 {
		which := i % len(d.appointmentTypes)
		kind := d.appointmentTypes[which]
		staff := kind.GetStaffIds()[i/3%len(kind.GetStaffIds())]
		starts := time.Date(today.Year(), today.Month(), today.Day()-1-i, 13+i%4, 0, 0, 0, d.zone)
		line := &bookingv1.ImportedAppointment{
			Reference: fmt.Sprintf("demo-appointment-%02d", i), Customer: d.customers[i*5%100], AppointmentType: kind.GetId(), Staff: staff,
			StartsAt: timestamppb.New(starts), LengthMinutes: kind.GetLengths()[0], IsCancelled: i%7 == 6,
			PurchasedAt: timestamppb.New(starts.AddDate(0, 0, -7)),
		}
		if prices := kind.GetPrices(); len(prices) > 0 {
			gross := prices[0].GetOption().GetPrice()
			line.Payment = &bookingv1.ImportedAppointment_Card{Card: &bookingv1.CardPayment{
				Currency: demoCurrency, Gross: gross, Net: gross - gross/6, Reference: fmt.Sprintf("pay_demo_appointment_%02d", i),
			}}
		}
		req.Appointments = append(req.Appointments, line)
	}
	res, err := d.on.appointments.ImportAppointments(ctx, req)
	if err != nil {
		return err
	}
	for _, r := range res.GetResults() {
		if r.GetOutcome() == bookingv1.ImportOutcome_IMPORT_OUTCOME_REFUSED {
			return fmt.Errorf("appointment %s: %s %s", r.GetReference(), r.GetField(), r.GetMessage())
		}
	}
	return nil
}

// visit is an appointment in the next two weeks. No two of them have the same time, so none can take the slot
// that another one has left.
type visit struct {
	kind    int
	minutes int32
	staff   int // -1: anyone
	days    int // after today
	start   string
	byPass  bool
	// then changes the appointment, unless it is nil.
	then func(d *demoData, ctx context.Context, a *bookingv1.Appointment) error
}

const anyone = -1

func visits() []visit {
	return []visit{
		{kind: massage, minutes: 60, staff: maya, days: 1, start: "10:00"},
		{kind: massage, minutes: 30, staff: sam, days: 1, start: "13:00"},
		{kind: massage, minutes: 90, staff: anyone, days: 2, start: "15:00"},
		{kind: privateLesson, minutes: 60, staff: thora, days: 2, start: "09:30"},
		{kind: consultation, minutes: 45, staff: sam, days: 3, start: "16:15"},
		{kind: massage, minutes: 60, staff: sam, days: 4, start: "14:30", byPass: true},
		{kind: privateLesson, minutes: 60, staff: thora, days: 5, start: "14:00", then: (*demoData).moveVisit},
		{kind: massage, minutes: 30, staff: maya, days: 6, start: "17:45", then: (*demoData).cancelVisit},
		{kind: privateLesson, minutes: 60, staff: maya, days: 8, start: "16:30"},
		{kind: massage, minutes: 60, staff: anyone, days: 9, start: "12:15"},
		{kind: consultation, minutes: 45, staff: sam, days: 11, start: "17:15"},
		{kind: massage, minutes: 90, staff: maya, days: 12, start: "11:15"},
	}
}

// firstVisitor is the customer of the first visit. Those of the others follow.
const firstVisitor = 120

// bookVisits books the appointments of the next two weeks, and holds one.
func (d *demoData) bookVisits(ctx context.Context) error {
	pass, err := d.passForVisits(ctx)
	if err != nil {
		return err
	}
	for i, v := range visits() {
		a, err := d.bookVisit(withKey(ctx, fmt.Sprintf("visit-%d", i)), i, v, pass)
		if err != nil {
			return fmt.Errorf("visit %d: %w", i, err)
		}
		if v.then == nil || a == nil {
			continue
		}
		if err := v.then(d, withKey(ctx, fmt.Sprintf("visit-%d-changed", i)), a); err != nil {
			return fmt.Errorf("visit %d: %w", i, err)
		}
	}
	return d.onFreeDay(3, func(day string) error {
		_, err := d.on.appointments.HoldAppointment(withKey(ctx, "visit-held"), &bookingv1.HoldAppointmentRequest{
			Slot: d.slotOn(visit{kind: privateLesson, minutes: 60, staff: thora, start: "11:00"}, day), PurchaserId: d.customers[firstVisitor+len(visits())], Minutes: 24 * 60,
		})
		return err
	})
}

// passForVisits gives a customer a pass that pays for appointments.
func (d *demoData) passForVisits(ctx context.Context) (string, error) {
	const title = "Five Massages"
	made, err := d.on.passes.CreatePassType(withKey(ctx, title), &passv1.CreatePassTypeRequest{
		Title: title, Description: "Five half hours, or an hour for two.", TotalUses: 5, ValidityCount: 1, ValidityUnit: passv1.ValidityUnit_VALIDITY_UNIT_YEAR,
		Price: 18000, EligibleEventTypes: []string{"appointment"},
	})
	if err != nil {
		return "", fmt.Errorf("%s: %w", title, err)
	}
	for i, v := range visits() {
		if v.byPass {
			res, err := d.on.passes.AssignCustomerPass(withKey(ctx, title+"-0"), &passv1.AssignCustomerPassRequest{
				CustomerId: d.customers[firstVisitor+i], PassTypeId: made.GetPassType().GetId(), StartDate: d.dateAfter(0),
			})
			return res.GetCustomerPass().GetId(), err
		}
	}
	return "", nil
}

// slotOn returns the slot of a visit on a day.
func (d *demoData) slotOn(v visit, day string) *bookingv1.SlotRequest {
	slot := &bookingv1.SlotRequest{AppointmentTypeId: d.appointmentTypes[v.kind].GetId(), LengthMinutes: v.minutes, LocalStart: day + "T" + v.start + ":00"}
	if v.staff != anyone {
		slot.StaffId = d.staff[v.staff]
	}
	return slot
}

// bookVisit books a visit on the first day that is free. It returns nil if there is none.
func (d *demoData) bookVisit(ctx context.Context, i int, v visit, pass string) (a *bookingv1.Appointment, err error) {
	req := &bookingv1.BookAppointmentRequest{PurchaserId: d.customers[firstVisitor+i], PaymentReference: fmt.Sprintf("pay_demo_visit_%d", i)}
	if v.byPass {
		req.PaymentMethod, req.CustomerPassId, req.PaymentReference = bookingv1.PaymentMethod_PAYMENT_METHOD_PASS, pass, ""
	}
	err = d.onFreeDay(v.days, func(day string) error {
		req.Slot = d.slotOn(v, day)
		res, err := d.on.appointments.BookAppointment(ctx, req)
		a = res.GetAppointment()
		return err
	})
	return a, err
}

// onFreeDay calls book for a day, and for the days after it while the slot is not free.
func (d *demoData) onFreeDay(days int, book func(day string) error) error {
	for after := range 10 {
		err := book(d.day(days + after))
		if err == nil || fault.From(err).Reason != "SLOT_UNAVAILABLE" {
			return err
		}
	}
	return nil
}

func (d *demoData) moveVisit(ctx context.Context, a *bookingv1.Appointment) error {
	return d.onFreeDay(7, func(day string) error {
		_, err := d.on.appointments.MoveAppointment(ctx, &bookingv1.MoveAppointmentRequest{Id: a.GetId(), LocalStart: day + "T15:30:00"})
		return err
	})
}

func (d *demoData) cancelVisit(ctx context.Context, a *bookingv1.Appointment) error {
	_, err := d.on.bookings.CancelBooking(ctx, &bookingv1.CancelBookingRequest{BookingId: a.GetBooking().GetId(), Reason: "Has a cold."})
	return err
}

// substitute replaces the teacher of a class in the next week.
func (d *demoData) substitute(ctx context.Context) error {
	const class = 0 // Morning Vinyasa, which Þóra teaches
	for _, date := range d.events[class].GetDates() {
		if !date.GetStartsAt().AsTime().After(d.today.Add(time.Hour)) {
			continue
		}
		_, err := d.on.events.UpdateEventDate(withKey(ctx, "substitute"), &bookingv1.UpdateEventDateRequest{Date: &bookingv1.EventDateChange{
			Id: date.GetId(), StaffAndRooms: &bookingv1.StaffAndRooms{StaffIds: []string{d.staff[sam]}, RoomIds: []string{d.rooms[studioA]}},
		}})
		return err
	}
	return nil
}
