package booking

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/tenancy"
	"reservation.dev/services/booking/commitqueue"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/slots"
	"reservation.dev/services/booking/store"
)

// An appointment is a purchase whose date is made in its commit. Purchases of appointments have a queue of
// their own, so that those of classes never wait for them. A shared commit first locks the staff members and
// rooms that its purchases can use, and then decides the purchases in their order: it reads the calendar, unless
// an earlier purchase needed the same one, chooses who and what is free, and makes the date. The rest is that of
// every purchase (purchase.go).

// slotPurchase is the slot that a purchase takes.
type slotPurchase struct {
	model.SlotRequest
	option    id.PricingOption // zero: the only one for the length
	resources store.Resources  // that the appointment can use

	// The decision of the commit, which may be a retry.
	refused error
	left    bool // another process has locked a resource
	made    *model.AppointmentSlot
}

// bookSlot commits a purchase that takes a slot.
func (s *Server) bookSlot(ctx context.Context, p *purchase) (err error) {
	p.slot.resources, err = s.store.TypeResources(ctx, nil, p.company.ID, p.slot.Type, p.slot.Staff)
	if err != nil {
		return err
	}
	if err := s.appointments.Do(ctx, p.company.ID, p, p.slot.rows()...); err != nil {
		return err
	}
	if p.Refused == nil && p.key == nil && p.completes() {
		p.fill()
	}
	return p.Refused
}

// rows returns the rows that the purchase names in its queue: the resources, or the type if it has none. A write
// without rows would not count towards the limit of waiting writes.
func (p *slotPurchase) rows() []id.UUID {
	if rows := p.resources.IDs(); len(rows) > 0 {
		return rows
	}
	return []id.UUID{p.Type.UUID()}
}

// commitAppointments takes the slots of purchases and settles the purchases in one commit, in their order.
func (s *Server) commitAppointments(ctx context.Context, company id.Company, purchases []*purchase, wait bool) (left []int, err error) {
	s.metrics.shared.Observe(float64(len(purchases)))
	err = s.store.Write(ctx, company, func(ctx context.Context, tx *pg.Tx) error {
		c := &sharedCommit{Server: s, tx: tx, company: company, purchases: purchases}
		if err := c.takeSlots(ctx, wait); err != nil {
			return err
		}
		if err := c.lock(ctx, wait, wait && len(purchases) == 1); err != nil {
			return err
		}
		if err := c.decide(ctx); err != nil {
			return err
		}
		left = c.left
		return c.save(ctx)
	})
	if pg.LockTimedOut(err) {
		return nil, commitqueue.ErrLocked
	}
	return left, err
}

// takeSlots decides the slots of purchases in their order, and makes their dates. It takes none for a
// purchase whose Idempotency-Key was used before.
func (c *sharedCommit) takeSlots(ctx context.Context, wait bool) error {
	known, err := c.lockSlots(ctx, wait)
	if err != nil {
		return err
	}
	c.clock = c.kept
	for _, p := range c.purchases {
		c.clock = p.company.Newest(c.clock)
	}
	c.calendars = sharedCalendars{}
	for _, p := range c.purchases {
		p.slot.refused, p.slot.left, p.slot.made, p.Bought = nil, false, nil, nil
		if c.hasBegun(p) {
			continue
		}
		if p.slot.left = !wait && !isLocked(known, p.slot.resources); p.slot.left {
			continue
		}
		p.slot.made, p.slot.refused, err = c.makeSlot(ctx, p, known)
		if err != nil {
			return err
		}
	}
	return nil
}

// lockSlots locks the resources of all purchases, and looks up their Idempotency-Keys.
func (c *sharedCommit) lockSlots(ctx context.Context, wait bool) (map[id.UUID]model.KnownResource, error) {
	var all store.Resources
	var keys []*idem.Request
	var requests [][]byte
	for _, p := range c.purchases {
		all.Add(p.slot.resources)
		if p.key != nil {
			keys, requests = append(keys, p.key), append(requests, p.Request.Key)
		}
	}
	first := []pg.Query{pg.LimitLockWait(lockWait), pg.ByIndex(), c.companies.Query(c.company, &c.kept)}
	if len(keys) > 0 {
		c.begun = map[string]store.Begun{}
		first = append(append(first, idem.Lookup(keys...)...), store.BegunBy(c.company, requests, c.begun))
	}
	return c.store.LockResources(ctx, c.tx, c.company, all, wait, first...)
}

