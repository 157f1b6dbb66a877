package admin

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/zone"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// bookPath returns the address of the page that books an appointment.
func bookPath(q url.Values) string { return "/appointments/book?" + q.Encode() }

// bookSlotPage books an appointment for a caller. Its address has what is chosen so far: the type, the
// length, the person, the slot and the customer.
type bookSlotPage struct {
	Types []slotType // those of the chosen person
	Type  *slotType  // nil until one is chosen
	Form  *form
	// NotGiven says that the chosen person does not give the chosen type; nil if the choices fit.
	NotGiven *message
	// Refused is the title of that type; "" if none is chosen.
	Refused string
	Zone    string
	People  []option
	// Lengths are the choices of the type.
	Lengths []option
	Slots   slotDays
	Slot    *slotChoice // nil until a free one is chosen
	// Gone says that the chosen slot is not free.
	Gone     bool
	When     string
	Query    string
	Found    []*customerv1.Customer
	Customer *customerv1.Customer
	// Fresh says that the form also adds the customer.
	Fresh   bool
	Options []option
	Passes  []option
	// Hidden are the choices that the forms of the page send again.
	Hidden map[string]string

	day    time.Time
	start  *time.Time // nil until one is chosen
	length int32
	links  url.Values
}

func (bookSlotPage) head() (*message, string) {
	return msg("appointments.book.title"), "appointments"
}

// With returns the address of the page with other choices: name, value, …. An empty value removes one.
func (p bookSlotPage) With(pairs ...string) string {
	q := url.Values{}
	for name, values := range p.links {
		q[name] = values
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if q.Set(pairs[i], pairs[i+1]); pairs[i+1] == "" {
			q.Del(pairs[i])
		}
	}
	return bookPath(q)
}

// bookChoices are the choices that the address of the page has.
var bookChoices = []string{"type", "length", "staff", "day", "start", "customer", "new"}

// bookSlotPage returns the page for the choices that get returns.
func (r *request) bookSlotPage(get func(name string) string) (bookSlotPage, error) {
	page := bookSlotPage{Form: newForm("method", "card"), Zone: r.session.Clock.Name(), links: url.Values{}, Hidden: map[string]string{}}
	for _, name := range bookChoices {
		if value := get(name); value != "" {
			page.links.Set(name, value)
			page.Form.values.Set(name, value)
			page.Hidden[name] = value
		}
	}
	on := true
	types, err := r.services.types.ListAppointmentTypes(r.ctx, &bookingv1.ListAppointmentTypesRequest{PageSize: resourcesMost, Active: &on})
	if err != nil {
		return page, err
	}
	people, err := r.people()
	if err != nil {
		return page, err
	}
	page.chooseType(views(types.GetAppointmentTypes(), func(t *bookingv1.AppointmentType) slotType { return slotType{t} }), people, get)
	if page.Type == nil {
		return page, nil
	}
	if err := r.slotsOf(&page, people, get); err != nil || page.start == nil {
		return page, err
	}
	return page, r.payerOf(&page, get)
}

// chooseType selects the type of the address, or the only one. If the address has a person, only the types of
// that person can be chosen.
func (p *bookSlotPage) chooseType(types []slotType, people []staffView, get func(name string) string) {
	staff, chosen := get("staff"), get("type")
	p.Types = slices.DeleteFunc(slices.Clone(types), func(t slotType) bool { return staff != "" && !t.givenBy(staff, people) })
	for i, t := range p.Types {
		if t.GetId() == chosen || chosen == "" && len(p.Types) == 1 {
			p.Type = &p.Types[i]
			p.Form.values.Set("type", t.GetId())
			p.Hidden["type"] = t.GetId()
			return
		}
	}
	at := slices.IndexFunc(types, func(t slotType) bool { return t.GetId() == chosen })
	switch {
	case staff == "" || at < 0 && len(p.Types) > 0 || len(types) == 0:
	case at < 0:
		p.NotGiven = msg("appointments.book.gives_nothing", "name", nameOf(staff, people))
	default:
		p.Refused = types[at].GetTitle()
		p.NotGiven = msg("appointments.book.not_given", "name", nameOf(staff, people), "title", p.Refused)
	}
}

