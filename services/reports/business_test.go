package reports

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
	"reservation.dev/platform/subjects"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// business is a company that takes bookings at random. Each change alters the data of the sources, and
// publishes its events.
type business struct {
	w    *world
	o    *owned
	r    *rand.Rand
	msgs []bus.Message
}

func newBusiness(w *world, seed uint64) *business {
	b := &business{w: w, o: w.sources.of(w.company), r: rand.New(rand.NewPCG(seed, 1))}
	for range 12 {
		b.createCustomer()
	}
	for range 4 {
		b.createEvent()
		b.createPassType()
	}
	b.createPlan()
	return b
}

// take returns the events that were published since the last call.
func (b *business) take() []bus.Message {
	msgs := b.msgs
	b.msgs = nil
	return msgs
}

func (b *business) publish(subject string, payload proto.Message) {
	raw, err := proto.Marshal(payload)
	if err != nil {
		b.w.t.Fatal(err)
	}
	b.msgs = append(b.msgs, bus.Message{ID: id.NewUUID(), Company: b.w.company, Subject: subject, Payload: raw, OccurredAt: began})
}

// act makes n changes.
func (b *business) act(n int) {
	actions := []func(){
		b.createCustomer, b.deleteCustomer, b.createEvent, b.addDates, b.moveDate, b.cancelDate, b.cancelEvent, b.deleteEvent, b.updateEvent,
		b.book, b.book, b.book, b.book, b.book, b.cancelBooking, b.refund, b.attend, b.attend, b.moveBooking, b.transfer, b.importBookings,
		b.createPassType, b.assignPass, b.assignPass, b.redeem, b.redeem, b.changePass, b.createPlan, b.payPlan,
	}
	for range n {
		b.w.sources.mu.Lock()
		actions[b.r.IntN(len(actions))]()
		b.w.sources.mu.Unlock()
	}
}

// some returns a random value of a map, or the zero value.
func some[T any](b *business, all map[string]T, fits func(T) bool) (v T) {
	keys := slices.Sorted(maps.Keys(all))
	keys = slices.DeleteFunc(keys, func(k string) bool { return !fits(all[k]) })
	if len(keys) == 0 {
		return v
	}
	return all[keys[b.r.IntN(len(keys))]]
}

func every[T any](T) bool { return true }

// at returns a random time around the start of the tests.
func (b *business) at() time.Time {
	return began.Add(time.Duration(b.r.IntN(240*24*60)-150*24*60) * time.Minute)
}

func (b *business) day() string { return b.at().Format(time.DateOnly) }

func (b *business) createCustomer() {
	c := &customerv1.CustomerSnapshot{Id: id.New[id.Customer]().String(), CreatedAt: timestamppb.New(b.at()), Version: 1}
	b.o.customers[c.Id] = c
	b.publish(subjects.CustomerCreated, &customerv1.CustomerCreated{Customer: c})
}

func (b *business) deleteCustomer() {
	c := some(b, b.o.customers, every)
	if c == nil || len(b.o.customers) < 8 {
		return
	}
	c.Version++
	c.DeletedAt = timestamppb.New(began)
	delete(b.o.customers, c.Id)
	b.publish(subjects.CustomerDeleted, &customerv1.CustomerDeleted{Customer: c})
}

func (b *business) newDate() *bookingv1.EventDate {
	zones := []string{"Europe/London", "America/New_York", "Pacific/Apia"}
	d := &bookingv1.EventDate{
		Id: id.New[id.EventDate]().String(), StartsAt: timestamppb.New(b.at()), Timezone: zones[b.r.IntN(len(zones))],
		Status: bookingv1.EventDateStatus_EVENT_DATE_STATUS_SCHEDULED,
	}
	if b.r.IntN(3) > 0 {
		d.Capacity = proto.Int32(int32(b.r.IntN(20)))
	}
	return d
}

