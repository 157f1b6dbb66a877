package site

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// root is the path of the site's first page; all others are below it.
const root = "/docs"

// group is a part of the navigation, for one kind of reader.
type group struct {
	Title   string
	Entries []entry
	// Folder has every page of a folder of docs/ as an entry, in the order of the file names
	// and under the pages' own titles.
	Folder string
}

// entry is a page in the navigation.
type entry struct {
	Title string
	File  string // in docs/; "": a reference
	Path  string // of the site; "": derived from File
}

// navigation returns the groups of the navigation. Every page is in one of them.
func navigation() []group {
	return []group{
		{Title: "Start", Entries: []entry{
			{Title: "Overview", File: "README.md"},
			{Title: "With Docker", File: "START_DOCKER.md"},
			{Title: "With Go", File: "START_GO.md"},
			{Title: "With Kubernetes", File: "START_KUBERNETES.md"},
		}},
		{Title: "Integrators", Entries: []entry{
			{Title: "Interface A: guide", File: "INTERFACE_A.md", Path: "/docs/interface-a-guide"},
			{Title: "Interface A: reference", Path: "/docs/interface-a"},
			{Title: "Interface B: guide", File: "INTERFACE_B.md", Path: "/docs/interface-b-guide"},
			{Title: "Interface B: reference", Path: "/docs/interface-b"},
			{Title: "Webhooks: guide", File: "WEBHOOKS.md"},
			{Title: "Webhooks: reference", Path: "/docs/webhooks-reference"},
			{Title: "Test mode", File: "TEST_MODE.md"},
			{Title: "Errors", File: "ERRORS.md"},
			{Title: "Examples", File: "EXAMPLES.md"},
		}},
		{Title: "Internal teams", Entries: []entry{
			{Title: "gRPC", File: "GRPC.md"},
			{Title: "Domain events", File: "EVENTS.md"},
		}},
		{Title: "Owners", Entries: []entry{
			{Title: "Dashboard", File: "DASHBOARD.md"},
			{Title: "Personal data", File: "PRIVACY.md"},
		}},
		{Title: "Platform team", Entries: []entry{
			{Title: "Docker Compose", File: "DEPLOYMENT.md"},
			{Title: "Kubernetes", File: "KUBERNETES.md"},
			{Title: "Operations", File: "OPERATIONS.md"},
			{Title: "Upgrades", File: "UPGRADES.md"},
			{Title: "Releases", File: "RELEASES.md"},
			{Title: "Backup and restore", File: "BACKUP.md"},
			{Title: "Observability", File: "OBSERVABILITY.md"},
			{Title: "Scaling", File: "SCALING.md"},
			{Title: "Moving a company", File: "COMPANY_MOVE.md"},
			{Title: "Security", File: "SECURITY.md"},
		}},
		{Title: "Developers", Entries: []entry{
			{Title: "Architecture", File: "ARCHITECTURE.md"},
		}},
		{Title: "Runbooks", Folder: "runbooks"},
		{Title: "Architecture decisions", Folder: "adr"},
	}
}

// pathOf returns the path of the page of a Markdown file: docs/WEBHOOKS.md is at
// /docs/webhooks, docs/adr/README.md at /docs/adr. Files in folders keep their case, so that a
// runbook has the name of its alert.
func pathOf(file string) string {
	for _, g := range navigation() {
		if i := slices.IndexFunc(g.Entries, func(e entry) bool { return e.File == file && e.Path != "" }); i >= 0 {
			return g.Entries[i].Path
		}
	}
	dir, name := path.Split(strings.TrimSuffix(file, ".md"))
	switch {
	case name == "README":
		name = ""
	case dir == "":
		name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	}
	return path.Join(root, dir, name)
}

// expand returns the navigation with the entries of its folders, given the titles of all
// pages by file.
func expand(titles map[string]string) []group {
	groups := navigation()
	for i := range groups {
		g := &groups[i]
		if g.Folder != "" {
			for _, file := range slices.SortedFunc(maps.Keys(titles), readmeFirst) {
				if path.Dir(file) == g.Folder {
					g.Entries = append(g.Entries, entry{Title: titles[file], File: file})
				}
			}
		}
		for j := range g.Entries {
			if e := &g.Entries[j]; e.Path == "" {
				e.Path = pathOf(e.File)
			}
		}
	}
	return groups
}

// readmeFirst orders files by name, a README before the others.
func readmeFirst(a, b string) int {
	switch {
	case path.Base(a) == "README.md":
		return -1
	case path.Base(b) == "README.md":
		return 1
	}
	return strings.Compare(a, b)
}
