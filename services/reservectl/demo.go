package reservectl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reservation.dev/platform/webhookevent"
)

func (a *app) demoCommand() *cobra.Command {
	limit := 30 * time.Second
	c := &cobra.Command{
		Use: "demo", Short: "Buy a pass, make two bookings, and show the webhooks that arrive", Args: exactly(),
		Long: `demo shows the webhooks of a platform that runs on this machine with its
demonstration company. It receives webhooks in the same way as listen. Through
Interface B it buys a pass for a customer, books a class with the pass, and books
a workshop by card. It waits until all notifications have arrived with valid
signatures, and deletes its endpoint. The pass and the bookings stay.

The exit status is 0 if all notifications have arrived and verified. Else it is 1,
and the error names the notifications that are missing or not verified.`,
		Example: "  reservectl demo --credentials .run/credentials.json",
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeoutCause(c.Context(), limit, errTimeLimit)
			defer cancel()
			return a.demo(ctx)
		},
	}
	c.Flags().DurationVar(&limit, "limit", limit, "time limit")
	c.Flags().StringVar(&a.access.Webhooks.CAFile, "ca", "", caUsage)
	return c
}

// errTimeLimit ends a demonstration that takes longer than --limit.
var errTimeLimit = errors.New("the time limit (--limit) was exceeded")

// expected is a notification that a demonstration waits for.
type expected struct {
	event    string
	purchase string // for example "the class"
	data     map[string]any
}

func (e expected) matches(r *receipt, data map[string]any) bool {
	if r.envelope.Event != e.event {
		return false
	}
	for name, want := range e.data {
		if data[name] != want {
			return false
		}
	}
	return true
}

func (a *app) demo(ctx context.Context) (err error) {
	arrived := make(chan receipt, 64)
	l, err := a.listen(ctx, listenerOptions{
		events: webhookevent.DefaultTypes(), answer: 200,
		seen: func(r *receipt) {
			select {
			case arrived <- *r:
			case <-ctx.Done():
			}
		},
	})
	if err != nil {
		return timeLimitError(ctx, err)
	}
	defer func() { err = errors.Join(err, l.close()) }()
	a.say("listening at %s as endpoint %s\n", l.url, l.endpoint)
	b, err := openInterfaceB(ctx, a.access.InterfaceB.APIBaseURL, a.access.InterfaceB.APIKey, a.access.InterfaceB.APISecret)
	if err != nil {
		return timeLimitError(ctx, err)
	}
	missing, err := a.buy(ctx, b)
	if err != nil {
		return timeLimitError(ctx, err)
	}
	return a.await(ctx, l, arrived, missing)
}

// timeLimitError returns an error about the time limit if the limit caused err, and otherwise err.
// Without it, the error would look like the fault of a service.
func timeLimitError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errTimeLimit) {
		return fmt.Errorf("%w before all purchases were made: %s", cause, explain(err))
	}
	return err
}

func (a *app) say(format string, args ...any) {
	_, _ = io.WriteString(a.out, printableText(fmt.Sprintf(format, args...))) // the demonstration continues without output
}

// buy makes the purchases and returns the notifications to expect.
func (a *app) buy(ctx context.Context, b *interfaceB) ([]expected, error) {
	customer, err := b.customer(ctx)
	if err != nil {
		return nil, err
	}
	pass, err := b.pass(ctx)
	if err != nil {
		return nil, err
	}
	class, err := b.event(ctx, "class", true)
	if err != nil {
		return nil, err
	}
	workshop, err := b.event(ctx, "workshop", false)
	if err != nil {
		return nil, err
	}
	bought, err := b.buyPass(ctx, customer, pass)
	if err != nil {
		return nil, err
	}
	a.say("%s %s bought the pass %q: %s, %d uses\n", customer.FirstName, customer.LastName, pass.Title, bought.ID, bought.RemainingUses)
	byPass, err := b.book(ctx, customer, class, map[string]any{"method": "PASS", "customerPassId": bought.ID})
	if err != nil {
		return nil, err
	}
	a.say("booked the class %q on %s with the pass: %s\n", class.Title, byPass.EventDate, byPass.ID)
	byCard, err := b.book(ctx, customer, workshop, map[string]any{"method": "CARD", "reference": "demo"})
	if err != nil {
		return nil, err
	}
	a.say("booked the workshop %q on %s by card: %s, %v %s\n\n", workshop.Title, byCard.EventDate, byCard.ID, byCard.TotalPaid, byCard.Currency)
	return []expected{
		{"pass.purchased", "the pass", map[string]any{"customerPassId": bought.ID, "customerId": customer.ID, "passId": pass.ID}},
		{"registration.created", "the class", map[string]any{"registrationId": byPass.ID, "eventId": class.ID, "passUsed": bought.ID, "paymentMethod": "PASS"}},
		{"registration.created", "the workshop", map[string]any{"registrationId": byCard.ID, "eventId": workshop.ID, "passUsed": nil, "paymentMethod": "CARD"}},
		{"event.purchased", "the workshop", map[string]any{
			"purchaseId": strings.Replace(byCard.ID, "reg_", "pur_", 1), "eventId": workshop.ID, "totalPaid": byCard.TotalPaid,
		}},
	}, nil
}

// await prints the notifications that arrive until none is missing.
func (a *app) await(ctx context.Context, l *listener, arrived <-chan receipt, missing []expected) error {
	began := time.Now()
	total := len(missing)
	var faults []error
	for len(missing) > 0 {
		select {
		case r := <-arrived:
			i := slices.IndexFunc(missing, func(e expected) bool { return e.matches(&r, dataOf(&r)) })
			if i < 0 {
				continue // of another purchase
			}
			a.printReceipt(&r, []string{"body"})
			if err := cmp.Or(r.token, r.standard); err != nil {
				faults = append(faults, fmt.Errorf("%s for %s has an invalid signature: %w", missing[i].event, missing[i].purchase, err))
			}
			missing = slices.Delete(missing, i, i+1)
		case err := <-l.failed:
			return err
		case <-ctx.Done():
			for _, e := range missing {
				faults = append(faults, fmt.Errorf("%s for %s has not arrived", e.event, e.purchase))
			}
			return errors.Join(append([]error{context.Cause(ctx)}, faults...)...)
		}
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	a.say("\nall %d notifications have arrived and verified, after %d ms\n", total, time.Since(began).Milliseconds())
	return nil
}
