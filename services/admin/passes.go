package admin

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/eventtype"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/money"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// typeView is a pass type as a page shows it.
type typeView struct{ *passv1.PassType }

// Validity says for how long a pass is valid: "6 months".
func (t typeView) Validity() *message {
	if t.GetNeverExpires() {
		return msg("desk.pass.no_expiry")
	}
	return msg("desk.validity."+enum.Name(t.GetValidityUnit()), "count", t.GetValidityCount())
}

// Uses says how many credits a new pass has: "10 credits".
func (t typeView) Uses() *message { return usesText(t.GetUnlimitedUses(), t.GetTotalUses()) }

// UsesNumber is Uses for a column of credits: "10".
func (t typeView) UsesNumber() *message { return usesNumber(t.GetUnlimitedUses(), t.GetTotalUses()) }

// usesText says a number of credits.
func usesText(unlimited bool, credits int32) *message {
	if unlimited {
		return msg("desk.pass.unlimited_uses")
	}
	return creditsText(credits)
}

// usesNumber is usesText without the word.
func usesNumber(unlimited bool, credits int32) *message {
	if unlimited {
		return msg("desk.pass.unlimited")
	}
	return numberText(credits)
}

// Kinds returns the types of events that the pass can pay for; none if it can pay for all.
func (t typeView) Kinds() []*message { return views(t.GetEligibleEventTypes(), kindName) }

// State says whether the pass type is sold.
func (t typeView) State() stateTag {
	if t.Archived() {
		return stateTag{"warn", msg("desk.state.archived")}
	}
	return stateTag{"good", msg("desk.state.on_sale")}
}

// Archived reports whether the pass type is no longer sold.
func (t typeView) Archived() bool {
	return t.GetStatus() == passv1.PassTypeStatus_PASS_TYPE_STATUS_ARCHIVED
}

// typesPage is the list of pass types.
type typesPage struct {
	Types []typeView
	Next  string
}

func (typesPage) head() (*message, string) { return msg("desk.pass_types.title"), "pass-types" }

func (r *request) passTypes() error {
	res, err := r.services.passes.ListPassTypes(r.ctx, &passv1.ListPassTypesRequest{
		PageSize: 50, PageToken: r.query("page"), Order: passv1.PassOrder_PASS_ORDER_CREATED_DESC,
	})
	if err != nil {
		return err
	}
	page := typesPage{Next: r.with("page", res.GetNextPageToken())}
	for _, t := range res.GetPassTypes() {
		page.Types = append(page.Types, typeView{t})
	}
	return r.render("pass-types", page)
}

// passTitles returns the titles of the company's newest 200 pass types, those of plans included, by id.
func (r *request) passTitles() (map[string]string, error) {
	res, err := r.services.passes.ListPassTypes(r.ctx, &passv1.ListPassTypesRequest{PageSize: 200, Order: passv1.PassOrder_PASS_ORDER_CREATED_DESC, OfPlans: true})
	if err != nil {
		return nil, err
	}
	titles := map[string]string{}
	for _, t := range res.GetPassTypes() {
		titles[t.GetId()] = t.GetTitle()
	}
	return titles, nil
}

// typeFormPage adds or changes a pass type.
type typeFormPage struct {
	Form  *form
	Type  *typeView // nil for a new one
	Units []option
	Kinds []grant
}

func (p typeFormPage) head() (*message, string) {
	if p.Type == nil {
		return msg("desk.pass_type.add"), "pass-types"
	}
	return literal(p.Type.GetTitle()), "pass-types"
}

func (r *request) typeForm(f *form, t *typeView) typeFormPage {
	p := typeFormPage{Form: f, Type: t, Units: optionsOf(enum.Names[passv1.ValidityUnit](), func(unit string) string {
		return r.text(msg("desk.unit." + unit).or(unit))
	})}
	for _, kind := range eventtype.Names() {
		p.Kinds = append(p.Kinds, grant{Name: kind, Title: msg("desk.kinds." + kind).or(upperFirst(kind))})
	}
	return p
}

func (r *request) newPassType() error {
	return r.render("pass-type", r.typeForm(newForm("uses", "10", "count", "6", "unit", "month", "kinds", "class"), nil))
}

func (r *request) passType() error {
	t, err := r.findPassType()
	if err != nil {
		return err
	}
	f := newForm("title", t.GetTitle(), "description", t.GetDescription(), "price", r.amount(t.GetPrice()), "unit", "month")
	if t.GetUnlimitedUses() {
		f.values.Set("unlimited", "on")
	} else {
		f.values.Set("uses", strconv.Itoa(int(t.GetTotalUses())))
	}
	if t.GetNeverExpires() {
		f.values.Set("never", "on")
	} else {
		f.values.Set("count", strconv.Itoa(int(t.GetValidityCount())))
		f.values.Set("unit", enum.Name(t.GetValidityUnit()))
	}
	f.values["kinds"] = t.GetEligibleEventTypes()
	return r.render("pass-type", r.typeForm(f, &t))
}

