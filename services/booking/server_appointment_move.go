package booking

import (
	"cmp"
	"context"
	"slices"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/tenancy"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/slots"
	"reservation.dev/services/booking/store"
)

// ReasonHoldNotConfirmed is the reason for refusing to move an appointment that is only held.
const ReasonHoldNotConfirmed = "HOLD_NOT_CONFIRMED"

// MoveAppointment implements AppointmentService.
func (s *Server) MoveAppointment(ctx context.Context, req *bookingv1.MoveAppointmentRequest) (*bookingv1.MoveAppointmentResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	which, err := check.ID[id.Appointment](req.GetId(), "appointment")
	if err != nil {
		return nil, err
	}
	wanted, err := convert.AppointmentMove(req)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.MoveAppointmentResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		m := &appointmentMove{Server: s, tx: tx, company: company, wanted: wanted, anyStaff: req.GetAnyStaff()}
		if err := m.lock(ctx, which, req.ExpectedVersion); err != nil {
			return err
		}
		changes, err := m.changes(ctx)
		if err != nil {
			return err
		}
		if resp.Changed = changes; changes {
			if err := m.move(ctx); err != nil {
				return err
			}
		}
		resp.Appointment = convert.Appointment(m.booking, model.Confirmed, time.Time{}, m.slot)
		return nil
	})
}

// appointmentMove gives an appointment another slot, within tx.
type appointmentMove struct {
	*Server
	tx       *pg.Tx
	company  tenancy.Company
	wanted   model.SlotRequest // unset fields stay
	anyStaff bool              // another person will do, if the present one is not free

	booking *model.Transaction // with its only booking
	slot    *model.AppointmentSlot
}

// lock locks the appointment, and refuses one that cannot be moved.
func (m *appointmentMove) lock(ctx context.Context, which id.Appointment, expected *int64) error {
	confirmed, err := m.store.LockBooking(ctx, m.tx, m.company.ID, id.Booking(which))
	if fault.Is(err, fault.NotFound) {
		return m.whyMissing(ctx, which)
	}
	if err != nil {
		return err
	}
	m.booking = confirmed.Transaction
	date := m.booking.Bookings[0].Date.ID
	if err := m.store.LockSlot(ctx, m.tx, m.company.ID, date); err != nil {
		return err
	}
	found, err := m.store.AppointmentSlots(ctx, m.tx, m.company.ID, []id.EventDate{date})
	if err != nil {
		return err
	}
	if m.slot = found[date]; m.slot == nil || m.slot.Staff == nil {
		return fault.Missing("appointment")
	}
	if err := check.Version(m.booking.Version, expected, "appointment"); err != nil {
		return err
	}
	if m.booking.Bookings[0].Cancelled || m.slot.DateStatus != model.Scheduled { // its cancellation has begun
		return fault.Refuse(model.ReasonAlreadyCancelled, "the appointment is already cancelled")
	}
	m.wanted.Type = m.slot.Type
	return m.complete(ctx)
}

// whyMissing returns the refusal of an appointment that is not confirmed.
func (m *appointmentMove) whyMissing(ctx context.Context, which id.Appointment) error {
	held, err := m.store.Appointments(ctx, m.tx, m.company.ID, []id.Booking{id.Booking(which)})
	switch {
	case err != nil:
		return err
	case len(held) == 0:
		return fault.Missing("appointment")
	}
	return fault.Refuse(ReasonHoldNotConfirmed, "the appointment is only held: release the hold and make another one")
}

// complete fills the members of the wanted slot that the request leaves out.
func (m *appointmentMove) complete(ctx context.Context) (err error) {
	w := &m.wanted
	w.Minutes = cmp.Or(w.Minutes, m.slot.Minutes)
	if w.Local != "" {
		timezone, err := m.store.TypeTimezone(ctx, m.tx, m.company.ID, w.Type) // the new date gets this zone
		if err != nil {
			return err
		}
		if w.StartsAt, err = w.Start(timezone); err != nil {
			return err
		}
		w.Local = ""
	}
	if w.StartsAt.IsZero() {
		w.StartsAt = m.slot.StartsAt
	}
	if w.Staff.IsZero() {
		w.Staff = id.StaffMember(m.slot.Staff.Resource)
	}
	return nil
}

// isPresent reports whether the appointment has the wanted slot.
func (m *appointmentMove) isPresent() bool {
	return m.wanted.StartsAt.Equal(m.slot.StartsAt) && m.wanted.Minutes == m.slot.Minutes && m.wanted.Staff.UUID() == m.slot.Staff.Resource
}

