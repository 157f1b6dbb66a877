package admin

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/zone"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// slotType is an appointment type as a page shows it.
type slotType struct{ *bookingv1.AppointmentType }

// Path is the path of the type's page.
func (t slotType) Path() string { return "/appointment-types/" + t.GetId() }

// State says whether the type can be booked.
func (t slotType) State() stateTag { return activity(t.GetActive()) }

// LengthsText lists the lengths: "30 min, 1 h".
func (t slotType) LengthsText() *message {
	var all *message
	for _, minutes := range t.GetLengths() {
		all = listed(all, duration(minutes))
	}
	return all
}

// PriceText says what the cheapest appointment costs; nil if there is no price.
func (t slotType) PriceText() *message {
	if len(t.GetPrices()) == 0 {
		return msg("appointments.types.no_price")
	}
	least := slices.MinFunc(t.GetPrices(), func(a, b *bookingv1.AppointmentPrice) int {
		return cmp.Compare(a.GetOption().GetPrice(), b.GetOption().GetPrice())
	})
	if len(t.GetPrices()) == 1 {
		return optionPrice(least.GetOption())
	}
	return msg("appointments.types.price_from", "price", optionPrice(least.GetOption()))
}

// offering returns the active people who offer the type.
func (t slotType) offering(people []staffView) []staffView {
	return slices.DeleteFunc(active(people), func(s staffView) bool { return !slices.Contains(t.GetStaffIds(), s.GetId()) })
}

// givenBy reports whether a person gives appointments of the type now.
func (t slotType) givenBy(id string, people []staffView) bool {
	return slices.ContainsFunc(t.offering(people), func(s staffView) bool { return s.GetId() == id })
}

// length returns the length that an address has; the shortest one if the type does not have it.
func (t slotType) length(text string) int32 {
	n, err := strconv.ParseInt(text, 10, 32)
	if err == nil && slices.Contains(t.GetLengths(), int32(n)) {
		return int32(n)
	}
	if len(t.GetLengths()) == 0 {
		return 0
	}
	return t.GetLengths()[0]
}

// lengthsWith returns the lengths, with that of an appointment which the type may no longer have.
func (t slotType) lengthsWith(minutes int32) []int32 {
	all := slices.Clone(t.GetLengths())
	if !slices.Contains(all, minutes) {
		all = append(all, minutes)
	}
	slices.Sort(all)
	return all
}

// pricesFor returns the prices of a length.
func (t slotType) pricesFor(minutes int32) []*bookingv1.PricingOption {
	var all []*bookingv1.PricingOption
	for _, p := range t.GetPrices() {
		if p.GetLengthMinutes() == 0 || p.GetLengthMinutes() == minutes {
			all = append(all, p.GetOption())
		}
	}
	return all
}

// lengthOptions returns lengths as choices.
func (r *request) lengthOptions(lengths []int32) []option {
	return views(lengths, func(n int32) option { return option{strconv.Itoa(int(n)), r.text(duration(n))} })
}

// typeAndPeople returns an appointment type and the company's people.
func (r *request) typeAndPeople(id string) (slotType, []staffView, error) {
	res, err := r.services.types.GetAppointmentType(r.ctx, &bookingv1.GetAppointmentTypeRequest{Id: id})
	if err != nil {
		return slotType{}, nil, err
	}
	people, err := r.people()
	return slotType{res.GetAppointmentType()}, people, err
}

// slotTypesPage is the list of appointment types.
type slotTypesPage struct {
	Types []slotType
	Total int64
	Next  string
}

func (slotTypesPage) head() (*message, string) {
	return msg("appointments.types.title"), "appointment-types"
}

func (r *request) appointmentTypes() error {
	res, err := r.services.types.ListAppointmentTypes(r.ctx, &bookingv1.ListAppointmentTypesRequest{PageSize: 50, PageToken: r.query("page")})
	if err != nil {
		return err
	}
	return r.render("appointment-types", slotTypesPage{
		Types: views(res.GetAppointmentTypes(), func(t *bookingv1.AppointmentType) slotType { return slotType{t} }),
		Total: res.GetTotal(), Next: r.with("page", res.GetNextPageToken()),
	})
}

// slotTypePage adds or changes an appointment type.
type slotTypePage struct {
	Form   *form
	Type   *slotType // nil for a new type
	People []staffView
	Rooms  []roomView
	// Needs are the choices of a room: for which requirement of the type it can be used.
	Needs    []option
	Currency string
}

func (p slotTypePage) head() (*message, string) {
	if p.Type == nil {
		return msg("appointments.types.add"), "appointment-types"
	}
	return literal(p.Type.GetTitle()), "appointment-types"
}

// Action is the path of the form.
func (p slotTypePage) Action() string {
	if p.Type == nil {
		return "/appointment-types"
	}
	return p.Type.Path()
}

