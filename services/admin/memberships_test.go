package admin

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

func TestMembershipsOfACustomer(t *testing.T) {
	t.Parallel()
	w := staffWorld(t)
	item := withLibrary(w)
	on(w.backend, "ListCustomerPasses", func(*passv1.ListCustomerPassesRequest) (*passv1.ListCustomerPassesResponse, error) {
		return &passv1.ListCustomerPassesResponse{CustomerPasses: []*passv1.CustomerPass{{Id: "cp_7", PassTypeId: "pass_7"}}, Total: 1}, nil
	})
	reasons := []*mediav1.CustomerMedia{
		{Item: item, Reason: &mediav1.MediaReason{SubscriptionId: "sub_1"}, Progress: &mediav1.MediaProgress{PositionSeconds: 750}},
		{Item: item, Reason: &mediav1.MediaReason{CustomerPassId: "cp_7", LastDay: "2027-01-31"}, Progress: &mediav1.MediaProgress{Completed: true}},
		{Item: item, Reason: &mediav1.MediaReason{BookingId: "booking_1"}},
		{Item: item, Reason: &mediav1.MediaReason{Given: true}, Progress: &mediav1.MediaProgress{}},
		{Item: item, Reason: &mediav1.MediaReason{SubscriptionId: "sub_9"}},
		{Item: item, Reason: &mediav1.MediaReason{CustomerPassId: "cp_9"}},
	}
	on(w.backend, "ListCustomerMedia", func(*mediav1.ListCustomerMediaRequest) (*mediav1.ListCustomerMediaResponse, error) {
		return &mediav1.ListCustomerMediaResponse{Media: reasons, Total: 21, NextPageToken: "more"}, nil
	})
	t.Run("shows the subscriptions, what the customer can play and why, in two more calls", func(t *testing.T) {
		w.backend.count()
		w.get("/customers/cust_1").must(t, "Eight a month", "renews on 1 Jan 2027", "/customers/cust_1/subscribe", "Subscribed to Eight a month", "Pass Ten visits", "until 31 Jan 2027", "Booked an event",
			"Given to the customer", ">A subscription<", ">A pass<", "Stopped at 12:30 of 42:30", "Watched to the end", "Not started", "Started", "/library/media_1/play?customer=cust_1", "/customers/cust_1/give", "media=more")
		// Authenticate, customer, notes, four for the visits, purchases, passes, pass types, appointments,
		// subscriptions, media.
		if n := w.backend.count(); n != 13 {
			t.Errorf("%d calls", n)
		}
	})
	t.Run("shows the rest of the page while the services do not respond", func(t *testing.T) {
		on(w.backend, "ListSubscriptions", func(*subscriptionv1.ListSubscriptionsRequest) (*subscriptionv1.ListSubscriptionsResponse, error) {
			return nil, fault.Away(nil)
		})
		on(w.backend, "ListCustomerMedia", func(*mediav1.ListCustomerMediaRequest) (*mediav1.ListCustomerMediaResponse, error) {
			return nil, fault.Away(nil)
		})
		w.get("/customers/cust_1").must(t, "Yoga", "The subscriptions cannot be shown right now.", "The media cannot be shown right now.")
	})
	t.Run("does not hide another error", func(t *testing.T) {
		on(w.backend, "ListCustomerMedia", func(*mediav1.ListCustomerMediaRequest) (*mediav1.ListCustomerMediaResponse, error) {
			return nil, io.ErrUnexpectedEOF
		})
		if a := w.get("/customers/cust_1"); a.StatusCode != http.StatusInternalServerError {
			t.Error(describe(a))
		}
	})
	t.Run("says what to do when there are none", func(t *testing.T) {
		withoutPasses(w)
		w.get("/customers/cust_1").must(t, "No subscriptions. Subscribe the customer to a plan.", "No media.")
	})
}

