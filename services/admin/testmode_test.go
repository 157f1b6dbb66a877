package admin

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// newTestWorld is a dashboard in test mode, at noon of 23 November 2026.
func newTestWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.atNoon("2026-11-23")
	w.signIn()
	w.enter(testMode)
	on(w.backend, "AdvanceTestClock", func(req *authv1.AdvanceTestClockRequest) (*authv1.AdvanceTestClockResponse, error) {
		return &authv1.AdvanceTestClockResponse{Clock: &authv1.TestClock{Now: req.GetTo()}}, nil
	})
	return w
}

// atNoon sets the clock of the dashboard.
func (w *world) atNoon(day string) {
	w.t.Helper()
	midnight, err := time.Parse(time.DateOnly, day)
	if err != nil {
		w.t.Fatal(err)
	}
	w.web.now = func() time.Time { return midnight.Add(12 * time.Hour) }
}

// move sends the form that moves the clock.
func (w *world) move(pairs ...string) answer {
	w.t.Helper()
	values := url.Values{csrfField: {tokenOf(sessionToken, testMode)}, keyField: {strings.Repeat("k", 26)}}
	for i := 0; i+1 < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
	}
	return w.send(testModePath+"/clock", values, nil)
}

// movedTo returns the time to which the only call moves the clock.
func (w *world) movedTo() string {
	w.t.Helper()
	calls := w.backend.called("AdvanceTestClock")
	if len(calls) != 1 {
		w.t.Fatalf("the clock is moved %d times", len(calls))
	}
	return calls[0].req.(*authv1.AdvanceTestClockRequest).GetTo().AsTime().Format(time.RFC3339)
}

func TestMovingTheTestClock(t *testing.T) {
	t.Parallel()
	w := newTestWorld(t)
	for _, c := range []struct{ day, step, want string }{
		{"2026-11-23", "hour", "2026-11-23T13:00:00Z"},
		{"2026-11-23", "day", "2026-11-24T12:00:00Z"},
		{"2026-11-23", "week", "2026-11-30T12:00:00Z"},
		{"2026-11-23", "month", "2026-12-23T12:00:00Z"},
		{"2027-01-31", "month", "2027-02-28T12:00:00Z"},
		{"2027-12-31", "month", "2028-01-31T12:00:00Z"},
		{"2027-03-27", "day", "2027-03-28T11:00:00Z"}, // the clocks go forward in London
	} {
		w.atNoon(c.day)
		w.backend.count()
		from := w.web.now().Format(time.RFC3339)
		w.get(testModePath).must(t, `name="from" value="`+from, `name="step" value="`+c.step+`"`)
		if a := w.move("step", c.step, "from", from); a.to() != testModePath {
			t.Error(describe(a))
		}
		if got := w.movedTo(); got != c.want {
			t.Errorf("a %s from %s leads to %s, want %s", c.step, c.day, got, c.want)
		}
	}
	w.atNoon("2027-06-01")
	from := w.web.now().Format(time.RFC3339)
	t.Run("repeats a form that is sent twice with the same key, and another one with another key", func(t *testing.T) {
		w.backend.count()
		w.move("step", "hour", "from", from)
		w.move("step", "hour", "from", from)
		w.move("step", "day", "from", from)
		calls := w.backend.called("AdvanceTestClock")
		if len(calls) != 3 || calls[0].key == "" || calls[0].key != calls[1].key || calls[1].key == calls[2].key {
			t.Errorf("%v", calls)
		}
	})
	t.Run("takes a time in the company's zone", func(t *testing.T) {
		w.backend.count()
		a := w.move("to", "2027-07-01T09:30")
		if got := w.movedTo(); got != "2027-07-01T08:30:00Z" {
			t.Error(got)
		}
		w.get(a.to()).must(t, "The test clock shows Thu 1 Jul 2027, 09:30.")
	})
	t.Run("calls nothing for a form that cannot be read", func(t *testing.T) {
		w.backend.count()
		for _, form := range [][]string{{"to", "tomorrow"}, {"to", ""}, {"step", "hour", "from", "now"}, {"step", "year"}} {
			if a := w.move(form...); a.StatusCode != http.StatusUnprocessableEntity {
				t.Errorf("%v: %s", form, describe(a))
			}
		}
		if len(w.backend.called("AdvanceTestClock")) > 0 {
			t.Error("it is moved")
		}
	})
	on(w.backend, "AdvanceTestClock", func(*authv1.AdvanceTestClockRequest) (*authv1.AdvanceTestClockResponse, error) {
		return nil, fault.InvalidFields(fault.Field{Field: "to", Rule: "range", Message: "must not be before 2027-06-01T12:00:00Z"})
	})
	t.Run("says in the company's time when the clock shows a later time", func(t *testing.T) {
		w.move("to", "2027-05-01T09:30").must(t, `id="to-wrong"`, "Choose a time after Tue 1 Jun 2027, 13:00", `value="2027-05-01T09:30"`)
		w.move("step", "hour", "from", "2027-05-01T00:00:00Z").must(t, "The clock was not moved", `name="from" value="`+from)
	})
	t.Run("can be repeated while a service cannot be reached", func(t *testing.T) {
		on(w.backend, "AdvanceTestClock", func(*authv1.AdvanceTestClockRequest) (*authv1.AdvanceTestClockResponse, error) {
			return nil, fault.Away(nil)
		})
		if a := w.move("step", "hour", "from", from); a.StatusCode != http.StatusServiceUnavailable {
			t.Error(describe(a))
		}
	})
	t.Run("does nothing in live mode", func(t *testing.T) {
		w.enter(liveMode)
		w.backend.count()
		a := w.send(testModePath+"/clock", url.Values{csrfField: {tokenOf(sessionToken, liveMode)}, "step": {"hour"}, "from": {from}}, nil)
		if a.to() != testModePath || len(w.backend.called("AdvanceTestClock")) > 0 {
			t.Error(describe(a))
		}
		w.get(a.to()).must(t, "This is possible in test mode only.", "Switch to test mode")
	})
}

