package reservectl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/zone"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// errUnreconciled ends a reconciliation that leaves differences.
var errUnreconciled = errors.New("differences are left; see above")

func (a *app) reconcileCommand() *cobra.Command {
	var apply bool
	var settle time.Duration
	c := &cobra.Command{
		Use: "reconcile", Short: "Find and repair differences between services after a restore", Args: exactly(),
		Long: `reconcile compares the data that the booking, pass and customer services share:
the credits that bookings hold against the credits that passes gave, and the
copies of customers' names. They can differ after the services' databases were
restored to slightly different moments. reconcile changes nothing unless you give
--apply. Then it repairs the differences:

  credits redeemed for a missing booking      are returned to the pass
  credits of a refunded booking               are returned to the pass
  a booking that holds more or fewer credits  gets the credits that the booking service stores; if the pass refuses, the difference is left
  a booking whose credits were not redeemed   has them redeemed now; if the pass refuses, the difference is left
  a booking whose credits were returned       is marked refunded; check whether it was cancelled
  an outdated copy of a customer              is replaced with the customer service's data

Purchases in progress look like differences for a moment. reconcile therefore
compares again after --settle, and counts only the differences that are still
there. The exit status is 1 if differences are left.`,
		Example: "  reservectl reconcile --company comp_…\n  reservectl reconcile --company comp_… --apply",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withBookingsAndPasses(c.Context(), func(bookings, passes *session) error {
				return a.reconcile(c.Context(), bookings, passes, apply, settle)
			})
		},
	}
	c.Flags().BoolVar(&apply, "apply", false, "repair the differences")
	c.Flags().DurationVar(&settle, "settle", 40*time.Second, "time to wait before comparing again; purchases by pass are abandoned after 30s")
	return c
}

// mismatch is a booking for which the booking and pass services store different credits.
type mismatch struct {
	transaction, booking, pass string
	booked, redeemed           int32
	// unredeemed is set if pass has no redemption for it.
	unredeemed bool
}

// reconciliation is one run of reconcile.
type reconciliation struct {
	bookingCtx, passCtx context.Context
	verifier            bookingv1.VerificationServiceClient
	bookings            bookingv1.BookingServiceClient
	passes              passv1.PassServiceClient
	apply               bool

	found []row
	left  int
}

func (a *app) reconcile(ctx context.Context, booking, pass *session, apply bool, settle time.Duration) error {
	r := &reconciliation{
		bookingCtx: booking.ctx, passCtx: pass.ctx, apply: apply,
		verifier: bookingv1.NewVerificationServiceClient(booking.conn), bookings: bookingv1.NewBookingServiceClient(booking.conn),
		passes: passv1.NewPassServiceClient(pass.conn),
	}
	fmt.Fprintln(a.errOut, "comparing bookings with passes")
	differing, err := r.mismatches()
	if err != nil {
		return err
	}
	if len(differing) > 0 {
		fmt.Fprintf(a.errOut, "%s; comparing again in %s\n", quantity(len(differing), "differences"), settle)
		if differing, err = r.remaining(ctx, differing, settle); err != nil {
			return err
		}
	}
	if err := r.repairAll(differing); err != nil {
		return err
	}
	fmt.Fprintln(a.errOut, "comparing copies of customers")
	if err := r.customers(); err != nil {
		return err
	}
	if err := a.printAll(r.found, "no differences"); err != nil {
		return err
	}
	fmt.Fprintf(a.errOut, "%s, %d left\n", quantity(len(r.found), "differences"), r.left)
	if r.left > 0 {
		return errUnreconciled
	}
	return nil
}

