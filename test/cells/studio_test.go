package cells

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/devkit/demonstration"
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
	"reservation.dev/test/harness"
)

// studio is the demonstration company with everything else that a company can have: it has rows in every table.
type studio struct {
	id, test string // the companies in live mode and in test mode
	key      harness.Credential
	doomed   harness.Credential // a key that is deleted in the other cell

	customers         []string
	class             *bookingv1.Event // two dates with two spaces
	bought            *bookingv1.Transaction
	byPass            string // a booking by pass
	pass              string
	hold, testHold    string
	waiting           string // an entry of the waitlist
	keyed             string // a customer that was created with a key
	erased            string
	subscription      string // in test mode
	calendar          string // its secret
	publishable       string
	owner, password   string
	totp, session     string
	recovery          []string
	invitation, reset string // tokens of links
	film, upload      string
	content           []byte
	partURL           string
}

// in returns the company in a cell.
func (s *studio) in(c *cell) *harness.Company { return c.op.Company(s.id) }

// testIn returns the company in test mode in a cell.
func (s *studio) testIn(c *cell) *harness.Company { return c.op.Company(s.test) }

// call makes a gRPC call that must succeed.
func call[Q, R any](ctx context.Context, t *testing.T, f func(context.Context, *Q, ...grpc.CallOption) (*R, error), req *Q) *R {
	t.Helper()
	res, err := f(ctx, req)
	if err != nil {
		t.Fatalf("%T: %v", req, err)
	}
	return res
}

