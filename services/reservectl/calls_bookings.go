package reservectl

import (
	"github.com/spf13/cobra"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// exampleLine is a --line of an example.
const exampleLine = `--line '{"event_date_id":"date_…","pricing_option_id":"po-…","spaces":2}'`

func (a *app) registrationCommand() *cobra.Command {
	return a.callGroup("registration", "Manage registrations: see, move, transfer, cancel and refund them, and record attendance", append(changeCalls(), []call{
		{
			use: "list", short: "List registrations", method: bookingv1.BookingService_ListRegistrations_FullMethodName,
			columns: []string{
				"id=booking.id", "event=booking.event_title", "starts_at=booking.starts_at", "spaces=booking.spaces",
				"purchaser=purchaser.id", "bought_for=booking.bought_for.id", "cancelled=booking.is_cancelled", "attendance=booking.attendance",
			},
			none: "no registrations", examples: []string{"--event-date-id date_…", "--customer-id cust_… --cancelled=false"},
		},
		{
			use: "get REGISTRATION", short: "Show a registration", method: bookingv1.BookingService_GetRegistration_FullMethodName,
			args: []string{"booking_id"}, examples: []string{"booking_…"},
		},
		{
			use: "preview-cancellation REGISTRATION", aliases: []string{"preview"}, short: "Show what a cancellation would return and refund now", method: bookingv1.BookingService_PreviewCancellation_FullMethodName,
			args: []string{"booking_id"}, print: []string{"outcome", "already_cancelled"}, examples: []string{"booking_…"},
		},
		{
			use: "cancel REGISTRATION", short: "Cancel a registration", method: bookingv1.BookingService_CancelBooking_FullMethodName,
			args: []string{"booking_id"}, print: []string{"registration", "changed", "outcome"}, examples: []string{"booking_…", `booking_… --waive-policy --reason "Ill"`},
		},
		{
			use: "refund REGISTRATION", short: "Record a refund of a registration, in full or in part", method: bookingv1.BookingService_RefundBooking_FullMethodName,
			args: []string{"booking_id"}, print: []string{"registration", "changed"}, examples: []string{"booking_…", "booking_… --amount 500"},
		},
		{
			use: "attendance REGISTRATION ATTENDANCE", short: "Record whether the customer attended: checked_in, no_show, or unknown to undo",
			method: bookingv1.BookingService_RecordAttendance_FullMethodName,
			args:   []string{"booking_id", "attendance"}, print: []string{"registration", "changed"}, examples: []string{"booking_… no_show"},
		},
	}...))
}

// moveFields are the fields that say what a move changes.
var moveFields = []string{"event_date_id", "pricing_option_id", "spaces"}

// changeCalls are the commands that change a registration without ending it, and its history.
func changeCalls() []call {
	return []call{
		{
			use: "preview-move REGISTRATION", short: "Show what a move would cost now", method: bookingv1.BookingChangeService_PreviewMove_FullMethodName,
			args: []string{"booking_id"}, print: []string{"outcome", "unchanged"}, oneOf: moveFields, examples: []string{"booking_… --event-date-id date_…", "booking_… --spaces 3"},
		},
		{
			use: "move REGISTRATION", short: "Change the date, the pricing option or the spaces of a registration", method: bookingv1.BookingChangeService_MoveBooking_FullMethodName,
			args: []string{"booking_id"}, print: []string{"registration", "changed", "outcome"}, oneOf: moveFields,
			examples: []string{"booking_… --event-date-id date_… --expected-amount-due 500 --payment-method cash", "booking_… --spaces 1 --waive-policy"},
		},
		{
			use: "transfer REGISTRATION CUSTOMER", short: "Transfer a registration to another customer", method: bookingv1.BookingChangeService_TransferBooking_FullMethodName,
			args: []string{"booking_id", "customer_id"}, print: []string{"registration", "changed"}, examples: []string{"booking_… cust_…", "booking_… cust_… --buyer-keeps-control"},
		},
		{
			use: "swap REGISTRATION OTHER", short: "Exchange the dates of two registrations", method: bookingv1.BookingChangeService_SwapBookings_FullMethodName,
			args: []string{"booking_id", "other_booking_id"}, print: []string{"registration", "other", "changed"}, examples: []string{"booking_… booking_…"},
		},
		{
			use: "history REGISTRATION", short: "List the changes of a registration, oldest first", method: bookingv1.BookingChangeService_ListBookingHistory_FullMethodName,
			args: []string{"booking_id"}, columns: []string{"at", "action", "actor", "starts_at=after.starts_at", "spaces=after.spaces", "customer=after.customer_id", "amount", "reason"},
			none: "no changes", examples: []string{"booking_…", "booking_… --output json"},
		},
	}
}

// transactionCalls are the commands for purchases in addition to the import.
func transactionCalls() []call {
	return []call{
		{
			use: "list", short: "List purchases", method: bookingv1.BookingService_ListCompanyTransactions_FullMethodName,
			columns: []string{"id", "purchased_at", "purchaser=purchaser.id", "first_name=purchaser.first_name", "last_name=purchaser.last_name", "bookings"},
			none:    "no purchases", examples: []string{"--purchaser-id cust_…", "--updated-since 24h --order updated --limit 0 --output json"},
		},
		{
			use: "get TRANSACTION", short: "Show a purchase", method: bookingv1.BookingService_GetTransaction_FullMethodName,
			args: []string{"transaction_id"}, examples: []string{"txn_…"},
		},
		{
			use: "create", short: "Book one or several lines in one purchase", method: bookingv1.BookingService_CreateTransaction_FullMethodName,
			required: []string{"purchaser_id", "lines"},
			examples: []string{"--purchaser-id cust_… --payment-method cash " + exampleLine},
		},
	}
}

func (a *app) holdCommand() *cobra.Command {
	return a.callGroup("hold", "Hold spaces for a limited time, and book or release them", []call{
		{
			use: "create", short: "Hold spaces", method: bookingv1.BookingService_HoldPlaces_FullMethodName,
			required: []string{"purchaser_id", "lines"}, examples: []string{"--purchaser-id cust_… --minutes 30 " + exampleLine},
		},
		{
			use: "get HOLD", short: "Show a hold", method: bookingv1.BookingService_GetHold_FullMethodName, args: []string{"hold_id"}, examples: []string{"txn_…"},
		},
		{
			use: "confirm HOLD", short: "Book the spaces of a hold", method: bookingv1.BookingService_ConfirmHold_FullMethodName,
			args: []string{"hold_id"}, print: []string{"transaction", "already_confirmed"}, examples: []string{"txn_… --payment-method cash"},
		},
		{
			use: "release HOLD", short: "Free the spaces of a hold", method: bookingv1.BookingService_ReleaseHold_FullMethodName,
			args: []string{"hold_id"}, print: []string{"hold", "changed"}, examples: []string{"txn_…"},
		},
	})
}

func (a *app) waitlistCommand() *cobra.Command {
	return a.callGroup("waitlist", "Manage the customers who wait for spaces on a full date", []call{
		{
			use: "list", short: "List the entries of a date in their order, or of all dates with --order", method: bookingv1.WaitlistService_ListWaitlist_FullMethodName,
			columns: []string{"id", "event_date_id", "customer_id", "spaces", "mode", "state", "position", "joined_at", "offer_expires_at"},
			none:    "nobody is waiting", examples: []string{"--event-date-id date_…", "--customer-id cust_… --order created --include-ended"},
		},
		{
			use: "get ENTRY", short: "Show an entry with its position", method: bookingv1.WaitlistService_GetWaitlistEntry_FullMethodName,
			args: []string{"id"}, examples: []string{"wait_…"},
		},
		{
			use: "join DATE", short: "Add a customer to the waitlist of a date", method: bookingv1.WaitlistService_JoinWaitlist_FullMethodName,
			args: []string{"event_date_id"}, required: []string{"customer_id"},
			examples: []string{"date_… --customer-id cust_…", "date_… --customer-id cust_… --mode book --payment-method pass"},
		},
		{
			use: "leave ENTRY", short: "End an entry and its open offer", method: bookingv1.WaitlistService_LeaveWaitlist_FullMethodName,
			args: []string{"id"}, print: []string{"entry", "changed"}, examples: []string{"wait_…"},
		},
		{
			use: "accept ENTRY", short: "Book the spaces that an entry is offered", method: bookingv1.WaitlistService_AcceptOffer_FullMethodName,
			args: []string{"id"}, print: []string{"transaction", "already_accepted"}, examples: []string{"wait_… --payment-method cash"},
		},
	})
}
