package reports

import (
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
)

// TestGoldenEvents reads the events as the services publish them.
func TestGoldenEvents(t *testing.T) {
	for subject := range readers {
		t.Run(subject, func(t *testing.T) {
			service, rest, _ := strings.Cut(subject, ".")
			_, name, _ := strings.Cut(rest, ".")
			raw, err := os.ReadFile("../" + service + "/testdata/" + name + ".json")
			if err != nil {
				t.Fatal(err)
			}
			full := protoreflect.FullName("reservation." + service + ".v1." + strings.ReplaceAll(title(name), "_", ""))
			kind, err := protoregistry.GlobalTypes.FindMessageByName(full)
			if err != nil {
				t.Fatal(err)
			}
			event := kind.New().Interface()
			if err := protojson.Unmarshal(raw, event); err != nil {
				t.Fatal(err)
			}
			payload, err := proto.Marshal(event)
			if err != nil {
				t.Fatal(err)
			}
			c := converter{facts: newFacts()}
			if err := c.read(bus.Message{ID: id.NewUUID(), Subject: subject, Payload: payload}); err != nil {
				t.Fatal(err)
			}
			n := len(c.events) + len(c.dates) + len(c.bookings) + len(c.passes) + len(c.passTypes) + len(c.plans) + len(c.customers) + len(c.subscribed)
			if isQuiet := strings.HasPrefix(subject, "subscription.v1.subscription_"); n == 0 && !isQuiet {
				t.Error("the event adds no facts")
			}
			for _, b := range c.bookings {
				if b.spaces == 0 || b.customer.IsZero() || b.event.IsZero() || b.date.IsZero() || b.version == 0 {
					t.Errorf("got %+v", b)
				}
			}
		})
	}
}

// title returns snake case with the first letter of each word in upper case.
func title(name string) string {
	words := strings.Split(name, "_")
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "_")
}
