package roles

import "reservation.dev/platform/scopes"

// Capability is something that an administrator may do in the dashboard.
type Capability string

// The capabilities.
const (
	OwnAccount          Capability = "own-account"
	OwnClasses          Capability = "own-classes"
	SeeSchedule         Capability = "see-schedule"
	CheckIn             Capability = "check-in"
	SellAndBook         Capability = "sell-and-book"
	ChangeBookings      Capability = "change-bookings"
	SeeCustomers        Capability = "see-customers"
	EditCustomers       Capability = "edit-customers"
	UseTestMode         Capability = "use-test-mode"
	ArchiveCustomers    Capability = "archive-customers"
	EditEvents          Capability = "edit-events"
	EditCatalog         Capability = "edit-catalog"
	EditStaff           Capability = "edit-staff"
	ManagePasses        Capability = "manage-passes"
	ManageSubscriptions Capability = "manage-subscriptions"
	ManageLibrary       Capability = "manage-library"
	SeeReports          Capability = "see-reports"
	ExportAndImport     Capability = "export-and-import"
	CompanySettings     Capability = "company-settings"
	Credentials         Capability = "credentials"
	Webhooks            Capability = "webhooks"
	Administrators      Capability = "administrators"
	AuditLog            Capability = "audit-log"
	PersonalData        Capability = "personal-data"
	TestData            Capability = "test-data"
)

// Entry is a row of the table.
type Entry struct {
	Capability Capability
	// About completes the sentence "The administrator may …".
	About string
	// Scopes are what a token needs for it.
	Scopes []string
	Roles  []Role
}

// Table returns the capabilities with their scopes and roles.
func Table() []Entry {
	everyone := All()
	business := []Role{Owner, Manager}
	desk := []Role{Owner, Manager, FrontDesk}
	owner := []Role{Owner}
	return []Entry{
		// The audit log has the changes of every role.
		{OwnAccount, "manage their own account", []string{scopes.AuditWrite}, everyone},
		{OwnClasses, "see their own classes and appointments, and check in there",
			[]string{scopes.OwnClassesRead, scopes.AttendanceWrite}, []Role{Teacher}},
		{SeeSchedule, "see the schedule, events and appointments", []string{
			scopes.EventsRead, scopes.AppointmentsRead, scopes.AppointmentTypesRead, scopes.StaffRead, scopes.RoomsRead,
			scopes.RegistrationsRead, scopes.TransactionsRead, scopes.HoldsRead, scopes.WaitlistRead,
		}, desk},
		{CheckIn, "check in and mark no-shows", []string{scopes.RegistrationsRead, scopes.RegistrationsWrite}, desk},
		{SellAndBook, "sell and book, with walk-ins and waitlists", []string{
			scopes.SalesWrite, scopes.TransactionsWrite, scopes.HoldsWrite, scopes.WaitlistWrite,
			scopes.PassesRead, scopes.PlansRead, scopes.DiscountsRead,
		}, desk},
		{ChangeBookings, "move, transfer, cancel and refund bookings", []string{
			scopes.RegistrationsWrite, scopes.SalesWrite, scopes.WaitlistWrite,
		}, desk},
		{SeeCustomers, "see customers with their passes and subscriptions", []string{
			scopes.CustomersRead, scopes.ProfileRead, scopes.NotesRead, scopes.CustomerPassesRead, scopes.SubscriptionsRead,
			scopes.PassesRead, scopes.PlansRead, scopes.MediaRead,
		}, desk},
		{EditCustomers, "add and edit customers and notes", []string{scopes.SalesWrite, scopes.ProfileWrite, scopes.NotesWrite}, desk},
		{UseTestMode, "use test mode", []string{scopes.TestModeRead}, desk},
		{ArchiveCustomers, "archive and delete customers", []string{scopes.CustomersWrite}, business},
		{EditEvents, "edit events, dates and prices", []string{scopes.EventsWrite}, business},
		{EditCatalog, "edit discount codes, pass types and plans", []string{
			scopes.DiscountsRead, scopes.DiscountsWrite, scopes.PassesRead, scopes.PassesWrite, scopes.PlansRead, scopes.PlansWrite,
		}, business},
		{EditStaff, "edit staff, rooms, appointment types and calendars", []string{
			scopes.StaffRead, scopes.StaffWrite, scopes.RoomsRead, scopes.RoomsWrite, scopes.AppointmentTypesRead,
			scopes.AppointmentTypesWrite, scopes.CalendarsRead, scopes.CalendarsWrite,
		}, business},
		{ManagePasses, "adjust, extend and cancel passes", []string{scopes.CustomerPassesRead, scopes.CustomerPassesWrite}, business},
		{ManageSubscriptions, "pause, change and cancel subscriptions", []string{
			scopes.SubscriptionsRead, scopes.SubscriptionsWrite,
		}, business},
		{ManageLibrary, "manage the library", []string{scopes.MediaRead, scopes.MediaWrite, scopes.PlaybackWrite}, business},
		{SeeReports, "see reports", []string{scopes.ReportsRead}, business},
		{ExportAndImport, "export and import data", []string{
			scopes.CustomersRead, scopes.CustomersWrite, scopes.BookingsRead, scopes.BookingsWrite, scopes.AppointmentsRead,
			scopes.AppointmentsWrite, scopes.SubscriptionsRead, scopes.SubscriptionsWrite, scopes.CustomerPassesRead,
			scopes.CustomerPassesWrite,
		}, business},
		{CompanySettings, "change the company's settings", []string{
			scopes.CompanyRead, scopes.CompanyWrite, scopes.SubscriptionsRead, scopes.SubscriptionsWrite, scopes.ReportsWrite,
		}, owner},
		{Credentials, "manage API clients and API keys, and see the request log", []string{
			scopes.APIClientsRead, scopes.APIClientsWrite, scopes.APIKeysRead, scopes.APIKeysWrite, scopes.ServiceCredentialsRead,
			scopes.ServiceCredentialsWrite, scopes.RequestsRead,
		}, owner},
		{Webhooks, "manage webhooks", []string{scopes.WebhooksRead, scopes.WebhooksWrite}, owner},
		{Administrators, "manage administrators", []string{scopes.AdministratorsRead, scopes.AdministratorsWrite}, owner},
		{AuditLog, "read the audit log", []string{scopes.AuditRead}, owner},
		{PersonalData, "export and erase a customer's personal data", []string{scopes.PrivacyRead, scopes.PrivacyWrite}, owner},
		{TestData, "move the test clock and delete test data", []string{scopes.TestModeRead, scopes.TestModeWrite}, owner},
	}
}
