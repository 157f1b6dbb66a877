package model

import (
	"time"

	"reservation.dev/platform/id"
)

// Status is the state of a subscription.
type Status string

// Values of Status.
const (
	Trialing Status = "trialing"
	Active   Status = "active"
	PastDue  Status = "past_due"
	Paused   Status = "paused"
	Ending   Status = "ending"
	Ended    Status = "ended"
)

// EndReason is why a subscription ended.
type EndReason string

// Values of EndReason; NotEnded while the subscription has not ended.
const (
	NotEnded           EndReason = ""
	EndCancelled       EndReason = "cancelled"
	EndUnpaid          EndReason = "unpaid"
	EndCustomerDeleted EndReason = "customer_deleted"
)

// Subscription is a customer's subscription to a plan. Its current period is the one with the number
// Periods.
type Subscription struct {
	ID          id.Subscription `db:"id"`
	CustomerID  id.Customer     `db:"customer_id"`
	PlanID      id.Plan         `db:"plan_id"`
	PlanTitle   string          `db:"plan_title"`           // of the plan
	Collections []id.Collection `db:"media_collection_ids"` // of the plan
	Terms
	Status    Status    `db:"status"`    // see View.status
	StartDay  time.Time `db:"start_day"` // the first day
	Periods   int32     `db:"periods"`   // the number of the last period
	HasPass   bool      `db:"has_pass"`  // a plan of the subscription includes or included bookings
	Imported  bool      `db:"imported"`  // its pass is created without an event
	TermFrom  int32     `db:"term_from"` // the number of the first period of the minimum term; see lastOfTerm
	Reference *string   `db:"reference"` // in an earlier system; nil unless Imported

	// The scheduled end. LastPeriod is 0 if the subscription renews. LastDay is its last day then, and
	// stays after the end.
	LastPeriod int32      `db:"last_period"`
	LastDay    *time.Time `db:"last_day"`
	EndReason  EndReason  `db:"end_reason"`
	EndedAt    *time.Time `db:"ended_at"`

	// The cancellation; CancelledAt is nil if the subscription was not cancelled.
	CancelledAt       *time.Time `db:"cancelled_at"`
	CancelReason      string     `db:"cancel_reason"`
	CancelAtPeriodEnd bool       `db:"cancel_at_period_end"`

	// The pause, scheduled or current. PauseFirstDay is nil if there is none.
	Paused         bool       `db:"paused"` // the pause has begun
	PauseFirstDay  *time.Time `db:"pause_first_day"`
	PauseResumesOn *time.Time `db:"pause_resumes_on"` // a day; nil: until it is resumed
	PauseReason    string     `db:"pause_reason"`

	NextPlanID *id.Plan `db:"next_plan_id"` // the scheduled change of plan

	// Money in minor units. EntryCount is the number of account entries.
	AmountDue      int64 `db:"amount_due"` // the sum of the periods' amounts due
	AccountCredit  int64 `db:"account_credit"`
	RefundDue      int64 `db:"refund_due"`
	RefundedAmount int64 `db:"refunded_amount"`
	EntryCount     int64 `db:"entry_count"`

	// Dunning. PastDueSince is nil unless the subscription is past due. The other two are the times of
	// the next steps then, which a pause moves.
	PastDueSince  *time.Time `db:"past_due_since"`
	SuspendedFrom *time.Time `db:"suspended_from"`
	UnpaidEndAt   *time.Time `db:"unpaid_end_at"` // nil: never
	Suspended     bool       `db:"suspended"`     // SuspendedFrom is over; cannot pay for bookings

	NextAt    *time.Time `db:"next_at"` // when Advance has something to do; nil: never
	Version   int64      `db:"version"`
	CreatedAt time.Time  `db:"created_at"`
	UpdatedAt time.Time  `db:"updated_at"`
}

// PaymentStatus is the state of the payment of a period.
type PaymentStatus string

// Values of PaymentStatus.
const (
	PaymentNotDue    PaymentStatus = "not_due"
	PaymentDue       PaymentStatus = "due"
	PaymentFailed    PaymentStatus = "failed"
	PaymentPaid      PaymentStatus = "paid"
	PaymentWaived    PaymentStatus = "waived"
	PaymentCancelled PaymentStatus = "cancelled"
)

