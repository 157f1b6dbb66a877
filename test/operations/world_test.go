package operations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/id"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	"reservation.dev/test/harness"
)

// customers is the number of customers who book, each with a pass.
const customers = 40

// world is a platform with a company that uses it.
type world struct {
	*harness.Cluster
	company *harness.Company
	client  harness.Credential // of Interface A
	key     harness.Credential // of Interface B
	session string             // of an owner, at the dashboard
	event   *bookingv1.Event
	people  []string
	mailbox *harness.Mailbox
}

// furnish creates the company, its events and passes, and its customers.
func (w *world) furnish(t *testing.T) {
	t.Helper()
	op := w.Operator(t)
	w.company = op.NewCompany(t, "Europe/London")
	// The previous release knows no other scopes.
	w.client = w.company.NewClient(t, "customers:read", "profile:read", "profile:write", "bookings:read")
	w.key = w.company.NewKey(t, 10_000)
	ctx := w.company.Ctx(t.Context())
	owner, err := op.Administrators.CreateAdministrator(ctx, &authv1.CreateAdministratorRequest{Email: "ada@example.com", Name: "Ada Lovelace"})
	if err != nil {
		t.Fatal(err)
	}
	in, err := op.Administrators.SignIn(ctx, &authv1.SignInRequest{Email: "ada@example.com", Password: owner.GetGeneratedPassword(), Address: "192.0.2.1"})
	if err != nil {
		t.Fatal(err)
	}
	w.session = in.GetSessionToken()
	w.people = w.company.ImportCustomers(t, "upgrade", customers)
	credits := int32(1)
	made, err := op.Events.CreateEvent(ctx, &bookingv1.CreateEventRequest{
		Title:          "Morning Vinyasa",
		Dates:          []*bookingv1.NewEventDate{{StartsAt: timestamppb.New(time.Now().Add(7 * 24 * time.Hour).Truncate(time.Second)), DurationMinutes: 60}},
		PricingOptions: []*bookingv1.NewPricingOption{{Name: "Drop-in", Price: 1200, Credits: &credits}},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.event = made.GetEvent()
	kind, err := op.Passes.CreatePassType(ctx, &passv1.CreatePassTypeRequest{
		Title: "Unlimited, nearly", TotalUses: 1000, ValidityCount: 6, ValidityUnit: passv1.ValidityUnit_VALIDITY_UNIT_MONTH,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, customer := range w.people {
		if _, err := op.Passes.AssignCustomerPass(ctx, &passv1.AssignCustomerPassRequest{CustomerId: customer, PassTypeId: kind.GetPassType().GetId()}); err != nil {
			t.Fatal(err)
		}
	}
	w.mailbox = w.NewMailbox(t, w.company, nil)
}

const soldSQL = `select b.id, b.is_cancelled from bookings b
	join transactions t on t.company_id = b.company_id and t.id = b.transaction_id
	where b.company_id = $1 and t.status = 'confirmed'`

// books returns the bookings in the database by registration (reg_…), and whether they are
// cancelled.
func (w *world) books(t *testing.T) map[string]bool {
	t.Helper()
	company, err := id.Parse[id.Company](w.company.ID)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), w.OwnerURL("booking"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	rows, err := conn.Query(t.Context(), soldSQL, company)
	if err != nil {
		t.Fatal(err)
	}
	books := map[string]bool{}
	var booking id.Booking
	var cancelled bool
	_, err = pgx.ForEachRow(rows, []any{&booking, &cancelled}, func() error {
		books["reg_"+strings.TrimPrefix(booking.String(), "booking_")] = cancelled
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return books
}

// deliveredLimit is longer than the lease of a delivery or an event that a stopped process has
// left behind.
const deliveredLimit = 90 * time.Second

// audit compares the bookings with the acknowledged registrations, the webhooks with the
// bookings, and the sums with the rows.
func (w *world) audit(t *testing.T, traffic *traffic) {
	books := w.books(t)
	sold := traffic.sales()
	for registration, cancelled := range sold {
		is, found := books[registration]
		if !found || is != cancelled {
			t.Errorf("%s was acknowledged, cancelled %t; it exists %t, cancelled %t", registration, cancelled, found, is)
		}
	}
	for registration := range books {
		if _, asked := sold[registration]; !asked {
			t.Errorf("%s is booked, but no client got its answer", registration)
		}
	}
	harness.Eventually(t, deliveredLimit, func() error { return w.checkNotified(books) })
	w.reservectl(t, 0, "verify")
	t.Logf("%d bookings, %d webhooks", len(books), len(w.mailbox.Mail()))
}

// notifications returns, by registration, the message identifiers with which a receiver was notified.
func notifications(m *harness.Mailbox) (map[string][]string, error) {
	messages := map[string][]string{}
	for _, m := range m.Mail() {
		var data struct {
			Registration string `json:"registrationId"`
		}
		if err := json.Unmarshal(m.Data, &data); err != nil {
			return nil, err
		}
		if !slices.Contains(messages[data.Registration], m.ID) {
			messages[data.Registration] = append(messages[data.Registration], m.ID)
		}
	}
	return messages, nil
}

// checkNotified returns an error unless the receiver was notified of every booking under exactly one
// identifier, and of nothing else.
func (w *world) checkNotified(books map[string]bool) error {
	messages, err := notifications(w.mailbox)
	if err != nil {
		return err
	}
	var faults []error
	for registration := range books {
		if n := len(messages[registration]); n != 1 {
			faults = append(faults, fmt.Errorf("%s was notified under %d identifiers", registration, n))
		}
		delete(messages, registration)
	}
	for registration := range messages {
		faults = append(faults, fmt.Errorf("the receiver was notified of %q, which is not booked", registration))
	}
	return errors.Join(faults...)
}
