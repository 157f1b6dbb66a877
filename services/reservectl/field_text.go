package reservectl

import (
	"cmp"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// fieldText returns the help of a field, without its format: the text for its message if there is
// one, or else the one for its name.
func fieldText(d protoreflect.FieldDescriptor) string {
	name := string(d.Name())
	return cmp.Or(fieldTexts[string(d.Parent().Name())+"."+name], fieldTexts[name])
}

// fieldTexts are the help of fields, by "field" or "Message.field".
var fieldTexts = map[string]string{
	// Identifiers
	"bought_for_id":     "customer who attends (cust_…)",
	"customer_id":       "customer (cust_…)",
	"customer_pass_id":  "pass that pays (cp_…); only for payment by pass",
	"event_date_id":     "event date (date_…)",
	"event_id":          "event (evt_…)",
	"event_ids":         "events to which the code applies (evt_…); none: all events",
	"pass_type_id":      "pass type (pass_…)",
	"pricing_option_id": "pricing option (po-…); needed if the event has several",
	"purchaser_id":      "customer who pays (cust_…)",
	"expected_version":  "version that you have read; the command fails if there is a newer one",

	// Filters and orders of lists
	"CancelBookingRequest.event_id":               "fail if the registration belongs to another event (evt_…)",
	"GetTransactionRequest.customer_id":           "fail if the purchaser is another customer (cust_…)",
	"GetCustomerPassRequest.customer_id":          "fail if the pass belongs to another customer (cust_…)",
	"GetNoteRequest.customer_id":                  "fail if the note is about another customer (cust_…)",
	"UpdateNoteRequest.customer_id":               "fail if the note is about another customer (cust_…)",
	"DeleteNoteRequest.customer_id":               "fail if the note is about another customer (cust_…)",
	"ListCustomersRequest.archived":               "only archived customers; false: only the others",
	"ListCustomersRequest.email":                  "only customers with this e-mail address",
	"ListEventDatesRequest.status":                "only dates with this status",
	"ListEventDatesRequest.type":                  "only dates of events of this type",
	"ListEventsRequest.status":                    "only events with this status",
	"ListEventsRequest.type":                      "only events of this type",
	"ListPassTypesRequest.status":                 "only pass types with this status",
	"ListCustomerPassesRequest.status":            "only passes with this status",
	"ListRegistrationsRequest.attendance":         "only registrations with this attendance",
	"ListNotesRequest.kind":                       "only notes of this kind",
	"ListMessagesRequest.event":                   "only messages of this event",
	"ListMessagesRequest.since":                   "only messages about what happened at or after this time",
	"ListWaitlistRequest.state":                   "only entries in this state",
	"ListWaitlistRequest.order":                   "order of the list; by default that of the waitlist, which needs --event-date-id",
	"ListRequestsRequest.credential_id":           "only requests of this API client or key (m2m_…, key_…, pub_…)",
	"ListRequestsRequest.interface":               "only requests to this interface",
	"ListRequestsRequest.method":                  "only requests with this method: GET, POST, PUT, PATCH or DELETE",
	"ListRequestsRequest.since":                   "only requests that arrived at or after this time",
	"ListRequestsRequest.until":                   "only requests that arrived before this time",
	"ListRequestsRequest.request_id":              "only requests whose response had this X-Request-Id",
	"max_status":                                  "only requests with at most this status",
	"min_status":                                  "only requests with at least this status; 400: all errors",
	"available":                                   "only dates that can be booked now",
	"cancelled":                                   "only cancelled registrations; false: only the others",
	"descending":                                  "newest first",
	"event_status":                                "only dates of events with this status",
	"include_ended":                               "also list entries that have ended",
	"max_dates":                                   "maximum number of dates of an event, 1 to 100; 0: all",
	"order":                                       "order of the list",
	"query":                                       "words of the name, e-mail address or telephone number, or parts of them",
	"starts_before":                               "only what starts before this time",
	"starts_from":                                 "only what starts at or after this time",
	"updated_since":                               "only what changed at or after this time",
	"with_closed":                                 "with --state expired: also entries that ended because the date was cancelled or has started",
	"with_dates":                                  "include the dates of each event",
	"ListWaitlistRequest.event_date_id":           "only entries for this date (date_…)",
	"ListWaitlistRequest.customer_id":             "only entries of this customer (cust_…)",
	"ListRegistrationsRequest.customer_id":        "only registrations for this customer (cust_…)",
	"ListRegistrationsRequest.purchaser_id":       "only registrations that this customer bought (cust_…)",
	"ListRegistrationsRequest.event_id":           "only registrations for this event (evt_…)",
	"ListRegistrationsRequest.event_date_id":      "only registrations for this date (date_…)",
	"ListEventDatesRequest.event_id":              "only dates of this event (evt_…)",
	"ListCustomerPassesRequest.customer_id":       "only passes of this customer (cust_…)",
	"ListCustomerPassesRequest.pass_type_id":      "only passes of this type (pass_…)",
	"ListCompanyTransactionsRequest.purchaser_id": "only purchases of this customer (cust_…)",

	// Events and dates
	"booking_rules":             "when and how often the event can be booked; {} removes the rules in an update",
	"capacity":                  "number of spaces",
	"dates":                     "date of the event; with --recurrence, exactly one, whose duration and capacity apply to all dates",
	"UpdateEventRequest.dates":  "date to change, or to add if it has no id",
	"description":               "description",
	"duration_minutes":          "duration in minutes",
	"ends_at":                   "end",
	"free_cancellation_minutes": "minutes before the start at which free cancellation ends; without it, cancellation is free until the start",
	"UpdateEventRequest.free_cancellation_minutes": "minutes before the start at which free cancellation ends; -1: cancellation is free until the start",
	"local_end":                   "end in the event's time zone (2026-03-29T10:30:00)",
	"local_start":                 "start in the event's time zone (2026-03-29T09:30:00)",
	"location":                    "location",
	"pricing_options":             "price of the event, in minor units (1200 is 12.00)",
	"recurrence":                  "rule that generates the dates, in the event's time zone",
	"starts_at":                   "start",
	"status":                      "status",
	"timezone":                    "IANA time zone, for example Europe/London",
	"CreateEventRequest.timezone": "IANA time zone; by default the company's",
	"title":                       "title",
	"type":                        "type",
	"unlimited":                   "remove the limit of spaces",
	"NewEventDate.unlimited":      "no limit of spaces, whatever that of the event's last date",

	// Bookings and payments
	"amount":                      "amount in minor units (1200 is 12.00)",
	"RefundBookingRequest.amount": "amount to refund in minor units (1200 is 12.00); by default what is due, or all that was paid if nothing is due",
	"attendance":                  "attendance",
	"discount_code":               "discount code",
	"gross":                       "amount paid in minor units, tax included (1200 is 12.00); by default the price of the pass type",
	"lines":                       "what is booked",
	"PassPurchase.method":         "how the pass was paid: CARD, CASH, BANK_TRANSFER, ONLINE, OTHER or FREE",
	"minutes":                     "minutes until the hold expires, 1 to 1440; 0: 15",
	"mode":                        "what happens when spaces become free",
	"offer_minutes":               "minutes until an offer expires, 1 to 10080; 0: 15",
	"payment_method":              "how it is paid; by default card",
	"payment_reference":           "the payment provider's reference",
	"reason":                      "reason, at most 500 characters",
	"PassPurchase.reference":      "the payment provider's reference",
	"spaces":                      "number of spaces; 0: 1",
	"waive_policy":                "treat a late cancellation as if it were in time",

	// Discount codes
	"basis_points":                       "share of the price to take off, in basis points: 1000 is 10 %",
	"code":                               "the code, 1 to 64 letters, digits, - and _",
	"currency":                           "currency (ISO 4217); by default the company's",
	"disabled":                           "disable the code; false enables it",
	"max_uses":                           "how many purchases can use the code",
	"UpdateDiscountCodeRequest.max_uses": "how many purchases can use the code; 0 removes the limit",
	"no_valid_from":                      "remove the start of the time window",
	"no_valid_until":                     "remove the end of the time window",
	"valid_from":                         "from when the code can be used",
	"valid_until":                        "until when the code can be used",
	"CreateDiscountCodeRequest.amount":   "amount to take off the price, in minor units (1200 is 12.00)",

	// Passes
	"credits":              "credits to add; a negative number removes credits",
	"eligible_event_types": "types of events that the pass pays: class, event, workshop, course, appointment; none: all",
	"expiry_date":          "last day on which the pass is valid (2026-03-29); 9999-12-31: it never expires",
	"never_expires":        "the pass never expires",
	"price":                "price in minor units, tax included (1200 is 12.00)",
	"remaining_uses":       "uses that are left",
	"start_date":           "first day on which the pass is valid (2026-03-29); by default today",
	"total_uses":           "uses of a new pass",
	"unlimited_uses":       "the pass can be used any number of times",
	"validity_count":       "number of units for which a pass is valid",
	"validity_unit":        "unit of the validity",

	// Customers and notes
	"archived":   "archive the customer; false: make the customer active again",
	"author":     "name of the author; by default the credential",
	"body":       "text of the note, at most 5000 characters",
	"email":      "e-mail address",
	"first_name": "first name",
	"kind":       "kind of note",
	"last_name":  "last name",
	"mobile":     "telephone number",
	"pinned":     "show the note above the others",

	// The test clock
	"AdvanceTestClockRequest.to": "new time of the clock",

	// Publishable keys
	"enabled": "false disables the key, and true enables it again",
	"name":    nameUsage,
	"origins": "origin whose pages can use the key (https://studio.example); none: only callers that send no origin",
}
