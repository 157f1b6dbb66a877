package bus_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"reservation.dev/devkit/mtlstest"
	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/bus"
)

// startNATS runs a server with JetStream that the options change.
func startNATS(t *testing.T, change func(*natsserver.Options)) (*natsserver.Server, *natsserver.Options, string) {
	t.Helper()
	opts := &natsserver.Options{Host: "127.0.0.1", Port: natsserver.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true}
	change(opts)
	s, err := natsserver.NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(patience) {
		t.Fatal("the server did not start")
	}
	return s, opts, fmt.Sprintf("nats://127.0.0.1:%d", s.Addr().(*net.TCPAddr).Port)
}

// serverTLS returns the TLS settings of a server with a certificate of the authority. The
// server accepts only clients of the given authorities, or all clients if there are none.
func serverTLS(t *testing.T, ca *mtlstest.CA, clients ...*mtlstest.CA) *tls.Config {
	t.Helper()
	pair := ca.Issue(t, "nats")
	cert, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}}
	if len(clients) > 0 {
		cfg.ClientAuth, cfg.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		for _, ca := range clients {
			cfg.ClientCAs.AppendCertsFromPEM(ca.PEM)
		}
	}
	return cfg
}

func file(t *testing.T, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	replace(t, path, text)
	return path
}

func replace(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := errors.Join(os.WriteFile(path+".next", text, 0o600), os.Rename(path+".next", path)); err != nil {
		t.Fatal(err)
	}
}

// try connects to a server that accepts the client.
func try(t *testing.T, url string, s bus.Security) (*bus.Bus, error) {
	t.Helper()
	return tryFor(t, time.Minute, url, s)
}

func tryFor(t *testing.T, limit time.Duration, url string, s bus.Security) (*bus.Bus, error) {
	t.Helper()
	b, err := bus.Connect(t.Context(), bus.Config{URL: url, StartTimeout: limit, Security: s}, testkit.Log(t))
	if err == nil {
		t.Cleanup(b.Close)
	}
	return b, err
}

