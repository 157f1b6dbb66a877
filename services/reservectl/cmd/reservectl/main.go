// Command reservectl operates a reservation platform.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"reservation.dev/services/reservectl"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second Ctrl-C kills the process if the first one does not end it.
	context.AfterFunc(ctx, stop)
	code := reservectl.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
