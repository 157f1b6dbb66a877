//go:build unix

package pgserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// predecessorTimeout limits how long Start waits for an earlier server on its directory to
	// end.
	predecessorTimeout = 30 * time.Second
	// orphanTimeout is how long Start waits for a server whose parent has died to end by itself,
	// as it does on Linux, before Start shuts it down.
	orphanTimeout = 2 * time.Second
	lockPoll      = 20 * time.Millisecond
)

var errLocked = errors.New("locked")

// tryLock locks the file at path, and creates it if necessary. If it is locked, tryLock returns
// errLocked. The lock is released when all copies of the descriptor are closed, including those that
// child processes inherited. So it is released at the latest when the processes end.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errLocked
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	// The previous holder of the lock may have removed the file.
	if ours, err := f.Stat(); err == nil {
		if there, err := os.Stat(path); err == nil && os.SameFile(ours, there) {
			return f, nil
		}
	}
	f.Close()
	return nil, errLocked
}

// lock waits for the lock at path, which the process that manages a directory holds. It writes the
// identifier of this process into the file, for the messages of other processes.
func lock(ctx context.Context, path string, log *slog.Logger) (*os.File, error) {
	f, err := waitForLock(ctx, path, func(waited time.Duration) {
		if waited == 0 {
			log.Info("waiting for another process to leave the database's directory", "lock", path, "pid", pidIn(path))
		}
	})
	if errors.Is(err, errLocked) {
		return nil, fmt.Errorf("process %d is using this directory (it locks %s): stop it, or use another directory", pidIn(path), path)
	}
	if err != nil {
		return nil, err
	}
	_ = f.Truncate(0)
	_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return f, nil
}

// lockCluster waits for the lock at path, which PostgreSQL's processes hold. The caller holds the
// directory's lock, so the parent of a running server has died and the server is ending. If it does
// not end within orphanTimeout, lockCluster shuts it down.
func lockCluster(ctx context.Context, path, data string, log *slog.Logger) (*os.File, error) {
	signalled := false
	f, err := waitForLock(ctx, path, func(waited time.Duration) {
		if waited < orphanTimeout || signalled {
			return
		}
		signalled = true
		pid := postmasterPID(data)
		log.Info("shutting down a database server that was left running", "data", data, "pid", pid)
		if pid > 1 {
			_ = syscall.Kill(pid, syscall.SIGINT)
		}
	})
	if errors.Is(err, errLocked) {
		return nil, fmt.Errorf("a PostgreSQL server (process %d) still runs on %s and does not end: stop it yourself", postmasterPID(data), data)
	}
	return f, err
}

// waitForLock tries to get the lock until predecessorTimeout has passed. It calls waiting after each
// failed attempt.
func waitForLock(ctx context.Context, path string, waiting func(waited time.Duration)) (*os.File, error) {
	ticker := time.NewTicker(lockPoll)
	defer ticker.Stop()
	var begin time.Time
	for {
		f, err := tryLock(path)
		if !errors.Is(err, errLocked) {
			return f, err
		}
		if begin.IsZero() {
			begin = time.Now()
			waiting(0)
		}
		waited := time.Since(begin)
		if waited > predecessorTimeout {
			return nil, errLocked
		}
		if waited > 0 {
			waiting(max(waited, 1))
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// pidIn returns the process identifier on the first line of a file, or 0 if there is none.
func pidIn(path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	pid, _ := strconv.Atoi(strings.TrimSpace(line))
	return pid
}
