package config

import (
	"fmt"
	"io"
)

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

// Format hides the secret whatever the verb: %d and %#v would print it.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText hides the secret from encoders, slog's among them.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
