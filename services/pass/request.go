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
	maxReason        = 500
)

// currencies are the ones that a price can be in.
func currencies() []string { return []string{"GBP", "EUR", "USD"} }

// methodFree is how a pass that is given away is paid.
const methodFree = "FREE"

// paymentMethods are the ways in which a pass can be paid, the default first. The
// description of Interface B has the same list.
func paymentMethods() []string {
	return []string{"CARD", "CASH", "BANK_TRANSFER", "ONLINE", "OTHER", methodFree}
}

func eventTypes() []string { return []string{"class", "event", "workshop", "course", "appointment"} }

// checks collects every fault of a request.
type checks struct{ fault.Checks }

func (c *checks) add(field, rule, phrase string) { c.Add(field, rule, phrase) }

func (c *checks) between(field string, v, low, high int64) {
	if v < low || v > high {
		c.add(field, "range", fmt.Sprintf("must be %d to %d", low, high))
	}
}

// text checks prose of at most so many characters.
func (c *checks) text(field, value string, most int) {
	if utf8.RuneCountInString(value) > most {
		c.add(field, "max_length", fmt.Sprintf("must be at most %d characters", most))
	}
	if strings.ContainsFunc(value, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' }) {
		c.add(field, "characters", "must not contain control characters")
	}
}

// eventTypes checks kinds of events and drops repetitions.
func (c *checks) eventTypes(field string, in []string) []string {
	out := []string{}
	for i, kind := range in {
		if !slices.Contains(eventTypes(), kind) {
			c.add(fmt.Sprintf("%s[%d]", field, i), "enum", fault.OneOf(eventTypes()))
			continue
		}
		if !slices.Contains(out, kind) {
			out = append(out, kind)
		}
	}
	return out
}

// days reads the days of event dates.
func (c *checks) days(field string, in []string) []time.Time {
	out := make([]time.Time, 0, len(in))
	for i, text := range in {
		day, ok := dayNamed(text)
		if !ok || text == "" {
			c.add(fmt.Sprintf("%s[%d]", field, i), "format", "must be a date as in 2026-03-29")
		}
		out = append(out, day)
	}
	return out
}

// passType checks what every pass type must be.
func (c *checks) passType(t *PassType) {
	if t.Title == "" {
		c.add("title", "required", "is required")
	}
	c.text("title", t.Title, maxTitle)
	c.text("description", t.Description, maxDescription)
	c.between("total_uses", int64(t.TotalUses), 1, maxUses)
	c.between("validity_count", int64(t.ValidityCount), 1, maxValidityCount)
	if t.ValidityUnit == "" {
		c.add("validity_unit", "enum", "must be day, week, month or year")
	}
	c.between("price", t.Price, 0, maxPrice)
	if !slices.Contains(currencies(), t.Currency) {
		c.add("currency", "enum", "must be GBP, EUR or USD")
	}
}

func (c *checks) err() error { return c.Err() }

// newPassType checks a request and returns the pass type that it describes,
// without its identifier and times. The currency defaults to the company's.
func newPassType(req *passv1.CreatePassTypeRequest, currency string) (PassType, error) {
	t := PassType{
		Title: strings.TrimSpace(req.GetTitle()), Description: strings.TrimSpace(req.GetDescription()),
		TotalUses: req.GetTotalUses(), ValidityCount: req.GetValidityCount(), ValidityUnit: units()[req.GetValidityUnit()],
		Price: req.GetPrice(), Currency: req.GetCurrency(), Status: typeActive, Version: 1,
	}
	if t.Currency == "" {
		t.Currency = currency
	}
	var c checks
	c.passType(&t)
	t.EligibleEventTypes = c.eventTypes("eligible_event_types", req.GetEligibleEventTypes())
	return t, c.err()
}

// update changes what a request sets and checks the whole; it reports whether
// anything is different.
func (t *PassType) update(req *passv1.UpdatePassTypeRequest) (changed bool, err error) {
	before := *t
	var c checks
	if req.Title != nil {
		t.Title = strings.TrimSpace(*req.Title)
	}
	if req.Description != nil {
		t.Description = strings.TrimSpace(*req.Description)
	}
	set(&t.TotalUses, req.TotalUses)
	set(&t.ValidityCount, req.ValidityCount)
	set(&t.Price, req.Price)
	set(&t.Currency, req.Currency)
	if req.GetValidityUnit() != passv1.ValidityUnit_VALIDITY_UNIT_UNSPECIFIED {
		t.ValidityUnit = units()[req.GetValidityUnit()]
	}
	switch req.GetStatus() {
	case passv1.PassTypeStatus_PASS_TYPE_STATUS_UNSPECIFIED:
	case passv1.PassTypeStatus_PASS_TYPE_STATUS_ACTIVE:
		t.Status = typeActive
	case passv1.PassTypeStatus_PASS_TYPE_STATUS_ARCHIVED:
		t.Status = typeArchived
	default:
		c.add("status", "enum", "must be active or archived")
	}
	c.passType(t)
	if req.GetEligibleEventTypes() != nil {
		t.EligibleEventTypes = c.eventTypes("eligible_event_types", req.GetEligibleEventTypes().GetTypes())
	}
	same := slices.Equal(before.EligibleEventTypes, t.EligibleEventTypes) && before.Title == t.Title &&
		before.Description == t.Description && before.TotalUses == t.TotalUses && before.ValidityCount == t.ValidityCount &&
		before.ValidityUnit == t.ValidityUnit && before.Price == t.Price && before.Currency == t.Currency && before.Status == t.Status
	return !same, c.err()
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// newPassChange checks a request.
func newPassChange(req *passv1.UpdateCustomerPassRequest) (passChange, error) {
	var change passChange
	var c checks
	if req.ExpiryDate != nil {
		day, err := time.Parse(time.DateOnly, *req.ExpiryDate)
		if err != nil || day.Year() < 1900 || day.Year() > 9999 {
			c.add("expiry_date", "format", "must be a date as in 2026-03-29, of the years 1900 to 9999")
		}
		change.expiry = &day
	}
	if req.RemainingUses != nil {
		change.uses = req.RemainingUses
	}
	if status := req.GetStatus(); status != passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_UNSPECIFIED {
		if change.status = customerPassStatuses()[status]; change.status == "" {
			c.add("status", "enum", "must be active, paused or cancelled; the others follow from dates and uses")
		}
	}
	c.text("reason", req.GetReason(), maxReason)
	return change, c.err()
}

// newPurchase checks what is paid for a pass; nil: nothing is.
func newPurchase(req *passv1.PassPurchase, t PassType) (p CustomerPass, err error) {
	if req == nil {
		return p, nil
	}
	var c checks
	method := req.GetMethod()
	if method == "" {
		method = paymentMethods()[0]
	}
	if !slices.Contains(paymentMethods(), method) {
		c.add("purchase.method", "enum", fault.OneOf(paymentMethods()))
	}
	gross := t.Price
	if method == methodFree {
		gross = 0
	}
	switch {
	case req.Gross == nil:
	case method == methodFree && *req.Gross != 0:
		c.add("purchase.gross", "method", "must be 0 with FREE")
	default:
		gross = *req.Gross
		c.between("purchase.gross", gross, 0, maxPrice)
	}
	c.text("purchase.reference", req.GetReference(), 200)
	p.PaidGross, p.PaidCurrency, p.PaidMethod = &gross, &t.Currency, &method
	if reference := req.GetReference(); reference != "" {
		p.PaidReference = &reference
	}
	return p, c.err()
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
