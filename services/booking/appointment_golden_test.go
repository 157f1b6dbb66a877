package booking

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

func TestGoldenAppointmentEvents(t *testing.T) { // invariant 40
	t.Parallel()
	w := newWorld(t)
	at, serial := parlourTime(), byte(0)
	w.server.now = func() time.Time { at = at.Add(time.Minute); return at }
	w.server.newID = func() id.UUID { serial++; return id.UUID{0x01, 0x9c, 15: serial} }
	known := func(n byte, first string) string {
		return w.customers.add(w.company, model.CustomerRecord{Version: 1, Customer: model.Customer{
			ID: id.Customer{0x01, 0x9c, 15: n}, FirstName: first, LastName: "O'Brien", Email: "zoe@example.com",
		}}).String()
	}
	lea, max, studio := w.worker("Lea"), w.worker("Max"), w.room("Studio", 2)
	kind := w.newType(&bookingv1.CreateAppointmentTypeRequest{
		Title: "Massage", Location: "Harbour", Timezone: "Europe/London", Lengths: []int32{60}, BufferBeforeMinutes: 5, BufferAfterMinutes: 10,
		StaffIds: []string{lea.GetId(), max.GetId()}, Rooms: []*bookingv1.RoomRequirement{{AnyOf: []string{studio.GetId()}}},
		Prices: []*bookingv1.NewAppointmentPrice{{Option: &bookingv1.NewPricingOption{Name: "Hour", Price: 5000, Currency: "GBP", TaxRateBasisPoints: 2000}}},
	})
	booked, err := w.appointments.BookAppointment(w.ctx, &bookingv1.BookAppointmentRequest{
		PurchaserId: known(0xf1, "Zoë"), CustomerId: known(0xf2, "Max"), PaymentReference: "ch_1",
		Slot: &bookingv1.SlotRequest{AppointmentTypeId: kind.GetId(), StaffId: lea.GetId(), LocalStart: "2030-01-07T10:00:00"},
	})
	if err != nil {
		t.Fatal(err)
	}
	a := booked.GetAppointment()
	if _, err := w.appointments.MoveAppointment(w.ctx, &bookingv1.MoveAppointmentRequest{Id: a.GetId(), StaffId: max.GetId(), LocalStart: "2030-01-08T10:00:00"}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: a.GetBooking().GetId(), Reason: "Max is ill."}); err != nil {
		t.Fatal(err)
	}
	w.wantGolden("booking.v1.appointment%", map[string]proto.Message{
		subjectAppointmentBooked: &bookingv1.AppointmentBooked{}, subjectAppointmentMoved: &bookingv1.AppointmentMoved{},
		subjectAppointmentCancelled: &bookingv1.AppointmentCancelled{},
	})
}
