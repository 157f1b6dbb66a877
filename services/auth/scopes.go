package auth

import (
	"slices"
	"strings"

	"reservation.dev/platform/fault"
)

// granted returns the scopes of a token, in the order of the credential's: all of them, or those
// that were requested.
func granted(all []string, requested string) ([]string, error) {
	wanted := strings.Fields(requested)
	if len(wanted) == 0 {
		return all, nil
	}
	for _, scope := range wanted {
		if !slices.Contains(all, scope) {
			return nil, &fault.Error{
				Kind: fault.Invalid, Reason: ReasonInvalidScope, Message: "the credential does not have a requested scope",
				Fields: []fault.Field{{Field: "scope", Rule: "granted", Message: "must have only scopes that the credential has"}},
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