func (r *request) findPassType() (typeView, error) {
	res, err := r.services.passes.GetPassType(r.ctx, &passv1.GetPassTypeRequest{Id: r.path("id")})
	return typeView{res.GetPassType()}, err
}

// typeFields are the form's names of the service's fields.
var typeFields = map[string]string{"total_uses": "uses", "validity_count": "count", "validity_unit": "unit", "eligible_event_types": "kinds"}

// readType reads the fields of a pass type.
func readType(f *form) *passv1.CreatePassTypeRequest {
	req := &passv1.CreatePassTypeRequest{Title: f.required("title", msg("desk.field.title")), Description: f.text("description"), EligibleEventTypes: f.All("kinds")}
	if req.UnlimitedUses = f.Get("unlimited") != ""; !req.GetUnlimitedUses() {
		req.TotalUses = f.count("uses", msg("desk.field.credits"), 1, 100_000)
	}
	if req.NeverExpires = f.Get("never") != ""; !req.GetNeverExpires() {
		req.ValidityCount = f.count("count", msg("desk.field.validity"), 1, 1000)
		req.ValidityUnit, _ = enum.Parse[passv1.ValidityUnit](f.text("unit"))
	}
	req.Price, _ = f.money("price", msg("desk.field.price"))
	return req
}

func (r *request) createPassType() error {
	f := r.sent(typeFields)
	req := readType(f)
	res, err := submit(r, f, r.services.passes.CreatePassType, req)
	if err != nil {
		return r.again(err, "pass-type", r.typeForm(f, nil))
	}
	r.target(res.GetPassType().GetId())
	r.detail("title", "", req.GetTitle())
	return r.back("/pass-types", r.text("desk.pass_type.added"))
}

func (r *request) updatePassType() error {
	t, err := r.findPassType()
	if err != nil {
		return err
	}
	f := r.sent(typeFields)
	req := readType(f)
	change := &passv1.UpdatePassTypeRequest{
		Id: t.GetId(), Title: &req.Title, Description: &req.Description, UnlimitedUses: &req.UnlimitedUses, NeverExpires: &req.NeverExpires,
		ValidityUnit: req.GetValidityUnit(), Price: &req.Price, EligibleEventTypes: &passv1.EventTypes{Types: req.GetEligibleEventTypes()},
	}
	if !req.GetUnlimitedUses() {
		change.TotalUses = &req.TotalUses
	}
	if !req.GetNeverExpires() {
		change.ValidityCount = &req.ValidityCount
	}
	_, err = submit(r, f, r.services.passes.UpdatePassType, change)
	if err != nil {
		return r.again(err, "pass-type", r.typeForm(f, &t))
	}
	r.detail("title", t.GetTitle(), req.GetTitle())
	r.detail("price", amount(t.GetPrice()), amount(req.GetPrice()))
	return r.back("/pass-types", r.text("shared.done.saved"))
}

func (r *request) archivePassType() error {
	status, done := passv1.PassTypeStatus_PASS_TYPE_STATUS_ARCHIVED, "desk.pass_type.archived"
	if r.path("action") == "restore" {
		status, done = passv1.PassTypeStatus_PASS_TYPE_STATUS_ACTIVE, "desk.pass_type.restored"
	} else if r.path("action") != "archive" {
		return fault.Missing("page")
	}
	_, err := perform(r, r.services.passes.UpdatePassType, &passv1.UpdatePassTypeRequest{Id: r.path("id"), Status: status})
	if err != nil {
		return r.refused("/pass-types", err)
	}
	return r.back("/pass-types", r.text(done))
}

// assignPage assigns a pass to a customer.
type assignPage struct {
	Customer *customerv1.Customer
	Form     *form
	Types    []option
}

func (assignPage) head() (*message, string) { return msg("desk.assign.title"), "customers" }

func (r *request) assignPage(f *form) (assignPage, error) {
	c, err := r.findCustomer()
	if err != nil {
		return assignPage{}, err
	}
	page := assignPage{Customer: c.Customer, Form: f}
	types, err := r.services.passes.ListPassTypes(r.ctx, &passv1.ListPassTypesRequest{PageSize: 200, Status: passv1.PassTypeStatus_PASS_TYPE_STATUS_ACTIVE})
	if err != nil {
		return page, err
	}
	for _, t := range types.GetPassTypes() {
		page.Types = append(page.Types, option{t.GetId(), r.text("desk.assign.option", "title", t.GetTitle(), "credits", typeView{t}.Uses(),
			"validity", typeView{t}.Validity(), "price", priceText(t.GetPrice(), t.GetCurrency()))})
	}
	return page, nil
}