// mismatches returns the bookings that differ, in the order of their transactions.
func (r *reconciliation) mismatches() ([]mismatch, error) {
	var list []mismatch
	err := walkPayments(r.bookingCtx, r.passCtx, r.verifier, r.passes, func(held *bookingv1.BookedCredits, given *passv1.RedeemedCredits) {
		if held.GetCredits() == given.GetCredits() || held.GetChanging() { // the booking service finishes moves itself
			return
		}
		d := mismatch{booked: held.GetCredits(), redeemed: given.GetCredits(), unredeemed: given == nil}
		if held != nil {
			d.transaction, d.booking, d.pass = held.GetTransactionId(), held.GetBookingId(), held.GetCustomerPassId()
		} else {
			d.transaction, d.booking, d.pass = given.GetRedemptionId(), given.GetItemId(), given.GetCustomerPassId()
		}
		list = append(list, d)
	})
	return list, err
}

// remaining returns the bookings that still differ in the same way after settle.
func (r *reconciliation) remaining(ctx context.Context, before []mismatch, settle time.Duration) ([]mismatch, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(settle):
	}
	now, err := r.mismatches()
	if err != nil {
		return nil, err
	}
	known := map[mismatch]bool{}
	for _, d := range before {
		known[d] = true
	}
	var both []mismatch
	for _, d := range now {
		if known[d] {
			both = append(both, d)
		}
	}
	return both, nil
}

// repairAll repairs the differences if r.apply is set. It notes each with its remedy.
func (r *reconciliation) repairAll(differing []mismatch) error {
	redeemed := map[string]error{} // results of redeem, by transaction
	for _, d := range differing {
		remedy, repair, err := r.remedy(d, redeemed)
		if err != nil {
			return err
		}
		outcome := "to do"
		if repair == nil {
			outcome = "left to you"
		}
		if repair != nil && r.apply {
			outcome = "done"
			if err := repair(); err != nil {
				f := fault.From(err)
				if f.Kind == fault.Unavailable || f.Kind == fault.Internal {
					return err
				}
				outcome = "refused: " + f.Reason
			}
		}
		r.note("credits", d.booking, int64(d.booked), int64(d.redeemed), remedy, outcome)
	}
	return nil
}

// note adds a difference to the report: the number that booking stores, and the number of the
// other service, which is the authority.
func (r *reconciliation) note(what, id string, booking, other int64, remedy, outcome string) {
	if outcome != "done" {
		r.left++
	}
	r.found = append(r.found, row{{"what", what}, {"id", id}, {"booking_has", booking}, {"other_has", other}, {"remedy", remedy}, {"outcome", outcome}})
}