func (b *business) createEvent() {
	e := &bookingv1.Event{
		Id: id.New[id.Event]().String(), Title: "Event " + b.day(), Type: bookingv1.EventType_EVENT_TYPE_CLASS, Version: 1,
		Status: bookingv1.EventStatus_EVENT_STATUS_PUBLISHED,
	}
	switch b.r.IntN(5) {
	case 0:
		e.Status = bookingv1.EventStatus_EVENT_STATUS_DRAFT
	case 1:
		e.Type, e.AppointmentTypeId = bookingv1.EventType_EVENT_TYPE_APPOINTMENT, "apt"
	}
	if e.Type == bookingv1.EventType_EVENT_TYPE_CLASS {
		for range 1 + b.r.IntN(4) {
			e.Dates = append(e.Dates, b.newDate())
		}
	}
	b.o.events[e.Id] = e
	if b.r.IntN(4) == 0 {
		imported := &bookingv1.EventsImported{Events: []*bookingv1.Event{proto.CloneOf(e)}}
		imported.Events[0].Dates = nil
		imported.Dates = []*bookingv1.EventDatesAdded{{EventId: e.Id, Dates: e.Dates, Version: e.Version}}
		b.publish(subjects.EventsImported, imported)
		return
	}
	b.publish(subjects.EventCreated, &bookingv1.EventCreated{Event: e})
}

func isClass(e *bookingv1.Event) bool {
	return e.GetType() == bookingv1.EventType_EVENT_TYPE_CLASS && e.GetStatus() == bookingv1.EventStatus_EVENT_STATUS_PUBLISHED
}

func isOpen(d *bookingv1.EventDate) bool {
	return d.GetStatus() == bookingv1.EventDateStatus_EVENT_DATE_STATUS_SCHEDULED
}

func (b *business) addDates() {
	e := some(b, b.o.events, isClass)
	if e == nil {
		return
	}
	e.Version++
	d := b.newDate()
	e.Dates = append(e.Dates, d)
	b.publish(subjects.EventDatesAdded, &bookingv1.EventDatesAdded{EventId: e.Id, Dates: []*bookingv1.EventDate{d}, Version: e.Version})
}

// openDate returns an open date of an event.
func (b *business) openDate() (*bookingv1.Event, *bookingv1.EventDate) {
	e := some(b, b.o.events, isClass)
	for _, d := range e.GetDates() {
		if isOpen(d) && b.r.IntN(2) == 0 {
			return e, d
		}
	}
	return nil, nil
}

func scheduled(e *bookingv1.Event, d *bookingv1.EventDate) *bookingv1.ScheduledDate {
	return &bookingv1.ScheduledDate{Date: d, EventId: e.Id, EventTitle: e.Title, EventType: e.Type, EventStatus: e.Status, Version: e.Version}
}

func (b *business) moveDate() {
	e, d := b.openDate()
	if d == nil {
		return
	}
	e.Version++
	d.StartsAt = timestamppb.New(b.at())
	b.publish(subjects.EventDateUpdated, &bookingv1.EventDateUpdated{EventId: e.Id, Date: d, Version: e.Version, Scheduled: scheduled(e, d)})
}

func (b *business) cancelDate() {
	e, d := b.openDate()
	if d == nil || b.r.IntN(3) > 0 {
		return
	}
	e.Version++
	d.Status = bookingv1.EventDateStatus_EVENT_DATE_STATUS_CANCELLED
	b.publish(subjects.EventDateCancelled, &bookingv1.EventDateCancelled{EventId: e.Id, Date: d, Version: e.Version, Scheduled: scheduled(e, d)})
	b.cancelAll(func(k *bookingv1.Booking) bool { return k.EventDateId == d.Id })
}

func (b *business) cancelEvent() {
	e := some(b, b.o.events, isClass)
	if e == nil || b.r.IntN(3) > 0 {
		return
	}
	e.Version++
	e.Status = bookingv1.EventStatus_EVENT_STATUS_CANCELLED
	cancelled := &bookingv1.EventCancelled{EventId: e.Id, Version: e.Version}
	for _, d := range e.Dates {
		if isOpen(d) && d.GetStartsAt().AsTime().After(began) {
			d.Status = bookingv1.EventDateStatus_EVENT_DATE_STATUS_CANCELLED
			cancelled.CancelledDateIds = append(cancelled.CancelledDateIds, d.Id)
		}
	}
	cancelled.Event = proto.CloneOf(e)
	cancelled.Event.Dates = nil // as if they were beyond the first 100
	b.publish(subjects.EventCancelled, cancelled)
	b.cancelAll(func(k *bookingv1.Booking) bool { return slices.Contains(cancelled.CancelledDateIds, k.EventDateId) })
}

func (b *business) deleteEvent() {
	e := some(b, b.o.events, every)
	if e == nil || b.r.IntN(3) > 0 {
		return
	}
	for _, k := range b.o.bookings {
		if k.Booking.EventId == e.Id && !k.Booking.IsCancelled {
			return
		}
	}
	delete(b.o.events, e.Id)
	b.publish(subjectEventDeleted, &bookingv1.EventDeleted{EventId: e.Id, Version: e.Version + 1})
}

