package harness

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"reservation.dev/devkit/mtlstest"
	"reservation.dev/devkit/pgserver/pgservertest"
	"reservation.dev/platform/mtls"
)

// Security is the basis of a secure cluster's connections: a certificate authority, a directory
// with a certificate for each service, and credentials for NATS.
type Security struct {
	// CA issues the certificates of PostgreSQL and NATS and, at first, of the services.
	CA   *mtlstest.CA
	root testing.TB // the test of the cluster
	// mounts are the directories with certificates, by program.
	mounts map[string]*mtlstest.Mount
	ca     string // file with the certificate of PostgreSQL's and NATS's authority
	nats   string // file with the user and password for NATS
}

// operatorProgram is the name in the operator's certificate.
const operatorProgram = "reservectl"

// natsUser returns the NATS user that the services have at first.
func natsUser() *server.User { return &server.User{Username: "parts", Password: "of-the-platform"} }

func newSecurity(t testing.TB, c *Cluster) *Security {
	t.Helper()
	s := &Security{
		root: t,
		CA:   mtlstest.NewCA(t, "authority of a test"), mounts: map[string]*mtlstest.Mount{},
		ca: filepath.Join(c.dir, "authority.pem"), nats: filepath.Join(c.dir, "nats.credentials"),
	}
	user := natsUser()
	if err := errors.Join(os.WriteFile(s.ca, s.CA.PEM, 0o600), os.WriteFile(s.nats, []byte(user.Username+":"+user.Password+"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	pair := s.CA.Issue(t, "postgres")
	if err := pgservertest.RequireTLS(t.Context(), c.Postgres.AdminURL(), pair.Cert, pair.Key); err != nil {
		t.Fatal(err)
	}
	c.TLS = s.Files(t, operatorProgram)
	return s
}

// startNATS runs a server that accepts only TLS, and only the services' user.
func (s *Security) startNATS(t testing.TB, dir string) *NATS {
	t.Helper()
	opts := natsOptions(t, dir)
	pair := s.CA.Issue(t, "nats")
	cert, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	opts.TLS, opts.TLSConfig = true, &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{cert}}
	opts.Users = []*server.User{natsUser()}
	return startNATS(t, opts)
}

// databaseURL adds TLS and server verification to a URL.
func (s *Security) databaseURL(t testing.TB, raw string) string {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	u.RawQuery = url.Values{"sslmode": {"verify-full"}, "sslrootcert": {s.ca}}.Encode()
	return u.String()
}

// mount returns the directory with a program's certificate.
func (s *Security) mount(t testing.TB, program string) *mtlstest.Mount {
	t.Helper()
	if s.mounts[program] == nil {
		s.mounts[program] = mtlstest.NewMount(s.root, s.CA.Issue(t, program), s.CA)
	}
	return s.mounts[program]
}

// Env returns the settings with a program's certificate and credentials.
func (s *Security) Env(t testing.TB, program string) map[string]string {
	t.Helper()
	env := map[string]string{"NATS_CA_FILE": s.ca, "NATS_CREDENTIALS_FILE": s.nats}
	maps.Copy(env, s.mount(t, program).Env())
	return env
}

// Files returns the certificate files of a program.
func (s *Security) Files(t testing.TB, program string) *mtls.Files {
	t.Helper()
	m := s.mount(t, program)
	f, err := mtls.Open(mtls.Config{CertFile: m.Path(mtlstest.CertFile), KeyFile: m.Path(mtlstest.KeyFile), CAFile: m.Path(mtlstest.CAFile)}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Certify gives every program a new certificate from issuer, and makes it trust the given
// authorities.
func (s *Security) Certify(t testing.TB, issuer *mtlstest.CA, trusted ...*mtlstest.CA) {
	t.Helper()
	for program, m := range s.mounts {
		m.Swap(t, issuer.Issue(t, program), trusted...)
	}
}

// RenameNATSUser gives the services another NATS user: first in their credentials file, then on
// the server, which from then on refuses the old user.
func (c *Cluster) RenameNATSUser(t testing.TB, name, password string) {
	t.Helper()
	next := c.Security.nats + ".next"
	if err := errors.Join(os.WriteFile(next, []byte(name+":"+password), 0o600), os.Rename(next, c.Security.nats)); err != nil {
		t.Fatal(err)
	}
	c.NATS.opts.Users = []*server.User{{Username: name, Password: password}}
	if err := c.NATS.server.ReloadOptions(c.NATS.opts.Clone()); err != nil {
		t.Fatal(err)
	}
}
