package admin

import (
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// registrationView is a booking as those see it who run the event.
type registrationView struct {
	*bookingv1.Registration
}

// Guest is whom the place is for.
func (r registrationView) Guest() *bookingv1.CustomerReference {
	if c := r.GetBooking().GetBoughtFor(); c != nil {
		return c
	}
	return r.GetPurchaser()
}

// Paid says how much was paid and how.
func (r registrationView) Paid() string { return paid(r.GetBooking()) }

// Here tells that the guest is checked in, Absent that they did not come.
func (r registrationView) Here() bool {
	return r.GetBooking().GetAttendance() == bookingv1.Attendance_ATTENDANCE_CHECKED_IN
}

// Absent tells that the guest did not come.
func (r registrationView) Absent() bool {
	return r.GetBooking().GetAttendance() == bookingv1.Attendance_ATTENDANCE_NO_SHOW
}

func paid(b *bookingv1.Booking) string {
	if p := b.GetPass(); p != nil {
		return plural(p.GetCreditsUsed(), "credit", "credits")
	}
	text := priceText(b.GetCard().GetGross(), b.GetCard().GetCurrency())
	if code := b.GetCard().GetDiscountCode(); code != "" {
		text += " with " + code
	}
	return text
}

// entryView is somebody on the waitlist.
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

// Offered tells that places are held for the customer.
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

// eventDatePage is a date with who comes and who waits.
type eventDatePage struct {
	Event         eventView
	Slot          slot
	Registrations []registrationView
	Total         int64
	Next          string
	Waitlist      []entryView
	Waiting       int64
	Cancelled     bool // shows the cancelled ones
	Self          string
	CheckedIn     int
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
		if view.Here() {
			page.CheckedIn++
		}
		page.Registrations = append(page.Registrations, view)
	}
	if page.Waitlist, page.Waiting, err = r.waitlist(s.GetDate().GetId()); err != nil {
		return err
	}
	return r.render("event-date", page)
}

// waitlist returns who waits for a date, with names.
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
