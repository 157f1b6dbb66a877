package booking

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/tenancy"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// copyOf reads the copy of a customer: "first last <email> v1 [reference] [deleted]".
func (w *world) copyOf(company id.Company, customer id.Customer) string {
	w.t.Helper()
	rows, err := pg.Rows[string](w.t.Context(), w.db, pg.For(company), `select concat_ws(' ', first_name, last_name, '<' || email || '>',
		'v' || version, reference, case when deleted_at is not null then 'deleted' end) from customers where id = $1`, customer)
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.Join(rows, "; ")
}

// eventMessage returns an event of the company as the bus delivers it.
func (w *world) eventMessage(subject string, body []byte) bus.Message {
	return bus.Message{ID: id.NewUUID(), Company: w.company, Subject: subject, Payload: body, OccurredAt: time.Now()}
}

// updateMessage returns the event of an update of a customer.
func (w *world) updateMessage(t *testing.T, customer id.Customer, name string, version int64) bus.Message {
	return w.eventMessage("customer.v1.customer_updated", payload(t, &customerv1.CustomerUpdated{Customer: &customerv1.CustomerSnapshot{
		Id: customer.String(), FirstName: name, Version: version,
	}}))
}

func TestCopies(t *testing.T) {
	t.Parallel()
	t.Run("events of the customer service update the copy of a customer", func(t *testing.T) {
		w := newWorld(t)
		copies := NewCopies(w.db, w.server.outbox, w.server.companies)
		var created customerv1.CustomerCreated
		var updated customerv1.CustomerUpdated
		var deleted customerv1.CustomerDeleted
		for _, step := range []struct {
			m    bus.Message
			want func() string
		}{
			{w.eventMessage("customer.v1.customer_created", golden(t, "customer", "customer_created", &created)),
				func() string { return described(created.GetCustomer()) }},
			{w.eventMessage("customer.v1.customer_updated", golden(t, "customer", "customer_updated", &updated)),
				func() string { return described(updated.GetCustomer()) }},
			{w.eventMessage("customer.v1.customer_deleted", golden(t, "customer", "customer_deleted", &deleted)),
				func() string { return described(deleted.GetCustomer()) + " deleted" }},
		} {
			if err := copies.handle(t.Context(), []bus.Message{step.m}); err != nil {
				t.Fatal(err)
			}
			if got := w.copyOf(w.company, idOf[id.Customer](t, created.GetCustomer().GetId())); got != step.want() {
				t.Errorf("after %s the copy is %q, want %q", step.m.Subject, got, step.want())
			}
		}
	})
	t.Run("events of a company update its copy", func(t *testing.T) {
		w := newWorld(t)
		copies := NewCopies(w.db, w.server.outbox, w.server.companies)
		snapshot := func(zone string, version int64) *authv1.CompanySnapshot {
			return &authv1.CompanySnapshot{Id: w.company.String(), Timezone: zone, Currency: "EUR", Version: version}
		}
		for _, m := range []bus.Message{
			w.eventMessage("auth.v1.company_updated", payload(t, &authv1.CompanyUpdated{Company: snapshot("Europe/Berlin", 2)})),
			w.eventMessage("auth.v1.company_created", payload(t, &authv1.CompanyCreated{Company: snapshot("Europe/London", 1)})),
		} {
			if err := copies.handle(t.Context(), []bus.Message{m}); err != nil {
				t.Fatal(err)
			}
		}
		var got tenancy.Company
		err := w.db.Read(t.Context(), pg.For(w.company), w.server.companies.Query(w.company, &got))
		if err != nil || got.Timezone != "Europe/Berlin" || got.Currency != "EUR" {
			t.Errorf("the copy is %v, %v", got, err)
		}
	})
	t.Run("events reach the copy over the bus, in batches", func(t *testing.T) {
		w := newWorld(t)
		b := testkit.Bus(t)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- NewCopies(w.db, w.server.outbox, w.server.companies).Run(ctx, b) }()
		var all []bus.Message
		for n := range 2000 {
			all = append(all, w.updateMessage(t, id.New[id.Customer](), fmt.Sprint(n), 1))
		}
		if _, err := b.Publish(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, time.Minute, func() error {
			if n := one[int64](w, `select count(*) from customers`); n != 2000 {
				return fmt.Errorf("%d customers", n)
			}
			return nil
		})
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestOrderOfCopies(t *testing.T) {
	t.Parallel()
	t.Run("an older version changes nothing, in one batch or in several (invariant 8)", func(t *testing.T) {
		w := newWorld(t)
		copies := NewCopies(w.db, w.server.outbox, w.server.companies)
		ann, ben := id.New[id.Customer](), id.New[id.Customer]()
		for _, batch := range [][]bus.Message{
			{w.updateMessage(t, ann, "third", 3), w.updateMessage(t, ben, "ben", 1), w.updateMessage(t, ann, "first", 1), w.updateMessage(t, ann, "second", 2)},
			{w.updateMessage(t, ann, "second again", 2), w.updateMessage(t, ben, "benny", 2)},
			{w.updateMessage(t, ann, "third again", 3)},
		} {
			if err := copies.handle(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
		}
		if a, b := w.copyOf(w.company, ann), w.copyOf(w.company, ben); a != "third  <> v3" || b != "benny  <> v2" {
			t.Errorf("the copies are %q and %q", a, b)
		}
	})
	t.Run("a repeated delivery changes nothing (invariant 8)", func(t *testing.T) {
		w := newWorld(t)
		copies := NewCopies(w.db, w.server.outbox, w.server.companies)
		ann := id.New[id.Customer]()
		m := w.updateMessage(t, ann, "ann", 1)
		for range 3 {
			if err := copies.handle(t.Context(), []bus.Message{m, m}); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.copyOf(w.company, ann); got != "ann  <> v1" {
			t.Errorf("the copy is %q", got)
		}
	})
	t.Run("companies do not mix, and an unknown event does not block the others", func(t *testing.T) {
		w := newWorld(t)
		ann := id.New[id.Customer]()
		theirs := w.updateMessage(t, ann, "theirs", 9)
		theirs.Company = id.New[id.Company]()
		batch := []bus.Message{w.updateMessage(t, ann, "ours", 1), theirs, w.eventMessage("customer.v1.customer_merged", []byte("whatever"))}
		if err := NewCopies(w.db, w.server.outbox, w.server.companies).handle(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		if a, b := w.copyOf(w.company, ann), w.copyOf(theirs.Company, ann); a != "ours  <> v1" || b != "theirs  <> v9" {
			t.Errorf("the copies are %q and %q", a, b)
		}
	})
	t.Run("an event that cannot be read is not acknowledged", func(t *testing.T) {
		w := newWorld(t)
		ann := id.New[id.Customer]()
		good, bad := w.updateMessage(t, ann, "ann", 1), w.eventMessage("customer.v1.customer_updated", []byte{0xff})
		copies := NewCopies(w.db, w.server.outbox, w.server.companies)
		if err := copies.handle(t.Context(), []bus.Message{good, bad}); err == nil {
			t.Fatal("no error")
		}
		if err := copies.handle(t.Context(), []bus.Message{good}); err != nil {
			t.Fatal(err)
		}
		if got := w.copyOf(w.company, ann); got != "ann  <> v1" {
			t.Errorf("the copy is %q", got)
		}
	})
}

// described returns what copyOf returns for a customer who is not deleted.
func described(c *customerv1.CustomerSnapshot) string {
	s := fmt.Sprintf("%s %s <%s> v%d", c.GetFirstName(), c.GetLastName(), c.GetEmail(), c.GetVersion())
	if c.GetReference() != "" {
		s += " " + c.GetReference()
	}
	return s
}
