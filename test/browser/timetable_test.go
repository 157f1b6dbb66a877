package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"

	"reservation.dev/test/harness"
)

// studio is a website with the timetable of docs/examples. The page reads Interface B through a
// proxy that keeps the status of each response.
type studio struct {
	*world
	key, proxy string

	mu       sync.Mutex
	statuses []int
}

// testTimetable looks at the timetable on a phone, at the site of a studio.
func (w *world) testTimetable(t *testing.T) {
	s := &studio{world: w}
	s.startProxy(t)
	own, other := s.site(t), s.site(t)
	s.createKey(t, own)
	b := w.chromium.tab(t, own.URL)
	b.size(390, 844)
	command(b, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Pacific/Auckland"})
	own.Config.Handler = s.page(t)
	other.Config.Handler = own.Config.Handler
	b.step("it shows this week, and fits a phone", func(t *testing.T) {
		b.open("/")
		b.until(`document.querySelectorAll("main li").length > 3`)
		b.says("Morning Vinyasa", "07:30", "from £14.00")
		if width := eval[int](b, "document.scrollingElement.scrollWidth"); width > 390 {
			t.Errorf("it is %d pixels wide", width)
		}
	})
	b.step("the browser revalidates with the ETag", func(t *testing.T) {
		s.takeStatuses()
		b.script(`document.getElementById("today").click()`)
		b.until(`document.body.getAttribute("aria-busy") === "false"`)
		if got := s.takeStatuses(); !slices.Equal(got, []int{http.StatusNotModified}) {
			t.Errorf("the responses are %v, want one 304", got)
		}
	})
	b.step("a week without dates of the type says so", func(*testing.T) {
		b.script(`type.value = "appointment"; type.onchange()`)
		b.until(`document.querySelector("main").childElementCount === 0 && notice.innerText.includes("Nothing takes place")`)
		b.script(`type.value = ""; type.onchange()`)
		b.until(`document.querySelectorAll("main li").length > 3`)
	})
	b.step("dates around a clock change are on the studio's days", func(t *testing.T) { s.testClockChange(t, b) })
	b.step("a refusal is shown", func(*testing.T) {
		b.script(`(async () => { for (let i = 0; i < 61; i++) await show(); })()`)
		b.until(`document.querySelector("[role=alert]")?.innerText.includes("Try again in")`)
	})
	b = w.chromium.tab(t, other.URL)
	b.step("a page that the key does not allow shows why", func(*testing.T) {
		b.open("/")
		b.until(`document.querySelector("[role=alert]")?.innerText.includes("No timetable: ")`)
	})
}

// testClockChange shows an event with dates in the first and the last hour of the day on which the
// clocks change, and in the first hour of the next day.
func (s *studio) testClockChange(t *testing.T, b *tab) {
	zone, err := time.LoadLocation("Europe/London")
	if err != nil {
		t.Fatal(err)
	}
	_, change := time.Now().AddDate(0, 0, 7).In(zone).ZoneBounds()
	y, m, d := change.In(zone).Date() // a Sunday
	var dates []string
	for _, hour := range []int{0, 23, 24} {
		dates = append(dates, fmt.Sprintf(`{"startsAt":%q,"duration":30}`, time.Date(y, m, d, hour, 15, 0, 0, zone).Format(time.RFC3339)))
	}
	s.post(t, "/events", fmt.Sprintf(`{"title":"Clocks","type":"event","capacity":1,"dates":[%s]}`, strings.Join(dates, ",")))
	rows := `[...document.querySelectorAll("main li")].filter(li => li.innerText.includes("Clocks")).map(li =>
		[li.parentElement.previousElementSibling.innerText, li.querySelector("time").innerText, li.querySelector(".spots").innerText.split("\n")[0]].join(" "))`
	sunday, monday := change.In(zone).Format("Monday 2 January"), change.In(zone).AddDate(0, 0, 1).Format("Monday 2 January")
	b.script(fmt.Sprintf(`monday = mondayOf(dayOf(new Date(%d))); show()`, change.UnixMilli()))
	b.until(`week.innerText.endsWith(` + quote(t, sunday) + `) && document.body.getAttribute("aria-busy") === "false"`)
	if got, want := eval[[]string](b, rows), []string{sunday + " 00:15 1 space left", sunday + " 23:15 1 space left"}; !slices.Equal(got, want) {
		t.Errorf("the week shows %q, want %q", got, want)
	}
	b.script(`document.getElementById("later").click()`)
	b.until(`week.innerText.startsWith(` + quote(t, monday) + `) && document.body.getAttribute("aria-busy") === "false"`)
	if got, want := eval[[]string](b, rows), []string{monday + " 00:15 1 space left"}; !slices.Equal(got, want) {
		t.Errorf("the next week shows %q, want %q", got, want)
	}
}

// script runs statements in the page. It does not wait for promises.
func (b *tab) script(statements string) {
	b.t.Helper()
	eval[bool](b, `(() => { `+statements+`; return true; })()`)
}

// startProxy starts the proxy in front of Interface B.
func (s *studio) startProxy(t *testing.T) {
	t.Helper()
	target, err := url.Parse(s.Credentials.InterfaceB.BaseURL)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: target.Scheme, Host: target.Host}) },
		ModifyResponse: func(res *http.Response) error {
			if res.Request.Method == http.MethodGet {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.statuses = append(s.statuses, res.StatusCode)
			}
			return nil
		},
	})
	t.Cleanup(server.Close)
	s.proxy = server.URL + target.Path
}

// takeStatuses returns the statuses of the responses since the last call.
func (s *studio) takeStatuses() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	statuses := s.statuses
	s.statuses = nil
	return statuses
}

// site starts a website. Its handler is set later, because the page contains a key for its address.
func (s *studio) site(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	return server
}

// createKey creates a publishable key for the pages of a site.
func (s *studio) createKey(t *testing.T, site *httptest.Server) {
	t.Helper()
	out := harness.Run(t, harness.Command{
		Program: "reservectl", Env: map[string]string{"RESERVATION_CREDENTIALS": s.CredentialsFile()},
		Args: []string{"publishable-key", "create", "--name", "Timetable", "--origin", site.URL},
	}).Succeeded(t)
	var key struct{ ID string }
	if err := json.Unmarshal([]byte(out), &key); err != nil {
		t.Fatal(err)
	}
	s.key = key.ID
}

// page serves the example with the address and the key of this platform.
func (s *studio) page(t *testing.T) http.HandlerFunc {
	t.Helper()
	text, err := os.ReadFile("../../docs/examples/timetable/timetable.html")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.NewReplacer("http://127.0.0.1:8081/api/v1", s.proxy, "pub_00000000000000000000000000", s.key).Replace(string(text))
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(page))
	}
}

// post sends a request that creates a resource of Interface B.
func (s *studio) post(t *testing.T, path, body string) {
	t.Helper()
	b := harness.NewB(t, s.Credentials.InterfaceB.BaseURL)
	token := b.Token(t, harness.Credential{ID: s.Credentials.InterfaceB.APIKey, Secret: s.Credentials.InterfaceB.APISecret})
	if err := b.Do(t, harness.Request{Path: path, Token: token, Body: body}).Want(http.StatusCreated, nil); err != nil {
		t.Fatal(err)
	}
}
