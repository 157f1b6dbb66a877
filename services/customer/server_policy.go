package customer

import (
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	outboxv1 "reservation.dev/proto/gen/reservation/outbox/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

// Policy returns which callers each RPC accepts, as declared in the protos.
func Policy() rpc.Policy {
	return rpc.PolicyOf(
		&customerv1.CustomerService_ServiceDesc,
		&customerv1.NoteService_ServiceDesc,
		&customerv1.CustomerSnapshotService_ServiceDesc,
		&outboxv1.OutboxService_ServiceDesc,
		&authv1.CompanyCopyService_ServiceDesc,
		&authv1.TestDataService_ServiceDesc,
		&privacyv1.ErasureService_ServiceDesc,
		&privacyv1.PersonalDataService_ServiceDesc,
	)
}
