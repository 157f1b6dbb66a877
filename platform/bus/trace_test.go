package bus

import "testing"

func TestTopic(t *testing.T) {
	for subject, want := range map[string]string{
		"booking.v1.booking_confirmed":                "booking.v1.booking_confirmed",
		"auth.v1.credential_revoked.key_01jb":         "auth.v1.credential_revoked",
		"auth.v1.credential_revoked.key_01jb.further": "auth.v1.credential_revoked",
		"x": "x",
		"":  "",
	} {
		if got := Topic(subject); got != want {
			t.Errorf("%q: %q", subject, got)
		}
	}
}
