package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"crypto/x509"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// fakeStage returns the files of a build stage whose programs are short texts.
func fakeStage(p platform, name string) ([]byte, error) {
	if name == "/out/data" {
		return nil, nil
	}
	return fmt.Appendf(nil, "%s for %s", name, p), nil
}

// writeImage writes the image of booking and returns its index.
func writeImage(t *testing.T) (dir string, index v1.ImageIndex) {
	t.Helper()
	src := repository(t)
	d, err := readDockerfile(src)
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "booking")
	m := &images{dockerfile: d, src: src, version: "1.2.3", stage: fakeStage}
	if err := m.write("booking", dir); err != nil {
		t.Fatal(err)
	}
	top, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(top); err != nil {
		t.Fatal(err)
	}
	manifest, err := top.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 || manifest.Manifests[0].Annotations[refName] != "1.2.3" {
		t.Fatalf("the layout is %+v, %v", manifest, err)
	}
	index, err = top.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return dir, index
}

// Invariant 3: an image has what deploy/Dockerfile says, for both platforms.
func TestImage(t *testing.T) {
	_, index := writeImage(t)
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != len(imagePlatforms()) {
		t.Fatalf("the index is %+v, %v", manifest, err)
	}
	for i, p := range imagePlatforms() {
		t.Run("for "+p.String(), func(t *testing.T) {
			described := manifest.Manifests[i]
			if described.Platform.OS != p.os || described.Platform.Architecture != p.arch {
				t.Errorf("the index says %+v", described.Platform)
			}
			image, err := index.Image(described.Digest)
			if err != nil {
				t.Fatal(err)
			}
			checkConfig(t, image, p)
			checkFiles(t, image, p)
		})
	}
}

// checkConfig checks how an image runs.
func checkConfig(t *testing.T, image v1.Image, p platform) {
	t.Helper()
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	labels := file.Config.Labels
	got := []any{file.OS, file.Architecture, file.Config.User, file.Config.Entrypoint, file.Config.Env, file.Config.ExposedPorts,
		labels["org.opencontainers.image.title"], labels["org.opencontainers.image.version"], labels["org.opencontainers.image.revision"], file.Created.UTC()}
	src := repository(t)
	want := []any{p.os, p.arch, "65532:65532", []string{"/part"}, []string{"HTTP_ADDR=:8080", "GRPC_ADDR=:9090", "ADMIN_ADDR=:9100"},
		map[string]struct{}{"8080/tcp": {}, "9090/tcp": {}, "9100/tcp": {}}, "reservation/booking", "1.2.3", src.commit, src.time}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// checkFiles checks the files of an image.
func checkFiles(t *testing.T, image v1.Image, p platform) {
	t.Helper()
	files := mutate.Extract(image)
	defer files.Close()
	found := map[string]string{}
	for archive := tar.NewReader(files); ; {
		header, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		found[strings.TrimSuffix(header.Name, "/")] = fmt.Sprintf("%o %d:%d %s", header.Mode, header.Uid, header.Gid, content)
	}
	for name, want := range map[string]string{
		"part":                              "755 0:0 /out/booking for " + p.String(),
		"data":                              "755 65532:65532 ",
		"etc":                               "755 0:0 ",
		"etc/ssl/certs/ca-certificates.crt": "644 0:0 /etc/ssl/certs/ca-certificates.crt for " + p.String(),
		"licenses/LICENSE":                  "644 0:0 /src/LICENSE for " + p.String(),
		"licenses/NOTICE":                   "644 0:0 /src/NOTICE for " + p.String(),
		"licenses/THIRD_PARTY_NOTICES.txt":  "644 0:0 /src/THIRD_PARTY_NOTICES.txt for " + p.String(),
	} {
		if found[name] != want {
			t.Errorf("%s is %q, want %q", name, found[name], want)
		}
	}
}

// Invariant 1, for images: writing one twice produces the same files.
func TestImageIsReproducible(t *testing.T) {
	var sums []string
	for range 2 {
		dir, _ := writeImage(t)
		sums = append(sums, sumsOf(t, dir))
	}
	if sums[0] != sums[1] || sums[0] == "" {
		t.Errorf("the images differ:\n%s\nand\n%s", sums[0], sums[1])
	}
}

// sumsOf returns the checksums of the files in a directory.
func sumsOf(t *testing.T, dir string) string {
	t.Helper()
	files, err := digests(dir)
	if err != nil {
		t.Fatal(err)
	}
	return string(sums(files))
}

func TestDockerfile(t *testing.T) {
	d, err := readDockerfile(repository(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(d.packages) != 13 || !slices.Contains(d.packages, "./services/reservectl/cmd/reservectl") {
		t.Errorf("the packages are %q", d.packages)
	}
	if !slices.Equal(d.env, []string{"CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false"}) {
		t.Errorf("the environment is %q", d.env)
	}
	if got := d.packagesFor(platform{"windows", "amd64"}); !slices.Equal(got, []string{"./services/reservectl/cmd/reservectl"}) {
		t.Errorf("the packages for Windows are %q", got)
	}
	for _, i := range []instruction{{"RUN", "true"}, {"HEALTHCHECK", "NONE"}} {
		odd := &dockerfile{image: append(slices.Clone(d.image), i)}
		if _, err := odd.config(nil); err == nil {
			t.Errorf("the instruction %s is ignored", i.name)
		}
	}
	if _, err := parseDockerfile("FROM scratch\nENTRYPOINT [\"/part\"]\n"); err == nil {
		t.Error("a Dockerfile that builds nothing is accepted")
	}
}

func TestCertificates(t *testing.T) {
	text, err := certificates()
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) || bytes.Count(text, []byte("BEGIN CERTIFICATE")) < 100 {
		t.Errorf("the file has %d bytes", len(text))
	}
}

func TestArchives(t *testing.T) {
	src := repository(t)
	files := []entry{{name: "x/", mode: 0o755, directory: true, time: src.time}, {name: "x/run", mode: 0o755, time: src.time, content: []byte("run")}}
	for name, archive := range map[string]func([]entry) ([]byte, error){"tar.gz": archiveTarGz, "zip": archiveZip} {
		first, err := archive(files)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := archive(files); err != nil || !bytes.Equal(first, second) {
			t.Errorf("two archives %s of the same files differ (%v)", name, err)
		}
	}
	content, err := archiveZip(files[1:])
	if err != nil {
		t.Fatal(err)
	}
	opened, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil || len(opened.File) != 1 || opened.File[0].Mode() != 0o755 || !opened.File[0].Modified.Equal(src.time) {
		t.Errorf("the archive is %+v, %v", opened, err)
	}
}
