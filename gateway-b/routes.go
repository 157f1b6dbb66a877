package gatewayb

import (
	"net/http"
	"slices"

	"reservation.dev/platform/edge"
)

// base is the path below which everything is served.
const base = "/api/v1"

// paging are the parameters that every list has.
var paging = []string{"page", "perPage", "cursor", "sort", "updatedSince"}

// routes is the public surface of Interface B. openapi.yaml is its contract, and
// a test holds the two together.
func routes() []edge.Route {
	list := func(filters ...string) []string { return slices.Concat(paging, filters) }
	all := []edge.Route{
		{Method: http.MethodPost, Path: "/auth/token"},
		{Method: http.MethodGet, Path: "/customers", Scope: "customers:read", Query: list("email", "archived")},
		{Method: http.MethodPost, Path: "/customers", Scope: "customers:write"},
		{Method: http.MethodGet, Path: "/customers/{id}", Scope: "customers:read"},
		{Method: http.MethodPut, Path: "/customers/{id}", Scope: "customers:write"},
		{Method: http.MethodPatch, Path: "/customers/{id}", Scope: "customers:write"},
		{Method: http.MethodDelete, Path: "/customers/{id}", Scope: "customers:write"},
		{Method: http.MethodGet, Path: "/events", Scope: "events:read", Query: list("type", "status", "startsFrom", "startsBefore")},
		{Method: http.MethodPost, Path: "/events", Scope: "events:write"},
		{Method: http.MethodGet, Path: "/events/{id}", Scope: "events:read"},
		{Method: http.MethodPut, Path: "/events/{id}", Scope: "events:write"},
		{Method: http.MethodPatch, Path: "/events/{id}", Scope: "events:write"},
		{Method: http.MethodDelete, Path: "/events/{id}", Scope: "events:write"},
		{Method: http.MethodGet, Path: "/events/{id}/registrations", Scope: "registrations:read", Query: list("eventDateId", "status", "customerId")},
		{Method: http.MethodPost, Path: "/events/{id}/registrations", Scope: "registrations:write"},
		{Method: http.MethodGet, Path: "/events/{id}/registrations/{registration_id}", Scope: "registrations:read"},
		{Method: http.MethodDelete, Path: "/events/{id}/registrations/{registration_id}", Scope: "registrations:write"},
		{Method: http.MethodGet, Path: "/passes", Scope: "passes:read", Query: list("status")},
		{Method: http.MethodPost, Path: "/passes", Scope: "passes:write"},
		{Method: http.MethodGet, Path: "/passes/{id}", Scope: "passes:read"},
		{Method: http.MethodPut, Path: "/passes/{id}", Scope: "passes:write"},
		{Method: http.MethodPatch, Path: "/passes/{id}", Scope: "passes:write"},
		{Method: http.MethodGet, Path: "/customer-passes", Scope: "customer-passes:read", Query: list("customerId", "passId", "status")},
		{Method: http.MethodPost, Path: "/customer-passes", Scope: "customer-passes:write"},
		{Method: http.MethodGet, Path: "/customer-passes/{id}", Scope: "customer-passes:read"},
		{Method: http.MethodPut, Path: "/customer-passes/{id}", Scope: "customer-passes:write"},
		{Method: http.MethodPatch, Path: "/customer-passes/{id}", Scope: "customer-passes:write"},
	}
	for i := range all {
		all[i].Path = base + all[i].Path
	}
	return all
}
