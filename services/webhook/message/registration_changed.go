package message

import (
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/resource"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// bookingChange is a domain event about a change of a booking.
type bookingChange interface {
	proto.Message
	GetBooking() *bookingv1.BookingSnapshot
	GetPrevious() *bookingv1.BookingSnapshot
}

// registrationCancelled is registration.cancelled.
func registrationCancelled() kind[*bookingv1.BookingCancelled] {
	return resourceEvent(webhookv1.EventType_EVENT_TYPE_REGISTRATION_CANCELLED, registrationChange[*bookingv1.BookingCancelled], func(now time.Time) *bookingv1.BookingCancelled {
		b := sampleChange(now, func(b *bookingv1.Booking) {
			b.IsCancelled, b.CancelledAt, b.RefundDue, b.CancellationReason = true, timestamppb.New(now), 2550, "Illness"
		})
		return &bookingv1.BookingCancelled{Booking: b, Previous: samplePurchase(now)}
	})
}

// registrationRefunded is registration.refunded.
func registrationRefunded() kind[*bookingv1.BookingRefunded] {
	return resourceEvent(webhookv1.EventType_EVENT_TYPE_REGISTRATION_REFUNDED, registrationChange[*bookingv1.BookingRefunded], func(now time.Time) *bookingv1.BookingRefunded {
		b := sampleChange(now, func(b *bookingv1.Booking) {
			b.IsRefunded, b.RefundedAmount, b.RefundedAt = true, 1000, timestamppb.New(now)
		})
		return &bookingv1.BookingRefunded{Booking: b, Previous: samplePurchase(now)}
	})
}

// attendanceRecorded is registration.attendance_recorded.
func attendanceRecorded() kind[*bookingv1.AttendanceRecorded] {
	return resourceEvent(webhookv1.EventType_EVENT_TYPE_REGISTRATION_ATTENDANCE_RECORDED, registrationChange[*bookingv1.AttendanceRecorded], func(now time.Time) *bookingv1.AttendanceRecorded {
		b := sampleChange(now, func(b *bookingv1.Booking) { b.Attendance = bookingv1.Attendance_ATTENDANCE_CHECKED_IN })
		return &bookingv1.AttendanceRecorded{Booking: b, Previous: samplePurchase(now)}
	})
}

// registrationMoved is registration.moved.
func registrationMoved() kind[*bookingv1.BookingMoved] {
	return resourceEvent(webhookv1.EventType_EVENT_TYPE_REGISTRATION_MOVED, registrationChange[*bookingv1.BookingMoved], func(now time.Time) *bookingv1.BookingMoved {
		b := sampleChange(now, func(b *bookingv1.Booking) {
			b.EventDateId, b.StartsAt = "date_01kg0000000000000000000001", timestamppb.New(b.GetStartsAt().AsTime().Add(7*24*time.Hour))
			b.Price += 500
			b.GetCard().Gross += 500
		})
		return &bookingv1.BookingMoved{Booking: b, Previous: samplePurchase(now), AmountPaid: 500}
	})
}

// registrationTransferred is registration.transferred.
func registrationTransferred() kind[*bookingv1.BookingTransferred] {
	return resourceEvent(webhookv1.EventType_EVENT_TYPE_REGISTRATION_TRANSFERRED, registrationChange[*bookingv1.BookingTransferred], func(now time.Time) *bookingv1.BookingTransferred {
		const recipient = "cust_01kg0000000000000000000001"
		b := sampleChange(now, func(b *bookingv1.Booking) {
			b.BoughtFor = &bookingv1.CustomerReference{Id: recipient, FirstName: "Sample", LastName: "Friend", Email: "sample.friend@example.com"}
			b.ManagedById = recipient
		})
		return &bookingv1.BookingTransferred{Booking: b, Previous: samplePurchase(now)}
	})
}

func registrationChange[E bookingChange](e E) *change {
	if e.GetPrevious() == nil {
		return nil
	}
	return &change{
		customers: slices.Concat(customersOfBooking(e.GetBooking()), customersOfBooking(e.GetPrevious())), needsCurrency: e.GetBooking().GetBooking().GetPass() != nil,
		after:  func(currency string) proto.Message { return resource.RegistrationAt(e.GetBooking(), currency) },
		before: func(currency string) proto.Message { return resource.RegistrationAt(e.GetPrevious(), currency) },
	}
}

// customersOfBooking returns the customers whom a booking names: the buyer, the customer who has the
// spaces, and the manager.
func customersOfBooking(s *bookingv1.BookingSnapshot) []string {
	return []string{s.GetPurchaser().GetId(), s.GetBooking().GetBoughtFor().GetId(), s.GetBooking().GetManagedById()}
}

// samplePurchase is sampleBooking with everything that the resource shows.
func samplePurchase(now time.Time) *bookingv1.BookingSnapshot {
	s := sampleBooking(now).GetBooking()
	bought := timestamppb.New(now.Add(-24 * time.Hour))
	s.TransactionId, s.PurchasedAt, s.Version = "txn_"+sampleSuffix, bought, 1
	b := s.GetBooking()
	b.EventDateId, b.PricingOptionId, b.Attendance = "date_"+sampleSuffix, "po-"+sampleSuffix, bookingv1.Attendance_ATTENDANCE_UNKNOWN
	b.CreatedAt, b.UpdatedAt = bought, bought
	b.Price, b.ManagedById = b.GetCard().GetGross(), s.GetPurchaser().GetId()
	return s
}

func sampleChange(now time.Time, change func(b *bookingv1.Booking)) *bookingv1.BookingSnapshot {
	s := samplePurchase(now)
	s.Version++
	s.Booking.UpdatedAt = timestamppb.New(now)
	change(s.GetBooking())
	return s
}
