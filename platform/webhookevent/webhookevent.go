// Package webhookevent lists the events that webhook endpoints can receive. The webhook service, the
// dashboard and the command line share their names.
package webhookevent

import webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"

// Event is an event that endpoints can subscribe to.
type Event struct {
	Type webhookv1.EventType
	Name string // in payloads, settings and the log
}

// All returns the events in the order in which they are listed everywhere.
func All() []Event {
	return []Event{
		{webhookv1.EventType_EVENT_TYPE_REGISTRATION_CREATED, "registration.created"},
		{webhookv1.EventType_EVENT_TYPE_PASS_PURCHASED, "pass.purchased"},
		{webhookv1.EventType_EVENT_TYPE_EVENT_PURCHASED, "event.purchased"},
	}
}

// Names returns the names of all events.
func Names() []string {
	all := All()
	names := make([]string, len(all))
	for i, e := range all {
		names[i] = e.Name
	}
	return names
}

// Types returns the types of all events.
func Types() []webhookv1.EventType {
	all := All()
	types := make([]webhookv1.EventType, len(all))
	for i, e := range all {
		types[i] = e.Type
	}
	return types
}

// Name returns the name of a type, or "" if it is not the type of an event.
func Name(t webhookv1.EventType) string {
	for _, e := range All() {
		if e.Type == t {
			return e.Name
		}
	}
	return ""
}

// Type returns the type with a name, or EVENT_TYPE_UNSPECIFIED if it is not the name of an event.
func Type(name string) webhookv1.EventType {
	for _, e := range All() {
		if e.Name == name {
			return e.Type
		}
	}
	return webhookv1.EventType_EVENT_TYPE_UNSPECIFIED
}
