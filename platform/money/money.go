// Package money lists the supported currencies and payment methods. The services, both interfaces,
// the dashboard and the command line share these lists.
package money

import "slices"

// The ISO 4217 codes of the supported currencies.
const (
	GBP = "GBP"
	EUR = "EUR"
	USD = "USD"
)

// Currencies returns the supported currencies. An error about another one uses the phrase
// fault.OneOf(Currencies()).
func Currencies() []string { return []string{GBP, EUR, USD} }

// IsCurrency reports whether code is a supported currency.
func IsCurrency(code string) bool { return slices.Contains(Currencies(), code) }

// The payment methods of a booking.
const (
	MethodCard = "CARD"
	MethodPass = "PASS"
)

// BookingMethods returns the payment methods of a booking, the default first.
func BookingMethods() []string { return []string{MethodCard, MethodPass} }

// MethodFree is the payment method of a pass that is given away.
const MethodFree = "FREE"

// PassMethods returns the payment methods of a customer pass, the default first.
func PassMethods() []string {
	return []string{MethodCard, "CASH", "BANK_TRANSFER", "ONLINE", "OTHER", MethodFree}
}