func (b *business) updateEvent() {
	e := some(b, b.o.events, every)
	if e == nil {
		return
	}
	e.Version++
	e.Title = "Renamed " + b.day()
	if e.Status == bookingv1.EventStatus_EVENT_STATUS_DRAFT {
		e.Status = bookingv1.EventStatus_EVENT_STATUS_PUBLISHED
	}
	b.publish(subjects.EventUpdated, &bookingv1.EventUpdated{Event: e})
}

// change publishes an event of a changed booking.
func (b *business) change(s *bookingv1.BookingSnapshot, subject string) {
	s.Version++
	payload := map[string]proto.Message{
		subjects.BookingConfirmed: &bookingv1.BookingConfirmed{Booking: s}, subjects.BookingCancelled: &bookingv1.BookingCancelled{Booking: s},
		subjects.BookingRefunded: &bookingv1.BookingRefunded{Booking: s}, subjects.BookingMoved: &bookingv1.BookingMoved{Booking: s},
		subjects.BookingTransferred: &bookingv1.BookingTransferred{Booking: s}, subjects.AttendanceRecorded: &bookingv1.AttendanceRecorded{Booking: s},
	}[subject]
	b.publish(subject, payload)
}

// newBooking returns a booking of a random date or appointment, or nil.
func (b *business) newBooking() *bookingv1.BookingSnapshot {
	customer := some(b, b.o.customers, every)
	k := &bookingv1.Booking{Id: id.New[id.Booking]().String(), Spaces: int32(1 + b.r.IntN(3))}
	if appointment := some(b, b.o.events, func(e *bookingv1.Event) bool { return e.AppointmentTypeId != "" }); appointment != nil && b.r.IntN(4) == 0 {
		k.EventId, k.EventTitle, k.EventType = appointment.Id, appointment.Title, appointment.Type
		k.EventDateId, k.StartsAt, k.Timezone = id.New[id.EventDate]().String(), timestamppb.New(b.at()), "Europe/London"
	} else {
		e, d := b.openDate()
		if d == nil {
			return nil
		}
		k.EventId, k.EventTitle, k.EventType, k.EventDateId, k.StartsAt, k.Timezone = e.Id, e.Title, e.Type, d.Id, d.StartsAt, d.Timezone
	}
	s := &bookingv1.BookingSnapshot{Purchaser: &bookingv1.CustomerReference{Id: customer.Id}, Booking: k}
	if b.r.IntN(3) == 0 {
		k.BoughtFor = &bookingv1.CustomerReference{Id: some(b, b.o.customers, every).Id}
	}
	if b.r.IntN(4) > 0 {
		b.move(s, int64(b.r.IntN(5000)))
	}
	return s
}

// move adds a movement of money to a booking.
func (b *business) move(s *bookingv1.BookingSnapshot, gross int64) {
	methods := []bookingv1.PaymentMethod{bookingv1.PaymentMethod_PAYMENT_METHOD_CARD, bookingv1.PaymentMethod_PAYMENT_METHOD_CASH, bookingv1.PaymentMethod_PAYMENT_METHOD_BANK_TRANSFER}
	currencies := []string{"GBP", "GBP", "EUR"}
	rates := []int32{0, 500, 2000}
	m := &bookingv1.MoneyMovement{
		Sequence: int32(len(s.Movements) + 1), Gross: gross, Method: methods[b.r.IntN(3)], Currency: currencies[b.r.IntN(3)],
		TaxRateBasisPoints: rates[b.r.IntN(3)], Day: b.day(),
	}
	m.Net = gross * 10000 / (10000 + int64(m.TaxRateBasisPoints))
	s.Movements = append(s.Movements, m)
}

func (b *business) book() {
	s := b.newBooking()
	if s == nil {
		return
	}
	b.o.bookings[s.Booking.Id] = s
	b.change(s, subjects.BookingConfirmed)
	if s.Booking.EventType == bookingv1.EventType_EVENT_TYPE_APPOINTMENT {
		b.publish(subjects.AppointmentBooked, &bookingv1.AppointmentBooked{Appointment: appointmentOf(s)})
	}
}

func appointmentOf(s *bookingv1.BookingSnapshot) *bookingv1.Appointment {
	return &bookingv1.Appointment{Booking: s.Booking, Purchaser: s.Purchaser, Version: s.Version}
}

