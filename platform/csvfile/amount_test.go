package csvfile

import "testing"

func TestParseAmount(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"0": 0, "12": 1200, "12.5": 1250, "12.50": 1250, "12,50": 1250, "0.05": 5, "1000000000.00": 100000000000} {
		if got, err := ParseAmount(text); err != nil || got != want {
			t.Errorf("%q: got %d, %v, want %d", text, got, err, want)
		}
		if got, err := ParseAmount(Amount(want).text); err != nil || got != want {
			t.Errorf("the written amount %d: got %d, %v", want, got, err)
		}
	}
	for _, text := range []string{"", ".", ".5", "12.", "12.505", "1,250.00", "1.250,00", "-1", "+1", "1e3", "12 €", "99999999999999999999"} {
		if got, err := ParseAmount(text); err == nil {
			t.Errorf("accepts %q as %d", text, got)
		}
	}
}
