package harness

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
)

// Ports are taken from below the range that the kernel uses for outgoing connections, because a
// service that is killed and started again must find its port free.
const (
	firstPort  = 12000
	lastPort   = 32000
	portsBlock = 16
)

// ports are the blocks that this process has reserved. A file lock per block keeps other test
// processes off it, and ends with this process.
type ports struct {
	mu    sync.Mutex
	locks []*os.File
}

// freePorts reserves portsBlock consecutive ports for the rest of the process and returns the first.
func freePorts(t testing.TB) int {
	t.Helper()
	base, err := process.ports.take()
	if err != nil {
		t.Fatalf("no free ports: %v", err)
	}
	return base
}

// FreeAddr reserves a loopback address for the rest of the process.
func FreeAddr(t testing.TB) string {
	t.Helper()
	return loopback(freePorts(t))
}

func (p *ports) take() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	dir := filepath.Join(os.TempDir(), "reservation-test-ports")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return 0, err
	}
	_ = os.Chmod(dir, 0o777) // fails if another account made it, which then did the same
	var err error
	for range 200 {
		base := firstPort + portsBlock*rand.IntN((lastPort-firstPort)/portsBlock)
		var lock *os.File
		lock, err = lockFile(filepath.Join(dir, strconv.Itoa(base)), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != nil {
			continue
		}
		if err = allFree(base); err != nil {
			lock.Close()
			continue
		}
		p.locks = append(p.locks, lock)
		return base, nil
	}
	return 0, err
}

func allFree(base int) error {
	for port := base; port < base+portsBlock; port++ {
		l, err := net.Listen("tcp", loopback(port))
		if err != nil {
			return fmt.Errorf("port %d: %w", port, err)
		}
		l.Close()
	}
	return nil
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
