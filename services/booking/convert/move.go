package convert

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/check"
	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// MoveRequest is the common part of requests to move a booking and to preview that.
type MoveRequest interface {
	GetEventDateId() string
	GetPricingOptionId() string
	GetSpaces() int32
	GetKeepPrice() bool
	GetWaivePolicy() bool
}

// Move reads and checks a move.
func Move(r MoveRequest) (m model.Move, err error) {
	m = model.Move{Spaces: r.GetSpaces(), KeepPrice: r.GetKeepPrice(), Waived: r.GetWaivePolicy()}
	if r.GetEventDateId() != "" {
		if m.Date, err = IDIn[id.EventDate]("event_date_id", r.GetEventDateId(), "event date"); err != nil {
			return m, err
		}
	}
	if r.GetPricingOptionId() != "" {
		if m.Option, err = IDIn[id.PricingOption]("pricing_option_id", r.GetPricingOptionId(), "pricing option"); err != nil {
			return m, err
		}
	}
	return m, m.Check()
}

// IDIn is check.ID for a member of a change of a booking, which the fault names.
func IDIn[T any, P interface {
	*T
	UnmarshalText([]byte) error
}](member, text, resource string) (T, error) {
	v, err := check.ID[T, P](text, resource)
	if err != nil {
		return v, model.MissingIn(member, resource)
	}
	return v, nil
}

// PaidMove reads and checks a move with the payment of its difference.
func PaidMove(r *bookingv1.MoveBookingRequest) (m model.Move, reference string, err error) {
	if m, err = Move(r); err != nil {
		return m, "", err
	}
	var faults check.Fields
	reference = faults.Line("payment_reference", strings.TrimSpace(r.GetPaymentReference()), 0, model.MaxPaymentReference)
	if r.GetPaymentMethod() != bookingv1.PaymentMethod_PAYMENT_METHOD_UNSPECIFIED {
		var known bool
		if m.Method, known = Method(r.GetPaymentMethod()); !known {
			faults.Add("payment_method", "enum", fault.OneOf(moneyMethods()))
		}
	}
	if err := faults.Err(); err != nil {
		return m, "", err
	}
	return m, reference, m.Check()
}

// moneyMethods are the names of the methods by which money is paid.
func moneyMethods() []string {
	return slices.DeleteFunc(slices.Clone(enum.Names[bookingv1.PaymentMethod]()), func(name string) bool {
		v, _ := enum.Parse[bookingv1.PaymentMethod](name)
		method, known := Method(v)
		return !known || method == model.Pass || method == model.Free
	})
}

// MoveOutcome converts the effect of a move on the payment.
func MoveOutcome(o *model.MoveOutcome) *bookingv1.MoveOutcome {
	return &bookingv1.MoveOutcome{
		Late: o.Late, FreeUntil: timestamppb.New(o.FreeUntil), PriceBefore: o.PriceBefore, PriceAfter: o.PriceAfter,
		Currency: o.Currency, AmountDue: o.AmountDue, RefundDue: o.RefundDue, CreditsBefore: o.CreditsBefore, CreditsAfter: o.CreditsAfter,
	}
}

// BookingMoved returns the event of a move with the entry h of the history.
func BookingMoved(after, before *bookingv1.BookingSnapshot, h *model.HistoryEntry) *bookingv1.BookingMoved {
	out := &bookingv1.BookingMoved{Booking: after, Previous: before, Actor: h.Actor, AmountPaid: h.Amount, PaymentReference: h.Reference}
	if h.Amount > 0 {
		out.PaymentMethod = methodToProto(h.Method)
	}
	if !h.SwappedWith.IsZero() {
		out.SwappedWith = h.SwappedWith.String()
	}
	return out
}