// nameOf returns the name of a person; if there is no such person, a text that says so.
func nameOf(id string, people []staffView) *message {
	for _, s := range people {
		if s.GetId() == id {
			return literal(s.GetName())
		}
	}
	return msg("appointments.book.nobody")
}

// slotsOf reads the free slots, and selects the one of the address.
func (r *request) slotsOf(page *bookSlotPage, people []staffView, get func(name string) string) (err error) {
	page.People = staffOptions(page.Type.offering(people), r.text("appointments.book.anyone"))
	page.Lengths = r.lengthOptions(page.Type.GetLengths())
	if page.day, err = dayOf(get("day"), r.session.Clock.Zone); err != nil || page.day.Before(r.midnight(r.now(), 0)) {
		page.day = r.midnight(r.now(), 0)
	}
	page.Form.values.Set("day", page.day.Format(time.DateOnly))
	page.length = page.Type.length(get("length"))
	page.Form.values.Set("length", strconv.Itoa(int(page.length)))
	page.Slots, err = r.findSlots(&bookingv1.FindSlotsRequest{
		AppointmentTypeId: page.Type.GetId(), LengthMinutes: page.length, StaffId: get("staff"),
	}, page.day, people)
	if err != nil {
		return err
	}
	page.Slots.Previous, page.Slots.Next = page.otherDays(r)
	if page.start = startOfSlot(get("start")); page.start == nil {
		return nil
	}
	page.Slot = page.Slots.find(page.start.UTC().Format(time.RFC3339))
	page.Gone = page.Slot == nil
	ends := page.start.Add(time.Duration(page.length) * time.Minute)
	page.When = r.session.Clock.Time(timestamppb.New(*page.start)) + "–" + r.session.Clock.Hour(timestamppb.New(ends))
	return nil
}

// otherDays returns the addresses of the days before and after those shown; "" for days in the past.
func (p bookSlotPage) otherDays(r *request) (previous, next string) {
	next = p.With("day", r.midnight(p.day, slotsShown).Format(time.DateOnly), "start", "")
	if today := r.midnight(r.now(), 0); p.day.After(today) {
		previous = p.With("day", later(today, r.midnight(p.day, -slotsShown)).Format(time.DateOnly), "start", "")
	}
	return previous, next
}

// payerOf reads the chosen customer, and how the customer can pay.
func (r *request) payerOf(page *bookSlotPage, get func(name string) string) error {
	prices, payable, least := page.Type.pricesFor(page.length), false, int32(0)
	for _, o := range prices {
		page.Options = append(page.Options, option{o.GetId(), o.GetName() + ": " + r.text(optionPrice(o))})
		if o.Credits != nil && (!payable || o.GetCredits() < least) {
			least, payable = o.GetCredits(), true
		}
	}
	page.Fresh = get("new") != ""
	if get("customer") == "" {
		return nil
	}
	res, err := r.services.customers.GetCustomer(r.ctx, &customerv1.GetCustomerRequest{Id: get("customer")})
	if err != nil {
		return err
	}
	page.Customer, page.Fresh = res.GetCustomer(), false
	if !payable {
		return nil
	}
	day := zone.Day(*page.start, page.Type.GetTimezone())
	page.Passes, err = r.passOptions(&passv1.ListEligiblePassesRequest{
		CustomerId: page.Customer.GetId(), EventTypes: []string{appointmentKind}, Credits: least, Days: []string{day},
	})
	return err
}

// appointmentKind is the type of the event of appointments.
const appointmentKind = "appointment"

