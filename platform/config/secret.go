package config

import (
	"fmt"
	"io"
)

// Secret is a setting that prints as ***.
type Secret string

// Reveal returns the secret. Call it only where the secret is used.
func (s Secret) Reveal() string { return string(s) }

// String returns "***", or "" for an empty secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "***"
}

// Format writes "***" for every verb, because %d and %#v do not call String.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText hides the secret from encoders, including those of slog.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
