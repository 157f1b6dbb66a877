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
// is moved on a page of its own.
func (r registrationView) Changeable() bool {
	return !r.GetBooking().GetIsCancelled() && r.GetBooking().GetEventType() != bookingv1.EventType_EVENT_TYPE_APPOINTMENT
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

// eventDatePage is a date with its bookings and its waitlist.
type eventDatePage struct {
	Event         eventView
	Slot          slot
	Registrations []registrationView
	Total         int64
	Next          string
	Waitlist      []entryView
	Waiting       int64
	Cancelled     bool // the page shows cancelled bookings
	Self          string
	CheckedIn     int
	Teachers      []*message
}

func (p eventDatePage) head() (*message, string) { return literal(p.Event.GetTitle()), "events" }

func (r *request) eventDate() error {
	e, s, err := r.findDate()
	if err != nil {
		return err
	}
	page := eventDatePage{Event: e, Slot: s, Cancelled: r.query("show") == "cancelled", Self: r.http.URL.RequestURI()}
	regs, err := r.services.bookings.ListRegistrations(r.ctx, &bookingv1.ListRegistrationsRequest{
		EventId: e.GetId(), EventDateId: s.GetDate().GetId(), PageSize: 100, PageToken: r.query("page"), Cancelled: &page.Cancelled,
	})
	if err != nil {
		return err
	}
	page.Total, page.Next = regs.GetTotal(), r.with("page", regs.GetNextPageToken())
	for _, booked := range regs.GetRegistrations() {
		view := registrationView{booked}
		if view.CheckedIn() {
			page.CheckedIn++
		}
		page.Registrations = append(page.Registrations, view)
	}
	if page.Teachers, err = r.teacherLines(s.GetDate()); err != nil {
		return err
	}
	if page.Waitlist, page.Waiting, err = r.waitlist(s.GetDate().GetId()); err != nil {
		return err
	}
	return r.render("event-date", page)
}

// waitlist returns the first entries of a date's waitlist, with their customers, and how many
// entries there are.
func (r *request) waitlist(date string) ([]entryView, int64, error) {
	res, err := r.services.waitlist.ListWaitlist(r.ctx, &bookingv1.ListWaitlistRequest{EventDateId: date, PageSize: 100})
	if err != nil || len(res.GetEntries()) == 0 {
		return nil, 0, err
	}
	var ids []string
	for _, e := range res.GetEntries() {
		ids = append(ids, e.GetCustomerId())
	}
	names, err := r.services.customers.BatchGetCustomers(r.ctx, &customerv1.BatchGetCustomersRequest{Ids: ids, IncludeDeleted: true})
	if err != nil {
		return nil, 0, err
	}
	byID := map[string]*customerv1.Customer{}
	for _, c := range names.GetCustomers() {
		byID[c.GetId()] = c
	}
	var views []entryView
	for _, e := range res.GetEntries() {
		views = append(views, entryView{e, byID[e.GetCustomerId()]})
	}
	return views, res.GetTotal(), nil
}
