package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// The chart in the layout is the archive, with the version of the release.
func TestChart(t *testing.T) {
	src := repository(t)
	c, err := packageChart(t.Context(), src, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	if c.name != "reservation" || c.metadata["version"] != "1.2.3" || c.metadata["appVersion"] != "1.2.3" || c.metadata["apiVersion"] != "v2" {
		t.Errorf("the chart is %s, %v", c.name, c.metadata)
	}
	dir := filepath.Join(t.TempDir(), "chart")
	if err := c.write(dir, "1.2.3", src.time); err != nil {
		t.Fatal(err)
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := index.IndexManifest()
	if err != nil || len(manifests.Manifests) != 1 || manifests.Manifests[0].Annotations[refName] != "1.2.3" {
		t.Fatalf("the layout is %+v, %v", manifests, err)
	}
	image, err := index.Image(manifests.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := image.Manifest()
	if err != nil || manifest.Config.MediaType != chartConfigType || len(manifest.Layers) != 1 || manifest.Layers[0].MediaType != chartContentType {
		t.Fatalf("the manifest is %+v, %v", manifest, err)
	}
	content, err := layout.Path(dir).Bytes(manifest.Layers[0].Digest)
	if err != nil || !slices.Equal(content, c.archive) {
		t.Errorf("the layer has %d bytes, the archive %d (%v)", len(content), len(c.archive), err)
	}
	checkArchive(t, c.archive)
}

// checkArchive checks the files of a chart's archive.
func checkArchive(t *testing.T, archive []byte) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "chart.tgz"), archive, 0o644); err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(execute(t, dir, "tar", "-tzf", "chart.tgz"))
	if names[0] != "reservation/Chart.yaml" || !slices.Contains(names, "reservation/values.yaml") || !slices.Contains(names, "reservation/LICENSE") {
		t.Errorf("the chart contains %v", names)
	}
	if slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "reservation/ci/") }) {
		t.Errorf("the chart contains files that .helmignore excludes: %v", names)
	}
}

// Invariant 4: the notices are current, and the licences of linked software are allowed.
func TestNotices(t *testing.T) {
	n, err := checkNotices(t.Context(), repository(t))
	if err != nil {
		t.Fatal(err)
	}
	for software, want := range map[string]string{
		"std": "BSD-3-Clause", "htmx.js": "0BSD", "scalar.js": "MIT", "minisearch.js": "MIT",
		"google.golang.org/grpc": "Apache-2.0", "github.com/jackc/pgx/v5": "MIT", "go.yaml.in/yaml/v3": "Apache-2.0 MIT",
	} {
		if got := strings.Join(n.licences[software], " "); got != want {
			t.Errorf("%s has the licences %q, want %q", software, got, want)
		}
	}
}

// Every script that tools/vendor.sh copies has its licence in the notices.
func TestScriptsHaveLicences(t *testing.T) {
	scripts := 0
	for line := range strings.Lines(file(t, "tools/vendor.sh")) {
		target := match(line, `^vendor \S+ .* (\S+\.js)(?:\.gz)?\n$`)
		if target == "" {
			continue
		}
		scripts++
		licence := strings.TrimSuffix(strings.TrimSuffix(target, ".js"), ".min") + ".LICENSE.txt"
		if !strings.Contains(normal(file(t, noticesFile)), normal(file(t, licence))) {
			t.Errorf("%s does not contain %s", noticesFile, licence)
		}
	}
	if scripts < 2 {
		t.Errorf("tools/vendor.sh copies %d scripts", scripts)
	}
}

