package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"reservation.dev/services/webhook/message"
)

// Classes of failures.
const (
	failureDNS      = "dns"
	failureRefused  = "refused"
	failureTLS      = "tls"
	failureTimeout  = "timeout"
	failureBlocked  = "blocked"
	failureStatus   = "status"
	failureReset    = "reset"
	failureProtocol = "protocol"
	failureEndpoint = "endpoint" // not attempted
)

const (
	// storedResponse is how much of an answer the log keeps.
	storedResponse = 4 << 10
	// drainedResponse is how much more is read so that the connection can be used
	// again, and longestResponse is what an answer must end within.
	drainedResponse = 64 << 10
	longestResponse = 1 << 20
	longestHead     = 64 << 10
)

// Errors of a dial, by which failures are classed.
type (
	dnsError struct{ error }
	tlsError struct{ error }
)

func (e dnsError) Unwrap() error { return e.error }
func (e tlsError) Unwrap() error { return e.error }

var errTooLong = errors.New("the answer is longer than 1 MiB")

// resolver is what looks names up; nil: the machine's.
type resolver func(ctx context.Context, host string) ([]netip.Addr, error)

func systemResolver(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// dialer connects to endpoints: it looks a name up itself, and checks the very
// addresses that it then connects to.
type dialer struct {
	guard   *guard
	resolve resolver
	timeout time.Duration
	roots   *roots
}

// newClient returns the one client that everything is sent with.
func newClient(d *Delivery, g *guard, resolve resolver) *http.Client {
	if resolve == nil {
		resolve = systemResolver
	}
	dial := &dialer{guard: g, resolve: resolve, timeout: d.Timeout, roots: &roots{file: d.CAFile}}
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  nil, // whatever the environment says
			DialTLSContext:         dial.tls,
			DialContext:            dial.refuse,
			ForceAttemptHTTP2:      true,
			MaxIdleConns:           4 * d.Concurrency,
			MaxIdleConnsPerHost:    d.Concurrency,
			IdleConnTimeout:        longestIdle,
			MaxResponseHeaderBytes: longestHead,
			DisableCompression:     true, // what is stored is what was sent
			WriteBufferSize:        4 << 10,
			ReadBufferSize:         4 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// refuse is for what is not https, which no endpoint is.
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

// connect tries the host's addresses one after the other, if all may be sent to.
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
		return nil, dnsError{errors.New("the name has no address")}
	}
	for _, a := range addrs {
		if err := d.guard.check(a); err != nil {
			return nil, err
		}
	}
	deadline, _ := ctx.Deadline()
	var first error
	for i, a := range addrs {
		// Each gets its share of the time that is left.
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

// control checks once more what the system is about to connect to.
func (d *dialer) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	addr, err := netip.ParseAddrPort(address)
	if err != nil {
		return errBlocked
	}
	return d.guard.check(addr.Addr())
}

// roots are the certificates that are trusted: the system's, and those of a file
// that is read again when it changes.
type roots struct {
	file string

	mu     sync.Mutex
	read   time.Time
	size   int64
	loaded *x509.CertPool
}

// pool returns nil for the system's alone.
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

// result is what came of one request.
type result struct {
	job        *job
	at         time.Time
	duration   time.Duration
	failure    string // "": it succeeded
	message    string // what went wrong
	status     int    // 0: no answer
	response   []byte
	reused     bool
	retryAfter time.Duration
	signers    []message.Signer
}

// attempt sends a delivery once.
func (e *Engine) attempt(j *job) *result {
	r := &result{job: j, at: e.now().UTC().Truncate(time.Microsecond)}
	r.signers = j.target.signersAt(r.at)
	began := time.Now()
	defer func() {
		r.duration = time.Since(began)
		e.metrics.observe(r)
	}()
	traced, span := startAttempt(e.work, j)
	defer func() { endAttempt(span, r) }()
	ctx, cancel := context.WithTimeout(traced, e.settings.Timeout)
	defer cancel()
	if err := e.exchange(ctx, r); err != nil {
		r.failure, r.message = classify(err, ctx.Err())
	}
	return r
}

// longestIdle is how long a connection without requests is used again. It is
// shorter than servers keep them, so that an endpoint does not close one just when
// a request is on its way: the endpoint may have read that request, so it is not
// sent a second time, and the attempt would fail.
const longestIdle = time.Second

// errSentAgain ends an attempt that the transport would send a third time.
var errSentAgain = errors.New("the request was sent twice")

// resendable returns a GetBody that works once. The transport asks for it to send a
// request again of which no byte was sent, or which an HTTP/2 endpoint said that it
// has not processed (GOAWAY, REFUSED_STREAM). An endpoint that always says so must
// not make it send the request again and again.
func resendable(body []byte) func() (io.ReadCloser, error) {
	again := 0
	return func() (io.ReadCloser, error) {
		if again++; again > 1 {
			return nil, errSentAgain
		}
		return io.NopCloser(bytes.NewReader(body)), nil
	}
}

// exchange makes the request and reads the answer; a status that is not 2xx is
// no error of it.
func (e *Engine) exchange(ctx context.Context, r *result) error {
	j := r.job
	head := make(http.Header, 8)
	for _, h := range message.Sign(e.settings.Issuer, r.signers, j.body, r.at) {
		head[h.Name] = []string{h.Value}
	}
	body := j.body.JSON
	req := (&http.Request{
		Method: http.MethodPost, URL: j.target.url, Host: j.target.url.Host, Header: head,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: int64(len(body)),
		Body:    io.NopCloser(bytes.NewReader(body)),
		GetBody: resendable(body),
	}).WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) { r.reused = info.Reused },
	}))
	resp, err := e.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	r.status = resp.StatusCode
	if err := r.read(resp.Body); err != nil {
		return err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		r.failure, r.message = failureStatus, "answered "+strconv.Itoa(resp.StatusCode)
		if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable {
			r.retryAfter = retryAfter(resp.Header.Get("Retry-After"), r.at)
		}
	}
	return nil
}

