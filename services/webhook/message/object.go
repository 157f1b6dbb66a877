package message

import (
	"strconv"
	"strings"
	"time"

	"reservation.dev/platform/jsontext"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// object writes the members of a JSON object one after the other.
type object struct{ b []byte }

func (o *object) name(name string) {
	if len(o.b) == 0 {
		o.b = append(o.b, '{')
	} else {
		o.b = append(o.b, ',')
	}
	o.b = append(jsontext.AppendString(o.b, name), ':')
}

func (o *object) text(name, value string) {
	o.name(name)
	o.b = jsontext.AppendString(o.b, value)
}

// textOrNull writes null for "".
func (o *object) textOrNull(name, value string) {
	if value != "" {
		o.text(name, value)
		return
	}
	o.name(name)
	o.b = append(o.b, "null"...)
}

func (o *object) number(name string, value int64) {
	o.name(name)
	o.b = strconv.AppendInt(o.b, value, 10)
}

// amount writes minor units as a decimal number of major units: 25, 12.5, 0.05.
func (o *object) amount(name string, minor int64) {
	o.name(name)
	if minor < 0 {
		o.b, minor = append(o.b, '-'), -minor
	}
	o.b = strconv.AppendInt(o.b, minor/100, 10)
	switch cents := minor % 100; {
	case cents == 0:
	case cents%10 == 0:
		o.b = append(o.b, '.', '0'+byte(cents/10))
	default:
		o.b = append(o.b, '.', '0'+byte(cents/10), '0'+byte(cents%10))
	}
}

func (o *object) instant(name string, at time.Time) {
	o.name(name)
	o.b = appendInstant(o.b, at)
}

func (o *object) end() []byte { return append(o.b, '}') }

// appendInstant writes ISO 8601 in UTC, to the second.
func appendInstant(b []byte, at time.Time) []byte {
	b = append(b, '"')
	b = at.UTC().AppendFormat(b, "2006-01-02T15:04:05Z")
	return append(b, '"')
}

// Person is a customer in the form of payloads.
type Person struct{ ID, FirstName, LastName, Email string }

func (o *object) person(p Person) {
	o.text("customerId", p.ID)
	o.text("customerEmail", p.Email)
	o.text("customerName", strings.TrimSpace(p.FirstName+" "+p.LastName))
}

func personOf(c *bookingv1.CustomerReference) Person {
	return Person{c.GetId(), c.GetFirstName(), c.GetLastName(), c.GetEmail()}
}

// sampleSuffix ends every identifier of a sample.
const sampleSuffix = "01kg0000000000000000000000"

func samplePerson() Person {
	return Person{ID: "cust_" + sampleSuffix, FirstName: "Ada", LastName: "Example", Email: "ada@example.com"}
}

// publicID returns an identifier with the prefix that webhooks use for it.
func publicID(prefix, identifier string) string {
	if i := strings.LastIndexByte(identifier, '_'); i >= 0 {
		identifier = identifier[i+1:]
	}
	return prefix + identifier
}
