package compose

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reservation.dev/test/harness"
)

// largest is the maximum size of an image, in bytes. The dashboard is the largest, with 42 MB.
const largest = 48 << 20

// inspected is the output of docker image inspect.
type inspected struct {
	Size   int64
	Config struct {
		User       string
		Entrypoint []string
		Labels     map[string]string
	}
}

// testImage checks the image of one service.
func (d *docker) testImage(t *testing.T, part, version string) {
	name := "reservation/" + part + ":" + version
	var images []inspected
	if err := json.Unmarshal([]byte(d.run(t, commandLimit, "docker", "image", "inspect", name)), &images); err != nil {
		t.Fatal(err)
	}
	i := images[0]
	if i.Size > largest {
		t.Errorf("the image has %d bytes", i.Size)
	}
	t.Logf("%s: %.1f MB", name, float64(i.Size)/1e6)
	if i.Config.User != "65532:65532" || strings.Join(i.Config.Entrypoint, " ") != "/part" {
		t.Errorf("the image runs %v as %q", i.Config.Entrypoint, i.Config.User)
	}
	if got := i.Config.Labels["org.opencontainers.image.title"]; got != "reservation/"+part {
		t.Errorf("the image's title is %q", got)
	}
	if got := i.Config.Labels["org.opencontainers.image.version"]; got != version {
		t.Errorf("the image's version is %q", got)
	}
	command := "version"
	if part == "reservectl" {
		command = "--version"
	}
	if got := d.run(t, commandLimit, "docker", "run", "--rm", "--network=none", name, command); !strings.HasSuffix(got, version) {
		t.Errorf("the program reports the version %q", got)
	}
}

// testReproducible compares the programs in the images with those that the same commands build
// outside, in another directory and with another cache.
func (d *docker) testReproducible(t *testing.T, parts []string, version string) {
	out, copied := t.TempDir(), t.TempDir()
	for name := range strings.SplitSeq(output(t, nil, "git", "ls-files", "--cached", "--others", "--exclude-standard"), "\n") {
		path := filepath.Join(copied, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(harness.File(t, name)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ldflags := found(t, harness.File(t, "deploy/Dockerfile"), `-ldflags "([^"]+)"`)
	ldflags = strings.ReplaceAll(ldflags, "${VERSION}", version)
	command := append([]string{"go", "build", "-C", copied, "-ldflags", ldflags, "-o", out + "/"}, parts...)
	output(t, []string{"CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false"}, command...)
	for _, part := range parts {
		name := filepath.Base(part)
		here, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		if there := d.program(t, "reservation/"+name+":"+version); !bytes.Equal(here, there) {
			t.Errorf("%s: the %d bytes in the image differ from the %d bytes built outside", name, len(there), len(here))
		}
	}
}

// program returns the file /part of an image.
func (d *docker) program(t *testing.T, image string) []byte {
	t.Helper()
	container := d.run(t, commandLimit, "docker", "create", image)
	defer d.run(t, commandLimit, "docker", "rm", container)
	text, err := d.try(t.Context(), "", "docker", "cp", container+":/part", "-")
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(strings.NewReader(text))
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
