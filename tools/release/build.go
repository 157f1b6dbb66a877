package main

import (
	"context"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// platform is an operating system and an architecture.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "_" + p.arch }

// imagePlatforms are the platforms of the images.
func imagePlatforms() []platform { return []platform{{"linux", "amd64"}, {"linux", "arm64"}} }

// commandPlatforms are the platforms of the command line.
func commandPlatforms() []platform {
	return append(imagePlatforms(), platform{"darwin", "amd64"}, platform{"darwin", "arm64"}, platform{"windows", "amd64"})
}

// command is the program that people run on their own machines.
const command = "reservectl"

// file returns the name of the program's executable on the platform.
func (p platform) file(program string) string {
	if p.os == "windows" {
		return program + ".exe"
	}
	return program
}

// packages returns the packages that a release contains for the platform.
func (d *dockerfile) packagesFor(p platform) []string {
	if slices.Contains(imagePlatforms(), p) {
		return d.packages
	}
	return slices.DeleteFunc(slices.Clone(d.packages), func(name string) bool { return path.Base(name) != command })
}

// build compiles the programs for a platform, to directories that are named for the platform.
func (d *dockerfile) build(ctx context.Context, src *source, p platform, version, work string) error {
	ldflags := expand(d.ldflags, map[string]string{"VERSION": version})
	args := append([]string{"build", "-ldflags", ldflags, "-o", filepath.Join(work, p.String()) + "/"}, d.packagesFor(p)...)
	_, err := output(d.goCommand(ctx, src, p, args...))
	return err
}

// goCommand returns a go command for the platform with the flags of the Dockerfile, regardless of
// the caller's settings that change what the compiler produces.
func (d *dockerfile) goCommand(ctx context.Context, src *source, p platform, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = src.root
	cmd.Env = append(neutral(os.Environ()), "GOENV=off", "GOOS="+p.os, "GOARCH="+p.arch)
	cmd.Env = append(cmd.Env, d.env...)
	return cmd
}

// neutral removes the settings of Go from an environment, except where it finds modules and caches.
func neutral(env []string) []string {
	kept := []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOPROXY", "GOSUMDB", "GONOSUMDB", "GOPRIVATE", "GOROOT", "GOTOOLCHAIN"}
	return slices.DeleteFunc(slices.Clone(env), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return (strings.HasPrefix(name, "GO") || strings.HasPrefix(name, "CGO_")) && !slices.Contains(kept, name)
	})
}
