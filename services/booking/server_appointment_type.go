package booking

import (
	"context"

	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/page"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/store"
)

// CreateAppointmentType implements AppointmentTypeService.
func (s *Server) CreateAppointmentType(ctx context.Context, req *bookingv1.CreateAppointmentTypeRequest) (*bookingv1.CreateAppointmentTypeResponse, error) {
	company, err := s.companies.Of(ctx)
	if err != nil {
		return nil, err
	}
	t := convert.NewAppointmentType(req, company)
	if err := t.CheckNew(company.Currency); err != nil {
		return nil, err
	}
	resp := &bookingv1.CreateAppointmentTypeResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		lacking, err := s.store.Lacking(ctx, tx, company.ID, t.Staff, t.Rooms)
		if err != nil {
			return err
		}
		if err := lacking.CheckExist(t.Staff, "staff_ids", t.Rooms, "rooms"); err != nil {
			return err
		}
		t.SortStaff()
		s.name(&t.Event, pg.Instant(s.clock(company)))
		t.ID, t.CreatedAt, t.UpdatedAt = id.AppointmentType(t.Event.ID), t.Event.CreatedAt, t.Event.CreatedAt
		resp.AppointmentType = convert.AppointmentType(t)
		if err := s.store.InsertAppointmentType(ctx, tx, company.ID, t); err != nil {
			return err
		}
		return s.outbox.AppendChange(ctx, tx, company.ID, t.ID, outbox.Fact{Field: "title", Value: t.Event.Title})
	})
}

// GetAppointmentType implements AppointmentTypeService.
func (s *Server) GetAppointmentType(ctx context.Context, req *bookingv1.GetAppointmentTypeRequest) (*bookingv1.GetAppointmentTypeResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	which, err := check.ID[id.AppointmentType](req.GetId(), "appointment type")
	if err != nil {
		return nil, err
	}
	t, err := s.store.AppointmentType(ctx, company.ID, which)
	if err != nil {
		return nil, err
	}
	return &bookingv1.GetAppointmentTypeResponse{AppointmentType: convert.AppointmentType(t)}, nil
}

// ListAppointmentTypes implements AppointmentTypeService.
func (s *Server) ListAppointmentTypes(ctx context.Context, req *bookingv1.ListAppointmentTypesRequest) (*bookingv1.ListAppointmentTypesResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	q, err := resourceQuery(req, req.Active, store.TypeOrders())
	if err != nil {
		return nil, err
	}
	q.OfferedBy = id.Filter[id.StaffMember](req.GetStaffId())
	types, total, err := s.store.AppointmentTypes(ctx, company.ID, q)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.ListAppointmentTypesResponse{Total: total}
	types, resp.NextPageToken = page.Cut(q.Page, types, q.AfterType)
	for i := range types {
		resp.AppointmentTypes = append(resp.AppointmentTypes, convert.AppointmentType(&types[i]))
	}
	return resp, nil
}

// UpdateAppointmentType implements AppointmentTypeService.
func (s *Server) UpdateAppointmentType(ctx context.Context, req *bookingv1.UpdateAppointmentTypeRequest) (*bookingv1.UpdateAppointmentTypeResponse, error) {
	company, err := s.companies.Of(ctx)
	if err != nil {
		return nil, err
	}
	which, err := check.ID[id.AppointmentType](req.GetId(), "appointment type")
	if err != nil {
		return nil, err
	}
	change, err := convert.AppointmentTypeChange(req)
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.UpdateAppointmentTypeResponse{}
	return idem.Write(ctx, s.store, company.ID, req, resp, func(ctx context.Context, tx *pg.Tx) error {
		now := pg.Instant(s.clock(company))
		t, err := s.store.LockAppointmentType(ctx, tx, company.ID, which, now)
		if err != nil {
			return err
		}
		if err := check.Version(t.Event.Version, req.ExpectedVersion, "appointment type"); err != nil {
			return err
		}
		lacking, err := s.store.Lacking(ctx, tx, company.ID, change.Staff, change.Rooms)
		if err != nil {
			return err
		}
		if err := lacking.CheckExist(change.Staff, "staff.staff_ids", change.Rooms, "rooms.rooms"); err != nil {
			return err
		}
		before := t.Event.Clone()
		p, err := change.Apply(t, company.Currency, now)
		if err != nil {
			return err
		}
		if p.Changed {
			t.Event.Raise(now)
			t.UpdatedAt = t.Event.UpdatedAt
			s.nameOptions(p.Event.AddedOptions)
			if err := s.store.SaveAppointmentType(ctx, tx, company.ID, p); err != nil {
				return err
			}
			if err := s.outbox.AppendChange(ctx, tx, company.ID, t.ID, outbox.Fact{Field: "title", Value: t.Event.Title}); err != nil {
				return err
			}
		}
		resp.AppointmentType = convert.AppointmentType(t)
		if !p.Event.EventChanged || !t.Listed {
			return nil
		}
		// Both have the summary of all dates and the dates that are shown.
		return s.append(ctx, tx, company, t.UpdatedAt, outbox.Event{Subject: subjectEventUpdated, Payload: &bookingv1.EventUpdated{
			Event: convert.Event(&t.Event), Previous: convert.Event(before),
		}})
	})
}
