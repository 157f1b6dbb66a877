package admin

import (
	"regexp"
	"strings"
	"testing"
)

// emptyChoice matches a required select whose first value is empty. Browsers do not submit a
// form with one.
var emptyChoice = regexp.MustCompile(`<select[^>]* required[^>]*>\s*<option value=""`)

func TestNewEventsAreNotAppointments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	page := w.page("/events/new")
	if strings.Contains(page, `value="appointment"`) || !strings.Contains(page, `href="/appointment-types/new"`) || !strings.Contains(page, `value="class"`) {
		t.Error(page)
	}
}

func TestRequiredSelectsHaveAValue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withEvent(w, "Yoga", "Ann")
	for _, path := range []string{"/events/new", "/events/evt_1/dates/new", "/discounts/new", "/events/evt_1/dates/date_1/book?customer=cust_1"} {
		if at := emptyChoice.FindString(w.page(path)); at != "" {
			t.Errorf("%s: %s", path, at)
		}
	}
}
