package booking

import (
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

// Policy returns the scopes that each RPC requires.
func Policy() rpc.Policy {
	return rpc.Policy{
		privacyv1.PersonalDataService_ExportPersonalData_FullMethodName: scopes.PrivacyRead,

		customerv1.CustomerDeletionService_ConfirmCustomerDeletion_FullMethodName: scopes.CustomersWrite + "|" + scopes.PrivacyWrite,

		bookingv1.BookingService_CreateTransaction_FullMethodName:       scopes.BookingsWrite + "|" + scopes.RegistrationsWrite,
		bookingv1.BookingService_GetTransaction_FullMethodName:          scopes.BookingsRead,
		bookingv1.BookingService_ListTransactions_FullMethodName:        scopes.BookingsRead,
		bookingv1.BookingService_CancelBooking_FullMethodName:           scopes.BookingsWrite + "|" + scopes.RegistrationsWrite,
		bookingv1.BookingService_PreviewCancellation_FullMethodName:     scopes.BookingsRead + "|" + scopes.RegistrationsRead,
		bookingv1.BookingService_HoldPlaces_FullMethodName:              scopes.BookingsWrite,
		bookingv1.BookingService_ConfirmHold_FullMethodName:             scopes.BookingsWrite,
		bookingv1.BookingService_ReleaseHold_FullMethodName:             scopes.BookingsWrite,
		bookingv1.DiscountService_CreateDiscountCode_FullMethodName:     scopes.DiscountsWrite,
		bookingv1.DiscountService_UpdateDiscountCode_FullMethodName:     scopes.DiscountsWrite,
		bookingv1.DiscountService_GetDiscountCode_FullMethodName:        scopes.DiscountsRead,
		bookingv1.DiscountService_ListDiscountCodes_FullMethodName:      scopes.DiscountsRead,
		bookingv1.WaitlistService_JoinWaitlist_FullMethodName:           scopes.BookingsWrite,
		bookingv1.WaitlistService_LeaveWaitlist_FullMethodName:          scopes.BookingsWrite,
		bookingv1.WaitlistService_AcceptOffer_FullMethodName:            scopes.BookingsWrite,
		bookingv1.WaitlistService_GetWaitlistEntry_FullMethodName:       scopes.BookingsRead,
		bookingv1.WaitlistService_ListWaitlist_FullMethodName:           scopes.BookingsRead,
		bookingv1.VerificationService_VerifyBookings_FullMethodName:     token.Admin + "|" + scopes.BookingsRead,
		bookingv1.VerificationService_ExportPassPayments_FullMethodName: token.Admin + "|" + scopes.BookingsRead,
		bookingv1.VerificationService_CompareCustomers_FullMethodName:   token.Admin,
		bookingv1.BookingService_RefundBooking_FullMethodName:           scopes.BookingsWrite,
		bookingv1.BookingService_ImportTransactions_FullMethodName:      scopes.BookingsWrite,
		bookingv1.BookingService_ListRegistrations_FullMethodName:       scopes.BookingsRead + "|" + scopes.RegistrationsRead,
		bookingv1.BookingService_GetRegistration_FullMethodName:         scopes.BookingsRead + "|" + scopes.RegistrationsRead,
		bookingv1.BookingService_RecordAttendance_FullMethodName:        scopes.BookingsWrite,
		authv1.CompanyCopyService_RefreshCompany_FullMethodName:         scopes.CompanyWrite,
		bookingv1.EventService_CreateEvent_FullMethodName:               scopes.EventsWrite,
		bookingv1.EventService_GetEvent_FullMethodName:                  scopes.EventsRead,
		bookingv1.EventService_ListEvents_FullMethodName:                scopes.EventsRead,
		bookingv1.EventService_ListEventDates_FullMethodName:            scopes.EventsRead,
		bookingv1.EventService_UpdateEvent_FullMethodName:               scopes.EventsWrite,
		bookingv1.EventService_CancelEvent_FullMethodName:               scopes.EventsWrite,
		bookingv1.EventService_DeleteEvent_FullMethodName:               scopes.EventsWrite,
		bookingv1.EventService_AddEventDates_FullMethodName:             scopes.EventsWrite,
		bookingv1.EventService_UpdateEventDate_FullMethodName:           scopes.EventsWrite,
		bookingv1.EventService_CancelEventDate_FullMethodName:           scopes.EventsWrite,
	}
}
