package faults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"reservation.dev/platform/id"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	"reservation.dev/test/harness"
)

// settledLimit is the time within which the jobs of two services complete all due work.
const settledLimit = time.Minute

// The rows of a company in the databases.
type (
	dateRow struct {
		ID       [16]byte
		Booked   int
		Capacity *int
		Spaces   int // of confirmed or held bookings
	}
	bookingRow struct {
		ID, Transaction, Guest [16]byte
		Status                 string
		Cancelled, Refunded    bool
		Method                 string
		Credits                int
		Pass                   *[16]byte
		Buyer                  [16]byte
	}
	passRow struct {
		ID, Customer [16]byte
		Remaining    int
		Ledger       int // sum of the ledger entries
		Balance      int // after the last ledger entry
		Held         int // by redemptions
	}
	redeemedRow struct {
		Transaction, Booking, Pass [16]byte
		Credits, Returned          int
	}
	// companyRows are all rows of a company.
	companyRows struct {
		dates    []dateRow
		bookings []bookingRow
		passes   []passRow
		redeemed []redeemedRow
	}
)

const (
	datesSQL = `select d.id, d.booked, d.capacity, coalesce((select sum(b.spaces) from bookings b
			join transactions t on t.company_id = b.company_id and t.id = b.transaction_id
			where b.company_id = d.company_id and b.event_date_id = d.id and not b.is_cancelled and t.status <> 'released'), 0)::integer as spaces
		from event_dates d where d.company_id = $1`

	bookingsSQL = `select b.id, b.transaction_id as transaction, coalesce(b.bought_for, t.purchaser_id) as guest, t.status, b.is_cancelled as cancelled,
			b.is_refunded as refunded, b.method, coalesce(b.credits_used, 0) as credits, b.customer_pass_id as pass, t.purchaser_id as buyer
		from bookings b join transactions t on t.company_id = b.company_id and t.id = b.transaction_id where b.company_id = $1`

	passesSQL = `select p.id, p.customer_id as customer, p.remaining_uses as remaining,
			(select sum(l.credits) from ledger_entries l where l.company_id = p.company_id and l.customer_pass_id = p.id)::integer as ledger,
			(select l.balance from ledger_entries l where l.company_id = p.company_id and l.customer_pass_id = p.id order by l.sequence desc limit 1) as balance,
			coalesce((select sum(i.credits - i.returned) from redemption_items i
				where i.company_id = p.company_id and i.customer_pass_id = p.id), 0)::integer as held
		from customer_passes p where p.company_id = $1`

	redeemedSQL = `select redemption_id as transaction, item_id as booking, customer_pass_id as pass, credits, returned
		from redemption_items where company_id = $1`

	// Holds, retries, returned credits and unfinished changes of credits wait for up to half a minute. This
	// query makes all of them due now. It skips rows that a suspended process has locked.
	ageSQL = `with t as (update transactions set expires_at = now() where company_id = $1 and id in (
			select id from transactions where company_id = $1 and status in ('held', 'pending', 'undoing') for update skip locked)),
		c as (update credit_changes set due_at = now() where company_id = $1 and booking_id in (
			select booking_id from credit_changes where company_id = $1 for update skip locked))
		update credit_returns set due_at = now() where company_id = $1 and booking_id in (
			select booking_id from credit_returns where company_id = $1 for update skip locked)`

	unsettledSQL = `select (select count(*) from transactions where company_id = $1 and status in ('held', 'pending', 'undoing')),
		(select count(*) from credit_returns where company_id = $1) + (select count(*) from credit_changes where company_id = $1)`
)

