package reservectl

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/id"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

func TestPlanImport(t *testing.T) {
	w := newWorld(t)
	w.library.collections = []*mediav1.Collection{{Id: "col_1", Title: "Home; practice"}, {Id: "col_2", Title: "Talks"}}
	t.Run("CSV and NDJSON import the same plan", func(t *testing.T) {
		csv := w.write(t, "a.csv", "Title,interval,interval count,price,currency,credits,max_rollover,trial days,minimumPeriods,eligible_event_types,collections,bookings\n"+
			"Eight,Month,2,8000,GBP,8,4,7,3,class; workshop,Talks;col_1,credits\n")
		ndjson := w.write(t, "a.ndjson", `{"title":"Eight too","intervalUnit":"month","intervalCount":2,"price":8000,"currency":"GBP","credits":8,"maxRollover":"4",`+
			`"trialDays":7,"minimumPeriods":3,"eligibleEventTypes":["class","workshop"],"collections":["Talks","Home; practice"],"bookings":"credits"}`)
		ok(t, "plan", "import", csv)
		ok(t, "plan", "import", ndjson)
		want := &subscriptionv1.CreatePlanRequest{
			Title: "Eight", IntervalUnit: subscriptionv1.IntervalUnit_INTERVAL_UNIT_MONTH, IntervalCount: 2, Price: 8000, Currency: "GBP",
			Credits: 8, MaxRollover: 4, TrialDays: 7, MinimumPeriods: 3, EligibleEventTypes: []string{"class", "workshop"},
			MediaCollectionIds: []string{"col_2", "col_1"}, Bookings: subscriptionv1.PlanBookings_PLAN_BOOKINGS_CREDITS,
		}
		for i, title := range []string{"Eight", "Eight too"} {
			if want.Title = title; !proto.Equal(w.plans.created[i], want) {
				t.Errorf("created %v", w.plans.created[i])
			}
		}
	})
	t.Run("a plan whose title exists stays unchanged, and wrong lines are refused", func(t *testing.T) {
		path := w.write(t, "b.csv", "title,interval,price,credits,collections\nEight,month,1,1,\nNew,year,90000,,\nNew,year,1,,\nBad,decade,1,,\nWorse,week,-1,,\n"+
			"Much,week,1,1001,\nLost,week,1,1,Nowhere\n"+strings.Repeat("x", 201)+",week,1,1,\n")
		r := run(t, "", "plan", "import", path)
		report := filepath.Join(w.dir, "b.refused.csv")
		if sum := summed(t, r); r.code != 3 || sum != (counts{Read: 8, Created: 1, Existed: 2, Refused: 5, Report: report}) {
			t.Fatalf("got %+v", r)
		}
		text, err := os.ReadFile(report)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			"5,Bad,interval,\"interval must be week, month or year\"", "6,Worse,price,price must be a whole number between 0 and", "7,Much,credits,credits must be at most 1000",
			`8,Lost,collections,"collections ""Nowhere"" does not exist"`, "9,xxxx", ",title,title must",
		} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%q is not in\n%s", want, text)
			}
		}
	})
}

