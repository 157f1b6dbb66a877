package reservectl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// errDifferences ends a verification that found differences.
var errDifferences = errors.New("some stored numbers differ from the computed ones; see above")

func (a *app) verifyCommand() *cobra.Command {
	var wait time.Duration
	c := &cobra.Command{
		Use: "verify", Short: "Recompute spaces, credits and totals, and report every difference", Args: exactly(),
		Long: `verify recomputes numbers that the platform stores, and reports every difference:

  - the spaces of each event date, from its bookings and its capacity
  - the spaces of waitlist entries, from their purchases and offers
  - the uses of discount codes
  - what was refunded, and the refunds that are due, against the prices
  - the uses of passes, from their ledger
  - the totals of lists
  - staff and rooms: overlaps, and their times against the dates of appointments
    and classes
  - the credits that bookings hold, against the credits that passes gave
  - the periods, states and sums of subscriptions
  - the credits that periods of subscriptions granted, against the ledgers of passes
  - the files of media items, against the bucket
  - the sums of reports, from the facts that they add up
  - the facts of reports, against the services that own the data

It changes nothing. A purchase or a renewal in progress can look like a
difference; run the command again to see whether it remains. The facts of
reports are compared with what their owners have at the same time: the command
waits up to --wait until reports have the latest changes, and says if they do
not. The exit status is 1 if there are differences, or if not everything could be
compared.`,
		Example: "  reservectl verify --company comp_…",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withStores(c.Context(), func(s stores) error { return a.verify(s, wait) })
		},
	}
	c.Flags().DurationVar(&wait, "wait", time.Minute, "time to wait until reports have the latest changes")
	return c
}

// verification is the result of one run of verify.
type verification struct {
	checked     int64
	differences []row
	postponed   []string // why something could not be compared
}

func (v *verification) add(what, id string, stored, computed any) {
	v.differences = append(v.differences, row{{"what", what}, {"id", id}, {"stored", stored}, {"computed", computed}})
}

// postpone records why something could not be compared.
func (v *verification) postpone(why string) { v.postponed = append(v.postponed, why) }

func (a *app) verify(s stores, wait time.Duration) error {
	var v verification
	booked, sold := bookingv1.NewVerificationServiceClient(s.bookings.conn), passv1.NewPassServiceClient(s.passes.conn)
	subscribed, granted := subscriptionv1.NewSubscriptionServiceClient(s.subscriptions.conn), passv1.NewSubscriptionPassServiceClient(s.passes.conn)
	for _, step := range []struct {
		name string
		run  func() error
	}{
		{"spaces, discount codes and events", func() error { return v.bookings(s.bookings.ctx, booked) }},
		{"passes and their ledger", func() error { return v.passes(s.passes.ctx, sold) }},
		{"bookings against passes", func() error { return v.payments(s.bookings.ctx, s.passes.ctx, booked, sold) }},
		{"subscriptions and their periods", func() error { return v.subscriptions(s.subscriptions.ctx, subscribed) }},
		{"subscriptions against passes", func() error { return v.grants(s.subscriptions.ctx, s.passes.ctx, subscribed, granted) }},
		{"media and their files", func() error { return v.media(s.media.ctx, mediav1.NewMediaServiceClient(s.media.conn)) }},
		{"reports", func() error {
			return v.reports(s.reports, owners{s.bookings, s.passes, s.subscriptions, s.customers}, wait)
		}},
	} {
		fmt.Fprintln(a.errOut, "verifying "+step.name)
		if err := step.run(); err != nil {
			return labelledError{err, step.name}
		}
	}
	fmt.Fprintf(a.errOut, "%d numbers checked, %s\n", v.checked, quantity(len(v.differences), "differences"))
	if err := a.printAll(v.differences, "no differences"); err != nil {
		return err
	}
	if len(v.differences) > 0 {
		a.explainDifferences(v.differences)
	}
	for _, why := range v.postponed {
		fmt.Fprintln(a.errOut, "not compared: "+why)
	}
	switch {
	case len(v.differences) > 0:
		return errDifferences
	case len(v.postponed) > 0:
		return errNotYet
	}
	return nil
}

// explainDifferences prints a sentence for each kind of difference that needs one.
func (a *app) explainDifferences(differences []row) {
	explained := map[string]bool{}
	for _, d := range differences {
		what := fmt.Sprint(d[0].value)
		if text := differenceText(what); text != "" && !explained[what] {
			fmt.Fprintf(a.errOut, "%s: %s\n", what, text)
		}
		explained[what] = true
	}
}

