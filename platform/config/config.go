// Package config reads a part's settings from its environment into one struct
// with defaults, and reports every fault at once.
//
// A settings struct uses the tags of caarlos0/env (`env:"NAME" envDefault:"…"`)
// and `doc:"…"` for the one-line description that the settings table in the
// documentation is made of. If it has a method Validate() error, that is called
// after reading; errors.Join lets it report several faults.
package config

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/caarlos0/env/v11"
)

// Env is where settings come from: the process's environment, or a map when
// several parts share one process.
type Env map[string]string

// OS returns the environment of the process. A variable NAME_FILE gives NAME
// the content of that file, so that secrets can be mounted.
func OS() (Env, error) {
	e := Env(env.ToMap(os.Environ()))
	var faults []error
	for name, path := range e {
		base, ok := strings.CutSuffix(name, "_FILE")
		if !ok || path == "" {
			continue
		}
		if _, taken := e[base]; taken {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			// Only settings end in _FILE on purpose; a stranger's variable is not ours to refuse.
			if settingsFiles[name] {
				faults = append(faults, fmt.Errorf("%s: %w", name, err))
			}
			continue
		}
		e[base] = strings.TrimRight(string(text), "\r\n")
	}
	return e, errors.Join(faults...)
}

// settingsFiles are the _FILE variables whose file must be readable.
var settingsFiles = map[string]bool{
	"DATABASE_URL_FILE": true, "MIGRATION_DATABASE_URL_FILE": true,
	"MASTER_KEY_FILE": true, "SERVICE_CREDENTIAL_FILE": true, "BOOTSTRAP_CREDENTIALS_FILE": true,
}

// Read fills dst, a pointer to a settings struct, and validates it.
func Read(e Env, dst any) error {
	err := env.ParseWithOptions(dst, env.Options{Environment: e})
	if v, ok := dst.(interface{ Validate() error }); ok {
		err = errors.Join(err, v.Validate())
	}
	if err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	return nil
}

// Secret is a setting that prints as ***.
type Secret string

// Reveal returns the secret itself, for the one place that uses it.
func (s Secret) Reveal() string { return string(s) }

// String hides the secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "***"
}

// GoString hides the secret from %#v.
func (s Secret) GoString() string { return s.String() }

// MarshalText hides the secret from encoders, slog's among them.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
