package e2e

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// documentedPermissions reads the permission of each route of Interface B from the table in its
// documentation.
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
				continue // only the last of several methods has the path
			}
			for _, m := range methods {
				routes[m+" "+path] = row[2]
			}
			methods = nil
		}
	}
	return routes
}

// testPermissions calls every route of Interface B with a key that has only the documented
// permission, and with a key that has all others.
func (b *companies) testPermissions(t *testing.T) {
	company := b.make(t, "Permissions", "Europe/London")
	with := func(permissions ...string) *caller {
		return b.caller(t, company, "--permissions", strings.Join(permissions, ","))
	}
	requests := requestsByRoute(t, with("*"))
	documented := documentedPermissions(t)
	if len(documented) != len(requests) {
		t.Errorf("the page has %d routes, this test %d", len(documented), len(requests))
	}
	all := map[string]bool{}
	for _, permission := range documented {
		all[permission] = true
	}
	only, others := map[string]*caller{}, map[string]*caller{}
	for permission := range all {
		rest := slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(other string) bool { return other == permission })
		only[permission], others[permission] = with(permission), with(rest...)
	}
	for route, permission := range documented {
		t.Run(fmt.Sprintf("%s needs only the permission %s", route, permission), func(t *testing.T) {
			if requests[route] == nil {
				t.Fatal("this test has no request for this route")
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

// routeRequest is a request of a route with the expected status.
type routeRequest struct {
	path string
	body object
	want int
}

// requestsByRoute returns the requests for each route of Interface B, such as "GET /customers".
func requestsByRoute(t *testing.T, owner *caller) map[string]func() []routeRequest {
	// Each call creates new objects, because a request can delete them.
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

	requests := map[string]func() []routeRequest{}
	add := func(routes string, make func() []routeRequest) {
		for route := range strings.SplitSeq(routes, ", ") {
			requests[route] = make
		}
	}
	get := func(path func() string) func() []routeRequest {
		return func() []routeRequest { return []routeRequest{{path(), nil, 200}} }
	}
	list := func(path string) func() []routeRequest { return get(func() string { return path }) }
	change := func(path func() string, body, wrong object) func() []routeRequest {
		return func() []routeRequest { return []routeRequest{{path(), body, 200}, {path(), wrong, 400}} }
	}
	add("GET /customers", list("/customers"))
	add("GET /events", list("/events"))
	add("GET /passes", list("/passes"))
	add("GET /customer-passes", list("/customer-passes"))
	add("GET /customers/{id}, DELETE /customers/{id}", get(customer))
	add("GET /events/{id}, DELETE /events/{id}", get(event))
	add("GET /passes/{id}", get(pass))
	add("GET /customer-passes/{id}", get(customerPass))
	add("GET /events/{id}/registrations", func() []routeRequest {
		path := event() + "/registrations"
		return []routeRequest{{path, nil, 200}, {path + "?status=lost", nil, 400}}
	})
	add("GET /events/{id}/registrations/{registrationId}, DELETE /events/{id}/registrations/{registrationId}", get(registration))
	add("POST /customers", func() []routeRequest {
		return []routeRequest{{"/customers", object{"firstName": "A", "lastName": "B", "email": "a@example.com"}, 201}, {"/customers", object{}, 400}}
	})
	add("POST /events", func() []routeRequest { return []routeRequest{{"/events", eventBody, 201}, {"/events", object{}, 400}} })
	add("POST /passes", func() []routeRequest { return []routeRequest{{"/passes", passBody, 201}, {"/passes", object{}, 400}} })
	add("POST /customer-passes", func() []routeRequest {
		return []routeRequest{{"/customer-passes", passOf(customer()), 201}, {"/customer-passes", object{}, 400}}
	})
	add("POST /events/{id}/registrations", func() []routeRequest {
		path := event() + "/registrations"
		return []routeRequest{{path, byPass(), 201}, {path, object{"customerId": idOf(customer())}, 201}, {path, object{}, 400}}
	})
	add("PUT /customers/{id}, PATCH /customers/{id}", change(customer, object{"firstName": "Eve"}, object{"email": ""}))
	add("PUT /events/{id}, PATCH /events/{id}", change(event, object{"title": "Glaze"}, object{"type": "party"}))
	add("PUT /passes/{id}, PATCH /passes/{id}", change(pass, object{"title": "Six"}, object{"status": "lost"}))
	add("PUT /customer-passes/{id}, PATCH /customer-passes/{id}", change(customerPass, object{"remainingUses": 3}, object{"status": "lost"}))
	return requests
}