func TestLicences(t *testing.T) {
	for name, want := range map[string]string{"LICENSE": "Apache-2.0", "services/admin/assets/htmx.LICENSE.txt": "0BSD"} {
		if got := strings.Join(licencesOf(file(t, name)), " "); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for text, licences := range map[string][]string{
		"GNU GENERAL PUBLIC LICENSE Version 3":                   {"GPL"},
		"Mozilla Public License,\n version 2.0":                  {"MPL"},
		"Redistributions of source code must retain the notice.": {"BSD-2-Clause"},
		"All rights reserved.":                                   nil,
	} {
		if got := licencesOf(text); !slices.Equal(got, licences) {
			t.Errorf("%q is %v, want %v", text, got, licences)
		}
		n := &notices{files: map[string]*notice{}, licences: map[string][]string{}}
		n.add("example.com/module", text)
		refused := n.check([]string{"example.com/module"}) != nil
		if allowed := len(licences) == 1 && licences[0] == "BSD-2-Clause"; refused == allowed {
			t.Errorf("%q: refused is %v", text, refused)
		}
	}
	n := &notices{files: map[string]*notice{}, licences: map[string][]string{}}
	if err := n.check([]string{"example.com/bare"}); err == nil {
		t.Error("a module without a licence is accepted")
	}
}

// The bill of materials of this test's own program lists its modules with licences and checksums.
func TestBOM(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	src := repository(t)
	const linked = "github.com/google/go-containerregistry"
	licences := map[string][]string{"std": {"BSD-3-Clause"}}
	if _, err := makeBOM("release", binary, "1.2.3", src.time, licences); err == nil || !strings.Contains(err.Error(), "licences") {
		t.Errorf("modules without licences: %v", err)
	}
	for _, m := range strings.Fields(execute(t, "", "go", "list", "-deps", "-test", "-f", "{{with .Module}}{{.Path}}{{end}}", ".")) {
		licences[m] = []string{"MIT"}
	}
	content, err := makeBOM("release", binary, "1.2.3", src.time, licences)
	if err != nil {
		t.Fatal(err)
	}
	var b bom
	if err := json.Unmarshal(content, &b); err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(b.Components, func(c component) bool { return c.Name == linked })
	if at < 0 || len(b.Components[at].Hashes) != 1 || len(b.Components[at].Hashes[0].Content) != 64 || b.Components[at].Licences[0].Licence.ID != "MIT" {
		t.Errorf("the components are %+v", b.Components)
	}
	if b.Metadata.Component.Name != "release" || b.Metadata.Component.Version != "1.2.3" || !strings.HasPrefix(b.SerialNumber, "urn:uuid:") || len(b.SerialNumber) != 45 {
		t.Errorf("the document is of %+v with the number %s", b.Metadata.Component, b.SerialNumber)
	}
}

// The provenance names the commit and every file, and the checksums are those of the files.
func TestDescription(t *testing.T) {
	src := repository(t)
	r := &release{src: src, dockerfile: &dockerfile{goVersion: "1.26.8"}, version: "1.2.3", dir: t.TempDir()}
	for _, name := range []string{"a.txt", "images/booking/index.json"} {
		if err := r.put(name, []byte(name), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.describe(t.Context()); err != nil {
		t.Fatal(err)
	}
	execute(t, r.dir, "sha256sum", "--check", "--strict", "--quiet", sumsFile)
	content, err := os.ReadFile(filepath.Join(r.dir, provenanceFile))
	if err != nil {
		t.Fatal(err)
	}
	var s statement
	if err := json.Unmarshal(content, &s); err != nil {
		t.Fatal(err)
	}
	var subjects []string
	for _, f := range s.Subject {
		subjects = append(subjects, f.Name)
	}
	if !slices.Equal(subjects, []string{"a.txt", "images/booking/index.json"}) {
		t.Errorf("the subjects are %v", subjects)
	}
	if d := s.Predicate.BuildDefinition; d.ResolvedDependencies[0].Digest["gitCommit"] != src.commit || d.ExternalParameters["version"] != "v1.2.3" {
		t.Errorf("the build is %+v", d)
	}
	if s.Type != "https://in-toto.io/Statement/v1" || s.PredicateType != "https://slsa.dev/provenance/v1" {
		t.Errorf("the statement is %s, %s", s.Type, s.PredicateType)
	}
}
