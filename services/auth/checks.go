package auth

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"reservation.dev/platform/check"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/token"
)

// The limits of the values in requests; texts are counted in characters.
const (
	maxName        = 100
	maxDescription = 1000
	maxExpiryDays  = 3650
	maxRateLimit   = 10_000 // requests in any 60 seconds
	maxAddress     = 64
	maxUserAgent   = 300
	leastPassword  = 12
	maxPassword    = 200
	maxAction      = 64
	maxTarget      = 100
	maxDetailField = 64
	maxDetailText  = 1000
)

// checks collects the failed checks of a request. It adds the rules of the auth service.
type checks struct{ check.Fields }

// required checks that a text is not empty.
func (c *checks) required(field, s string) {
	if s == "" {
		c.Add(field, "required", "is required")
	}
}

// expiry checks the number of days until a credential expires; nil: never.
func (c *checks) expiry(days *int32) {
	if days != nil {
		c.Range("expires_after_days", int64(*days), 1, maxExpiryDays)
	}
}

// rateLimit checks a rate limit; nil: not given.
func (c *checks) rateLimit(limit *int32, least int32) {
	if limit != nil {
		c.Range("rate_limit", int64(*limit), int64(least), maxRateLimit)
	}
}

// scopes sorts and checks scopes. scopes.Everything includes all others.
func (c *checks) scopes(field string, in, known []string) []string {
	out := slices.Clone(in)
	slices.Sort(out)
	out = slices.Compact(out)
	if len(out) == 0 {
		c.Add(field, "required", "must have at least one scope")
	}
	for i, scope := range in {
		if !slices.Contains(known, scope) {
			c.Add(fmt.Sprintf("%s[%d]", field, i), "scope", "must be one of "+strings.Join(known, ", "))
		}
	}
	isPlatform := func(scope string) bool { return slices.Contains(scopes.Platform(), scope) }
	if slices.ContainsFunc(out, isPlatform) && !scopes.ArePlatform(out) && !slices.Contains(out, token.Admin) {
		c.Add(field, "scope", strings.Join(scopes.Platform(), " and ")+" cannot be combined with other scopes")
	}
	if slices.Contains(out, scopes.Everything) {
		return []string{scopes.Everything}
	}
	return out
}

// password checks a new password for the administrator with that e-mail address.
func (c *checks) password(field, s, email string) {
	switch {
	case s == "":
		c.Add(field, "required", "is required")
	case utf8.RuneCountInString(s) < leastPassword:
		c.Add(field, "min_length", "must be at least 12 characters")
	case utf8.RuneCountInString(s) > maxPassword:
		c.Add(field, "max_length", "must be at most 200 characters")
	case !utf8.ValidString(s):
		c.Add(field, "characters", "must be UTF-8")
	case emailKey(s) == emailKey(email):
		c.Add(field, "guessable", "must not be the e-mail address")
	}
}

// passwordOrNew checks a password, or generates one if none is given.
func (c *checks) passwordOrNew(given, email string) (password, generated string) {
	if given == "" {
		generated = newPassword()
		return generated, generated
	}
	c.password("password", given, email)
	return given, ""
}

// storable reports whether PostgreSQL can store a text.
func storable(s string) bool { return !strings.ContainsRune(s, 0) }

// printable returns the printable characters at the beginning of a text from a browser.
func printable(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return -1
		}
		return r
	}, s)
	runes := []rune(s)
	return string(runes[:min(len(runes), most)])
}
