package reports

import (
	"context"
	"fmt"

	"reservation.dev/platform/fault"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
)

// maxPeriods is the number of rows of a report about customers.
const maxPeriods = 160

// GetCustomers implements ReportService.
func (s *Server) GetCustomers(ctx context.Context, req *reportsv1.GetCustomersRequest) (*reportsv1.GetCustomersResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	r, err := s.begin(ctx, company, req.GetSpan())
	if err != nil {
		return nil, err
	}
	p := periodOf(req.GetPeriod())
	rows, before := p.split(r.span), p.split(r.before)
	if len(rows) > maxPeriods {
		return nil, fault.InvalidParameter("period", "period", fmt.Sprintf("must be a longer one: the span has %d rows, and %d are allowed", len(rows), maxPeriods))
	}
	before = before[:min(len(before), len(rows))]
	spans := append(append([]span{r.span, r.before}, rows...), before...)
	counts, err := s.store.countCustomers(ctx, company.ID, r.generation, spans)
	if err != nil {
		return nil, err
	}
	out := &reportsv1.GetCustomersResponse{Compared: r.head, Total: counts[0].proto(), TotalBefore: counts[1].proto()}
	counts = counts[2:]
	for i, sp := range rows {
		row := &reportsv1.CustomersRow{Key: sp.from.String(), Customers: counts[i].proto(), Before: &reportsv1.Customers{}}
		if i < len(before) {
			row.Before = counts[len(rows)+i].proto()
		}
		out.Rows = append(out.Rows, row)
	}
	return out, nil
}

// periodOf returns the period of a request.
func periodOf(p reportsv1.Period) period {
	switch p {
	case reportsv1.Period_PERIOD_DAY:
		return daily
	case reportsv1.Period_PERIOD_WEEK:
		return weekly
	}
	return monthly
}

func (c customerCount) proto() *reportsv1.Customers {
	return &reportsv1.Customers{Total: c.total, New: c.created, Active: c.active, Lost: c.lost, Returned: c.returned}
}
