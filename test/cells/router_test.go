package cells

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	"reservation.dev/test/harness"
)

// routed is a company whose clients reach it through the router.
type routed struct {
	*shop
	key         harness.Credential // for Interface B
	publishable string
}

// openBehind creates a company in a cell behind a router, with a client.
func openBehind(t *testing.T, r *harness.Router, c *cell) *routed {
	t.Helper()
	s := &routed{shop: &shop{company: c.op.NewCompany(t, "Europe/London")}}
	client := s.company.NewClient(t)
	s.key = s.company.NewKey(t, 10_000)
	res, err := c.op.PublishableKeys.CreatePublishableKey(s.company.Ctx(t.Context()), &authv1.CreatePublishableKeyRequest{Name: "Website"})
	if err != nil {
		t.Fatal(err)
	}
	s.publishable = res.GetPublishableKey().GetId()
	began := time.Now()
	r.Await(t, "companies", s.company.ID)
	r.Await(t, "credentials", client.ID, s.key.ID, s.publishable)
	t.Logf("new credentials of %s can be used after %s", c.name, time.Since(began).Round(time.Millisecond))
	var credentials harness.Credentials
	credentials.InterfaceA.BaseURL, credentials.InterfaceA.ClientID, credentials.InterfaceA.ClientSecret = r.URL, client.ID, client.Secret
	credentials.InterfaceB.BaseURL, credentials.InterfaceB.APIKey, credentials.InterfaceB.APISecret = r.URL+"/api/v1", s.key.ID, s.key.Secret
	s.client = harness.NewRetryingClient(t, credentials)
	s.pass = s.create(t, "/passes", `{"title":"Ten","totalUses":10,"validityCount":1,"validityUnit":"month","price":90,"currency":"GBP"}`, "pass")
	return s
}

// token returns an access token for Interface B.
func (s *routed) token(t *testing.T, b *harness.A) string {
	t.Helper()
	var made struct{ Token string }
	b.Do(t, harness.KeyTokenRequest(s.key)).Into(t, http.StatusOK, &made)
	return made.Token
}

// calendar creates a calendar of the client's customer, and returns its path.
func (s *routed) calendar(t *testing.T) string {
	t.Helper()
	answer, err := s.client.Write(t.Context(), "/calendars", fmt.Sprintf(`{"kind":"customer","customerId":%q}`, s.client.Customer()), "calendar", http.StatusCreated)
	if err != nil {
		t.Fatal(err)
	}
	var made struct{ URL string }
	if err := json.Unmarshal(answer.Body, &made); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(made.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u.Path
}

// upload uploads a part of a media item through the router.
func (s *routed) upload(t *testing.T, router *harness.A) {
	t.Helper()
	item := s.create(t, "/media", `{"title":"Poster","kind":"image"}`, "media")
	answer, err := s.client.Write(t.Context(), "/media/"+item+"/uploads", `{"fileName":"poster.png","contentType":"image/png","size":8}`, "upload", http.StatusCreated)
	if err != nil {
		t.Fatal(err)
	}
	var made struct{ PartURL string }
	if err := json.Unmarshal(answer.Body, &made); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(made.PartURL)
	if err != nil {
		t.Fatal(err)
	}
	answer = router.Do(t, harness.Request{Method: http.MethodPut, Path: u.Path + "/1", Body: "\x89PNG\r\n\x1a\n", Media: "image/png"})
	if answer.Code >= http.StatusBadRequest {
		t.Errorf("a part of an upload: %d %s", answer.Code, answer.Body)
	}
}

// gap measures the longest time in which nobody's request succeeds.
type gap struct {
	stop chan struct{}
	done sync.WaitGroup
	max  time.Duration
}

func (f *traffic) watch() *gap {
	g := &gap{stop: make(chan struct{})}
	g.done.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		n, since := f.count(), time.Now()
		for {
			select {
			case <-g.stop:
				return
			case now := <-tick.C:
				if count := f.count(); count != n {
					n, since = count, now
				}
				g.max = max(g.max, now.Sub(since))
			}
		}
	})
	return g
}

