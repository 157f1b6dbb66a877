package model

import (
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// ReasonAppointmentEvent is the reason for refusing a change of the event of an appointment type.
const ReasonAppointmentEvent = "APPOINTMENT_EVENT"

// Editable refuses changes of the event of an appointment type.
func (e *Event) Editable() error {
	if !e.OfAppointments {
		return nil
	}
	return fault.Refuse(ReasonAppointmentEvent, "the event belongs to an appointment type: change the appointment type or its appointments").
		With("appointment_type_id", id.AppointmentType(e.ID).String())
}

// namesDatesOf refuses a change of single dates if they are those of appointments, which are not read.
func (c *EventChange) namesDatesOf(e *Event) error {
	if len(c.Dates) == 0 {
		return nil
	}
	return e.Editable()
}

// bookAppointment refuses a line that names only the event of an appointment type.
func bookAppointment(event id.Event) error {
	return fault.Refuse(ReasonAppointmentEvent, "the event belongs to an appointment type: book an appointment of this type instead").
		With("appointment_type_id", id.AppointmentType(event).String())
}
