package main

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"reservation.dev/devkit/credentials"
	"reservation.dev/devkit/demonstration"
	"reservation.dev/platform/id"
)

// state holds the secrets and the demonstration company of the instance. It is stored in
// DATA_DIR/state.json, which only its owner can read.
type state struct {
	// MasterKey encrypts stored secrets: 32 bytes in base64.
	MasterKey string `json:"master_key"`
	// Roles has the passwords of the database roles.
	Roles map[string]string `json:"roles"`
	// Credentials has the platform credentials of the operator and of the services.
	Credentials map[string]credentials.Credential `json:"credentials"`
	Demo        *demonstration.State              `json:"demo,omitempty"`

	path string
}

// loadState reads the state, or creates a new one. It adds missing credentials and saves it.
func loadState(dir string) (*state, error) {
	s := &state{path: filepath.Join(dir, "state.json")}
	text, err := os.ReadFile(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.MasterKey = base64.StdEncoding.EncodeToString(random(32))
	case err != nil:
		return nil, err
	default:
		if err := json.Unmarshal(text, s); err != nil {
			return nil, fmt.Errorf("%s: %w", s.path, err)
		}
	}
	if s.Roles == nil {
		s.Roles = map[string]string{}
	}
	if s.Credentials == nil {
		s.Credentials = map[string]credentials.Credential{}
	}
	for _, name := range []string{operator, "booking", "customer", "pass", "subscription", "media", "reports", "webhook"} {
		if _, ok := s.Credentials[name]; !ok {
			s.Credentials[name] = credentials.Credential{ID: id.New[id.ServiceCredential]().String(), Secret: hex.EncodeToString(random(32))}
		}
	}
	return s, s.save()
}

// operator is the name of the credential that reservectl and internal teams use.
const operator = "operator"

func (s *state) save() error { return credentials.Write(s.path, s) }

// secretFor returns the password of a database role. It generates one on first use.
func (s *state) secretFor(role string) string {
	if s.Roles[role] == "" {
		s.Roles[role] = hex.EncodeToString(random(16))
	}
	return s.Roles[role]
}

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return b
}