// requirementsMost is the largest number of rooms that an appointment uses.
const requirementsMost = 5

func (r *request) slotTypePage(f *form, t *slotType) (slotTypePage, error) {
	page := slotTypePage{Form: f, Type: t, Currency: r.session.Company.GetCurrency(), Needs: []option{{"", r.text("appointments.types.not_needed")}}}
	for n := range requirementsMost {
		page.Needs = append(page.Needs, option{strconv.Itoa(n + 1), r.text("appointments.types.need", "number", n+1)})
	}
	people, err := r.people()
	if err != nil {
		return page, err
	}
	for _, s := range people {
		if s.GetActive() || f.Has("staff", s.GetId()) {
			page.People = append(page.People, s)
		}
	}
	page.Rooms, err = r.rooms()
	page.Rooms = slices.DeleteFunc(page.Rooms, func(x roomView) bool { return !x.GetActive() && f.Get("need-"+x.GetId()) == "" })
	return page, err
}

func (r *request) newAppointmentType() error {
	f := newForm("lengths", "60", "before", "0", "after", "0", "grid", "15", "timezone", r.session.Company.GetTimezone(), "active", "on",
		"name", r.text("appointments.types.price_name"), "tax", "0")
	people, err := r.people()
	if err != nil {
		return err
	}
	for _, s := range active(people) {
		f.values.Add("staff", s.GetId())
	}
	return r.showType(f, nil)
}

func (r *request) showType(f *form, t *slotType) error {
	page, err := r.slotTypePage(f, t)
	if err != nil {
		return err
	}
	return r.render("appointment-type", page)
}

// typeAgain responds with the form of a type that submit did not accept.
func (r *request) typeAgain(err error, f *form, t *slotType) error {
	if !f.Failed() {
		return err
	}
	page, trouble := r.slotTypePage(f, t)
	if trouble != nil {
		return trouble
	}
	return r.again(err, "appointment-type", page)
}

func (r *request) findType() (slotType, error) {
	res, err := r.services.types.GetAppointmentType(r.ctx, &bookingv1.GetAppointmentTypeRequest{Id: r.path("id")})
	return slotType{res.GetAppointmentType()}, err
}

// hours prints minutes as a field in hours has them: "1.5".
func (l *locale) hours(minutes int32) string {
	return l.hundredths(int64(math.Round(float64(minutes) * 100 / 60)))
}

func (r *request) appointmentType() error {
	t, err := r.findType()
	if err != nil {
		return err
	}
	number := func(n int32) string { return strconv.Itoa(int(n)) }
	f := newForm("title", t.GetTitle(), "description", t.GetDescription(), "location", t.GetLocation(), "timezone", t.GetTimezone(),
		"lengths", strings.Join(views(t.GetLengths(), number), ", "), "before", number(t.GetBufferBeforeMinutes()), "after", number(t.GetBufferAfterMinutes()),
		"grid", number(t.GetSlotMinutes()), "notice", r.hours(t.GetMinimumNoticeMinutes()))
	if t.GetMaximumAdvanceDays() > 0 {
		f.values.Set("ahead", number(t.GetMaximumAdvanceDays()))
	}
	if t.FreeCancellationMinutes != nil {
		f.values.Set("policy", r.hours(t.GetFreeCancellationMinutes()))
	}
	if t.GetActive() {
		f.values.Set("active", "on")
	}
	f.values["staff"] = t.GetStaffIds()
	for n, need := range t.GetRooms() {
		for order, room := range need.GetAnyOf() {
			f.values.Set("need-"+room, strconv.Itoa(n+1))
			f.values.Set("order-"+room, strconv.Itoa(order+1))
		}
	}
	f.setVersion(t.GetVersion())
	return r.showType(f, &t)
}

// slotTypeNames are the form's names of the service's fields.
var slotTypeNames = map[string]string{
	"buffer_before_minutes": "before", "buffer_after_minutes": "after", "slot_minutes": "grid", "minimum_notice_minutes": "notice",
	"maximum_advance_days": "ahead", "staff_ids": "staff", "free_cancellation_minutes": "policy", "prices": "price", "tax_rate_basis_points": "tax",
}

