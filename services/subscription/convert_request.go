package subscription

import (
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
	"reservation.dev/services/subscription/model"
)

// newPlanInput reads a request. Unset values of a new plan have the defaults of the proto.
func newPlanInput(req *subscriptionv1.CreatePlanRequest) model.PlanInput {
	in := model.PlanInput{
		Title: &req.Title, Description: &req.Description, Price: &req.Price, Unit: new(model.Unit(enum.Name(req.GetIntervalUnit()))),
		TrialDays: &req.TrialDays, Minimum: &req.MinimumPeriods, Credits: &req.Credits, MaxRollover: &req.MaxRollover,
		EligibleEventTypes: &req.EligibleEventTypes, Collections: &req.MediaCollectionIds,
	}
	if req.GetCurrency() != "" {
		in.Currency = &req.Currency
	}
	if req.GetIntervalCount() != 0 {
		in.Count = &req.IntervalCount
	}
	if req.GetBookings() != subscriptionv1.PlanBookings_PLAN_BOOKINGS_UNSPECIFIED {
		in.Bookings = new(model.Bookings(enum.Name(req.GetBookings())))
	}
	return in
}

// planChanges reads a request.
func planChanges(req *subscriptionv1.UpdatePlanRequest) model.PlanInput {
	in := model.PlanInput{
		Title: req.Title, Description: req.Description, Price: req.Price, Currency: req.Currency, Count: req.IntervalCount,
		TrialDays: req.TrialDays, Minimum: req.MinimumPeriods, Credits: req.Credits, MaxRollover: req.MaxRollover,
	}
	if req.GetIntervalUnit() != subscriptionv1.IntervalUnit_INTERVAL_UNIT_UNSPECIFIED {
		in.Unit = new(model.Unit(enum.Name(req.GetIntervalUnit())))
	}
	if req.GetBookings() != subscriptionv1.PlanBookings_PLAN_BOOKINGS_UNSPECIFIED {
		in.Bookings = new(model.Bookings(enum.Name(req.GetBookings())))
	}
	if req.GetStatus() != subscriptionv1.PlanStatus_PLAN_STATUS_UNSPECIFIED {
		in.Status = new(model.PlanStatus(enum.Name(req.GetStatus())))
	}
	if req.GetEligibleEventTypes() != nil {
		in.EligibleEventTypes = &req.EligibleEventTypes.Values
	}
	if req.GetMediaCollectionIds() != nil {
		in.Collections = &req.MediaCollectionIds.Values
	}
	return in
}

// days reads the days of a request and collects the faults.
type days struct{ check.Fields }

// earliest and latest bound the years of days, so that sums of days stay within the years that dates can have.
const (
	earliestYear = 1900
	latestYear   = 8000
)

