package admin

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// withChanges adds an event with a date and a booking, and a service that previews moves.
func withChanges(t *testing.T) (*world, *bookingv1.MoveOutcome) {
	t.Helper()
	w := newWorld(t)
	w.signIn()
	event, _ := withEvent(w, "Yoga", "Ann")
	later := &bookingv1.EventDate{Id: "date_2", StartsAt: timestamppb.New(time.Now().Add(48 * time.Hour)), DurationMinutes: 60, Timezone: "Europe/London"}
	on(w.backend, "ListEventDates", func(*bookingv1.ListEventDatesRequest) (*bookingv1.ListEventDatesResponse, error) {
		return &bookingv1.ListEventDatesResponse{Dates: []*bookingv1.ScheduledDate{{Date: event.GetDates()[0], EventId: "evt_1"}, {Date: later, EventId: "evt_1"}}}, nil
	})
	outcome := &bookingv1.MoveOutcome{PriceBefore: 1250, PriceAfter: 1500, Currency: "GBP", AmountDue: 250}
	on(w.backend, "PreviewMove", func(*bookingv1.PreviewMoveRequest) (*bookingv1.PreviewMoveResponse, error) {
		return &bookingv1.PreviewMoveResponse{Outcome: outcome}, nil
	})
	return w, outcome
}

// after returns the booking of the fixture on another date.
func after() *bookingv1.Registration {
	who := &bookingv1.CustomerReference{Id: "cust_1", FirstName: "Ann", LastName: "Smith"}
	return &bookingv1.Registration{Purchaser: who, Version: 2, Booking: &bookingv1.Booking{
		Id: "booking_1", Spaces: 1, EventId: "evt_1", EventTitle: "Yoga", EventDateId: "date_2", StartsAt: timestamppb.New(time.Now().Add(48 * time.Hour)),
		Payment: &bookingv1.Booking_Card{Card: &bookingv1.CardPayment{Currency: "GBP", Gross: 1500}},
	}}
}

// lastDetails returns the details of the last audit entry.
func (w *world) lastDetails() map[string]string {
	w.t.Helper()
	calls, details := w.backend.called("RecordAuditEntry"), map[string]string{}
	if len(calls) == 0 {
		w.t.Fatal("nothing was recorded")
	}
	for _, d := range calls[len(calls)-1].req.(*authv1.RecordAuditEntryRequest).GetDetails() {
		details[d.GetField()] = d.GetAfter()
	}
	return details
}

func TestTransferBooking(t *testing.T) {
	t.Parallel()
	w, _ := withChanges(t)
	on(w.backend, "TransferBooking", func(req *bookingv1.TransferBookingRequest) (*bookingv1.TransferBookingResponse, error) {
		return &bookingv1.TransferBookingResponse{Registration: after(), Changed: req.GetBuyerKeepsControl()}, nil
	})
	w.get("/bookings/booking_1/transfer").must(t, "Who gets the booking?", "/bookings/booking_1/transfer?customer=cust_1")
	w.get("/bookings/booking_1/transfer?customer=cust_1").must(t, "Ann Smith keeps control of the booking")
	a := w.post("/bookings/booking_1/transfer", "customer", "cust_1", "control", "on", "version", "1")
	w.get(a.to()).must(t, "The booking now belongs to Ann Smith.")
	a = w.post("/bookings/booking_1/transfer", "customer", "cust_1", "version", "1")
	w.get(a.to()).must(t, "Ann Smith already has this booking.")
	if got := strings.Join(w.entries(), ", "); got != "booking.transfer booking_1" {
		t.Error(got)
	}
	if got := w.lastDetails(); got["earlier_customer"] != "cust_1" || got["buyer_keeps_control"] != "true" {
		t.Errorf("%v", got)
	}
}

