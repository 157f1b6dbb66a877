// Package edgetest tests gateways. It serves fakes of the services that a gateway calls, sends
// requests to the gateway, and checks the responses against the OpenAPI description.
package edgetest

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"reservation.dev/devkit/testkit/openapitest"
	"reservation.dev/platform/rpc"
)

// Services serves the services that register registers until the test ends. It returns a connection
// to them.
func Services(t *testing.T, o rpc.ServerOptions, register func(s grpc.ServiceRegistrar)) *grpc.ClientConn {
	t.Helper()
	srv := rpc.NewServer(o)
	register(srv)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = srv.Serve(ln) }()
	t.Cleanup(srv.Stop)
	conn, err := rpc.Dial(ln.Addr().String(), rpc.DialOptions{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// Client sends requests to a gateway.
type Client struct {
	URL  string
	HTTP *http.Client
	t    *testing.T
}

// Serve serves a gateway's handler until the test ends. The client checks every response against the
// contract.
func Serve(t *testing.T, h http.Handler, contract *openapitest.Contract) *Client {
	t.Helper()
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	return &Client{t: t, URL: web.URL, HTTP: &http.Client{Transport: contract.Transport(t, web.Client().Transport)}}
}

// Request is a request to a gateway. If Body is set and Media is "", the media type is JSON.
type Request struct {
	Method, Path, Token, Media, Body string
	Header                           http.Header
}

// Answer is the response to a request.
type Answer struct {
	Code   int
	Header http.Header
	Body   string
}

// Do sends a request and returns the response. It fails the test if there is none.
func (c *Client) Do(r Request) Answer {
	c.t.Helper()
	req, err := r.http(c.t, c.URL)
	if err != nil {
		c.t.Fatal(err)
	}
	res, err := c.HTTP.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return Answer{res.StatusCode, res.Header, string(text)}
}

func (r Request) http(t *testing.T, url string) (*http.Request, error) {
	var body io.Reader
	if r.Body != "" {
		body = strings.NewReader(r.Body)
	}
	req, err := http.NewRequestWithContext(t.Context(), r.Method, url+r.Path, body)
	if err != nil {
		return nil, err
	}
	if r.Header != nil {
		req.Header = r.Header.Clone()
	}
	if r.Token != "" {
		req.Header.Set("Authorization", "Bearer "+r.Token)
	}
	switch {
	case r.Media != "":
		req.Header.Set("Content-Type", r.Media)
	case r.Body != "":
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// Log collects the log lines of several goroutines.
type Log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write appends to the log.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String returns the log.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
