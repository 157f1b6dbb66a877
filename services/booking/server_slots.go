package booking

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"reservation.dev/platform/check"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/zone"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/convert"
	"reservation.dev/services/booking/model"
	"reservation.dev/services/booking/slots"
	"reservation.dev/services/booking/store"
)

// maxSlotDays is the largest number of days of one search.
const maxSlotDays = 31

// FindSlots implements AppointmentService.
func (s *Server) FindSlots(ctx context.Context, req *bookingv1.FindSlotsRequest) (*bookingv1.FindSlotsResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	search, err := newSlotSearch(req)
	if err != nil {
		return nil, err
	}
	var moved store.MovedDate
	if search.moving != nil {
		moved, err = s.store.MovedDate(ctx, company.ID, *search.moving, search.kind)
		if err != nil {
			return nil, err
		}
		search.want.Without = moved.ID
		search.want.Everybody = search.want.Staff == moved.Staff // who keeps the appointment need not offer the type
	}
	calendar, kind, err := s.store.Calendar(ctx, nil, company.ID, search.kind, search.want)
	if err != nil {
		return nil, err
	}
	if !kind.Active && search.moving == nil {
		return nil, fault.Refuse(model.ReasonEventNotPublished, "the appointment type is not active")
	}
	minutes, err := slotLength(req.GetLengthMinutes(), kind.Lengths, moved.Minutes)
	if err != nil {
		return nil, err
	}
	if search.loc == nil {
		search.loc = calendar.Type.Loc
	}
	length := time.Duration(minutes) * time.Minute
	days := calendar.Days(search.from, search.to, search.loc, slots.Query{
		Length: length, Staff: search.want.Staff, WaiveNotice: req.GetWaiveNotice(), Now: s.clock(company),
	})
	return &bookingv1.FindSlotsResponse{
		Days: convert.SlotDays(days, length, search.loc, req.GetExplain()), Timezone: search.loc.String(), LengthMinutes: minutes,
	}, nil
}

// slotSearch is a request for slots whose fields were read.
type slotSearch struct {
	kind     id.AppointmentType
	moving   *id.Appointment // nil: none
	from, to slots.Date
	loc      *time.Location // nil: the zone of the type
	want     store.CalendarQuery
}

// newSlotSearch reads and checks a request.
func newSlotSearch(req *bookingv1.FindSlotsRequest) (_ *slotSearch, err error) {
	search := &slotSearch{}
	if search.from, search.to, err = daySpan(req.GetFrom(), req.GetTo(), maxSlotDays); err != nil {
		return nil, err
	}
	if req.GetTimezone() != "" {
		if search.loc, err = zone.Load(req.GetTimezone()); err != nil {
			return nil, fault.InvalidParameter("timezone", "timezone", check.TimezonePhrase)
		}
	}
	// The days begin at other times in other zones.
	const farthest = 24 * time.Hour
	search.want.From, search.want.Until = search.from.Start(time.UTC).Add(-farthest), (search.to + 1).Start(time.UTC).Add(farthest)
	return search, search.readIDs(req)
}

// readIDs reads the identifiers of a request.
func (search *slotSearch) readIDs(req *bookingv1.FindSlotsRequest) (err error) {
	if search.kind, err = check.ID[id.AppointmentType](req.GetAppointmentTypeId(), "appointment type"); err != nil {
		return err
	}
	if req.GetStaffId() != "" {
		if search.want.Staff, err = check.ID[id.StaffMember](req.GetStaffId(), "staff member"); err != nil {
			return err
		}
	}
	if req.GetMovingId() != "" {
		moving, err := check.ID[id.Appointment](req.GetMovingId(), "appointment")
		if err != nil {
			return err
		}
		search.moving = &moving
	}
	return nil
}

// daySpan reads the parameters from and to, the first and the last of at most most calendar days.
func daySpan(first, last string, most slots.Date) (from, to slots.Date, err error) {
	if from, err = requiredDay("from", first); err != nil {
		return 0, 0, err
	}
	if to, err = requiredDay("to", last); err != nil {
		return 0, 0, err
	}
	if n := to - from + 1; n < 1 || n > most {
		return 0, 0, fault.InvalidParameter("to", "range", fmt.Sprintf("must be the same day as from or at most %d days after it", most-1))
	}
	return from, to, nil
}

// requiredDay reads a calendar day that must be given.
func requiredDay(parameter, text string) (slots.Date, error) {
	if text == "" {
		return 0, fault.InvalidParameter(parameter, "required", "is required")
	}
	date, err := slots.ParseDate(text)
	if err != nil {
		return 0, fault.InvalidParameter(parameter, "format", "must be a calendar day such as 2026-03-29")
	}
	if !check.Storable(date.Start(time.UTC)) {
		return 0, fault.InvalidParameter(parameter, "range", "must be a day from 0001-01-02 to 9999-12-30")
	}
	return date, nil
}

// slotLength returns the length in minutes that is searched: one of the type's, or the present length of
// an appointment that is moved. 0 means the present length, or without one the shortest.
func slotLength(wanted int32, lengths []int32, moved int32) (int32, error) {
	if wanted == 0 && moved > 0 {
		return moved, nil
	}
	if wanted == 0 && len(lengths) > 0 {
		return lengths[0], nil
	}
	if slices.Contains(lengths, wanted) || wanted != 0 && wanted == moved {
		return wanted, nil
	}
	names := make([]string, len(lengths))
	for i, n := range lengths {
		names[i] = strconv.Itoa(int(n))
	}
	return 0, fault.InvalidParameter("length_minutes", "enum", fault.OneOf(names))
}
