package resource

import "strings"

// Resources that are the same thing under two names have identifiers with different prefixes and the
// same value.
const (
	registrationPrefix, bookingPrefix = "reg_", "booking_"
	holdPrefix, transactionPrefix     = "hold_", "txn_"
	subscriptionPrefix, passPrefix    = "sub_", "cp_"
)

// RegistrationID returns the identifier of a registration, given its booking's.
func RegistrationID(booking string) string {
	return renamed(booking, bookingPrefix, registrationPrefix)
}

// BookingID returns the booking's identifier, or "" if registration is not an identifier of a
// registration.
func BookingID(registration string) string {
	return renamed(registration, registrationPrefix, bookingPrefix)
}

// HoldID returns the identifier of a hold, given its transaction's.
func HoldID(transaction string) string { return renamed(transaction, transactionPrefix, holdPrefix) }

// HoldTransactionID returns the transaction's identifier, or "" if hold is not an identifier of a
// hold.
func HoldTransactionID(hold string) string { return renamed(hold, holdPrefix, transactionPrefix) }

// SubscriptionPassID returns the identifier of the customer pass of a subscription, or "" if subscription
// is not an identifier of a subscription. Both have the same UUID.
func SubscriptionPassID(subscription string) string {
	return renamed(subscription, subscriptionPrefix, passPrefix)
}

func renamed(identifier, from, to string) string {
	value, ok := strings.CutPrefix(identifier, from)
	if !ok {
		return ""
	}
	return to + value
}
