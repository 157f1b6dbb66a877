package gatewayb

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/check"
	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/zone"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

// slotWrite is a body that identifies the slot to book and its customers: that of POST /appointments, or
// of POST /appointment-holds.
type slotWrite interface {
	GetAppointmentTypeId() string
	GetCustomerId() string
	GetWaiveNotice() bool
	GetWaiveHours() bool
}

// slotMembers are the members of a slotWrite that can be absent.
type slotMembers struct {
	startsAt, localStart, staffID *string
	lengthMinutes                 *int32
}

// newAppointment converts the body of POST /appointments.
func newAppointment(in *edgebv1.AppointmentWrite) (*bookingv1.BookAppointmentRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	out := &bookingv1.BookAppointmentRequest{
		Slot:            b.slot(in, slotMembers{in.StartsAt, in.LocalStart, in.StaffId, in.LengthMinutes}),
		PricingOptionId: identifier(in.PricingOptionId), DiscountCode: in.GetDiscountCode(),
	}
	out.PurchaserId, out.CustomerId = slotCustomers(in, in.PurchasedById)
	out.PaymentMethod, out.CustomerPassId, out.PaymentReference = b.payment(in.GetPayment())
	return out, b.Err()
}

// newAppointmentHold converts the body of POST /appointment-holds.
func newAppointmentHold(in *edgebv1.AppointmentHoldWrite) (*bookingv1.HoldAppointmentRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	out := &bookingv1.HoldAppointmentRequest{
		Slot:            b.slot(in, slotMembers{in.StartsAt, in.LocalStart, in.StaffId, in.LengthMinutes}),
		PricingOptionId: identifier(in.PricingOptionId), DiscountCode: in.GetDiscountCode(), Minutes: in.GetMinutes(),
	}
	out.PurchaserId, out.CustomerId = slotCustomers(in, in.PurchasedById)
	if in.Minutes != nil && in.GetMinutes() < 1 { // the service would treat 0 as absent
		b.Add("minutes", "min", "must be 1 or more")
	}
	return out, b.Err()
}

// slotCustomers returns who pays and, if it is somebody else, who attends.
func slotCustomers(in slotWrite, purchasedBy *string) (purchaser, attendee string) {
	if purchasedBy == nil {
		return in.GetCustomerId(), ""
	}
	return *purchasedBy, in.GetCustomerId()
}

func (b *body) slot(in slotWrite, members slotMembers) *bookingv1.SlotRequest {
	b.required("appointmentTypeId", in.GetAppointmentTypeId())
	b.required("customerId", in.GetCustomerId())
	out := &bookingv1.SlotRequest{
		AppointmentTypeId: in.GetAppointmentTypeId(), LengthMinutes: b.lengthMinutes(members.lengthMinutes), StaffId: identifier(members.staffID),
		WaiveNotice: in.GetWaiveNotice(), WaiveHours: in.GetWaiveHours(),
	}
	if members.startsAt == nil && members.localStart == nil {
		b.required("startsAt", "")
	}
	out.StartsAt, out.LocalStart = b.slotStart(members.startsAt, members.localStart)
	return out
}

// lengthMinutes converts the length of an appointment. The service would treat 0 as absent.
func (b *body) lengthMinutes(n *int32) int32 {
	if n == nil {
		return 0
	}
	if *n < 1 {
		b.Add("lengthMinutes", "min", "must be 1 or more")
	}
	return *n
}

// slotStart converts the start of a slot: an instant, or local time in the time zone of the type. A local
// time is in either member.
func (b *body) slotStart(startsAt, localStart *string) (at *timestamppb.Timestamp, local string) {
	switch {
	case startsAt != nil && localStart != nil:
		b.Add("localStart", "exclusive", "cannot be used together with startsAt")
		return nil, ""
	case localStart == nil:
		return b.momentLike("startsAt", startsAt, "must be a date-time, for example 2026-03-29T08:30:00Z, or 2026-03-29T09:30:00 in the type's time zone")
	}
	at, local = b.momentLike("localStart", localStart, "must be a local time, for example 2026-03-29T09:30:00")
	if at != nil {
		b.Add("localStart", "local", "must be a local time without an offset")
	}
	return nil, local
}

// slotNames maps the fields of a slot and its purchase to the members of the body.
func slotNames(payment *edgebv1.PaymentWrite, purchasedBy, localStart *string) map[string]string {
	names := paymentNames(payment)
	maps.Copy(names, map[string]string{
		"slot.appointment_type_id": "appointmentTypeId", "slot.length_minutes": "lengthMinutes", "slot.staff_id": "staffId",
		"slot.starts_at": "startsAt", "slot.local_start": "startsAt", "slot.waive_hours": "waiveHours", "slot.waive_notice": "waiveNotice",
		"purchaser_id": "customerId", "slot": "startsAt",
	})
	if purchasedBy != nil {
		names["purchaser_id"] = "purchasedById"
	}
	if localStart != nil {
		names["slot.local_start"], names["local_start"] = "localStart", "localStart"
	}
	return names
}

// appointmentMove converts the body of POST /appointments/{id}/move.
func appointmentMove(in *edgebv1.AppointmentMove) (*bookingv1.MoveAppointmentRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	out := &bookingv1.MoveAppointmentRequest{
		LengthMinutes: b.lengthMinutes(in.LengthMinutes), StaffId: identifier(in.StaffId), AnyStaff: in.GetAnyStaff(),
		WaiveNotice: in.GetWaiveNotice(), WaiveHours: in.GetWaiveHours(),
	}
	out.StartsAt, out.LocalStart = b.slotStart(in.StartsAt, in.LocalStart)
	return out, b.Err()
}

// slotQuery converts the parameters of GET /slots.
func slotQuery(req *edgebv1.FindSlotsRequest) (*bookingv1.FindSlotsRequest, error) {
	var q edge.Query
	length, explain, waive := q.Int("lengthMinutes", req.LengthMinutes), q.Bool("explain", req.Explain), q.Bool("waiveNotice", req.WaiveNotice)
	out := &bookingv1.FindSlotsRequest{
		AppointmentTypeId: queryRequired(&q, "appointmentTypeId", req.AppointmentTypeId), StaffId: identifier(req.StaffId),
		From: queryDay(&q, "from", req.From), To: queryDay(&q, "to", req.To), Timezone: req.GetTimezone(), Explain: explain != nil && *explain,
		WaiveNotice: waive != nil && *waive, MovingId: identifier(req.MovingId),
	}
	queryRequired(&q, "from", req.From)
	queryRequired(&q, "to", req.To)
	if _, err := zone.Load(out.GetTimezone()); req.Timezone != nil && err != nil {
		q.Fail(fault.InvalidParameter("timezone", "timezone", check.TimezonePhrase))
	}
	if length != nil {
		out.LengthMinutes = *length
		if *length < 1 { // the service would treat 0 as absent
			q.Fail(fault.InvalidParameter("lengthMinutes", "min", "must be 1 or more"))
		}
	}
	return out, q.Err()
}

// resources splits the parameter resourceIds. An absent one means all staff and rooms.
func resources(list *string) []string {
	if list == nil {
		return nil
	}
	ids := strings.Split(*list, ",")
	for i, text := range ids {
		ids[i] = identifier(&text)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
