package auth

import (
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

// Policy returns which callers each RPC accepts, as declared in the protos.
func Policy() rpc.Policy {
	return rpc.PolicyOf(
		&authv1.AdministratorService_ServiceDesc,
		&authv1.ApiClientService_ServiceDesc,
		&authv1.ApiKeyService_ServiceDesc,
		&authv1.AuditService_ServiceDesc,
		&authv1.CompanyService_ServiceDesc,
		&authv1.DirectoryService_ServiceDesc,
		&authv1.PublishableKeyService_ServiceDesc,
		&authv1.RequestLogService_ServiceDesc,
		&authv1.ServiceCredentialService_ServiceDesc,
		&authv1.SigningKeyService_ServiceDesc,
		&authv1.TestModeService_ServiceDesc,
		&authv1.TokenService_ServiceDesc,
		&privacyv1.PersonalDataService_ServiceDesc,
	)
}
