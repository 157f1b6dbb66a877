package bus

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"

	"reservation.dev/platform/id"
)

// Message is an event on the bus.
type Message struct {
	ID id.UUID
	// Company is the tenant; zero for events of the whole installation.
	Company id.Company
	// Subject has no prefix: "customer.v1.customer_created".
	Subject    string
	Payload    []byte
	OccurredAt time.Time
	// Trace is the propagated trace context of the request that caused the event, with
	// the request's id under RequestID.
	Trace map[string]string
	// Actor is the credential of the company whose request caused the event: key_…, m2m_… or
	// svc_…. It is "" if a person or the platform itself caused it. Consume sets it from Trace.
	Actor string
	// Method is the gRPC method that the actor called; "" without an actor.
	Method string
	// Attempt counts deliveries to this consumer, from 1. It is not published.
	Attempt int
}

// Context returns ctx with the trace in which m was caused, so that handling m joins that
// trace.
func (m Message) Context(ctx context.Context) context.Context {
	if len(m.Trace) == 0 {
		return ctx
	}
	return otel.GetTextMapPropagator().Extract(ctx, propagation.MapCarrier(m.Trace))
}

// RequestID is the key in Message.Trace, and the header, of the id of the request that
// caused an event.
const RequestID = "X-Request-Id"

// Actor and Method are the keys in the Trace of a published Message, and the headers, of the
// fields with these names. A relay of an earlier release publishes them too, because their names
// do not begin with "Reservation-".
const (
	Actor  = "X-Actor"
	Method = "X-Method"
)

// The headers of an event. The server defines Nats-Msg-Id and discards a second message
// with the same value.
const (
	headerID      = jetstream.MsgIDHeader
	headerCompany = "Reservation-Company"
	headerTime    = "Reservation-Time"
)

func (b *Bus) encode(m Message) (*nats.Msg, error) {
	if m.ID.IsZero() {
		return nil, fmt.Errorf("%s: the event has no id", m.Subject)
	}
	if err := CheckSubject(m.Subject); err != nil {
		return nil, err
	}
	h := make(nats.Header, 3+len(m.Trace))
	h[headerID] = []string{m.ID.String()}
	h[headerTime] = []string{m.OccurredAt.UTC().Format(time.RFC3339Nano)}
	if !m.Company.IsZero() {
		h[headerCompany] = []string{m.Company.String()}
	}
	for key, value := range m.Trace {
		if !isOwnHeader(key) {
			h[key] = []string{value}
		}
	}
	return &nats.Msg{Subject: b.full(m.Subject), Header: h, Data: m.Payload}, nil
}

func isOwnHeader(header string) bool {
	return strings.HasPrefix(header, "Nats-") || strings.HasPrefix(header, "Reservation-")
}

// decode reads a message that encode has written. Any other message is an error.
func (b *Bus) decode(raw jetstream.Msg) (Message, error) {
	m := Message{Subject: b.short(raw.Subject()), Payload: raw.Data()}
	var err error
	for key, values := range raw.Headers() {
		if len(values) == 0 {
			continue
		}
		switch {
		case key == headerID:
			m.ID, err = id.ParseUUID(values[0])
		case key == headerCompany:
			m.Company, err = id.Parse[id.Company](values[0])
		case key == headerTime:
			m.OccurredAt, err = time.Parse(time.RFC3339Nano, values[0])
		case key == Actor:
			m.Actor = values[0]
		case key == Method:
			m.Method = values[0]
		case !isOwnHeader(key):
			if m.Trace == nil {
				m.Trace = make(map[string]string, 2)
			}
			m.Trace[key] = values[0]
		}
		if err != nil {
			return m, fmt.Errorf("header %s: %w", key, err)
		}
	}
	if m.ID.IsZero() {
		return m, fmt.Errorf("header %s is missing", headerID)
	}
	return m, nil
}
