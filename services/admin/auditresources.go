package admin

import (
	"context"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

func (r *request) findStaff(ctx context.Context, n *auditNames, _ *wantedNames) error {
	res, err := r.services.staff.ListStaff(ctx, &bookingv1.ListStaffRequest{PageSize: resourcesMost, Order: bookingv1.ResourceOrder_RESOURCE_ORDER_CREATED_DESC})
	for _, s := range res.GetStaff() {
		n.add(s.GetId(), s.GetName())
	}
	if err == nil {
		n.end("staff_", res.GetNextPageToken())
	}
	return err
}

func (r *request) findRooms(ctx context.Context, n *auditNames, _ *wantedNames) error {
	res, err := r.services.rooms.ListRooms(ctx, &bookingv1.ListRoomsRequest{PageSize: resourcesMost, Order: bookingv1.ResourceOrder_RESOURCE_ORDER_CREATED_DESC})
	for _, x := range res.GetRooms() {
		n.add(x.GetId(), x.GetName())
	}
	if err == nil {
		n.end("room_", res.GetNextPageToken())
	}
	return err
}

func (r *request) findSlotTypes(ctx context.Context, n *auditNames, _ *wantedNames) error {
	res, err := r.services.types.ListAppointmentTypes(ctx, &bookingv1.ListAppointmentTypesRequest{
		PageSize: resourcesMost, Order: bookingv1.ResourceOrder_RESOURCE_ORDER_CREATED_DESC,
	})
	for _, t := range res.GetAppointmentTypes() {
		n.add(t.GetId(), t.GetTitle())
	}
	if err == nil {
		n.end("apt_", res.GetNextPageToken())
	}
	return err
}
