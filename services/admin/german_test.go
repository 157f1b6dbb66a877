package admin

import (
	cmdline "flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// germanPages counts the pages that tests have requested in German, by the pattern of the route.
var germanPages = struct {
	sync.Mutex
	count map[string]int
}{count: map[string]int{}}

// germanEnough is how often a page is requested in German, with the data of as many tests.
const germanEnough = 5

// withoutPage are the addresses that lead to another page, and those of downloads.
var withoutPage = []string{"GET /dates/{date}", "GET /settings", "GET /customers/{id}/export", "GET /exports/file", "GET /reports/{report}/csv"}

// TestMain tests, after all tests, that they have requested every page in German.
func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 && isWholeSuite() {
		for _, r := range routes() {
			if strings.HasPrefix(r.pattern, "GET ") && germanPages.count[r.pattern] == 0 && !slices.Contains(withoutPage, r.pattern) {
				fmt.Printf("FAIL: no test shows the page %s, so its German texts are not tested\n", r.pattern)
				code = 1
			}
		}
	}
	os.Exit(code)
}

// isWholeSuite reports whether all tests of the package were run.
func isWholeSuite() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.fuzz", "test.bench"} {
		if cmdline.Lookup(name).Value.String() != "" {
			return false
		}
	}
	return true
}

// englishSentences are the messages that a page in another language cannot have.
var englishSentences = sync.OnceValue(func() []string {
	p, err := embeddedPages()
	if err != nil {
		panic(err)
	}
	english, german := p.catalogue.of("en-GB", ""), p.catalogue.of("de-AT", "")
	var all []string
	for id := range english.ids {
		m, err := english.localize(id, nil, false)
		if other, _ := german.localize(id, nil, false); err == nil && m != other && strings.Count(m, " ") > 2 {
			all = append(all, m)
		}
	}
	return all
})

// inGerman requests a page, which a test has just requested, in German. Each page has to be complete and without
// English sentences. The backend does not record the calls.
func (w *world) inGerman(req *http.Request, res *http.Response) {
	w.t.Helper()
	_, pattern := w.web.mux.Handler(req)
	if req.Method != http.MethodGet || res.StatusCode != http.StatusOK || req.Header.Get("Accept-Language") != "" || strings.Contains(req.Header.Get("Cookie"), languageCookie+"=") ||
		strings.HasPrefix(req.URL.Path, "/docs") || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") || req.Header.Get("Hx-Request") != "" {
		return
	}
	germanPages.Lock()
	germanPages.count[pattern]++
	enough := germanPages.count[pattern] > germanEnough
	germanPages.Unlock()
	if enough {
		return
	}
	again := req.Clone(req.Context())
	again.Header.Del("Cookie") // the browser adds its present ones
	again.Header.Del("Accept-Encoding")
	again.Header.Set("Accept-Language", "de-AT")
	w.backend.setSilent(true)
	defer w.backend.setSilent(false)
	page, err := w.client.Do(again)
	if err != nil {
		w.t.Fatal(err)
	}
	defer page.Body.Close()
	raw, err := io.ReadAll(page.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	body := string(raw)
	if page.StatusCode != http.StatusOK || !strings.Contains(body, `<html lang="de-AT">`) || strings.Contains(body, "⟦") {
		w.t.Errorf("%s in German: %d\n%s", req.URL, page.StatusCode, body)
	}
	words := text(body)
	for _, sentence := range englishSentences() {
		if strings.Contains(words, sentence) {
			w.t.Errorf("%s in German says %q", req.URL, sentence)
		}
	}
}

// TestOtherPagesInGerman shows the pages that no other test shows.
func TestOtherPagesInGerman(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withSalon(w)
	withLibrary(w)
	withEndlessPass(w)
	withEvent(w, "Yoga", "Ann")
	colleague := withColleague(w)
	on(w.backend, "ListAdministrators", func(*authv1.ListAdministratorsRequest) (*authv1.ListAdministratorsResponse, error) {
		return &authv1.ListAdministratorsResponse{Administrators: []*authv1.Administrator{colleague}}, nil
	})
	on(w.backend, "ListInvitations", func(*authv1.ListInvitationsRequest) (*authv1.ListInvitationsResponse, error) {
		return &authv1.ListInvitationsResponse{Invitations: []*authv1.Invitation{{Id: "inv_1", Email: "ben@example.com", Role: authv1.AdministratorRole_ADMINISTRATOR_ROLE_TEACHER, ExpiresAt: timestamppb.Now()}}}, nil
	})
	on(w.backend, "GetApiKey", func(*authv1.GetApiKeyRequest) (*authv1.GetApiKeyResponse, error) {
		return &authv1.GetApiKeyResponse{ApiKey: &authv1.ApiKey{Id: "key_1", Name: "Website"}}, nil
	})
	endpoint := &webhookv1.Endpoint{Id: "whe_1", Url: "https://example.com/hook"}
	on(w.backend, "GetEndpoint", func(*webhookv1.GetEndpointRequest) (*webhookv1.GetEndpointResponse, error) {
		return &webhookv1.GetEndpointResponse{Endpoint: endpoint}, nil
	})
	on(w.backend, "ListEndpoints", func(*webhookv1.ListEndpointsRequest) (*webhookv1.ListEndpointsResponse, error) {
		return &webhookv1.ListEndpointsResponse{Endpoints: []*webhookv1.Endpoint{endpoint}}, nil
	})
	on(w.backend, "GetEntitlement", func(*mediav1.GetEntitlementRequest) (*mediav1.GetEntitlementResponse, error) {
		return &mediav1.GetEntitlementResponse{Entitlement: &mediav1.Entitlement{Id: "ent_5", CollectionId: "col_1", EventId: "evt_1"}}, nil
	})
	for _, path := range []string{
		"/settings/administrators", "/events/evt_1/cancel", "/rooms/room_1/time-off/off_1/delete", "/passes/cp_1/pause", "/collections/col_1/access/ent_5/remove",
		"/settings/api-keys/key_1/disable", "/settings/webhooks/replay", "/settings/webhooks/whe_1/rotate",
	} {
		w.page(path)
	}
}
