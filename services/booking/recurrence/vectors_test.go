package recurrence

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"reservation.dev/platform/check"
)

// TestVectors compares the dates of rules with those of an implementation in another language
// (testdata/vectors.py). RECURRENCE_VECTORS names another file to use.
func TestVectors(t *testing.T) {
	file := os.Getenv("RECURRENCE_VECTORS")
	if file == "" {
		file = "testdata/vectors.json"
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var vectors [][5]json.RawMessage
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors) < 300 {
		t.Fatalf("only %d vectors", len(vectors))
	}
	for _, v := range vectors {
		var timezone string
		var r Recurrence
		var want []time.Time
		for i, to := range []any{&timezone, &r.Start, &r.Rule, &r.Exceptions, &want} {
			if err := json.Unmarshal(v[i], to); err != nil {
				t.Fatalf("%s: %v", v, err)
			}
		}
		original := r
		var faults check.Fields
		got := r.Dates(timezone, &faults)
		if faults.Len() > 0 || !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Errorf("%s in %s from %s without %v:\n got %v %v\nwant %v", original.Rule, timezone, original.Start, original.Exceptions, got, faults.List(), want)
		}
	}
}
