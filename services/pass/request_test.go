package pass

import (
	"os"
	"strings"
	"testing"
)

// The description of Interface B and the proto list the payment methods too.
func TestPaymentMethodsAreTheDescribedOnes(t *testing.T) {
	last := len(paymentMethods()) - 1
	for path, want := range map[string]string{
		"../../gateway-b/openapi.yaml": "enum: [" + strings.Join(paymentMethods(), ", ") + "], default: " + paymentMethods()[0] + ",",
		"../../proto/reservation/pass/v1/pass.proto": "// " + strings.Join(paymentMethods()[:last], ", ") + " or " + paymentMethods()[last] +
			" (given away); empty: " + paymentMethods()[0] + ".",
	} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), want) {
			t.Errorf("%s does not contain %q", path, want)
		}
	}
}