func TestSubscriptionImport(t *testing.T) {
	w := newWorld(t)
	customer := id.New[id.Customer]().String()
	active, archived := subscriptionv1.PlanStatus_PLAN_STATUS_ACTIVE, subscriptionv1.PlanStatus_PLAN_STATUS_ARCHIVED
	w.plans.plans = []*subscriptionv1.Plan{
		{Id: "plan_1", Title: "Eight", Status: active}, {Id: "plan_2", Title: "Old", Status: archived}, {Id: "plan_3", Title: "Old", Status: active},
		{Id: "plan_4", Title: "Twice", Status: active}, {Id: "plan_5", Title: "Twice", Status: active},
	}
	for _, reference := range []string{"C-1", "cust_own"} {
		w.customers[reference] = &customerv1.ImportedCustomer{Reference: reference}
	}
	t.Run("CSV and NDJSON import the same subscription", func(t *testing.T) {
		csv := w.write(t, "a.csv", "reference,customer,plan,period first day,start_date,remaining_credits,price,payment_due,anchor_day,trial,periods_before,last_day\n"+
			"S-1,C-1,Eight,2026-03-01,2025-03-31,3,0,true,31,TRUE,12,2026-12-31\n")
		ndjson := w.write(t, "a.ndjson", `{"id":"S-2","customerReference":"C-1","planId":"plan_1","periodFirstDay":"2026-03-01","startDate":"2025-03-31","remainingCredits":3,`+
			`"price":0,"paymentDue":true,"anchorDay":31,"trial":true,"periodsBefore":12,"lastDay":"2026-12-31"}`)
		ok(t, "subscription", "import", csv)
		ok(t, "subscription", "import", ndjson)
		want := &subscriptionv1.ImportedSubscription{
			CustomerId: "cust_of_C-1", PlanId: "plan_1", PeriodFirstDay: "2026-03-01", StartDate: "2025-03-31", RemainingCredits: 3, Price: proto.Int64(0),
			PaymentDue: true, AnchorDay: 31, Trial: true, PeriodsBefore: 12, LastDay: "2026-12-31",
		}
		for _, reference := range []string{"S-1", "S-2"} {
			if want.Reference = reference; !proto.Equal(w.plans.imported[reference], want) {
				t.Errorf("imported %v", w.plans.imported[reference])
			}
		}
	})
	t.Run("customers and plans are looked up by identifier, reference and title", func(t *testing.T) {
		lines := fmt.Sprintf("reference,customer,plan,period_first_day\nL-1,%s,plan_2,2026-03-01\nL-2,cust_own,Old,2026-03-01\n", customer)
		if r := run(t, lines, "subscription", "import", "-", "--format", "csv"); r.code != 0 || summed(t, r).Created != 2 {
			t.Fatalf("got %+v", r)
		}
		one, two := w.plans.imported["L-1"], w.plans.imported["L-2"]
		if one.GetCustomerId() != customer || one.GetPlanId() != "plan_2" || two.GetCustomerId() != "cust_of_cust_own" || two.GetPlanId() != "plan_3" || one.Price != nil {
			t.Errorf("imported %v and %v", one, two)
		}
	})
	t.Run("lines are refused one by one, with the columns of the file", func(t *testing.T) {
		long := strings.Repeat("x", maxReference+1)
		path := w.write(t, "b.csv", "reference,customer,plan,period_first_day,trial,price\nS-1,C-1,Eight,2026-03-01,,\nR-1,C-9,Eight,2026-03-01,,\nR-2,C-1,Nine,2026-03-01,,\n"+
			"R-3,C-1,Twice,2026-03-01,,\nR-4,C-1,Eight,tomorrow,,\nR-5,C-1,Eight,2026-03-01,maybe,\nR-6,C-1,Eight,2026-03-01,,1.50\nR-7,"+long+",Eight,2026-03-01,,\n"+
			long+",C-1,Eight,2026-03-01,,\nS-9,C-1,Eight,2026-03-01,,\n")
		r := run(t, "", "subscription", "import", path)
		report := filepath.Join(w.dir, "b.refused.csv")
		if sum := summed(t, r); r.code != 3 || sum != (counts{Read: 10, Created: 1, Existed: 1, Refused: 8, Report: report}) {
			t.Fatalf("got %+v", r)
		}
		text, err := os.ReadFile(report)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			"3,R-1,customer,customer does not exist", "4,R-2,plan,plan does not exist", "5,R-3,plan,plan is the title of 2 plans: give the identifier (plan_…)",
			"6,R-4,period_first_day,period_first_day must be a day", "7,R-5,trial,trial must be true or false", "8,R-6,price,price must be a whole number", "9,R-7,customer,customer must be at most 200",
			",reference,reference must",
		} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%q is not in\n%s", want, text)
			}
		}
	})
	t.Run("batches have at most 100 subscriptions, and a repeated import continues", func(t *testing.T) {
		var file strings.Builder
		file.WriteString("reference,customer,plan,period_first_day\n")
		for i := range 250 {
			fmt.Fprintf(&file, "M-%d,C-1,Eight,2026-03-01\n", i)
		}
		path := w.write(t, "many.csv", file.String())
		w.plans.batches, w.plans.failAt = nil, 2
		r := run(t, "", "subscription", "import", path)
		if r.code != 1 || !strings.Contains(r.errOut, "the import stopped after 100 subscriptions: 100 created") || !strings.Contains(r.errOut, "run the same command again to continue") {
			t.Fatalf("got %+v", r)
		}
		w.plans.batches, w.plans.failAt = nil, 0
		r = run(t, "", "subscription", "import", path)
		if sum := summed(t, r); r.code != 0 || sum != (counts{Read: 250, Created: 150, Existed: 100}) || !slices.Equal(w.plans.batches, []int{100, 100, 50}) {
			t.Errorf("got %+v in batches of %v", r, w.plans.batches)
		}
	})
}

