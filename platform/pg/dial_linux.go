package pg

import (
	"errors"
	"strings"
	"syscall"
)

// tcpUserTimeout is Linux's TCP_USER_TIMEOUT, which package syscall does not have.
const tcpUserTimeout = 0x12

// limitUnanswered sets unansweredTime on a new TCP connection.
func limitUnanswered(network, _ string, c syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(unansweredTime.Milliseconds()))
	})
	return errors.Join(err, failed)
}
