package gatewaya

import (
	"net/http"

	"reservation.dev/platform/edge"
)

// routes is the public surface of Interface A. openapi.yaml is its contract,
// and a test holds the two together.
func routes() []edge.Route {
	return []edge.Route{
		{Method: http.MethodPost, Path: "/token", Media: []string{jsonType, formType}, Bodiless: true, Fail: failToken},
		{Method: http.MethodGet, Path: "/customers", Scope: "customers:read", Query: []string{"page", "pageSize", "updated_since"}},
		{Method: http.MethodGet, Path: "/customer/{id}/profile", Scope: "profile:read"},
		{Method: http.MethodPut, Path: "/customer/{id}/profile", Scope: "profile:write"},
		{Method: http.MethodGet, Path: "/customer/{id}/bookings", Scope: "bookings:read", Query: []string{"page", "pageSize", "future_only", "startDate", "endDate"}},
		{Method: http.MethodGet, Path: "/customer/{id}/booking/{booking_id}", Scope: "bookings:read"},
	}
}

const (
	jsonType = "application/json"
	formType = "application/x-www-form-urlencoded"
)
