package reports

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/id"
	"reservation.dev/platform/subjects"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

func TestSumExpiringPasses(t *testing.T) {
	w := open(t)
	b := quiet(w)
	ten, five := id.New[id.PassType]().String(), id.New[id.PassType]().String()
	plan := id.New[id.Plan]()
	b.publish(subjectPlanCreated, &subscriptionv1.PlanCreated{Plan: &subscriptionv1.Plan{
		Id: plan.String(), Title: "Four a month", Price: 4000, Currency: "EUR", Credits: 4, Version: 1,
	}})
	assign := func(passType, expires string, remaining int32, change func(*passv1.CustomerPass)) {
		p := &passv1.CustomerPass{
			Id: id.New[id.CustomerPass]().String(), CustomerId: id.New[id.Customer]().String(), PassTypeId: passType, Version: 1, ExpiryDate: expires,
			TotalUses: 10, RemainingUses: remaining, Status: passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE, CreatedOn: "2027-01-02",
			Purchase: &passv1.PassPurchase{Gross: proto.Int64(9900), Currency: "GBP", Method: "CARD"},
		}
		if change != nil {
			change(p)
		}
		var kind *passv1.PassType
		if passType == ten {
			kind = &passv1.PassType{Id: ten, Title: "Ten", Version: 1}
		}
		b.publish(subjects.CustomerPassAssigned, &passv1.CustomerPassAssigned{CustomerPass: p, PassType: kind})
	}
	assign(ten, "2027-03-15", 3, nil)
	assign(ten, "2027-03-22", 5, nil)
	assign(ten, "2027-03-01", 2, nil) // in the span before
	assign(ten, "2027-03-16", 0, nil)
	assign(five, "2027-03-16", 4, func(p *passv1.CustomerPass) { p.Status = passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_CANCELLED })
	assign(five, "2027-03-16", 999_999, func(p *passv1.CustomerPass) { p.UnlimitedUses, p.TotalUses = true, 999_999 })
	assign(id.PassType(plan).String(), "2027-03-16", 3, func(p *passv1.CustomerPass) { p.SubscriptionId, p.Purchase = id.New[id.Subscription]().String(), nil })
	b.deliver()

	sum := func(by reportsv1.ExpiringGrouping, currency string) *reportsv1.SumExpiringPassesResponse {
		t.Helper()
		res, err := w.client.SumExpiringPasses(w.ctx(), &reportsv1.SumExpiringPassesRequest{
			Span: &reportsv1.Span{From: "2027-03-15", To: "2027-03-28"}, GroupBy: by, Currency: currency,
		})
		if err != nil {
			t.Fatal(err)
		}
		want(w, "before", span{}, res.GetCompared().GetBefore().GetFrom(), "2027-03-01")
		want(w, "currencies", span{}, strings.Join(res.GetCurrencies(), " "), "EUR GBP")
		want(w, "total before", span{}, res.GetTotalBefore().String(), (&reportsv1.Expiring{Passes: 1, Credits: 2, Worth: worthIn(currency, 1980)}).String())
		return res
	}
	for by, rows := range map[reportsv1.ExpiringGrouping]int{
		reportsv1.ExpiringGrouping_EXPIRING_GROUPING_UNSPECIFIED: 14, reportsv1.ExpiringGrouping_EXPIRING_GROUPING_DAY: 14,
		reportsv1.ExpiringGrouping_EXPIRING_GROUPING_WEEK: 2, reportsv1.ExpiringGrouping_EXPIRING_GROUPING_MONTH: 1,
		reportsv1.ExpiringGrouping_EXPIRING_GROUPING_PASS_TYPE: 3,
	} {
		res := sum(by, "")
		want(w, "total", span{}, res.GetTotal().String(), (&reportsv1.Expiring{Passes: 4, Credits: 11, Worth: 7920}).String())
		want(w, "rows by "+by.String(), span{}, len(res.GetRows()), rows)
	}
	weeks := sum(reportsv1.ExpiringGrouping_EXPIRING_GROUPING_WEEK, "").GetRows()
	want(w, "first week", span{}, weeks[0].GetExpiring().String(), (&reportsv1.Expiring{Passes: 3, Credits: 6, Worth: 2970}).String())
	want(w, "week before", span{}, weeks[0].GetBefore().GetCredits(), 2)
	byType := sum(reportsv1.ExpiringGrouping_EXPIRING_GROUPING_PASS_TYPE, "EUR").GetRows()
	if first := byType[0]; first.GetKey() != ten || first.GetTitle() != "Ten" || first.GetExpiring().GetPasses() != 2 || first.GetExpiring().GetWorth() != 0 {
		t.Errorf("got %v", first)
	}
	found := slices.IndexFunc(byType, func(r *reportsv1.ExpiringRow) bool { return r.GetPlanId() == plan.String() })
	if found < 0 || byType[found].GetTitle() != "Four a month" || byType[found].GetExpiring().GetWorth() != 3000 {
		t.Errorf("got %v", byType)
	}
}

// worthIn returns a worth in pounds if that is the currency of the report.
func worthIn(currency string, pounds int64) int64 {
	if currency == "" {
		return pounds
	}
	return 0
}

func TestManyPassTypes(t *testing.T) {
	w := open(t)
	b := quiet(w)
	const types = maxRows + 20
	for i := range types {
		p := &passv1.CustomerPass{
			Id: id.New[id.CustomerPass]().String(), CustomerId: id.New[id.Customer]().String(), PassTypeId: id.New[id.PassType]().String(), Version: 1,
			ExpiryDate: "2027-03-31", TotalUses: 1, RemainingUses: 1, Status: passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_ACTIVE, CreatedOn: "2027-03-02",
			Purchase: &passv1.PassPurchase{Gross: proto.Int64(int64(1000 + i)), Currency: "GBP", Method: "CARD"},
		}
		b.publish(subjects.CustomerPassAssigned, &passv1.CustomerPassAssigned{CustomerPass: p, LedgerEntries: []*passv1.LedgerEntry{{
			Sequence: 1, Kind: passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_ASSIGNED, Credits: 1, Day: "2027-03-02",
		}}})
	}
	b.deliver()
	res, err := w.client.GetCredits(w.ctx(), &reportsv1.GetCreditsRequest{})
	if err != nil || len(res.GetRows()) != maxRows+1 {
		t.Fatalf("%d rows, %v", len(res.GetRows()), err)
	}
	var closing, worth int64
	for _, row := range res.GetRows() {
		closing, worth = closing+row.GetCredits().GetClosing(), worth+row.GetCredits().GetClosingWorth()
	}
	if closing != types || closing != res.GetTotal().GetClosing() || worth != res.GetTotal().GetClosingWorth() {
		t.Errorf("the rows add up to %d and %d, the total is %v", closing, worth, res.GetTotal())
	}
	if last := res.GetRows()[maxRows]; last.GetPassTypeId() != "" || last.GetCredits().GetClosing() != 20 || last.GetCredits().GetClosingWorth() != 20*1000+19*20/2 {
		t.Errorf("got %v", last)
	}
	expiring, err := w.client.SumExpiringPasses(w.ctx(), &reportsv1.SumExpiringPassesRequest{GroupBy: reportsv1.ExpiringGrouping_EXPIRING_GROUPING_PASS_TYPE})
	if err != nil || len(expiring.GetRows()) != maxRows+1 || expiring.GetRows()[maxRows].GetExpiring().GetPasses() != 20 {
		t.Errorf("%d rows, %v", len(expiring.GetRows()), err)
	}
}
