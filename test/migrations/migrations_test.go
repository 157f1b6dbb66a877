package migrations

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"reservation.dev/test/harness"
)

// root is the top of the tree.
const root = "../.."

// schemas are the directories of migrations, by part.
func schemas(t *testing.T) map[string]string {
	t.Helper()
	dirs := map[string]string{"platform": "platform/pg/migrations"}
	found, err := filepath.Glob(filepath.Join(root, "services", "*", "migrations"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no migrations: %v", err)
	}
	for _, dir := range found {
		part := filepath.Base(filepath.Dir(dir))
		dirs[part] = path.Join("services", part, "migrations")
	}
	return dirs
}

var number = regexp.MustCompile(`^(\d+)_[a-z0-9_]+\.sql$`)

// files are the migrations in a directory, by number.
func files(t *testing.T, dir string) map[int]string {
	t.Helper()
	found := map[int]string{}
	names, err := fs.Glob(os.DirFS(filepath.Join(root, dir)), "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		m := number.FindStringSubmatch(name)
		if m == nil {
			t.Errorf("%s/%s is not named 0001_what.sql", dir, name)
			continue
		}
		n, _ := strconv.Atoi(m[1]) // digits
		if other := found[n]; other != "" {
			t.Errorf("%s: %s and %s have one number, so only one of them is applied", dir, other, name)
		}
		found[n] = name
	}
	return found
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestMigrations holds what came since the previous release to the rules.
func TestMigrations(t *testing.T) {
	previous, err := harness.PreviousRelease()
	if err != nil {
		t.Fatal(err)
	}
	dirs := schemas(t)
	for part, dir := range dirs {
		released, ok := previous.Schemas[part]
		if !ok {
			released = 0 // a part that is new: its first migration makes its tables
		}
		all := files(t, dir)
		for _, n := range slices.Sorted(maps.Keys(all)) {
			if n <= released {
				continue
			}
			name := path.Join(dir, all[n])
			for _, f := range Check(name, read(t, name)) {
				t.Error(f)
			}
		}
	}
	for part := range previous.Schemas {
		if dirs[part] == "" {
			t.Errorf("%s names %q, which has no migrations", harness.PreviousReleaseFile, part)
		}
	}
}

// TestReleasedMigrationsStay compares those of the previous release with its
// commit: a database that has one never gets what is changed in it later.
func TestReleasedMigrationsStay(t *testing.T) {
	previous, err := harness.PreviousRelease()
	if err != nil {
		t.Fatal(err)
	}
	previous.NeedHistory(t)
	for part, dir := range schemas(t) {
		released := released(t, previous.Commit, dir)
		if top := previous.Schemas[part]; len(released) > 0 && top != slices.Max(slices.Collect(maps.Keys(released))) {
			t.Errorf("%s says that %s is at version %d; in the commit it is not", harness.PreviousReleaseFile, part, top)
		}
		all := files(t, dir)
		for n, name := range released {
			if all[n] != name {
				t.Errorf("%s/%s is gone", dir, name)
				continue
			}
			was, err := exec.Command("git", "-C", root, "show", fmt.Sprintf("%s:%s/%s", previous.Commit, dir, name)).Output()
			if err != nil {
				t.Fatal(err)
			}
			if string(was) != read(t, path.Join(dir, name)) {
				t.Errorf("%s/%s is not what was released: add another migration instead", dir, name)
			}
		}
	}
}

// released are the migrations that a commit has in a directory, by number.
func released(t *testing.T, commit, dir string) map[int]string {
	t.Helper()
	out, err := exec.Command("git", "-C", root, "ls-tree", "--name-only", commit, dir+"/").Output()
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]string{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		name := strings.TrimPrefix(lines.Text(), dir+"/")
		if m := number.FindStringSubmatch(name); m != nil {
			n, _ := strconv.Atoi(m[1]) // digits
			found[n] = name
		}
	}
	return found
}
