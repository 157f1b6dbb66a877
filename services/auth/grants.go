package auth

import (
	"bytes"
	"slices"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/token"
)

// grantor is the caller of a change, with the limits of what they can grant.
type grantor struct {
	claims *token.Claims
	// isLimited is false for the platform and for owners in the dashboard: the credentials of their
	// company can outlive theirs and have any rate limit.
	isLimited bool
	// expiresAt is when the caller's own credential expires; nil: never.
	expiresAt *time.Time
}

// allows returns why the grantor cannot change before to after; nil: they can.
func (g grantor) allows(before, after Credential) error {
	if handsOver(before, after) {
		before = Credential{}
	}
	for _, scope := range after.inToken(after.Scopes) {
		if !before.covers(scope) && !g.has(scope) {
			return fault.MissingScope(scope)
		}
	}
	isNew := before.SecretHash == nil
	if g.isLimited && (isNew || isAbove(after.RateLimit, before.RateLimit)) && g.isAboveOwn(after.RateLimit) {
		return beyondCaller("rate_limit", "must not exceed the rate limit of the calling credential")
	}
	if isNew && g.outlives(after.ExpiresAt) {
		return beyondCaller("expires_after_days", "must not be later than the expiry of the calling credential")
	}
	return nil
}

// handsOver reports whether a change lets somebody use all rights of the credential: it creates the
// credential, replaces its secret, or enables it.
func handsOver(before, after Credential) bool {
	return !bytes.Equal(before.SecretHash, after.SecretHash) || (before.DisabledAt != nil && after.DisabledAt == nil)
}

// covers reports whether the credential already has a scope.
func (c *Credential) covers(scope string) bool {
	return slices.Contains(c.Scopes, scope) || (scope != scopes.Everything && slices.Contains(c.inToken(c.granting()), scope))
}

// has reports whether the caller has a scope. The permission that includes all others also includes
// future ones, so only callers that are not limited have it.
func (g grantor) has(scope string) bool {
	if scope == scopes.Everything {
		return !g.isLimited
	}
	return g.claims.Has(scope)
}

func (g grantor) isAboveOwn(limit *int32) bool {
	return g.claims.RateLimit != 0 && (limit == nil || int(*limit) > g.claims.RateLimit)
}

func (g grantor) outlives(expiresAt *time.Time) bool {
	return g.expiresAt != nil && (expiresAt == nil || expiresAt.After(*g.expiresAt))
}

// isAbove reports whether rate limit a is higher than b; nil is the highest.
func isAbove(a, b *int32) bool { return b != nil && (a == nil || *a > *b) }

// beyondCaller refuses a change that grants more than the caller has.
func beyondCaller(field, phrase string) *fault.Error {
	f := fault.New(fault.Forbidden, fault.ReasonForbidden, field+" "+phrase)
	f.Fields = []fault.Field{{Field: field, Rule: "caller", Message: phrase}}
	return f
}
