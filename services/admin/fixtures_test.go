package admin

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// withEvent adds an event with a date and a booking, and a customer.
func withEvent(w *world, title, first string) (event *bookingv1.Event, customer *customerv1.Customer) {
	capacity := int32(8)
	starts := timestamppb.New(time.Now().Add(time.Hour))
	date := &bookingv1.EventDate{Id: "date_1", StartsAt: starts, DurationMinutes: 60, Timezone: "Europe/London", Capacity: &capacity, Booked: 2}
	event = &bookingv1.Event{
		Id: "evt_1", Title: title, Status: bookingv1.EventStatus_EVENT_STATUS_PUBLISHED, Timezone: "Europe/London", Dates: []*bookingv1.EventDate{date},
		PricingOptions: []*bookingv1.PricingOption{{Id: "po-1", Name: "Drop-in", Price: 1250, Currency: "GBP"}},
	}
	customer = &customerv1.Customer{Id: "cust_1", FirstName: first, LastName: "Smith", Email: "x@example.com", CreatedAt: timestamppb.Now()}
	who := &bookingv1.CustomerReference{Id: "cust_1", FirstName: first, LastName: "Smith"}
	booking := &bookingv1.Booking{
		Id: "booking_1", Spaces: 1, EventId: "evt_1", EventTitle: title, EventDateId: "date_1", StartsAt: starts,
		Payment: &bookingv1.Booking_Card{Card: &bookingv1.CardPayment{Currency: "GBP", Gross: 1250, Reference: first}},
	}
	registration := &bookingv1.Registration{Booking: booking, Purchaser: who, TransactionId: "txn_1"}
	on(w.backend, "ListEventDates", func(*bookingv1.ListEventDatesRequest) (*bookingv1.ListEventDatesResponse, error) {
		return &bookingv1.ListEventDatesResponse{Dates: []*bookingv1.ScheduledDate{{Date: date, EventId: "evt_1", EventTitle: title, Waiting: 1}}}, nil
	})
	on(w.backend, "GetEvent", func(req *bookingv1.GetEventRequest) (*bookingv1.GetEventResponse, error) {
		if req.GetId() != "evt_1" {
			return nil, fault.Missing("event")
		}
		return &bookingv1.GetEventResponse{Event: event}, nil
	})
	on(w.backend, "ListEvents", func(*bookingv1.ListEventsRequest) (*bookingv1.ListEventsResponse, error) {
		return &bookingv1.ListEventsResponse{Events: []*bookingv1.Event{event}, Total: 1}, nil
	})
	on(w.backend, "ListRegistrations", func(*bookingv1.ListRegistrationsRequest) (*bookingv1.ListRegistrationsResponse, error) {
		return &bookingv1.ListRegistrationsResponse{Registrations: []*bookingv1.Registration{registration}, Total: 1}, nil
	})
	on(w.backend, "GetRegistration", func(req *bookingv1.GetRegistrationRequest) (*bookingv1.GetRegistrationResponse, error) {
		if req.GetBookingId() != "booking_1" {
			return nil, fault.Missing("booking")
		}
		return &bookingv1.GetRegistrationResponse{Registration: registration}, nil
	})
	on(w.backend, "PreviewCancellation", func(*bookingv1.PreviewCancellationRequest) (*bookingv1.PreviewCancellationResponse, error) {
		return &bookingv1.PreviewCancellationResponse{Outcome: &bookingv1.CancellationOutcome{Late: true, FreeUntil: timestamppb.Now()}}, nil
	})
	on(w.backend, "ListWaitlist", func(*bookingv1.ListWaitlistRequest) (*bookingv1.ListWaitlistResponse, error) {
		return &bookingv1.ListWaitlistResponse{Entries: []*bookingv1.WaitlistEntry{{Id: "wait_1", CustomerId: "cust_1", Spaces: 1, Position: 1, JoinedAt: timestamppb.Now()}}, Total: 1}, nil
	})
	on(w.backend, "BatchGetCustomers", func(*customerv1.BatchGetCustomersRequest) (*customerv1.BatchGetCustomersResponse, error) {
		return &customerv1.BatchGetCustomersResponse{Customers: []*customerv1.Customer{customer}}, nil
	})
	on(w.backend, "ListCustomers", func(*customerv1.ListCustomersRequest) (*customerv1.ListCustomersResponse, error) {
		return &customerv1.ListCustomersResponse{Customers: []*customerv1.Customer{customer}, Total: 1}, nil
	})
	on(w.backend, "GetCustomer", func(req *customerv1.GetCustomerRequest) (*customerv1.GetCustomerResponse, error) {
		if req.GetId() != "cust_1" {
			return nil, fault.Missing("customer")
		}
		return &customerv1.GetCustomerResponse{Customer: customer}, nil
	})
	on(w.backend, "ListTransactions", func(*bookingv1.ListTransactionsRequest) (*bookingv1.ListTransactionsResponse, error) {
		return &bookingv1.ListTransactionsResponse{Transactions: []*bookingv1.Transaction{{Id: "txn_1", Purchaser: who, Bookings: []*bookingv1.Booking{booking}}}, Total: 1}, nil
	})
	on(w.backend, "GetEventDate", func(req *bookingv1.GetEventDateRequest) (*bookingv1.GetEventDateResponse, error) {
		if req.GetId() != "date_1" {
			return nil, fault.Missing("date")
		}
		return &bookingv1.GetEventDateResponse{Date: &bookingv1.ScheduledDate{
			Date: date, EventId: event.GetId(), EventTitle: event.GetTitle(), EventStatus: event.GetStatus(), EventType: event.GetType(), Location: event.GetLocation(),
		}}, nil
	})
	withoutNotes(w)
	withoutPasses(w)
	withoutAppointments(w)
	return event, customer
}

