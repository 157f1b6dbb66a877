package pass

import (
	"fmt"
	"slices"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/money"
)

// PassType describes a pass that the company sells.
type PassType struct {
	ID                 id.PassType `db:"id"`
	Title              string      `db:"title"`
	Description        string      `db:"description"`
	TotalUses          int32       `db:"total_uses"`     // unlimitedUses if UnlimitedUses
	ValidityCount      int32       `db:"validity_count"` // the longest validity if NeverExpires
	ValidityUnit       string      `db:"validity_unit"`  // day, week, month, year
	Price              int64       `db:"price"`          // minor units, tax included
	Currency           string      `db:"currency"`
	EligibleEventTypes []string    `db:"eligible_event_types"` // empty: all
	Status             string      `db:"status"`
	Version            int64       `db:"version"`
	CreatedAt          time.Time   `db:"created_at"`
	UpdatedAt          time.Time   `db:"updated_at"`
	UnlimitedUses      bool        `db:"unlimited_uses"`
	NeverExpires       bool        `db:"never_expires"`
	PlanVersion        *int64      `db:"plan_version"` // of the plan that owns it; nil: it is sold on its own
}

const (
	maxTitle         = 200
	maxDescription   = 10_000
	maxUses          = 100_000
	unlimitedUses    = 999_999 // the number of uses that stands for any number
	maxValidityCount = 1000
	maxPrice         = 1_000_000_000_000
	maxReason        = 500
	maxReference     = 200
)

// validityUnits returns the units of a pass type's validity.
func validityUnits() []string { return []string{"day", "week", "month", "year"} }

// terms are the uses and the validity in a request; nil members do not change.
type terms struct {
	uses, count *int32
	unit        *string
}

// check sets the terms of a pass type, trims its texts and checks every field. UnlimitedUses and
// NeverExpires are set.
func (t *PassType) check(f *check.Fields, in terms) {
	t.Title = f.Prose("title", t.Title, 1, maxTitle)
	t.Description = f.Prose("description", t.Description, 0, maxDescription)
	t.setUses(f, in.uses)
	t.setValidity(f, in.count, in.unit)
	f.Range("price", t.Price, 0, maxPrice)
	f.OneOf("currency", t.Currency, money.Currencies())
}

func (t *PassType) setUses(f *check.Fields, uses *int32) {
	switch {
	case t.UnlimitedUses && uses != nil && *uses != 0 && *uses != unlimitedUses:
		f.Add("total_uses", "mismatch", "must be 0 or 999999 with unlimited uses")
	case t.UnlimitedUses:
		t.TotalUses = unlimitedUses
	default:
		set(&t.TotalUses, uses)
		f.Range("total_uses", int64(t.TotalUses), 1, maxUses)
	}
}

func (t *PassType) setValidity(f *check.Fields, count *int32, unit *string) {
	switch {
	case t.NeverExpires && count != nil && *count != 0 && *count != maxValidityCount:
		f.Add("validity_count", "mismatch", fmt.Sprintf("must be 0 or %d if the pass never expires", maxValidityCount))
	case t.NeverExpires:
		t.ValidityCount, t.ValidityUnit = maxValidityCount, "year"
	default:
		set(&t.ValidityCount, count)
		set(&t.ValidityUnit, unit)
		f.Range("validity_count", int64(t.ValidityCount), 1, maxValidityCount)
		f.OneOf("validity_unit", t.ValidityUnit, validityUnits())
	}
}

// Equal reports whether two pass types are the same in every field.
func (t PassType) Equal(other PassType) bool {
	return t.ID == other.ID && t.Title == other.Title && t.Description == other.Description && t.TotalUses == other.TotalUses &&
		t.ValidityCount == other.ValidityCount && t.ValidityUnit == other.ValidityUnit && t.Price == other.Price &&
		t.Currency == other.Currency && slices.Equal(t.EligibleEventTypes, other.EligibleEventTypes) && t.Status == other.Status &&
		t.UnlimitedUses == other.UnlimitedUses && t.NeverExpires == other.NeverExpires &&
		samePlanVersion(t, other) && t.Version == other.Version && t.CreatedAt.Equal(other.CreatedAt) && t.UpdatedAt.Equal(other.UpdatedAt)
}

