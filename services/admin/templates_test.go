package admin

import (
	"regexp"
	"testing"
)

// emptyChoice is a select that must have a value and whose first one is empty:
// browsers do not send its form.
var emptyChoice = regexp.MustCompile(`<select[^>]* required[^>]*>\s*<option value=""`)

func TestChoicesCanBeLeft(t *testing.T) {
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
