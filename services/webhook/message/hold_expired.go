package message

import (
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/resource"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// holdExpired is hold.expired.
func holdExpired() kind[*bookingv1.HoldExpired] {
	return resourceEvent(webhookv1.EventType_EVENT_TYPE_HOLD_EXPIRED, holdChange, sampleHold)
}

// holdChange needs the currency for a hold that shows no price.
func holdChange(e *bookingv1.HoldExpired) *change {
	if e.GetPrevious() == nil {
		return nil
	}
	customers := []string{e.GetHold().GetPurchaserId()}
	for _, b := range e.GetHold().GetBookings() {
		customers = append(customers, b.GetBoughtFor().GetId())
	}
	return &change{
		customers: customers, needsCurrency: true,
		after:  func(currency string) proto.Message { return resource.Hold(e.GetHold(), currency) },
		before: func(currency string) proto.Message { return resource.Hold(e.GetPrevious(), currency) },
	}
}

func sampleHold(now time.Time) *bookingv1.HoldExpired {
	hold := func(status bookingv1.HoldStatus, version int64) *bookingv1.Hold {
		return &bookingv1.Hold{
			Id: "txn_" + sampleSuffix, PurchaserId: samplePerson().ID, ExpiresAt: timestamppb.New(now), CreatedAt: timestamppb.New(now.Add(-15 * time.Minute)),
			Bookings: []*bookingv1.Booking{samplePurchase(now).GetBooking()}, Status: status, Version: version,
		}
	}
	return &bookingv1.HoldExpired{
		Hold: hold(bookingv1.HoldStatus_HOLD_STATUS_EXPIRED, 2), Previous: hold(bookingv1.HoldStatus_HOLD_STATUS_ACTIVE, 1),
	}
}
