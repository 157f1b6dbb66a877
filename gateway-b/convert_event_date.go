package gatewayb

import (
	"reservation.dev/platform/edge"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	edgebv1 "reservation.dev/proto/gen/reservation/edge/b/v1"
)

// eventDateUpdate converts the body of PUT /event-dates/{id}.
func eventDateUpdate(id string, in *edgebv1.EventDateUpdate) (*bookingv1.EventDateChange, error) {
	in = edge.OrEmpty(in)
	var b body
	change := b.dateChange("", in.StartsAt, in.EndsAt, in.Duration, in.GetCapacity())
	change.Id, change.StaffAndRooms = id, staffAndRooms(in.GetStaffIds(), in.GetRoomIds())
	return change, b.Err()
}

// newEventDate converts the body of POST /events/{id}/dates. The booking service takes an omitted
// duration or capacity from the event's last date.
func newEventDate(in *edgebv1.EventDateAdd) (*bookingv1.AddEventDatesRequest, error) {
	in = edge.OrEmpty(in)
	var b body
	if in.Duration != nil && in.EndsAt == nil && *in.Duration < 1 { // the service would treat 0 as absent
		b.Add("duration", "min", "must be 1 or more")
	}
	date, recurrence := b.firstDate(in)
	date.Unlimited = in.GetCapacity() != nil && date.Capacity == nil
	return &bookingv1.AddEventDatesRequest{Dates: []*bookingv1.NewEventDate{date}, Recurrence: recurrence}, b.Err()
}
