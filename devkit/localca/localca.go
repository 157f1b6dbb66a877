// Package localca is a certificate authority for one machine. It issues certificates to receivers of
// webhooks on loopback addresses, so that developers need no public host name and do not have to
// turn off the verification of certificates.
//
// It can issue certificates for loopback only: a name constraint, which verifiers enforce. A stolen
// key is useless for other hosts.
package localca

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	caLifetime = 10 * 365 * 24 * time.Hour
	// renewBefore is how long before it expires a CA is replaced.
	renewBefore  = 90 * 24 * time.Hour
	leafLifetime = 30 * 24 * time.Hour
	// backdated is how far in the past a certificate becomes valid, because clocks differ.
	backdated = time.Hour
)

// KeyFile returns the file with the key of the CA whose certificate is in certFile. Both are in the
// same directory.
func KeyFile(certFile string) string {
	return strings.TrimSuffix(certFile, filepath.Ext(certFile)) + ".key"
}

// Ensure creates a CA with its certificate in certFile and its key in KeyFile, which only the owner
// can read. It keeps a CA that is valid for at least another renewBefore.
func Ensure(certFile string, now time.Time) error {
	ca, err := Load(certFile)
	if err == nil && now.Before(ca.cert.NotAfter.Add(-renewBefore)) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "Reservation platform, local receivers"},
		NotBefore: now.Add(-backdated), NotAfter: now.Add(caLifetime),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
		PermittedDNSDomainsCritical: true, PermittedDNSDomains: []string{"localhost"}, PermittedIPRanges: loopback(),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	text, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	// The key comes first, so that it exists when others see the certificate.
	return errors.Join(write(KeyFile(certFile), "EC PRIVATE KEY", text, 0o600), write(certFile, "CERTIFICATE", der, 0o644))
}

func loopback() []*net.IPNet {
	return []*net.IPNet{
		{IP: net.IPv4(127, 0, 0, 0).To4(), Mask: net.CIDRMask(8, 32)},
		{IP: net.IPv6loopback, Mask: net.CIDRMask(128, 128)},
	}
}

func serial() *big.Int {
	n := make([]byte, 16)
	_, _ = rand.Read(n) // never fails
	n[0] &= 0x7f
	return new(big.Int).SetBytes(n)
}

// write replaces a file. The file is never partly written.
func write(path, kind string, der []byte, mode fs.FileMode) error {
	next := path + ".next"
	// A file of an interrupted run may have wider permissions.
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.WriteFile(next, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), mode); err != nil {
		return err
	}
	return os.Rename(next, path)
}

// CA issues certificates.
type CA struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Load reads the CA whose certificate is in certFile. The error is fs.ErrNotExist if a file is
// missing.
func Load(certFile string) (*CA, error) {
	certText, err := os.ReadFile(certFile)
	if err != nil {
		return nil, err
	}
	keyText, err := os.ReadFile(KeyFile(certFile))
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certText, keyText)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", certFile, err)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok || !pair.Leaf.IsCA {
		return nil, fmt.Errorf("%s is not a local certificate authority of the platform", certFile)
	}
	return &CA{cert: pair.Leaf, key: key}, nil
}

// Issue returns a new certificate for localhost and the loopback addresses. Its key is not stored.
func (ca *CA) Issue(now time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: now.Add(-backdated), NotAfter: now.Add(leafLifetime),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}, ca.cert, &key.PublicKey, ca.key)
	if err != nil {
		return tls.Certificate{}, err
	}
	leaf, err := x509.ParseCertificate(der)
	return tls.Certificate{Certificate: [][]byte{der, ca.cert.Raw}, PrivateKey: key, Leaf: leaf}, err
}
