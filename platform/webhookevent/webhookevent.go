// Package webhookevent defines the events that webhook endpoints can receive. The webhook service, the
// dashboard, the command line, the published schemas and the documentation follow these definitions.
package webhookevent

import (
	"slices"
	"strings"

	"reservation.dev/platform/subjects"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// Resource is the resource that an event carries: the name of a schema of Interface B.
type Resource string

// The resources of opt-in events.
const (
	Registration  Resource = "Registration"
	WaitlistEntry Resource = "WaitlistEntry"
	Hold          Resource = "Hold"
	Customer      Resource = "Customer"
	EventResource Resource = "Event"
	EventDate     Resource = "ScheduledDate"
	CustomerPass  Resource = "CustomerPass"
	Subscription  Resource = "Subscription"
	MediaItem     Resource = "MediaItem"
	Appointment   Resource = "Appointment"
)

// Words returns the resource in words.
func (r Resource) Words() string {
	return map[Resource]string{
		Registration: "the registration", WaitlistEntry: "the waitlist entry", Hold: "the hold", Customer: "the customer",
		EventResource: "the event", EventDate: "the event date", CustomerPass: "the customer pass",
		Subscription: "the subscription", MediaItem: "the media item", Appointment: "the appointment",
	}[r]
}

// Tag returns the section of the webhook reference that has the events of the resource.
func (r Resource) Tag() string {
	return map[Resource]string{
		Registration: "Registrations", WaitlistEntry: "Waitlist", Hold: "Holds", Customer: "Customers",
		EventResource: "Events", EventDate: "Events", CustomerPass: "Purchases",
		Subscription: "Subscriptions", MediaItem: "Media", Appointment: "Appointments",
	}[r]
}

// Event is an event that endpoints can subscribe to.
type Event struct {
	Type webhookv1.EventType
	Name string // in payloads, settings and the log
	// Follows are the domain events that create its messages.
	Follows []string
	// Title names what happens in a few words, and Summary says when it is sent, as a sentence.
	Title, Summary string
	// Resource is what its data shows, as Interface B does at the time of the event; "" for the
	// default events, whose data has its own form. Endpoints receive the others only if they
	// subscribe to them.
	Resource Resource
	// Previous means that data has a member previous, with the old values of the members that changed.
	Previous bool
	// Extra is a further member of data.
	Extra Extra
}

// Extra is a member of an event's data that the resource does not have.
type Extra string

// The further members of opt-in events.
const (
	Period     Extra = "period"     // the period whose payment is due or was recorded
	CustomerID Extra = "customerId" // the customer who watched the item
)

// IsDefault reports whether endpoints that select no events receive e.
func (e Event) IsDefault() bool { return e.Resource == "" }

// All returns the events in the order in which they are listed everywhere, which is that of their types.
func All() []Event {
	return slices.Concat(defaults(), bookings(), customers(), catalogue(), passes(), subscriptions(), media(), appointments(), changes())
}

func defaults() []Event {
	return []Event{
		{
			Type: webhookv1.EventType_EVENT_TYPE_REGISTRATION_CREATED,
			Name: "registration.created", Title: "A customer is registered for an event",
			Summary: "A customer is registered for an event, and the booking is confirmed.",
			Follows: []string{subjects.BookingConfirmed},
		},
		{
			Type: webhookv1.EventType_EVENT_TYPE_PASS_PURCHASED,
			Name: "pass.purchased", Title: "A customer bought a pass",
			Summary: "A customer bought a pass or was given one.",
			Follows: []string{subjects.CustomerPassAssigned},
		},
		{
			Type: webhookv1.EventType_EVENT_TYPE_EVENT_PURCHASED,
			Name: "event.purchased", Title: "A customer bought tickets",
			Summary: "A customer bought tickets to a one-off event or a workshop, and did not pay with a pass.",
			Follows: []string{subjects.BookingConfirmed},
		},
	}
}

func bookings() []Event {
	return []Event{
		{
			Type: webhookv1.EventType_EVENT_TYPE_REGISTRATION_CANCELLED,
			Name: "registration.cancelled", Title: "A registration is cancelled",
			Summary: "A registration is cancelled, also because its event or date is.",
			Follows: []string{subjects.BookingCancelled}, Resource: Registration, Previous: true,
		},
		{
			Type: webhookv1.EventType_EVENT_TYPE_REGISTRATION_REFUNDED,
			Name: "registration.refunded", Title: "A registration is refunded",
			Summary: "A refund of a registration is recorded, in full or in part.",
			Follows: []string{subjects.BookingRefunded}, Resource: Registration, Previous: true,
		},
		{
			Type: webhookv1.EventType_EVENT_TYPE_REGISTRATION_ATTENDANCE_RECORDED,
			Name: "registration.attendance_recorded", Title: "Attendance is recorded",
			Summary: "A check-in or a no-show is recorded or undone.",
			Follows: []string{subjects.AttendanceRecorded}, Resource: Registration, Previous: true,
		},
		{
			Type: webhookv1.EventType_EVENT_TYPE_WAITLIST_JOINED,
			Name: "waitlist.joined", Title: "A customer joins a waitlist",
			Summary: "A customer joins the waitlist of a full date.",
			Follows: []string{subjects.WaitlistJoined}, Resource: WaitlistEntry,
		},
		{
			Type: webhookv1.EventType_EVENT_TYPE_WAITLIST_OFFERED,
			Name: "waitlist.offered", Title: "Spots are offered to a waiting customer",
			Summary: "Spots are held for a waiting customer, who can accept them for a limited time.",
			Follows: []string{subjects.WaitlistOffered}, Resource: WaitlistEntry, Previous: true,
		},
		{
			Type: webhookv1.EventType_EVENT_TYPE_WAITLIST_ENDED,
			Name: "waitlist.ended", Title: "A waitlist entry ends",
			Summary: "A waitlist entry ends: it is booked, it is left, its offer expires, or its date is over.",
			Follows: []string{subjects.WaitlistEnded}, Resource: WaitlistEntry, Previous: true,
		},
		{
			Type: webhookv1.EventType_EVENT_TYPE_HOLD_EXPIRED,
			Name: "hold.expired", Title: "A hold expires",
			Summary: "A hold ends without a purchase, and nobody has released it.",
			Follows: []string{subjects.HoldExpired}, Resource: Hold, Previous: true,
		},
	}
}

func customers() []Event {
	return []Event{
		{
			Type: webhookv1.EventType_EVENT_TYPE_CUSTOMER_CREATED,
			Name: "customer.created", Title: "A customer is created",
			Summary: "A customer is created or imported.",
			Follows: []string{subjects.CustomerCreated}, Resource: Customer,
		},
		{
			Type: webhookv1.EventType_EVENT_TYPE_CUSTOMER_UPDATED,
			Name: "customer.updated", Title: "A customer is updated",
			Summary: "A customer changes, or is archived.",
			Follows: []string{subjects.CustomerUpdated}, Resource: Customer, Previous: true,
		},
		{
			Type: webhookv1.EventType_EVENT_TYPE_CUSTOMER_DELETED,
			Name: "customer.deleted", Title: "A customer is deleted",
			Summary: "A customer is deleted.",
			Follows: []string{subjects.CustomerDeleted}, Resource: Customer,
		},
	}
}

func catalogue() []Event {
	return []Event{
		{
			Type: webhookv1.EventType_EVENT_TYPE_EVENT_CREATED,
			Name: "event.created", Title: "An event is created",
			Summary: "An event is created.",
			Follows: []string{subjects.EventCreated}, Resource: EventResource,
		},
		{
			Type: webhookv1.EventType_EVENT_TYPE_EVENT_UPDATED,
			Name: "event.updated", Title: "An event is updated",
			Summary: "An event changes, or gets more dates.",
			Follows: []string{subjects.EventUpdated, subjects.EventDatesAdded}, Resource: EventResource, Previous: true,
		},
		{
			Type: webhookv1.EventType_EVENT_TYPE_EVENT_CANCELLED,
			Name: "event.cancelled", Title: "An event is cancelled",
			Summary: "An event is cancelled with its dates to come.",
			Follows: []string{subjects.EventCancelled}, Resource: EventResource, Previous: true,
		},
		{
			Type: webhookv1.EventType_EVENT_TYPE_EVENT_DATE_CHANGED,
			Name: "event_date.changed", Title: "An event date is changed",
			Summary: "The start, duration, capacity, staff or rooms of a date change.",
			Follows: []string{subjects.EventDateUpdated}, Resource: EventDate, Previous: true,
		},
		{
			Type: webhookv1.EventType_EVENT_TYPE_EVENT_DATE_CANCELLED,
			Name: "event_date.cancelled", Title: "An event date is cancelled",
			Summary: "A single date is cancelled.",
			Follows: []string{subjects.EventDateCancelled}, Resource: EventDate, Previous: true,
		},
	}
}

func passes() []Event {
	return []Event{
		{
			Type: webhookv1.EventType_EVENT_TYPE_CUSTOMER_PASS_UPDATED,
			Name: "customer_pass.updated", Title: "A customer pass is updated",
			Summary: "The dates, status or uses of a customer pass change, also when a booking uses it.",
			Follows: []string{subjects.CustomerPassUpdated}, Resource: CustomerPass, Previous: true,
		},
	}
}

func subscriptions() []Event {
	return []Event{
		{
			Type: webhookv1.EventType_EVENT_TYPE_SUBSCRIPTION_CREATED,
			Name: "subscription.created", Title: "A customer subscribes",
			Summary: "A customer subscribes to a plan.",
			Follows: []string{subjects.SubscriptionCreated}, Resource: Subscription,
		},
		{
			Type: webhookv1.EventType_EVENT_TYPE_SUBSCRIPTION_UPDATED,
			Name: "subscription.updated", Title: "A subscription is updated",
			Summary: "A subscription is paused, resumed or cancelled, its plan changes, or its state changes.",
			Follows: []string{subjects.SubscriptionUpdated}, Resource: Subscription, Previous: true,
		},
		{
			Type: webhookv1.EventType_EVENT_TYPE_SUBSCRIPTION_RENEWED,
			Name: "subscription.renewed", Title: "A subscription is renewed",
			Summary: "The next period of a subscription begins.",
			Follows: []string{subjects.SubscriptionRenewed}, Resource: Subscription, Previous: true,
		},
		{
			Type: webhookv1.EventType_EVENT_TYPE_SUBSCRIPTION_PAYMENT_DUE,
			Name: "subscription.payment_due", Title: "A payment for a subscription is due",
			Summary: "A payment is due, on each reminder day of the subscription settings.",
			Follows: []string{subjects.SubscriptionPaymentDue}, Resource: Subscription, Extra: Period,
		},
		{
			Type: webhookv1.EventType_EVENT_TYPE_SUBSCRIPTION_PAYMENT_RECORDED,
			Name: "subscription.payment_recorded", Title: "A payment for a subscription is recorded",
			Summary: "A payment, a failed payment or a waived payment is recorded.",
			Follows: []string{subjects.SubscriptionPaymentRecorded}, Resource: Subscription, Previous: true, Extra: Period,
		},
		{
			Type: webhookv1.EventType_EVENT_TYPE_SUBSCRIPTION_ENDED,
			Name: "subscription.ended", Title: "A subscription ends",
			Summary: "A subscription ends because it was cancelled, was not paid, or its customer was deleted.",
			Follows: []string{subjects.SubscriptionEnded}, Resource: Subscription, Previous: true,
		},
	}
}

func media() []Event {
	return []Event{
		{
			Type: webhookv1.EventType_EVENT_TYPE_MEDIA_PUBLISHED,
			Name: "media.published", Title: "A media item is published",
			Summary: "A media item is published.",
			Follows: []string{subjects.MediaItemUpdated}, Resource: MediaItem,
		},
		{
			Type: webhookv1.EventType_EVENT_TYPE_MEDIA_UPDATED,
			Name: "media.updated", Title: "A media item is updated",
			Summary: "A media item changes, also when it is published or its file is replaced.",
			Follows: []string{subjects.MediaItemUpdated}, Resource: MediaItem, Previous: true,
		},
		{
			Type: webhookv1.EventType_EVENT_TYPE_MEDIA_DELETED,
			Name: "media.deleted", Title: "A media item is deleted",
			Summary: "A media item is deleted.",
			Follows: []string{subjects.MediaItemDeleted}, Resource: MediaItem,
		},
		{
			Type: webhookv1.EventType_EVENT_TYPE_MEDIA_COMPLETED,
			Name: "media.completed", Title: "A customer completes a media item",
			Summary: "A customer reaches the end of a media item for the first time.",
			Follows: []string{subjects.MediaCompleted}, Resource: MediaItem, Extra: CustomerID,
		},
	}
}

func appointments() []Event {
	return []Event{
		{
			Type: webhookv1.EventType_EVENT_TYPE_APPOINTMENT_BOOKED,
			Name: "appointment.booked", Title: "An appointment is booked",
			Summary: "An appointment is booked. A held slot counts once its hold is confirmed.",
			Follows: []string{subjects.AppointmentBooked}, Resource: Appointment,
		},
		{
			Type: webhookv1.EventType_EVENT_TYPE_APPOINTMENT_MOVED,
			Name: "appointment.moved", Title: "An appointment is moved",
			Summary: "The start, length, staff member or rooms of an appointment change.",
			Follows: []string{subjects.AppointmentMoved}, Resource: Appointment, Previous: true,
		},
		{
			Type: webhookv1.EventType_EVENT_TYPE_APPOINTMENT_CANCELLED,
			Name: "appointment.cancelled", Title: "An appointment is cancelled",
			Summary: "An appointment is cancelled.",
			Follows: []string{subjects.AppointmentCancelled}, Resource: Appointment, Previous: true,
		},
	}
}

func changes() []Event {
	return []Event{
		{
			Type: webhookv1.EventType_EVENT_TYPE_REGISTRATION_MOVED,
			Name: "registration.moved", Title: "A registration is moved",
			Summary: "The date, the pricing option or the spots of a registration change.",
			Follows: []string{subjects.BookingMoved}, Resource: Registration, Previous: true,
		},
		{
			Type: webhookv1.EventType_EVENT_TYPE_REGISTRATION_TRANSFERRED,
			Name: "registration.transferred", Title: "A registration is transferred",
			Summary: "A registration is transferred to another customer, or its manager changes.",
			Follows: []string{subjects.BookingTransferred}, Resource: Registration, Previous: true,
		},
	}
}

// Names returns the names of all events.
func Names() []string { return names(All()) }

// NamesNear returns the names of all events for a message about an unknown one: first those of the same
// resource, which is the part of a name before the dot.
func NamesNear(unknown string) []string {
	resource, _, _ := strings.Cut(unknown, ".")
	near := func(name string) int {
		if strings.HasPrefix(name, resource+".") {
			return 0
		}
		return 1
	}
	all := Names()
	slices.SortStableFunc(all, func(a, b string) int { return near(a) - near(b) })
	return all
}

// DefaultNames returns the names of the events that endpoints receive if they select none.
func DefaultNames() []string { return names(defaults()) }

func names(events []Event) []string {
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = e.Name
	}
	return names
}

// Types returns the types of all events.
func Types() []webhookv1.EventType { return types(All()) }

// DefaultTypes returns the types of the events that endpoints receive if they select none.
func DefaultTypes() []webhookv1.EventType { return types(defaults()) }

func types(events []Event) []webhookv1.EventType {
	types := make([]webhookv1.EventType, len(events))
	for i, e := range events {
		types[i] = e.Type
	}
	return types
}

// Name returns the name of a type, or "" if it is not the type of an event.
func Name(t webhookv1.EventType) string {
	for _, e := range All() {
		if e.Type == t {
			return e.Name
		}
	}
	return ""
}

// Type returns the type with a name, or EVENT_TYPE_UNSPECIFIED if it is not the name of an event.
func Type(name string) webhookv1.EventType {
	for _, e := range All() {
		if e.Name == name {
			return e.Type
		}
	}
	return webhookv1.EventType_EVENT_TYPE_UNSPECIFIED
}
