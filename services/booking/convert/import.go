package convert

import (
	"strings"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// ImportedTransaction reads one line of an import. zone is the default zone of its dates.
func ImportedTransaction(t *bookingv1.ImportedTransaction, zone string) model.ImportedTransaction {
	out := model.ImportedTransaction{
		Reference: strings.TrimSpace(t.GetReference()), Customer: strings.TrimSpace(t.GetCustomer()),
		PurchasedAt: Instant(t.GetPurchasedAt()), Bookings: make([]model.ImportedBooking, len(t.GetBookings())),
	}
	for i, b := range t.GetBookings() {
		out.Bookings[i] = importedBookingOf(b, zone)
	}
	return out
}

func importedBookingOf(b *bookingv1.ImportedBooking, zone string) model.ImportedBooking {
	out := model.ImportedBooking{
		Spaces: b.GetSpaces(), Cancelled: b.GetIsCancelled(), Refunded: b.GetIsRefunded(),
		BoughtFor: strings.TrimSpace(b.GetBoughtFor()), DateID: b.GetEventDateId(),
		OptionID: b.GetPricingOptionId(), OptionName: strings.TrimSpace(b.GetPricingOptionName()),
	}
	if d := b.GetImportedDate(); d != nil {
		out.Described = &model.DescribedDate{
			EventReference: strings.TrimSpace(d.GetEventReference()), Title: strings.TrimSpace(d.GetTitle()),
			EventType: EventType(d.GetType()), StartsAt: Instant(d.GetStartsAt()),
			Timezone: d.GetTimezone(), Minutes: d.GetDurationMinutes(), Capacity: d.Capacity,
		}
		if out.Described.Timezone == "" {
			out.Described.Timezone = zone
		}
	}
	if d := b.GetExistingDate(); d != nil {
		out.Named = &model.NamedDate{
			ID: strings.TrimSpace(d.GetEventDateId()), Title: strings.TrimSpace(d.GetTitle()), StartsAt: Instant(d.GetStartsAt()),
		}
	}
	switch p := b.GetPayment().(type) {
	case *bookingv1.ImportedBooking_Card:
		out.Payment = importedCard(p.Card)
	case *bookingv1.ImportedBooking_Pass:
		out.Payment = model.Payment{Method: model.Pass, Credits: p.Pass.GetCreditsUsed()}
		out.PassID = p.Pass.GetCustomerPassId()
	}
	return out
}

// importedCard reads a payment that is not by pass.
func importedCard(card *bookingv1.CardPayment) model.Payment {
	method, ok := Method(card.GetMethod())
	if !ok || method == model.Pass {
		method = model.Method(card.GetMethod().String()) // not valid here: the check refuses it
	}
	return model.Payment{
		Method: method, Currency: card.GetCurrency(), Gross: card.GetGross(), Net: card.GetNet(), Reference: strings.TrimSpace(card.GetReference()),
	}
}

// ImportResult returns the result of one line.
func ImportResult(reference string, outcome bookingv1.ImportOutcome, transaction string) *bookingv1.ImportTransactionResult {
	return &bookingv1.ImportTransactionResult{Reference: reference, Outcome: outcome, Id: transaction}
}

// RefusedResult returns the result of a refused line.
func RefusedResult(reference string, why *model.ImportRefusal) *bookingv1.ImportTransactionResult {
	return &bookingv1.ImportTransactionResult{
		Reference: reference, Outcome: bookingv1.ImportOutcome_IMPORT_OUTCOME_REFUSED,
		Field: why.Field, Rule: why.Rule, Message: why.Message,
	}
}