// changes reports whether the appointment needs another slot: it does not have the wanted one, or any_staff
// is set and its person or its room has time off or is not active.
func (m *appointmentMove) changes(ctx context.Context) (bool, error) {
	if !m.isPresent() {
		return true, nil
	}
	if !m.anyStaff || !m.slot.StartsAt.After(m.clock(m.company)) {
		return false, nil
	}
	known, err := m.lockResources(ctx)
	if err != nil {
		return false, err
	}
	present := m.wanted
	present.WaiveHours = true
	_, refusal, err := m.findSlot(ctx, slotQuery{SlotRequest: &present, tx: m.tx, company: m.company, known: known, moved: m.slot})
	return refusal != nil, err
}

// move takes the new slot, frees the old one, and publishes the change.
func (m *appointmentMove) move(ctx context.Context) error {
	now := pg.Instant(m.clock(m.company))
	if !m.slot.StartsAt.After(now) {
		return fault.Refuse(model.ReasonEventPast, "the appointment has started")
	}
	known, err := m.lockResources(ctx)
	if err != nil {
		return err
	}
	found, err := m.find(ctx, known)
	if err != nil {
		return err
	}
	before, old := convert.Appointment(m.booking, model.Confirmed, time.Time{}, m.slot), m.slot
	m.slot = found.slot(id.EventDate(m.newIDs(m.company)()), known)
	m.slot.Sequence, m.slot.Listed = old.Sequence+1, old.Listed
	b := &m.booking.Bookings[0]
	facts := model.FactsOf(m.booking, b)
	b.Date.ID, b.Date.StartsAt, b.Date.Minutes, b.Date.Timezone = m.slot.Date, m.slot.StartsAt, m.slot.Minutes, m.slot.Timezone
	m.booking.Version, m.booking.UpdatedAt = m.booking.Version+1, now
	moved := &store.MovedAppointment{Transaction: m.booking, Old: old, New: &model.NewSlot{AppointmentSlot: *m.slot, Booked: 1, Booking: b.ID}}
	moved.History = momentOf(ctx, m.company, now).entry(model.Moved, m.booking, facts)
	overlaps := m.slot.Overlaps(old)
	if err := m.store.Move(ctx, m.tx, m.company.ID, moved, overlaps); err != nil {
		return err
	}
	after := convert.Appointment(m.booking, model.Confirmed, time.Time{}, m.slot)
	if err := m.append(ctx, m.tx, m.company, now, appointmentMoved(after, before)); err != nil {
		return err
	}
	if overlaps {
		store.Vacate(m.tx, m.company.ID, []id.EventDate{old.Date}, pg.Instant(m.now()))
	} else if err := m.promote(ctx, m.tx, m.company, old.Date); err != nil {
		return err
	}
	store.CheckOverlaps(m.tx)
	return nil
}

// lockResources locks everybody and everything that the appointment has or can get.
func (m *appointmentMove) lockResources(ctx context.Context) (map[id.UUID]model.KnownResource, error) {
	staff := m.wanted.Staff
	if m.anyStaff {
		staff = id.StaffMember{}
	}
	all, err := m.store.TypeResources(ctx, m.tx, m.company.ID, m.wanted.Type, staff)
	if err != nil {
		return nil, err
	}
	all.Staff = append(all.Staff, m.wanted.Staff, id.StaffMember(m.slot.Staff.Resource))
	for _, room := range m.slot.Rooms {
		all.Rooms = append(all.Rooms, id.Room(room.Resource))
	}
	return m.store.LockResources(ctx, m.tx, m.company.ID, all, true)
}

// find finds the new slot: with the wanted person, or if any_staff allows it, with another one. If nobody
// else can give the appointment at all, the refusal is that of the wanted person.
func (m *appointmentMove) find(ctx context.Context, known map[id.UUID]model.KnownResource) (*foundSlot, error) {
	wanted := m.wanted
	attempts := []id.StaffMember{wanted.Staff}
	if m.anyStaff && !wanted.WaiveHours {
		attempts = append(attempts, id.StaffMember{})
	}
	var refused error
	for _, staff := range slices.Compact(attempts) {
		wanted.Staff = staff
		found, refusal, err := m.findSlot(ctx, slotQuery{SlotRequest: &wanted, tx: m.tx, company: m.company, known: known, moved: m.slot})
		if err != nil {
			return nil, err
		}
		if refusal == nil {
			return found, nil
		}
		if refused == nil || fault.From(refusal).Meta["why"] != string(slots.NoStaff) {
			refused = refusal
		}
	}
	return nil, refused
}
