package convert

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// NewWaitlistEntry reads and checks a request to join a waitlist.
func NewWaitlistEntry(req *bookingv1.JoinWaitlistRequest) (*model.WaitlistEntry, error) {
	how, err := Payment(PaymentRequest{Method: req.GetPaymentMethod(), Pass: req.GetCustomerPassId()})
	if err != nil {
		return nil, err
	}
	w := &model.WaitlistEntry{Spaces: req.GetSpaces(), Method: how.Method, Pass: how.Pass, State: model.EntryWaiting}
	if w.Spaces == 0 {
		w.Spaces = 1
	}
	var faults check.Fields
	faults.Range("spaces", int64(w.Spaces), 1, model.MaxSpaces)
	minutes := req.GetOfferMinutes()
	switch req.GetMode() {
	case bookingv1.WaitlistMode_WAITLIST_MODE_UNSPECIFIED, bookingv1.WaitlistMode_WAITLIST_MODE_OFFER:
		w.Mode, w.OfferMinutes = model.ModeOffer, &minutes
		if minutes == 0 {
			minutes = model.DefaultOfferMinutes
		}
		faults.Range("offer_minutes", int64(minutes), 1, model.MaxOfferMinutes)
		if w.Method != model.Card {
			faults.Add("payment_method", "exclusive", "must be left out: an offer is paid when it is accepted")
		}
	case bookingv1.WaitlistMode_WAITLIST_MODE_BOOK:
		w.Mode = model.ModeBook
		if minutes != 0 {
			faults.Add("offer_minutes", "exclusive", "is only for mode offer")
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

// WaitlistEntry converts an entry as readers see it at now.
func WaitlistEntry(w *model.WaitlistEntry, now time.Time) *bookingv1.WaitlistEntry {
	state := w.At(now)
	out := &bookingv1.WaitlistEntry{
		Id: w.ID.String(), EventDateId: w.Date.String(), CustomerId: w.Customer.String(), Spaces: w.Spaces,
		Mode: valueOf[bookingv1.WaitlistMode](w.Mode), State: valueOf[bookingv1.WaitlistState](state), JoinedAt: timestamppb.New(w.JoinedAt),
		PricingOptionId: w.Option.String(), EventId: w.Event.String(), UpdatedAt: timestamppb.New(w.UpdatedAt), Version: EntryVersion(w, now),
	}
	// The reason that a pending purchase was refused counts when its spaces are free again.
	if w.State != model.EntryBooking && w.PassedOver != "" {
		out.PassedOverReason, out.PassedOverAt = w.PassedOver, timestamppb.New(w.PassedOverAt)
	}
	if state == model.EntryWaiting {
		out.Position = int32(w.Position)
	}
	if !w.Transaction.IsZero() && w.State != model.EntryBooking {
		out.TransactionId = w.Transaction.String()
	}
	if state == model.EntryOffered {
		out.OfferExpiresAt = timestamppb.New(w.OfferExpiresAt)
	}
	if w.OfferMinutes != nil {
		out.OfferMinutes = *w.OfferMinutes
		return out
	}
	out.PaymentMethod = methodToProto(w.Method)
	if !w.Pass.IsZero() {
		out.CustomerPassId = w.Pass.String()
	}
	return out
}

// EntryVersion returns the version of an entry as readers see it at now. An entry that is shown as
// closed before it is stored as closed has the version that closing will give it.
func EntryVersion(w *model.WaitlistEntry, now time.Time) int64 {
	if w.At(now) == model.EntryClosed && w.State != model.EntryClosed {
		return w.Version + 1
	}
	return w.Version
}

// AnnouncedEntry converts an entry for an event after it has joined. It omits the position, which
// changes with every earlier entry.
func AnnouncedEntry(w *model.WaitlistEntry, now time.Time) *bookingv1.WaitlistEntry {
	e := WaitlistEntry(w, now)
	e.Position = 0
	return e
}

// PreviousEntry converts an entry as it was before a change, regardless of when the date starts.
func PreviousEntry(w *model.WaitlistEntry) *bookingv1.WaitlistEntry {
	before := *w
	before.DateStatus = model.Scheduled
	return AnnouncedEntry(&before, w.StartsAt.Add(-time.Microsecond))
}
