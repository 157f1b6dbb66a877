package auth

import (
	"slices"
	"testing"
)

func TestOrderOfTestData(t *testing.T) {
	var order []string
	for _, d := range dependents(Config{}) {
		order = append(order, d.part)
	}
	if want := []string{"customer", "booking", "subscription", "pass", "media", "reports", "webhook"}; !slices.Equal(order, want) {
		t.Errorf("test data are deleted in the order %v, want %v", order, want)
	}
}
