package admin

import (
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// registrationView is a booking as the page of its date shows it.
type registrationView struct {
	*bookingv1.Registration
}

// Guest returns the customer who takes part.
func (r registrationView) Guest() *bookingv1.CustomerReference {
	if c := r.GetBooking().GetBoughtFor(); c != nil {
		return c
	}
	return r.GetPurchaser()
}

// GuestName returns the name of the customer who takes part.
func (r registrationView) GuestName() string { return fullName(r.Guest()) }

// Purchaser returns the name of the customer who bought the booking.
func (r registrationView) Purchaser() string { return fullName(r.GetPurchaser()) }

// Changeable reports whether the booking can be moved, swapped and given to another customer. An appointment
// is moved on a page of its own, and a date that started long ago is not changed.
func (r registrationView) Changeable(c clock) bool {
	b := r.GetBooking()
	return !b.GetIsCancelled() && b.GetEventType() != bookingv1.EventType_EVENT_TYPE_APPOINTMENT &&
		(!c.Past(b.GetStartsAt()) || c.late(b.GetStartsAt()))
}

// Paid says what was paid.
func (r registrationView) Paid() *message { return paid(r.GetBooking()) }

// CheckedIn reports whether the guest is checked in.
func (r registrationView) CheckedIn() bool {
	return r.GetBooking().GetAttendance() == bookingv1.Attendance_ATTENDANCE_CHECKED_IN
}

// NoShow reports whether the guest is marked as a no-show.
func (r registrationView) NoShow() bool {
	return r.GetBooking().GetAttendance() == bookingv1.Attendance_ATTENDANCE_NO_SHOW
}

// entryView is an entry of a waitlist, with its customer.
type entryView struct {
	*bookingv1.WaitlistEntry
	Customer *customerv1.Customer
}

// Name returns the name of the customer on the waitlist.
func (e entryView) Name() string {
	if e.Customer == nil {
		return e.GetCustomerId()
	}
	return fullName(e.Customer)
}

// Offered reports whether spaces are held for the customer.
func (e entryView) Offered() bool {
	return e.GetState() == bookingv1.WaitlistState_WAITLIST_STATE_OFFERED
}

// PassedOver says why an offer went to others first; nil if none did.
func (e entryView) PassedOver() *message {
	switch code := e.GetPassedOverReason(); code {
	case "":
		return nil
	case "NOT_ENOUGH_PLACES":
		return msg("desk.passed_over.not_enough")
	case "PASS_UNAVAILABLE":
		return msg("desk.passed_over.pass_unavailable")
	default:
		return msg("desk.passed_over.reason", "reason", reason(code).or(""))
	}
}

// waitlist returns the first entries of a date's waitlist, with their customers, and how many
// entries there are.
func (r *request) waitlist(date string) ([]entryView, int64, error) {
	res, err := r.services.waitlist.ListWaitlist(r.ctx, &bookingv1.ListWaitlistRequest{EventDateId: date, PageSize: 100})
	if err != nil {
		return nil, 0, err
	}
	views, err := r.withNames(res.GetEntries())
	return views, res.GetTotal(), err
}

// withNames returns entries of waitlists with their customers, in one call.
func (r *request) withNames(entries []*bookingv1.WaitlistEntry) ([]entryView, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.GetCustomerId())
	}
	names, err := r.services.customers.BatchGetCustomers(r.ctx, &customerv1.BatchGetCustomersRequest{Ids: ids, IncludeDeleted: true})
	if err != nil {
		return nil, err
	}
	byID := map[string]*customerv1.Customer{}
	for _, c := range names.GetCustomers() {
		byID[c.GetId()] = c
	}
	var views []entryView
	for _, e := range entries {
		views = append(views, entryView{e, byID[e.GetCustomerId()]})
	}
	return views, nil
}
