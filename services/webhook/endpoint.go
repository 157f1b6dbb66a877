package webhook

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/webhookevent"
)

// The reasons why an endpoint is disabled.
const (
	disabledRequested = "requested"
	disabledGone      = "gone"
	disabledFailing   = "failing"
)

// The reasons of faults.
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

// Endpoint is a URL that receives events.
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

// disable stops deliveries to e. A repeated call keeps the first reason.
func (e *Endpoint) disable(reason string, at time.Time) {
	if e.Enabled {
		e.Enabled, e.DisabledReason, e.DisabledAt = false, &reason, &at
	}
}

// refuseReplay returns the refusal of a replay to e if e is disabled, and otherwise nil.
func (e *Endpoint) refuseReplay() error {
	if e.Enabled {
		return nil
	}
	return fault.Refuse(ReasonEndpointDisabled, "the endpoint is disabled; enable it, then replay")
}

// enable starts deliveries to e and clears the reason why it was disabled.
func (e *Endpoint) enable() {
	if !e.Enabled {
		e.Enabled, e.DisabledReason, e.DisabledAt, e.FailingSince = true, nil, nil, nil
	}
}

// endpointChange is what a request sets of an endpoint; nil fields stay unchanged.
type endpointChange struct {
	url, description *string
	events           []string
	enabled          *bool
}

// newEndpoint returns an endpoint with the fields of a request.
func newEndpoint(endpoint id.WebhookEndpoint, c endpointChange, g *guard, now time.Time) (Endpoint, error) {
	e := Endpoint{ID: endpoint, Enabled: true, CreatedAt: now}
	err := e.update(c, g, now)
	return e, err
}

// update checks and applies the fields that c sets. If they all have the values that e already has,
// e keeps its version.
func (e *Endpoint) update(c endpointChange, g *guard, now time.Time) error {
	var f fields
	before := *e
	if c.url != nil {
		e.URL = strings.TrimSpace(*c.url)
		f.url(e.URL, g)
	}
	if c.description != nil {
		e.Description = f.Prose("description", *c.description, 0, maxDescription)
	}
	if c.events != nil {
		e.Events = f.events(c.events)
	}
	if c.enabled != nil && *c.enabled {
		e.enable()
	} else if c.enabled != nil {
		e.disable(disabledRequested, now)
	}
	if !e.sameAs(before) {
		e.Version++
		e.UpdatedAt = now
	}
	return f.Err()
}

// sameAs reports whether callers have set the same values for e and other.
func (e *Endpoint) sameAs(other Endpoint) bool {
	return e.URL == other.URL && e.Description == other.Description && e.Enabled == other.Enabled && slices.Equal(e.Events, other.Events)
}

// fields checks the fields of a request about an endpoint.
type fields struct{ check.Fields }

// url checks the form of an endpoint's URL. The guard checks the addresses that its host name
// resolves to.
func (f *fields) url(s string, g *guard) {
	const field = "url"
	u, err := url.Parse(s)
	host := ""
	if err == nil {
		host = u.Hostname()
	}
	switch {
	case s == "":
		f.Add(field, "required", "is required")
	case len(s) > maxURL:
		f.Add(field, "max_length", "must be at most 2000 characters")
	case err != nil || host == "" || u.Opaque != "" || strings.ContainsFunc(s, unprintable):
		f.Add(field, "format", "must be an absolute URL")
	case u.Scheme != "https":
		f.Add(field, "format", "must begin with https://")
	case u.User != nil:
		f.Add(field, "format", "must not contain a user or password")
	case u.Fragment != "":
		f.Add(field, "format", "must not have a fragment")
	case !validPort(u.Port()):
		f.Add(field, "format", "must have a port between 1 and 65535")
	default:
		if a, err := netip.ParseAddr(host); err == nil && g.check(a) != nil {
			f.Add(field, "address", "must not be a private, local or reserved address")
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

// events checks the names of events and returns them in order, without duplicates; none means the
// default events.
func (f *fields) events(names []string) []string {
	known := webhookevent.Names()
	for _, name := range names {
		if !slices.Contains(known, name) {
			f.Add("events", "enum", fault.OneOf(webhookevent.NamesNear(name)))
			return nil
		}
	}
	if len(names) == 0 {
		names = webhookevent.DefaultNames()
	}
	return slices.DeleteFunc(known, func(name string) bool { return !slices.Contains(names, name) })
}
