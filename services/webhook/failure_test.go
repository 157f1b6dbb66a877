package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// noSuchHost is a resolver that knows no name, and does not depend on the network of the test.
func noSuchHost(_ context.Context, host string) ([]netip.Addr, error) {
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// raw is a TLS server that calls serve for every connection.
func raw(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	config := s.TLS.Clone()
	config.NextProtos = []string{"http/1.1"}
	s.Close()
	ln, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				buf := make([]byte, 64<<10)
				_, _ = c.Read(buf)
				serve(c)
			}()
		}
	}()
	return "https://" + ln.Addr().String()
}

func TestFailures(t *testing.T) {
	t.Parallel()
	w := openStopped(t, quick())
	w.server.resolve = noSuchHost
	w.engine.client = newClient(&w.settings, w.settings.guard(), noSuchHost)
	w.start()
	short := quick()
	short.Timeout = 1500 * time.Millisecond
	hasty := open(t, short) // only for receivers that take too long on every machine
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.TLS = &tls.Config{Certificates: []tls.Certificate{selfSigned(t)}}
	untrusted.Config.ErrorLog = quietLog()
	untrusted.StartTLS()
	t.Cleanup(untrusted.Close)
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	drip := func(head string) func(net.Conn) {
		return func(c net.Conn) {
			_, _ = io.WriteString(c, head)
			for {
				if _, err := io.WriteString(c, "x"); err != nil {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
		}
	}
	for _, tc := range []struct {
		name, url string
		want      webhookv1.Failure
	}{
		{"slow headers are a timeout (7)", raw(t, drip("HTTP/1.1 200 OK\r\nX-A: ")), webhookv1.Failure_FAILURE_TIMEOUT},
		{"a slow body is a timeout (7)", raw(t, drip("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")), webhookv1.Failure_FAILURE_TIMEOUT},
		{"an endless body is a failure (7)", raw(t, func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
			for block := strings.Repeat("x", 32<<10); ; {
				if _, err := io.WriteString(c, block); err != nil {
					return
				}
			}
		}), webhookv1.Failure_FAILURE_PROTOCOL},
		{"huge headers are a failure (7)", raw(t, func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			for range 10_000 {
				if _, err := io.WriteString(c, "X-A: "+strings.Repeat("a", 1000)+"\r\n"); err != nil {
					return
				}
			}
		}), webhookv1.Failure_FAILURE_PROTOCOL},
		{"no HTTP is a failure", raw(t, func(c net.Conn) { _, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9.2\r\n") }), webhookv1.Failure_FAILURE_PROTOCOL},
		{"a cut connection is a reset", raw(t, func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
		}), webhookv1.Failure_FAILURE_RESET},
		{"a certificate that nobody signed is a TLS failure", untrusted.URL, webhookv1.Failure_FAILURE_TLS},
		{"a port without TLS is a TLS failure", strings.Replace(plain.URL, "http:", "https:", 1), webhookv1.Failure_FAILURE_TLS},
		{"a closed port is refused", "https://" + testkit.ClosedAddr(t), webhookv1.Failure_FAILURE_REFUSED},
		{"a name that does not exist is a DNS failure", "https://no-such-host.invalid/", webhookv1.Failure_FAILURE_DNS},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := w
			if tc.want == webhookv1.Failure_FAILURE_TIMEOUT {
				w = hasty
			}
			e := w.endpoint(tc.url).GetEndpoint().GetId()
			began := time.Now()
			res, err := w.client.SendTest(w.as(w.company), &webhookv1.SendTestRequest{EndpointId: e, Event: webhookv1.EventType_EVENT_TYPE_PASS_PURCHASED})
			if err != nil {
				t.Fatal(err)
			}
			if got := res.GetAttempt(); got.GetFailure() != tc.want || got.GetMessage() == "" {
				t.Errorf("got %s (%s), want %s", got.GetFailure(), got.GetMessage(), tc.want)
			}
			if took := time.Since(began); took > w.settings.Timeout+15*time.Second {
				t.Errorf("it took %s", took)
			}
			d := w.delivery(e, failed)
			if !d.GetDelivery().GetTest() || len(d.GetAttempts()) != 1 || string(d.GetBody()) != string(res.GetBody()) {
				t.Errorf("the log has %v", d)
			}
		})
	}
	t.Run("the first 4 kB of a response are stored, and a long response is read to its end", func(t *testing.T) {
		r := newReceiver(t, func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, strings.Repeat("y", 300<<10)) })
		e := w.endpoint(r.URL).GetEndpoint().GetId()
		w.bookings(1)
		d := w.delivery(e, delivered)
		if got := d.GetAttempts()[0].GetResponseBody(); string(got) != strings.Repeat("y", storedResponse) {
			t.Errorf("%d bytes are kept", len(got))
		}
		if _, err := w.client.DeleteEndpoint(w.as(w.company), &webhookv1.DeleteEndpointRequest{Id: e}); err != nil {
			t.Fatal(err)
		}
	})
}