// withSignIn accepts the password "right", and for totp@example.com the code 123456.
func withSignIn(w *world) {
	on(w.backend, "SignIn", func(req *authv1.SignInRequest) (*authv1.SignInResponse, error) {
		switch {
		case req.GetPassword() != "right":
			return nil, fault.New(fault.Unauthenticated, fault.ReasonInvalidCredentials, "wrong")
		case req.GetEmail() == "totp@example.com":
			return &authv1.SignInResponse{TotpRequired: true, PendingToken: pendingToken}, nil
		}
		return &authv1.SignInResponse{SessionToken: sessionToken, Identity: w.identity(), DeviceTokens: []string{"known-a", "known-b"}}, nil
	})
	on(w.backend, "FinishSignIn", func(req *authv1.FinishSignInRequest) (*authv1.FinishSignInResponse, error) {
		switch {
		case req.GetPendingToken() != pendingToken || req.GetTotpCode() == "999999":
			return nil, fault.New(fault.Unauthenticated, "SIGN_IN_EXPIRED", "begin again")
		case req.GetTotpCode() != "123456":
			return nil, fault.Refuse("INVALID_TOTP_CODE", "wrong")
		}
		return &authv1.FinishSignInResponse{SessionToken: sessionToken, Identity: w.identity(), DeviceTokens: []string{"known-a"}}, nil
	})
}

func withAPIClient(b *backend) *authv1.ApiClient {
	c := &authv1.ApiClient{
		Id: "m2m_1", Name: "CRM", Scopes: []string{"customers:read"}, State: authv1.CredentialState_CREDENTIAL_STATE_ACTIVE,
		CreatedAt: timestamppb.Now(), RotatedAt: timestamppb.Now(),
	}
	on(b, "GetApiClient", func(req *authv1.GetApiClientRequest) (*authv1.GetApiClientResponse, error) {
		if req.GetId() != c.GetId() {
			return nil, fault.Missing("API client")
		}
		return &authv1.GetApiClientResponse{ApiClient: c}, nil
	})
	return c
}

