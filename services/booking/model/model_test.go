package model

import (
	"testing"

	"reservation.dev/platform/fault"
)

// wantFault checks the fault of an error.
func wantFault(t testing.TB, err error, kind fault.Kind, reason string) *fault.Error {
	t.Helper()
	f := fault.From(err)
	if err == nil || f.Kind != kind || f.Reason != reason {
		t.Fatalf("got %v, want %s", err, reason)
	}
	return f
}
