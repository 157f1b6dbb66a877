package testkit_test

import (
	"net"
	"testing"

	"reservation.dev/devkit/testkit"
)

func TestFreeAddr(t *testing.T) {
	t.Parallel()
	t.Run("returns another address each time, on which a server can listen", func(t *testing.T) {
		t.Parallel()
		seen := map[string]bool{}
		for range 20 {
			addr := testkit.FreeAddr(t)
			l, err := net.Listen("tcp", addr)
			if err != nil || seen[addr] {
				t.Fatalf("%s: %v", addr, err)
			}
			defer l.Close()
			seen[addr] = true
		}
	})
}
