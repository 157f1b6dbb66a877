package load

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const (
	gatewayA = "gateway-a-1"
	gatewayB = "gateway-b-1"
)

// routeTable returns every operation of both interfaces.
func routeTable() []route {
	return slices.Concat(tableOfB(), tableOfSubscriptions(), tableOfMedia(), tableOfAppointments(), tableOfA())
}

func (r route) making(pool string) route { r.makes = pool; return r }
func (r route) atMost(n int) route       { r.most = n; return r }
func (r route) inTestMode() route        { r.test = true; return r }

func tableOfB() []route {
	read := func(path string) route { return route{gateway: gatewayB, method: http.MethodGet, path: path} }
	post := func(path, body string) route {
		return route{gateway: gatewayB, method: http.MethodPost, path: path, body: body}
	}
	put := func(path, body string) route {
		return route{gateway: gatewayB, method: http.MethodPut, path: path, body: body}
	}
	patch := func(path, body string) route {
		return route{gateway: gatewayB, method: http.MethodPatch, path: path, body: body}
	}
	del := func(path string) route { return route{gateway: gatewayB, method: http.MethodDelete, path: path} }
	const line = `{"eventDateId":"{date}","customerId":"{customer}","spots":1}`
	return []route{
		post("/auth/token", `{"apiKey":"{apiKey}","apiSecret":"{apiSecret}"}`).atMost(48),
		// Customers.
		post("/customers", `{"firstName":"Zoë","lastName":"Núñez {n}","email":"zoe{n}@example.com"}`).making("fresh"),
		read("/customers"),
		read("/customers/{customer}"),
		put("/customers/{customer}", `{"lastName":"Núñez {n}"}`),
		patch("/customers/{customer}", `{"lastName":"Pérez {n}"}`),
		del("/customers/{fresh!}"),
		// Events and their dates.
		post("/events", `{"title":"Pottery {n}","startsAt":"{start}","duration":60,"pricingOptions":[{"name":"Seat","price":20}]}`).making("spare"),
		read("/events"),
		read("/events/{timetable}"),
		put("/events/{spare}", `{"title":"Clay {n}"}`),
		patch("/events/{spare}", `{"title":"Glaze {n}"}`),
		del("/events/{spare!}"),
		post("/events/{timetable}/dates", `{"startsAt":"{start}","duration":60,"capacity":12}`).making("spareDate"),
		read("/event-dates"),
		read("/event-dates/{spareDate}"),
		put("/event-dates/{spareDate}", `{"duration":{uses}0}`),
		patch("/event-dates/{spareDate}", `{"location":"Studio {n}"}`),
		post("/event-dates/{spareDate!}/cancel", `{"reason":"The kiln is broken."}`),
		// Bookings.
		post("/events/{event}/registrations", `{"customerId":"{customer}","spots":1,"payment":{"method":"CARD"}}`).making("registration"),
		read("/events/{event}/registrations"),
		read("/events/{event}/registrations/{registration}"),
		del("/events/{event}/registrations/{registration!}"),
		read("/registrations"),
		read("/registrations/{registration}"),
		read("/registrations/{registration}/cancellation-preview"),
		read("/registrations/{registration}/move-preview?spots=2"),
		read("/registrations/{registration}/history"),
		post("/registrations/{registration!}/move", `{"spots":2,"keepPrice":true}`),
		post("/registrations/{registration!}/transfer", `{"customerId":"{reader}"}`),
		post("/registrations/{registration!}/swap", `{"registrationId":"{partner!}"}`),
		post("/registrations/{registration!}/attendance", `{"attendance":"attended"}`),
		post("/registrations/{registration!}/refund", `{"amount":5}`),
		post("/registrations/{registration!}/cancel", `{"reason":"A cold.","waivePolicy":true}`),
		post("/transactions", `{"purchasedById":"{customer}","payment":{"method":"CARD"},"lines":[`+line+`,`+line+`]}`).making("transaction"),
		read("/transactions"),
		read("/transactions/{transaction}"),
		// Holds and the waitlist.
		post("/holds", `{"purchasedById":"{customer}","lines":[`+line+`]}`).making("hold"),
		read("/holds/{hold}"),
		post("/holds/{hold!}/confirm", `{"payment":{"method":"CASH"}}`),
		del("/holds/{hold!}"),
		post("/event-dates/{fullDate}/waitlist", `{"customerId":"{fresh!}","spots":1}`).making("entry"),
		read("/waitlist-entries"),
		read("/waitlist-entries/{entry}"),
		del("/waitlist-entries/{entry!}"),
		post("/waitlist-entries/{offer!}/accept", `{"payment":{"method":"CASH"}}`).atMost(offers),
		// Passes.
		post("/passes", `{"title":"Ten classes {n}","totalUses":10,"validityCount":3,"validityUnit":"month","price":99}`).making("pass"),
		read("/passes"),
		read("/passes/{pass}"),
		put("/passes/{pass}", `{"title":"Classes {n}"}`),
		patch("/passes/{pass}", `{"title":"Ten {n}"}`),
		post("/customer-passes", `{"customerId":"{customer}","passId":"{pass}","startDate":"{today}","payment":{"method":"CASH"}}`).making("customerPass"),
		read("/customer-passes"),
		read("/customer-passes/{customerPass}"),
		put("/customer-passes/{customerPass}", `{"remainingUses":{uses},"reason":"A voucher was lost."}`),
		patch("/customer-passes/{customerPass}", `{"remainingUses":{uses},"reason":"A voucher was found."}`),
		read("/customer-passes/{customerPass}/ledger"),
		// Discount codes.
		post("/discount-codes", `{"code":"CODE-{n}","percent":12.5}`).making("code"),
		read("/discount-codes"),
		read("/discount-codes/{code}"),
		put("/discount-codes/{code}", `{"maxUses":{n}}`),
		patch("/discount-codes/{code}", `{"maxUses":{n}}`),
		// Reports.
		read("/reports/takings"),
		read("/reports/attendance"),
		read("/reports/credits"),
		read("/reports/customers"),
		read("/reports/expiring-passes"),
		// Webhooks.
		post("/webhook-endpoints", `{"url":"{url}","events":["hold.expired"],"description":"CRM"}`).making("endpoint").atMost(endpoints),
		read("/webhook-endpoints"),
		read("/webhook-endpoints/{endpoint}"),
		put("/webhook-endpoints/{endpoint}", `{"description":"CRM {n}"}`),
		patch("/webhook-endpoints/{endpoint}", `{"description":"ERP {n}"}`),
		read("/webhook-endpoints/{endpoint}/secret"),
		post("/webhook-endpoints/{endpoint}/rotate-secret", `{"force":true}`),
		post("/webhook-endpoints/{endpoint}/test", `{"event":"registration.cancelled"}`).making("delivery"),
		read("/webhook-deliveries"),
		read("/webhook-deliveries/{delivery}"),
		post("/webhook-deliveries/{delivery!}/replay", ""),
		post("/webhook-deliveries/replay", `{"endpointId":"{endpoint}","status":"failed","since":"{now}"}`),
		read("/webhook-messages"),
		// The request log.
		read("/requests"),
		read("/requests/{request}"),
		del("/webhook-endpoints/{endpoint!}").atMost(endpoints),
		// The test mode. The clock moves forward only, so its moves take turns.
		read("/test-clock").inTestMode(),
		post("/test-clock/advance", `{"to":"{start}"}`).inTestMode().atMost(1),
		post("/test-data/reset", "").inTestMode().atMost(12),
	}
}

