package admin

import (
	"slices"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// placeView is a place of a customer on the waitlist of a date.
type placeView struct {
	*bookingv1.WaitlistEntry
	Date slot
}

// Offered reports whether spaces are held for the customer.
func (p placeView) Offered() bool {
	return p.GetState() == bookingv1.WaitlistState_WAITLIST_STATE_OFFERED
}

// visits are what a customer's page says about coming: what others booked for the customer, places on waitlists,
// and the last visit.
type visits struct {
	ByOthers []registrationView
	// MoreByOthers says that there are more than the page shows.
	MoreByOthers bool
	Places       []placeView
	MorePlaces   bool
	Last         *registrationView // nil if the customer never came
}

// visitsShown is the number of bookings by others, and of places on waitlists, on a customer's page.
const visitsShown = 20

// visits reads what others booked for a customer, the places on waitlists and the last visit, in three calls, and one
// for each date of a place, of which there are at most visitsShown.
func (r *request) visits(customer string) (v visits, err error) {
	if err := r.bookedByOthers(&v, customer); err != nil {
		return v, err
	}
	if err := r.lastVisit(&v, customer); err != nil {
		return v, err
	}
	return v, r.placesOf(&v, customer)
}

// bookedByOthers reads the newest bookings that others bought for a customer.
func (r *request) bookedByOthers(v *visits, customer string) error {
	res, err := r.services.bookings.ListRegistrations(r.ctx, &bookingv1.ListRegistrationsRequest{
		CustomerId: customer, BoughtByOthers: true, PageSize: visitsShown, TotalLimit: 1, Order: bookingv1.RegistrationOrder_REGISTRATION_ORDER_CREATED_DESC,
	})
	if err != nil {
		return err
	}
	for _, reg := range res.GetRegistrations() {
		v.ByOthers = append(v.ByOthers, registrationView{reg})
	}
	v.MoreByOthers = res.GetNextPageToken() != ""
	return nil
}

// lastVisit finds the latest date at which the customer was checked in, among the bookings that changed last.
func (r *request) lastVisit(v *visits, customer string) error {
	res, err := r.services.bookings.ListRegistrations(r.ctx, &bookingv1.ListRegistrationsRequest{
		CustomerId: customer, PageSize: visitsShown, TotalLimit: 1, Order: bookingv1.RegistrationOrder_REGISTRATION_ORDER_UPDATED_DESC,
		Attendance: bookingv1.Attendance_ATTENDANCE_CHECKED_IN, Cancelled: new(bool),
	})
	if err != nil || len(res.GetRegistrations()) == 0 {
		return err
	}
	last := slices.MaxFunc(res.GetRegistrations(), func(x, y *bookingv1.Registration) int {
		return x.GetBooking().GetStartsAt().AsTime().Compare(y.GetBooking().GetStartsAt().AsTime())
	})
	v.Last = &registrationView{last}
	return nil
}

// placesOf reads the places of a customer on waitlists, with their dates.
func (r *request) placesOf(v *visits, customer string) error {
	res, err := r.services.waitlist.ListWaitlist(r.ctx, &bookingv1.ListWaitlistRequest{
		CustomerId: customer, PageSize: visitsShown, Order: bookingv1.WaitlistOrder_WAITLIST_ORDER_CREATED_DESC,
	})
	if err != nil || len(res.GetEntries()) == 0 {
		return err
	}
	v.MorePlaces = res.GetNextPageToken() != ""
	var ids []string
	for _, e := range res.GetEntries() {
		ids = append(ids, e.GetEventDateId())
	}
	dates, err := r.datesByID(ids)
	if err != nil {
		return err
	}
	for _, e := range res.GetEntries() {
		v.Places = append(v.Places, placeView{e, slot{ScheduledDate: dates[e.GetEventDateId()], clock: r.session.Clock}})
	}
	return nil
}

// datesByID reads dates, at most a page of them. A date that does not exist is not in the result.
func (r *request) datesByID(ids []string) (map[string]*bookingv1.ScheduledDate, error) {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	res, err := r.services.events.ListEventDates(r.ctx, &bookingv1.ListEventDatesRequest{Ids: ids, PageSize: int32(len(ids))})
	if err != nil {
		return nil, err
	}
	byID := map[string]*bookingv1.ScheduledDate{}
	for _, date := range res.GetDates() {
		byID[date.GetDate().GetId()] = date
	}
	return byID, nil
}
