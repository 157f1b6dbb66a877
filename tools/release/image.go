package main

import (
	"bytes"
	"io"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// refName is the annotation of a layout's index.json that names the tag.
const refName = "org.opencontainers.image.ref.name"

// images writes OCI image layouts.
type images struct {
	dockerfile *dockerfile
	src        *source
	version    string
	// stage returns a file of the build stage; nil stands for an empty directory.
	stage func(p platform, path string) ([]byte, error)
}

// write writes the image of a program for all platforms to the directory dir.
func (m *images) write(program, dir string) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range imagePlatforms() {
		image, err := m.image(program, p)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.os, Architecture: p.arch}},
		})
	}
	written, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	return written.AppendIndex(index, layout.WithAnnotations(map[string]string{refName: m.version}))
}

// image returns the image of a program for one platform, as the Dockerfile describes it.
func (m *images) image(program string, p platform) (v1.Image, error) {
	args := map[string]string{"PART": program, "VERSION": m.version, "REVISION": m.src.commit}
	config, err := m.dockerfile.config(args)
	if err != nil {
		return nil, err
	}
	layers, err := m.dockerfile.layers(args, m.src.time, func(path string) ([]byte, error) { return m.stage(p, path) })
	if err != nil {
		return nil, err
	}
	created := v1.Time{Time: m.src.time}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.ConfigFile(image, &v1.ConfigFile{
		OS: p.os, Architecture: p.arch, Created: created, Config: config, RootFS: v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return nil, err
	}
	for _, entries := range layers {
		layer, err := imageLayer(entries)
		if err != nil {
			return nil, err
		}
		history := v1.History{Created: created, CreatedBy: "COPY " + names(entries)}
		if image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: history}); err != nil {
			return nil, err
		}
	}
	return image, nil
}

// imageLayer returns a compressed layer.
func imageLayer(entries []entry) (v1.Layer, error) {
	var buf bytes.Buffer
	if err := archiveTar(&buf, entries); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(buf.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}

// names returns the paths of the files of a layer.
func names(entries []entry) string {
	var all []string
	for _, e := range entries {
		all = append(all, "/"+e.name)
	}
	return strings.Join(all, " ")
}
