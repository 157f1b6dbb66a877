package auth

import (
	"cmp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/subjects"
	auditv1 "reservation.dev/proto/gen/reservation/audit/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

var readRecorded = reading(func(e *auditv1.ChangeRecorded) change {
	c := change{target: e.GetTarget()}
	for _, d := range e.GetDetails() {
		c.details = append(c.details, Detail{
			Field: bounded(d.GetField(), maxDetailField), Before: bounded(d.GetBefore(), maxDetailText), After: bounded(d.GetAfter(), maxDetailText),
		})
	}
	return c
})

// changeReaders read the payloads of the domain events in changeActions, by subject.
var changeReaders = map[string]func([]byte) (change, error){
	subjects.CustomerCreated: reading(func(e *customerv1.CustomerCreated) change { return change{target: e.GetCustomer().GetId()} }),
	subjects.CustomerDeleted: reading(func(e *customerv1.CustomerDeleted) change { return change{target: e.GetCustomer().GetId()} }),
	subjects.CustomerErased:  reading(func(e *customerv1.CustomerErased) change { return change{target: e.GetCustomer().GetId()} }),
	subjects.CustomerUpdated: reading(customerChange),

	subjects.BookingConfirmed:   reading(func(e *bookingv1.BookingConfirmed) change { return bookingChange(e.GetBooking(), nil) }),
	subjects.BookingCancelled:   reading(func(e *bookingv1.BookingCancelled) change { return bookingChange(e.GetBooking(), nil) }),
	subjects.BookingRefunded:    reading(func(e *bookingv1.BookingRefunded) change { return bookingChange(e.GetBooking(), nil) }),
	subjects.BookingTransferred: reading(transferChange),
	subjects.BookingMoved:       reading(moveChange),
	subjects.AttendanceRecorded: reading(attendanceChange),
	subjects.AppointmentBooked: reading(func(e *bookingv1.AppointmentBooked) change {
		return appointmentChange(e.GetAppointment(), nil)
	}),
	subjects.AppointmentMoved: reading(func(e *bookingv1.AppointmentMoved) change {
		return appointmentChange(e.GetAppointment(), e.GetPrevious())
	}),
	subjects.WaitlistJoined: reading(func(e *bookingv1.WaitlistJoined) change { return waitlistChange(e.GetEntry()) }),
	subjects.WaitlistEnded:  reading(func(e *bookingv1.WaitlistEnded) change { return waitlistChange(e.GetEntry()) }),

	subjects.EventCreated: reading(func(e *bookingv1.EventCreated) change {
		return titled(e.GetEvent().GetId(), "", e.GetEvent().GetTitle())
	}),
	subjects.EventUpdated: reading(func(e *bookingv1.EventUpdated) change {
		return titled(e.GetEvent().GetId(), e.GetPrevious().GetTitle(), e.GetEvent().GetTitle())
	}),
	subjects.EventDatesAdded: reading(func(e *bookingv1.EventDatesAdded) change {
		return change{target: e.GetEventId(), details: []Detail{{Field: "dates", After: strconv.Itoa(len(e.GetDates()))}}}
	}),
	subjects.EventCancelled: reading(func(e *bookingv1.EventCancelled) change { return change{target: e.GetEventId()} }),
	subjectEventDeleted:     reading(func(e *bookingv1.EventDeleted) change { return change{target: e.GetEventId()} }),
	subjects.EventDateUpdated: reading(func(e *bookingv1.EventDateUpdated) change {
		return change{target: e.GetDate().GetId(), details: times(e.GetPrevious().GetDate().GetStartsAt(), e.GetDate().GetStartsAt())}
	}),
	subjects.EventDateCancelled: reading(func(e *bookingv1.EventDateCancelled) change { return change{target: e.GetDate().GetId()} }),

	subjectPassTypeCreated: reading(func(e *passv1.PassTypeCreated) change {
		return titled(e.GetPassType().GetId(), "", e.GetPassType().GetTitle())
	}),
	subjectPassTypeUpdated: reading(func(e *passv1.PassTypeUpdated) change {
		return titled(e.GetPassType().GetId(), "", e.GetPassType().GetTitle())
	}),
	subjects.CustomerPassAssigned: reading(func(e *passv1.CustomerPassAssigned) change {
		return change{target: e.GetCustomerPass().GetId(), details: holder(e.GetCustomerPass().GetCustomerId())}
	}),
	subjects.CustomerPassUpdated: reading(passChanged),

	subjectPlanCreated: reading(func(e *subscriptionv1.PlanCreated) change {
		return titled(e.GetPlan().GetId(), "", e.GetPlan().GetTitle())
	}),
	subjectPlanUpdated: reading(func(e *subscriptionv1.PlanUpdated) change {
		return titled(e.GetPlan().GetId(), "", e.GetPlan().GetTitle())
	}),
	subjects.SubscriptionCreated: reading(func(e *subscriptionv1.SubscriptionCreated) change {
		return subscriptionChange(e.GetSubscription(), nil)
	}),
	subjects.SubscriptionUpdated: reading(func(e *subscriptionv1.SubscriptionUpdated) change {
		return subscriptionChange(e.GetSubscription(), nil)
	}),
	subjects.SubscriptionEnded: reading(func(e *subscriptionv1.SubscriptionEnded) change { return subscriptionChange(e.GetSubscription(), nil) }),
	subjects.SubscriptionPaymentRecorded: reading(func(e *subscriptionv1.SubscriptionPaymentRecorded) change {
		return subscriptionChange(e.GetSubscription(), e.GetPeriod())
	}),

	subjects.MediaItemCreated: reading(func(e *mediav1.MediaItemCreated) change {
		return titled(e.GetItem().GetId(), "", e.GetItem().GetTitle())
	}),
	subjects.MediaItemUpdated: reading(func(e *mediav1.MediaItemUpdated) change {
		return titled(e.GetItem().GetId(), e.GetPrevious().GetTitle(), e.GetItem().GetTitle())
	}),
	subjects.MediaItemDeleted: reading(func(e *mediav1.MediaItemDeleted) change {
		return titled(e.GetItem().GetId(), "", e.GetItem().GetTitle())
	}),
	subjects.MediaEntitlementCreated: reading(func(e *mediav1.MediaEntitlementCreated) change { return entitlementChange(e.GetEntitlement()) }),
	subjects.MediaEntitlementDeleted: reading(func(e *mediav1.MediaEntitlementDeleted) change { return entitlementChange(e.GetEntitlement()) }),
}

func customerChange(e *customerv1.CustomerUpdated) change {
	c := change{target: e.GetCustomer().GetId()}
	if e.GetPrevious().GetArchived() && !e.GetCustomer().GetArchived() {
		c.action = "customer.restore"
	}
	return c
}

// holder is the detail of the customer that a change is about.
func holder(customer string) []Detail { return []Detail{{Field: "customer", After: customer}} }

// titled is a change of a thing with a title.
func titled(target, before, after string) change {
	if before == after {
		before = ""
	}
	return change{target: target, details: []Detail{{Field: "title", Before: before, After: after}}}
}

// times are the details of the start before and after a change. before can be nil.
func times(before, after *timestamppb.Timestamp) []Detail {
	if before != nil && before.AsTime().Equal(after.AsTime()) {
		return nil
	}
	return []Detail{{Field: "starts_at", Before: instantText(before), After: instantText(after)}}
}

func instantText(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.AsTime().UTC().Format(time.RFC3339)
}

// guest returns the customer who attends.
func guest(b *bookingv1.BookingSnapshot) string {
	return cmp.Or(b.GetBooking().GetBoughtFor().GetId(), b.GetPurchaser().GetId())
}

// bookingChange is a change of a booking. before is nil if the change is not one of its date.
func bookingChange(after, before *bookingv1.BookingSnapshot) change {
	b := after.GetBooking()
	c := change{target: b.GetId(), details: append(holder(guest(after)), Detail{Field: "event", After: b.GetEventTitle()})}
	c.details = append(c.details, times(before.GetBooking().GetStartsAt(), b.GetStartsAt())...)
	return c
}

func transferChange(e *bookingv1.BookingTransferred) change {
	c := bookingChange(e.GetBooking(), nil)
	c.details = append(c.details, Detail{Field: "earlier_customer", After: guest(e.GetPrevious())})
	return c
}

// moveChange has one entry for both bookings of a swap.
func moveChange(e *bookingv1.BookingMoved) change {
	c := bookingChange(e.GetBooking(), e.GetPrevious())
	if other := e.GetSwappedWith(); other != "" {
		c.repeats = other < c.target
		c.details = append(c.details, Detail{Field: "swapped_with", After: other})
	}
	if before, after := e.GetPrevious().GetBooking().GetSpaces(), e.GetBooking().GetBooking().GetSpaces(); before != after {
		c.details = append(c.details, Detail{Field: "spaces", Before: strconv.Itoa(int(before)), After: strconv.Itoa(int(after))})
	}
	return c
}

func attendanceChange(e *bookingv1.AttendanceRecorded) change {
	c := bookingChange(e.GetBooking(), nil)
	c.details = append(c.details, Detail{Field: "attendance", After: strings.ReplaceAll(enum.Name(e.GetBooking().GetBooking().GetAttendance()), "_", "-")})
	return c
}

// appointmentChange is a new appointment, or one that moved if before is not nil.
func appointmentChange(after, before *bookingv1.Appointment) change {
	c := change{target: after.GetId(), details: append(holder(after.GetCustomer().GetId()), Detail{Field: "event", After: after.GetTitle()})}
	c.details = append(c.details, times(before.GetBooking().GetStartsAt(), after.GetBooking().GetStartsAt())...)
	staff := Detail{Field: "staff", Before: before.GetStaff().GetName(), After: after.GetStaff().GetName()}
	if staff.Before != staff.After {
		c.details = append(c.details, staff)
	}
	return c
}

func waitlistChange(w *bookingv1.WaitlistEntry) change {
	return change{target: w.GetId(), details: holder(w.GetCustomerId())}
}

// passChanged is a change of a customer pass. What UpdateCustomerPass changed is known from the pass.
func passChanged(e *passv1.CustomerPassUpdated) change {
	before, after := e.GetPrevious(), e.GetCustomerPass()
	c := change{target: after.GetId(), details: holder(after.GetCustomerId())}
	if before.GetRemainingUses() != after.GetRemainingUses() {
		c.details = append(c.details, Detail{Field: "credits", Before: strconv.Itoa(int(before.GetRemainingUses())), After: strconv.Itoa(int(after.GetRemainingUses()))})
	}
	if before.GetExpiryDate() != after.GetExpiryDate() {
		c.details = append(c.details, Detail{Field: "expiry_date", Before: before.GetExpiryDate(), After: after.GetExpiryDate()})
	}
	if before.GetStatus() != after.GetStatus() {
		c.details = append(c.details, Detail{Field: "status", Before: enum.Name(before.GetStatus()), After: enum.Name(after.GetStatus())})
	}
	return c
}

// subscriptionChange is a change of a subscription, and of one of its periods if period is not nil.
func subscriptionChange(s *subscriptionv1.Subscription, period *subscriptionv1.Period) change {
	c := change{target: s.GetId(), details: append(holder(s.GetCustomerId()), Detail{Field: "plan", After: s.GetPlanId()})}
	if period != nil {
		c.details = append(c.details, Detail{Field: "period", After: strconv.Itoa(int(period.GetNumber()))})
	}
	return c
}

// entitlementChange is about the item or the collection that customers are entitled to.
func entitlementChange(e *mediav1.Entitlement) change {
	return change{
		target:  cmp.Or(e.GetItemId(), e.GetCollectionId()),
		details: []Detail{{Field: "who", After: cmp.Or(e.GetPassTypeId(), e.GetPlanId(), e.GetEventId(), e.GetCustomerId())}},
	}
}

// bounded cuts a text to a number of characters.
func bounded(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most])
}
