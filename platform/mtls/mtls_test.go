package mtls

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"reservation.dev/devkit/mtlstest"
)

// open returns Files that check a mount at every handshake and log to the buffer.
func open(t testing.TB, m *mtlstest.Mount, domain string) (*Files, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	f, err := Open(Config{
		CertFile: m.Path(mtlstest.CertFile), KeyFile: m.Path(mtlstest.KeyFile), CAFile: m.Path(mtlstest.CAFile), TrustDomain: domain,
	}, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	f.every = 0
	return f, &log
}

// shake connects a client to a server over a new connection, and returns what each
// side reports. The client notices a server's refusal when it reads the first
// byte.
func shake(t testing.TB, server, client *Files, part, authority string) (caller *Peer, serverErr, clientErr error) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	done := make(chan error, 1)
	go func() {
		raw, err := ln.Accept()
		if err != nil {
			done <- err
			return
		}
		defer raw.Close()
		conn, auth, err := server.Server().ServerHandshake(raw)
		if err == nil {
			caller = auth.(*Peer)
			_, err = conn.Write([]byte{1})
		}
		done <- err
	}()
	raw, err := net.DialTimeout("tcp", ln.Addr().String(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	_ = raw.SetDeadline(time.Now().Add(time.Minute))
	conn, _, clientErr := client.Client(part).ClientHandshake(context.WithoutCancel(t.Context()), authority, raw)
	if clientErr == nil {
		_, clientErr = conn.Read(make([]byte, 1))
	}
	raw.Close()
	return caller, <-done, clientErr
}

func TestHandshake(t *testing.T) {
	t.Parallel()
	ours, theirs := mtlstest.NewCA(t, "ours"), mtlstest.NewCA(t, "theirs")
	const domain, id = "example.org", "spiffe://example.org/ns/reservation/sa/"
	mount := func(ca *mtlstest.CA, l mtlstest.Leaf, trusted ...*mtlstest.CA) *mtlstest.Mount {
		return mtlstest.NewMount(t, ca.IssueLeaf(t, l), trusted...)
	}
	booking := mtlstest.Leaf{DNS: []string{"booking", "booking.reservation.svc"}}
	gateway := mtlstest.Leaf{DNS: []string{"gateway-a"}}
	for name, tt := range map[string]struct {
		server, client    *mtlstest.Mount
		domain            string
		part, authority   string
		names             []string // of the caller, as the server sees it
		serverErr, refuse string   // what is in the errors of either side
	}{
		"a server with the service's name, at an address that is not in its certificate": {
			server: mount(ours, booking, ours), client: mount(ours, gateway, ours), part: "booking", authority: "10.1.2.3:9090",
			names: []string{"gateway-a"},
		},
		"a server with the name of the dialled host": {
			server: mount(ours, booking, ours), client: mount(ours, gateway, ours), part: "sales", authority: "booking.reservation.svc:9090",
			names: []string{"gateway-a"},
		},
		"a server with the dialled address": {
			server: mount(ours, mtlstest.Leaf{IPs: []string{"127.0.0.1"}}, ours), client: mount(ours, gateway, ours), part: "booking", authority: "127.0.0.1:9090",
			names: []string{"gateway-a"},
		},
		"SPIFFE identifiers on both sides": {
			server: mount(ours, mtlstest.Leaf{URIs: []string{id + "booking"}}, ours), client: mount(ours, mtlstest.Leaf{URIs: []string{id + "gateway-a"}}, ours),
			domain: domain, part: "booking", authority: "10.1.2.3:9090",
			names: []string{"gateway-a", id + "gateway-a"},
		},
		"a server with the name of another service": {
			server: mount(ours, mtlstest.Leaf{DNS: []string{"pass"}}, ours), client: mount(ours, gateway, ours), part: "booking", authority: "10.1.2.3:9090",
			refuse: `neither for the service "booking"`,
		},
		"a SPIFFE identifier from another trust domain": {
			server: mount(ours, mtlstest.Leaf{URIs: []string{"spiffe://example.com/booking"}}, ours), client: mount(ours, gateway, ours),
			domain: domain, part: "booking", authority: "10.1.2.3:9090",
			refuse: `neither for the service "booking"`,
		},
		"a SPIFFE identifier if no trust domain is configured": {
			server: mount(ours, mtlstest.Leaf{URIs: []string{id + "booking"}}, ours), client: mount(ours, gateway, ours), part: "booking", authority: "10.1.2.3:9090",
			refuse: `neither for the service "booking"`,
		},
		"a server with a certificate of another CA": {
			server: mount(theirs, booking, ours, theirs), client: mount(ours, gateway, ours), part: "booking", authority: "booking:9090",
			refuse: "unknown authority",
		},
		"a server whose certificate allows only calling": {
			server: mount(ours, mtlstest.Leaf{DNS: []string{"booking"}, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, ours),
			client: mount(ours, gateway, ours), part: "booking", authority: "booking:9090",
			refuse: "incompatible key usage",
		},
		"a server with an expired certificate": {
			server: mount(ours, mtlstest.Leaf{DNS: []string{"booking"}, Ends: time.Now().Add(-time.Minute)}, ours),
			client: mount(ours, gateway, ours), part: "booking", authority: "booking:9090",
			refuse: "expired",
		},
		"a caller with a certificate of another CA": {
			server: mount(ours, booking, ours), client: mount(theirs, gateway, ours, theirs), part: "booking", authority: "booking:9090",
			serverErr: "unknown authority",
		},
		"a caller whose certificate allows only serving": {
			server: mount(ours, booking, ours), part: "booking", authority: "booking:9090",
			client:    mount(ours, mtlstest.Leaf{DNS: []string{"gateway-a"}, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}, ours),
			serverErr: "incompatible key usage",
		},
		"a caller with an expired certificate": {
			server: mount(ours, booking, ours), client: mount(ours, mtlstest.Leaf{DNS: []string{"gateway-a"}, Ends: time.Now().Add(-time.Minute)}, ours),
			part: "booking", authority: "booking:9090",
			serverErr: "expired",
		},
	} {
		verb := "accepts "
		if tt.serverErr != "" || tt.refuse != "" {
			verb = "refuses "
		}
		t.Run(verb+name, func(t *testing.T) {
			t.Parallel()
			server, log := open(t, tt.server, tt.domain)
			client, _ := open(t, tt.client, tt.domain)
			caller, serverErr, clientErr := shake(t, server, client, tt.part, tt.authority)
			switch {
			case tt.refuse != "":
				if clientErr == nil || !strings.Contains(clientErr.Error(), tt.refuse) {
					t.Errorf("the client's error is %v, want %q", clientErr, tt.refuse)
				}
			case tt.serverErr != "":
				if serverErr == nil || !strings.Contains(serverErr.Error(), tt.serverErr) || clientErr == nil {
					t.Errorf("the server's error is %v, the client's %v, want %q", serverErr, clientErr, tt.serverErr)
				}
				if testutil.ToFloat64(server.refused) != 1 || !strings.Contains(log.String(), "TLS handshake failed") {
					t.Errorf("the failed handshake is not counted or not logged: %s", log)
				}
			default:
				if serverErr != nil || clientErr != nil {
					t.Fatal(errors.Join(serverErr, clientErr))
				}
				if !slices.Equal(caller.Names, tt.names) || caller.State.Version != tls.VersionTLS13 || caller.String() != tt.names[0] {
					t.Errorf("the caller is %q with version %x", caller.Names, caller.State.Version)
				}
			}
		})
	}
}

func TestHandshakeOfOtherClients(t *testing.T) {
	t.Parallel()
	ca := mtlstest.NewCA(t, "ours")
	mount := func(name string) *mtlstest.Mount { return mtlstest.NewMount(t, ca.Issue(t, name), ca) }
	t.Run("refuses a client without a certificate, and one that speaks TLS 1.2", func(t *testing.T) {
		t.Parallel()
		server, _ := open(t, mount("booking"), "")
		client, _ := open(t, mount("gateway-a"), "")
		for name, cfg := range map[string]*tls.Config{
			"no certificate": {MinVersion: tls.VersionTLS13},
			"TLS 1.2":        {MaxVersion: tls.VersionTLS12, Certificates: []tls.Certificate{client.current().cert}},
		} {
			cfg.ServerName, cfg.RootCAs, cfg.NextProtos = "booking", client.current().roots, []string{"h2"}
			here, there := net.Pipe()
			done := make(chan error, 1)
			go func() {
				_, _, err := server.Server().ServerHandshake(there)
				there.Close()
				done <- err
			}()
			conn := tls.Client(here, cfg)
			_ = conn.Handshake()
			_, _ = conn.Read(make([]byte, 1))
			if err := <-done; err == nil {
				t.Errorf("%s: accepted", name)
			}
			here.Close()
		}
	})
}

func TestReload(t *testing.T) {
	t.Parallel()
	old, next := mtlstest.NewCA(t, "old"), mtlstest.NewCA(t, "next")
	t.Run("a swapped mount is read at the next handshake, including the CA certificates", func(t *testing.T) {
		t.Parallel()
		serverMount, clientMount := mtlstest.NewMount(t, old.Issue(t, "booking"), old), mtlstest.NewMount(t, old.Issue(t, "gateway-a"), old)
		server, _ := open(t, serverMount, "")
		client, _ := open(t, clientMount, "")
		works := func(step string) {
			t.Helper()
			if _, a, b := shake(t, server, client, "booking", "x:1"); a != nil || b != nil {
				t.Fatalf("%s: %v", step, errors.Join(a, b))
			}
		}
		works("at first")
		serverMount.Swap(t, old.Issue(t, "booking"), old, next)
		clientMount.Swap(t, old.Issue(t, "gateway-a"), old, next)
		works("both trust both authorities")
		serverMount.Swap(t, next.Issue(t, "booking"), old, next)
		works("the server's is of the new one")
		clientMount.Swap(t, next.Issue(t, "gateway-a"), old, next)
		works("both are")
		serverMount.Swap(t, next.Issue(t, "booking"), next)
		clientMount.Swap(t, next.Issue(t, "gateway-a"), next)
		works("the old one is gone")
		clientMount.Swap(t, old.Issue(t, "gateway-a"), next)
		if _, a, b := shake(t, server, client, "booking", "x:1"); a == nil || b == nil {
			t.Error("a certificate of the old CA is still accepted")
		}
	})
	t.Run("mismatched files leave the previous ones in use and are reported in log and metric", func(t *testing.T) {
		t.Parallel()
		mount := mtlstest.NewMount(t, old.Issue(t, "booking"), old)
		f, log := open(t, mount, "")
		metrics := prometheus.NewRegistry()
		if err := f.Collect(metrics); err != nil {
			t.Fatal(err)
		}
		first := f.current()
		pair := old.IssueLeaf(t, mtlstest.Leaf{DNS: []string{"booking"}, Ends: time.Now().Add(30 * time.Minute).Truncate(time.Second)})
		// damage replaces a file. A file that is changed in place, with the same length and within a tick of the
		// kernel's clock, looks unchanged.
		damage := func(name string, text []byte) {
			t.Helper()
			next := mount.Path(name) + ".next"
			if err := errors.Join(os.WriteFile(next, text, 0o600), os.Rename(next, mount.Path(name))); err != nil {
				t.Fatal(err)
			}
		}
		for what, breaks := range map[string]func(){
			"a certificate without its key": func() { damage(mtlstest.CertFile, pair.Cert) },
			"half a certificate":            func() { damage(mtlstest.CertFile, pair.Cert[:len(pair.Cert)/2]) },
			"no CA certificates":            func() { damage(mtlstest.CAFile, []byte("nothing")) },
			"no key":                        func() { _ = os.Remove(mount.Path(mtlstest.KeyFile)) },
		} {
			breaks()
			if f.current() != first {
				t.Fatalf("%s is in use", what)
			}
			if got := value(t, metrics, "grpc_tls_reload_failing"); got != 1 {
				t.Errorf("%s: grpc_tls_reload_failing is %v", what, got)
			}
			if !strings.Contains(log.String(), "keeping the previous ones") {
				t.Errorf("%s is not logged: %s", what, log)
			}
			log.Reset()
			f.current()
			if log.Len() != 0 {
				t.Errorf("%s is logged again: %s", what, log)
			}
		}
		mount = mtlstest.NewMount(t, pair, old)
		f.cfg.CertFile, f.cfg.KeyFile, f.cfg.CAFile = mount.Path(mtlstest.CertFile), mount.Path(mtlstest.KeyFile), mount.Path(mtlstest.CAFile)
		if f.current() == first || value(t, metrics, "grpc_tls_reload_failing") != 0 {
			t.Error("valid files are not in use")
		}
		if got, want := value(t, metrics, "grpc_tls_certificate_expiry_timestamp_seconds"), float64(f.current().cert.Leaf.NotAfter.Unix()); got != want {
			t.Errorf("the expiry is %v, want %v", got, want)
		}
	})
	t.Run("files are checked at most once per interval", func(t *testing.T) {
		t.Parallel()
		mount := mtlstest.NewMount(t, old.Issue(t, "booking"), old)
		f, _ := open(t, mount, "")
		f.every = time.Hour
		first := f.current()
		mount.Swap(t, old.Issue(t, "booking"), old)
		if f.current() != first {
			t.Error("the files were checked again")
		}
	})
}

func value(t *testing.T, r prometheus.Gatherer, name string) float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("no %s", name)
	return 0
}

func TestOpen(t *testing.T) {
	t.Parallel()
	ca := mtlstest.NewCA(t, "ours")
	mount := mtlstest.NewMount(t, ca.Issue(t, "booking"), ca)
	whole := Config{CertFile: mount.Path(mtlstest.CertFile), KeyFile: mount.Path(mtlstest.KeyFile), CAFile: mount.Path(mtlstest.CAFile)}
	for name, tt := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"no key":                         {func(c *Config) { c.KeyFile = "" }, "GRPC_TLS_KEY_FILE must be set too"},
		"only CA certificates":           {func(c *Config) { c.CertFile, c.KeyFile = "", "" }, "GRPC_TLS_CERT_FILE and GRPC_TLS_KEY_FILE must be set too"},
		"a missing file":                 {func(c *Config) { c.CAFile += ".not" }, "GRPC_TLS_CA_FILE: open "},
		"a key without its certificate":  {func(c *Config) { c.CertFile = c.CAFile }, "GRPC_TLS_KEY_FILE "},
		"a CA file without certificates": {func(c *Config) { c.CAFile = c.KeyFile }, "contains no PEM certificate"},
		"a URI for a trust domain":       {func(c *Config) { c.TrustDomain = "spiffe://x" }, "GRPC_TLS_TRUST_DOMAIN"},
	} {
		c := whole
		tt.change(&c)
		if _, err := Open(c, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	if (Config{}).Validate() != nil || (Config{}).Enabled() || !whole.Enabled() {
		t.Error("an empty Config is invalid or enabled, or a complete one is disabled")
	}
}