// Period is one period of a subscription.
//
// Its first day is the boundary AnchorIndex counted from Anchor (see boundary), and its last day is the day
// before the next boundary, or the last one of the trial. Both move by PausedDays from the end of a pause
// on. If CutShort, the period ended earlier than that; a change of plan on its first day leaves it empty,
// and its last day is the day before its first one.
type Period struct {
	Number      int32     `db:"number"`
	PlanID      id.Plan   `db:"plan_id"`
	FirstDay    time.Time `db:"first_day"`
	LastDay     time.Time `db:"last_day"`
	Trial       bool      `db:"trial"`
	TrialDays   int32     `db:"trial_days"` // 0 unless Trial
	Anchor      time.Time `db:"anchor"`
	AnchorDay   int32     `db:"anchor_day"` // day of the month, which a month may not have; 0 for weeks
	AnchorIndex int32     `db:"anchor_index"`
	Unit        Unit      `db:"interval_unit"`
	Count       int32     `db:"interval_count"`
	PausedDays  int32     `db:"paused_days"`
	CutShort    bool      `db:"cut_short"`

	// Money in minor units. Price is CreditApplied and one amount, which PaymentStatus describes.
	Price         int64         `db:"price"`
	Currency      string        `db:"currency"`
	CreditApplied int64         `db:"credit_applied"`
	AmountDue     int64         `db:"amount_due"` // 0 unless PaymentStatus is due or failed
	UnusedValue   int64         `db:"unused_value"`
	PaymentStatus PaymentStatus `db:"payment_status"`

	// Dunning, with the settings of the time when the payment became due. DueAt is nil if it never did.
	// DunningFrom is DueAt, moved by pauses.
	DueAt            *time.Time `db:"due_at"`
	DunningFrom      *time.Time `db:"dunning_from"`
	PastDueAfterDays int32      `db:"past_due_after_days"`
	GraceDays        int32      `db:"grace_days"`
	ReminderDays     []int32    `db:"reminder_days"`
	EndAfterDays     *int32     `db:"end_after_days"`
	RemindersSent    int32      `db:"reminders_sent"`

	// The payment; PaidAt is nil unless it is recorded.
	PaidAt           *time.Time `db:"paid_at"`
	PaidAmount       int64      `db:"paid_amount"`
	PaidOn           *time.Time `db:"paid_on"` // a day; nil: that of PaidAt in EarlierZone
	EarlierZone      string     `db:"earlier_zone"`
	PaymentMethod    string     `db:"payment_method"`
	PaymentReference string     `db:"payment_reference"`
	WaiveReason      string     `db:"waive_reason"`
	FailureReason    string     `db:"failure_reason"`
	FailedAttempts   int32      `db:"failed_attempts"`

	// The grant that the period needs: see Grant.
	Bookings    Bookings `db:"bookings"`
	Credits     int32    `db:"credits"`
	MaxRollover int32    `db:"max_rollover"`

	// The answer of the pass service, which the rules only read. Granted is false until it is stored.
	Granted            bool  `db:"granted"`
	CreditsGranted     int32 `db:"credits_granted"`
	CreditsCarriedOver int32 `db:"credits_carried_over"`
	CreditsExpired     int32 `db:"credits_expired"`
	// The first day for which the pass service granted the number; nil unless Granted.
	GrantedFirstDay *time.Time `db:"granted_first_day"`

	CreatedAt time.Time `db:"created_at"`
}

// EntryKind is the reason why account credit or the refund due changed.
type EntryKind string

// Values of EntryKind.
const (
	EntryUnusedPeriod EntryKind = "unused_period"
	EntryApplied      EntryKind = "applied"
	EntryRefundDue    EntryKind = "refund_due"
	EntryRefunded     EntryKind = "refunded"
)

// AccountEntry is one change of account credit or of the refund due, in minor units.
type AccountEntry struct {
	Sequence      int64     `db:"sequence"` // from 1, without gaps
	Kind          EntryKind `db:"kind"`
	Credit        int64     `db:"credit"`
	Refund        int64     `db:"refund"`
	CreditBalance int64     `db:"credit_balance"`
	RefundBalance int64     `db:"refund_balance"`
	Period        int32     `db:"period"` // 0: concerns no period
	Reference     string    `db:"reference"`
	Actor         string    `db:"actor"` // set by the server
	CreatedAt     time.Time `db:"created_at"`
	// Day is that of CreatedAt in the company's zone. Nil: an earlier release added the entry, and it is that of
	// CreatedAt in EarlierZone.
	Day         *time.Time `db:"day"`
	EarlierZone string     `db:"earlier_zone"`
	// Of a refund: the method of the last payment, and the plan.
	Method string  `db:"payment_method"`
	PlanID id.Plan `db:"plan_id"`
}

// View is a subscription with its current period: what callers and events see.
type View struct {
	Subscription
	Current Period
}

// RenewsOn returns the day on which the next period begins; nil if the subscription is not going to renew,
// or is paused or past due.
func (v *View) RenewsOn() *time.Time {
	if !v.renews() || v.Status == Paused || v.Status == PastDue {
		return nil
	}
	return new(addDays(v.Current.LastDay, 1))
}

// PlanChangeOn returns the day of the scheduled change of plan; nil if there is none.
func (v *View) PlanChangeOn() *time.Time {
	if v.NextPlanID == nil {
		return nil
	}
	return new(addDays(v.Current.LastDay, 1))
}

// renews reports whether a period follows the current one, as far as the end of the subscription decides.
func (s *Subscription) renews() bool {
	return s.EndReason == NotEnded && (s.LastPeriod == 0 || s.Periods < s.LastPeriod)
}

// status returns the first state that applies: ended, paused, past_due, ending, trialing, active.
func (v *View) status() Status {
	switch {
	case v.EndReason != NotEnded:
		return Ended
	case v.Paused:
		return Paused
	case v.PastDueSince != nil:
		return PastDue
	case v.LastPeriod > 0:
		return Ending
	case v.Current.Trial:
		return Trialing
	}
	return Active
}
