package faults

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/rpc"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/test/harness"
)

// TestSlowAppointmentsDespiteKills lets many callers book, hold, move and cancel appointments in a crowded
// calendar, while staff and rooms get time off and classes change, and kills booking, PostgreSQL and NATS.
// Afterwards, nobody has two things to do at a time, and every acknowledged appointment exists once.
func TestSlowAppointmentsDespiteKills(t *testing.T) {
	t.Parallel()
	s := newSalon(t)
	closing, answered := make(chan struct{}), make(chan struct{}, 1000)
	var all sync.WaitGroup
	for n := range salonCallers {
		c := &salonCaller{s: s, name: fmt.Sprint("caller-", n), customer: s.customers[n], visits: map[string]*visit{}}
		s.callers = append(s.callers, c)
		all.Go(func() {
			for c.next(closing) {
				if err := c.act(t.Context()); err != nil {
					t.Errorf("%s: %v", c.name, err)
					return
				}
				select {
				case answered <- struct{}{}:
				default: // enough answers are counted
				}
			}
		})
	}
	s.killWhile(t, salonVictims(), answered, func() {})
	close(closing)
	all.Wait()
	if t.Failed() {
		return
	}
	s.checkActions(t)
	s.audit(t)
	s.auditEvents(t)
}

const (
	// salonCallers is the number of concurrent callers.
	salonCallers = 16
	// killLimit bounds the time in which processes are killed, and callLimit that of one action of a caller.
	killLimit = 40 * time.Second
	callLimit = 30 * time.Second
	// salonDays is the number of days with shifts, from 08:00 to 18:00.
	salonDays = 3
)

// salon is a cluster with a company whose calendar is crowded: four people, three rooms and three days.
type salon struct {
	*salesCluster
	company      *harness.Company
	zone         *time.Location
	staffing     bookingv1.StaffServiceClient
	appointments bookingv1.AppointmentServiceClient
	verification bookingv1.VerificationServiceClient
	customers    []string
	staff, rooms []string // identifiers
	types        []*bookingv1.AppointmentType
	class        *bookingv1.Event
	callers      []*salonCaller
	tally        *tally
}

// tally counts answers.
type tally struct {
	mu       sync.Mutex
	accepted map[string]int // by action
	refused  map[string]int // by action and reason
}

func newTally() *tally { return &tally{accepted: map[string]int{}, refused: map[string]int{}} }

// call makes a call until it has a final answer, and counts the answer. A refusal for one of the reasons is an
// answer too, and then done is false.
func (c *tally) call(ctx context.Context, action string, do func(ctx context.Context) error, reasons ...string) (done bool, err error) {
	err = persist(ctx, do)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.accepted[action]++
		return true, nil
	}
	if reason := fault.From(err).Reason; slices.Contains(reasons, reason) {
		c.refused[action+" "+reason]++
		return false, nil
	}
	return false, fmt.Errorf("%s: %w", action, err)
}

// check fails the test if an action was never accepted, or if a refusal, such as "move EVENT_FULL", never occurred.
func (c *tally) check(t *testing.T, actions, refusals []string) {
	t.Helper()
	t.Logf("accepted: %v", c.accepted)
	t.Logf("refused: %v", c.refused)
	for _, action := range actions {
		if c.accepted[action] == 0 {
			t.Errorf("%q was never accepted, only %v", action, slices.Sorted(maps.Keys(c.accepted)))
		}
	}
	for _, refusal := range refusals {
		if c.refused[refusal] == 0 {
			t.Errorf("%q never occurred, only %v", refusal, slices.Sorted(maps.Keys(c.refused)))
		}
	}
}

func newSalon(t *testing.T) *salon {
	t.Helper()
	cluster := harness.StartCluster(t, harness.ClusterOptions{Bookings: 3, OwnNATS: true, Env: map[string]string{"SHUTDOWN_DRAIN": "2s"}})
	s := &salon{
		salesCluster: &salesCluster{Cluster: cluster, op: cluster.Operator(t)}, tally: newTally(),
	}
	const zone = "Europe/London"
	var err error
	if s.zone, err = time.LoadLocation(zone); err != nil {
		t.Fatal(err)
	}
	s.company = s.op.NewCompany(t, zone)
	conn := s.Connect(t, s.Booking)
	s.staffing, s.appointments = bookingv1.NewStaffServiceClient(conn), bookingv1.NewAppointmentServiceClient(conn)
	s.verification = bookingv1.NewVerificationServiceClient(conn)
	s.customers = s.company.ImportCustomers(t, "visitor", salonCallers)
	if err := s.furnish(s.company.Ctx(t.Context()), bookingv1.NewRoomServiceClient(conn), bookingv1.NewAppointmentTypeServiceClient(conn)); err != nil {
		t.Fatal(err)
	}
	return s
}

