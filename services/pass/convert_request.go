package pass

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/check"
	"reservation.dev/platform/enum"
	"reservation.dev/platform/eventtype"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/money"
	"reservation.dev/platform/page"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// newPassType checks a request and returns the pass type that it describes, without its identifier
// and times. The currency defaults to the company's.
func newPassType(req *passv1.CreatePassTypeRequest, currency string) (PassType, error) {
	t := PassType{
		Title: req.GetTitle(), Description: req.GetDescription(), UnlimitedUses: req.GetUnlimitedUses(), NeverExpires: req.GetNeverExpires(),
		Price: req.GetPrice(), Currency: cmp.Or(req.GetCurrency(), currency), Status: typeActive, Version: 1,
	}
	var f check.Fields
	t.check(&f, terms{uses: &req.TotalUses, count: &req.ValidityCount, unit: new(enum.Name(req.GetValidityUnit()))})
	t.EligibleEventTypes = eventTypesOf(&f, "eligible_event_types", req.GetEligibleEventTypes())
	return t, f.Err()
}

// changedPassType returns a pass type with the changes of a request, and checks the result.
func changedPassType(t PassType, req *passv1.UpdatePassTypeRequest) (PassType, error) {
	set(&t.Title, req.Title)
	set(&t.Description, req.Description)
	set(&t.Price, req.Price)
	set(&t.Currency, req.Currency)
	if t.NeverExpires { // the stored validity was not chosen by anybody
		t.ValidityCount, t.ValidityUnit = 0, ""
	}
	set(&t.UnlimitedUses, req.UnlimitedUses)
	set(&t.NeverExpires, req.NeverExpires)
	var f check.Fields
	if req.GetStatus() != passv1.PassTypeStatus_PASS_TYPE_STATUS_UNSPECIFIED {
		t.Status = enum.Name(req.GetStatus())
		f.OneOf("status", t.Status, enum.Names[passv1.PassTypeStatus]())
	}
	in := terms{uses: req.TotalUses, count: req.ValidityCount}
	if req.GetValidityUnit() != passv1.ValidityUnit_VALIDITY_UNIT_UNSPECIFIED {
		in.unit = new(enum.Name(req.GetValidityUnit()))
	}
	t.check(&f, in)
	if req.GetEligibleEventTypes() != nil {
		t.EligibleEventTypes = eventTypesOf(&f, "eligible_event_types", req.GetEligibleEventTypes().GetTypes())
	}
	return t, f.Err()
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// eventTypesOf checks event types and removes duplicates.
func eventTypesOf(f *check.Fields, field string, in []string) []string {
	out := []string{}
	for i, name := range in {
		f.OneOf(fmt.Sprintf("%s[%d]", field, i), name, eventtype.Names())
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// newPassChange reads and checks a request.
func newPassChange(req *passv1.UpdateCustomerPassRequest) (passChange, error) {
	change := passChange{uses: req.RemainingUses, status: enum.Name(req.GetStatus())}
	var f check.Fields
	if req.ExpiryDate != nil {
		day, err := time.Parse(time.DateOnly, *req.ExpiryDate)
		if err != nil || day.Year() < 1900 || day.Year() > 9999 {
			f.Add("expiry_date", "format", "must be a date such as 2026-03-29, in the years 1900 to 9999")
		}
		change.expiry = &day
	}
	if change.status == "" && req.GetStatus() != passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_UNSPECIFIED {
		f.Add("status", "enum", "must be active, paused or cancelled; the other statuses follow from dates and uses")
	}
	f.Untrimmed("reason", req.GetReason(), 0, maxReason)
	return change, f.Err()
}

// checkAdjustment checks a request.
func checkAdjustment(req *passv1.AdjustCreditsRequest) error {
	var f check.Fields
	f.Range("credits", int64(req.GetCredits()), -maxUses, maxUses)
	if req.GetCredits() == 0 {
		f.Add("credits", "required", "must not be 0")
	}
	f.Untrimmed("reason", req.GetReason(), 1, maxReason)
	return f.Err()
}

// newPurchase checks the payment for a pass; a nil payment means free of charge.
func newPurchase(req *passv1.PassPurchase, t PassType) (p CustomerPass, err error) {
	if req == nil {
		return p, nil
	}
	var f check.Fields
	method := cmp.Or(req.GetMethod(), money.PassMethods()[0])
	f.OneOf("purchase.method", method, money.PassMethods())
	gross := t.Price
	if method == money.MethodFree {
		gross = 0
	}
	switch {
	case req.Gross == nil:
	case method == money.MethodFree && *req.Gross != 0:
		f.Add("purchase.gross", "method", "must be 0 with FREE")
	default:
		gross = *req.Gross
		f.Range("purchase.gross", gross, 0, maxPrice)
	}
	f.OneOf("purchase.currency", t.Currency, money.Currencies())
	f.Untrimmed("purchase.reference", req.GetReference(), 0, maxReference)
	p.PaidGross, p.PaidCurrency, p.PaidMethod = &gross, &t.Currency, &method
	if reference := req.GetReference(); reference != "" {
		p.PaidReference = &reference
	}
	return p, f.Err()
}

// assignment is the customer, the pass type and the start date of a new pass.
type assignment struct {
	passType id.PassType
	customer id.Customer
	start    time.Time
}

func assignmentOf(req *passv1.AssignCustomerPassRequest, today time.Time) (a assignment, err error) {
	if a.passType, err = check.ID[id.PassType](req.GetPassTypeId(), "pass type"); err != nil {
		return a, err
	}
	if a.customer, err = check.ID[id.Customer](req.GetCustomerId(), "customer"); err != nil {
		return a, err
	}
	a.start, err = startDate(req.GetStartDate(), today)
	return a, err
}

// startDate reads the start date of a pass; "" means today.
func startDate(s string, today time.Time) (time.Time, error) {
	if s == "" {
		return today, nil
	}
	day, err := time.Parse(time.DateOnly, s)
	// The bounds leave room for the longest validity before the year 9999.
	if err != nil || day.Year() < 1900 || day.Year() > 8000 {
		return time.Time{}, fault.InvalidFields(fault.Field{
			Field: "start_date", Rule: "format", Message: "must be a date such as 2026-03-29, in the years 1900 to 8000",
		})
	}
	return day, nil
}

// pageOf reads the page of a list request.
func pageOf(req interface {
	GetPageSize() int32
	GetPageToken() string
	GetOrder() passv1.PassOrder
}) (page.Page, error) {
	o := page.Order{Code: byte(req.GetOrder())}
	switch req.GetOrder() {
	case passv1.PassOrder_PASS_ORDER_UNSPECIFIED:
	case passv1.PassOrder_PASS_ORDER_CREATED:
		o.Column = createdAt
	case passv1.PassOrder_PASS_ORDER_CREATED_DESC:
		o.Column, o.Desc = createdAt, true
	case passv1.PassOrder_PASS_ORDER_UPDATED:
		o.Column = updatedAt
	case passv1.PassOrder_PASS_ORDER_UPDATED_DESC:
		o.Column, o.Desc = updatedAt, true
	default:
		return page.Page{}, fault.InvalidParameter("order", "enum", "is not an order")
	}
	return page.Read(page.Of(req), o, page.Sizes{Default: 50, Max: 200})
}

// Columns by which lists are sorted.
const (
	createdAt = "created_at"
	updatedAt = "updated_at"
)

// The codes in page tokens for the orders of ledgers.
const (
	ledgerOrder          = 5
	ledgerOrderDesc      = 6
	ledgerOrderOfCompany = 7
)

// ledgerSizes returns the page sizes of lists of ledger entries.
func ledgerSizes() page.Sizes { return page.Sizes{Default: 200, Max: 1000} }

// sortedBy returns the time by which a row is sorted.
func sortedBy(p page.Page, created, updated time.Time) time.Time {
	if p.Order.Column == updatedAt {
		return updated
	}
	return created
}

func passTypeFilterOf(req *passv1.ListPassTypesRequest) (f passTypeFilter, err error) {
	if f.status, err = filterOf("status", req.GetStatus()); err != nil {
		return f, err
	}
	f.ofPlans = req.GetOfPlans()
	f.updatedSince, err = check.Bound("updated_since", req.GetUpdatedSince())
	return f, err
}

func customerPassFilterOf(req *passv1.ListCustomerPassesRequest, today time.Time) (f customerPassFilter, err error) {
	f.customer, f.passType, f.day = id.Filter[id.Customer](req.GetCustomerId()), id.Filter[id.PassType](req.GetPassTypeId()), today
	if f.status, err = filterOf("status", req.GetStatus()); err != nil {
		return f, err
	}
	if f.mostCounted = req.GetTotalLimit(); f.mostCounted < 0 {
		return f, fault.InvalidParameter("total_limit", "range", "must be 0 or more")
	}
	if f.createdFrom, f.createdBefore, err = createdIn(req); err != nil {
		return f, err
	}
	f.updatedSince, err = check.Bound("updated_since", req.GetUpdatedSince())
	return f, err
}

// createdIn returns the bounds of the creation in a list request; zero means none.
func createdIn(req interface {
	GetCreatedFrom() *timestamppb.Timestamp
	GetCreatedBefore() *timestamppb.Timestamp
}) (from, before time.Time, err error) {
	if from, err = check.Bound("created_from", req.GetCreatedFrom()); err != nil {
		return from, before, err
	}
	before, err = check.Bound("created_before", req.GetCreatedBefore())
	return from, before, err
}

// mostEntriesCounted is the largest total of a list of the entries of all passes of a company.
const mostEntriesCounted = 10_000

// companyLedgerOf reads the filters and the page of a list of the entries of all passes.
func companyLedgerOf(req *passv1.ListCompanyLedgerEntriesRequest) (q companyLedger, err error) {
	if q.page, err = page.Read(page.Request{Size: req.GetPageSize()}, page.Order{Code: ledgerOrderOfCompany}, ledgerSizes()); err != nil {
		return q, err
	}
	if token := req.GetPageToken(); token != "" {
		if q.after, err = decodePosition(token); err != nil {
			return q, err
		}
	}
	if q.mostCounted = cmp.Or(req.GetTotalLimit(), mostEntriesCounted); q.mostCounted < 0 || q.mostCounted > mostEntriesCounted {
		return q, fault.InvalidParameter("total_limit", "range", fmt.Sprintf("must be 0 to %d", mostEntriesCounted))
	}
	q.from, q.before, err = createdIn(req)
	return q, err
}

// filterOf returns the name of a value to filter by; "" if there is no filter.
func filterOf[E enum.Enum](parameter string, v E) (string, error) {
	name := enum.Name(v)
	if name == "" && v != 0 {
		return "", fault.InvalidParameter(parameter, "enum", fault.OneOf(enum.Names[E]()))
	}
	return name, nil
}
