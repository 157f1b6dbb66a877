package rpc

import (
	"context"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/token"
)

// Tenant returns the company that the request is for. The token of a platform credential names no
// company, so its caller must name one in the metadata. Without it, the fault is INVALID_PARAMETER.
func Tenant(ctx context.Context) (id.Company, error) {
	company := Company(ctx)
	if company.IsZero() {
		return company, fault.InvalidParameter("reservation-company", "required", "is required with a platform credential")
	}
	return company, nil
}

// CompanyClaims returns the caller's claims if they contain the time zone and the currency of the
// company that the request is for, and otherwise nil. The claims describe the version CompanyVersion
// of the company. A service's copy of the company can be newer, or older after a restore: compare
// the versions.
func CompanyClaims(ctx context.Context) *token.Claims {
	claims := ClaimsFrom(ctx)
	if claims == nil || claims.Company != Company(ctx) || claims.Zone == "" || claims.Currency == "" {
		return nil
	}
	return claims
}
