package admin

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/money"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// salePage sells several bookings at once: for several people or dates, and each line with a payment of its own.
// The lines are fields of the form, so the page keeps nothing.
type salePage struct {
	Customer *customerv1.Customer // who buys
	Lines    []saleLine
	Dates    []option
	// Cut is the day of the last date that can be chosen, if there are more dates than the page offers; else "".
	Cut string
	// Found are customers from whom the person chooses for whom the next line is.
	Found  []*customerv1.Customer
	Passes []option
	Form   *form
	// Started says that the date of a line has started.
	Started bool
	// Total says what the lines cost; nil if a line has no price.
	Total *message
}

func (salePage) head() (*message, string) { return msg("sales.sale.title"), "customers" }

// Full reports whether no line can be added.
func (p salePage) Full() bool { return len(p.Lines) >= saleMost }

// saleMost is the most lines that a sale can have.
const saleMost = 10

// saleLine is a line of a sale.
type saleLine struct {
	Number  int
	Slot    slot
	Event   eventView
	For     *customerv1.Customer
	Options []option
	Methods []option
}

// Name returns the name of a field of the line.
func (l saleLine) Name(field string) string { return lineField(field, l.Number-1) }

// Remove is the value of the button that removes the line.
func (l saleLine) Remove() string { return lineField("remove", l.Number-1) }

// lineField returns the name of a field of a line, from 0.
func lineField(field string, i int) string { return field + "-" + strconv.Itoa(i) }

// lineFields are the fields of a line.
var lineFields = []string{"date", "for", "option", "spaces", "method"}

// lineCount returns the number of lines of a sale's form.
func (f *form) lineCount() int {
	n := 0
	for n < saleMost && f.text(lineField("date", n)) != "" {
		n++
	}
	return n
}

// addLine adds a line to a sale's form.
func (f *form) addLine(date, customer string) {
	n := f.lineCount()
	for i, value := range []string{date, customer, "", "1", "card"} {
		f.values.Set(lineField(lineFields[i], n), value)
	}
}

// removeLine removes a line, from 0, and renumbers those after it.
func (f *form) removeLine(i int) {
	n := f.lineCount()
	for ; i < n; i++ {
		for _, field := range lineFields {
			f.values.Set(lineField(field, i), f.values.Get(lineField(field, i+1)))
		}
	}
}

func (r *request) saleForm() error {
	if r.query("customer") == "" {
		return r.pick(pickPage{Back: "/customers", Of: r.text("desk.customers.title"), Section: "customers", Title: msg("sales.sale.title"), Label: msg("sales.sale.who"),
			path: func(customer string) string { return r.http.URL.Path + "?customer=" + url.QueryEscape(customer) }})
	}
	f := newForm("customer", r.query("customer"))
	if date := r.query("date"); date != "" {
		f.addLine(date, "")
	}
	page, err := r.salePage(f)
	if err != nil {
		return err
	}
	return r.render("sale", page)
}

// salePage reads what the lines of a form are, and what can be added. It makes one call for each type of event, and
// for each event and each date of the lines, of which there are at most 10.
func (r *request) salePage(f *form) (page salePage, err error) {
	page.Form = f
	if err := r.saleDates(&page); err != nil {
		return page, err
	}
	if err := r.saleLines(&page); err != nil {
		return page, err
	}
	return page, r.salePasses(&page)
}