func TestErasureNeedsSubscriptionsToEnd(t *testing.T) {
	t.Parallel()
	w := privacyWorld(t, io.EOF)
	s := &subscriptionv1.Subscription{Id: "sub_1", PlanTitle: "Eight a month", Status: subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_ENDING}
	on(w.backend, "ListSubscriptions", func(*subscriptionv1.ListSubscriptionsRequest) (*subscriptionv1.ListSubscriptionsResponse, error) {
		return &subscriptionv1.ListSubscriptionsResponse{Subscriptions: []*subscriptionv1.Subscription{s}}, nil
	})
	on(w.backend, "ListCustomerPasses", func(*passv1.ListCustomerPassesRequest) (*passv1.ListCustomerPassesResponse, error) {
		return &passv1.ListCustomerPassesResponse{CustomerPasses: []*passv1.CustomerPass{{Id: "cp_1", SubscriptionId: "sub_1"}}}, nil
	})
	a := w.get("/customers/cust_1/erase")
	a.must(t, `<a href="/subscriptions/sub_1">A subscription</a> to Eight a month`)
	if strings.Contains(a.body, "/passes/cp_1") {
		t.Error("the page asks to cancel the pass of the subscription")
	}
	if a := w.post("/customers/cust_1/erase", "name", "<Ann> Smith"); a.StatusCode != http.StatusUnprocessableEntity || len(w.backend.called("EraseCustomer")) > 0 {
		t.Error(describe(a))
	}
	s.Status = subscriptionv1.SubscriptionStatus_SUBSCRIPTION_STATUS_ENDED
	if a := w.post("/customers/cust_1/erase", "name", "<Ann> Smith"); a.to() != "/customers/cust_1/erase" {
		t.Error(describe(a))
	}
}

func TestMembershipsInTheAuditLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withLibrary(w)
	entries := []*authv1.AuditEntry{
		entry("plan.update", "plan_1", "title", "Seven", "Eight a month", "gets", "Seven.", "Eight."),
		entry("subscription.create", "sub_1", "customer", "", "cust_1", "plan", "", "plan_1", "paid", "", "unpaid"),
		entry("subscription.change_plan", "sub_1", "plan", "plan_9", "plan_1", "when", "", "now"),
		entry("subscription.pause", "sub_1", "first_day", "", "2026-12-24"),
		entry("media.access_add", "media_1", "who", "", "cust_1", "last_day", "", "2027-01-31"),
		entry("media.upload", "media_1", "file", "", "flow.mp4"),
		entry("collection.access_remove", "col_1", "who", "plan_1", ""),
		entry("payments_due.update", "comp_1", "end_after", "30", ""),
		entry("subscription.cancel", "sub_9"),
	}
	types := w.backend.methods["ListPassTypes"]
	withAuditLog(w, entries...)
	w.backend.methods["ListPassTypes"] = types
	on(w.backend, "ListSubscriptions", func(*subscriptionv1.ListSubscriptionsRequest) (*subscriptionv1.ListSubscriptionsResponse, error) {
		return &subscriptionv1.ListSubscriptionsResponse{Subscriptions: []*subscriptionv1.Subscription{{Id: "sub_1", CustomerId: "cust_1"}}}, nil
	})
	body := strings.NewReplacer("&#39;", "'", " Details ", " ").Replace(text(w.page("/settings/audit?action=subscription.")))
	for _, want := range []string{
		"Ada changed the plan Eight a month Title: from Seven to Eight a month What the customer gets: from Seven. to Eight.",
		"Ada created a subscription of Zoë O'Brien Plan: Eight a month Paid: not yet",
		"Ada changed the plan of a subscription of Zoë O'Brien Plan: from plan_9 to Eight a month When: now",
		"Ada entered a pause of a subscription of Zoë O'Brien First day: 24 Dec 2026",
		"Ada let more customers play the item Morning flow Who: Zoë O'Brien Last day: 31 Jan 2027",
		"Ada uploaded a file of the item Morning flow File: flow.mp4",
		"Ada stopped customers from playing the collection Flows Who: removed (was Eight a month )",
		"Ada changed the settings of payments due Days until the end: removed (was 30 )",
		"Ada cancelled the subscription sub_9",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the log lacks %q:\n%s", want, body)
		}
	}
	w.get("/settings/audit?action=subscription.").must(t, `<a href="/plans/plan_1"`, `<a href="/subscriptions/sub_1"`, `<a href="/library/media_1"`, `<a href="/collections/col_1"`,
		`<option value="subscription." selected>Subscriptions</option>`)
}