// connect connects to a service of the cell.
func (c *cell) connect(t *testing.T, addr string) *grpc.ClientConn {
	t.Helper()
	conn, err := rpc.Dial(addr, rpc.DialOptions{Timeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// newStudio creates the demonstration company in a cell, and gives it what it does not have. receivers are the addresses of the
// receivers of webhooks: one that works, and one that does not yet.
func newStudio(t *testing.T, c *cell, works, fails string) *studio {
	t.Helper()
	var demo demonstration.State
	platform := demonstration.On(demonstration.Services{
		Auth: c.connect(t, c.Auth), Customer: c.connect(t, c.Customer), Booking: c.connect(t, c.Booking), Pass: c.connect(t, c.Pass),
		Subscription: c.connect(t, c.Subscription), Media: c.connect(t, c.Media), MediaURL: c.MediaURL,
	}, c.op.As)
	if err := platform.Seed(t.Context(), &demo, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	s := &studio{id: demo.CompanyID, owner: demo.OwnerEmail, password: demo.OwnerPassword}
	company := s.in(c)
	s.test = company.TestMode(t).ID
	s.key = company.NewKey(t, 0)
	made := call(rpc.WithIdempotencyKey(company.Ctx(t.Context()), "studio-key"), t, c.op.APIKeys.CreateApiKey, &authv1.CreateApiKeyRequest{Name: "Doomed"})
	s.doomed = harness.Credential{ID: made.GetApiKey().GetId(), Secret: made.GetApiSecret()}
	s.customers = company.ImportCustomers(t, "studio", 6)
	s.addEndpoints(t, c, works, fails)
	s.sell(t, c)
	s.wait(t, c)
	s.addPeople(t, c)
	s.addFilm(t, c)
	s.addTestData(t, c)
	s.request(t, c)
	return s
}

// addEndpoints adds an endpoint with two secrets, and one that fails.
func (s *studio) addEndpoints(t *testing.T, c *cell, works, fails string) {
	t.Helper()
	ctx := s.in(c).Ctx(t.Context())
	endpoint, _ := s.in(c).NewEndpoint(t, works)
	call(ctx, t, c.op.Webhooks.RotateSecret, &webhookv1.RotateSecretRequest{EndpointId: endpoint})
	call(rpc.WithIdempotencyKey(ctx, "studio-endpoint"), t, c.op.Webhooks.CreateEndpoint, &webhookv1.CreateEndpointRequest{
		Url: fails, Events: []webhookv1.EventType{webhookv1.EventType_EVENT_TYPE_REGISTRATION_CREATED},
	})
}

// sell sells spaces by card and by pass, changes bookings, and grants a discount.
func (s *studio) sell(t *testing.T, c *cell) {
	t.Helper()
	ctx := s.in(c).Ctx(t.Context())
	req := &bookingv1.CreateEventRequest{
		Title: "Morning Vinyasa", PricingOptions: []*bookingv1.NewPricingOption{{Name: "Drop-in", Price: 1200, Credits: proto.Int32(1)}},
	}
	for n := range 2 {
		req.Dates = append(req.Dates, &bookingv1.NewEventDate{
			StartsAt: timestamppb.New(time.Now().Add(time.Duration(7+n) * 24 * time.Hour).Truncate(time.Second)), DurationMinutes: 60, Capacity: proto.Int32(2),
		})
	}
	s.class = call(ctx, t, c.op.Events.CreateEvent, req).GetEvent()
	discounts := bookingv1.NewDiscountServiceClient(c.connect(t, c.Booking))
	call(ctx, t, discounts.CreateDiscountCode, &bookingv1.CreateDiscountCodeRequest{
		Code: "MOVING", Reduction: &bookingv1.CreateDiscountCodeRequest_BasisPoints{BasisPoints: 1000}, MaxUses: proto.Int32(5),
	})
	s.bought = call(ctx, t, c.op.Bookings.CreateTransaction, &bookingv1.CreateTransactionRequest{
		PurchaserId: s.customers[0], Lines: []*bookingv1.TransactionLine{{EventDateId: s.class.GetDates()[0].GetId()}}, DiscountCode: "moving",
	}).GetTransaction()
	kind := call(ctx, t, c.op.Passes.CreatePassType, &passv1.CreatePassTypeRequest{
		Title: "Ten", TotalUses: 10, ValidityCount: 1, ValidityUnit: passv1.ValidityUnit_VALIDITY_UNIT_MONTH, Price: 9000,
	}).GetPassType().GetId()
	s.pass = call(ctx, t, c.op.Passes.AssignCustomerPass, &passv1.AssignCustomerPassRequest{CustomerId: s.customers[4], PassTypeId: kind}).GetCustomerPass().GetId()
	byPass := call(ctx, t, c.op.Bookings.CreateTransaction, &bookingv1.CreateTransactionRequest{
		PurchaserId: s.customers[4], Lines: []*bookingv1.TransactionLine{{EventDateId: s.class.GetDates()[1].GetId()}},
		PaymentMethod: bookingv1.PaymentMethod_PAYMENT_METHOD_PASS, CustomerPassId: s.pass,
	})
	s.byPass = byPass.GetTransaction().GetBookings()[0].GetId()
	changes := bookingv1.NewBookingChangeServiceClient(c.connect(t, c.Booking))
	call(ctx, t, changes.MoveBooking, &bookingv1.MoveBookingRequest{BookingId: s.byPass, Spaces: 2})
	call(ctx, t, changes.TransferBooking, &bookingv1.TransferBookingRequest{BookingId: s.bought.GetBookings()[0].GetId(), CustomerId: s.customers[5]})
}

// wait fills the first date with a hold, for whose space a customer waits. Another hold has ended.
func (s *studio) wait(t *testing.T, c *cell) {
	t.Helper()
	ctx := s.in(c).Ctx(t.Context())
	s.hold = holdSpace(t, c, s.in(c), s.customers[1], s.class.GetDates()[0].GetId())
	s.waiting = call(ctx, t, c.op.Waitlist.JoinWaitlist, &bookingv1.JoinWaitlistRequest{
		EventDateId: s.class.GetDates()[0].GetId(), CustomerId: s.customers[2], Mode: bookingv1.WaitlistMode_WAITLIST_MODE_BOOK,
	}).GetEntry().GetId()
	open := call(ctx, t, c.op.Events.CreateEvent, &bookingv1.CreateEventRequest{
		Title: "Open class", PricingOptions: []*bookingv1.NewPricingOption{{Name: "Drop-in", Price: 900}}, Dates: []*bookingv1.NewEventDate{inDays(9)},
	}).GetEvent()
	ended := holdSpace(t, c, s.in(c), s.customers[1], open.GetDates()[0].GetId())
	call(ctx, t, c.op.Bookings.ReleaseHold, &bookingv1.ReleaseHoldRequest{HoldId: ended})
}

func inDays(days int) *bookingv1.NewEventDate {
	return &bookingv1.NewEventDate{StartsAt: timestamppb.New(time.Now().Add(time.Duration(days) * 24 * time.Hour).Truncate(time.Second)), DurationMinutes: 60}
}

func holdSpace(t *testing.T, c *cell, company *harness.Company, customer, date string) string {
	t.Helper()
	return call(company.Ctx(t.Context()), t, c.op.Bookings.HoldPlaces, &bookingv1.HoldPlacesRequest{
		PurchaserId: customer, Lines: []*bookingv1.TransactionLine{{EventDateId: date}},
	}).GetHold().GetId()
}

// addPeople adds a note, a calendar, a publishable key, and what administrators leave: a session, a two-step secret,
// and a sign-in, an invitation and a password reset that are not complete.
func (s *studio) addPeople(t *testing.T, c *cell) {
	t.Helper()
	ctx := s.in(c).Ctx(t.Context())
	call(ctx, t, c.op.Notes.CreateNote, &customerv1.CreateNoteRequest{CustomerId: s.customers[0], Body: "Prefers mornings."})
	s.calendar = call(ctx, t, c.op.Calendars.CreateCalendar, &bookingv1.CreateCalendarRequest{
		Kind: bookingv1.CalendarKind_CALENDAR_KIND_CUSTOMER, SubjectId: s.customers[0],
	}).GetSecret()
	s.publishable = call(ctx, t, c.op.PublishableKeys.CreatePublishableKey, &authv1.CreatePublishableKeyRequest{Name: "Website"}).GetPublishableKey().GetId()
	call(ctx, t, c.op.Subscriptions.UpdateSubscriptionSettings, &subscriptionv1.UpdateSubscriptionSettingsRequest{
		Settings: &subscriptionv1.SubscriptionSettings{PastDueAfterDays: 4, GraceDays: 7, ReminderDays: []int32{0, 5}},
	})

	signedIn := call(c.op.As(t.Context(), ""), t, c.op.Administrators.SignIn, &authv1.SignInRequest{Email: s.owner, Password: s.password})
	s.session = signedIn.GetSessionToken()
	owner := harness.WithToken(t.Context(), signedIn.GetIdentity().GetAccessToken())
	s.totp = call(owner, t, c.op.Administrators.SetupTotp, &authv1.SetupTotpRequest{Password: s.password}).GetSecret()
	s.recovery = call(owner, t, c.op.Administrators.ConfirmTotp, &authv1.ConfirmTotpRequest{Code: totpCode(t, s.totp, -1)}).GetRecoveryCodes()
	s.invitation = call(owner, t, c.op.Administrators.InviteAdministrator, &authv1.InviteAdministratorRequest{
		Email: "teacher@studio.example", Role: authv1.AdministratorRole_ADMINISTRATOR_ROLE_MANAGER,
	}).GetToken()
	pending := call(c.op.As(t.Context(), ""), t, c.op.Administrators.SignIn, &authv1.SignInRequest{Email: s.owner, Password: s.password})
	if !pending.GetTotpRequired() {
		t.Fatal("the sign-in needs no code")
	}
	s.reset = call(ctx, t, c.op.Administrators.CreatePasswordReset, &authv1.CreatePasswordResetRequest{
		Id: signedIn.GetIdentity().GetAdministrator().GetId(),
	}).GetToken()
}

// totpCode returns the code of a secret (RFC 6238), some periods from now.
func totpCode(t *testing.T, secret string, periods int64) string {
	t.Helper()
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret)
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha1.New, key)
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(time.Now().Unix()/30+periods)))
	sum := mac.Sum(nil)
	from := sum[len(sum)-1] & 15
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[from:from+4])&0x7fffffff%1_000_000)
}

