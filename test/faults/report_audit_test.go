package faults

import (
	"context"
	"fmt"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
	"reservation.dev/test/harness"
)

// The numbers of reports, computed from the databases of the services that own the data. All prices are without
// tax, and in pounds. $1 is the company.
const (
	// Every payment and refund of bookings: day, method, event, and the amount.
	bookedMoneySQL = `select (t.purchased_at at time zone 'Europe/London')::date::text as day, coalesce(b.money_method, 'CARD') as method,
			b.event_id as product, b.gross as amount
		from bookings b join transactions t on t.company_id = b.company_id and t.id = b.transaction_id
		where b.company_id = $1 and t.status = 'confirmed' and b.gross > 0
		union all select (h.at at time zone 'Europe/London')::date::text, coalesce(h.money_method, b.money_method, 'CARD'), b.event_id, -h.amount
		from booking_history h join bookings b on b.company_id = h.company_id and b.id = h.booking_id
		where h.company_id = $1 and h.amount > 0 and h.action in ('cancelled', 'refunded')`

	soldPassesSQL = `select (created_at at time zone 'Europe/London')::date::text as day, paid_method as method, pass_type_id as product, paid_gross as amount
		from customer_passes where company_id = $1 and paid_gross > 0`

	attendedSQL = `select e.id as event, count(*) as dates, coalesce(sum(d.capacity), 0)::bigint as capacity, sum(n.booked)::bigint as booked,
			coalesce(sum(n.booked) filter (where d.capacity is not null), 0)::bigint as of_capacity, sum(n.attended)::bigint as attended,
			sum(n.no_shows)::bigint as no_shows, sum(n.cancelled)::bigint as cancelled, sum(n.late)::bigint as late
		from events e join event_dates d on d.company_id = e.company_id and d.event_id = e.id
		cross join lateral (select coalesce(sum(b.spaces) filter (where not b.is_cancelled), 0) as booked,
				coalesce(sum(b.spaces) filter (where not b.is_cancelled and b.attendance = 'checked_in'), 0) as attended,
				coalesce(sum(b.spaces) filter (where not b.is_cancelled and b.attendance = 'no_show'), 0) as no_shows,
				coalesce(sum(b.spaces) filter (where b.is_cancelled), 0) as cancelled,
				coalesce(sum(b.spaces) filter (where b.is_cancelled and b.late), 0) as late
			from bookings b join transactions t on t.company_id = b.company_id and t.id = b.transaction_id and t.status = 'confirmed'
			where b.company_id = d.company_id and b.event_date_id = d.id) n
		where e.company_id = $1 and e.status = 'published' and d.status = 'scheduled' group by e.id`

	creditsSQL = `select p.pass_type_id as pass, sum(l.added)::bigint as added, sum(l.used)::bigint as used, sum(l.adjusted)::bigint as adjusted,
			sum(p.remaining_uses)::bigint as closing,
			coalesce(sum(div(p.paid_gross * least(p.remaining_uses, p.total_uses), p.total_uses)), 0)::bigint as worth
		from customer_passes p cross join lateral (select coalesce(sum(credits) filter (where kind = 'assigned'), 0) as added,
				coalesce(-sum(credits) filter (where kind in ('redeemed', 'returned')), 0) as used,
				coalesce(sum(credits) filter (where kind not in ('assigned', 'redeemed', 'returned')), 0) as adjusted
			from ledger_entries l where l.company_id = p.company_id and l.customer_pass_id = p.id) l
		where p.company_id = $1 and p.status <> 'cancelled' group by p.pass_type_id`

	customersSQL = `select count(*) from customers where company_id = $1 and deleted_at is null`

	// Only customers who have not booked are deleted.
	activeSQL = `select count(distinct coalesce(b.bought_for, t.purchaser_id))
		from bookings b join transactions t on t.company_id = b.company_id and t.id = b.transaction_id
			join event_dates d on d.company_id = b.company_id and d.id = b.event_date_id
		where b.company_id = $1 and t.status = 'confirmed' and not b.is_cancelled and b.attendance is distinct from 'no_show' and d.status = 'scheduled'`
)

