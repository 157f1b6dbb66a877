package reservectl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/zone"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// errUnreconciled ends a reconciliation that leaves differences.
var errUnreconciled = errors.New("there are differences; see above")

func (a *app) reconcileCommand() *cobra.Command {
	var apply bool
	var settle time.Duration
	c := &cobra.Command{
		Use: "reconcile", Short: "Find what services say differently after a restore, and mend it", Args: exactly(),
		Long: `reconcile compares what the booking, pass and customer services say of the same
things, as after a restore of their databases to moments that are not quite one:
what bookings hold of passes against what passes gave, and the copies of
customers' names. It changes nothing unless it is told to --apply, and then:

  credits taken for no booking          go back to the pass
  credits of a refunded booking         go back to the pass
  a booking whose credits nobody took   has them taken; where the pass refuses, it is left to you
  a booking whose credits went back     is marked refunded; look whether it was cancelled
  a copy of a customer                  becomes what the customer service says

What is under way looks like a difference for a moment, so what differs is looked
at again after --settle, and counts if it still does. The exit status is 1 where
differences are left.`,
		Example: "  reservectl reconcile --company comp_…\n  reservectl reconcile --company comp_… --apply",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withBookingsAndPasses(c.Context(), func(bookings, passes *session) error {
				return a.reconcile(c.Context(), bookings, passes, apply, settle)
			})
		},
	}
	c.Flags().BoolVar(&apply, "apply", false, "mend what differs")
	c.Flags().DurationVar(&settle, "settle", 40*time.Second, "how long what is under way has to end; purchases by pass are given up after 30s")
	return c
}

// mismatch is one booking of which booking and pass say different things.
type mismatch struct {
	transaction, booking, pass string
	booked, redeemed           int32
	// unredeemed says that pass knows nothing of it.
	unredeemed bool
}

// reconciliation is one run.
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
		fmt.Fprintf(a.errOut, "%d differ; looking again in %s\n", len(differing), settle)
		if differing, err = r.lasting(ctx, differing, settle); err != nil {
			return err
		}
	}
	if err := r.mendAll(differing); err != nil {
		return err
	}
	fmt.Fprintln(a.errOut, "comparing copies of customers")
	if err := r.customers(); err != nil {
		return err
	}
	if err := a.printAll(r.found, "no differences"); err != nil {
		return err
	}
	fmt.Fprintf(a.errOut, "%d differences, %d left\n", len(r.found), r.left)
	if r.left > 0 {
		return errUnreconciled
	}
	return nil
}

// mismatches are the bookings that differ, in the order of their transactions.
func (r *reconciliation) mismatches() ([]mismatch, error) {
	var list []mismatch
	err := walkPayments(r.bookingCtx, r.passCtx, r.verifier, r.passes, func(held *bookingv1.BookedCredits, given *passv1.RedeemedCredits) {
		if held.GetCredits() == given.GetCredits() {
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

// lasting are those that still differ, in the same way, after some time.
func (r *reconciliation) lasting(ctx context.Context, before []mismatch, settle time.Duration) ([]mismatch, error) {
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

// mendAll mends what differs, or says how it would.
func (r *reconciliation) mendAll(differing []mismatch) error {
	redeemed := map[string]error{} // transactions that were paid as a whole
	for _, d := range differing {
		remedy, mend, err := r.remedy(d, redeemed)
		if err != nil {
			return err
		}
		outcome := "to do"
		if mend == nil {
			outcome = "left to you"
		}
		if mend != nil && r.apply {
			outcome = "done"
			if err := mend(); err != nil {
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

// note notes a difference: what booking says, and the service whose matter it is.
func (r *reconciliation) note(what, id string, booking, other int64, remedy, outcome string) {
	if outcome != "done" {
		r.left++
	}
	r.found = append(r.found, row{{"what", what}, {"id", id}, {"booking_has", booking}, {"other_has", other}, {"remedy", remedy}, {"outcome", outcome}})
}

// remedy is what makes both services say the same.
func (r *reconciliation) remedy(d mismatch, redeemed map[string]error) (what string, mend func() error, err error) {
	// A pass is the purchaser's, by whom the purchase is found.
	pass, err := r.passes.GetCustomerPass(r.passCtx, &passv1.GetCustomerPassRequest{Id: d.pass})
	if fault.Is(err, fault.NotFound) {
		return "none: the pass is not there", nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	res, err := r.bookings.GetTransaction(r.bookingCtx, &bookingv1.GetTransactionRequest{
		CustomerId: pass.GetCustomerPass().GetCustomerId(), TransactionId: d.transaction,
	})
	switch {
	case fault.Is(err, fault.NotFound):
		return "give back the credits of a purchase that is not there", func() error {
			_, err := r.passes.CancelRedemption(r.passCtx, &passv1.CancelRedemptionRequest{RedemptionId: d.transaction})
			return err
		}, nil
	case err != nil:
		return "", nil, err
	case d.redeemed > d.booked:
		return "give back the credits of a refunded booking", func() error {
			_, err := r.passes.ReturnCredits(r.passCtx, &passv1.ReturnCreditsRequest{
				ReturnId: d.booking, RedemptionId: d.transaction, CustomerPassId: d.pass, Credits: d.redeemed,
			})
			return err
		}, nil
	case d.unredeemed:
		return "take the credits of the purchase", func() error {
			mended, asked := redeemed[d.transaction]
			if !asked {
				mended = r.redeem(res.GetTransaction(), d.pass)
				redeemed[d.transaction] = mended
			}
			return mended
		}, nil
	}
	return "mark the booking refunded, for its credits went back", func() error {
		_, err := r.bookings.RefundBooking(r.bookingCtx, &bookingv1.RefundBookingRequest{BookingId: d.booking})
		return err
	}, nil
}

// redeem takes the credits of all bookings of a purchase that hold some.
func (r *reconciliation) redeem(t *bookingv1.Transaction, pass string) error {
	req := &passv1.RedeemCreditsRequest{RedemptionId: t.GetId(), CustomerId: t.GetPurchaser().GetId(), CustomerPassId: pass}
	for _, b := range t.GetBookings() {
		paid := b.GetPass()
		if paid == nil || b.GetIsRefunded() || paid.GetCustomerPassId() != pass {
			continue
		}
		req.Items = append(req.Items, &passv1.RedemptionItem{
			ItemId: b.GetId(), EventType: enum.Name(b.GetEventType()), Credits: paid.GetCreditsUsed(),
			Day: zone.Day(b.GetStartsAt().AsTime(), b.GetTimezone()),
		})
	}
	_, err := r.passes.RedeemCredits(r.passCtx, req)
	return err
}

// customers compares the copies of customers, and repairs them where it may.
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
		remedy, outcome := "take over what the customer service says", "to do"
		switch {
		case d.GetVersion() == 0:
			remedy, outcome = "none: the customer service does not know the customer", "left to you"
		case d.GetRepaired():
			outcome = "done"
		}
		r.note("customer.version", d.GetCustomerId(), d.GetCopiedVersion(), d.GetVersion(), remedy, outcome)
	})
}
