package gatewayb

import (
	"net/http"
	"slices"

	"reservation.dev/gateway-b/openapi"
	"reservation.dev/platform/edge"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/token"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

// contract describes Interface B to the edge.
func contract() edge.Interface {
	return edge.Interface{
		Name: "b", Title: "Reservation platform: Interface B", OpenAPI: openapi.Description, Base: base, Routes: routes(), Paging: paging(), Kind: token.KindKey,
		Service:     edgebv1.File_reservation_edge_b_v1_interface_b_proto.Services().ByName("InterfaceBService"),
		AppendFault: appendFault, Code: codeOf,
	}
}

// base is the path prefix of all operations.
const base = "/api/v1"

// paging returns the query parameters that choose a page of a list. Not every list supports them all.
func paging() []string { return []string{"page", "perPage", "cursor", "sort", "updatedSince"} }

// routes lists the operations of Interface B. A test compares them with openapi.yaml.
func routes() []edge.Route {
	list := func(filters ...string) []string {
		return slices.Concat(paging(), filters)
	}
	all := []edge.Route{
		{Method: http.MethodPost, Path: "/auth/token"},
		{Method: http.MethodGet, Path: "/customers", Scope: scopes.CustomersRead, Query: list("email", "archived", "q")},
		{Method: http.MethodPost, Path: "/customers", Scope: scopes.CustomersWrite},
		{Method: http.MethodGet, Path: "/customers/{id}", Scope: scopes.CustomersRead},
		{Method: http.MethodPut, Path: "/customers/{id}", Scope: scopes.CustomersWrite},
		{Method: http.MethodPatch, Path: "/customers/{id}", Scope: scopes.CustomersWrite},
		{Method: http.MethodDelete, Path: "/customers/{id}", Scope: scopes.CustomersWrite},
		{Method: http.MethodGet, Path: "/events", Scope: scopes.EventsRead, Publishable: true, Query: list("type", "status", "startsFrom", "startsBefore")},
		{Method: http.MethodPost, Path: "/events", Scope: scopes.EventsWrite},
		{Method: http.MethodGet, Path: "/events/{id}", Scope: scopes.EventsRead, Publishable: true},
		{Method: http.MethodPut, Path: "/events/{id}", Scope: scopes.EventsWrite},
		{Method: http.MethodPatch, Path: "/events/{id}", Scope: scopes.EventsWrite},
		{Method: http.MethodDelete, Path: "/events/{id}", Scope: scopes.EventsWrite},
		{Method: http.MethodGet, Path: "/events/{id}/registrations", Scope: scopes.RegistrationsRead, Query: list("eventDateId", "status", "customerId")},
		{Method: http.MethodPost, Path: "/events/{id}/registrations", Scope: scopes.RegistrationsWrite},
		{Method: http.MethodGet, Path: "/events/{id}/registrations/{registration_id}", Scope: scopes.RegistrationsRead},
		{Method: http.MethodDelete, Path: "/events/{id}/registrations/{registration_id}", Scope: scopes.RegistrationsWrite},

		{Method: http.MethodPost, Path: "/events/{id}/dates", Scope: scopes.EventsWrite},
		{Method: http.MethodGet, Path: "/event-dates", Scope: scopes.EventsRead, Publishable: true, Query: []string{"page", "perPage", "cursor", "updatedSince", "startsFrom", "startsBefore", "eventId", "type", "status", "available"}},
		{Method: http.MethodGet, Path: "/event-dates/{id}", Scope: scopes.EventsRead, Publishable: true},
		{Method: http.MethodPut, Path: "/event-dates/{id}", Scope: scopes.EventsWrite},
		{Method: http.MethodPatch, Path: "/event-dates/{id}", Scope: scopes.EventsWrite},
		{Method: http.MethodPost, Path: "/event-dates/{id}/cancel", Scope: scopes.EventsWrite, Bodiless: true},
		{Method: http.MethodPost, Path: "/event-dates/{id}/waitlist", Scope: scopes.WaitlistWrite},
		{Method: http.MethodGet, Path: "/registrations", Scope: scopes.RegistrationsRead, Query: list("customerId", "purchasedById", "eventId", "eventDateId", "status", "attendance", "startsFrom", "startsBefore")},
		{Method: http.MethodGet, Path: "/registrations/{id}", Scope: scopes.RegistrationsRead},
		{Method: http.MethodGet, Path: "/registrations/{id}/cancellation-preview", Scope: scopes.RegistrationsRead},
		{Method: http.MethodPost, Path: "/registrations/{id}/cancel", Scope: scopes.RegistrationsWrite, Bodiless: true},
		{Method: http.MethodPost, Path: "/registrations/{id}/refund", Scope: scopes.RegistrationsWrite, Bodiless: true},
		{Method: http.MethodPost, Path: "/registrations/{id}/attendance", Scope: scopes.RegistrationsWrite},
		{Method: http.MethodPost, Path: "/registrations/{id}/move", Scope: scopes.RegistrationsWrite},
		{Method: http.MethodGet, Path: "/registrations/{id}/move-preview", Scope: scopes.RegistrationsRead, Query: []string{"eventDateId", "pricingOptionId", "spots", "keepPrice", "waivePolicy", "afterStart"}},
		{Method: http.MethodPost, Path: "/registrations/{id}/transfer", Scope: scopes.RegistrationsWrite},
		{Method: http.MethodPost, Path: "/registrations/{id}/swap", Scope: scopes.RegistrationsWrite},
		{Method: http.MethodGet, Path: "/registrations/{id}/history", Scope: scopes.RegistrationsRead, Query: []string{"page", "perPage", "cursor"}},
		{Method: http.MethodGet, Path: "/transactions", Scope: scopes.TransactionsRead, Query: list("purchasedById")},
		{Method: http.MethodPost, Path: "/transactions", Scope: scopes.TransactionsWrite},
		{Method: http.MethodGet, Path: "/transactions/{id}", Scope: scopes.TransactionsRead},
		{Method: http.MethodPost, Path: "/holds", Scope: scopes.HoldsWrite},
		{Method: http.MethodGet, Path: "/holds/{id}", Scope: scopes.HoldsRead},
		{Method: http.MethodPost, Path: "/holds/{id}/confirm", Scope: scopes.HoldsWrite, Bodiless: true},
		{Method: http.MethodDelete, Path: "/holds/{id}", Scope: scopes.HoldsWrite},
		{Method: http.MethodGet, Path: "/waitlist-entries", Scope: scopes.WaitlistRead, Query: list("eventDateId", "customerId", "status")},
		{Method: http.MethodGet, Path: "/waitlist-entries/{id}", Scope: scopes.WaitlistRead},
		{Method: http.MethodPost, Path: "/waitlist-entries/{id}/accept", Scope: scopes.WaitlistWrite, Bodiless: true},
		{Method: http.MethodDelete, Path: "/waitlist-entries/{id}", Scope: scopes.WaitlistWrite},

		{Method: http.MethodGet, Path: "/passes", Scope: scopes.PassesRead, Publishable: true, Query: list("status", "includePlans")},
		{Method: http.MethodPost, Path: "/passes", Scope: scopes.PassesWrite},
		{Method: http.MethodGet, Path: "/passes/{id}", Scope: scopes.PassesRead, Publishable: true},
		{Method: http.MethodPut, Path: "/passes/{id}", Scope: scopes.PassesWrite},
		{Method: http.MethodPatch, Path: "/passes/{id}", Scope: scopes.PassesWrite},
		{Method: http.MethodGet, Path: "/customer-passes", Scope: scopes.CustomerPassesRead, Query: list("customerId", "passId", "status")},
		{Method: http.MethodPost, Path: "/customer-passes", Scope: scopes.CustomerPassesWrite},
		{Method: http.MethodGet, Path: "/customer-passes/{id}", Scope: scopes.CustomerPassesRead},
		{Method: http.MethodPut, Path: "/customer-passes/{id}", Scope: scopes.CustomerPassesWrite},
		{Method: http.MethodPatch, Path: "/customer-passes/{id}", Scope: scopes.CustomerPassesWrite},
		{Method: http.MethodGet, Path: "/customer-passes/{id}/ledger", Scope: scopes.CustomerPassesRead, Query: []string{"page", "perPage", "cursor", "sort"}},

		{Method: http.MethodGet, Path: "/plans", Scope: scopes.PlansRead, Publishable: true, Query: list("status")},
		{Method: http.MethodPost, Path: "/plans", Scope: scopes.PlansWrite},
		{Method: http.MethodGet, Path: "/plans/{id}", Scope: scopes.PlansRead, Publishable: true},
		{Method: http.MethodPut, Path: "/plans/{id}", Scope: scopes.PlansWrite},
		{Method: http.MethodPatch, Path: "/plans/{id}", Scope: scopes.PlansWrite},
		{Method: http.MethodGet, Path: "/subscriptions", Scope: scopes.SubscriptionsRead, Query: list("customerId", "planId", "status", "paymentDue")},
		{Method: http.MethodPost, Path: "/subscriptions", Scope: scopes.SubscriptionsWrite},
		{Method: http.MethodGet, Path: "/subscriptions/{id}", Scope: scopes.SubscriptionsRead},
		{Method: http.MethodGet, Path: "/subscriptions/{id}/periods", Scope: scopes.SubscriptionsRead, Query: []string{"page", "perPage", "cursor", "sort"}},
		{Method: http.MethodGet, Path: "/subscriptions/{id}/account-entries", Scope: scopes.SubscriptionsRead, Query: []string{"page", "perPage", "cursor", "sort"}},
		{Method: http.MethodGet, Path: "/subscriptions/{id}/plan-change-preview", Scope: scopes.SubscriptionsRead, Query: []string{"planId", "when"}},
		{Method: http.MethodGet, Path: "/subscriptions/{id}/cancellation-preview", Scope: scopes.SubscriptionsRead, Query: []string{"when", "prorate", "waiveMinimumTerm"}},
		{Method: http.MethodPost, Path: "/subscriptions/{id}/pause", Scope: scopes.SubscriptionsWrite, Bodiless: true},
		{Method: http.MethodPost, Path: "/subscriptions/{id}/resume", Scope: scopes.SubscriptionsWrite, Bodiless: true},
		{Method: http.MethodPost, Path: "/subscriptions/{id}/change-plan", Scope: scopes.SubscriptionsWrite},
		{Method: http.MethodPost, Path: "/subscriptions/{id}/withdraw-plan-change", Scope: scopes.SubscriptionsWrite, Bodiless: true},
		{Method: http.MethodPost, Path: "/subscriptions/{id}/cancel", Scope: scopes.SubscriptionsWrite, Bodiless: true},
		{Method: http.MethodPost, Path: "/subscriptions/{id}/withdraw-cancellation", Scope: scopes.SubscriptionsWrite, Bodiless: true},
		{Method: http.MethodPost, Path: "/subscriptions/{id}/record-payment", Scope: scopes.SubscriptionsWrite},
		{Method: http.MethodPost, Path: "/subscriptions/{id}/record-failure", Scope: scopes.SubscriptionsWrite},
		{Method: http.MethodPost, Path: "/subscriptions/{id}/waive-payment", Scope: scopes.SubscriptionsWrite},
		{Method: http.MethodPost, Path: "/subscriptions/{id}/record-refund", Scope: scopes.SubscriptionsWrite, Bodiless: true},
		{Method: http.MethodGet, Path: "/subscription-settings", Scope: scopes.SubscriptionsRead},
		{Method: http.MethodPut, Path: "/subscription-settings", Scope: scopes.SubscriptionsWrite},

		{Method: http.MethodGet, Path: "/media", Scope: scopes.MediaRead, Query: list("status", "kind", "collectionId", "tag")},
		{Method: http.MethodPost, Path: "/media", Scope: scopes.MediaWrite},
		{Method: http.MethodGet, Path: "/media/{id}", Scope: scopes.MediaRead},
		{Method: http.MethodPut, Path: "/media/{id}", Scope: scopes.MediaWrite},
		{Method: http.MethodPatch, Path: "/media/{id}", Scope: scopes.MediaWrite},
		{Method: http.MethodDelete, Path: "/media/{id}", Scope: scopes.MediaWrite},
		{Method: http.MethodPost, Path: "/media/{id}/uploads", Scope: scopes.MediaWrite, Secret: true},
		{Method: http.MethodGet, Path: "/media/{id}/uploads/{upload_id}", Scope: scopes.MediaWrite, Secret: true},
		{Method: http.MethodDelete, Path: "/media/{id}/uploads/{upload_id}", Scope: scopes.MediaWrite},
		{Method: http.MethodPost, Path: "/media/{id}/uploads/{upload_id}/complete", Scope: scopes.MediaWrite, Bodiless: true, Secret: true},
		{Method: http.MethodPost, Path: "/media/{id}/playback-links", Scope: scopes.PlaybackWrite, Secret: true},
		{Method: http.MethodPut, Path: "/media/{id}/progress", Scope: scopes.PlaybackWrite},
		{Method: http.MethodGet, Path: "/media-collections", Scope: scopes.MediaRead, Query: list()},
		{Method: http.MethodPost, Path: "/media-collections", Scope: scopes.MediaWrite},
		{Method: http.MethodGet, Path: "/media-collections/{id}", Scope: scopes.MediaRead},
		{Method: http.MethodPut, Path: "/media-collections/{id}", Scope: scopes.MediaWrite},
		{Method: http.MethodPatch, Path: "/media-collections/{id}", Scope: scopes.MediaWrite},
		{Method: http.MethodDelete, Path: "/media-collections/{id}", Scope: scopes.MediaWrite},
		{Method: http.MethodGet, Path: "/media-entitlements", Scope: scopes.MediaRead, Query: []string{"page", "perPage", "cursor", "sort", "collectionId", "mediaId", "customerId"}},
		{Method: http.MethodPost, Path: "/media-entitlements", Scope: scopes.MediaWrite},
		{Method: http.MethodGet, Path: "/media-entitlements/{id}", Scope: scopes.MediaRead},
		{Method: http.MethodDelete, Path: "/media-entitlements/{id}", Scope: scopes.MediaWrite},
		{Method: http.MethodGet, Path: "/customers/{id}/media", Scope: scopes.MediaRead, Query: []string{"page", "perPage", "cursor"}},
		{Method: http.MethodGet, Path: "/customers/{id}/media/{media_id}", Scope: scopes.MediaRead},

		{Method: http.MethodGet, Path: "/staff", Scope: scopes.StaffRead, Query: list("active", "appointmentTypeId")},
		{Method: http.MethodPost, Path: "/staff", Scope: scopes.StaffWrite},
		{Method: http.MethodGet, Path: "/staff/{id}", Scope: scopes.StaffRead},
		{Method: http.MethodPut, Path: "/staff/{id}", Scope: scopes.StaffWrite},
		{Method: http.MethodPatch, Path: "/staff/{id}", Scope: scopes.StaffWrite},
		{Method: http.MethodGet, Path: "/staff/{id}/hours", Scope: scopes.StaffRead},
		{Method: http.MethodPut, Path: "/staff/{id}/hours", Scope: scopes.StaffWrite},
		{Method: http.MethodGet, Path: "/time-off", Scope: scopes.StaffRead, Query: []string{"page", "perPage", "cursor", "staffId", "roomId", "endsAfter", "startsBefore"}},
		{Method: http.MethodPost, Path: "/time-off", Scope: scopes.StaffWrite},
		{Method: http.MethodGet, Path: "/time-off/{id}", Scope: scopes.StaffRead},
		{Method: http.MethodDelete, Path: "/time-off/{id}", Scope: scopes.StaffWrite},
		{Method: http.MethodGet, Path: "/holidays", Scope: scopes.StaffRead, Query: []string{"page", "perPage", "cursor", "from", "to"}},
		{Method: http.MethodPost, Path: "/holidays", Scope: scopes.StaffWrite},
		{Method: http.MethodGet, Path: "/holidays/{id}", Scope: scopes.StaffRead},
		{Method: http.MethodDelete, Path: "/holidays/{id}", Scope: scopes.StaffWrite},
		{Method: http.MethodGet, Path: "/rooms", Scope: scopes.RoomsRead, Query: list("active")},
		{Method: http.MethodPost, Path: "/rooms", Scope: scopes.RoomsWrite},
		{Method: http.MethodGet, Path: "/rooms/{id}", Scope: scopes.RoomsRead},
		{Method: http.MethodPut, Path: "/rooms/{id}", Scope: scopes.RoomsWrite},
		{Method: http.MethodPatch, Path: "/rooms/{id}", Scope: scopes.RoomsWrite},
		{Method: http.MethodGet, Path: "/appointment-types", Scope: scopes.AppointmentTypesRead, Query: list("active", "staffId")},
		{Method: http.MethodPost, Path: "/appointment-types", Scope: scopes.AppointmentTypesWrite},
		{Method: http.MethodGet, Path: "/appointment-types/{id}", Scope: scopes.AppointmentTypesRead},
		{Method: http.MethodPut, Path: "/appointment-types/{id}", Scope: scopes.AppointmentTypesWrite},
		{Method: http.MethodPatch, Path: "/appointment-types/{id}", Scope: scopes.AppointmentTypesWrite},
		{Method: http.MethodGet, Path: "/slots", Scope: scopes.AppointmentsRead, Query: []string{"appointmentTypeId", "lengthMinutes", "staffId", "from", "to", "timezone", "explain", "waiveNotice", "movingId"}},
		{Method: http.MethodGet, Path: "/appointments", Scope: scopes.AppointmentsRead, Query: list("customerId", "staffId", "roomId", "appointmentTypeId", "status", "startsFrom", "startsBefore")},
		{Method: http.MethodPost, Path: "/appointments", Scope: scopes.AppointmentsWrite},
		{Method: http.MethodGet, Path: "/appointments/{id}", Scope: scopes.AppointmentsRead},
		{Method: http.MethodPost, Path: "/appointments/{id}/move", Scope: scopes.AppointmentsWrite},
		{Method: http.MethodPost, Path: "/appointments/{id}/cancel", Scope: scopes.AppointmentsWrite, Bodiless: true},
		{Method: http.MethodPost, Path: "/appointment-holds", Scope: scopes.AppointmentsWrite},
		{Method: http.MethodGet, Path: "/assignments", Scope: scopes.AppointmentsRead, Query: []string{"endsAfter", "startsBefore", "resourceIds"}},

		{Method: http.MethodGet, Path: "/calendars", Scope: scopes.CalendarsRead, Query: []string{"page", "perPage", "cursor", "staffId", "customerId"}},
		{Method: http.MethodPost, Path: "/calendars", Scope: scopes.CalendarsWrite, Secret: true},
		{Method: http.MethodGet, Path: "/calendars/{id}", Scope: scopes.CalendarsRead},
		{Method: http.MethodDelete, Path: "/calendars/{id}", Scope: scopes.CalendarsWrite},

		{Method: http.MethodGet, Path: "/discount-codes", Scope: scopes.DiscountsRead, Query: list()},
		{Method: http.MethodPost, Path: "/discount-codes", Scope: scopes.DiscountsWrite},
		{Method: http.MethodGet, Path: "/discount-codes/{id}", Scope: scopes.DiscountsRead},
		{Method: http.MethodPut, Path: "/discount-codes/{id}", Scope: scopes.DiscountsWrite},
		{Method: http.MethodPatch, Path: "/discount-codes/{id}", Scope: scopes.DiscountsWrite},

		{Method: http.MethodGet, Path: "/webhook-endpoints", Scope: scopes.WebhooksRead, Query: []string{"page", "perPage", "cursor"}},
		{Method: http.MethodPost, Path: "/webhook-endpoints", Scope: scopes.WebhooksWrite, Secret: true},
		{Method: http.MethodGet, Path: "/webhook-endpoints/{id}", Scope: scopes.WebhooksRead},
		{Method: http.MethodPut, Path: "/webhook-endpoints/{id}", Scope: scopes.WebhooksWrite},
		{Method: http.MethodPatch, Path: "/webhook-endpoints/{id}", Scope: scopes.WebhooksWrite},
		{Method: http.MethodDelete, Path: "/webhook-endpoints/{id}", Scope: scopes.WebhooksWrite},
		{Method: http.MethodGet, Path: "/webhook-endpoints/{id}/secret", Scope: scopes.WebhooksWrite, Secret: true},
		{Method: http.MethodPost, Path: "/webhook-endpoints/{id}/rotate-secret", Scope: scopes.WebhooksWrite, Bodiless: true, Secret: true},
		{Method: http.MethodPost, Path: "/webhook-endpoints/{id}/test", Scope: scopes.WebhooksWrite, Bodiless: true},
		{Method: http.MethodGet, Path: "/webhook-deliveries", Scope: scopes.WebhooksRead, Query: []string{"page", "perPage", "cursor", "endpointId", "event", "status", "since", "until"}},
		{Method: http.MethodGet, Path: "/webhook-deliveries/{id}", Scope: scopes.WebhooksRead},
		{Method: http.MethodPost, Path: "/webhook-deliveries/{id}/replay", Scope: scopes.WebhooksWrite, Bodiless: true},
		{Method: http.MethodPost, Path: "/webhook-deliveries/replay", Scope: scopes.WebhooksWrite},
		{Method: http.MethodGet, Path: "/webhook-messages", Scope: scopes.WebhooksRead, Query: []string{"perPage", "cursor", "event", "since"}},

		{Method: http.MethodGet, Path: "/reports/takings", Scope: scopes.ReportsRead, Query: []string{"from", "to", "groupBy", "currency"}},
		{Method: http.MethodGet, Path: "/reports/attendance", Scope: scopes.ReportsRead, Query: []string{"from", "to", "groupBy"}},
		{Method: http.MethodGet, Path: "/reports/credits", Scope: scopes.ReportsRead, Query: []string{"from", "to", "currency"}},
		{Method: http.MethodGet, Path: "/reports/customers", Scope: scopes.ReportsRead, Query: []string{"from", "to", "period"}},
		{Method: http.MethodGet, Path: "/reports/expiring-passes", Scope: scopes.ReportsRead, Query: []string{"page", "perPage", "cursor", "from", "to"}},

		{Method: http.MethodGet, Path: "/requests", Scope: scopes.RequestsRead, Query: []string{"page", "perPage", "cursor", "credentialId", "interface", "method", "status", "since", "until", "requestId"}},
		{Method: http.MethodGet, Path: "/requests/{id}", Scope: scopes.RequestsRead},

		{Method: http.MethodGet, Path: "/test-clock", Scope: scopes.TestModeRead},
		{Method: http.MethodPost, Path: "/test-clock/advance", Scope: scopes.TestModeWrite},
		{Method: http.MethodPost, Path: "/test-data/reset", Scope: scopes.TestModeWrite, Bodiless: true},
	}
	for i := range all {
		all[i].Path = base + all[i].Path
	}
	return all
}