func TestSwapBookings(t *testing.T) {
	t.Parallel()
	w, _ := withChanges(t)
	other := after()
	other.Booking.Id = "booking_2"
	first := w.backend.methods["GetRegistration"]
	on(w.backend, "GetRegistration", func(req *bookingv1.GetRegistrationRequest) (*bookingv1.GetRegistrationResponse, error) {
		if req.GetBookingId() == "booking_2" {
			return &bookingv1.GetRegistrationResponse{Registration: other}, nil
		}
		res, err := first(t.Context(), req)
		if err != nil {
			return nil, err
		}
		return res.(*bookingv1.GetRegistrationResponse), nil
	})
	on(w.backend, "ListRegistrations", func(*bookingv1.ListRegistrationsRequest) (*bookingv1.ListRegistrationsResponse, error) {
		return &bookingv1.ListRegistrationsResponse{Registrations: []*bookingv1.Registration{other}}, nil
	})
	on(w.backend, "SwapBookings", func(*bookingv1.SwapBookingsRequest) (*bookingv1.SwapBookingsResponse, error) {
		return &bookingv1.SwapBookingsResponse{Registration: after(), Other: other, Changed: true}, nil
	})
	w.get("/bookings/booking_1/swap").must(t, "/bookings/booking_1/swap?customer=cust_1")
	w.get("/bookings/booking_1/swap?customer=cust_1").must(t, "/bookings/booking_1/swap?other=booking_2", "1 space, £15.00")
	w.get("/bookings/booking_1/swap?other=booking_2").must(t, `name="other-version" value="2"`, "Ann Smith gets")
	a := w.post("/bookings/booking_1/swap", "other", "booking_2", "version", "0", "other-version", "2", "waive", "on")
	w.get(a.to()).must(t, "The booking was swapped with that of Ann Smith: Yoga")
	got := w.backend.called("SwapBookings")[0].req.(*bookingv1.SwapBookingsRequest)
	if got.GetOtherBookingId() != "booking_2" || got.GetOtherExpectedVersion() != 2 || got.ExpectedVersion == nil {
		t.Errorf("%v", got)
	}
	if got := strings.Join(w.entries(), ", "); got != "booking.swap booking_1" {
		t.Error(got)
	}
	if got := w.lastDetails(); got["policy_waived"] != "true" || got["swapped_with"] != "booking_2" {
		t.Errorf("%v", got)
	}
	t.Run("takes over another version only after a change of a booking", func(t *testing.T) {
		sent := []string{"other", "booking_2", "version", "0", "other-version", "1"}
		refusal := fault.Refuse("LATE_CHANGE", "late")
		on(w.backend, "SwapBookings", func(*bookingv1.SwapBookingsRequest) (*bookingv1.SwapBookingsResponse, error) { return nil, refusal })
		w.post("/bookings/booking_1/swap", sent...).must(t, `name="other-version" value="1"`)
		refusal = fault.Refuse("EVENT_FULL", "full")
		if a := w.post("/bookings/booking_1/swap", sent...); !strings.Contains(a.body, "too few spaces for the other booking") || strings.Contains(a.body, "waitlist") {
			t.Error(text(a.body))
		}
		refusal = fault.Stale("booking", 2)
		w.post("/bookings/booking_1/swap", sent...).must(t, `name="other-version" value="2"`)
	})
}

func TestSwapPages(t *testing.T) {
	t.Parallel()
	w, _ := withChanges(t)
	on(w.backend, "ListRegistrations", func(req *bookingv1.ListRegistrationsRequest) (*bookingv1.ListRegistrationsResponse, error) {
		if req.GetOrder() != bookingv1.RegistrationOrder_REGISTRATION_ORDER_CREATED_DESC {
			t.Errorf("the order is %s", req.GetOrder())
		}
		other := after()
		if other.Booking.Id = "booking_3"; req.GetPageToken() == "older" {
			return &bookingv1.ListRegistrationsResponse{Registrations: []*bookingv1.Registration{other}}, nil
		}
		return &bookingv1.ListRegistrationsResponse{NextPageToken: "older"}, nil
	})
	w.get("/bookings/booking_1/swap?customer=cust_1").must(t, "None of the bookings on this page can be swapped.", "page=older", "The next page has older ones.")
	w.get("/bookings/booking_1/swap?customer=cust_1&page=older").must(t, "/bookings/booking_1/swap?other=booking_3")
}

