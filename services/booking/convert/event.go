package convert

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
	"reservation.dev/platform/tenancy"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/recurrence"
)

// NewEvent reads an event to create and sets the defaults of omitted fields.
func NewEvent(r *bookingv1.CreateEventRequest, company tenancy.Company) (*model.NewEvent, error) {
	given, err := staffAndRooms("", r.GetStaffAndRooms())
	if err != nil {
		return nil, err
	}
	e := &model.NewEvent{Event: model.Event{
		Title: strings.TrimSpace(r.GetTitle()), Description: strings.TrimSpace(r.GetDescription()),
		Type: EventType(r.GetType()), Status: EventStatus(r.GetStatus()),
		Timezone: r.GetTimezone(), Location: strings.TrimSpace(r.GetLocation()),
		Policy: policyOf(r), Rules: bookingRules(r.GetBookingRules()),
	}, Requested: NewDates(r.GetDates())}
	if given != nil {
		e.StaffAndRooms = *given
	}
	if e.Timezone == "" {
		e.Timezone = company.Timezone
	}
	e.Recurrence = Recurrence(r.GetRecurrence())
	for _, o := range r.GetPricingOptions() {
		e.Options = append(e.Options, newOption(o, company.Currency))
	}
	return e, nil
}

// newOption reads a pricing option to add. currency is the default.
func newOption(o *bookingv1.NewPricingOption, currency string) model.PricingOption {
	out := model.PricingOption{
		Name: strings.TrimSpace(o.GetName()), Price: o.GetPrice(), Currency: o.GetCurrency(), TaxRate: o.GetTaxRateBasisPoints(),
		WholeCourse: o.GetWholeCourse(),
	}
	if out.Currency == "" {
		out.Currency = currency
	}
	if o != nil {
		out.Credits = o.Credits
	}
	return out
}

// Recurrence reads a recurrence; nil if there is none.
func Recurrence(r *bookingv1.Recurrence) *recurrence.Recurrence {
	if r == nil {
		return nil
	}
	return &recurrence.Recurrence{Rule: r.GetRule(), Start: r.GetLocalStart(), Exceptions: slices.Clone(r.GetExceptions())}
}

// NewDates reads dates to add.
func NewDates(in []*bookingv1.NewEventDate) []model.DateChange {
	dates := make([]model.DateChange, len(in))
	for i, d := range in {
		dates[i] = model.DateChange{
			At: fmt.Sprintf("dates[%d].", i), Adds: true, StartsAt: Instant(d.GetStartsAt()), Local: d.GetLocalStart(),
			EndsAt: Instant(d.GetEndsAt()), LocalEnd: d.GetLocalEnd(), Capacity: d.Capacity, Unlimited: d.GetUnlimited(),
		}
		if minutes := d.GetDurationMinutes(); minutes != 0 || !dates[i].Ends() {
			dates[i].Minutes = &minutes
		}
	}
	return dates
}

// AddedDates reads dates to add to an event. They take what they leave out from its last date.
func AddedDates(in []*bookingv1.NewEventDate) []model.DateChange {
	dates := NewDates(in)
	for i, d := range in {
		dates[i].CopiesLast = true
		if d.GetDurationMinutes() == 0 {
			dates[i].Minutes = nil
		}
	}
	return dates
}

// DateChange reads a change of a date. at is the path of the date in the request. A change without
// an id adds a date.
func DateChange(at string, d *bookingv1.EventDateChange) (model.DateChange, error) {
	c := model.DateChange{
		At: at, Adds: d.GetId() == "", StartsAt: Instant(d.GetStartsAt()), Local: d.GetLocalStart(),
		EndsAt: Instant(d.GetEndsAt()), LocalEnd: d.GetLocalEnd(), Minutes: d.DurationMinutes, Capacity: d.Capacity, Unlimited: d.GetUnlimited(),
	}
	var err error
	if !c.Adds {
		if c.ID, err = id.Parse[id.EventDate](d.GetId()); err != nil {
			return c, model.MissingPart(at+"id", "event date")
		}
	}
	c.StaffAndRooms, err = staffAndRooms(at, d.GetStaffAndRooms())
	return c, err
}

// EventChange reads a request to change an event.
func EventChange(r *bookingv1.UpdateEventRequest) (*model.EventChange, error) {
	c := &model.EventChange{
		Title: trimmed(r.Title), Description: trimmed(r.Description), Timezone: r.Timezone, Location: trimmed(r.Location),
		Policy: policyChangeOf(r), Recurrence: Recurrence(r.GetRecurrence()), Version: r.ExpectedVersion,
	}
	if r.GetBookingRules() != nil {
		rules := bookingRules(r.GetBookingRules())
		c.Rules = &rules
	}
	var err error
	if c.StaffAndRooms, err = staffAndRooms("", r.GetStaffAndRooms()); err != nil {
		return nil, err
	}
	var faults check.Fields
	if r.GetType() != bookingv1.EventType_EVENT_TYPE_UNSPECIFIED {
		if c.EventType = EventType(r.GetType()); c.EventType == "" {
			faults.Add("type", "enum", "is not an event type")
		}
	}
	if r.GetStatus() != bookingv1.EventStatus_EVENT_STATUS_UNSPECIFIED {
		if c.Status = EventStatus(r.GetStatus()); c.Status == "" {
			faults.Add("status", "enum", "must be draft, published or cancelled")
		}
	}
	c.Policy.CheckChange(&faults)
	if err := faults.Err(); err != nil {
		return nil, err
	}
	for i, d := range r.GetDates() {
		change, err := DateChange(fmt.Sprintf("dates[%d].", i), d)
		if err != nil {
			return nil, err
		}
		change.CopiesLast = change.Adds
		c.Dates = append(c.Dates, change)
	}
	if r.GetOnlyDate() != nil {
		together, err := togetherOf(r.GetOnlyDate())
		if err != nil {
			return nil, err
		}
		c.Together = together
		c.FillDurations()
	}
	for i, o := range r.GetPricingOptions() {
		change, err := optionChange(o, fmt.Sprintf("pricing_options[%d].id", i))
		if err != nil {
			return nil, err
		}
		c.Options = append(c.Options, change)
	}
	return c, c.Check()
}

