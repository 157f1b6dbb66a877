package testkit_test

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"reservation.dev/devkit/testkit"
)

func TestClosedAddr(t *testing.T) {
	addr := testkit.ClosedAddr(t)
	conn, err := net.Dial("tcp", addr)
	if err == nil {
		conn.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("got %v, want a refused connection", err)
	}
	if ln, err := net.Listen("tcp", addr); err == nil {
		ln.Close()
		t.Error("somebody else can listen on it")
	}
}
