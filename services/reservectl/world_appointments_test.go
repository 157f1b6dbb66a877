package reservectl

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// salonWorld is a fake of the services of staff, rooms and appointments.
type salonWorld struct {
	bookingv1.UnimplementedStaffServiceServer
	bookingv1.UnimplementedRoomServiceServer
	bookingv1.UnimplementedAppointmentTypeServiceServer
	bookingv1.UnimplementedAppointmentServiceServer

	mu       sync.Mutex
	staff    []*bookingv1.StaffMember
	hours    map[string]*bookingv1.SetWorkingHoursRequest // by staff member
	failAt   string                                       // the reference of a person whose hours cannot be set
	rooms    []*bookingv1.Room
	types    []*bookingv1.AppointmentType
	created  []*bookingv1.CreateAppointmentTypeRequest
	imported map[string]*bookingv1.ImportedAppointment
	batches  []int
	cutAt    int // number of the batch that fails, from 1
}

// listed returns the page of one item that starts at a token.
func listed[T any](all []T, token string) (page []T, next string) {
	at := len(token)
	if at < len(all) {
		page = all[at : at+1]
	}
	if at+1 < len(all) {
		next = strings.Repeat("x", at+1)
	}
	return page, next
}

func (w *salonWorld) ListStaff(_ context.Context, req *bookingv1.ListStaffRequest) (*bookingv1.ListStaffResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	page, next := listed(w.staff, req.GetPageToken())
	return &bookingv1.ListStaffResponse{Staff: page, NextPageToken: next}, nil
}

func (w *salonWorld) CreateStaffMember(_ context.Context, req *bookingv1.CreateStaffMemberRequest) (*bookingv1.CreateStaffMemberResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if req.GetColor() != "" && !strings.HasPrefix(req.GetColor(), "#") {
		return nil, fault.Status(fault.InvalidFields(fault.Field{Field: "color", Rule: "format", Message: "must be # and six hexadecimal digits"})).Err()
	}
	m := &bookingv1.StaffMember{
		Id: fmt.Sprintf("staff_%d", len(w.staff)+1), Name: req.GetName(), Email: req.GetEmail(), Color: req.GetColor(), Active: !req.GetInactive(), Reference: req.GetReference(), Version: 1,
	}
	w.staff = append(w.staff, m)
	return &bookingv1.CreateStaffMemberResponse{StaffMember: m}, nil
}

func (w *salonWorld) SetWorkingHours(_ context.Context, req *bookingv1.SetWorkingHoursRequest) (*bookingv1.SetWorkingHoursResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.staff {
		switch {
		case m.GetId() != req.GetStaffId():
		case m.GetReference() == w.failAt:
			return nil, fault.Status(fault.Away(errors.New("cut"))).Err()
		case req.GetWeekly()[0].GetRange().GetTimezone() == "Nowhere/City":
			return nil, fault.Status(fault.InvalidFields(fault.Field{Field: "weekly[0].range.timezone", Rule: "timezone", Message: "must be an IANA time zone"})).Err()
		default:
			w.hours[m.GetReference()] = req
			m.Version++
			return &bookingv1.SetWorkingHoursResponse{Hours: &bookingv1.WorkingHours{Version: m.GetVersion()}}, nil
		}
	}
	return nil, fault.Status(fault.Missing("staff member")).Err()
}

func (w *salonWorld) ListRooms(_ context.Context, req *bookingv1.ListRoomsRequest) (*bookingv1.ListRoomsResponse, error) {
	page, next := listed(w.rooms, req.GetPageToken())
	return &bookingv1.ListRoomsResponse{Rooms: page, NextPageToken: next}, nil
}

func (w *salonWorld) ListAppointmentTypes(_ context.Context, req *bookingv1.ListAppointmentTypesRequest) (*bookingv1.ListAppointmentTypesResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	page, next := listed(w.types, req.GetPageToken())
	return &bookingv1.ListAppointmentTypesResponse{AppointmentTypes: page, NextPageToken: next}, nil
}

func (w *salonWorld) CreateAppointmentType(_ context.Context, req *bookingv1.CreateAppointmentTypeRequest) (*bookingv1.CreateAppointmentTypeResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if req.GetLengths()[0] < 5 {
		return nil, fault.Status(fault.InvalidFields(fault.Field{Field: "lengths[0]", Rule: "range", Message: "must be from 5 to 1440"})).Err()
	}
	w.created = append(w.created, req)
	made := &bookingv1.AppointmentType{Id: fmt.Sprintf("apt_%d", len(w.types)+1), Title: req.GetTitle(), Reference: req.GetReference()}
	w.types = append(w.types, made)
	return &bookingv1.CreateAppointmentTypeResponse{AppointmentType: made}, nil
}

func (w *salonWorld) ImportAppointments(_ context.Context, req *bookingv1.ImportAppointmentsRequest) (*bookingv1.ImportAppointmentsResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.batches = append(w.batches, len(req.GetAppointments()))
	if len(w.batches) == w.cutAt {
		return nil, fault.Status(fault.Away(errors.New("cut"))).Err()
	}
	res := &bookingv1.ImportAppointmentsResponse{}
	for _, a := range req.GetAppointments() {
		r := &bookingv1.ImportAppointmentResult{Reference: a.GetReference(), Outcome: bookingv1.ImportOutcome_IMPORT_OUTCOME_CREATED}
		switch {
		case a.GetStartsAt().AsTime().Hour() == 3:
			r.Outcome, r.Field, r.Rule, r.Message = bookingv1.ImportOutcome_IMPORT_OUTCOME_REFUSED, "starts_at", "overlap", "overlaps another appointment"
		case w.imported[a.GetReference()] != nil:
			r.Outcome = bookingv1.ImportOutcome_IMPORT_OUTCOME_EXISTED
		default:
			w.imported[a.GetReference()] = a
		}
		res.Results = append(res.Results, r)
	}
	return res, nil
}
