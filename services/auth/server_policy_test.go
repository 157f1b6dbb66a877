package auth

import (
	"testing"

	"google.golang.org/grpc"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

func TestPolicyCoversEveryMethod(t *testing.T) {
	t.Parallel()
	err := Policy().Check(&authv1.CompanyService_ServiceDesc, &authv1.ApiClientService_ServiceDesc, &authv1.ApiKeyService_ServiceDesc, &authv1.ServiceCredentialService_ServiceDesc, &authv1.PublishableKeyService_ServiceDesc,
		&authv1.TokenService_ServiceDesc, &authv1.SigningKeyService_ServiceDesc)
	if err != nil {
		t.Error(err)
	}
}

func TestPolicyNamesEveryMethod(t *testing.T) {
	t.Parallel()
	services := []*grpc.ServiceDesc{&authv1.AdministratorService_ServiceDesc, &authv1.AuditService_ServiceDesc}
	if err := Policy().Check(services...); err != nil {
		t.Error(err)
	}
}
