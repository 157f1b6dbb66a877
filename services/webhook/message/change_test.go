package message

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/edge"
	"reservation.dev/platform/id"
	"reservation.dev/platform/subjects"
	"reservation.dev/platform/webhookevent"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

var update = flag.Bool("update", false, "write the golden messages of the samples")

func TestTheCatalogueFollowsTheDefinitions(t *testing.T) {
	t.Parallel()
	follows := map[string][]string{}
	for _, s := range NewCatalogue() {
		for _, event := range s.events {
			follows[event] = append(follows[event], s.subject)
		}
	}
	for _, e := range webhookevent.All() {
		if !slices.Equal(follows[e.Name], e.Follows) {
			t.Errorf("%s follows %v, want %v", e.Name, follows[e.Name], e.Follows)
		}
	}
	if len(follows) != len(webhookevent.All()) {
		t.Errorf("%d events, want %d", len(follows), len(webhookevent.All()))
	}
}

// sampleMessage returns the message of an event's sample as intake creates it.
func sampleMessage(t *testing.T, event string, now time.Time) Message {
	t.Helper()
	e, err := NewCatalogue().sampleEvent(event, now)
	if err != nil {
		t.Fatal(err)
	}
	if e.ID, err = id.ParseUUID("01kg0000000000000000000009"); err != nil {
		t.Fatal(err)
	}
	drafts, err := NewCatalogue().Drafts(e)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range drafts {
		if d.Message.Event == event {
			m, err := d.Complete(Records{Customer: samplePerson(), Currency: "GBP"})
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
	}
	t.Fatalf("%s creates no %s", e.Subject, event)
	return Message{}
}

func TestGoldenMessages(t *testing.T) { // invariant 9
	t.Parallel()
	now := time.Date(2026, 3, 22, 9, 30, 0, 0, time.UTC)
	for _, e := range webhookevent.All() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			got := sampleMessage(t, e.Name, now)
			validate(t, e.Name, got.JSON)
			var pretty bytes.Buffer
			if err := json.Indent(&pretty, got.JSON, "", "  "); err != nil {
				t.Fatal(err)
			}
			pretty.WriteByte('\n')
			path := filepath.Join("testdata", e.Name+".json")
			if *update {
				if err := os.WriteFile(path, pretty.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if pretty.String() != string(want) {
				t.Errorf("got  %s\nwant %s", pretty.Bytes(), want)
			}
			var body struct {
				Data struct{ Previous map[string]any }
			}
			if err := json.Unmarshal(got.JSON, &body); err != nil {
				t.Fatal(err)
			}
			if changed := len(body.Data.Previous) > 0; changed != e.Previous {
				t.Errorf("previous is %v, want %t", body.Data.Previous, e.Previous)
			}
		})
	}
}

// The producers' tests write the golden events of this release, so each of them creates a valid message.
func TestEveryGoldenEventCreatesItsMessages(t *testing.T) {
	t.Parallel()
	for _, s := range NewCatalogue() {
		t.Run(s.subject, func(t *testing.T) {
			t.Parallel()
			service, name, _ := strings.Cut(s.subject, ".v1.")
			m := s.empty()
			e := golden(t, "../../"+service+"/testdata/"+name+".json", s.subject, m)
			got := messages(t, e)
			for _, event := range s.events {
				if got[event] == "" {
					t.Errorf("there is no %s", event)
				}
			}
		})
	}
}

