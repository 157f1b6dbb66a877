//go:build unix

package pgserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
)

const (
	superuser = "postgres"
	// externalBase is the directory of clusters whose account cannot enter Options.Dir.
	externalBase = "/var/lib/reservation"
)

// cluster is a data directory with its files, account and password.
type cluster struct {
	home     string // Options.Dir
	root     string // the directory of data: home, or a directory below externalBase
	bin      Binaries
	account  account
	password string
}

func (c *cluster) data() string     { return filepath.Join(c.root, "data") }
func (c *cluster) staging() string  { return filepath.Join(c.root, "data.new") }
func (c *cluster) running() string  { return filepath.Join(c.root, "running") }
func (c *cluster) instance() string { return filepath.Join(c.home, "instance") }
func (c *cluster) secret() string   { return filepath.Join(c.home, "password") }

// external reports whether the cluster is outside its home directory.
func (c *cluster) external() bool { return c.root != c.home }

var instanceID = regexp.MustCompile(`^[0-9a-f]{16}$`)

// findCluster returns the cluster of the directory home, or a place to create one. The caller holds
// the directory's lock.
func findCluster(ctx context.Context, home, binDir string, log *slog.Logger) (*cluster, error) {
	c := &cluster{home: home, root: home}
	id, err := os.ReadFile(c.instance())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	known := err == nil
	if known {
		name := strings.TrimSpace(string(id))
		if !instanceID.MatchString(name) {
			return nil, fmt.Errorf("%s does not contain the name of a cluster: %q", c.instance(), name)
		}
		c.root = filepath.Join(externalBase, name)
		if _, err := os.Stat(c.root); err != nil {
			return nil, fmt.Errorf("the cluster that %s names does not exist: %w (restore it, or remove %s to start with an empty one)",
				c.instance(), err, home)
		}
	}
	if c.account, err = accountFor(c.data()); err != nil {
		return nil, err
	}
	major, err := c.major()
	if err != nil {
		return nil, err
	}
	if c.bin, err = find(ctx, binDir, major); err != nil {
		if major != 0 {
			return nil, fmt.Errorf("the cluster %s needs PostgreSQL %d: %w", c.data(), major, err)
		}
		return nil, err
	}
	if err := c.account.canRun(ctx, c.bin); err != nil {
		return nil, err
	}
	if known || c.account.canEnter(ctx, c.bin, home) {
		return c, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if major != 0 {
		return nil, fmt.Errorf("%s, the owner of the cluster %s, cannot enter that directory: make its parent directories executable for that account",
			c.account.name, c.data())
	}
	if err := c.moveOut(); err != nil {
		return nil, err
	}
	log.Info("the database is outside its directory, because the account that runs it cannot enter the directory",
		"account", c.account.name, "dir", home, "cluster", c.root)
	return c, nil
}

// major returns the major version of the cluster, or 0 if there is no cluster yet.
func (c *cluster) major() (int, error) {
	text, err := os.ReadFile(filepath.Join(c.data(), "PG_VERSION"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// moveOut creates a root below externalBase, which the cluster's account can enter.
func (c *cluster) moveOut() error {
	id := randomHex(8)
	root := filepath.Join(externalBase, id)
	for _, dir := range []string{externalBase, root} {
		if err := os.MkdirAll(dir, 0o711); err != nil {
			return err
		}
		if err := os.Chmod(dir, 0o711); err != nil { // MkdirAll depends on the umask
			return err
		}
	}
	// For people who want to know which server the directory belongs to.
	if err := os.WriteFile(filepath.Join(root, "home"), []byte(c.home+"\n"), 0o600); err != nil {
		return err
	}
	if err := writeFile(c.instance(), id+"\n"); err != nil {
		return err
	}
	c.root = root
	return nil
}

// create creates the cluster unless it exists. A rename makes the complete cluster appear at its
// place.
func (c *cluster) create(ctx context.Context, durable Durability, lock *os.File) error {
	major, err := c.major()
	if err != nil {
		return err
	}
	if err := c.readPassword(major != 0); err != nil {
		return err
	}
	if major != 0 {
		return nil
	}
	if err := os.RemoveAll(c.staging()); err != nil {
		return err
	}
	if err := os.Mkdir(c.staging(), 0o700); err != nil {
		return err
	}
	if err := c.account.chown(c.staging()); err != nil {
		return err
	}
	passwordFile := filepath.Join(c.root, "initdb.password")
	defer os.Remove(passwordFile)
	if err := writeFile(passwordFile, c.password+"\n"); err != nil {
		return err
	}
	if err := c.account.chown(passwordFile); err != nil {
		return err
	}
	cmd := exec.Command(c.bin.path("initdb"), c.initArgs(durable, passwordFile)...)
	cmd.Dir = c.root
	cmd.ExtraFiles = []*os.File{lock}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := run(ctx, cmd, c.account); err != nil {
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), os.RemoveAll(c.staging()))
		}
		return errors.Join(fmt.Errorf("initdb: %w\n%s", err, bytes.TrimSpace(out.Bytes())), os.RemoveAll(c.staging()))
	}
	return os.Rename(c.staging(), c.data())
}

func (c *cluster) initArgs(durable Durability, passwordFile string) []string {
	args := []string{
		"--pgdata=" + c.staging(), "--username=" + superuser, "--pwfile=" + passwordFile,
		"--auth=scram-sha-256", "--encoding=UTF8", "--no-instructions",
	}
	if durable == Fast {
		args = append(args, "--no-sync")
	}
	// Text sorts by code point, as in C.UTF-8. If the collation is named C, PostgreSQL knows that
	// this is the order of the bytes, and uses an index for LIKE 'x%'.
	switch {
	case runtime.GOOS != "darwin":
		return append(args, "--locale-provider=libc", "--locale=C.UTF-8", "--lc-collate=C")
	case c.bin.Major >= 17: // macOS may not have C.UTF-8, but PostgreSQL includes it
		return append(args, "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C")
	default:
		return append(args, "--locale-provider=libc", "--locale=C", "--lc-ctype=en_US.UTF-8")
	}
}

// readPassword reads the superuser's password. For a new cluster, it generates one.
func (c *cluster) readPassword(exists bool) error {
	text, err := os.ReadFile(c.secret())
	c.password = strings.TrimSpace(string(text))
	switch {
	case err == nil && c.password != "":
		return nil
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return err
	case exists:
		return fmt.Errorf("the password of the cluster %s is missing: restore %s, or remove %s to start with an empty one",
			c.data(), c.secret(), c.home)
	}
	var b [24]byte
	_, _ = rand.Read(b[:]) // never fails
	c.password = base64.RawURLEncoding.EncodeToString(b[:])
	return writeFile(c.secret(), c.password+"\n")
}

// remove deletes the cluster and the files that Start created in its directory.
func (c *cluster) remove() error {
	var errs []error
	for _, name := range []string{"data", "data.new", "running", "instance", "password", "postgres.log", "postgres.log.1"} {
		errs = append(errs, os.RemoveAll(filepath.Join(c.home, name)))
	}
	if c.external() {
		errs = append(errs, os.RemoveAll(c.root))
	}
	errs = append(errs, os.Remove(filepath.Join(c.home, "lock")))
	return errors.Join(errs...)
}

// writeFile replaces a file. Only this account can read it, and it is never partly written.
func writeFile(path, text string) error {
	next := path + ".new"
	if err := os.Remove(next); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(next, path)
}

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
