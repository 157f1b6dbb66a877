package testkit

import (
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy forwards connections from a test to a server. It counts round trips and can refuse or cut
// connections.
type Proxy struct {
	Refuse   atomic.Int64 // number of the next connections to close immediately
	Accepted atomic.Int64 // number of accepted connections
	Turns    atomic.Int64 // how often the client sent data after the server did

	listener net.Listener
	server   string

	mu    sync.Mutex
	conns []net.Conn
}

// NewProxy returns a proxy, and rawURL with the proxy's address.
func NewProxy(t testing.TB, rawURL string) (*Proxy, string) {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: l, server: u.Host}
	var running sync.WaitGroup
	running.Go(func() { p.serve(&running) })
	t.Cleanup(func() {
		l.Close()
		p.Cut()
		running.Wait()
	})
	u.Host = l.Addr().String()
	return p, u.String()
}

func (p *Proxy) serve(running *sync.WaitGroup) {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.Accepted.Add(1)
		if p.Refuse.Add(-1) >= 0 {
			client.Close()
			continue
		}
		server, err := net.DialTimeout("tcp", p.server, 5*time.Second)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		if p.Refuse.Load() > 0 && p.Refuse.Add(-1) >= 0 { // since it was accepted, so that Cut may have missed it
			p.mu.Unlock()
			client.Close()
			server.Close()
			continue
		}
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		var serverSpoke atomic.Bool
		running.Go(func() {
			pipe(server, client, func() {
				if serverSpoke.Swap(false) {
					p.Turns.Add(1)
				}
			})
		})
		running.Go(func() { pipe(client, server, func() { serverSpoke.Store(true) }) })
	}
}

func pipe(to, from net.Conn, heard func()) {
	defer to.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			heard()
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// Cut closes all connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}
