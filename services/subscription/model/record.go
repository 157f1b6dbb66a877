package model

import (
	"time"

	"reservation.dev/platform/id"
)

// Record is a subscription with the periods that a decision needs: the last one, those with an amount
// due and, for a late payment, the one that the request names. Actions change it in place. If an action
// returns an error, the record is unchanged.
//
// An action expects that every step due at its time was applied before: call Advance first, until it
// returns no steps. It applies the steps that it causes itself, for example the renewal after a payment.
// Steps describe everything that happened, in order; the server publishes one event for each.
// The version is 1 higher after each step.
type Record struct {
	Subscription
	Loaded  []Period       // ascending by number; the last one is the current period
	Entries []AccountEntry // new ones, to be stored

	stored map[int32]Period // the periods as loaded
}

// Load returns the record of a stored subscription. The periods are in ascending order, and the last of
// them is the subscription's last one.
func Load(s Subscription, periods []Period) *Record { panic("model") }

// View returns the subscription with its current period.
func (r *Record) View() View { panic("model") }

// NewPeriods returns the periods to be inserted, in ascending order.
func (r *Record) NewPeriods() []Period { panic("model") }

// ChangedPeriods returns the periods to be updated, in ascending order.
func (r *Record) ChangedPeriods() []Period { panic("model") }

// StepKind is the event of a step.
type StepKind string

// Values of StepKind. The names are those of the events: subscription_created and so on.
const (
	StepCreated         StepKind = "created"
	StepUpdated         StepKind = "updated"
	StepRenewed         StepKind = "renewed"
	StepPaymentDue      StepKind = "payment_due"
	StepPaymentRecorded StepKind = "payment_recorded"
	StepEnded           StepKind = "ended"
)

// Step is one change of a subscription, with an event of its own.
type Step struct {
	Kind   StepKind
	Cause  Cause
	At     time.Time // when it was due; the time of the action otherwise
	Before View      // empty for StepCreated
	After  View
	Period *Period // only for StepPaymentDue and StepPaymentRecorded: the period after the step
}

// Cause is what made a step happen, for logs, metrics and tests.
type Cause string

// Values of Cause.
const (
	CauseAction       Cause = "action"
	CauseRenewal      Cause = "renewal" // also the end of a trial, with or without a change of plan
	CausePauseBegins  Cause = "pause_begins"
	CausePauseEnds    Cause = "pause_ends"
	CauseReminder     Cause = "reminder"
	CausePastDue      Cause = "past_due"
	CauseSuspension   Cause = "suspension"
	CauseUnpaidEnd    Cause = "unpaid_end"
	CauseScheduledEnd Cause = "scheduled_end"
)

// NewSubscription is a request to start a subscription.
type NewSubscription struct {
	ID        id.Subscription
	Customer  id.Customer
	StartDay  *time.Time // nil: today
	SkipTrial bool
	Payment   *Payment // of the first period; nil: it becomes due
}

// Payment is a payment that was made outside the platform.
type Payment struct {
	Method    string // empty: CARD
	Reference string
	Amount    *int64 // if given, it must be the amount due
}

// Start starts a subscription. Periods after the first that would have begun since the start day begin
// too, oldest first. Refusal: PLAN_NOT_ACTIVE.
func Start(in NewSubscription, plan Plan, settings Settings, now time.Time, zone *time.Location) (*Record, []Step, error) {
	panic("model")
}

// Advance applies the steps that are due at now, in the order of their times, at most limit of them, and
// sets NextAt. It needs nextPlan, the plan with the id NextPlanID, if NextPlanID is set; otherwise nil.
func (r *Record) Advance(now time.Time, zone *time.Location, settings Settings, nextPlan *Plan, limit int) ([]Step, error) {
	panic("model")
}

// Clock is the time of an action with what its consequences need.
type Clock struct {
	Now      time.Time
	Zone     *time.Location // of the company
	Settings Settings
	NextPlan *Plan // the plan with the id NextPlanID, if it is set
}

