package admin

import (
	"slices"
	"strconv"
	"strings"
	"time"

	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// dunningPath is the path of the settings of payments due.
const dunningPath = "/settings/payments-due"

// dunningPage is the settings of payments due.
type dunningPage struct {
	Form *form
	// Example says what happens with the stored settings if a payment becomes due and is not made.
	Example []*message
}

func (dunningPage) head() (*message, string) { return msg("plans.dunning.title"), "payments-due" }

// exampleDay is the day on which the payment of the example becomes due.
var exampleDay = time.Date(2027, time.June, 1, 0, 0, 0, 0, time.UTC)

// dunningExample says what happens, by the settings, with a payment that becomes due on 1 June.
func dunningExample(s *subscriptionv1.SubscriptionSettings) []*message {
	day := func(after int32) *message { return timeText("long_date", exampleDay.AddDate(0, 0, int(after))) }
	var reminders *message
	for _, after := range s.GetReminderDays() {
		reminders = listed(reminders, day(after))
	}
	overdue := s.GetPastDueAfterDays()
	steps := []*message{msg("plans.dunning.example_due", "day", day(0))}
	if reminders != nil {
		steps = append(steps, msg("plans.dunning.example_reminders", "days", reminders))
	}
	steps = append(steps, msg("plans.dunning.example_overdue", "day", day(overdue)), msg("plans.dunning.example_grace", "day", day(overdue+s.GetGraceDays())))
	if s.EndAfterDays == nil {
		return append(steps, msg("plans.dunning.example_never"))
	}
	return append(steps, msg("plans.dunning.example_end", "day", day(overdue+s.GetEndAfterDays())))
}

// daysText prints numbers of days as the form has them: "0, 3, 7".
func daysText(days []int32) string {
	return strings.Join(views(days, func(n int32) string { return strconv.Itoa(int(n)) }), ", ")
}

// endText prints the number of days after which a subscription ends; "" for never.
func endText(s *subscriptionv1.SubscriptionSettings) string {
	if s.EndAfterDays == nil {
		return ""
	}
	return strconv.Itoa(int(s.GetEndAfterDays()))
}

// findDunning returns the settings of payments due, and their page.
func (r *request) findDunning() (*subscriptionv1.SubscriptionSettings, dunningPage, error) {
	res, err := r.services.subscriptions.GetSubscriptionSettings(r.ctx, &subscriptionv1.GetSubscriptionSettingsRequest{})
	if err != nil {
		return nil, dunningPage{}, err
	}
	s := res.GetSettings()
	f := newForm("overdue", strconv.Itoa(int(s.GetPastDueAfterDays())), "grace", strconv.Itoa(int(s.GetGraceDays())),
		"reminders", daysText(s.GetReminderDays()), "end", endText(s))
	f.setVersion(s.GetVersion())
	return s, dunningPage{f, dunningExample(s)}, nil
}

func (r *request) dunning() error {
	_, page, err := r.findDunning()
	if err != nil {
		return err
	}
	return r.render("payments-due", page)
}

// readDunning reads the settings of a form.
func readDunning(f *form) *subscriptionv1.SubscriptionSettings {
	s := &subscriptionv1.SubscriptionSettings{
		PastDueAfterDays: f.count("overdue", msg("desk.field.days"), 0, 60), GraceDays: f.count("grace", msg("desk.field.days"), 0, 60),
	}
	for _, text := range strings.FieldsFunc(f.text("reminders"), func(c rune) bool { return c == ',' || c == ' ' || c == ';' }) {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n < 0 || n > 365 {
			f.add("reminders", msg("plans.dunning.reminders_wrong"))
			continue
		}
		s.ReminderDays = append(s.ReminderDays, int32(n))
	}
	slices.Sort(s.ReminderDays)
	s.ReminderDays = slices.Compact(s.ReminderDays)
	if n, given := f.integer("end", msg("desk.field.days"), 1, 365); given {
		s.EndAfterDays = new(int32(n))
	}
	return s
}

func (r *request) updateDunning() error {
	before, page, err := r.findDunning()
	if err != nil {
		return err
	}
	f := r.sent(map[string]string{"past_due_after_days": "overdue", "grace_days": "grace", "reminder_days": "reminders", "end_after_days": "end"})
	page.Form = f
	after := readDunning(f)
	if version := f.expectedVersion(before.GetVersion()); version != nil {
		after.Version = *version
	}
	call := unindexed(r.services.subscriptions.UpdateSubscriptionSettings)
	_, err = submit(r, f, call, &subscriptionv1.UpdateSubscriptionSettingsRequest{Settings: after})
	if err != nil {
		return r.again(err, "payments-due", page)
	}
	r.target(r.session.Company.GetId())
	r.detail("past_due_after", strconv.Itoa(int(before.GetPastDueAfterDays())), strconv.Itoa(int(after.GetPastDueAfterDays())))
	r.detail("grace", strconv.Itoa(int(before.GetGraceDays())), strconv.Itoa(int(after.GetGraceDays())))
	r.detail("reminders", daysText(before.GetReminderDays()), daysText(after.GetReminderDays()))
	r.detail("end_after", endText(before), endText(after))
	return r.back(dunningPath, r.text("shared.done.saved"))
}
