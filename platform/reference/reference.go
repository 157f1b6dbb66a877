// Package reference shows OpenAPI descriptions as pages, with Scalar's API reference.
//
// Both gateways use it for /docs, where readers can send requests, and the documentation
// site for its reference pages. Everything that a page loads comes from the server that
// serves the page: no fonts, proxies or other services of Scalar are used.
//
// # Invariants
//
//  1. A page makes requests only to the server that it comes from. The content security
//     policy enforces this.
//  2. A page needs neither inline scripts nor 'unsafe-eval'. It needs inline styles, because
//     Scalar adds its style sheet and positions elements with them.
package reference

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"strings"

	"reservation.dev/platform/static"
)

//go:embed assets/scalar.js.gz assets/reference.js assets/reference.css
var files embed.FS

// Policy returns the Content-Security-Policy that reference pages need. Their scripts can
// make requests only to connect: "'self'", or a URL that ends in a slash and everything below.
func Policy(connect string) string {
	return "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; " +
		"connect-src " + connect + "; form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
}

// Options describe the reference of one interface.
type Options struct {
	Title string
	// URL is the path of the OpenAPI description on the same server.
	URL string
	// TryIt lets readers send requests to the server that the page comes from.
	TryIt bool
	// Framed means that the page has its own header, with a search box.
	Framed bool
	// Webhooks means that the description has messages instead of operations, so the page
	// shows no request examples.
	Webhooks bool
	// Server is the base URL that the examples show; "": the servers of the description,
	// relative to the page.
	Server string
}

// Reference has the files that reference pages load.
type Reference struct {
	Files                 map[string]*static.File // by path
	script, start, styles string                  // paths
}

// New returns the files, at paths below prefix, for example "/docs/".
func New(prefix string) (*Reference, error) {
	r := &Reference{Files: map[string]*static.File{}}
	scalar, err := files.ReadFile("assets/scalar.js.gz")
	if err != nil {
		return nil, err
	}
	r.script = r.add(prefix, "scalar.js", static.NewCompressed("text/javascript; charset=utf-8", static.Forever, scalar))
	for _, f := range []struct {
		path            *string
		name, mediaType string
	}{
		{&r.start, "reference.js", "text/javascript; charset=utf-8"},
		{&r.styles, "reference.css", "text/css; charset=utf-8"},
	} {
		body, err := files.ReadFile("assets/" + f.name)
		if err != nil {
			return nil, err
		}
		*f.path = r.add(prefix, f.name, static.New(f.mediaType, static.Forever, body))
	}
	return r, nil
}

func (r *Reference) add(prefix, name string, f *static.File) string {
	path := f.Path(prefix, name)
	r.Files[path] = f
	return path
}

// Head returns the elements that a reference page needs in its head.
func (r *Reference) Head() template.HTML {
	return template.HTML(fmt.Sprintf(`<link rel="stylesheet" href="%s">
<script src="%s" defer></script>
<script src="%s" defer></script>`, r.styles, r.start, r.script))
}

// Body returns the element that becomes the reference.
func (r *Reference) Body(o Options) template.HTML {
	configuration, err := json.Marshal(o.configuration())
	if err != nil {
		panic(err) // a map of strings, numbers and booleans
	}
	return template.HTML(`<div id="reference" data-configuration="` + template.HTMLEscapeString(string(configuration)) + `">` +
		`<noscript><p>The reference needs JavaScript. You can read <a href="` + template.HTMLEscapeString(o.URL) + `">the OpenAPI description</a> without it.</p></noscript></div>`)
}

// Page returns a page with only the reference.
func (r *Reference) Page(o Options) *static.File {
	var b strings.Builder
	fmt.Fprintf(&b, `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>%s</title>
<link rel="icon" href="data:,">
%s
</head>
<body>
%s
</body>
</html>
`, template.HTMLEscapeString(o.Title), r.Head(), r.Body(o))
	return static.New("text/html; charset=utf-8", static.Revalidate, []byte(b.String()))
}

// configuration returns Scalar's configuration. Everything that would contact another
// server, or offer a service of Scalar, is off.
func (o Options) configuration() map[string]any {
	c := map[string]any{
		"url":                   o.URL,
		"layout":                "modern",
		"theme":                 "none",
		"withDefaultFonts":      false,
		"telemetry":             false,
		"proxyUrl":              "",
		"agent":                 map[string]any{"disabled": true},
		"mcp":                   map[string]any{"disabled": true},
		"showDeveloperTools":    "never",
		"hideClientButton":      true,
		"hideTestRequestButton": !o.TryIt,
		"hideSearch":            o.Framed,
		"documentDownloadType":  "direct",
		"defaultOpenFirstTag":   true,
		"defaultHttpClient":     map[string]any{"targetKey": "shell", "clientKey": "curl"},
		"hiddenClients":         hiddenClients(),
		"operationTitleSource":  "summary",
		"persistAuth":           false,
	}
	if o.Webhooks {
		c["hiddenClients"] = true // all
	}
	if o.Server != "" {
		c["servers"] = []any{map[string]any{"url": o.Server}}
	}
	return c
}

// hiddenClients returns the languages and libraries for which the page shows no examples:
// all except curl, JavaScript's fetch, Python's requests and Go's net/http.
func hiddenClients() map[string]any {
	return map[string]any{
		"c": true, "clojure": true, "csharp": true, "dart": true, "fsharp": true, "http": true, "java": true, "kotlin": true, "node": true,
		"objc": true, "ocaml": true, "php": true, "powershell": true, "r": true, "ruby": true, "rust": true, "swift": true,
		"js":     []string{"axios", "jquery", "ofetch", "xhr"},
		"python": []string{"aiohttp", "httpx_async", "httpx_sync", "python3"},
		"shell":  []string{"httpie", "wget"},
	}
}
