package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"strings"
	"time"
)

// A resource has the members that Interface B shows. Amounts stay decimal numbers, as json.Number.
type resource map[string]any

func (r resource) text(member string) string {
	text, _ := r[member].(string)
	return text
}

// tables names the table of each event whose data is the whole resource. The copy has only those events and dates that
// have changed, for the members that registrations repeat.
var tables = map[string]string{
	"customer.created": "customers", "customer.updated": "customers",
	"registration.cancelled": "registrations", "registration.refunded": "registrations",
	"registration.attendance_recorded": "registrations", "customer_pass.updated": "customer-passes",
	"event.updated": "events", "event.cancelled": "events",
	"event_date.changed": "event-dates", "event_date.cancelled": "event-dates",
}

// A dataCopy is what the file contains.
type dataCopy struct {
	path   string
	Since  string    // where the messages begin
	Cursor string    // the position after the last message that was read
	ReadAt time.Time // when the lists were read

	// Tables has the resources by id. Customers who were deleted since ReadAt are in "deleted": their registrations keep
	// the name, and a late message does not restore them.
	Tables map[string]map[string]resource
}

func newCopy(path string) *dataCopy {
	return &dataCopy{path: path, Tables: map[string]map[string]resource{
		"customers": {}, "registrations": {}, "customer-passes": {}, "events": {}, "event-dates": {}, "deleted": {},
	}}
}

// load reads the file. Without one, the copy is empty.
func load(path string) (*dataCopy, error) {
	c := newCopy(path)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	return c, decode(text, c)
}

// save replaces the file. A program that is killed leaves the old one or the new one.
func (c *dataCopy) save() error {
	c.join()
	text, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(c.path+".new", c.path)
}

// join sets the members that registrations repeat from customers, events and dates. A change of these sends no message
// about the registrations.
func (c *dataCopy) join() {
	for _, r := range c.Tables["registrations"] {
		customer := c.Tables["customers"][r.text("customerId")]
		if customer == nil {
			customer = c.Tables["deleted"][r.text("customerId")]
		}
		if customer != nil {
			r["customerName"] = strings.TrimSpace(customer.text("firstName") + " " + customer.text("lastName"))
			r["customerEmail"] = customer["email"]
		}
		if event := c.Tables["events"][r.text("eventId")]; event != nil {
			r["eventTitle"] = event["title"]
		}
		if date := c.Tables["event-dates"][r.text("eventDateId")]; date != nil {
			r["eventDate"] = date["startsAt"]
		}
	}
}

// apply changes the copy by a message. Messages can arrive in any order, and more than once.
func apply(api *client, c *dataCopy, m message) error {
	id := m.Data.text("id")
	switch {
	case m.Test:
		return nil
	case m.Event == "registration.created": // its data is not the whole resource
		return fetch(api, c, "registrations", m.Data.text("registrationId"))
	case m.Event == "pass.purchased":
		return fetch(api, c, "customer-passes", m.Data.text("customerPassId"))
	case m.Event == "customer.deleted":
		delete(c.Tables["customers"], id)
		c.Tables["deleted"][id] = m.Data
		return nil
	}
	table := tables[m.Event]
	if table == "" || table == "customers" && c.Tables["deleted"][id] != nil {
		return nil
	}
	delete(m.Data, "previous")
	stored := c.Tables[table][id]
	switch then, now := stored.text("updatedAt"), m.Data.text("updatedAt"); {
	case then < now:
		c.Tables[table][id] = m.Data
	case then == now && !reflect.DeepEqual(stored, m.Data): // the times do not tell which one is newer
		return fetch(api, c, table, id)
	}
	return nil
}

// fetch reads a resource as it is now.
func fetch(api *client, c *dataCopy, table, id string) error {
	var item resource
	err := api.get("/"+table+"/"+id, nil, &item)
	if errors.Is(err, errNotFound) {
		delete(c.Tables[table], id)
		return nil
	}
	if err != nil {
		return err
	}
	c.Tables[table][id] = item
	return nil
}

func decode(text []byte, value any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(value)
}
