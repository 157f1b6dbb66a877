package convert

import (
	"testing"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// TestValues checks that every stored value of the model has an enum value of the same name.
// Without one, it would be returned as unspecified.
func TestValues(t *testing.T) {
	for _, v := range []model.EventType{model.Class, model.OneOff, model.Workshop, model.Course, model.Appointment} {
		if got := EventType(valueOf[bookingv1.EventType](v)); got != v {
			t.Errorf("the type %q became %q", v, got)
		}
	}
	for _, v := range []model.EventStatus{model.Draft, model.Published, model.Cancelled} {
		if got := EventStatus(valueOf[bookingv1.EventStatus](v)); got != v {
			t.Errorf("the status %q became %q", v, got)
		}
	}
	for _, v := range []model.Attendance{model.NotRecorded, model.CheckedIn, model.NoShow} {
		if got, ok := Attendance(attendanceToProto(v)); !ok || got != v {
			t.Errorf("the attendance %q became %q", v, got)
		}
	}
	for _, v := range []model.WaitlistMode{model.ModeOffer, model.ModeBook} {
		if valueOf[bookingv1.WaitlistMode](v) == 0 {
			t.Errorf("the mode %q has no value", v)
		}
	}
	for _, v := range []model.WaitlistState{
		model.EntryWaiting, model.EntryOffered, model.EntryBooked, model.EntryExpired, model.EntryLeft, model.EntryClosed,
	} {
		if valueOf[bookingv1.WaitlistState](v) == 0 {
			t.Errorf("the state %q has no value", v)
		}
	}
}

// TestUnspecifiedAndUnknownValues converts unspecified and unknown values.
func TestUnspecifiedAndUnknownValues(t *testing.T) {
	if got := EventType(0); got != model.Class {
		t.Errorf("a type that is not given is %q", got)
	}
	if got := EventStatus(0); got != model.Published {
		t.Errorf("a status that is not given is %q", got)
	}
	if a, b := EventType(99), EventStatus(99); a != "" || b != "" {
		t.Errorf("unknown values are %q and %q", a, b)
	}
	for _, a := range []bookingv1.Attendance{bookingv1.Attendance_ATTENDANCE_UNSPECIFIED, 99, -1} {
		if got, ok := Attendance(a); ok {
			t.Errorf("%v records %q", a, got)
		}
	}
}
