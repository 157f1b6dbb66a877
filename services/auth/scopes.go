package auth

import (
	"slices"
	"strings"

	"reservation.dev/platform/fault"
)

// interfaceAScopes are what an API client can be given.
func interfaceAScopes() []string {
	return []string{"customers:read", "profile:read", "profile:write", "bookings:read"}
}

// serviceScopes are what a service credential of a company can be given.
func serviceScopes() []string {
	return append(interfaceAScopes(), "customers:write", "bookings:write", "events:read", "events:write", "passes:read", "passes:write",
		"customer-passes:read", "customer-passes:write", "redemptions:write", "discounts:read", "discounts:write",
		"registrations:read", "registrations:write", "webhooks:read", "webhooks:write",
		"company:read", "company:write", "api-clients:read", "api-clients:write", "api-keys:read", "api-keys:write",
		"service-credentials:read", "service-credentials:write",
		"audit:read", "audit:write", "privacy:read", "privacy:write")
}

// everything is the permission that stands for all of them.
const everything = "*"

// interfaceBPermissions are what an API key can be given beside everything.
// Each is a scope of its name, in the order in which a token has them.
func interfaceBPermissions() []string {
	return []string{
		"customer-passes:read", "customer-passes:write", "customers:read", "customers:write", "events:read", "events:write",
		"passes:read", "passes:write", "registrations:read", "registrations:write",
	}
}

// expand returns the scopes that permissions stand for.
func expand(permissions []string) []string {
	if slices.Contains(permissions, everything) {
		return interfaceBPermissions()
	}
	return permissions
}

// roleScopes are what the access tokens of a role may do, sorted.
func roleScopes(role string) []string {
	scopes := staffScopes()
	if role == roleOwner {
		scopes = append(scopes, ownerScopes()...)
	}
	slices.Sort(scopes)
	return scopes
}

// staffScopes are the front desk.
func staffScopes() []string {
	return []string{
		"customers:read", "customers:write", "profile:read", "profile:write", "events:read", "events:write",
		"bookings:read", "bookings:write", "registrations:read", "registrations:write", "passes:read", "passes:write",
		"customer-passes:read", "customer-passes:write", "discounts:read", "discounts:write", "audit:write",
	}
}

// ownerScopes are what owners have beside the front desk.
func ownerScopes() []string {
	return []string{
		"company:read", "company:write", "api-clients:read", "api-clients:write", "api-keys:read", "api-keys:write",
		"service-credentials:read", "service-credentials:write", "webhooks:read", "webhooks:write",
		"administrators:read", "administrators:write", "audit:read", "privacy:read", "privacy:write",
	}
}

// granted returns the scopes of a token: all of the credential's, or those that
// were asked for, in the order of the credential's.
func granted(all []string, asked string) ([]string, error) {
	wanted := strings.Fields(asked)
	if len(wanted) == 0 {
		return all, nil
	}
	for _, scope := range wanted {
		if !slices.Contains(all, scope) {
			return nil, &fault.Error{
				Kind: fault.Invalid, Reason: ReasonInvalidScope, Message: "the client does not have a scope that was asked for",
				Fields: []fault.Field{{Field: "scope", Rule: "granted", Message: "must have only scopes of the client"}},
			}
		}
	}
	var out []string
	for _, scope := range all {
		if slices.Contains(wanted, scope) {
			out = append(out, scope)
		}
	}
	return out, nil
}