func (b *business) importBookings() {
	e := &bookingv1.TransactionsImported{}
	for range 3 {
		if s := b.newBooking(); s != nil {
			s.Version = 1
			b.o.bookings[s.Booking.Id] = s
			e.Bookings = append(e.Bookings, s)
		}
	}
	b.publish(subjects.TransactionsImported, e)
}

func isKept(s *bookingv1.BookingSnapshot) bool { return !s.Booking.IsCancelled }

func (b *business) cancelAll(which func(*bookingv1.Booking) bool) {
	for _, key := range slices.Sorted(maps.Keys(b.o.bookings)) {
		if s := b.o.bookings[key]; which(s.Booking) && isKept(s) {
			s.Booking.IsCancelled = true
			b.change(s, subjects.BookingCancelled)
		}
	}
}

func (b *business) cancelBooking() {
	if s := some(b, b.o.bookings, isKept); s != nil {
		s.Booking.IsCancelled, s.Booking.Late = true, b.r.IntN(2) == 0
		b.change(s, subjects.BookingCancelled)
	}
}

func (b *business) refund() {
	if s := some(b, b.o.bookings, every); s != nil && len(s.Movements) > 0 {
		b.move(s, -int64(b.r.IntN(2000)))
		b.change(s, subjects.BookingRefunded)
	}
}

func (b *business) attend() {
	if s := some(b, b.o.bookings, isKept); s != nil {
		s.Booking.Attendance = bookingv1.Attendance(1 + b.r.IntN(3))
		b.change(s, subjects.AttendanceRecorded)
	}
}

func (b *business) moveBooking() {
	s := some(b, b.o.bookings, isKept)
	if s == nil {
		return
	}
	if s.Booking.EventType == bookingv1.EventType_EVENT_TYPE_APPOINTMENT {
		s.Booking.StartsAt = timestamppb.New(b.at())
		s.Version++
		b.publish(subjects.AppointmentMoved, &bookingv1.AppointmentMoved{Appointment: appointmentOf(s)})
		return
	}
	e, d := b.openDate()
	if d == nil {
		return
	}
	s.Booking.EventId, s.Booking.EventDateId, s.Booking.EventTitle, s.Booking.Spaces = e.Id, d.Id, e.Title, int32(1+b.r.IntN(3))
	if b.r.IntN(2) == 0 && len(s.Movements) > 0 {
		b.move(s, 300)
	}
	b.change(s, subjects.BookingMoved)
}

func (b *business) transfer() {
	if s := some(b, b.o.bookings, isKept); s != nil {
		s.Booking.BoughtFor = &bookingv1.CustomerReference{Id: some(b, b.o.customers, every).Id}
		b.change(s, subjects.BookingTransferred)
	}
}

func (b *business) createPassType() {
	t := &passv1.PassType{Id: id.New[id.PassType]().String(), Title: "Pass " + b.day(), Version: 1}
	b.o.passTypes[t.Id] = t
	b.publish(subjectPassTypeCreated, &passv1.PassTypeCreated{PassType: t})
}

func (b *business) createPlan() {
	p := &subscriptionv1.Plan{Id: id.New[id.Plan]().String(), Title: "Plan " + b.day(), Price: 4000, Currency: "GBP", Credits: int32(3 + b.r.IntN(8)), Version: 1}
	b.o.plans[p.Id] = p
	b.publish(subjectPlanCreated, &subscriptionv1.PlanCreated{Plan: p})
}

func (b *business) payPlan() {
	p, c := some(b, b.o.plans, every), some(b, b.o.customers, every)
	s := some(b, b.o.subs, every)
	if s == nil || b.r.IntN(2) == 0 {
		s = &subscriptionv1.SubscriptionMovements{SubscriptionId: id.New[id.Subscription]().String(), CustomerId: c.Id}
		b.o.subs[s.SubscriptionId] = s
	}
	m := &subscriptionv1.SubscriptionMovement{Period: int32(len(s.Movements) + 1), Amount: 4000, Currency: "GBP", Method: "CARD", PlanId: p.Id, Day: b.day()}
	if b.r.IntN(4) == 0 {
		m.Period, m.AccountEntry, m.Amount = 0, int64(len(s.Movements)+1), -900
	}
	s.Movements = append(s.Movements, m)
	if len(s.Movements) == 1 && b.r.IntN(2) == 0 {
		b.publish(subjects.SubscriptionImported, &subscriptionv1.SubscriptionImported{
			Subscription: &subscriptionv1.Subscription{Id: s.SubscriptionId}, Movements: []*subscriptionv1.SubscriptionMovement{m},
		})
		return
	}
	b.publish(subjects.SubscriptionPaymentRecorded, &subscriptionv1.SubscriptionPaymentRecorded{
		Subscription: &subscriptionv1.Subscription{Id: s.SubscriptionId}, Movements: []*subscriptionv1.SubscriptionMovement{m},
	})
}