// withColleague adds another administrator, whose name contains markup.
func withColleague(w *world) *authv1.Administrator {
	on(w.backend, "ListStaff", func(*bookingv1.ListStaffRequest) (*bookingv1.ListStaffResponse, error) {
		return &bookingv1.ListStaffResponse{}, nil
	})
	a := &authv1.Administrator{
		Id: "admin_2", Name: `<script>alert("x")</script> نورا 🧘`, Email: "nora@example.com", Role: authv1.AdministratorRole_ADMINISTRATOR_ROLE_MANAGER,
		TotpEnabled: true, CreatedAt: timestamppb.Now(), PasswordChangedAt: timestamppb.Now(),
	}
	on(w.backend, "GetAdministrator", func(req *authv1.GetAdministratorRequest) (*authv1.GetAdministratorResponse, error) {
		if req.GetId() != a.GetId() {
			return nil, fault.Missing("administrator")
		}
		return &authv1.GetAdministratorResponse{Administrator: a, PasswordResetExpiresAt: timestamppb.New(time.Now().Add(time.Hour))}, nil
	})
	on(w.backend, "ListSessions", func(*authv1.ListSessionsRequest) (*authv1.ListSessionsResponse, error) {
		return &authv1.ListSessionsResponse{Sessions: []*authv1.Session{{Id: "sess_2", UserAgent: `<b>Firefox</b>`, Address: "192.0.2.7", CreatedAt: timestamppb.Now(), LastUsedAt: timestamppb.Now()}}}, nil
	})
	return a
}

// withoutNotes adds a company without notes.
func withoutNotes(w *world) {
	on(w.backend, "ListNotes", func(*customerv1.ListNotesRequest) (*customerv1.ListNotesResponse, error) {
		return &customerv1.ListNotesResponse{}, nil
	})
}

// withoutVisits adds a company without bookings and waitlists.
func withoutVisits(w *world) {
	on(w.backend, "ListRegistrations", func(*bookingv1.ListRegistrationsRequest) (*bookingv1.ListRegistrationsResponse, error) {
		return &bookingv1.ListRegistrationsResponse{}, nil
	})
	on(w.backend, "ListWaitlist", func(*bookingv1.ListWaitlistRequest) (*bookingv1.ListWaitlistResponse, error) {
		return &bookingv1.ListWaitlistResponse{}, nil
	})
}

// withoutPasses adds a company without passes, subscriptions and media.
func withoutPasses(w *world) {
	on(w.backend, "ListSubscriptions", func(*subscriptionv1.ListSubscriptionsRequest) (*subscriptionv1.ListSubscriptionsResponse, error) {
		return &subscriptionv1.ListSubscriptionsResponse{}, nil
	})
	on(w.backend, "ListCustomerMedia", func(*mediav1.ListCustomerMediaRequest) (*mediav1.ListCustomerMediaResponse, error) {
		return &mediav1.ListCustomerMediaResponse{}, nil
	})
	on(w.backend, "ListCustomerPasses", func(*passv1.ListCustomerPassesRequest) (*passv1.ListCustomerPassesResponse, error) {
		return &passv1.ListCustomerPassesResponse{}, nil
	})
	on(w.backend, "ListPassTypes", func(*passv1.ListPassTypesRequest) (*passv1.ListPassTypesResponse, error) {
		return &passv1.ListPassTypesResponse{}, nil
	})
}

// withoutAppointments answers that there are no appointments, staff and rooms.
func withoutAppointments(w *world) {
	on(w.backend, "ListAppointments", func(*bookingv1.ListAppointmentsRequest) (*bookingv1.ListAppointmentsResponse, error) {
		return &bookingv1.ListAppointmentsResponse{}, nil
	})
	on(w.backend, "ListStaff", func(*bookingv1.ListStaffRequest) (*bookingv1.ListStaffResponse, error) {
		return &bookingv1.ListStaffResponse{}, nil
	})
	on(w.backend, "ListRooms", func(*bookingv1.ListRoomsRequest) (*bookingv1.ListRoomsResponse, error) {
		return &bookingv1.ListRoomsResponse{}, nil
	})
}