func tableOfA() []route {
	read := func(path string) route { return route{gateway: gatewayA, method: http.MethodGet, path: path} }
	const note = `{"body":"Prefers row {n}.","kind":"preference","author":"Ann"}`
	return []route{
		{gateway: gatewayA, method: http.MethodPost, path: "/token", body: `{"client_id":"{clientId}","client_secret":"{clientSecret}"}`, most: 48},
		read("/customers?page=0&pageSize=25"),
		read("/customer/{customer}/profile"),
		{gateway: gatewayA, method: http.MethodPut, path: "/customer/{customer}/profile", body: `{"firstname":"Zoë","lastname":"Núñez {n}","email":"zoe@example.com"}`},
		read("/customer/{reader}/bookings?startDate=2025-01-01&pageSize=25"),
		read("/customer/{reader}/booking/{readerTransaction}"),
		read("/customer/{reader}/passes?pageSize=25"),
		read("/customer/{reader}/pass/{readerPass}"),
		read("/customer/{reader}/subscriptions?pageSize=25"),
		read("/customer/{reader}/subscription/{readerSubscription}"),
		read("/customer/{reader}/media?pageSize=25"),
		read("/customer/{reader}/media/{film}"),
		read("/customer/{reader}/appointments?pageSize=25"),
		read("/customer/{reader}/appointment/{readerAppointment}"),
		{gateway: gatewayA, method: http.MethodPost, path: "/customer/{reader}/notes", body: note, makes: "note"},
		read("/customer/{reader}/notes?pageSize=25"),
		read("/customer/{reader}/note/{note}"),
		{gateway: gatewayA, method: http.MethodPut, path: "/customer/{reader}/note/{note}", body: note},
		{gateway: gatewayA, method: http.MethodDelete, path: "/customer/{reader}/note/{note!}"},
	}
}

// TestRouteTable checks that BenchmarkRoutes measures every operation of the descriptions.
func TestRouteTable(t *testing.T) {
	t.Parallel()
	for gateway, folder := range map[string]string{gatewayA: "gateway-a", gatewayB: "gateway-b"} {
		text, err := os.ReadFile(filepath.Join("../..", folder, "openapi/openapi.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Paths map[string]map[string]yaml.Node
		}
		if err := yaml.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		var want, got []string
		for path, item := range doc.Paths {
			delete(item, "parameters")
			for method := range item {
				want = append(want, route{gateway: gateway, method: strings.ToUpper(method), path: path}.String())
			}
		}
		for _, r := range routeTable() {
			if r.gateway == gateway {
				got = append(got, r.String())
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("the table has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}
