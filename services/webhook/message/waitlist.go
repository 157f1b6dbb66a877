package message

import (
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/resource"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// waitlistJoined is waitlist.joined. Entries of earlier releases do not have their event.
func waitlistJoined() kind[*bookingv1.WaitlistJoined] {
	read := func(e *bookingv1.WaitlistJoined) *change {
		if e.GetEntry().GetEventId() == "" {
			return nil
		}
		return entryChange(e.GetEntry(), nil)
	}
	return resourceEvent(webhookv1.EventType_EVENT_TYPE_WAITLIST_JOINED, read, func(now time.Time) *bookingv1.WaitlistJoined {
		return &bookingv1.WaitlistJoined{Entry: sampleEntry(now)}
	})
}

// waitlistOffered is waitlist.offered.
func waitlistOffered() kind[*bookingv1.WaitlistOffered] {
	read := func(e *bookingv1.WaitlistOffered) *change {
		if e.GetPrevious() == nil {
			return nil
		}
		return entryChange(e.GetEntry(), e.GetPrevious())
	}
	return resourceEvent(webhookv1.EventType_EVENT_TYPE_WAITLIST_OFFERED, read, func(now time.Time) *bookingv1.WaitlistOffered {
		return &bookingv1.WaitlistOffered{Entry: sampleOffer(now), Previous: sampleEntry(now)}
	})
}

// waitlistEnded is waitlist.ended.
func waitlistEnded() kind[*bookingv1.WaitlistEnded] {
	read := func(e *bookingv1.WaitlistEnded) *change {
		if e.GetPrevious() == nil {
			return nil
		}
		return entryChange(e.GetEntry(), e.GetPrevious())
	}
	return resourceEvent(webhookv1.EventType_EVENT_TYPE_WAITLIST_ENDED, read, func(now time.Time) *bookingv1.WaitlistEnded {
		ended := sampleOffer(now)
		ended.State, ended.Version = bookingv1.WaitlistState_WAITLIST_STATE_EXPIRED, 3
		return &bookingv1.WaitlistEnded{Entry: ended, Previous: sampleOffer(now.Add(-time.Hour))}
	})
}

// entryChange returns the change of a waitlist entry; before is nil for a new one.
func entryChange(after, before *bookingv1.WaitlistEntry) *change {
	c := &change{
		customers: []string{after.GetCustomerId()},
		after:     func(string) proto.Message { return resource.WaitlistEntry(after) },
	}
	if before != nil {
		c.before = func(string) proto.Message { return resource.WaitlistEntry(before) }
	}
	return c
}

func sampleEntry(now time.Time) *bookingv1.WaitlistEntry {
	joined := timestamppb.New(now.Add(-24 * time.Hour))
	return &bookingv1.WaitlistEntry{
		Id: "wait_" + sampleSuffix, EventId: "evt_" + sampleSuffix, EventDateId: "date_" + sampleSuffix, CustomerId: samplePerson().ID, Spaces: 1,
		Mode: bookingv1.WaitlistMode_WAITLIST_MODE_OFFER, State: bookingv1.WaitlistState_WAITLIST_STATE_WAITING, OfferMinutes: 60,
		PricingOptionId: "po-" + sampleSuffix, PaymentMethod: bookingv1.PaymentMethod_PAYMENT_METHOD_CARD,
		JoinedAt: joined, UpdatedAt: joined, Version: 1,
	}
}

// sampleOffer is a sampleEntry to which spaces are offered for an hour from at.
func sampleOffer(at time.Time) *bookingv1.WaitlistEntry {
	w := sampleEntry(at)
	w.State, w.TransactionId, w.Version = bookingv1.WaitlistState_WAITLIST_STATE_OFFERED, "txn_"+sampleSuffix, 2
	w.OfferExpiresAt, w.UpdatedAt = timestamppb.New(at.Add(time.Hour)), timestamppb.New(at)
	return w
}
