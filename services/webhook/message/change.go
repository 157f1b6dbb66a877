package message

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/edge"
	"reservation.dev/platform/jsontext"
	"reservation.dev/platform/resource"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// change is a resource of Interface B after a change and before it.
type change struct {
	customers     []string // identifiers of the customers whom the resource names
	needsCurrency bool     // the company's currency
	after         func(currency string) proto.Message
	before        func(currency string) proto.Message // nil: the message does not show it
	extra         []edge.Member                       // members after those of the resource
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

// data returns the resource after the change, the extra members, and in the member previous the old
// values of the members that the change has changed.
func (c *change) data(r Records) ([]byte, error) {
	after := resource.Members(c.after(r.Currency))
	if c.before == nil {
		return appendObject(nil, slices.Concat(after, c.extra)), nil
	}
	return withPrevious(after, resource.Members(c.before(r.Currency)), c.extra...), nil
}

// withPrevious writes the members of a resource, the extra members, and then the member previous.
func withPrevious(after, before []edge.Member, extra ...edge.Member) []byte {
	previous := differences(after, before)
	slices.SortFunc(previous, func(a, b edge.Member) int { return strings.Compare(a.Name, b.Name) })
	last := edge.Member{Name: "previous", Value: appendObject(nil, previous)}
	return appendObject(nil, append(slices.Concat(after, extra), last))
}

// differences returns the members of before whose values are others in after, and null for each member
// that only after has. It leaves out updatedAt, which always differs.
func differences(after, before []edge.Member) (changed []edge.Member) {
	now := make(map[string][]byte, len(after))
	for _, m := range after {
		now[m.Name] = m.Value
	}
	for _, m := range before {
		value, exists := now[m.Name]
		delete(now, m.Name)
		if m.Name != "updatedAt" && (!exists || !bytes.Equal(value, m.Value)) {
			changed = append(changed, m)
		}
	}
	delete(now, "updatedAt")
	for name, value := range now {
		if null := []byte("null"); !bytes.Equal(value, null) {
			changed = append(changed, edge.Member{Name: name, Value: null})
		}
	}
	return changed
}

func appendObject(b []byte, members []edge.Member) []byte {
	b = append(b, '{')
	for i, m := range members {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(jsontext.AppendString(b, m.Name), ':'), m.Value...)
	}
	return append(b, '}')
}
