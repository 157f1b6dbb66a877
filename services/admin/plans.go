package admin

import (
	"strconv"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/eventtype"
	"reservation.dev/platform/fault"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// planView is a plan as a page shows it.
type planView struct{ *subscriptionv1.Plan }

// terms returns the terms of a subscription that starts now.
func (p planView) terms() *subscriptionv1.Terms {
	return &subscriptionv1.Terms{
		Price: p.GetPrice(), Currency: p.GetCurrency(), IntervalUnit: p.GetIntervalUnit(), IntervalCount: p.GetIntervalCount(),
		Bookings: p.GetBookings(), Credits: p.GetCredits(), MaxRollover: p.GetMaxRollover(), MinimumPeriods: p.GetMinimumPeriods(),
	}
}

// PriceText says what the plan costs: "£40.00 every month".
func (p planView) PriceText() *message { return termsPrice(p.terms()) }

// Gets says in one sentence what a customer gets for which price.
func (p planView) Gets() *message {
	parts := termsParts(p.terms())
	if kinds := p.GetEligibleEventTypes(); len(kinds) > 0 && p.GetBookings() != subscriptionv1.PlanBookings_PLAN_BOOKINGS_NONE {
		var all *message
		for _, kind := range kinds {
			all = listed(all, msg("plans.kinds."+kind).or(kind))
		}
		parts = append(parts, msg("plans.gets.kinds", "kinds", all))
	}
	if n := len(p.GetMediaCollectionIds()); n > 0 {
		parts = append(parts, msg("plans.gets.collections", "count", n))
	}
	if p.GetTrialDays() > 0 {
		parts = append(parts, msg("plans.gets.trial", "count", p.GetTrialDays()))
	}
	if p.GetMinimumPeriods() > 0 {
		parts = append(parts, msg("plans.gets.minimum", "count", p.GetMinimumPeriods()))
	}
	return sentenceOf(parts)
}

// sentenceOf joins the parts of a sentence.
func sentenceOf(parts []*message) *message {
	var all *message
	for _, part := range parts {
		all = listed(all, part)
	}
	return msg("plans.gets.sentence", "text", all)
}

// termsPrice says what a subscription costs.
func termsPrice(t *subscriptionv1.Terms) *message {
	if t.GetPrice() == 0 {
		return msg("plans.gets.free")
	}
	every := msg("plans.every."+enum.Name(t.GetIntervalUnit()), "count", t.GetIntervalCount())
	return msg("plans.gets.price", "price", priceText(t.GetPrice(), t.GetCurrency()), "every", every)
}

// termsParts says what a subscription costs, and how it pays for bookings.
func termsParts(t *subscriptionv1.Terms) []*message {
	unit, parts := enum.Name(t.GetIntervalUnit()), []*message{termsPrice(t)}
	switch t.GetBookings() {
	case subscriptionv1.PlanBookings_PLAN_BOOKINGS_UNLIMITED:
		return append(parts, msg("plans.gets.unlimited"))
	case subscriptionv1.PlanBookings_PLAN_BOOKINGS_CREDITS:
	default:
		return parts
	}
	next := msg("plans.next.period")
	if t.GetIntervalCount() == 1 {
		next = msg("plans.next." + unit)
	}
	parts = append(parts, msg("plans.gets.credits", "credits", creditsText(t.GetCredits()), "each", msg("plans.each."+unit, "count", t.GetIntervalCount())))
	if t.GetMaxRollover() > 0 {
		return append(parts, msg("plans.gets.rollover", "most", t.GetMaxRollover(), "next", next))
	}
	return append(parts, msg("plans.gets.no_rollover"))
}

// Archived reports whether the plan is no longer sold.
func (p planView) Archived() bool {
	return p.GetStatus() == subscriptionv1.PlanStatus_PLAN_STATUS_ARCHIVED
}

// State says whether the plan is sold.
func (p planView) State() stateTag {
	if p.Archived() {
		return stateTag{"warn", msg("desk.state.archived")}
	}
	return stateTag{"good", msg("desk.state.on_sale")}
}

// plansPage is the list of plans.
type plansPage struct {
	Plans []planView
	Total int64
	Next  string
}

func (plansPage) head() (*message, string) { return msg("plans.list.title"), "plans" }

func (r *request) plans() error {
	res, err := r.services.plans.ListPlans(r.ctx, &subscriptionv1.ListPlansRequest{
		PageSize: 50, PageToken: r.query("page"), Order: subscriptionv1.PlanOrder_PLAN_ORDER_CREATED_DESC,
	})
	if err != nil {
		return err
	}
	return r.render("plans", plansPage{
		Plans: views(res.GetPlans(), func(p *subscriptionv1.Plan) planView { return planView{p} }),
		Total: res.GetTotal(), Next: r.with("page", res.GetNextPageToken()),
	})
}

// plansOf returns the company's newest 200 plans in a status; unspecified means all.
func (r *request) plansOf(status subscriptionv1.PlanStatus) ([]planView, error) {
	res, err := r.services.plans.ListPlans(r.ctx, &subscriptionv1.ListPlansRequest{
		PageSize: 200, Status: status, Order: subscriptionv1.PlanOrder_PLAN_ORDER_CREATED_DESC,
	})
	return views(res.GetPlans(), func(p *subscriptionv1.Plan) planView { return planView{p} }), err
}

// planOption returns a plan as a choice: its title and its price.
func (r *request) planOption(p planView) option {
	return option{p.GetId(), r.text("plans.plan.option", "title", p.GetTitle(), "price", p.PriceText())}
}

// planFormPage adds or changes a plan.
type planFormPage struct {
	Form        *form
	Plan        *planView // nil for a new one
	Gets        *message  // what the customer gets, as the form has it
	Units       []option
	Kinds       []grant
	Collections []option
}

func (p planFormPage) head() (*message, string) {
	if p.Plan == nil {
		return msg("plans.plan.add"), "plans"
	}
	return literal(p.Plan.GetTitle()), "plans"
}

// Action is the path of the form.
func (p planFormPage) Action() string {
	if p.Plan == nil {
		return "/plans"
	}
	return "/plans/" + p.Plan.GetId()
}

// Self is the path of the page.
func (p planFormPage) Self() string {
	if p.Plan == nil {
		return "/plans/new"
	}
	return p.Action()
}

// planForm returns the page of a form.
func (r *request) planForm(f *form, p *planView) (planFormPage, error) {
	page := planFormPage{Form: f, Plan: p, Gets: r.planGets(f), Units: optionsOf(enum.Names[subscriptionv1.IntervalUnit](), func(unit string) string {
		return r.text(msg("desk.unit." + unit).or(unit))
	})}
	for _, kind := range eventtype.Names() {
		page.Kinds = append(page.Kinds, grant{Name: kind, Title: msg("desk.kinds." + kind).or(upperFirst(kind))})
	}
	collections, err := r.collections()
	if err != nil {
		return page, err
	}
	page.Collections = optionsOfCollections(collections, f.All("collections"))
	return page, nil
}

// planGets says what the customer gets from the plan in a form, as far as the form is filled in.
func (r *request) planGets(f *form) *message {
	// The errors of these values belong to the submitted form only.
	draft := &form{values: f.values, errors: map[string]*message{}}
	req := readPlan(draft)
	return planView{&subscriptionv1.Plan{
		Price: req.GetPrice(), Currency: r.session.Company.GetCurrency(), IntervalUnit: req.GetIntervalUnit(), IntervalCount: max(1, req.GetIntervalCount()),
		TrialDays: req.GetTrialDays(), MinimumPeriods: req.GetMinimumPeriods(), Bookings: req.GetBookings(), Credits: req.GetCredits(),
		MaxRollover: req.GetMaxRollover(), EligibleEventTypes: req.GetEligibleEventTypes(), MediaCollectionIds: req.GetMediaCollectionIds(),
	}}.Gets()
}

// showPlan renders the page of a plan's form; while a person types, only the sentence about it.
func (r *request) showPlan(f *form, p *planView) error {
	if r.live() {
		typed := &form{values: r.http.URL.Query(), errors: map[string]*message{}}
		return r.fragment("plan", "gets", planFormPage{Form: typed, Plan: p, Gets: r.planGets(typed)})
	}
	page, err := r.planForm(f, p)
	if err != nil {
		return err
	}
	return r.render("plan", page)
}

func (r *request) newPlan() error {
	return r.showPlan(newForm("every", "1", "unit", "month", "bookings", "credits", "credits", "8", "rollover", "0"), nil)
}

func (r *request) findPlan() (planView, error) {
	res, err := r.services.plans.GetPlan(r.ctx, &subscriptionv1.GetPlanRequest{Id: r.path("id")})
	return planView{res.GetPlan()}, err
}

func (r *request) plan() error {
	p, err := r.findPlan()
	if err != nil {
		return err
	}
	f := newForm("title", p.GetTitle(), "description", p.GetDescription(), "price", r.amount(p.GetPrice()),
		"every", strconv.Itoa(int(p.GetIntervalCount())), "unit", enum.Name(p.GetIntervalUnit()),
		"bookings", enum.Name(p.GetBookings()), "rollover", strconv.Itoa(int(p.GetMaxRollover())))
	for name, n := range map[string]int32{"trial": p.GetTrialDays(), "minimum": p.GetMinimumPeriods(), "credits": p.GetCredits()} {
		if n > 0 {
			f.values.Set(name, strconv.Itoa(int(n)))
		}
	}
	f.values["kinds"], f.values["collections"] = p.GetEligibleEventTypes(), p.GetMediaCollectionIds()
	f.setVersion(p.GetVersion())
	return r.showPlan(f, &p)
}

// planFields are the form's names of the service's fields.
var planFields = map[string]string{
	"interval_count": "every", "interval_unit": "unit", "trial_days": "trial", "minimum_periods": "minimum", "max_rollover": "rollover",
	"eligible_event_types": "kinds", "media_collection_ids": "collections",
}

// readPlan reads the fields of a plan.
func readPlan(f *form) *subscriptionv1.CreatePlanRequest {
	req := &subscriptionv1.CreatePlanRequest{
		Title: f.required("title", msg("desk.field.title")), Description: f.text("description"),
		IntervalCount: f.count("every", msg("plans.field.every"), 1, 52), MediaCollectionIds: f.All("collections"),
	}
	req.IntervalUnit, _ = enum.Parse[subscriptionv1.IntervalUnit](f.text("unit"))
	req.Bookings, _ = enum.Parse[subscriptionv1.PlanBookings](f.text("bookings"))
	req.Price, _ = f.money("price", msg("desk.field.price"))
	req.TrialDays = f.atMost("trial", msg("desk.field.days"), 365)
	req.MinimumPeriods = f.atMost("minimum", msg("plans.field.minimum"), 120)
	if req.GetBookings() == subscriptionv1.PlanBookings_PLAN_BOOKINGS_CREDITS {
		req.Credits = f.count("credits", msg("desk.field.credits"), 1, 100_000)
		req.MaxRollover = f.atMost("rollover", msg("plans.field.rollover"), 100_000)
	}
	if req.GetBookings() != subscriptionv1.PlanBookings_PLAN_BOOKINGS_NONE {
		req.EligibleEventTypes = f.All("kinds")
	}
	return req
}

// atMost returns a whole number up to most; 0 for an empty field.
func (f *form) atMost(name string, label *message, most int64) int32 {
	n, _ := f.integer(name, label, 0, most)
	return int32(n)
}

func (r *request) createPlan() error {
	f := r.sent(planFields)
	req := readPlan(f)
	res, err := submit(r, f, r.services.plans.CreatePlan, req)
	if err != nil {
		return r.planAgain(err, f, nil)
	}
	r.target(res.GetPlan().GetId())
	r.detail("title", "", req.GetTitle())
	return r.back("/plans", r.text("plans.plan.added"))
}

// planAgain responds with the form of a plan that submit did not accept.
func (r *request) planAgain(err error, f *form, p *planView) error {
	if !f.Failed() {
		return err
	}
	page, trouble := r.planForm(f, p)
	if trouble != nil {
		return trouble
	}
	return r.again(err, "plan", page)
}

func (r *request) updatePlan() error {
	p, err := r.findPlan()
	if err != nil {
		return err
	}
	f := r.sent(planFields)
	req := readPlan(f)
	_, err = submit(r, f, r.services.plans.UpdatePlan, &subscriptionv1.UpdatePlanRequest{
		Id: p.GetId(), Title: &req.Title, Description: &req.Description, Price: &req.Price, IntervalUnit: req.GetIntervalUnit(), IntervalCount: &req.IntervalCount,
		TrialDays: &req.TrialDays, MinimumPeriods: &req.MinimumPeriods, Bookings: req.GetBookings(), Credits: &req.Credits, MaxRollover: &req.MaxRollover,
		EligibleEventTypes: &subscriptionv1.TextList{Values: req.GetEligibleEventTypes()},
		MediaCollectionIds: &subscriptionv1.TextList{Values: req.GetMediaCollectionIds()},
		ExpectedVersion:    f.expectedVersion(p.GetVersion()),
	})
	if err != nil {
		return r.planAgain(err, f, &p)
	}
	r.detail("title", p.GetTitle(), req.GetTitle())
	r.detail("price", amount(p.GetPrice()), amount(req.GetPrice()))
	r.detail("gets", r.logTexts().text(p.Gets()), r.logTexts().text(r.planGets(f)))
	return r.back("/plans", r.text("shared.done.saved"))
}

func (r *request) archivePlan() error {
	status, done := subscriptionv1.PlanStatus_PLAN_STATUS_ARCHIVED, "plans.plan.archived"
	if r.path("action") == "restore" {
		status, done = subscriptionv1.PlanStatus_PLAN_STATUS_ACTIVE, "plans.plan.restored"
	} else if r.path("action") != "archive" {
		return fault.Missing("page")
	}
	_, err := perform(r, r.services.plans.UpdatePlan, &subscriptionv1.UpdatePlanRequest{Id: r.path("id"), Status: status})
	if err != nil {
		return r.refused("/plans", err)
	}
	return r.back("/plans", r.text(done))
}
