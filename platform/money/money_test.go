package money

import (
	"os"
	"strings"
	"testing"

	"reservation.dev/platform/fault"
)

func TestCurrencies(t *testing.T) {
	t.Parallel()
	for _, code := range Currencies() {
		if !IsCurrency(code) {
			t.Errorf("%s is not a currency", code)
		}
	}
	// Amounts are hundredths, so a currency without decimals or with three is not supported.
	for _, code := range []string{"", "gbp", "JPY", "KWD", "GBP "} {
		if IsCurrency(code) {
			t.Errorf("%q is a currency", code)
		}
	}
}

// TestDescriptions compares the lists with their copies in the protos and OpenAPI descriptions.
func TestDescriptions(t *testing.T) {
	t.Parallel()
	currencies := ": { type: string, enum: [" + strings.Join(Currencies(), ", ") + "],"
	methods := fault.OneOf(PassMethods())
	for path, lines := range map[string][]string{
		"../../gateway-a/openapi/openapi.yaml": {
			"currency: { type: string, enum: [" + strings.Join(InterfaceA(), ", ") + "],",
			"enum: [" + strings.Join(Currencies()[len(InterfaceA()):], ", ") + "]\n          description: The currency",
		},
		"../../gateway-b/openapi/openapi.yaml": {
			"Currency" + currencies, "enum: [" + strings.Join(BookingMethods(), ", ") + "], default: " + BookingMethods()[0],
			"enum: [" + strings.Join(PassMethods(), ", ") + "], default: " + PassMethods()[0],
		},
		"../../proto/reservation/pass/v1/pass.proto": {"// " + strings.TrimPrefix(methods, "must be ") + " (free of charge); empty means " + PassMethods()[0] + "."},
		"../../proto/reservation/auth/v1/auth.proto": {"// ISO 4217 code: " + strings.TrimPrefix(fault.OneOf(Currencies()), "must be ") + "."},
	} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			if !strings.Contains(string(text), line) {
				t.Errorf("%s does not contain %q", path, line)
			}
		}
	}
}
