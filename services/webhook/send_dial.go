package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"
)

// Errors of a dial, which classify distinguishes.
type (
	dnsError struct{ error }
	tlsError struct{ error }
)

func (e dnsError) Unwrap() error { return e.error }
func (e tlsError) Unwrap() error { return e.error }

// resolver looks host names up.
type resolver func(ctx context.Context, host string) ([]netip.Addr, error)

func systemResolver(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// dialer connects to endpoints. It looks up host names itself, so that it connects to the same
// addresses that it has checked.
type dialer struct {
	guard   *guard
	resolve resolver
	timeout time.Duration
	roots   *roots
}

// newClient returns the HTTP client of an engine; a nil resolver stands for the system's.
func newClient(d *Delivery, g *guard, resolve resolver) *http.Client {
	if resolve == nil {
		resolve = systemResolver
	}
	dial := &dialer{guard: g, resolve: resolve, timeout: d.Timeout, roots: &roots{file: d.CAFile}}
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  nil, // regardless of the environment
			DialTLSContext:         dial.tls,
			DialContext:            dial.refuse,
			ForceAttemptHTTP2:      true,
			MaxIdleConns:           4 * d.Concurrency,
			MaxIdleConnsPerHost:    d.Concurrency,
			IdleConnTimeout:        longestIdle,
			MaxResponseHeaderBytes: longestHead,
			DisableCompression:     true, // the log stores the response as sent
			WriteBufferSize:        4 << 10,
			ReadBufferSize:         4 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// refuse rejects connections without TLS, which no endpoint uses.
func (d *dialer) refuse(context.Context, string, string) (net.Conn, error) {
	return nil, errBlocked
}

func (d *dialer) tls(ctx context.Context, network, addr string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, dnsError{err}
	}
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	raw, err := d.connect(ctx, network, host, port)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(raw, &tls.Config{
		ServerName: host, RootCAs: d.roots.pool(), MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
	})
	if err := conn.HandshakeContext(ctx); err != nil {
		raw.Close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, tlsError{err}
	}
	return conn, nil
}

// connect tries the addresses of a host one after the other, if all of them are allowed.
func (d *dialer) connect(ctx context.Context, network, host, port string) (net.Conn, error) {
	addrs := []netip.Addr{}
	if literal, err := netip.ParseAddr(host); err == nil {
		addrs = append(addrs, literal)
	} else if addrs, err = d.resolve(ctx, host); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, dnsError{err}
	}
	if len(addrs) == 0 {
		return nil, dnsError{errors.New("the host name has no address")}
	}
	for _, a := range addrs {
		if err := d.guard.check(a); err != nil {
			return nil, err
		}
	}
	deadline, _ := ctx.Deadline()
	var first error
	for i, a := range addrs {
		// Each address gets an equal share of the remaining time.
		share := time.Until(deadline) / time.Duration(len(addrs)-i)
		dial := net.Dialer{Timeout: share, ControlContext: d.control}
		conn, err := dial.DialContext(ctx, network, net.JoinHostPort(a.String(), port))
		if err == nil {
			return conn, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// control checks the address to which the system is about to connect once more.
func (d *dialer) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	addr, err := netip.ParseAddrPort(address)
	if err != nil {
		return errBlocked
	}
	return d.guard.check(addr.Addr())
}

// roots are the trusted certificates: the system's and those of a file, which is read again when it
// changes.
type roots struct {
	file string

	mu     sync.Mutex
	read   time.Time
	size   int64
	loaded *x509.CertPool
}

// pool returns the certificates; nil stands for the system's alone.
func (r *roots) pool() *x509.CertPool {
	if r.file == "" {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	info, err := os.Stat(r.file)
	if err != nil {
		return r.loaded
	}
	if r.loaded != nil && info.ModTime().Equal(r.read) && info.Size() == r.size {
		return r.loaded
	}
	text, err := os.ReadFile(r.file)
	if err != nil {
		return r.loaded
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	pool.AppendCertsFromPEM(text)
	r.loaded, r.read, r.size = pool, info.ModTime(), info.Size()
	return pool
}
