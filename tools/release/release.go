package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// release is a release while it is made.
type release struct {
	src        *source
	dockerfile *dockerfile
	version    string // without the v
	notices    *notices
	work       string // compiled programs
	dir        string // the files of the release
}

// makeRelease writes the release of a version to dist/version, which must not exist.
func makeRelease(ctx context.Context, src *source, version, dist string) (err error) {
	target := filepath.Join(dist, version)
	r := &release{src: src, version: strings.TrimPrefix(version, "v")}
	notes, err := r.prepare(ctx, version, target)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dist, 0o755); err != nil {
		return err
	}
	if r.work, err = os.MkdirTemp(dist, ".building-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.work)) }()
	r.dir = filepath.Join(r.work, "release")
	if err := r.put("RELEASE_NOTES.md", notes, nil); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{r.compile, r.archives, r.images, r.chart, r.boms, r.describe} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	progress("writing %s", target)
	return os.Rename(r.dir, target)
}

// progress prints what happens now.
func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, "release: "+format+"\n", args...) }

// prepare checks everything that can be checked before the build, and returns the release notes.
func (r *release) prepare(ctx context.Context, version, target string) (notes []byte, err error) {
	if err := checkVersion(version); err != nil {
		return nil, err
	}
	if _, err := os.Stat(target); err == nil {
		return nil, fmt.Errorf("%s exists: remove it, or set DIST", target)
	}
	if r.dockerfile, err = readDockerfile(r.src); err != nil {
		return nil, err
	}
	if err := r.dockerfile.checkGo(); err != nil {
		return nil, err
	}
	if notes, err = releaseNotes(r.src, r.version); err != nil {
		return nil, err
	}
	if err := checkClients(r.src, r.version); err != nil {
		return nil, err
	}
	if err := r.src.checkClean(ctx, version); err != nil {
		return nil, err
	}
	progress("checking %s", noticesFile)
	r.notices, err = checkNotices(ctx, r.src)
	return notes, err
}

// put writes a file of the release. It passes on the error of making the content.
func (r *release) put(name string, content []byte, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	to := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}

// compile builds the programs for every platform.
func (r *release) compile(ctx context.Context) error {
	for _, p := range commandPlatforms() {
		progress("compiling for %s", p)
		if err := r.dockerfile.build(ctx, r.src, p, r.version, r.work); err != nil {
			return err
		}
	}
	return nil
}

// binary returns a compiled program.
func (r *release) binary(program string, p platform) ([]byte, error) {
	return os.ReadFile(filepath.Join(r.work, p.String(), p.file(program)))
}

// archives writes the archive of the command line for every platform.
func (r *release) archives(context.Context) error {
	for _, p := range commandPlatforms() {
		name := fmt.Sprintf("%s_%s_%s", command, r.version, p)
		progress("packing %s", name)
		binary, err := r.binary(command, p)
		if err != nil {
			return err
		}
		files := []entry{{name: name + "/" + p.file(command), mode: 0o755, time: r.src.time, content: binary}}
		for _, from := range []string{"services/reservectl/README.md", "LICENSE", "NOTICE", noticesFile} {
			content, err := r.src.read(from)
			if err != nil {
				return err
			}
			files = append(files, entry{name: name + "/" + path.Base(from), mode: 0o644, time: r.src.time, content: content})
		}
		ending, pack := ".tar.gz", archiveTarGz
		if p.os == "windows" {
			ending, pack = ".zip", archiveZip
		}
		content, err := pack(files)
		if err := r.put(name+ending, content, err); err != nil {
			return err
		}
	}
	return nil
}

// images writes the images of all programs as OCI layouts.
func (r *release) images(context.Context) error {
	m := &images{dockerfile: r.dockerfile, src: r.src, version: r.version, stage: r.stage}
	for _, pkg := range r.dockerfile.packages {
		program := path.Base(pkg)
		progress("writing the image of %s", program)
		if err := m.write(program, filepath.Join(r.dir, "images", program)); err != nil {
			return fmt.Errorf("image of %s: %w", program, err)
		}
	}
	return nil
}

// stage returns a file of the Dockerfile's build stage.
func (r *release) stage(p platform, name string) ([]byte, error) {
	switch {
	case name == "/etc/ssl/certs/ca-certificates.crt":
		return certificates()
	case name == "/out/data":
		return nil, nil
	case strings.HasPrefix(name, "/out/"):
		return r.binary(path.Base(name), p)
	case strings.HasPrefix(name, "/src/"):
		return r.src.read(strings.TrimPrefix(name, "/src/"))
	}
	return nil, fmt.Errorf("the build stage has no %s", name)
}

// chart writes the chart as an archive and as an OCI layout.
func (r *release) chart(ctx context.Context) error {
	progress("packing the chart")
	c, err := packageChart(ctx, r.src, r.version)
	if err != nil {
		return fmt.Errorf("chart: %w", err)
	}
	if err := r.put(c.name+"-"+r.version+".tgz", c.archive, nil); err != nil {
		return err
	}
	return c.write(filepath.Join(r.dir, "charts", c.name), r.version, r.src.time)
}

// boms writes the bill of materials of every compiled program.
func (r *release) boms(context.Context) error {
	progress("writing the bills of materials")
	for _, p := range commandPlatforms() {
		for _, pkg := range r.dockerfile.packagesFor(p) {
			program := path.Base(pkg)
			binary, err := r.binary(program, p)
			if err != nil {
				return err
			}
			content, err := makeBOM(program, binary, r.version, r.src.time, r.notices.licences)
			if err := r.put(fmt.Sprintf("sbom/%s_%s.cdx.json", program, p), content, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// describe writes the provenance of all files, and then their checksums.
func (r *release) describe(context.Context) error {
	progress("computing the checksums")
	files, err := digests(r.dir)
	if err != nil {
		return err
	}
	content, err := makeProvenance(r.src, "v"+r.version, r.dockerfile.goVersion, files)
	if err := r.put(provenanceFile, content, err); err != nil {
		return err
	}
	if files, err = digests(r.dir); err != nil {
		return err
	}
	return r.put(sumsFile, sums(files), nil)
}
