// Package model holds the types and the decisions of the subscription service: which periods a
// subscription has, what is due, and what each action and each passing day does. It does no I/O and
// reads no clock: the time and the company's zone are arguments. Days are stored as midnight UTC.
package model

import (
	"fmt"
	"slices"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/eventtype"
	"reservation.dev/platform/id"
	"reservation.dev/platform/money"
)

// Unit is the unit of the length of a period.
type Unit string

// Values of Unit.
const (
	Week  Unit = "week"
	Month Unit = "month"
	Year  Unit = "year"
)

// Bookings says how a plan pays for bookings.
type Bookings string

// Values of Bookings.
const (
	BookingsNone      Bookings = "none"
	BookingsCredits   Bookings = "credits"
	BookingsUnlimited Bookings = "unlimited"
)

// PlanStatus says whether a plan is on offer.
type PlanStatus string

// Values of PlanStatus.
const (
	PlanActive   PlanStatus = "active"
	PlanArchived PlanStatus = "archived"
)

// Limits of plans and subscriptions.
const (
	maxTitle       = 200
	maxDescription = 10_000
	// MaxPrice keeps the sums of a subscription within the exact range of JSON numbers.
	MaxPrice         = 100_000_000_000
	maxCredits       = 100_000
	maxTrialDays     = 365
	maxMinimum       = 120
	maxCollections   = 50
	maxEventTypes    = 20
	maxReason        = 500
	maxReference     = 200
	maxStartDaysAgo  = 31
	maxPauseMonths   = 36
	maxPeriodsBefore = 10_000
)

// Terms are what a customer subscribes to.
type Terms struct {
	Price          int64    `db:"price"` // minor units for each period, tax included
	Currency       string   `db:"currency"`
	Unit           Unit     `db:"interval_unit"`
	Count          int32    `db:"interval_count"` // units of a period
	Bookings       Bookings `db:"bookings"`
	Credits        int32    `db:"credits"`      // of a period; 0 unless Bookings is BookingsCredits
	MaxRollover    int32    `db:"max_rollover"` // unused credits that stay, at most
	MinimumPeriods int32    `db:"minimum_periods"`
}

// Plan is a plan that the company sells.
type Plan struct {
	ID          id.Plan `db:"id"`
	Title       string  `db:"title"`
	Description string  `db:"description"`
	Terms
	TrialDays          int32           `db:"trial_days"`
	EligibleEventTypes []string        `db:"eligible_event_types"` // empty: all
	Collections        []id.Collection `db:"media_collection_ids"`
	Status             PlanStatus      `db:"status"`
	Version            int64           `db:"version"`
	CreatedAt          time.Time       `db:"created_at"`
	UpdatedAt          time.Time       `db:"updated_at"`
}

// PlanInput is the content of a plan in a request; nil members do not change, and are empty in a new
// plan.
type PlanInput struct {
	Title, Description        *string
	Price                     *int64
	Currency                  *string
	Unit                      *Unit
	Count, TrialDays, Minimum *int32
	Bookings                  *Bookings
	Credits, MaxRollover      *int32
	EligibleEventTypes        *[]string
	Collections               *[]string // col_ identifiers
	Status                    *PlanStatus
}

// NewPlan checks a request and returns the plan that it describes, in version 1, without its identifier
// and times. The currency defaults to the company's, the count to 1, and the bookings to credits if
// credits is set, otherwise to none. A nil Status means active.
func NewPlan(in PlanInput, currency string) (Plan, error) {
	p := Plan{Terms: Terms{Currency: currency, Bookings: BookingsNone}, Status: PlanActive, Version: 1}
	p.EligibleEventTypes, p.Collections = []string{}, []id.Collection{}
	if in.Credits != nil && *in.Credits != 0 {
		p.Bookings = BookingsCredits
	}
	if in.Currency != nil && *in.Currency == "" {
		in.Currency = nil
	}
	if in.Count == nil || *in.Count == 0 {
		in.Count = new(int32(1))
	}
	return p.with(in)
}

// Changed returns the plan with the changes of a request, and checks the result. It keeps the version
// and the times. If Bookings changes away from credits, the credits and the rollover become 0 unless they
// are given.
func (p Plan) Changed(in PlanInput) (Plan, error) {
	if in.Bookings != nil && *in.Bookings != BookingsCredits {
		p.Credits, p.MaxRollover = 0, 0
	}
	return p.with(in)
}

