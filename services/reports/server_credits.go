package reports

import (
	"cmp"
	"context"
	"slices"

	"reservation.dev/platform/id"
	"reservation.dev/platform/tenancy"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
)

// GetCredits implements ReportService.
func (s *Server) GetCredits(ctx context.Context, req *reportsv1.GetCreditsRequest) (*reportsv1.GetCreditsResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	currency, err := currencyOf(company, req.GetCurrency())
	if err != nil {
		return nil, err
	}
	r, err := s.begin(ctx, company, req.GetSpan())
	if err != nil {
		return nil, err
	}
	found, currencies, err := s.store.credits(ctx, r.compared, currency)
	if err != nil {
		return nil, err
	}
	out := &reportsv1.GetCreditsResponse{Compared: r.head, Currency: currency, Currencies: sortedCurrencies(company, currencies)}
	var total, rest comparedCredits
	rows := countedCredits(found)
	for i, row := range rows {
		total = total.plus(row.sums)
		if i >= maxRows {
			rest = rest.plus(row.sums)
			continue
		}
		out.Rows = append(out.Rows, &reportsv1.CreditsRow{
			PassTypeId: row.passType.String(), PlanId: row.plan(), Title: row.title, Credits: row.sums.now.proto(), Before: row.sums.before.proto(),
		})
	}
	if len(rows) > maxRows {
		out.Rows = append(out.Rows, &reportsv1.CreditsRow{Credits: rest.now.proto(), Before: rest.before.proto()})
	}
	out.Total, out.TotalBefore = total.now.proto(), total.before.proto()
	return out, nil
}

// sortedCurrencies returns the currencies that a report offers: those that were found, and the company's.
func sortedCurrencies(company tenancy.Company, found []string) []string {
	all := append(found, company.Currency)
	slices.Sort(all)
	return slices.Compact(all)
}

// comparedCredits is credits in a span and in the span before.
type comparedCredits struct{ now, before creditCount }

func (c comparedCredits) plus(o comparedCredits) comparedCredits {
	return comparedCredits{c.now.plus(o.now), c.before.plus(o.before)}
}

// creditsOfType is the credits of a pass type.
type creditsOfType struct {
	creditsRow
	sums comparedCredits
}

// countedCredits returns the rows with credits by worth, then credits at the end of the span, descending, then by
// pass type.
func countedCredits(rows []creditsRow) []creditsOfType {
	var all []creditsOfType
	for _, row := range rows {
		c := creditsOfType{creditsRow: row}
		if c.sums.now, c.sums.before = row.counts(); c.sums != (comparedCredits{}) {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b creditsOfType) int {
		return cmp.Or(cmp.Compare(b.sums.now.closingWorth, a.sums.now.closingWorth), cmp.Compare(b.sums.now.closing, a.sums.now.closing),
			cmp.Compare(a.passType.String(), b.passType.String()))
	})
	return all
}

// plan returns the identifier of the plan whose subscriptions have the credits; "" for other pass types.
func (r creditsRow) plan() string {
	if !r.ofPlan {
		return ""
	}
	return id.Plan(r.passType).String()
}

// creditCount is credits in a span: outstanding at its beginning and end, and changes in between.
type creditCount struct {
	opening, closing           int64
	openingWorth, closingWorth int64
	creditChange
}

// counts returns the credits of a pass type in the span and in the span before, which ends when the span
// begins.
func (r creditsRow) counts() (now, before creditCount) {
	before = creditCount{opening: r.opening, openingWorth: r.worth, creditChange: r.before}
	before.closing, before.closingWorth = before.opening+r.before.balance(), before.openingWorth+r.before.worth
	now = creditCount{opening: before.closing, openingWorth: before.closingWorth, creditChange: r.now}
	now.closing, now.closingWorth = now.opening+r.now.balance(), now.openingWorth+r.now.worth
	for _, c := range []*creditCount{&now, &before} {
		c.openingWorth += r.planWorth(c.opening)
		c.closingWorth += r.planWorth(c.closing)
	}
	return now, before
}

// planWorth returns what credits of a subscription are worth: their share of the plan's price.
func (r creditsRow) planWorth(credits int64) int64 {
	if r.granted <= 0 {
		return 0
	}
	return r.price * max(credits, 0) / r.granted
}

func (c creditCount) plus(o creditCount) creditCount {
	return creditCount{
		c.opening + o.opening, c.closing + o.closing, c.openingWorth + o.openingWorth, c.closingWorth + o.closingWorth,
		c.creditChange.plus(o.creditChange, 1),
	}
}

func (c creditCount) proto() *reportsv1.Credits {
	return &reportsv1.Credits{
		Opening: c.opening, Closing: c.closing, Added: c.added, Used: c.used, Expired: c.expired, Adjusted: c.adjusted,
		OpeningWorth: c.openingWorth, ClosingWorth: c.closingWorth,
	}
}
