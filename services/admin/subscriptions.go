package admin

import (
	"strings"

	"reservation.dev/platform/enum"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// subscriptionView is a subscription as a page shows it.
type subscriptionView struct {
	*subscriptionv1.Subscription
	// Name is the customer's; "" if it is not known.
	Name string
}

// Path is the path of the subscription's page.
func (s subscriptionView) Path() string { return "/subscriptions/" + s.GetId() }

// subscriptionTags are the tags of the states.
var subscriptionTags = map[subscriptionv1.SubscriptionStatus]string{
	subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_TRIALING: "good",
	subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_ACTIVE:   "good",
	subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_PAST_DUE: "bad",
	subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_PAUSED:   "warn",
	subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_ENDING:   "warn",
}

// State returns the subscription's status.
func (s subscriptionView) State() stateTag {
	return stateTag{subscriptionTags[s.GetStatus()], statusName(s.GetStatus())}
}

// statusName returns the name of a status.
func statusName(status subscriptionv1.SubscriptionStatus) *message {
	return msg("plans.status." + enum.Name(status)).or(upperFirst(enum.Name(status)))
}

// is reports whether the subscription is in one of the statuses.
func (s subscriptionView) is(statuses ...subscriptionv1.SubscriptionStatus) bool {
	for _, status := range statuses {
		if s.GetStatus() == status {
			return true
		}
	}
	return false
}

// Ended reports whether the subscription has ended.
func (s subscriptionView) Ended() bool {
	return s.is(subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_ENDED)
}

// Paused reports whether the subscription is paused now.
func (s subscriptionView) Paused() bool {
	return s.is(subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_PAUSED)
}

// Pausable reports whether a pause can be entered.
func (s subscriptionView) Pausable() bool {
	return s.is(subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_TRIALING, subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_ACTIVE,
		subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_ENDING)
}

// Changeable reports whether the plan can be changed.
func (s subscriptionView) Changeable() bool {
	return s.is(subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_TRIALING, subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_ACTIVE,
		subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_PAST_DUE)
}

// Keepable reports whether a cancellation can be withdrawn.
func (s subscriptionView) Keepable() bool {
	return !s.Ended() && s.GetCancellation() != nil
}

// Money prints an amount in the currency of the subscription.
func (s subscriptionView) Money(minor int64) *message {
	return priceText(minor, s.GetTerms().GetCurrency())
}

// Gets says what the customer gets in each period.
func (s subscriptionView) Gets() *message { return sentenceOf(termsParts(s.GetTerms())) }

// When says what the next date of the subscription is: "renews on 1 Dec 2026".
func (s subscriptionView) When() *message {
	pause := s.GetPause()
	switch {
	case s.Ended():
		return msg("plans.when.ended", "day", wallDate(s.GetLastDay()))
	case s.Paused() && pause.GetResumesOn() != "":
		return msg("plans.when.resumes", "day", wallDate(pause.GetResumesOn()))
	case s.Paused():
		return msg("plans.when.paused")
	case s.GetLastDay() != "":
		return msg("plans.when.ends", "day", wallDate(s.GetLastDay()))
	case s.GetRenewsOn() != "":
		return msg("plans.when.renews", "day", wallDate(s.GetRenewsOn()))
	}
	return msg("plans.when.unpaid")
}

// subscriptionsPage is the list of subscriptions.
type subscriptionsPage struct {
	Subscriptions []subscriptionView
	Total         int64
	Next          string
	Form          *form
	Plans         []option
	States        []option
}

func (subscriptionsPage) head() (*message, string) {
	return msg("plans.subscriptions.title"), "subscriptions"
}

// Filtered reports whether the list has a filter.
func (p subscriptionsPage) Filtered() bool {
	return p.Form.Get("plan")+p.Form.Get("status")+p.Form.Get("due") != ""
}

// subscriptions shows a page of the list. It makes one call for the names of its customers.
func (r *request) subscriptions() error {
	page := subscriptionsPage{Form: r.filterForm("plan", "status", "due")}
	status, _ := enum.Parse[subscriptionv1.SubscriptionStatus](page.Form.Get("status"))
	res, err := r.services.subscriptions.ListSubscriptions(r.ctx, &subscriptionv1.ListSubscriptionsRequest{
		PageSize: 50, PageToken: r.query("page"), Order: subscriptionv1.SubscriptionOrder_SUBSCRIPTION_ORDER_CREATED_DESC,
		PlanId: page.Form.Get("plan"), Status: status, PaymentDue: page.Form.Get("due") != "",
	})
	if err != nil {
		if page.Filtered() || r.query("page") != "" {
			return r.refused("/subscriptions", err)
		}
		return err
	}
	plans, err := r.plansOf(subscriptionv1.PlanStatus_PLAN_STATUS_UNSPECIFIED)
	if err != nil {
		return err
	}
	page.Plans = []option{{"", r.text("plans.subscriptions.every_plan")}}
	for _, p := range plans {
		page.Plans = append(page.Plans, option{p.GetId(), p.GetTitle()})
	}
	page.States = append([]option{{"", r.text("plans.subscriptions.every_status")}},
		optionsOf(enum.Names[subscriptionv1.SubscriptionStatus](), func(name string) string { return r.text(msg("plans.status." + name).or(name)) })...)
	page.Subscriptions, err = r.named(res.GetSubscriptions())
	page.Total, page.Next = res.GetTotal(), r.with("page", res.GetNextPageToken())
	if err != nil {
		return err
	}
	return r.render("subscriptions", page)
}

// named returns subscriptions with the names of their customers, in one call.
func (r *request) named(list []*subscriptionv1.Subscription) ([]subscriptionView, error) {
	ids := views(list, func(s *subscriptionv1.Subscription) string { return s.GetCustomerId() })
	names, err := r.customerNames(ids)
	return views(list, func(s *subscriptionv1.Subscription) subscriptionView {
		return subscriptionView{s, names[s.GetCustomerId()]}
	}), err
}

// customerNames returns the names of customers, by id, in one call. Deleted customers have their names.
func (r *request) customerNames(ids []string) (map[string]string, error) {
	names := map[string]string{}
	if len(ids) == 0 {
		return names, nil
	}
	res, err := r.services.customers.BatchGetCustomers(r.ctx, &customerv1.BatchGetCustomersRequest{Ids: ids, IncludeDeleted: true})
	for _, c := range res.GetCustomers() {
		names[c.GetId()] = fullName(c)
	}
	return names, err
}

// paidMethods returns the ways to pay in money for a subscription.
func paidMethods() []grant {
	var all []grant
	for _, m := range moneyMethods() {
		if m.Name != "free" {
			all = append(all, m)
		}
	}
	return all
}

// unpaid is the choice that nothing is paid yet.
const unpaid = "unpaid"

// subscriptionPayment reads the fields of a payment; nil if it is not made yet.
func (f *form) subscriptionPayment() *subscriptionv1.SubscriptionPayment {
	method := f.text("method")
	if method == unpaid {
		return nil
	}
	for _, m := range paidMethods() {
		if m.Name == method {
			return &subscriptionv1.SubscriptionPayment{Method: strings.ToUpper(method), Reference: f.text("reference")}
		}
	}
	f.add("method", msg("refusals.form.required", "label", msg("plans.field.method")))
	return nil
}

// paymentFields are the form's names of the fields of a payment.
var paymentFields = map[string]string{"payment": "method", "payment.method": "method", "payment.reference": "reference", "payment.amount": "method"}

// customerSubscriptions reads the subscriptions of a customer, newest first.
func (r *request) customerSubscriptions(page *customerPage) error {
	res, err := r.services.subscriptions.ListSubscriptions(r.ctx, &subscriptionv1.ListSubscriptionsRequest{
		CustomerId: page.Customer.GetId(), PageSize: 20, PageToken: r.query("subscriptions"), Order: subscriptionv1.SubscriptionOrder_SUBSCRIPTION_ORDER_CREATED_DESC,
	})
	page.Subscriptions = views(res.GetSubscriptions(), func(s *subscriptionv1.Subscription) subscriptionView { return subscriptionView{Subscription: s} })
	page.MoreSubscriptions = r.with("subscriptions", res.GetNextPageToken())
	return err
}