func TestChangeableBookings(t *testing.T) {
	t.Parallel()
	w, _ := withChanges(t)
	reg := after()
	reg.Booking.Id = "booking_1"
	on(w.backend, "GetRegistration", func(*bookingv1.GetRegistrationRequest) (*bookingv1.GetRegistrationResponse, error) {
		return &bookingv1.GetRegistrationResponse{Registration: reg}, nil
	})
	for name, c := range map[string]struct {
		ago  time.Duration
		want bool
	}{
		"of a date that started 30 days ago": {30 * 24 * time.Hour, true}, "of a date that started 32 days ago": {32 * 24 * time.Hour, false},
	} {
		reg.Booking.StartsAt = timestamppb.New(time.Now().Add(-c.ago))
		a := w.get("/bookings/booking_1")
		a.must(t, "/bookings/booking_1/history")
		if got := strings.Contains(a.body, "/bookings/booking_1/move"); got != c.want {
			t.Errorf("%s: the booking can be moved: %t", name, got)
		}
	}
}

func TestBookingHistory(t *testing.T) {
	t.Parallel()
	w, _ := withChanges(t)
	on(w.backend, "BatchGetCustomers", func(*customerv1.BatchGetCustomersRequest) (*customerv1.BatchGetCustomersResponse, error) {
		return &customerv1.BatchGetCustomersResponse{Customers: []*customerv1.Customer{{Id: "cust_1", FirstName: "<b>Ann"}, {Id: "cust_2", FirstName: "Ben"}}}, nil
	})
	on(w.backend, "ListAdministrators", func(*authv1.ListAdministratorsRequest) (*authv1.ListAdministratorsResponse, error) {
		return &authv1.ListAdministratorsResponse{Administrators: []*authv1.Administrator{{Id: "admin_7", Name: "Grace"}}}, nil
	})
	facts := func(date, customer string, spaces int32, price int64) *bookingv1.BookingFacts {
		return &bookingv1.BookingFacts{EventDateId: date, StartsAt: timestamppb.Now(), EventId: "evt_1", EventTitle: "Yoga", Spaces: spaces, CustomerId: customer, ManagedById: customer, Price: price}
	}
	on(w.backend, "ListBookingHistory", func(*bookingv1.ListBookingHistoryRequest) (*bookingv1.ListBookingHistoryResponse, error) {
		return &bookingv1.ListBookingHistoryResponse{Entries: []*bookingv1.BookingHistoryEntry{
			{Action: bookingv1.BookingAction_BOOKING_ACTION_BOOKED, Actor: "m2m_9", After: facts("date_1", "cust_1", 1, 1250)},
			{Action: bookingv1.BookingAction_BOOKING_ACTION_MOVED, Actor: "admin_7", Before: facts("date_1", "cust_1", 1, 1250), After: facts("date_2", "cust_1", 2, 2500), Amount: 1250, PaymentMethod: bookingv1.PaymentMethod_PAYMENT_METHOD_CASH, Reason: "<i>ill"},
			{Action: bookingv1.BookingAction_BOOKING_ACTION_TRANSFERRED, Actor: "booking", Before: facts("date_2", "cust_1", 2, 2500), After: facts("date_2", "cust_2", 2, 2500)},
			{Action: bookingv1.BookingAction_BOOKING_ACTION_ATTENDANCE_RECORDED, After: &bookingv1.BookingFacts{Attendance: bookingv1.Attendance_ATTENDANCE_CHECKED_IN}},
		}, NextPageToken: "more"}, nil
	})
	a := w.get("/bookings/booking_1/history")
	for _, want := range []string{
		"An API client booked 1 space for &lt;b&gt;Ann : Yoga,", "Grace moved the booking from Yoga,", "Spaces: from 1 space to 2 spaces", "Price: from £12.50 to £25.00", "Amount: £12.50 (cash)", "Reason: &lt;i&gt;ill",
		"The platform transferred the booking from &lt;b&gt;Ann to Ben", "Managed by: from", "Somebody checked the customer in",
	} {
		if got := text(a.body); !strings.Contains(got, want) {
			t.Errorf("the page lacks %q:\n%s", want, got)
		}
	}
	a.must(t, "/customers/cust_2", "/settings/administrators/admin_7", "/events/evt_1/dates/date_2", "page=more")
	t.Run("hides the names of others from staff", func(t *testing.T) {
		w.role = authv1.AdministratorRole_ADMINISTRATOR_ROLE_MANAGER
		w.backend.count()
		w.get("/bookings/booking_1/history").must(t, "An administrator")
		if n := len(w.backend.called("ListAdministrators")); n != 0 {
			t.Errorf("%d calls", n)
		}
	})
}

