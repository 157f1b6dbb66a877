package booking

import (
	"context"
	"errors"
	"time"

	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/tenancy"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/store"
)

// closeWaitlists closes the waiting entries of dates that have started, and those of cancelled dates
// that a crash left open.
func (s *Server) closeWaitlists(ctx context.Context) error {
	due, err := s.store.ToClose(ctx, s.now(), closingDates)
	if err != nil {
		return err
	}
	var faults []error
	for _, d := range due {
		faults = append(faults, s.inCompany(ctx, d.Company, func(ctx context.Context, tx *pg.Tx, company tenancy.Company) error {
			_, err := s.closeWaitlist(ctx, tx, company, d.Date)
			return err
		}))
	}
	return errors.Join(faults...)
}

// closeWaitlist closes up to one batch of the waiting entries of a date that has started or is
// cancelled, and returns their number.
func (s *Server) closeWaitlist(ctx context.Context, tx *pg.Tx, company tenancy.Company, date id.EventDate) (int, error) {
	now := s.clock(company)
	waiting, err := s.store.LockToClose(ctx, tx, company.ID, date, now, closeBatch)
	if err != nil || len(waiting) == 0 {
		return 0, err
	}
	events := make([]outbox.Event, len(waiting))
	for i, w := range waiting {
		before := *w
		w.End(model.EntryClosed, now)
		events[i] = waitlistEnded(w, &before, now)
	}
	if err := s.store.SaveWaitlistEntries(ctx, tx, company.ID, waiting); err != nil {
		return 0, err
	}
	return len(waiting), s.append(ctx, tx, company, now, events...)
}

// leaver ends the waitlist entries of deleted customers, and deletes their calendars.
type leaver struct {
	store  *store.Store
	outbox *outbox.Outbox
	now    func() time.Time
	newID  func() id.UUID
}

// leave ends the waiting entries of the deleted customers among records, and deletes their calendars.
func (l *leaver) leave(ctx context.Context, tx *pg.Tx, records []model.CustomerRecord) error {
	if err := l.store.DeleteCalendarsOf(ctx, tx, records); err != nil {
		return err
	}
	waiting, err := l.store.LockWaitersOf(ctx, tx, records)
	if err != nil || len(waiting) == 0 {
		return err
	}
	at := l.now()
	events := make([]outbox.Event, len(waiting))
	for i, w := range waiting {
		now, before := w.Company.Now(at), *w.WaitlistEntry
		w.End(model.EntryLeft, now)
		events[i] = waitlistEnded(w.WaitlistEntry, &before, now)
		events[i].Company, events[i].OccurredAt, events[i].ID = w.Company.ID, at, l.newID()
	}
	if err := l.store.SaveEntriesOf(ctx, tx, waiting); err != nil {
		return err
	}
	return l.outbox.Append(ctx, tx, events...)
}
