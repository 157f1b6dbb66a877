package booking

import (
	"context"
	"fmt"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/store"
)

// CreateTimeOff implements StaffService.
func (s *Server) CreateTimeOff(ctx context.Context, req *bookingv1.CreateTimeOffRequest) (*bookingv1.CreateTimeOffResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	t, err := newTimeOff(req)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.CreateTimeOffResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		t.ID, t.CreatedAt = id.TimeOff(s.newID()), pg.Instant(s.clock(company))
		if err := s.lockResource(ctx, tx, company.ID, t); err != nil {
			return err
		}
		if !req.GetKeepBookings() {
			conflicts, err := s.store.TimeOffConflicts(ctx, tx, company.ID, t)
			if err != nil {
				return err
			}
			if conflicts.Count > 0 {
				return t.Refuse(conflicts)
			}
		}
		resp.TimeOff = convert.TimeOff(t)
		if err := s.store.InsertTimeOff(ctx, tx, company.ID, t); err != nil {
			return err
		}
		return s.outbox.AppendChange(ctx, tx, company.ID, timeOffOwner(t))
	})
}

// newTimeOff reads new time off and whose it is.
func newTimeOff(req *bookingv1.CreateTimeOffRequest) (*model.TimeOff, error) {
	t, err := convert.NewTimeOff(req)
	if err != nil {
		return nil, err
	}
	if req.GetStaffId() != "" {
		t.Staff, err = check.ID[id.StaffMember](req.GetStaffId(), "staff member")
	} else {
		t.Room, err = check.ID[id.Room](req.GetRoomId(), "room")
	}
	return t, err
}

// lockResource locks the staff member or room of time off, so that no appointment or class is added to it
// at the same time.
func (s *Server) lockResource(ctx context.Context, tx *pg.Tx, company id.Company, t *model.TimeOff) (err error) {
	if t.Staff.IsZero() {
		_, err = s.store.LockRoom(ctx, tx, company, t.Room)
	} else {
		_, err = s.store.LockStaffMember(ctx, tx, company, t.Staff)
	}
	return err
}

// timeOffOwner returns the identifier of the staff member or room that time off is of.
func timeOffOwner(t *model.TimeOff) fmt.Stringer {
	if t.Staff.IsZero() {
		return t.Room
	}
	return t.Staff
}

// GetTimeOff implements StaffService.
func (s *Server) GetTimeOff(ctx context.Context, req *bookingv1.GetTimeOffRequest) (*bookingv1.GetTimeOffResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	which, err := check.ID[id.TimeOff](req.GetId(), "time off")
	if err != nil {
		return nil, err
	}
	found, err := s.store.OneTimeOff(ctx, company.ID, which)
	if err != nil {
		return nil, err
	}
	return &bookingv1.GetTimeOffResponse{TimeOff: convert.TimeOff(found)}, nil
}

// ListTimeOff implements StaffService.
func (s *Server) ListTimeOff(ctx context.Context, req *bookingv1.ListTimeOffRequest) (*bookingv1.ListTimeOffResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	q, err := timeOffQuery(req)
	if err != nil {
		return nil, err
	}
	list, total, err := s.store.TimeOff(ctx, company.ID, q)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.ListTimeOffResponse{Total: total}
	list, resp.NextPageToken = page.Cut(q.Page, list, q.Next)
	for i := range list {
		resp.TimeOff = append(resp.TimeOff, convert.TimeOff(&list[i]))
	}
	return resp, nil
}

// timeOffQuery reads a list request.
func timeOffQuery(req *bookingv1.ListTimeOffRequest) (*store.TimeOffQuery, error) {
	q := &store.TimeOffQuery{}
	staff, room := id.Filter[id.StaffMember](req.GetStaffId()), id.Filter[id.Room](req.GetRoomId())
	switch {
	case staff != nil && room != nil:
		return nil, fault.InvalidParameter("room_id", "exclusive", "cannot be combined with staff_id")
	case staff != nil:
		q.Resource = new(staff.UUID())
	case room != nil:
		q.Resource = new(room.UUID())
	}
	var err error
	if q.Page, err = page.Read(page.Of(req), store.TimeOffByStart(), pageSizes()); err != nil {
		return nil, err
	}
	return q, readBounds(bound{"starts_from", req.GetStartsFrom(), &q.StartsFrom}, bound{"starts_before", req.GetStartsBefore(), &q.StartsBefore})
}