// optionChange reads a change of a pricing option. at is the path of its id in the request. A change without
// an id adds an option.
func optionChange(o *bookingv1.PricingOptionChange, at string) (model.OptionChange, error) {
	if o == nil {
		o = &bookingv1.PricingOptionChange{}
	}
	c := model.OptionChange{
		Adds: o.GetId() == "", Name: trimmed(o.Name), Price: o.Price, Currency: o.Currency, Credits: o.Credits,
		NoCredits: o.GetNoCredits(), TaxRate: o.TaxRateBasisPoints, WholeCourse: o.WholeCourse,
		Ends: o.GetEnded(),
	}
	var err error
	if !c.Adds {
		if c.ID, err = id.Parse[id.PricingOption](o.GetId()); err != nil {
			err = model.MissingPart(at, "pricing option")
		}
	}
	return c, err
}

// togetherOf reads the change of all dates together.
func togetherOf(d *bookingv1.EventDateChange) (*model.DateChange, error) {
	unnamed := proto.CloneOf(d)
	unnamed.Id = ""
	c, err := DateChange("only_date.", unnamed)
	c.Adds = false
	return &c, err
}

func trimmed(s *string) *string {
	if s == nil {
		return nil
	}
	t := strings.TrimSpace(*s)
	return &t
}

// Event converts an event with its dates and options, and with the summary of the dates if it was read.
func Event(e *model.Event) *bookingv1.Event {
	out := &bookingv1.Event{
		Id: e.ID.String(), Title: e.Title, Description: e.Description, Type: valueOf[bookingv1.EventType](e.Type),
		Status: valueOf[bookingv1.EventStatus](e.Status), Timezone: e.Timezone, Location: e.Location,
		Dates: bareDates(e.Dates), CreatedAt: timestamppb.New(e.CreatedAt), UpdatedAt: timestamppb.New(e.UpdatedAt),
		Version: e.Version, BookingRules: bookingRulesToProto(&e.Rules), Summary: summary(e.Summary),
		StaffAndRooms: staffAndRoomsToProto(&e.StaffAndRooms),
	}
	policyToProto(e.Policy, out)
	if e.OfAppointments {
		out.AppointmentTypeId = id.AppointmentType(e.ID).String()
	}
	if r := e.Recurrence; r != nil {
		out.Recurrence = &bookingv1.Recurrence{Rule: r.Rule, LocalStart: r.Start, Exceptions: r.Exceptions}
	}
	for i := range e.Options {
		out.PricingOptions = append(out.PricingOptions, option(&e.Options[i]))
	}
	return out
}

func option(o *model.PricingOption) *bookingv1.PricingOption {
	return &bookingv1.PricingOption{
		Id: o.ID.String(), Name: o.Name, Price: o.Price, Currency: o.Currency,
		Credits: o.Credits, TaxRateBasisPoints: o.TaxRate, WholeCourse: o.WholeCourse,
	}
}

// Dates converts dates.
func Dates(dates []model.EventDate) []*bookingv1.EventDate {
	out := make([]*bookingv1.EventDate, len(dates))
	for i := range dates {
		out[i] = Date(&dates[i])
	}
	return out
}

// bareDates converts dates as their event shows them, without staff and rooms.
func bareDates(dates []model.EventDate) []*bookingv1.EventDate {
	out := make([]*bookingv1.EventDate, len(dates))
	for i := range dates {
		out[i] = bareDate(&dates[i])
	}
	return out
}

// Date converts a date, with its staff and rooms if they were read.
func Date(d *model.EventDate) *bookingv1.EventDate {
	out := bareDate(d)
	out.Staff, out.Rooms = assignedStaff(d), assignedRooms(d)
	return out
}

func bareDate(d *model.EventDate) *bookingv1.EventDate {
	status := bookingv1.EventDateStatus_EVENT_DATE_STATUS_SCHEDULED
	if d.Status == model.DateCancelled {
		status = bookingv1.EventDateStatus_EVENT_DATE_STATUS_CANCELLED
	}
	return &bookingv1.EventDate{
		Id: d.ID.String(), StartsAt: timestamppb.New(d.StartsAt), DurationMinutes: d.Minutes,
		Timezone: d.Timezone, Capacity: d.Capacity, Booked: d.Booked, Status: status,
	}
}