// samePlanVersion reports whether two pass types have the same version of a plan, or none.
func samePlanVersion(a, b PassType) bool {
	if a.PlanVersion == nil || b.PlanVersion == nil {
		return a.PlanVersion == b.PlanVersion
	}
	return *a.PlanVersion == *b.PlanVersion
}

// archivedType refuses to assign a pass of an archived type.
func archivedType() error {
	return fault.Refuse(ReasonPassNotActive, "the pass type is archived").With("status", typeArchived)
}

// CustomerPass is a pass that a customer holds. Its dates are days, stored as midnight UTC.
type CustomerPass struct {
	ID            id.CustomerPass `db:"id"`
	CustomerID    id.Customer     `db:"customer_id"`
	PassTypeID    id.PassType     `db:"pass_type_id"`
	Title         string          `db:"title"`          // of the pass type
	TotalUses     int32           `db:"total_uses"`     // when it was assigned or when its period began
	RemainingUses int32           `db:"remaining_uses"` // as the ledger has them; see uses
	UnlimitedUses bool            `db:"unlimited_uses"`
	StartDate     time.Time       `db:"start_date"`
	ExpiryDate    time.Time       `db:"expiry_date"` // see lastDay
	Status        string          `db:"status"`      // the stored status: active, paused, cancelled
	PausedOn      *time.Time      `db:"paused_on"`   // a day; set while paused
	PausedAt      *time.Time      `db:"paused_at"`   // see pausedSince
	Version       int64           `db:"version"`
	CreatedAt     time.Time       `db:"created_at"`
	UpdatedAt     time.Time       `db:"updated_at"`
	CreatedOn     *time.Time      `db:"created_on"` // a day; nil: that of CreatedAt in EarlierZone
	EarlierZone   string          `db:"earlier_zone"`
	// Entries is the length of the ledger. It is set when the pass is locked.
	Entries int64 `db:"-"`

	// The payment; nil if the pass was assigned free of charge.
	PaidGross     *int64  `db:"paid_gross"` // minor units
	PaidCurrency  *string `db:"paid_currency"`
	PaidMethod    *string `db:"paid_method"`
	PaidReference *string `db:"paid_reference"`

	// A subscription decides these; SubscriptionVersion is 0 if the pass belongs to none.
	SubscriptionVersion int64      `db:"subscription_version"`
	SubscriptionState   string     `db:"subscription_state"`
	LastPeriod          int32      `db:"last_period"`       // the last period granted
	PeriodLastDay       *time.Time `db:"period_last_day"`   // of the current period
	UnusableFrom        *time.Time `db:"unusable_from"`     // see unusableAt
	UsableAgainFrom     *time.Time `db:"usable_again_from"` // see unusableAt
}

// LedgerEntry is one change of a pass's credits.
type LedgerEntry struct {
	Sequence   int64          `db:"sequence"`
	Kind       string         `db:"kind"`
	Credits    int32          `db:"credits"`
	Balance    int32          `db:"balance"`
	Actor      string         `db:"actor"`
	CreatedAt  time.Time      `db:"created_at"`
	Redemption id.Transaction `db:"redemption_id"` // only for redeemed and returned
	Item       id.Booking     `db:"item_id"`       // only for redeemed and returned
	Reason     string         `db:"reason"`        // only for adjusted
	Period     *int32         `db:"period"`        // of a subscription
	Day        *time.Time     `db:"day"`           // nil: that of CreatedAt in EarlierZone

	// EarlierZone is the zone of the company in which entries of earlier releases have their day.
	EarlierZone string `db:"earlier_zone"`
}

// Kinds of ledger entries.
const (
	entryAssigned = "assigned"
	entryRedeemed = "redeemed"
	entryReturned = "returned"
	entryAdjusted = "adjusted"
	// The next three are only for passes of subscriptions.
	entryGranted      = "granted"
	entryExpired      = "expired"        // when a period began
	entryExpiredAtEnd = "expired_at_end" // when the subscription ended
)

