package admin

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// subscribePage subscribes a customer to a plan.
type subscribePage struct {
	Customer *customerv1.Customer
	Form     *form
	Plans    []option
	plans    []planView
	// Earliest and Latest are the first and the last day on which the subscription can begin.
	Earliest, Latest string
}

func (subscribePage) head() (*message, string) { return msg("plans.subscribe.title"), "customers" }

// free reports whether nothing is due on the first day of the chosen plan.
func (p subscribePage) free() bool {
	i := slices.IndexFunc(p.plans, func(plan planView) bool { return plan.GetId() == p.Form.Get("plan") })
	return i >= 0 && (p.plans[i].GetPrice() == 0 || p.plans[i].GetTrialDays() > 0 && p.Form.Get("skip") == "")
}

func (r *request) subscribePage(f *form) (subscribePage, error) {
	c, err := r.findCustomer()
	if err != nil {
		return subscribePage{}, err
	}
	today := r.midnight(r.now(), 0)
	page := subscribePage{Customer: c.Customer, Form: f, Earliest: dayText(r.midnight(today, -31)), Latest: dayText(today)}
	page.plans, err = r.plansOf(subscriptionv1.PlanStatus_PLAN_STATUS_ACTIVE)
	page.Plans = views(page.plans, r.planOption)
	return page, err
}

func (r *request) subscribeForm() error {
	page, err := r.subscribePage(newForm("start", dayText(r.midnight(r.now(), 0)), "method", unpaid, "plan", r.query("plan")))
	if err != nil {
		return err
	}
	return r.render("subscribe", page)
}

func (r *request) subscribe() error {
	page, err := r.subscribePage(r.sent(withNames(paymentFields, "plan_id", "plan", "start_date", "start", "skip_trial", "skip")))
	if err != nil {
		return err
	}
	f := page.Form
	req := &subscriptionv1.CreateSubscriptionRequest{
		CustomerId: page.Customer.GetId(), PlanId: f.required("plan", msg("plans.field.plan")), StartDate: f.text("start"),
		SkipTrial: f.Get("skip") != "", Payment: f.subscriptionPayment(),
	}
	if req.GetPayment() != nil && page.free() {
		f.add("method", msg("plans.subscribe.nothing_due"))
	}
	res, err := submit(r, f, r.services.subscriptions.CreateSubscription, req)
	if err != nil {
		return r.again(err, "subscribe", page)
	}
	s := subscriptionView{res.GetSubscription(), fullName(page.Customer)}
	r.target(s.GetId())
	r.detail("customer", "", page.Customer.GetId())
	r.detail("plan", "", req.GetPlanId())
	r.detail("paid", "", strings.ToLower(cmp.Or(req.GetPayment().GetMethod(), unpaid)))
	return r.back(s.Path(), r.text("plans.subscribe.done", "name", s.Name, "plan", s.GetPlanTitle()))
}

// dayText prints a day as a date field has it.
func dayText(t time.Time) string { return t.Format(time.DateOnly) }

// withNames returns names of fields with more pairs: a service's name, the form's name, …
func withNames(names map[string]string, pairs ...string) map[string]string {
	all := maps.Clone(names)
	for i := 0; i+1 < len(pairs); i += 2 {
		all[pairs[i]] = pairs[i+1]
	}
	return all
}
