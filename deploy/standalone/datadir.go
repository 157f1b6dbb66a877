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

// lock creates the data directory and locks it against a second instance, until unlock is called or
// the process ends.
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
		return nil, fmt.Errorf("another instance uses %s: set DATA_DIR and PORT_BASE to run a second one", dir)
	}
	return func() { f.Close() }, nil
}

// protect creates the data directory and the NATS directory in it, with access for this account
// only. If PostgreSQL's files are in the data directory, its account can traverse it. pgserver
// protects the database directory itself.
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

// notOurs returns the error about a directory that cannot be written, with what to do about it.
func notOurs(dir string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w\nDATA_DIR (now %s) must be a directory that this user can write to", err, dir)
	}
	return fmt.Errorf("DATA_DIR (now %s): %w", dir, err)
}
