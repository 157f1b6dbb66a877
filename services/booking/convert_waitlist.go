package booking

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// waiterOf reads a request to wait.
func waiterOf(req *bookingv1.JoinWaitlistRequest) (*waiter, error) {
	how, err := paymentOf(payment{method: req.GetPaymentMethod(), pass: req.GetCustomerPassId()})
	if err != nil {
		return nil, err
	}
	w := &waiter{Spaces: req.GetSpaces(), Method: how.method, Pass: how.pass, State: entryWaiting}
	if w.Spaces == 0 {
		w.Spaces = 1
	}
	var faults check.Fields
	faults.Range("spaces", int64(w.Spaces), 1, maxSpaces)
	minutes := req.GetOfferMinutes()
	switch req.GetMode() {
	case bookingv1.WaitlistMode_WAITLIST_MODE_UNSPECIFIED, bookingv1.WaitlistMode_WAITLIST_MODE_OFFER:
		w.Mode, w.OfferMinutes = modeOffer, &minutes
		if minutes == 0 {
			minutes = defaultOfferMinutes
		}
		faults.Range("offer_minutes", int64(minutes), 1, maxOfferMinutes)
		if w.Method == Pass {
			faults.Add("payment_method", "exclusive", "is said when the offer is accepted")
		}
	case bookingv1.WaitlistMode_WAITLIST_MODE_BOOK:
		w.Mode = modeBook
		if minutes != 0 {
			faults.Add("offer_minutes", "exclusive", "is for offers")
		}
	default:
		faults.Add("mode", "enum", "must be offer or book")
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	if w.Date, err = check.ID[id.EventDate](req.GetEventDateId(), "event date"); err != nil {
		return nil, err
	}
	if w.Customer, err = check.ID[id.Customer](req.GetCustomerId(), "customer"); err != nil {
		return nil, err
	}
	if req.GetPricingOptionId() != "" {
		if w.Option, err = check.ID[id.PricingOption](req.GetPricingOptionId(), "pricing option"); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func waitModes() map[waitMode]bookingv1.WaitlistMode {
	return map[waitMode]bookingv1.WaitlistMode{
		modeOffer: bookingv1.WaitlistMode_WAITLIST_MODE_OFFER,
		modeBook:  bookingv1.WaitlistMode_WAITLIST_MODE_BOOK,
	}
}

func waitStates() map[waitState]bookingv1.WaitlistState {
	return map[waitState]bookingv1.WaitlistState{
		entryWaiting: bookingv1.WaitlistState_WAITLIST_STATE_WAITING,
		entryOffered: bookingv1.WaitlistState_WAITLIST_STATE_OFFERED,
		entryBooked:  bookingv1.WaitlistState_WAITLIST_STATE_BOOKED,
		entryExpired: bookingv1.WaitlistState_WAITLIST_STATE_EXPIRED,
		entryLeft:    bookingv1.WaitlistState_WAITLIST_STATE_LEFT,
		entryClosed:  bookingv1.WaitlistState_WAITLIST_STATE_CLOSED,
	}
}

// waiterToProto converts an entry as readers see it at now.
func waiterToProto(w *waiter, now time.Time) *bookingv1.WaitlistEntry {
	state := w.at(now)
	out := &bookingv1.WaitlistEntry{
		Id: w.ID.String(), EventDateId: w.Date.String(), CustomerId: w.Customer.String(), Spaces: w.Spaces,
		Mode: waitModes()[w.Mode], State: waitStates()[state], JoinedAt: timestamppb.New(w.JoinedAt),
		PassedOverReason: w.PassedOver, PricingOptionId: w.Option.String(),
	}
	if state == entryWaiting {
		out.Position = int32(w.position)
	}
	if !w.Transaction.IsZero() && w.State != entryBooking {
		out.TransactionId = w.Transaction.String()
	}
	if state == entryOffered {
		out.OfferExpiresAt = timestamppb.New(w.OfferExpiresAt)
	}
	if !w.PassedOverAt.IsZero() {
		out.PassedOverAt = timestamppb.New(w.PassedOverAt)
	}
	if w.OfferMinutes != nil {
		out.OfferMinutes = *w.OfferMinutes
		return out
	}
	out.PaymentMethod = bookingv1.PaymentMethod_PAYMENT_METHOD_CARD
	if w.Method == Pass {
		out.PaymentMethod = bookingv1.PaymentMethod_PAYMENT_METHOD_PASS
		if !w.Pass.IsZero() {
			out.CustomerPassId = w.Pass.String()
		}
	}
	return out
}

// announcedWaiter converts an entry for an event. It has no position, which changes
// with every entry before it.
func announcedWaiter(w *waiter, now time.Time) *bookingv1.WaitlistEntry {
	e := waiterToProto(w, now)
	e.Position = 0
	return e
}