func TestHistorySaysFromWhereAChangeWasMade(t *testing.T) {
	t.Parallel()
	w, _ := withChanges(t)
	on(w.backend, "ListAdministrators", func(*authv1.ListAdministratorsRequest) (*authv1.ListAdministratorsResponse, error) {
		return &authv1.ListAdministratorsResponse{Administrators: []*authv1.Administrator{{Id: "admin_7", Name: "Grace"}}}, nil
	})
	on(w.backend, "ListApiClients", func(*authv1.ListApiClientsRequest) (*authv1.ListApiClientsResponse, error) {
		return &authv1.ListApiClientsResponse{ApiClients: []*authv1.ApiClient{{Id: "m2m_1", Name: "Mailer"}}}, nil
	})
	on(w.backend, "ListApiKeys", func(*authv1.ListApiKeysRequest) (*authv1.ListApiKeysResponse, error) {
		return &authv1.ListApiKeysResponse{ApiKeys: []*authv1.ApiKey{{Id: "key_1", Name: "<i>Kiosk"}}}, nil
	})
	on(w.backend, "ListBookingHistory", func(*bookingv1.ListBookingHistoryRequest) (*bookingv1.ListBookingHistoryResponse, error) {
		res := &bookingv1.ListBookingHistoryResponse{}
		for _, actor := range []string{"admin_7", "m2m_1", "key_1", "svc_1", "booking", ""} {
			res.Entries = append(res.Entries, &bookingv1.BookingHistoryEntry{Action: bookingv1.BookingAction_BOOKING_ACTION_CANCELLED, Actor: actor})
		}
		return res, nil
	})
	sentences := func() string {
		_, table, _ := strings.Cut(w.get("/bookings/booking_1/history").body, "<tbody>")
		table, _, _ = strings.Cut(table, "</tbody>")
		return text(table)
	}
	for _, c := range []struct {
		behaviour string
		role      authv1.AdministratorRole
		want      []string
	}{
		{"with the names for an owner", authv1.AdministratorRole_ADMINISTRATOR_ROLE_OWNER, []string{
			"Grace cancelled the booking, in the dashboard", "Mailer cancelled the booking, over Interface A",
			"&lt;i&gt;Kiosk cancelled the booking, over Interface B", "A service cancelled the booking, over gRPC",
			"The platform cancelled the booking", "Somebody cancelled the booking",
		}},
		{"without the names for staff", authv1.AdministratorRole_ADMINISTRATOR_ROLE_STAFF, []string{
			"An administrator cancelled the booking, in the dashboard", "An API client cancelled the booking, over Interface A",
			"An API key cancelled the booking, over Interface B",
		}},
	} {
		t.Run(c.behaviour, func(t *testing.T) {
			w.role = c.role
			got := sentences()
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("the history lacks %q: %s", want, got)
				}
			}
			if n := strings.Count(got, "booking,"); n != 4 {
				t.Errorf("%d changes have a source: %s", n, got)
			}
		})
	}
}

