package gatewaya

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/token"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// fakeAppointments responds as its fields say, and keeps the requests that it gets.
type fakeAppointments struct {
	bookingv1.UnimplementedAppointmentServiceServer
	appointments []*bookingv1.Appointment
	err          error

	mu     sync.Mutex
	listed *bookingv1.ListAppointmentsRequest
	read   *bookingv1.GetAppointmentRequest
}

func (f *fakeAppointments) ListAppointments(_ context.Context, req *bookingv1.ListAppointmentsRequest) (*bookingv1.ListAppointmentsResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listed = req
	return &bookingv1.ListAppointmentsResponse{Appointments: f.appointments, Total: 41}, f.err
}

func (f *fakeAppointments) GetAppointment(_ context.Context, req *bookingv1.GetAppointmentRequest) (*bookingv1.GetAppointmentResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.read = req
	if f.err != nil {
		return nil, f.err
	}
	for _, a := range f.appointments {
		if a.GetId() == req.GetId() {
			return &bookingv1.GetAppointmentResponse{Appointment: a}, nil
		}
	}
	return nil, fault.Missing("appointment")
}

func TestAppointments(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	buyer := &bookingv1.CustomerReference{Id: id.New[id.Customer]().String(), FirstName: "Zoë", LastName: "Núñez", Email: "zoe@example.com"}
	child := &bookingv1.CustomerReference{Id: id.New[id.Customer]().String(), FirstName: "Ada", LastName: "King", Email: "ada@example.com"}
	booked := &bookingv1.Appointment{
		Id: id.New[id.Appointment]().String(), AppointmentTypeId: id.New[id.AppointmentType]().String(), Title: "Massage", Location: "Studio 1",
		Status: bookingv1.AppointmentStatus_APPOINTMENT_STATUS_BOOKED, Staff: &bookingv1.StaffReference{Id: id.New[id.StaffMember]().String(), Name: "Ana", Color: "#1f6feb"},
		Rooms: []*bookingv1.RoomReference{{Id: id.New[id.Room]().String(), Name: "Table", Unit: 2}}, TransactionId: id.New[id.Transaction]().String(), Purchaser: buyer, Customer: buyer,
		Booking: &bookingv1.Booking{
			Id: id.New[id.Booking]().String(), Spaces: 1, StartsAt: at(t, "2026-03-29T00:30:00Z"), DurationMinutes: 60, Timezone: "Europe/London", PricingOptionId: id.New[id.PricingOption]().String(),
			Payment: &bookingv1.Booking_Card{Card: &bookingv1.CardPayment{Currency: "GBP", Gross: 4500, Net: 3750}}, Attendance: bookingv1.Attendance_ATTENDANCE_CHECKED_IN,
		},
		Version: 4, CreatedAt: at(t, "2026-03-12T09:30:00Z"), UpdatedAt: at(t, "2026-03-12T09:31:00Z"),
	}
	cancelled := proto.CloneOf(booked)
	cancelled.Id, cancelled.Status, cancelled.Customer, cancelled.Rooms = id.New[id.Appointment]().String(), bookingv1.AppointmentStatus_APPOINTMENT_STATUS_CANCELLED, child, nil
	b := cancelled.GetBooking()
	b.IsCancelled, b.CancelledAt, b.Late, b.BoughtFor, b.CreditsReturned, b.Attendance = true, at(t, "2026-07-01T12:00:00Z"), true, child, 1, bookingv1.Attendance_ATTENDANCE_UNKNOWN
	b.IsRefunded, b.RefundDue, b.RefundedAmount = true, 5, 6
	b.Payment = &bookingv1.Booking_Pass{Pass: &bookingv1.PassPayment{CreditsUsed: 2, CustomerPassId: id.New[id.CustomerPass]().String()}}
	held := proto.CloneOf(booked)
	held.Id, held.Status = id.New[id.Appointment]().String(), bookingv1.AppointmentStatus_APPOINTMENT_STATUS_HELD
	g.appointments.appointments = []*bookingv1.Appointment{booked, cancelled}

	person := func(c *bookingv1.CustomerReference) string {
		return `{"id":"` + c.GetId() + `","type":"customer","firstname":"` + c.GetFirstName() + `","lastname":"` + c.GetLastName() + `","email":"` + c.GetEmail() + `"}`
	}
	wants := func(a *bookingv1.Appointment, status, rooms, attendee, rest string) string {
		return `{"id":"` + a.GetId() + `","type":"appointment","appointment_type_id":"` + a.GetAppointmentTypeId() + `","title":"Massage","location":"Studio 1","status":"` + status + `",` +
			`"booking_id":"` + a.GetBooking().GetId() + `","transaction_id":"` + a.GetTransactionId() + `","staff":{"id":"` + a.GetStaff().GetId() + `","name":"Ana","color":"#1f6feb"},"rooms":[` + rooms + `],` +
			`"starts_at":"2026-03-29T00:30:00","ends_at":"2026-03-29T02:30:00","duration":60,"tz":"Europe/London","purchased_by":` + person(buyer) + `,` + attendee +
			`"pricing_option":{"id":"` + a.GetBooking().GetPricingOptionId() + `"},` + rest + `,"created_at":"2026-03-12T09:30:00","updated_at":"2026-03-12T09:31:00"}`
	}
	wantBooked := wants(booked, "booked", `{"id":"`+booked.GetRooms()[0].GetId()+`","name":"Table","unit":2}`, "",
		`"payment":{"method":"CARD","currency":"GBP","base100gross_price":4500,"base100net_price":3750},"attendance":"attended","is_cancelled":false,"is_refunded":false,"late":false,`+
			`"base100refund_due":0,"base100refunded_amount":0,"credits_returned":0`)
	wantCancelled := wants(cancelled, "cancelled", "", `"bought_for":`+person(child)+`,`,
		`"payment":{"method":"PASS","currency":"CR","credits_used":2},"attendance":"unknown","is_cancelled":true,"is_refunded":true,"late":true,`+
			`"base100refund_due":5,"base100refunded_amount":6,"credits_returned":1,"cancelled_at":"2026-07-01T13:00:00"`)
	list := "/customer/" + buyer.GetId() + "/appointments"
	one := "/customer/" + buyer.GetId() + "/appointment/"
	inTokyo := g.issuer.Sign(token.Claims{Company: g.company, Zone: "Asia/Tokyo", Scopes: scopes.InToken(scopes.InterfaceA())})

	t.Run("the list has exactly the documented JSON, in the zone of the appointment", func(t *testing.T) {
		a := g.do(request{Method: http.MethodGet, Path: list, Token: inTokyo})
		if want := `{"data":[` + wantBooked + `,` + wantCancelled + `],"total":41,"page":0,"pageSize":30}`; a.Code != 200 || a.Body != want {
			t.Errorf("got  %s\nwant %s", a.Body, want)
		}
		want := &bookingv1.ListAppointmentsRequest{CustomerId: buyer.GetId(), CustomerMustExist: true, PageSize: 30, Order: bookingv1.AppointmentOrder_APPOINTMENT_ORDER_START_DESC}
		if !proto.Equal(g.appointments.listed, want) {
			t.Errorf("requested %v", g.appointments.listed)
		}
	})
	t.Run("a single appointment is the same as in the list, and must be the customer's", func(t *testing.T) {
		a := g.do(request{Method: http.MethodGet, Path: one + cancelled.GetId(), Token: inTokyo})
		if a.Code != 200 || a.Body != `{"data":`+wantCancelled+`}` || !strings.HasPrefix(a.Header.Get("ETag"), `"4`) {
			t.Errorf("got %d %s %v", a.Code, a.Body, a.Header)
		}
		if r := g.appointments.read; r.GetCustomerId() != buyer.GetId() || r.GetId() != cancelled.GetId() {
			t.Errorf("requested %v", r)
		}
	})
	t.Run("does not show a held slot", func(t *testing.T) {
		shown := g.appointments.appointments
		defer func() { g.appointments.appointments = shown }()
		g.appointments.appointments = []*bookingv1.Appointment{held}
		if a := g.do(request{Method: http.MethodGet, Path: one + held.GetId(), Token: inTokyo}); a.Code != 404 {
			t.Errorf("got %d %s", a.Code, a.Body)
		}
	})
	t.Run("passes on the page and the status", func(t *testing.T) {
		for status, want := range map[string]bookingv1.AppointmentStatus{
			"booked": bookingv1.AppointmentStatus_APPOINTMENT_STATUS_BOOKED, "cancelled": bookingv1.AppointmentStatus_APPOINTMENT_STATUS_CANCELLED,
		} {
			a := g.do(request{Method: http.MethodGet, Path: list + "?page=3&pageSize=500&status=" + status, Token: inTokyo})
			if a.Code != 200 || !strings.HasSuffix(a.Body, `"total":41,"page":3,"pageSize":100}`) {
				t.Errorf("got %d %s", a.Code, a.Body)
			}
			if l := g.appointments.listed; l.GetOffset() != 300 || l.GetPageSize() != 100 || len(l.GetStatuses()) != 1 || l.GetStatuses()[0] != want {
				t.Errorf("requested %v", l)
			}
		}
	})
	t.Run("refuses an invalid parameter", func(t *testing.T) {
		for query, field := range map[string]string{"page=-1": "page", "pageSize=0": "pageSize", "status=held": "status"} {
			a := g.do(request{Method: http.MethodGet, Path: list + "?" + query, Token: inTokyo})
			if a.Code != 400 || !strings.Contains(a.Body, `"code":"INVALID_PARAMETER"`) || !strings.Contains(a.Body, `"field":"`+field+`"`) {
				t.Errorf("%s: got %d %s", query, a.Code, a.Body)
			}
		}
	})
	t.Run("a missing customer or appointment is 404", func(t *testing.T) {
		g.appointments.err = fault.Missing("customer")
		defer func() { g.appointments.err = nil }()
		for _, path := range []string{list, "/customer/x/appointment/y"} {
			if a := g.do(request{Method: http.MethodGet, Path: path, Token: inTokyo}); a.Code != 404 {
				t.Errorf("%s: got %d %s", path, a.Code, a.Body)
			}
		}
	})
}
