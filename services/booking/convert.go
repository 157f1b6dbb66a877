package booking

import (
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// instantOf reads an instant: the zero time where it is absent, and a time that
// no check accepts where it is out of range.
func instantOf(t *timestamppb.Timestamp) time.Time {
	switch {
	case t == nil:
		return time.Time{}
	case t.CheckValid() != nil:
		return endOfTime()
	}
	return t.AsTime()
}

// asked is what requests that buy or hold places have in common.
type asked struct {
	purchaser string
	lines     []*bookingv1.TransactionLine
	payment
	code string
}

// payment is how a request says that it pays.
type payment struct {
	method    bookingv1.PaymentMethod
	reference string
	pass      string
}

// orderOf reads and checks what a request asks to buy.
func orderOf(r asked) (order, error) {
	o := order{code: strings.TrimSpace(r.code)}
	var err error
	if o.payment, err = paymentOf(r.payment); err != nil {
		return o, err
	}
	for _, l := range r.lines {
		spaces := l.GetSpaces()
		if spaces == 0 {
			spaces = 1
		}
		o.lines = append(o.lines, line{spaces: spaces})
	}
	if err := o.check(); err != nil {
		return o, err
	}
	if o.purchaser, err = check.ID[id.Customer](r.purchaser, "customer"); err != nil {
		return o, err
	}
	for i, l := range r.lines {
		to := &o.lines[i]
		if l.GetEventId() != "" {
			if to.event, err = check.ID[id.Event](l.GetEventId(), "event"); err != nil {
				return o, err
			}
		}
		if l.GetEventDateId() != "" || to.event.IsZero() {
			if to.date, err = id.Parse[id.EventDate](l.GetEventDateId()); err != nil {
				return o, noSuch(i, "event_date_id", "event date")
			}
		}
		if l.GetPricingOptionId() != "" {
			if to.option, err = id.Parse[id.PricingOption](l.GetPricingOptionId()); err != nil {
				return o, noSuch(i, "pricing_option_id", "pricing option")
			}
		}
		if l.GetBoughtForId() != "" {
			if to.boughtFor, err = check.ID[id.Customer](l.GetBoughtForId(), "customer"); err != nil {
				return o, err
			}
		}
	}
	return o, nil
}

// paymentOf reads and checks how a request pays.
func paymentOf(p payment) (paying, error) {
	var out paying
	var faults check.Fields
	out.reference = strings.TrimSpace(p.reference)
	faults.Line("payment_reference", out.reference, 0, maxPaymentReference)
	switch p.method {
	case bookingv1.PaymentMethod_PAYMENT_METHOD_UNSPECIFIED, bookingv1.PaymentMethod_PAYMENT_METHOD_CARD:
		out.method = Card
		if p.pass != "" {
			faults.Add("customer_pass_id", "method", "is for payments by pass")
		}
	case bookingv1.PaymentMethod_PAYMENT_METHOD_PASS:
		out.method = Pass
		if out.reference != "" {
			faults.Add("payment_reference", "method", "is for payments by card")
		}
	default:
		faults.Add("payment_method", "enum", "must be card or pass")
	}
	if err := faults.Err(); err != nil {
		return out, err
	}
	if p.pass != "" {
		var err error
		if out.pass, err = check.ID[id.CustomerPass](p.pass, "customer pass"); err != nil {
			return out, err
		}
	}
	return out, nil
}

func holdToProto(p *Purchase) *bookingv1.Hold {
	out := &bookingv1.Hold{Id: p.bought.ID.String(), PurchaserId: p.order.purchaser.String(), ExpiresAt: timestamppb.New(p.expiresAt)}
	for i := range p.bought.Bookings {
		out.Bookings = append(out.Bookings, bookingToProto(&p.bought.Bookings[i]))
	}
	return out
}

func transactionToProto(t *Transaction) *bookingv1.Transaction {
	out := &bookingv1.Transaction{
		Id: t.ID.String(), Purchaser: customerToProto(&t.Purchaser), PurchasedAt: timestamppb.New(t.PurchasedAt),
		Timezone: t.Timezone, Version: t.Version, Bookings: make([]*bookingv1.Booking, len(t.Bookings)),
	}
	for i := range t.Bookings {
		out.Bookings[i] = bookingToProto(&t.Bookings[i])
	}
	return out
}

func customerToProto(c *Customer) *bookingv1.CustomerReference {
	return &bookingv1.CustomerReference{Id: c.ID.String(), FirstName: c.FirstName, LastName: c.LastName, Email: c.Email}
}

func bookingToProto(b *Booking) *bookingv1.Booking {
	d := &b.Date
	out := &bookingv1.Booking{
		Id: b.ID.String(), IsCancelled: b.Cancelled, IsRefunded: b.Refunded, Spaces: b.Spaces,
		EventId: d.Event.String(), EventTitle: d.EventTitle, EventType: eventTypeToProto(d.EventType),
		EventDateId: d.ID.String(), StartsAt: timestamppb.New(d.StartsAt), Timezone: d.Timezone,
		DurationMinutes: d.Minutes, PricingOptionId: b.Option.String(), Attendance: attendanceToProto(b.Attendance),
		CreatedAt: timestamppb.New(madeAt(b.ID.UUID())),
	}
	if !b.CancelledAt.IsZero() {
		out.CancelledAt = timestamppb.New(b.CancelledAt)
	}
	if b.BoughtFor != nil {
		out.BoughtFor = customerToProto(b.BoughtFor)
	}
	switch p := &b.Payment; p.Method {
	case Card:
		out.Payment = &bookingv1.Booking_Card{Card: &bookingv1.CardPayment{
			Currency: p.Currency, Gross: p.Gross, Net: p.Net, Reference: p.Reference, Discount: p.Discount, DiscountCode: p.Code,
		}}
	case Pass:
		out.Payment = &bookingv1.Booking_Pass{Pass: &bookingv1.PassPayment{
			CreditsUsed: p.Credits, CustomerPassId: p.CustomerPass.String(),
		}}
	}
	return out
}

// snapshotToProto is one booking of t as events carry it.
func snapshotToProto(t *Transaction, b *Booking) *bookingv1.BookingSnapshot {
	return &bookingv1.BookingSnapshot{
		TransactionId: t.ID.String(), Purchaser: customerToProto(&t.Purchaser),
		PurchasedAt: timestamppb.New(t.PurchasedAt), Version: t.Version, Booking: bookingToProto(b),
	}
}

func eventTypeToProto(t EventType) bookingv1.EventType {
	switch t {
	case Class:
		return bookingv1.EventType_EVENT_TYPE_CLASS
	case OneOff:
		return bookingv1.EventType_EVENT_TYPE_EVENT
	case Workshop:
		return bookingv1.EventType_EVENT_TYPE_WORKSHOP
	case Course:
		return bookingv1.EventType_EVENT_TYPE_COURSE
	case Appointment:
		return bookingv1.EventType_EVENT_TYPE_APPOINTMENT
	}
	return bookingv1.EventType_EVENT_TYPE_UNSPECIFIED
}

// eventTypeOf reads a type; unspecified is a class, and "" is not a type at all.
func eventTypeOf(t bookingv1.EventType) EventType {
	switch t {
	case bookingv1.EventType_EVENT_TYPE_UNSPECIFIED, bookingv1.EventType_EVENT_TYPE_CLASS:
		return Class
	case bookingv1.EventType_EVENT_TYPE_EVENT:
		return OneOff
	case bookingv1.EventType_EVENT_TYPE_WORKSHOP:
		return Workshop
	case bookingv1.EventType_EVENT_TYPE_COURSE:
		return Course
	case bookingv1.EventType_EVENT_TYPE_APPOINTMENT:
		return Appointment
	}
	return ""
}