// membershipPages are the pages of plans, subscriptions and the library with data on them.
func membershipPages() []string {
	const sub, item = "/subscriptions/sub_1", "/library/media_1"
	return []string{
		"/plans", "/plans/new", "/plans/plan_1", "/subscriptions", sub, sub + "/pause", sub + "/resume", sub + "/plan?plan=plan_1&when=now", sub + "/cancel",
		sub + "/keep", sub + "/keep-plan", sub + "/refund", sub + "/periods/2/pay", sub + "/periods/2/fail", sub + "/periods/2/waive",
		"/customers/cust_1", "/customers/cust_1/subscribe", "/customers/cust_1/give", "/library", "/library/new", item, item + "/edit", item + "/delete", item + "/access",
		item + "/access/ent_4/remove", item + "/give?q=a", item + "/play", item + "/play?customer=cust_1", "/collections", "/collections/new", "/collections/col_1",
		"/collections/col_1/delete", "/collections/col_1/access", "/collections/col_1/give",
	}
}

func TestTypedTextOfMembershipsIsEscaped(t *testing.T) {
	t.Parallel()
	const script = `<script>alert("x")</script>`
	w := staffWorld(t)
	item := withLibrary(w)
	withPreviews(w)
	plan := planOf(w)
	item.Title, item.Description, item.Tags, item.File.Name = script, script, []string{script}, script
	on(w.backend, "GetPlan", func(*subscriptionv1.GetPlanRequest) (*subscriptionv1.GetPlanResponse, error) {
		return &subscriptionv1.GetPlanResponse{Plan: plan}, nil
	})
	on(w.backend, "ListPlans", func(*subscriptionv1.ListPlansRequest) (*subscriptionv1.ListPlansResponse, error) {
		return &subscriptionv1.ListPlansResponse{Plans: []*subscriptionv1.Plan{plan}, Total: 1}, nil
	})
	plan.Title, plan.Description, plan.EligibleEventTypes = script, script, []string{script}
	s, err := w.web.services.subscriptions.GetSubscription(t.Context(), &subscriptionv1.GetSubscriptionRequest{Id: "sub_1"})
	if err != nil {
		t.Fatal(err)
	}
	s.Subscription.PlanTitle, s.Subscription.CurrentPeriod.FailureReason = script, script
	s.Subscription.Cancellation = &subscriptionv1.Cancellation{Reason: script, RequestedAt: s.Subscription.GetCreatedAt()}
	on(w.backend, "GetSubscription", func(*subscriptionv1.GetSubscriptionRequest) (*subscriptionv1.GetSubscriptionResponse, error) {
		return s, nil
	})
	on(w.backend, "CreatePlaybackLink", func(*mediav1.CreatePlaybackLinkRequest) (*mediav1.CreatePlaybackLinkResponse, error) {
		return &mediav1.CreatePlaybackLinkResponse{Url: `javascript:alert("x")`, ContentType: "video/mp4"}, nil
	})
	escaped := 0
	for _, path := range membershipPages() {
		body := w.page(path)
		if strings.Contains(body, "<script>alert") || strings.Contains(body, `alert("x")`) || strings.Contains(body, `"javascript:`) {
			t.Errorf("%s executes the text", path)
		}
		escaped += strings.Count(body, "&lt;script&gt;alert")
		if at := emptyChoice.FindString(body); at != "" {
			t.Errorf("%s: %s", path, at)
		}
	}
	if escaped < 50 {
		t.Errorf("the text was found only %d times", escaped)
	}
}
