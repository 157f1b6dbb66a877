// Command nats is a NATS server with JetStream in a separate process, so that its processor time
// can be measured separately from the test's. It listens on the loopback port NATS_PORT and
// stores its streams below NATS_DIR.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "nats:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	port, err := strconv.Atoi(os.Getenv("NATS_PORT"))
	if err != nil {
		return fmt.Errorf("NATS_PORT: %w", err)
	}
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: port, StoreDir: os.Getenv("NATS_DIR"), JetStream: true,
		JetStreamMaxMemory: 256 << 20, JetStreamMaxStore: 4 << 30, NoLog: true, NoSigs: true,
	})
	if err != nil {
		return err
	}
	s.Start()
	if !s.ReadyForConnections(20 * time.Second) {
		return errors.New("the server did not start")
	}
	<-ctx.Done()
	s.Shutdown()
	s.WaitForShutdown()
	return nil
}
