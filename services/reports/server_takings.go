package reports

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"reservation.dev/platform/id"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
)

// GetTakings implements ReportService.
func (s *Server) GetTakings(ctx context.Context, req *reportsv1.GetTakingsRequest) (*reportsv1.GetTakingsResponse, error) {
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
	out := &takingsReport{report: r, currency: currency, currencies: map[string]bool{company.Currency: true}}
	if err := out.read(ctx, s.store, req.GetGroupBy()); err != nil {
		return nil, err
	}
	return out.response(), nil
}

// takingsReport is a report of takings in one currency.
type takingsReport struct {
	report
	currency    string
	currencies  map[string]bool
	rows        []*reportsv1.TakingsRow
	total       taking
	totalBefore taking
}

// read reads the rows.
func (r *takingsReport) read(ctx context.Context, s *store, by reportsv1.TakingsGrouping) error {
	switch by {
	case reportsv1.TakingsGrouping_TAKINGS_GROUPING_METHOD:
		rows, err := takings[string](ctx, s, takingsByMethodSQL, r.compared)
		addRows(r, rows, func(method string) string { return method })
		r.sortByGross()
		return err
	case reportsv1.TakingsGrouping_TAKINGS_GROUPING_TAX:
		rows, err := takings[int32](ctx, s, takingsByTaxSQL, r.compared)
		slices.SortFunc(rows, func(a, b takingsRow[int32]) int { return cmp.Compare(a.key, b.key) })
		addRows(r, rows, func(rate int32) string { return strconv.Itoa(int(rate)) })
		return err
	case reportsv1.TakingsGrouping_TAKINGS_GROUPING_PRODUCT:
		return r.readProducts(ctx, s)
	case reportsv1.TakingsGrouping_TAKINGS_GROUPING_WEEK:
		return r.readPeriods(ctx, s, weekly)
	case reportsv1.TakingsGrouping_TAKINGS_GROUPING_MONTH:
		return r.readPeriods(ctx, s, monthly)
	}
	return r.readPeriods(ctx, s, daily)
}

// addRows adds the rows in the currency of the report, without those that became empty.
func addRows[K any](r *takingsReport, rows []takingsRow[K], name func(K) string) {
	for _, row := range rows {
		if row.now == (taking{}) && row.before == (taking{}) {
			continue
		}
		r.currencies[row.currency] = true
		if row.currency == r.currency {
			r.add(&reportsv1.TakingsRow{Key: name(row.key)}, row.now, row.before)
		}
	}
}

func (r *takingsReport) add(row *reportsv1.TakingsRow, now, before taking) {
	row.Takings, row.Before = now.proto(), before.proto()
	r.rows = append(r.rows, row)
	r.total, r.totalBefore = r.total.plus(now, 1), r.totalBefore.plus(before, 1)
}

// sortByGross sorts the rows by gross, descending, then by key.
func (r *takingsReport) sortByGross() {
	slices.SortFunc(r.rows, func(a, b *reportsv1.TakingsRow) int {
		return cmp.Or(cmp.Compare(b.GetTakings().GetGross(), a.GetTakings().GetGross()), cmp.Compare(a.GetKey(), b.GetKey()))
	})
}

func (r *takingsReport) readPeriods(ctx context.Context, s *store, p period) error {
	rows, err := takings[Day](ctx, s, takingsByDaySQL, r.compared)
	if err != nil {
		return err
	}
	periods := p.split(r.span)
	now, before := make([]taking, len(periods)), make([]taking, len(periods))
	var beyond taking // of periods before that have no place in the span
	for _, row := range rows {
		if row.now == (taking{}) && row.before == (taking{}) {
			continue
		}
		r.currencies[row.currency] = true
		switch i := p.index(r.before, row.key); {
		case row.currency != r.currency:
		case r.span.contains(row.key):
			at := p.index(r.span, row.key)
			now[at] = now[at].plus(row.now, 1)
		case i < len(before):
			before[i] = before[i].plus(row.before, 1)
		default:
			beyond = beyond.plus(row.before, 1)
		}
	}
	for i, sp := range periods {
		r.add(&reportsv1.TakingsRow{Key: sp.from.String()}, now[i], before[i])
	}
	r.totalBefore = r.totalBefore.plus(beyond, 1)
	return nil
}

func (r *takingsReport) readProducts(ctx context.Context, s *store) error {
	rows, currencies, err := s.productTakings(ctx, r.compared, r.currency)
	for _, currency := range currencies {
		r.currencies[currency] = true
	}
	for _, row := range rows {
		r.add(&reportsv1.TakingsRow{Key: row.key(), Title: row.title, ProductKind: reportsv1.ProductKind(row.kind)}, row.now, row.before)
	}
	return err
}

// key returns the identifier of the product; "" for the row of the products that are not listed.
func (r productRow) key() string {
	switch r.kind {
	case productEvent:
		return id.Event(r.product).String()
	case productPass:
		return id.PassType(r.product).String()
	case productPlan:
		return id.Plan(r.product).String()
	}
	return ""
}

func (r *takingsReport) response() *reportsv1.GetTakingsResponse {
	out := &reportsv1.GetTakingsResponse{Compared: r.head, Currency: r.currency, Rows: r.rows, Total: r.total.proto(), TotalBefore: r.totalBefore.proto()}
	for currency := range r.currencies {
		out.Currencies = append(out.Currencies, currency)
	}
	slices.Sort(out.Currencies)
	return out
}

func (t taking) proto() *reportsv1.Takings {
	gross := t.paid - t.refunded
	return &reportsv1.Takings{
		Paid: t.paid, Refunded: t.refunded, Gross: gross, Net: t.net, Tax: gross - t.net, Payments: t.payments, Refunds: t.refunds,
	}
}
