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
	// predecessorTimeout bounds how long Start waits for another server on its
	// directory to end.
	predecessorTimeout = 30 * time.Second
	// orphanTimeout is how long a server without parent gets to end of itself,
	// which on Linux it does, before it is told to.
	orphanTimeout = 2 * time.Second
	lockPoll      = 20 * time.Millisecond
)

var errLocked = errors.New("locked")

// tryLock locks the file at path, made if need be, or returns errLocked. The
// lock ends when all copies of the descriptor are closed, those that child
// processes inherited included, and so at the latest with the processes.
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
	// The file may have been removed by who held the lock before.
	if ours, err := f.Stat(); err == nil {
		if there, err := os.Stat(path); err == nil && os.SameFile(ours, there) {
			return f, nil
		}
	}
	f.Close()
	return nil, errLocked
}

// lock waits for the lock at path, which the process that manages a directory
// holds, and writes this process's id into it for others' messages.
func lock(ctx context.Context, path string, log *slog.Logger) (*os.File, error) {
	f, err := waitForLock(ctx, path, func(waited time.Duration) {
		if waited == 0 {
			log.Info("waiting for another process to leave the database's directory", "lock", path, "pid", pidIn(path))
		}
	})
	if errors.Is(err, errLocked) {
		return nil, fmt.Errorf("process %d is using this directory (it holds %s): stop it, or give another directory", pidIn(path), path)
	}
	if err != nil {
		return nil, err
	}
	_ = f.Truncate(0)
	_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return f, nil
}

// lockCluster waits for the lock at path, which PostgreSQL's processes hold. The
// caller holds the directory's lock, so that a server that lives has lost its
// parent and is ending; if it does not, it is told to.
func lockCluster(ctx context.Context, path, data string, log *slog.Logger) (*os.File, error) {
	told := false
	f, err := waitForLock(ctx, path, func(waited time.Duration) {
		if waited < orphanTimeout || told {
			return
		}
		told = true
		pid := postmasterPID(data)
		log.Info("shutting down a database server that was left running", "data", data, "pid", pid)
		if pid > 1 {
			_ = syscall.Kill(pid, syscall.SIGINT)
		}
	})
	if errors.Is(err, errLocked) {
		return nil, fmt.Errorf("a PostgreSQL server (process %d) still runs on %s and does not end: stop it by hand", postmasterPID(data), data)
	}
	return f, err
}

// waitForLock tries until predecessorTimeout has passed; waiting is called after
// each vain attempt.
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

// pidIn returns the process id on the first line of a file, 0 if there is none.
func pidIn(path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	pid, _ := strconv.Atoi(strings.TrimSpace(line))
	return pid
}
