// Package model holds the types and the decisions of the subscription service: which periods a
// subscription has, what is due, and what each action and each passing day does. It does no I/O and
// reads no clock: the time and the company's zone are arguments. Days are stored as midnight UTC.
package model

import (
	"time"

	"reservation.dev/platform/id"
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
func NewPlan(in PlanInput, currency string) (Plan, error) { panic("model") }

// Changed returns the plan with the changes of a request, and checks the result. It keeps the version
// and the times. If Bookings changes away from credits, the credits and the rollover become 0 unless they
// are given.
func (p Plan) Changed(in PlanInput) (Plan, error) { panic("model") }

// Equal reports whether two plans are the same in every field.
func (p Plan) Equal(other Plan) bool { panic("model") }
