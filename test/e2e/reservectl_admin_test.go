package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	"reservation.dev/test/harness"
)

// adminLine is an administrator as reservectl prints it.
type adminLine struct {
	ID, Email, Name, Role, State, Password string
}

func (o operator) testAdmin(t *testing.T) {
	op := o.s.Platform.Operator(t)
	companyID := op.NewCompany(t, "Europe/London").ID
	made := decode[adminLine](t, o.ok(t, "admin", "create", "--company", companyID, "--email", "ada@example.com", "--role", "manager"))
	signIn := func(t *testing.T, password string) (*authv1.SignInResponse, error) {
		t.Helper()
		return op.Administrators.SignIn(t.Context(), &authv1.SignInRequest{Email: made.Email, Password: password, Address: "192.0.2.1"})
	}
	in, err := signIn(t, made.Password)
	if err != nil {
		t.Fatal(err)
	}
	raw := in.GetIdentity().GetAccessToken()

	t.Run("an administrator's access token works with the front desk methods of every service", func(t *testing.T) {
		ctx := harness.WithToken(t.Context(), raw)
		_, customer := op.Customers.CreateCustomer(ctx, &customerv1.CreateCustomerRequest{FirstName: "Zoë", LastName: "B", Email: "z@example.com"})
		_, booking := op.Events.ListEvents(ctx, &bookingv1.ListEventsRequest{})
		_, pass := op.Passes.ListPassTypes(ctx, &passv1.ListPassTypesRequest{})
		for name, err := range map[string]error{"customer": customer, "booking": booking, "pass": pass} {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := op.Clients.ListApiClients(ctx, &authv1.ListApiClientsRequest{}); fault.From(err).Reason != fault.ReasonInsufficientScope {
			t.Errorf("staff and API clients: %v", err)
		}
	})
	t.Run("an administrator's access token does not work on the interfaces", func(t *testing.T) {
		answer := o.s.A(t).Do(t, harness.Request{Path: "/customers", Token: raw})
		answer.Refused(t, http.StatusUnauthorized, fault.ReasonUnauthorized)
	})
	t.Run("disabling the administrator revokes the token everywhere", func(t *testing.T) {
		o.ok(t, "admin", "disable", "--company", companyID, strings.ToUpper(made.Email))
		harness.Eventually(t, eventLimit, func() error {
			_, err := op.Customers.ListCustomers(harness.WithToken(t.Context(), raw), &customerv1.ListCustomersRequest{})
			if fault.From(err) == nil || fault.From(err).Kind != fault.Unauthenticated {
				return fmt.Errorf("got %w", err)
			}
			return nil
		})
		if _, err := signIn(t, made.Password); fault.From(err).Reason != fault.ReasonInvalidCredentials {
			t.Errorf("got %v", err)
		}
		list := decode[[]adminLine](t, o.ok(t, "admin", "list", "--company", companyID))
		if len(list) != 1 || list[0].State != "disabled" {
			t.Errorf("got %v", list)
		}
	})
	t.Run("a new password is read from standard input and not printed", func(t *testing.T) {
		o.ok(t, "admin", "enable", "--company", companyID, made.ID)
		out := o.run(t, "a password of words\n", "admin", "reset-password", "--company", companyID, made.Email, "--password-stdin").Succeeded(t)
		if strings.Contains(out, "words") {
			t.Errorf("got %s", out)
		}
		if _, err := signIn(t, "a password of words"); err != nil {
			t.Error(err)
		}
	})
}
