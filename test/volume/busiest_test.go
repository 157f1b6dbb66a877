package volume

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"reservation.dev/platform/id"
)

// objects are the objects of the company that have the most bookings.
type objects struct {
	customer id.Customer
	// date has 60 bookings, and crowd 500.
	event, crowdEvent id.Event
	date, crowd       id.EventDate
	// next is a date of the event after date.
	next id.EventDate
	// newest is the last booking of the customer, and moved one with 100 entries in its history.
	newest, moved id.Booking
}

const (
	busyCustomerSQL = `select id from customers where company_id = $1 and reference = 'volume-1'`

	busyDateSQL = `select event_id, id from event_dates
		where company_id = $1 and booked = $2 and starts_at > now() - interval '2 days' order by starts_at limit 1`

	nextDateSQL = `select n.id from event_dates n join event_dates d on d.company_id = n.company_id and d.event_id = n.event_id
		where n.company_id = $1 and d.id = $2 and n.starts_at > greatest(d.starts_at, now()) order by n.starts_at offset 20 limit 1`

	newestBookingSQL = `select b.id from bookings b join transactions t on t.company_id = b.company_id and t.id = b.transaction_id
		where b.company_id = $1 and t.purchaser_id = $2 and not b.is_cancelled order by t.purchased_at desc limit 1`

	movedBookingSQL = `select booking_id from booking_history where company_id = $1 and sequence = 100`
)

// busiest finds the objects that fill/booking.sql made.
func (w *world) busiest(t *testing.T) (o objects) {
	t.Helper()
	read := func(into []any, sql string, args ...any) {
		if err := w.bookings.QueryRow(t.Context(), sql, append([]any{w.company}, args...)...).Scan(into...); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	read([]any{&o.customer}, busyCustomerSQL)
	read([]any{&o.event, &o.date}, busyDateSQL, 60)
	read([]any{&o.crowdEvent, &o.crowd}, busyDateSQL, 500)
	read([]any{&o.next}, nextDateSQL, o.date)
	read([]any{&o.newest}, newestBookingSQL, o.customer)
	read([]any{&o.moved}, movedBookingSQL)
	return o
}

// below returns paths that begin with base.
func below(base string, rest ...string) []string {
	for i := range rest {
		rest[i] = base + rest[i]
	}
	return rest
}

// pages returns the pages of the busiest objects, and searches for common names.
func (o *objects) pages() []string {
	event, date := "/events/"+o.event.String(), "/events/"+o.event.String()+"/dates/"+o.date.String()
	crowd := "/events/" + o.crowdEvent.String() + "/dates/" + o.crowd.String()
	customer, of := "/customers/"+o.customer.String(), "customer="+o.customer.String()
	return slices.Concat(
		[]string{"/", "/week", "/week?from=" + time.Now().AddDate(0, 0, 7).Format(time.DateOnly), "/events", "/sales/new", "/sales/new?" + of + "&date=" + o.date.String(), "/sales/new?q=Smith"},
		below(event, "", "/edit", "/dates/new", "/staff", "/cancel", "/delete", "/prices/new"),
		below(date, "", "/edit", "/book", "/book?"+of, "/book?q=Smith", "/walk-in", "/scan", "/cancel", "/wait", "/staff", "?q=Smith", "?show=cancelled"),
		below(crowd, "", "/cancel", "/scan", "?q=Smith"),
		below("/customers", "", "?archived=1", "?q="+url.QueryEscape("Mary Jones"), "?q=Smith", "?q=a", "?q=%20", "?q=example.com", "?q=7700"),
		below(customer, "", "/assign", "/erase", "/delete", "/notes/new"),
		below("/bookings/"+o.newest.String(), "", "/move", "/transfer", "/transfer?q=Smith", "/swap", "/swap?q=Smith", "/swap?"+of, "/history", "/cancel", "/refund", "/ticket", "/no-show"),
		below("/bookings/"+o.moved.String(), "", "/move", "/history", "/swap"),
		[]string{"/appointments", "/appointments/week", "/appointments/book", "/discounts", "/discounts/new"},
	)
}

// routes returns paths of Interface B.
func (o *objects) routes() []string {
	newest, moved := "/registrations/"+registration(o.newest), "/registrations/"+registration(o.moved)
	event, crowd := "/events/"+o.event.String()+"/registrations", "/events/"+o.crowdEvent.String()+"/registrations"
	return slices.Concat(
		below(moved, "", "/history?perPage=100", "/move-preview?eventDateId="+o.next.String(), "/cancellation-preview"),
		below(newest, "", "/history"),
		below(event, "?perPage=100", "?eventDateId="+o.date.String()+"&perPage=100", "?customerId="+o.customer.String()),
		below(crowd, "?eventDateId="+o.crowd.String()+"&perPage=100"),
		below("/registrations", "?perPage=100", "?customerId="+o.customer.String()+"&perPage=100", "?purchasedById="+o.customer.String()),
		[]string{"/transactions?perPage=100", "/events?perPage=100", "/event-dates?perPage=100", "/customers?perPage=100", "/waitlist-entries?perPage=100", "/customer-passes?perPage=100"},
	)
}

// registration returns the identifier of a booking as Interface B writes it.
func registration(b id.Booking) string { return "reg_" + b.String()[len("booking_"):] }

// most returns the largest number of blocks that a request for a path reads.
func (o *objects) most(path string) int64 {
	switch {
	case strings.HasPrefix(path, "/waitlist-entries"):
		return maxWaitlists
	case strings.Contains(path, o.customer.String()), strings.Contains(path, o.crowd.String()):
		return maxBusiest
	}
	return maxBlocks
}
