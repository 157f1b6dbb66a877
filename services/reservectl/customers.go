package reservectl

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

func (a *app) customerCommand() *cobra.Command {
	return a.callGroup("customer", "Manage, import, export and erase customers", customerCalls(),
		a.customerImport(), a.customerExport(), a.customerErase(), a.customerErasures())
}

func (a *app) customerImport() *cobra.Command {
	var o importOptions
	c := &cobra.Command{
		Use: "import FILE", Short: "Import customers from a CSV or NDJSON file (- is standard input)", Args: exactly("FILE"),
		Long: `Import customers from a CSV or NDJSON file.

Each customer has a reference: its key in the system that it comes from. A
customer whose reference was imported before stays unchanged, so you can run the
same command again after a failure. Refused lines are written to a report, and
all others are stored; the exit status is then 3. Correct the report and import
it like any other file.

Columns of CSV, or members of NDJSON objects. The names can also be in camelCase
or have underscores:

  reference   required; also accepted as id or customer_id
  firstname   required
  lastname    required
  email       required; can be empty if the company allows customers without one
  mobile      optional; also accepted as phone
  archived    true or false (default: false)
  created_at  date or date-time, in UTC unless it has an offset (default: now)`,
		Example: `  reservectl customer import --company comp_… customers.csv
  reservectl customer import --company comp_… - --format ndjson < customers.ndjson`,
		RunE: func(c *cobra.Command, args []string) error {
			in, rep, err := a.openImport(args[0], o, customerColumns())
			if err != nil {
				return err
			}
			defer func() { _ = in.close() }()
			s, err := a.forCompany(a.customers)(c.Context())
			if err != nil {
				return err
			}
			defer s.close()
			x, err := customerExchange(s.ctx, customerv1.NewCustomerServiceClient(s.conn))
			if err != nil {
				return err
			}
			next := func() (customerItem, error) {
				r, err := in.next()
				if errors.Is(err, io.EOF) {
					return customerItem{}, err
				}
				it := customerItem{lines: []record{r}}
				if err != nil {
					it.reference = r.get(customerReference()...)
					return it, err
				}
				it.value, it.reference, err = readCustomer(r)
				return it, err
			}
			sum, err := importAll(s.ctx, next, x, rep, a.progress("customers", 0))
			return a.finish("customers", sum, err)
		},
	}
	importFlags(c, &o)
	return c
}

type customerItem = item[*customerv1.ImportedCustomer]

func customerReference() []string { return []string{"reference", "id", "customerid"} }

// customerColumns are the columns of a CSV file of customers.
func customerColumns() columns {
	return columns{
		required: [][]string{customerReference(), {"firstname"}, {"lastname"}, {"email"}},
		optional: []string{"mobile", "phone", "archived", "createdat"},
	}
}

// readCustomer reads a customer and its reference from a line. It returns the reference even if
// it refuses the line. It checks types and formats; the service checks the rest.
func readCustomer(r record) (*customerv1.ImportedCustomer, string, error) {
	f := customerLine{
		Reference: r.get(customerReference()...), FirstName: r.get("firstname"), LastName: r.get("lastname"),
		Email: r.get("email"), Mobile: r.get("mobile", "phone"), CreatedAt: r.get("createdat"),
	}
	if r.csv == nil {
		if err := f.fromJSON(r); err != nil {
			return nil, f.Reference, err
		}
	}
	customer := &customerv1.ImportedCustomer{
		Reference: f.Reference, FirstName: f.FirstName, LastName: f.LastName, Email: f.Email, Mobile: f.Mobile, Archived: f.Archived,
	}
	if archived := r.get("archived"); archived != "" {
		value, err := strconv.ParseBool(strings.ToLower(archived))
		if err != nil {
			return nil, f.Reference, refusal{"archived", "type", "must be true or false"}
		}
		customer.Archived = value
	}
	if f.CreatedAt != "" {
		at, err := parseMoment(f.CreatedAt, time.UTC)
		if err != nil {
			return nil, f.Reference, refusal{"created_at", "format", err.Error()}
		}
		customer.CreatedAt = timestamppb.New(at)
	}
	return customer, f.Reference, nil
}

// customerLine holds the values of a line of customers, as text.
type customerLine struct {
	Reference, FirstName, LastName, Email, Mobile, CreatedAt string
	Archived                                                 bool
}

func (f *customerLine) fromJSON(r record) error {
	var raw map[string]any
	if err := r.decode(&raw); err != nil {
		return err
	}
	if raw == nil {
		return refusal{"line", "type", "must be a JSON object, not null"}
	}
	members := map[string]any{}
	for name, value := range raw {
		members[column(name)] = value
	}
	for _, m := range []struct {
		to    *string
		title string
		names []string
	}{
		// The reference comes first, because the report names the refused customer by it.
		{&f.Reference, "reference", customerReference()},
		{&f.FirstName, "firstname", []string{"firstname"}},
		{&f.LastName, "lastname", []string{"lastname"}},
		{&f.Email, "email", []string{"email"}},
		{&f.Mobile, "mobile", []string{"mobile", "phone"}},
		{&f.CreatedAt, "created_at", []string{"createdat"}},
	} {
		for _, name := range m.names {
			value := members[name]
			if value == nil || *m.to != "" {
				continue
			}
			text, ok := value.(string)
			if !ok {
				return refusal{m.title, "type", "must be a string"}
			}
			*m.to = strings.TrimSpace(text)
		}
	}
	archived, ok := members["archived"].(bool)
	if !ok && members["archived"] != nil {
		return refusal{"archived", "type", "must be true or false"}
	}
	f.Archived = archived
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
			return outcomesOf(res.GetResults()), nil
		},
	}, nil
}

// parseMoment parses a date, a date-time in the given zone, or a date-time with an offset.
func parseMoment(s string, zone *time.Location) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, s, zone); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errors.New("must be a date or a date-time, for example 2026-03-29T09:30:00")
}
