package harness

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// StandaloneOptions configure the platform in one process.
type StandaloneOptions struct {
	// Dir is its DATA_DIR; "": a new directory.
	Dir string
	// Env is added to its environment. DEMO is off by default.
	Env map[string]string
	// Account is the account that runs it; nil: that of this process. It must be able to create
	// Dir.
	Account *syscall.Credential
}

// Standalone is the platform in one process.
type Standalone struct {
	*Process
	Platform
	Dir string
	// PortBase is the first of its ports.
	PortBase int
	// Credentials is the content of credentials.json.
	Credentials Credentials

	began time.Time
}

// Credentials is the content of DATA_DIR/credentials.json.
type Credentials struct {
	InterfaceA struct {
		BaseURL      string `json:"base_url"`
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
	} `json:"interface_a"`
	InterfaceB struct {
		BaseURL   string `json:"api_base_url"`
		APIKey    string `json:"api_key"`
		APISecret string `json:"api_secret"`
	} `json:"interface_b"`
	GRPC struct {
		Auth              string     `json:"auth"`
		Customer          string     `json:"customer"`
		Booking           string     `json:"booking"`
		Pass              string     `json:"pass"`
		Subscription      string     `json:"subscription"`
		Media             string     `json:"media"`
		Reports           string     `json:"reports"`
		Webhook           string     `json:"webhook"`
		ServiceToken      string     `json:"service_token"`
		ServiceCredential Credential `json:"service_credential"`
	} `json:"grpc"`
	Media struct {
		BaseURL string `json:"base_url"`
	} `json:"media"`
	Admin struct {
		URL      string `json:"url"`
		Email    string `json:"email"`
		Password string `json:"password"`
	} `json:"admin"`
	Webhooks struct {
		CAFile string `json:"ca_file"`
	} `json:"webhooks"`
	CompanyID string `json:"company_id"`
	AdminPort string `json:"admin_port"` // address of /readyz and /metrics
}

// StartStandalone runs the platform in one process on its own ports, and returns when it is
// ready.
func StartStandalone(t testing.TB, o StandaloneOptions) *Standalone {
	t.Helper()
	s := NewStandalone(t, o)
	s.Start(t)
	s.AwaitReady(t)
	return s
}

// NewStandalone is like StartStandalone, but does not start the platform.
func NewStandalone(t testing.TB, o StandaloneOptions) *Standalone {
	t.Helper()
	if o.Dir == "" {
		o.Dir = filepath.Join(TempDir(t), "data")
	}
	base := freePorts(t)
	env := map[string]string{
		"DATA_DIR": o.Dir, "PORT_BASE": strconv.Itoa(base), "DEMO": "off", "LOG_LEVEL": "info",
	}
	maps.Copy(env, o.Env)
	s := &Standalone{
		Process: newProcess(t, "standalone", filepath.Dir(o.Dir), env, programFor(t, o.Account, "standalone", "reservectl")),
		Dir:     o.Dir, PortBase: base,
	}
	if s.account = o.Account; s.account != nil {
		s.env = slices.DeleteFunc(s.env, func(entry string) bool { return strings.HasPrefix(entry, "HOME=") })
	}
	return s
}

// programFor is like Program. An account may be unable to enter the directory in which programs
// are built, so it gets a copy.
func programFor(t testing.TB, account *syscall.Credential, name string, more ...string) string {
	t.Helper()
	path := Program(t, name, more...)
	if account == nil {
		return path
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(TempDir(t), name)
	// Chmod, because the umask may deny other accounts access.
	if err := errors.Join(os.WriteFile(path, text, 0o755), os.Chmod(path, 0o755)); err != nil {
		t.Fatal(err)
	}
	return path
}

// CredentialsFile is the path of credentials.json.
func (s *Standalone) CredentialsFile() string { return filepath.Join(s.Dir, "credentials.json") }

// Start starts the platform; it must not be running.
func (s *Standalone) Start(t testing.TB) {
	t.Helper()
	s.began = time.Now()
	s.Process.Start(t)
}

// AwaitReady returns when the platform is ready, which it signals by writing credentials.json. A
// killed process leaves an old credentials.json, which is ignored.
func (s *Standalone) AwaitReady(t testing.TB) {
	t.Helper()
	s.await(t, "ready", func() error {
		info, err := os.Stat(s.CredentialsFile())
		if err == nil && info.ModTime().Before(s.began) {
			err = errors.New("credentials.json is from an earlier run")
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
		Subscription: c.GRPC.Subscription, Media: c.GRPC.Media, MediaURL: c.Media.BaseURL, Reports: c.GRPC.Reports, Webhook: c.GRPC.Webhook,
		OperatorCredential: c.GRPC.ServiceCredential,
	}
}
