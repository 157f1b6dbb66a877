package auth

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/idna"

	"reservation.dev/platform/id"
)

const (
	// maxPublishableKeys is how many publishable keys a company can have.
	maxPublishableKeys = 50
	// publishableLifetime is how long the token of a publishable key lives. It is short because
	// gateways keep the token: nobody else has it.
	publishableLifetime = 10 * time.Minute
)

// PublishableKey is a credential for web pages. It has no secret: whoever sees the page can use it.
// Browsers let only the pages of its origins read the responses.
type PublishableKey struct {
	Company    id.Company        `db:"company_id"`
	ID         id.PublishableKey `db:"id"`
	Name       string            `db:"name"`
	Origins    []string          `db:"origins"` // normal, see normalOrigin
	Generation int64             `db:"generation"`
	RevokedAt  *time.Time        `db:"revoked_at"`
	DisabledAt *time.Time        `db:"disabled_at"`
	DeletedAt  *time.Time        `db:"deleted_at"`
	Version    int64             `db:"version"`
	CreatedAt  time.Time         `db:"created_at"`
	UpdatedAt  time.Time         `db:"updated_at"`
}

// publishableFields are the fields that a request sets; nil: not set.
type publishableFields struct {
	name    *string
	origins *[]string
	enabled *bool
}

// checked checks the fields and returns them as they are stored.
func (f publishableFields) checked() (publishableFields, error) {
	var check checks
	if f.name != nil {
		f.name = new(check.Line("name", *f.name, 1, maxName))
	}
	if f.origins != nil {
		f.origins = new(check.origins("origins", *f.origins))
	}
	return f, check.Err()
}

// update applies the fields to k, and reports whether anything changed. Gateways keep the origins with
// the key's token, so other origins revoke it.
func (k *PublishableKey) update(f publishableFields, now time.Time) (changed bool) {
	before := *k
	if f.name != nil {
		k.Name = *f.name
	}
	if f.origins != nil {
		k.Origins = *f.origins
	}
	if f.enabled != nil {
		k.enable(*f.enabled, now)
	}
	if !slices.Equal(before.Origins, k.Origins) || (before.DisabledAt == nil && k.DisabledAt != nil) {
		k.revoke(now)
	}
	return before.Name != k.Name || before.Generation != k.Generation || (before.DisabledAt == nil) != (k.DisabledAt == nil)
}

func (k *PublishableKey) enable(enabled bool, now time.Time) {
	switch {
	case enabled:
		k.DisabledAt = nil
	case k.DisabledAt == nil:
		k.DisabledAt = &now
	}
}

// remove deletes k.
func (k *PublishableKey) remove(now time.Time) {
	k.DeletedAt = &now
	k.revoke(now)
}

// revoke revokes every token issued before.
func (k *PublishableKey) revoke(now time.Time) {
	k.Generation++
	k.RevokedAt = &now
}

// usable reports whether gateways can get tokens for k.
func (k *PublishableKey) usable() bool { return k.DeletedAt == nil && k.DisabledAt == nil }

// facts returns what the audit log records of k.
func (k *PublishableKey) facts() []Detail {
	return []Detail{
		{Field: "name", After: k.Name}, {Field: "origins", After: strings.Join(k.Origins, " ")},
		{Field: "enabled", After: strconv.FormatBool(k.DisabledAt == nil)},
	}
}

// changes returns what the audit log records of the change from before to k. If no fact differs, it
// returns the name.
func (k *PublishableKey) changes(before PublishableKey) []Detail {
	if details := differences(before.facts(), k.facts()); len(details) > 0 {
		return details
	}
	return []Detail{{Field: "name", After: k.Name}}
}

// origins checks origins, and returns them as browsers send them, each once.
func (c *checks) origins(field string, in []string) []string {
	out := make([]string, 0, len(in))
	for i, given := range in {
		origin, err := normalOrigin(given)
		if err != nil {
			c.Add(fmt.Sprintf("%s[%d]", field, i), "origin", err.Error())
			continue
		}
		if !slices.Contains(out, origin) {
			out = append(out, origin)
		}
	}
	return out
}

var (
	errOrigin       = errors.New("must be a scheme and a host, for example https://studio.example")
	errOriginScheme = errors.New("must begin with https://; only localhost can have http://")
	errOriginPath   = errors.New("must not have a path, a query or a user name")
)

// normalOrigin returns an origin as a browser sends it: in lower case, with an international host name
// in ASCII, and without the default port or a slash at the end.
func normalOrigin(given string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(given))
	if err != nil || u.Host == "" || u.Opaque != "" {
		return "", errOrigin
	}
	if (u.Path != "" && u.Path != "/") || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.User != nil {
		return "", errOriginPath
	}
	host, err := normalHost(u.Hostname())
	if err != nil {
		return "", err
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !isLocal(host)) {
		return "", errOriginScheme
	}
	return u.Scheme + "://" + host + portSuffix(u), portFault(u)
}

// normalHost returns a host name in ASCII, or an address in the form of URLs.
func normalHost(host string) (string, error) {
	if addr, err := netip.ParseAddr(host); err == nil && addr.Zone() == "" {
		if addr.Is6() {
			return "[" + addr.String() + "]", nil
		}
		return addr.String(), nil
	}
	ascii, err := idna.Lookup.ToASCII(host)
	if err != nil || ascii == "" || strings.Contains(ascii, "..") || strings.HasPrefix(ascii, ".") {
		return "", errOrigin
	}
	return ascii, nil
}

// isLocal reports whether a host is the browser's own computer.
func isLocal(host string) bool {
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || host == "127.0.0.1" || host == "[::1]"
}

// portSuffix returns the port of an origin with its colon, or "" for the default port.
func portSuffix(u *url.URL) string {
	n, _ := strconv.Atoi(u.Port())
	if n == 0 || (u.Scheme == "https" && n == 443) || (u.Scheme == "http" && n == 80) {
		return ""
	}
	return ":" + strconv.Itoa(n)
}

func portFault(u *url.URL) error {
	if u.Port() == "" {
		return nil
	}
	if n, err := strconv.Atoi(u.Port()); err != nil || n < 1 || n > 65535 {
		return errOrigin
	}
	return nil
}
