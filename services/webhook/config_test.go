package webhook

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reservation.dev/platform/config"
)

func TestDeliverySettings(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(empty, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		env  config.Env
		want string // "": right
	}{
		{config.Env{}, ""},
		{config.Env{"WEBHOOK_CA_FILE": "/nowhere/ca.pem"}, "WEBHOOK_CA_FILE: open /nowhere"},
		{config.Env{"WEBHOOK_CA_FILE": empty}, "contains no PEM certificate"},
		{config.Env{"WEBHOOK_RETRY_AFTER_MAX": "-1s"}, "WEBHOOK_RETRY_AFTER_MAX must not be negative"},
	} {
		err := config.Read(tt.env, &Delivery{})
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: got %v", tt.env, err)
		}
	}
}
