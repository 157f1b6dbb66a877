package admin

import (
	"maps"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// ruleFields are the form's names of the booking rules' fields.
var ruleFields = map[string]string{
	"opens_at": "opens", "closes_at": "closes", "minimum_notice_minutes": "notice", "maximum_advance_days": "ahead",
}

// withRuleFields adds the booking rules' fields to a form's names of an event's fields.
func withRuleFields(names map[string]string) map[string]string {
	all := maps.Clone(names)
	for field, name := range ruleFields {
		all[field], all["booking_rules."+field] = name, name
	}
	return all
}

// maxAdvance is the largest number of days that booking rules can have.
const maxAdvance = 3650

// bookingRules reads the booking rules of an event; before are the present ones.
func (f *form) bookingRules(before *bookingv1.BookingRules, z *time.Location) *bookingv1.BookingRules {
	rules := &bookingv1.BookingRules{
		OpensAt: f.instant("opens", before.GetOpensAt(), z), ClosesAt: f.instant("closes", before.GetClosesAt(), z),
		OncePerCustomer: f.Get("once") != "",
	}
	if hours, given := f.hundredths("notice", msg("desk.field.hours"), maxPolicyHours); given {
		rules.MinimumNoticeMinutes = int32((hours*60 + 50) / 100)
	}
	if days, given := f.integer("ahead", msg("desk.field.days"), 1, maxAdvance); given {
		rules.MaximumAdvanceDays = int32(days)
	}
	if opens, closes := rules.GetOpensAt(), rules.GetClosesAt(); opens != nil && closes != nil && !closes.AsTime().After(opens.AsTime()) {
		f.add("closes", msg("desk.rules.window"))
	}
	return rules
}

// instant returns the instant in a field; nil if the field is empty. An unchanged field is not read:
// when clocks go back, an hour occurs twice.
func (f *form) instant(name string, before *timestamppb.Timestamp, z *time.Location) *timestamppb.Timestamp {
	if f.unchanged(name) {
		return before
	}
	if f.text(name) == "" {
		return nil
	}
	wall, ok := f.wall(name, z)
	if !ok {
		return nil
	}
	return timestamppb.New(time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), 0, 0, z))
}

// setRules fills the fields with the booking rules of an event.
func (f *form) setRules(l *locale, rules *bookingv1.BookingRules, z *time.Location) {
	for name, at := range map[string]*timestamppb.Timestamp{"opens": rules.GetOpensAt(), "closes": rules.GetClosesAt()} {
		if at != nil {
			f.values.Set(name, wallText(at, z))
		}
	}
	if minutes := rules.GetMinimumNoticeMinutes(); minutes > 0 {
		f.values.Set("notice", l.hours(minutes))
	}
	if days := rules.GetMaximumAdvanceDays(); days > 0 {
		f.values.Set("ahead", strconv.Itoa(int(days)))
	}
	if rules.GetOncePerCustomer() {
		f.values.Set("once", "on")
	}
	f.remember("opens", "closes")
}

// Rules says when and how often the event can be booked; empty if its dates can be booked until they
// start.
func (e eventView) Rules(c clock) (all []*message) {
	rules := e.GetBookingRules()
	if at := rules.GetOpensAt(); at != nil {
		all = append(all, msg("desk.rules.opens_at", "time", c.Time(at)))
	}
	if at := rules.GetClosesAt(); at != nil {
		all = append(all, msg("desk.rules.closes_at", "time", c.Time(at)))
	}
	if minutes := rules.GetMinimumNoticeMinutes(); minutes > 0 {
		all = append(all, msg("desk.rules.until", "duration", duration(minutes)))
	}
	if days := rules.GetMaximumAdvanceDays(); days > 0 {
		all = append(all, msg("desk.rules.from", "count", days))
	}
	if rules.GetOncePerCustomer() {
		all = append(all, msg("desk.rules.only_once"))
	}
	return all
}

// rulesText returns the booking rules of an event as the audit log stores them.
func (r *request) rulesText(e eventView) string {
	return strings.Join(views(e.Rules(r.logClock()), func(m *message) string { return r.logTexts().text(m) }), " ")
}
