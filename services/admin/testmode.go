package admin

import (
	"context"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// testModePath is the path of the page about test mode.
const testModePath = "/test-mode"

// clockStep moves the test clock by a fixed time.
type clockStep struct {
	Name string
	Text *message
	from func(time.Time) time.Time
}

// clockSteps are the steps that have a button. Days, weeks and months are those of the calendar.
var clockSteps = []clockStep{
	{"hour", msg("settings.test_mode.hour"), func(t time.Time) time.Time { return t.Add(time.Hour) }},
	{"day", msg("settings.test_mode.day"), func(t time.Time) time.Time { return t.AddDate(0, 0, 1) }},
	{"week", msg("settings.test_mode.week"), func(t time.Time) time.Time { return t.AddDate(0, 0, 7) }},
	{"month", msg("settings.test_mode.month"), nextMonth},
}

// nextMonth returns the same day of the next month; its last day if that month is shorter.
func nextMonth(t time.Time) time.Time {
	next := t.AddDate(0, 1, 0)
	if next.Day() != t.Day() {
		next = next.AddDate(0, 0, -next.Day())
	}
	return next
}

// testModePage explains test mode and, in test mode, moves the test clock.
type testModePage struct {
	Form  *form
	Steps []clockStep
}

func (testModePage) head() (*message, string) { return msg("settings.test_mode.title"), "test-mode" }

// testModePage returns the page with a form. The steps of its buttons are from the present time.
func (r *request) testModePage(f *form) testModePage {
	f.values.Set("from", r.now().Format(time.RFC3339))
	return testModePage{f, clockSteps}
}

func (r *request) testMode() error {
	return r.render("test-mode", r.testModePage(newForm("to", r.now().In(r.session.Clock.Zone).AddDate(0, 0, 1).Format(wallLayout))))
}

// clockTarget returns the time to which a form moves the test clock. A step is from the time that the
// page showed, so a form that is sent twice moves the clock once.
func (r *request) clockTarget(f *form) time.Time {
	zone := r.session.Clock.Zone
	i := slices.IndexFunc(clockSteps, func(s clockStep) bool { return s.Name == f.text("step") })
	if i < 0 {
		wall, _ := f.wall("to", zone)
		return time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), 0, 0, zone)
	}
	from, err := time.Parse(time.RFC3339, f.text("from"))
	if err != nil {
		f.Summary = msg("settings.test_mode.outdated")
	}
	return clockSteps[i].from(from.In(zone))
}

func (r *request) advanceClock() error {
	if !r.session.TestData() {
		return r.refused(testModePath, fault.LiveMode())
	}
	f := r.sent(nil)
	to := r.clockTarget(f)
	if f.Failed() {
		return r.notAccepted("test-mode", r.testModePage(f))
	}
	res, err := performPart(r, to.UTC().Format(time.RFC3339), r.services.testMode.AdvanceTestClock,
		&authv1.AdvanceTestClockRequest{To: timestamppb.New(to)})
	switch {
	case err == nil:
		return r.back(testModePath, r.text("settings.test_mode.advanced", "time", r.session.Clock.Time(res.GetClock().GetNow())))
	case fault.Is(err, fault.Invalid) && f.text("step") != "":
		f.Summary = msg("settings.test_mode.outdated")
	case fault.Is(err, fault.Invalid):
		f.add("to", msg("settings.test_mode.range", "time", r.session.Clock.Present()))
	case !f.refuse(err):
		return err
	}
	return r.notAccepted("test-mode", r.testModePage(f))
}

// testModeEffects counts the effects that the page before an action lists.
var testModeEffects = map[string]int{"reset": 3}

func (r *request) confirmReset() error {
	if !r.session.TestData() {
		return r.to(testModePath)
	}
	p := r.confirmation("settings.test_mode.confirm."+"reset", testModeEffects["reset"], true)
	return r.confirm(p, "test-mode", r.session.Company.GetName(), testModePath)
}

// resetTimeout is how long the services can take to delete all test data. If they need longer, the
// same form continues.
const resetTimeout = 50 * time.Second

func (r *request) resetTestData() error {
	var cancel context.CancelFunc
	r.ctx, cancel = context.WithTimeout(r.ctx, resetTimeout)
	defer cancel()
	res, err := perform(r, r.services.testMode.ResetTestData, &authv1.ResetTestDataRequest{})
	if err != nil {
		return r.refused(testModePath, err)
	}
	return r.back(testModePath, r.text("settings.test_mode.reset_done", "count", res.GetDeleted()))
}
