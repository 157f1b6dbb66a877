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
	// abandonedAfter is longer than any test process runs. Older directories were left by killed
	// processes.
	abandonedAfter = 12 * time.Hour
	maxConnections = 300
	stopTimeout    = 30 * time.Second
)

// adminURL returns TEST_DATABASE_URL, or starts a server and returns a superuser's URL of it.
func adminURL(ctx context.Context) (string, error) {
	if raw := os.Getenv("TEST_DATABASE_URL"); raw != "" {
		return raw, nil
	}
	sweep()
	dir, err := os.MkdirTemp("", dirPattern)
	if err != nil {
		return "", err
	}
	// If root runs the tests, the server runs as another account, which must be able to enter.
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", err
	}
	server, err := pgserver.Start(ctx, pgserver.Options{
		Dir: dir, Durable: pgserver.Fast, MaxConnections: maxConnections,
	})
	if err != nil {
		_ = os.RemoveAll(dir)
		return "", fmt.Errorf("%w (or set TEST_DATABASE_URL to the URL of a server)", err)
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

// sweep removes the directories of killed test processes. It ignores errors.
func sweep() {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), dirPattern))
	for _, dir := range left {
		info, err := os.Stat(dir)
		if err == nil && time.Since(info.ModTime()) > abandonedAfter {
			_ = os.RemoveAll(dir)
		}
	}
}
