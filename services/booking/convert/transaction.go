// Package convert converts between the messages of the booking service and its model.
// Functions that read a request also check what the model cannot express.
package convert

import (
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// Instant reads an instant. It returns the zero time if the instant is unset, and a time that every
// check refuses if it is out of range.
func Instant(t *timestamppb.Timestamp) time.Time {
	switch {
	case t == nil:
		return time.Time{}
	case t.CheckValid() != nil:
		return model.EndOfTime()
	}
	return t.AsTime()
}

// OrderRequest is the common part of requests to buy or hold spaces.
type OrderRequest struct {
	Purchaser string
	Lines     []*bookingv1.TransactionLine
	PaymentRequest
	Code       string
	AfterStart string
}

// Order reads and checks an order.
func Order(r OrderRequest) (model.Order, error) {
	var faults check.Fields
	o := model.Order{Code: strings.TrimSpace(r.Code), AfterStart: faults.Prose("after_start_reason", r.AfterStart, 0, model.MaxReason)}
	o.Payment = payment(&faults, "payment_method", "payment_reference", r.PaymentRequest) // of lines without their own
	if err := faults.Err(); err != nil {
		return o, err
	}
	for _, l := range r.Lines {
		spaces := l.GetSpaces()
		if spaces == 0 {
			spaces = 1
		}
		o.Lines = append(o.Lines, model.Line{Spaces: spaces})
	}
	if n := len(r.Lines); n > 0 && n <= model.MaxLines { // the check refuses others
		o.Lines = linePayments(&faults, r.Lines, o.Lines)
		onlyByPass(&faults, r.PaymentRequest, o.ByPass())
	}
	if err := faults.Err(); err != nil {
		return o, err
	}
	var err error
	if o.Payment.Pass, err = passOf(r.PaymentRequest); err != nil {
		return o, err
	}
	if err := o.Check(); err != nil {
		return o, err
	}
	if o.Purchaser, err = check.ID[id.Customer](r.Purchaser, "customer"); err != nil {
		return o, err
	}
	for i, l := range r.Lines {
		to := &o.Lines[i]
		if l.GetEventId() != "" {
			if to.Event, err = check.ID[id.Event](l.GetEventId(), "event"); err != nil {
				return o, err
			}
		}
		if l.GetEventDateId() != "" || to.Event.IsZero() {
			if to.Date, err = id.Parse[id.EventDate](l.GetEventDateId()); err != nil {
				return o, model.MissingInLine(i, "event_date_id", "event date")
			}
		}
		if l.GetPricingOptionId() != "" {
			if to.Option, err = id.Parse[id.PricingOption](l.GetPricingOptionId()); err != nil {
				return o, model.MissingInLine(i, "pricing_option_id", "pricing option")
			}
		}
		if l.GetBoughtForId() != "" {
			if to.BoughtFor, err = check.ID[id.Customer](l.GetBoughtForId(), "customer"); err != nil {
				return o, err
			}
		}
	}
	return o, nil
}

// Transaction converts a transaction with its bookings.
func Transaction(t *model.Transaction) *bookingv1.Transaction {
	out := &bookingv1.Transaction{
		Id: t.ID.String(), Purchaser: customerToProto(&t.Purchaser), PurchasedAt: timestamppb.New(t.PurchasedAt),
		Timezone: t.Timezone, Version: t.Version, Bookings: make([]*bookingv1.Booking, len(t.Bookings)),
		UpdatedAt: timestamppb.New(t.UpdatedAt),
	}
	for i := range t.Bookings {
		out.Bookings[i] = Booking(t, &t.Bookings[i])
	}
	return out
}

func customerToProto(c *model.Customer) *bookingv1.CustomerReference {
	return &bookingv1.CustomerReference{Id: c.ID.String(), FirstName: c.FirstName, LastName: c.LastName, Email: c.Email}
}

// Booking converts a booking of t. A booking has the version and the time of the last change of its
// transaction.
func Booking(t *model.Transaction, b *model.Booking) *bookingv1.Booking {
	d := &b.Date
	out := &bookingv1.Booking{
		Id: b.ID.String(), IsCancelled: b.Cancelled, IsRefunded: b.Refunded, Spaces: b.Spaces,
		EventId: d.Event.String(), EventTitle: d.EventTitle, EventType: valueOf[bookingv1.EventType](d.EventType),
		EventDateId: d.ID.String(), StartsAt: timestamppb.New(d.StartsAt), Timezone: d.Timezone,
		DurationMinutes: d.Minutes, PricingOptionId: b.Option.String(), Attendance: attendanceToProto(b.Attendance),
		CreatedAt: timestamppb.New(model.CreatedAt(b.ID.UUID())), UpdatedAt: timestamppb.New(t.UpdatedAt),
		Late: b.Late, CreditsReturned: b.CreditsReturned(), CancellationReason: b.Reason, CancelledAt: timestampOf(b.CancelledAt),
		RefundDue: b.RefundDue, RefundedAmount: b.RefundedAmount, RefundedAt: timestampOf(b.RefundedAt),
		Price: b.Price, ManagedById: t.Manager(b).String(),
	}
	if b.BoughtFor != nil {
		out.BoughtFor = customerToProto(b.BoughtFor)
	}
	switch p := &b.Payment; {
	case p.Method.IsMoney():
		out.Payment = &bookingv1.Booking_Card{Card: &bookingv1.CardPayment{
			Method: methodToProto(p.Method), Currency: p.Currency, Gross: p.Gross, Net: p.Net, Reference: p.Reference,
			Discount: p.Discount, DiscountCode: p.Code,
		}}
	case p.Method == model.Pass:
		out.Payment = &bookingv1.Booking_Pass{Pass: &bookingv1.PassPayment{
			CreditsUsed: p.Credits, CustomerPassId: p.CustomerPass.String(),
		}}
	}
	return out
}

// Snapshot converts one booking of t for an event, with its movements of money.
func Snapshot(t *model.Transaction, b *model.Booking) *bookingv1.BookingSnapshot {
	s := PreviousSnapshot(t, b)
	for _, m := range t.Movements(b) {
		s.Movements = append(s.Movements, &bookingv1.MoneyMovement{
			Sequence: m.Sequence, Gross: m.Gross, Net: m.Net, Currency: b.Payment.Currency, Method: methodToProto(m.Method),
			TaxRateBasisPoints: m.TaxRate, At: timestamppb.New(m.At), Day: m.Day,
		})
	}
	return s
}

// PreviousSnapshot converts one booking of t, as it is before a change, for an event.
func PreviousSnapshot(t *model.Transaction, b *model.Booking) *bookingv1.BookingSnapshot {
	return &bookingv1.BookingSnapshot{
		TransactionId: t.ID.String(), Purchaser: customerToProto(&t.Purchaser),
		PurchasedAt: timestamppb.New(t.PurchasedAt), Version: t.Version, Booking: Booking(t, b),
	}
}

// timestampOf converts a time; zero is unset.
func timestampOf(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}