func TestHistoryOfManagers(t *testing.T) {
	t.Parallel()
	w, _ := withChanges(t)
	on(w.backend, "BatchGetCustomers", func(*customerv1.BatchGetCustomersRequest) (*customerv1.BatchGetCustomersResponse, error) {
		return &customerv1.BatchGetCustomersResponse{Customers: []*customerv1.Customer{{Id: "cust_1", FirstName: "Ann"}, {Id: "cust_2", FirstName: "Ben"}}}, nil
	})
	on(w.backend, "ListBookingHistory", func(*bookingv1.ListBookingHistoryRequest) (*bookingv1.ListBookingHistoryResponse, error) {
		return &bookingv1.ListBookingHistoryResponse{Entries: []*bookingv1.BookingHistoryEntry{{
			Action: bookingv1.BookingAction_BOOKING_ACTION_TRANSFERRED, Actor: "booking",
			Before: &bookingv1.BookingFacts{CustomerId: "cust_2", ManagedById: "cust_1"}, After: &bookingv1.BookingFacts{CustomerId: "cust_2", ManagedById: "cust_2"},
		}}}, nil
	})
	a := w.get("/bookings/booking_1/history")
	a.must(t, "/customers/cust_1", "/customers/cust_2")
	got := text(a.body)
	if !strings.Contains(got, "The platform changed who manages the booking: Ben manages it now, instead of Ann") ||
		strings.Contains(got, "transferred") || strings.Contains(got, "Managed by") {
		t.Error(got)
	}
}

func TestHistoryOfPricingOptions(t *testing.T) {
	t.Parallel()
	w, _ := withChanges(t)
	moved := func(from, to string) *bookingv1.BookingHistoryEntry {
		return &bookingv1.BookingHistoryEntry{
			Action: bookingv1.BookingAction_BOOKING_ACTION_MOVED, Actor: "admin_7",
			Before: &bookingv1.BookingFacts{PricingOptionId: from}, After: &bookingv1.BookingFacts{PricingOptionId: to},
		}
	}
	var entries []*bookingv1.BookingHistoryEntry
	on(w.backend, "ListBookingHistory", func(*bookingv1.ListBookingHistoryRequest) (*bookingv1.ListBookingHistoryResponse, error) {
		return &bookingv1.ListBookingHistoryResponse{Entries: entries}, nil
	})
	on(w.backend, "ListEvents", func(*bookingv1.ListEventsRequest) (*bookingv1.ListEventsResponse, error) {
		return &bookingv1.ListEventsResponse{Events: []*bookingv1.Event{
			{Id: "evt_1", PricingOptions: []*bookingv1.PricingOption{{Id: "po-1", Name: "<b>Adult"}, {Id: "po-2", Name: "Child"}}},
			{Id: "evt_2", PricingOptions: []*bookingv1.PricingOption{{Id: "po-3", Name: "Child"}}},
		}}, nil
	})
	for name, c := range map[string]struct {
		entries         []*bookingv1.BookingHistoryEntry
		want, otherwise string
		calls           int
	}{
		"names both options":                             {[]*bookingv1.BookingHistoryEntry{moved("po-1", "po-2")}, "Pricing option: from &lt;b&gt;Adult to Child", "The pricing option changed", 1},
		"names the options of all changes with one call": {[]*bookingv1.BookingHistoryEntry{moved("po-1", "po-2"), moved("po-2", "po-1")}, "Pricing option: from Child to &lt;b&gt;Adult", "The pricing option changed", 1},
		"says that the option changed to an unknown one": {[]*bookingv1.BookingHistoryEntry{moved("po-1", "po-9")}, "The pricing option changed", "Pricing option:", 1},
		"says nothing about options of one name":         {[]*bookingv1.BookingHistoryEntry{moved("po-2", "po-3")}, "changed the booking", "ricing option", 1},
		"says nothing about an option that stays":        {[]*bookingv1.BookingHistoryEntry{moved("po-1", "po-1")}, "changed the booking", "ricing option", 0},
	} {
		t.Run(name, func(t *testing.T) {
			entries = c.entries
			w.backend.count()
			got := text(w.get("/bookings/booking_1/history").body)
			if !strings.Contains(got, c.want) || strings.Contains(got, c.otherwise) {
				t.Errorf("the page should have %q and not %q:\n%s", c.want, c.otherwise, got)
			}
			if n := len(w.backend.called("ListEvents")); n != c.calls {
				t.Errorf("%d calls", n)
			}
		})
	}
	t.Run("says that the option changed if the service does not answer", func(t *testing.T) {
		entries = []*bookingv1.BookingHistoryEntry{moved("po-1", "po-2")}
		on(w.backend, "ListEvents", func(*bookingv1.ListEventsRequest) (*bookingv1.ListEventsResponse, error) {
			return nil, fault.New(fault.Unavailable, "UNAVAILABLE", "later")
		})
		w.get("/bookings/booking_1/history").must(t, "The pricing option changed")
	})
}

