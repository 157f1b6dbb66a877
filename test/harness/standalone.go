package harness

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// StandaloneOptions say how to run the platform in one process.
type StandaloneOptions struct {
	// Dir is its DATA_DIR; "": a fresh one.
	Dir string
	// Env is added to its environment. DEMO is off unless it says otherwise.
	Env map[string]string
}

// Standalone is the platform in one process.
type Standalone struct {
	*Process
	Platform
	Dir string
	// Credentials is what credentials.json holds.
	Credentials Credentials

	began time.Time
}

// Credentials is DATA_DIR/credentials.json.
type Credentials struct {
	InterfaceA struct {
		BaseURL      string `json:"base_url"`
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
	} `json:"interface_a"`
	GRPC struct {
		Auth              string     `json:"auth"`
		Customer          string     `json:"customer"`
		Booking           string     `json:"booking"`
		Pass              string     `json:"pass"`
		ServiceToken      string     `json:"service_token"`
		ServiceCredential Credential `json:"service_credential"`
	} `json:"grpc"`
	CompanyID string `json:"company_id"`
}

// StartStandalone runs the platform in one process on ports of its own, and
// returns when it is ready.
func StartStandalone(t testing.TB, o StandaloneOptions) *Standalone {
	t.Helper()
	s := NewStandalone(t, o)
	s.Start(t)
	s.AwaitReady(t)
	return s
}

// NewStandalone is StartStandalone without starting.
func NewStandalone(t testing.TB, o StandaloneOptions) *Standalone {
	t.Helper()
	if o.Dir == "" {
		o.Dir = filepath.Join(TempDir(t), "data")
	}
	env := map[string]string{
		"DATA_DIR": o.Dir, "PORT_BASE": strconv.Itoa(freePorts(t)), "DEMO": "off", "LOG_LEVEL": "info",
	}
	maps.Copy(env, o.Env)
	return &Standalone{
		Process: newProcess(t, "standalone", filepath.Dir(o.Dir), env, Program(t, "standalone", "reservectl")),
		Dir:     o.Dir,
	}
}

// CredentialsFile is the path of credentials.json.
func (s *Standalone) CredentialsFile() string { return filepath.Join(s.Dir, "credentials.json") }

// Start starts the platform; it must not be running.
func (s *Standalone) Start(t testing.TB) {
	t.Helper()
	s.began = time.Now()
	s.Process.Start(t)
}

// AwaitReady returns when the platform is ready, which is when it has written
// credentials.json. One that was killed has left its own.
func (s *Standalone) AwaitReady(t testing.TB) {
	t.Helper()
	s.await(t, "ready", func() error {
		info, err := os.Stat(s.CredentialsFile())
		if err == nil && info.ModTime().Before(s.began) {
			err = errors.New("credentials.json is the one of an earlier run")
		}
		return err
	})
	text, err := os.ReadFile(s.CredentialsFile())
	if err != nil {
		t.Fatal(err)
	}
	s.Credentials = Credentials{}
	if err := json.Unmarshal(text, &s.Credentials); err != nil {
		t.Fatalf("credentials.json: %v\n%s", err, text)
	}
	c := &s.Credentials
	s.Platform = Platform{
		BaseURL: c.InterfaceA.BaseURL, Auth: c.GRPC.Auth, Customer: c.GRPC.Customer, Booking: c.GRPC.Booking, Pass: c.GRPC.Pass,
		OperatorCredential: c.GRPC.ServiceCredential,
	}
}