// Statuses of a pass type.
const (
	typeActive   = "active"
	typeArchived = "archived"
)

// Statuses of a customer pass; the first three are stored.
const (
	statusActive    = "active"
	statusPaused    = "paused"
	statusCancelled = "cancelled"
	statusPending   = "pending"
	statusExhausted = "exhausted"
	statusExpired   = "expired"
)

// StatusOn returns the status on a day in the company's zone. A pause or cancellation takes
// precedence over the dates, and the dates over the uses.
func (p CustomerPass) StatusOn(today time.Time) string {
	switch {
	case p.Status != statusActive:
		return p.Status
	case today.After(p.ExpiryDate):
		return statusExpired
	case p.uses() == 0:
		return statusExhausted
	case today.Before(p.StartDate):
		return statusPending
	}
	return statusActive
}

// uses returns the number of uses left; unlimitedUses stands for any number. A previous release may
// have taken stored uses of a pass with unlimited uses.
func (p CustomerPass) uses() int32 {
	if p.UnlimitedUses {
		return unlimitedUses
	}
	return p.RemainingUses
}

// add adds credits, or removes them if negative. It returns the change for the ledger, which is 0 for
// a pass with unlimited uses.
func (p *CustomerPass) add(credits int32) int32 {
	if p.UnlimitedUses {
		return 0
	}
	p.RemainingUses += credits
	return credits
}

// neverDay returns the expiry date of passes that never expire.
func neverDay() time.Time { return time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC) }

// neverExpires reports whether the pass has no last day.
func (p CustomerPass) neverExpires() bool { return !p.ExpiryDate.Before(neverDay()) }

// lastDay returns the expiry date; neverDay stands for none.
func (p CustomerPass) lastDay() time.Time {
	if p.neverExpires() {
		return neverDay()
	}
	return p.ExpiryDate
}

// pausedSince returns when the pass was paused, or nil if it is not paused. The previous release
// stored only the day; then it is the start of that day.
func (p CustomerPass) pausedSince(zone *time.Location) *time.Time {
	switch {
	case p.PausedOn == nil:
		return nil
	case p.PausedAt != nil && dayOf(*p.PausedAt, zone).Equal(*p.PausedOn):
		return p.PausedAt
	}
	y, m, d := p.PausedOn.Date()
	return new(time.Date(y, m, d, 0, 0, 0, 0, zone))
}

// start sets the fields of a new pass of type t that is valid from day.
func (p *CustomerPass) start(t PassType, customer id.Customer, day time.Time) {
	p.CustomerID, p.PassTypeID, p.Title = customer, t.ID, t.Title
	p.TotalUses, p.RemainingUses, p.UnlimitedUses = t.TotalUses, t.TotalUses, t.UnlimitedUses
	p.StartDate, p.ExpiryDate, p.Status, p.Version = day, t.ExpiryOf(day), statusActive, 1
}

// adjusted returns the uses of the pass after credits are added, or removed if negative.
func (p *CustomerPass) adjusted(credits int32) (int32, error) {
	switch uses := p.RemainingUses + credits; {
	case p.UnlimitedUses:
		return 0, fault.InvalidFields(fault.Field{Field: "credits", Rule: "immutable", Message: "cannot be adjusted: the pass has unlimited uses"})
	case uses < 0:
		return 0, fault.Refuse(ReasonPassExhausted, "the pass does not have that many uses left")
	case uses > maxUses:
		return 0, fault.InvalidFields(fault.Field{Field: "credits", Rule: "range", Message: "would give the pass more than 100000 uses"})
	default:
		return uses, nil
	}
}

// passChange is the change in an update of a customer pass; nil members do not change.
type passChange struct {
	expiry *time.Time
	uses   *int32
	status string // "": no change
}

// isDerived reports whether a status follows from the dates and uses.
func isDerived(status string) bool {
	return status == statusPending || status == statusExhausted || status == statusExpired
}

