package browser

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"reservation.dev/test/harness"
)

// receiver is a fake receiver of webhooks. It uses TLS with a certificate of its own authority.
type receiver struct {
	url       string
	authority string // the authority's certificate, as a file
	took      chan received
	count     atomic.Int64 // of requests to /flaky
}

// received is a request that the receiver got.
type received struct {
	Header http.Header
	Body   []byte
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "receiver of a test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{authority: filepath.Join(harness.TempDir(t), "authority.pem"), took: make(chan received, 64)}
	if err := os.WriteFile(r.authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(r)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.StartTLS()
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

// ServeHTTP accepts every request, except that it fails all requests under /broken and one in six
// under /flaky.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	if req.URL.Path == "/broken" || req.URL.Path == "/flaky" && r.count.Add(1)%6 == 0 {
		http.Error(w, "the receiver is broken", http.StatusInternalServerError)
		return
	}
	select {
	case r.took <- received{req.Header, body}:
	default: // nobody reads what pictures and charts are filled with
	}
	_, _ = io.WriteString(w, "thank you")
}

// next waits for the next request and returns it.
func (r *receiver) next(t *testing.T) received {
	t.Helper()
	select {
	case got := <-r.took:
		return got
	case <-time.After(stepLimit):
		t.Fatal("nothing came to the receiver")
		return received{}
	}
}
