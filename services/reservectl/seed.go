package reservectl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/devkit/sampledata"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// seedOptions describes load data. The same numbers and prefix give the same data.
type seedOptions struct {
	customers, bookings int
	prefix              string
}

func (a *app) seedCommand() *cobra.Command {
	var s seedOptions
	c := &cobra.Command{
		Use: "seed", Short: "Fill a company with load data", Args: exactly(),
		Long: `Fill a company with made-up customers and two years of bookings, for load tests.

The data goes through the same imports as a company's real data, in batches of up
to 2000 items that are stored in one commit each. The same prefix gives the same
data, so running the command again adds only what is missing. Another prefix adds
more data.`,
		Example: `  reservectl seed --company comp_… --customers 211000 --bookings 1000000`,
		RunE: func(c *cobra.Command, _ []string) error {
			if s.customers < 0 || s.bookings < 0 {
				return usageError{errors.New("--customers and --bookings must not be negative")}
			}
			if s.bookings > 0 && s.customers == 0 {
				return usageError{errors.New("bookings need customers: set --customers to 1 or more")}
			}
			return a.seed(c, s)
		},
	}
	c.Flags().IntVar(&s.customers, "customers", 0, "number of customers")
	c.Flags().IntVar(&s.bookings, "bookings", 0, "number of bookings")
	c.Flags().StringVar(&s.prefix, "prefix", "seed", "prefix of the data's references")
	return required(c, "customers")
}

func (a *app) seed(c *cobra.Command, s seedOptions) error {
	began := time.Now()
	customers, err := a.forCompany(a.customers)(c.Context())
	if err != nil {
		return err
	}
	defer customers.close()
	people, err := customerExchange(customers.ctx, customerv1.NewCustomerServiceClient(customers.conn))
	if err != nil {
		return err
	}
	refusedCustomers := &report{file: s.prefix + "-customers.refused.ndjson", format: formatNDJSON}
	madeCustomers, err := importAll(customers.ctx, generated(s.customers, s.customer), people, refusedCustomers, a.progress("customers", s.customers))
	if err != nil {
		a.printUnfinished("customers", madeCustomers)
		return err
	}
	madeBookings, err := a.seedBookings(c.Context(), s)
	if err != nil {
		a.printUnfinished("bookings", madeBookings)
		return err
	}
	refused := madeCustomers.refused + madeBookings.refused
	err = a.printOne(row{
		{"customers_created", madeCustomers.created}, {"customers_existed", madeCustomers.existed},
		{"bookings_created", madeBookings.created}, {"bookings_existed", madeBookings.existed},
		{"refused", refused}, {"seconds", float64(time.Since(began).Milliseconds()) / 1000},
	})
	if err == nil && refused > 0 {
		return errRefused
	}
	return err
}

func (a *app) seedBookings(ctx context.Context, s seedOptions) (summary, error) {
	if s.bookings == 0 {
		return summary{}, nil
	}
	bookings, err := a.bookings(ctx)
	if err != nil {
		return summary{}, err
	}
	defer bookings.close()
	purchases, err := transactionExchange(bookings.ctx, bookingv1.NewBookingServiceClient(bookings.conn))
	if err != nil {
		return summary{}, err
	}
	// Dates relative to the day, not the moment, are the same when the command is repeated that day.
	today := time.Now().UTC().Truncate(24 * time.Hour)
	next := generated(s.bookings, func(n int) (string, *bookingv1.ImportedTransaction) { return s.purchase(n, today) })
	refused := &report{file: s.prefix + "-bookings.refused.ndjson", format: formatNDJSON}
	return importAll(bookings.ctx, next, purchases, refused, a.progress("bookings", s.bookings))
}

// generated returns a function that makes the items 0 to n-1, one a call, and then returns io.EOF.
func generated[T proto.Message](n int, make func(int) (string, T)) func() (item[T], error) {
	next := 0
	return func() (item[T], error) {
		if next == n {
			return item[T]{}, io.EOF
		}
		reference, value := make(next)
		next++
		return item[T]{reference: reference, value: value}, nil
	}
}

func (s seedOptions) customer(n int) (string, *customerv1.ImportedCustomer) {
	p := sampledata.PersonAt(n)
	reference := fmt.Sprintf("%s-c%d", s.prefix, n)
	return reference, &customerv1.ImportedCustomer{
		Reference: reference, FirstName: p.FirstName, LastName: p.LastName, Email: p.Email, Mobile: p.Mobile, Archived: n%50 == 49,
	}
}

// The events of seeded bookings: classes, each with a daily date over two years.
const (
	seedEvents = 40
	seedDays   = 730
)

func (s seedOptions) purchase(n int, today time.Time) (string, *bookingv1.ImportedTransaction) {
	r := rand.New(rand.NewPCG(uint64(n), 0x626f6f6b696e67))
	// A few customers buy a lot: the smaller of two draws prefers low numbers.
	buyer := min(r.IntN(s.customers), r.IntN(s.customers))
	event := r.IntN(seedEvents)
	day := r.IntN(seedDays) - seedDays*9/10
	starts := today.AddDate(0, 0, day).Add(time.Duration(7+event%13) * time.Hour)
	bought := starts.Add(-time.Duration(1+r.IntN(14*24)) * time.Hour)
	if bought.After(today) {
		bought = today.Add(-time.Duration(r.IntN(30*24)) * time.Hour)
	}
	b := &bookingv1.ImportedBooking{
		Spaces: 1 + int32(r.IntN(10)/9),
		Date: &bookingv1.ImportedBooking_ImportedDate{ImportedDate: &bookingv1.ImportedDate{
			EventReference: fmt.Sprintf("%s-e%d", s.prefix, event), Title: fmt.Sprintf("Class %d", event+1),
			Type: bookingv1.EventType_EVENT_TYPE_CLASS, StartsAt: timestamppb.New(starts), DurationMinutes: 60,
		}},
		PricingOptionName: "Drop-in",
		IsCancelled:       r.IntN(10) == 0,
	}
	b.IsRefunded = b.IsCancelled && r.IntN(2) == 0
	if r.IntN(15) == 0 && s.customers > 1 {
		b.BoughtFor = fmt.Sprintf("%s-c%d", s.prefix, (buyer+1)%s.customers)
	}
	if r.IntN(4) == 0 {
		b.Payment = &bookingv1.ImportedBooking_Pass{Pass: &bookingv1.PassPayment{CreditsUsed: b.Spaces}}
	} else {
		gross := int64(1200 * b.Spaces)
		b.Payment = &bookingv1.ImportedBooking_Card{Card: &bookingv1.CardPayment{Currency: "GBP", Gross: gross, Net: gross * 5 / 6}}
	}
	reference := fmt.Sprintf("%s-t%d", s.prefix, n)
	return reference, &bookingv1.ImportedTransaction{
		Reference: reference, Customer: fmt.Sprintf("%s-c%d", s.prefix, buyer),
		PurchasedAt: timestamppb.New(bought), Bookings: []*bookingv1.ImportedBooking{b},
	}
}