func (g *gap) end() time.Duration {
	close(g.stop)
	g.done.Wait()
	return g.max
}

// reload lets HAProxy read the maps again, and waits until it has.
func reload(t *testing.T, router *harness.Router) {
	t.Helper()
	before, err := router.PID()
	if err != nil {
		t.Fatal(err)
	}
	router.Reload()
	harness.Eventually(t, 20*time.Second, func() error {
		after, err := router.PID()
		if err == nil && after == before {
			err = errors.New("HAProxy has not reloaded")
		}
		return err
	})
}

// forge returns a token with the company of another one.
func forge(t *testing.T, token, company string) string {
	t.Helper()
	parts := strings.Split(token, ".")
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	var claims map[string]any
	if err := json.Unmarshal(text, &claims); err != nil {
		t.Fatal(err)
	}
	claims["cid"] = company
	if text, err = json.Marshal(claims); err != nil {
		t.Fatal(err)
	}
	parts[1] = base64.RawURLEncoding.EncodeToString(text)
	return strings.Join(parts, ".")
}

// TestSlowRouterSendsRequestsToTheCellOfTheirCompany uses two cells through HAProxy and the directory.
func TestSlowRouterSendsRequestsToTheCellOfTheirCompany(t *testing.T) {
	t.Parallel()
	harness.Program(t, "standalone", "reservectl", "directory")
	var s shared
	west := newCell(t, "west", &s, nil)
	east := newCell(t, "east", &s, nil)
	router := harness.StartRouter(t, map[string]*harness.Standalone{"west": west.Standalone, "east": east.Standalone})
	moving, neighbour, resident := openBehind(t, router, west), openBehind(t, router, west), openBehind(t, router, east)
	test := moving.company.TestMode(t)
	a, b := harness.NewA(t, router.URL), harness.NewA(t, router.URL+"/api/v1")

	calendars := []string{moving.calendar(t), resident.calendar(t)}
	readCalendars := func() {
		t.Helper()
		for _, path := range calendars {
			if answer := a.Do(t, harness.Request{Path: path}); answer.Code != http.StatusOK {
				t.Errorf("a calendar: %d %s", answer.Code, answer.Body)
			}
		}
	}
	readCalendars()
	moving.upload(t, a)
	resident.upload(t, a)
	if answer := a.Do(t, harness.Request{Path: "/calendar/unknown.ics"}); answer.Code != http.StatusNotFound || answer.Reason() != "NOT_FOUND" {
		t.Errorf("an unknown calendar: %d %s", answer.Code, answer.Body)
	}

	t.Log("publishable keys, tokens in test mode and unknown credentials")
	for _, c := range []*routed{moving, resident} {
		if answer := b.Do(t, harness.Request{Path: "/events", Token: c.publishable}); answer.Code != http.StatusOK {
			t.Errorf("a publishable key: %d %s", answer.Code, answer.Body)
		}
	}
	testKey := test.NewKey(t, 0)
	router.Await(t, "credentials", testKey.ID)
	inTest := (&routed{key: testKey}).token(t, b)
	if answer := b.Do(t, harness.Request{Path: "/events", Token: inTest}); answer.Code != http.StatusOK {
		t.Errorf("in test mode: %d %s", answer.Code, answer.Body)
	}
	unknown := harness.Credential{ID: "m2m_01jb4x9m3vf6ksn8w2d7pq5r0t", Secret: strings.Repeat("0", 64)}
	for name, request := range map[string]harness.Request{
		"JSON": harness.TokenRequest(unknown),
		"a form": {Path: "/token", Media: "application/x-www-form-urlencoded",
			Body: "grant_type=client_credentials&client_id=" + unknown.ID + "&client_secret=" + unknown.Secret},
	} {
		if answer := a.Do(t, request); answer.Code != http.StatusUnauthorized {
			t.Errorf("unknown credentials in %s: %d %s", name, answer.Code, answer.Body)
		}
	}
	forged := forge(t, neighbour.token(t, b), resident.company.ID)
	if answer := b.Do(t, harness.Request{Path: "/events", Token: forged}); answer.Code != http.StatusUnauthorized {
		t.Errorf("a token that lies about its company: %d %s", answer.Code, answer.Body)
	}

	f, next, there := moving.start(t), neighbour.start(t), resident.start(t)
	f.awaitMore(t)

	t.Log("the directory is killed, and HAProxy reloads without it")
	bearer := resident.token(t, b)
	router.Directory.Kill(t)
	reload(t, router)
	f.awaitMore(t)
	there.awaitMore(t)

	t.Log("the files of the maps are lost: clients are not refused as unknown, and repeat")
	router.LoseMaps(t)
	reload(t, router)
	for name, request := range map[string]harness.Request{
		"a token": {Path: "/events", Token: bearer}, "a publishable key": {Path: "/events", Token: resident.publishable},
		"a request for a token": harness.KeyTokenRequest(resident.key),
	} {
		if answer := b.Do(t, request); answer.Code != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
			t.Errorf("%s without maps: %d %s", name, answer.Code, answer.Body)
		}
	}
	late := neighbour.company.NewKey(t, 0)
	router.Directory.Start(t)
	router.Await(t, "credentials", late.ID)
	there.awaitMore(t)
	for _, name := range []string{late.ID, neighbour.key.ID} {
		if n := router.Lines(t, "credentials", name); n != 1 {
			t.Errorf("the map has %d lines of %s", n, name)
		}
	}

	t.Log("a cell is down")
	west1, east1 := neighbour.client.Repeats(), resident.client.Repeats()
	token := resident.token(t, b)
	east.Kill(t)
	harness.Eventually(t, 20*time.Second, func() error {
		for name, request := range map[string]harness.Request{
			"A": {Path: "/customers", Token: token}, "B": {Path: "/api/v1/events", Token: token},
		} {
			answer, err := a.Try(t.Context(), request)
			if err != nil || answer.Code != http.StatusServiceUnavailable || answer.Reason() != "SERVICE_UNAVAILABLE" || answer.Header.Get("Retry-After") == "" {
				return fmt.Errorf("%s: %d %s %w", name, answer.Code, answer.Body, err)
			}
		}
		return nil
	})
	f.awaitMore(t)
	next.awaitMore(t)
	if n := neighbour.client.Repeats(); n != west1 {
		t.Errorf("%d requests of another cell were repeated", n-west1)
	}
	east.Start(t)
	east.AwaitReady(t)
	there.awaitMore(t)
	fmt.Printf("router: while a cell was down, its company repeated %d requests, and the other cell's none\n", resident.client.Repeats()-east1)

	t.Log("a company moves")
	g, west1, east1 := f.watch(), neighbour.client.Repeats(), resident.client.Repeats()
	out, _ := newCommand(t, moving.company.ID, west, east).run(t, "")
	var result struct {
		State    string
		FrozenMS int64 `json:"frozen_ms"`
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil || result.State != "moved" {
		t.Fatalf("%s: %v", out, err)
	}
	f.awaitMore(t)
	fmt.Printf("router: a company moved; no cell answered for %d ms; the longest gap between its requests was %d ms\n", result.FrozenMS, g.end().Milliseconds())
	for _, one := range []*traffic{f, next, there} {
		one.end()
	}
	for _, other := range []struct {
		*routed
		before int64
	}{{neighbour, west1}, {resident, east1}} {
		if n := other.client.Repeats(); n != other.before {
			t.Errorf("%d requests of another company were repeated", n-other.before)
		}
	}
	f.check(t, east)
	next.check(t, west)
	there.check(t, east)
	readCalendars()
	if answer := b.Do(t, harness.Request{Path: "/events", Token: moving.publishable}); answer.Code != http.StatusOK {
		t.Errorf("a publishable key after the move: %d %s", answer.Code, answer.Body)
	}
	arrived := east.op.Company(moving.company.ID).NewKey(t, 0)
	router.Await(t, "credentials", arrived.ID)
	(&routed{key: arrived}).token(t, b)
	if n := router.Conflicts(t); n != "0" {
		t.Errorf("the directory has %s conflicts after the move", n)
	}
}
