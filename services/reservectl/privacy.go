package reservectl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"reservation.dev/platform/fault"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

// stores are the services that know something of customers, in the order of an
// export.
func (a *app) stores() []store {
	return []store{{"customer", a.access.GRPC.Customer}, {"booking", a.access.GRPC.Booking}, {"pass", a.access.GRPC.Pass},
		{"webhook", a.access.GRPC.Webhook}, {"auth", a.access.GRPC.Auth}}
}

type store struct{ name, addr string }

func (a *app) customerExport() *cobra.Command {
	return &cobra.Command{
		Use: "export CUSTOMER", Short: "Print everything that the platform stores about a customer", Args: exactly("CUSTOMER"),
		Long: `Print everything that the platform stores about a customer, as one JSON
document: what each service has, by kind.

A service that does not answer fails the command: an export that ends well is
complete. docs/PRIVACY.md says what is in it.`,
		Example: `  reservectl customer export --company comp_… cust_… > customer.json`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := a.access.load(); err != nil {
				return err
			}
			if _, err := a.company(); err != nil {
				return err
			}
			records := row{}
			for _, s := range a.stores() {
				kinds, err := a.stored(c.Context(), s, args[0])
				if err != nil {
					return labelled{err, s.name}
				}
				records = append(records, member{s.name, kinds})
			}
			return a.printJSON(row{
				{"company_id", a.access.CompanyID}, {"customer_id", args[0]}, {"exported_at", time.Now().UTC().Format(time.RFC3339)}, {"records", records},
			})
		},
	}
}

// stored is what a service stores about a customer: a list per kind.
func (a *app) stored(ctx context.Context, s store, customer string) (row, error) {
	session, err := a.dial(ctx, s.name, s.addr)
	if err != nil {
		return nil, err
	}
	defer session.close()
	stream, err := privacyv1.NewPersonalDataServiceClient(session.conn).ExportPersonalData(session.ctx, &privacyv1.ExportPersonalDataRequest{CustomerId: customer})
	if err != nil {
		return nil, err
	}
	kinds := row{}
	for {
		res, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return kinds, nil
		}
		if err != nil {
			return nil, err
		}
		r := res.GetRecord()
		if n := len(kinds); n == 0 || kinds[n-1].name != r.GetKind() {
			kinds = append(kinds, member{r.GetKind(), []json.RawMessage{}})
		}
		last := &kinds[len(kinds)-1]
		last.value = append(last.value.([]json.RawMessage), json.RawMessage(r.GetJson()))
	}
}

// eraseFlags say how to erase.
type eraseFlags struct {
	cancelOpen, keepOpen, repeat, wait bool
	limit                              time.Duration
}

func (a *app) customerErase() *cobra.Command {
	var flags eraseFlags
	c := &cobra.Command{
		Use: "erase CUSTOMER...", Short: "Erase customers in every service, for good",
		Long: `Erase customers in every service, for good.

Names, addresses, numbers, references and words go; bookings, passes, money and
counts stay, without the person. It cannot be undone. docs/PRIVACY.md has the rest.

A customer who has bookings to come or passes to use is not erased, unless
--cancel-open has them cancelled first, by the rules of any cancellation, or
--keep-open leaves them as they are. What has been done is not done again: the
command can be repeated after any failure. With --repeat everything begins anew,
so what has begun is waited for with reservectl customer erasures.`,
		Example: `  reservectl customer erase --company comp_… cust_… --cancel-open --wait`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{fmt.Errorf("wants at least one CUSTOMER; see %s --help", c.CommandPath())}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if flags.cancelOpen && flags.keepOpen {
				return usageError{errors.New("--cancel-open and --keep-open exclude each other")}
			}
			s, err := a.forCompany(a.customers)(c.Context())
			if err != nil {
				return err
			}
			defer s.close()
			// One who is refused, or was never there, is no reason to keep the others. All
			// are begun before any is waited for, as each takes minutes.
			var last error
			failed := func(customer string, err error) {
				last = fmt.Errorf("%s: %w", customer, err)
				if len(args) > 1 {
					fmt.Fprintf(a.errOut, "%s: %s\n", customer, explain(err))
				}
			}
			var begun []*privacyv1.Erasure
			for _, customer := range args {
				erasure, err := a.erase(s, customer, flags)
				if err != nil {
					failed(customer, err)
					continue
				}
				begun = append(begun, erasure)
			}
			end := time.Now().Add(flags.limit)
			for _, erasure := range begun {
				if flags.wait {
					if erasure, err = awaitErasure(s, erasure, end); err != nil {
						failed(erasure.GetCustomerId(), err)
						continue
					}
				}
				if err := a.printOne(erasureRow(erasure)); err != nil {
					return err
				}
			}
			return last
		},
	}
	c.Flags().BoolVar(&flags.cancelOpen, "cancel-open", false, "cancel the bookings to come and the passes first")
	c.Flags().BoolVar(&flags.keepOpen, "keep-open", false, "leave them as they are, without the person")
	c.Flags().BoolVar(&flags.repeat, "repeat", false, "have all services erase once more: after a backup was restored")
	c.Flags().BoolVar(&flags.wait, "wait", false, "until every service has confirmed it, which takes a few minutes")
	c.Flags().DurationVar(&flags.limit, "timeout", 15*time.Minute, "how long to wait, for all of them")
	return c
}