// furnish creates the staff, the rooms, the appointment types and a class.
func (s *salon) furnish(ctx context.Context, rooms bookingv1.RoomServiceClient, types bookingv1.AppointmentTypeServiceClient) error {
	for n := range 4 {
		made, err := s.staffing.CreateStaffMember(ctx, &bookingv1.CreateStaffMemberRequest{Name: fmt.Sprint("Person ", n)})
		if err != nil {
			return err
		}
		hours := &bookingv1.SetWorkingHoursRequest{StaffId: made.GetStaffMember().GetId()}
		for day := range int32(7) {
			hours.Weekly = append(hours.Weekly, &bookingv1.WeeklyHours{Weekday: day + 1, Range: &bookingv1.HoursRange{Starts: "08:00", Ends: "18:00"}})
		}
		if _, err := s.staffing.SetWorkingHours(ctx, hours); err != nil {
			return err
		}
		s.staff = append(s.staff, hours.GetStaffId())
	}
	for _, capacity := range []int32{1, 1, 2} {
		made, err := rooms.CreateRoom(ctx, &bookingv1.CreateRoomRequest{Name: fmt.Sprint("Room for ", capacity), Capacity: capacity})
		if err != nil {
			return err
		}
		s.rooms = append(s.rooms, made.GetRoom().GetId())
	}
	price := []*bookingv1.NewAppointmentPrice{{Option: &bookingv1.NewPricingOption{Name: "Standard", Price: 4000}}}
	for _, req := range []*bookingv1.CreateAppointmentTypeRequest{
		{
			Title: "Short", Lengths: []int32{30, 60}, BufferAfterMinutes: 10, StaffIds: s.staff, Prices: price,
			Rooms: []*bookingv1.RoomRequirement{{AnyOf: s.rooms[:2]}},
		},
		{Title: "Long", Lengths: []int32{90}, BufferBeforeMinutes: 15, StaffIds: s.staff[1:], Prices: price, Rooms: []*bookingv1.RoomRequirement{{AnyOf: s.rooms[2:]}, {AnyOf: s.rooms[1:2]}}},
		{Title: "Anywhere", Lengths: []int32{45}, BufferBeforeMinutes: 5, BufferAfterMinutes: 5, StaffIds: s.staff[:3], Prices: price},
	} {
		made, err := types.CreateAppointmentType(ctx, req)
		if err != nil {
			return err
		}
		s.types = append(s.types, made.GetAppointmentType())
	}
	req := &bookingv1.CreateEventRequest{
		Title: "Morning Vinyasa", PricingOptions: []*bookingv1.NewPricingOption{{Name: "Drop-in", Price: 1200}},
		StaffAndRooms: &bookingv1.StaffAndRooms{StaffIds: s.staff[:1], RoomIds: s.rooms[:1]},
	}
	for day := range salonDays {
		for _, minute := range []int{9 * 60, 15 * 60} {
			req.Dates = append(req.Dates, &bookingv1.NewEventDate{StartsAt: timestamppb.New(s.at(day, minute)), DurationMinutes: 60})
		}
	}
	made, err := s.op.Events.CreateEvent(ctx, req)
	s.class = made.GetEvent()
	return err
}

// at returns a time on one of the days with shifts, in minutes after midnight.
func (s *salon) at(day, minute int) time.Time {
	today := time.Now().In(s.zone)
	return time.Date(today.Year(), today.Month(), today.Day()+2+day, minute/60, minute%60, 0, 0, s.zone)
}

// anyTime returns a random quarter of an hour in the shifts.
func (s *salon) anyTime() time.Time {
	return s.at(rand.IntN(salonDays), 8*60+15*rand.IntN(40))
}

// salonVictims returns the groups of processes that are killed together.
func salonVictims() [][]string {
	return [][]string{
		{"booking"}, {"booking-2"}, {"booking-3"}, {"booking", "booking-2"}, {"booking", "booking-2", "booking-3"}, {thePostgres}, {theNATS},
		{"booking-2", "booking-3"}, {"booking", "booking-3"}, {thePostgres}, {"booking", "booking-2", "booking-3"}, {"booking"},
	}
}

// killWhile kills each group of victims twice, in random order, each time after some answers, and then calls
// next. It ends after killLimit, or when all were killed.
func (m *salesCluster) killWhile(t *testing.T, groups [][]string, answered <-chan struct{}, next func()) {
	t.Helper()
	kills, began := map[string]int{}, time.Now()
	groups = slices.Concat(groups, groups)
	rand.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
	for _, group := range groups {
		if time.Since(began) > killLimit || t.Failed() {
			break
		}
		for range 30 + rand.IntN(30) {
			select {
			case <-answered:
			case <-time.After(callLimit):
				t.Error("no more answers arrive")
				return
			}
		}
		// Stop at a random point between two steps of a booking, which take milliseconds.
		<-time.After(time.Duration(rand.IntN(5000)) * time.Microsecond)
		for _, name := range group {
			kills[name]++
		}
		m.killGroup(t, group)
		next()
	}
	if len(kills) < 2 {
		t.Errorf("killed only %v", kills)
	}
	t.Logf("killed in %s: %v", time.Since(began).Round(time.Second), kills)
}

