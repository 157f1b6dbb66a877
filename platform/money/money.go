// Package money lists the currencies of prices and the ways to pay, which the services,
// both interfaces, the dashboard and the command line share.
package money

import "slices"

// The currencies, by their ISO 4217 codes.
const (
	GBP = "GBP"
	EUR = "EUR"
	USD = "USD"
)

// Currencies returns the currencies that a price can be in. The phrase of an error
// about another one is fault.OneOf(Currencies()).
func Currencies() []string { return []string{GBP, EUR, USD} }

// IsCurrency reports whether a price can be in the currency.
func IsCurrency(code string) bool { return slices.Contains(Currencies(), code) }

// The ways to pay for a booking.
const (
	MethodCard = "CARD"
	MethodPass = "PASS"
)

// BookingMethods returns the ways to pay for a booking, the default first.
func BookingMethods() []string { return []string{MethodCard, MethodPass} }

// MethodFree is how a pass that is given away is paid.
const MethodFree = "FREE"

// PassMethods returns the ways to pay for a pass, the default first.
func PassMethods() []string {
	return []string{MethodCard, "CASH", "BANK_TRANSFER", "ONLINE", "OTHER", MethodFree}
}
