// Package money lists the supported currencies and payment methods. The services, both interfaces,
// the dashboard and the command line share these lists.
package money

import "slices"

// The ISO 4217 codes of the supported currencies that code names.
const (
	GBP = "GBP"
	EUR = "EUR"
	USD = "USD"
)

// Currencies returns the supported currencies. Each has two decimals, because amounts are stored and shown
// in hundredths. An error about another one uses the phrase fault.OneOf(Currencies()).
func Currencies() []string {
	return append(InterfaceA(), "AUD", "CAD", "CHF", "CZK", "DKK", "HKD", "NOK", "NZD", "PLN", "SEK", "SGD", "ZAR")
}

// InterfaceA returns the currencies that the member currency of Interface A can have.
func InterfaceA() []string { return []string{GBP, EUR, USD} }

// IsCurrency reports whether code is a supported currency.
func IsCurrency(code string) bool { return slices.Contains(Currencies(), code) }

// The payment methods. The money of every method except MethodPass was collected outside the platform,
// and with MethodFree there is none.
const (
	MethodCard         = "CARD"
	MethodPass         = "PASS"
	MethodCash         = "CASH"
	MethodBankTransfer = "BANK_TRANSFER"
	MethodOnline       = "ONLINE"
	MethodOther        = "OTHER"
	MethodFree         = "FREE"
)

// BookingMethods returns the payment methods of a booking, the default first. The order is that of
// the booking service's numbers, which start at 1.
func BookingMethods() []string {
	return []string{MethodCard, MethodPass, MethodCash, MethodBankTransfer, MethodOnline, MethodOther, MethodFree}
}

// PassMethods returns the payment methods of a customer pass, the default first.
func PassMethods() []string {
	return []string{MethodCard, MethodCash, MethodBankTransfer, MethodOnline, MethodOther, MethodFree}
}

// MoveMethods returns the payment methods of the price difference of a move.
func MoveMethods() []string { return SubscriptionMethods() }

// SubscriptionMethods returns the payment methods of a period of a subscription, the default first.
func SubscriptionMethods() []string {
	return []string{MethodCard, MethodCash, MethodBankTransfer, MethodOnline, MethodOther}
}
