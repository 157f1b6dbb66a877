// Package message creates what endpoints receive: the JSON of a message, which is derived from one
// domain event, and its signatures.
//
// catalogue.go lists the domain events and the messages that each creates. Each webhook event has
// its own file.
package message

import (
	"bytes"
	"crypto/sha256"
	"time"

	"reservation.dev/platform/id"
)

// Message is what endpoints receive about one domain event.
type Message struct {
	ID         id.WebhookMessage
	Company    id.Company
	Event      string
	OccurredAt time.Time
	JSON       []byte
	Customers  []id.Customer     // whom it names
	Trace      map[string]string // the request and the trace of the domain event
}

// derivedID returns the identifier of a further message that a domain event creates. It is always
// the same. The first message has the identifier of the domain event.
func derivedID(event id.UUID, name string) id.WebhookMessage {
	sum := sha256.Sum256(append([]byte(name), event[:]...))
	out := event
	copy(out[6:], sum[:])
	out[6] = out[6]&0x0f | 0x70 // version 7
	out[8] = out[8]&0x3f | 0x80
	return id.WebhookMessage(out)
}

// Envelope returns the JSON of a message.
func Envelope(m *Message, data []byte) []byte { return envelope(m, "", data) }

// TestEnvelope returns the JSON of a test delivery.
func TestEnvelope(m *Message, data []byte) []byte { return envelope(m, `,"test":true`, data) }

// mode returns the member mode, after a comma. In live mode, there is none.
func (m *Message) mode() string {
	if m.Company.IsTest() {
		return `,"mode":"test"`
	}
	return ""
}

var dataMember = []byte(`,"data":`)

// envelope writes data last, after members that cannot contain its name (see dataOf).
func envelope(m *Message, mark string, data []byte) []byte {
	b := make([]byte, 0, len(data)+160)
	b = append(append(b, `{"id":"`...), m.ID.String()...)
	b = append(append(b, `","event":"`...), m.Event...)
	b = appendInstant(append(b, `","timestamp":`...), m.OccurredAt)
	b = append(append(b, m.mode()...), mark...)
	b = append(append(b, dataMember...), data...)
	return append(b, '}')
}

// dataOf returns the member data of an envelope.
func dataOf(body []byte) []byte {
	i := bytes.Index(body, dataMember)
	if i < 0 || body[len(body)-1] != '}' {
		return []byte("null")
	}
	return body[i+len(dataMember) : len(body)-1]
}
