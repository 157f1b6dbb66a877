package admin

import (
	"strings"

	"reservation.dev/platform/csvfile"
	"reservation.dev/platform/enum"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// passReference are the columns with the key of a pass.
func passReference() []string { return []string{"reference", "customerpassid", "id"} }

// passesImport imports the columns of the export of passes.
func passesImport() importKind {
	return importKind{
		name: "passes", run: runPasses,
		columns: csvfile.Columns{
			Required: [][]string{passReference(), {"email", "customerid"}, {"title", "passtypeid"}, {"startdate"}},
			Optional: []string{
				"expirydate", "totaluses", "remaininguses", "unlimiteduses", "status", "subscriptionid", "currency", "gross", "method",
				"paymentreference", "createdat", "firstname", "lastname", "createdlocal", "zone", "updatedat",
			},
		},
	}
}

func runPasses(run *importRun, res *importResult, refused func(refusedRow) error) error {
	stream, err := run.services.passes.ImportCustomerPasses(run.ctx)
	if err != nil {
		return err
	}
	steps := importSteps[*passv1.ImportedCustomerPass]{end: stream.CloseSend}
	steps.read = func(rows []csvfile.Row) (*passv1.ImportedCustomerPass, error) { return run.passOf(rows[0]) }
	steps.resolve = func(items []*importItem[*passv1.ImportedCustomerPass]) error {
		names := make([]customerName, len(items))
		for i, item := range items {
			names[i] = customerName{item.rows[0].Get("customerid"), item.rows[0].Get("email"), "customer_id", "email"}
		}
		known, err := run.customersNamed(names)
		if err != nil {
			return err
		}
		for i, item := range items {
			if item.failed != nil {
				continue
			}
			customer, column, reason := known.find(names[i])
			if item.thing.CustomerId = customer; customer == "" {
				item.refuse(0, column, reason)
			}
		}
		return nil
	}
	steps.send = func(things []*passv1.ImportedCustomerPass) ([]importOutcome, error) {
		answer, err := exchange(stream, &passv1.ImportCustomerPassesRequest{CustomerPasses: things, DryRun: run.dryRun})
		if err != nil {
			return nil, err
		}
		outcomes := make([]importOutcome, len(answer.GetResults()))
		for i, r := range answer.GetResults() {
			column := passColumn(r.GetField())
			outcomes[i] = importOutcome{int32(r.GetOutcome()), rowRefusal{0, column, csvfile.Sentence(column, r.GetMessage())}}
		}
		return outcomes, nil
	}
	return importAll(run, steps, res, refused)
}

// passColumn returns the column of a field of ImportedCustomerPass.
func passColumn(field string) string {
	if field == "purchase.reference" {
		return "payment_reference"
	}
	return strings.TrimPrefix(field, "purchase.")
}

// passOf returns the pass of a row, without its customer.
func (r *request) passOf(row csvfile.Row) (*passv1.ImportedCustomerPass, error) {
	cells := &importCells{row: row, zone: r.session.Clock.Zone}
	p := &passv1.ImportedCustomerPass{
		Reference: row.Get(passReference()...), PassTypeId: cells.text("pass_type_id"), Title: cells.text("title"),
		StartDate: cells.text("start_date"), ExpiryDate: cells.text("expiry_date"), TotalUses: cells.number("total_uses"),
		RemainingUses: cells.number("remaining_uses"), UnlimitedUses: cells.flag("unlimited_uses"), CreatedAt: cells.moment("created_at"),
	}
	if cells.text("subscription_id") != "" {
		cells.refuse("subscription_id", "must be empty: the pass belongs to a subscription, which is imported with its pass")
	}
	if status := cells.text("status"); status != "" {
		known, ok := enum.Parse[passv1.CustomerPassStatus](strings.ToLower(status))
		if !ok {
			cells.refuse("status", "must be active, paused or cancelled, or a status that follows from the dates and uses")
		}
		p.Status = known
	}
	if method := strings.ToUpper(cells.text("method")); method != "" || cells.text("gross") != "" {
		p.Purchase = &passv1.ImportedPassPurchase{
			Gross: cells.amount("gross"), Currency: strings.ToUpper(cells.text("currency")), Method: method, Reference: cells.text("payment_reference"),
		}
	}
	return p, cells.err()
}
