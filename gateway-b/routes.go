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
		Name: "b", Title: "Reservation platform: Interface B", OpenAPI: openapi.Description, Base: base, Routes: routes(), Kind: token.KindKey,
		Service:     edgebv1.File_reservation_edge_b_v1_interface_b_proto.Services().ByName("InterfaceBService"),
		AppendFault: appendFault,
	}
}

// base is the path prefix of all operations.
const base = "/api/v1"

// routes lists the operations of Interface B. A test compares them with openapi.yaml.
func routes() []edge.Route {
	list := func(filters ...string) []string {
		return slices.Concat([]string{"page", "perPage", "cursor", "sort", "updatedSince"}, filters)
	}
	all := []edge.Route{
		{Method: http.MethodPost, Path: "/auth/token"},
		{Method: http.MethodGet, Path: "/customers", Scope: scopes.CustomersRead, Query: list("email", "archived")},
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
		{Method: http.MethodGet, Path: "/passes", Scope: scopes.PassesRead, Publishable: true, Query: list("status")},
		{Method: http.MethodPost, Path: "/passes", Scope: scopes.PassesWrite},
		{Method: http.MethodGet, Path: "/passes/{id}", Scope: scopes.PassesRead, Publishable: true},
		{Method: http.MethodPut, Path: "/passes/{id}", Scope: scopes.PassesWrite},
		{Method: http.MethodPatch, Path: "/passes/{id}", Scope: scopes.PassesWrite},
		{Method: http.MethodGet, Path: "/customer-passes", Scope: scopes.CustomerPassesRead, Query: list("customerId", "passId", "status")},
		{Method: http.MethodPost, Path: "/customer-passes", Scope: scopes.CustomerPassesWrite},
		{Method: http.MethodGet, Path: "/customer-passes/{id}", Scope: scopes.CustomerPassesRead},
		{Method: http.MethodPut, Path: "/customer-passes/{id}", Scope: scopes.CustomerPassesWrite},
		{Method: http.MethodPatch, Path: "/customer-passes/{id}", Scope: scopes.CustomerPassesWrite},
	}
	for i := range all {
		all[i].Path = base + all[i].Path
	}
	return all
}