func TestHistoriesThatLackChanges(t *testing.T) {
	t.Parallel()
	const booked, cancelled = bookingv1.BookingAction_BOOKING_ACTION_BOOKED, bookingv1.BookingAction_BOOKING_ACTION_CANCELLED
	const attended, in = bookingv1.BookingAction_BOOKING_ACTION_ATTENDANCE_RECORDED, bookingv1.Attendance_ATTENDANCE_CHECKED_IN
	for name, c := range map[string]struct {
		booking *bookingv1.Booking
		last    bookingv1.BookingAction
		next    string
		want    bool
	}{
		"of a booking without changes":             {&bookingv1.Booking{}, booked, "", false},
		"of a booking cancelled before":            {&bookingv1.Booking{IsCancelled: true}, booked, "", true},
		"of a cancelled and refunded booking":      {&bookingv1.Booking{IsCancelled: true, IsRefunded: true}, cancelled, "", false},
		"of a booking refunded before":             {&bookingv1.Booking{IsRefunded: true}, booked, "", true},
		"of a booking checked in before":           {&bookingv1.Booking{Attendance: in}, booked, "", true},
		"of a checked-in booking":                  {&bookingv1.Booking{Attendance: in}, attended, "", false},
		"of a cancelled booking, on several pages": {&bookingv1.Booking{IsCancelled: true}, booked, "more", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _ := withChanges(t)
			reg := after()
			reg.Booking.IsCancelled, reg.Booking.IsRefunded, reg.Booking.Attendance = c.booking.GetIsCancelled(), c.booking.GetIsRefunded(), c.booking.GetAttendance()
			on(w.backend, "GetRegistration", func(*bookingv1.GetRegistrationRequest) (*bookingv1.GetRegistrationResponse, error) {
				return &bookingv1.GetRegistrationResponse{Registration: reg}, nil
			})
			on(w.backend, "ListBookingHistory", func(*bookingv1.ListBookingHistoryRequest) (*bookingv1.ListBookingHistoryResponse, error) {
				return &bookingv1.ListBookingHistoryResponse{NextPageToken: c.next, Entries: []*bookingv1.BookingHistoryEntry{{Action: booked}, {Action: c.last}}}, nil
			})
			if got := strings.Contains(w.get("/bookings/booking_1/history").body, "Some changes of this booking are not listed"); got != c.want {
				t.Errorf("the page says that changes are missing: %t", got)
			}
		})
	}
}
