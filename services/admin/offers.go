package admin

import (
	"slices"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// offerView is an open waitlist offer on the page of a day.
type offerView struct {
	entryView
	Event, Until, Path string
}

// offers are the open waitlist offers of the dates of a day, in the order in which they end.
type offers struct {
	All []offerView
	// Cut says that the company has more open offers than were read.
	Cut bool
}

// offersRead is the number of open offers that are read.
const offersRead = 200

// offersOf reads the open offers of dates, in two calls.
func (r *request) offersOf(slots []slot) (offers, error) {
	byDate := map[string]slot{}
	for _, s := range slots {
		if s.Bookable() {
			byDate[s.GetDate().GetId()] = s
		}
	}
	if len(byDate) == 0 {
		return offers{}, nil
	}
	res, err := r.services.waitlist.ListWaitlist(r.ctx, &bookingv1.ListWaitlistRequest{
		State: bookingv1.WaitlistState_WAITLIST_STATE_OFFERED, Order: bookingv1.WaitlistOrder_WAITLIST_ORDER_UPDATED_DESC, PageSize: offersRead,
	})
	if err != nil {
		return offers{}, err
	}
	entries := slices.DeleteFunc(res.GetEntries(), func(e *bookingv1.WaitlistEntry) bool {
		_, known := byDate[e.GetEventDateId()]
		return !known
	})
	slices.SortStableFunc(entries, func(a, b *bookingv1.WaitlistEntry) int {
		return a.GetOfferExpiresAt().AsTime().Compare(b.GetOfferExpiresAt().AsTime())
	})
	named, err := r.withNames(entries)
	if err != nil {
		return offers{}, err
	}
	all := offers{Cut: res.GetNextPageToken() != ""}
	for _, e := range named {
		s := byDate[e.GetEventDateId()]
		all.All = append(all.All, offerView{
			entryView: e, Event: s.From() + " " + s.GetEventTitle(), Until: r.until(e), Path: s.Path() + "/offers/" + e.GetId(),
		})
	}
	return all, nil
}

// until says when an offer ends: the time of day if that is today.
func (r *request) until(e entryView) string {
	at := e.GetOfferExpiresAt()
	if r.midnight(at.AsTime(), 0).Equal(r.midnight(r.now(), 0)) {
		return r.session.Clock.Hour(at)
	}
	return r.session.Clock.Time(at)
}
