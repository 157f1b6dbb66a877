package browser

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	"reservation.dev/test/harness"
)

// place is a page: its name and its path.
type place struct{ name, path string }

// href returns the address of the first link that an XPath finds.
func (b *tab) href(xpath string) string {
	b.t.Helper()
	path := eval[string](b, `(() => {
		const link = document.evaluate(`+quote(b.t, xpath)+`, document, null, XPathResult.FIRST_ORDERED_NODE_TYPE).singleNodeValue;
		return link ? link.getAttribute("href") : "";
	})()`)
	if path == "" {
		b.t.Fatalf("%s has nothing at %s:\n%s", b.path(), xpath, b.text())
	}
	return path
}

// places finds the main pages, each with data on it. The tab has a session.
func (w *world) places(t *testing.T, b *tab) []place {
	t.Helper()
	ctx := w.company.Ctx(t.Context())
	pages := []place{
		{"today", "/"}, {"week", "/week"}, {"events", "/events"}, {"new event", "/events/new"}, {"customers", "/customers"},
		{"new customer", "/customers/new"}, {"discount codes", "/discounts"}, {"new discount code", "/discounts/new"}, {"pass types", "/pass-types"}, {"new pass type", "/pass-types/new"}, {"account", "/account"},
		{"API clients", "/settings/api-clients"}, {"new API client", "/settings/api-clients/new"},
		{"API keys", "/settings/api-keys"}, {"new API key", "/settings/api-keys/new"}, {"company", "/settings/company"}, {"test mode", "/test-mode"},
		{"administrators", "/settings/administrators"}, {"audit log", "/settings/audit"},
		{"webhooks", "/settings/webhooks"}, {"new endpoint", "/settings/webhooks/new"},
		{"requests", "/settings/requests"}, {"deliveries", "/settings/webhooks/deliveries"}, {"replay", "/settings/webhooks/replay"},
		{"export and import data", "/exports"}, {"an import of bookings", "/exports?import=bookings"}, {"an export with its number of rows", "/exports?what=customers&from=2026-01-01&to=2026-12-31"},
		{"reports", "/reports"}, {"takings", "/reports/takings"}, {"takings by product", "/reports/takings?by=product"}, {"attendance", "/reports/attendance"},
		{"credits", "/reports/credits"}, {"new and lost customers", "/reports/customers"}, {"passes that expire", "/reports/expiring-passes"}, {"passes that expire by type", "/reports/expiring-passes?by=pass_type"}, {"a month", "/reports/month"},
	}
	add := func(name, path string) { pages = append(pages, place{name, path}) }

	dates, err := w.op.Events.ListEventDates(ctx, &bookingv1.ListEventDatesRequest{
		StartsFrom: timestamppb.Now(), StartsBefore: timestamppb.New(time.Now().AddDate(0, 0, 21)), PageSize: 200,
	})
	if err != nil || len(dates.GetDates()) == 0 {
		t.Fatalf("no date: %v", err)
	}
	fullest := slices.MaxFunc(dates.GetDates(), func(x, y *bookingv1.ScheduledDate) int {
		return cmp.Compare(x.GetDate().GetBooked(), y.GetDate().GetBooked())
	})
	event := "/events/" + fullest.GetEventId()
	date := event + "/dates/" + fullest.GetDate().GetId()
	add("event", event)
	add("change an event", event+"/edit")
	add("cancel an event", event+"/cancel")
	add("add dates", event+"/dates/new")
	add("add a price", event+"/prices/new")
	add("change a date", date+"/edit")
	add("date", date)
	add("book", date+"/book")
	add("scan tickets", date+"/scan")
	add("cancel a date", date+"/cancel")

	passes, err := w.op.Passes.ListCustomerPasses(ctx, &passv1.ListCustomerPassesRequest{PageSize: 1})
	if err != nil || len(passes.GetCustomerPasses()) == 0 {
		t.Fatalf("no pass: %v", err)
	}
	pass := passes.GetCustomerPasses()[0]
	add("customer", "/customers/"+pass.GetCustomerId())
	add("assign a pass", "/customers/"+pass.GetCustomerId()+"/assign")
	add("delete a customer", "/customers/"+pass.GetCustomerId()+"/delete")
	add("pass", "/passes/"+pass.GetId())
	add("book for a customer", date+"/book?customer="+pass.GetCustomerId())

	// These paths are on other pages.
	follow := func(name, from, xpath string) string {
		b.open(from)
		path := b.href(xpath)
		add(name, path)
		return path
	}
	booking := follow("booking", date, `//main//a[starts-with(@href,"/bookings/")]`)
	add("cancel a booking", booking+"/cancel")
	add("history of a booking", booking+"/history")
	add("move a booking", booking+"/move")
	add("the effect of a move", booking+"/move?spaces=2")
	add("give a booking away", booking+"/transfer?customer="+pass.GetCustomerId())
	add("swap a booking", booking+"/swap?customer="+pass.GetCustomerId())
	add("walk-in", date+"/walk-in")
	add("sale", "/sales/new?customer="+pass.GetCustomerId()+"&date="+fullest.GetDate().GetId())
	add("ticket", booking+"/ticket")
	add("mark a no-show", booking+"/no-show")
	follow("change a price", event, `//main//*[@id="prices"]//li//a`)
	follow("discount code", "/discounts", `//main//table//a`)
	follow("pass type", "/pass-types", `//main//table//a`)
	client := follow("API client", "/settings/api-clients", `//main//table//a`)
	add("rotate a client", client+"/rotate")
	key := follow("API key", "/settings/api-keys", `//main//table//a`)
	add("rotate a key", key+"/rotate")
	endpoint := follow("webhook", "/settings/webhooks", `//main//table//a`)
	add("webhook with its secret", endpoint+"?secret=shown")
	add("rotate a webhook's secret", endpoint+"/rotate")
	administrator := follow("administrator", "/settings/administrators", `//main//table//a`)
	add("disable an administrator", administrator+"/disable")
	w.sendRequest(t)
	follow("request", "/settings/requests", `//main//table//th//a`)
	follow("delivery", "/settings/webhooks/deliveries", `//main//table//a`)
	follow("confirm a replay", "/settings/webhooks/deliveries", `//main//a[starts-with(@href,"/settings/webhooks/deliveries/replay")]`)
	return pages
}

// sendRequest sends a request to Interface B, and waits until the request log has it.
func (w *world) sendRequest(t *testing.T) {
	t.Helper()
	key := harness.Credential{ID: w.Credentials.InterfaceB.APIKey, Secret: w.Credentials.InterfaceB.APISecret}
	harness.NewB(t, w.Credentials.InterfaceB.BaseURL).Token(t, key)
	w.company.AwaitRequests(t, &authv1.ListRequestsRequest{CredentialId: key.ID})
}
