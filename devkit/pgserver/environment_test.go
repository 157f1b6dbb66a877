package pgserver

import (
	"os"
	"testing"
)

func TestClientSettingsOfTheMachineAreForgotten(t *testing.T) {
	foreign := map[string]string{
		"PGHOST": "/nonexistent", "PGPORT": "1", "PGUSER": "nobody", "PGPASSWORD": "wrong", "PGDATABASE": "none",
		"PGSERVICE": "none", "PGSSLMODE": "verify-full", "PGOPTIONS": "-c nothing=1", "PGTZ": "Asia/Tokyo", "PGPASSFILE": "/nonexistent",
	}
	for name, text := range foreign {
		t.Setenv(name, text)
	}
	s := start(t, Options{Dir: openDir(t)})
	if got := value(t, s.AdminURL(), "select current_user || ' ' || current_setting('TimeZone')"); got != "postgres UTC" {
		t.Errorf("the session has the role and time zone %q, want postgres UTC", got)
	}
	for name := range foreign {
		if text, ok := os.LookupEnv(name); ok {
			t.Errorf("%s is still %q", name, text)
		}
	}
}
