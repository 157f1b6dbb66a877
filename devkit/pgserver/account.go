//go:build unix

package pgserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is the operating system's account that PostgreSQL runs as.
type account struct {
	name       string
	credential *syscall.Credential // nil: the account of this process
}

// unprivileged returns the accounts to use instead of root, in order of preference.
func unprivileged() []string { return []string{"postgres", "nobody"} }

// accountFor returns the account that runs the cluster in data. If the cluster exists, this is its
// owner.
func accountFor(data string) (account, error) {
	info, err := os.Stat(data)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return account{}, err
	}
	exists := err == nil
	if os.Geteuid() != 0 {
		if exists && owner(info).Uid != uint32(os.Geteuid()) {
			return account{}, fmt.Errorf("the cluster %s belongs to %s: start it as that user or as root, "+
				"or use another directory", data, nameOf(owner(info).Uid))
		}
		return account{name: nameOf(uint32(os.Geteuid()))}, nil
	}
	if exists && owner(info).Uid != 0 {
		c := &syscall.Credential{Uid: owner(info).Uid, Gid: owner(info).Gid}
		return account{name: nameOf(c.Uid), credential: c}, nil
	}
	for _, name := range unprivileged() {
		if a, err := lookUp(name); err == nil {
			return a, nil
		}
	}
	return account{}, fmt.Errorf("PostgreSQL does not run as root, and none of the accounts %v exists: "+
		"create one of them, or start as an ordinary user", unprivileged())
}

func lookUp(name string) (account, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return account{}, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return account{}, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return account{}, err
	}
	return account{name: name, credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
}

// Protect closes a directory to other accounts, regardless of the umask and of its permissions
// before. server is the directory of a server, which is dir or is inside it; "": there is no server.
// If another account runs the server, because root started it, other accounts can pass through dir
// but not list it. Protect does not change a directory that belongs to another account.
func Protect(dir, server string) error {
	info, err := os.Stat(dir)
	if err != nil || int(owner(info).Uid) != os.Geteuid() {
		return err
	}
	mode := os.FileMode(0o700)
	if server == "" {
		return os.Chmod(dir, mode)
	}
	if data, err := os.Stat(filepath.Join(server, "data")); err == nil && int(owner(data).Uid) != os.Geteuid() {
		mode = 0o711
	}
	return os.Chmod(dir, mode)
}

// enterable makes a server's new directory accessible to this account. If root starts the server,
// other accounts can pass through the directory too: a new cluster is created there only if the
// server's account can enter it.
func enterable(dir string) error {
	info, err := os.Stat(dir)
	if err != nil || int(owner(info).Uid) != os.Geteuid() {
		return err
	}
	if os.Geteuid() == 0 {
		return os.Chmod(dir, 0o711)
	}
	return os.Chmod(dir, 0o700)
}

func owner(info os.FileInfo) *syscall.Stat_t { return info.Sys().(*syscall.Stat_t) }

func nameOf(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return "user " + id
}

// chown makes the account the owner of path.
func (a account) chown(path string) error {
	if a.credential == nil {
		return nil
	}
	return os.Chown(path, int(a.credential.Uid), int(a.credential.Gid))
}

// canRun returns an error if the account cannot run PostgreSQL's programs.
func (a account) canRun(ctx context.Context, b Binaries) error {
	if err := a.try(ctx, b, "/"); err != nil {
		return fmt.Errorf("%s cannot run %s as %s (it and the directories above must be executable for that account): %w",
			nameOf(uint32(os.Geteuid())), b.path("postgres"), a.name, err)
	}
	return nil
}

// canEnter reports whether the account can enter dir. It runs a program there instead of reading
// permissions, because other things than permissions can prevent access.
func (a account) canEnter(ctx context.Context, b Binaries, dir string) bool {
	return a.credential == nil || a.try(ctx, b, dir) == nil
}

func (a account) try(ctx context.Context, b Binaries, dir string) error {
	cmd := exec.Command(b.path("postgres"), "--version")
	cmd.Dir = dir
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	if err := run(ctx, cmd, a); err != nil {
		return fmt.Errorf("%w %s", err, bytes.TrimSpace(complaint.Bytes()))
	}
	return nil
}
