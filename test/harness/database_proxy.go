package harness

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"reservation.dev/platform/id"
)

// DatabaseProxy is a TCP proxy between a service and its database. It follows PostgreSQL's
// protocol, so that a test can stop a process at an exact round trip of a transaction, without
// knowing its statements.
type DatabaseProxy struct {
	target   string // host and port of the server
	listener net.Listener
	// forwarding is held for reading by every write, and for writing while a trap's stop runs.
	forwarding sync.RWMutex

	mu    sync.Mutex
	trap  *trap
	conns map[*proxied]bool
}

// Moment is a point of a round trip.
type Moment int

const (
	// BeforeRequest is before the database gets the request. It never gets it.
	BeforeRequest Moment = iota
	// BeforeAnswer is after the database has answered. The service never gets the answer.
	BeforeAnswer
	// AtAnswer is after the database has answered. The service then gets the answer.
	AtAnswer
)

// Unit is what a trap counts.
type Unit int

const (
	// RoundTrips are all round trips of transactions.
	RoundTrips Unit = iota
	// Transactions are the round trips that end a transaction.
	Transactions
)

// Trap stops a process at a moment of the N-th round trip, from 1, of a company's transactions.
type Trap struct {
	Company string // comp_…
	Unit    Unit   // Transactions cannot be combined with BeforeRequest
	N       int
	At      Moment
	// Stop is called once. Nothing else is forwarded while it runs. Unless At is AtAnswer, every
	// connection is cut afterwards.
	Stop func()
}

// trap is a trap that is set.
type trap struct {
	Trap
	marks [][]byte // one of them is in a message of each of the company's transactions

	seen   int
	sprung bool
}

// proxied is one connection of the service.
type proxied struct {
	proxy          *DatabaseProxy
	client, server net.Conn

	mu sync.Mutex
	// marked says that the transaction in progress belongs to the trap's company.
	marked bool
	// waiting has an element for each request that the server has not answered: the trap that the
	// answer springs, or nil.
	waiting []*trap
}

// NewDatabaseProxy returns a proxy for the server of a database URL. It ends with the test. The
// connections must not use TLS.
func NewDatabaseProxy(t testing.TB, rawURL string) *DatabaseProxy {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &DatabaseProxy{target: u.Host, listener: listener, conns: map[*proxied]bool{}}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // closed
			}
			all.Go(func() { p.serve(conn) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		p.cut()
		all.Wait()
	})
	return p
}

// URL returns a database URL with the proxy's address.
func (p *DatabaseProxy) URL(t testing.TB, rawURL string) string {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = p.listener.Addr().String()
	return u.String()
}

// Set sets a trap, which counts from now on.
func (p *DatabaseProxy) Set(t testing.TB, trapped Trap) {
	t.Helper()
	c, err := id.Parse[id.Company](trapped.Company)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("%x-%x-%x-%x-%x", c[:4], c[4:6], c[6:8], c[8:10], c[10:])
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trap = &trap{Trap: trapped, marks: [][]byte{c[:], []byte(text)}}
}

// Sprung reports whether the trap has called stop. If stop is running, it waits until stop returns.
func (p *DatabaseProxy) Sprung() bool {
	p.forwarding.RLock()
	defer p.forwarding.RUnlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trap != nil && p.trap.sprung
}

// Disarm removes the trap, and reports whether it has called stop.
func (p *DatabaseProxy) Disarm() (sprung bool) {
	p.forwarding.RLock()
	defer p.forwarding.RUnlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	sprung = p.trap != nil && p.trap.sprung
	p.trap = nil
	return sprung
}

func (p *DatabaseProxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		client.Close()
		return
	}
	c := &proxied{proxy: p, client: client, server: server}
	p.mu.Lock()
	p.conns[c] = true
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { defer c.close(); c.forwardRequests() })
	both.Go(func() { defer c.close(); c.forwardAnswers() })
	both.Wait()
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
}

func (c *proxied) close() {
	c.client.Close()
	c.server.Close()
}

// cut closes every connection.
func (p *DatabaseProxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.close()
	}
}

