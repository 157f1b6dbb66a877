package reservectl

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"reservation.dev/platform/csvfile"
	"reservation.dev/platform/customerfile"
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
			in, rep, err := a.openImport(args[0], o, customerfile.Columns())
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
					it.reference = r.get(customerfile.Reference()...)
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

// readCustomer reads a customer from a line. It returns the reference even if it refuses the line.
func readCustomer(r record) (*customerv1.ImportedCustomer, string, error) {
	value := r.get
	if r.csv == nil {
		members := textMembers{}
		if err := members.read(r); err != nil {
			return nil, members.get(customerfile.Reference()...), err
		}
		value = members.get
	}
	c, err := customerfile.Read(value)
	return c, c.GetReference(), refusalFrom(err)
}

// textMembers are the members of a JSON object of a customer, as text, by normalised name.
type textMembers map[string]string

func (m textMembers) get(names ...string) string { return record{csv: m}.get(names...) }

func (m textMembers) read(r record) error {
	var raw map[string]any
	if err := r.decode(&raw); err != nil {
		return err
	}
	if raw == nil {
		return refusal{"line", "type", "must be a JSON object, not null"}
	}
	members := map[string]any{}
	for name, value := range raw {
		members[csvfile.Column(name)] = value
	}
	for _, column := range []struct {
		title string
		names []string
	}{
		// The reference comes first, because the report names the refused customer by it.
		{"reference", customerfile.Reference()},
		{"firstname", []string{"firstname"}},
		{"lastname", []string{"lastname"}},
		{"email", []string{"email"}},
		{"mobile", []string{"mobile", "phone"}},
		{"created_at", []string{"createdat"}},
	} {
		for _, name := range column.names {
			value := members[name]
			if value == nil {
				continue
			}
			text, ok := value.(string)
			if !ok {
				return refusal{column.title, "type", "must be a string"}
			}
			if m[name] = strings.TrimSpace(text); m[name] != "" {
				break
			}
		}
	}
	archived, ok := members["archived"].(bool)
	if !ok && members["archived"] != nil {
		return refusal{"archived", "type", "must be true or false"}
	}
	m["archived"] = strconv.FormatBool(archived)
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