type (
	moneyRow struct {
		Day, Method string
		Product     [16]byte
		Amount      int64
	}
	attendedRow struct {
		Event                                                                   [16]byte
		Dates, Capacity, Booked, OfCapacity, Attended, NoShows, Cancelled, Late int64
	}
	creditsRow struct {
		Pass                                  [16]byte
		Added, Used, Adjusted, Closing, Worth int64
	}
)

// numbers are the numbers of reports by their names.
type numbers map[string]int64

// auditReports compares every report with the databases when reports have all changes, and returns the numbers.
func (s *seller) auditReports(t *testing.T) numbers {
	t.Helper()
	conn := s.m.Connect(t, s.m.Reports)
	ctx := s.company.Ctx(t.Context())
	maintenance := reportsv1.NewReportMaintenanceServiceClient(conn)
	end := time.Now()
	harness.Eventually(t, reportsLimit, func() error {
		res, err := maintenance.GetReportStatus(ctx, &reportsv1.GetReportStatusRequest{})
		if st := res.GetStatus(); err == nil && (st.GetBuilding() || st.GetAsOf().AsTime().Before(end)) {
			err = fmt.Errorf("the reports are not complete: %v", st)
		}
		return err
	})
	client := reportsv1.NewReportServiceClient(conn)
	span := &reportsv1.Span{From: end.AddDate(0, 0, -2).Format(time.DateOnly), To: end.AddDate(0, 0, 60).Format(time.DateOnly)}
	got := numbers{}
	for _, read := range []func() error{
		func() error { return got.takings(s.company.Ctx(t.Context()), client, span) },
		func() error {
			res, err := client.GetAttendance(ctx, &reportsv1.GetAttendanceRequest{Span: span})
			got.attendance("attendance", res.GetTotal())
			for _, row := range res.GetRows() {
				got.attendance("attendance "+row.GetKey(), row.GetAttendance())
			}
			return err
		},
		func() error {
			res, err := client.GetCredits(ctx, &reportsv1.GetCreditsRequest{Span: span})
			got.credits("credits", res.GetTotal())
			for _, row := range res.GetRows() {
				got.credits("credits "+row.GetPassTypeId(), row.GetCredits())
			}
			return err
		},
		func() error {
			res, err := client.GetCustomers(ctx, &reportsv1.GetCustomersRequest{Span: span})
			c := res.GetTotal()
			got["customers total"], got["customers new"], got["customers active"] = c.GetTotal(), c.GetNew(), c.GetActive()
			got["customers lost"], got["customers returned"] = c.GetLost(), c.GetReturned()
			return err
		},
	} {
		if err := read(); err != nil {
			t.Fatal(err)
		}
	}
	want := s.reportNumbers(t)
	if diff := gocmp.Diff(want.withoutZeros(), got.withoutZeros()); diff != "" {
		t.Errorf("reports (-databases +reports):\n%s", diff)
	}
	return want
}

func (n numbers) withoutZeros() numbers {
	all := numbers{}
	for name, value := range n {
		if value != 0 {
			all[name] = value
		}
	}
	return all
}

