package fault_test

import (
	"testing"

	"reservation.dev/platform/fault"
)

func TestOneOf(t *testing.T) {
	for want, names := range map[string][]string{
		"must be a": {"a"}, "must be a or b": {"a", "b"}, "must be a, b or c": {"a", "b", "c"},
	} {
		if got := fault.OneOf(names); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
