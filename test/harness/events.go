package harness

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"reservation.dev/platform/id"
)

// Event is a domain event in a stream.
type Event struct {
	ID string
	// Company is the tenant (comp_…).
	Company string
	// Subject has no prefix: "customer.v1.customer_created".
	Subject string
	Payload []byte
}

// Events returns all events of the domain event stream, in order.
func (c *Cluster) Events(t testing.TB) []Event {
	t.Helper()
	events, err := readEvents(t.Context(), c.engines.NATS, strings.ToUpper(busPrefix)+"_EVENTS")
	if err != nil {
		t.Fatalf("events: %v", err)
	}
	return events
}

// readEvents returns the messages of a stream, in order.
func readEvents(ctx context.Context, url, stream string) ([]Event, error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	nc, err := nats.Connect(url)
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	s, err := js.Stream(ctx, stream)
	if err != nil {
		return nil, err
	}
	left := s.CachedInfo().State.Msgs
	consumer, err := s.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverAllPolicy})
	if err != nil || left == 0 {
		return nil, err
	}
	messages, err := consumer.Messages()
	if err != nil {
		return nil, err
	}
	defer messages.Stop()
	stop := context.AfterFunc(ctx, messages.Stop)
	defer stop()
	var events []Event
	for ; left > 0; left-- {
		m, err := messages.Next()
		if err != nil {
			return nil, errors.Join(err, ctx.Err())
		}
		events = append(events, Event{
			ID: m.Headers().Get(jetstream.MsgIDHeader), Company: m.Headers().Get("Reservation-Company"),
			Subject: strings.TrimPrefix(m.Subject(), busPrefix+"."), Payload: m.Data(),
		})
	}
	return events, nil
}

// Publish publishes an event as a service does, with a new identifier.
func (c *Cluster) Publish(t testing.TB, e Event) {
	t.Helper()
	nc, err := nats.Connect(c.engines.NATS)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	m := nats.NewMsg(busPrefix + "." + e.Subject)
	m.Data = e.Payload
	m.Header.Set(jetstream.MsgIDHeader, id.NewUUID().String())
	m.Header.Set("Reservation-Company", e.Company)
	m.Header.Set("Reservation-Time", time.Now().UTC().Format(time.RFC3339Nano))
	if _, err := js.PublishMsg(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}
