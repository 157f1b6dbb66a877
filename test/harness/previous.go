package harness

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// PreviousReleaseFile names the release from which this tree is upgraded.
const PreviousReleaseFile = "deploy/previous-release"

// Release is a release of the platform.
type Release struct {
	Commit string
	// Schemas are by service; "platform" is the schema of the tables that all services have.
	Schemas map[string]ReleasedSchema

	root string
}

// ReleasedSchema is the schema of one service in a release.
type ReleasedSchema struct {
	// Version is the number of its newest migration.
	Version int
	// Digest is the SHA-256, in hexadecimal, of all its migrations in the order of their numbers:
	// for each, its path, a line break, and its content.
	Digest string
}

// PreviousRelease reads PreviousReleaseFile. The environment variable PREVIOUS_RELEASE overrides
// its commit with another commit or tag.
func PreviousRelease() (*Release, error) {
	root, err := Root()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(root, PreviousReleaseFile))
	if err != nil {
		return nil, err
	}
	r := &Release{Schemas: map[string]ReleasedSchema{}, root: root}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, _ := strings.Cut(line, " ")
		if name == "commit" {
			r.Commit = value
			continue
		}
		version, digest, _ := strings.Cut(value, " ")
		schema := ReleasedSchema{Digest: digest}
		if schema.Version, err = strconv.Atoi(version); err != nil {
			return nil, fmt.Errorf("%s: %q is not a schema's version and digest", PreviousReleaseFile, line)
		}
		r.Schemas[name] = schema
	}
	if other := os.Getenv("PREVIOUS_RELEASE"); other != "" {
		r.Commit = other
	}
	if r.Commit == "" {
		return nil, fmt.Errorf("%s does not name a commit", PreviousReleaseFile)
	}
	return r, nil
}

// needHistory skips t if the clone does not have the release's commit. In CI it fails t, unless
// ALLOW_SKIPS is set.
func (r *Release) needHistory(t testing.TB) {
	t.Helper()
	err := exec.Command("git", "-C", r.root, "cat-file", "-e", r.Commit+"^{commit}").Run()
	if err == nil {
		return
	}
	message := "this clone has no commit " + r.Commit + ", the previous release: git fetch --unshallow"
	if os.Getenv("CI") != "" && os.Getenv("ALLOW_SKIPS") == "" {
		t.Fatal(message)
	}
	t.Skip(message)
}

// Programs builds programs of the release, once per commit, and returns their paths by name.
func (r *Release) Programs(t testing.TB, names ...string) map[string]string {
	t.Helper()
	r.needHistory(t)
	paths, err := r.build(names)
	if err != nil {
		t.Fatalf("release %s: %v", r.Commit, err)
	}
	return paths
}

func (r *Release) build(names []string) (map[string]string, error) {
	out, err := exec.Command("git", "-C", r.root, "rev-parse", "--verify", r.Commit+"^{commit}").Output()
	if err != nil {
		return nil, err
	}
	commit := strings.TrimSpace(string(out))
	base := filepath.Join(r.root, ".cache", "test")
	dir := filepath.Join(base, "release-"+commit[:12])
	if err := os.MkdirAll(base, 0o755); err != nil {
		return nil, err
	}
	lock, err := lockFile(filepath.Join(base, "release.lock"), syscall.LOCK_EX)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	bin := filepath.Join(dir, "bin")
	paths := map[string]string{}
	var missing []string
	for _, name := range names {
		paths[name] = filepath.Join(bin, name)
		if _, err := os.Stat(paths[name]); errors.Is(err, os.ErrNotExist) {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return paths, nil
	}
	source := filepath.Join(dir, "source")
	if err := os.RemoveAll(source); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(source, 0o755); err != nil {
		return nil, err
	}
	unpack := exec.Command("sh", "-c", `git -C "$1" archive --format=tar "$2" | tar -x -C "$3"`, "sh", r.root, commit, source)
	if out, err := unpack.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("git archive: %w\n%s", err, out)
	}
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return nil, err
	}
	if err := goBuild(source, bin, missing); err != nil {
		return nil, err
	}
	return paths, os.RemoveAll(source)
}