// with returns p with the members of in that are given, and checks the result.
func (p Plan) with(in PlanInput) (Plan, error) {
	set(&p.Title, in.Title)
	set(&p.Description, in.Description)
	set(&p.Price, in.Price)
	set(&p.Currency, in.Currency)
	set(&p.Unit, in.Unit)
	set(&p.Count, in.Count)
	set(&p.TrialDays, in.TrialDays)
	set(&p.MinimumPeriods, in.Minimum)
	set(&p.Bookings, in.Bookings)
	set(&p.Credits, in.Credits)
	set(&p.MaxRollover, in.MaxRollover)
	set(&p.Status, in.Status)
	var f check.Fields
	p.check(&f)
	if in.EligibleEventTypes != nil {
		p.EligibleEventTypes = eventTypesOf(&f, *in.EligibleEventTypes)
	}
	if in.Collections != nil {
		p.Collections = collectionsOf(&f, *in.Collections)
	}
	return p, f.Err()
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// check trims the texts of a plan and checks every field but the lists.
func (p *Plan) check(f *check.Fields) {
	p.Title = f.Prose("title", p.Title, 1, maxTitle)
	p.Description = f.Prose("description", p.Description, 0, maxDescription)
	f.Range("price", p.Price, 0, MaxPrice)
	f.OneOf("currency", p.Currency, money.Currencies())
	f.OneOf("interval_unit", string(p.Unit), []string{string(Week), string(Month), string(Year)})
	f.Range("interval_count", int64(p.Count), 1, maxCount(p.Unit))
	f.Range("trial_days", int64(p.TrialDays), 0, maxTrialDays)
	f.Range("minimum_periods", int64(p.MinimumPeriods), 0, maxMinimum)
	f.OneOf("status", string(p.Status), []string{string(PlanActive), string(PlanArchived)})
	p.checkCredits(f)
}

// maxCount returns the largest number of units of a period.
func maxCount(u Unit) int64 {
	switch u {
	case Month:
		return 24
	case Year:
		return 5
	}
	return 52
}

func (p *Plan) checkCredits(f *check.Fields) {
	f.OneOf("bookings", string(p.Bookings), []string{string(BookingsNone), string(BookingsCredits), string(BookingsUnlimited)})
	if p.Bookings == BookingsCredits {
		f.Range("credits", int64(p.Credits), 1, maxCredits)
		f.Range("max_rollover", int64(p.MaxRollover), 0, maxCredits)
		return
	}
	if p.Credits != 0 {
		f.Add("credits", "mismatch", "must be 0 unless bookings is credits")
	}
	if p.MaxRollover != 0 {
		f.Add("max_rollover", "mismatch", "must be 0 unless bookings is credits")
	}
}

// eventTypesOf checks event types and removes duplicates.
func eventTypesOf(f *check.Fields, in []string) []string {
	out := []string{}
	if !f.Count("eligible_event_types", len(in), 0, maxEventTypes) {
		return out
	}
	for i, name := range in {
		f.OneOf(fmt.Sprintf("eligible_event_types[%d]", i), name, eventtype.Names())
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// collectionsOf parses the identifiers of collections and removes duplicates.
func collectionsOf(f *check.Fields, in []string) []id.Collection {
	out := []id.Collection{}
	if !f.Count("media_collection_ids", len(in), 0, maxCollections) {
		return out
	}
	for i, text := range in {
		c, err := id.Parse[id.Collection](text)
		if err != nil {
			f.Add(fmt.Sprintf("media_collection_ids[%d]", i), "format", "must be the identifier of a collection, col_…")
		} else if !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// Equal reports whether two plans are the same in every field.
func (p Plan) Equal(other Plan) bool {
	return p.ID == other.ID && p.Title == other.Title && p.Description == other.Description && p.Terms == other.Terms &&
		p.TrialDays == other.TrialDays && slices.Equal(p.EligibleEventTypes, other.EligibleEventTypes) &&
		slices.Equal(p.Collections, other.Collections) && p.Status == other.Status && p.Version == other.Version &&
		p.CreatedAt.Equal(other.CreatedAt) && p.UpdatedAt.Equal(other.UpdatedAt)
}