// erase begins to erase a customer.
func (a *app) erase(s *session, customer string, flags eraseFlags) (*privacyv1.Erasure, error) {
	client := privacyv1.NewErasureServiceClient(s.conn)
	_, err := client.GetErasure(s.ctx, &privacyv1.GetErasureRequest{CustomerId: customer})
	if err != nil && !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	if err != nil && !flags.keepOpen {
		if err := a.withBookingsAndPasses(s.ctx, func(bookings, passes *session) error {
			return settleOutstanding(bookings, passes, customer, flags.cancelOpen)
		}); err != nil {
			return nil, err
		}
	}
	res, err := client.EraseCustomer(s.ctx, &privacyv1.EraseCustomerRequest{CustomerId: customer, Repeat: flags.repeat})
	return res.GetErasure(), err
}

// awaitErasure waits until an erasure is complete, or end has come. It returns the
// erasure as it was last seen.
func awaitErasure(s *session, erasure *privacyv1.Erasure, end time.Time) (*privacyv1.Erasure, error) {
	client := privacyv1.NewErasureServiceClient(s.conn)
	for erasure.GetCompletedAt() == nil {
		if time.Now().After(end) {
			return erasure, fmt.Errorf("not complete yet, and goes on: %s", missingOf(erasure))
		}
		select {
		case <-s.ctx.Done():
			return erasure, s.ctx.Err()
		case <-time.After(time.Second):
		}
		res, err := client.GetErasure(s.ctx, &privacyv1.GetErasureRequest{CustomerId: erasure.GetCustomerId()})
		if err != nil {
			return erasure, err
		}
		erasure = res.GetErasure()
	}
	return erasure, nil
}

// missingOf says what an erasure waits for.
func missingOf(e *privacyv1.Erasure) string {
	for _, s := range e.GetServices() {
		if s.GetErasedAt() == nil {
			return "the " + s.GetService() + " service has not answered"
		}
	}
	return "the services have not confirmed it"
}

func erasureRow(e *privacyv1.Erasure) row {
	out := row{{"customer_id", e.GetCustomerId()}, {"requested_by", e.GetRequestedBy()}, {"requested_at", when(e.GetRequestedAt())}}
	for _, s := range e.GetServices() {
		out = append(out, member{s.GetService() + "_erased_at", when(s.GetErasedAt())}, member{s.GetService() + "_confirmed_at", when(s.GetConfirmedAt())})
	}
	return append(out, member{"events_removed_at", when(e.GetEventsRemovedAt())}, member{"completed_at", when(e.GetCompletedAt())})
}

func (a *app) customerErasures() *cobra.Command {
	erasures := resource[privacyv1.ErasureServiceClient]{app: a, open: a.forCompany(a.customers), client: privacyv1.NewErasureServiceClient}
	c := erasures.list("List the customers who were erased, and how far it is", "nobody was erased",
		func(ctx context.Context, client privacyv1.ErasureServiceClient, pageToken string) ([]row, string, error) {
			res, err := client.ListErasures(ctx, &privacyv1.ListErasuresRequest{PageSize: listSize, PageToken: pageToken})
			return rowsOf(res.GetErasures(), erasureRow), res.GetNextPageToken(), err
		})
	c.Use = "erasures"
	c.Long = c.Short + `.

Keep the list with your backups: after one was restored, erase those again that
are younger than it (--repeat).`
	c.Example = `  reservectl customer erasures --company comp_… --output json > erasures.json`
	return c
}
