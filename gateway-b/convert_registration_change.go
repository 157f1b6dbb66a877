package gatewayb

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/money"
	"reservation.dev/platform/resource"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

// newMove converts the body of POST /registrations/{id}/move.
func newMove(in *edgebv1.MoveWrite) (*bookingv1.MoveBookingRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	out := &bookingv1.MoveBookingRequest{
		EventDateId: identifier(in.EventDateId), PricingOptionId: identifier(in.PricingOptionId), KeepPrice: in.GetKeepPrice(),
		WaivePolicy: in.GetWaivePolicy(), AfterStartReason: in.GetAfterStartReason(), PaymentReference: in.GetPayment().GetReference(),
	}
	if in.Spots != nil { // the service would treat 0 as absent
		out.Spaces = b.spots("spots", in.Spots)
	}
	if p := in.GetPayment(); p != nil {
		out.PaymentMethod = b.moveMethod("payment.method", p.Method)
	}
	if due := in.GetExpectedAmountDue(); due != nil {
		out.ExpectedAmountDue = &due.Minor
		if due.GetMinor() < 0 {
			b.Add("expectedAmountDue", "min", "must be 0 or more")
		}
	}
	b.afterStartReason(in.AfterStartReason)
	return out, b.Err()
}

// moveMethod reads how the price difference of a move is paid.
func (b *body) moveMethod(field string, name *string) bookingv1.PaymentMethod {
	if name != nil && !slices.Contains(money.MoveMethods(), *name) {
		b.Add(field, "enum", fault.OneOf(money.MoveMethods()))
		return 0
	}
	return choice[bookingv1.PaymentMethod](b, field, name, money.BookingMethods())
}

// afterStartReason rejects a blank reason, which the service would treat as absent.
func (b *body) afterStartReason(text *string) {
	if text != nil && strings.TrimSpace(*text) == "" {
		b.Add("afterStartReason", "required", "must not be empty")
	}
}

// maxMoveSpots is the largest number of spots of a registration, as the service checks it.
const maxMoveSpots = 1000

// movePreview converts the parameters of GET /registrations/{id}/move-preview.
func movePreview(req *edgebv1.PreviewMoveRequest) (*bookingv1.PreviewMoveRequest, error) {
	var q edge.Query
	is := func(name string, text *string) bool {
		v := q.Bool(name, text)
		return v != nil && *v
	}
	out := &bookingv1.PreviewMoveRequest{
		BookingId: resource.BookingID(req.GetId()), EventDateId: identifier(req.EventDateId), PricingOptionId: identifier(req.PricingOptionId),
		KeepPrice: is("keepPrice", req.KeepPrice), WaivePolicy: is("waivePolicy", req.WaivePolicy), AfterStart: is("afterStart", req.AfterStart),
	}
	if spots := q.Int("spots", req.Spots); spots != nil {
		out.Spaces = *spots
		if *spots < 1 || *spots > maxMoveSpots { // the service would treat 0 as absent
			q.Fail(fault.InvalidParameter("spots", "range", fmt.Sprintf("must be 1 to %d", maxMoveSpots)))
		}
	}
	return out, q.Err()
}

// newTransfer converts the body of POST /registrations/{id}/transfer.
func newTransfer(in *edgebv1.TransferWrite) (*bookingv1.TransferBookingRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	b.required("customerId", in.GetCustomerId())
	b.afterStartReason(in.AfterStartReason)
	return &bookingv1.TransferBookingRequest{
		CustomerId: in.GetCustomerId(), BuyerKeepsControl: in.GetBuyerKeepsControl(), AfterStartReason: in.GetAfterStartReason(),
	}, b.Err()
}

// newSwap converts the body of POST /registrations/{id}/swap.
func newSwap(in *edgebv1.SwapWrite) (*bookingv1.SwapBookingsRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	b.required("registrationId", in.GetRegistrationId())
	b.afterStartReason(in.AfterStartReason)
	return &bookingv1.SwapBookingsRequest{
		OtherBookingId: resource.BookingID(in.GetRegistrationId()), WaivePolicy: in.GetWaivePolicy(), AfterStartReason: in.GetAfterStartReason(),
	}, b.Err()
}

// changeFault gives the fault of a change of a registration the names, the identifiers and the units of Interface B.
// The currency of an amount due is the company's if a pass paid.
func changeFault(ctx context.Context, err error) error {
	f := fault.From(renameFields(err, map[string]string{
		"spaces": "spots", "payment_method": "payment.method", "payment_reference": "payment.reference", "other_booking_id": "registrationId",
	}))
	if f.Kind == fault.NotFound && f.Message == fault.Missing("booking").Message {
		missing := fault.Missing("registration")
		missing.Fields = f.Fields
		return missing
	}
	if len(f.Fields) > 0 && f.Fields[0].Rule == "distinct" {
		return fault.InvalidFields(fault.Field{Field: "registrationId", Rule: "distinct", Message: "must be another registration"})
	}
	if booking := f.Meta["booking_id"]; booking != "" {
		f = f.With("registration_id", resource.RegistrationID(booking))
		delete(f.Meta, "booking_id")
	}
	if minor, err := strconv.ParseInt(f.Meta["amount_due"], 10, 64); err == nil {
		return f.With("amount_due", resource.AmountText(minor)).With("currency", cmp.Or(f.Meta["currency"], companyCurrency(ctx)))
	}
	return f
}
