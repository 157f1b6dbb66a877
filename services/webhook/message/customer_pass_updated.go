package message

import (
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/resource"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// customerPassUpdated is customer_pass.updated.
func customerPassUpdated() kind[*passv1.CustomerPassUpdated] {
	return resourceEvent(webhookv1.EventType_EVENT_TYPE_CUSTOMER_PASS_UPDATED, customerPassChange, sampleRedemption)
}

func customerPassChange(e *passv1.CustomerPassUpdated) *change {
	if e.GetPrevious() == nil {
		return nil
	}
	return &change{
		customers: []string{e.GetCustomerPass().GetCustomerId()},
		after:     func(string) proto.Message { return resource.CustomerPass(e.GetCustomerPass()) },
		before:    func(string) proto.Message { return resource.CustomerPass(e.GetPrevious()) },
	}
}

// sampleRedemption is a pass of which one credit was used.
func sampleRedemption(now time.Time) *passv1.CustomerPassUpdated {
	before := samplePass(now).GetCustomerPass()
	before.Status, before.Title, before.TotalUses = passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE, "Sample pass", 10
	before.CreatedAt = timestamppb.New(now.Add(-24 * time.Hour))
	before.UpdatedAt, before.Version = before.GetCreatedAt(), 1
	after := proto.CloneOf(before)
	after.RemainingUses, after.UpdatedAt, after.Version = 9, timestamppb.New(now), 2
	return &passv1.CustomerPassUpdated{CustomerPass: after, Previous: before}
}
