package booking

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

func TestGoldenAppointmentEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := time.Date(2026, 1, 31, 9, 30, 0, 0, time.UTC)
	serial := byte(0)
	w.server.now = func() time.Time { return at }
	w.server.newID = func() id.UUID { serial++; return id.UUID{0x01, 0x9c, 15: serial} }
	known := func(n byte, first string) string {
		return w.customers.add(w.company, model.CustomerRecord{Version: 1, Customer: model.Customer{
			ID: id.Customer{0x01, 0x9c, 15: n}, FirstName: first, LastName: "O'Brien", Email: "zoe@example.com",
		}}).String()
	}
	ana, err := w.staffClient.CreateStaffMember(w.ctx, &bookingv1.CreateStaffMemberRequest{Name: "Ana Lima", Color: "#1f6feb"})
	if err != nil {
		t.Fatal(err)
	}
	w.works(ana.GetStaffMember(), "09:00", "17:00")
	room, err := w.roomClient.CreateRoom(w.ctx, &bookingv1.CreateRoomRequest{Name: "Treatment room", Capacity: 2})
	if err != nil {
		t.Fatal(err)
	}
	massage, err := w.typeClient.CreateAppointmentType(w.ctx, &bookingv1.CreateAppointmentTypeRequest{
		Title: "Massage", Location: "Studio 1", Timezone: "Europe/London", Lengths: []int32{30, 60}, BufferAfterMinutes: 15,
		StaffIds: []string{ana.GetStaffMember().GetId()}, Rooms: []*bookingv1.RoomRequirement{{AnyOf: []string{room.GetRoom().GetId()}}},
		Prices: []*bookingv1.NewAppointmentPrice{{Option: &bookingv1.NewPricingOption{Name: "Any length", Price: 4500, TaxRateBasisPoints: 2000}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	booked, err := w.appointments.BookAppointment(w.ctx, &bookingv1.BookAppointmentRequest{
		Slot:        &bookingv1.SlotRequest{AppointmentTypeId: massage.GetAppointmentType().GetId(), LengthMinutes: 60, LocalStart: "2026-03-30T10:00:00"},
		PurchaserId: known(0xf1, "Zoë"), CustomerId: known(0xf2, "Max"), PaymentReference: "ch_1",
	})
	if err != nil {
		t.Fatal(err)
	}
	at = at.Add(time.Minute)
	which := booked.GetAppointment()
	if _, err := w.appointments.MoveAppointment(w.ctx, &bookingv1.MoveAppointmentRequest{Id: which.GetId(), LocalStart: "2026-03-31T11:30:00", LengthMinutes: 30}); err != nil {
		t.Fatal(err)
	}
	at = at.Add(time.Minute)
	if _, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: which.GetBooking().GetId(), Reason: "Max is ill."}); err != nil {
		t.Fatal(err)
	}
	w.wantGolden("booking.v1.appointment%", map[string]proto.Message{
		subjectAppointmentBooked: &bookingv1.AppointmentBooked{}, subjectAppointmentMoved: &bookingv1.AppointmentMoved{},
		subjectAppointmentCancelled: &bookingv1.AppointmentCancelled{},
	})
}
