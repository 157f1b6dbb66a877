package admin

import (
	"cmp"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// Left returns what of a payment in money is not refunded yet, in minor units.
func (r registrationView) Left() int64 {
	return r.GetBooking().GetCard().GetGross() - r.GetBooking().GetRefundedAmount()
}

// Refundable reports whether a refund can be recorded. A booking that cost nothing, and one that was
// paid with a pass, can be marked as refunded once.
func (r registrationView) Refundable() bool { return !r.GetBooking().GetIsRefunded() || r.Left() > 0 }

// Money prints an amount in the currency of the payment.
func (r registrationView) Money(minor int64) *message {
	return priceText(minor, r.GetBooking().GetCard().GetCurrency())
}

// refundPage records a refund of a booking.
type refundPage struct {
	Registration registrationView
	Form         *form
	Effects      []*message
}

func (refundPage) head() (*message, string) { return msg("desk.booking.refund_title"), "events" }

// Path is the path of the booking.
func (p refundPage) Path() string { return "/bookings/" + p.Registration.GetBooking().GetId() }

// findRefund returns the page with the amount that is due; if none is, with all that is left.
func (r *request) findRefund() (refundPage, error) {
	res, err := r.services.bookings.GetRegistration(r.ctx, &bookingv1.GetRegistrationRequest{BookingId: r.path("id")})
	if err != nil {
		return refundPage{}, err
	}
	p := refundPage{Registration: registrationView{res.GetRegistration()}, Form: newForm()}
	p.Form.setVersion(p.Registration.GetVersion())
	p.Form.values.Set("amount", r.amount(cmp.Or(p.Registration.GetBooking().GetRefundDue(), p.Registration.Left())))
	p.Effects = append(p.Effects, msg("desk.booking.refund_marks"))
	if !p.Registration.GetBooking().GetIsCancelled() {
		p.Effects = append(p.Effects, msg("desk.booking.refund_keeps"))
	}
	switch b := p.Registration.GetBooking(); {
	case b.GetPass() != nil:
		p.Effects = append(p.Effects, msg("desk.booking.refund_credits", "count", b.GetPass().GetCreditsUsed()))
	case b.GetCard().GetGross() > 0:
		p.Effects = append(p.Effects, msg("desk.booking.refund_money"))
	}
	return p, nil
}

func (r *request) refundForm() error {
	p, err := r.findRefund()
	if err != nil {
		return err
	}
	if !p.Registration.Refundable() {
		return r.back(p.Path(), r.text(reason("ALREADY_REFUNDED")))
	}
	return r.render("refund", p)
}

func (r *request) refundBooking() error {
	p, err := r.findRefund()
	if err != nil {
		return err
	}
	before := p.Registration
	p.Form = r.sent(nil)
	req := &bookingv1.RefundBookingRequest{BookingId: before.GetBooking().GetId(), ExpectedVersion: p.Form.expectedVersion(before.GetVersion())}
	if before.GetBooking().GetCard().GetGross() > 0 {
		req.Amount = p.refundAmount(req.ExpectedVersion)
	}
	res, err := submit(r, p.Form, r.services.bookings.RefundBooking, req)
	if err != nil {
		return r.again(err, "refund", p)
	}
	if !res.GetChanged() {
		r.unchanged()
		return r.back(p.Path(), r.text(reason("ALREADY_REFUNDED")))
	}
	if req.Amount == nil {
		return r.back(p.Path(), r.text("desk.booking.refunded"))
	}
	r.detail("refunded", "", r.logTexts().text(before.Money(req.GetAmount())))
	return r.back(p.Path(), r.text("desk.booking.refunded_amount", "amount", before.Money(req.GetAmount())))
}

// refundAmount reads the amount to refund. It is compared with what is left only if the booking has
// not changed since the page was made: a form that is sent twice gets the first answer again.
func (p refundPage) refundAmount(version *int64) *int64 {
	f, r := p.Form, p.Registration
	n, given := f.money("amount", msg("desk.field.amount"))
	if !given {
		f.required("amount", msg("desk.field.amount"))
		return nil
	}
	if current := version == nil || *version == r.GetVersion(); current && (n == 0 || n > r.Left()) {
		f.add("amount", msg("desk.booking.refund_range", "least", r.Money(1), "most", r.Money(r.Left())))
	}
	return &n
}
