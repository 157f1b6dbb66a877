package booking

import (
	"strings"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// importedOf reads one line of an import; zone is meant where a date has none.
func importedOf(t *bookingv1.ImportedTransaction, zone string) imported {
	out := imported{
		reference: strings.TrimSpace(t.GetReference()), customer: strings.TrimSpace(t.GetCustomer()),
		purchasedAt: instantOf(t.GetPurchasedAt()), bookings: make([]importedBooking, len(t.GetBookings())),
	}
	for i, b := range t.GetBookings() {
		out.bookings[i] = importedBookingOf(b, zone)
	}
	return out
}

func importedBookingOf(b *bookingv1.ImportedBooking, zone string) importedBooking {
	out := importedBooking{
		spaces: b.GetSpaces(), cancelled: b.GetIsCancelled(), refunded: b.GetIsRefunded(),
		boughtFor: strings.TrimSpace(b.GetBoughtFor()), dateID: b.GetEventDateId(),
		optionID: b.GetPricingOptionId(), optionName: strings.TrimSpace(b.GetPricingOptionName()),
	}
	if d := b.GetImportedDate(); d != nil {
		out.described = &describedDate{
			eventReference: strings.TrimSpace(d.GetEventReference()), title: strings.TrimSpace(d.GetTitle()),
			eventType: eventTypeOf(d.GetType()), startsAt: instantOf(d.GetStartsAt()),
			timezone: d.GetTimezone(), minutes: d.GetDurationMinutes(), capacity: d.Capacity,
		}
		if out.described.timezone == "" {
			out.described.timezone = zone
		}
	}
	switch p := b.GetPayment().(type) {
	case *bookingv1.ImportedBooking_Card:
		out.payment = Payment{
			Method: Card, Currency: p.Card.GetCurrency(), Gross: p.Card.GetGross(), Net: p.Card.GetNet(),
			Reference: strings.TrimSpace(p.Card.GetReference()),
		}
	case *bookingv1.ImportedBooking_Pass:
		out.payment = Payment{Method: Pass, Credits: p.Pass.GetCreditsUsed()}
		out.passID = p.Pass.GetCustomerPassId()
	}
	return out
}

// importResult says what became of one line.
func importResult(reference string, outcome bookingv1.ImportOutcome, transaction string) *bookingv1.ImportTransactionResult {
	return &bookingv1.ImportTransactionResult{Reference: reference, Outcome: outcome, Id: transaction}
}

func refusedResult(reference string, why *refusal) *bookingv1.ImportTransactionResult {
	return &bookingv1.ImportTransactionResult{
		Reference: reference, Outcome: bookingv1.ImportOutcome_IMPORT_OUTCOME_REFUSED,
		Field: why.field, Rule: why.rule, Message: why.message,
	}
}
