package booking

import (
	"cmp"
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/tenancy"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/store"
)

// bookingStep changes a booking, and makes the event that announces the change and the entry of its history.
type bookingStep struct {
	apply    func(*model.Booking) (model.BookingChange, error)
	announce func(after, before *bookingv1.BookingSnapshot) outbox.Event
	action   model.BookingAction
	reason   string
	waived   bool // the cancellation policy
}

// cancelStep cancels a booking with an outcome. If credits are returned, refundStep follows.
func cancelStep(o *model.CancellationOutcome, reason string, now time.Time) bookingStep {
	return bookingStep{announce: bookingCancelled, action: model.BookingCancelled, reason: reason, waived: o.Waived, apply: func(b *model.Booking) (model.BookingChange, error) {
		return b.Cancel(o, reason, now), nil
	}}
}

// refundStep refunds an amount; nil is the default of model.Booking.Refund.
func refundStep(amount *int64, now time.Time) bookingStep {
	return bookingStep{announce: bookingRefunded, action: model.BookingRefunded, apply: func(b *model.Booking) (model.BookingChange, error) {
		return b.Refund(amount, now)
	}}
}

// attendStep records attendance.
func attendStep(a model.Attendance) bookingStep {
	return bookingStep{announce: attendanceRecorded, action: model.AttendanceRecorded, apply: func(b *model.Booking) (model.BookingChange, error) {
		return b.Attend(a)
	}}
}

// cancellation returns the steps of a cancellation. The credits of a payment by pass are returned if
// the outcome says so.
func cancellation(o *model.CancellationOutcome, reason string, now time.Time) []bookingStep {
	steps := []bookingStep{cancelStep(o, reason, now)}
	if o.Credits > 0 {
		steps = append(steps, refundStep(nil, now))
	}
	return steps
}

// bookingEffect is the effect of steps on a booking.
type bookingEffect struct {
	changed bool
	frees   int32
	returns []model.CreditReturn
	events  []outbox.Event
	history []model.HistoryEntry
}

// moment is who makes a change of a company's booking, and when.
type moment struct {
	company  id.Company
	timezone string // of the company
	actor    string
	now      time.Time
}

// momentOf returns the moment of a change by the caller of ctx, or, without one, by the platform.
func momentOf(ctx context.Context, company tenancy.Company, now time.Time) moment {
	return moment{company: company.ID, timezone: company.Timezone, actor: actorOf(ctx), now: now}
}

// actorOf returns the caller of ctx as it is in the history.
func actorOf(ctx context.Context) string { return cmp.Or(rpc.Caller(ctx), model.PlatformActor) }

// entry returns the entry of the history for a change of t's only booking, except its money.
func (m moment) entry(action model.BookingAction, t *model.Transaction, before model.BookingFacts) model.HistoryEntry {
	b := &t.Bookings[0]
	return model.HistoryEntry{Booking: b.ID, Action: action, At: m.now, Actor: m.actor, Before: before, After: model.FactsOf(t, b)}
}

// entry returns the entry of the history for the step, which has changed t's only booking.
func (step *bookingStep) entry(by moment, t *model.Transaction, before model.BookingFacts, refunded int64) model.HistoryEntry {
	e := by.entry(step.action, t, before)
	e.Reason, e.PolicyWaived = step.reason, step.waived
	if refunded > 0 {
		e.Amount, e.Method = refunded, t.Bookings[0].Payment.Method
	}
	return e
}

