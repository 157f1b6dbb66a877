package message

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"reservation.dev/devkit/testkit/openapitest"
	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
	"reservation.dev/platform/webhookevent"
)

// validate checks a body against the schema of its event.
func validate(t *testing.T, event string, body []byte) {
	t.Helper()
	schema := openapitest.Schema(t, "../../../docs/webhooks/"+event+".schema.json")
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	if err := schema.Validate(v); err != nil {
		t.Errorf("%s: %v", body, err)
	}
}

// golden returns an event as its producer's test wrote it.
func golden(t *testing.T, path, subject string, m proto.Message) bus.Message {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := protojson.Unmarshal(text, m); err != nil {
		t.Fatal(err)
	}
	payload, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	event, err := id.ParseUUID("01kg0000000000000000000009")
	if err != nil {
		t.Fatal(err)
	}
	return bus.Message{ID: event, Subject: subject, Payload: payload, OccurredAt: time.Date(2026, 1, 31, 10, 34, 5, 999, time.FixedZone("", 3600))}
}

// messages returns the JSON of the messages that a domain event creates, by event, and checks each
// against its schema.
func messages(t *testing.T, e bus.Message) map[string]string {
	t.Helper()
	drafts, err := NewCatalogue().Drafts(e)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, d := range drafts {
		var known Records
		if d.NeedsCurrency {
			known.Currency = "EUR"
		}
		if d.NeedsRecord != "" {
			known.Customer = Person{ID: d.NeedsRecord, FirstName: "Zoë", LastName: "O'Brien", Email: "zoe@example.com"}
		}
		m, err := d.Complete(known)
		if err != nil {
			t.Fatal(err)
		}
		validate(t, m.Event, m.JSON)
		out[m.Event] = string(m.JSON)
	}
	return out
}

func TestEveryEventHasASampleLikeARealMessage(t *testing.T) {
	t.Parallel()
	for _, event := range webhookevent.Names() {
		data, err := NewCatalogue().Sample(event, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		company := id.New[id.Company]()
		for _, c := range []id.Company{company, company.Test()} {
			m := &Message{ID: id.New[id.WebhookMessage](), Company: c, Event: event, OccurredAt: time.Now()}
			validate(t, event, Envelope(m, data))
			validate(t, event, TestEnvelope(m, data))
		}
	}
}

func TestAmountsAreDecimalNumbers(t *testing.T) {
	t.Parallel()
	for minor, want := range map[int64]string{0: "0", 5: "0.05", 50: "0.5", 2500: "25", 2551: "25.51", 123456789: "1234567.89", -5: "-0.05"} {
		var o object
		o.amount("n", minor)
		if got := string(o.end()); got != `{"n":`+want+`}` || !json.Valid([]byte(got)) {
			t.Errorf("%d is %s, want %s", minor, got, want)
		}
	}
}
