package webhook

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/config"
	"reservation.dev/platform/fault"
)

func pgSecret(url string) config.Secret { return config.Secret(url) }

func quietLog() *log.Logger { return log.New(io.Discard, "", 0) }

// patience is how long tests wait for what happens within seconds on a machine that is not busy.
const patience = 2 * time.Minute

func waitFor(t testing.TB, cond func() error) {
	t.Helper()
	testkit.Eventually(t, patience, cond)
}

func timestamp(t time.Time) *timestamppb.Timestamp { return timestamppb.New(t) }

func wantReason(t testing.TB, err error, reason string) {
	t.Helper()
	if err == nil || fault.From(err).Reason != reason {
		t.Errorf("got %v, want %s", err, reason)
	}
}

// newPlainServer returns a TLS server that stores nothing.
func newPlainServer(t testing.TB, handle http.HandlerFunc) *httptest.Server {
	s := httptest.NewUnstartedServer(handle)
	s.Config.ErrorLog = quietLog()
	s.StartTLS()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func counterOf(c prometheus.Counter) float64 {
	var m dto.Metric
	_ = c.Write(&m)
	return m.GetCounter().GetValue()
}

func readFile(name string) []byte {
	text, err := os.ReadFile(name)
	if err != nil {
		return []byte(")")
	}
	return text
}

// selfSigned returns a certificate that no client trusts.
func selfSigned(t testing.TB) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