func (r *request) bookSlotForm() error {
	page, err := r.bookSlotPage(r.query)
	if err != nil {
		return err
	}
	if page.Slot != nil && page.Customer == nil && !page.Fresh {
		page.Query = r.query("q")
		res, err := r.services.customers.ListCustomers(r.ctx, &customerv1.ListCustomersRequest{Query: page.Query, PageSize: 10, TotalLimit: 1, Archived: new(bool)})
		if err != nil && r.live() {
			return err // a search while typing must not leave the page
		}
		if err != nil {
			return r.refused(page.With(), err)
		}
		page.Found = res.GetCustomers()
		if r.live() {
			return r.fragment("book-slot", "found", page)
		}
	}
	return r.render("book-slot", page)
}

// bookSlotNames are the form's names of the service's fields.
var bookSlotNames = map[string]string{
	"payment_reference": "reference", "discount_code": "discount", "customer_pass_id": "pass", "payment_method": "method",
	"pricing_option_id": "option", "starts_at": "start", "local_start": "start", "staff_id": "staff", "length_minutes": "length",
	"first_name": "first", "last_name": "last",
}

// bookSlot books the appointment. It first adds the customer if the form has a new one.
func (r *request) bookSlot() error {
	page, err := r.bookSlotPage(r.value)
	if err != nil {
		return err
	}
	chosen := page.Form.values
	f := r.sent(bookSlotNames)
	page.Form = f
	for name, values := range chosen {
		if !f.values.Has(name) {
			f.values[name] = values
		}
	}
	if page.NotGiven != nil {
		f.add("staff", page.NotGiven)
		return r.notAccepted("book-slot", page)
	}
	if page.Type == nil || page.start == nil {
		f.add("start", msg("appointments.book.no_slot"))
		return r.notAccepted("book-slot", page)
	}
	if page.Customer == nil {
		if err := r.addCaller(&page); err != nil {
			return r.again(err, "book-slot", page)
		}
	}
	// Whether the slot is still free is for the service to say: a form that was sent twice has taken it itself.
	pay := f.payment()
	req := &bookingv1.BookAppointmentRequest{
		Slot: &bookingv1.SlotRequest{
			AppointmentTypeId: page.Type.GetId(), LengthMinutes: page.length, StaffId: r.value("staff"),
			StartsAt: timestamppb.New(*page.start), WaiveNotice: true,
		},
		PurchaserId: page.Customer.GetId(), PricingOptionId: f.text("option"),
		PaymentMethod: pay.method, PaymentReference: pay.reference, CustomerPassId: pay.pass, DiscountCode: pay.discount,
	}
	res, err := submit(r, f, unindexed(r.services.appointments.BookAppointment), req)
	if err != nil {
		return r.again(err, "book-slot", page)
	}
	return r.slotBooked(appointmentView{res.GetAppointment(), r.session.Clock})
}

// slotBooked records a booked appointment and redirects to its day.
func (r *request) slotBooked(v appointmentView) error {
	total := paid(v.GetBooking())
	r.target(v.GetId())
	r.detail("customer", "", v.GetCustomer().GetId())
	r.detail("event", "", v.GetTitle())
	r.detail("starts_at", "", v.When())
	r.detail("staff", "", v.GetStaff().GetName())
	r.detail("paid", "", r.logTexts().text(total))
	day := v.GetBooking().GetStartsAt().AsTime().In(r.session.Clock.Zone).Format(time.DateOnly)
	return r.back("/appointments?day="+day, r.text("appointments.book.booked", "title", v.GetTitle(), "name", v.Guest(), "when", v.When(),
		"staff", cmp.Or(v.GetStaff().GetName(), "–"), "paid", total))
}

// addCaller adds the new customer of the form. If the booking is refused, the form goes on with the added
// customer.
func (r *request) addCaller(page *bookSlotPage) (err error) {
	page.Fresh = true
	if page.Customer, err = r.addGuest(page.Form); err != nil {
		return err
	}
	page.Fresh = false
	page.Hidden["customer"] = page.Customer.GetId()
	delete(page.Hidden, "new")
	page.links.Set("customer", page.Customer.GetId())
	page.links.Del("new")
	return nil
}
