package reports

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
)

// sums returns all rows of the sums of a generation that are not zero, as text. It leaves out the dates of deleted
// events, which snapshots do not have and reports do not show.
func (w *world) sums(generation int64) []string {
	w.t.Helper()
	var all []string
	for _, v := range verifications {
		columns := strings.Fields(v.columns)
		sql := "select concat_ws(' ', '" + v.table + "', " + strings.Join(append(strings.Fields(v.keys), columns...), ", ") + ") from " + v.table +
			" where company_id = $1 and generation = $2 and (" + strings.Join(columns, " <> 0 or ") + " <> 0)"
		if v.keys == eventRow {
			sql += " and (is_appointment or event_id not in (select id from events where company_id = $1 and generation = $2 and status = 'deleted'))"
		}
		err := w.db.Stream(w.t.Context(), pg.For(w.company), sql, []any{w.company, generation}, func(rows pgx.Rows) error {
			var row string
			err := rows.Scan(&row)
			all = append(all, row)
			return err
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	slices.Sort(all)
	return all
}

// sameSums fails the test for each row that only one of two generations has.
func sameSums(t *testing.T, got, want []string) {
	t.Helper()
	if len(want) == 0 {
		t.Error("there are no sums")
	}
	for _, row := range got {
		if _, found := slices.BinarySearch(want, row); !found {
			t.Errorf("only one of the two has %s", row)
		}
	}
	for _, row := range want {
		if _, found := slices.BinarySearch(got, row); !found {
			t.Errorf("only the other one has %s", row)
		}
	}
}

// compare compares the reports on random spans with what the data of the sources say.
func (w *world) compare(b *business) {
	w.t.Helper()
	for range 6 {
		from := dayOf(b.at())
		sp := span{from: from, to: from + Day(b.r.IntN(120))}
		if b.r.IntN(3) == 0 {
			sp = thisMonth(from)
		}
		w.compareTakings(b, sp)
		w.compareAttendance(b, sp)
		w.compareCredits(b, sp)
		w.compareCustomers(b, sp)
	}
}

// want reports a difference between a report and brute force.
func want[T comparable](w *world, what string, sp span, got, want T) {
	w.t.Helper()
	if got != want {
		w.t.Errorf("%s from %s to %s: got %v, want %v", what, sp.from, sp.to, got, want)
	}
}

func within(sp span, day string) bool {
	d, ok := parseDay(day)
	return ok && sp.contains(d)
}

// money returns what was taken in a span in pounds, by method, tax rate and product.
func (b *business) money(sp span) (total taking, by map[string]taking) {
	by = map[string]taking{}
	add := func(currency, method, product string, rate int32, day string, gross, net int64) {
		if currency != "GBP" || !within(sp, day) {
			return
		}
		t := takingOf(gross, net)
		total = total.plus(t, 1)
		for _, key := range []string{method, fmt.Sprint(rate), product} {
			by[key] = by[key].plus(t, 1)
		}
	}
	for _, s := range b.o.bookings {
		for _, m := range s.Movements {
			add(m.Currency, strings.TrimPrefix(m.Method.String(), "PAYMENT_METHOD_"), s.Booking.EventId, m.TaxRateBasisPoints, m.Day, m.Gross, m.Net)
		}
	}
	for _, s := range b.o.passes {
		p := s.CustomerPass
		add(p.GetPurchase().GetCurrency(), "CARD", p.PassTypeId, 0, p.CreatedOn, p.GetPurchase().GetGross(), p.GetPurchase().GetGross())
	}
	for _, s := range b.o.subs {
		for _, m := range s.Movements {
			add(m.Currency, m.Method, m.PlanId, 0, m.Day, m.Amount, m.Amount)
		}
	}
	return total, by
}

func (w *world) compareTakings(b *business, sp span) {
	w.t.Helper()
	total, by := b.money(sp)
	before, beforeBy := b.money(sp.before())
	for grouping := range int32(7) {
		res, err := w.client.GetTakings(w.ctx(), &reportsv1.GetTakingsRequest{Span: sp.proto(), GroupBy: reportsv1.TakingsGrouping(grouping)})
		if err != nil {
			w.t.Fatal(err)
		}
		what := "takings by " + reportsv1.TakingsGrouping(grouping).String()
		want(w, what, sp, res.GetTotal().String(), total.proto().String())
		want(w, what+" before", sp, res.GetTotalBefore().String(), before.proto().String())
		var sum taking
		for _, row := range res.GetRows() {
			sum = sum.plus(taking{row.GetTakings().GetPaid(), row.GetTakings().GetRefunded(), row.GetTakings().GetNet(), row.GetTakings().GetPayments(), row.GetTakings().GetRefunds()}, 1)
			if grouping >= 4 {
				want(w, what+" "+row.GetKey(), sp, row.GetTakings().String(), by[row.GetKey()].proto().String())
				want(w, what+" before "+row.GetKey(), sp, row.GetBefore().String(), beforeBy[row.GetKey()].proto().String())
			}
			if grouping == 6 && (row.GetTitle() == "" || row.GetProductKind() == 0) {
				w.t.Errorf("no title: %v", row)
			}
		}
		want(w, what+", the sum of the rows", sp, sum, total)
	}
}

// spaces returns the attendance of a span, in total and by event and weekday.
func (b *business) spaces(sp span) (total counted, by map[string]counted) {
	by = map[string]counted{}
	add := func(event string, day Day, c counted) {
		if sp.contains(day) {
			total = total.plus(c, 1)
			by[event] = by[event].plus(c, 1)
			by[fmt.Sprint(day.weekday())] = by[fmt.Sprint(day.weekday())].plus(c, 1)
		}
	}
	for _, e := range b.o.events {
		if e.Status == bookingv1.EventStatus_EVENT_STATUS_DRAFT {
			continue
		}
		for _, d := range e.Dates {
			if !isOpen(d) {
				continue
			}
			c := counted{spaces: spaces{dates: 1}}
			for _, s := range b.o.bookings {
				if s.Booking.EventDateId == d.Id {
					c = c.plus(counted{spaces: b.spacesOf(s.Booking)}, 1)
				}
			}
			if d.Capacity != nil {
				c.capacity, c.bookedOfCapacity = int64(d.GetCapacity()), c.booked
			}
			add(e.Id, localDay(d.StartsAt.AsTime(), d.Timezone), c)
		}
	}
	for _, s := range b.o.bookings {
		k := s.Booking
		if k.EventType == bookingv1.EventType_EVENT_TYPE_APPOINTMENT && !k.IsCancelled {
			c := counted{spaces: b.spacesOf(k), capacity: int64(k.Spaces), bookedOfCapacity: int64(k.Spaces)}
			c.dates = 1
			add(k.EventId, localDay(k.StartsAt.AsTime(), k.Timezone), c)
		}
	}
	return total, by
}

func (b *business) spacesOf(k *bookingv1.Booking) (s spaces) {
	n := int64(k.Spaces)
	switch {
	case k.IsCancelled && k.Late:
		s.cancelled, s.cancelledLate = n, n
	case k.IsCancelled:
		s.cancelled = n
	default:
		s.booked = n
		if k.Attendance == bookingv1.Attendance_ATTENDANCE_CHECKED_IN {
			s.attended = n
		}
		if k.Attendance == bookingv1.Attendance_ATTENDANCE_NO_SHOW {
			s.noShows = n
		}
	}
	return s
}

func (w *world) compareAttendance(b *business, sp span) {
	w.t.Helper()
	total, by := b.spaces(sp)
	before, beforeBy := b.spaces(sp.before())
	for grouping := range int32(6) {
		res, err := w.client.GetAttendance(w.ctx(), &reportsv1.GetAttendanceRequest{Span: sp.proto(), GroupBy: reportsv1.AttendanceGrouping(grouping)})
		if err != nil {
			w.t.Fatal(err)
		}
		what := "attendance by " + reportsv1.AttendanceGrouping(grouping).String()
		want(w, what, sp, res.GetTotal().String(), total.proto().String())
		want(w, what+" before", sp, res.GetTotalBefore().String(), before.proto().String())
		for _, row := range res.GetRows() {
			if grouping < 3 {
				want(w, what+" "+row.GetKey(), sp, row.GetAttendance().String(), by[row.GetKey()].proto().String())
				want(w, what+" before "+row.GetKey(), sp, row.GetBefore().String(), beforeBy[row.GetKey()].proto().String())
			}
		}
	}
}

// outstanding returns the credits that are outstanding at the end of a day.
func (b *business) outstanding(day Day) (credits int64) {
	for _, s := range b.o.passes {
		p := s.CustomerPass
		expires, ok := parseDay(p.ExpiryDate)
		if p.UnlimitedUses || p.Status == passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_CANCELLED || ok && expires < day {
			continue
		}
		for _, e := range s.LedgerEntries {
			if d, _ := parseDay(e.Day); d <= day {
				credits += int64(e.Credits)
			}
		}
	}
	return credits
}

// worth returns what the credits outstanding at the end of a day are worth in pounds.
func (b *business) worth(day Day) (worth int64) {
	plans := map[string]int64{}
	for _, s := range b.o.passes {
		p := s.CustomerPass
		expires, ok := parseDay(p.ExpiryDate)
		if p.UnlimitedUses || p.Status == passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_CANCELLED || ok && expires < day {
			continue
		}
		var credits int64
		for _, e := range s.LedgerEntries {
			if d, _ := parseDay(e.Day); d <= day {
				credits += int64(e.Credits)
			}
		}
		if p.SubscriptionId != "" {
			plans[p.PassTypeId] += credits
		} else if p.GetPurchase().GetCurrency() == "GBP" {
			worth += p.GetPurchase().GetGross() * min(max(credits, 0), int64(p.TotalUses)) / int64(p.TotalUses)
		}
	}
	for passType, credits := range plans {
		of, _ := id.Parse[id.PassType](passType)
		plan := b.o.plans[id.Plan(of).String()]
		worth += plan.Price * max(credits, 0) / int64(plan.Credits)
	}
	return worth
}

func (w *world) compareCredits(b *business, sp span) {
	w.t.Helper()
	res, err := w.client.GetCredits(w.ctx(), &reportsv1.GetCreditsRequest{Span: sp.proto()})
	if err != nil {
		w.t.Fatal(err)
	}
	total, before := res.GetTotal(), res.GetTotalBefore()
	want(w, "opening credits", sp, total.GetOpening(), b.outstanding(sp.from-1))
	want(w, "closing credits", sp, total.GetClosing(), b.outstanding(sp.to))
	want(w, "opening credits before", sp, before.GetOpening(), b.outstanding(sp.before().from-1))
	want(w, "closing credits before", sp, before.GetClosing(), b.outstanding(sp.from-1))
	want(w, "adjusted credits", sp, total.GetAdjusted(), total.GetClosing()-total.GetOpening()-total.GetAdded()+total.GetUsed()+total.GetExpired())
	want(w, "opening worth", sp, total.GetOpeningWorth(), b.worth(sp.from-1))
	want(w, "closing worth", sp, total.GetClosingWorth(), b.worth(sp.to))
	want(w, "opening worth before", sp, before.GetOpeningWorth(), b.worth(sp.before().from-1))
}

// activeDays returns the days on which each customer is active.
func (b *business) activeDays() map[string][]Day {
	dates := map[string]Day{}
	for _, e := range b.o.events {
		for _, d := range e.Dates {
			dates[d.Id] = localDay(d.StartsAt.AsTime(), d.Timezone)
		}
	}
	all := map[string][]Day{}
	for _, s := range b.o.bookings {
		k := s.Booking
		if k.IsCancelled || k.Attendance == bookingv1.Attendance_ATTENDANCE_NO_SHOW {
			continue
		}
		customer := s.Purchaser.Id
		if k.BoughtFor != nil {
			customer = k.BoughtFor.Id
		}
		day, found := dates[k.EventDateId]
		if k.EventType == bookingv1.EventType_EVENT_TYPE_APPOINTMENT {
			day, found = localDay(k.StartsAt.AsTime(), k.Timezone), true
		}
		if b.o.customers[customer] != nil && found {
			all[customer] = append(all[customer], day)
		}
	}
	return all
}

func (b *business) people(sp span) *reportsv1.Customers {
	out := &reportsv1.Customers{}
	for _, c := range b.o.customers {
		day := localDay(c.CreatedAt.AsTime(), b.w.zone)
		if day <= sp.to {
			out.Total++
		}
		if sp.contains(day) {
			out.New++
		}
	}
	for _, days := range b.activeDays() {
		now, before, earlier := false, false, false
		for _, d := range days {
			now = now || sp.contains(d)
			before = before || sp.before().contains(d)
			earlier = earlier || d < sp.before().from
		}
		switch {
		case now:
			out.Active++
			if !before && earlier {
				out.Returned++
			}
		case before:
			out.Lost++
		}
	}
	return out
}

func (w *world) compareCustomers(b *business, sp span) {
	w.t.Helper()
	for p := range int32(4) {
		res, err := w.client.GetCustomers(w.ctx(), &reportsv1.GetCustomersRequest{Span: sp.proto(), Period: reportsv1.Period(p)})
		if err != nil {
			w.t.Fatal(err)
		}
		want(w, "customers", sp, res.GetTotal().String(), b.people(sp).String())
		want(w, "customers before", sp, res.GetTotalBefore().String(), b.people(sp.before()).String())
		for i, row := range res.GetRows() {
			if part := periodOf(reportsv1.Period(p)).split(sp)[i]; i%7 == 0 {
				want(w, "customers of "+row.GetKey(), part, row.GetCustomers().String(), b.people(part).String())
			}
		}
	}
}