// TestLineFields checks values of the wrong type in NDJSON, which subscriptions, plans and media items
// share.
func TestLineFields(t *testing.T) {
	w := newWorld(t)
	w.plans.plans = []*subscriptionv1.Plan{{Id: "plan_1", Title: "Eight"}}
	for line, want := range map[string]string{
		`{"reference":"R","customer":5}`:                   "R,customer,type",
		`{"reference":7}`:                                  ",reference,type",
		`{"reference":"R","remaining_credits":1.5}`:        "R,remaining_credits,type",
		`{"reference":"R","remaining_credits":3000000000}`: "R,remaining_credits,type",
		`{"reference":"R","price":"x"}`:                    "R,price,type",
		`{"reference":"R","price":1e300}`:                  "R,price,type",
		`{"reference":"R","price":true}`:                   "R,price,type",
		`{"reference":"R","trial":1}`:                      "R,trial,type",
		`{"reference":"R",`:                                ",line,json",
		`["R"]`:                                            ",line,type",
		`null`:                                             ",line,type",
		`{"reference":"R","customer":"C","plan":"Eight","period_first_day":"2026-03-01"}`:  "R,customer,exists",
		`{"reference":"R","customer":null,"plan":"Eight","period_first_day":"2026-03-01"}`: "R,customer,exists",
	} {
		t.Run("refuses "+line, func(t *testing.T) {
			report := filepath.Join(w.dir, "r.ndjson")
			r := run(t, "\n"+line, "subscription", "import", "-", "--format", "ndjson", "--refused", report)
			var got struct {
				Refused struct{ Reference, Field, Rule string }
			}
			read(t, report, &got)
			if text := got.Refused.Reference + "," + got.Refused.Field + "," + got.Refused.Rule; r.code != 3 || text != want {
				t.Errorf("got %s, %+v", text, r)
			}
		})
	}
	for line, want := range map[string]string{
		`{"title":"A","interval":"week","eligible_event_types":7}`:       "A,eligible_event_types,type",
		`{"title":"A","interval":"week","eligible_event_types":["a",7]}`: "A,eligible_event_types,type",
		`{"title":"A","interval":"fortnight"}`:                           "A,interval,enum",
	} {
		t.Run("refuses the plan "+line, func(t *testing.T) {
			report := filepath.Join(w.dir, "r.ndjson")
			r := run(t, line, "plan", "import", "-", "--format", "ndjson", "--refused", report)
			var got struct {
				Refused struct{ Reference, Field, Rule string }
			}
			read(t, report, &got)
			if text := got.Refused.Reference + "," + got.Refused.Field + "," + got.Refused.Rule; r.code != 3 || text != want {
				t.Errorf("got %s, %+v", text, r)
			}
		})
	}
}
