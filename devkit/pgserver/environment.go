package pgserver

import (
	"os"
	"strings"
)

// ForgetClientSettings removes the variables of PostgreSQL clients (PGHOST, PGSERVICE, PGSSLMODE,
// …) from the environment of this process. Clients add them to every URL, but they are for another
// server, not for the private one.
func ForgetClientSettings() error {
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "PG") {
			continue
		}
		if err := os.Unsetenv(name); err != nil {
			return err
		}
	}
	return nil
}
