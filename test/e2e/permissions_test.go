package e2e

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"reservation.dev/devkit/testkit/openapitest"
	"reservation.dev/test/harness"
)

// documentedPermissions reads which permission each route of Interface B needs from
// the table of its page.
func documentedPermissions(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/INTERFACE_B.md")
	if err != nil {
		t.Fatal(err)
	}
	routes := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[A-Z]+.*) \\| `([a-z-]+:(?:read|write))` \\|$").FindAllStringSubmatch(string(page), -1) {
		var methods []string
		for _, part := range regexp.MustCompile("`[^`]+`").FindAllString(row[1], -1) {
			method, path, complete := strings.Cut(strings.Trim(part, "`"), " ")
			methods = append(methods, method)
			if !complete {
				continue // of several methods the last one has the path
			}
			for _, m := range methods {
				routes[m+" "+path] = row[2]
			}
			methods = nil
		}
	}
	return routes
}

// TestPermissions calls every route of Interface B with a key that has the
// documented permission and no other, and with a key that has all others.
func TestPermissions(t *testing.T) {
	s := harness.StartStandalone(t, harness.StandaloneOptions{})
	text, err := os.ReadFile("../../gateway-b/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	op := operator{s: s}
	anybody := &caller{base: s.Credentials.InterfaceB.BaseURL, contract: openapitest.Load(t, text, "/api/v1")}
	company := decode[struct {
		ID string `json:"id"`
	}](t, op.ok(t, "company", "create", "--name", "Permissions", "--timezone", "Europe/London", "--currency", "GBP"))
	with := func(permissions ...string) *caller {
		k := decode[apiKey](t, op.ok(t, "key", "create", "--company", company.ID, "--name", "k", "--permissions", strings.Join(permissions, ",")))
		token := anybody.do(t, http.StatusOK, http.MethodPost, "/auth/token", object{"apiKey": k.ID, "apiSecret": k.Secret})["token"]
		return &caller{base: anybody.base, token: token.(string), contract: anybody.contract}
	}
	owner := with("*")

	// What a request needs is made anew for each call: a call may delete it.
	customer := func() string {
		return owner.create(t, "/customers", object{"firstName": "Ada", "lastName": "Byron", "email": "ada@example.com"})
	}
	idOf := func(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
	eventBody := object{"title": "Clay", "startsAt": "2099-03-28T09:30:00", "duration": 60, "pricingOptions": []object{{"name": "Place", "price": 12, "credits": 1}}}
	passBody := object{"title": "Five", "totalUses": 5, "validityCount": 100, "validityUnit": "year"}
	event := func() string { return owner.create(t, "/events", eventBody) }
	pass := func() string { return owner.create(t, "/passes", passBody) }
	passOf := func(customer string) object {
		return object{"customerId": idOf(customer), "passId": idOf(pass()), "startDate": "2026-01-31", "payment": object{"method": "CASH"}}
	}
	customerPass := func() string { return owner.create(t, "/customer-passes", passOf(customer())) }
	byPass := func() object {
		c := customer()
		owner.create(t, "/customer-passes", passOf(c))
		return object{"customerId": idOf(c), "payment": object{"method": "PASS"}}
	}
	registration := func() string { return owner.create(t, event()+"/registrations", byPass()) }

	type request struct {
		path string
		body object
		want int
	}
	requests := map[string]func() []request{}
	add := func(routes string, make func() []request) {
		for route := range strings.SplitSeq(routes, ", ") {
			requests[route] = make
		}
	}
	get := func(path func() string) func() []request {
		return func() []request { return []request{{path(), nil, 200}} }
	}
	list := func(path string) func() []request { return get(func() string { return path }) }
	change := func(path func() string, body, wrong object) func() []request {
		return func() []request { return []request{{path(), body, 200}, {path(), wrong, 400}} }
	}
	add("GET /customers", list("/customers"))
	add("GET /events", list("/events"))
	add("GET /passes", list("/passes"))
	add("GET /customer-passes", list("/customer-passes"))
	add("GET /customers/{id}, DELETE /customers/{id}", get(customer))
	add("GET /events/{id}, DELETE /events/{id}", get(event))
	add("GET /passes/{id}", get(pass))
	add("GET /customer-passes/{id}", get(customerPass))
	add("GET /events/{id}/registrations", func() []request {
		path := event() + "/registrations"
		return []request{{path, nil, 200}, {path + "?status=lost", nil, 400}}
	})
	add("GET /events/{id}/registrations/{registrationId}, DELETE /events/{id}/registrations/{registrationId}", get(registration))
	add("POST /customers", func() []request {
		return []request{{"/customers", object{"firstName": "A", "lastName": "B", "email": "a@example.com"}, 201}, {"/customers", object{}, 400}}
	})
	add("POST /events", func() []request { return []request{{"/events", eventBody, 201}, {"/events", object{}, 400}} })
	add("POST /passes", func() []request { return []request{{"/passes", passBody, 201}, {"/passes", object{}, 400}} })
	add("POST /customer-passes", func() []request {
		return []request{{"/customer-passes", passOf(customer()), 201}, {"/customer-passes", object{}, 400}}
	})
	add("POST /events/{id}/registrations", func() []request {
		path := event() + "/registrations"
		return []request{{path, byPass(), 201}, {path, object{"customerId": idOf(customer())}, 201}, {path, object{}, 400}}
	})
	add("PUT /customers/{id}, PATCH /customers/{id}", change(customer, object{"firstName": "Eve"}, object{"email": ""}))
	add("PUT /events/{id}, PATCH /events/{id}", change(event, object{"title": "Glaze"}, object{"type": "party"}))
	add("PUT /passes/{id}, PATCH /passes/{id}", change(pass, object{"title": "Six"}, object{"status": "lost"}))
	add("PUT /customer-passes/{id}, PATCH /customer-passes/{id}", change(customerPass, object{"remainingUses": 3}, object{"status": "lost"}))

	documented := documentedPermissions(t)
	all := map[string]bool{}
	for _, permission := range documented {
		all[permission] = true
	}
	if len(documented) != len(requests) {
		t.Errorf("the page has %d routes, this test %d", len(documented), len(requests))
	}
	only, others := map[string]*caller{}, map[string]*caller{}
	for permission := range all {
		var rest []string
		for other := range all {
			if other != permission {
				rest = append(rest, other)
			}
		}
		slices.Sort(rest)
		only[permission], others[permission] = with(permission), with(rest...)
	}
	for route, permission := range documented {
		t.Run(fmt.Sprintf("%s needs %s and no other permission", route, permission), func(t *testing.T) {
			if requests[route] == nil {
				t.Fatal("no request of this route is known here")
			}
			method, _, _ := strings.Cut(route, " ")
			for _, r := range requests[route]() {
				refused := others[permission].do(t, 403, method, r.path, r.body)["error"].(object)
				if refused["code"] != "FORBIDDEN" || refused["details"].(object)["scope"] != permission || !strings.Contains(refused["message"].(string), permission) {
					t.Errorf("the refusal names another permission: %v", refused)
				}
				only[permission].do(t, r.want, method, r.path, r.body)
			}
		})
	}
}
