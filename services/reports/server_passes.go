package reports

import (
	"cmp"
	"context"

	"reservation.dev/platform/id"
	"reservation.dev/platform/page"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
)

// byExpiry is the order of expiring passes.
var byExpiry = page.Order{Code: 1, Column: "expires"}

// expiringDays is the number of days after the first one of the default span.
const expiringDays = 30

// expiringEnd returns the last day of the default span.
func expiringEnd(from Day) Day { return from + expiringDays }

// ListExpiringPasses implements ReportService.
func (s *Server) ListExpiringPasses(ctx context.Context, req *reportsv1.ListExpiringPassesRequest) (*reportsv1.ListExpiringPassesResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	p, err := page.Read(page.Of(req), byExpiry, page.Sizes{Default: 50, Max: 200})
	if err != nil {
		return nil, err
	}
	sp, err := readSpan(req.GetSpan(), s.today(company), expiringEnd)
	if err != nil {
		return nil, err
	}
	shown, err := s.shown(ctx, company)
	if err != nil {
		return nil, err
	}
	found, total, err := s.store.expiringPasses(ctx, company.ID, shown.generation, sp, p)
	if err != nil {
		return nil, err
	}
	out := &reportsv1.ListExpiringPassesResponse{Total: total, AsOf: shown.asOf, Complete: shown.complete, Span: sp.proto()}
	found, out.NextPageToken = page.Cut(p, found, func(e *expiring) page.Cursor { return page.At(e.expires.time(), id.UUID(e.id)) })
	for _, e := range found {
		shown := e.proto()
		shown.Currency = cmp.Or(shown.Currency, company.Currency) // nothing was paid
		out.Passes = append(out.Passes, shown)
	}
	return out, nil
}

// expiring is a customer pass that expires, with the facts of its type.
type expiring struct {
	passFact
	title    string
	plan     creditsRow // the price of the plan
	currency string     // of the plan
}

func (e expiring) proto() *reportsv1.ExpiringPass {
	out := &reportsv1.ExpiringPass{
		CustomerPassId: e.id.String(), CustomerId: e.customer.String(), PassTypeId: e.passType.String(), Title: e.title, ExpiryDate: e.expires.String(),
		RemainingUses: e.remaining, UnlimitedUses: e.isUnlimited, Currency: e.passFact.currency,
	}
	switch {
	case e.ofSubscription:
		out.Currency = e.currency
		if !e.isUnlimited {
			out.Worth = e.plan.planWorth(int64(e.remaining))
		}
	case !e.isUnlimited:
		out.Worth = e.worth(int64(e.remaining))
	}
	return out
}