func (r *request) assignForm() error {
	page, err := r.assignPage(newForm("start", r.now().In(r.session.Clock.Zone).Format("2006-01-02"), "paid", "card"))
	if err != nil {
		return err
	}
	return r.render("assign", page)
}

func (r *request) assign() error {
	page, err := r.assignPage(r.sent(map[string]string{"pass_type_id": "type", "start_date": "start", "purchase.reference": "reference"}))
	if err != nil {
		return err
	}
	req := &passv1.AssignCustomerPassRequest{CustomerId: page.Customer.GetId(), PassTypeId: page.Form.required("type", msg("desk.field.pass_type")), StartDate: page.Form.text("start")}
	paid := strings.ToUpper(page.Form.text("paid"))
	if slices.Contains(money.PassMethods(), paid) && paid != money.MethodFree {
		req.Purchase = &passv1.PassPurchase{Method: paid, Reference: page.Form.text("reference")}
	}
	res, err := submit(r, page.Form, r.services.passes.AssignCustomerPass, req)
	if err != nil {
		return r.again(err, "assign", page)
	}
	r.target(res.GetCustomerPass().GetId())
	r.detail("customer", "", page.Customer.GetId())
	r.detail("paid", "", page.Form.text("paid"))
	return r.back("/passes/"+res.GetCustomerPass().GetId(), r.text("desk.assign.done"))
}

// entryOfLedger is a change of a pass's credits as a page shows it.
type entryOfLedger struct {
	*passv1.LedgerEntry
	unlimited bool // the pass has unlimited uses
}

// Left says how many credits the pass had after the change.
func (e entryOfLedger) Left() *message { return usesNumber(e.unlimited, e.GetBalance()) }

// KindName says why the credits changed.
func (e entryOfLedger) KindName() *message {
	switch e.GetKind() {
	case passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_ASSIGNED:
		return msg("desk.ledger.assigned")
	case passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_REDEEMED:
		return msg("desk.ledger.redeemed")
	case passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_RETURNED:
		return msg("desk.ledger.returned")
	case passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_GRANTED:
		return msg("desk.ledger.granted", "number", e.GetPeriod())
	case passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_EXPIRED:
		return msg("desk.ledger.expired")
	}
	return msg("desk.ledger.adjusted")
}

// Change prints the credits with their sign; a dash for a pass with unlimited uses.
func (e entryOfLedger) Change() *message {
	if e.unlimited {
		return literal("–")
	}
	return printed(func(x *texts) string {
		if e.GetCredits() < 0 {
			return "−" + x.number(-int64(e.GetCredits()))
		}
		return "+" + x.number(int64(e.GetCredits()))
	})
}

// passPage is a customer's pass with its ledger.
type passPage struct {
	Pass     passView
	Customer *customerv1.Customer
	Ledger   []entryOfLedger
	Next     string
	Form     *form
}

// Paid says what was paid for the pass.
func (p passPage) Paid() *message {
	bought := p.Pass.GetPurchase()
	if bought == nil {
		return msg("desk.pay.free_of_charge")
	}
	return byMethod(priceText(bought.GetGross(), bought.GetCurrency()), bought.GetMethod())
}

func (p passPage) head() (*message, string) { return literal(p.Pass.Title), "customers" }

// neverDate is the expiry date of a pass that never expires.
const neverDate = "9999-12-31"

// expiryForm returns a form with the last day of a pass.
func expiryForm(p *passv1.CustomerPass) *form {
	if p.GetNeverExpires() {
		return newForm("never", "on")
	}
	return newForm("expiry", p.GetExpiryDate())
}

func (r *request) findPass() (passPage, error) {
	s := r.services
	res, err := s.passes.GetCustomerPass(r.ctx, &passv1.GetCustomerPassRequest{Id: r.path("id")})
	if err != nil {
		return passPage{}, err
	}
	p := res.GetCustomerPass()
	page := passPage{Form: expiryForm(p)}
	names, err := s.customers.BatchGetCustomers(r.ctx, &customerv1.BatchGetCustomersRequest{Ids: []string{p.GetCustomerId()}, IncludeDeleted: true})
	if err != nil {
		return page, err
	}
	if list := names.GetCustomers(); len(list) > 0 {
		page.Customer = list[0]
	}
	kind, err := s.passes.GetPassType(r.ctx, &passv1.GetPassTypeRequest{Id: p.GetPassTypeId()})
	if err != nil {
		return page, err
	}
	page.Pass = passView{p, kind.GetPassType().GetTitle()}
	ledger, err := s.passes.ListLedgerEntries(r.ctx, &passv1.ListLedgerEntriesRequest{CustomerPassId: p.GetId(), PageSize: 100, PageToken: r.query("page")})
	if err != nil {
		return page, err
	}
	for _, e := range ledger.GetEntries() {
		page.Ledger = append(page.Ledger, entryOfLedger{e, p.GetUnlimitedUses()})
	}
	page.Next = r.with("page", ledger.GetNextPageToken())
	return page, nil
}

