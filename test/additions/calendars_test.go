package additions

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-ical"
)

// entries reads a calendar at its address, as a calendar program does, and returns its entries by UID.
func entries(t *testing.T, address string) map[string]ical.Event {
	t.Helper()
	answer, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK || !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/calendar") {
		body, _ := io.ReadAll(answer.Body)
		t.Fatalf("%d %s: %s", answer.StatusCode, answer.Header.Get("Content-Type"), body)
	}
	calendar, err := ical.NewDecoder(answer.Body).Decode()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]ical.Event{}
	for _, e := range calendar.Events() {
		all[e.Props.Get(ical.PropUID).Value] = e
	}
	return all
}

// entry returns the only entry of a calendar.
func entry(t *testing.T, address string) ical.Event {
	t.Helper()
	for _, e := range entries(t, address) {
		return e
	}
	t.Fatalf("%s is empty", address)
	return ical.Event{}
}

func property(e ical.Event, name string) string {
	if p := e.Props.Get(name); p != nil {
		return p.Value
	}
	return ""
}

func testCalendars(t *testing.T, p *platform) {
	c := p.newCaller(t)
	ada := c.customer(t, "Ada", "Byron")
	sam, kim := c.staff(t, "Sam", nil), c.staff(t, "Kim", nil)
	kind := c.appointmentType(t, nil, sam, kim)
	subscribe := func(t *testing.T, body object) (calendar object, address string) {
		t.Helper()
		calendar = decode(t, c.Send(t, 201, post, "/calendars", body))
		return calendar, text(calendar, "url")
	}
	_, ofSam := subscribe(t, object{"kind": "staff", "staffId": sam["id"]})
	_, ofKim := subscribe(t, object{"kind": "staff", "staffId": kim["id"]})
	own, ofAda := subscribe(t, object{"kind": "customer", "customerId": ada})
	_, ofCompany := subscribe(t, object{"kind": "company"})

	made := c.appointment(t, kind, ada, 6, "12:00", object{"staffId": sam["id"]})
	first := entry(t, ofSam)
	if start, err := first.DateTimeStart(nil); err != nil || start.UTC().Format(time.RFC3339) != text(made, "startsAt") {
		t.Errorf("%v %v", start, err)
	}
	if !strings.Contains(property(first, ical.PropSummary)+property(first, ical.PropDescription), "Ada Byron") || property(first, ical.PropStatus) != "CONFIRMED" {
		t.Errorf("%v", first)
	}
	t.Run("a move keeps the UID and raises the sequence", func(t *testing.T) {
		uid := property(entry(t, ofAda), ical.PropUID)
		c.do(t, path(text(made, "id"))+"/move", object{"localStart": date(6) + "T14:00:00", "staffId": kim["id"]})
		after := entry(t, ofAda)
		if property(after, ical.PropUID) != uid || property(after, ical.PropSequence) == property(first, ical.PropSequence) {
			t.Errorf("%v", after)
		}
		if gone, came := entry(t, ofSam), entry(t, ofKim); property(gone, ical.PropStatus) != "CANCELLED" || property(came, ical.PropStatus) != "CONFIRMED" {
			t.Errorf("%v %v", gone, came)
		}
	})
	t.Run("a cancellation stays in the calendar", func(t *testing.T) {
		c.do(t, path(text(made, "id"))+"/cancel", nil)
		for _, address := range []string{ofKim, ofAda, ofCompany} {
			if got := property(entry(t, address), ical.PropStatus); got != "CANCELLED" {
				t.Errorf("%s", got)
			}
		}
	})
	t.Run("classes are in it, and texts keep their characters", func(t *testing.T) {
		title := "Drums; \"loud\", \\ and ünïcode"
		class := c.event(t, object{"title": title, "staffIds": []any{sam["id"]}, "location": "Studio, 2nd floor"})
		c.register(t, class, ada, nil)
		titles := func(address string) (all []string) {
			for _, e := range entries(t, address) {
				summary, err := e.Props.Text(ical.PropSummary)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, summary)
			}
			return all
		}
		for _, address := range []string{ofSam, ofAda, ofCompany} {
			if !slices.ContainsFunc(titles(address), func(s string) bool { return strings.Contains(s, title) }) {
				t.Errorf("%v", titles(address))
			}
		}
	})
	t.Run("a revoked address is gone", func(t *testing.T) {
		has(t, c.get(t, path(text(own, "id"))), object{"kind": "customer", "customerId": ada, "url": nil})
		c.delete(t, path(text(own, "id")))
		for _, address := range []string{ofAda, ofSam[:len(ofSam)-6] + "xx.ics"} {
			answer, err := http.Get(address)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != http.StatusNotFound {
				t.Errorf("%d", answer.StatusCode)
			}
		}
	})
}
