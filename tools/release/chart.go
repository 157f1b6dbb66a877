package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"go.yaml.in/yaml/v3"
)

// chartDir is the directory of the Helm chart.
const chartDir = "deploy/helm/reservation"

// The media types of charts in registries (https://helm.sh/docs/topics/registries).
const (
	chartConfigType  types.MediaType = "application/vnd.cncf.helm.config.v1+json"
	chartContentType types.MediaType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// chart is the packaged chart.
type chart struct {
	name     string
	metadata map[string]any // Chart.yaml
	archive  []byte
}

// packageChart packages the chart with the version as its version and as the tag of the images.
func packageChart(ctx context.Context, src *source, version string) (*chart, error) {
	tracked, err := src.git(ctx, "ls-files", "--", chartDir)
	if err != nil {
		return nil, err
	}
	c := &chart{}
	var files []entry
	for name := range strings.SplitSeq(tracked, "\n") {
		if strings.HasPrefix(name, chartDir+"/ci/") { // .helmignore
			continue
		}
		content, err := src.read(name)
		if err != nil {
			return nil, err
		}
		if path.Base(name) == "Chart.yaml" {
			content = withVersion(content, version)
			if err := yaml.Unmarshal(content, &c.metadata); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		files = append(files, entry{name: strings.TrimPrefix(name, path.Dir(chartDir)+"/"), content: content, mode: 0o644, time: src.time})
	}
	licence, err := src.read("LICENSE")
	if err != nil {
		return nil, err
	}
	c.name = path.Base(chartDir)
	files = append(files, entry{name: c.name + "/LICENSE", content: licence, mode: 0o644, time: src.time})
	slices.SortStableFunc(files, func(a, b entry) int { return strings.Compare(chartOrder(a.name), chartOrder(b.name)) })
	c.archive, err = archiveTarGz(files)
	return c, err
}

// chartOrder puts Chart.yaml first, as helm package does.
func chartOrder(name string) string {
	if path.Base(name) == "Chart.yaml" {
		return ""
	}
	return name
}

// withVersion sets version and appVersion in Chart.yaml.
func withVersion(content []byte, version string) []byte {
	return regexp.MustCompile(`(?m)^(version|appVersion): .*$`).ReplaceAll(content, []byte(`$1: "`+version+`"`))
}

// write writes the chart as an OCI layout to the directory dir.
func (c *chart) write(dir, version string, at time.Time) error {
	to, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	metadata, err := json.Marshal(c.metadata)
	if err != nil {
		return err
	}
	manifest := v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Annotations: map[string]string{
		"org.opencontainers.image.title":       c.name,
		"org.opencontainers.image.version":     version,
		"org.opencontainers.image.description": fmt.Sprint(c.metadata["description"]),
		"org.opencontainers.image.created":     at.Format(time.RFC3339),
	}}
	if manifest.Config, err = writeBlob(to, chartConfigType, metadata); err != nil {
		return err
	}
	content, err := writeBlob(to, chartContentType, c.archive)
	if err != nil {
		return err
	}
	manifest.Layers = []v1.Descriptor{content}
	encoded, err := json.Marshal(manifest)
	if err != nil {
		return err
	}
	described, err := writeBlob(to, types.OCIManifestSchema1, encoded)
	if err != nil {
		return err
	}
	described.Annotations = map[string]string{refName: version}
	return to.AppendDescriptor(described)
}

// writeBlob writes a blob to a layout and returns its descriptor.
func writeBlob(to layout.Path, mediaType types.MediaType, content []byte) (v1.Descriptor, error) {
	hash, size, err := v1.SHA256(bytes.NewReader(content))
	if err != nil {
		return v1.Descriptor{}, err
	}
	err = to.WriteBlob(hash, io.NopCloser(bytes.NewReader(content)))
	return v1.Descriptor{MediaType: mediaType, Size: size, Digest: hash}, err
}
