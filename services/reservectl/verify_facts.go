package reservectl

import (
	"fmt"
	"slices"
	"strings"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// reportedFact is a fact of reports, and the zone in which customers have their days.
type reportedFact struct {
	*reportsv1.ReportFact
	timezone string
}

func (r *reportedFact) fact() *reportsv1.ReportFact {
	if r == nil {
		return nil
	}
	return r.ReportFact
}

// in returns the fact with the day that it has in the zone of the reports.
func (f *ownedFact) in(r *reportedFact) *ownedFact {
	if f != nil && r != nil && !f.createdAt.IsZero() {
		f.Day = dayIn(f.createdAt, r.timezone)
	}
	return f
}

// isSettled reports whether both sides agree. Owners do not stream deleted customers.
func (d differing) isSettled() bool {
	switch {
	case d.owned == nil:
		return d.reported == nil || d.reported.GetStatus() == "deleted"
	case d.reported == nil:
		return false
	}
	return isEqual(d.reported, d.owned.ReportFact)
}

// report adds a difference for each value that differs.
func (f *factVerification) report(k *ownedKind, d differing) {
	what := func(name string) string { return "report." + k.name + "." + name }
	switch {
	case d.reported == nil:
		f.add(what("missing"), d.id(), "nothing", k.summary(d.owned.ReportFact))
		return
	case d.owned == nil:
		f.add(what("surplus"), d.id(), k.summary(d.reported), "nothing")
		return
	}
	left, right := k.values(d.reported), k.values(d.owned.ReportFact)
	for i, l := range left {
		if l.text != right[i].text {
			f.add(what(l.name), d.id(), l.text, right[i].text)
		}
	}
}

// value is a value of a fact as differences print it.
type value struct{ name, text string }

// values returns all values of a fact. Those of one kind have the same names.
func (k *ownedKind) values(f *reportsv1.ReportFact) []value {
	all := []value{
		{"status", f.GetStatus()}, {"day", f.GetDay()}, {k.quantity, fmt.Sprint(f.GetQuantity())}, {"gross", fmt.Sprint(f.GetGross())}, {"net", fmt.Sprint(f.GetNet())},
	}
	for i, name := range k.refersTo {
		text := ""
		if i < len(f.GetRefersTo()) {
			text = f.GetRefersTo()[i]
		}
		all = append(all, value{name, text})
	}
	return append(all, value{"terms", strings.Join(f.GetTerms(), " ")}, value{k.entries, fmt.Sprintf("%d with digest %.8x", f.GetEntries(), f.GetEntriesDigest())})
}

// summary describes a fact in a few words.
func (k *ownedKind) summary(f *reportsv1.ReportFact) string {
	texts := []string{fmt.Sprintf("version %d", f.GetVersion())}
	for _, v := range k.values(f)[:5] {
		if v.text != "" && v.text != "0" && v.name != "" {
			texts = append(texts, v.name+" "+v.text)
		}
	}
	return strings.Join(texts, ", ")
}

func ownedBooking(s *bookingv1.BookingSnapshot) *ownedFact {
	b := s.GetBooking()
	customer := b.GetBoughtFor().GetId()
	if customer == "" {
		customer = s.GetPurchaser().GetId()
	}
	f := &reportsv1.ReportFact{
		Kind: "booking", Id: b.GetId(), Version: s.GetVersion(), Quantity: int64(b.GetSpaces()), Status: "confirmed",
		RefersTo: []string{b.GetEventId(), b.GetEventDateId(), customer},
	}
	switch {
	case b.GetIsCancelled():
		f.Status = "cancelled"
		if b.GetLate() {
			f.Terms = []string{"late"}
		}
	case b.GetAttendance() == bookingv1.Attendance_ATTENDANCE_CHECKED_IN:
		f.Status = "attended"
	case b.GetAttendance() == bookingv1.Attendance_ATTENDANCE_NO_SHOW:
		f.Status = "no_show"
	}
	if b.GetEventType() == bookingv1.EventType_EVENT_TYPE_APPOINTMENT {
		f.Day = dayIn(b.GetStartsAt().AsTime(), b.GetTimezone())
	}
	movements := slices.SortedFunc(slices.Values(s.GetMovements()), func(a, b *bookingv1.MoneyMovement) int { return int(a.GetSequence() - b.GetSequence()) })
	var entries entryDigest
	for _, m := range movements {
		f.Gross += m.GetGross()
		f.Net += m.GetNet()
		entries.add(m.GetSequence(), m.GetDay(), m.GetCurrency(), strings.ToUpper(enum.Name(m.GetMethod())), m.GetTaxRateBasisPoints(), m.GetGross(), m.GetNet())
	}
	f.Entries, f.EntriesDigest = entries.sum()
	return &ownedFact{ReportFact: f}
}

func ownedDate(e *bookingv1.Event, d *bookingv1.EventDate) *ownedFact {
	status := "scheduled"
	if d.GetStatus() == bookingv1.EventDateStatus_EVENT_DATE_STATUS_CANCELLED {
		status = "cancelled"
	}
	return &ownedFact{ReportFact: &reportsv1.ReportFact{
		Kind: "event_date", Id: d.GetId(), Version: e.GetVersion(), Quantity: int64(d.GetCapacity()), Status: status,
		Day: dayIn(d.GetStartsAt().AsTime(), d.GetTimezone()), RefersTo: []string{e.GetId()},
	}}
}

func ownedCustomer(c *customerv1.CustomerSnapshot) *ownedFact {
	status := "current"
	if c.GetDeletedAt() != nil {
		status = "deleted"
	}
	f := &reportsv1.ReportFact{Kind: "customer", Id: c.GetId(), Version: c.GetVersion(), Status: status}
	return &ownedFact{ReportFact: f, createdAt: c.GetCreatedAt().AsTime()}
}

// ownedPass returns a pass without its ledger.
func ownedPass(p *passv1.CustomerPass) *ownedFact {
	expires := p.GetExpiryDate()
	if p.GetNeverExpires() {
		expires = "9999-12-31"
	}
	f := &reportsv1.ReportFact{
		Kind: "customer_pass", Id: p.GetId(), Version: p.GetVersion(), Quantity: int64(p.GetRemainingUses()), Day: p.GetCreatedOn(),
		RefersTo: []string{p.GetPassTypeId(), p.GetCustomerId()},
		Terms:    []string{p.GetPurchase().GetCurrency(), p.GetPurchase().GetMethod(), expires, fmt.Sprint(p.GetTotalUses())},
	}
	if p.GetStatus() == passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_CANCELLED {
		f.Status = "cancelled"
	}
	if p.GetUnlimitedUses() {
		f.Terms = append(f.Terms, "unlimited")
	}
	if p.GetSubscriptionId() != "" {
		f.Terms = append(f.Terms, "subscription")
	} else {
		f.Gross, f.Net = p.GetPurchase().GetGross(), p.GetPurchase().GetGross()
	}
	return &ownedFact{ReportFact: f}
}

func ownedSubscription(s *subscriptionv1.SubscriptionMovements) *ownedFact {
	f := &reportsv1.ReportFact{Kind: "subscription", Id: s.GetSubscriptionId()}
	movements := slices.SortedFunc(slices.Values(s.GetMovements()), func(a, b *subscriptionv1.SubscriptionMovement) int {
		if a.GetPeriod() != b.GetPeriod() {
			return int(a.GetPeriod() - b.GetPeriod())
		}
		return int(a.GetAccountEntry() - b.GetAccountEntry())
	})
	var entries entryDigest
	for _, m := range movements {
		f.Gross += m.GetAmount()
		f.Net += m.GetAmount()
		entries.add(m.GetPeriod(), m.GetAccountEntry(), m.GetDay(), m.GetCurrency(), m.GetMethod(), planText(m.GetPlanId()), m.GetAmount())
	}
	f.Entries, f.EntriesDigest = entries.sum()
	return &ownedFact{ReportFact: f}
}

// planText returns the identifier of a plan in the form of PostgreSQL.
func planText(text string) string {
	plan, err := id.Parse[id.Plan](text)
	if err != nil {
		return text
	}
	return fmt.Sprintf("%x-%x-%x-%x-%x", plan[:4], plan[4:6], plan[6:8], plan[8:10], plan[10:])
}
