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
	// awayBase is where clusters go that cannot be in their directory.
	awayBase = "/var/lib/reservation"
)

// cluster is a data directory and what belongs to it.
type cluster struct {
	home     string // Options.Dir
	root     string // where data is: home, or a directory below awayBase
	bin      Binaries
	account  account
	password string
}

func (c *cluster) data() string     { return filepath.Join(c.root, "data") }
func (c *cluster) staging() string  { return filepath.Join(c.root, "data.new") }
func (c *cluster) running() string  { return filepath.Join(c.root, "running") }
func (c *cluster) instance() string { return filepath.Join(c.home, "instance") }
func (c *cluster) secret() string   { return filepath.Join(c.home, "password") }

// away tells whether the cluster is not in its directory.
func (c *cluster) away() bool { return c.root != c.home }

var instanceID = regexp.MustCompile(`^[0-9a-f]{16}$`)

// findCluster finds the cluster of the directory home, or a place for one. The
// caller holds the directory's lock.
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
			return nil, fmt.Errorf("%s does not hold the name of a cluster: %q", c.instance(), name)
		}
		c.root = filepath.Join(awayBase, name)
		if _, err := os.Stat(c.root); err != nil {
			return nil, fmt.Errorf("the cluster that %s names is not there: %w (restore it, or remove %s to begin with an empty one)",
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
			return nil, fmt.Errorf("the cluster %s was made by PostgreSQL %d: %w", c.data(), major, err)
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
		return nil, fmt.Errorf("%s, to whom the cluster %s belongs, cannot enter that directory: its parents must be executable for that account",
			c.account.name, c.data())
	}
	if err := c.moveAway(); err != nil {
		return nil, err
	}
	log.Info("the database is kept outside its directory, which the account that runs it cannot enter",
		"account", c.account.name, "dir", home, "cluster", c.root)
	return c, nil
}

// major returns the version that made the cluster, 0 if there is none yet.
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

// moveAway gives the cluster a root that its account can enter.
func (c *cluster) moveAway() error {
	id := randomHex(8)
	root := filepath.Join(awayBase, id)
	for _, dir := range []string{awayBase, root} {
		if err := os.MkdirAll(dir, 0o711); err != nil {
			return err
		}
		if err := os.Chmod(dir, 0o711); err != nil { // whatever the umask
			return err
		}
	}
	// For the person who wonders whose this is.
	if err := os.WriteFile(filepath.Join(root, "home"), []byte(c.home+"\n"), 0o600); err != nil {
		return err
	}
	if err := writeFile(c.instance(), id+"\n"); err != nil {
		return err
	}
	c.root = root
	return nil
}

// create makes the cluster unless it is there. It appears whole, by a rename.
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
	if err := c.account.own(c.staging()); err != nil {
		return err
	}
	passwordFile := filepath.Join(c.root, "initdb.password")
	defer os.Remove(passwordFile)
	if err := writeFile(passwordFile, c.password+"\n"); err != nil {
		return err
	}
	if err := c.account.own(passwordFile); err != nil {
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
	// Text sorts by code point, which is what C.UTF-8 means; named C, PostgreSQL
	// knows that bytes compare alike, and an index serves LIKE 'x%'.
	switch {
	case runtime.GOOS != "darwin":
		return append(args, "--locale-provider=libc", "--locale=C.UTF-8", "--lc-collate=C")
	case c.bin.Major >= 17: // macOS may not have C.UTF-8, but PostgreSQL brings its own
		return append(args, "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C")
	default:
		return append(args, "--locale-provider=libc", "--locale=C", "--lc-ctype=en_US.UTF-8")
	}
}

// readPassword reads the superuser's password, or makes it for a new cluster.
func (c *cluster) readPassword(exists bool) error {
	text, err := os.ReadFile(c.secret())
	c.password = strings.TrimSpace(string(text))
	switch {
	case err == nil && c.password != "":
		return nil
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return err
	case exists:
		return fmt.Errorf("the password of the cluster %s is missing: restore %s, or remove %s to begin with an empty one",
			c.data(), c.secret(), c.home)
	}
	var b [24]byte
	_, _ = rand.Read(b[:]) // never fails
	c.password = base64.RawURLEncoding.EncodeToString(b[:])
	return writeFile(c.secret(), c.password+"\n")
}

// remove deletes the cluster and what Start put into its directory.
func (c *cluster) remove() error {
	var errs []error
	for _, name := range []string{"data", "data.new", "running", "instance", "password", "postgres.log", "postgres.log.1"} {
		errs = append(errs, os.RemoveAll(filepath.Join(c.home, name)))
	}
	if c.away() {
		errs = append(errs, os.RemoveAll(c.root))
	}
	errs = append(errs, os.Remove(filepath.Join(c.home, "lock")))
	return errors.Join(errs...)
}

// writeFile puts text at path, for this account alone, whole or not at all.
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