// optional reads a day; nil if it is not given.
func (d *days) optional(field, text string) *time.Time {
	if text == "" {
		return nil
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil || day.Year() < earliestYear || day.Year() > latestYear {
		d.Add(field, "format", "must be a date such as 2026-03-29, in the years 1900 to 8000")
		return nil
	}
	return &day
}

// required reads a day that must be given.
func (d *days) required(field, text string) time.Time {
	if text == "" {
		d.Add(field, "required", "is required")
		return time.Time{}
	}
	if day := d.optional(field, text); day != nil {
		return *day
	}
	return time.Time{}
}

// paymentOf reads a payment; nil if it is not given.
func paymentOf(in *subscriptionv1.SubscriptionPayment) *model.Payment {
	if in == nil {
		return nil
	}
	return &model.Payment{Method: in.GetMethod(), Reference: in.GetReference(), Amount: in.Amount}
}

// isNow reads when a change takes effect.
func isNow(field string, in subscriptionv1.ChangeTime) (bool, error) {
	switch in {
	case subscriptionv1.ChangeTime_CHANGE_TIME_UNSPECIFIED, subscriptionv1.ChangeTime_CHANGE_TIME_PERIOD_END:
		return false, nil
	case subscriptionv1.ChangeTime_CHANGE_TIME_NOW:
		return true, nil
	}
	return false, fault.InvalidFields(fault.Field{Field: field, Rule: "enum", Message: fault.OneOf(enum.Names[subscriptionv1.ChangeTime]())})
}

func settingsOfRequest(in *subscriptionv1.SubscriptionSettings) model.Settings {
	reminders := in.GetReminderDays()
	if reminders == nil {
		reminders = []int32{}
	}
	return model.Settings{
		PastDueAfterDays: in.GetPastDueAfterDays(), GraceDays: in.GetGraceDays(), ReminderDays: reminders,
		EndAfterDays: in.EndAfterDays, Version: in.GetVersion(),
	}
}

// Columns by which lists are sorted.
const (
	createdAt = "created_at"
	updatedAt = "updated_at"
)

// The codes in page tokens for the orders of numbered lists.
const (
	periodOrder     = 5
	periodOrderDesc = 6
	entryOrder      = 7
	entryOrderDesc  = 8
)

// sizes are the page sizes of all lists.
func sizes() page.Sizes { return page.Sizes{Default: 50, Max: 200} }

// pageOf reads the page of a list request. The orders of plans and of subscriptions have the same numbers.
func pageOf[O enum.Enum](req interface {
	GetPageSize() int32
	GetPageToken() string
	GetOrder() O
}) (page.Page, error) {
	o := page.Order{Code: byte(req.GetOrder())}
	switch subscriptionv1.SubscriptionOrder(req.GetOrder()) {
	case subscriptionv1.SubscriptionOrder_SUBSCRIPTION_ORDER_UNSPECIFIED:
	case subscriptionv1.SubscriptionOrder_SUBSCRIPTION_ORDER_CREATED:
		o.Column = createdAt
	case subscriptionv1.SubscriptionOrder_SUBSCRIPTION_ORDER_CREATED_DESC:
		o.Column, o.Desc = createdAt, true
	case subscriptionv1.SubscriptionOrder_SUBSCRIPTION_ORDER_UPDATED:
		o.Column = updatedAt
	case subscriptionv1.SubscriptionOrder_SUBSCRIPTION_ORDER_UPDATED_DESC:
		o.Column, o.Desc = updatedAt, true
	default:
		return page.Page{}, fault.InvalidParameter("order", "enum", "is not an order")
	}
	return page.Read(page.Of(req), o, sizes())
}

// numberedPageOf reads the page of a list of rows that are numbered within a subscription.
func numberedPageOf(req interface {
	GetPageSize() int32
	GetPageToken() string
	GetDescending() bool
}, of id.Subscription, ascending, descending byte) (page.Page, error) {
	o := page.Order{Code: ascending, Within: of.UUID()}
	if req.GetDescending() {
		o.Code, o.Desc = descending, true
	}
	return page.Read(page.Of(req), o, sizes())
}

// sortedBy returns the time by which a row is sorted.
func sortedBy(p page.Page, created, updated time.Time) time.Time {
	if p.Order.Column == updatedAt {
		return updated
	}
	return created
}

func planFilterOf(req *subscriptionv1.ListPlansRequest) (f planFilter, err error) {
	if f.status, err = filterOf("status", req.GetStatus()); err != nil {
		return f, err
	}
	f.updatedSince, err = check.Bound("updated_since", req.GetUpdatedSince())
	return f, err
}

func subscriptionFilterOf(req *subscriptionv1.ListSubscriptionsRequest) (f subscriptionFilter, err error) {
	f.customer, f.plan, f.paymentDue = id.Filter[id.Customer](req.GetCustomerId()), id.Filter[id.Plan](req.GetPlanId()), req.GetPaymentDue()
	if f.status, err = filterOf("status", req.GetStatus()); err != nil {
		return f, err
	}
	f.updatedSince, err = check.Bound("updated_since", req.GetUpdatedSince())
	return f, err
}

// filterOf returns the name of a value to filter by; "" if there is no filter.
func filterOf[E enum.Enum](parameter string, v E) (string, error) {
	name := enum.Name(v)
	if name == "" && v != 0 {
		return "", fault.InvalidParameter(parameter, "enum", fault.OneOf(enum.Names[E]()))
	}
	return name, nil
}