func TestBlocking(t *testing.T) {
	t.Parallel()
	settings := quick()
	settings.PrivateAddresses = privateRefused
	w := openStopped(t, settings)
	var lookups atomic.Int32
	var rebind atomic.Bool
	resolve := func(_ context.Context, host string) ([]netip.Addr, error) {
		lookups.Add(1)
		switch {
		case host == "unknown.example":
			return nil, errors.New("no such host")
		case host == "inside.example", rebind.Load():
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		case host == "both.example":
			return []netip.Addr{netip.MustParseAddr("93.184.216.34"), netip.MustParseAddr("169.254.169.254")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
	}
	w.server.resolve = resolve
	w.engine.client = newClient(&settings, settings.guard(), resolve)
	w.start()
	events := []webhookv1.EventType{webhookv1.EventType_EVENT_TYPE_PASS_PURCHASED}
	t.Run("an endpoint cannot be created at a private address (6)", func(t *testing.T) {
		for _, url := range []string{
			"https://127.0.0.1/", "https://[::1]/", "https://169.254.169.254/latest/meta-data", "https://[::ffff:10.0.0.1]:8443/", "https://inside.example/",
			"https://both.example/", "http://example.com/", "https://user:secret@example.com/", "https://example.com/#a", "ftp://example.com", "//example.com",
			"https://", "https://example.com:0/", "https://example.com:99999/", "https://exa mple.com/", "",
		} {
			_, err := w.client.CreateEndpoint(w.as(w.company), &webhookv1.CreateEndpointRequest{Url: url, Events: events})
			if f := fault.From(err); err == nil || f.Kind != fault.Invalid || len(f.Fields) != 1 || f.Fields[0].Field != "url" {
				t.Errorf("%q: %v", url, err)
			}
		}
	})
	t.Run("an endpoint cannot be moved to a private address", func(t *testing.T) {
		made, err := w.client.CreateEndpoint(w.as(w.company), &webhookv1.CreateEndpointRequest{Url: "https://unknown.example/", Events: events})
		if err != nil {
			t.Fatal(err)
		}
		for _, url := range []string{"https://10.0.0.1/", "https://inside.example/"} {
			_, err := w.client.UpdateEndpoint(w.as(w.company), &webhookv1.UpdateEndpointRequest{Id: made.GetEndpoint().GetId(), Url: &url})
			if !fault.Is(err, fault.Invalid) {
				t.Errorf("%q: %v", url, err)
			}
		}
	})
	t.Run("a name that resolves to a private address when sending is blocked (6)", func(t *testing.T) {
		made, err := w.client.CreateEndpoint(w.as(w.company), &webhookv1.CreateEndpointRequest{Url: "https://rebinding.example/", Events: events})
		if err != nil {
			t.Fatal(err)
		}
		rebind.Store(true)
		before := lookups.Load()
		w.consume(passEvent(w.company, nil))
		waitFor(t, func() error {
			list, err := w.client.ListDeliveries(w.as(w.company), &webhookv1.ListDeliveriesRequest{EndpointId: made.GetEndpoint().GetId(), State: failed})
			if err != nil || len(list.GetDeliveries()) != 1 {
				return fmt.Errorf("%v %w", list, err)
			}
			if got := list.GetDeliveries()[0].GetLastFailure(); got != webhookv1.Failure_FAILURE_BLOCKED {
				t.Errorf("it failed by %s", got)
			}
			return nil
		})
		if lookups.Load() == before {
			t.Error("the name was not looked up again")
		}
	})
	t.Run("the dialer also checks the address that the system connects to", func(t *testing.T) {
		d := &dialer{guard: settings.guard()}
		for _, address := range []string{"127.0.0.1:443", "[::1]:443", "nonsense", ""} {
			if err := d.control(t.Context(), "tcp", address, nil); !errors.Is(err, errBlocked) {
				t.Errorf("%q: %v", address, err)
			}
		}
		if err := d.control(t.Context(), "tcp", "93.184.216.34:443", nil); err != nil {
			t.Error(err)
		}
	})
}

// TestBrokenConnections covers endpoints that break connections which have carried requests before.
func TestBrokenConnections(t *testing.T) {
	t.Parallel()
	t.Run("an endpoint that breaks connections gets one request per attempt", func(t *testing.T) {
		t.Parallel()
		const answered = 20
		settings := quick()
		settings.Retries = nil
		w := open(t, settings)
		var requests atomic.Int64
		s := newPlainServer(t, func(rw http.ResponseWriter, req *http.Request) {
			_, _ = io.Copy(io.Discard, req.Body)
			if requests.Add(1) > answered {
				breakOff(rw)
			}
		})
		w.endpoint(s.URL)
		w.bookings(2 * answered)
		w.settled()
		if n := requests.Load(); n != 2*answered {
			t.Errorf("%d requests for %d attempts", n, 2*answered)
		}
	})
	for name, protocol := range map[string]func(*httptest.Server){
		"HTTP/1.1": func(*httptest.Server) {},
		"HTTP/2":   func(s *httptest.Server) { s.EnableHTTP2 = true },
	} {
		t.Run("an endpoint that closes idle connections gets one request per attempt, and none fails after a pause, over "+name, func(t *testing.T) {
			t.Parallel()
			settings := quick()
			settings.Retries = nil
			w := open(t, settings)
			var requests atomic.Int64
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
				_, _ = io.Copy(io.Discard, req.Body)
				requests.Add(1)
				if carried, _ := req.Context().Value(carriedKey{}).(*carried); carried.requests.Add(1) > 1 {
					carried.conn.Close()
				}
			}))
			s.Config.ErrorLog = quietLog()
			s.Config.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
				return context.WithValue(ctx, carriedKey{}, &carried{conn: conn})
			}
			protocol(s)
			s.StartTLS()
			t.Cleanup(s.Close)
			w.endpoint(s.URL)
			const pauses = 2
			for range pauses {
				w.bookings(1)
				w.settled()
				<-time.After(longestIdle + 100*time.Millisecond)
			}
			w.bookings(1)
			w.settled()
			if n, failed := requests.Load(), counterOf(w.engine.metrics.attempts.WithLabelValues(failureReset)); n != pauses+1 || failed != 0 {
				t.Errorf("%d requests for %d attempts; %v failed, want none", n, pauses+1, failed)
			}
			resets := func() float64 { return counterOf(w.engine.metrics.attempts.WithLabelValues(failureReset)) }
			attempts := int64(pauses + 1)
			for resets() == 0 && attempts < 50 { // a busy machine is not always soon enough to use the same connection
				w.bookings(1)
				w.settled()
				attempts++
			}
			if n := requests.Load(); n != attempts || resets() != 1 {
				t.Errorf("%d requests for %d attempts; %v failed, want the one whose connection was closed", n, attempts, resets())
			}
		})
	}
	t.Run("the transport can resend the body only once", func(t *testing.T) {
		var opened int
		body := resendable([]byte("{}"))
		for range 5 {
			if _, err := body(); err == nil {
				opened++
			}
		}
		if opened != 1 {
			t.Errorf("the transport can send a request again %d times", opened)
		}
	})
}

// carried counts the requests that a connection of a server has carried.
type carried struct {
	conn     net.Conn
	requests atomic.Int64
}

type carriedKey struct{}

// breakOff closes the connection of a request without a response.
func breakOff(rw http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(rw).Hijack(); err == nil {
		conn.Close()
	}
}
