package rpc

import "testing"

func TestKindOf(t *testing.T) {
	t.Parallel()
	for requirement, want := range map[string]string{
		"events:write":     "events",
		"bookings:write":   "bookings",
		"api-clients:read": "api-clients",
		"bookings:write|registrations:write|transactions:write": "transactions",
		"bookings:write|holds:write":                            "holds",
		"customers:write|profile:write":                         "customers",
		"customers:write|privacy:write":                         "customers",
		AnyToken:                                                "",
		PlatformOnly:                                            "",
	} {
		if got := kindOf(requirement); got != want {
			t.Errorf("%s: got %q, want %q", requirement, got, want)
		}
	}
}