// visit is an appointment as far as its caller knows.
type visit struct {
	id     string // appt_ identifier
	booked bool   // at some time
	status bookingv1.AppointmentStatus
	staff  string
	starts time.Time
	length int32
}

// salonCaller makes one call after the other. Nobody else changes its appointments.
type salonCaller struct {
	s              *salon
	name, customer string
	visits         map[string]*visit // by identifier
	calls          int
}

// next reports whether the caller goes on.
func (c *salonCaller) next(closing <-chan struct{}) bool {
	select {
	case <-closing:
		return false
	default:
		return true
	}
}

// call makes a call with an idempotency key, as tally does.
func (c *salonCaller) call(ctx context.Context, action string, do func(ctx context.Context) error, reasons ...string) (done bool, err error) {
	c.calls++
	ctx = rpc.WithIdempotencyKey(c.s.company.Ctx(ctx), fmt.Sprintf("%s-%d", c.name, c.calls))
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	return c.s.tally.call(ctx, action, do, reasons...)
}

const slotUnavailable = "SLOT_UNAVAILABLE"

// busy are the reasons for which classes and time off are refused.
func busy() []string { return []string{"STAFF_BUSY", "ROOM_BUSY"} }

// act does one thing.
func (c *salonCaller) act(ctx context.Context) error {
	mine := c.booked()
	switch n := rand.IntN(20); {
	case n < 9 || len(mine) == 0 && n < 16:
		return c.book(ctx)
	case n < 13:
		return c.hold(ctx)
	case n < 16:
		return c.move(ctx, mine[rand.IntN(len(mine))])
	case n < 18 && len(mine) > 0:
		return c.cancel(ctx, mine[rand.IntN(len(mine))])
	case n < 19:
		return c.timeOff(ctx)
	}
	return c.changeClass(ctx)
}

// booked returns the caller's booked appointments.
func (c *salonCaller) booked() (all []*visit) {
	for _, v := range c.visits {
		if v.status == bookingv1.AppointmentStatus_APPOINTMENT_STATUS_BOOKED {
			all = append(all, v)
		}
	}
	return all
}

// slot returns a random slot, often of a person whom the service chooses.
func (c *salonCaller) slot() *bookingv1.SlotRequest {
	kind := c.s.types[rand.IntN(len(c.s.types))]
	slot := &bookingv1.SlotRequest{
		AppointmentTypeId: kind.GetId(), LengthMinutes: kind.GetLengths()[rand.IntN(len(kind.GetLengths()))], StartsAt: timestamppb.New(c.s.anyTime()),
	}
	if rand.IntN(3) == 0 {
		slot.StaffId = kind.GetStaffIds()[rand.IntN(len(kind.GetStaffIds()))]
	}
	return slot
}

// record keeps what an answer says about an appointment.
func (c *salonCaller) record(a *bookingv1.Appointment) *visit {
	v := visitOf(a)
	v.booked = v.status == bookingv1.AppointmentStatus_APPOINTMENT_STATUS_BOOKED
	c.visits[v.id] = v
	return v
}

func visitOf(a *bookingv1.Appointment) *visit {
	return &visit{
		id: a.GetId(), status: a.GetStatus(), staff: a.GetStaff().GetId(), starts: a.GetBooking().GetStartsAt().AsTime(), length: a.GetBooking().GetDurationMinutes(),
	}
}

func (c *salonCaller) book(ctx context.Context) error {
	req := &bookingv1.BookAppointmentRequest{Slot: c.slot(), PurchaserId: c.customer}
	var res *bookingv1.BookAppointmentResponse
	done, err := c.call(ctx, "book", func(ctx context.Context) (err error) {
		res, err = c.s.appointments.BookAppointment(ctx, req)
		return err
	}, slotUnavailable)
	if !done {
		return err
	}
	return c.record(res.GetAppointment()).matches(req.GetSlot())
}

// matches returns an error unless the appointment is booked at a slot.
func (v *visit) matches(slot *bookingv1.SlotRequest) error {
	if v.status != bookingv1.AppointmentStatus_APPOINTMENT_STATUS_BOOKED || !v.starts.Equal(slot.GetStartsAt().AsTime()) || v.length != slot.GetLengthMinutes() ||
		v.staff == "" || slot.GetStaffId() != "" && slot.GetStaffId() != v.staff {
		return fmt.Errorf("requested %v, got %+v", slot, v)
	}
	return nil
}

