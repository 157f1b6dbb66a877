package booking

import (
	"context"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/services/booking/model"
)

// place decides who teaches the dates of a change, and in which units of rooms, under the locks of the staff
// and rooms. The event and its dates are locked, or new.
func (s *Server) place(ctx context.Context, tx *pg.Tx, company id.Company, f *model.Staffing) error {
	current, err := s.store.Assignments(ctx, tx, company, f.Stored())
	if err != nil {
		return err
	}
	if err := f.Prepare(current); err != nil || f.Empty() {
		return err
	}
	known, occupied, err := s.store.LockStaffing(ctx, tx, company, f)
	if err != nil {
		return err
	}
	return f.Place(known, occupied)
}

// hideStaff removes people from an event for a caller that only sees what is published.
func hideStaff(ctx context.Context, e *model.Event) {
	if catalogOnly(ctx) {
		e.StaffAndRooms.Staff = nil
	}
}
