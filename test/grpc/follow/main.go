// Command follow prints each customer that is created, updated or deleted. It is an example of
// docs/GRPC.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Getenv("NATS_URL")); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url string) error {
	conn, err := nats.Connect(url)
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	consumer, err := js.CreateOrUpdateConsumer(ctx, "RESERVATION_EVENTS", jetstream.ConsumerConfig{
		Durable: "crm-sync", AckPolicy: jetstream.AckExplicitPolicy, FilterSubjects: []string{"reservation.customer.v1.*"},
	})
	if err != nil {
		return err
	}
	running, err := consumer.Consume(func(m jetstream.Msg) {
		if err := handle(m); err != nil {
			log.Print(err)
			_ = m.Nak()
			return
		}
		_ = m.Ack()
	})
	if err != nil {
		return err
	}
	defer running.Stop()
	<-ctx.Done()
	return nil
}

// handle prints one event. Your program stores the event's id and effect in one transaction, and
// ignores an id that it has stored before.
func handle(m jetstream.Msg) error {
	name := m.Subject()[strings.LastIndexByte(m.Subject(), '.')+1:]
	event := map[string]proto.Message{
		"customer_created": &customerv1.CustomerCreated{},
		"customer_updated": &customerv1.CustomerUpdated{},
		"customer_deleted": &customerv1.CustomerDeleted{},
	}[name]
	if event == nil { // an event of a later release
		return nil
	}
	if err := proto.Unmarshal(m.Data(), event); err != nil {
		return errors.Join(fmt.Errorf("event %s", m.Headers().Get("Nats-Msg-Id")), err)
	}
	text, err := protojson.Marshal(event)
	if err != nil {
		return err
	}
	fmt.Println(name, m.Headers().Get("Reservation-Company"), string(text))
	return nil
}