// connect opens a session with a service's database, as its owner.
func (m *salesCluster) connect(t *testing.T, part string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), m.OwnerURL(part))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func rows[T any](t *testing.T, conn *pgx.Conn, sql string, company [16]byte) []T {
	t.Helper()
	found, err := conn.Query(t.Context(), sql, company)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(found, pgx.RowToStructByName[T])
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// uuid parses an identifier of any kind and returns its UUID.
func uuid[I ~[16]byte](t *testing.T, text string, parse func(string) (I, error)) [16]byte {
	t.Helper()
	v, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// makeDue makes all waiting work of the seller due.
func (s *seller) makeDue(t *testing.T, booking *pgx.Conn) {
	t.Helper()
	if _, err := booking.Exec(t.Context(), ageSQL, uuid(t, s.company.ID, id.Parse[id.Company])); err != nil {
		t.Fatal(err)
	}
}

// unsettled returns an error while purchases, credit returns or changes of credits are in progress.
func (s *seller) unsettled(t *testing.T, booking *pgx.Conn) error {
	t.Helper()
	var transactions, returns int
	company := uuid(t, s.company.ID, id.Parse[id.Company])
	if err := booking.QueryRow(t.Context(), unsettledSQL, company).Scan(&transactions, &returns); err != nil {
		t.Fatal(err)
	}
	if transactions+returns > 0 {
		return fmt.Errorf("%d transactions are neither confirmed nor released, credits of %d bookings are owed or change", transactions, returns)
	}
	return nil
}

// settle returns when nothing is in progress any more.
func (s *seller) settle(t *testing.T, booking *pgx.Conn) {
	t.Helper()
	harness.Eventually(t, settledLimit, func() error {
		s.makeDue(t, booking)
		return s.unsettled(t, booking)
	})
}

// audit settles the seller's rows and checks them in four ways: row by row against each other,
// against the recorded answers, against the reports, and with the operator's verify and reconcile commands.
func (s *seller) audit(t *testing.T) {
	t.Helper()
	s.settle(t, s.m.connect(t, "booking"))
	stored := s.rows(t)
	if len(stored.dates) != s.dates() || len(stored.passes) != len(s.buyers) {
		t.Fatalf("%d dates and %d passes", len(stored.dates), len(stored.passes))
	}
	s.auditDates(t, stored)
	s.auditOrders(t, stored.bookings)
	s.auditPasses(t, stored)
	s.auditReports(t)
	s.verify(t)
}

// rows reads all rows of the seller.
func (s *seller) rows(t *testing.T) *companyRows {
	t.Helper()
	booking, pass := s.m.connect(t, "booking"), s.m.connect(t, "pass")
	company := companyID(t, s.company.ID)
	return &companyRows{
		dates: rows[dateRow](t, booking, datesSQL, company), bookings: rows[bookingRow](t, booking, bookingsSQL, company),
		passes: rows[passRow](t, pass, passesSQL, company), redeemed: rows[redeemedRow](t, pass, redeemedSQL, company),
	}
}

// auditDates compares the dates' counts with their bookings and capacities.
func (s *seller) auditDates(t *testing.T, stored *companyRows) {
	t.Helper()
	for _, d := range stored.dates {
		if d.Booked != d.Spaces || d.Capacity != nil && d.Booked > *d.Capacity {
			t.Errorf("date %x counts %d spaces, but its bookings have %d, its capacity is %v", d.ID, d.Booked, d.Spaces, d.Capacity)
		}
	}
}

// auditOrders compares the bookings with the recorded answers. An abandoned order can have
// all of its bookings or none; audit records those that it finds.
func (s *seller) auditOrders(t *testing.T, all []bookingRow) {
	t.Helper()
	byGuest := map[[16]byte][]bookingRow{}
	for _, b := range all {
		if b.Status == "confirmed" {
			byGuest[b.Guest] = append(byGuest[b.Guest], b)
		}
	}
	var made, refused, unknown, found, lost, repeated int
	for _, o := range s.orders {
		guest := uuid(t, s.guests[o.guest], id.Parse[id.Customer])
		got := byGuest[guest]
		delete(byGuest, guest)
		lost += o.lost
		if o.lost > 0 {
			repeated++
		}
		if o.unknown {
			unknown++
			if len(got) != 0 && len(got) != 1+len(o.more) {
				t.Errorf("abandoned order %d of %d dates has %d bookings", o.guest, 1+len(o.more), len(got))
			}
			for _, b := range got {
				found++
				o.sold[id.Booking(b.ID).String()] = &sold{b.Cancelled, b.Refunded}
			}
			continue
		}
		if len(o.sold) == 0 {
			refused++
		} else {
			made++
		}
		want := []string{}
		for booking, is := range o.sold {
			want = append(want, fmt.Sprintf("%x cancelled %t refunded %t", uuid(t, booking, id.Parse[id.Booking]), is.cancelled, is.refunded))
		}
		have := []string{}
		for _, b := range got {
			have = append(have, fmt.Sprintf("%x cancelled %t refunded %t", b.ID, b.Cancelled, b.Refunded))
		}
		slices.Sort(want)
		slices.Sort(have)
		if diff := gocmp.Diff(want, have); diff != "" {
			t.Errorf("bookings of order %d (by pass %t, %d attempts without an answer) (-answered +stored):\n%s", o.guest, o.byPass, o.lost, diff)
		}
	}
	for guest, bookings := range byGuest {
		t.Errorf("%d bookings are for guest %x, who has no order", len(bookings), guest)
	}
	t.Logf("%d orders: %d booked, %d refused, %d abandoned, %d of these booked; %d had %d attempts without an answer",
		len(s.orders), made, refused, unknown, found, repeated, lost)
}

// auditPasses compares passes with their ledgers, and both with the bookings.
func (s *seller) auditPasses(t *testing.T, b *companyRows) {
	t.Helper()
	spent := map[[16]byte]int{} // by buyer
	holds := map[[16]byte]redeemedRow{}
	for _, r := range b.redeemed {
		if _, twice := holds[r.Booking]; twice {
			t.Errorf("booking %x was redeemed twice", r.Booking)
		}
		holds[r.Booking] = r
	}
	paid, released := 0, 0
	for _, x := range b.bookings {
		if x.Status == "released" {
			released++
		}
		if x.Method != "PASS" || x.Status != "confirmed" {
			continue
		}
		paid++
		want := redeemedRow{Transaction: x.Transaction, Booking: x.ID, Credits: x.Credits}
		if x.Pass != nil {
			want.Pass = *x.Pass
		}
		if x.Refunded { // of a move that needed fewer credits, all credits may have been returned by the cancellation
			want.Credits = max(want.Credits, holds[x.ID].Credits)
			want.Returned = want.Credits
		}
		spent[x.Buyer] += want.Credits - want.Returned
		if holds[x.ID] != want {
			t.Errorf("booking %x should hold %+v of its pass, it holds %+v", x.ID, want, holds[x.ID])
		}
		delete(holds, x.ID)
	}
	for _, r := range holds {
		if r.Credits != r.Returned {
			t.Errorf("redemption %+v does not belong to a booking", r)
		}
	}
	for _, p := range b.passes {
		left := uses - spent[p.Customer]
		if p.Remaining < 0 || p.Remaining != left || p.Ledger != left || p.Balance != left || p.Held != spent[p.Customer] {
			t.Errorf("%+v should have %d left", p, left)
		}
	}
	t.Logf("%d bookings by pass; %d were released, %d of them with credits redeemed", paid, released, len(holds))
}

// verify runs the operator's verify and reconcile commands for the company.
func (s *seller) verify(t *testing.T) {
	t.Helper()
	op := s.m.Operator(t)
	credential := s.m.OperatorCredential
	issued, err := op.Tokens.IssueToken(t.Context(), &authv1.IssueTokenRequest{ClientId: credential.ID, ClientSecret: credential.Secret})
	if err != nil {
		t.Fatal(err)
	}
	services := []string{"--company", s.company.ID, "--booking", s.m.Booking, "--pass", s.m.Pass, "--subscription", s.m.Subscription,
		"--customer", s.m.Customer, "--media", s.m.Media, "--reports", s.m.Reports}
	for _, command := range [][]string{{"verify"}, {"reconcile", "--settle", "1s"}} {
		result := harness.Run(t, harness.Command{
			Program: "reservectl", Args: append(command, services...), Env: map[string]string{"RESERVATION_TOKEN": issued.GetAccessToken()},
		})
		if result.Code != 0 {
			t.Errorf("%s: %s%s", command[0], result.Output, result.Errors)
		}
	}
}

// compareSets returns an error unless got contains every element of want exactly once and nothing
// else.
func compareSets[T cmp.Ordered](what string, got, want []T) error {
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	if slices.Equal(got, want) {
		return nil
	}
	var faults []error
	for _, v := range want {
		if _, found := slices.BinarySearch(got, v); !found {
			faults = append(faults, fmt.Errorf("%s: %v is missing", what, v))
		}
	}
	return errors.Join(append(faults, fmt.Errorf("%s: got %d, want %d", what, len(got), len(want)))...)
}
