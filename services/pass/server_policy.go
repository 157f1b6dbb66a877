package pass

import (
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

// Policy returns the scopes that each RPC requires.
func Policy() rpc.Policy {
	return rpc.Policy{
		privacyv1.PersonalDataService_ExportPersonalData_FullMethodName: scopes.PrivacyRead,

		authv1.CompanyCopyService_RefreshCompany_FullMethodName:                   scopes.CompanyWrite,
		customerv1.CustomerDeletionService_ConfirmCustomerDeletion_FullMethodName: scopes.CustomersWrite + "|" + scopes.PrivacyWrite,

		passv1.PassService_CreatePassType_FullMethodName:     scopes.PassesWrite,
		passv1.PassService_GetPassType_FullMethodName:        scopes.PassesRead,
		passv1.PassService_ListPassTypes_FullMethodName:      scopes.PassesRead,
		passv1.PassService_AssignCustomerPass_FullMethodName: scopes.CustomerPassesWrite,
		passv1.PassService_GetCustomerPass_FullMethodName:    scopes.CustomerPassesRead,
		passv1.PassService_ListCustomerPasses_FullMethodName: scopes.CustomerPassesRead,
		passv1.PassService_ListLedgerEntries_FullMethodName:  scopes.CustomerPassesRead,
		passv1.PassService_UpdatePassType_FullMethodName:     scopes.PassesWrite,
		passv1.PassService_UpdateCustomerPass_FullMethodName: scopes.CustomerPassesWrite,
		passv1.PassService_AdjustCredits_FullMethodName:      scopes.CustomerPassesWrite,
		passv1.PassService_ListEligiblePasses_FullMethodName: scopes.CustomerPassesRead,
		passv1.PassService_RedeemCredits_FullMethodName:      scopes.RedemptionsWrite,
		passv1.PassService_BatchRedeemCredits_FullMethodName: scopes.RedemptionsWrite,
		passv1.PassService_ReturnCredits_FullMethodName:      scopes.RedemptionsWrite,
		passv1.PassService_CancelRedemption_FullMethodName:   scopes.RedemptionsWrite,
		passv1.PassService_VerifyPasses_FullMethodName:       token.Admin + "|" + scopes.CustomerPassesRead,
		passv1.PassService_ExportRedemptions_FullMethodName:  token.Admin + "|" + scopes.CustomerPassesRead,
	}
}
