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

// stores returns the services that store data about customers, in the order of an export.
func (a *app) stores() []store {
	return []store{{"customer", a.access.GRPC.Customer}, {"booking", a.access.GRPC.Booking}, {"pass", a.access.GRPC.Pass},
		{"subscription", a.access.GRPC.Subscription}, {"media", a.access.GRPC.Media}, {"webhook", a.access.GRPC.Webhook}, {"auth", a.access.GRPC.Auth}}
}

type store struct{ name, addr string }

func (a *app) customerExport() *cobra.Command {
	return &cobra.Command{
		Use: "export CUSTOMER", Short: "Print everything that the platform stores about a customer", Args: exactly("CUSTOMER"),
		Long: `Print everything that the platform stores about a customer, as one JSON
document: the records of each service, by kind.

The command fails if a service does not answer, so an export that succeeds is
complete. docs/PRIVACY.md describes its contents.`,
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
				kinds, err := a.exportFrom(c.Context(), s, args[0])
				if err != nil {
					return labelledError{err, s.name}
				}
				records = append(records, member{s.name, kinds})
			}
			return a.printJSON(row{
				{"company_id", a.access.CompanyID}, {"customer_id", args[0]}, {"exported_at", time.Now().UTC().Format(time.RFC3339)}, {"records", records},
			})
		},
	}
}

// exportFrom fetches the records that a service stores about a customer: a list for each kind.
func (a *app) exportFrom(ctx context.Context, s store, customer string) (row, error) {
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

// eraseFlags holds the flags of customer erase.
type eraseFlags struct {
	cancelOpen, keepOpen, repeat, wait bool
	limit                              time.Duration
}

func (a *app) customerErase() *cobra.Command {
	var flags eraseFlags
	c := &cobra.Command{
		Use: "erase CUSTOMER...", Short: "Erase customers permanently, in every service",
		Long: `Erase customers permanently, in every service.

Names, addresses, numbers, references and free text are removed. Bookings, passes,
money and counts stay, without the person. This cannot be undone. docs/PRIVACY.md
has the details.

A customer with future bookings or usable passes is not erased, unless you give
  --cancel-open  to cancel them first, under the usual rules of cancellation, or
  --keep-open    to keep them as they are, without the person.

You can run the command again after any failure: completed steps are not repeated.
With --repeat, all steps start again, so do not run it again just to wait. Check
the progress with reservectl customer erasures instead.`,
		Example: `  reservectl customer erase --company comp_… cust_… --cancel-open --wait`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{fmt.Errorf("expected at least one CUSTOMER; see %s --help", c.CommandPath())}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if flags.cancelOpen && flags.keepOpen {
				return usageError{errors.New("give either --cancel-open or --keep-open, not both")}
			}
			s, err := a.forCompany(a.customers)(c.Context())
			if err != nil {
				return err
			}
			defer s.close()
			// A failure for one customer does not stop the others. All erasures start before
			// the command waits for any, because each takes minutes.
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
	c.Flags().BoolVar(&flags.cancelOpen, "cancel-open", false, "cancel future bookings and usable passes first")
	c.Flags().BoolVar(&flags.keepOpen, "keep-open", false, "keep future bookings and usable passes, without the person")
	c.Flags().BoolVar(&flags.repeat, "repeat", false, "erase again in all services, for example after a backup was restored")
	c.Flags().BoolVar(&flags.wait, "wait", false, "wait until every service has confirmed the erasure, which takes a few minutes")
	c.Flags().DurationVar(&flags.limit, "timeout", 15*time.Minute, "how long --wait waits for all customers together")
	return c
}

// erase starts the erasure of a customer.
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

// awaitErasure waits until an erasure is complete, or until end. It returns the erasure's last
// known state.
func awaitErasure(s *session, erasure *privacyv1.Erasure, end time.Time) (*privacyv1.Erasure, error) {
	client := privacyv1.NewErasureServiceClient(s.conn)
	for erasure.GetCompletedAt() == nil {
		if time.Now().After(end) {
			return erasure, fmt.Errorf("the erasure is not complete yet, and continues: %s", pendingStep(erasure))
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

// pendingStep returns what an erasure waits for.
func pendingStep(e *privacyv1.Erasure) string {
	for _, s := range e.GetServices() {
		if s.GetErasedAt() == nil {
			return "the " + s.GetService() + " service has not answered"
		}
	}
	return "the services have not confirmed it"
}

func erasureRow(e *privacyv1.Erasure) row {
	out := row{{"customer_id", e.GetCustomerId()}, {"requested_by", e.GetRequestedBy()}, {"requested_at", timeOrNil(e.GetRequestedAt())}}
	for _, s := range e.GetServices() {
		out = append(out, member{s.GetService() + "_erased_at", timeOrNil(s.GetErasedAt())}, member{s.GetService() + "_confirmed_at", timeOrNil(s.GetConfirmedAt())})
	}
	return append(out, member{"events_removed_at", timeOrNil(e.GetEventsRemovedAt())}, member{"completed_at", timeOrNil(e.GetCompletedAt())})
}

func (a *app) customerErasures() *cobra.Command {
	erasures := resource[privacyv1.ErasureServiceClient]{app: a, open: a.forCompany(a.customers), client: privacyv1.NewErasureServiceClient}
	c := erasures.list("List the erased customers and the progress of each erasure", "no customer was erased",
		func(ctx context.Context, client privacyv1.ErasureServiceClient, pageToken string) ([]row, string, error) {
			res, err := client.ListErasures(ctx, &privacyv1.ListErasuresRequest{PageSize: listSize, PageToken: pageToken})
			return rowsOf(res.GetErasures(), erasureRow), res.GetNextPageToken(), err
		})
	c.Use = "erasures"
	c.Long = c.Short + `.

Keep the list with your backups. After you restore a backup, erase every customer
again whose erasure is newer than it: reservectl customer erase --repeat.`
	c.Example = `  reservectl customer erasures --company comp_… --output json > erasures.json`
	return c
}
