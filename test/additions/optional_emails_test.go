package additions

import (
	"testing"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// allowNoEmail sets whether customers of the company may have no e-mail address, and requires unique addresses.
func (c *caller) allowNoEmail(t *testing.T, optional bool) {
	t.Helper()
	unique := true
	_, err := c.p.operator.Companies.UpdateCompany(c.company.Ctx(t.Context()), &authv1.UpdateCompanyRequest{
		UniqueCustomerEmails: &unique, OptionalCustomerEmails: &optional,
	})
	if err != nil {
		t.Fatal(err)
	}
}

func testOptionalEmails(t *testing.T, p *platform) {
	c := p.newCaller(t)
	a := c.interfaceA(t)
	b := c.subscribe(t, "customer.created", "registration.created", "pass.purchased")
	nell := object{"firstName": "Nell", "lastName": "Newcombe"}
	missing := object{"error.code": "VALIDATION_ERROR", "error.details.field": "email", "error.details.rule": "required"}

	t.Run("email is required unless the company allows customers without one", func(t *testing.T) {
		for _, body := range []object{nell, with(nell, object{"email": ""}), with(nell, object{"email": nil})} {
			has(t, decode(t, c.Send(t, 400, post, "/customers", body)), missing)
		}
		c.lists(t, "/customers")
	})

	c.allowNoEmail(t, true)
	first, second := c.create(t, "/customers", nell), c.create(t, "/customers", with(nell, object{"email": " "}))
	id := text(first, "id")
	t.Run("several customers have none, and are shown with an empty one", func(t *testing.T) {
		has(t, first, object{"email": "", "firstName": "Nell"})
		c.lists(t, "/customers", id, text(second, "id"))
		c.lists(t, "/customers?q=newc", id, text(second, "id"))
		has(t, b.await(t, "customer.created", id), object{"email": ""})
		has(t, a.Read(t, 200, get, "/customer/"+id+"/profile", nil), object{"data.email": ""})
		has(t, a.Read(t, 200, get, "/customers", nil), object{"data.0.email": "", "data.1.email": ""})
	})
	t.Run("they are booked, and buy passes", func(t *testing.T) {
		registration := c.register(t, c.event(t, nil), id, by("CASH"))
		has(t, registration, object{"customerEmail": "", "customerName": "Nell Newcombe"})
		has(t, b.await(t, "registration.created", text(registration, "id")), object{"customerEmail": "", "customerName": "Nell Newcombe"})
		bought := c.give(t, c.passType(t, nil), id, by("CASH"))
		has(t, b.await(t, "pass.purchased", text(bought, "id")), object{"customerEmail": "", "customerName": "Nell Newcombe"})
		has(t, a.Read(t, 200, get, "/customer/"+id+"/bookings", nil), object{"data.0.bookings.0.purchased_by.email": ""})
	})
	t.Run("Interface A still requires one", func(t *testing.T) {
		body := object{"firstname": "Nell", "lastname": "Newcombe"}
		has(t, decode(t, a.Send(t, 400, put, "/customer/"+id+"/profile", body)), missing)
		a.Send(t, 400, put, "/customer/"+id+"/profile", with(body, object{"email": " "}))
	})
	t.Run("an update sets one and clears it", func(t *testing.T) {
		has(t, c.Read(t, 200, put, path(id), object{"email": "nell@example.com"}), object{"email": "nell@example.com"})
		c.refuses(t, "EMAIL_ALREADY_EXISTS", put, path(text(second, "id")), object{"email": "NELL@example.com"})
		has(t, c.Read(t, 200, put, path(id), object{"email": ""}), object{"email": "", "firstName": "Nell"})
	})

	c.allowNoEmail(t, false)
	t.Run("after the company switches it off, they stay without one and can be updated", func(t *testing.T) {
		tag := c.Send(t, 200, get, path(id), nil).Header.Get("ETag")
		changed := decode(t, c.Send(t, 200, put, path(id), object{"firstName": "Nelly", "email": "", "archived": true}, "If-Match", tag))
		has(t, changed, object{"firstName": "Nelly", "email": "", "archived": true})
		has(t, decode(t, c.Send(t, 400, post, "/customers", nell)), missing)
		has(t, c.Read(t, 200, put, path(id), object{"email": "nelly@example.com"}), object{"email": "nelly@example.com"})
		has(t, decode(t, c.Send(t, 400, put, path(id), object{"email": ""})), missing)
		c.delete(t, path(text(second, "id")))
	})
}
