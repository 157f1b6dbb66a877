package booking

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
	"reservation.dev/services/booking/recurrence"
)

// eventOf reads an event to be made; what the request leaves out has its default.
func eventOf(r *bookingv1.CreateEventRequest, company tenancy.Company) *newEvent {
	e := &newEvent{Event: Event{
		Title: strings.TrimSpace(r.GetTitle()), Description: strings.TrimSpace(r.GetDescription()),
		Type: eventTypeOf(r.GetType()), Status: eventStatusOf(r.GetStatus()),
		Timezone: r.GetTimezone(), Location: strings.TrimSpace(r.GetLocation()),
		Policy: policyOf(r),
	}, dates: datesOf(r.GetDates())}
	if e.Timezone == "" {
		e.Timezone = company.Timezone
	}
	e.Recurrence = recurrenceOf(r.GetRecurrence())
	for _, o := range r.GetPricingOptions() {
		currency := o.GetCurrency()
		if currency == "" {
			currency = company.Currency
		}
		e.Options = append(e.Options, PricingOption{
			Name: strings.TrimSpace(o.GetName()), Price: o.GetPrice(), Currency: currency,
			Credits: o.Credits, TaxRate: o.GetTaxRateBasisPoints(),
		})
	}
	return e
}

// recurrenceOf reads a rule; nil: there is none.
func recurrenceOf(r *bookingv1.Recurrence) *recurrence.Recurrence {
	if r == nil {
		return nil
	}
	return &recurrence.Recurrence{Rule: r.GetRule(), Start: r.GetLocalStart(), Exceptions: slices.Clone(r.GetExceptions())}
}

// datesOf reads dates to be added.
func datesOf(in []*bookingv1.NewEventDate) []dateChange {
	dates := make([]dateChange, len(in))
	for i, d := range in {
		dates[i] = dateChange{
			at: fmt.Sprintf("dates[%d].", i), adds: true, startsAt: instantOf(d.GetStartsAt()), local: d.GetLocalStart(),
			endsAt: instantOf(d.GetEndsAt()), localEnd: d.GetLocalEnd(), capacity: d.Capacity,
		}
		if minutes := d.GetDurationMinutes(); minutes != 0 || !dates[i].ends() {
			dates[i].minutes = &minutes
		}
	}
	return dates
}

// dateChangeOf reads what a request says about a date; at is where it stands. What
// has no id is added.
func dateChangeOf(at string, d *bookingv1.EventDateChange) (dateChange, error) {
	c := dateChange{
		at: at, adds: d.GetId() == "", startsAt: instantOf(d.GetStartsAt()), local: d.GetLocalStart(),
		endsAt: instantOf(d.GetEndsAt()), localEnd: d.GetLocalEnd(), minutes: d.DurationMinutes, capacity: d.Capacity, unlimited: d.GetUnlimited(),
	}
	var err error
	if !c.adds {
		if c.id, err = id.Parse[id.EventDate](d.GetId()); err != nil {
			err = noSuchPart(at+"id", "event date")
		}
	}
	return c, err
}

// eventChangeOf reads what a request changes of an event.
func eventChangeOf(r *bookingv1.UpdateEventRequest) (*eventChange, error) {
	c := &eventChange{
		title: trimmed(r.Title), description: trimmed(r.Description), timezone: r.Timezone, location: trimmed(r.Location),
		policy: policyChangeOf(r), recurrence: recurrenceOf(r.GetRecurrence()), version: r.ExpectedVersion,
	}
	var faults check.Fields
	if r.GetType() != bookingv1.EventType_EVENT_TYPE_UNSPECIFIED {
		if c.eventType = eventTypeOf(r.GetType()); c.eventType == "" {
			faults.Add("type", "enum", "is not a type of event")
		}
	}
	if r.GetStatus() != bookingv1.EventStatus_EVENT_STATUS_UNSPECIFIED {
		if c.status = eventStatusOf(r.GetStatus()); c.status == "" {
			faults.Add("status", "enum", "must be draft, published or cancelled")
		}
	}
	c.policy.checkChange(&faults)
	if err := faults.Err(); err != nil {
		return nil, err
	}
	for i, d := range r.GetDates() {
		change, err := dateChangeOf(fmt.Sprintf("dates[%d].", i), d)
		if err != nil {
			return nil, err
		}
		change.copiesLast = change.adds
		c.dates = append(c.dates, change)
	}
	if r.GetOnlyDate() != nil {
		together, err := togetherOf(r.GetOnlyDate())
		if err != nil {
			return nil, err
		}
		c.together = together
		c.lendDuration()
	}
	for i, o := range r.GetPricingOptions() {
		change := optionChange{
			adds: o.GetId() == "", name: trimmed(o.Name), price: o.Price, currency: o.Currency, credits: o.Credits,
			noCredits: o.GetNoCredits(), taxRate: o.TaxRateBasisPoints, ends: o.GetEnded(),
		}
		if !change.adds {
			var err error
			if change.id, err = id.Parse[id.PricingOption](o.GetId()); err != nil {
				return nil, noSuchPart(fmt.Sprintf("pricing_options[%d].id", i), "pricing option")
			}
		}
		c.options = append(c.options, change)
	}
	return c, c.check()
}

