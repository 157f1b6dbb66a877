package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// source is the repository that is released.
type source struct {
	root   string
	commit string
	time   time.Time // of the commit
}

// openSource returns the repository that contains dir, at its checked-out commit.
func openSource(ctx context.Context, dir string) (*source, error) {
	s := &source{root: dir}
	root, err := s.git(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	s.root = root
	head, err := s.git(ctx, "log", "-1", "--format=%H %ct")
	if err != nil {
		return nil, err
	}
	commit, seconds, _ := strings.Cut(head, " ")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("time of the commit: %w", err)
	}
	s.commit, s.time = commit, time.Unix(unix, 0).UTC()
	return s, nil
}

// git returns the output of a git command in the repository, without the last line break.
func (s *source) git(ctx context.Context, args ...string) (string, error) {
	out, err := output(exec.CommandContext(ctx, "git", append([]string{"-C", s.root}, args...)...))
	return strings.TrimSuffix(string(out), "\n"), err
}

// read returns a file of the repository.
func (s *source) read(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(s.root, name))
}

// versionPattern matches the versions of https://semver.org, without build metadata: a tag of an
// image cannot contain "+".
var versionPattern = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*)?$`)

// checkVersion refuses a version that is not a semantic version.
func checkVersion(version string) error {
	if !versionPattern.MatchString(version) {
		return fmt.Errorf("%q is not a semantic version like v1.2.3 or v1.2.3-rc.1: use make release VERSION=v1.2.3", version)
	}
	return nil
}

// clientVersions returns where the client libraries have their versions: in which file, and in which
// form. (The versions of the library for Go are tags.)
func clientVersions() map[string]string {
	return map[string]string{
		"clients/typescript/package.json":                   `"version": "%s"`,
		"clients/python/src/reservation_client/_version.py": `VERSION = "%s"`,
	}
}

// checkClients refuses a version that the client libraries do not have.
func checkClients(src *source, version string) error {
	var problems []error
	for name, form := range clientVersions() {
		content, err := src.read(name)
		if err != nil {
			return err
		}
		if want := fmt.Sprintf(form, version); !strings.Contains(string(content), want) {
			problems = append(problems, fmt.Errorf("%s does not contain %s", name, want))
		}
	}
	return errors.Join(problems...)
}

// checkClean refuses uncommitted changes, and a tag of the version at another commit.
func (s *source) checkClean(ctx context.Context, version string) error {
	changes, err := s.git(ctx, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changes != "" {
		return fmt.Errorf("the tree has uncommitted changes: commit or remove them\n%s", changes)
	}
	tagged, err := s.git(ctx, "tag", "--list", version, "--format", "%(if)%(*objectname)%(then)%(*objectname)%(else)%(objectname)%(end)")
	if err != nil {
		return err
	}
	if tagged != "" && tagged != s.commit {
		return fmt.Errorf("the tag %s is at the commit %s, not at %s: check out the tag, or use another version", version, tagged, s.commit)
	}
	return nil
}

// output runs a command and returns its standard output. Its error contains the standard error.
func output(cmd *exec.Cmd) ([]byte, error) {
	var problem bytes.Buffer
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, problem.Bytes())
	}
	return out, nil
}
