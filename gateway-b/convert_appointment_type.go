package gatewayb

import (
	"reservation.dev/platform/edge"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	edgev1 "reservation.dev/proto/gen/reservation/edge/v1"
)

// newAppointmentType converts the body of POST /appointment-types.
func newAppointmentType(in *edgebv1.AppointmentTypeWrite) (*bookingv1.CreateAppointmentTypeRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	b.notEmpty("timezone", in.Timezone)
	b.advance(in.GetMaximumAdvanceDays())
	if in.SlotMinutes != nil && in.GetSlotMinutes() < 1 { // the service would treat 0 as absent
		b.Add("slotMinutes", "min", "must be 1 or more")
	}
	out := &bookingv1.CreateAppointmentTypeRequest{
		Title: in.GetTitle(), Description: in.GetDescription(), Location: in.GetLocation(), Timezone: in.GetTimezone(), Lengths: in.GetLengths().GetValues(),
		BufferBeforeMinutes: in.GetBufferBeforeMinutes(), BufferAfterMinutes: in.GetBufferAfterMinutes(), SlotMinutes: in.GetSlotMinutes(),
		MinimumNoticeMinutes: in.GetMinimumNoticeMinutes(), MaximumAdvanceDays: in.GetMaximumAdvanceDays().GetValue(), StaffIds: in.GetStaffIds().GetValues(),
		Rooms: roomRequirements(in.GetRooms()), FreeCancellationMinutes: edge.OrEmpty(in.GetFreeCancellationMinutes()).Value,
		Inactive: inactive(in.Active), Reference: in.GetReference(),
	}
	for i, p := range in.GetPricingOptions() {
		b.priceLength(i, p)
		b.notEnded(i, p)
		out.Prices = append(out.Prices, &bookingv1.NewAppointmentPrice{
			Option: b.newPricingOption(i, priceWrite(p)), LengthMinutes: p.GetLengthMinutes().GetValue(),
		})
	}
	return out, b.Err()
}

// appointmentTypeUpdate converts the body of PUT /appointment-types/{id}.
func appointmentTypeUpdate(in *edgebv1.AppointmentTypeWrite) (*bookingv1.UpdateAppointmentTypeRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	b.notEmpty("timezone", in.Timezone)
	out := &bookingv1.UpdateAppointmentTypeRequest{
		Title: in.Title, Description: in.Description, Location: in.Location, Timezone: in.Timezone, Lengths: b.lengths(in.GetLengths()),
		BufferBeforeMinutes: in.BufferBeforeMinutes, BufferAfterMinutes: in.BufferAfterMinutes, SlotMinutes: in.SlotMinutes,
		MinimumNoticeMinutes: in.MinimumNoticeMinutes, MaximumAdvanceDays: b.advance(in.GetMaximumAdvanceDays()),
		FreeCancellationMinutes: b.freeCancellation(in.GetFreeCancellationMinutes()), Active: in.Active,
	}
	if staff := in.GetStaffIds(); staff != nil {
		out.Staff = &bookingv1.StaffChoice{StaffIds: staff.GetValues()}
	}
	if in.GetRooms() != nil {
		out.Rooms = &bookingv1.RoomRequirements{Rooms: roomRequirements(in.GetRooms())}
	}
	for i, p := range in.GetPricingOptions() {
		change := &bookingv1.AppointmentPriceChange{Option: b.pricingOptionChange(i, priceWrite(p))}
		change.Option.Ended = p.GetEnded()
		if p.GetId() == "" { // the length of an existing price does not change
			b.priceLength(i, p)
			change.LengthMinutes = p.GetLengthMinutes().GetValue()
		}
		out.Prices = append(out.Prices, change)
	}
	return out, b.Err()
}

// lengths converts a change of the lengths. The service would treat an empty list as absent.
func (b *body) lengths(in *edgev1.LengthList) []int32 {
	if in != nil && len(in.GetValues()) == 0 {
		b.required("lengths", "")
	}
	return in.GetValues()
}

// advance converts maximumAdvanceDays. null, which means no limit, is 0 in the service's request.
func (b *body) advance(in *edgev1.NullableInt) *int32 {
	if in == nil {
		return nil
	}
	days := in.GetValue()
	if in.Value != nil && days < 1 {
		b.Add("maximumAdvanceDays", "min", "must be 1 or more, or null")
	}
	return &days
}

// priceLength checks the length of a price. The service would treat 0 as all lengths.
func (b *body) priceLength(i int, p *edgebv1.AppointmentPriceWrite) {
	if n := p.GetLengthMinutes(); n != nil && n.Value != nil && n.GetValue() < 1 {
		b.Add(index("pricingOptions", i, "lengthMinutes"), "min", "must be 1 or more, or null")
	}
}

// notEnded rejects a new price that is ended at once.
func (b *body) notEnded(i int, p *edgebv1.AppointmentPriceWrite) {
	if p.GetEnded() {
		b.Add(index("pricingOptions", i, "ended"), "exclusive", "must be false for a new price")
	}
}

// priceWrite returns the members of a price that the pricing options of events have too.
func priceWrite(p *edgebv1.AppointmentPriceWrite) *edgebv1.PricingOptionWrite {
	return &edgebv1.PricingOptionWrite{
		Id: p.Id, Name: p.Name, Price: p.GetPrice(), Currency: p.Currency, Credits: p.GetCredits(), TaxRate: p.GetTaxRate(),
	}
}

func roomRequirements(in *edgebv1.RoomRequirements) []*bookingv1.RoomRequirement {
	return edge.Convert(in.GetValues(), func(r *edgebv1.RoomRequirement) *bookingv1.RoomRequirement {
		return &bookingv1.RoomRequirement{AnyOf: r.GetAnyOf()}
	})
}
