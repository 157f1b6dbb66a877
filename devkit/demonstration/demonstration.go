// Package demonstration creates the demonstration company: a studio with customers, passes, a year
// of classes around today, past and future bookings, a library of media, subscriptions in every state, and
// staff, rooms and appointments.
//
// It continues after an interrupted run without creating anything twice: its requests have
// references and idempotency keys, and the caller saves credentials, which are shown only once,
// before the next step.
package demonstration

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	mathrand "math/rand/v2"
	"net/http"
	"time"

	"google.golang.org/grpc"

	"reservation.dev/devkit/credentials"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/mediaupload"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/zone"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// The demonstration company.
const (
	demoName     = "Riverside Yoga & Movement"
	demoZone     = "Europe/London"
	demoCurrency = "GBP"
	// demoOwner is the e-mail address with which the owner signs in to the dashboard.
	demoOwner = "owner@riverside.example"
)

// State records the progress of creating a demonstration company, with its credentials. The zero
// value is a company that does not exist yet.
type State struct {
	CompanyID    string `json:"company_id"`
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	APIKey       string `json:"api_key,omitempty"`
	APISecret    string `json:"api_secret,omitempty"`
	// The password is saved here before the owner is created.
	OwnerEmail    string `json:"owner_email,omitempty"`
	OwnerPassword string `json:"owner_password,omitempty"`
	OwnerMade     bool   `json:"owner_made,omitempty"`
	// StartedAt is the "today" of the seeded data, so that a run that continues an interrupted
	// one makes the same requests.
	StartedAt time.Time `json:"started_at"`
	Complete  bool      `json:"complete"`
}

// Show copies the credentials of st into c.
func (st *State) Show(c *credentials.File) {
	c.CompanyID = st.CompanyID
	c.InterfaceA.ClientID, c.InterfaceA.ClientSecret = st.ClientID, st.ClientSecret
	c.InterfaceB.APIKey, c.InterfaceB.APISecret = st.APIKey, st.APISecret
	if st.OwnerMade {
		c.Admin.Email, c.Admin.Password = st.OwnerEmail, st.OwnerPassword
	}
}

// Platform is the platform to create the company on.
type Platform struct {
	// As returns a context for calls of the operator for a company; "": for none.
	As func(ctx context.Context, company string) context.Context

	companies authv1.CompanyServiceClient
	clients   authv1.ApiClientServiceClient
	keys      authv1.ApiKeyServiceClient
	admins    authv1.AdministratorServiceClient
	customers customerv1.CustomerServiceClient
	events    bookingv1.EventServiceClient
	bookings  bookingv1.BookingServiceClient

	staff            bookingv1.StaffServiceClient
	rooms            bookingv1.RoomServiceClient
	appointmentTypes bookingv1.AppointmentTypeServiceClient
	appointments     bookingv1.AppointmentServiceClient

	passes passv1.PassServiceClient
	plans  subscriptionv1.PlanServiceClient
	subs   subscriptionv1.SubscriptionServiceClient
	media  mediav1.MediaServiceClient
	files  *mediaupload.Sender
}

// Services are connections to the services.
type Services struct {
	Auth, Customer, Booking, Pass, Subscription, Media grpc.ClientConnInterface
	// MediaURL is the URL at which this program reaches the files of the media service; empty: the URL that
	// browsers use.
	MediaURL string
}

// On returns a platform that calls the given services.
func On(s Services, as func(ctx context.Context, company string) context.Context) *Platform {
	media := mediav1.NewMediaServiceClient(s.Media)
	return &Platform{
		As:        as,
		companies: authv1.NewCompanyServiceClient(s.Auth), clients: authv1.NewApiClientServiceClient(s.Auth),
		keys: authv1.NewApiKeyServiceClient(s.Auth), admins: authv1.NewAdministratorServiceClient(s.Auth),
		customers: customerv1.NewCustomerServiceClient(s.Customer),
		events:    bookingv1.NewEventServiceClient(s.Booking), bookings: bookingv1.NewBookingServiceClient(s.Booking),
		staff: bookingv1.NewStaffServiceClient(s.Booking), rooms: bookingv1.NewRoomServiceClient(s.Booking),
		appointmentTypes: bookingv1.NewAppointmentTypeServiceClient(s.Booking), appointments: bookingv1.NewAppointmentServiceClient(s.Booking),
		passes: passv1.NewPassServiceClient(s.Pass),
		plans:  subscriptionv1.NewPlanServiceClient(s.Subscription), subs: subscriptionv1.NewSubscriptionServiceClient(s.Subscription),
		media: media,
		files: &mediaupload.Sender{Media: media, HTTP: &http.Client{Timeout: time.Minute}, BaseURL: s.MediaURL},
	}
}

