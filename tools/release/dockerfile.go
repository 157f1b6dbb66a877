package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// dockerfile is what deploy/Dockerfile says about building the programs and about their images.
type dockerfile struct {
	goVersion string
	packages  []string // of the programs
	ldflags   string   // contains ${VERSION}
	env       []string // of the build
	image     []instruction
}

// instruction is an instruction of the last stage, for example COPY and its arguments.
type instruction struct{ name, args string }

// parseDockerfile reads a Dockerfile with one build stage and a last stage from scratch.
func parseDockerfile(text string) (*dockerfile, error) {
	build, image, found := strings.Cut(joinLines(text), "\nFROM scratch\n")
	d := &dockerfile{
		goVersion: match(build, `ARG GO_VERSION=(\S+)`),
		ldflags:   match(build, `-ldflags "([^"]+)"`),
		packages:  regexp.MustCompile(`\./[a-z-]+(?:/[a-z]+)?/cmd/[a-z-]+`).FindAllString(build, -1),
		image:     instructions(image),
	}
	for _, i := range instructions(build) {
		if i.name == "ENV" {
			d.env = append(d.env, assignments(i.args)...)
		}
	}
	// The build uses the caches of this machine, and this program checks the Go version itself.
	d.env = slices.DeleteFunc(d.env, func(e string) bool {
		return strings.HasPrefix(e, "GOCACHE=") || strings.HasPrefix(e, "GOTOOLCHAIN=")
	})
	if !found || d.goVersion == "" || d.ldflags == "" || len(d.packages) == 0 || len(d.env) == 0 {
		return nil, fmt.Errorf("deploy/Dockerfile: Go version %q, flags %q, environment %q, packages %q", d.goVersion, d.ldflags, d.env, d.packages)
	}
	return d, nil
}

// checkGo refuses to continue with another Go version than that of the Dockerfile, because both
// compiled programs and compressed files depend on it.
func (d *dockerfile) checkGo() error {
	if want := "go" + d.goVersion; runtime.Version() != want {
		return fmt.Errorf("this is %s, and releases are made with %s: set GOTOOLCHAIN=%s", runtime.Version(), want, want)
	}
	return nil
}

// joinLines removes comments and joins continued lines.
func joinLines(text string) string {
	text = regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(text, "")
	return regexp.MustCompile(`\\\n\s*`).ReplaceAllString(text, "")
}

// instructions returns the instructions of a stage.
func instructions(text string) []instruction {
	var all []instruction
	for line := range strings.Lines(text) {
		name, args, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok {
			all = append(all, instruction{name, args})
		}
	}
	return all
}

// match returns the first group of a pattern, "" if the text does not match.
func match(text, pattern string) string {
	if m := regexp.MustCompile(pattern).FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// assignments returns the pairs of A=b C="d e" as A=b and C=d e.
func assignments(text string) []string {
	var all []string
	for _, m := range regexp.MustCompile(`([\w.]+)=(?:"([^"]*)"|(\S+))`).FindAllStringSubmatch(text, -1) {
		all = append(all, m[1]+"="+m[2]+m[3])
	}
	return all
}

// config returns the configuration of an image. args are the values of the ARG instructions.
func (d *dockerfile) config(args map[string]string) (v1.Config, error) {
	config := v1.Config{Labels: map[string]string{}, ExposedPorts: map[string]struct{}{}, WorkingDir: "/"}
	for _, i := range d.image {
		value := expand(i.args, args)
		switch i.name {
		case "ARG", "COPY":
		case "LABEL":
			for _, a := range assignments(value) {
				key, text, _ := strings.Cut(a, "=")
				config.Labels[key] = text
			}
		case "ENV":
			config.Env = append(config.Env, assignments(value)...)
		case "EXPOSE":
			for port := range strings.FieldsSeq(value) {
				config.ExposedPorts[port+"/tcp"] = struct{}{}
			}
		case "USER":
			config.User = value
		case "ENTRYPOINT":
			if err := json.Unmarshal([]byte(value), &config.Entrypoint); err != nil {
				return config, fmt.Errorf("deploy/Dockerfile: ENTRYPOINT %s: %w", value, err)
			}
		default:
			return config, fmt.Errorf("deploy/Dockerfile: releases do not support the instruction %s", i.name)
		}
	}
	return config, nil
}

// expand replaces ${NAME}. A name without a value stays.
func expand(text string, args map[string]string) string {
	return os.Expand(text, func(name string) string {
		if value, ok := args[name]; ok {
			return value
		}
		return "${" + name + "}"
	})
}

// layers returns the files of the image, one list for each COPY. open returns a file of the build
// stage; nil stands for an empty directory.
func (d *dockerfile) layers(args map[string]string, at time.Time, open func(path string) ([]byte, error)) ([][]entry, error) {
	var layers [][]entry
	for _, i := range d.image {
		if i.name != "COPY" {
			continue
		}
		layer, err := copied(strings.Fields(expand(i.args, args)), at, open)
		if err != nil {
			return nil, fmt.Errorf("deploy/Dockerfile: COPY %s: %w", i.args, err)
		}
		layers = append(layers, layer)
	}
	return layers, nil
}

// copied returns the files of one COPY.
func copied(words []string, at time.Time, open func(path string) ([]byte, error)) ([]entry, error) {
	owner := 0
	for strings.HasPrefix(words[0], "--") {
		if _, err := fmt.Sscanf(words[0], "--chown=%d:", &owner); err != nil && words[0] != "--from=build" {
			return nil, fmt.Errorf("releases do not support %s", words[0])
		}
		words = words[1:]
	}
	target := words[len(words)-1]
	var layer []entry
	for _, name := range words[:len(words)-1] {
		content, err := open(name)
		if err != nil {
			return nil, err
		}
		to := target
		if strings.HasSuffix(target, "/") {
			to = path.Join(target, path.Base(name))
		}
		e := entry{name: strings.TrimPrefix(to, "/"), content: content, mode: 0o644, owner: owner, time: at}
		switch {
		case content == nil:
			e.name, e.mode, e.directory = e.name+"/", 0o755, true
		case strings.HasPrefix(name, "/out/"):
			e.mode = 0o755
		}
		layer = append(layer, e)
	}
	return withParents(layer), nil
}

// withParents adds the directories that contain the files, each one before what it contains.
func withParents(files []entry) []entry {
	var all []entry
	known := map[string]bool{".": true}
	for _, f := range files {
		var parents []string
		for dir := path.Dir(strings.TrimSuffix(f.name, "/")); !known[dir]; dir = path.Dir(dir) {
			known[dir] = true
			parents = append(parents, dir)
		}
		for _, dir := range slices.Backward(parents) {
			all = append(all, entry{name: dir + "/", mode: 0o755, directory: true, time: f.time})
		}
		all = append(all, f)
	}
	return all
}
