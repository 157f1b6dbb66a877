package admin

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"reservation.dev/platform/static"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

//go:embed templates/*.html templates/shared/*.html assets/* locales/*.toml
var files embed.FS

// pages are the parsed templates, in every language, and the files that they refer to.
type pages struct {
	catalogue *catalogue
	templates map[*texts]map[string]*template.Template // by the page's name
	// assets are the style sheets, scripts and pictures. Their paths have a hash of their content, so that
	// browsers can cache them permanently.
	assets map[string]*static.File // by path
	urls   map[string]string       // paths by name
}

// The media types of assets.
const (
	cssType = "text/css; charset=utf-8"
	jsType  = "text/javascript; charset=utf-8"
)

// embeddedPages parses the files of this package, once in a process.
var embeddedPages = sync.OnceValues(func() (*pages, error) { return parsePages(files) })

// parsePages reads the templates, the assets and the message files of a file system. If
// one of them is wrong, the dashboard does not start.
func parsePages(files fs.ReadFileFS) (*pages, error) {
	p := &pages{templates: map[*texts]map[string]*template.Template{}, assets: map[string]*static.File{}, urls: map[string]string{}}
	for name, mediaType := range map[string]string{
		"style.css": cssType, "checkin.css": cssType, "app.js": jsType, "agenda.js": jsType, "upload.js": jsType, "data.js": jsType, "checkin.js": jsType, "htmx.min.js": jsType, "icon.svg": "image/svg+xml",
	} {
		body, err := files.ReadFile("assets/" + name)
		if err != nil {
			return nil, err
		}
		p.add(name, static.New(mediaType, static.Forever, body))
	}
	p.add("agenda.css", static.New(cssType, static.Forever, agendaStyle()))
	if err := p.addReader(files); err != nil {
		return nil, err
	}
	var err error
	if p.catalogue, err = parseCatalogue(files); err != nil {
		return nil, err
	}
	for _, x := range p.catalogue.texts {
		if p.templates[x], err = p.parseTemplates(files, x); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// add adds an asset.
func (p *pages) add(name string, f *static.File) {
	p.urls[name] = f.Path("/assets/", name)
	p.assets[p.urls[name]] = f
}

// addReader adds the script that reads QR codes in browsers that cannot. It consists of two modules, of which
// one imports the other by its name in the same folder.
func (p *pages) addReader(files fs.ReadFileFS) error {
	main, err := files.ReadFile("assets/qr-decode.js.gz")
	if err != nil {
		return err
	}
	shared, err := files.ReadFile("assets/qr.js.gz")
	if err != nil {
		return err
	}
	sum := sha256.Sum256(slices.Concat(main, shared))
	folder := "/assets/qr." + hex.EncodeToString(sum[:6]) + "/"
	p.urls["qr-decode.js"] = folder + "decode.js"
	p.assets[folder+"decode.js"] = static.NewCompressed(jsType, static.Forever, main)
	p.assets[folder+"index.js"] = static.NewCompressed(jsType, static.Forever, shared)
	return nil
}

// parseTemplates returns the templates in one language.
func (p *pages) parseTemplates(files fs.FS, x *texts) (map[string]*template.Template, error) {
	shared, err := template.New("").Funcs(p.funcs(x)).ParseFS(files, "templates/shared/*.html")
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		return nil, err
	}
	byName := map[string]*template.Template{}
	for _, name := range names {
		t, err := shared.Clone()
		if err == nil {
			t, err = t.ParseFS(files, name)
		}
		if err != nil {
			return nil, err
		}
		byName[strings.TrimSuffix(path.Base(name), ".html")] = t
	}
	return byName, nil
}

// asset returns the address of an asset.
func (p *pages) asset(name string) (string, error) {
	if p.urls[name] == "" {
		return "", fmt.Errorf("there is no asset %q", name)
	}
	return p.urls[name], nil
}

// execute renders a block of a page in a language.
func (p *pages) execute(w io.Writer, x *texts, name, block string, f *frame) error {
	t, ok := p.templates[x][name]
	if !ok {
		return fmt.Errorf("no page %q", name)
	}
	return t.ExecuteTemplate(w, block, f)
}

// serveAsset responds with an asset.
func (web *web) serveAsset(w http.ResponseWriter, r *http.Request) {
	a, ok := web.pages.assets[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	a.ServeHTTP(w, r)
}

// funcs are what templates may call.
func (p *pages) funcs(x *texts) template.FuncMap {
	return template.FuncMap{
		"t":            x.html,
		"language":     x.language.String,
		"asset":        p.asset,
		"money":        x.price,
		"optionPrice":  optionPrice,
		"moneyMethods": moneyMethods,
		"paidMethods":  paidMethods,
		"size":         x.size,
		"lastDay":      lastDay,
		"passCredits":  func(p *passv1.CustomerPass) *message { return usesText(p.GetUnlimitedUses(), p.GetRemainingUses()) },
		"notice":       func(n *authv1.Notice) string { return x.text(noticeText(n)) },
		"number":       func(n any) string { return x.number(toInt(n)) },
		"duration":     duration,
		"wallDate":     x.wallDate,
		"wallTime":     x.wallTime,
		"when":         x.format,
		"map":          mapOf,
		"list":         func(items ...any) []any { return items },
		"date":         func(t time.Time) string { return t.Format(time.DateOnly) },
		"ordinal":      func(index int) int { return index + 1 },
		"str":          func(v any) string { return fmt.Sprint(v) },
	}
}

// mapOf returns the data of a shared block: key, value, key, value, …
func mapOf(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, errors.New("map: a key has no value")
	}
	m := make(map[string]any, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		key, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("map: %v is not a key", pairs[i])
		}
		m[key] = pairs[i+1]
	}
	return m, nil
}
