package webhook

import (
	"net/netip"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// Why an endpoint gets nothing.
const (
	disabledRequested = "requested"
	disabledGone      = "gone"
	disabledFailing   = "failing"
)

// Reasons of refusals.
const (
	ReasonEndpointDisabled  = "ENDPOINT_DISABLED"
	ReasonTooManyEndpoints  = "TOO_MANY_ENDPOINTS"
	ReasonTooManyDeliveries = "TOO_MANY_DELIVERIES"
)

const (
	maxURL         = 2000
	maxDescription = 500
	maxEndpoints   = 50
)

// Endpoint is an address that is told of events.
type Endpoint struct {
	ID             id.WebhookEndpoint `db:"id"`
	URL            string             `db:"url"`
	Description    string             `db:"description"`
	Events         []string           `db:"events"`
	Enabled        bool               `db:"enabled"`
	DisabledReason *string            `db:"disabled_reason"` // nil while it is enabled
	DisabledAt     *time.Time         `db:"disabled_at"`
	FailingSince   *time.Time         `db:"failing_since"` // nil: the last attempt succeeded
	Version        int64              `db:"version"`
	CreatedAt      time.Time          `db:"created_at"`
	UpdatedAt      time.Time          `db:"updated_at"`
}

// disable stops deliveries to e; a repeat keeps the first reason.
func (e *Endpoint) disable(reason string, at time.Time) {
	if e.Enabled {
		e.Enabled, e.DisabledReason, e.DisabledAt = false, &reason, &at
	}
}

// enable starts deliveries to e and forgets what it was disabled for.
func (e *Endpoint) enable() {
	if !e.Enabled {
		e.Enabled, e.DisabledReason, e.DisabledAt, e.FailingSince = true, nil, nil, nil
	}
}

// checks collects the faults of a request's fields.
type checks struct{ fault.Checks }

func (c *checks) add(field, rule, message string) { c.Add(field, rule, message) }

func (c *checks) err() error { return c.Err() }

// url checks the form of an endpoint's address. What its name resolves to is
// checked by the guard.
func (c *checks) url(s string, g *guard) {
	const field = "url"
	u, err := url.Parse(s)
	host := ""
	if err == nil {
		host = u.Hostname()
	}
	switch {
	case s == "":
		c.add(field, "required", "is required")
	case len(s) > maxURL:
		c.add(field, "max_length", "must have at most 2000 characters")
	case err != nil || host == "" || u.Opaque != "" || strings.ContainsFunc(s, unprintable):
		c.add(field, "format", "must be an absolute URL")
	case u.Scheme != "https":
		c.add(field, "format", "must begin with https://")
	case u.User != nil:
		c.add(field, "format", "must not contain a user or password")
	case u.Fragment != "":
		c.add(field, "format", "must not have a fragment")
	case !validPort(u.Port()):
		c.add(field, "format", "must have a port between 1 and 65535")
	default:
		if a, err := netip.ParseAddr(host); err == nil && g.check(a) != nil {
			c.add(field, "address", "must not be a private, local or reserved address")
		}
	}
}

func unprintable(r rune) bool { return r <= ' ' || r == 0x7f || unicode.IsControl(r) }

func validPort(port string) bool {
	if port == "" {
		return true
	}
	n := 0
	for _, digit := range port {
		if digit < '0' || digit > '9' || n > 65535 {
			return false
		}
		n = 10*n + int(digit-'0')
	}
	return n >= 1 && n <= 65535
}

func (c *checks) description(s string) {
	switch {
	case utf8.RuneCountInString(s) > maxDescription:
		c.add("description", "max_length", "must have at most 500 characters")
	case strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }):
		c.add("description", "characters", "must not contain control characters")
	}
}
