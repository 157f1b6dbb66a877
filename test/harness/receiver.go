package harness

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"reservation.dev/devkit/localca"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// authority issues the certificate of the test's webhook receivers. A cluster's webhook service
// trusts it in addition to the system's authorities.
type authority struct {
	file        string // PEM
	certificate tls.Certificate
}

func newAuthority(t testing.TB, file string) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "receivers of a test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return &authority{file: file, certificate: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}}
}

// Listen serves h over HTTPS (HTTP/1.1) on loopback until the test ends, with a certificate that
// the cluster's webhook service trusts. It returns the base address.
func (c *Cluster) Listen(t testing.TB, h http.Handler) string {
	t.Helper()
	return listen(t, h, c.authority.certificate)
}

// Listen serves h over HTTPS as Cluster.Listen does, with a certificate of the platform's own
// authority for receivers on this machine.
func (s *Standalone) Listen(t testing.TB, h http.Handler) string {
	t.Helper()
	ca, err := localca.Load(s.Credentials.Webhooks.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := ca.Issue(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return listen(t, h, certificate)
}

func listen(t testing.TB, h http.Handler, certificate tls.Certificate) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: requestLimit, ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig:    &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){}, // no HTTP/2, which cannot reset a connection
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.ServeTLS(listener, "", "") // until Close
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return "https://" + listener.Addr().String()
}

// ClientTLS returns a TLS configuration that trusts Listen's servers.
func (c *Cluster) ClientTLS(t testing.TB) *tls.Config {
	t.Helper()
	pool := x509.NewCertPool()
	text, err := os.ReadFile(c.authority.file)
	if err != nil {
		t.Fatal(err)
	}
	if !pool.AppendCertsFromPEM(text) {
		t.Fatalf("%s has no certificate", c.authority.file)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

// NewEndpoint registers a webhook endpoint for the given events; none given means only
// registrations. It returns the endpoint's identifier (whe_…) and secret.
func (c *Company) NewEndpoint(t testing.TB, url string, events ...webhookv1.EventType) (id, secret string) {
	t.Helper()
	if len(events) == 0 {
		events = []webhookv1.EventType{webhookv1.EventType_EVENT_TYPE_REGISTRATION_CREATED}
	}
	res, err := c.op.Webhooks.CreateEndpoint(c.Ctx(t.Context()), &webhookv1.CreateEndpointRequest{Url: url, Events: events})
	if err != nil {
		t.Fatalf("webhook endpoint: %v", err)
	}
	return res.GetEndpoint().GetId(), res.GetSecret()
}
