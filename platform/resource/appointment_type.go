package resource

import (
	"reservation.dev/platform/edge"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	edgev1 "reservation.dev/proto/gen/reservation/edge/v1"
)

// AppointmentType converts an appointment type.
func AppointmentType(t *bookingv1.AppointmentType) *edgebv1.AppointmentType {
	return &edgebv1.AppointmentType{
		Id: t.GetId(), EventId: t.GetEventId(), Title: t.GetTitle(), Description: t.GetDescription(), Location: t.GetLocation(), Timezone: t.GetTimezone(),
		Lengths: t.GetLengths(), BufferBeforeMinutes: t.GetBufferBeforeMinutes(), BufferAfterMinutes: t.GetBufferAfterMinutes(), SlotMinutes: t.GetSlotMinutes(),
		MinimumNoticeMinutes: t.GetMinimumNoticeMinutes(), MaximumAdvanceDays: limit(t.GetMaximumAdvanceDays()), StaffIds: t.GetStaffIds(),
		Rooms: edge.Convert(t.GetRooms(), func(r *bookingv1.RoomRequirement) *edgebv1.RoomRequirement {
			return &edgebv1.RoomRequirement{AnyOf: r.GetAnyOf()}
		}),
		PricingOptions: edge.Convert(t.GetPrices(), appointmentPrice), FreeCancellationMinutes: nullableInt(t.FreeCancellationMinutes), Active: t.GetActive(),
		Reference: nullableText(t.GetReference()), CreatedAt: utc(t.GetCreatedAt()), UpdatedAt: utc(t.GetUpdatedAt()),
	}
}

func appointmentPrice(p *bookingv1.AppointmentPrice) *edgebv1.AppointmentPrice {
	o := p.GetOption()
	return &edgebv1.AppointmentPrice{
		Id: o.GetId(), Name: o.GetName(), Price: amount(o.GetPrice()), Currency: o.GetCurrency(), Credits: nullableInt(o.Credits),
		TaxRate: &edgev1.Percentage{BasisPoints: o.GetTaxRateBasisPoints()}, LengthMinutes: limit(p.GetLengthMinutes()),
	}
}