func TestSecurity(t *testing.T) {
	ca, other := mtlstest.NewCA(t, "ours"), mtlstest.NewCA(t, "another")
	mine := mtlstest.NewMount(t, ca.Issue(t, "booking"), ca)
	theirs := mtlstest.NewMount(t, other.Issue(t, "booking"), other)
	trusted, wrong := file(t, ca.PEM), file(t, other.PEM)
	_, _, plain := startNATS(t, func(o *natsserver.Options) {
		o.TLSConfig, o.TLS = serverTLS(t, ca), true
		o.Users = []*natsserver.User{{Username: "booking", Password: "p:ss"}}
	})
	_, _, mutual := startNATS(t, func(o *natsserver.Options) {
		o.TLSConfig, o.TLS, o.TLSVerify = serverTLS(t, ca, ca), true, true
	})
	password := file(t, []byte("booking:p:ss\n"))

	t.Run("JetStream works over TLS with a user and a password", func(t *testing.T) {
		b, err := try(t, plain, bus.Security{CAFile: trusted, CredentialsFile: password})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.EnsureStreams(t.Context()); err != nil {
			t.Fatal(err)
		}
		if state, err := b.Conn().TLSConnectionState(); err != nil || !state.HandshakeComplete {
			t.Errorf("the connection is not encrypted: %v", err)
		}
	})
	t.Run("accepts the user in the URL", func(t *testing.T) {
		if _, err := try(t, strings.Replace(plain, "nats://", "tls://booking:p%3Ass@", 1), bus.Security{CAFile: trusted}); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("accepts a certificate instead of a password", func(t *testing.T) {
		if _, err := try(t, mutual, bus.Security{CAFile: trusted, CertFile: mine.Path(mtlstest.CertFile), KeyFile: mine.Path(mtlstest.KeyFile)}); err != nil {
			t.Fatal(err)
		}
	})
	for name, tt := range map[string]struct {
		url  string
		with bus.Security
		want string
	}{
		"a server of an authority that is not trusted": {plain, bus.Security{CAFile: wrong, CredentialsFile: password}, "unknown authority"},
		"a wrong password":               {plain, bus.Security{CAFile: trusted, CredentialsFile: file(t, []byte("booking:wrong"))}, "Authorization"},
		"a client without a certificate": {mutual, bus.Security{CAFile: trusted}, "tls"},
		"a client's certificate of another authority": {mutual, bus.Security{
			CAFile: trusted, CertFile: theirs.Path(mtlstest.CertFile), KeyFile: theirs.Path(mtlstest.KeyFile)}, ""},
	} {
		t.Run("refuses with the reason: "+name, func(t *testing.T) {
			t.Parallel() // each waits until the limit
			if _, err := tryFor(t, 5*time.Second, tt.url, tt.with); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	t.Run("reports invalid files by setting, without their secrets", func(t *testing.T) {
		for _, tt := range []struct {
			cfg  bus.Config
			want string
		}{
			{bus.Config{Security: bus.Security{CAFile: "/nowhere"}}, "NATS_CA_FILE: open /nowhere"},
			{bus.Config{Security: bus.Security{CAFile: password}}, "NATS_CA_FILE: "},
			{bus.Config{Security: bus.Security{CertFile: trusted}}, "NATS_KEY_FILE must be set together"},
			{bus.Config{Security: bus.Security{CertFile: trusted, KeyFile: trusted}}, "NATS_CERT_FILE, NATS_KEY_FILE: "},
			{bus.Config{Security: bus.Security{CredentialsFile: file(t, []byte("hunter2"))}}, "NATS_CREDENTIALS_FILE: "},
			{bus.Config{Security: bus.Security{CredentialsFile: file(t, []byte("SUAhunter2"))}}, "NATS_CREDENTIALS_FILE: "},
			{bus.Config{URL: "nats://u:hunter2@h:1", Security: bus.Security{CredentialsFile: password}}, "only one of them"},
			{bus.Config{URL: "nats://u:hunter2@h:port"}, "NATS_URL contains an invalid address"},
			{bus.Config{URL: "http://h:4222"}, "NATS_URL contains an invalid address"},
		} {
			_, err := bus.Connect(t.Context(), tt.cfg, testkit.Log(t))
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		}
	})
}

// goesOn waits until the bus has reconnected after change and the server answers.
func goesOn(t *testing.T, b *bus.Bus, change func()) {
	t.Helper()
	again := b.Reconnected()
	change()
	select {
	case <-again:
	case <-time.After(patience):
		t.Fatal("the bus does not reconnect")
	}
	testkit.Eventually(t, patience, func() error { return b.Conn().FlushTimeout(5 * time.Second) })
}

func TestRenewedFiles(t *testing.T) {
	t.Run("reconnects with the new user in the file after the old one was removed", func(t *testing.T) {
		before, after := &natsserver.User{Username: "a", Password: "first"}, &natsserver.User{Username: "b", Password: "second"}
		s, opts, url := startNATS(t, func(o *natsserver.Options) { o.Users = []*natsserver.User{before} })
		credentials := file(t, []byte("a:first"))
		b, err := try(t, url, bus.Security{CredentialsFile: credentials})
		if err != nil {
			t.Fatal(err)
		}
		reload := func(users ...*natsserver.User) {
			t.Helper()
			next := opts.Clone()
			next.Users = users
			if err := s.ReloadOptions(next); err != nil {
				t.Fatal(err)
			}
		}
		reload(before, after)
		replace(t, credentials, []byte("b:second\n"))
		if err := b.EnsureStreams(t.Context()); err != nil {
			t.Fatalf("while both users exist: %v", err)
		}
		goesOn(t, b, func() { reload(after) })
		if err := b.EnsureStreams(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("uses certificates of a new authority for the next connection", func(t *testing.T) {
		old, next := mtlstest.NewCA(t, "old"), mtlstest.NewCA(t, "next")
		mount := mtlstest.NewMount(t, old.Issue(t, "booking"), old)
		store, port := t.TempDir(), natsserver.RANDOM_PORT
		start := func(cfg *tls.Config) (*natsserver.Server, string) {
			s, _, url := startNATS(t, func(o *natsserver.Options) {
				o.TLSConfig, o.TLS, o.TLSVerify, o.StoreDir, o.Port = cfg, true, true, store, port
			})
			port = s.Addr().(*net.TCPAddr).Port
			return s, url
		}
		s, url := start(serverTLS(t, old, old))
		b, err := try(t, url, bus.Security{CAFile: mount.Path(mtlstest.CAFile), CertFile: mount.Path(mtlstest.CertFile), KeyFile: mount.Path(mtlstest.KeyFile)})
		if err != nil {
			t.Fatal(err)
		}
		mount.Swap(t, next.Issue(t, "booking"), old, next)
		if err := b.EnsureStreams(t.Context()); err != nil {
			t.Fatalf("on the existing connection: %v", err)
		}
		goesOn(t, b, func() {
			s.Shutdown()
			s.WaitForShutdown()
			start(serverTLS(t, next, next))
		})
	})
}

// TestCredentialsOfNATS connects with an NKey, and with the JWT of an operator's account.
func TestCredentialsOfNATS(t *testing.T) {
	user, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, _ := user.PublicKey()
	seed, _ := user.Seed()
	t.Run("accepts the seed of an NKey", func(t *testing.T) {
		_, _, url := startNATS(t, func(o *natsserver.Options) { o.Nkeys = []*natsserver.NkeyUser{{Nkey: public}} })
		b, err := try(t, url, bus.Security{CredentialsFile: file(t, seed)})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.EnsureStreams(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("reconnects with a new creds file after the account revoked the old one", func(t *testing.T) {
		operator, _ := nkeys.CreateOperator()
		account, _ := nkeys.CreateAccount()
		operatorKey, _ := operator.PublicKey()
		accountKey, _ := account.PublicKey()
		encode := func(c *jwt.AccountClaims) string {
			t.Helper()
			text, err := c.Encode(operator)
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		claims := jwt.NewAccountClaims(accountKey)
		resolver := &natsserver.MemAccResolver{}
		if err := resolver.Store(accountKey, encode(claims)); err != nil {
			t.Fatal(err)
		}
		s, _, url := startNATS(t, func(o *natsserver.Options) {
			o.JetStream, o.TrustedKeys, o.AccountResolver = false, []string{operatorKey}, resolver
		})
		creds := func(user nkeys.KeyPair) []byte {
			t.Helper()
			key, _ := user.PublicKey()
			seed, _ := user.Seed()
			text, err := jwt.NewUserClaims(key).Encode(account)
			if err != nil {
				t.Fatal(err)
			}
			config, err := jwt.FormatUserConfig(text, seed)
			if err != nil {
				t.Fatal(err)
			}
			return config
		}
		path := file(t, creds(user))
		b, err := try(t, url, bus.Security{CredentialsFile: path})
		if err != nil {
			t.Fatal(err)
		}
		second, _ := nkeys.CreateUser()
		replace(t, path, creds(second))
		goesOn(t, b, func() {
			claims.Revoke(public)
			known, err := s.LookupAccount(accountKey)
			if err != nil {
				t.Fatal(err)
			}
			if err := resolver.Store(accountKey, encode(claims)); err != nil {
				t.Fatal(err)
			}
			s.UpdateAccountClaims(known, claims)
		})
	})
}
