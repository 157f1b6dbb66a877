package admin

import (
	"slices"

	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
)

// expiringPass is a pass that expires soon, with the name of its customer.
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

// expiringPage is the list of passes that expire soon.
type expiringPage struct {
	Passes []expiringPass
	Total  int64
	Next   string
	Spans  spanChoice
}

func (expiringPage) head() (*message, string) { return msg("reports.expiring.title"), "reports" }

// expiringPasses shows the passes that expire in a span, by default in the next 30 days.
func (r *request) expiringPasses() error {
	q := r.asked()
	today := r.midnight(r.now(), 0)
	if q.from == "" && q.to == "" {
		q.from, q.to = isoDay(today), isoDay(r.midnight(today, 30))
	}
	res, err := r.services.reports.ListExpiringPasses(r.ctx, &reportsv1.ListExpiringPassesRequest{
		Span: q.span(), PageSize: 50, PageToken: r.query("page"),
	})
	if err != nil {
		return r.refused(reportsPath, err)
	}
	page := expiringPage{Total: res.GetTotal(), Next: r.with("page", res.GetNextPageToken())}
	page.Spans = spanChoice{Action: reportsPath + "/expiring-passes", Form: newForm("from", q.from, "to", q.to)}
	for _, s := range []struct {
		name string
		days int
	}{{"next_7_days", 7}, {"next_30_days", 30}, {"next_90_days", 90}} {
		link := spanLink{Label: msg("reports.span." + s.name), From: isoDay(today), To: isoDay(r.midnight(today, s.days))}
		link.Current = link.From == q.from && link.To == q.to
		page.Spans.Links = append(page.Spans.Links, link)
	}
	ids := views(res.GetPasses(), (*reportsv1.ExpiringPass).GetCustomerId)
	slices.Sort(ids)
	names, err := r.customerNames(slices.Compact(ids))
	if err != nil {
		return err
	}
	for _, p := range res.GetPasses() {
		page.Passes = append(page.Passes, expiringPass{p, names[p.GetCustomerId()]})
	}
	return r.render("expiring-passes", page)
}
