package admin

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

// withPlan adds a plan of eight credits a month, a collection, and the answers of the methods of plans.
func withPlan(w *world) *subscriptionv1.Plan {
	p := &subscriptionv1.Plan{
		Id: "plan_1", Title: "Eight a month", Price: 4000, Currency: "GBP", IntervalUnit: subscriptionv1.IntervalUnit_INTERVAL_UNIT_MONTH, IntervalCount: 1,
		Bookings: subscriptionv1.PlanBookings_PLAN_BOOKINGS_CREDITS, Credits: 8, MaxRollover: 4, Status: subscriptionv1.PlanStatus_PLAN_STATUS_ACTIVE,
		PassTypeId: "pass_1", Version: 3, MediaCollectionIds: []string{"col_1"},
	}
	on(w.backend, "ListPlans", func(req *subscriptionv1.ListPlansRequest) (*subscriptionv1.ListPlansResponse, error) {
		if req.GetStatus() != 0 && req.GetStatus() != p.GetStatus() {
			return &subscriptionv1.ListPlansResponse{}, nil
		}
		return &subscriptionv1.ListPlansResponse{Plans: []*subscriptionv1.Plan{p}, Total: 1}, nil
	})
	on(w.backend, "GetPlan", func(req *subscriptionv1.GetPlanRequest) (*subscriptionv1.GetPlanResponse, error) {
		if req.GetId() != p.GetId() {
			return nil, fault.Missing("plan")
		}
		return &subscriptionv1.GetPlanResponse{Plan: p}, nil
	})
	on(w.backend, "ListCollections", func(*mediav1.ListCollectionsRequest) (*mediav1.ListCollectionsResponse, error) {
		return &mediav1.ListCollectionsResponse{Collections: []*mediav1.Collection{{Id: "col_1", Title: "Flows", ItemCount: 1, UpdatedAt: timestamppb.Now()}}, Total: 1}, nil
	})
	on(w.backend, "CreatePlan", func(*subscriptionv1.CreatePlanRequest) (*subscriptionv1.CreatePlanResponse, error) {
		return &subscriptionv1.CreatePlanResponse{Plan: p}, nil
	})
	on(w.backend, "UpdatePlan", func(req *subscriptionv1.UpdatePlanRequest) (*subscriptionv1.UpdatePlanResponse, error) {
		if req.ExpectedVersion != nil && req.GetExpectedVersion() != p.GetVersion() {
			return nil, fault.Stale("plan", p.GetVersion())
		}
		return &subscriptionv1.UpdatePlanResponse{Plan: p}, nil
	})
	return p
}

// recorded returns the actions in the audit log, in the order of the changes.
func (w *world) recorded() []string {
	return views(w.backend.called("RecordAuditEntry"), func(c call) string { return c.req.(*authv1.RecordAuditEntryRequest).GetAction() })
}

