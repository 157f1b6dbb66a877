package message

import (
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/resource"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// eventStateChange is a domain event about a change of an event.
type eventStateChange interface {
	proto.Message
	GetEvent() *bookingv1.Event
	GetPrevious() *bookingv1.Event
}

// eventCreated is event.created. Events of earlier releases have no summary.
func eventCreated() kind[*bookingv1.EventCreated] {
	read := func(e *bookingv1.EventCreated) *change {
		if e.GetEvent().GetSummary() == nil {
			return nil
		}
		return &change{after: func(string) proto.Message { return resource.WholeEvent(e.GetEvent()) }}
	}
	return resourceEvent(webhookv1.EventType_EVENT_TYPE_EVENT_CREATED, read, func(now time.Time) *bookingv1.EventCreated {
		return &bookingv1.EventCreated{Event: sampleEvent(now)}
	})
}

// eventUpdated is event.updated because of a change of the event itself.
func eventUpdated() kind[*bookingv1.EventUpdated] {
	return resourceEvent(webhookv1.EventType_EVENT_TYPE_EVENT_UPDATED, eventChange[*bookingv1.EventUpdated], func(now time.Time) *bookingv1.EventUpdated {
		changed := sampleEvent(now)
		changed.Title, changed.UpdatedAt, changed.Version = "Sample workshop for beginners", timestamppb.New(now), 2
		return &bookingv1.EventUpdated{Event: changed, Previous: sampleEvent(now)}
	})
}

// eventDatesAdded is event.updated because of new dates.
func eventDatesAdded() kind[*bookingv1.EventDatesAdded] {
	return resourceEvent(webhookv1.EventType_EVENT_TYPE_EVENT_UPDATED, eventChange[*bookingv1.EventDatesAdded], nil)
}

// eventCancelled is event.cancelled.
func eventCancelled() kind[*bookingv1.EventCancelled] {
	return resourceEvent(webhookv1.EventType_EVENT_TYPE_EVENT_CANCELLED, eventChange[*bookingv1.EventCancelled], func(now time.Time) *bookingv1.EventCancelled {
		cancelled := sampleEvent(now)
		cancelled.Status, cancelled.UpdatedAt, cancelled.Version = bookingv1.EventStatus_EVENT_STATUS_CANCELLED, timestamppb.New(now), 2
		cancelled.Dates[0].Status = bookingv1.EventDateStatus_EVENT_DATE_STATUS_CANCELLED
		cancelled.Summary.Upcoming, cancelled.Summary.Next = 0, nil
		return &bookingv1.EventCancelled{Event: cancelled, Previous: sampleEvent(now)}
	})
}

func eventChange[E eventStateChange](e E) *change {
	if e.GetPrevious() == nil {
		return nil
	}
	return &change{
		after:  func(string) proto.Message { return resource.Event(e.GetEvent()) },
		before: func(string) proto.Message { return resource.Event(e.GetPrevious()) },
	}
}

// scheduledChange is a domain event about a change of one date.
type scheduledChange interface {
	proto.Message
	GetScheduled() *bookingv1.ScheduledDate
	GetPrevious() *bookingv1.ScheduledDate
}

// eventDateChanged is event_date.changed.
func eventDateChanged() kind[*bookingv1.EventDateUpdated] {
	return resourceEvent(webhookv1.EventType_EVENT_TYPE_EVENT_DATE_CHANGED, dateChange[*bookingv1.EventDateUpdated], func(now time.Time) *bookingv1.EventDateUpdated {
		changed := sampleScheduled(now)
		capacity := int32(14)
		changed.Date.Capacity, changed.UpdatedAt, changed.Version = &capacity, timestamppb.New(now), 2
		return &bookingv1.EventDateUpdated{Scheduled: changed, Previous: sampleScheduled(now)}
	})
}

// eventDateCancelled is event_date.cancelled.
func eventDateCancelled() kind[*bookingv1.EventDateCancelled] {
	return resourceEvent(webhookv1.EventType_EVENT_TYPE_EVENT_DATE_CANCELLED, dateChange[*bookingv1.EventDateCancelled], func(now time.Time) *bookingv1.EventDateCancelled {
		cancelled := sampleScheduled(now)
		cancelled.Date.Status, cancelled.Available = bookingv1.EventDateStatus_EVENT_DATE_STATUS_CANCELLED, false
		cancelled.UpdatedAt, cancelled.Version = timestamppb.New(now), 2
		return &bookingv1.EventDateCancelled{Scheduled: cancelled, Previous: sampleScheduled(now)}
	})
}

func dateChange[E scheduledChange](e E) *change {
	if e.GetPrevious() == nil {
		return nil
	}
	return &change{
		after:  func(string) proto.Message { return resource.ScheduledDate(e.GetScheduled()) },
		before: func(string) proto.Message { return resource.ScheduledDate(e.GetPrevious()) },
	}
}

func sampleDate(now time.Time) *bookingv1.EventDate {
	capacity := int32(12)
	return &bookingv1.EventDate{
		Id: "date_" + sampleSuffix, StartsAt: sampleStart(now), DurationMinutes: 90, Timezone: "Europe/London", Capacity: &capacity, Booked: 2,
		Status: bookingv1.EventDateStatus_EVENT_DATE_STATUS_SCHEDULED,
	}
}

func sampleEvent(now time.Time) *bookingv1.Event {
	date, created := sampleDate(now), timestamppb.New(now.Add(-24*time.Hour))
	capacity := int64(date.GetCapacity())
	return &bookingv1.Event{
		Id: "evt_" + sampleSuffix, Title: "Sample workshop", Description: "An invented workshop.", Type: bookingv1.EventType_EVENT_TYPE_WORKSHOP,
		Status: bookingv1.EventStatus_EVENT_STATUS_PUBLISHED, Timezone: "Europe/London", Location: "Studio 1", Dates: []*bookingv1.EventDate{date},
		PricingOptions: []*bookingv1.PricingOption{{Id: "po-" + sampleSuffix, Name: "Standard", Price: 1275, Currency: "GBP", TaxRateBasisPoints: 2000}},
		CreatedAt:      created, UpdatedAt: created, Version: 1,
		Summary: &bookingv1.DatesSummary{
			Upcoming: 1, Dates: 1, StartsAt: date.GetStartsAt(), DurationMinutes: date.GetDurationMinutes(),
			EndsAt: timestamppb.New(date.GetStartsAt().AsTime().Add(90 * time.Minute)), Capacity: &capacity, Booked: 2, Next: date,
		},
	}
}

func sampleScheduled(now time.Time) *bookingv1.ScheduledDate {
	price := int64(1275)
	return &bookingv1.ScheduledDate{
		Date: sampleDate(now), EventId: "evt_" + sampleSuffix, EventTitle: "Sample workshop", EventType: bookingv1.EventType_EVENT_TYPE_WORKSHOP,
		EventStatus: bookingv1.EventStatus_EVENT_STATUS_PUBLISHED, Location: "Studio 1", LowestPrice: &price, Currency: "GBP", Available: true,
		ClosesAt: sampleStart(now), UpdatedAt: timestamppb.New(now.Add(-24 * time.Hour)), Version: 1,
	}
}
