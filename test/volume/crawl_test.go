package volume

import (
	"bufio"
	"compress/gzip"
	"context"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"reservation.dev/test/harness"
)

// each is the number of pages of a route with the same parameters that are requested.
const each = 2

// page is a page of the dashboard.
type page struct {
	path    string // with the query
	pattern string // the route
}

// visitor is a browser with an owner's session.
type visitor struct {
	client http.Client
	url    string         // of the dashboard, or of an interface
	token  string         // of an interface
	routes *http.ServeMux // the pages
	// patterns are the routes of pages.
	patterns []string
	// assets are the sizes of the assets, as they are transferred.
	assets map[string]int
}

// answer is a response. Sent is the number of bytes that were transferred.
type answer struct {
	status int
	body   string
	sent   int
	took   time.Duration
}

func newVisitor(t *testing.T, dashboard string) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	v := &visitor{url: dashboard, routes: http.NewServeMux(), assets: map[string]int{}}
	v.client = http.Client{
		Jar: jar, Timeout: time.Minute, Transport: &http.Transport{DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	t.Cleanup(v.client.CloseIdleConnections)
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.Open(filepath.Join(root, "services", "admin", "testdata", "pages.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer list.Close()
	for lines := bufio.NewScanner(list); lines.Scan(); {
		v.routes.Handle(lines.Text(), http.NotFoundHandler())
		v.patterns = append(v.patterns, lines.Text())
	}
	return v
}

func (v *visitor) signIn(t *testing.T, email, password string) {
	t.Helper()
	res, err := v.client.PostForm(v.url+"/sign-in", url.Values{"email": {email}, "password": {password}})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusSeeOther {
		t.Fatalf("sign-in: %s", res.Status)
	}
}

// get requests a path, as a browser does that accepts compressed pages.
func (v *visitor) get(ctx context.Context, path string) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.url+path, nil)
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Accept-Encoding", "gzip")
	if v.token != "" {
		req.Header.Set("Authorization", "Bearer "+v.token)
	}
	began := time.Now()
	res, err := v.client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	sent, err := io.ReadAll(res.Body)
	a := answer{status: res.StatusCode, body: string(sent), sent: len(sent), took: time.Since(began)}
	if err != nil || res.Header.Get("Content-Encoding") != "gzip" {
		return a, err
	}
	unzipped, err := gzip.NewReader(strings.NewReader(a.body))
	if err != nil {
		return a, err
	}
	plain, err := io.ReadAll(unzipped)
	a.body = string(plain)
	return a, err
}

var (
	links  = regexp.MustCompile(`href="(/[^"]*)"`)
	assets = regexp.MustCompile(`(?:src|href)="(/assets/[^"]+)"`)
)

// assetsOf returns the bytes that the assets of a page transfer.
func (v *visitor) assetsOf(ctx context.Context, body string) (sum int, err error) {
	named := map[string]bool{}
	for _, match := range assets.FindAllStringSubmatch(body, -1) {
		named[match[1]] = true
	}
	for path := range named {
		if _, known := v.assets[path]; !known {
			a, err := v.get(ctx, path)
			if err != nil {
				return 0, err
			}
			v.assets[path] = a.sent
		}
		sum += v.assets[path]
	}
	return sum, nil
}

// kind returns the route of a path and the names of its parameters; "" if it is not a page.
func (v *visitor) kind(path string) (pattern, kind string) {
	u, err := url.Parse(path)
	if err != nil || strings.HasPrefix(path, "/assets/") {
		return "", ""
	}
	_, pattern = v.routes.Handler(&http.Request{Method: http.MethodGet, URL: u})
	return pattern, fmt.Sprint(pattern, slices.Sorted(maps.Keys(u.Query())))
}

// crawl follows links from the given paths, and returns these and up to each further pages of every kind.
func (v *visitor) crawl(t *testing.T, from []string) (found []page) {
	t.Helper()
	seen, counts := map[string]bool{}, map[string]int{}
	for queue := slices.Clone(from); len(queue) > 0; queue = queue[1:] {
		path := queue[0]
		pattern, kind := v.kind(path)
		if pattern == "" || seen[path] || counts[kind] >= each && !slices.Contains(from, path) {
			continue
		}
		seen[path] = true
		a, err := v.get(t.Context(), path)
		if err != nil || a.status != http.StatusOK {
			t.Logf("%s: %d %v", path, a.status, err)
			continue
		}
		counts[kind]++
		found = append(found, page{path, pattern})
		for _, match := range links.FindAllStringSubmatch(a.body, -1) {
			link, _, _ := strings.Cut(html.UnescapeString(match[1]), "#")
			queue = append(queue, link)
		}
	}
	return found
}
