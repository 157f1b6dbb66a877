package pgserver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// oldestMajor is the oldest major version of PostgreSQL that the platform supports.
const oldestMajor = 15

// binEnv is the environment variable with the directory of PostgreSQL's programs.
const binEnv = "POSTGRES_BIN"

// Binaries is an installation of PostgreSQL's server.
type Binaries struct {
	// Dir is the directory with initdb and postgres.
	Dir string
	// Major is the major version, such as 15.
	Major int
}

func (b Binaries) path(program string) string { return filepath.Join(b.Dir, program) }

// Find returns a PostgreSQL server of version 15 or newer. If dir is empty, Find uses POSTGRES_BIN
// of the environment. If one of them names a directory, Find looks only there. Otherwise it searches
// PATH and the directories of Linux and macOS packages, newest first. The error lists the unusable
// servers that it found and says what to do.
func Find(ctx context.Context, dir string) (Binaries, error) {
	return find(ctx, dir, 0)
}

// find is Find for one major version, or for any if major is 0.
func find(ctx context.Context, dir string, major int) (Binaries, error) {
	if dir == "" {
		dir = os.Getenv(binEnv)
	}
	if dir != "" {
		b, err := inspect(ctx, dir, major)
		if err != nil {
			return Binaries{}, fmt.Errorf("PostgreSQL's programs: %w (%s or a setting names the directory)", err, binEnv)
		}
		return b, nil
	}
	var faults []error
	for _, dir := range candidates(ctx) {
		b, err := inspect(ctx, dir, major)
		if err == nil {
			return b, nil
		}
		if ctx.Err() != nil {
			return Binaries{}, ctx.Err()
		}
		faults = append(faults, err)
	}
	wanted := fmt.Sprintf("%d or newer", oldestMajor)
	if major != 0 {
		wanted = strconv.Itoa(major)
	}
	advice := fmt.Errorf("no PostgreSQL server %s was found: install it with deploy/install-postgres.sh, "+
		"set %s to the directory of initdb and postgres, or use another server with DATABASE_URL", wanted, binEnv)
	return Binaries{}, errors.Join(append([]error{advice}, faults...)...)
}

// searchPatterns returns the directories in which packages install PostgreSQL's programs: Debian,
// Red Hat, Alpine, source builds, Homebrew on both kinds of Mac, Linuxbrew and Postgres.app.
func searchPatterns() []string {
	return []string{
		"/usr/lib/postgresql/*/bin",
		"/usr/pgsql-*/bin",
		"/usr/libexec/postgresql*",
		"/usr/lib/postgresql*/bin",
		"/usr/local/pgsql/bin",
		"/opt/homebrew/opt/postgresql@*/bin",
		"/usr/local/opt/postgresql@*/bin",
		"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin",
	}
}

// candidates lists the directories that may have a server, in order of preference.
func candidates(ctx context.Context) []string {
	var dirs []string
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		dirs = append(dirs, filepath.Dir(path))
	}
	for _, pattern := range searchPatterns() {
		found, _ := filepath.Glob(pattern) // cannot fail: the patterns are valid
		slices.SortStableFunc(found, func(a, b string) int { return cmp.Compare(lastNumber(b), lastNumber(a)) })
		dirs = append(dirs, found...)
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(dirs, func(dir string) bool {
		// pg_config is also part of the client library, often without a server.
		if _, err := os.Stat(filepath.Join(dir, "postgres")); err != nil || seen[dir] {
			return true
		}
		seen[dir] = true
		return false
	})
}

var number = regexp.MustCompile(`[0-9]+`)

// lastNumber returns the last number in a path, which is usually the version.
func lastNumber(path string) int {
	all := number.FindAllString(path, -1)
	if len(all) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(all[len(all)-1])
	return n
}

var versionLine = regexp.MustCompile(`PostgreSQL\) ([0-9]+)`)

// inspect returns the server in dir, or an error if its programs are missing or have another
// version than wanted.
func inspect(ctx context.Context, dir string, major int) (Binaries, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Binaries{}, err
	}
	b := Binaries{Dir: dir}
	for _, program := range []string{"initdb", "postgres"} {
		info, err := os.Stat(b.path(program))
		if err != nil {
			return Binaries{}, fmt.Errorf("%s has no %s: %w", dir, program, err)
		}
		if info.IsDir() || info.Mode().Perm()&0o111 == 0 {
			return Binaries{}, fmt.Errorf("%s is not a program", b.path(program))
		}
	}
	cmd := exec.CommandContext(ctx, b.path("postgres"), "--version")
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return Binaries{}, fmt.Errorf("%s does not run: %w %s", b.path("postgres"), err, bytes.TrimSpace(complaint.Bytes()))
	}
	match := versionLine.FindStringSubmatch(out.String())
	if match == nil {
		return Binaries{}, fmt.Errorf("%s --version prints %q, which is not PostgreSQL", b.path("postgres"), bytes.TrimSpace(out.Bytes()))
	}
	b.Major, _ = strconv.Atoi(match[1])
	if b.Major < oldestMajor {
		return Binaries{}, fmt.Errorf("%s has PostgreSQL %d, older than %d", dir, b.Major, oldestMajor)
	}
	if major != 0 && b.Major != major {
		return Binaries{}, fmt.Errorf("%s has PostgreSQL %d and not %d", dir, b.Major, major)
	}
	return b, nil
}
