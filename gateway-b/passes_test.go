package gatewayb

import (
	"strings"
	"testing"
)

// The pass service holds its own list to the same description.
func TestPassPaymentMethodsAreTheDescribedOnes(t *testing.T) {
	if want := "enum: [" + strings.Join(passPaymentMethods(), ", ") + "]"; !strings.Contains(string(openapi), want) {
		t.Errorf("openapi.yaml does not contain %q", want)
	}
}
