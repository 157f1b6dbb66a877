package gatewaya

import (
	"net/http"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/scopes"
)

// routes is the public surface of Interface A. openapi.yaml is its contract,
// and a test holds the two together.
func routes() []edge.Route {
	return []edge.Route{
		{Method: http.MethodPost, Path: "/token", Media: []string{jsonType, formType}, Bodiless: true, Fail: failToken},
		{Method: http.MethodGet, Path: "/customers", Scope: scopes.CustomersRead, Query: []string{"page", "pageSize", "updated_since"}},
		{Method: http.MethodGet, Path: "/customer/{id}/profile", Scope: scopes.ProfileRead},
		{Method: http.MethodPut, Path: "/customer/{id}/profile", Scope: scopes.ProfileWrite},
		{Method: http.MethodGet, Path: "/customer/{id}/bookings", Scope: scopes.BookingsRead, Query: []string{"page", "pageSize", "future_only", "startDate", "endDate"}},
		{Method: http.MethodGet, Path: "/customer/{id}/booking/{booking_id}", Scope: scopes.BookingsRead},
	}
}

const (
	jsonType = "application/json"
	formType = "application/x-www-form-urlencoded"
)
