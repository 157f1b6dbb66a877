package admin

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"reservation.dev/platform/csvfile"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
)

// expiringReport is the name of the report of passes that expire.
const expiringReport = "expiring-passes"

const (
	// expiringPageSize is the number of passes on a page, and expiringBatch that of a call for a file.
	expiringPageSize, expiringBatch = 50, 200
	// maxExpiringRows is the number of passes in a file.
	maxExpiringRows = 10_000
)

// expiringPass is a pass that expires in the span, with the name of its customer.
type expiringPass struct {
	*reportsv1.ExpiringPass
	Customer string
}

// Credits says how many credits are left.
func (p expiringPass) Credits() *message { return usesText(p.GetUnlimitedUses(), p.GetRemainingUses()) }

// Worth returns what the credits are worth; "–" with unlimited uses.
func (p expiringPass) Worth() *message {
	if p.GetUnlimitedUses() || p.GetCurrency() == "" {
		return literal("–")
	}
	return priceText(p.GetWorth(), p.GetCurrency())
}

// cells returns the pass as a row of a file. Unlimited uses have neither credits nor a worth.
func (p expiringPass) cells() []csvfile.Cell {
	var credits, worth csvfile.Cell
	if !p.GetUnlimitedUses() {
		credits, worth = csvfile.Int(int64(p.GetRemainingUses())), csvfile.Amount(p.GetWorth())
	}
	return []csvfile.Cell{
		csvfile.Own(p.GetExpiryDate()), csvfile.Own(p.GetCustomerId()), csvfile.Text(p.Customer), csvfile.Own(p.GetCustomerPassId()),
		csvfile.Text(p.GetTitle()), credits, worth, csvfile.Own(p.GetCurrency()),
	}
}

// expiringPage is the report of passes that expire, with a list of them.
type expiringPage struct {
	Report *reportTable
	Passes []expiringPass
	Total  int64
	Next   string
	Spans  spanChoice
}

func (expiringPage) head() (*message, string) { return msg("reports.expiring.title"), "reports" }

// expiringPasses shows the passes that expire in a span, by default in the next 30 days.
func (r *request) expiringPasses() error {
	q := r.asked()
	t, err := r.readReport(expiringReport, q)
	if err != nil {
		return r.refused(reportsPath, err)
	}
	span := t.Compared.GetSpan()
	res, passes, err := r.listExpiring(&reportsv1.ListExpiringPassesRequest{Span: span, PageSize: expiringPageSize, PageToken: r.query("page")})
	if err != nil {
		return r.refused(reportsPath, err)
	}
	page := expiringPage{Report: t, Passes: passes, Total: res.GetTotal(), Next: r.with("page", res.GetNextPageToken())}
	page.Spans = r.choice(reportsPath+"/"+expiringReport, span, option{q.by, "by"}, option{q.currency, "currency"})
	page.Spans.Links = nil
	today := r.midnight(r.now(), 0)
	for _, s := range []struct {
		name string
		days int
	}{{"next_7_days", 7}, {"next_30_days", 30}, {"next_90_days", 90}} {
		link := spanLink{Label: msg("reports.span." + s.name), From: isoDay(today), To: isoDay(r.midnight(today, s.days))}
		link.Current = link.From == span.GetFrom() && link.To == span.GetTo()
		page.Spans.Links = append(page.Spans.Links, link)
	}
	return r.render("expiring-passes", page)
}

// listExpiring lists passes that expire, with the names of their customers.
func (r *request) listExpiring(req *reportsv1.ListExpiringPassesRequest) (*reportsv1.ListExpiringPassesResponse, []expiringPass, error) {
	res, err := r.services.reports.ListExpiringPasses(r.ctx, req)
	if err != nil {
		return nil, nil, err
	}
	ids := views(res.GetPasses(), (*reportsv1.ExpiringPass).GetCustomerId)
	slices.Sort(ids)
	names, err := r.customerNames(slices.Compact(ids))
	passes := views(res.GetPasses(), func(p *reportsv1.ExpiringPass) expiringPass { return expiringPass{p, names[p.GetCustomerId()]} })
	return res, passes, err
}

