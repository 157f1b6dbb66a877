package model

import (
	"fmt"

	"reservation.dev/platform/check"
)

// Settings say what happens while a payment is due. Days are calendar days in the company's zone, counted
// from the time at which the payment became due; the time of day stays the same.
type Settings struct {
	PastDueAfterDays int32   `db:"past_due_after_days"`
	GraceDays        int32   `db:"grace_days"`
	ReminderDays     []int32 `db:"reminder_days"`
	EndAfterDays     *int32  `db:"end_after_days"` // nil: never
	Version          int64   `db:"version"`
}

// DefaultSettings returns the settings of a company that has not changed them, in version 1.
func DefaultSettings() Settings {
	return Settings{PastDueAfterDays: 3, GraceDays: 7, ReminderDays: []int32{0, 3, 7}, EndAfterDays: new(int32(30)), Version: 1}
}

// Check returns the faults of settings in a request; the fields are those of "settings".
func (s Settings) Check() error {
	var f check.Fields
	f.Range("settings.past_due_after_days", int64(s.PastDueAfterDays), 0, 60)
	f.Range("settings.grace_days", int64(s.GraceDays), 0, 60)
	if s.EndAfterDays != nil {
		f.Range("settings.end_after_days", int64(*s.EndAfterDays), 1, 365)
	}
	if !f.Count("settings.reminder_days", len(s.ReminderDays), 0, 10) {
		return f.Err()
	}
	for i, day := range s.ReminderDays {
		field := fmt.Sprintf("settings.reminder_days[%d]", i)
		f.Range(field, int64(day), 0, 365)
		if i > 0 && day <= s.ReminderDays[i-1] {
			f.Add(field, "order", "must be greater than the one before")
		}
	}
	return f.Err()
}
