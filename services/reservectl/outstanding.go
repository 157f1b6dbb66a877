package reservectl

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// outstanding holds a customer's future bookings and usable passes.
type outstanding struct {
	bookings []*bookingv1.Booking
	passes   []*passv1.CustomerPass
}

// list returns a line for each booking and pass.
func (o outstanding) list() string {
	var lines []string
	for _, b := range o.bookings {
		lines = append(lines, fmt.Sprintf("%s %s on %s", b.GetId(), printableText(b.GetEventTitle()), b.GetStartsAt().AsTime().Format("2006-01-02 15:04")+" UTC"))
	}
	for _, p := range o.passes {
		lines = append(lines, fmt.Sprintf("%s with %d credits, valid until %s", p.GetId(), p.GetRemainingUses(), p.GetExpiryDate()))
	}
	return strings.Join(lines, "\n  ")
}

// settleOutstanding returns an error if the customer has future bookings or usable passes. If
// cancel is set, it cancels them instead: bookings first, which return their credits to the
// passes.
func settleOutstanding(booking, pass *session, customer string, cancel bool) (err error) {
	bookings, passes := bookingv1.NewBookingServiceClient(booking.conn), passv1.NewPassServiceClient(pass.conn)
	var o outstanding
	if o.bookings, err = futureBookings(booking.ctx, bookings, customer); err != nil {
		return err
	}
	if o.passes, err = usablePasses(pass.ctx, passes, customer); err != nil {
		return err
	}
	if len(o.bookings)+len(o.passes) == 0 {
		return nil
	}
	if !cancel {
		return fmt.Errorf("the customer still has\n  %s\ngive --cancel-open to cancel them first, or --keep-open to keep them without the person", o.list())
	}
	for _, b := range o.bookings {
		if _, err := bookings.CancelBooking(booking.ctx, &bookingv1.CancelBookingRequest{BookingId: b.GetId()}); err != nil {
			return fmt.Errorf("%s: %w", b.GetId(), err)
		}
	}
	for _, p := range o.passes {
		req := &passv1.UpdateCustomerPassRequest{Id: p.GetId(), Status: passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_CANCELLED}
		if _, err := passes.UpdateCustomerPass(pass.ctx, req); err != nil {
			return fmt.Errorf("%s: %w", p.GetId(), err)
		}
	}
	return nil
}

// futureBookings lists the bookings of a customer's purchases that have not started and are not
// cancelled. The bookings of a deleted customer cannot be listed; they stay unchanged.
func futureBookings(ctx context.Context, client bookingv1.BookingServiceClient, customer string) ([]*bookingv1.Booking, error) {
	var all []*bookingv1.Booking
	page, size, since := int32(0), int32(100), "1900-01-01"
	for {
		res, err := client.ListTransactions(ctx, &bookingv1.ListTransactionsRequest{
			CustomerId: customer, Page: &page, PageSize: &size, StartDate: &since, FutureOnly: true,
		})
		if fault.Is(err, fault.NotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, t := range res.GetTransactions() {
			for _, b := range t.GetBookings() {
				if !b.GetIsCancelled() {
					all = append(all, b)
				}
			}
		}
		if len(res.GetTransactions()) == 0 || int64(page+1)*int64(size) >= res.GetTotal() {
			return all, nil
		}
		page++
	}
}

// usablePasses lists a customer's passes that are active, pending or paused.
func usablePasses(ctx context.Context, client passv1.PassServiceClient, customer string) ([]*passv1.CustomerPass, error) {
	passes, err := allPages(func(pageToken string) ([]*passv1.CustomerPass, string, error) {
		res, err := client.ListCustomerPasses(ctx, &passv1.ListCustomerPassesRequest{CustomerId: customer, PageSize: 200, PageToken: pageToken})
		return res.GetCustomerPasses(), res.GetNextPageToken(), err
	})
	return slices.DeleteFunc(passes, func(p *passv1.CustomerPass) bool {
		switch p.GetStatus() {
		case passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE, passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PENDING,
			passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED:
			return false
		}
		return true
	}), err
}