// differing returns the members of c that differ from the pass, and checks them. A caller can send
// the values that it has read, with the status of that day.
func (p *CustomerPass) differing(c passChange, today time.Time) (passChange, error) {
	if c.status == p.Status || c.status == p.StatusOn(today) {
		c.status = ""
	}
	if c.expiry != nil && c.expiry.Equal(p.lastDay()) {
		c.expiry = nil
	}
	if c.uses != nil && *c.uses == p.uses() {
		c.uses = nil
	}
	var f check.Fields
	if isDerived(c.status) {
		f.Add("status", "enum", fmt.Sprintf("must be active, paused or cancelled: the pass is %s, and %s follows from its dates and uses",
			p.StatusOn(today), c.status))
	}
	switch {
	case c.uses == nil:
	case p.UnlimitedUses:
		f.Add("remaining_uses", "immutable", "must be 999999: the pass has unlimited uses")
	default:
		f.Range("remaining_uses", int64(*c.uses), 0, maxUses)
	}
	if c.expiry != nil && c.expiry.Before(p.StartDate) {
		f.Add("expiry_date", "min", "must not be before the start date")
	}
	return c, f.Err()
}

// changes reports whether c differs from the pass.
func (p *CustomerPass) changes(c passChange, today time.Time) bool {
	c, _ = p.differing(c, today) // a value that is not accepted differs
	return c.status != "" || c.expiry != nil || c.uses != nil
}

// apply applies a change at a time in the company's zone. It reports whether anything changed, and
// by how much the uses changed. A cancelled pass accepts a change without effect and refuses every
// other change.
func (p *CustomerPass) apply(c passChange, now time.Time, zone *time.Location) (changed bool, credits int32, err error) {
	before, today := *p, dayOf(now, zone)
	if c, err = p.differing(c, today); err != nil {
		return false, 0, err
	}
	if p.Status == statusCancelled && p.changes(c, today) {
		return false, 0, fault.Refuse(ReasonPassNotActive, "the pass is cancelled").With("status", p.Status)
	}
	switch c.status {
	case "":
	case statusPaused:
		p.Status, p.PausedOn, p.PausedAt = statusPaused, &today, &now
	default:
		if c.status == statusActive && p.PausedOn != nil && !p.neverExpires() {
			// The customer does not lose the days of the pause.
			p.ExpiryDate = p.ExpiryDate.AddDate(0, 0, max(0, daysBetween(*p.PausedOn, today)))
		}
		p.Status, p.PausedOn, p.PausedAt = c.status, nil, nil
	}
	if c.expiry != nil {
		p.ExpiryDate = *c.expiry
	}
	if c.uses != nil {
		p.RemainingUses = *c.uses
	}
	credits = p.RemainingUses - before.RemainingUses
	return credits != 0 || p.Status != before.Status || !p.ExpiryDate.Equal(before.ExpiryDate), credits, nil
}

func daysBetween(from, to time.Time) int { return int(to.Sub(from) / (24 * time.Hour)) }

// dayOf returns the day at t in a zone, as midnight UTC.
func dayOf(t time.Time, zone *time.Location) time.Time {
	y, m, d := t.In(zone).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// ExpiryOf returns the last day of a pass of this type that starts on a day.
func (t PassType) ExpiryOf(start time.Time) time.Time {
	if t.NeverExpires {
		return neverDay()
	}
	n := int(t.ValidityCount)
	switch t.ValidityUnit {
	case "day":
		return start.AddDate(0, 0, n)
	case "week":
		return start.AddDate(0, 0, 7*n)
	case "month":
		return addMonths(start, n)
	}
	return addMonths(start, 12*n)
}

// addMonths adds calendar months. A day that the month does not have becomes the month's last day:
// 31 January plus one month is 28 or 29 February.
func addMonths(day time.Time, n int) time.Time {
	y, m, d := day.Date()
	last := time.Date(y, m+time.Month(n)+1, 0, 0, 0, 0, 0, time.UTC)
	return time.Date(last.Year(), last.Month(), min(d, last.Day()), 0, 0, 0, 0, time.UTC)
}
