package convert

import (
	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// AppointmentRequest is the common part of requests for an appointment.
type AppointmentRequest struct {
	Slot                *bookingv1.SlotRequest
	Purchaser, Customer string
	Option, Code        string
	PaymentRequest
}

// AppointmentOrder is a checked request for an appointment. The line of the order has no date yet.
type AppointmentOrder struct {
	Slot   model.SlotRequest
	Option id.PricingOption // zero: the only one for the length
	Order  model.Order
}

// ReadAppointmentOrder reads and checks a request for an appointment.
func ReadAppointmentOrder(r AppointmentRequest) (o AppointmentOrder, err error) {
	if o.Slot, err = slotRequest(r.Slot); err != nil {
		return o, err
	}
	customer := r.Customer
	if customer == r.Purchaser {
		customer = ""
	}
	o.Order, err = Order(OrderRequest{
		Purchaser: r.Purchaser, Code: r.Code, PaymentRequest: r.PaymentRequest,
		Lines: []*bookingv1.TransactionLine{{EventId: id.Event(o.Slot.Type).String(), BoughtForId: customer}},
	})
	if err == nil && r.Option != "" {
		if o.Option, err = id.Parse[id.PricingOption](r.Option); err != nil {
			err = model.MissingPart("pricing_option_id", "pricing option")
		}
	}
	return o, err
}

// slotRequest reads and checks a request for a slot.
func slotRequest(r *bookingv1.SlotRequest) (s model.SlotRequest, err error) {
	s = model.SlotRequest{
		Minutes: r.GetLengthMinutes(), StartsAt: Instant(r.GetStartsAt()), Local: r.GetLocalStart(),
		WaiveNotice: r.GetWaiveNotice(), WaiveHours: r.GetWaiveHours(),
	}
	if s.Type, err = check.ID[id.AppointmentType](r.GetAppointmentTypeId(), "appointment type"); err != nil {
		return s, err
	}
	if r.GetStaffId() != "" {
		if s.Staff, err = check.ID[id.StaffMember](r.GetStaffId(), "staff member"); err != nil {
			return s, err
		}
	}
	return s, s.Check()
}

// AppointmentMove reads and checks a request to move an appointment. Unset fields stay unset.
func AppointmentMove(r *bookingv1.MoveAppointmentRequest) (s model.SlotRequest, err error) {
	s = model.SlotRequest{
		Minutes: r.GetLengthMinutes(), StartsAt: Instant(r.GetStartsAt()), Local: r.GetLocalStart(),
		WaiveNotice: r.GetWaiveNotice(), WaiveHours: r.GetWaiveHours(),
	}
	if r.GetStaffId() != "" {
		if s.Staff, err = check.ID[id.StaffMember](r.GetStaffId(), "staff member"); err != nil {
			return s, err
		}
	}
	return s, s.CheckMove()
}
