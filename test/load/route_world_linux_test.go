package load

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/test/harness"
)

const (
	routeKeys = 16
	offers    = 48 // offers of the waitlist accepted in a round
	endpoints = 24 // webhook endpoints made in a round, below the limit of a company
)

func newRouteWorld(b *testing.B) *routeWorld {
	w := &routeWorld{
		newsroom:  newNewsroomOf(b, harness.ClusterOptions{Webhooks: 1, GatewaysB: 1, OwnNATS: true}),
		transport: &http.Transport{MaxIdleConnsPerHost: routeClients, DisableCompression: true},
		tokens:    map[string][]string{}, pools: map[string][]string{},
	}
	b.Cleanup(w.transport.CloseIdleConnections)
	w.company = w.op.NewCompany(b, "Europe/London")
	w.signIn(b)
	now := time.Now().UTC().Truncate(time.Hour)
	w.start = now.AddDate(0, 0, 2)
	w.add("today", now.Format(time.DateOnly))
	w.add("now", now.Format(time.RFC3339))
	w.add("uses", "1", "2", "3", "4", "5", "6", "7", "8", "9")
	w.add("customer", w.company.ImportCustomers(b, "buyer", 400)...)
	w.catalogue(b)
	w.records(b)
	w.library(b)
	w.salon(b)
	w.messages(b)
	w.add("request", w.company.AwaitRequests(b, &authv1.ListRequestsRequest{})[0].GetId())
	return w
}

// signIn gets the tokens. Clients take turns in using them, because a credential has a rate limit.
func (w *routeWorld) signIn(b *testing.B) {
	limit := int32(10_000)
	test := w.company.TestMode(b).NewKey(b, limit)
	w.testTokens = []string{harness.NewB(b, w.GatewaysB[0]).Token(b, test)}
	for range routeKeys {
		key := w.company.NewKey(b, limit)
		w.tokens[gatewayB] = append(w.tokens[gatewayB], harness.NewB(b, w.GatewaysB[0]).Token(b, key))
		made, err := w.op.Clients.CreateApiClient(w.company.Ctx(b.Context()), &authv1.CreateApiClientRequest{
			Name: "client", Scopes: harness.AllScopes(), RateLimit: &limit,
		})
		if err != nil {
			b.Fatal(err)
		}
		client := harness.Credential{ID: made.GetApiClient().GetId(), Secret: made.GetClientSecret()}
		w.tokens[gatewayA] = append(w.tokens[gatewayA], w.A(b).Token(b, client))
		w.pools["apiKey"], w.pools["apiSecret"] = []string{key.ID}, []string{key.Secret}
		w.pools["clientId"], w.pools["clientSecret"] = []string{client.ID}, []string{client.Secret}
	}
}

// newEvent creates an event with a date that has the given number of spaces.
func (w *routeWorld) newEvent(b *testing.B, capacity int32) (event, date string) {
	b.Helper()
	made, err := w.op.Events.CreateEvent(w.company.Ctx(b.Context()), &bookingv1.CreateEventRequest{
		Title: "Morning Vinyasa", PricingOptions: []*bookingv1.NewPricingOption{{Name: "Drop-in", Price: 1200}},
		Dates: []*bookingv1.NewEventDate{{StartsAt: timestamppb.New(time.Now().AddDate(0, 1, 0).Truncate(time.Second)), DurationMinutes: 60, Capacity: proto.Int32(capacity)}},
	})
	if err != nil {
		b.Fatal(err)
	}
	return made.GetEvent().GetId(), made.GetEvent().GetDates()[0].GetId()
}

// catalogue creates the events to which the routes refer.
func (w *routeWorld) catalogue(b *testing.B) {
	const lots = 1_000_000
	event, date := w.newEvent(b, lots)
	w.add("event", event)
	w.add("date", date)
	second, _ := w.newEvent(b, lots)
	w.add("second", second)
	for range 30 {
		event, _ := w.newEvent(b, 12)
		w.add("timetable", event)
	}
	_, full := w.newEvent(b, 1)
	w.add("fullDate", full)
	w.fillDate(b, full, 1)
}

// fillDate holds all spaces of a date, and returns the hold.
func (w *routeWorld) fillDate(b *testing.B, date string, spots int) string {
	w.pools["filled"] = nil
	w.must(b, route{
		gateway: gatewayB, method: http.MethodPost, path: "/holds", makes: "filled",
		body: fmt.Sprintf(`{"purchasedById":"{customer}","minutes":1440,"lines":[{"eventDateId":%q,"spots":%d}]}`, date, spots),
	})
	return w.pools["filled"][0]
}

// must makes a request of a route.
func (w *routeWorld) must(b *testing.B, r route) {
	b.Helper()
	w.provide(b, r)
	if _, err := w.do(b.Context(), r); err != nil {
		b.Fatal(err)
	}
}

// offer adds offers of the waitlist: customers wait for a full date until its hold ends.
func (w *routeWorld) offer(b *testing.B, n int) {
	_, date := w.newEvent(b, int32(n))
	hold := w.fillDate(b, date, n)
	for range n {
		w.must(b, route{gateway: gatewayB, method: http.MethodPost, path: "/event-dates/" + date + "/waitlist", body: `{"customerId":"{fresh!}","spots":1}`, makes: "offer"})
	}
	w.must(b, route{gateway: gatewayB, method: http.MethodDelete, path: "/holds/" + hold})
	w.settle(b)
}

// records gives a customer purchases and passes.
func (w *routeWorld) records(b *testing.B) {
	reader := w.company.ImportCustomers(b, "reader", 1)[0]
	w.add("reader", reader)
	began := time.Date(2025, 1, 6, 9, 0, 0, 0, time.UTC)
	var all []*bookingv1.ImportedTransaction
	for n := range purchases {
		at := began.Add(time.Duration(n) * time.Hour)
		all = append(all, &bookingv1.ImportedTransaction{
			Reference: fmt.Sprint(n), Customer: reader, PurchasedAt: timestamppb.New(at),
			Bookings: []*bookingv1.ImportedBooking{importedBooking(fmt.Sprint("class", n), at.AddDate(0, 0, 1))},
		})
	}
	w.add("readerTransaction", w.company.ImportTransactions(b, all...)...)
	for range 30 {
		w.must(b, route{gateway: gatewayB, method: http.MethodPost, path: "/customer-passes", body: `{"customerId":"{reader}","passId":"{pass}","startDate":"{today}"}`, makes: "readerPass"})
	}
	for range 30 {
		for _, made := range []string{"transaction", "code", "customerPass", "entry"} {
			w.must(b, w.maker(b, made))
		}
	}
}

// messages sends webhooks to an endpoint, which is then disabled so that no other route has deliveries.
func (w *routeWorld) messages(b *testing.B) {
	receiver := &receiver{}
	url := w.Listen(b, receiver) + "/hook"
	w.add("url", url)
	id, _ := w.company.NewEndpoint(b, url)
	for range 60 {
		w.must(b, w.maker(b, "registration"))
	}
	w.settle(b)
	w.must(b, route{gateway: gatewayB, method: http.MethodPatch, path: "/webhook-endpoints/" + id, body: `{"enabled":false}`})
}
