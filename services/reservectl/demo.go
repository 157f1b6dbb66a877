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
		Use: "demo", Short: "Buy a pass, book a class with it and a workshop by card, and see the webhooks arrive", Args: exactly(),
		Long: `demo shows webhooks at work on a platform that runs on this machine with its
demonstration company. It receives webhooks as listen does, buys a pass over
Interface B for a customer, books a class with it and a workshop by card, waits
until all notifications have arrived with good signatures, and deletes its
endpoint. What it bought stays.

The exit status is 0 when all have arrived and verified, else 1, and it says what
is missing.`,
		Example: "  reservectl demo --credentials .run/credentials.json",
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeoutCause(c.Context(), limit, errLate)
			defer cancel()
			return a.demo(ctx)
		},
	}
	c.Flags().DurationVar(&limit, "limit", limit, "how long it may take")
	c.Flags().StringVar(&a.access.Webhooks.CAFile, "ca", "", "certificate of the authority that the platform trusts, its key beside it (.key), instead of the file's")
	return c
}

// errLate ends a demonstration that has taken too long.
var errLate = errors.New("the time of --limit is over")

// expected is a notification that a demonstration waits for: of an event, with
// some members of its data.
type expected struct {
	event string
	of    string // what was done
	data  map[string]any
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
		events: webhookevent.Types(), answer: 200,
		seen: func(r *receipt) {
			select {
			case arrived <- *r:
			case <-ctx.Done():
			}
		},
	})
	if err != nil {
		return late(ctx, err)
	}
	defer func() { err = errors.Join(err, l.close()) }()
	a.say("listening at %s as %s\n", l.url, l.endpoint)
	shop, err := openShop(ctx, a.access.InterfaceB.APIBaseURL, a.access.InterfaceB.APIKey, a.access.InterfaceB.APISecret)
	if err != nil {
		return late(ctx, err)
	}
	missing, err := a.buy(ctx, shop)
	if err != nil {
		return late(ctx, err)
	}
	return a.await(ctx, l, arrived, missing)
}

// late says that it is the time that is over, and no fault of a service.
func late(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errLate) {
		return fmt.Errorf("%w before all was bought: %s", cause, explain(err))
	}
	return err
}

func (a *app) say(format string, args ...any) {
	_, _ = io.WriteString(a.out, printableText(fmt.Sprintf(format, args...))) // a demonstration that nobody sees goes on
}

// buy makes the purchases and returns what is to be heard of them.
func (a *app) buy(ctx context.Context, s *shop) ([]expected, error) {
	customer, err := s.customer(ctx)
	if err != nil {
		return nil, err
	}
	pass, err := s.pass(ctx)
	if err != nil {
		return nil, err
	}
	class, err := s.event(ctx, "class", true)
	if err != nil {
		return nil, err
	}
	workshop, err := s.event(ctx, "workshop", false)
	if err != nil {
		return nil, err
	}
	bought, err := s.buyPass(ctx, customer, pass)
	if err != nil {
		return nil, err
	}
	a.say("%s %s bought %q: %s, %d uses\n", customer.FirstName, customer.LastName, pass.Title, bought.ID, bought.RemainingUses)
	byPass, err := s.book(ctx, customer, class, map[string]any{"method": "PASS", "customerPassId": bought.ID})
	if err != nil {
		return nil, err
	}
	a.say("booked the class %q on %s with it: %s\n", class.Title, byPass.EventDate, byPass.ID)
	byCard, err := s.book(ctx, customer, workshop, map[string]any{"method": "CARD", "reference": "demo"})
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

// await prints what arrives until nothing is missing.
func (a *app) await(ctx context.Context, l *listener, arrived <-chan receipt, missing []expected) error {
	began := time.Now()
	total := len(missing)
	var faults []error
	for len(missing) > 0 {
		select {
		case r := <-arrived:
			i := slices.IndexFunc(missing, func(e expected) bool { return e.matches(&r, dataOf(&r)) })
			if i < 0 {
				continue // somebody else's
			}
			a.printReceipt(&r, []string{"body"})
			if err := cmp.Or(r.token, r.standard); err != nil {
				faults = append(faults, fmt.Errorf("%s of %s does not verify: %w", missing[i].event, missing[i].of, err))
			}
			missing = slices.Delete(missing, i, i+1)
		case err := <-l.failed:
			return err
		case <-ctx.Done():
			for _, e := range missing {
				faults = append(faults, fmt.Errorf("%s of %s has not arrived", e.event, e.of))
			}
			return errors.Join(append([]error{context.Cause(ctx)}, faults...)...)
		}
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	a.say("\nall %d notifications have arrived and verify, after %d ms\n", total, time.Since(began).Milliseconds())
	return nil
}
