package migrations

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"reservation.dev/test/harness"
)

// root is the root of the tree.
const root = "../.."

// schemas returns the directories of migrations, by service.
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

// files returns the migrations in a directory, by number.
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
			t.Errorf("%s: %s and %s have the same number, so only one of them is applied", dir, other, name)
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

// TestMigrations checks the migrations since the previous release against the rules.
func TestMigrations(t *testing.T) {
	previous, err := harness.PreviousRelease()
	if err != nil {
		t.Fatal(err)
	}
	dirs := schemas(t)
	for part, dir := range dirs {
		released := previous.Schemas[part].Version // 0: the service is new, and its first migration creates its tables
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

// TestReleasedMigrationsStay checks that the migrations of the previous release are unchanged,
// because a database that has applied one never gets later changes to it.
func TestReleasedMigrationsStay(t *testing.T) {
	previous, err := harness.PreviousRelease()
	if err != nil {
		t.Fatal(err)
	}
	dirs := schemas(t)
	for part, released := range previous.Schemas {
		dir := dirs[part]
		all := files(t, dir)
		digest := sha256.New()
		for _, n := range slices.Sorted(maps.Keys(all)) {
			if n <= released.Version {
				fmt.Fprintf(digest, "%s\n%s", path.Join(dir, all[n]), read(t, path.Join(dir, all[n])))
			}
		}
		if got := hex.EncodeToString(digest.Sum(nil)); got != released.Digest {
			t.Errorf("%s: the migrations up to %d differ from the released ones (%s): add a new migration instead", dir, released.Version, got)
		}
	}
}
