package roles

import (
	"reservation.dev/platform/fault"
	"reservation.dev/platform/token"
)

// Scopes returns the scopes that a token needs for the capability.
func (c Capability) Scopes() []string {
	for _, e := range Table() {
		if e.Capability == c {
			return e.Scopes
		}
	}
	return nil
}

// CheckExport returns INSUFFICIENT_SCOPE for the token of an administrator whose role may not export data. The front
// desk, for example, has customers:read to look customers up one page at a time. The other credentials need only the
// scope of the RPC: a company that gives an API client customers:read lets it read all customers.
func CheckExport(claims *token.Claims) error {
	if claims == nil || claims.Kind != token.KindAdministrator {
		return nil
	}
	for _, scope := range ExportAndImport.Scopes() {
		if !claims.Has(scope) {
			return fault.MissingScope(scope)
		}
	}
	return nil
}