func TestWhatAPlanIncludes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	texts := w.web.pages.catalogue.of("", "")
	base := func() *subscriptionv1.Plan {
		return &subscriptionv1.Plan{
			Price: 4000, Currency: "GBP", IntervalUnit: subscriptionv1.IntervalUnit_INTERVAL_UNIT_MONTH, IntervalCount: 1,
			Bookings: subscriptionv1.PlanBookings_PLAN_BOOKINGS_CREDITS, Credits: 8, MaxRollover: 4,
		}
	}
	for want, change := range map[string]func(p *subscriptionv1.Plan){
		"£40.00 every month, 8 credits a month, up to 4 move to the next month.":            func(*subscriptionv1.Plan) {},
		"£40.00 every month, 1 credit a month, unused credits expire.":                      func(p *subscriptionv1.Plan) { p.Credits, p.MaxRollover = 1, 0 },
		"£40.00 every 3 months, 8 credits every 3 months, up to 4 move to the next period.": func(p *subscriptionv1.Plan) { p.IntervalCount = 3 },
		"£40.00 every week, unlimited bookings, only for classes, workshops.": func(p *subscriptionv1.Plan) {
			p.IntervalUnit, p.Bookings = subscriptionv1.IntervalUnit_INTERVAL_UNIT_WEEK, subscriptionv1.PlanBookings_PLAN_BOOKINGS_UNLIMITED
			p.EligibleEventTypes = []string{"class", "workshop"}
		},
		"Free of charge, 2 collections of the library.": func(p *subscriptionv1.Plan) {
			p.Price, p.Bookings, p.MediaCollectionIds = 0, subscriptionv1.PlanBookings_PLAN_BOOKINGS_NONE, []string{"col_1", "col_2"}
			p.EligibleEventTypes = []string{"class"} // without bookings, it does not matter
		},
		"£40.00 every year, unlimited bookings, the first 14 days are free, at least 2 paid periods.": func(p *subscriptionv1.Plan) {
			p.IntervalUnit, p.Bookings = subscriptionv1.IntervalUnit_INTERVAL_UNIT_YEAR, subscriptionv1.PlanBookings_PLAN_BOOKINGS_UNLIMITED
			p.TrialDays, p.MinimumPeriods = 14, 2
		},
	} {
		p := base()
		change(p)
		if got := texts.text(planView{p}.Gets()); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestPlans(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.role = authv1.AdministratorRole_ADMINISTRATOR_ROLE_MANAGER
	w.signIn()
	p := withPlan(w)
	t.Run("lists what customers get, in two calls", func(t *testing.T) {
		w.backend.count()
		w.get("/plans").must(t, "Eight a month", "£40.00 every month, 8 credits a month, up to 4 move to the next month", "On sale", "/subscriptions?plan=plan_1")
		if n := w.backend.count(); n != 2 {
			t.Errorf("%d calls", n)
		}
	})
	t.Run("adds a plan", func(t *testing.T) {
		w.get("/plans/new").must(t, `name="every"`, "Flows", `id="gets"`)
		a := w.post("/plans", "title", "Unlimited", "description", "All of it", "price", "79,50", "every", "1", "unit", "month", "bookings", "unlimited",
			"credits", "8", "rollover", "2", "kinds", "class", "collections", "col_1", "trial", "14", "minimum", "3")
		w.get(a.to()).must(t, "The plan was added.")
		want := &subscriptionv1.CreatePlanRequest{
			Title: "Unlimited", Description: "All of it", Price: 7950, IntervalCount: 1, IntervalUnit: subscriptionv1.IntervalUnit_INTERVAL_UNIT_MONTH,
			Bookings: subscriptionv1.PlanBookings_PLAN_BOOKINGS_UNLIMITED, TrialDays: 14, MinimumPeriods: 3, EligibleEventTypes: []string{"class"}, MediaCollectionIds: []string{"col_1"},
		}
		if req := last[*subscriptionv1.CreatePlanRequest](w, "CreatePlan"); !proto.Equal(req, want) {
			t.Errorf("%v", req)
		}
	})
	t.Run("says what is missing at the fields, and keeps what was typed", func(t *testing.T) {
		before := len(w.backend.called("CreatePlan"))
		a := w.post("/plans", "title", "", "every", "0", "unit", "month", "bookings", "credits", "price", "x", "trial", "400", "description", "kept")
		a.must(t, "Enter a title.", "The length of a period must be a whole number from 1 to 52.", "Enter the number of credits.", "The price must be an amount", "from 0 to 365", "kept")
		if a.StatusCode != http.StatusUnprocessableEntity || len(w.backend.called("CreatePlan")) != before {
			t.Error(describe(a))
		}
	})
	t.Run("shows a service's refusal at the field", func(t *testing.T) {
		on(w.backend, "CreatePlan", func(*subscriptionv1.CreatePlanRequest) (*subscriptionv1.CreatePlanResponse, error) {
			return nil, fault.InvalidParameter("max_rollover", "max", "must be at most 100,000")
		})
		w.post("/plans", "title", "X", "every", "1", "unit", "week", "bookings", "credits", "credits", "1", "rollover", "5").
			must(t, "The number of credits that move must be at most 100,000.", `aria-describedby="rollover-help rollover-wrong"`)
	})
	t.Run("says what the customer gets while the form is filled in", func(t *testing.T) {
		typed := url.Values{"title": {"X"}, "price": {"12"}, "every": {"2"}, "unit": {"week"}, "bookings": {"credits"}, "credits": {"3"}, "rollover": {"0"}}
		for _, path := range []string{"/plans/new", "/plans/plan_1"} {
			req, err := http.NewRequest(http.MethodGet, w.server.URL+path+"?"+typed.Encode(), nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Hx-Request", "true")
			a := w.do(req)
			a.must(t, "£12.00 every 2 weeks, 3 credits every 2 weeks, unused credits expire.")
			if strings.Contains(a.body, "<html") || strings.Contains(a.body, "wrong") {
				t.Error(describe(a))
			}
		}
	})
	t.Run("changes a plan from the version that was read", func(t *testing.T) {
		w.get("/plans/plan_1").must(t, `value="Eight a month"`, `value="40.00"`, `name="version" value="3"`, `value="col_1" checked`, "Existing subscriptions keep")
		fields := []string{"title", "Nine a month", "price", "45", "every", "1", "unit", "month", "bookings", "credits", "credits", "9", "rollover", "0"}
		w.post("/plans/plan_1", append(fields, "version", "2")...).must(t, "Someone else has changed this", `value="Nine a month"`, `name="version" value="3"`)
		a := w.post("/plans/plan_1", append(fields, "version", "3")...)
		if a.to() != "/plans" {
			t.Fatal(describe(a))
		}
		req := last[*subscriptionv1.UpdatePlanRequest](w, "UpdatePlan")
		if req.GetPrice() != 4500 || req.GetCredits() != 9 || req.MaxRollover == nil || req.GetMaxRollover() != 0 || req.GetMediaCollectionIds() == nil || len(req.GetMediaCollectionIds().GetValues()) != 0 {
			t.Errorf("%v", req)
		}
	})
	t.Run("archives and restores", func(t *testing.T) {
		w.get(w.post("/plans/plan_1/archive").to()).must(t, "no longer sold")
		p.Status = subscriptionv1.PlanStatus_PLAN_STATUS_ARCHIVED
		w.get("/plans/plan_1").must(t, "/plans/plan_1/restore")
		w.get(w.post("/plans/plan_1/restore").to()).must(t, "on sale again")
		if a := w.post("/plans/plan_1/burn"); a.StatusCode != http.StatusNotFound {
			t.Error(describe(a))
		}
	})
	t.Run("says how to begin when there are none", func(t *testing.T) {
		on(w.backend, "ListPlans", func(*subscriptionv1.ListPlansRequest) (*subscriptionv1.ListPlansResponse, error) {
			return &subscriptionv1.ListPlansResponse{}, nil
		})
		w.get("/plans").must(t, "No plans yet", "/plans/new")
	})
	if got := strings.Join(w.recorded(), " "); got != "plan.create plan.update plan.archive plan.restore" {
		t.Errorf("the audit log has %s", got)
	}
}

func TestPaymentsDue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	settings := &subscriptionv1.SubscriptionSettings{PastDueAfterDays: 3, GraceDays: 7, ReminderDays: []int32{0, 3, 7}, EndAfterDays: new(int32(30)), Version: 2}
	on(w.backend, "GetSubscriptionSettings", func(*subscriptionv1.GetSubscriptionSettingsRequest) (*subscriptionv1.GetSubscriptionSettingsResponse, error) {
		return &subscriptionv1.GetSubscriptionSettingsResponse{Settings: settings}, nil
	})
	on(w.backend, "UpdateSubscriptionSettings", func(req *subscriptionv1.UpdateSubscriptionSettingsRequest) (*subscriptionv1.UpdateSubscriptionSettingsResponse, error) {
		switch s := req.GetSettings(); {
		case s.GetVersion() != settings.GetVersion():
			return nil, fault.Stale("settings", settings.GetVersion())
		case len(s.GetReminderDays()) > 3:
			return nil, fault.InvalidParameter("settings.reminder_days", "max_items", "must have at most 10 days")
		}
		return &subscriptionv1.UpdateSubscriptionSettingsResponse{Settings: req.GetSettings()}, nil
	})
	t.Run("explains the settings with an example", func(t *testing.T) {
		w.get(dunningPath).must(t, `value="0, 3, 7"`, "1 June 2027: a payment becomes due.", "1 June 2027, 4 June 2027, 8 June 2027: your integrations are reminded",
			"4 June 2027: the subscription is past due.", "11 June 2027: the subscription stops paying", "4 July 2027: the subscription ends.")
	})
	t.Run("saves them from the version that was read", func(t *testing.T) {
		fields := []string{"reminders", "7; 0 7", "overdue", "0", "grace", "14", "end", ""}
		w.post(dunningPath, append(fields, "version", "1")...).must(t, "Someone else has changed this")
		a := w.post(dunningPath, append(fields, "version", "2")...)
		if a.to() != dunningPath {
			t.Fatal(describe(a))
		}
		want := &subscriptionv1.SubscriptionSettings{GraceDays: 14, ReminderDays: []int32{0, 7}, Version: 2}
		if got := last[*subscriptionv1.UpdateSubscriptionSettingsRequest](w, "UpdateSubscriptionSettings").GetSettings(); !proto.Equal(got, want) {
			t.Errorf("%v", got)
		}
		entry := last[*authv1.RecordAuditEntryRequest](w, "RecordAuditEntry")
		if entry.GetAction() != "payments_due.update" || entry.GetTarget() != w.company.GetId() || len(entry.GetDetails()) != 4 {
			t.Errorf("%v", entry)
		}
	})
	t.Run("refuses what is not a number of days, at its field", func(t *testing.T) {
		w.post(dunningPath, "reminders", "0, soon", "overdue", "61", "grace", "", "end", "0").must(t,
			"Enter numbers of days from 0 to 365", "from 0 to 60", "Enter the number of days.", "from 1 to 365")
		w.post(dunningPath, "reminders", "1 2 3 4", "overdue", "1", "grace", "1", "version", "2").must(t, "Each reminder day must have at most 10 days.", `aria-invalid="true"`)
	})
	t.Run("says that a subscription without an end stays past due", func(t *testing.T) {
		settings.EndAfterDays = nil
		w.get(dunningPath).must(t, "It stays past due until")
	})
}