// reportNumbers computes the numbers of reports from the databases.
func (s *seller) reportNumbers(t *testing.T) numbers {
	t.Helper()
	company := companyID(t, s.company.ID)
	booking, pass, customer := s.m.connect(t, "booking"), s.m.connect(t, "pass"), s.m.connect(t, "customer")
	want := numbers{}
	money := func(name string, amount int64) {
		if amount > 0 {
			want[name+" paid"] += amount
			want[name+" payments"]++
		} else {
			want[name+" refunded"] -= amount
			want[name+" refunds"]++
		}
		want[name+" net"] += amount
	}
	for _, m := range rows[moneyRow](t, booking, bookedMoneySQL, company) {
		for _, name := range []string{"", " " + m.Day, " " + m.Method, " " + id.Event(m.Product).String(), " 0"} {
			money("takings"+name, m.Amount)
		}
	}
	for _, m := range rows[moneyRow](t, pass, soldPassesSQL, company) {
		for _, name := range []string{"", " " + m.Day, " " + m.Method, " " + id.PassType(m.Product).String(), " 0"} {
			money("takings"+name, m.Amount)
		}
	}
	for _, a := range rows[attendedRow](t, booking, attendedSQL, company) {
		for _, name := range []string{"attendance", "attendance " + id.Event(a.Event).String()} {
			want.add(name, numbers{
				"dates": a.Dates, "capacity": a.Capacity, "booked": a.Booked, "booked of capacity": a.OfCapacity, "attended": a.Attended,
				"no-shows": a.NoShows, "cancelled": a.Cancelled, "cancelled late": a.Late,
			})
		}
	}
	for _, c := range rows[creditsRow](t, pass, creditsSQL, company) {
		for _, name := range []string{"credits", "credits " + id.PassType(c.Pass).String()} {
			want.add(name, numbers{"added": c.Added, "used": c.Used, "adjusted": c.Adjusted, "closing": c.Closing, "worth": c.Worth})
		}
	}
	want["customers total"] = numberOf(t, customer, customersSQL, company)
	want["customers new"] = want["customers total"]
	want["customers active"] = numberOf(t, booking, activeSQL, company)
	return want
}

func (n numbers) add(name string, values numbers) {
	for value, count := range values {
		n[name+" "+value] += count
	}
}

func numberOf(t *testing.T, conn *pgx.Conn, sql string, company [16]byte) (n int64) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), sql, company).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// takings reads takings in total, and by day, method, tax rate and product.
func (n numbers) takings(ctx context.Context, client reportsv1.ReportServiceClient, span *reportsv1.Span) error {
	for _, grouping := range []reportsv1.TakingsGrouping{
		reportsv1.TakingsGrouping_TAKINGS_GROUPING_DAY, reportsv1.TakingsGrouping_TAKINGS_GROUPING_METHOD,
		reportsv1.TakingsGrouping_TAKINGS_GROUPING_TAX, reportsv1.TakingsGrouping_TAKINGS_GROUPING_PRODUCT,
	} {
		res, err := client.GetTakings(ctx, &reportsv1.GetTakingsRequest{Span: span, GroupBy: grouping})
		if err != nil {
			return err
		}
		all := map[string]*reportsv1.Takings{"": res.GetTotal()}
		for _, row := range res.GetRows() {
			all[" "+row.GetKey()] = row.GetTakings()
		}
		for name, t := range all {
			n["takings"+name+" paid"], n["takings"+name+" payments"] = t.GetPaid(), t.GetPayments()
			n["takings"+name+" refunded"], n["takings"+name+" refunds"] = t.GetRefunded(), t.GetRefunds()
			n["takings"+name+" net"] = t.GetNet()
		}
	}
	return nil
}

func (n numbers) attendance(name string, a *reportsv1.Attendance) {
	n.add(name, numbers{
		"dates": a.GetDates(), "capacity": a.GetCapacity(), "booked": a.GetBooked(), "booked of capacity": a.GetBookedOfCapacity(),
		"attended": a.GetAttended(), "no-shows": a.GetNoShows(), "cancelled": a.GetCancelled(), "cancelled late": a.GetCancelledLate(),
	})
}

func (n numbers) credits(name string, c *reportsv1.Credits) {
	n.add(name, numbers{
		"opening": c.GetOpening(), "added": c.GetAdded(), "used": c.GetUsed(), "expired": c.GetExpired(), "adjusted": c.GetAdjusted(),
		"closing": c.GetClosing(), "worth": c.GetClosingWorth(), "opening worth": c.GetOpeningWorth(),
	})
}
