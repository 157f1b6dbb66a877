package additions

import (
	"net/http"
	"strings"
	"testing"
	"time"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	"reservation.dev/test/harness"
)

const (
	origin      = "https://studio.example"
	otherOrigin = "https://shop.example"
	// publicRequests is the number of requests a minute for each client address.
	publicRequests = 60
)

// page is a web page that reads with a publishable key.
type page struct {
	client *harness.A
	key    string
	sent   int // the requests that count against the limit: all but those refused with 403
}

// from sends a request as the page of an origin does.
func (p *page) from(t *testing.T, origin, method, at string) harness.Answer {
	t.Helper()
	header := http.Header{"Origin": {origin}}
	r := harness.Request{Method: method, Path: at, Header: header}
	if method == http.MethodOptions {
		header.Set("Access-Control-Request-Method", get)
		header.Set("Access-Control-Request-Headers", "authorization")
	} else {
		r.Token = p.key
	}
	answer := p.client.Do(t, r)
	if method != http.MethodOptions && answer.Code != 403 && answer.Code != 429 {
		p.sent++
	}
	return answer
}

func testPublishableKeys(t *testing.T, p *platform) {
	c := p.newCaller(t)
	published, draft := c.event(t, nil), c.event(t, object{"title": "Secret", "status": "draft"})
	active, archived := c.passType(t, nil), c.passType(t, nil)
	c.change(t, text(archived, "id"), object{"status": "archived"})
	customer := c.customer(t, "Ada", "Byron")
	made, err := p.operator.PublishableKeys.CreatePublishableKey(c.company.Ctx(t.Context()), &authv1.CreatePublishableKeyRequest{Name: "Website", Origins: []string{origin}})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	web := &page{client: harness.NewA(t, p.Credentials.InterfaceB.BaseURL), key: made.GetPublishableKey().GetId()}

	t.Run("the key is the token, and reads what is published", func(t *testing.T) {
		if !strings.HasPrefix(web.key, "pub_") {
			t.Errorf("the key is %s", web.key)
		}
		for list, want := range map[string]string{"/events": text(published, "id"), "/event-dates": text(published, "dates.0.id"), "/passes": text(active, "id")} {
			answer := web.from(t, origin, get, list)
			answer.Into(t, 200, nil)
			if got := ids(items(t, decode(t, answer), collection(list))); len(got) != 1 || got[0] != want {
				t.Errorf("%s: %v, want %s", list, got, want)
			}
			if got := answer.Header.Get("Access-Control-Allow-Origin"); got != origin {
				t.Errorf("%s: Access-Control-Allow-Origin is %q", list, got)
			}
			web.from(t, origin, get, path(want)).Into(t, 200, nil)
		}
	})
	t.Run("it does not read what is not published", func(t *testing.T) {
		for _, hidden := range []string{text(draft, "id"), text(draft, "dates.0.id"), text(archived, "id")} {
			web.from(t, origin, get, path(hidden)).Into(t, 404, nil)
		}
	})
	t.Run("it reads nothing about people, and writes nothing", func(t *testing.T) {
		for _, private := range []string{"/customers", path(customer), "/registrations", "/transactions", "/waitlist-entries", "/customer-passes", "/discount-codes", "/webhook-endpoints"} {
			web.from(t, origin, get, private).Into(t, 403, nil)
		}
		web.from(t, origin, remove, path(text(published, "id"))).Into(t, 403, nil)
	})
	t.Run("pages of other origins are refused", func(t *testing.T) {
		answer := web.from(t, otherOrigin, get, "/events")
		if answer.Code != 403 || answer.Header.Get("Access-Control-Allow-Origin") == otherOrigin {
			t.Errorf("%d, %v", answer.Code, answer.Header)
		}
	})
	t.Run("a browser may send the key", func(t *testing.T) {
		answer := web.from(t, origin, http.MethodOptions, "/events")
		if answer.Code/100 != 2 || answer.Header.Get("Access-Control-Allow-Origin") == "" ||
			!strings.Contains(strings.ToLower(answer.Header.Get("Access-Control-Allow-Headers")), "authorization") ||
			!strings.Contains(answer.Header.Get("Access-Control-Allow-Methods"), get) {
			t.Errorf("%d, %v", answer.Code, answer.Header)
		}
	})
	t.Run("a client address has 60 requests a minute", func(t *testing.T) {
		refused := web.from(t, origin, get, "/passes")
		for ; refused.Code == 200; refused = web.from(t, origin, get, "/passes") {
			// A slow machine sends some of them in the next minute.
			if minutes := int(time.Since(began)/time.Minute) + 1; web.sent > minutes*publicRequests {
				t.Fatalf("%d requests in less than %d minutes", web.sent, minutes)
			}
		}
		if web.sent < publicRequests {
			t.Errorf("only %d requests are answered", web.sent)
		}
		if refused.Into(t, 429, nil); refused.Reason() != "RATE_LIMIT_EXCEEDED" || refused.Header.Get("Retry-After") == "" {
			t.Errorf("%v: %s", refused.Header, refused.Body)
		}
	})
}
