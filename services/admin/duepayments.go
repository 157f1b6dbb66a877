package admin

import (
	"strconv"
	"strings"

	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// showForm returns a handler that shows the form of an action on a subscription.
func showForm(read func(r *request) (subscriptionForm, error)) func(r *request) error {
	return show("subscription-action", read)
}

// periodForm returns the page of an action on the payment of a period.
func (r *request) periodForm(kind string) (subscriptionForm, error) {
	p, err := r.subscriptionForm(kind)
	if err != nil {
		return p, err
	}
	period, err := r.findPeriod()
	p.Period = &period
	return p, err
}

// settles reports whether nothing else is due when the payment of the period is settled.
func (p subscriptionForm) settles() bool {
	return p.Subscription.is(subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_PAST_DUE) && p.Subscription.GetAmountDue() == p.Period.GetAmountDue()
}

func (r *request) payPage() (subscriptionForm, error) {
	p, err := r.periodForm("pay")
	if err != nil {
		return p, err
	}
	p.Form.values.Set("method", "card")
	p.Effects = []*message{msg("plans.action.pay.records", "amount", p.Period.Money(p.Period.Owed()), "days", p.Period.Days()), msg("plans.action.pay.money")}
	if p.settles() {
		p.Effects = append(p.Effects, msg("plans.action.pay.active"))
	}
	return p, nil
}

func (r *request) recordPayment() error {
	p, err := r.payPage()
	if err != nil {
		return err
	}
	p.Form = r.sent(withNames(paymentFields))
	req := &subscriptionv1.RecordPaymentRequest{Id: p.Subscription.GetId(), Period: p.Period.GetNumber(), Payment: p.Form.subscriptionPayment(), ExpectedVersion: p.version()}
	if req.GetPayment() == nil {
		p.Form.add("method", msg("refusals.form.required", "label", msg("plans.field.method")))
	}
	if _, err := submit(r, p.Form, r.services.subscriptions.RecordPayment, req); err != nil {
		return r.again(err, "subscription-action", p)
	}
	r.detail("period", "", strconv.Itoa(int(p.Period.GetNumber())))
	r.detail("amount", "", r.logTexts().text(p.Period.Money(p.Period.Owed())))
	r.detail("paid", "", strings.ToLower(req.GetPayment().GetMethod()))
	return p.done(r)
}

func (r *request) failPage() (subscriptionForm, error) {
	p, err := r.periodForm("fail")
	if err != nil {
		return p, err
	}
	p.Effects = []*message{
		msg("plans.action.fail.stays_due", "amount", p.Period.Money(p.Period.GetAmountDue()), "days", p.Period.Days()),
		msg("plans.action.fail.past_due"), msg("plans.action.fail.pause"),
	}
	return p, nil
}

func (r *request) recordFailure() error {
	p, err := r.failPage()
	if err != nil {
		return err
	}
	p.Form = r.sent(nil)
	req := &subscriptionv1.RecordPaymentFailureRequest{
		Id: p.Subscription.GetId(), Period: p.Period.GetNumber(), Reason: p.Form.text("reason"), ExpectedVersion: p.version(),
	}
	if _, err := submit(r, p.Form, r.services.subscriptions.RecordPaymentFailure, req); err != nil {
		return r.again(err, "subscription-action", p)
	}
	r.detail("period", "", strconv.Itoa(int(p.Period.GetNumber())))
	r.detail("reason", "", req.GetReason())
	return p.done(r)
}

func (r *request) waivePage() (subscriptionForm, error) {
	p, err := r.periodForm("waive")
	if err != nil {
		return p, err
	}
	p.Danger = true
	p.Effects = []*message{
		msg("plans.action.waive.gives_up", "amount", p.Period.Money(p.Period.GetAmountDue()), "days", p.Period.Days()), msg("plans.action.waive.final"),
	}
	if p.settles() {
		p.Effects = append(p.Effects, msg("plans.action.pay.active"))
	}
	return p, nil
}

func (r *request) waivePayment() error {
	p, err := r.waivePage()
	if err != nil {
		return err
	}
	p.Form = r.sent(nil)
	req := &subscriptionv1.WaivePaymentRequest{
		Id: p.Subscription.GetId(), Period: p.Period.GetNumber(), Reason: p.Form.text("reason"), ExpectedVersion: p.version(),
	}
	if _, err := submit(r, p.Form, r.services.subscriptions.WaivePayment, req); err != nil {
		return r.again(err, "subscription-action", p)
	}
	r.detail("period", "", strconv.Itoa(int(p.Period.GetNumber())))
	r.detail("amount", "", r.logTexts().text(p.Period.Money(p.Period.GetAmountDue())))
	r.detail("reason", "", req.GetReason())
	return p.done(r)
}

func (r *request) returnPage() (subscriptionForm, error) {
	p, err := r.subscriptionForm("refund")
	p.Form.values.Set("amount", r.amount(p.Subscription.GetRefundDue()))
	p.Effects = []*message{msg("plans.action.refund.due", "amount", p.Subscription.Money(p.Subscription.GetRefundDue())), msg("desk.booking.refund_money")}
	return p, err
}

func (r *request) refundSubscription() error {
	p, err := r.returnPage()
	if err != nil {
		return err
	}
	f := r.sent(nil)
	p.Form = f
	req := &subscriptionv1.RecordRefundRequest{Id: p.Subscription.GetId(), Reference: f.text("reference"), ExpectedVersion: p.version()}
	minor, given := f.money("amount", msg("desk.field.amount"))
	if !given || minor == 0 {
		f.add("amount", msg("refusals.form.required", "label", msg("desk.field.amount")))
	}
	req.Amount = &minor
	if _, err := submit(r, f, r.services.subscriptions.RecordRefund, req); err != nil {
		return r.again(err, "subscription-action", p)
	}
	r.detail("refunded", "", r.logTexts().text(p.Subscription.Money(minor)))
	return p.done(r)
}
