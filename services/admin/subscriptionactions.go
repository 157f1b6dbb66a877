package admin

import (
	"reservation.dev/platform/fault"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// subscriptionForm is the form of an action on a subscription. It says what the action does before it is
// done.
type subscriptionForm struct {
	Subscription subscriptionView
	// Kind is the action, as in the messages plans.action.
	Kind    string
	Action  string // the path of the form
	Period  *periodView
	Form    *form
	Effects []*message
	Danger  bool
	// Today is the first day that the form accepts.
	Today string
}

func (p subscriptionForm) head() (*message, string) {
	return msg("plans.action." + p.Kind + ".title"), "subscriptions"
}

// Title is the heading of the page.
func (p subscriptionForm) Title() *message { return msg("plans.action." + p.Kind + ".title") }

// Button is the text of the button.
func (p subscriptionForm) Button() *message { return msg("plans.action." + p.Kind + ".button") }

// subscriptionForm returns the page of an action.
func (r *request) subscriptionForm(kind string) (subscriptionForm, error) {
	found, err := r.findSubscription()
	p := subscriptionForm{
		Subscription: found.Subscription, Kind: kind, Action: r.http.URL.Path, Form: newForm(), Today: dayText(r.midnight(r.now(), 0)),
	}
	p.Form.setVersion(found.Subscription.GetVersion())
	return p, err
}

// done redirects to the subscription after an action.
func (p subscriptionForm) done(r *request) error {
	r.detail("customer", "", p.Subscription.GetCustomerId())
	return r.back(p.Subscription.Path(), r.text("plans.action."+p.Kind+".done"))
}

// version returns the version from which the submitted form was made.
func (p subscriptionForm) version() *int64 {
	return p.Form.expectedVersion(p.Subscription.GetVersion())
}

func (r *request) pausePage() (subscriptionForm, error) {
	p, err := r.subscriptionForm("pause")
	p.Form.values.Set("from", p.Today)
	p.Effects = []*message{msg("plans.action.pause.stops"), msg("plans.action.pause.moves"), msg("plans.action.pause.dunning")}
	if p.Subscription.GetPause() != nil {
		p.Effects = append(p.Effects, msg("plans.action.pause.replaces", "day", wallDate(p.Subscription.GetPause().GetFirstDay())))
	}
	return p, err
}

func (r *request) pauseSubscription() error {
	p, err := r.pausePage()
	if err != nil {
		return err
	}
	f := r.sent(map[string]string{"first_day": "from", "resumes_on": "until"})
	p.Form = f
	req := &subscriptionv1.PauseSubscriptionRequest{
		Id: p.Subscription.GetId(), FirstDay: f.text("from"), ResumesOn: f.text("until"), Reason: f.text("reason"), ExpectedVersion: p.version(),
	}
	if req.GetResumesOn() != "" && req.GetResumesOn() <= req.GetFirstDay() { // YYYY-MM-DD dates sort as text
		f.add("until", msg("plans.action.pause.order"))
	}
	if _, err := submit(r, f, r.services.subscriptions.PauseSubscription, req); err != nil {
		return r.again(err, "subscription-action", p)
	}
	r.detail("first_day", "", req.GetFirstDay())
	r.detail("resumes_on", "", req.GetResumesOn())
	r.detail("reason", "", req.GetReason())
	return p.done(r)
}

// resumePage ends a pause, or withdraws one that has not begun.
func (r *request) resumePage() (subscriptionForm, error) {
	p, err := r.subscriptionForm("resume")
	if !p.Subscription.Paused() {
		p.Kind = "unpause"
		p.Effects = []*message{msg("plans.action.unpause.withdraws", "day", wallDate(p.Subscription.GetPause().GetFirstDay()))}
		return p, err
	}
	p.Form.values.Set("on", p.Today)
	p.Effects = []*message{msg("plans.action.resume.pays"), msg("plans.action.resume.moves")}
	return p, err
}

func (r *request) resumeSubscription() error {
	p, err := r.resumePage()
	if err != nil {
		return err
	}
	p.Form = r.sent(nil)
	req := &subscriptionv1.ResumeSubscriptionRequest{Id: p.Subscription.GetId(), On: p.Form.text("on"), ExpectedVersion: p.version()}
	if _, err := submit(r, p.Form, r.services.subscriptions.ResumeSubscription, req); err != nil {
		return r.again(err, "subscription-action", p)
	}
	r.detail("resumes_on", p.Subscription.GetPause().GetResumesOn(), req.GetOn())
	return p.done(r)
}

// keepPage withdraws a cancellation ("keep") or a scheduled change of plan ("keep-plan").
func (r *request) keepPage() (subscriptionForm, error) {
	switch r.path("action") {
	case "keep":
		p, err := r.subscriptionForm("keep")
		p.Effects = []*message{msg("plans.action.keep.renews"), msg("plans.action.keep.payments")}
		return p, err
	case "keep-plan":
		p, err := r.subscriptionForm("keep_plan")
		p.Effects = []*message{msg("plans.action.keep_plan.stays", "plan", p.Subscription.GetPlanTitle())}
		return p, err
	}
	return subscriptionForm{}, fault.Missing("page")
}

func (r *request) keepSubscription() error {
	p, err := r.keepPage()
	if err != nil {
		return err
	}
	p.Form = r.sent(nil)
	id, s := p.Subscription.GetId(), r.services.subscriptions
	if r.path("action") == "keep" {
		_, err = submit(r, p.Form, s.WithdrawCancellation, &subscriptionv1.WithdrawCancellationRequest{Id: id, ExpectedVersion: p.version()})
	} else {
		r.action("subscription.keep_plan")
		_, err = submit(r, p.Form, s.WithdrawPlanChange, &subscriptionv1.WithdrawPlanChangeRequest{Id: id, ExpectedVersion: p.version()})
	}
	if err != nil {
		return r.again(err, "subscription-action", p)
	}
	return p.done(r)
}

// changePage changes the plan of a subscription: it shows the choices, and what the chosen change does.
type changePage struct {
	Subscription subscriptionView
	Form         *form
	Plans        []option
	Preview      []*message // nil until a plan is chosen that can be changed to
	// Due is what becomes due on the day of the change, if it is now.
	Due int64
}

func (changePage) head() (*message, string) { return msg("plans.change.title"), "subscriptions" }

// atOnce returns the time of a change that a form has.
func (f *form) atOnce() subscriptionv1.ChangeTime {
	if f.text("when") == "now" {
		return subscriptionv1.ChangeTime_CHANGE_TIME_NOW
	}
	return subscriptionv1.ChangeTime_CHANGE_TIME_PERIOD_END
}

// changePage returns the page with the values of a form, and previews the change.
func (r *request) changePage(f *form) (changePage, error) {
	found, err := r.findSubscription()
	if err != nil {
		return changePage{}, err
	}
	p := changePage{Subscription: found.Subscription, Form: f}
	plans, err := r.plansOf(subscriptionv1.PlanStatus_PLAN_STATUS_ACTIVE)
	if err != nil {
		return p, err
	}
	p.Plans = views(plans, r.planOption)
	if f.text("plan") == "" {
		return p, nil
	}
	res, err := r.services.subscriptions.PreviewPlanChange(r.ctx, &subscriptionv1.PreviewPlanChangeRequest{
		Id: p.Subscription.GetId(), PlanId: f.text("plan"), When: f.atOnce(),
	})
	if err != nil {
		if f.refuse(err) {
			return p, nil
		}
		return p, err
	}
	p.Preview = changeEffects(res, f.atOnce() == subscriptionv1.ChangeTime_CHANGE_TIME_NOW)
	if f.text("when") == "now" {
		p.Due = res.GetAmountDue()
	}
	return p, nil
}

// changeEffects says what a change of plan does to money and credits.
func changeEffects(c *subscriptionv1.PreviewPlanChangeResponse, now bool) []*message {
	money := func(minor int64) *message { return priceText(minor, c.GetCurrency()) }
	all := []*message{msg("plans.change.on", "day", wallDate(c.GetOn()))}
	add := func(when bool, m *message) {
		if when {
			all = append(all, m)
		}
	}
	add(now, msg("plans.change.unused", "amount", money(c.GetUnusedValue())))
	add(true, msg("plans.change.price", "price", money(c.GetPrice())))
	add(c.GetCreditApplied() > 0, msg("plans.change.applied", "amount", money(c.GetCreditApplied())))
	add(true, msg("plans.change.due", "amount", money(c.GetAmountDue())))
	add(c.GetAccountCredit() > 0, msg("plans.change.left", "amount", money(c.GetAccountCredit())))
	add(c.GetCreditsExpired() > 0, msg("plans.change.expired", "count", c.GetCreditsExpired()))
	add(c.GetCreditsCarriedOver() > 0, msg("plans.change.carried", "count", c.GetCreditsCarriedOver()))
	add(c.GetCreditsGranted() > 0, msg("plans.change.granted", "count", c.GetCreditsGranted()))
	return all
}

// showChoices renders the page of choices that are in the address. A refused choice has status 422.
func (r *request) showChoices(name string, f *form, page titled) error {
	if f.Failed() {
		return r.notAccepted(name, page)
	}
	return r.render(name, page)
}

func (r *request) changePlanForm() error {
	f := r.filterForm("plan", "when")
	if f.text("when") == "" {
		f.values.Set("when", "end")
	}
	f.names = map[string]string{"plan_id": "plan"}
	f.values.Set("method", unpaid)
	p, err := r.changePage(f)
	if err != nil {
		return err
	}
	f.setVersion(p.Subscription.GetVersion())
	return r.showChoices("change-plan", f, p)
}

func (r *request) changePlan() error {
	found, err := r.findSubscription()
	if err != nil {
		return err
	}
	s, f := found.Subscription, r.sent(withNames(paymentFields, "plan_id", "plan"))
	req := &subscriptionv1.ChangePlanRequest{
		Id: s.GetId(), PlanId: f.required("plan", msg("plans.field.plan")), When: f.atOnce(), ExpectedVersion: f.expectedVersion(s.GetVersion()),
	}
	if f.Get("method") != "" {
		req.Payment = f.subscriptionPayment()
	}
	if _, err := submit(r, f, r.services.subscriptions.ChangePlan, req); err != nil {
		return r.choicesAgain(err, f, "change-plan", func(f *form) (titled, error) { return r.changePage(f) })
	}
	r.detail("customer", "", s.GetCustomerId())
	r.detail("plan", s.GetPlanId(), req.GetPlanId())
	r.detail("when", "", f.text("when"))
	return r.back(s.Path(), r.text("plans.change.done"))
}

// choicesAgain responds with a page of choices whose form was not accepted, with its preview.
func (r *request) choicesAgain(err error, f *form, name string, page func(*form) (titled, error)) error {
	if !f.Failed() {
		return err
	}
	p, trouble := page(f)
	if trouble != nil {
		return trouble
	}
	return r.again(err, name, p)
}

// cancelPage cancels a subscription: it shows the choices, and what the chosen one does.
type cancelPage struct {
	Subscription subscriptionView
	Form         *form
	Preview      []*message
	// Blocked says that the subscription cannot be cancelled so.
	Blocked bool
	// Minimum is the last day of the minimum term; nil if there is none.
	Minimum *message
}

func (cancelPage) head() (*message, string) { return msg("plans.cancel.title"), "subscriptions" }

// cancelPage returns the page with the values of a form, and previews the cancellation.
func (r *request) cancelPage(f *form) (cancelPage, error) {
	found, err := r.findSubscription()
	if err != nil {
		return cancelPage{}, err
	}
	p, now := cancelPage{Subscription: found.Subscription, Form: f}, f.text("when") == "now"
	res, err := r.services.subscriptions.PreviewCancellation(r.ctx, &subscriptionv1.PreviewCancellationRequest{
		Id: p.Subscription.GetId(), When: f.atOnce(), Prorate: now && f.Get("prorate") != "", WaiveMinimumTerm: f.Get("waive") != "",
	})
	if err != nil {
		p.Blocked = true
		if f.refuse(err) {
			return p, nil
		}
		return p, err
	}
	if res.GetMinimumTermLastDay() != "" {
		p.Minimum = wallDate(res.GetMinimumTermLastDay())
	}
	p.Blocked = now && res.GetMinimumTermApplies()
	p.Preview = cancelEffects(res, now)
	return p, nil
}

// cancelEffects says what a cancellation does.
func cancelEffects(c *subscriptionv1.PreviewCancellationResponse, now bool) []*message {
	minimum := wallDate(c.GetMinimumTermLastDay())
	if now && c.GetMinimumTermApplies() {
		return []*message{msg("plans.cancel.minimum_blocks", "day", minimum)}
	}
	money := func(minor int64) *message { return priceText(minor, c.GetCurrency()) }
	all := []*message{msg("plans.cancel.last_day", "day", wallDate(c.GetLastDay()))}
	if c.GetMinimumTermApplies() {
		all = append(all, msg("plans.cancel.minimum_moves", "day", minimum))
	}
	all = append(all, msg("plans.cancel.expire"))
	if c.GetRefundDue() > 0 {
		all = append(all, msg("plans.cancel.refund", "amount", money(c.GetRefundDue())))
	} else {
		all = append(all, msg("plans.cancel.no_refund"))
	}
	if c.GetAmountCancelled() > 0 {
		all = append(all, msg("plans.cancel.not_collected", "amount", money(c.GetAmountCancelled())))
	}
	return all
}

func (r *request) cancelSubscriptionForm() error {
	f := r.filterForm("when", "prorate", "waive")
	if f.text("when") == "" {
		f.values.Set("when", "end")
	}
	p, err := r.cancelPage(f)
	if err != nil {
		return err
	}
	f.setVersion(p.Subscription.GetVersion())
	return r.showChoices("cancel-subscription", f, p)
}

func (r *request) cancelSubscription() error {
	found, err := r.findSubscription()
	if err != nil {
		return err
	}
	s, f := found.Subscription, r.sent(nil)
	now := f.text("when") == "now"
	res, err := submit(r, f, r.services.subscriptions.CancelSubscription, &subscriptionv1.CancelSubscriptionRequest{
		Id: s.GetId(), When: f.atOnce(), Reason: f.text("reason"), Prorate: now && f.Get("prorate") != "", WaiveMinimumTerm: f.Get("waive") != "",
		ExpectedVersion: f.expectedVersion(s.GetVersion()),
	})
	if err != nil {
		return r.choicesAgain(err, f, "cancel-subscription", func(f *form) (titled, error) { return r.cancelPage(f) })
	}
	after := res.GetSubscription()
	r.detail("customer", "", s.GetCustomerId())
	r.detail("last_day", s.GetLastDay(), after.GetLastDay())
	r.detail("reason", "", f.text("reason"))
	if after.GetRefundDue() > 0 {
		return r.back(s.Path(), r.text("plans.cancel.done_refund", "amount", s.Money(after.GetRefundDue())))
	}
	return r.back(s.Path(), r.text("plans.cancel.done", "day", wallDate(after.GetLastDay())))
}
