package admin

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// emailField matches the e-mail field of a form for a customer.
var emailField = regexp.MustCompile(`<label for="email">([^/]*)</(?:label|span)>[\s\S]*?(<input id="email"[^>]*>)`)

// requiresEmail reports whether the page's form for a customer requires the e-mail address. It checks that the label
// says so too.
func requiresEmail(t *testing.T, a answer) bool {
	t.Helper()
	found := emailField.FindStringSubmatch(a.body)
	if found == nil {
		t.Fatal("no e-mail field: " + describe(a))
	}
	required := strings.Contains(found[2], " required")
	if required == strings.Contains(found[1], "optional") {
		t.Errorf("the label is %q, required is %t", found[1], required)
	}
	return required
}

func TestOptionalEmails(t *testing.T) {
	t.Parallel()
	const walkIn = "/events/evt_1/dates/date_1/walk-in"
	setUp := func(t *testing.T, optional bool) (*world, *customerv1.Customer) {
		w := newWorld(t)
		w.company.OptionalCustomerEmails = optional
		w.signIn()
		_, ann := withEvent(w, "Yoga", "Ann")
		withSales(w)
		on(w.backend, "UpdateCustomer", func(*customerv1.UpdateCustomerRequest) (*customerv1.UpdateCustomerResponse, error) {
			return &customerv1.UpdateCustomerResponse{Customer: ann}, nil
		})
		return w, ann
	}
	nell := []string{"first", "Nell", "last", "Newcombe", "email", " ", "spaces", "1", "option", "po-1", "method", "cash", "checkin", "on"}
	t.Run("forms require an address unless the company allows customers without one", func(t *testing.T) {
		t.Parallel()
		w, _ := setUp(t, false)
		for _, path := range []string{"/customers/new", "/customers/cust_1", walkIn} {
			if !requiresEmail(t, w.get(path)) {
				t.Errorf("%s does not require it", path)
			}
		}
		for path, form := range map[string][]string{"/customers": nell, "/customers/cust_1": nell, walkIn: nell} {
			a := w.post(path, form...)
			if a.must(t, "Enter an e-mail address."); a.StatusCode != http.StatusUnprocessableEntity {
				t.Error(describe(a))
			}
		}
		if n := len(w.backend.called("CreateCustomer")) + len(w.backend.called("UpdateCustomer")); n != 0 {
			t.Errorf("%d writes", n)
		}
	})
	t.Run("a walk-in is booked with a name alone", func(t *testing.T) {
		t.Parallel()
		w, _ := setUp(t, true)
		if requiresEmail(t, w.get(walkIn)) {
			t.Error("the walk-in requires an address")
		}
		a := w.post(walkIn, nell...)
		if req := last[*customerv1.CreateCustomerRequest](w, "CreateCustomer"); req.GetFirstName() != "Nell" || req.GetEmail() != "" {
			t.Errorf("%v", req)
		}
		w.get(a.to()).must(t, "Booked: 1 space for Nell Newcombe, £12.50 (cash). Checked in: Nell Newcombe.")
	})
	t.Run("customers are added and changed without an address", func(t *testing.T) {
		t.Parallel()
		w, ann := setUp(t, true)
		if requiresEmail(t, w.get("/customers/new")) {
			t.Error("the form requires an address")
		}
		if a := w.post("/customers", nell...); a.to() != "/customers/cust_1" {
			t.Error(describe(a))
		}
		if a := w.post("/customers/cust_1", nell...); a.to() != "/customers/cust_1" {
			t.Error(describe(a))
		}
		if req := last[*customerv1.UpdateCustomerRequest](w, "UpdateCustomer"); req.Email == nil || req.GetEmail() != "" {
			t.Errorf("%v", req)
		}
		ann.Email = ""
		w.get("/customers").must(t, `class="address none">–</td>`)
		ann.Mobile = "+44 7700 900123"
		for _, path := range []string{"/customers/cust_1", "/events/evt_1/dates/date_1/book?customer=cust_1"} {
			if a := w.get(path); a.StatusCode != http.StatusOK || strings.Contains(text(a.body), ", +44") || strings.Contains(text(a.body), "Ann Smith,") {
				t.Error(describe(a))
			}
		}
	})
	t.Run("a customer without an address stays without one after the company no longer allows it", func(t *testing.T) {
		t.Parallel()
		w, ann := setUp(t, false)
		ann.Email = ""
		if requiresEmail(t, w.get("/customers/cust_1")) {
			t.Error("the form requires an address")
		}
		if a := w.post("/customers/cust_1", nell...); a.to() != "/customers/cust_1" {
			t.Error(describe(a))
		}
	})
	t.Run("shows the refusal of a service that requires an address", func(t *testing.T) {
		t.Parallel()
		w, _ := setUp(t, true)
		on(w.backend, "CreateCustomer", func(*customerv1.CreateCustomerRequest) (*customerv1.CreateCustomerResponse, error) {
			return nil, fault.InvalidFields(fault.Field{Field: "email", Rule: "required", Message: "is required"})
		})
		w.post(walkIn, nell...).must(t, `id="email-wrong"`, `value="Newcombe"`)
	})
	t.Run("an owner switches it on and off", func(t *testing.T) {
		t.Parallel()
		w, _ := setUp(t, true)
		on(w.backend, "UpdateCompany", func(*authv1.UpdateCompanyRequest) (*authv1.UpdateCompanyResponse, error) {
			return &authv1.UpdateCompanyResponse{Company: w.company}, nil
		})
		w.get("/settings/company").must(t, `name="optional" value="on" checked`, `name="unique" value="on">`)
		form := []string{"name", "Riverside", "timezone", "Europe/London", "currency", "GBP"}
		for _, want := range []bool{true, false} {
			sent := form
			if want {
				sent = append(sent, "optional", "on")
			}
			w.post("/settings/company", sent...)
			if req := last[*authv1.UpdateCompanyRequest](w, "UpdateCompany"); req.OptionalCustomerEmails == nil || req.GetOptionalCustomerEmails() != want {
				t.Errorf("%v", req)
			}
		}
	})
}