// PauseRequest is a request to pause a subscription. The days are nil if they are not given.
type PauseRequest struct {
	FirstDay, ResumesOn *time.Time
	Reason              string
}

// Pause schedules or begins a pause.
// Refusals: SUBSCRIPTION_ENDED, ALREADY_PAUSED, PAYMENT_DUE, SUBSCRIPTION_ENDING.
func (r *Record) Pause(c Clock, in PauseRequest) ([]Step, error) { panic("model") }

// Resume ends a pause on a day, or withdraws a pause that has not begun; nil: today.
// Refusals: NOT_PAUSED, SUBSCRIPTION_ENDED.
func (r *Record) Resume(c Clock, on *time.Time) ([]Step, error) { panic("model") }

// PlanChangeRequest is a request to change the plan, at the end of the current period or now.
type PlanChangeRequest struct {
	Plan        Plan
	Now         bool
	Payment     *Payment // only with Now
	CreditsLeft int32    // of the customer pass; only used with Now
}

// ChangePlan changes the plan or schedules the change. Refusals: SUBSCRIPTION_ENDED, SUBSCRIPTION_PAUSED,
// SUBSCRIPTION_ENDING, PLAN_NOT_ACTIVE, CURRENCY_MISMATCH, SAME_PLAN, PAYMENT_DUE.
func (r *Record) ChangePlan(c Clock, in PlanChangeRequest) ([]Step, error) { panic("model") }

// PlanChangePreview is what a change of plan would do. Money is in minor units.
type PlanChangePreview struct {
	On                                                                   time.Time
	UnusedValue, Price, CreditApplied, AmountDue, AccountCredit          int64
	Currency                                                             string
	RemainingCredits, CreditsExpired, CreditsCarriedOver, CreditsGranted int32
}

// PreviewPlanChange returns what ChangePlan would do, and refuses what it refuses. It changes nothing.
func (r *Record) PreviewPlanChange(c Clock, in PlanChangeRequest) (PlanChangePreview, error) {
	panic("model")
}

// WithdrawPlanChange withdraws a scheduled change of plan. Refusal: NO_PLAN_CHANGE.
func (r *Record) WithdrawPlanChange(c Clock) ([]Step, error) { panic("model") }

// CancelRequest is a request to cancel a subscription, at the end of the current period or now.
type CancelRequest struct {
	Now         bool
	Reason      string
	Prorate     bool // only with Now
	WaiveTerm   bool
	CreditsLeft int32 // of the customer pass; only used with Now and Prorate
}

// Cancel cancels a subscription. Refusals: SUBSCRIPTION_ENDED, SUBSCRIPTION_ENDING, MINIMUM_TERM.
func (r *Record) Cancel(c Clock, in CancelRequest) ([]Step, error) { panic("model") }

// CancellationPreview is what a cancellation would do. Money is in minor units.
type CancellationPreview struct {
	LastDay                    time.Time
	RefundDue, AmountCancelled int64
	Currency                   string
	MinimumTermApplies         bool
	MinimumTermLastDay         *time.Time // nil: there is no minimum term, or it is over
}

// PreviewCancellation returns what Cancel would do. It changes nothing. It does not refuse MINIMUM_TERM.
func (r *Record) PreviewCancellation(c Clock, in CancelRequest) (CancellationPreview, error) {
	panic("model")
}

// WithdrawCancellation keeps a subscription that is ending. Refusals: SUBSCRIPTION_ENDED, NOT_ENDING.
func (r *Record) WithdrawCancellation(c Clock) ([]Step, error) { panic("model") }

// RecordPayment records that the amount due of a period was paid; 0 means the oldest with an amount due.
// A period whose payment was cancelled at the end can be paid by its number. Refusal: NO_PAYMENT_DUE.
func (r *Record) RecordPayment(c Clock, period int32, in Payment) ([]Step, error) { panic("model") }

// RecordFailure records that an attempt to collect the amount due of a period failed.
// Refusal: NO_PAYMENT_DUE.
func (r *Record) RecordFailure(c Clock, period int32, reason string) ([]Step, error) { panic("model") }