// takeSteps applies steps to the only booking of t, until one changes nothing. The steps are one change of t:
// they increase its version once, and every event has the booking as it is after all of them.
func takeSteps(by moment, t *model.Transaction, steps []bookingStep) (effect bookingEffect, err error) {
	b := &t.Bookings[0]
	var before []*bookingv1.BookingSnapshot
	for _, step := range steps {
		as, facts, refunded := convert.PreviousSnapshot(t, b), model.FactsOf(t, b), b.RefundedAmount
		done, err := step.apply(b)
		if err != nil {
			return effect, err
		}
		if !done.Changed {
			break
		}
		before = append(before, as)
		effect.frees += done.Frees
		entry := step.entry(by, t, facts, b.RefundedAmount-refunded)
		t.Record(b, &entry, by.timezone)
		effect.history = append(effect.history, entry)
		if r, owed := model.CreditsOwed(by.company, t, b); owed && done.Returns {
			effect.returns = append(effect.returns, r)
		}
	}
	if effect.changed = len(before) > 0; !effect.changed {
		return effect, nil
	}
	t.Version, t.UpdatedAt = t.Version+1, by.now
	after := convert.Snapshot(t, b)
	for i, as := range before {
		effect.events = append(effect.events, steps[i].announce(after, as))
	}
	return effect, nil
}

// registrationRef identifies a booking, the event that it must belong to ("" means any), and the
// version that the caller has read (nil means any).
type registrationRef struct {
	booking, event string
	version        *int64
	// staff is who must be assigned to the date of the booking; zero: anybody.
	staff id.StaffMember
}

// check returns the same error for a booking of another event as for one that does not exist. Only
// then does it compare the version.
func (r *registrationRef) check(t *model.Transaction) error {
	if r.event != "" && r.event != t.Bookings[0].Date.Event.String() {
		return fault.Missing("booking")
	}
	return check.Version(t.Version, r.version, "registration")
}

// changeBooking changes one booking by the steps that plan returns. In the same commit it increases the
// version of the transaction, frees spaces, stores owed credits and appends the events. answer fills
// the response. If the steps change nothing, it stores nothing.
func (s *Server) changeBooking(ctx context.Context, req, resp proto.Message, of registrationRef,
	plan func(found store.FoundBooking, now time.Time) []bookingStep, answer func(r *bookingv1.Registration, changed bool),
) error {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return err
	}
	which, err := check.ID[id.Booking](of.booking, "booking")
	if err != nil {
		return err
	}
	var returns []model.CreditReturn
	_, err = idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		returns = nil
		found, err := s.store.LockBooking(ctx, tx, company.ID, which)
		if err != nil {
			return err
		}
		t := found.Transaction
		if err := s.checkStaff(ctx, tx, company.ID, of.staff, t); err != nil {
			return err
		}
		if err := of.check(t); err != nil {
			return err
		}
		now := pg.Instant(s.clock(company))
		done, err := takeSteps(momentOf(ctx, company, now), t, plan(found, now))
		if err != nil {
			return err
		}
		answer(convert.Registration(&model.Registration{Transaction: *t}), done.changed)
		returns = done.returns
		return s.saveBooking(ctx, tx, company, t, done)
	})
	if err == nil {
		s.returnCredits(ctx, returns)
	}
	return err
}

// checkStaff returns the same error for a booking of a date to which a staff member is not assigned as for one that does
// not exist. The assignment cannot change until the end of tx. A zero staff member is not checked.
func (s *Server) checkStaff(ctx context.Context, tx *pg.Tx, company id.Company, staff id.StaffMember, t *model.Transaction) error {
	if staff.IsZero() {
		return nil
	}
	isOwn, err := s.store.LockOwnDate(ctx, tx, company, staff, t.Bookings[0].Date.ID)
	if err == nil && !isOwn {
		return fault.Missing("booking")
	}
	return err
}

// saveBooking stores a change of the only booking of t with its events, and serves the waitlist.
func (s *Server) saveBooking(ctx context.Context, tx *pg.Tx, company tenancy.Company, t *model.Transaction, done bookingEffect) error {
	if !done.changed {
		return nil
	}
	if err := s.store.SaveBooking(ctx, tx, company.ID, t, done.frees, done.history...); err != nil {
		return err
	}
	if err := s.oweCredits(ctx, tx, company.ID, done.returns); err != nil {
		return err
	}
	if err := s.append(ctx, tx, company, t.UpdatedAt, done.events...); err != nil || done.frees == 0 {
		return err
	}
	return s.promote(ctx, tx, company, t.Bookings[0].Date.ID)
}
