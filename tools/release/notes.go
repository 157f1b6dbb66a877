package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// changes returns the section of a version in CHANGELOG.md, without its heading.
func changes(changelog, version string) (string, error) {
	return versionSection(changelog, "CHANGELOG.md", `## [`+version+`] - YYYY-MM-DD`)
}

// upgrade returns the section of a version in docs/UPGRADES.md, without its heading.
func upgrade(page, version string) (string, error) {
	return versionSection(page, "docs/UPGRADES.md", `## `+version)
}

// versionSection returns the section of a page with a heading, in which YYYY-MM-DD is any date.
func versionSection(page, name, heading string) (string, error) {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(heading), "YYYY-MM-DD", `\d{4}-\d{2}-\d{2}`)
	at := regexp.MustCompile(`(?m)^` + pattern + `$`).FindStringIndex(page)
	if at == nil {
		return "", fmt.Errorf("%s has no section %s", name, heading)
	}
	text := section(page[at[1]:])
	if text == "" {
		return "", fmt.Errorf("the section %s of %s is empty", heading, name)
	}
	return text, nil
}

// section returns a text up to the next heading of the second level.
func section(text string) string {
	if at := regexp.MustCompile(`(?m)^## `).FindStringIndex(text); at != nil {
		text = text[:at[0]]
	}
	return strings.TrimSpace(text)
}

// pageLink matches a link to another page of docs.
var pageLink = regexp.MustCompile(`\]\((\.\./)?([A-Za-z0-9_./-]+)(#[^)]*)?\)`)

// releaseNotes returns the notes of a release. Links are relative to the repository.
func releaseNotes(src *source, version string) ([]byte, error) {
	changelog, err := src.read("CHANGELOG.md")
	if err != nil {
		return nil, err
	}
	page, err := src.read("docs/UPGRADES.md")
	if err != nil {
		return nil, err
	}
	changed, err := changes(string(changelog), version)
	if err != nil {
		return nil, err
	}
	steps, err := upgrade(string(page), version)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	fmt.Fprintf(&buf, "# %s\n\nCommit %s. `docs/RELEASES.md` says how to verify the files. `%s` is not signed.\n\n", version, src.commit, provenanceFile)
	fmt.Fprintf(&buf, "## Changes\n\n%s\n\n## Upgrade\n\n%s\n", changed, rootLinks(steps))
	return buf.Bytes(), nil
}

// rootLinks makes the links of a page in docs relative to the repository.
func rootLinks(text string) string {
	return pageLink.ReplaceAllStringFunc(text, func(link string) string {
		m := pageLink.FindStringSubmatch(link)
		if m[1] != "" {
			return "](" + m[2] + m[3] + ")"
		}
		return "](docs/" + m[2] + m[3] + ")"
	})
}
