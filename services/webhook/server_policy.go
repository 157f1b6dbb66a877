package webhook

import (
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// Policy returns which callers each RPC accepts, as declared in the protos.
func Policy() rpc.Policy {
	return rpc.PolicyOf(
		&webhookv1.WebhookService_ServiceDesc,
		&authv1.TestDataService_ServiceDesc,
		&privacyv1.PersonalDataService_ServiceDesc,
	)
}
