// Package scopes defines the scopes of access tokens, and which scopes each kind of credential can
// have. Interface B and the dashboard call the scopes of an API key its permissions. Package roles has
// those of administrators.
package scopes

import "slices"

// The scopes. token.Admin includes all of them; only the platform's own credentials have it.
const (
	AdministratorsRead      = "administrators:read"
	AdministratorsWrite     = "administrators:write"
	APIClientsRead          = "api-clients:read"
	APIClientsWrite         = "api-clients:write"
	APIKeysRead             = "api-keys:read"
	APIKeysWrite            = "api-keys:write"
	AppointmentTypesRead    = "appointment-types:read"
	AppointmentTypesWrite   = "appointment-types:write"
	AppointmentsRead        = "appointments:read"
	AppointmentsWrite       = "appointments:write"
	AttendanceWrite         = "attendance:write"
	AuditRead               = "audit:read"
	AuditWrite              = "audit:write"
	BookingsRead            = "bookings:read"
	BookingsWrite           = "bookings:write"
	CalendarsRead           = "calendars:read"
	CalendarsWrite          = "calendars:write"
	CatalogRead             = "catalog:read"
	CompanyRead             = "company:read"
	CompanyWrite            = "company:write"
	CustomerPassesRead      = "customer-passes:read"
	CustomerPassesWrite     = "customer-passes:write"
	CustomersRead           = "customers:read"
	CustomersWrite          = "customers:write"
	DirectoryRead           = "directory:read"
	DiscountsRead           = "discounts:read"
	DiscountsWrite          = "discounts:write"
	EventsRead              = "events:read"
	EventsWrite             = "events:write"
	HoldsRead               = "holds:read"
	HoldsWrite              = "holds:write"
	MediaRead               = "media:read"
	MediaWrite              = "media:write"
	NotesRead               = "notes:read"
	NotesWrite              = "notes:write"
	OwnClassesRead          = "own-classes:read"
	PassesRead              = "passes:read"
	PassesWrite             = "passes:write"
	PlansRead               = "plans:read"
	PlansWrite              = "plans:write"
	PlaybackWrite           = "playback:write"
	PrivacyRead             = "privacy:read"
	PrivacyWrite            = "privacy:write"
	ProfileRead             = "profile:read"
	ProfileWrite            = "profile:write"
	RedemptionsWrite        = "redemptions:write"
	RegistrationsRead       = "registrations:read"
	RegistrationsWrite      = "registrations:write"
	ReportsRead             = "reports:read"
	ReportsWrite            = "reports:write"
	RequestsRead            = "requests:read"
	RoomsRead               = "rooms:read"
	RoomsWrite              = "rooms:write"
	SalesWrite              = "sales:write"
	ServiceCredentialsRead  = "service-credentials:read"
	ServiceCredentialsWrite = "service-credentials:write"
	StaffRead               = "staff:read"
	StaffWrite              = "staff:write"
	SubscriptionsRead       = "subscriptions:read"
	SubscriptionsWrite      = "subscriptions:write"
	TestModeRead            = "test-mode:read"
	TestModeWrite           = "test-mode:write"
	TransactionsRead        = "transactions:read"
	TransactionsWrite       = "transactions:write"
	WaitlistRead            = "waitlist:read"
	WaitlistWrite           = "waitlist:write"
	WebhooksRead            = "webhooks:read"
	WebhooksWrite           = "webhooks:write"
)

// Everything is the permission of an API key that includes all permissions of InterfaceB, also those
// that are added later.
const Everything = "*"

// InterfaceA returns the scopes that an API client can have. On Interface A, PassesRead means the passes
// of a customer.
func InterfaceA() []string {
	return []string{CustomersRead, ProfileRead, ProfileWrite, BookingsRead, PassesRead, NotesRead, NotesWrite, SubscriptionsRead, MediaRead, AppointmentsRead}
}

// InToken returns the scopes that the token of an API client with the granted scopes carries. To
// show the passes of a customer, Interface A calls the pass service with CustomerPassesRead, which a
// client cannot have on its own.
func InToken(granted []string) []string {
	if !slices.Contains(granted, PassesRead) {
		return granted
	}
	carried := append(slices.Clone(granted), CustomerPassesRead)
	slices.Sort(carried)
	return slices.Compact(carried)
}

// InterfaceB returns the permissions that an API key can have in addition to Everything. They are
// sorted, like the scopes of a token.
func InterfaceB() []string {
	return []string{
		AppointmentTypesRead, AppointmentTypesWrite, AppointmentsRead, AppointmentsWrite, CalendarsRead, CalendarsWrite, CustomerPassesRead,
		CustomerPassesWrite, CustomersRead, CustomersWrite, DiscountsRead, DiscountsWrite, EventsRead, EventsWrite, HoldsRead, HoldsWrite,
		MediaRead, MediaWrite, PassesRead, PassesWrite, PlansRead, PlansWrite, PlaybackWrite, RegistrationsRead, RegistrationsWrite,
		ReportsRead, RequestsRead, RoomsRead, RoomsWrite, StaffRead, StaffWrite, SubscriptionsRead, SubscriptionsWrite, TestModeRead, TestModeWrite,
		TransactionsRead, TransactionsWrite, WaitlistRead, WaitlistWrite, WebhooksRead, WebhooksWrite,
	}
}

// Expand returns the scopes of a token for an API key with the given permissions.
func Expand(permissions []string) []string {
	if slices.Contains(permissions, Everything) {
		return InterfaceB()
	}
	return permissions
}

// Service returns the scopes that a service credential of a company can have.
func Service() []string {
	return append(InterfaceA(),
		CustomersWrite, BookingsWrite, EventsRead, EventsWrite, PassesWrite,
		CustomerPassesRead, CustomerPassesWrite, RedemptionsWrite, DiscountsRead, DiscountsWrite,
		RegistrationsRead, RegistrationsWrite, TransactionsRead, TransactionsWrite, HoldsRead, HoldsWrite, WaitlistRead, WaitlistWrite,
		PlansRead, PlansWrite, SubscriptionsWrite, PlaybackWrite, MediaWrite, WebhooksRead, WebhooksWrite,
		AppointmentsWrite, AppointmentTypesRead, AppointmentTypesWrite, CalendarsRead, CalendarsWrite, RoomsRead, RoomsWrite, StaffRead, StaffWrite,
		CompanyRead, CompanyWrite, APIClientsRead, APIClientsWrite, APIKeysRead, APIKeysWrite,
		ServiceCredentialsRead, ServiceCredentialsWrite,
		AuditRead, AuditWrite, PrivacyRead, PrivacyWrite, ReportsRead, ReportsWrite, RequestsRead, TestModeRead, TestModeWrite)
}

// Platform returns the scopes of the platform's own credentials that are not for companies. A token
// without a company that has only these needs no platform:admin, and can call nothing else.
func Platform() []string { return []string{DirectoryRead} }

// ArePlatform reports whether there are scopes, and all of them are those of Platform.
func ArePlatform(scopes []string) bool {
	return len(scopes) > 0 && !slices.ContainsFunc(scopes, func(scope string) bool { return !slices.Contains(Platform(), scope) })
}

// Publishable returns the scopes of a token for a publishable key.
func Publishable() []string { return []string{CatalogRead} }