func TestDeletingTestData(t *testing.T) {
	t.Parallel()
	w := newTestWorld(t)
	on(w.backend, "ResetTestData", func(*authv1.ResetTestDataRequest) (*authv1.ResetTestDataResponse, error) {
		return &authv1.ResetTestDataResponse{Clock: &authv1.TestClock{Now: timestamppb.New(w.web.now())}, Deleted: 1234}, nil
	})
	w.get(testModePath).must(t, `href="/test-mode/reset"`)
	w.get(testModePath+"/reset").must(t, "Delete all test data?", "These remain: live data, API clients")
	a := w.sendFrom(testMode, testModePath+"/reset")
	if calls := w.backend.called("ResetTestData"); a.to() != testModePath || len(calls) != 1 || calls[0].key == "" || calls[0].token != tokensIn[testMode] {
		t.Errorf("%s %v", describe(a), calls)
	}
	w.get(testModePath).must(t, "All test data are deleted: 1,234 rows.")
	t.Run("is not offered in live mode", func(t *testing.T) {
		w.enter(liveMode)
		if a := w.get(testModePath + "/reset"); a.to() != testModePath {
			t.Error(describe(a))
		}
		if body := w.page(testModePath); strings.Contains(body, "/test-mode/reset") || strings.Contains(body, "/test-mode/clock") {
			t.Error(text(body))
		}
	})
}

func TestStaffSeeTheTestClock(t *testing.T) {
	t.Parallel()
	w := newTestWorld(t)
	w.role = authv1.AdministratorRole_ADMINISTRATOR_ROLE_MANAGER
	w.ahead = time.Hour
	a := w.get(testModePath)
	a.must(t, "Mon 23 Nov 2026, 13:00", "Mon 23 Nov 2026, 12:00", "Only owners can move the clock", `role="switch"`)
	if strings.Contains(a.body, "/test-mode/clock") || strings.Contains(a.body, "/test-mode/reset") {
		t.Error(text(a.body))
	}
}
