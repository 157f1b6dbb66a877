package gatewayb

import (
	"context"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

type fakeStaff struct {
	bookingv1.UnimplementedStaffServiceServer
	*fakes
}

func (f fakeStaff) CreateStaffMember(ctx context.Context, req *bookingv1.CreateStaffMemberRequest) (*bookingv1.CreateStaffMemberResponse, error) {
	return reply[*bookingv1.CreateStaffMemberResponse](ctx, f.fakes, req)
}
func (f fakeStaff) GetStaffMember(ctx context.Context, req *bookingv1.GetStaffMemberRequest) (*bookingv1.GetStaffMemberResponse, error) {
	return reply[*bookingv1.GetStaffMemberResponse](ctx, f.fakes, req)
}
func (f fakeStaff) ListStaff(ctx context.Context, req *bookingv1.ListStaffRequest) (*bookingv1.ListStaffResponse, error) {
	return reply[*bookingv1.ListStaffResponse](ctx, f.fakes, req)
}
func (f fakeStaff) UpdateStaffMember(ctx context.Context, req *bookingv1.UpdateStaffMemberRequest) (*bookingv1.UpdateStaffMemberResponse, error) {
	return reply[*bookingv1.UpdateStaffMemberResponse](ctx, f.fakes, req)
}
func (f fakeStaff) GetWorkingHours(ctx context.Context, req *bookingv1.GetWorkingHoursRequest) (*bookingv1.GetWorkingHoursResponse, error) {
	return reply[*bookingv1.GetWorkingHoursResponse](ctx, f.fakes, req)
}
func (f fakeStaff) SetWorkingHours(ctx context.Context, req *bookingv1.SetWorkingHoursRequest) (*bookingv1.SetWorkingHoursResponse, error) {
	return reply[*bookingv1.SetWorkingHoursResponse](ctx, f.fakes, req)
}
func (f fakeStaff) CreateTimeOff(ctx context.Context, req *bookingv1.CreateTimeOffRequest) (*bookingv1.CreateTimeOffResponse, error) {
	return reply[*bookingv1.CreateTimeOffResponse](ctx, f.fakes, req)
}
func (f fakeStaff) GetTimeOff(ctx context.Context, req *bookingv1.GetTimeOffRequest) (*bookingv1.GetTimeOffResponse, error) {
	return reply[*bookingv1.GetTimeOffResponse](ctx, f.fakes, req)
}
func (f fakeStaff) ListTimeOff(ctx context.Context, req *bookingv1.ListTimeOffRequest) (*bookingv1.ListTimeOffResponse, error) {
	return reply[*bookingv1.ListTimeOffResponse](ctx, f.fakes, req)
}
func (f fakeStaff) DeleteTimeOff(ctx context.Context, req *bookingv1.DeleteTimeOffRequest) (*bookingv1.DeleteTimeOffResponse, error) {
	return reply[*bookingv1.DeleteTimeOffResponse](ctx, f.fakes, req)
}
func (f fakeStaff) CreateHoliday(ctx context.Context, req *bookingv1.CreateHolidayRequest) (*bookingv1.CreateHolidayResponse, error) {
	return reply[*bookingv1.CreateHolidayResponse](ctx, f.fakes, req)
}
func (f fakeStaff) GetHoliday(ctx context.Context, req *bookingv1.GetHolidayRequest) (*bookingv1.GetHolidayResponse, error) {
	return reply[*bookingv1.GetHolidayResponse](ctx, f.fakes, req)
}
func (f fakeStaff) ListHolidays(ctx context.Context, req *bookingv1.ListHolidaysRequest) (*bookingv1.ListHolidaysResponse, error) {
	return reply[*bookingv1.ListHolidaysResponse](ctx, f.fakes, req)
}
func (f fakeStaff) DeleteHoliday(ctx context.Context, req *bookingv1.DeleteHolidayRequest) (*bookingv1.DeleteHolidayResponse, error) {
	return reply[*bookingv1.DeleteHolidayResponse](ctx, f.fakes, req)
}

type fakeRooms struct {
	bookingv1.UnimplementedRoomServiceServer
	*fakes
}

func (f fakeRooms) CreateRoom(ctx context.Context, req *bookingv1.CreateRoomRequest) (*bookingv1.CreateRoomResponse, error) {
	return reply[*bookingv1.CreateRoomResponse](ctx, f.fakes, req)
}
func (f fakeRooms) GetRoom(ctx context.Context, req *bookingv1.GetRoomRequest) (*bookingv1.GetRoomResponse, error) {
	return reply[*bookingv1.GetRoomResponse](ctx, f.fakes, req)
}
func (f fakeRooms) ListRooms(ctx context.Context, req *bookingv1.ListRoomsRequest) (*bookingv1.ListRoomsResponse, error) {
	return reply[*bookingv1.ListRoomsResponse](ctx, f.fakes, req)
}
func (f fakeRooms) UpdateRoom(ctx context.Context, req *bookingv1.UpdateRoomRequest) (*bookingv1.UpdateRoomResponse, error) {
	return reply[*bookingv1.UpdateRoomResponse](ctx, f.fakes, req)
}

type fakeAppointmentTypes struct {
	bookingv1.UnimplementedAppointmentTypeServiceServer
	*fakes
}

func (f fakeAppointmentTypes) CreateAppointmentType(ctx context.Context, req *bookingv1.CreateAppointmentTypeRequest) (*bookingv1.CreateAppointmentTypeResponse, error) {
	return reply[*bookingv1.CreateAppointmentTypeResponse](ctx, f.fakes, req)
}
func (f fakeAppointmentTypes) GetAppointmentType(ctx context.Context, req *bookingv1.GetAppointmentTypeRequest) (*bookingv1.GetAppointmentTypeResponse, error) {
	return reply[*bookingv1.GetAppointmentTypeResponse](ctx, f.fakes, req)
}
func (f fakeAppointmentTypes) ListAppointmentTypes(ctx context.Context, req *bookingv1.ListAppointmentTypesRequest) (*bookingv1.ListAppointmentTypesResponse, error) {
	return reply[*bookingv1.ListAppointmentTypesResponse](ctx, f.fakes, req)
}
func (f fakeAppointmentTypes) UpdateAppointmentType(ctx context.Context, req *bookingv1.UpdateAppointmentTypeRequest) (*bookingv1.UpdateAppointmentTypeResponse, error) {
	return reply[*bookingv1.UpdateAppointmentTypeResponse](ctx, f.fakes, req)
}

type fakeAppointments struct {
	bookingv1.UnimplementedAppointmentServiceServer
	*fakes
}

func (f fakeAppointments) FindSlots(ctx context.Context, req *bookingv1.FindSlotsRequest) (*bookingv1.FindSlotsResponse, error) {
	return reply[*bookingv1.FindSlotsResponse](ctx, f.fakes, req)
}
func (f fakeAppointments) BookAppointment(ctx context.Context, req *bookingv1.BookAppointmentRequest) (*bookingv1.BookAppointmentResponse, error) {
	return reply[*bookingv1.BookAppointmentResponse](ctx, f.fakes, req)
}
func (f fakeAppointments) HoldAppointment(ctx context.Context, req *bookingv1.HoldAppointmentRequest) (*bookingv1.HoldAppointmentResponse, error) {
	return reply[*bookingv1.HoldAppointmentResponse](ctx, f.fakes, req)
}
func (f fakeAppointments) MoveAppointment(ctx context.Context, req *bookingv1.MoveAppointmentRequest) (*bookingv1.MoveAppointmentResponse, error) {
	return reply[*bookingv1.MoveAppointmentResponse](ctx, f.fakes, req)
}
func (f fakeAppointments) GetAppointment(ctx context.Context, req *bookingv1.GetAppointmentRequest) (*bookingv1.GetAppointmentResponse, error) {
	return reply[*bookingv1.GetAppointmentResponse](ctx, f.fakes, req)
}
func (f fakeAppointments) ListAppointments(ctx context.Context, req *bookingv1.ListAppointmentsRequest) (*bookingv1.ListAppointmentsResponse, error) {
	return reply[*bookingv1.ListAppointmentsResponse](ctx, f.fakes, req)
}
func (f fakeAppointments) ListAssignments(ctx context.Context, req *bookingv1.ListAssignmentsRequest) (*bookingv1.ListAssignmentsResponse, error) {
	return reply[*bookingv1.ListAssignmentsResponse](ctx, f.fakes, req)
}
