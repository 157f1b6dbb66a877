package gatewaya

import (
	"net/http"

	"reservation.dev/gateway-a/openapi"
	"reservation.dev/platform/edge"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/token"
	edgeav1 "reservation.dev/proto/gen/reservation/edge/a/v1"
)

// contract describes Interface A to the edge.
func contract() edge.Interface {
	return edge.Interface{
		Name: "a", Title: "Reservation platform: Interface A", OpenAPI: openapi.Description, Routes: routes(), Kind: token.KindClient,
		Service:     edgeav1.File_reservation_edge_a_v1_interface_a_proto.Services().ByName("InterfaceAService"),
		AppendFault: appendFault,
	}
}

// routes lists the operations of Interface A. A test compares them with openapi.yaml.
func routes() []edge.Route {
	return []edge.Route{
		{Method: http.MethodPost, Path: "/token", Media: []string{jsonType, formType}, Fail: failToken},
		{Method: http.MethodGet, Path: "/customers", Scope: scopes.CustomersRead, Query: []string{"page", "pageSize", "updated_since"}},
		{Method: http.MethodGet, Path: "/customer/{id}/profile", Scope: scopes.ProfileRead},
		{Method: http.MethodPut, Path: "/customer/{id}/profile", Scope: scopes.ProfileWrite},
		{Method: http.MethodGet, Path: "/customer/{id}/bookings", Scope: scopes.BookingsRead, Query: []string{"page", "pageSize", "future_only", "startDate", "endDate"}},
		{Method: http.MethodGet, Path: "/customer/{id}/booking/{booking_id}", Scope: scopes.BookingsRead},
		{Method: http.MethodGet, Path: "/customer/{id}/passes", Scope: scopes.PassesRead, Query: []string{"page", "pageSize", "status"}},
		{Method: http.MethodGet, Path: "/customer/{id}/pass/{pass_id}", Scope: scopes.PassesRead},
		{Method: http.MethodGet, Path: "/customer/{id}/subscriptions", Scope: scopes.SubscriptionsRead, Query: []string{"page", "pageSize", "status"}},
		{Method: http.MethodGet, Path: "/customer/{id}/subscription/{subscription_id}", Scope: scopes.SubscriptionsRead},
		{Method: http.MethodGet, Path: "/customer/{id}/appointments", Scope: scopes.AppointmentsRead, Query: []string{"page", "pageSize", "status"}},
		{Method: http.MethodGet, Path: "/customer/{id}/appointment/{appointment_id}", Scope: scopes.AppointmentsRead},
		{Method: http.MethodGet, Path: "/customer/{id}/media", Scope: scopes.MediaRead, Query: []string{"page", "pageSize"}},
		{Method: http.MethodGet, Path: "/customer/{id}/media/{media_id}", Scope: scopes.MediaRead},
		{Method: http.MethodGet, Path: "/customer/{id}/notes", Scope: scopes.NotesRead, Query: []string{"page", "pageSize", "kind"}},
		{Method: http.MethodPost, Path: "/customer/{id}/notes", Scope: scopes.NotesWrite},
		{Method: http.MethodGet, Path: "/customer/{id}/note/{note_id}", Scope: scopes.NotesRead},
		{Method: http.MethodPut, Path: "/customer/{id}/note/{note_id}", Scope: scopes.NotesWrite},
		{Method: http.MethodDelete, Path: "/customer/{id}/note/{note_id}", Scope: scopes.NotesWrite},
	}
}

const (
	jsonType = "application/json"
	formType = "application/x-www-form-urlencoded"
)
