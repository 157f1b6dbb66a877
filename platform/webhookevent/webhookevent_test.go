package webhookevent_test

import (
	"slices"
	"strings"
	"testing"

	"reservation.dev/platform/webhookevent"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

func TestEveryTypeOfTheProtocolIsListed(t *testing.T) {
	t.Parallel()
	for number, value := range webhookv1.EventType_name {
		eventType := webhookv1.EventType(number)
		name := webhookevent.Name(eventType)
		if eventType == webhookv1.EventType_EVENT_TYPE_UNSPECIFIED {
			if name != "" {
				t.Errorf("%s is the event %q", value, name)
			}
			continue
		}
		// REGISTRATION_CREATED is registration.created.
		if want := strings.ToLower(strings.TrimPrefix(value, "EVENT_TYPE_")); strings.ReplaceAll(name, ".", "_") != want {
			t.Errorf("%s is the event %q", value, name)
		}
		if webhookevent.Type(name) != eventType {
			t.Errorf("%q is of type %s, want %s", name, webhookevent.Type(name), value)
		}
	}
	if got := webhookevent.Type("registration.forgotten"); got != webhookv1.EventType_EVENT_TYPE_UNSPECIFIED {
		t.Errorf("an unknown name is of type %s", got)
	}
}

func TestEventsAreListedInTheOrderOfTheirTypes(t *testing.T) {
	t.Parallel()
	if types := webhookevent.Types(); !slices.IsSorted(types) {
		t.Errorf("got %v", types)
	}
}

// An endpoint that was created before there were other events receives no more than before.
func TestTheDefaultEventsAreThoseOfTheSpecification(t *testing.T) {
	t.Parallel()
	want := []string{"registration.created", "pass.purchased", "event.purchased"}
	if got := webhookevent.DefaultNames(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, e := range webhookevent.All() {
		if e.IsDefault() != slices.Contains(want, e.Name) || e.IsDefault() && e.Previous {
			t.Errorf("%+v", e)
		}
	}
}

func TestEventsAreDescribed(t *testing.T) {
	t.Parallel()
	for _, e := range webhookevent.All() {
		if e.Title == "" || !strings.HasSuffix(e.Summary, ".") || len(e.Follows) == 0 {
			t.Errorf("%+v", e)
		}
		if !e.IsDefault() && (e.Resource.Words() == "" || e.Resource.Tag() == "") {
			t.Errorf("the resource %s of %s has no words", e.Resource, e.Name)
		}
	}
}

func TestEveryTypeIsListedOnce(t *testing.T) {
	t.Parallel()
	if len(webhookevent.All()) != len(webhookv1.EventType_name)-1 {
		t.Errorf("%d events, %d types", len(webhookevent.All()), len(webhookv1.EventType_name)-1)
	}
}

func TestNamesNearAnUnknownOneBeginWithThoseOfItsResource(t *testing.T) {
	t.Parallel()
	near := webhookevent.NamesNear("appointment.created")
	other := slices.IndexFunc(near, func(name string) bool { return !strings.HasPrefix(name, "appointment.") })
	if other < 1 || slices.ContainsFunc(near[other:], func(name string) bool { return strings.HasPrefix(name, "appointment.") }) {
		t.Errorf("got %q", near)
	}
	if rest := webhookevent.NamesNear("x"); !slices.Equal(rest, webhookevent.Names()) {
		t.Errorf("got %q", rest)
	}
	slices.Sort(near)
	if all := webhookevent.Names(); !slices.Equal(near, slices.Sorted(slices.Values(all))) {
		t.Errorf("got %q, want %q", near, all)
	}
}