// hold holds a slot, and then confirms it, releases it, or leaves it.
func (c *salonCaller) hold(ctx context.Context) error {
	req := &bookingv1.HoldAppointmentRequest{Slot: c.slot(), PurchaserId: c.customer}
	var res *bookingv1.HoldAppointmentResponse
	done, err := c.call(ctx, "hold", func(ctx context.Context) (err error) {
		res, err = c.s.appointments.HoldAppointment(ctx, req)
		return err
	}, slotUnavailable)
	if !done {
		return err
	}
	v, hold := c.record(res.GetAppointment()), res.GetHold().GetId()
	switch rand.IntN(5) {
	case 0:
		return nil
	case 1, 2:
		_, err = c.call(ctx, "release", func(ctx context.Context) error {
			_, err := c.s.op.Bookings.ReleaseHold(ctx, &bookingv1.ReleaseHoldRequest{HoldId: hold})
			return err
		})
		delete(c.visits, v.id)
		return err
	}
	_, err = c.call(ctx, "confirm", func(ctx context.Context) error {
		_, err := c.s.op.Bookings.ConfirmHold(ctx, &bookingv1.ConfirmHoldRequest{HoldId: hold})
		return err
	})
	v.status, v.booked = bookingv1.AppointmentStatus_APPOINTMENT_STATUS_BOOKED, true
	return err
}

// move moves an appointment to another time, sometimes also to another person or length.
func (c *salonCaller) move(ctx context.Context, v *visit) error {
	req := &bookingv1.MoveAppointmentRequest{Id: v.id, StartsAt: timestamppb.New(c.s.anyTime()), AnyStaff: rand.IntN(2) == 0}
	var res *bookingv1.MoveAppointmentResponse
	done, err := c.call(ctx, "move", func(ctx context.Context) (err error) {
		res, err = c.s.appointments.MoveAppointment(ctx, req)
		return err
	}, slotUnavailable)
	if !done {
		return err
	}
	return c.record(res.GetAppointment()).matches(&bookingv1.SlotRequest{StartsAt: req.GetStartsAt(), LengthMinutes: v.length})
}

func (c *salonCaller) cancel(ctx context.Context, v *visit) error {
	_, err := c.call(ctx, "cancel", func(ctx context.Context) error {
		_, err := c.s.op.Bookings.CancelBooking(ctx, &bookingv1.CancelBookingRequest{BookingId: "booking_" + v.id[len("appt_"):]})
		return err
	})
	v.status = bookingv1.AppointmentStatus_APPOINTMENT_STATUS_CANCELLED
	return err
}

// timeOff takes a person or a room off the calendar, and usually puts it back.
func (c *salonCaller) timeOff(ctx context.Context) error {
	starts := c.s.anyTime()
	req := &bookingv1.CreateTimeOffRequest{StartsAt: timestamppb.New(starts), EndsAt: timestamppb.New(starts.Add(45 * time.Minute))}
	if rand.IntN(3) == 0 {
		req.RoomId = c.s.rooms[rand.IntN(len(c.s.rooms))]
	} else {
		req.StaffId = c.s.staff[rand.IntN(len(c.s.staff))]
	}
	var res *bookingv1.CreateTimeOffResponse
	done, err := c.call(ctx, "time off", func(ctx context.Context) (err error) {
		res, err = c.s.staffing.CreateTimeOff(ctx, req)
		return err
	}, busy()...)
	if !done || rand.IntN(5) == 0 {
		return err
	}
	_, err = c.call(ctx, "end of time off", func(ctx context.Context) error {
		_, err := c.s.staffing.DeleteTimeOff(ctx, &bookingv1.DeleteTimeOffRequest{Id: res.GetTimeOff().GetId()})
		return err
	})
	return err
}

// changeClass moves a date of the class, or gives it another teacher and room.
func (c *salonCaller) changeClass(ctx context.Context) error {
	date := c.s.class.GetDates()[rand.IntN(len(c.s.class.GetDates()))]
	change := &bookingv1.EventDateChange{Id: date.GetId()}
	if rand.IntN(2) == 0 {
		change.StartsAt = timestamppb.New(c.s.anyTime())
		change.DurationMinutes = proto.Int32(60)
	} else {
		change.StaffAndRooms = &bookingv1.StaffAndRooms{
			StaffIds: []string{c.s.staff[rand.IntN(len(c.s.staff))]}, RoomIds: []string{c.s.rooms[rand.IntN(len(c.s.rooms))]},
		}
	}
	_, err := c.call(ctx, "class", func(ctx context.Context) error {
		_, err := c.s.op.Events.UpdateEventDate(ctx, &bookingv1.UpdateEventDateRequest{Date: change})
		return err
	}, busy()...)
	return err
}
