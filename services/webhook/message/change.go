package message

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/jsontext"
	"reservation.dev/platform/resource"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// change is a resource of Interface B after a change and before it.
type change struct {
	customers     []string // identifiers of the customers whom the resource names
	needsCurrency bool     // the company's currency
	after         func(currency string) proto.Message
	before        func(currency string) proto.Message // nil: the resource is new, or was deleted
}

// resourceEvent returns an opt-in event, whose data is a resource of Interface B. read returns nil for
// a domain event that is not complete, because an earlier release published it.
func resourceEvent[E proto.Message](event webhookv1.EventType, read func(e E) *change, sample func(now time.Time) E) kind[E] {
	return kind[E]{event: event, sample: sample, read: func(e E) (*Draft, error) {
		c := read(e)
		if c == nil {
			return nil, nil
		}
		return &Draft{Customers: c.customers, NeedsCurrency: c.needsCurrency, data: c.data}, nil
	}}
}

// data returns the resource after the change, and in its member previous the old values of the members
// that the change has changed.
func (c *change) data(r Records) ([]byte, error) {
	after := resource.JSON(c.after(r.Currency))
	if c.before == nil {
		return after, nil
	}
	return withPrevious(after, resource.JSON(c.before(r.Currency)))
}

// withPrevious adds the member previous to the JSON of a resource.
func withPrevious(after, before []byte) ([]byte, error) {
	var now, old map[string]json.RawMessage
	if err := json.Unmarshal(after, &now); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(before, &old); err != nil {
		return nil, err
	}
	// A member that is absent is null in previous.
	for name := range now {
		if _, ok := old[name]; !ok {
			old[name] = json.RawMessage("null")
		}
	}
	out := append(bytes.TrimSuffix(after, []byte("}")), `,"previous":{`...)
	first := true
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if name == "updatedAt" || bytes.Equal(old[name], now[name]) {
			continue
		}
		if !first {
			out = append(out, ',')
		}
		first = false
		out = append(append(jsontext.AppendString(out, name), ':'), old[name]...)
	}
	return append(out, "}}"...), nil
}