// readExpiring reads the report of passes that expire.
func (r *request) readExpiring(q reportQuery, t *reportTable) error {
	res, err := r.services.reports.SumExpiringPasses(r.ctx, &reportsv1.SumExpiringPassesRequest{
		Span: r.reportSpan(q), Currency: q.currency, GroupBy: map[string]reportsv1.ExpiringGrouping{
			"day": reportsv1.ExpiringGrouping_EXPIRING_GROUPING_DAY, "week": reportsv1.ExpiringGrouping_EXPIRING_GROUPING_WEEK,
			"month": reportsv1.ExpiringGrouping_EXPIRING_GROUPING_MONTH, "pass_type": reportsv1.ExpiringGrouping_EXPIRING_GROUPING_PASS_TYPE,
		}[q.by],
	})
	if err != nil {
		return err
	}
	t.Compared, t.Currency, t.Currencies = res.GetCompared(), res.GetCurrency(), res.GetCurrencies()
	rows := views(res.GetRows(), func(row *reportsv1.ExpiringRow) labelled[*reportsv1.Expiring] {
		label, link := r.periodLabel(q.by, row.GetKey()), ""
		if q.by == "pass_type" {
			label, link = r.passTypeLabel(row.GetKey(), row.GetPlanId(), row.GetTitle())
		}
		return labelled[*reportsv1.Expiring]{row.GetKey(), label, link, row.GetExpiring(), row.GetBefore()}
	})
	t.Rest = len(rows) > 0 && rows[len(rows)-1].key == ""
	tabulate(t, []measure[*reportsv1.Expiring]{
		{name: "passes", of: func(x *reportsv1.Expiring) figure { return number(x.GetPasses()) }},
		{name: "credits", of: func(x *reportsv1.Expiring) figure { return number(x.GetCredits()) }},
		{name: "worth", of: func(x *reportsv1.Expiring) figure { return amountOf(x.GetWorth(), t.Currency) }},
	}, labelled[*reportsv1.Expiring]{"", r.text("reports.total"), "", res.GetTotal(), res.GetTotalBefore()}, rows)
	return nil
}

// expiringFile sends the passes that expire in a span as a CSV file. It is in the audit log, because it has the names of
// customers.
func (r *request) expiringFile() error {
	req := &reportsv1.ListExpiringPassesRequest{Span: r.reportSpan(r.asked()), PageSize: expiringBatch}
	var span *reportsv1.Span
	var b bytes.Buffer
	file := csvfile.NewWriter(&b, ',')
	if err := file.Begin([]string{"last_day", "customer_id", "customer", "customer_pass_id", "pass", "credits", "worth", "currency"}); err != nil {
		return err
	}
	for {
		res, passes, err := r.listExpiring(req)
		if err != nil {
			return r.refused(reportsPath, err)
		}
		span = res.GetSpan()
		if res.GetTotal() > maxExpiringRows {
			return r.sayFailed(reportsPath+"/"+expiringReport, r.text("reports.expiring.too_many", "count", res.GetTotal(), "most", maxExpiringRows))
		}
		for _, p := range passes {
			if err := file.Write(p.cells()...); err != nil {
				return err
			}
		}
		if req.PageToken = res.GetNextPageToken(); req.PageToken == "" {
			break
		}
	}
	if err := file.Flush(); err != nil {
		return err
	}
	r.changed()
	r.target("expiring_passes")
	r.detail("first_day", "", span.GetFrom())
	r.detail("last_day", "", span.GetTo())
	r.detail("rows", "", strconv.FormatInt(file.Rows(), 10))
	r.sendFile(strings.Join([]string{expiringReport, span.GetFrom(), span.GetTo()}, "-"), b.Bytes())
	return nil
}

// sendFile sends a CSV file with a name.
func (r *request) sendFile(name string, content []byte) {
	r.w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s.csv"`, name))
	r.answer(http.StatusOK, "text/csv; charset=utf-8", content)
}
