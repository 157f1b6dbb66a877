package pass

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"reservation.dev/platform/fault"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

const (
	maxTitle         = 200
	maxDescription   = 10_000
	maxUses          = 100_000
	maxValidityCount = 1000
	maxPrice         = 1_000_000_000_000
)

// currencies are the ones that a price can be in.
func currencies() []string { return []string{"GBP", "EUR", "USD"} }

func eventTypes() []string { return []string{"class", "event", "workshop", "course", "appointment"} }

// newPassType checks a request and returns the pass type that it describes,
// without its identifier and times. The currency defaults to the company's.
func newPassType(req *passv1.CreatePassTypeRequest, currency string) (PassType, error) {
	t := PassType{
		Title: strings.TrimSpace(req.GetTitle()), Description: strings.TrimSpace(req.GetDescription()),
		TotalUses: req.GetTotalUses(), ValidityCount: req.GetValidityCount(), ValidityUnit: units()[req.GetValidityUnit()],
		Price: req.GetPrice(), Currency: req.GetCurrency(), Status: "active", Version: 1, EligibleEventTypes: []string{},
	}
	if t.Currency == "" {
		t.Currency = currency
	}
	var faults []fault.Field
	add := func(field, rule, phrase string) {
		faults = append(faults, fault.Field{Field: field, Rule: rule, Message: phrase})
	}
	between := func(field string, v, low, high int64) {
		if v < low || v > high {
			add(field, "range", fmt.Sprintf("must be %d to %d", low, high))
		}
	}
	if t.Title == "" {
		add("title", "required", "is required")
	}
	for _, text := range []struct {
		field, value string
		most         int
	}{{"title", t.Title, maxTitle}, {"description", t.Description, maxDescription}} {
		if utf8.RuneCountInString(text.value) > text.most {
			add(text.field, "max_length", fmt.Sprintf("must be at most %d characters", text.most))
		}
		if strings.ContainsFunc(text.value, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' }) {
			add(text.field, "characters", "must not contain control characters")
		}
	}
	between("total_uses", int64(t.TotalUses), 1, maxUses)
	between("validity_count", int64(t.ValidityCount), 1, maxValidityCount)
	if t.ValidityUnit == "" {
		add("validity_unit", "enum", "must be day, week, month or year")
	}
	between("price", t.Price, 0, maxPrice)
	if !slices.Contains(currencies(), t.Currency) {
		add("currency", "enum", "must be GBP, EUR or USD")
	}
	for i, kind := range req.GetEligibleEventTypes() {
		if !slices.Contains(eventTypes(), kind) {
			add(fmt.Sprintf("eligible_event_types[%d]", i), "enum", "must be class, event, workshop, course or appointment")
			continue
		}
		if !slices.Contains(t.EligibleEventTypes, kind) {
			t.EligibleEventTypes = append(t.EligibleEventTypes, kind)
		}
	}
	if len(faults) > 0 {
		return PassType{}, fault.InvalidFields(faults...)
	}
	return t, nil
}

// startDate reads the first day of a pass; "" is today in the company's zone.
func startDate(s string, now time.Time, zone *time.Location) (time.Time, error) {
	if s == "" {
		return dayOf(now, zone), nil
	}
	day, err := time.Parse(time.DateOnly, s)
	// The bounds leave room for the longest validity below year 9999.
	if err != nil || day.Year() < 1900 || day.Year() > 8000 {
		return time.Time{}, fault.InvalidFields(fault.Field{
			Field: "start_date", Rule: "format", Message: "must be a date as in 2026-03-29, of the years 1900 to 8000",
		})
	}
	return day, nil
}
