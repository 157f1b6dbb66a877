// Package mtlstest creates certificates for tests of TLS, and mounts them in the same way as
// Kubernetes mounts a secret.
package mtlstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// CA is a certificate authority for tests.
type CA struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	// PEM is the certificate.
	PEM []byte
}

// Leaf describes a certificate to issue.
type Leaf struct {
	DNS  []string
	URIs []string
	IPs  []string
	// Ends is when the certificate expires; zero: in an hour.
	Ends time.Time
	// Usages are the extended key usages; none: server and client authentication.
	Usages []x509.ExtKeyUsage
}

// Pair is a certificate with its key, in PEM.
type Pair struct{ Cert, Key []byte }

// NewCA creates an authority.
func NewCA(t testing.TB, name string) *CA {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: serial(t), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &CA{cert: cert, key: key, PEM: block("CERTIFICATE", der)}
}

// Issue issues a certificate for the given DNS names and 127.0.0.1.
func (ca *CA) Issue(t testing.TB, names ...string) Pair {
	t.Helper()
	return ca.IssueLeaf(t, Leaf{DNS: names, IPs: []string{"127.0.0.1"}})
}

// IssueLeaf issues a certificate.
func (ca *CA) IssueLeaf(t testing.TB, l Leaf) Pair {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: serial(t), NotBefore: time.Now().Add(-time.Hour), NotAfter: l.Ends,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: l.Usages, DNSNames: l.DNS,
	}
	if len(l.DNS) > 0 {
		template.Subject = pkix.Name{CommonName: l.DNS[0]}
	}
	if l.Ends.IsZero() {
		template.NotAfter = time.Now().Add(time.Hour)
	}
	if len(l.Usages) == 0 {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	}
	for _, text := range l.URIs {
		uri, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		template.URIs = append(template.URIs, uri)
	}
	for _, ip := range l.IPs {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(ip))
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, &key.PublicKey, ca.key)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return Pair{Cert: block("CERTIFICATE", der), Key: block("PRIVATE KEY", text)}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func serial(t testing.TB) *big.Int {
	t.Helper()
	n, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// Mount is a directory whose files are all replaced in one step, as in a Kubernetes secret. Each
// file is a link into ..data, which is a link to the directory with the current contents.
type Mount struct {
	dir   string
	count int
}

// The files of a Mount of a certificate, named as cert-manager names them.
const (
	CertFile = "tls.crt"
	KeyFile  = "tls.key"
	CAFile   = "ca.crt"
)

// NewMount creates a Mount with the pair and the authorities.
func NewMount(t testing.TB, pair Pair, authorities ...*CA) *Mount {
	t.Helper()
	m := &Mount{dir: t.TempDir()}
	for _, name := range []string{CertFile, KeyFile, CAFile} {
		if err := os.Symlink(filepath.Join("..data", name), m.Path(name)); err != nil {
			t.Fatal(err)
		}
	}
	m.Swap(t, pair, authorities...)
	return m
}

// Path returns the path of one of the files.
func (m *Mount) Path(name string) string { return filepath.Join(m.dir, name) }

// Env returns the settings of a service that reads its certificate from the mount.
func (m *Mount) Env() map[string]string {
	return map[string]string{
		"GRPC_TLS_CERT_FILE": m.Path(CertFile), "GRPC_TLS_KEY_FILE": m.Path(KeyFile), "GRPC_TLS_CA_FILE": m.Path(CAFile),
	}
}

// Swap replaces all files in one step.
func (m *Mount) Swap(t testing.TB, pair Pair, authorities ...*CA) {
	t.Helper()
	m.count++
	content := fmt.Sprintf("..%d", m.count)
	if err := os.Mkdir(m.Path(content), 0o755); err != nil {
		t.Fatal(err)
	}
	var bundle []byte
	for _, ca := range authorities {
		bundle = append(bundle, ca.PEM...)
	}
	for name, text := range map[string][]byte{CertFile: pair.Cert, KeyFile: pair.Key, CAFile: bundle} {
		if err := os.WriteFile(m.Path(filepath.Join(content, name)), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(content, m.Path("..data_tmp")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(m.Path("..data_tmp"), m.Path("..data")); err != nil {
		t.Fatal(err)
	}
}
