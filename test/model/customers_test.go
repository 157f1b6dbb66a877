package model

import (
	"fmt"
	"net/http"

	"pgregory.net/rapid"

	"reservation.dev/test/harness"
)

type customer struct {
	id, first, last, email, mobile string
	archived, deleted, renamed     bool
}

func (c *customer) path() string { return "/customers/" + c.id }

func (c *customer) view() object {
	return object{"id": c.id, "firstName": c.first, "lastName": c.last, "email": c.email, "mobile": c.mobile, "archived": c.archived}
}

func (m *machine) addCustomer(t *rapid.T) {
	c := &customer{first: choose(t, "first", "Ada", "Zoë", "  Bo "), last: choose(t, "last", "Byron", "Núñez"), email: choose(t, "email", "a@example.com", "b@example.com")}
	body := object{"firstName": c.first, "lastName": c.last, "email": c.email}
	c.mobile, _ = optional(t, "with mobile", body, "mobile", "", "+44 7700 900100")
	c.archived, _ = optional(t, "with archived", body, "archived", true, false)
	if c.first == "  Bo " {
		c.first = "Bo"
	}
	a, _ := m.write(t, http.StatusCreated, fine, http.MethodPost, "/customers", body)
	c.id, _ = a.body["id"].(string)
	a.same(t, a.body, c.view(), "createdAt", "updatedAt")
	if a.header.Get("Location") != "/api/v1"+c.path() {
		t.Fatalf("%s: Location: %s", a.what, a.header.Get("Location"))
	}
	m.customers = append(m.customers, c)
}

func (m *machine) updateCustomer(t *rapid.T) {
	c := one(t, "customer", m.customers)
	body := object{}
	after := *c
	if v, ok := optional(t, "first", body, "firstName", "Ada", "Eve"); ok {
		after.first = v
	}
	if v, ok := optional(t, "mail", body, "email", "a@example.com", "c@example.com"); ok {
		after.email = v
	}
	if v, ok := optional(t, "mobile", body, "mobile", "", "1"); ok {
		after.mobile = v
	}
	if v, ok := optional(t, "archived", body, "archived", true, false); ok {
		after.archived = v
	}
	want := fine
	if c.deleted {
		want = missing
	}
	a, ok := m.write(t, http.StatusOK, want, choose(t, "method", http.MethodPut, http.MethodPatch), c.path(), body)
	if !ok {
		return
	}
	after.renamed = c.renamed || after != *c
	*c = after
	a.same(t, a.body, c.view(), "createdAt", "updatedAt")
}

func (m *machine) deleteCustomer(t *rapid.T) {
	c := one(t, "customer", m.customers)
	a := m.call(t, http.MethodDelete, c.path(), nil)
	if c.deleted {
		a.expect(t, 0, missing)
		return
	}
	a.expect(t, http.StatusOK, fine)
	a.same(t, a.body, object{"id": c.id, "deleted": true})
	c.deleted = true
	// Other services learn of the deletion a moment later.
	harness.Eventually(m.t, soon, func() error {
		if a := m.call(t, http.MethodPost, m.full.path()+"/registrations", object{"customerId": c.id}); a.code != http.StatusNotFound {
			return fmt.Errorf("a deleted customer is still known: %s", a.what)
		}
		return nil
	})
}

// anyCustomer draws a customer, rarely a deleted one.
func (m *machine) anyCustomer(t *rapid.T, label string) *customer { return one(t, label, m.customers) }
