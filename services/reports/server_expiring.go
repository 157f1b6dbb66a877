package reports

import (
	"cmp"
	"context"
	"slices"

	"reservation.dev/platform/id"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
)

// SumExpiringPasses implements ReportService.
func (s *Server) SumExpiringPasses(ctx context.Context, req *reportsv1.SumExpiringPassesRequest) (*reportsv1.SumExpiringPassesResponse, error) {
	company, err := s.companies.Claimed(ctx)
	if err != nil {
		return nil, err
	}
	currency, err := currencyOf(company, req.GetCurrency())
	if err != nil {
		return nil, err
	}
	r, err := s.beginWith(ctx, company, req.GetSpan(), s.today(company), expiringEnd)
	if err != nil {
		return nil, err
	}
	out := &expiringReport{report: r}
	if err := out.read(ctx, s.store, req.GetGroupBy(), currency, company.Currency); err != nil {
		return nil, err
	}
	return &reportsv1.SumExpiringPassesResponse{
		Compared: r.head, Currency: currency, Currencies: sortedCurrencies(company, out.currencies), Rows: out.rows,
		Total: out.total.now.proto(), TotalBefore: out.total.before.proto(),
	}, nil
}

// expiringSum is a number of passes, their credits and the worth of these.
type expiringSum struct{ passes, credits, worth int64 }

func (e expiringSum) plus(o expiringSum) expiringSum {
	return expiringSum{e.passes + o.passes, e.credits + o.credits, e.worth + o.worth}
}

func (e expiringSum) proto() *reportsv1.Expiring {
	return &reportsv1.Expiring{Passes: e.passes, Credits: e.credits, Worth: e.worth}
}

// comparedExpiring is the passes that expire in a span and in the span before.
type comparedExpiring struct{ now, before expiringSum }

func (c comparedExpiring) plus(o comparedExpiring) comparedExpiring {
	return comparedExpiring{c.now.plus(o.now), c.before.plus(o.before)}
}

// expiringReport is a report of passes that expire.
type expiringReport struct {
	report
	currencies []string
	rows       []*reportsv1.ExpiringRow
	total      comparedExpiring
}

// read reads the rows. Passes for which nothing was paid have the company's currency, standard.
func (r *expiringReport) read(ctx context.Context, s *store, by reportsv1.ExpiringGrouping, currency, standard string) (err error) {
	if by == reportsv1.ExpiringGrouping_EXPIRING_GROUPING_PASS_TYPE {
		var rows []expiringOfType
		rows, r.currencies, err = s.expiringByType(ctx, r.compared, currency, standard)
		r.addTypes(rows)
		return err
	}
	days, currencies, err := s.expiringByDay(ctx, r.compared, currency, standard)
	r.currencies = currencies
	r.addPeriods(days, map[reportsv1.ExpiringGrouping]period{
		reportsv1.ExpiringGrouping_EXPIRING_GROUPING_WEEK: weekly, reportsv1.ExpiringGrouping_EXPIRING_GROUPING_MONTH: monthly,
	}[by])
	return err
}

// addPeriods adds a row for each period of the span. Periods before that have no place in the span are only in the
// total.
func (r *expiringReport) addPeriods(days []expiringOnDay, p period) {
	periods := p.split(r.span)
	sums := make([]comparedExpiring, len(periods))
	for _, d := range days {
		if r.span.contains(d.day) {
			at := &sums[p.index(r.span, d.day)]
			at.now, r.total.now = at.now.plus(d.sum), r.total.now.plus(d.sum)
			continue
		}
		r.total.before = r.total.before.plus(d.sum)
		if i := p.index(r.before, d.day); i < len(sums) {
			sums[i].before = sums[i].before.plus(d.sum)
		}
	}
	for i, sp := range periods {
		r.rows = append(r.rows, &reportsv1.ExpiringRow{Key: sp.from.String(), Expiring: sums[i].now.proto(), Before: sums[i].before.proto()})
	}
}

// addTypes adds a row for each pass type by passes, descending, then by key, and one for those that are not listed.
func (r *expiringReport) addTypes(rows []expiringOfType) {
	slices.SortFunc(rows, func(a, b expiringOfType) int {
		return cmp.Or(cmp.Compare(b.sums.now.passes, a.sums.now.passes), cmp.Compare(a.passType.String(), b.passType.String()))
	})
	var rest comparedExpiring
	for i, row := range rows {
		r.total = r.total.plus(row.sums)
		if i >= maxRows {
			rest = rest.plus(row.sums)
			continue
		}
		plan := ""
		if row.ofPlan {
			plan = id.Plan(row.passType).String()
		}
		r.rows = append(r.rows, &reportsv1.ExpiringRow{
			Key: row.passType.String(), PlanId: plan, Title: row.title, Expiring: row.sums.now.proto(), Before: row.sums.before.proto(),
		})
	}
	if len(rows) > maxRows {
		r.rows = append(r.rows, &reportsv1.ExpiringRow{Expiring: rest.now.proto(), Before: rest.before.proto()})
	}
}
