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

// The booking service publishes these.
const (
	EventCreated       = "booking.v1.event_created"
	EventDatesAdded    = "booking.v1.event_dates_added"
	EventUpdated       = "booking.v1.event_updated"
	EventCancelled     = "booking.v1.event_cancelled"
	EventDateUpdated   = "booking.v1.event_date_updated"
	EventDateCancelled = "booking.v1.event_date_cancelled"

	BookingConfirmed   = "booking.v1.booking_confirmed"
	BookingCancelled   = "booking.v1.booking_cancelled"
	BookingRefunded    = "booking.v1.booking_refunded"
	BookingMoved       = "booking.v1.booking_moved"
	BookingTransferred = "booking.v1.booking_transferred"
	AttendanceRecorded = "booking.v1.attendance_recorded"

	// Imports publish these instead. No webhook follows them.
	EventsImported       = "booking.v1.events_imported"
	TransactionsImported = "booking.v1.transactions_imported"

	HoldExpired     = "booking.v1.hold_expired"
	WaitlistJoined  = "booking.v1.waitlist_joined"
	WaitlistOffered = "booking.v1.waitlist_offered"
	WaitlistEnded   = "booking.v1.waitlist_ended"

	AppointmentBooked    = "booking.v1.appointment_booked"
	AppointmentMoved     = "booking.v1.appointment_moved"
	AppointmentCancelled = "booking.v1.appointment_cancelled"
)

// The pass service publishes these.
const (
	CustomerPassAssigned = "pass.v1.customer_pass_assigned"
	CustomerPassUpdated  = "pass.v1.customer_pass_updated"
	// No webhook follows an imported pass.
	CustomerPassImported = "pass.v1.customer_pass_imported"
)

// The subscription service publishes these.
const (
	SubscriptionCreated         = "subscription.v1.subscription_created"
	SubscriptionUpdated         = "subscription.v1.subscription_updated"
	SubscriptionRenewed         = "subscription.v1.subscription_renewed"
	SubscriptionPaymentDue      = "subscription.v1.subscription_payment_due"
	SubscriptionPaymentRecorded = "subscription.v1.subscription_payment_recorded"
	SubscriptionEnded           = "subscription.v1.subscription_ended"
	// No webhook follows an imported subscription.
	SubscriptionImported = "subscription.v1.subscription_imported"
)

// The media service publishes these.
const (
	MediaItemCreated        = "media.v1.media_item_created"
	MediaItemUpdated        = "media.v1.media_item_updated"
	MediaItemDeleted        = "media.v1.media_item_deleted"
	MediaEntitlementCreated = "media.v1.media_entitlement_created"
	MediaEntitlementDeleted = "media.v1.media_entitlement_deleted"
	MediaCompleted          = "media.v1.media_completed"
)

// RequestsReceived is the subject of the batches of requests that the gateways publish for the request
// log. It has a stream of its own, which discards the oldest batches when it is full.
const RequestsReceived = "edge.requests_received"