func TestPrevious(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, after, before, want string }{
		{"has the old values of the members that differ, sorted", `{"id":"1","b":{"x":2},"a":[2]}`, `{"id":"1","b":{"x":1},"a":[]}`, `{"a":[],"b":{"x":1}}`},
		{"leaves out when the resource was updated", `{"updatedAt":"2","a":2}`, `{"updatedAt":"1","a":1}`, `{"a":1}`},
		{"has null for a member that was absent", `{"a":1,"b":2}`, `{"a":1}`, `{"b":null}`},
		{"has a member that is absent now", `{"a":1}`, `{"a":1,"b":2}`, `{"b":2}`},
		{"is empty if nothing that the resource shows has changed", `{"a":1}`, `{"a":1}`, `{}`},
		{"keeps the text as it is", `{"a":"}"}`, `{"a":"<b>&\"}"}`, `{"a":"<b>&\"}"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := withPrevious(membersOf(t, tt.after), membersOf(t, tt.before))
			var object struct{ Previous json.RawMessage }
			if err := json.Unmarshal(got, &object); err != nil || string(object.Previous) != tt.want {
				t.Errorf("got %s, %v; want %s", got, err, tt.want)
			}
		})
	}
	t.Run("follows the members of the resource", func(t *testing.T) {
		t.Parallel()
		after := []edge.Member{{Name: "b", Value: []byte(`[1]`)}, {Name: "a", Value: []byte(`"x"`)}}
		if got, want := string(withPrevious(after, after[:1])), `{"b":[1],"a":"x","previous":{"a":null}}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		extra := edge.Member{Name: "c", Value: []byte("3")}
		if got, want := string(withPrevious(after, after[:1], extra)), `{"b":[1],"a":"x","c":3,"previous":{"a":null}}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// membersOf returns the members of a JSON object.
func membersOf(t *testing.T, object string) (members []edge.Member) {
	t.Helper()
	var values map[string]json.RawMessage
	if err := json.Unmarshal([]byte(object), &values); err != nil {
		t.Fatal(err)
	}
	for name, value := range values {
		members = append(members, edge.Member{Name: name, Value: value})
	}
	return members
}

// Processes of the previous release publish domain events without the state before the change, and
// resources without the members that are new.
func TestEventsOfThePreviousReleaseCreateNoHalfMessages(t *testing.T) { // invariant 9
	t.Parallel()
	now := time.Now()
	entry := sampleEntry(now)
	entry.EventId, entry.UpdatedAt = "", nil
	event := sampleEvent(now)
	event.Summary = nil
	booking, date := samplePurchase(now), sampleDate(now)
	for subject, m := range map[string]proto.Message{
		subjects.BookingCancelled: &bookingv1.BookingCancelled{Booking: booking}, subjects.BookingRefunded: &bookingv1.BookingRefunded{Booking: booking},
		subjects.AttendanceRecorded: &bookingv1.AttendanceRecorded{Booking: booking},
		subjects.BookingMoved:       &bookingv1.BookingMoved{Booking: booking}, subjects.BookingTransferred: &bookingv1.BookingTransferred{Booking: booking},
		subjects.WaitlistJoined: &bookingv1.WaitlistJoined{Entry: entry}, subjects.WaitlistOffered: &bookingv1.WaitlistOffered{Entry: entry},
		subjects.WaitlistEnded: &bookingv1.WaitlistEnded{Entry: entry},
		subjects.EventCreated:  &bookingv1.EventCreated{Event: event}, subjects.EventUpdated: &bookingv1.EventUpdated{Event: event},
		subjects.EventDatesAdded:             &bookingv1.EventDatesAdded{EventId: event.GetId(), Dates: []*bookingv1.EventDate{date}, Version: 2},
		subjects.EventCancelled:              &bookingv1.EventCancelled{EventId: event.GetId(), Version: 2},
		subjects.EventDateUpdated:            &bookingv1.EventDateUpdated{EventId: event.GetId(), Date: date, Version: 2},
		subjects.EventDateCancelled:          &bookingv1.EventDateCancelled{EventId: event.GetId(), Date: date, Version: 2},
		subjects.CustomerUpdated:             &customerv1.CustomerUpdated{Customer: sampleCustomer(now)},
		subjects.SubscriptionRenewed:         &subscriptionv1.SubscriptionRenewed{Subscription: sampleSubscription(now)},
		subjects.SubscriptionPaymentDue:      &subscriptionv1.SubscriptionPaymentDue{Subscription: sampleSubscription(now)},
		subjects.SubscriptionPaymentRecorded: &subscriptionv1.SubscriptionPaymentRecorded{Subscription: sampleSubscription(now), Period: samplePeriod(now, 2, 0)},
		subjects.MediaItemUpdated:            &mediav1.MediaItemUpdated{Item: sampleMedia(now)},
		subjects.AppointmentMoved:            &bookingv1.AppointmentMoved{Appointment: sampleAppointment(now)},
		subjects.AppointmentCancelled:        &bookingv1.AppointmentCancelled{Appointment: sampleAppointment(now)},
		subjects.CustomerPassUpdated:         &passv1.CustomerPassUpdated{CustomerPass: sampleRedemption(now).GetPrevious()},
	} {
		payload, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		drafts, err := NewCatalogue().Drafts(bus.Message{Subject: subject, Payload: payload})
		if err != nil || len(drafts) != 0 {
			t.Errorf("%s creates %d messages, %v", subject, len(drafts), err)
		}
	}
	t.Run("created and deleted customers are complete", func(t *testing.T) {
		for subject, m := range map[string]proto.Message{
			subjects.CustomerCreated: &customerv1.CustomerCreated{Customer: sampleCustomer(now)},
			subjects.CustomerDeleted: &customerv1.CustomerDeleted{Customer: sampleCustomer(now)},
		} {
			payload, err := proto.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			if got := messages(t, bus.Message{ID: id.NewUUID(), Subject: subject, Payload: payload, OccurredAt: now}); len(got) != 1 {
				t.Errorf("%s creates %v", subject, got)
			}
		}
	})
}

// Erasure finds messages by the customers that the catalogue names, so it must name every customer
// whose identifier is in the data.
func TestEveryCustomerInAMessageIsNamed(t *testing.T) { // invariant 11
	t.Parallel()
	for _, event := range webhookevent.Names() {
		e, err := NewCatalogue().sampleEvent(event, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		source := NewCatalogue()[slices.IndexFunc(NewCatalogue(), func(s source) bool { return s.subject == e.Subject })]
		other := source.sample(event, time.Now())
		friend := id.New[id.Customer]()
		bookForFriend(other.ProtoReflect(), friend.String())
		if e.Payload, err = proto.Marshal(other); err != nil {
			t.Fatal(err)
		}
		drafts, err := NewCatalogue().Drafts(e)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range drafts {
			m, err := d.Complete(Records{Customer: samplePerson(), Currency: "GBP"})
			if err != nil {
				t.Fatal(err)
			}
			named := map[string]bool{}
			for _, c := range m.Customers {
				named[c.String()] = true
			}
			for _, customer := range regexp.MustCompile(`cust_[0-9a-z]{26}`).FindAllString(string(m.JSON), -1) {
				if !named[customer] {
					t.Errorf("%s has %s, but names only %v", m.Event, customer, m.Customers)
				}
			}
		}
	}
}

// bookForFriend sets the customer who attends in every booking of a message.
func bookForFriend(m protoreflect.Message, friend string) {
	if b, ok := m.Interface().(*bookingv1.Booking); ok {
		b.BoughtFor = &bookingv1.CustomerReference{Id: friend, FirstName: "Max", LastName: "Example", Email: "max@example.com"}
		return
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Message() == nil || fd.IsMap():
		case fd.IsList():
			for i := range v.List().Len() {
				bookForFriend(v.List().Get(i).Message(), friend)
			}
		default:
			bookForFriend(v.Message(), friend)
		}
		return true
	})
}

func TestLongDataIsNotInTheJWT(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := NewSecret(id.NewUUID(), now)
	for size, want := range map[int]bool{maxDataClaim: true, maxDataClaim + 1: false} {
		data := []byte(`"` + strings.Repeat("x", size-2) + `"`)
		message := Message{ID: id.New[id.WebhookMessage](), Event: "event.updated", OccurredAt: now}
		message.JSON = Envelope(&message, data)
		body := NewBody(&message)
		signer := NewSigner(s)
		claims := verifyJWT(t, signer.token("reservation", body, now), s)
		if _, got := claims["data"]; got != want || claims["body_sha256"] == nil {
			t.Errorf("%d bytes of data: in the JWT %t, want %t", size, got, want)
		}
	}
}