// forwardRequests forwards the client's messages up to each message that asks for an answer.
func (c *proxied) forwardRequests() {
	from := bufio.NewReader(c.client)
	var startup [4]byte
	if _, err := io.ReadFull(from, startup[:]); err != nil {
		return
	}
	body := make([]byte, int(binary.BigEndian.Uint32(startup[:]))-len(startup))
	if _, err := io.ReadFull(from, body); err != nil || !c.send(c.server, append(startup[:], body...)) {
		return
	}
	var request []byte
	for {
		kind, message, err := readMessage(from)
		if err != nil {
			return
		}
		request = append(request, message...)
		if asks := kind == 'Q' || kind == 'S'; !asks && (kind == 'P' || kind == 'B' || kind == 'D' || kind == 'E' || kind == 'C') {
			continue // a Sync follows
		} else if asks && c.springs(request) {
			return
		}
		if !c.send(c.server, request) {
			return
		}
		request = request[:0]
	}
}

// springs counts a request, and reports whether it sprang the trap and must not be forwarded.
func (c *proxied) springs(request []byte) bool {
	trap := c.count(request)
	if trap != nil && trap.At == BeforeRequest {
		return c.proxy.spring(trap)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, trap)
	return false
}

// count counts a request if it belongs to a transaction of the trap's company, and returns the trap
// if the request is the one that it waits for.
func (c *proxied) count(request []byte) *trap {
	c.proxy.mu.Lock()
	defer c.proxy.mu.Unlock()
	trap := c.proxy.trap
	if trap == nil || trap.sprung {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.marked = c.marked || bytes.Contains(request, trap.marks[0]) || bytes.Contains(request, trap.marks[1])
	if !c.marked || trap.Unit != RoundTrips || !trap.due() {
		return nil
	}
	return trap
}

// due counts one more, and reports whether the trap waits for this one. DatabaseProxy.mu is held.
func (trap *trap) due() bool {
	trap.seen++
	return trap.seen == trap.N
}

// spring calls the stop of a trap, unless the trap was removed.
func (p *DatabaseProxy) spring(trap *trap) bool {
	p.forwarding.Lock()
	defer p.forwarding.Unlock()
	p.mu.Lock()
	armed := p.trap == trap
	trap.sprung = armed
	p.mu.Unlock()
	if !armed {
		return false
	}
	trap.Stop()
	if trap.At != AtAnswer {
		p.cut()
	}
	return true
}

// forwardAnswers forwards the server's messages. It holds back the answer that springs the trap.
func (c *proxied) forwardAnswers() {
	from := bufio.NewReader(c.server)
	var answer []byte
	for {
		kind, message, err := readMessage(from)
		if err != nil {
			return
		}
		answer = append(answer, message...)
		if trap := c.answered(kind, message); trap != nil {
			c.proxy.spring(trap)
		} else if c.holdsBack() || from.Buffered() > 0 {
			continue
		}
		if !c.send(c.client, answer) {
			return
		}
		answer = answer[:0]
	}
}

// answered notes a message of the server, and returns the trap that it springs by completing an
// answer.
func (c *proxied) answered(kind byte, message []byte) *trap {
	c.proxy.mu.Lock()
	defer c.proxy.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if kind != 'Z' || len(c.waiting) == 0 {
		return nil
	}
	springs := c.waiting[0]
	c.waiting = c.waiting[1:]
	ends := message[len(message)-1] == 'I' && len(c.waiting) == 0 // no transaction is open
	if trap := c.proxy.trap; ends && c.marked && trap != nil && trap.Unit == Transactions && trap.due() {
		springs = trap
	}
	c.marked = c.marked && !ends
	return springs
}

// holdsBack reports whether the answer that the server is sending may spring the trap.
func (c *proxied) holdsBack() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting) > 0 && (c.marked || c.waiting[0] != nil)
}

func (c *proxied) send(to net.Conn, messages []byte) bool {
	c.proxy.forwarding.RLock()
	defer c.proxy.forwarding.RUnlock()
	_, err := to.Write(messages)
	return err == nil
}

// readMessage reads one message, whose first byte is its kind.
func readMessage(from io.Reader) (kind byte, message []byte, err error) {
	message = make([]byte, 5)
	if _, err := io.ReadFull(from, message); err != nil {
		return 0, nil, err
	}
	rest := make([]byte, int(binary.BigEndian.Uint32(message[1:]))-4)
	if _, err := io.ReadFull(from, rest); err != nil {
		return 0, nil, err
	}
	return message[0], append(message, rest...), nil
}
