package admin

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// getIn requests a page with an Accept-Language header.
func (w *world) getIn(language, path string) answer {
	w.t.Helper()
	req, err := http.NewRequest(http.MethodGet, w.server.URL+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Accept-Language", language)
	return w.do(req)
}

func TestLanguageOfTheAccount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withEvent(w, "Yoga", "Ann")
	on(w.backend, "ListSessions", func(*authv1.ListSessionsRequest) (*authv1.ListSessionsResponse, error) {
		return &authv1.ListSessionsResponse{}, nil
	})
	w.get("/account").must(t, `<html lang="en-GB">`, `<option value="" selected>As the browser says</option>`, `<option value="de-CH">Deutsch (Schweiz)</option>`)
	t.Run("is kept in the browser, and answers in the new language", func(t *testing.T) {
		a := w.post("/language", "language", "de-AT", "back", "/account")
		if kept := a.cookie(languageCookie); a.to() != "/account" || kept == nil || kept.Value != "de-AT" || time.Until(kept.Expires) < 300*24*time.Hour || !kept.HttpOnly {
			t.Error(describe(a))
		}
		w.get("/account").must(t, `<html lang="de-AT">`, "Sprache und Region sind in diesem Browser gespeichert.", `<option value="de-AT" selected>Deutsch (Österreich)</option>`)
		w.get("/events/evt_1").must(t, "£\u00a012,50", "Drop-in")
	})
	t.Run("precedes the browser's language", func(t *testing.T) {
		w.getIn("en-US", "/account").must(t, `<html lang="de-AT">`)
	})
	t.Run("cannot be unknown", func(t *testing.T) {
		for _, choice := range []string{"xx", "de-DE-1996", "de_AT", "../de", "DE-at"} {
			if a := w.post("/language", "language", choice); a.StatusCode != http.StatusNotFound || a.cookie(languageCookie) != nil {
				t.Errorf("%q: %s", choice, describe(a))
			}
		}
		w.setCookie(languageCookie, "xx")
		w.get("/account").must(t, `<html lang="en-GB">`, `<option value="" selected>`)
	})
	t.Run("follows the browser again", func(t *testing.T) {
		w.setCookie(languageCookie, "de-AT")
		if a := w.post("/language", "language", "", "back", "/account"); a.to() != "/account" || a.cookie(languageCookie).MaxAge >= 0 {
			t.Error(describe(a))
		}
		w.getIn("en-US,en;q=0.9", "/account").must(t, `<html lang="en-US">`, `<option value="" selected>`)
	})
}

func TestLanguageOfTheSignInPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.getIn("de-CH, en;q=0.5", "/sign-in?next=%2Fweek").must(t, `<html lang="de-CH">`, "Passwort vergessen?", `name="back" value="/sign-in?next=%2Fweek"`,
		`value="en" lang="en">English</button>`, `value="de" lang="de" aria-current="true">Deutsch</button>`)
	if a := w.send("/language", url.Values{"language": {"de"}, "back": {"/sign-in?next=%2Fweek"}}, nil); a.to() != "/sign-in?next=%2Fweek" || a.cookie(languageCookie).Value != "de" {
		t.Error(describe(a))
	}
	w.getIn("en-US, de-CH;q=0.5", "/sign-in").must(t, `<html lang="de-CH">`)
	w.getIn("en-US", "/sign-in").must(t, `<html lang="de-DE">`, "Anmelden")
	for _, elsewhere := range []string{"https://evil.test/", "//evil.test", `/\evil.test`} {
		if a := w.send("/language", url.Values{"language": {"en"}, "back": {elsewhere}}, nil); a.to() != "/" {
			t.Errorf("%q: %s", elsewhere, describe(a))
		}
	}
}

func TestWeeksBeginAsTheLocaleSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withEvent(w, "Yoga", "Ann")
	for language, want := range map[string][]string{
		"en-GB": {"16 November", "22 November 2026", "/week?from=2026-11-09", "/week?from=2026-11-23", "09:00"},
		"en-US": {"November 15", "November 21, 2026", "/week?from=2026-11-08", "/week?from=2026-11-22", "9\u00a0AM"},
		"de-DE": {"16. November", "22. November 2026", "/week?from=2026-11-09", "/week?from=2026-11-23", "09:00"},
	} {
		w.getIn(language, "/week?from=2026-11-18").must(t, want...)
	}
	days := func(language, path string) string {
		body := w.getIn(language, path).body
		var found []string
		for at := range strings.SplitSeq(body, `name="days" value="`) {
			found = append(found, at[:2])
		}
		return strings.Join(found[1:], " ")
	}
	if uk, us := days("en-GB", "/events/new"), days("en-US", "/events/new"); uk != "MO TU WE TH FR SA SU" || us != "SU MO TU WE TH FR SA" {
		t.Errorf("the days are %q and %q", uk, us)
	}
}

func TestAmountsAreTypedAsTheLocaleSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	event, _ := withEvent(w, "Yoga", "Ann")
	on(w.backend, "UpdateEvent", func(*bookingv1.UpdateEventRequest) (*bookingv1.UpdateEventResponse, error) {
		return &bookingv1.UpdateEventResponse{Event: event}, nil
	})
	w.setCookie(languageCookie, "de-DE")
	w.get("/events/evt_1/prices/po-1").must(t, `name="price" type="text" value="12,50"`)
	w.post("/events/evt_1/prices/po-1", "name", "Drop-in", "price", "1.250,00", "tax", "17,5", "credits", "")
	if o := last[*bookingv1.UpdateEventRequest](w, "UpdateEvent").GetPricingOptions()[0]; o.GetPrice() != 125000 || o.GetTaxRateBasisPoints() != 1750 {
		t.Errorf("%v", o)
	}
	w.post("/events/evt_1/prices/po-1", "name", "Drop-in", "price", "1,250.00", "tax", "", "credits", "").must(t, "Preis: Geben Sie einen Betrag ein, zum Beispiel 12,50.")
}
