package convert

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/isotime"
	"reservation.dev/services/booking/slots"
)

// maxSlotStaff is the largest number of people of a slot in a response.
const maxSlotStaff = 20

// SlotDays converts days with their free slots. The local times are in loc.
func SlotDays(days []slots.Day, length time.Duration, loc *time.Location, explain bool) []*bookingv1.SlotDay {
	out := make([]*bookingv1.SlotDay, len(days))
	names := map[id.StaffMember]string{}
	for i := range days {
		d := &days[i]
		out[i] = &bookingv1.SlotDay{Date: d.Date.String(), Slots: make([]*bookingv1.Slot, len(d.Slots))}
		if explain {
			out[i].Reason = noSlotsReason(d.Reason)
		}
		for n, slot := range d.Slots {
			out[i].Slots[n] = &bookingv1.Slot{
				StartsAt: timestamppb.New(slot.Start), EndsAt: timestamppb.New(slot.Start.Add(length)),
				LocalStart: slot.Start.In(loc).Format(isotime.LocalLayout), StaffIds: slotStaff(slot.Staff, names),
			}
		}
	}
	return out
}

// slotStaff returns the identifiers of the first people as text, which it keeps in names.
func slotStaff(staff []id.StaffMember, names map[id.StaffMember]string) []string {
	out := make([]string, min(len(staff), maxSlotStaff))
	for i := range out {
		name, ok := names[staff[i]]
		if !ok {
			name = staff[i].String()
			names[staff[i]] = name
		}
		out[i] = name
	}
	return out
}

func noSlotsReason(r slots.Reason) bookingv1.NoSlotsReason {
	switch r {
	case slots.NoStaff:
		return bookingv1.NoSlotsReason_NO_SLOTS_REASON_NO_STAFF
	case slots.Past:
		return bookingv1.NoSlotsReason_NO_SLOTS_REASON_PAST
	case slots.BeyondHorizon:
		return bookingv1.NoSlotsReason_NO_SLOTS_REASON_BEYOND_HORIZON
	case slots.NoHours:
		return bookingv1.NoSlotsReason_NO_SLOTS_REASON_NO_HOURS
	case slots.Holiday:
		return bookingv1.NoSlotsReason_NO_SLOTS_REASON_HOLIDAY
	case slots.TimeOff:
		return bookingv1.NoSlotsReason_NO_SLOTS_REASON_TIME_OFF
	case slots.TooShortNotice:
		return bookingv1.NoSlotsReason_NO_SLOTS_REASON_TOO_SHORT_NOTICE
	case slots.StaffBusy:
		return bookingv1.NoSlotsReason_NO_SLOTS_REASON_STAFF_BUSY
	case slots.RoomBusy:
		return bookingv1.NoSlotsReason_NO_SLOTS_REASON_ROOM_BUSY
	}
	return bookingv1.NoSlotsReason_NO_SLOTS_REASON_UNSPECIFIED
}
