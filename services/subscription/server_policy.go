package subscription

import (
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	outboxv1 "reservation.dev/proto/gen/reservation/outbox/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// Policy returns which callers each RPC accepts, as declared in the protos.
func Policy() rpc.Policy {
	return rpc.PolicyOf(
		&subscriptionv1.PlanService_ServiceDesc,
		&subscriptionv1.SubscriptionService_ServiceDesc,
		&subscriptionv1.SubscriptionSnapshotService_ServiceDesc,
		&outboxv1.OutboxService_ServiceDesc,
		&authv1.CompanyCopyService_ServiceDesc,
		&authv1.TestDataService_ServiceDesc,
		&customerv1.CustomerDeletionService_ServiceDesc,
		&privacyv1.PersonalDataService_ServiceDesc,
	)
}
