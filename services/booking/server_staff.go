package booking

import (
	"context"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/store"
)

// CreateStaffMember implements StaffService.
func (s *Server) CreateStaffMember(ctx context.Context, req *bookingv1.CreateStaffMemberRequest) (*bookingv1.CreateStaffMemberResponse, error) {
	company, err := s.companies.Of(ctx)
	if err != nil {
		return nil, err
	}
	asked, err := convert.NewStaffMember(req)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.CreateStaffMemberResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		m := *asked
		m.ID, m.CreatedAt = id.StaffMember(s.newID()), pg.Instant(s.clock(company))
		m.UpdatedAt = m.CreatedAt
		if err := s.store.InsertStaffMember(ctx, tx, company.ID, &m); err != nil {
			return err
		}
		resp.StaffMember = convert.StaffMember(&m)
		return s.outbox.AppendChange(ctx, tx, company.ID, m.ID, outbox.Fact{Field: "name", Value: m.Name})
	})
}

// GetStaffMember implements StaffService.
func (s *Server) GetStaffMember(ctx context.Context, req *bookingv1.GetStaffMemberRequest) (*bookingv1.GetStaffMemberResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	who, err := check.ID[id.StaffMember](req.GetId(), "staff member")
	if err != nil {
		return nil, err
	}
	m, err := s.store.StaffMember(ctx, company.ID, who)
	if err != nil {
		return nil, err
	}
	return &bookingv1.GetStaffMemberResponse{StaffMember: convert.StaffMember(m)}, nil
}

// ListStaff implements StaffService.
func (s *Server) ListStaff(ctx context.Context, req *bookingv1.ListStaffRequest) (*bookingv1.ListStaffResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	q, err := resourceQuery(req, req.Active, store.StaffOrders())
	if err != nil {
		return nil, err
	}
	q.OffersType = id.Filter[id.AppointmentType](req.GetAppointmentTypeId())
	staff, total, err := s.store.Staff(ctx, company.ID, q)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.ListStaffResponse{Total: total}
	staff, resp.NextPageToken = page.Cut(q.Page, staff, q.AfterStaff)
	for i := range staff {
		resp.Staff = append(resp.Staff, convert.StaffMember(&staff[i]))
	}
	return resp, nil
}

// UpdateStaffMember implements StaffService.
func (s *Server) UpdateStaffMember(ctx context.Context, req *bookingv1.UpdateStaffMemberRequest) (*bookingv1.UpdateStaffMemberResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	who, err := check.ID[id.StaffMember](req.GetId(), "staff member")
	if err != nil {
		return nil, err
	}
	change := convert.StaffChange(req)
	resp := &bookingv1.UpdateStaffMemberResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		before, err := s.store.LockStaffMember(ctx, tx, company.ID, who)
		if err != nil {
			return err
		}
		if err := check.Version(before.Version, req.ExpectedVersion, "staff member"); err != nil {
			return err
		}
		after, err := change.Apply(*before)
		if err != nil {
			return err
		}
		resp.StaffMember = convert.StaffMember(&after)
		if after == *before {
			return nil
		}
		after.Raise(pg.Instant(s.clock(company)))
		resp.StaffMember = convert.StaffMember(&after)
		if err := s.store.SaveStaffMember(ctx, tx, company.ID, &after); err != nil {
			return err
		}
		return s.outbox.AppendChange(ctx, tx, company.ID, after.ID, outbox.Fact{Field: "name", Value: after.Name})
	})
}

// GetWorkingHours implements StaffService.
func (s *Server) GetWorkingHours(ctx context.Context, req *bookingv1.GetWorkingHoursRequest) (*bookingv1.GetWorkingHoursResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	who, err := check.ID[id.StaffMember](req.GetStaffId(), "staff member")
	if err != nil {
		return nil, err
	}
	hours, err := s.store.WorkingHours(ctx, company.ID, who)
	if err != nil {
		return nil, err
	}
	return &bookingv1.GetWorkingHoursResponse{Hours: convert.WorkingHours(hours)}, nil
}

// maxHoursDays is the longest span of days of one list of working hours.
const maxHoursDays = 62

// ListWorkingHours implements StaffService.
func (s *Server) ListWorkingHours(ctx context.Context, req *bookingv1.ListWorkingHoursRequest) (*bookingv1.ListWorkingHoursResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	who, err := readHoursQuery(req)
	if err != nil {
		return nil, err
	}
	hours, err := s.store.WorkingHoursOf(ctx, company.ID, who, req.GetFrom(), req.GetTo())
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.ListWorkingHoursResponse{}
	for _, h := range hours {
		resp.Hours = append(resp.Hours, convert.WorkingHours(h))
	}
	return resp, nil
}

// readHoursQuery checks a request for the working hours of several people, and returns the people.
func readHoursQuery(req *bookingv1.ListWorkingHoursRequest) ([]id.StaffMember, error) {
	if len(req.GetStaffIds()) == 0 {
		return nil, fault.InvalidParameter("staff_ids", "required", "is required")
	}
	if _, _, err := daySpan(req.GetFrom(), req.GetTo(), maxHoursDays); err != nil {
		return nil, err
	}
	var who []id.StaffMember
	for _, text := range req.GetStaffIds() {
		if member, err := id.Parse[id.StaffMember](text); err == nil {
			who = append(who, member)
		}
	}
	return who, nil
}

// SetWorkingHours implements StaffService.
func (s *Server) SetWorkingHours(ctx context.Context, req *bookingv1.SetWorkingHoursRequest) (*bookingv1.SetWorkingHoursResponse, error) {
	company, err := s.companies.Of(ctx)
	if err != nil {
		return nil, err
	}
	who, err := check.ID[id.StaffMember](req.GetStaffId(), "staff member")
	if err != nil {
		return nil, err
	}
	hours, err := convert.NewWorkingHours(req).Read(company.Timezone)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.SetWorkingHoursResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		m, err := s.store.LockStaffMember(ctx, tx, company.ID, who)
		if err != nil {
			return err
		}
		if err := check.Version(m.Version, req.ExpectedVersion, "staff member"); err != nil {
			return err
		}
		before, err := s.store.LockedWorkingHours(ctx, tx, company.ID, m)
		if err != nil {
			return err
		}
		if !hours.Equal(before) {
			m.Raise(pg.Instant(s.clock(company)))
			if err := s.store.SetWorkingHours(ctx, tx, company.ID, m, hours); err != nil {
				return err
			}
			if err := s.outbox.AppendChange(ctx, tx, company.ID, who); err != nil {
				return err
			}
		}
		hours.Of(m)
		resp.Hours = convert.WorkingHours(hours)
		return nil
	})
}
