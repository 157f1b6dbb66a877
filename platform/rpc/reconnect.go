package rpc

import (
	"context"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"
)

// send makes a call. If the call was never sent, because the connection to the service was just lost,
// send waits for the service and makes the call again.
func (c *caller) send(ctx context.Context, cc *grpc.ClientConn, call func() error) error {
	for {
		err := call()
		if status.Code(err) != codes.Unavailable {
			c.lastAnswer.Store(time.Now().UnixNano())
			return err
		}
		if !neverSent(err) || !c.waitUntilReady(ctx, cc) {
			return err
		}
	}
}

// neverSent reports whether a call failed because there was no connection. gRPC has no code for this
// case, so neverSent compares texts, which a test checks. Calls that an ended process has not
// processed are retried by gRPC itself.
func neverSent(err error) bool {
	message := status.Convert(err).Message()
	for _, connecting := range []string{"transport: Error while dialing", "error reading server preface", "authentication handshake failed"} {
		if strings.Contains(message, connecting) {
			return true
		}
	}
	return false
}

// waitUntilReady waits for a service whose connection was just lost, and reports whether it is available
// again.
func (c *caller) waitUntilReady(ctx context.Context, cc *grpc.ClientConn) bool {
	left := reconnectTime - time.Since(time.Unix(0, c.lastAnswer.Load()))
	if left <= 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	for {
		state := cc.GetState()
		if state == connectivity.Ready {
			return true
		}
		if state == connectivity.Idle {
			cc.Connect()
		}
		if !cc.WaitForStateChange(ctx, state) {
			return false
		}
	}
}
