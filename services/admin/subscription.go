package admin

import (
	"cmp"
	"slices"
	"strconv"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// periodView is a period of a subscription as a page shows it.
type periodView struct{ *subscriptionv1.Period }

// Days says from which to which day the period runs.
func (p periodView) Days() *message {
	return msg("desk.valid.between", "from", wallDate(p.GetFirstDay()), "to", wallDate(p.GetLastDay()))
}

// Owed returns what the period costs beyond account credit, in minor units.
func (p periodView) Owed() int64 { return p.GetPrice() - p.GetCreditApplied() }

// Money prints an amount in the currency of the period.
func (p periodView) Money(minor int64) *message { return priceText(minor, p.GetCurrency()) }

// Due reports whether an amount of the period is due.
func (p periodView) Due() bool { return p.GetAmountDue() > 0 }

// Payable reports whether a payment of the period can be recorded.
func (p periodView) Payable() bool {
	return p.Due() || p.GetPaymentStatus() == subscriptionv1.PaymentStatus_PAYMENT_STATUS_CANCELLED
}

// paymentTags are the tags of the states of payments.
var paymentTags = map[subscriptionv1.PaymentStatus]string{
	subscriptionv1.PaymentStatus_PAYMENT_STATUS_DUE:    "warn",
	subscriptionv1.PaymentStatus_PAYMENT_STATUS_FAILED: "bad",
	subscriptionv1.PaymentStatus_PAYMENT_STATUS_PAID:   "good",
}

// State returns the status of the period's payment.
func (p periodView) State() stateTag {
	name := enum.Name(p.GetPaymentStatus())
	return stateTag{paymentTags[p.GetPaymentStatus()], msg("plans.payment." + name).or(upperFirst(name))}
}

// Paid says how the period was paid; nil if it was not.
func (p periodView) Paid() *message {
	if p.GetPayment() == nil {
		return nil
	}
	return byMethod(p.Money(p.GetPayment().GetAmount()), p.GetPayment().GetMethod())
}

// Credits says what happened to the credits when the period began; nothing if there were none.
func (p periodView) Credits() []*message {
	var all []*message
	add := func(n int32, m *message) {
		if n > 0 {
			all = append(all, m)
		}
	}
	add(p.GetCreditsGranted(), msg("plans.period.granted", "count", p.GetCreditsGranted()))
	add(p.GetCreditsCarriedOver(), msg("plans.period.carried", "count", p.GetCreditsCarriedOver()))
	add(p.GetCreditsExpired(), msg("plans.period.expired", "count", p.GetCreditsExpired()))
	return all
}

// accountView is an entry of the account of a subscription.
type accountView struct {
	*subscriptionv1.AccountEntry
	currency string
}

// KindName says why the account changed.
func (e accountView) KindName() *message {
	name := enum.Name(e.GetKind())
	return msg("plans.account." + name).or(upperFirst(name))
}

// signed prints an amount with its sign; a dash for 0.
func (e accountView) signed(minor int64) *message {
	switch {
	case minor == 0:
		return literal("–")
	case minor > 0:
		return printed(func(x *texts) string { return "+" + x.price(minor, e.currency) })
	}
	return priceText(minor, e.currency)
}

// CreditChange prints the change of the account credit.
func (e accountView) CreditChange() *message { return e.signed(e.GetCredit()) }

// RefundChange prints the change of the refund due.
func (e accountView) RefundChange() *message { return e.signed(e.GetRefund()) }

// historyLine is something that happened to a subscription.
type historyLine struct {
	At   *timestamppb.Timestamp
	Text *message
}

// subscriptionPage is a subscription with its periods, its account and its credits.
type subscriptionPage struct {
	Subscription subscriptionView
	Customer     *customerv1.Customer
	// ChangesTo is the title of the plan that the subscription changes to.
	ChangesTo   string
	Current     periodView
	Periods     []periodView
	PeriodTotal int64
	Older       string
	Account     []accountView
	MoreAccount string
	Pass        *passView // nil if the subscription has none yet
	Ledger      []entryOfLedger
}

func (p subscriptionPage) head() (*message, string) {
	return literal(p.Subscription.GetPlanTitle()), "subscriptions"
}

// Facts says in which state the subscription is, and since when.
func (p subscriptionPage) Facts() *message {
	s := p.Subscription
	switch s.GetStatus() {
	case subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_TRIALING:
		return msg("plans.state.trialing", "day", wallDate(p.Current.GetLastDay()))
	case subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_PAST_DUE:
		return msg("plans.state.past_due", "amount", s.Money(s.GetAmountDue()))
	case subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_PAUSED:
		return msg("plans.state.paused", "day", wallDate(s.GetPause().GetFirstDay()))
	case subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_ENDING:
		return msg("plans.state.ending", "day", wallDate(s.GetLastDay()))
	case subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_ENDED:
		why := enum.Name(s.GetEndReason())
		return msg("plans.state.ended", "day", wallDate(s.GetLastDay()), "why", msg("plans.ended."+why).or(why))
	}
	return msg("plans.state.active", "day", wallDate(s.GetStartDate()))
}

// Next says what happens next, in order of the days.
func (p subscriptionPage) Next(c clock) []*message {
	s := p.Subscription
	var all []*message
	add := func(when bool, m *message) {
		if when {
			all = append(all, m)
		}
	}
	pause, scheduled := s.GetPause(), s.GetPause() != nil && !s.Paused()
	add(scheduled && pause.GetResumesOn() == "", msg("plans.next_step.pause", "day", wallDate(pause.GetFirstDay())))
	add(scheduled && pause.GetResumesOn() != "", msg("plans.next_step.pause_until", "day", wallDate(pause.GetFirstDay()), "until", wallDate(pause.GetResumesOn())))
	add(s.Paused() && pause.GetResumesOn() == "", msg("plans.next_step.stays_paused"))
	add(s.Paused() && pause.GetResumesOn() != "", msg("plans.next_step.resumes", "day", wallDate(pause.GetResumesOn())))
	overdue := s.is(subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_PAST_DUE)
	add(overdue, msg("plans.next_step.overdue"))
	add(overdue && s.GetSuspendedFrom() != nil && !c.Past(s.GetSuspendedFrom()), msg("plans.next_step.grace", "time", c.Time(s.GetSuspendedFrom())))
	add(overdue && s.GetSuspendedFrom() != nil && c.Past(s.GetSuspendedFrom()), msg("plans.next_step.suspended", "time", c.Time(s.GetSuspendedFrom())))
	change := s.GetPlanChange()
	add(change != nil, msg("plans.next_step.plan", "day", wallDate(change.GetOn()), "plan", p.ChangesTo))
	renews := s.GetRenewsOn() != ""
	due := max(0, s.GetTerms().GetPrice()-s.GetAccountCredit())
	add(renews && change == nil, msg("plans.next_step.renews", "day", wallDate(s.GetRenewsOn()), "amount", s.Money(due)))
	add(renews && s.GetAccountCredit() > 0, msg("plans.next_step.account_credit", "amount", s.Money(s.GetAccountCredit())))
	add(!s.Ended() && s.GetLastDay() != "", msg("plans.next_step.ends", "day", wallDate(s.GetLastDay())))
	add(s.GetRefundDue() > 0, msg("plans.next_step.refund", "amount", s.Money(s.GetRefundDue())))
	add(len(all) == 0, msg("plans.next_step.nothing"))
	return all
}

// History lists what happened, newest first, as far as the subscription and the periods on the page say.
func (p subscriptionPage) History() []historyLine {
	s := p.Subscription
	lines := []historyLine{{s.GetCreatedAt(), msg("plans.history.created", "plan", s.GetPlanTitle())}}
	if at := s.GetPastDueSince(); at != nil {
		lines = append(lines, historyLine{at, msg("plans.history.past_due")})
	}
	if c := s.GetCancellation(); c.GetRequestedAt() != nil {
		text := msg("plans.history.cancelled")
		if c.GetReason() != "" {
			text = msg("plans.history.cancelled_why", "reason", c.GetReason())
		}
		lines = append(lines, historyLine{c.GetRequestedAt(), text})
	}
	for _, period := range p.Periods {
		if at := period.GetPayment().GetPaidAt(); at != nil {
			lines = append(lines, historyLine{at, msg("plans.history.paid", "number", period.GetNumber(), "paid", period.Paid())})
		}
		if at := period.GetDueAt(); at != nil {
			lines = append(lines, historyLine{at, msg("plans.history.due", "number", period.GetNumber(), "amount", period.Money(period.Owed()))})
		}
	}
	slices.SortStableFunc(lines, func(x, y historyLine) int { return cmp.Compare(y.At.AsTime().UnixNano(), x.At.AsTime().UnixNano()) })
	return lines
}

// periodsShown is the number of periods on a subscription's page.
const periodsShown = 12

// findSubscription returns the subscription in the path and its customer.
func (r *request) findSubscription() (subscriptionPage, error) {
	res, err := r.services.subscriptions.GetSubscription(r.ctx, &subscriptionv1.GetSubscriptionRequest{Id: r.path("id")})
	if err != nil {
		return subscriptionPage{}, err
	}
	s := res.GetSubscription()
	page := subscriptionPage{Subscription: subscriptionView{Subscription: s}, Current: periodView{s.GetCurrentPeriod()}}
	names, err := r.services.customers.BatchGetCustomers(r.ctx, &customerv1.BatchGetCustomersRequest{Ids: []string{s.GetCustomerId()}, IncludeDeleted: true})
	if list := names.GetCustomers(); len(list) > 0 {
		page.Customer, page.Subscription.Name = list[0], fullName(list[0])
	}
	return page, err
}

// subscription shows a subscription, in a fixed number of calls.
func (r *request) subscription() error {
	page, err := r.findSubscription()
	if err != nil {
		return err
	}
	for _, read := range []func(*subscriptionPage) error{r.periods, r.account, r.credits, r.planChange} {
		if err := read(&page); err != nil {
			return err
		}
	}
	return r.render("subscription", page)
}

func (r *request) periods(page *subscriptionPage) error {
	res, err := r.services.subscriptions.ListPeriods(r.ctx, &subscriptionv1.ListPeriodsRequest{
		SubscriptionId: page.Subscription.GetId(), PageSize: periodsShown, PageToken: r.query("periods"), Descending: true,
	})
	page.Periods = views(res.GetPeriods(), func(p *subscriptionv1.Period) periodView { return periodView{p} })
	page.PeriodTotal, page.Older = res.GetTotal(), r.with("periods", res.GetNextPageToken())
	return err
}

func (r *request) account(page *subscriptionPage) error {
	res, err := r.services.subscriptions.ListAccountEntries(r.ctx, &subscriptionv1.ListAccountEntriesRequest{
		SubscriptionId: page.Subscription.GetId(), PageSize: 50, PageToken: r.query("account"), Descending: true,
	})
	currency := page.Subscription.GetTerms().GetCurrency()
	page.Account = views(res.GetEntries(), func(e *subscriptionv1.AccountEntry) accountView { return accountView{e, currency} })
	page.MoreAccount = r.with("account", res.GetNextPageToken())
	return err
}

// credits reads the pass of the subscription and the newest entries of its ledger. The pass of a new
// subscription can be missing for some seconds.
func (r *request) credits(page *subscriptionPage) error {
	passID := page.Subscription.GetCustomerPassId()
	if passID == "" {
		return nil
	}
	res, err := r.services.passes.GetCustomerPass(r.ctx, &passv1.GetCustomerPassRequest{Id: passID})
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	pass := res.GetCustomerPass()
	page.Pass = &passView{pass, page.Subscription.GetPlanTitle()}
	ledger, err := r.services.passes.ListLedgerEntries(r.ctx, &passv1.ListLedgerEntriesRequest{CustomerPassId: passID, PageSize: 20, Descending: true})
	page.Ledger = views(ledger.GetEntries(), func(e *passv1.LedgerEntry) entryOfLedger { return entryOfLedger{e, pass.GetUnlimitedUses()} })
	return err
}

// planChange reads the title of the plan that the subscription changes to.
func (r *request) planChange(page *subscriptionPage) error {
	change := page.Subscription.GetPlanChange()
	if change == nil {
		return nil
	}
	page.ChangesTo = page.Subscription.GetPlanTitle()
	if change.GetPlanId() == page.Subscription.GetPlanId() {
		return nil
	}
	res, err := r.services.plans.GetPlan(r.ctx, &subscriptionv1.GetPlanRequest{Id: change.GetPlanId()})
	page.ChangesTo = res.GetPlan().GetTitle()
	return err
}

// findPeriod returns the period in the path.
func (r *request) findPeriod() (periodView, error) {
	number, err := strconv.ParseInt(r.path("period"), 10, 32)
	if err != nil || number < 1 {
		return periodView{}, fault.Missing("period")
	}
	// Periods are numbered from 1 without gaps.
	res, err := r.services.subscriptions.ListPeriods(r.ctx, &subscriptionv1.ListPeriodsRequest{SubscriptionId: r.path("id"), PageSize: 1, Offset: number - 1})
	if err != nil {
		return periodView{}, err
	}
	for _, p := range res.GetPeriods() {
		if int64(p.GetNumber()) == number {
			return periodView{p}, nil
		}
	}
	return periodView{}, fault.Missing("period")
}
