package testkit

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"reservation.dev/devkit/pgserver"
)

const (
	dirPattern = "reservation-testkit-*"
	// abandonedAfter is more than any test process lives: what is older was left
	// behind by one that was killed.
	abandonedAfter = 12 * time.Hour
	maxConnections = 300
	stopTimeout    = 30 * time.Second
)

// adminURL is a superuser's URL of the server that the tests of this process
// use: the one TEST_DATABASE_URL names, or one started here.
func adminURL(ctx context.Context) (string, error) {
	if raw := os.Getenv("TEST_DATABASE_URL"); raw != "" {
		return raw, nil
	}
	sweep()
	dir, err := os.MkdirTemp("", dirPattern)
	if err != nil {
		return "", err
	}
	// Started by root, the server runs as another account, which must get in.
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", err
	}
	server, err := pgserver.Start(ctx, pgserver.Options{
		Dir: dir, Durable: pgserver.Fast, MaxConnections: maxConnections,
	})
	if err != nil {
		_ = os.RemoveAll(dir)
		return "", fmt.Errorf("%w (or name a server in TEST_DATABASE_URL)", err)
	}
	atExit(func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		if err := server.Remove(ctx); err != nil {
			complain("%v", err)
		}
		if err := os.RemoveAll(dir); err != nil {
			complain("%v", err)
		}
	})
	return server.AdminURL(), nil
}

// sweep removes what killed test processes left behind. It does what it can.
func sweep() {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), dirPattern))
	for _, dir := range left {
		info, err := os.Stat(dir)
		if err == nil && time.Since(info.ModTime()) > abandonedAfter {
			_ = os.RemoveAll(dir)
		}
	}
}