// hasBegun reports whether an earlier request with the same Idempotency-Key has begun the purchase.
func (c *sharedCommit) hasBegun(p *purchase) bool {
	if p.key == nil {
		return false
	}
	if replayed, err := p.key.Replay(p.resp); replayed || err != nil {
		return true
	}
	return c.isBegun(p)
}

// isBegun reports whether the last lookup found a purchase by pass with the Idempotency-Key that is not paid yet.
func (c *sharedCommit) isBegun(p *purchase) bool {
	_, begun := c.begun[string(p.Request.Key)]
	return begun && p.Request.Key != nil
}

// leaveOutSlot reports whether a purchase of a slot must be tried again. A refusal counts only if all slots
// of this commit were kept. If the Idempotency-Key became free only after takeSlots, there is no slot.
func (c *sharedCommit) leaveOutSlot(p *purchase) bool {
	switch slot := p.slot; {
	case slot.left:
		return true
	case slot.refused != nil:
		return c.freed
	case slot.made == nil:
		return !c.isBegun(p)
	case slices.Contains(c.locked.Codes, strings.ToLower(p.Order.Code)):
		c.freed = true
		return true
	}
	return false
}

// isLocked reports whether all resources are locked.
func isLocked(known map[id.UUID]model.KnownResource, r store.Resources) bool {
	return !slices.ContainsFunc(r.IDs(), func(which id.UUID) bool { _, ok := known[which]; return !ok })
}

// makeSlot decides the slot of a purchase, and makes its date and its order's line. It returns a refusal if
// the slot is not free.
func (c *sharedCommit) makeSlot(ctx context.Context, p *purchase, known map[id.UUID]model.KnownResource) (made *model.AppointmentSlot, refused, err error) {
	r := p.slot
	found, refused, err := c.findSlot(ctx, slotQuery{tx: c.tx, company: c.clock, known: known, SlotRequest: &r.SlotRequest, calendars: c.calendars})
	if err != nil || refused != nil {
		return nil, refused, err
	}
	price, refused := model.PriceOf(found.kind.Prices, found.minutes, r.option)
	if refused != nil {
		return nil, refused, nil
	}
	made = found.slot(id.EventDate(c.newIDs(c.clock)()), known)
	c.calendars.take(found, made)
	store.QueueSlot(c.tx, c.company, &model.NewSlot{AppointmentSlot: *made})
	p.Order.Lines[0].Date, p.Order.Lines[0].Option = made.Date, price
	return made, nil, nil
}

// slotQuery asks for the slot of a request.
type slotQuery struct {
	*model.SlotRequest
	tx      *pg.Tx
	company tenancy.Company
	known   map[id.UUID]model.KnownResource // that tx has locked
	moved   *model.AppointmentSlot          // nil: the appointment is new
	// calendars are those of a shared commit; nil: the calendar is read.
	calendars sharedCalendars
}

// foundSlot is a free slot with who and what it uses.
type foundSlot struct {
	slots.Choice
	kind    *store.CalendarType
	start   time.Time
	minutes int32
}

// findSlot finds who and what a slot uses. It returns a refusal if the slot is not free.
func (s *Server) findSlot(ctx context.Context, w slotQuery) (found *foundSlot, refused, err error) {
	found = &foundSlot{minutes: w.Minutes, start: w.StartsAt}
	if w.Local != "" {
		timezone, err := s.timezone(ctx, w)
		if err != nil {
			return nil, missing(err), unlessMissing(err)
		}
		if found.start, err = w.Start(timezone); err != nil {
			return nil, err, nil
		}
	}
	want := store.CalendarQuery{Staff: w.Staff, Everybody: w.WaiveHours || w.keepsStaff(), From: found.start, Until: found.start.Add(time.Minute)}
	query := slots.Query{Staff: w.Staff, WaiveNotice: w.WaiveNotice, WaiveHours: w.WaiveHours, Now: s.clock(w.company)}
	if w.moved != nil {
		want.Without = w.moved.Date
		for _, room := range w.moved.Rooms {
			query.Keep = append(query.Keep, slots.Unit{Room: id.Room(room.Resource), Unit: room.Unit})
		}
	}
	calendar, of, err := s.calendar(ctx, w, want)
	if err != nil {
		return nil, missing(err), unlessMissing(err)
	}
	if !of.Active && w.moved == nil {
		return nil, fault.Refuse(model.ReasonEventNotPublished, "the appointment type is not active"), nil
	}
	w.leaveOutUnlocked(calendar)
	if w.moved != nil {
		calendar.Type.Lengths = append(slices.Clone(calendar.Type.Lengths), w.moved.Minutes)
	}
	if found.minutes == 0 && len(of.Lengths) > 0 {
		found.minutes = of.Lengths[0]
	}
	query.Length = time.Duration(found.minutes) * time.Minute
	choice, why := calendar.Choose(found.start, query)
	if why != "" {
		return nil, model.SlotUnavailable(string(why), calendar.Type.Grid), nil
	}
	found.Choice, found.kind = choice, of
	return found, nil, nil
}

