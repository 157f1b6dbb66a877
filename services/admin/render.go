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
	"strings"
	"sync"
	"time"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

//go:embed templates/*.html templates/shared/*.html assets/* locales/*.toml
var files embed.FS

// asset is a file whose path has a hash of its content, so that browsers can cache it
// permanently.
type asset struct {
	path, mediaType string
	body            []byte
}

// pages are the parsed templates, in every language, and the files that they refer to.
type pages struct {
	catalogue *catalogue
	templates map[*texts]map[string]*template.Template // by the page's name
	assets    map[string]asset                         // by path
	urls      map[string]string
}

// embeddedPages parses the files of this package, once in a process.
var embeddedPages = sync.OnceValues(func() (*pages, error) { return parsePages(files) })

// parsePages reads the templates, the assets and the message files of a file system. If
// one of them is wrong, the dashboard does not start.
func parsePages(files fs.ReadFileFS) (*pages, error) {
	p := &pages{templates: map[*texts]map[string]*template.Template{}, assets: map[string]asset{}, urls: map[string]string{}}
	for name, mediaType := range map[string]string{
		"style.css": "text/css; charset=utf-8", "app.js": "text/javascript; charset=utf-8", "agenda.js": "text/javascript; charset=utf-8", "upload.js": "text/javascript; charset=utf-8",
		"htmx.min.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml",
	} {
		body, err := files.ReadFile("assets/" + name)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(body)
		base, ext := strings.TrimSuffix(name, path.Ext(name)), path.Ext(name)
		a := asset{path: "/assets/" + base + "." + hex.EncodeToString(sum[:6]) + ext, mediaType: mediaType, body: body}
		p.assets[a.path], p.urls[name] = a, a.path
	}
	rows := asset{mediaType: "text/css; charset=utf-8", body: agendaStyle()}
	sum := sha256.Sum256(rows.body)
	rows.path = "/assets/agenda." + hex.EncodeToString(sum[:6]) + ".css"
	p.assets[rows.path], p.urls["agenda.css"] = rows, rows.path
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
	w.Header().Set("Content-Type", a.mediaType)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(a.body)
}

// funcs are what templates may call.
func (p *pages) funcs(x *texts) template.FuncMap {
	return template.FuncMap{
		"t":            x.html,
		"language":     x.language.String,
		"asset":        func(name string) string { return p.urls[name] },
		"money":        priceText,
		"optionPrice":  optionPrice,
		"moneyMethods": moneyMethods,
		"paidMethods":  paidMethods,
		"size":         sizeText,
		"lastDay":      lastDay,
		"passCredits":  func(p *passv1.CustomerPass) *message { return usesText(p.GetUnlimitedUses(), p.GetRemainingUses()) },
		"notice":       func(n *authv1.Notice) string { return x.text(noticeText(n)) },
		"number":       func(n any) string { return thousands(toInt(n)) },
		"duration":     duration,
		"wallDate":     wallDate,
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
