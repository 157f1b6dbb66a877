package reservectl

import (
	"context"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"reservation.dev/platform/csvfile"
	"reservation.dev/platform/id"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// subscriptionBatch is the number of subscriptions that ImportSubscriptions takes.
const subscriptionBatch = 100

// maxReference is the maximum length of a customer's reference.
const maxReference = 200

func (a *app) subscriptionImport() *cobra.Command {
	var o importOptions
	c := &cobra.Command{
		Use: "import FILE", Short: "Import subscriptions from a CSV or NDJSON file (- is standard input)", Args: exactly("FILE"),
		Long: `Import the subscriptions of an earlier system from a CSV or NDJSON file. Import the
customers and the plans first.

Each subscription has a reference: its key in the system that it comes from. A
subscription whose reference was imported before stays unchanged, so you can run
the same command again after a failure. Refused lines are written to a report,
and all others are stored; the exit status is then 3. Correct the report and
import it like any other file. Imports send no webhooks.

Columns of CSV, or members of NDJSON objects. The names can also be in camelCase
or have underscores:

  reference          required; also accepted as id or subscription_id
  customer           required: a cust_ identifier or the reference of an imported
                     customer
  plan               required: a plan_ identifier or the title of a plan
  period_first_day   required: first day of the current period (2026-03-01)
  start_date         first day of the subscription (default: period_first_day)
  remaining_credits  credits left in the current period (default: 0)
  price              in pence or cents (default: the price of the plan)
  payment_due        true if the current period is not paid (default: false)
  anchor_day         day of the month of renewals, 1 to 31 (default: the day of
                     period_first_day)
  trial              true if the current period is a trial (default: false)
  periods_before     paid periods before the current one (default: 0)
  last_day           last day of a subscription that was cancelled`,
		Example: `  reservectl subscription import --company comp_… subscriptions.csv`,
		RunE: func(c *cobra.Command, args []string) error {
			return a.importSubscriptions(c.Context(), args[0], o)
		},
	}
	importFlags(c, &o)
	return c
}

// subscriptionLine is a subscription of a file. Its customer and its plan are not yet looked up.
type subscriptionLine struct {
	*subscriptionv1.ImportedSubscription
	customer, plan string
}

func subscriptionReference() []string { return []string{"reference", "id", "subscriptionid"} }

// subscriptionColumns are the columns of a CSV file of subscriptions.
func subscriptionColumns() csvfile.Columns {
	return csvfile.Columns{
		Required: [][]string{subscriptionReference(), {"customer", "customerid", "customerreference"}, {"plan", "planid", "plantitle"}, {"periodfirstday"}},
		Optional: []string{
			"startdate", "remainingcredits", "price", "paymentdue", "anchorday", "trial", "periodsbefore", "lastday",
		},
	}
}

func readSubscription(f *lineFields) subscriptionLine {
	line := subscriptionLine{
		&subscriptionv1.ImportedSubscription{
			Reference: f.text(subscriptionReference()...), PeriodFirstDay: f.text("period_first_day"), StartDate: f.text("start_date"),
			RemainingCredits: f.small("remaining_credits"), Price: f.integer("price", math.MaxInt64), PaymentDue: f.boolean("payment_due"),
			AnchorDay: f.small("anchor_day"), Trial: f.boolean("trial"), PeriodsBefore: f.small("periods_before"), LastDay: f.text("last_day"),
		},
		f.text("customer", "customer_id", "customer_reference"), f.text("plan", "plan_id", "plan_title"),
	}
	f.shortReference("customer", line.customer)
	return line
}

// shortReference refuses a reference that is longer than any customer's.
func (f *lineFields) shortReference(name, text string) {
	if utf8.RuneCountInString(text) > maxReference {
		f.refuse(name, "max_length", fmt.Sprintf("must be at most %d characters", maxReference))
	}
}

func (a *app) importSubscriptions(ctx context.Context, path string, o importOptions) error {
	in, rep, err := a.openImport(path, o, subscriptionColumns())
	if err != nil {
		return err
	}
	defer func() { _ = in.close() }()
	s, err := a.forCompany(a.subscriptions)(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	customers, err := a.customers(ctx)
	if err != nil {
		return err
	}
	defer customers.close()
	plans, err := fetchPlans(s.ctx, subscriptionv1.NewPlanServiceClient(s.conn))
	if err != nil {
		return err
	}
	i := subscriptionImporter{
		ctx: s.ctx, client: subscriptionv1.NewSubscriptionServiceClient(s.conn), plans: plans,
		customerCtx: customers.ctx, customers: customerv1.NewCustomerServiceClient(customers.conn),
	}
	next := lineReader(in, subscriptionReference(), readSubscription)
	sum, err := importAll(s.ctx, next, unaryExchange(subscriptionBatch, i.store), rep, a.progress("subscriptions", 0))
	return a.finish("subscriptions", sum, err)
}

// subscriptionImporter stores the subscriptions of a file.
type subscriptionImporter struct {
	ctx, customerCtx context.Context
	client           subscriptionv1.SubscriptionServiceClient
	customers        customerv1.CustomerServiceClient
	plans            planIndex
}

// store stores a batch. Lines whose customer or plan does not exist are refused and not sent.
func (i subscriptionImporter) store(batch []subscriptionLine) ([]outcome, error) {
	references := make([]string, len(batch))
	for n, line := range batch {
		references[n] = line.customer
	}
	customers, err := customersByReference(i.customerCtx, i.customers, references)
	if err != nil {
		return nil, err
	}
	outcomes := make([]outcome, len(batch))
	req := &subscriptionv1.ImportSubscriptionsRequest{}
	var sent []int // positions in the batch
	for n, line := range batch {
		if err := i.lookUp(line, customers); err != nil {
			if outcomes[n].refused, err = refusedBy(err); err != nil {
				return nil, err
			}
			continue
		}
		req.Subscriptions, sent = append(req.Subscriptions, line.ImportedSubscription), append(sent, n)
	}
	if len(sent) == 0 {
		return outcomes, nil
	}
	res, err := i.client.ImportSubscriptions(i.ctx, req)
	if err != nil {
		return nil, err
	}
	if len(res.GetResults()) != len(sent) {
		return nil, resultsError(len(res.GetResults()), len(sent))
	}
	for m, r := range res.GetResults() {
		outcomes[sent[m]] = subscriptionOutcome(r)
	}
	return outcomes, nil
}

func subscriptionOutcome(r *subscriptionv1.ImportedSubscriptionResult) outcome {
	if r.GetError() == "" {
		return outcome{created: !r.GetExisted()}
	}
	field := strings.TrimSuffix(r.GetField(), "_id") // the columns of the file are customer and plan
	return outcome{refused: &refusal{field, "", strings.TrimPrefix(strings.TrimPrefix(r.GetError(), r.GetField()), " ")}}
}

// lookUp fills in the identifiers of the customer and of the plan.
func (i subscriptionImporter) lookUp(line subscriptionLine, customers map[string]string) (err error) {
	if line.CustomerId = line.customer; !isCustomerID(line.customer) {
		line.CustomerId = customers[line.customer]
	}
	if line.CustomerId == "" {
		return refusal{"customer", "exists", "does not exist"}
	}
	line.PlanId, err = i.plans.find(line.plan)
	return err
}

// isCustomerID reports whether a text is an identifier. All others are references.
func isCustomerID(text string) bool {
	_, err := id.Parse[id.Customer](text)
	return err == nil
}

// customersByReference returns the identifiers of the customers with the given references. It leaves out
// identifiers and empty texts.
func customersByReference(ctx context.Context, client customerv1.CustomerServiceClient, references []string) (map[string]string, error) {
	req := &customerv1.BatchGetCustomersRequest{}
	for _, reference := range references {
		if reference != "" && !isCustomerID(reference) {
			req.References = append(req.References, reference)
		}
	}
	if len(req.References) == 0 {
		return nil, nil
	}
	res, err := client.BatchGetCustomers(ctx, req)
	if err != nil {
		return nil, labelledError{err, "customer"}
	}
	found := map[string]string{}
	for _, c := range res.GetCustomers() {
		found[c.GetReference()] = c.GetId()
	}
	return found, nil
}
