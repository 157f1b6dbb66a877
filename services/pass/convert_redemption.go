package pass

import (
	"fmt"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/eventtype"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// newRedemption reads and checks a request.
func newRedemption(req *passv1.RedeemCreditsRequest) (redemption, error) {
	var r redemption
	var err error
	if r.id, err = id.Parse[id.Transaction](req.GetRedemptionId()); err != nil {
		return r, fault.InvalidFields(fault.Field{Field: "redemption_id", Rule: "format", Message: "must be a txn_ identifier"})
	}
	if r.customer, err = check.ID[id.Customer](req.GetCustomerId(), "customer"); err != nil {
		return r, err
	}
	if req.GetCustomerPassId() != "" {
		if r.pass, err = check.ID[id.CustomerPass](req.GetCustomerPassId(), "customer pass"); err != nil {
			return r, err
		}
	}
	var f check.Fields
	r.items = itemsOf(&f, req.GetItems())
	return r, f.Err()
}

// itemsOf reads and checks the items of a redemption.
func itemsOf(f *check.Fields, in []*passv1.RedemptionItem) []item {
	if len(in) == 0 {
		f.Add("items", "items", "must have at least 1")
	}
	items := make([]item, 0, len(in))
	seen := map[id.Booking]bool{}
	for n, i := range in {
		at := func(member string) string { return fmt.Sprintf("items[%d].%s", n, member) }
		booking, err := id.Parse[id.Booking](i.GetItemId())
		if err != nil || seen[booking] {
			f.Add(at("item_id"), "format", "must be a booking_ identifier that is not repeated")
		}
		seen[booking] = true
		f.OneOf(at("event_type"), i.GetEventType(), eventtype.Names())
		f.Range(at("credits"), int64(i.GetCredits()), 0, maxCost)
		day, ok := parseDay(i.GetDay())
		if !ok {
			f.Add(at("day"), "format", "must be a date such as 2026-03-29")
		}
		items = append(items, item{id: booking, eventType: i.GetEventType(), credits: i.GetCredits(), day: day})
	}
	return items
}

// newReturn reads and checks a request.
func newReturn(req *passv1.ReturnCreditsRequest) (returnedCredits, error) {
	r := returnedCredits{credits: req.GetCredits(), pass: req.GetCustomerPassId()}
	var err error
	if r.redemption, err = check.ID[id.Transaction](req.GetRedemptionId(), "redemption"); err != nil {
		return r, err
	}
	if r.booking, err = id.Parse[id.Booking](req.GetReturnId()); err != nil {
		return r, fault.InvalidFields(fault.Field{Field: "return_id", Rule: "format", Message: "must be a booking_ identifier"})
	}
	var f check.Fields
	f.Range("credits", int64(req.GetCredits()), 0, maxUses)
	return r, f.Err()
}

// eligibilityOf returns the event types and the days that a pass must be valid for.
func eligibilityOf(req *passv1.ListEligiblePassesRequest, at moment) (kinds []string, when period, err error) {
	var f check.Fields
	kinds = eventTypesOf(&f, "event_types", req.GetEventTypes())
	f.Range("credits", int64(req.GetCredits()), 0, maxUses)
	days := make([]time.Time, 0, len(req.GetDays()))
	for i, text := range req.GetDays() {
		day, ok := parseDay(text)
		if !ok || text == "" {
			f.Add(fmt.Sprintf("days[%d]", i), "format", "must be a date such as 2026-03-29")
		}
		days = append(days, day)
	}
	return kinds, periodOf(days, at), f.Err()
}