// addFilm begins to upload a film of two parts, and deletes a film of the demonstration, whose files are removed later.
func (s *studio) addFilm(t *testing.T, c *cell) {
	t.Helper()
	s.content = make([]byte, 8<<20+50_000)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(s.content) // never fails
	copy(s.content, "\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom")
	ctx := s.in(c).Ctx(t.Context())
	s.film = call(ctx, t, c.op.Media.CreateMediaItem, &mediav1.CreateMediaItemRequest{Title: "Morning Flow", Kind: mediav1.MediaKind_MEDIA_KIND_VIDEO}).GetItem().GetId()
	u := call(ctx, t, c.op.Media.CreateUpload, &mediav1.CreateUploadRequest{
		ItemId: s.film, FileName: "morning-flow.mp4", ContentType: "video/mp4", Size: int64(len(s.content)),
	}).GetUpload()
	s.upload, s.partURL = u.GetId(), u.GetPartUrl()
	s.send(t, c, 1, s.content[:u.GetPartSize()])
	all := call(ctx, t, c.op.Media.ListMediaItems, &mediav1.ListMediaItemsRequest{}).GetItems()
	call(ctx, t, c.op.Media.DeleteMediaItem, &mediav1.DeleteMediaItemRequest{Id: all[0].GetId()})
}