// remedy returns what repairs a difference, in words and as a function. A nil function means that
// the operator must decide.
func (r *reconciliation) remedy(d mismatch, redeemed map[string]error) (what string, repair func() error, err error) {
	// The pass belongs to the purchaser, whose identifier GetTransaction needs.
	pass, err := r.passes.GetCustomerPass(r.passCtx, &passv1.GetCustomerPassRequest{Id: d.pass})
	if fault.Is(err, fault.NotFound) {
		return "none: the pass does not exist", nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	res, err := r.bookings.GetTransaction(r.bookingCtx, &bookingv1.GetTransactionRequest{
		CustomerId: pass.GetCustomerPass().GetCustomerId(), TransactionId: d.transaction,
	})
	switch {
	case fault.Is(err, fault.NotFound):
		return "return the credits of a purchase that does not exist", func() error {
			_, err := r.passes.CancelRedemption(r.passCtx, &passv1.CancelRedemptionRequest{RedemptionId: d.transaction})
			return err
		}, nil
	case err != nil:
		return "", nil, err
	case d.unredeemed:
		return "redeem the credits of the purchase", func() error {
			result, done := redeemed[d.transaction]
			if !done {
				result = r.redeem(res.GetTransaction(), d.pass)
				redeemed[d.transaction] = result
			}
			return result
		}, nil
	}
	return r.remedyOfBooking(d, bookingOf(res.GetTransaction(), d.booking))
}

// remedyOfBooking is remedy for a booking that has a redemption. b is nil if the purchase does not have it.
func (r *reconciliation) remedyOfBooking(d mismatch, b *bookingv1.Booking) (what string, repair func() error, err error) {
	if b == nil || b.GetIsRefunded() {
		return "return the credits of a refunded booking", func() error {
			_, err := r.passes.ReturnCredits(r.passCtx, &passv1.ReturnCreditsRequest{
				ReturnId: d.booking, RedemptionId: d.transaction, CustomerPassId: d.pass, Credits: d.redeemed,
			})
			return err
		}, nil
	}
	if d.redeemed < d.booked {
		switch err := r.change(d, b, true); {
		case fault.Is(err, fault.Unavailable) || fault.Is(err, fault.Internal):
			return "", nil, err
		case fault.Is(err, fault.NotFound) || err != nil && fault.From(err).Reason == reasonReturned:
			return "mark the booking refunded, because its credits were returned", func() error {
				_, err := r.bookings.RefundBooking(r.bookingCtx, &bookingv1.RefundBookingRequest{BookingId: d.booking})
				return err
			}, nil
		}
	}
	return "change the credits that the booking holds", func() error { return r.change(d, b, false) }, nil
}

// reasonReturned is the reason with which the pass service refuses to change a booking that was returned.
const reasonReturned = "REDEMPTION_CANCELLED"

// change makes a booking hold the credits that the booking service stores. With validateOnly, it returns
// the refusal and changes nothing.
func (r *reconciliation) change(d mismatch, b *bookingv1.Booking, validateOnly bool) error {
	_, err := r.passes.ChangeRedemption(r.passCtx, &passv1.ChangeRedemptionRequest{
		RedemptionId: d.transaction, Item: redemptionItem(b, d.booked), ChangeId: id.NewUUID().String(), ExpectedCredits: d.redeemed,
		ValidateOnly: validateOnly,
	})
	return err
}

// bookingOf returns a booking of a purchase, or nil.
func bookingOf(t *bookingv1.Transaction, booking string) *bookingv1.Booking {
	for _, b := range t.GetBookings() {
		if b.GetId() == booking {
			return b
		}
	}
	return nil
}

// redemptionItem returns a booking with the credits that it costs.
func redemptionItem(b *bookingv1.Booking, credits int32) *passv1.RedemptionItem {
	return &passv1.RedemptionItem{
		ItemId: b.GetId(), EventType: enum.Name(b.GetEventType()), Credits: credits, Day: zone.Day(b.GetStartsAt().AsTime(), b.GetTimezone()),
	}
}

// redeem redeems the credits of all bookings of a purchase that were paid with the pass and are
// not refunded.
func (r *reconciliation) redeem(t *bookingv1.Transaction, pass string) error {
	req := &passv1.RedeemCreditsRequest{RedemptionId: t.GetId(), CustomerId: t.GetPurchaser().GetId(), CustomerPassId: pass}
	for _, b := range t.GetBookings() {
		paid := b.GetPass()
		if paid == nil || b.GetIsRefunded() || paid.GetCustomerPassId() != pass {
			continue
		}
		req.Items = append(req.Items, redemptionItem(b, paid.GetCreditsUsed()))
	}
	_, err := r.passes.RedeemCredits(r.passCtx, req)
	return err
}

// customers compares the copies of customers, and repairs them if r.apply is set.
func (r *reconciliation) customers() error {
	stream, err := r.verifier.CompareCustomers(r.bookingCtx, &bookingv1.CompareCustomersRequest{Repair: r.apply})
	if err != nil {
		return err
	}
	return each(stream.Recv, func(res *bookingv1.CompareCustomersResponse) {
		d := res.GetDifference()
		if d == nil {
			return
		}
		remedy, outcome := "copy the customer from the customer service", "to do"
		switch {
		case d.GetVersion() == 0:
			remedy, outcome = "none: the customer service does not have the customer", "left to you"
		case d.GetRepaired():
			outcome = "done"
		}
		r.note("customer.version", d.GetCustomerId(), d.GetCopiedVersion(), d.GetVersion(), remedy, outcome)
	})
}