// togetherOf reads what a request says about the dates together.
func togetherOf(d *bookingv1.EventDateChange) (*dateChange, error) {
	unnamed := proto.CloneOf(d)
	unnamed.Id = ""
	c, err := dateChangeOf("only_date.", unnamed)
	c.adds = false
	return &c, err
}

func trimmed(s *string) *string {
	if s == nil {
		return nil
	}
	t := strings.TrimSpace(*s)
	return &t
}

func eventToProto(e *Event) *bookingv1.Event {
	out := &bookingv1.Event{
		Id: e.ID.String(), Title: e.Title, Description: e.Description, Type: eventTypeToProto(e.Type),
		Status: eventStatusToProto(e.Status), Timezone: e.Timezone, Location: e.Location,
		Dates: datesToProto(e.Dates), CreatedAt: timestamppb.New(e.CreatedAt), UpdatedAt: timestamppb.New(e.UpdatedAt),
		Version: e.Version,
	}
	policyToProto(e.Policy, out)
	if r := e.Recurrence; r != nil {
		out.Recurrence = &bookingv1.Recurrence{Rule: r.Rule, LocalStart: r.Start, Exceptions: r.Exceptions}
	}
	for _, o := range e.Options {
		out.PricingOptions = append(out.PricingOptions, &bookingv1.PricingOption{
			Id: o.ID.String(), Name: o.Name, Price: o.Price, Currency: o.Currency,
			Credits: o.Credits, TaxRateBasisPoints: o.TaxRate,
		})
	}
	return out
}

func datesToProto(dates []EventDate) []*bookingv1.EventDate {
	out := make([]*bookingv1.EventDate, len(dates))
	for i := range dates {
		out[i] = dateToProto(&dates[i])
	}
	return out
}

func dateToProto(d *EventDate) *bookingv1.EventDate {
	status := bookingv1.EventDateStatus_EVENT_DATE_STATUS_SCHEDULED
	if d.Status == DateCancelled {
		status = bookingv1.EventDateStatus_EVENT_DATE_STATUS_CANCELLED
	}
	return &bookingv1.EventDate{
		Id: d.ID.String(), StartsAt: timestamppb.New(d.StartsAt), DurationMinutes: d.Minutes,
		Timezone: d.Timezone, Capacity: d.Capacity, Booked: d.Booked, Status: status,
	}
}

func eventStatusToProto(s EventStatus) bookingv1.EventStatus {
	switch s {
	case Draft:
		return bookingv1.EventStatus_EVENT_STATUS_DRAFT
	case Published:
		return bookingv1.EventStatus_EVENT_STATUS_PUBLISHED
	case Cancelled:
		return bookingv1.EventStatus_EVENT_STATUS_CANCELLED
	}
	return bookingv1.EventStatus_EVENT_STATUS_UNSPECIFIED
}

// eventStatusOf reads a status; unspecified is published, and "" is no status.
func eventStatusOf(s bookingv1.EventStatus) EventStatus {
	switch s {
	case bookingv1.EventStatus_EVENT_STATUS_UNSPECIFIED, bookingv1.EventStatus_EVENT_STATUS_PUBLISHED:
		return Published
	case bookingv1.EventStatus_EVENT_STATUS_DRAFT:
		return Draft
	case bookingv1.EventStatus_EVENT_STATUS_CANCELLED:
		return Cancelled
	}
	return ""
}

func scheduledDateToProto(d *scheduledDate) *bookingv1.ScheduledDate {
	return &bookingv1.ScheduledDate{
		Date: dateToProto(&d.EventDate), EventId: d.event.String(), EventTitle: d.title, EventType: eventTypeToProto(d.kind),
		EventStatus: eventStatusToProto(d.status), Location: d.location, Waiting: d.waiting,
	}
}
