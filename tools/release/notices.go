package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// noticesFile contains the licences of everything that a release contains.
const noticesFile = "THIRD_PARTY_NOTICES.txt"

// standalone is linked from more modules than the other programs. People build it from the source.
const standalone = "./deploy/standalone"

// notice is a file with a licence or a notice, and what it applies to.
type notice struct {
	text     string
	licences []string
	software []string
}

// notices are the licences of the software in a release.
type notices struct {
	files map[string]*notice // by the normal text
	// licences are the SPDX identifiers of each module or script.
	licences map[string][]string
}

// collectNotices returns the notices of the modules that the programs link on any platform, and of
// the scripts in the tree.
func collectNotices(ctx context.Context, src *source) (*notices, error) {
	d, err := readDockerfile(src)
	if err != nil {
		return nil, err
	}
	n := &notices{files: map[string]*notice{}, licences: map[string][]string{}}
	linked, err := linkedDirectories(ctx, src, d)
	if err != nil {
		return nil, err
	}
	// In a fixed order: of texts that differ in spaces only, the first one is printed.
	for _, module := range slices.Sorted(maps.Keys(linked)) {
		for _, dir := range slices.Sorted(slices.Values(linked[module])) {
			if err := n.addDirectory(module, dir); err != nil {
				return nil, err
			}
		}
	}
	if err := n.addGo(ctx, src, d); err != nil {
		return nil, err
	}
	if err := n.addScripts(ctx, src); err != nil {
		return nil, err
	}
	return n, n.check(slices.Collect(maps.Keys(linked)))
}

// readDockerfile returns the Dockerfile of the source.
func readDockerfile(src *source) (*dockerfile, error) {
	text, err := src.read("deploy/Dockerfile")
	if err != nil {
		return nil, err
	}
	return parseDockerfile(string(text))
}

// linkedDirectories returns the directories of the packages that the programs link, and their
// parents, by module.
func linkedDirectories(ctx context.Context, src *source, d *dockerfile) (map[string][]string, error) {
	linked := map[string][]string{}
	for _, p := range commandPlatforms() {
		args := []string{"list", "-deps", "-f", "{{with .Module}}{{.Path}}\t{{.Dir}}\t{{$.Dir}}{{end}}"}
		args = append(args, d.packagesFor(p)...)
		if slices.Contains(imagePlatforms(), p) {
			args = append(args, standalone)
		}
		out, err := output(d.goCommand(ctx, src, p, args...))
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(out)) {
			fields := strings.Split(strings.TrimSpace(line), "\t")
			if len(fields) != 3 || strings.HasPrefix(fields[0], "reservation.dev/") {
				continue
			}
			for dir := fields[2]; len(dir) >= len(fields[1]); dir = filepath.Dir(dir) {
				linked[fields[0]] = append(linked[fields[0]], dir)
			}
		}
	}
	for module, dirs := range linked {
		slices.Sort(dirs)
		linked[module] = slices.Compact(dirs)
	}
	return linked, nil
}

// noticeName matches the names of files with licences and notices.
var noticeName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice)([.-].*)?$`)

// addDirectory adds the notices of a directory of a module.
func (n *notices) addDirectory(module, dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.IsDir() || !noticeName.MatchString(f.Name()) || strings.HasSuffix(f.Name(), ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return err
		}
		n.add(module, string(text))
	}
	return nil
}

// addGo adds the standard library.
func (n *notices) addGo(ctx context.Context, src *source, d *dockerfile) error {
	root, err := output(d.goCommand(ctx, src, imagePlatforms()[0], "env", "GOROOT"))
	if err != nil {
		return err
	}
	return n.addDirectory("std", strings.TrimSpace(string(root)))
}

// addScripts adds the browser scripts that tools/vendor.sh copies: the file x.LICENSE.txt next to a
// script is its licence.
func (n *notices) addScripts(ctx context.Context, src *source) error {
	tracked, err := src.git(ctx, "ls-files", "--", "*.LICENSE.txt")
	if err != nil {
		return err
	}
	for name := range strings.FieldsSeq(tracked) {
		text, err := src.read(name)
		if err != nil {
			return err
		}
		n.add(strings.TrimSuffix(path.Base(name), ".LICENSE.txt")+".js", string(text))
	}
	return nil
}

// add adds a file that applies to a module or a script.
func (n *notices) add(software, text string) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	key := normal(text)
	if n.files[key] == nil {
		n.files[key] = &notice{text: text, licences: licencesOf(text)}
	}
	f := n.files[key]
	if !slices.Contains(f.software, software) {
		f.software = append(f.software, software)
		slices.Sort(f.software)
	}
	n.licences[software] = append(n.licences[software], f.licences...)
	slices.Sort(n.licences[software])
	n.licences[software] = slices.Compact(n.licences[software])
}

// check refuses software without a licence that it knows, or with one that is not allowed.
func (n *notices) check(modules []string) error {
	var problems []error
	for _, software := range slices.Sorted(slices.Values(append(modules, slices.Collect(maps.Keys(n.licences))...))) {
		if len(n.licences[software]) == 0 {
			problems = append(problems, fmt.Errorf("%s has no licence that this program knows", software))
		}
		for _, id := range n.licences[software] {
			if !slices.Contains(allowedLicences(), id) {
				problems = append(problems, fmt.Errorf("%s has the licence %s, which is not one of %s", software, id, strings.Join(allowedLicences(), ", ")))
			}
		}
	}
	return errors.Join(problems...)
}

// text returns the contents of the notices' file.
func (n *notices) text() []byte {
	var buf bytes.Buffer
	buf.WriteString("The programs and images of this project contain the software listed below, under the\n" +
		"licences printed after each list. The file is made by: make notices\n")
	sorted := slices.SortedFunc(maps.Values(n.files), func(a, b *notice) int {
		return strings.Compare(a.software[0]+"\n"+normal(a.text), b.software[0]+"\n"+normal(b.text))
	})
	for _, f := range sorted {
		kind := strings.Join(f.licences, " and ")
		if kind == "" {
			kind = "Notice"
		}
		fmt.Fprintf(&buf, "\n%s\n%s\n\n    %s\n\n%s\n", strings.Repeat("=", 80), kind, strings.Join(f.software, "\n    "), strings.Trim(trimLines(f.text), "\n"))
	}
	return buf.Bytes()
}

// trimLines removes white space at the ends of lines.
func trimLines(text string) string {
	return regexp.MustCompile(`(?m)[ \t]+$`).ReplaceAllString(text, "")
}

// writeNotices writes the notices' file.
func writeNotices(ctx context.Context, src *source) error {
	n, err := collectNotices(ctx, src)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(src.root, noticesFile), n.text(), 0o644)
}

// checkNotices refuses a notices' file that is not current.
func checkNotices(ctx context.Context, src *source) (*notices, error) {
	n, err := collectNotices(ctx, src)
	if err != nil {
		return nil, err
	}
	if current, err := src.read(noticesFile); err != nil || !bytes.Equal(current, n.text()) {
		return nil, fmt.Errorf("%s does not match the linked software: run make notices and commit the result", noticesFile)
	}
	return n, nil
}
