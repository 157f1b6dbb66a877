package testkit

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
)

// The ports of FreeAddr. The systems on which the tests run give higher ones to connections and to listeners that ask
// for any port. Package harness takes those from 12000.
const (
	firstPort = 10_000
	lastPort  = 11_999
)

// ports gives each port once. Each process begins at a random one, so that two rarely choose the same.
type ports struct {
	mu   sync.Mutex
	next int // 0: not chosen yet
}

// take returns the next port on which nothing listens.
func (p *ports) take() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == 0 {
		p.next = firstPort + rand.IntN(lastPort-firstPort)
	}
	for range lastPort - firstPort {
		port := p.next
		if p.next++; p.next > lastPort {
			p.next = firstPort
		}
		l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("no port from %d to %d is free", firstPort, lastPort)
}

// FreeAddr returns a loopback address on which nothing listens, for a server that starts later or again. A port from
// the kernel could be given to another program until then.
func FreeAddr(t testing.TB) string {
	t.Helper()
	port, err := process.ports.take()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", port)
}