// enter adds an entry to a ledger and publishes the change.
func (b *business) enter(s *passv1.CustomerPassSnapshot, kind passv1.LedgerEntryKind, credits int32) *passv1.LedgerEntry {
	p := s.CustomerPass
	p.RemainingUses += credits
	e := &passv1.LedgerEntry{Sequence: int64(len(s.LedgerEntries) + 1), Kind: kind, Credits: credits, Balance: p.RemainingUses, Day: b.day()}
	s.LedgerEntries = append(s.LedgerEntries, e)
	return e
}

func (b *business) assignPass() {
	t, c := some(b, b.o.passTypes, every), some(b, b.o.customers, every)
	total := int32(1 + b.r.IntN(12))
	p := &passv1.CustomerPass{
		Id: id.New[id.CustomerPass]().String(), CustomerId: c.Id, PassTypeId: t.Id, ExpiryDate: b.day(), TotalUses: total, CreatedOn: b.day(), Version: 1,
		Status: passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE,
	}
	kind := passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_ASSIGNED
	switch b.r.IntN(6) {
	case 0:
		p.UnlimitedUses = true
	case 1:
		p.NeverExpires, p.ExpiryDate = true, "9999-12-31"
	case 2:
		plan := some(b, b.o.plans, every)
		of, _ := id.Parse[id.Plan](plan.Id)
		p.SubscriptionId, p.PassTypeId = id.New[id.Subscription]().String(), id.PassType(of).String()
	}
	if b.r.IntN(4) > 0 && p.SubscriptionId == "" {
		p.Purchase = &passv1.PassPurchase{Gross: proto.Int64(int64(b.r.IntN(9000))), Method: "CARD", Currency: []string{"GBP", "EUR"}[b.r.IntN(2)]}
	}
	s := &passv1.CustomerPassSnapshot{CustomerPass: p}
	e := b.enter(s, kind, total)
	b.o.passes[p.Id] = s
	if b.r.IntN(4) == 0 {
		b.publish(subjects.CustomerPassImported, &passv1.CustomerPassImported{CustomerPass: p, PassType: t, LedgerEntries: []*passv1.LedgerEntry{e}})
		return
	}
	b.publish(subjects.CustomerPassAssigned, &passv1.CustomerPassAssigned{CustomerPass: p, PassType: t, LedgerEntries: []*passv1.LedgerEntry{e}})
}

func (b *business) changed(s *passv1.CustomerPassSnapshot, entries ...*passv1.LedgerEntry) {
	s.CustomerPass.Version++
	b.publish(subjects.CustomerPassUpdated, &passv1.CustomerPassUpdated{CustomerPass: s.CustomerPass, LedgerEntries: entries})
}

func (b *business) redeem() {
	s := some(b, b.o.passes, func(s *passv1.CustomerPassSnapshot) bool { return s.CustomerPass.RemainingUses > 0 })
	switch {
	case s == nil:
	case b.r.IntN(3) == 0:
		b.changed(s, b.enter(s, passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_RETURNED, 1))
	default:
		b.changed(s, b.enter(s, passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_REDEEMED, -1))
	}
}

func (b *business) changePass() {
	s := some(b, b.o.passes, every)
	if s == nil {
		return
	}
	switch b.r.IntN(5) {
	case 0:
		s.CustomerPass.Status = passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_CANCELLED
		b.changed(s)
	case 1:
		if !s.CustomerPass.NeverExpires {
			s.CustomerPass.ExpiryDate = b.day()
		}
		b.changed(s)
	case 2:
		b.changed(s, b.enter(s, passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_EXPIRED, -s.CustomerPass.RemainingUses),
			b.enter(s, passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_GRANTED, 4))
	default:
		b.changed(s, b.enter(s, passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_ADJUSTED, int32(b.r.IntN(5)-1)))
	}
}
