package auth

import (
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/zone"
)

// The bounds of what requests state: texts in characters.
const (
	maxName        = 100
	maxDescription = 1000
	maxExpiryDays  = 3650
	maxRateLimit   = 10_000 // requests in any 60 seconds
	maxEmail       = 254
	maxAddress     = 64
	maxUserAgent   = 300
	leastPassword  = 12
	mostPassword   = 200
	maxAction      = 64
	maxTarget      = 100
	maxDetailField = 64
	maxDetailText  = 1000
)

// checks collects the faults of a request, in the order in which they are found.
type checks struct{ fault.Checks }

func (c *checks) add(field, rule, phrase string) { c.Add(field, rule, phrase) }

func (c *checks) err() error { return c.Err() }

func (c *checks) text(field, s string, least, most int) string {
	s = strings.TrimSpace(s)
	switch {
	case s == "" && least > 0:
		c.add(field, "required", "is required")
	case utf8.RuneCountInString(s) > most:
		c.add(field, "max_length", fmt.Sprintf("must be at most %d characters", most))
	case strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && (least > 0 || r != '\n') }):
		c.add(field, "characters", "must not contain control characters")
	}
	return s
}

// expiry checks in how many days a credential expires; nil: never.
func (c *checks) expiry(days *int32) {
	if days != nil && (*days < 1 || *days > maxExpiryDays) {
		c.add("expires_after_days", "range", fmt.Sprintf("must be 1 to %d", maxExpiryDays))
	}
}

func (c *checks) rateLimit(limit *int32, least int32) {
	if limit != nil && (*limit < least || *limit > maxRateLimit) {
		c.add("rate_limit", "range", fmt.Sprintf("must be %d to %d", least, maxRateLimit))
	}
}

func (c *checks) timezone(field, s string) {
	if s == "" {
		c.add(field, "required", "is required")
	} else if _, err := zone.Load(s); err != nil {
		c.add(field, "timezone", "must be an IANA time zone, as Europe/London")
	}
}

func (c *checks) currency(field, s string) {
	if s == "" {
		c.add(field, "required", "is required")
	} else if !slices.Contains([]string{"GBP", "EUR", "USD"}, s) {
		c.add(field, "enum", "must be GBP, EUR or USD")
	}
}

// scopes sorts and checks scopes. With everything, the others say nothing.
func (c *checks) scopes(field string, in, known []string) []string {
	out := slices.Clone(in)
	slices.Sort(out)
	out = slices.Compact(out)
	if len(out) == 0 {
		c.add(field, "required", "must have at least one scope")
	}
	for i, scope := range in {
		if !slices.Contains(known, scope) {
			c.add(fmt.Sprintf("%s[%d]", field, i), "scope", "must be one of "+strings.Join(known, ", "))
		}
	}
	if slices.Contains(out, everything) {
		return []string{everything}
	}
	return out
}

// email checks an e-mail address.
func (c *checks) email(field, s string) string {
	s = c.text(field, s, 1, maxEmail)
	if s == "" {
		return s
	}
	parsed, err := mail.ParseAddress(s)
	if err != nil || parsed.Address != s || !strings.Contains(s[strings.LastIndexByte(s, '@'):], ".") {
		c.add(field, "email", "must be an e-mail address")
	}
	return s
}

// password checks a new password of the administrator with that address.
func (c *checks) password(field, s, email string) {
	switch {
	case s == "":
		c.add(field, "required", "is required")
	case utf8.RuneCountInString(s) < leastPassword:
		c.add(field, "min_length", "must be at least 12 characters")
	case utf8.RuneCountInString(s) > mostPassword:
		c.add(field, "max_length", "must be at most 200 characters")
	case !utf8.ValidString(s):
		c.add(field, "characters", "must be UTF-8")
	case emailKey(s) == emailKey(email):
		c.add(field, "guessable", "must not be the e-mail address")
	}
}

// passwordOrNew checks a password, or makes one where none is given.
func (c *checks) passwordOrNew(given, email string) (password, generated string) {
	if given == "" {
		generated = newPassword()
		return generated, generated
	}
	c.password("password", given, email)
	return given, ""
}

// storable reports whether PostgreSQL could have stored a text.
func storable(s string) bool { return !strings.ContainsRune(s, 0) }

// cut returns the beginning of what a browser says, in printable characters.
func cut(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return -1
		}
		return r
	}, s)
	runes := []rune(s)
	return string(runes[:min(len(runes), most)])
}