// lengths returns the lengths in a field: whole minutes between commas or spaces.
func (f *form) lengths(name string) []int32 {
	var all []int32
	for text := range strings.FieldsFuncSeq(f.text(name), func(c rune) bool { return c == ',' || c == ';' || c == ' ' }) {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n < 5 || n > 1440 {
			f.add(name, msg("appointments.types.lengths_wrong"))
			return nil
		}
		all = append(all, int32(n))
	}
	if len(all) == 0 {
		f.add(name, msg("appointments.types.lengths_wrong"))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// needs returns the rooms that the form requires, each with its rooms in the order of their numbers.
func (f *form) needs() []*bookingv1.RoomRequirement {
	rooms := make([][]string, requirementsMost)
	for _, room := range f.All("room") {
		if n, err := strconv.Atoi(f.text("need-" + room)); err == nil && n >= 1 && n <= requirementsMost {
			rooms[n-1] = append(rooms[n-1], room)
		}
	}
	rank := func(room string) int {
		n, err := strconv.Atoi(f.text("order-" + room))
		if err != nil {
			return math.MaxInt
		}
		return n
	}
	var all []*bookingv1.RoomRequirement
	for _, any := range rooms {
		if len(any) > 0 {
			slices.SortStableFunc(any, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
			all = append(all, &bookingv1.RoomRequirement{AnyOf: any})
		}
	}
	return all
}

// readSlotType reads the fields of an appointment type.
func readSlotType(f *form) *bookingv1.CreateAppointmentTypeRequest {
	req := &bookingv1.CreateAppointmentTypeRequest{
		Title: f.required("title", msg("desk.field.title")), Description: f.text("description"), Location: f.text("location"), Timezone: f.text("timezone"),
		Lengths: f.lengths("lengths"), StaffIds: f.All("staff"), Rooms: f.needs(), Inactive: f.text("active") == "", FreeCancellationMinutes: f.freeMinutes(),
		SlotMinutes: f.count("grid", msg("appointments.field.minutes"), 5, 1440),
	}
	if _, err := zone.Load(req.GetTimezone()); req.GetTimezone() != "" && err != nil {
		f.add("timezone", msg("appointments.types.zone_wrong"))
	}
	req.BufferBeforeMinutes = f.atMost("before", msg("appointments.field.minutes"), 480)
	req.BufferAfterMinutes = f.atMost("after", msg("appointments.field.minutes"), 480)
	notice, _ := f.hundredths("notice", msg("desk.field.hours"), maxPolicyHours)
	req.MinimumNoticeMinutes = int32((notice*60 + 50) / 100)
	req.MaximumAdvanceDays = f.atMost("ahead", msg("desk.field.days"), 3650)
	return req
}

func (r *request) createAppointmentType() error {
	f := r.sent(slotTypeNames)
	req := readSlotType(f)
	if price := readPrice(f); price.GetPrice() > 0 || price.Credits != nil {
		req.Prices = []*bookingv1.NewAppointmentPrice{{Option: &bookingv1.NewPricingOption{
			Name: price.GetName(), Price: price.GetPrice(), Credits: price.Credits, TaxRateBasisPoints: price.GetTaxRateBasisPoints(),
		}}}
	}
	res, err := submit(r, f, unindexed(r.services.types.CreateAppointmentType), req)
	if err != nil {
		return r.typeAgain(err, f, nil)
	}
	t := res.GetAppointmentType()
	r.target(t.GetId())
	r.detail("title", "", t.GetTitle())
	return r.back("/appointment-types", r.text("appointments.types.added", "title", t.GetTitle()))
}

func (r *request) updateAppointmentType() error {
	t, err := r.findType()
	if err != nil {
		return err
	}
	f := r.sent(slotTypeNames)
	req := readSlotType(f)
	if req.FreeCancellationMinutes == nil {
		req.FreeCancellationMinutes = proto.Int32(noPolicy)
	}
	_, err = submit(r, f, r.services.types.UpdateAppointmentType, &bookingv1.UpdateAppointmentTypeRequest{
		Id: t.GetId(), Title: &req.Title, Description: &req.Description, Location: &req.Location, Timezone: &req.Timezone, Lengths: req.GetLengths(),
		BufferBeforeMinutes: &req.BufferBeforeMinutes, BufferAfterMinutes: &req.BufferAfterMinutes, SlotMinutes: &req.SlotMinutes,
		MinimumNoticeMinutes: &req.MinimumNoticeMinutes, MaximumAdvanceDays: &req.MaximumAdvanceDays, Staff: &bookingv1.StaffChoice{StaffIds: req.GetStaffIds()},
		Rooms: &bookingv1.RoomRequirements{Rooms: req.GetRooms()}, FreeCancellationMinutes: req.FreeCancellationMinutes, Active: proto.Bool(!req.GetInactive()),
		ExpectedVersion: f.expectedVersion(t.GetVersion()),
	})
	if err != nil {
		return r.typeAgain(err, f, &t)
	}
	r.detail("title", t.GetTitle(), req.GetTitle())
	r.detail("location", t.GetLocation(), req.GetLocation())
	r.detail("active", strconv.FormatBool(t.GetActive()), strconv.FormatBool(!req.GetInactive()))
	return r.back(t.Path(), r.text("shared.done.saved"))
}
