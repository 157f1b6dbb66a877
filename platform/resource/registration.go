package resource

import (
	"cmp"
	"strings"

	"reservation.dev/platform/money"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
	edgev1 "reservation.dev/proto/gen/reservation/edge/v1"
)

// The statuses of a registration.
const (
	StatusConfirmed = "confirmed"
	StatusCancelled = "cancelled"
)

// Registration converts a booking with its purchase. currency is the company's, in which a booking
// paid by pass shows its total of 0.
func Registration(r *bookingv1.Registration, currency string) *edgebv1.Registration {
	b := r.GetBooking()
	attendee := b.GetBoughtFor()
	if attendee == nil {
		attendee = r.GetPurchaser()
	}
	out := &edgebv1.Registration{
		Id: RegistrationID(b.GetId()), EventId: b.GetEventId(), EventDateId: b.GetEventDateId(), EventTitle: b.GetEventTitle(),
		EventDate: utc(b.GetStartsAt()), CustomerId: attendee.GetId(), CustomerEmail: attendee.GetEmail(),
		CustomerName: strings.TrimSpace(attendee.GetFirstName() + " " + attendee.GetLastName()), Spots: b.GetSpaces(), Status: status(b),
		TransactionId: r.GetTransactionId(), CreatedAt: utc(r.GetCreatedAt()), CancelledAt: nullableTime(b.GetCancelledAt()),
		Attendance: AttendanceName(b.GetAttendance()), Refunded: b.GetIsRefunded(), PricingOptionId: b.GetPricingOptionId(),
		PurchasedById: r.GetPurchaser().GetId(), Late: b.GetLate(), CreditsReturned: b.GetCreditsReturned(), RefundDue: amount(b.GetRefundDue()),
		RefundedAmount: amount(b.GetRefundedAmount()), RefundedAt: nullableTime(b.GetRefundedAt()), CancellationReason: b.GetCancellationReason(),
		Price: price(b), ManagedById: cmp.Or(b.GetManagedById(), r.GetPurchaser().GetId()),
		UpdatedAt: utc(cmp.Or(b.GetUpdatedAt(), r.GetUpdatedAt(), r.GetCreatedAt())),
	}
	payment(out, paymentOf(b, currency))
	return out
}

// RegistrationAt converts a booking as a domain event has it.
func RegistrationAt(s *bookingv1.BookingSnapshot, currency string) *edgebv1.Registration {
	return Registration(&bookingv1.Registration{
		Booking: s.GetBooking(), TransactionId: s.GetTransactionId(), Purchaser: s.GetPurchaser(),
		CreatedAt: s.GetBooking().GetCreatedAt(), Version: s.GetVersion(),
	}, currency)
}

// price returns the price of a booking now. Bookings that an earlier release sent have no manager and no
// price; their price is what was paid.
func price(b *bookingv1.Booking) *edgev1.Amount {
	if b.GetManagedById() == "" {
		return amount(b.GetCard().GetGross())
	}
	return amount(b.GetPrice())
}

func status(b *bookingv1.Booking) string {
	if b.GetIsCancelled() {
		return StatusCancelled
	}
	return StatusConfirmed
}

func payment(out *edgebv1.Registration, p paid) {
	out.PaymentMethod, out.TotalPaid, out.Currency = p.method, amount(p.total), p.currency
	out.PassUsed, out.DiscountCode = nullableText(p.pass), nullableText(p.discountCode)
}

// paid is how a booking was paid.
type paid struct {
	method, currency, pass, discountCode string
	total                                int64 // minor units
}

// paymentOf returns how a booking was paid. If a pass paid, the total is 0 in the company's currency.
func paymentOf(b *bookingv1.Booking, currency string) paid {
	if p := b.GetPass(); p != nil {
		return paid{method: money.MethodPass, currency: currency, pass: p.GetCustomerPassId()}
	}
	p := b.GetCard()
	return paid{method: PaymentMethodName(p.GetMethod()), currency: p.GetCurrency(), total: p.GetGross(), discountCode: p.GetDiscountCode()}
}

// AttendanceNames returns the values of attendance, in the order of the service's numbers, which
// start at 1.
func AttendanceNames() []string { return []string{"unknown", "attended", "no_show"} }

// AttendanceName returns the name of a recorded attendance.
func AttendanceName(a bookingv1.Attendance) string { return nameOf(a, AttendanceNames()) }

// PaymentMethodName returns the name of a payment method. Unspecified means CARD.
func PaymentMethodName(m bookingv1.PaymentMethod) string { return nameOf(m, money.BookingMethods()) }

// nameOf returns the name of an enum value. Names are numbered from 1, and an unspecified value has
// the first one.
func nameOf[E ~int32](v E, names []string) string {
	if v < 1 || int(v) > len(names) {
		return names[0]
	}
	return names[v-1]
}

// CancellationPreview converts what a cancellation would do. currency is the company's, for a booking
// paid by pass.
func CancellationPreview(o *bookingv1.CancellationOutcome, currency string) *edgebv1.PreviewCancellationResponse {
	return &edgebv1.PreviewCancellationResponse{
		Late: o.GetLate(), RefundDue: amount(o.GetRefundDue()), CreditsReturned: o.GetCreditsReturned(),
		Currency: cmp.Or(o.GetCurrency(), currency), FreeUntil: utc(o.GetFreeUntil()),
	}
}
