package auth

import (
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

// Policy returns the scope that each RPC needs.
func Policy() rpc.Policy {
	return rpc.Policy{
		privacyv1.PersonalDataService_ExportPersonalData_FullMethodName: scopes.PrivacyRead,

		authv1.CompanyService_CreateCompany_FullMethodName: rpc.PlatformOnly,
		authv1.CompanyService_GetCompany_FullMethodName:    rpc.AnyToken,
		authv1.CompanyService_UpdateCompany_FullMethodName: scopes.CompanyWrite,
		authv1.CompanyService_ListCompanies_FullMethodName: rpc.PlatformOnly,

		authv1.ApiClientService_CreateApiClient_FullMethodName:       scopes.APIClientsWrite,
		authv1.ApiClientService_GetApiClient_FullMethodName:          scopes.APIClientsRead,
		authv1.ApiClientService_ListApiClients_FullMethodName:        scopes.APIClientsRead,
		authv1.ApiClientService_UpdateApiClient_FullMethodName:       scopes.APIClientsWrite,
		authv1.ApiClientService_RotateApiClientSecret_FullMethodName: scopes.APIClientsWrite,
		authv1.ApiClientService_DisableApiClient_FullMethodName:      scopes.APIClientsWrite,
		authv1.ApiClientService_EnableApiClient_FullMethodName:       scopes.APIClientsWrite,
		authv1.ApiClientService_DeleteApiClient_FullMethodName:       scopes.APIClientsWrite,

		authv1.ApiKeyService_CreateApiKey_FullMethodName:       scopes.APIKeysWrite,
		authv1.ApiKeyService_GetApiKey_FullMethodName:          scopes.APIKeysRead,
		authv1.ApiKeyService_ListApiKeys_FullMethodName:        scopes.APIKeysRead,
		authv1.ApiKeyService_UpdateApiKey_FullMethodName:       scopes.APIKeysWrite,
		authv1.ApiKeyService_RotateApiKeySecret_FullMethodName: scopes.APIKeysWrite,
		authv1.ApiKeyService_DisableApiKey_FullMethodName:      scopes.APIKeysWrite,
		authv1.ApiKeyService_EnableApiKey_FullMethodName:       scopes.APIKeysWrite,
		authv1.ApiKeyService_DeleteApiKey_FullMethodName:       scopes.APIKeysWrite,

		authv1.ServiceCredentialService_CreateServiceCredential_FullMethodName:  scopes.ServiceCredentialsWrite,
		authv1.ServiceCredentialService_ListServiceCredentials_FullMethodName:   scopes.ServiceCredentialsRead,
		authv1.ServiceCredentialService_RotateServiceCredential_FullMethodName:  scopes.ServiceCredentialsWrite,
		authv1.ServiceCredentialService_DisableServiceCredential_FullMethodName: scopes.ServiceCredentialsWrite,

		authv1.TokenService_IssueToken_FullMethodName: rpc.Public,
		authv1.TokenService_GetJwks_FullMethodName:    rpc.Public,

		authv1.SigningKeyService_RotateSigningKey_FullMethodName: rpc.PlatformOnly,
		authv1.SigningKeyService_ListSigningKeys_FullMethodName:  rpc.PlatformOnly,

		authv1.AdministratorService_CreateAdministrator_FullMethodName:        token.Admin,
		authv1.AdministratorService_ResetAdministratorPassword_FullMethodName: token.Admin,
		authv1.AdministratorService_GetAdministrator_FullMethodName:           scopes.AdministratorsRead,
		authv1.AdministratorService_ListAdministrators_FullMethodName:         scopes.AdministratorsRead,
		authv1.AdministratorService_UpdateAdministrator_FullMethodName:        scopes.AdministratorsWrite,
		authv1.AdministratorService_DisableAdministratorTotp_FullMethodName:   scopes.AdministratorsWrite,
		authv1.AdministratorService_EndAdministratorSessions_FullMethodName:   scopes.AdministratorsWrite,
		authv1.AdministratorService_CreatePasswordReset_FullMethodName:        scopes.AdministratorsWrite,
		authv1.AdministratorService_RevokePasswordReset_FullMethodName:        scopes.AdministratorsWrite,
		authv1.AdministratorService_GetPasswordReset_FullMethodName:           rpc.Public,
		authv1.AdministratorService_UsePasswordReset_FullMethodName:           rpc.Public,
		authv1.AdministratorService_SignIn_FullMethodName:                     rpc.Public,
		authv1.AdministratorService_FinishSignIn_FullMethodName:               rpc.Public,
		authv1.AdministratorService_Authenticate_FullMethodName:               rpc.Public,
		authv1.AdministratorService_SignOut_FullMethodName:                    rpc.Public,
		authv1.AdministratorService_ListSessions_FullMethodName:               rpc.AnyToken,
		authv1.AdministratorService_EndSession_FullMethodName:                 rpc.AnyToken,
		authv1.AdministratorService_EndOtherSessions_FullMethodName:           rpc.AnyToken,
		authv1.AdministratorService_UpdateProfile_FullMethodName:              rpc.AnyToken,
		authv1.AdministratorService_DismissNotices_FullMethodName:             rpc.AnyToken,
		authv1.AdministratorService_ChangePassword_FullMethodName:             rpc.AnyToken,
		authv1.AdministratorService_SetupTotp_FullMethodName:                  rpc.AnyToken,
		authv1.AdministratorService_ConfirmTotp_FullMethodName:                rpc.AnyToken,
		authv1.AdministratorService_DisableTotp_FullMethodName:                rpc.AnyToken,
		authv1.AdministratorService_RenewRecoveryCodes_FullMethodName:         rpc.AnyToken,
		authv1.AdministratorService_InviteAdministrator_FullMethodName:        scopes.AdministratorsWrite,
		authv1.AdministratorService_ListInvitations_FullMethodName:            scopes.AdministratorsRead,
		authv1.AdministratorService_RevokeInvitation_FullMethodName:           scopes.AdministratorsWrite,
		authv1.AdministratorService_GetInvitation_FullMethodName:              rpc.Public,
		authv1.AdministratorService_AcceptInvitation_FullMethodName:           rpc.Public,

		authv1.AuditService_ListAuditEntries_FullMethodName: scopes.AuditRead,
		authv1.AuditService_RecordAuditEntry_FullMethodName: scopes.AuditWrite,
	}
}
