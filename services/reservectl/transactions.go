package reservectl

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"reservation.dev/platform/csvfile"
	"reservation.dev/platform/zone"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

func (a *app) transactionCommand() *cobra.Command {
	return a.callGroup("transaction", "Manage and import purchases", transactionCalls(), a.transactionImport())
}

func (a *app) transactionImport() *cobra.Command {
	var o importOptions
	c := &cobra.Command{
		Use: "import FILE", Short: "Import a history of purchases from a CSV or NDJSON file (- is standard input)", Args: exactly("FILE"),
		Long: `Import a history of purchases from a CSV or NDJSON file.

Each purchase has a reference: its key in the system that it comes from. A
purchase whose reference was imported before stays unchanged, so you can run the
same command again after a failure. Refused purchases are written to a report,
and all others are stored; the exit status is then 3. Correct the report and
import it like any other file. Imports send no webhooks.

NDJSON has one purchase on each line, in the format of Interface A:

  {"reference": "P-1001", "customer": "C-17", "purchase_date": "2025-11-03T18:20:00",
   "bookings": [{"spaces": 2, "is_cancelled": false, "is_refunded": false, "bought_for": "C-18",
     "event": {"reference": "E-3", "name": "Morning Vinyasa", "type": "class",
       "date": {"datetime": "2025-11-10T07:30:00", "tz": "Europe/London", "duration": 60, "capacity": 20}},
     "pricing_option": {"name": "Drop-in"},
     "payment": {"method": "CARD", "currency": "GBP", "base100gross_price": 2400, "base100net_price": 2000}}]}

CSV has one booking on each line. Consecutive lines with the same reference are
one purchase. Columns: reference, customer, purchase_date, spaces, is_cancelled,
is_refunded, bought_for, event_reference, event_name, event_type, event_date, tz,
duration, capacity, event_date_id, pricing_option, pricing_option_id, method,
currency, base100gross_price, base100net_price, credits_used, customer_pass_id,
payment_reference.

customer and bought_for are cust_ identifiers or the references of imported
customers. Events are looked up by reference, and their dates by start time; both
are created if they do not exist. An event's date-time without an offset is in
the zone of the event (tz) or else of the company, a purchase_date without an
offset in the company's zone. duration is in minutes, prices are in pence or
cents. method is CARD, PASS, CASH, BANK_TRANSFER, ONLINE, OTHER or FREE.`,
		Example: `  reservectl transaction import --company comp_… history.ndjson
  reservectl transaction import --company comp_… history.csv --refused to-correct.csv`,
		RunE: func(c *cobra.Command, args []string) error {
			in, rep, err := a.openImport(args[0], o, transactionColumns())
			if err != nil {
				return err
			}
			defer func() { _ = in.close() }()
			s, err := a.bookings(c.Context())
			if err != nil {
				return err
			}
			defer s.close()
			local, err := a.companyZone(c.Context())
			if err != nil {
				return err
			}
			x, err := transactionExchange(s.ctx, bookingv1.NewBookingServiceClient(s.conn))
			if err != nil {
				return err
			}
			next := grouped(in.next, local)
			sum, err := importAll(s.ctx, next, x, rep, a.progress("purchases", 0))
			return a.finish("purchases", sum, err)
		},
	}
	importFlags(c, &o)
	return c
}

// companyZone fetches the time zone of the company that the command acts for.
func (a *app) companyZone(ctx context.Context) (*time.Location, error) {
	company, err := a.company()
	if err != nil {
		return nil, err
	}
	s, err := a.auth(ctx)
	if err != nil {
		return nil, err
	}
	defer s.close()
	res, err := authv1.NewCompanyServiceClient(s.conn).GetCompany(s.ctx, &authv1.GetCompanyRequest{Id: company})
	if err != nil {
		return nil, err
	}
	return zone.Load(res.GetCompany().GetTimezone())
}

type transactionItem = item[*bookingv1.ImportedTransaction]

// transactionColumns are the columns of a CSV file of purchases.
func transactionColumns() csvfile.Columns {
	return csvfile.Columns{
		Required: [][]string{
			transactionReference(), customerColumn(), {"purchasedate", "purchasedat"}, {"method", "paymentmethod"},
		},
		Optional: []string{
			"spaces", "iscancelled", "isrefunded", "boughtfor", "boughtforid",
			"eventreference", "eventid", "eventname", "event", "eventtitle", "eventtype",
			"eventdateid", "eventdate", "datetime", "tz", "timezone", "duration", "capacity",
			"pricingoptionid", "pricingoption", "pricingoptionname",
			"currency", "base100grossprice", "gross", "base100netprice", "net", "creditsused", "customerpassid", "paymentreference",
		},
	}
}

func transactionReference() []string {
	return []string{"reference", "transaction", "transactionid", "id"}
}

func customerColumn() []string {
	return []string{"customer", "customerid", "customerreference", "purchasedby"}
}

// grouped turns lines into purchases. An NDJSON line is a purchase; consecutive CSV lines with the
// same reference are one purchase.
func grouped(next func() (record, error), local *time.Location) func() (transactionItem, error) {
	var ahead *transactionItem
	var aheadErr error
	read := func() (transactionItem, error) {
		r, err := next()
		if errors.Is(err, io.EOF) {
			return transactionItem{}, err
		}
		it := transactionItem{lines: []record{r}}
		if err != nil {
			it.reference = r.get(transactionReference()...)
			return it, err
		}
		line, err := readTransactionLine(r)
		if it.reference = line.Reference; err != nil {
			return it, err
		}
		it.value, err = line.convert(local)
		return it, err
	}
	return func() (transactionItem, error) {
		var current transactionItem
		var err error
		if ahead != nil {
			current, err, ahead, aheadErr = *ahead, aheadErr, nil, nil
		} else {
			current, err = read()
		}
		if current.reference == "" || current.lines[0].csv == nil {
			return current, err
		}
		for {
			following, followingErr := read()
			if following.reference != current.reference {
				ahead, aheadErr = &following, followingErr
				return current, err
			}
			current.lines = append(current.lines, following.lines...)
			// A refused line refuses the whole purchase. A partial purchase would be worse.
			if err == nil {
				err = followingErr
			}
			if err == nil {
				current.value.Bookings = append(current.value.Bookings, following.value.GetBookings()...)
			}
		}
	}
}

func transactionExchange(ctx context.Context, client bookingv1.BookingServiceClient) (exchange[*bookingv1.ImportedTransaction], error) {
	stream, err := client.ImportTransactions(ctx)
	if err != nil {
		return exchange[*bookingv1.ImportedTransaction]{}, err
	}
	return exchange[*bookingv1.ImportedTransaction]{
		send: func(batch []*bookingv1.ImportedTransaction) error {
			return stream.Send(&bookingv1.ImportTransactionsRequest{Transactions: batch})
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
