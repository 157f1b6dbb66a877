// Package subjects names the events that one service publishes and others consume. A
// service names its other events in its own events.go.
package subjects

// The auth service publishes these.
const (
	CompanyCreated = "auth.v1.company_created"
	CompanyUpdated = "auth.v1.company_updated"

	// SigningKeysChanged and CredentialRevoked are followed by a key: "all", or the
	// identifier of the credential. The stream keeps the last event of each key.
	SigningKeysChanged = "auth.v1.signing_keys_changed."
	CredentialRevoked  = "auth.v1.credential_revoked."
)

// The customer service publishes these. AllOfCustomers is the pattern of all its events.
const (
	CustomerCreated = "customer.v1.customer_created"
	CustomerUpdated = "customer.v1.customer_updated"
	CustomerDeleted = "customer.v1.customer_deleted"
	CustomerErased  = "customer.v1.customer_erased"

	AllOfCustomers = "customer.v1.*"
)

// BookingConfirmed is published by the booking service.
const BookingConfirmed = "booking.v1.booking_confirmed"

// CustomerPassAssigned is published by the pass service.
const CustomerPassAssigned = "pass.v1.customer_pass_assigned"
