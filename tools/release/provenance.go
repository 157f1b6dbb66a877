package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// The files that describe the other files of a release.
const (
	provenanceFile = "provenance.intoto.json"
	sumsFile       = "SHA256SUMS"
)

// statement is an in-toto statement (https://in-toto.io/Statement/v1) about a release's files.
type statement struct {
	Type          string     `json:"_type"`
	Subject       []resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     predicate  `json:"predicate"`
}

// resource is a file or a source, with its digests.
type resource struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest,omitempty"`
	URI    string            `json:"uri,omitempty"`
}

// predicate is SLSA provenance (https://slsa.dev/spec/v1.0/provenance).
type predicate struct {
	BuildDefinition struct {
		BuildType            string            `json:"buildType"`
		ExternalParameters   map[string]string `json:"externalParameters"`
		ResolvedDependencies []resource        `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	RunDetails struct {
		Builder struct {
			ID string `json:"id"`
		} `json:"builder"`
		Metadata struct {
			StartedOn string `json:"startedOn"`
		} `json:"metadata"`
	} `json:"runDetails"`
}

// buildType identifies the command that makes a release, and its parameters.
const buildType = "https://reservation.dev/docs/releases#provenance"

// makeProvenance returns the statement that the files were made from the commit. It is not signed.
func makeProvenance(src *source, version, goVersion string, files []resource) ([]byte, error) {
	s := statement{Type: "https://in-toto.io/Statement/v1", Subject: files, PredicateType: "https://slsa.dev/provenance/v1"}
	d := &s.Predicate.BuildDefinition
	d.BuildType = buildType
	d.ExternalParameters = map[string]string{"command": "make release", "version": version}
	d.ResolvedDependencies = []resource{
		{Name: "source", Digest: map[string]string{"gitCommit": src.commit}},
		{Name: "go", URI: "pkg:golang/golang.org/toolchain@v0.0.1-go" + goVersion},
	}
	s.Predicate.RunDetails.Builder.ID = buildType
	s.Predicate.RunDetails.Metadata.StartedOn = src.time.Format(time.RFC3339)
	encoded, err := json.MarshalIndent(s, "", "  ")
	return append(encoded, '\n'), err
}

// digests returns the files below a directory with their SHA-256, sorted by name.
func digests(dir string) ([]resource, error) {
	var files []resource
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(dir, name)
		sum := sha256.Sum256(content)
		files = append(files, resource{Name: filepath.ToSlash(relative), Digest: map[string]string{"sha256": hex.EncodeToString(sum[:])}})
		return err
	})
	return files, err
}

// sums returns the digests in the format of sha256sum.
func sums(files []resource) []byte {
	var buf bytes.Buffer
	for _, f := range files {
		fmt.Fprintf(&buf, "%s  %s\n", f.Digest["sha256"], f.Name)
	}
	return buf.Bytes()
}