// keepsStaff reports whether an appointment is moved in time only. Its person need not offer the type any more.
func (w *slotQuery) keepsStaff() bool {
	return w.moved != nil && w.moved.Staff.Resource == w.Staff.UUID()
}

// leaveOutUnlocked removes the staff members and rooms that are not locked, because the type got them after
// the search began.
func (w *slotQuery) leaveOutUnlocked(c *slots.Calendar) {
	locked := func(which id.UUID) bool { _, ok := w.known[which]; return ok }
	c.Staff = slices.DeleteFunc(c.Staff, func(s slots.Staff) bool { return !locked(s.ID.UUID()) })
	for i := range c.Requirements {
		c.Requirements[i] = slices.DeleteFunc(c.Requirements[i], func(r id.Room) bool { return !locked(r.UUID()) })
	}
}

// missing returns err if it says that something does not exist.
func missing(err error) error {
	if fault.Is(err, fault.NotFound) {
		return err
	}
	return nil
}

func unlessMissing(err error) error {
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// slot returns the slot on a date, with the names of locked resources.
func (f *foundSlot) slot(date id.EventDate, known map[id.UUID]model.KnownResource) *model.AppointmentSlot {
	from := f.start.Add(-time.Duration(f.kind.Before) * time.Minute)
	until := f.start.Add(time.Duration(f.minutes+f.kind.After) * time.Minute)
	assign := func(kind model.ResourceKind, resource id.UUID, unit int32) model.Assignment {
		return model.Assignment{
			Date: date, Kind: kind, Resource: resource, Name: known[resource].Name, Color: known[resource].Color, Unit: unit,
			Before: f.kind.Before, After: f.kind.After, From: from, Until: until, Active: true,
		}
	}
	staff := assign(model.StaffResource, f.Staff.UUID(), 0)
	slot := &model.AppointmentSlot{
		Date: date, Type: f.kind.ID, Title: f.kind.Title, Location: f.kind.Location, DateStatus: model.Scheduled,
		StartsAt: f.start, Minutes: f.minutes, Timezone: f.kind.Timezone, Staff: &staff,
	}
	for _, u := range f.Rooms {
		slot.Rooms = append(slot.Rooms, assign(model.RoomResource, u.Room.UUID(), u.Unit))
	}
	return slot
}

// settleSlots stores the bookings of the slots that were granted, and removes the slots of purchases that were
// refused or left out.
func (c *sharedCommit) settleSlots() {
	var kept store.NamedSlots
	var refused []id.EventDate
	for _, p := range c.purchases {
		switch {
		case p.slot == nil || p.slot.made == nil || p.confirming: // an earlier commit settled it
		case p.Refused == nil && p.Bought != nil:
			kept.Dates, kept.Bookings = append(kept.Dates, p.slot.made.Date), append(kept.Bookings, p.Bought.Bookings[0].ID)
		default:
			refused = append(refused, p.slot.made.Date)
		}
	}
	if len(kept.Dates)+len(refused) > 0 {
		store.SettleSlots(c.tx, c.company, kept, refused)
	}
}

// resumedSlot reads the slot of a purchase by pass that an earlier request began.
func (c *sharedCommit) resumedSlot(ctx context.Context, p *purchase) error {
	date := p.Bought.Bookings[0].Date.ID
	found, err := c.store.AppointmentSlots(ctx, c.tx, c.company, []id.EventDate{date})
	if err != nil {
		return err
	}
	p.slot.made = cmp.Or(found[date], &model.AppointmentSlot{Date: date})
	return nil
}
