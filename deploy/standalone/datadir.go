package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"reservation.dev/devkit/pgserver"
)

// lock makes the data directory and keeps a second instance off it until unlock,
// or until the process ends.
func lock(dir string) (unlock func(), err error) {
	if err := protect(dir); err != nil {
		return nil, notOurs(dir, err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, notOurs(dir, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("another instance runs in %s: set DATA_DIR and PORT_BASE to run a second one", dir)
	}
	return func() { f.Close() }, nil
}

// protect makes the data directory, and in it the directory of NATS, for this
// account only. The account of PostgreSQL may pass through the data directory if its
// files are there. pgserver protects the directory of the database.
func protect(dir string) error {
	nats := filepath.Join(dir, "nats")
	if err := os.MkdirAll(nats, 0o700); err != nil {
		return err
	}
	if err := pgserver.Protect(dir, filepath.Join(dir, "postgres")); err != nil {
		return err
	}
	return pgserver.Protect(nats, "")
}

// notOurs says what to do about a directory that cannot be written to.
func notOurs(dir string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w\nDATA_DIR (now %s) must be a directory that this user may write to", err, dir)
	}
	return fmt.Errorf("DATA_DIR (now %s): %w", dir, err)
}