// send sends a part of the film to a cell, with the address that the first cell gave out.
func (s *studio) send(t *testing.T, c *cell, number int, part []byte) {
	t.Helper()
	answer := c.file(t, http.MethodPut, fmt.Sprint(s.partURL, "/", number), part)
	if answer.StatusCode != http.StatusNoContent {
		t.Fatalf("part %d: %s", number, answer.Status)
	}
}

// file makes a request to the files of a cell, with an address of any cell.
func (c *cell) file(t *testing.T, method, address string, body []byte) *http.Response {
	t.Helper()
	given, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	own, err := url.Parse(c.MediaURL)
	if err != nil {
		t.Fatal(err)
	}
	given.Scheme, given.Host = own.Scheme, own.Host
	req, err := http.NewRequestWithContext(t.Context(), method, given.String(), bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// addTestData adds a subscription and a hold in test mode.
func (s *studio) addTestData(t *testing.T, c *cell) {
	t.Helper()
	company := s.testIn(c)
	ctx := company.Ctx(t.Context())
	customer := company.ImportCustomers(t, "tester", 1)[0]
	plan := call(ctx, t, c.op.Plans.CreatePlan, &subscriptionv1.CreatePlanRequest{
		Title: "Weekly", Price: 1500, IntervalUnit: subscriptionv1.IntervalUnit_INTERVAL_UNIT_WEEK, Credits: 2,
	}).GetPlan().GetId()
	s.subscription = call(ctx, t, c.op.Subscriptions.CreateSubscription, &subscriptionv1.CreateSubscriptionRequest{
		CustomerId: customer, PlanId: plan, Payment: &subscriptionv1.SubscriptionPayment{},
	}).GetSubscription().GetId()
	class := call(ctx, t, c.op.Events.CreateEvent, &bookingv1.CreateEventRequest{
		Title: "Test class", PricingOptions: []*bookingv1.NewPricingOption{{Name: "Drop-in", Price: 900}}, Dates: []*bookingv1.NewEventDate{inDays(30)},
	}).GetEvent()
	s.testHold = holdSpace(t, c, company, customer, class.GetDates()[0].GetId())
}

// createCustomer creates a customer, always with the same key, and returns the identifier.
func (s *studio) createCustomer(t *testing.T, c *cell) string {
	t.Helper()
	b := harness.NewB(t, c.Credentials.InterfaceB.BaseURL)
	return idOf(t, b.Do(t, harness.Request{
		Method: http.MethodPost, Path: "/customers", Token: b.Token(t, s.key), Header: http.Header{"Idempotency-Key": {"studio"}},
		Body: `{"firstName":"Ada","lastName":"Byron","email":"ada@example.com"}`,
	}))
}

// request makes requests that the request log and the idempotency keys have, and requests the erasure of a customer.
func (s *studio) request(t *testing.T, c *cell) {
	t.Helper()
	s.keyed = s.createCustomer(t, c)
	reports := reportsv1.NewReportMaintenanceServiceClient(c.connect(t, c.Reports))
	call(rpc.WithIdempotencyKey(s.in(c).Ctx(t.Context()), "studio-reports"), t, reports.RebuildReports, &reportsv1.RebuildReportsRequest{})
	s.erased = s.customers[3]
	erasures := privacyv1.NewErasureServiceClient(c.connect(t, c.Customer))
	call(s.in(c).Ctx(t.Context()), t, erasures.EraseCustomer, &privacyv1.EraseCustomerRequest{CustomerId: s.erased})
}
