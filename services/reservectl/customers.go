package reservectl

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

func (a *app) customerCommand() *cobra.Command {
	return group("customer", "Customers of a company", a.customerImport())
}

func (a *app) customerImport() *cobra.Command {
	var format, refused string
	c := &cobra.Command{
		Use: "import FILE", Short: "Import customers from a CSV or NDJSON file (- is standard input)", Args: exactly("FILE"),
		Long: `Import customers from a CSV or NDJSON file.

Each customer has a reference, its key in the system it comes from. A customer
whose reference was imported before is left as it is: after a failure, run the
same command again. Lines that are refused are written to a report, and the
others are stored.

Columns, or members (also in camelCase or with underscores):

  reference   required; id and customer_id are taken as well
  firstname   required
  lastname    required
  email       required
  mobile      may be empty
  archived    true or false
  created_at  date or date-time with offset; without it, now`,
		Example: `  reservectl customer import --company comp_… customers.csv`,
		RunE: func(c *cobra.Command, args []string) error {
			in, err := a.openRecords(args[0], format)
			if err != nil {
				return err
			}
			defer func() { _ = in.close() }()
			s, err := a.customers(c.Context())
			if err != nil {
				return err
			}
			defer s.close()
			if _, err := a.company(); err != nil {
				return err
			}
			x, err := customerExchange(s.ctx, customerv1.NewCustomerServiceClient(s.conn))
			if err != nil {
				return err
			}
			next := func() (item[*customerv1.ImportedCustomer], error) {
				r, err := in.next()
				if err != nil {
					return item[*customerv1.ImportedCustomer]{}, err
				}
				customer, err := readCustomer(r)
				return item[*customerv1.ImportedCustomer]{line: r.line, reference: customer.GetReference(), value: customer}, err
			}
			return a.finish(importAll(next, x, &report{file: reportFile(refused, args[0])}, a.progress("customers", 0)))
		},
	}
	importFlags(c, &format, &refused)
	return c
}

func importFlags(c *cobra.Command, format, refused *string) {
	c.Flags().StringVar(format, "format", "", "csv or ndjson; without it, by the file's name")
	c.Flags().StringVar(refused, "refused", "", "where to report refused lines; without it, FILE.refused.ndjson")
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"csv", "ndjson"}, cobra.ShellCompDirectiveNoFileComp))
	c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"csv", "ndjson", "jsonl"}, cobra.ShellCompDirectiveFilterFileExt
	}
}

func reportFile(refused, path string) string {
	switch {
	case refused != "":
		return refused
	case path == "-":
		return "import.refused.ndjson"
	}
	return path + ".refused.ndjson"
}

// finish prints an import's summary; refused lines make an exit status of their own.
func (a *app) finish(sum summary, err error) error {
	if err != nil {
		return err
	}
	if err := a.printOne(sum.row()); err != nil {
		return err
	}
	if sum.refused > 0 {
		return errRefused
	}
	return nil
}

// readCustomer reads a customer from a line. What only the service can judge is
// left to it.
func readCustomer(r record) (*customerv1.ImportedCustomer, error) {
	f := customerLine{
		Reference: r.get("reference", "id", "customerid"), FirstName: r.get("firstname"), LastName: r.get("lastname"),
		Email: r.get("email"), Mobile: r.get("mobile", "phone"), CreatedAt: r.get("createdat"),
	}
	if r.json != nil {
		if err := f.fromJSON(r); err != nil {
			return nil, err
		}
	}
	customer := &customerv1.ImportedCustomer{
		Reference: f.Reference, FirstName: f.FirstName, LastName: f.LastName, Email: f.Email, Mobile: f.Mobile, Archived: f.Archived,
	}
	if archived := r.get("archived"); archived != "" {
		value, err := strconv.ParseBool(archived)
		if err != nil {
			return customer, refusal{"archived", "type", "must be true or false"}
		}
		customer.Archived = value
	}
	if f.CreatedAt != "" {
		at, err := parseMoment(f.CreatedAt, time.UTC)
		if err != nil {
			return customer, refusal{"created_at", "format", err.Error()}
		}
		customer.CreatedAt = timestamppb.New(at)
	}
	return customer, nil
}

// customerLine is a customer as it stands in a file.
type customerLine struct {
	Reference, FirstName, LastName, Email, Mobile, CreatedAt string
	Archived                                                 bool
}

func (f *customerLine) fromJSON(r record) error {
	var raw map[string]any
	if err := r.decode(&raw); err != nil {
		return err
	}
	for name, value := range raw {
		var to *string
		switch column(name) {
		case "reference":
			to = &f.Reference
		case "id", "customerid":
			if f.Reference == "" {
				to = &f.Reference
			}
		case "firstname":
			to = &f.FirstName
		case "lastname":
			to = &f.LastName
		case "email":
			to = &f.Email
		case "mobile", "phone":
			to = &f.Mobile
		case "createdat":
			to = &f.CreatedAt
		case "archived":
			archived, ok := value.(bool)
			if !ok {
				return refusal{"archived", "type", "must be true or false"}
			}
			f.Archived = archived
		}
		if to == nil || value == nil {
			continue
		}
		text, ok := value.(string)
		if !ok {
			return refusal{name, "type", "must be a string"}
		}
		*to = text
	}
	return nil
}

func customerExchange(ctx context.Context, client customerv1.CustomerServiceClient) (exchange[*customerv1.ImportedCustomer], error) {
	stream, err := client.ImportCustomers(ctx)
	if err != nil {
		return exchange[*customerv1.ImportedCustomer]{}, err
	}
	return exchange[*customerv1.ImportedCustomer]{
		send: func(batch []*customerv1.ImportedCustomer) error {
			return stream.Send(&customerv1.ImportCustomersRequest{Customers: batch})
		},
		closeSend: stream.CloseSend,
		receive: func() ([]outcome, error) {
			res, err := stream.Recv()
			if err != nil {
				return nil, err
			}
			outcomes := make([]outcome, 0, len(res.GetResults()))
			for _, r := range res.GetResults() {
				o := outcome{reference: r.GetReference(), created: r.GetOutcome() == customerv1.ImportOutcome_IMPORT_OUTCOME_CREATED}
				if r.GetOutcome() == customerv1.ImportOutcome_IMPORT_OUTCOME_REFUSED {
					o.refused = &refusal{r.GetField(), r.GetRule(), r.GetMessage()}
				}
				outcomes = append(outcomes, o)
			}
			return outcomes, nil
		},
	}, nil
}

// parseMoment reads a date, a local date-time of a zone, or a date-time with
// offset.
func parseMoment(s string, zone *time.Location) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, s, zone); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errors.New("must be a date or a date-time, as in 2026-03-29T09:30:00")
}
