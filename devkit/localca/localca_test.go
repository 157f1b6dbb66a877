package localca

import (
	"crypto/rand"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestLocalCA(t *testing.T) {
	now := time.Now()
	file := filepath.Join(t.TempDir(), "ca.pem")
	load := func(t *testing.T) *CA {
		t.Helper()
		ca, err := Load(file)
		if err != nil {
			t.Fatal(err)
		}
		return ca
	}
	t.Run("Load reports a missing CA", func(t *testing.T) {
		if _, err := Load(file); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v", err)
		}
	})
	if err := Ensure(file, now); err != nil {
		t.Fatal(err)
	}
	ca := load(t)
	verify := func(leaf *x509.Certificate, name string) error {
		roots := x509.NewCertPool()
		roots.AddCert(ca.cert)
		_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name})
		return err
	}
	t.Run("certificates are valid for loopback", func(t *testing.T) {
		pair, err := ca.Issue(now)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"localhost", "127.0.0.1", "::1"} {
			if err := verify(pair.Leaf, name); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	t.Run("certificates for other names and addresses are not trusted", func(t *testing.T) {
		for _, template := range []*x509.Certificate{{DNSNames: []string{"example.com"}}, {IPAddresses: []net.IP{net.IPv4(10, 0, 0, 1)}}} {
			template.SerialNumber, template.NotBefore, template.NotAfter = serial(), now.Add(-time.Hour), now.Add(time.Hour)
			der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, &ca.key.PublicKey, ca.key)
			if err != nil {
				t.Fatal(err)
			}
			leaf, err := x509.ParseCertificate(der)
			if err != nil {
				t.Fatal(err)
			}
			if err := verify(leaf, ""); err == nil {
				t.Errorf("%v %v is trusted", template.DNSNames, template.IPAddresses)
			}
		}
	})
	t.Run("only the owner can read the key", func(t *testing.T) {
		info, err := os.Stat(KeyFile(file))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("got %v, %v", info, err)
		}
	})
	t.Run("Ensure keeps a CA until shortly before it expires", func(t *testing.T) {
		if err := Ensure(file, now.Add(time.Hour)); err != nil || !load(t).cert.Equal(ca.cert) {
			t.Errorf("it was replaced, %v", err)
		}
		if err := Ensure(file, now.Add(caLifetime)); err != nil || load(t).cert.Equal(ca.cert) {
			t.Errorf("it was not replaced, %v", err)
		}
	})
	t.Run("Ensure refuses another file and does not overwrite it", func(t *testing.T) {
		if err := os.WriteFile(file, []byte("nonsense"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Ensure(file, now); err == nil {
			t.Error("the file was accepted or overwritten")
		}
	})
}
