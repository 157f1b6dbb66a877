package reports

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/subjects"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	reportsv1 "reservation.dev/proto/gen/reservation/reports/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// quiet returns a business that has done nothing yet, whose read models are complete.
func quiet(w *world) *business {
	w.t.Helper()
	b := newBusiness(w, 1)
	*w.sources.of(w.company) = *newOwned()
	b.msgs = nil
	w.rebuild()
	return b
}

func (b *business) deliver() {
	b.w.t.Helper()
	b.w.handle(b.take()...)
}

func wantFault(t *testing.T, err error, field, rule string) {
	t.Helper()
	if err == nil {
		t.Errorf("accepted, want %s %s", field, rule)
		return
	}
	f := fault.From(err)
	if len(f.Fields) != 1 || f.Fields[0].Field != field || f.Fields[0].Rule != rule {
		t.Errorf("got %v, want %s %s", err, field, rule)
	}
}

func TestRequests(t *testing.T) {
	w := open(t)
	quiet(w)
	t.Run("default to the present month and the company's currency", func(t *testing.T) {
		res, err := w.client.GetTakings(w.ctx(), &reportsv1.GetTakingsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if got := res.GetCompared(); got.GetSpan().GetFrom() != "2027-03-01" || got.GetSpan().GetTo() != "2027-03-31" || got.GetBefore().GetTo() != "2027-02-28" ||
			!got.GetComplete() || res.GetCurrency() != "GBP" || !slices.Equal(res.GetCurrencies(), []string{"GBP"}) || len(res.GetRows()) != 31 {
			t.Errorf("got %v", res)
		}
	})
	t.Run("are refused with the field and the rule", func(t *testing.T) {
		wrong := &reportsv1.Span{From: "March"}
		_, err := w.client.GetTakings(w.ctx(), &reportsv1.GetTakingsRequest{Span: wrong})
		wantFault(t, err, "span.from", "date")
		_, err = w.client.GetAttendance(w.ctx(), &reportsv1.GetAttendanceRequest{Span: &reportsv1.Span{From: "2027-03-02", To: "2027-03-01"}})
		wantFault(t, err, "span.to", "order")
		_, err = w.client.GetTakings(w.ctx(), &reportsv1.GetTakingsRequest{Span: &reportsv1.Span{WeekStart: 8}})
		wantFault(t, err, "span.week_start", "range")
		_, err = w.client.GetCustomers(w.ctx(), &reportsv1.GetCustomersRequest{
			Span: &reportsv1.Span{From: "2027-01-01", To: "2027-12-31"}, Period: reportsv1.Period_PERIOD_DAY,
		})
		wantFault(t, err, "period", "period")
		_, err = w.client.GetCredits(w.ctx(), &reportsv1.GetCreditsRequest{Currency: "gbp"})
		wantFault(t, err, "currency", "enum")
		_, err = w.client.ListExpiringPasses(w.ctx(), &reportsv1.ListExpiringPassesRequest{PageSize: 201})
		wantFault(t, err, "page_size", "range")
		_, err = w.client.SumExpiringPasses(w.ctx(), &reportsv1.SumExpiringPassesRequest{Span: wrong})
		wantFault(t, err, "span.from", "date")
		_, err = w.client.SumExpiringPasses(w.ctx(), &reportsv1.SumExpiringPassesRequest{Currency: "gbp"})
		wantFault(t, err, "currency", "enum")
	})
	t.Run("need the scope of reports", func(t *testing.T) {
		ctx := w.with(w.issuer.Client(w.company, "bookings:read"))
		calls := map[string]func() error{
			"GetTakings":    func() error { _, err := w.client.GetTakings(ctx, &reportsv1.GetTakingsRequest{}); return err },
			"GetAttendance": func() error { _, err := w.client.GetAttendance(ctx, &reportsv1.GetAttendanceRequest{}); return err },
			"GetCredits":    func() error { _, err := w.client.GetCredits(ctx, &reportsv1.GetCreditsRequest{}); return err },
			"GetCustomers":  func() error { _, err := w.client.GetCustomers(ctx, &reportsv1.GetCustomersRequest{}); return err },
			"ListExpiringPasses": func() error {
				_, err := w.client.ListExpiringPasses(ctx, &reportsv1.ListExpiringPassesRequest{})
				return err
			},
			"SumExpiringPasses": func() error {
				_, err := w.client.SumExpiringPasses(ctx, &reportsv1.SumExpiringPassesRequest{})
				return err
			},
			"RebuildReports": func() error {
				_, err := w.maintenance.RebuildReports(ctx, &reportsv1.RebuildReportsRequest{})
				return err
			},
			"GetReportStatus": func() error {
				_, err := w.maintenance.GetReportStatus(ctx, &reportsv1.GetReportStatusRequest{})
				return err
			},
		}
		for name, call := range calls {
			if err := call(); !fault.Is(err, fault.Forbidden) {
				t.Errorf("%s: got %v", name, err)
			}
		}
	})
	t.Run("use the test clock", func(t *testing.T) { // invariant 12
		test := w.of(id.New[id.Company]().Test())
		test.exec(`insert into companies (company_id, timezone, currency, clock_offset_seconds, version) values ($1, 'Europe/London', 'GBP', $2, 5)`,
			test.company, 40*24*60*60)
		res, err := test.client.GetTakings(test.ctx(), &reportsv1.GetTakingsRequest{})
		if err != nil || res.GetCompared().GetSpan().GetFrom() != "2027-04-01" {
			t.Errorf("got %v, %v", res.GetCompared(), err)
		}
	})
}

func TestManyProducts(t *testing.T) {
	w := open(t)
	b := quiet(w)
	const products = maxRows + 20
	for i := range products {
		e := &bookingv1.Event{
			Id: id.New[id.Event]().String(), Title: fmt.Sprint("Event ", i), Version: 1, Type: bookingv1.EventType_EVENT_TYPE_CLASS,
			Status: bookingv1.EventStatus_EVENT_STATUS_PUBLISHED,
		}
		e.Dates = []*bookingv1.EventDate{b.newDate()}
		e.Dates[0].StartsAt = timestamppb.New(began)
		b.publish(subjects.EventCreated, &bookingv1.EventCreated{Event: e})
		k := &bookingv1.Booking{Id: id.New[id.Booking]().String(), EventId: e.Id, EventTitle: e.Title, EventDateId: e.Dates[0].Id, Spaces: int32(1 + i)}
		b.publish(subjects.BookingConfirmed, &bookingv1.BookingConfirmed{Booking: &bookingv1.BookingSnapshot{
			Purchaser: &bookingv1.CustomerReference{Id: id.New[id.Customer]().String()}, Booking: k, Version: 1,
			Movements: []*bookingv1.MoneyMovement{{Sequence: 1, Gross: int64(100 + i), Net: 100, Currency: "GBP", Method: bookingv1.PaymentMethod_PAYMENT_METHOD_CARD, Day: "2027-03-15"}},
		}})
	}
	b.deliver()
	takings, err := w.client.GetTakings(w.ctx(), &reportsv1.GetTakingsRequest{GroupBy: reportsv1.TakingsGrouping_TAKINGS_GROUPING_PRODUCT})
	if err != nil {
		t.Fatal(err)
	}
	attendance, err := w.client.GetAttendance(w.ctx(), &reportsv1.GetAttendanceRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if len(takings.GetRows()) != maxRows+1 || len(attendance.GetRows()) != maxRows+1 {
		t.Fatalf("%d and %d rows", len(takings.GetRows()), len(attendance.GetRows()))
	}
	var gross, booked int64
	for i := range maxRows + 1 {
		gross += takings.GetRows()[i].GetTakings().GetGross()
		booked += attendance.GetRows()[i].GetAttendance().GetBooked()
	}
	if last := takings.GetRows()[maxRows]; last.GetKey() != "" || last.GetTakings().GetPayments() != 20 || last.GetTakings().GetGross() != 20*100+19*20/2 {
		t.Errorf("got %v", last)
	}
	if first := takings.GetRows()[0]; first.GetTitle() != "Event 519" || first.GetTakings().GetGross() != 619 {
		t.Errorf("got %v", first)
	}
	if last := attendance.GetRows()[maxRows]; last.GetKey() != "" || last.GetAttendance().GetDates() != 20 || last.GetAttendance().GetBooked() != 20*21/2 {
		t.Errorf("got %v", last)
	}
	if gross != takings.GetTotal().GetGross() || booked != attendance.GetTotal().GetBooked() {
		t.Errorf("the rows add up to %d and %d, the totals are %v and %v", gross, booked, takings.GetTotal(), attendance.GetTotal())
	}
}

func TestListExpiringPasses(t *testing.T) {
	w := open(t)
	b := quiet(w)
	plan := id.New[id.Plan]()
	b.publish(subjectPlanCreated, &subscriptionv1.PlanCreated{Plan: &subscriptionv1.Plan{Id: plan.String(), Title: "Four a month", Price: 4000, Currency: "EUR", Credits: 4, Version: 1}})
	passType := &passv1.PassType{Id: id.New[id.PassType]().String(), Title: "Ten", Version: 1}
	pass := func(expires string, remaining int32, changes ...func(*passv1.CustomerPass)) string {
		p := &passv1.CustomerPass{
			Id: id.New[id.CustomerPass]().String(), CustomerId: id.New[id.Customer]().String(), PassTypeId: passType.Id, ExpiryDate: expires, RemainingUses: remaining,
			TotalUses: 10, CreatedOn: "2027-01-01", Version: 1, Purchase: &passv1.PassPurchase{Gross: proto.Int64(9900), Method: "CARD", Currency: "GBP"},
		}
		for _, change := range changes {
			change(p)
		}
		b.publish(subjects.CustomerPassAssigned, &passv1.CustomerPassAssigned{CustomerPass: p, PassType: passType})
		return p.Id
	}
	pass("2027-03-14", 3)
	today := pass("2027-03-15", 3)
	pass("2027-03-20", 0)
	pass("2027-03-20", 5, func(p *passv1.CustomerPass) { p.Status = passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_CANCELLED })
	subscribed := pass("2027-03-20", 3, func(p *passv1.CustomerPass) {
		p.SubscriptionId, p.PassTypeId, p.Purchase = id.New[id.Subscription]().String(), id.PassType(plan).String(), nil
	})
	unlimited := pass("2027-04-14", 999999, func(p *passv1.CustomerPass) { p.UnlimitedUses = true })
	pass("2027-04-15", 3)
	pass("9999-12-31", 3, func(p *passv1.CustomerPass) { p.NeverExpires = true })
	b.deliver()
	var got []*reportsv1.ExpiringPass
	req := &reportsv1.ListExpiringPassesRequest{PageSize: 2}
	for {
		res, err := w.client.ListExpiringPasses(w.ctx(), req)
		if err != nil {
			t.Fatal(err)
		}
		if res.GetTotal() != 3 || !res.GetComplete() {
			t.Errorf("got %v", res)
		}
		got = append(got, res.GetPasses()...)
		if req.PageToken = res.GetNextPageToken(); req.PageToken == "" {
			break
		}
	}
	if len(got) != 3 || got[0].GetCustomerPassId() != today || got[1].GetCustomerPassId() != subscribed || got[2].GetCustomerPassId() != unlimited {
		t.Fatalf("got %v", got)
	}
	if p := got[0]; p.GetWorth() != 2970 || p.GetCurrency() != "GBP" || p.GetTitle() != "Ten" || p.GetExpiryDate() != "2027-03-15" || p.GetRemainingUses() != 3 {
		t.Errorf("got %v", p)
	}
	if p := got[1]; p.GetWorth() != 3000 || p.GetCurrency() != "EUR" || p.GetTitle() != "Four a month" {
		t.Errorf("got %v", p)
	}
	if p := got[2]; p.GetWorth() != 0 || !p.GetUnlimitedUses() {
		t.Errorf("got %v", p)
	}
	res, err := w.client.ListExpiringPasses(w.ctx(), &reportsv1.ListExpiringPassesRequest{Offset: 2})
	if err != nil || len(res.GetPasses()) != 1 || res.GetTotal() != 3 {
		t.Errorf("got %v, %v", res, err)
	}
}

func TestVerifyReports(t *testing.T) { // invariant 1
	w, owner := openOwned(t)
	b := newBusiness(w, 4)
	b.act(250)
	w.handle(b.take()...)
	w.build()
	v := w.verify()
	if v.checked == 0 || len(v.differences) != 0 {
		t.Fatalf("got %v", v)
	}
	kinds := map[string]int{}
	for _, f := range v.facts {
		kinds[f.GetKind()]++
		if f.GetKind() == "booking" {
			s := b.o.bookings[f.GetId()]
			var gross, net int64
			for _, m := range s.GetMovements() {
				gross, net = gross+m.GetGross(), net+m.GetNet()
			}
			if s == nil || f.GetVersion() != s.GetVersion() || f.GetGross() != gross || f.GetNet() != net || f.GetQuantity() != int64(s.GetBooking().GetSpaces()) {
				t.Errorf("got %v, want %v", f, s)
			}
		}
	}
	if kinds["booking"] != len(b.o.bookings) || kinds["customer_pass"] != len(b.o.passes) || kinds["subscription"] != len(b.o.subs) || kinds["event_date"] == 0 {
		t.Errorf("got %v", kinds)
	}
	for _, of := range verifications {
		for _, damage := range []string{
			"update " + of.table + " set %[1]s = %[1]s + 1 where ctid = (select ctid from " + of.table + " limit 1)",
			"delete from " + of.table + " where ctid = (select ctid from " + of.table + " where %[1]s <> 0 limit 1)",
		} {
			for _, column := range []string{firstWord(of.columns)} {
				sql := fmt.Sprintf(damage, column)
				tx, err := owner.Begin(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if _, err := tx.Exec(t.Context(), `create table kept as table `+of.table); err != nil {
					t.Fatal(err)
				}
				if tag, err := tx.Exec(t.Context(), sql); err != nil || tag.RowsAffected() != 1 {
					t.Fatalf("%s: %v, %v", sql, tag, err)
				}
				if err := tx.Commit(t.Context()); err != nil {
					t.Fatal(err)
				}
				found := w.verified().differences
				if !slices.ContainsFunc(found, func(d *reportsv1.ReportDifference) bool {
					return d.GetWhat() == of.what+"."+column && d.GetStored() != d.GetComputed()
				}) {
					t.Errorf("%s: found %v", sql, found)
				}
				for _, sql := range []string{`delete from ` + of.table, `insert into ` + of.table + ` select * from kept`, `drop table kept`} {
					if _, err := owner.Exec(t.Context(), sql); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	w.verify()
}

func TestVerifyNamedFacts(t *testing.T) {
	w := open(t)
	b := newBusiness(w, 5)
	b.act(150)
	w.handle(b.take()...)
	w.build()
	wanted := map[string]*reportsv1.ReportFact{}
	for _, f := range w.verified().facts {
		wanted[f.GetKind()] = f
		if f.GetKind() != "subscription" && f.GetDay() == "" && f.GetKind() != "booking" || f.GetEntries() > 0 && len(f.GetEntriesDigest()) != 32 {
			t.Errorf("got %v", f)
		}
	}
	read := func(req *reportsv1.VerifyReportsRequest) ([]*reportsv1.ReportFact, error) {
		stream, err := w.maintenance.VerifyReports(w.admin(), req)
		if err != nil {
			t.Fatal(err)
		}
		var all []*reportsv1.ReportFact
		for {
			res, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return all, nil
			}
			if err != nil {
				return nil, err
			}
			all = append(all, res.GetFacts()...)
			if len(res.GetFacts()) > 0 && res.GetTimezone() != w.zone || len(res.GetFacts()) == 0 && !res.GetVerifiedAt().AsTime().Equal(began) {
				t.Errorf("got %v", res)
			}
		}
	}
	if len(wanted) != 5 {
		t.Fatalf("got the kinds %v", wanted)
	}
	for kind, f := range wanted {
		got, err := read(&reportsv1.VerifyReportsRequest{Kind: kind, Ids: []string{f.GetId(), f.GetId()}})
		if err != nil || len(got) != 1 || !proto.Equal(got[0], f) {
			t.Errorf("got %v, %v, want %v", got, err, f)
		}
		if got, err := read(&reportsv1.VerifyReportsRequest{Kind: kind}); err != nil || len(got) != 0 {
			t.Errorf("without identifiers: %v, %v", got, err)
		}
	}
	for _, req := range []*reportsv1.VerifyReportsRequest{
		{Kind: "event"}, {Ids: []string{wanted["booking"].GetId()}}, {Kind: "booking", Ids: []string{wanted["customer"].GetId()}},
	} {
		if _, err := read(req); !fault.Is(err, fault.Invalid) {
			t.Errorf("%v: got %v", req, err)
		}
	}
}

func firstWord(s string) string {
	for i, c := range s {
		if c == ' ' {
			return s[:i]
		}
	}
	return s
}

func TestAppliedTwice(t *testing.T) { // invariant 2
	w := open(t)
	b := newBusiness(w, 2)
	b.act(200)
	msgs := b.take()
	w.handle(msgs...)
	w.build()
	want := w.sums(1)
	w.handle(msgs...)
	w.handle(shuffled(b.r, msgs)...)
	sameSums(t, w.sums(1), want)
	if at := w.status().GetAsOf().AsTime(); !at.Equal(began) {
		t.Errorf("complete up to %s", at.Format(time.RFC3339))
	}
}
