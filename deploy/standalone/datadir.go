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

// lock creates the data directory and locks it until unlock is called or the process ends. It
// fails if another instance has the lock.
func lock(dir string) (unlock func(), err error) {
	if err := protect(dir); err != nil {
		return nil, explainAccess(dir, err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, explainAccess(dir, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("another instance runs in %s: to run a second one, set another DATA_DIR and PORT_BASE", dir)
	}
	return func() { f.Close() }, nil
}

// protect creates the data directory and the directories of NATS and of media in it, for this
// account only. If PostgreSQL's files are there, its account can pass through the data directory.
// pgserver protects the directory of the database.
func protect(dir string) error {
	own := []string{filepath.Join(dir, "nats"), mediaDir(dir)}
	for _, d := range own {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return err
		}
	}
	if err := pgserver.Protect(dir, filepath.Join(dir, "postgres")); err != nil {
		return err
	}
	for _, d := range own {
		if err := pgserver.Protect(d, ""); err != nil {
			return err
		}
	}
	return nil
}

// mediaDir returns the directory of the files of media in a data directory.
func mediaDir(dataDir string) string { return filepath.Join(dataDir, "media") }

// explainAccess adds to err what to do if the data directory cannot be written to.
func explainAccess(dir string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w\nDATA_DIR (now %s) must be a directory that this user can write to", err, dir)
	}
	return fmt.Errorf("DATA_DIR (now %s): %w", dir, err)
}
