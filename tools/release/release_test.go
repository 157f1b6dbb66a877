package main

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

var wholeRelease = flag.Bool("release", false, "run TestReproducible, which makes two releases")

// repository returns the repository that contains this program.
func repository(t *testing.T) *source {
	t.Helper()
	src, err := openSource(t.Context(), ".")
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// file returns a file of the repository.
func file(t *testing.T, name string) string {
	t.Helper()
	content, err := repository(t).read(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// goVersion returns the Go version that deploy/Dockerfile names.
func goVersion(t *testing.T) string {
	t.Helper()
	d, err := readDockerfile(repository(t))
	if err != nil {
		t.Fatal(err)
	}
	return d.goVersion
}

// Invariant 1: two directories, with a build cache each, hold the same release.
func TestReproducible(t *testing.T) {
	if !*wholeRelease {
		t.Skip("takes long: run make release-test")
	}
	version := "v" + match(file(t, "CHANGELOG.md"), `(?m)^## \[(\d[^\]]*)\] - `)
	src := repository(t) // once, because a commit can be made while the test runs
	var sums []string
	for _, cache := range []string{"", t.TempDir()} {
		sums = append(sums, released(t, src, version, cache))
	}
	if sums[0] != sums[1] {
		t.Errorf("the releases differ:\n%s\nand\n%s", sums[0], sums[1])
	}
	t.Logf("two releases %s have the same %d files", version, strings.Count(sums[0], "\n"))
}

// released makes a release of the commit in a clone and returns its checksums, after checking them.
// cache is the build cache; "" is the usual one.
func released(t *testing.T, from *source, version, cache string) string {
	t.Helper()
	clone, dist := filepath.Join(t.TempDir(), "clone"), t.TempDir()
	execute(t, "", "git", "clone", "--quiet", from.root, clone)
	execute(t, clone, "git", "checkout", "--quiet", "--detach", from.commit)
	if cache != "" {
		t.Setenv("GOCACHE", cache)
	}
	src, err := openSource(t.Context(), clone)
	if err != nil {
		t.Fatal(err)
	}
	if err := makeRelease(t.Context(), src, version, dist); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(dist, version)
	execute(t, dir, "sha256sum", "--check", "--strict", "--quiet", sumsFile)
	if left, err := os.ReadDir(dist); err != nil || len(left) != 1 {
		t.Errorf("%s contains %v (%v)", dist, left, err)
	}
	checkProgram(t, dir, version)
	content, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// checkProgram runs the command line of this machine's platform from its archive.
func checkProgram(t *testing.T, dir, version string) {
	t.Helper()
	p := platform{runtime.GOOS, runtime.GOARCH}
	name := "reservectl_" + strings.TrimPrefix(version, "v") + "_" + p.String()
	to := t.TempDir()
	execute(t, to, "tar", "-xzf", filepath.Join(dir, name+".tar.gz"))
	if got := execute(t, to, filepath.Join(to, name, "reservectl"), "--version"); !strings.Contains(got, strings.TrimPrefix(version, "v")) {
		t.Errorf("reservectl has the version %q", got)
	}
}

// execute runs a command in a directory and returns its output.
func execute(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = dir
	out, err := output(cmd)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestVersions(t *testing.T) {
	for version, valid := range map[string]bool{
		"v1.2.3": true, "v0.1.0": true, "v1.2.3-rc.1": true, "v1.2.3-0a": true,
		"1.2.3": false, "v1.2": false, "v1.02.3": false, "v1.2.3+linux": false, "v1.2.3-01": false, "17ae08c1": false, "": false, "v1.2.3/..": false,
	} {
		if err := checkVersion(version); (err == nil) != valid {
			t.Errorf("%q: %v", version, err)
		}
	}
}

// newRepository returns a repository with one commit.
func newRepository(t *testing.T) *source {
	t.Helper()
	dir := t.TempDir()
	for name, value := range map[string]string{
		"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com",
		"GIT_COMMITTER_DATE": "2026-01-02T03:04:05Z", "GIT_CONFIG_GLOBAL": os.DevNull,
	} {
		t.Setenv(name, value)
	}
	execute(t, dir, "git", "init", "--quiet")
	execute(t, dir, "git", "commit", "--quiet", "--allow-empty", "--message", "first")
	src, err := openSource(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func TestSource(t *testing.T) {
	src := newRepository(t)
	if got := src.time.String(); got != "2026-01-02 03:04:05 +0000 UTC" {
		t.Errorf("the time of the commit is %s", got)
	}
	if err := src.checkClean(t.Context(), "v1.0.0"); err != nil {
		t.Errorf("a clean tree is refused: %v", err)
	}
	execute(t, src.root, "git", "tag", "--annotate", "--message", "release", "v1.0.0")
	if err := src.checkClean(t.Context(), "v1.0.0"); err != nil {
		t.Errorf("a tag at this commit is refused: %v", err)
	}
	execute(t, src.root, "git", "commit", "--quiet", "--allow-empty", "--message", "second")
	later, err := openSource(t.Context(), src.root)
	if err != nil {
		t.Fatal(err)
	}
	if err := later.checkClean(t.Context(), "v1.0.0"); err == nil {
		t.Error("a tag at another commit is accepted")
	}
	if err := os.WriteFile(filepath.Join(src.root, "new"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := src.checkClean(t.Context(), "v1.1.0"); err == nil {
		t.Error("an uncommitted file is accepted")
	}
}

// Invariant 2: a version that exists is left alone.
func TestRefusesExistingRelease(t *testing.T) {
	dist := t.TempDir()
	if err := os.Mkdir(filepath.Join(dist, "v1.2.3"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := makeRelease(t.Context(), repository(t), "v1.2.3", dist); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("the error is %v", err)
	}
}

func TestNotes(t *testing.T) {
	changelog := "# Changelog\n\n## [Unreleased]\n\n- later\n\n## [1.1.0] - 2026-12-01\n\n### Added\n\n- this\n\n## [1.0.0] - 2026-11-23\n"
	upgrades := "# Upgrades\n\n## Unreleased\n\n- later\n\n## 1.1.0\n\n### Added\n\n- this\n\n## 1.0.0\n"
	for name, notes := range map[string]func(version string) (string, error){
		"CHANGELOG.md":     func(version string) (string, error) { return changes(changelog, version) },
		"docs/UPGRADES.md": func(version string) (string, error) { return upgrade(upgrades, version) },
	} {
		if got, err := notes("1.1.0"); err != nil || got != "### Added\n\n- this" {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
		for _, version := range []string{"1.0.0", "1.2.0", "1.1", "1.1.0-rc.1", "1x1.0"} {
			if got, err := notes(version); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), version) {
				t.Errorf("%s: %s: got %q, %v", name, version, got, err)
			}
		}
	}
	if got := rootLinks("[a](BACKUP.md), [b](../deploy/x#y), [c](#here), [d](https://example.com/x)"); got != "[a](docs/BACKUP.md), [b](deploy/x#y), [c](#here), [d](https://example.com/x)" {
		t.Errorf("the links are %s", got)
	}
}

// A version without notes about its changes or its upgrade is refused, and so is one that the client
// libraries do not have.
func TestRefusesUnpreparedVersion(t *testing.T) {
	src := newRepository(t)
	pages := map[string]string{
		"CHANGELOG.md": "## [1.1.0] - 2026-12-01\n\n- this\n", "docs/UPGRADES.md": "## 1.1.0\n\nNothing.\n",
		"clients/typescript/package.json": `{ "version": "1.1.0" }`, "clients/python/src/reservation_client/_version.py": "VERSION = \"1.1.0\"\n",
	}
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(src.root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range pages {
		write(name, text)
	}
	if notes, err := releaseNotes(src, "1.1.0"); err != nil || !strings.Contains(string(notes), "- this") || !strings.Contains(string(notes), "Nothing.") {
		t.Fatalf("%s, %v", notes, err)
	}
	if err := checkClients(src, "1.1.0"); err != nil {
		t.Fatal(err)
	}
	for name, text := range pages {
		write(name, strings.ReplaceAll(text, "1.1.0", "1.0.0"))
		_, err := releaseNotes(src, "1.1.0")
		if err = errors.Join(err, checkClients(src, "1.1.0")); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s without the version: %v", name, err)
		}
		write(name, text)
	}
}

// CI builds with the Go version that releases need.
func TestContinuousIntegration(t *testing.T) {
	for _, name := range []string{".github/workflows/ci.yml", ".gitlab-ci.yml"} {
		content := file(t, name)
		versions := regexp.MustCompile(`1\.\d+\.\d+`).FindAllString(content, -1)
		if len(versions) != 1 || versions[0] != goVersion(t) {
			t.Errorf("%s has the Go versions %v, want %s", name, versions, goVersion(t))
		}
		for _, target := range regexp.MustCompile(`make ([a-z-]+)`).FindAllStringSubmatch(content, -1) {
			if !strings.Contains(file(t, "Makefile"), "\n"+target[1]+": ") {
				t.Errorf("%s calls make %s, which does not exist", name, target[1])
			}
		}
	}
}
