package service

import (
	"strings"
	"testing"

	"reservation.dev/platform/config"
)

func TestCredentialSettings(t *testing.T) {
	t.Parallel()
	t.Run("reports an invalid identifier and secret by name without showing them", func(t *testing.T) {
		t.Parallel()
		var c Credential
		err := config.Read(config.Env{"SERVICE_CREDENTIAL_ID": "key_01jb4x9m3vf6ksn8w2d7pq5r0t", "SERVICE_CREDENTIAL_SECRET": "half-a-secret"}, &c)
		if err == nil || !strings.Contains(err.Error(), "SERVICE_CREDENTIAL_ID is not") || !strings.Contains(err.Error(), "SERVICE_CREDENTIAL_SECRET must have 64") || strings.Contains(err.Error(), "half-a") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("accepts hexadecimal letters in either case", func(t *testing.T) {
		t.Parallel()
		for _, secret := range []string{strings.Repeat("0a", 32), strings.Repeat("0A", 32)} {
			if err := config.Read(config.Env{"SERVICE_CREDENTIAL_ID": "svc_01jb4x9m3vf6ksn8w2d7pq5r0t", "SERVICE_CREDENTIAL_SECRET": secret}, &Credential{}); err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("reports each missing setting once", func(t *testing.T) {
		t.Parallel()
		err := config.Read(config.Env{}, &Credential{})
		if err == nil || strings.Count(err.Error(), "SERVICE_CREDENTIAL_") != 2 {
			t.Errorf("got %v", err)
		}
	})
}