// Waive gives up the amount due of a period. Refusal: NO_PAYMENT_DUE.
func (r *Record) Waive(c Clock, period int32, reason string) ([]Step, error) { panic("model") }

// RecordRefund records a refund of an amount in minor units; nil means all that is due.
// Refusal: NO_REFUND_DUE.
func (r *Record) RecordRefund(c Clock, amount *int64, reference string) ([]Step, error) {
	panic("model")
}

// DeleteCustomer ends the subscription because its customer is deleted. It returns no steps if it has ended.
func (r *Record) DeleteCustomer(c Clock) ([]Step, error) { panic("model") }

// ImportedSubscription is one line of an import.
type ImportedSubscription struct {
	ID               id.Subscription
	Reference        string
	Customer         id.Customer
	PeriodFirstDay   time.Time
	StartDay         *time.Time // nil: PeriodFirstDay
	RemainingCredits int32
	Price            *int64 // nil: the price of the plan
	PaymentDue       bool
	AnchorDay        int32 // 0: the day of PeriodFirstDay
	Trial            bool
	PeriodsBefore    int32
	LastDay          *time.Time // nil: it renews
}

// Import returns the record of a subscription of an earlier system. A fault lists the fields of the line.
func Import(in ImportedSubscription, plan Plan, settings Settings, now time.Time, zone *time.Location) (*Record, error) {
	panic("model")
}

// PassState is what SyncSubscriptionPass has to say.
type PassState struct {
	Status          string     // active, paused or cancelled
	StartDay        time.Time  // of the subscription
	LastDay         *time.Time // of the subscription; nil: it renews
	PeriodLastDay   time.Time  // of the current period
	Bookings        Bookings   // of the current plan; BookingsNone: the pass keeps its type
	Unlimited       bool
	UnusableFrom    *time.Time
	UsableAgainFrom *time.Time
	Quiet           bool // the creation of the pass publishes no event
	Grants          []Grant
}

// Grant is the credits that a period begins with.
type Grant struct {
	Period, Credits, MaxRollover int32
	Unlimited                    bool
	FirstDay                     time.Time
}

// PassState returns the state of the pass, with the grants of periods, which are ascending. It is only
// meant for subscriptions with HasPass.
func (v *View) PassState(grants []Period, zone *time.Location) PassState { panic("model") }

// Difference is a stored value that differs from the one computed from the other rows.
type Difference struct {
	What             string // for example "period.first_day"
	Period           int32  // 0: of the subscription
	Stored, Computed string
}

// Verify recomputes a subscription from all of its periods and entries, which are in ascending order. It
// returns the differences and the number of values checked.
func Verify(s Subscription, periods []Period, entries []AccountEntry, zone *time.Location) ([]Difference, int64) {
	panic("model")
}

// StartOfDay returns the first instant of a day in a zone.
func StartOfDay(day time.Time, loc *time.Location) time.Time { panic("model") }

// DayOf returns the day at an instant in a zone, as midnight UTC.
func DayOf(at time.Time, loc *time.Location) time.Time { panic("model") }

// Reasons of refusals.
const (
	ReasonPlanNotActive      = "PLAN_NOT_ACTIVE"
	ReasonSubscriptionEnded  = "SUBSCRIPTION_ENDED"
	ReasonSubscriptionEnding = "SUBSCRIPTION_ENDING"
	ReasonSubscriptionPaused = "SUBSCRIPTION_PAUSED"
	ReasonAlreadyPaused      = "ALREADY_PAUSED"
	ReasonNotPaused          = "NOT_PAUSED"
	ReasonPaymentDue         = "PAYMENT_DUE"
	ReasonNoPaymentDue       = "NO_PAYMENT_DUE"
	ReasonCurrencyMismatch   = "CURRENCY_MISMATCH"
	ReasonSamePlan           = "SAME_PLAN"
	ReasonNoPlanChange       = "NO_PLAN_CHANGE"
	ReasonMinimumTerm        = "MINIMUM_TERM"
	ReasonNotEnding          = "NOT_ENDING"
	ReasonNoRefundDue        = "NO_REFUND_DUE"
)