// saleLines reads the dates, events and customers of the lines.
func (r *request) saleLines(page *salePage) error {
	f := page.Form
	people, err := r.salePeople(f)
	if err != nil {
		return err
	}
	if page.Customer = people[f.text("customer")]; page.Customer == nil {
		return fault.Missing("customer")
	}
	events := map[string]eventView{}
	for i := range f.lineCount() {
		res, err := r.services.events.GetEventDate(r.ctx, &bookingv1.GetEventDateRequest{Id: f.text(lineField("date", i))})
		if err != nil {
			return err
		}
		eventID := res.GetDate().GetEventId()
		if events[eventID].Event == nil {
			e, err := r.services.events.GetEvent(r.ctx, &bookingv1.GetEventRequest{Id: eventID})
			if err != nil {
				return err
			}
			events[eventID] = eventView{e.GetEvent()}
		}
		line := saleLine{Number: i + 1, Slot: slot{ScheduledDate: res.GetDate(), clock: r.session.Clock}, Event: events[eventID]}
		if line.For = people[cmp.Or(f.text(lineField("for", i)), page.Customer.GetId())]; line.For == nil {
			return fault.Missing("customer")
		}
		var payable bool
		line.Options, _, payable = r.prices(line.Event, false)
		line.Methods = r.saleMethods(payable)
		f.values.Set(line.Name("option"), chosenOption(line.Options, f.text(line.Name("option")), ""))
		page.Started = page.Started || line.Slot.Started()
		page.Lines = append(page.Lines, line)
	}
	page.Total = page.total()
	return nil
}

