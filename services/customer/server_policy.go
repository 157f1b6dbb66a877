package customer

import (
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/scopes"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

// Policy returns the scope that each RPC needs.
func Policy() rpc.Policy {
	return rpc.Policy{
		privacyv1.PersonalDataService_ExportPersonalData_FullMethodName: scopes.PrivacyRead,

		authv1.CompanyCopyService_RefreshCompany_FullMethodName: scopes.CompanyWrite,

		privacyv1.ErasureService_EraseCustomer_FullMethodName:       scopes.PrivacyWrite,
		privacyv1.ErasureService_GetErasure_FullMethodName:          scopes.PrivacyRead,
		privacyv1.ErasureService_ListErasures_FullMethodName:        scopes.PrivacyRead,
		customerv1.CustomerService_CreateCustomer_FullMethodName:    scopes.CustomersWrite,
		customerv1.CustomerService_GetCustomer_FullMethodName:       scopes.CustomersRead + "|" + scopes.ProfileRead,
		customerv1.CustomerService_BatchGetCustomers_FullMethodName: scopes.CustomersRead,
		customerv1.CustomerService_UpdateCustomer_FullMethodName:    scopes.CustomersWrite + "|" + scopes.ProfileWrite,
		customerv1.CustomerService_ArchiveCustomer_FullMethodName:   scopes.CustomersWrite,
		customerv1.CustomerService_DeleteCustomer_FullMethodName:    scopes.CustomersWrite,
		customerv1.CustomerService_ListCustomers_FullMethodName:     scopes.CustomersRead,
		customerv1.CustomerService_ExportCustomers_FullMethodName:   scopes.CustomersRead,
		customerv1.CustomerService_ImportCustomers_FullMethodName:   scopes.CustomersWrite,
	}
}