// read keeps the beginning of an answer and reads its rest. An answer that is not
// 2xx failed already, so that its end need not be waited for.
func (r *result) read(body io.Reader) error {
	kept, err := io.ReadAll(io.LimitReader(body, storedResponse))
	r.response = kept
	if err != nil {
		return err
	}
	most := int64(longestResponse)
	if r.status < 200 || r.status > 299 {
		most = drainedResponse
	}
	n, err := io.Copy(io.Discard, io.LimitReader(body, most))
	if err == nil && n == longestResponse {
		err = errTooLong
	}
	return err
}

// retryAfter reads the header; 0: none that can be read.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseInt(strings.TrimSpace(value), 10, 32); err == nil {
		return max(time.Duration(seconds)*time.Second, 0)
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// classify says what kind of failure an error of an exchange is, in a word and in
// a phrase. ended is the error of the exchange's own context.
func classify(err, ended error) (failure, message string) {
	var dns dnsError
	var handshake tlsError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, errBlocked):
		return failureBlocked, "the address is not public"
	case errors.Is(ended, context.DeadlineExceeded), errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return failureTimeout, "took longer than it may"
	case errors.As(err, &dns):
		return failureDNS, phrase(dns)
	case errors.As(err, &handshake):
		return failureTLS, phrase(handshake)
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return failureRefused, "the connection was refused"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return failureReset, "the connection ended before the answer did"
	case errors.Is(err, errTooLong):
		return failureProtocol, errTooLong.Error()
	}
	return failureProtocol, phrase(err)
}

// phrase is an error's text without what would say where we are.
func phrase(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, "\": "); i >= 0 {
		text = text[i+3:] // the method and the URL of url.Error
	}
	return strings.ToValidUTF8(strings.ReplaceAll(text[:min(len(text), 300)], "\x00", ""), "\ufffd")
}
