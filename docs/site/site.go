package site

import (
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"

	"reservation.dev/docs"
	gatewaya "reservation.dev/gateway-a/openapi"
	gatewayb "reservation.dev/gateway-b/openapi"
	"reservation.dev/platform/reference"
	"reservation.dev/platform/static"
	webhook "reservation.dev/services/webhook/openapi"
)

//go:embed assets/* templates/*.html
var own embed.FS

// policy returns the Content-Security-Policy of every page except the references.
func policy(connect string) string {
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src " + connect + "; " +
		"form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
}

// picturePolicy is the Content-Security-Policy of pictures: an SVG file has styles of its own.
const picturePolicy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"

// Options say where the site and the interfaces are. The examples of the references show
// the interfaces' addresses.
type Options struct {
	// Origin of the site, for example "https://dashboard.example.com". Scripts of the site can
	// make requests only below /docs/ of it.
	Origin     string
	InterfaceA string // base URL, for example "https://a.example.com"
	InterfaceB string // base URL with the version, for example "https://b.example.com/api/v1"
}

// Site is the documentation as an HTTP handler for /docs and everything below.
type Site struct {
	files    map[string]*static.File // by path
	policy   string                  // Content-Security-Policy
	policies map[string]string       // others by path, of the references and of pictures
	aliases  map[string]string       // paths of Markdown files, and the pages that they lead to
	missing  *static.File
}

// New returns the site.
func New(o Options) (*Site, error) {
	c, err := loadContent()
	if err != nil {
		return nil, err
	}
	connect := o.Origin + root + "/"
	s := &Site{files: maps.Clone(c.files), policy: policy(connect), policies: map[string]string{}, aliases: c.aliases, missing: c.missing}
	for at := range c.files {
		if strings.HasPrefix(at, root+"/pictures/") {
			s.policies[at] = picturePolicy
		}
	}
	for _, r := range references(o) {
		body, err := c.layout.reference(c.reference, r)
		if err != nil {
			return nil, err
		}
		s.files[r.page] = static.New(htmlType, static.Revalidate, body)
		s.policies[r.page] = reference.Policy(connect)
	}
	return s, nil
}

const htmlType = "text/html; charset=utf-8"

// ServeHTTP answers GET and HEAD for the pages and files of the site, and everything else
// with a page that says so.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := r.URL.Path
	h := w.Header()
	h.Set("Content-Security-Policy", cmp.Or(s.policies[at], s.policy))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "The documentation can only be read.", http.StatusMethodNotAllowed)
		return
	}
	if f := s.files[at]; f != nil {
		f.ServeHTTP(w, r)
		return
	}
	if to := cmp.Or(s.aliases[at], s.aliases[strings.TrimSuffix(at, "/")]); to != "" {
		h.Set("Cache-Control", static.Revalidate)
		http.Redirect(w, r, to, http.StatusPermanentRedirect)
		return
	}
	s.missing.Serve(w, r, http.StatusNotFound)
}

// content is what all sites of a process share, because it follows from the embedded files.
type content struct {
	files     map[string]*static.File
	aliases   map[string]string
	missing   *static.File
	layout    *layout
	reference *reference.Reference
	documents []*document
	problems  []string
}

// loadContent renders the pages, once per process.
var loadContent = sync.OnceValues(func() (*content, error) { return newContent(docs.Files) })

// newContent renders the pages of the files.
func newContent(files fs.FS) (*content, error) {
	c := &content{files: map[string]*static.File{}, aliases: map[string]string{root + "/": root}}
	var err error
	if c.reference, err = reference.New(root + "/assets/"); err != nil {
		return nil, err
	}
	maps.Copy(c.files, c.reference.Files)
	pages := &converter{files: files}
	if err := c.convert(pages); err != nil {
		return nil, err
	}
	if c.layout, err = c.newLayout(); err != nil {
		return nil, err
	}
	for _, d := range c.documents {
		body, err := c.layout.page(d)
		if err != nil {
			return nil, err
		}
		at := pathOf(d.file)
		c.files[at] = static.New(htmlType, static.Revalidate, body)
		c.aliases[path.Join(root, d.file)], c.aliases[at+"/"] = at, at
	}
	body, err := c.layout.notFound()
	if err != nil {
		return nil, err
	}
	c.missing = static.New(htmlType, "no-store", body)
	c.problems = pages.problems
	return c, nil
}

