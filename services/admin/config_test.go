package admin

import (
	"strings"
	"testing"

	"reservation.dev/platform/config"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	if err := config.Read(config.Env{}, &Config{}); err != nil {
		t.Error(err)
	}
	err := config.Read(config.Env{"ADMIN_URL": "dashboard", "INTERFACE_A_URL": "ftp://a.example.com", "INTERFACE_B_URL": "/api/v1", "MEDIA_URL": "files"}, &Config{})
	for _, name := range []string{"ADMIN_URL", "INTERFACE_A_URL", "INTERFACE_B_URL", "MEDIA_URL"} {
		if err == nil || strings.Count(err.Error(), name) != 1 {
			t.Errorf("%v does not name %s", err, name)
		}
	}
}
