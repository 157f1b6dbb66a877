package enum

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	_ "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	_ "reservation.dev/proto/gen/reservation/webhook/v1"
)

func TestName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ got, want string }{
		{Name(bookingv1.EventDateStatus_EVENT_DATE_STATUS_SCHEDULED), "scheduled"},
		{Name(bookingv1.Attendance_ATTENDANCE_CHECKED_IN), "checked_in"},
		{Name(passv1.ValidityUnit_VALIDITY_UNIT_YEAR), "year"},
		{Name(passv1.ValidityUnit_VALIDITY_UNIT_UNSPECIFIED), ""},
		{Name(passv1.ValidityUnit(5)), ""},
		{Name(passv1.ValidityUnit(-1)), ""},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for i, name := range Names[bookingv1.EventType]() {
		if v, ok := Parse[bookingv1.EventType](name); !ok || v != bookingv1.EventType(i+1) || Name(v) != name {
			t.Errorf("%s is %v, %v", name, v, ok)
		}
	}
	for _, name := range []string{"", "Class", "unspecified", "EVENT_TYPE_CLASS"} {
		if v, ok := Parse[bookingv1.EventType](name); ok {
			t.Errorf("%q is %v", name, v)
		}
	}
}

// TestValues checks the assumptions of the package for every enum.
func TestValues(t *testing.T) {
	t.Parallel()
	seen := 0
	protoregistry.GlobalTypes.RangeEnums(func(e protoreflect.EnumType) bool {
		d := e.Descriptor()
		if !strings.HasPrefix(string(d.FullName()), "reservation.") {
			return true
		}
		seen++
		for i := range d.Values().Len() {
			if v := d.Values().Get(i); int(v.Number()) != i {
				t.Errorf("%s has the number %d, want %d", v.FullName(), v.Number(), i)
			}
		}
		return true
	})
	if seen == 0 {
		t.Error("found no enum")
	}
}

func BenchmarkName(b *testing.B) {
	for b.Loop() {
		_ = Name(bookingv1.EventType_EVENT_TYPE_COURSE)
	}
}
