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
		items = append(items, itemOf(f, fmt.Sprintf("items[%d]", n), i, seen))
	}
	return items
}

// itemOf reads and checks the member of a request that is an item, and adds its booking to seen.
func itemOf(f *check.Fields, member string, in *passv1.RedemptionItem, seen map[id.Booking]bool) item {
	booking, err := id.Parse[id.Booking](in.GetItemId())
	if err != nil || seen[booking] {
		f.Add(member+".item_id", "format", "must be a booking_ identifier that is not repeated")
	}
	seen[booking] = true
	f.OneOf(member+".event_type", in.GetEventType(), eventtype.Names())
	f.Range(member+".credits", int64(in.GetCredits()), 0, maxCost)
	day, ok := parseDay(in.GetDay())
	if !ok {
		f.Add(member+".day", "format", "must be a date such as 2026-03-29")
	}
	return item{id: booking, eventType: in.GetEventType(), credits: in.GetCredits(), day: day}
}

// newRedemptionChange reads and checks a request.
func newRedemptionChange(req *passv1.ChangeRedemptionRequest) (redemptionChange, error) {
	c := redemptionChange{expected: req.GetExpectedCredits(), validateOnly: req.GetValidateOnly()}
	var err error
	if c.redemption, err = check.ID[id.Transaction](req.GetRedemptionId(), "redemption"); err != nil {
		return c, err
	}
	var f check.Fields
	c.item = itemOf(&f, "item", req.GetItem(), map[id.Booking]bool{})
	c.id = changeIDOf(&f, req.GetChangeId())
	f.Range("expected_credits", int64(c.expected), 0, maxCost)
	return c, f.Err()
}

// newCancelledChange reads and checks a request.
func newCancelledChange(req *passv1.CancelRedemptionChangeRequest) (redemptionChange, error) {
	var c redemptionChange
	var f check.Fields
	var err error
	if c.redemption, err = id.Parse[id.Transaction](req.GetRedemptionId()); err != nil {
		f.Add("redemption_id", "format", "must be a txn_ identifier")
	}
	if c.item.id, err = id.Parse[id.Booking](req.GetItemId()); err != nil {
		f.Add("item_id", "format", "must be a booking_ identifier")
	}
	c.id = changeIDOf(&f, req.GetChangeId())
	return c, f.Err()
}

// changeIDOf reads and checks the identifier of a change.
func changeIDOf(f *check.Fields, text string) id.UUID {
	change, err := id.ParseUUID(text)
	if err != nil || change.IsZero() {
		f.Add("change_id", "format", "must be a UUID of 26 characters")
	}
	return change
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
