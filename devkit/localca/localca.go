// Package localca is a certificate authority for one machine: receivers of
// webhooks on loopback get certificates from it, so that trying the platform
// needs neither a public name nor a check that is switched off.
//
// It can vouch for loopback alone (a name constraint, which verifiers enforce):
// its key, lost, opens nothing else.
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
	// renewBefore is how long before its end a CA is replaced by a new one.
	renewBefore  = 90 * 24 * time.Hour
	leafLifetime = 30 * 24 * time.Hour
	// backdated allows for clocks that differ a little.
	backdated = time.Hour
)

// KeyFile is where the key of the CA lies whose certificate is in certFile: beside it.
func KeyFile(certFile string) string {
	return strings.TrimSuffix(certFile, filepath.Ext(certFile)) + ".key"
}

// Ensure makes a CA with its certificate in certFile and its key beside it, for
// the owner only, unless there is one that is good for a while.
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
	// The key first: whoever sees the certificate finds its key.
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

// write replaces a file as a whole.
func write(path, kind string, der []byte, mode fs.FileMode) error {
	next := path + ".next"
	// One that is left of an interrupted run may have wider rights.
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

// Load reads the CA whose certificate is in certFile. An error is fs.ErrNotExist
// where there is none.
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
		return nil, fmt.Errorf("%s is no certificate authority of ours", certFile)
	}
	return &CA{cert: pair.Leaf, key: key}, nil
}

// Issue returns a fresh certificate for localhost and the addresses of loopback,
// with a key that is kept nowhere else.
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
