package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// bom is a CycloneDX 1.6 document.
type bom struct {
	Schema       string      `json:"$schema"`
	Format       string      `json:"bomFormat"`
	SpecVersion  string      `json:"specVersion"`
	SerialNumber string      `json:"serialNumber"`
	Version      int         `json:"version"`
	Metadata     bomMetadata `json:"metadata"`
	Components   []component `json:"components"`
}

type bomMetadata struct {
	Timestamp  string     `json:"timestamp"`
	Component  component  `json:"component"`
	Properties []property `json:"properties"`
}

type component struct {
	Ref      string          `json:"bom-ref"`
	Type     string          `json:"type"`
	Name     string          `json:"name"`
	Version  string          `json:"version"`
	Hashes   []hash          `json:"hashes,omitempty"`
	Licences []licenceChoice `json:"licenses,omitempty"`
	URL      string          `json:"purl"`
}

type licenceChoice struct {
	Licence struct {
		ID string `json:"id"`
	} `json:"license"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// makeBOM returns the bill of materials of a program, from the modules that the compiler recorded
// in it. licences are the licences of each module.
func makeBOM(program string, binary []byte, version string, at time.Time, licences map[string][]string) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(binary))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	digest := sha256.Sum256(binary)
	main := newComponent("application", info.Main.Path+"/"+program, version, []string{"Apache-2.0"})
	main.Name = program
	main.Hashes = []hash{{"SHA-256", hex.EncodeToString(digest[:])}}
	b := bom{
		Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		SerialNumber: serialNumber(digest),
		Metadata:     bomMetadata{Timestamp: at.Format(time.RFC3339), Component: main},
		Components:   []component{newComponent("library", "std", strings.TrimPrefix(info.GoVersion, "go"), licences["std"])},
	}
	for _, s := range info.Settings {
		b.Metadata.Properties = append(b.Metadata.Properties, property{"go:build:" + s.Key, s.Value})
	}
	for _, m := range info.Deps {
		c, err := moduleComponent(m, version, licences)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", program, err)
		}
		b.Components = append(b.Components, c)
	}
	slices.SortFunc(b.Components, func(x, y component) int { return strings.Compare(x.URL, y.URL) })
	encoded, err := json.MarshalIndent(b, "", "  ")
	return append(encoded, '\n'), err
}

// moduleComponent returns the component of a module. Modules of this repository have the version of
// the release.
func moduleComponent(m *debug.Module, version string, licences map[string][]string) (component, error) {
	for m.Replace != nil {
		m = m.Replace
	}
	if strings.HasPrefix(m.Path, "reservation.dev/") {
		return newComponent("library", m.Path, version, []string{"Apache-2.0"}), nil
	}
	c := newComponent("library", m.Path, m.Version, licences[m.Path])
	sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:"))
	if err != nil || len(sum) == 0 || len(c.Licences) == 0 {
		return c, fmt.Errorf("module %s: checksum %q, licences %v", m.Path, m.Sum, licences[m.Path])
	}
	c.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum)}}
	return c, nil
}

// newComponent returns a component that is a Go module or package.
func newComponent(kind, path, version string, licences []string) component {
	c := component{Type: kind, Name: path, Version: version, URL: "pkg:golang/" + path + "@" + version}
	c.Ref = c.URL
	for _, id := range licences {
		var choice licenceChoice
		choice.Licence.ID = id
		c.Licences = append(c.Licences, choice)
	}
	return c
}

// serialNumber returns a UUID (version 8) that identifies the contents of a program.
func serialNumber(digest [sha256.Size]byte) string {
	u := digest[:16]
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}
