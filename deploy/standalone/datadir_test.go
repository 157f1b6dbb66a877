package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"reservation.dev/devkit/credentials"
)

func TestDataDirectories(t *testing.T) {
	for name, before := range map[string]fs.FileMode{"a new": 0, "a world-readable": 0o755, "a world-writable": 0o777} {
		for _, umask := range []int{0, 0o022, 0o077} {
			t.Run(fmt.Sprintf("%s directory becomes accessible to its owner only, with umask %03o", name, umask), func(t *testing.T) {
				former := syscall.Umask(umask)
				t.Cleanup(func() { syscall.Umask(former) })
				dir := filepath.Join(t.TempDir(), "data")
				for _, d := range []string{dir, filepath.Join(dir, "nats"), filepath.Join(dir, "media")} {
					if before != 0 {
						makeDir(t, d, before)
					}
				}
				unlock, err := lock(dir)
				if err != nil {
					t.Fatal(err)
				}
				defer unlock()
				wantMode(t, dir, 0o700)
				wantMode(t, filepath.Join(dir, "nats"), 0o700)
				wantMode(t, filepath.Join(dir, "media"), 0o700)
				wantMode(t, filepath.Join(dir, "lock"), 0o600)
			})
		}
	}
	t.Run("another account can still reach its database in the directory", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("only root runs PostgreSQL as another account")
		}
		dir := t.TempDir()
		data := filepath.Join(dir, "postgres", "data")
		makeDir(t, filepath.Dir(data), 0o755)
		makeDir(t, data, 0o700)
		if err := os.Chown(data, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		if err := protect(dir); err != nil {
			t.Fatal(err)
		}
		wantMode(t, dir, 0o711)
		wantMode(t, filepath.Join(dir, "nats"), 0o700)
		wantMode(t, filepath.Join(dir, "media"), 0o700)
	})
	t.Run("files with secrets are readable by their owner only, even after an interrupted run", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "state.json")
		for _, name := range []string{path, path + ".next"} {
			if err := os.WriteFile(name, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(name, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if err := credentials.Write(path, "secret"); err != nil {
			t.Fatal(err)
		}
		wantMode(t, path, 0o600)
	})
}

func makeDir(t *testing.T, dir string, mode fs.FileMode) {
	t.Helper()
	if err := os.MkdirAll(dir, mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
}

func wantMode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != want {
		t.Errorf("%s has the mode %o, want %o", filepath.Base(path), got, want)
	}
}
