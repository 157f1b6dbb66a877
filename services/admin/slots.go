package admin

import (
	"time"

	"reservation.dev/platform/enum"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// slotsShown is the number of days whose free slots a page shows.
const slotsShown = 7

// slotChoice is a free slot as a page offers it.
type slotChoice struct {
	// Start is the instant, as a form sends it, and Time its time of day.
	Start, Time string
	// The name of the person whom the service would choose.
	Who string
}

// slotDay is a day with its free slots; Why says why it has none.
type slotDay struct {
	At    time.Time
	Slots []slotChoice
	Why   *message
}

// slotDays are the free slots of several days.
type slotDays struct {
	Days           []slotDay
	Previous, Next string
}

// Any reports whether one of the days has a free slot.
func (s slotDays) Any() bool {
	for _, day := range s.Days {
		if len(day.Slots) > 0 {
			return true
		}
	}
	return false
}

// find returns the slot that starts at an instant, as a form sends it; nil if it is not free.
func (s slotDays) find(start string) *slotChoice {
	for _, day := range s.Days {
		for i := range day.Slots {
			if day.Slots[i].Start == start {
				return &day.Slots[i]
			}
		}
	}
	return nil
}

// findSlots returns the free slots of slotsShown days from a day on. The service does not apply notice and
// horizon, because staff book for a customer.
func (r *request) findSlots(req *bookingv1.FindSlotsRequest, from time.Time, people []staffView) (slotDays, error) {
	req.From, req.To = from.Format(time.DateOnly), r.midnight(from, slotsShown-1).Format(time.DateOnly)
	req.Timezone, req.Explain, req.WaiveNotice = r.session.Clock.Zone.String(), true, true
	res, err := r.services.appointments.FindSlots(r.ctx, req)
	if err != nil {
		return slotDays{}, err
	}
	names := map[string]string{}
	for _, s := range people {
		names[s.GetId()] = s.GetName()
	}
	found := slotDays{
		Previous: r.with("day", r.midnight(from, -slotsShown).Format(time.DateOnly)), Next: r.with("day", r.midnight(from, slotsShown).Format(time.DateOnly)),
	}
	for _, d := range res.GetDays() {
		at, err := dayOf(d.GetDate(), r.session.Clock.Zone)
		if err != nil {
			return found, err
		}
		day := slotDay{At: at}
		for _, s := range d.GetSlots() {
			start := s.GetStartsAt().AsTime().Format(time.RFC3339)
			choice := slotChoice{Start: start, Time: r.session.Clock.Hour(s.GetStartsAt())}
			if ids := s.GetStaffIds(); len(ids) > 0 {
				choice.Who = names[ids[0]]
			}
			day.Slots = append(day.Slots, choice)
		}
		if len(day.Slots) == 0 {
			day.Why = noSlots(d.GetReason())
		}
		found.Days = append(found.Days, day)
	}
	return found, nil
}

// noSlots says why a day has no free slot.
func noSlots(reason bookingv1.NoSlotsReason) *message {
	return msg("appointments.no_slots." + enum.Name(reason)).orElse(msg("appointments.no_slots.unknown"))
}

// startOfSlot returns the start that a form or an address has; nil if it has none.
func startOfSlot(text string) *time.Time {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return nil
	}
	return &at
}
