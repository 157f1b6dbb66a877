package message

import (
	"reservation.dev/platform/resource"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// eventPurchased is event.purchased: a one-off event or a workshop was bought, and not with a pass.
func eventPurchased() kind[*bookingv1.BookingConfirmed] {
	return kind[*bookingv1.BookingConfirmed]{
		event: webhookv1.EventType_EVENT_TYPE_EVENT_PURCHASED, read: readEventPurchase, sample: sampleBooking,
	}
}

func readEventPurchase(e *bookingv1.BookingConfirmed) (*Draft, error) {
	b := e.GetBooking().GetBooking()
	oneOff := b.GetEventType() == bookingv1.EventType_EVENT_TYPE_EVENT || b.GetEventType() == bookingv1.EventType_EVENT_TYPE_WORKSHOP
	if !oneOff || b.GetCard() == nil {
		return nil, nil
	}
	return &Draft{
		Customers: []string{e.GetBooking().GetPurchaser().GetId()},
		data:      func(Records) ([]byte, error) { return eventPurchaseData(e.GetBooking()), nil },
	}, nil
}

// eventPurchaseData shows the customer who bought.
func eventPurchaseData(s *bookingv1.BookingSnapshot) []byte {
	b := s.GetBooking()
	var o object
	o.text("purchaseId", publicID("pur_", b.GetId()))
	o.person(personOf(s.GetPurchaser()))
	o.text("eventId", b.GetEventId())
	o.text("eventTitle", b.GetEventTitle())
	o.instant("eventDate", b.GetStartsAt().AsTime())
	o.number("tickets", int64(b.GetSpaces()))
	o.amount("totalPaid", b.GetCard().GetGross())
	o.text("currency", b.GetCard().GetCurrency())
	o.text("paymentMethod", resource.PaymentMethodName(b.GetCard().GetMethod()))
	o.textOrNull("discountCode", b.GetCard().GetDiscountCode())
	return o.end()
}
