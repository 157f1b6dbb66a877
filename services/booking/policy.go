package booking

import (
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

// Policy is the scope that each RPC needs.
func Policy() rpc.Policy {
	return rpc.Policy{
		privacyv1.PersonalDataService_ExportPersonalData_FullMethodName: "privacy:read",

		customerv1.CustomerDeletionService_ConfirmCustomerDeletion_FullMethodName: "customers:write|privacy:write",

		bookingv1.BookingService_CreateTransaction_FullMethodName:       "bookings:write|registrations:write",
		bookingv1.BookingService_GetTransaction_FullMethodName:          "bookings:read",
		bookingv1.BookingService_ListTransactions_FullMethodName:        "bookings:read",
		bookingv1.BookingService_CancelBooking_FullMethodName:           "bookings:write|registrations:write",
		bookingv1.BookingService_PreviewCancellation_FullMethodName:     "bookings:read|registrations:read",
		bookingv1.BookingService_HoldPlaces_FullMethodName:              "bookings:write",
		bookingv1.BookingService_ConfirmHold_FullMethodName:             "bookings:write",
		bookingv1.BookingService_ReleaseHold_FullMethodName:             "bookings:write",
		bookingv1.DiscountService_CreateDiscountCode_FullMethodName:     "discounts:write",
		bookingv1.DiscountService_UpdateDiscountCode_FullMethodName:     "discounts:write",
		bookingv1.DiscountService_GetDiscountCode_FullMethodName:        "discounts:read",
		bookingv1.DiscountService_ListDiscountCodes_FullMethodName:      "discounts:read",
		bookingv1.WaitlistService_JoinWaitlist_FullMethodName:           "bookings:write",
		bookingv1.WaitlistService_LeaveWaitlist_FullMethodName:          "bookings:write",
		bookingv1.WaitlistService_AcceptOffer_FullMethodName:            "bookings:write",
		bookingv1.WaitlistService_GetWaitlistEntry_FullMethodName:       "bookings:read",
		bookingv1.WaitlistService_ListWaitlist_FullMethodName:           "bookings:read",
		bookingv1.VerificationService_VerifyBookings_FullMethodName:     "platform:admin|bookings:read",
		bookingv1.VerificationService_ExportPassPayments_FullMethodName: "platform:admin|bookings:read",
		bookingv1.VerificationService_CompareCustomers_FullMethodName:   "platform:admin",
		bookingv1.BookingService_RefundBooking_FullMethodName:           "bookings:write",
		bookingv1.BookingService_ImportTransactions_FullMethodName:      "bookings:write",
		bookingv1.BookingService_ListRegistrations_FullMethodName:       "bookings:read|registrations:read",
		bookingv1.BookingService_GetRegistration_FullMethodName:         "bookings:read|registrations:read",
		bookingv1.BookingService_RecordAttendance_FullMethodName:        "bookings:write",
		authv1.CompanyCopyService_RefreshCompany_FullMethodName:         "company:write",
		bookingv1.EventService_CreateEvent_FullMethodName:               "events:write",
		bookingv1.EventService_GetEvent_FullMethodName:                  "events:read",
		bookingv1.EventService_ListEvents_FullMethodName:                "events:read",
		bookingv1.EventService_ListEventDates_FullMethodName:            "events:read",
		bookingv1.EventService_UpdateEvent_FullMethodName:               "events:write",
		bookingv1.EventService_CancelEvent_FullMethodName:               "events:write",
		bookingv1.EventService_DeleteEvent_FullMethodName:               "events:write",
		bookingv1.EventService_AddEventDates_FullMethodName:             "events:write",
		bookingv1.EventService_UpdateEventDate_FullMethodName:           "events:write",
		bookingv1.EventService_CancelEventDate_FullMethodName:           "events:write",
	}
}