func (r *request) adjustPass() error {
	page, err := r.findPass()
	if err != nil {
		return err
	}
	f := r.sent(nil)
	maps.Copy(f.values, expiryForm(page.Pass.CustomerPass).values)
	page.Form = f
	credits, given := f.integer("credits", msg("desk.field.change"), -100_000, 100_000)
	if !given || credits == 0 {
		f.add("credits", msg("desk.pass.no_change"))
	}
	reason := f.required("reason", msg("desk.field.reason"))
	res, err := submit(r, f, r.services.passes.AdjustCredits, &passv1.AdjustCreditsRequest{CustomerPassId: page.Pass.GetId(), Credits: int32(credits), Reason: reason})
	if f.Summary != nil && f.Summary.id == "refusals.reason.PASS_EXHAUSTED" {
		// The reason's message is for a booking: it says how else to pay.
		f.Summary = msg("desk.pass.too_few", "credits", creditsText(page.Pass.GetRemainingUses()))
	}
	if err != nil {
		return r.again(err, "pass", page)
	}
	after := res.GetCustomerPass().GetRemainingUses()
	r.detail("customer", "", page.Pass.GetCustomerId())
	r.detail("credits", strconv.Itoa(int(page.Pass.GetRemainingUses())), strconv.Itoa(int(after)))
	r.detail("reason", "", reason)
	return r.back("/passes/"+page.Pass.GetId(), r.text("desk.pass.adjusted", "credits", creditsText(after)))
}

func (r *request) extendPass() error {
	page, err := r.findPass()
	if err != nil {
		return err
	}
	page.Form = r.sent(map[string]string{"expiry_date": "expiry"})
	expiry := neverDate
	if page.Form.Get("never") == "" {
		expiry = page.Form.required("expiry", msg("desk.field.date"))
	}
	_, err = submit(r, page.Form, r.services.passes.UpdateCustomerPass, &passv1.UpdateCustomerPassRequest{Id: page.Pass.GetId(), ExpiryDate: &expiry})
	if err != nil {
		return r.again(err, "pass", page)
	}
	r.detail("expiry_date", page.Pass.GetExpiryDate(), expiry)
	if expiry == neverDate {
		return r.back("/passes/"+page.Pass.GetId(), r.text("desk.pass.never_expires"))
	}
	return r.back("/passes/"+page.Pass.GetId(), r.text("desk.pass.extended", "day", wallDate(expiry)))
}

// confirmPassPage says what an action does to a pass; ok is false for an unknown action.
func (r *request) confirmPassPage() (p confirmPage, ok bool) {
	switch r.path("action") {
	case "pause":
		return confirmPage{
			Title: r.text("desk.pass.pause_title"), Button: r.text("desk.pass.pause_button"),
			Effects: []string{r.text("desk.pass.pause_effect"), r.text("desk.pass.pause_last_day")},
		}, true
	case "resume":
		return confirmPage{
			Title: r.text("desk.pass.resume_title"), Button: r.text("desk.pass.resume_button"),
			Effects: []string{r.text("desk.pass.resume_effect")},
		}, true
	case "cancel":
		return confirmPage{
			Title: r.text("desk.pass.cancel_title"), Button: r.text("desk.pass.cancel_button"), Danger: true,
			Effects: []string{r.text("desk.pass.cancel_effect"), r.text("desk.pass.cancel_bookings")},
		}, true
	}
	return p, false
}

func (r *request) confirmPass() error {
	p, ok := r.confirmPassPage()
	if !ok {
		return fault.Missing("page")
	}
	page, err := r.findPass()
	if err != nil {
		return err
	}
	return r.confirm(p, "customers", r.text("desk.pass.of", "pass", page.Pass.Title, "name", fullName(page.Customer)), "/passes/"+page.Pass.GetId())
}

// passStates are the statuses that the actions set, with the messages that confirm them.
var passStates = map[string]struct {
	status passv1.CustomerPassStatus
	done   string
}{
	"pause":  {passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED, "desk.pass.paused"},
	"resume": {passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE, "desk.pass.resumed"},
	"cancel": {passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_CANCELLED, "desk.pass.cancelled"},
}

func (r *request) changePass() error {
	to, ok := passStates[r.path("action")]
	if !ok {
		return fault.Missing("page")
	}
	path := "/passes/" + r.path("id")
	_, err := perform(r, r.services.passes.UpdateCustomerPass, &passv1.UpdateCustomerPassRequest{Id: r.path("id"), Status: to.status})
	if err != nil {
		return r.refused(path, err)
	}
	return r.back(path, r.text(to.done))
}