// convert renders every Markdown file, keeps every other file as it is, and indexes the
// sections for the search.
func (c *content) convert(pages *converter) error {
	err := fs.WalkDir(pages.files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if path.Ext(name) == ".md" {
			d, err := pages.convert(name)
			if err == nil {
				c.documents = append(c.documents, d)
			}
			return err
		}
		body, err := fs.ReadFile(pages.files, name)
		if err == nil {
			c.files[path.Join(root, name)] = static.New(mediaType(name), static.Revalidate, body)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, d := range []struct {
		page string
		text []byte
	}{{"/docs/interface-a", gatewaya.Description}, {"/docs/interface-b", gatewayb.Description}, {"/docs/webhooks-reference", webhook.Description}} {
		description, err := reference.JSON(d.text)
		if err != nil {
			return fmt.Errorf("%s: %w", d.page, err)
		}
		c.files[d.page+"/openapi.yaml"] = static.New("application/yaml", static.Revalidate, d.text)
		c.files[d.page+"/openapi.json"] = static.New("application/json", static.Revalidate, description)
		c.aliases[d.page+"/"] = d.page
	}
	var sections []section
	for _, d := range c.documents {
		sections = append(sections, d.sections...)
	}
	operations, err := operationSections()
	if err != nil {
		return err
	}
	index, err := searchIndex(append(sections, operations...))
	if err == nil {
		c.files[root+"/search.json"] = static.New("application/json", static.Revalidate, index)
	}
	return err
}

// mediaType returns the media type of a file that is not a page. Sources are shown as text.
func mediaType(name string) string {
	switch path.Ext(name) {
	case ".png", ".svg":
		return mime.TypeByExtension(path.Ext(name))
	case ".json":
		return "application/json"
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	}
	return "text/plain; charset=utf-8"
}

// newLayout adds the site's own files and returns the frame of its pages.
func (c *content) newLayout() (*layout, error) {
	l := &layout{assets: map[string]string{}}
	names, err := fs.Glob(own, "assets/*")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".LICENSE.txt") {
			continue
		}
		body, err := own.ReadFile(name)
		if err != nil {
			return nil, err
		}
		f := static.New(mediaType(name), static.Forever, body)
		at := f.Path(root+"/assets/", path.Base(name))
		c.files[at], l.assets[path.Base(name)] = f, at
	}
	titles := map[string]string{}
	for _, d := range c.documents {
		titles[d.file] = d.title
	}
	l.groups = expand(titles)
	l.templates, err = template.New("").Funcs(template.FuncMap{"asset": func(name string) (string, error) {
		if at := l.assets[name]; at != "" {
			return at, nil
		}
		return "", fmt.Errorf("no asset %q", name)
	}}).ParseFS(own, "templates/*.html")
	return l, err
}

// interfaceReference is a page that shows an OpenAPI description.
type interfaceReference struct {
	page    string // path
	guide   string // path of the guide that goes with it
	options reference.Options
}

// references returns the reference pages. Requests cannot be sent from them: the
// interfaces are on other servers.
func references(o Options) []interfaceReference {
	all := []interfaceReference{
		{"/docs/interface-a", pathOf("INTERFACE_A.md"), reference.Options{Title: "Interface A: reference", Server: o.InterfaceA}},
		{"/docs/interface-b", pathOf("INTERFACE_B.md"), reference.Options{Title: "Interface B: reference", Server: o.InterfaceB}},
		{"/docs/webhooks-reference", pathOf("WEBHOOKS.md"), reference.Options{Title: "Webhooks: reference", Webhooks: true}},
	}
	for i := range all {
		all[i].options.URL, all[i].options.Framed = all[i].page+"/openapi.yaml", true
	}
	return all
}