func (v *verification) bookings(ctx context.Context, client bookingv1.VerificationServiceClient) error {
	stream, err := client.VerifyBookings(ctx, &bookingv1.VerifyBookingsRequest{})
	if err != nil {
		return err
	}
	return each(stream.Recv, func(res *bookingv1.VerifyBookingsResponse) {
		v.checked += res.GetChecked()
		if d := res.GetDifference(); d != nil {
			v.add(d.GetWhat(), d.GetId(), d.GetStored(), d.GetComputed())
		}
	})
}

func (v *verification) passes(ctx context.Context, client passv1.PassServiceClient) error {
	stream, err := client.VerifyPasses(ctx, &passv1.VerifyPassesRequest{})
	if err != nil {
		return err
	}
	return each(stream.Recv, func(res *passv1.VerifyPassesResponse) {
		v.checked += res.GetChecked()
		if d := res.GetDifference(); d != nil {
			v.add(d.GetWhat(), d.GetId(), d.GetStored(), d.GetComputed())
		}
	})
}

// payments compares the credits that bookings hold with the credits that passes gave.
func (v *verification) payments(bookingCtx, passCtx context.Context, booked bookingv1.VerificationServiceClient, sold passv1.PassServiceClient) error {
	return walkPayments(bookingCtx, passCtx, booked, sold, func(held *bookingv1.BookedCredits, given *passv1.RedeemedCredits) {
		v.checked++
		if held.GetCredits() != given.GetCredits() {
			v.add("booking.credits", cmp.Or(held.GetBookingId(), given.GetItemId()), int64(held.GetCredits()), int64(given.GetCredits()))
		}
	})
}

// walkPayments merges the credits that bookings hold with the credits that passes gave. Both come
// in the order of transactions and bookings. It calls each for every booking, with nil for a
// service that has no credits for it.
func walkPayments(bookingCtx, passCtx context.Context, booked bookingv1.VerificationServiceClient, sold passv1.PassServiceClient,
	each func(held *bookingv1.BookedCredits, given *passv1.RedeemedCredits)) error {
	held, err := booked.ExportPassPayments(bookingCtx, &bookingv1.ExportPassPaymentsRequest{})
	if err != nil {
		return err
	}
	given, err := sold.ExportRedemptions(passCtx, &passv1.ExportRedemptionsRequest{})
	if err != nil {
		return err
	}
	left := &cursor[*bookingv1.BookedCredits]{next: func() ([]*bookingv1.BookedCredits, error) {
		res, err := held.Recv()
		return res.GetPayments(), err
	}}
	right := &cursor[*passv1.RedeemedCredits]{next: func() ([]*passv1.RedeemedCredits, error) {
		res, err := given.Recv()
		return res.GetRedemptions(), err
	}}
	return merge(left, right, func(l *bookingv1.BookedCredits, r *passv1.RedeemedCredits) int {
		return cmp.Or(cmp.Compare(l.GetTransactionId(), r.GetRedemptionId()), cmp.Compare(l.GetBookingId(), r.GetItemId()))
	}, each)
}

// merge walks two streams that are in the same order. It calls each for every item, with the zero value
// for a stream that does not have it.
func merge[L, R any](left *cursor[L], right *cursor[R], compare func(L, R) int, each func(L, R)) error {
	var noLeft L
	var noRight R
	for {
		l, lok, err := left.peek()
		if err != nil {
			return err
		}
		r, rok, err := right.peek()
		if err != nil {
			return err
		}
		if !lok && !rok {
			return nil
		}
		order := 0
		if lok && rok {
			order = compare(l, r)
		}
		switch {
		case !rok || lok && order < 0:
			left.advance()
			each(l, noRight)
		case !lok || order > 0:
			right.advance()
			each(noLeft, r)
		default:
			left.advance()
			right.advance()
			each(l, r)
		}
	}
}

// cursor reads a stream of chunks item by item.
type cursor[T any] struct {
	next  func() ([]T, error)
	chunk []T
	ended bool
}

// peek returns the current item, or false at the end.
func (c *cursor[T]) peek() (item T, ok bool, err error) {
	for len(c.chunk) == 0 && !c.ended {
		chunk, err := c.next()
		if errors.Is(err, io.EOF) {
			c.ended = true
			break
		}
		if err != nil {
			return item, false, err
		}
		c.chunk = chunk
	}
	if len(c.chunk) == 0 {
		return item, false, nil
	}
	return c.chunk[0], true, nil
}

func (c *cursor[T]) advance() { c.chunk = c.chunk[1:] }

// each calls do for every message of a stream.
func each[T any](recv func() (T, error), do func(T)) error {
	for {
		res, err := recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		do(res)
	}
}
