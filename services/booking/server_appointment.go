package booking

import (
	"context"
	"errors"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/model"
)

// BookAppointment implements AppointmentService.
func (s *Server) BookAppointment(ctx context.Context, req *bookingv1.BookAppointmentRequest) (*bookingv1.BookAppointmentResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	wanted, err := convert.ReadAppointmentOrder(convert.AppointmentRequest{
		Slot: req.GetSlot(), Purchaser: req.GetPurchaserId(), Customer: req.GetCustomerId(), Option: req.GetPricingOptionId(), Code: req.GetDiscountCode(),
		PaymentRequest: convert.PaymentRequest{Method: req.GetPaymentMethod(), Reference: req.GetPaymentReference(), Pass: req.GetCustomerPassId()},
	})
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.BookAppointmentResponse{}
	status := model.Confirmed
	if wanted.Order.Payment.Method == model.Pass {
		status = model.Pending
	}
	p, err := newPurchase(ctx, req, resp, company, model.Purchase{Order: wanted.Order, Status: status})
	if err != nil {
		return nil, err
	}
	p.slot = &slotPurchase{SlotRequest: wanted.Slot, option: wanted.Option}
	p.answer = func() { resp.Appointment = convert.Appointment(p.Bought, model.Confirmed, time.Time{}, p.slot.made) }
	if err := s.purchaseSlot(ctx, p); err != nil || p.replayed || status == model.Confirmed {
		return resp, err
	}
	if err := s.payByPass(ctx, p, wanted.Order.Payment.Pass); err != nil {
		return nil, err
	}
	return resp, nil
}

// HoldAppointment implements AppointmentService.
func (s *Server) HoldAppointment(ctx context.Context, req *bookingv1.HoldAppointmentRequest) (*bookingv1.HoldAppointmentResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	minutes, err := holdMinutes(req.GetMinutes())
	if err != nil {
		return nil, err
	}
	wanted, err := convert.ReadAppointmentOrder(convert.AppointmentRequest{
		Slot: req.GetSlot(), Purchaser: req.GetPurchaserId(), Customer: req.GetCustomerId(), Option: req.GetPricingOptionId(), Code: req.GetDiscountCode(),
	})
	if err != nil {
		return nil, err
	}
	resp := &bookingv1.HoldAppointmentResponse{}
	expiresAt := pg.Instant(s.clock(company).Add(minutes))
	p, err := newPurchase(ctx, req, resp, company, model.Purchase{Order: wanted.Order, Status: model.Held, ExpiresAt: expiresAt})
	if err != nil {
		return nil, err
	}
	p.slot = &slotPurchase{SlotRequest: wanted.Slot, option: wanted.Option}
	p.answer = func() {
		resp.Hold = convert.Hold(&model.Hold{Transaction: *p.Bought, Status: model.HoldActive, ExpiresAt: p.ExpiresAt})
		resp.Appointment = convert.Appointment(p.Bought, model.Held, p.ExpiresAt, p.slot.made)
	}
	if err := s.purchaseSlot(ctx, p); err != nil {
		return nil, err
	}
	return resp, nil
}

// purchaseSlot commits a purchase that takes a slot, after it has fetched customers who are not in the copy.
func (s *Server) purchaseSlot(ctx context.Context, p *purchase) error {
	err := s.fetchMissingCustomers(ctx, p.company.ID, func() error { return s.bookSlot(ctx, p) })
	var refusal *fault.Error
	if errors.As(err, &refusal) {
		return refusal.Rename(map[string]string{"lines[0].pricing_option_id": "pricing_option_id", "local_start": "slot.local_start"})
	}
	return err
}
