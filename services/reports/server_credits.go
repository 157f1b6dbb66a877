package reports

import (
	"cmp"
	"context"
	"slices"

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
	found, err := s.store.credits(ctx, r.compared, currency)
	if err != nil {
		return nil, err
	}
	out := &reportsv1.GetCreditsResponse{Compared: r.head, Currency: currency}
	var now, before creditCount
	for _, row := range found {
		n, b := row.counts()
		now, before = now.plus(n), before.plus(b)
		if n != (creditCount{}) || b != (creditCount{}) {
			out.Rows = append(out.Rows, &reportsv1.CreditsRow{PassTypeId: row.passType.String(), Title: row.title, Credits: n.proto(), Before: b.proto()})
		}
	}
	slices.SortFunc(out.Rows, compareCredits)
	out.Rows = out.Rows[:min(len(out.Rows), maxRows)]
	out.Total, out.TotalBefore = now.proto(), before.proto()
	return out, nil
}

func compareCredits(a, b *reportsv1.CreditsRow) int {
	return cmp.Or(cmp.Compare(b.GetCredits().GetClosingWorth(), a.GetCredits().GetClosingWorth()),
		cmp.Compare(b.GetCredits().GetClosing(), a.GetCredits().GetClosing()), cmp.Compare(a.GetPassTypeId(), b.GetPassTypeId()))
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
