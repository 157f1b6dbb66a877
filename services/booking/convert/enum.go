package convert

import (
	"strings"

	"reservation.dev/platform/enum"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// valueOf converts a value of the model to the value of the enum E with the same name.
func valueOf[E enum.Enum, S ~string](name S) E {
	v, _ := enum.Parse[E](string(name))
	return v
}

// EventType reads a type. Unspecified means class; an unknown value returns "".
func EventType(t bookingv1.EventType) model.EventType {
	if t == bookingv1.EventType_EVENT_TYPE_UNSPECIFIED {
		return model.Class
	}
	return model.EventType(enum.Name(t))
}

// EventStatus reads a status. Unspecified means published; an unknown value returns "".
func EventStatus(s bookingv1.EventStatus) model.EventStatus {
	if s == bookingv1.EventStatus_EVENT_STATUS_UNSPECIFIED {
		return model.Published
	}
	return model.EventStatus(enum.Name(s))
}

// Attendance reads the attendance of a request; ok is false if the value is not valid.
func Attendance(a bookingv1.Attendance) (recorded model.Attendance, ok bool) {
	if a == bookingv1.Attendance_ATTENDANCE_UNKNOWN {
		return model.NotRecorded, true
	}
	recorded = model.Attendance(enum.Name(a))
	return recorded, recorded != ""
}

// Method reads a payment method. Unspecified means card; ok is false if the value is not valid.
func Method(m bookingv1.PaymentMethod) (method model.Method, ok bool) {
	if m == bookingv1.PaymentMethod_PAYMENT_METHOD_UNSPECIFIED {
		return model.Card, true
	}
	method = model.Method(strings.ToUpper(enum.Name(m)))
	return method, method != ""
}

func methodToProto(m model.Method) bookingv1.PaymentMethod {
	return valueOf[bookingv1.PaymentMethod](strings.ToLower(string(m)))
}

func attendanceToProto(a model.Attendance) bookingv1.Attendance {
	if a == model.NotRecorded {
		return bookingv1.Attendance_ATTENDANCE_UNKNOWN
	}
	return valueOf[bookingv1.Attendance](a)
}
