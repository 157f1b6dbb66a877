package pass

import (
	"os"
	"strings"
	"testing"

	"reservation.dev/platform/money"
)

// The proto and the OpenAPI description of Interface B must list the same payment methods.
func TestPaymentMethodsMatchDescriptions(t *testing.T) {
	last := len(money.PassMethods()) - 1
	for path, want := range map[string]string{
		"../../gateway-b/openapi/openapi.yaml": "enum: [" + strings.Join(money.PassMethods(), ", ") + "], default: " + money.PassMethods()[0] + ",",
		"../../proto/reservation/pass/v1/pass.proto": "// " + strings.Join(money.PassMethods()[:last], ", ") + " or " + money.PassMethods()[last] +
			" (free of charge); empty means " + money.PassMethods()[0] + ".",
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