// salePeople returns the customers of a sale by their identifiers.
func (r *request) salePeople(f *form) (map[string]*customerv1.Customer, error) {
	ids := []string{f.text("customer")}
	for i := range f.lineCount() {
		if id := f.text(lineField("for", i)); id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	res, err := r.services.customers.BatchGetCustomers(r.ctx, &customerv1.BatchGetCustomersRequest{Ids: ids})
	people := map[string]*customerv1.Customer{}
	for _, c := range res.GetCustomers() {
		people[c.GetId()] = c
	}
	return people, err
}

// saleMethods returns the ways to pay a line.
func (r *request) saleMethods(byPass bool) []option {
	methods := optionsOf(money.PassMethods(), func(name string) string { return r.text(msg("desk.pay.method." + strings.ToLower(name))) })
	for i := range methods {
		methods[i].Value = strings.ToLower(methods[i].Value)
	}
	if byPass {
		methods = append(methods, option{"pass", r.text("desk.pay.pass")})
	}
	return methods
}

// price returns the chosen option of a line; nil if there is none.
func (p salePage) price(l saleLine) *bookingv1.PricingOption {
	for _, o := range l.Event.GetPricingOptions() {
		if o.GetId() == p.Form.text(l.Name("option")) {
			return o
		}
	}
	return nil
}

// salePasses reads the buyer's passes that could pay for the first line that passes can pay for.
func (r *request) salePasses(page *salePage) (err error) {
	for _, l := range page.Lines {
		if _, credits, payable := r.prices(l.Event, false); payable {
			page.Passes, err = r.payingPasses(page.Customer.GetId(), l.Event, l.Slot, credits)
			return err
		}
	}
	return nil
}

// sell changes the lines of a sale, or sells them.
func (r *request) sell() error {
	f := r.sent(saleNames())
	found, err := r.changeLines(f)
	if err != nil {
		return err
	}
	page, err := r.salePage(f)
	if err != nil {
		return err
	}
	page.Found = found
	switch {
	case f.Get("do") != "sell" && !f.Failed():
		return r.render("sale", page)
	case len(page.Lines) == 0:
		f.add("add-date", msg("sales.sale.no_lines"))
	}
	if f.Get("do") != "sell" {
		return r.notAccepted("sale", page)
	}
	return r.sellLines(page)
}

// saleNames are the form's names of the service's fields.
func saleNames() map[string]string {
	names := map[string]string{"lines": "add-date", "payment_reference": "reference", "discount_code": "discount", "customer_pass_id": "pass", "after_start_reason": "reason"}
	for i := range saleMost {
		at := "lines[" + strconv.Itoa(i) + "]."
		for field, name := range map[string]string{"spaces": "spaces", "pricing_option_id": "option", "payment.method": "method", "payment": "method", "payment.reference": "method"} {
			names[at+field] = lineField(name, i)
		}
	}
	return names
}

// changeLines adds or removes a line, as the button of the form says. If the customer of a new line is not clear,
// it returns those from whom to choose.
func (r *request) changeLines(f *form) ([]*customerv1.Customer, error) {
	do, chosen := f.Get("do"), f.text("add-for")
	switch who := f.text("add-who"); {
	case strings.HasPrefix(do, "remove-"):
		if i, err := strconv.Atoi(strings.TrimPrefix(do, "remove-")); err == nil && i >= 0 {
			f.removeLine(i)
		}
	case chosen == "" && do != "add":
		if do == "sell" && who != "" {
			f.add("add-who", msg("sales.sale.not_added", "who", who))
		}
	case f.lineCount() >= saleMost:
		f.add("add-date", msg("sales.sale.full", "most", saleMost))
	case chosen != "" || who == "":
		f.addLine(f.required("add-date", msg("desk.field.date")), chosen)
		f.values.Del("add-who")
	default:
		res, err := r.services.customers.ListCustomers(r.ctx, &customerv1.ListCustomersRequest{Query: who, PageSize: 10, TotalLimit: 1, Archived: new(bool)})
		if err != nil && !f.refuse(err) {
			return nil, err
		}
		switch all := res.GetCustomers(); len(all) {
		case 0:
			f.add("add-who", msg("desk.customers.none_found"))
		case 1:
			f.addLine(f.required("add-date", msg("desk.field.date")), all[0].GetId())
			f.values.Del("add-who")
		default:
			return all, nil
		}
	}
	return nil, nil
}

// sellLines books the lines in one purchase.
func (r *request) sellLines(page salePage) error {
	f := page.Form
	req := &bookingv1.CreateTransactionRequest{PurchaserId: page.Customer.GetId(), AfterStartReason: f.afterStart(page.Started)}
	for _, l := range page.Lines {
		req.Lines = append(req.Lines, page.request(l))
		if req.GetLines()[len(req.GetLines())-1].GetPayment().GetMethod() == bookingv1.PaymentMethod_PAYMENT_METHOD_PASS {
			req.CustomerPassId = f.text("pass")
		}
	}
	page.discount(req)
	res, err := submit(r, f, r.services.bookings.CreateTransaction, req)
	if err != nil {
		return r.again(err, "sale", page)
	}
	bookings := res.GetTransaction().GetBookings()
	total := sumOf(bookings)
	r.target(bookings[0].GetId())
	r.detail("customer", "", page.Customer.GetId())
	r.detail("dates", "", strconv.Itoa(len(bookings)))
	r.detail("paid", "", r.logTexts().text(total))
	if req.GetAfterStartReason() != "" {
		r.detail("reason", "", req.GetAfterStartReason())
	}
	return r.back("/customers/"+page.Customer.GetId(), r.text("sales.sale.done", "bookings", msg("desk.count.bookings", "count", len(bookings)), "name", page.guests(), "paid", total))
}

// guests lists the customers for whom the lines are, each one once.
func (p salePage) guests() *message {
	var names []*message
	seen := map[string]bool{}
	for _, l := range p.Lines {
		if id := l.For.GetId(); !seen[id] {
			seen[id] = true
			names = append(names, literal(fullName(l.For)))
		}
	}
	return enumeration(names)
}

// request returns a line of the request.
func (p salePage) request(l saleLine) *bookingv1.TransactionLine {
	method, known := enum.Parse[bookingv1.PaymentMethod](p.Form.text(l.Name("method")))
	if !known {
		method = bookingv1.PaymentMethod_PAYMENT_METHOD_CARD
	}
	line := bookPage{Event: l.Event, Slot: l.Slot}.line(p.Form.text(l.Name("option")), p.Form.count(l.Name("spaces"), msg("desk.field.spaces"), 1, spacesMost))
	line.Payment = &bookingv1.LinePayment{Method: method}
	if method != bookingv1.PaymentMethod_PAYMENT_METHOD_PASS && method != bookingv1.PaymentMethod_PAYMENT_METHOD_FREE {
		line.Payment.Reference = p.Form.text("reference")
	}
	if l.For.GetId() != p.Customer.GetId() {
		line.BoughtForId = l.For.GetId()
	}
	return line
}
