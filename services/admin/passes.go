package admin

import (
	"strconv"
	"strings"

	"reservation.dev/platform/fault"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// typeView is a pass type as a page shows it.
type typeView struct{ *passv1.PassType }

// Validity says for how long a pass is valid.
func (t typeView) Validity() string {
	unit := map[passv1.ValidityUnit][2]string{
		passv1.ValidityUnit_VALIDITY_UNIT_DAY: {"day", "days"}, passv1.ValidityUnit_VALIDITY_UNIT_WEEK: {"week", "weeks"},
		passv1.ValidityUnit_VALIDITY_UNIT_MONTH: {"month", "months"}, passv1.ValidityUnit_VALIDITY_UNIT_YEAR: {"year", "years"},
	}[t.GetValidityUnit()]
	return plural(t.GetValidityCount(), unit[0], unit[1])
}

// For says what it can pay for.
func (t typeView) For() string {
	if len(t.GetEligibleEventTypes()) == 0 {
		return "everything"
	}
	return strings.Join(t.GetEligibleEventTypes(), ", ")
}

// Archived tells that it is no longer sold.
func (t typeView) Archived() bool {
	return t.GetStatus() == passv1.PassTypeStatus_PASS_TYPE_STATUS_ARCHIVED
}

// typesPage is the list of pass types.
type typesPage struct {
	Types []typeView
	Next  string
}

func (typesPage) head() (string, string) { return "Pass types", "pass-types" }

func (v *visit) passTypes() error {
	res, err := v.services.passes.ListPassTypes(v.ctx, &passv1.ListPassTypesRequest{
		PageSize: 50, PageToken: v.query("page"), Order: passv1.PassOrder_PASS_ORDER_CREATED_DESC,
	})
	if err != nil {
		return err
	}
	page := typesPage{Next: v.with("page", res.GetNextPageToken())}
	for _, t := range res.GetPassTypes() {
		page.Types = append(page.Types, typeView{t})
	}
	return v.render("pass-types", page)
}

// passTitles are the titles of the company's pass types, by id. A company has few.
func (v *visit) passTitles() (map[string]string, error) {
	res, err := v.services.passes.ListPassTypes(v.ctx, &passv1.ListPassTypesRequest{PageSize: 200, Order: passv1.PassOrder_PASS_ORDER_CREATED_DESC})
	if err != nil {
		return nil, err
	}
	titles := map[string]string{}
	for _, t := range res.GetPassTypes() {
		titles[t.GetId()] = t.GetTitle()
	}
	return titles, nil
}

// typeFormPage makes or changes a pass type.
type typeFormPage struct {
	Form  *form
	Type  *typeView // nil: a new one
	Units []option
	Kinds []grant
}

func (p typeFormPage) head() (string, string) {
	if p.Type == nil {
		return "Add Pass Type", "pass-types"
	}
	return p.Type.GetTitle(), "pass-types"
}

var units = map[string]passv1.ValidityUnit{
	"day": passv1.ValidityUnit_VALIDITY_UNIT_DAY, "week": passv1.ValidityUnit_VALIDITY_UNIT_WEEK,
	"month": passv1.ValidityUnit_VALIDITY_UNIT_MONTH, "year": passv1.ValidityUnit_VALIDITY_UNIT_YEAR,
}

func typeForm(f *form, t *typeView) typeFormPage {
	return typeFormPage{Form: f, Type: t,
		Units: []option{{"day", "days"}, {"week", "weeks"}, {"month", "months"}, {"year", "years"}},
		Kinds: []grant{
			{"class", "Classes", ""}, {"event", "Events", ""}, {"workshop", "Workshops", ""}, {"course", "Courses", ""}, {"appointment", "Appointments", ""},
		},
	}
}

func (v *visit) newPassType() error {
	return v.render("pass-type", typeForm(newForm("uses", "10", "count", "6", "unit", "month", "kinds", "class"), nil))
}

func (v *visit) passType() error {
	t, err := v.findPassType()
	if err != nil {
		return err
	}
	f := newForm("title", t.GetTitle(), "description", t.GetDescription(), "uses", strconv.Itoa(int(t.GetTotalUses())),
		"count", strconv.Itoa(int(t.GetValidityCount())), "price", amount(t.GetPrice()))
	for name, unit := range units {
		if unit == t.GetValidityUnit() {
			f.values.Set("unit", name)
		}
	}
	f.values["kinds"] = t.GetEligibleEventTypes()
	return v.render("pass-type", typeForm(f, &t))
}

func (v *visit) findPassType() (typeView, error) {
	res, err := v.services.passes.GetPassType(v.ctx, &passv1.GetPassTypeRequest{Id: v.r.PathValue("id")})
	return typeView{res.GetPassType()}, err
}

// typeFields are the form's names of the service's fields.
var typeFields = map[string]string{"total_uses": "uses", "validity_count": "count", "validity_unit": "unit", "eligible_event_types": "kinds"}

// readType reads the fields of a pass type.
func readType(f *form) *passv1.CreatePassTypeRequest {
	req := &passv1.CreatePassTypeRequest{Title: f.required("title", "A title"), Description: f.text("description"), EligibleEventTypes: f.All("kinds")}
	uses, given := f.integer("uses", "The number of credits", 1, 100_000)
	if !given {
		f.add("uses", "The number of credits is needed.")
	}
	count, given := f.integer("count", "The validity", 1, 1000)
	if !given {
		f.add("count", "The validity is needed.")
	}
	req.TotalUses, req.ValidityCount, req.ValidityUnit = int32(uses), int32(count), units[f.text("unit")]
	req.Price, _ = f.money("price", "The price")
	return req
}

func (v *visit) createPassType() error {
	f := v.sent(typeFields)
	req := readType(f)
	res, err := submit(v, f, v.services.passes.CreatePassType, req)
	if err != nil {
		return v.again(err, "pass-type", typeForm(f, nil))
	}
	v.target(res.GetPassType().GetId())
	v.detail("title", "", req.GetTitle())
	return v.back("/pass-types", "The pass type is added.")
}

func (v *visit) updatePassType() error {
	t, err := v.findPassType()
	if err != nil {
		return err
	}
	f := v.sent(typeFields)
	req := readType(f)
	_, err = submit(v, f, v.services.passes.UpdatePassType, &passv1.UpdatePassTypeRequest{
		Id: t.GetId(), Title: &req.Title, Description: &req.Description, TotalUses: &req.TotalUses, ValidityCount: &req.ValidityCount,
		ValidityUnit: req.GetValidityUnit(), Price: &req.Price, EligibleEventTypes: &passv1.EventTypes{Types: req.GetEligibleEventTypes()},
	})
	if err != nil {
		return v.again(err, "pass-type", typeForm(f, &t))
	}
	v.detail("title", t.GetTitle(), req.GetTitle())
	v.detail("price", amount(t.GetPrice()), amount(req.GetPrice()))
	return v.back("/pass-types", "Saved.")
}

func (v *visit) archivePassType() error {
	status, said := passv1.PassTypeStatus_PASS_TYPE_STATUS_ARCHIVED, "The pass type is archived: it is no longer sold. Passes that customers hold stay good."
	if v.r.PathValue("action") == "restore" {
		status, said = passv1.PassTypeStatus_PASS_TYPE_STATUS_ACTIVE, "The pass type is sold again."
	} else if v.r.PathValue("action") != "archive" {
		return fault.Missing("page")
	}
	_, err := perform(v, v.services.passes.UpdatePassType, &passv1.UpdatePassTypeRequest{Id: v.r.PathValue("id"), Status: status})
	if err != nil {
		return v.refused("/pass-types", err)
	}
	return v.back("/pass-types", said)
}

// assignPage gives a pass to a customer.
type assignPage struct {
	Customer *customerv1.Customer
	Form     *form
	Types    []option
}

func (assignPage) head() (string, string) { return "Assign a pass", "customers" }

func (v *visit) assignPage(f *form) (assignPage, error) {
	c, err := v.findCustomer()
	if err != nil {
		return assignPage{}, err
	}
	page := assignPage{Customer: c.Customer, Form: f}
	types, err := v.services.passes.ListPassTypes(v.ctx, &passv1.ListPassTypesRequest{PageSize: 200, Status: passv1.PassTypeStatus_PASS_TYPE_STATUS_ACTIVE})
	if err != nil {
		return page, err
	}
	for _, t := range types.GetPassTypes() {
		page.Types = append(page.Types, option{t.GetId(), t.GetTitle() + ": " + plural(t.GetTotalUses(), "credit", "credits") + ", " +
			typeView{t}.Validity() + ", " + money(t.GetPrice(), t.GetCurrency())})
	}
	return page, nil
}

func (v *visit) assignForm() error {
	page, err := v.assignPage(newForm("start", v.web.now().In(v.session.Clock.Zone).Format("2006-01-02"), "paid", "card"))
	if err != nil {
		return err
	}
	return v.render("assign", page)
}

func (v *visit) assign() error {
	page, err := v.assignPage(v.sent(map[string]string{"pass_type_id": "type", "start_date": "start", "purchase.reference": "reference"}))
	if err != nil {
		return err
	}
	req := &passv1.AssignCustomerPassRequest{CustomerId: page.Customer.GetId(), PassTypeId: page.Form.required("type", "A pass type"), StartDate: page.Form.text("start")}
	if page.Form.text("paid") == "card" {
		req.Purchase = &passv1.PassPurchase{Method: "CARD", Reference: page.Form.text("reference")}
	}
	res, err := submit(v, page.Form, v.services.passes.AssignCustomerPass, req)
	if err != nil {
		return v.again(err, "assign", page)
	}
	v.target(res.GetCustomerPass().GetId())
	v.detail("customer", "", page.Customer.GetId())
	v.detail("paid", "", page.Form.text("paid"))
	return v.back("/passes/"+res.GetCustomerPass().GetId(), "The pass is assigned.")
}

// entryOfLedger is a change of credits as a page shows it.
type entryOfLedger struct{ *passv1.LedgerEntry }

// KindName says what happened.
func (e entryOfLedger) KindName() string {
	switch e.GetKind() {
	case passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_ASSIGNED:
		return "Assigned"
	case passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_REDEEMED:
		return "Paid a booking"
	case passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_RETURNED:
		return "Came back from a booking"
	}
	return "Adjusted"
}

// Change prints the credits with their sign.
func (e entryOfLedger) Change() string {
	if e.GetCredits() < 0 {
		return "−" + strconv.Itoa(-int(e.GetCredits()))
	}
	return "+" + strconv.Itoa(int(e.GetCredits()))
}

// passPage is a customer's pass with its ledger.
type passPage struct {
	Pass     passView
	Customer *customerv1.Customer
	Ledger   []entryOfLedger
	Next     string
	Form     *form
}

func (p passPage) head() (string, string) { return p.Pass.Title, "customers" }

func (v *visit) findPass() (passPage, error) {
	s := v.services
	res, err := s.passes.GetCustomerPass(v.ctx, &passv1.GetCustomerPassRequest{Id: v.r.PathValue("id")})
	if err != nil {
		return passPage{}, err
	}
	p := res.GetCustomerPass()
	page := passPage{Form: newForm("expiry", p.GetExpiryDate())}
	names, err := s.customers.BatchGetCustomers(v.ctx, &customerv1.BatchGetCustomersRequest{Ids: []string{p.GetCustomerId()}, IncludeDeleted: true})
	if err != nil {
		return page, err
	}
	if list := names.GetCustomers(); len(list) > 0 {
		page.Customer = list[0]
	}
	kind, err := s.passes.GetPassType(v.ctx, &passv1.GetPassTypeRequest{Id: p.GetPassTypeId()})
	if err != nil {
		return page, err
	}
	page.Pass = passView{p, kind.GetPassType().GetTitle()}
	ledger, err := s.passes.ListLedgerEntries(v.ctx, &passv1.ListLedgerEntriesRequest{CustomerPassId: p.GetId(), PageSize: 100, PageToken: v.query("page")})
	if err != nil {
		return page, err
	}
	for _, e := range ledger.GetEntries() {
		page.Ledger = append(page.Ledger, entryOfLedger{e})
	}
	page.Next = v.with("page", ledger.GetNextPageToken())
	return page, nil
}

func (v *visit) pass() error {
	page, err := v.findPass()
	if err != nil {
		return err
	}
	return v.render("pass", page)
}

func (v *visit) adjustPass() error {
	page, err := v.findPass()
	if err != nil {
		return err
	}
	f := v.sent(nil)
	f.values.Set("expiry", page.Pass.GetExpiryDate())
	page.Form = f
	credits, given := f.integer("credits", "The change", -100_000, 100_000)
	if !given || credits == 0 {
		f.add("credits", "Say how many credits to add, or with a minus how many to take.")
	}
	reason := f.required("reason", "A reason")
	res, err := submit(v, f, v.services.passes.AdjustCredits, &passv1.AdjustCreditsRequest{CustomerPassId: page.Pass.GetId(), Credits: int32(credits), Reason: reason})
	if err != nil {
		return v.again(err, "pass", page)
	}
	after := res.GetCustomerPass().GetRemainingUses()
	v.detail("customer", "", page.Pass.GetCustomerId())
	v.detail("credits", strconv.Itoa(int(page.Pass.GetRemainingUses())), strconv.Itoa(int(after)))
	v.detail("reason", "", reason)
	return v.back("/passes/"+page.Pass.GetId(), "The pass now has "+plural(after, "credit", "credits")+".")
}

func (v *visit) extendPass() error {
	page, err := v.findPass()
	if err != nil {
		return err
	}
	page.Form = v.sent(map[string]string{"expiry_date": "expiry"})
	expiry := page.Form.required("expiry", "A date")
	_, err = submit(v, page.Form, v.services.passes.UpdateCustomerPass, &passv1.UpdateCustomerPassRequest{Id: page.Pass.GetId(), ExpiryDate: &expiry})
	if err != nil {
		return v.again(err, "pass", page)
	}
	v.detail("expiry_date", page.Pass.GetExpiryDate(), expiry)
	return v.back("/passes/"+page.Pass.GetId(), "The pass is now valid until "+wallDate(expiry)+".")
}

// passActions are what can be done to a customer's pass, as the page before it says.
var passActions = map[string]confirmPage{
	"pause":  {Title: "Pause this pass", Button: "Pause", Effects: []string{"It cannot pay until it is resumed.", "When it is resumed, its last day moves by as many days as it was paused."}},
	"resume": {Title: "Resume this pass", Button: "Resume", Effects: []string{"It can pay again, and its last day moves by as many days as it was paused."}},
	"cancel": {Title: "Cancel this pass", Button: "Cancel for good", Danger: true, Effects: []string{
		"It can never pay again: a cancelled pass cannot be brought back.", "Bookings that it has paid stay. No money is moved.",
	}},
}

func (v *visit) confirmPass() error {
	p, ok := passActions[v.r.PathValue("action")]
	if !ok {
		return fault.Missing("page")
	}
	page, err := v.findPass()
	if err != nil {
		return err
	}
	return v.confirm(p, "customers", page.Pass.Title+" of "+fullName(page.Customer), "/passes/"+page.Pass.GetId())
}

// passStates are the states that the actions put a customer's pass into.
var passStates = map[string]struct {
	status passv1.CustomerPassStatus
	said   string
}{
	"pause":  {passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED, "The pass is paused."},
	"resume": {passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE, "The pass is resumed."},
	"cancel": {passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_CANCELLED, "The pass is cancelled."},
}

func (v *visit) changePass() error {
	to, ok := passStates[v.r.PathValue("action")]
	if !ok {
		return fault.Missing("page")
	}
	path := "/passes/" + v.r.PathValue("id")
	_, err := perform(v, v.services.passes.UpdateCustomerPass, &passv1.UpdateCustomerPassRequest{Id: v.r.PathValue("id"), Status: to.status})
	if err != nil {
		return v.refused(path, err)
	}
	return v.back(path, to.said)
}
