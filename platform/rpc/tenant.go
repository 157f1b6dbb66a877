package rpc

import (
	"context"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/token"
)

// Tenant returns the company that the request is for. The token of a platform
// credential names none, so the caller must name it; if it does not, the request is
// refused.
func Tenant(ctx context.Context) (id.Company, error) {
	company := Company(ctx)
	if company.IsZero() {
		return company, fault.InvalidParameter("reservation-company", "required", "is required with a platform credential")
	}
	return company, nil
}

// CompanyClaims returns the caller's claims if they state the zone and the currency
// of the company that the request is for; nil: they do not. They are of the version
// CompanyVersion of that company. A copy of a higher version is newer, and one of a
// lower version, as after a restore, is older.
func CompanyClaims(ctx context.Context) *token.Claims {
	claims := ClaimsFrom(ctx)
	if claims == nil || claims.Company != Company(ctx) || claims.Zone == "" || claims.Currency == "" {
		return nil
	}
	return claims
}
