package reservectl

import (
	"github.com/spf13/cobra"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// eventCommand returns the commands for what customers can book.
func (a *app) eventCommand() *cobra.Command {
	return a.callGroup("event", "Manage events and their pricing options", []call{
		{
			use: "list", short: "List events", method: bookingv1.EventService_ListEvents_FullMethodName,
			columns: []string{"id", "title", "type", "status", "upcoming=summary.upcoming", "next=summary.next.starts_at"}, none: "no events",
			examples: []string{"--status published", "--starts-from 2026-03-01 --starts-before 2026-04-01 --limit 0 --output json"},
		},
		{
			use: "get EVENT", short: "Show an event", method: bookingv1.EventService_GetEvent_FullMethodName, args: []string{"id"},
			examples: []string{"evt_… --max-dates 10"},
		},
		{
			use: "create", short: "Create an event with its dates and prices", method: bookingv1.EventService_CreateEvent_FullMethodName,
			required: []string{"title"},
			examples: []string{
				`--title "Morning yoga" --date '{"local_start":"2026-03-29T09:30:00","duration_minutes":60,"capacity":12}' --pricing-option '{"name":"Adult","price":1200}'`,
				`--title Pilates --recurrence '{"rule":"FREQ=WEEKLY;BYDAY=MO;COUNT=10","local_start":"2026-03-30T18:00:00"}' --date '{"duration_minutes":45}'`,
			},
		},
		{
			use: "update EVENT", short: "Change an event; flags that are not given change nothing", method: bookingv1.EventService_UpdateEvent_FullMethodName,
			args: []string{"id"}, hidden: []string{"only_date", "recurrence"},
			examples: []string{`evt_… --title "Evening yoga" --status published`, `evt_… --pricing-option '{"id":"po-…","price":1500}'`},
		},
		{
			use: "cancel EVENT", short: "Cancel an event, its dates to come and their bookings", method: bookingv1.EventService_CancelEvent_FullMethodName,
			args: []string{"id"}, print: []string{"event", "cancelled_bookings"}, examples: []string{`evt_… --reason "The teacher is ill"`},
		},
		{
			use: "delete EVENT", short: "Delete an event without open bookings", method: bookingv1.EventService_DeleteEvent_FullMethodName,
			args: []string{"id"}, examples: []string{"evt_…"},
		},
		{
			use: "add-dates EVENT", short: "Add dates to an event, and list them", method: bookingv1.EventService_AddEventDates_FullMethodName,
			args: []string{"event_id"}, columns: []string{"id", "starts_at", "duration_minutes", "capacity", "status"}, none: "no dates added",
			examples: []string{`evt_… --date '{"local_start":"2026-04-05T09:30:00","duration_minutes":60,"capacity":12}'`},
		},
	})
}

func (a *app) eventDateCommand() *cobra.Command {
	return a.callGroup("event-date", "Manage the dates of events", []call{
		{
			use: "list", short: "List the dates of all events, or of one, by start", method: bookingv1.EventService_ListEventDates_FullMethodName,
			columns: []string{"id=date.id", "starts_at=date.starts_at", "title=event_title", "type=event_type", "booked=date.booked", "capacity=date.capacity", "waiting", "status=date.status"},
			none:    "no dates", examples: []string{"--starts-from 2026-03-01 --starts-before 2026-03-08", "--event-id evt_… --available"},
		},
		{
			use: "get DATE", short: "Show a date", method: bookingv1.EventService_GetEventDate_FullMethodName, args: []string{"id"}, examples: []string{"date_…"},
		},
		{
			use: "update DATE", short: "Change a date; flags that are not given change nothing", method: bookingv1.EventService_UpdateEventDate_FullMethodName,
			args: []string{"date.id"}, into: "date", print: []string{"scheduled"}, examples: []string{"date_… --capacity 20", "date_… --local-start 2026-03-29T10:00:00"},
		},
		{
			use: "cancel DATE", short: "Cancel a date and all its bookings", method: bookingv1.EventService_CancelEventDate_FullMethodName,
			args: []string{"id"}, print: []string{"scheduled", "cancelled_bookings", "changed"}, examples: []string{`date_… --reason "The room is closed"`},
		},
	})
}

func (a *app) discountCommand() *cobra.Command {
	return a.callGroup("discount", "Manage discount codes", []call{
		{
			use: "list", short: "List discount codes", method: bookingv1.DiscountService_ListDiscountCodes_FullMethodName,
			columns: []string{"id", "code", "basis_points", "amount", "currency", "uses", "max_uses", "valid_until", "disabled"}, none: "no discount codes",
		},
		{
			use: "get DISCOUNT", short: "Show a discount code", method: bookingv1.DiscountService_GetDiscountCode_FullMethodName,
			args: []string{"id"}, hidden: []string{"code"}, examples: []string{"disc_…"},
		},
		{
			use: "create", short: "Create a discount code: a share of the price or an amount", method: bookingv1.DiscountService_CreateDiscountCode_FullMethodName,
			required: []string{"code"}, examples: []string{"--code SPRING --basis-points 1000 --valid-until 2026-05-31", "--code FIVE --amount 500 --max-uses 100 --event-id evt_…"},
		},
		{
			use: "update DISCOUNT", short: "Change a discount code; flags that are not given change nothing", method: bookingv1.DiscountService_UpdateDiscountCode_FullMethodName,
			args: []string{"id"}, examples: []string{"disc_… --max-uses 200", "disc_… --disabled", `disc_… --event-id ""`},
		},
	})
}
