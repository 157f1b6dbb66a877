package convert

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
	"reservation.dev/platform/tenancy"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// NewAppointmentType reads an appointment type to create and sets the defaults of omitted fields. Malformed
// identifiers of staff and rooms become zero, which names nothing.
func NewAppointmentType(r *bookingv1.CreateAppointmentTypeRequest, company tenancy.Company) *model.AppointmentType {
	t := &model.AppointmentType{
		Event: model.Event{
			Title: strings.TrimSpace(r.GetTitle()), Description: strings.TrimSpace(r.GetDescription()), Location: strings.TrimSpace(r.GetLocation()),
			Timezone: r.GetTimezone(), Type: model.Appointment, Status: model.Published, OfAppointments: true,
			Policy: model.CancellationPolicy{FreeMinutes: r.FreeCancellationMinutes},
		},
		Lengths: r.GetLengths(), BufferBefore: r.GetBufferBeforeMinutes(), BufferAfter: r.GetBufferAfterMinutes(), SlotMinutes: r.GetSlotMinutes(),
		Notice: r.GetMinimumNoticeMinutes(), Advance: r.GetMaximumAdvanceDays(),
		Staff: parsed[id.StaffMember](r.GetStaffIds()), Rooms: requirements(r.GetRooms()), Active: !r.GetInactive(), Reference: r.GetReference(),
	}
	if t.Event.Timezone == "" {
		t.Event.Timezone = company.Timezone
	}
	if t.SlotMinutes == 0 {
		t.SlotMinutes = model.DefaultSlotMinutes
	}
	for _, p := range r.GetPrices() {
		o := newOption(p.GetOption(), company.Currency)
		o.Length = p.GetLengthMinutes()
		t.Event.Options = append(t.Event.Options, o)
	}
	return t
}

// parsed reads identifiers. One that is malformed becomes zero.
func parsed[T any, P interface {
	*T
	UnmarshalText([]byte) error
}](texts []string) []T {
	var out []T
	for _, text := range texts {
		v, err := check.ID[T, P](text, "")
		if err != nil {
			v = *new(T)
		}
		out = append(out, v)
	}
	return out
}

func requirements(in []*bookingv1.RoomRequirement) [][]id.Room {
	var out [][]id.Room
	for _, r := range in {
		out = append(out, parsed[id.Room](r.GetAnyOf()))
	}
	return out
}

// AppointmentTypeChange reads a change of an appointment type.
func AppointmentTypeChange(r *bookingv1.UpdateAppointmentTypeRequest) (*model.AppointmentTypeChange, error) {
	c := &model.AppointmentTypeChange{
		Event: model.EventChange{
			Title: trimmed(r.Title), Description: trimmed(r.Description), Location: trimmed(r.Location), Timezone: r.Timezone,
			Policy: model.CancellationPolicy{FreeMinutes: r.FreeCancellationMinutes},
		},
		Notice: r.MinimumNoticeMinutes, Advance: r.MaximumAdvanceDays, Lengths: r.GetLengths(),
		BufferBefore: r.BufferBeforeMinutes, BufferAfter: r.BufferAfterMinutes, SlotMinutes: r.SlotMinutes, Active: r.Active,
		Staff: parsed[id.StaffMember](r.GetStaff().GetStaffIds()), SetStaff: r.GetStaff() != nil,
		Rooms: requirements(r.GetRooms().GetRooms()), SetRooms: r.GetRooms() != nil,
	}
	var faults check.Fields
	c.Event.Policy.CheckChange(&faults)
	if err := faults.Err(); err != nil {
		return nil, err
	}
	for i, p := range r.GetPrices() {
		change, err := optionChange(p.GetOption(), fmt.Sprintf("prices[%d].option.id", i))
		if err != nil {
			return nil, err
		}
		change.Length = p.GetLengthMinutes()
		c.Event.Options = append(c.Event.Options, change)
	}
	return c, model.TypeFault(c.Event.Check())
}

// AppointmentType converts an appointment type.
func AppointmentType(t *model.AppointmentType) *bookingv1.AppointmentType {
	e := &t.Event
	out := &bookingv1.AppointmentType{
		Id: t.ID.String(), EventId: e.ID.String(), Title: e.Title, Description: e.Description, Location: e.Location, Timezone: e.Timezone,
		Lengths: t.Lengths, BufferBeforeMinutes: t.BufferBefore, BufferAfterMinutes: t.BufferAfter, SlotMinutes: t.SlotMinutes,
		MinimumNoticeMinutes: t.Notice, MaximumAdvanceDays: t.Advance, FreeCancellationMinutes: e.Policy.FreeMinutes,
		Active: t.Active, Reference: t.Reference, CreatedAt: timestamppb.New(t.CreatedAt), UpdatedAt: timestamppb.New(t.UpdatedAt), Version: e.Version,
	}
	for _, who := range t.Staff {
		out.StaffIds = append(out.StaffIds, who.String())
	}
	for _, requirement := range t.Rooms {
		one := &bookingv1.RoomRequirement{}
		for _, room := range requirement {
			one.AnyOf = append(one.AnyOf, room.String())
		}
		out.Rooms = append(out.Rooms, one)
	}
	for i := range e.Options {
		out.Prices = append(out.Prices, &bookingv1.AppointmentPrice{Option: option(&e.Options[i]), LengthMinutes: e.Options[i].Length})
	}
	return out
}