// DeleteTimeOff implements StaffService.
func (s *Server) DeleteTimeOff(ctx context.Context, req *bookingv1.DeleteTimeOffRequest) (*bookingv1.DeleteTimeOffResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	which, err := check.ID[id.TimeOff](req.GetId(), "time off")
	if err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.store, company.ID, req, &bookingv1.DeleteTimeOffResponse{}, func(ctx context.Context, tx *pg.Tx) error {
		t, err := s.store.DeleteTimeOff(ctx, tx, company.ID, which)
		if err != nil {
			return err
		}
		return s.outbox.AppendChange(ctx, tx, company.ID, timeOffOwner(t))
	})
}

// CreateHoliday implements StaffService.
func (s *Server) CreateHoliday(ctx context.Context, req *bookingv1.CreateHolidayRequest) (*bookingv1.CreateHolidayResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	h, err := convert.NewHoliday(req)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.CreateHolidayResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		h.ID, h.CreatedAt = id.Holiday(s.newID()), pg.Instant(s.clock(company))
		resp.Holiday = convert.Holiday(h)
		if err := s.store.InsertHoliday(ctx, tx, company.ID, h); err != nil {
			return err
		}
		return s.outbox.AppendChange(ctx, tx, company.ID, h.ID, outbox.Fact{Field: "name", Value: h.Name}, outbox.Fact{Field: "day", Value: h.Date})
	})
}

// GetHoliday implements StaffService.
func (s *Server) GetHoliday(ctx context.Context, req *bookingv1.GetHolidayRequest) (*bookingv1.GetHolidayResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	which, err := check.ID[id.Holiday](req.GetId(), "holiday")
	if err != nil {
		return nil, err
	}
	found, err := s.store.Holiday(ctx, company.ID, which)
	if err != nil {
		return nil, err
	}
	return &bookingv1.GetHolidayResponse{Holiday: convert.Holiday(found)}, nil
}

// ListHolidays implements StaffService.
func (s *Server) ListHolidays(ctx context.Context, req *bookingv1.ListHolidaysRequest) (*bookingv1.ListHolidaysResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	q := &store.HolidayQuery{From: req.GetFrom(), To: req.GetTo()}
	for name, day := range map[string]string{"from": q.From, "to": q.To} {
		if day != "" && !model.IsDay(day) {
			return nil, fault.InvalidParameter(name, "format", "must be a calendar day in the form YYYY-MM-DD")
		}
	}
	if q.Page, err = page.Read(page.Of(req), store.HolidaysByDay(), pageSizes()); err != nil {
		return nil, err
	}
	list, total, err := s.store.Holidays(ctx, company.ID, q)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.ListHolidaysResponse{Total: total}
	list, resp.NextPageToken = page.Cut(q.Page, list, q.Next)
	for i := range list {
		resp.Holidays = append(resp.Holidays, convert.Holiday(&list[i]))
	}
	return resp, nil
}

// DeleteHoliday implements StaffService.
func (s *Server) DeleteHoliday(ctx context.Context, req *bookingv1.DeleteHolidayRequest) (*bookingv1.DeleteHolidayResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	which, err := check.ID[id.Holiday](req.GetId(), "holiday")
	if err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.store, company.ID, req, &bookingv1.DeleteHolidayResponse{}, func(ctx context.Context, tx *pg.Tx) error {
		if err := s.store.DeleteHoliday(ctx, tx, company.ID, which); err != nil {
			return err
		}
		return s.outbox.AppendChange(ctx, tx, company.ID, which)
	})
}