// keyLifetime is how long the platform remembers an idempotency key.
const keyLifetime = 24 * time.Hour

// Seed creates what st says does not exist yet. It calls save each time st must be saved before the
// next step.
func (p *Platform) Seed(ctx context.Context, st *State, save func() error) error {
	if st.CompanyID == "" {
		if err := p.makeCompany(ctx, st, save); err != nil {
			return err
		}
	}
	ctx = p.As(ctx, st.CompanyID)
	if st.APIKey == "" {
		if err := p.makeKey(ctx, st, save); err != nil {
			return err
		}
	}
	if !st.OwnerMade {
		if err := p.makeOwner(ctx, st, save); err != nil {
			return err
		}
	}
	if st.Complete {
		return nil
	}
	var err error
	d := &demoData{on: p, random: mathrand.New(mathrand.NewPCG(20, 26)), today: st.StartedAt, present: st.StartedAt}
	if now := time.Now(); now.Sub(st.StartedAt) > keyLifetime {
		d.present = now
	}
	if d.zone, err = zone.Load(demoZone); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{
		d.importCustomers, d.createStaff, d.createRooms, d.createEvents, d.createPasses, d.importHistory, d.bookUpcoming,
		d.createLibrary, d.createPlans, d.subscribe, d.importSubscriptions, d.bookBySubscription, d.entitle, d.watch,
		d.closeForHolidays, d.createAppointmentTypes, d.importAppointments, d.bookVisits, d.substitute,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	st.Complete = true
	return save()
}

// makeCompany creates the company and its API client, and saves both.
func (p *Platform) makeCompany(ctx context.Context, st *State, save func() error) error {
	company, err := p.companies.CreateCompany(p.As(ctx, ""), &authv1.CreateCompanyRequest{
		Name: demoName, Timezone: demoZone, Currency: demoCurrency,
	})
	if err != nil {
		return err
	}
	id := company.GetCompany().GetId()
	client, err := p.clients.CreateApiClient(p.As(ctx, id), &authv1.CreateApiClientRequest{
		Name: "Demonstration", Description: "Created with the demonstration company.", Scopes: scopes.InterfaceA(),
	})
	if err != nil {
		return err
	}
	st.CompanyID, st.StartedAt = id, time.Now().UTC().Truncate(time.Second)
	st.ClientID, st.ClientSecret = client.GetApiClient().GetId(), client.GetClientSecret()
	return save()
}

// makeKey creates the company's API key and saves it.
func (p *Platform) makeKey(ctx context.Context, st *State, save func() error) error {
	key, err := p.keys.CreateApiKey(ctx, &authv1.CreateApiKeyRequest{
		Name: "Demonstration", Description: "Created with the demonstration company.",
	})
	if err != nil {
		return err
	}
	st.APIKey, st.APISecret = key.GetApiKey().GetId(), key.GetApiSecret()
	return save()
}

// makeOwner creates the company's owner. It saves the password first, so that the password is known
// even if makeOwner is interrupted.
func (p *Platform) makeOwner(ctx context.Context, st *State, save func() error) error {
	if st.OwnerPassword == "" {
		b := make([]byte, 12)
		_, _ = rand.Read(b) // never fails
		st.OwnerEmail, st.OwnerPassword = demoOwner, hex.EncodeToString(b)
		if err := save(); err != nil {
			return err
		}
	}
	_, err := p.admins.CreateAdministrator(ctx, &authv1.CreateAdministratorRequest{
		Email: st.OwnerEmail, Name: "Robin Riverside", Password: st.OwnerPassword,
	})
	if err != nil && fault.From(err).Reason == "EMAIL_ALREADY_EXISTS" {
		// An interrupted run created the owner and did not save that.
		_, err = p.admins.ResetAdministratorPassword(ctx, &authv1.ResetAdministratorPasswordRequest{
			Administrator: st.OwnerEmail, Password: st.OwnerPassword,
		})
	}
	if err != nil {
		return err
	}
	st.OwnerMade = true
	return save()
}
