package site

import (
	"bytes"
	"html/template"
	"slices"

	"reservation.dev/platform/reference"
)

// layout is the frame of every page: the header, the navigation and the search box.
type layout struct {
	templates *template.Template
	groups    []group
	assets    map[string]string // paths by file name
}

// frame is the data of a page's template.
type frame struct {
	Title, Path    string
	Groups         []group
	Body, Head     template.HTML
	Guide          string // path of the guide that goes with a reference
	Headings       []heading
	Previous, Next *entry
}

// Current reports whether a group of the navigation has the page.
func (f frame) Current(g group) bool {
	return slices.ContainsFunc(g.Entries, func(e entry) bool { return e.Path == f.Path })
}

// Folded reports whether a group of the navigation is folded up: it is long, and the page
// is in another group.
func (f frame) Folded(g group) bool { return g.Folder != "" && !f.Current(g) }

// page returns the page of a document.
func (l *layout) page(d *document) ([]byte, error) {
	f := frame{Title: d.title, Path: pathOf(d.file), Body: template.HTML(d.html)}
	if len(d.headings) > 1 {
		f.Headings = d.headings
	}
	for _, g := range l.groups {
		for i, e := range g.Entries {
			if e.File != d.file {
				continue
			}
			if i > 0 {
				f.Previous = &g.Entries[i-1]
			}
			if i+1 < len(g.Entries) {
				f.Next = &g.Entries[i+1]
			}
		}
	}
	return l.execute("page.html", f)
}

// reference returns the page of an OpenAPI description.
func (l *layout) reference(r *reference.Reference, i interfaceReference) ([]byte, error) {
	return l.execute("reference.html", frame{Title: i.options.Title, Path: i.page, Guide: i.guide, Head: r.Head(), Body: r.Body(i.options)})
}

// notFound returns the page for unknown paths.
func (l *layout) notFound() ([]byte, error) {
	return l.execute("missing.html", frame{Title: "Page not found"})
}

func (l *layout) execute(name string, f frame) ([]byte, error) {
	f.Groups = l.groups
	var b bytes.Buffer
	err := l.templates.ExecuteTemplate(&b, name, f)
	return b.Bytes(), err
}
