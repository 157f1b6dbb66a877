package admin

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

// parsed returns the source files of a service, without its tests.
func parsed(t *testing.T, dir string) []*ast.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no source in %s: %v", dir, err)
	}
	var all []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, file)
	}
	return all
}

// inspect calls visit for every node of the files.
func inspect(files []*ast.File, visit func(ast.Node)) {
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool { visit(n); return true })
	}
}

// literals returns the strings within a node.
func literals(n ast.Node) []string {
	var all []string
	ast.Inspect(n, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			all = append(all, unquoted(l))
		}
		return true
	})
	return all
}

// calledName returns the name of the function or method that a call calls.
func calledName(call *ast.CallExpr) string {
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		return fun.Name
	case *ast.SelectorExpr:
		return fun.Sel.Name
	}
	return ""
}

// choices returns what a handler compares its path's action with: the words of its cases
// and comparisons, and the keys of passStates.
func choices(files []*ast.File, handler string) []string {
	var all []string
	inspect(files, func(n ast.Node) {
		f, ok := n.(*ast.FuncDecl)
		if !ok || f.Name.Name != handler {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CaseClause:
				for _, value := range n.List {
					all = append(all, literals(value)...)
				}
			case *ast.BinaryExpr:
				if n.Op == token.EQL || n.Op == token.NEQ {
					all = append(all, literals(n.Y)...)
				}
			case *ast.Ident:
				if n.Name == "passStates" {
					for key := range passStates {
						all = append(all, key)
					}
				}
			}
			return true
		})
	})
	return all
}

// renamed are the actions of a path that are recorded under another name, see request.action.
var renamed = []string{"booking.waive", "webhook_endpoint.rotate"}

// dashboardActions returns the actions that the dashboard records.
func dashboardActions(t *testing.T, files []*ast.File) []string {
	t.Helper()
	var all []string
	for _, r := range routes() {
		thing, variable := strings.CutSuffix(r.audited.action, "{action}")
		switch {
		case r.audited.action == "":
		case !variable:
			all = append(all, r.audited.action)
		default:
			name := runtime.FuncForPC(reflect.ValueOf(r.serve).Pointer()).Name()
			actions := choices(files, name[strings.LastIndex(name, ".")+1:])
			if len(actions) == 0 {
				t.Errorf("%s: no actions found in %s", r.pattern, name)
			}
			for _, action := range actions {
				if !slices.Contains(renamed, thing+action) {
					all = append(all, thing+action)
				}
			}
		}
	}
	inspect(files, func(n ast.Node) {
		if call, ok := n.(*ast.CallExpr); ok && calledName(call) == "action" {
			all = append(all, literals(call)...)
		}
	})
	return all
}

// authAction matches an action that the auth service writes.
var authAction = regexp.MustCompile(`^(company|credential|signing_key|administrator|session|invitation|service_credential|test_clock|test_data)\.[a-z_]+$`)

// authActions returns the actions that the auth service records.
func authActions(files []*ast.File) []string {
	var all, verbs []string
	inspect(files, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.BasicLit:
			if authAction.MatchString(unquoted(n)) {
				all = append(all, unquoted(n))
			}
		case *ast.BinaryExpr: // k.thing + ".create"
			if thing, ok := n.X.(*ast.SelectorExpr); ok && thing.Sel.Name == "thing" {
				for _, verb := range literals(n.Y) {
					if verb != "." {
						verbs = append(verbs, strings.TrimPrefix(verb, "."))
					}
				}
			}
			if thing, ok := n.X.(*ast.Ident); ok && thing.Name == "publishableThing" {
				for _, verb := range literals(n.Y) {
					if verb != "." {
						all = append(all, "publishable_key"+verb)
					}
				}
			}
		case *ast.CallExpr:
			name := calledName(n)
			for _, arg := range n.Args {
				l, ok := arg.(*ast.BasicLit)
				switch {
				case !ok:
				case name == "changeCredential" || name == "changeInTx":
					verbs = append(verbs, unquoted(l))
				case name == "changePublishableKey":
					all = append(all, "publishable_key."+unquoted(l))
				}
			}
		}
	})
	for _, thing := range []string{"api_client", "api_key", "service_credential"} {
		for _, verb := range verbs {
			// Only the credential of the platform is bootstrapped.
			if verb != "bootstrap" || thing == "service_credential" {
				all = append(all, thing+"."+verb)
			}
		}
	}
	return all
}

// changeActions returns the actions of changes by credentials, which the auth service records.
func changeActions(auth []*ast.File) []string {
	all := []string{"staff.time_off_add", "staff.time_off_delete", "room.time_off_add", "room.time_off_delete",
		"media.access_add", "media.access_remove", "collection.access_add", "collection.access_remove"} // {kind}.…
	inspect(auth, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.ValueSpec:
			if n.Names[0].Name == "changeActions" {
				all = append(all, literals(n)...)
			}
		case *ast.FuncDecl:
			if n.Name.Name == "eventActions" || n.Name.Name == "customerChange" {
				all = append(all, literals(n)...)
			}
		}
	})
	return slices.DeleteFunc(all, func(action string) bool { return strings.Contains(action, "{") })
}

// auditedFields returns the fields of the details that the dashboard and auth record.
func auditedFields(dashboard, auth []*ast.File) []string {
	all := []string{"scopes", "permissions", "imported"} // kindOf(c.Kind).scopesField, and the facts of imports
	inspect(dashboard, func(n ast.Node) {
		if call, ok := n.(*ast.CallExpr); ok && calledName(call) == "detail" && len(call.Args) == 3 {
			all = append(all, literals(call.Args[0])...)
		}
	})
	inspect(auth, func(n ast.Node) {
		detail, ok := n.(*ast.CompositeLit)
		if !ok {
			return
		}
		var field []string
		for _, e := range detail.Elts {
			pair, ok := e.(*ast.KeyValueExpr)
			if !ok || !slices.Contains([]string{"Field", "Before", "After"}, fmt.Sprint(pair.Key)) {
				return // not a Detail
			}
			if fmt.Sprint(pair.Key) == "Field" {
				field = slices.DeleteFunc(literals(pair.Value), func(name string) bool { return name[0] == '.' })
			}
		}
		all = append(all, field...)
	})
	return all
}

func TestEveryAuditedActionHasASentence(t *testing.T) {
	t.Parallel()
	english := messageFiles(t, files)["en"]
	dashboard, auth := parsed(t, "."), parsed(t, filepath.Join("..", "auth"))
	actions := slices.Concat(dashboardActions(t, dashboard), authActions(auth), changeActions(auth))
	for _, want := range []string{
		"event.cancel", "customer_pass.pause", "discount.enable", "pass_type.restore", "webhook_endpoint.rotate_secret",
		"api_key.delete", "publishable_key.create", "publishable_key.update", "service_credential.bootstrap", "administrator.use_reset_link", "session.refuse", "credential.revoke_again",
		"test_clock.advance", "test_data.reset", "customer.import", "room.time_off_add", "subscription.payment",
	} {
		if !slices.Contains(actions, want) {
			t.Errorf("the test does not find the action %s", want)
		}
	}
	for _, action := range actions {
		if english["audit.action."+action] == nil {
			t.Errorf("the audit log has no sentence for %s", action)
		}
	}
	// A sentence is for an action or for a variant of one.
	for id := range english {
		action, ok := strings.CutPrefix(id, "audit.action.")
		if ok && action != "unknown" && !slices.ContainsFunc(actions, func(a string) bool { return strings.HasPrefix(action, a) }) {
			t.Errorf("no code records the action %s", action)
		}
	}
}

func TestEveryAuditedFieldHasAWord(t *testing.T) {
	t.Parallel()
	english := messageFiles(t, files)["en"]
	fields := auditedFields(parsed(t, "."), parsed(t, filepath.Join("..", "auth")))
	if len(fields) < 50 {
		t.Errorf("the test finds only %d fields", len(fields))
	}
	for _, field := range fields {
		if english["audit.field."+field] == nil {
			t.Errorf("the audit log has no word for the field %s", field)
		}
	}
	for id := range english {
		if field, ok := strings.CutPrefix(id, "audit.field."); ok && !slices.Contains(fields, field) {
			t.Errorf("no code records the field %s", field)
		}
	}
}

// entry returns an entry of Ada's: field, before, after, field, before, after, …
func entry(action, target string, details ...string) *authv1.AuditEntry {
	e := &authv1.AuditEntry{At: timestamppb.Now(), Actor: "admin_1", ActorName: "Ada", Action: action, Target: target}
	for i := 0; i+2 < len(details); i += 3 {
		e.Details = append(e.Details, &authv1.AuditDetail{Field: details[i], Before: details[i+1], After: details[i+2]})
	}
	return e
}

// withAuditLog answers with the entries, and knows one thing of each kind.
func withAuditLog(w *world, entries ...*authv1.AuditEntry) {
	on(w.backend, "ListAuditEntries", func(*authv1.ListAuditEntriesRequest) (*authv1.ListAuditEntriesResponse, error) {
		return &authv1.ListAuditEntriesResponse{Entries: entries}, nil
	})
	on(w.backend, "ListAdministrators", func(*authv1.ListAdministratorsRequest) (*authv1.ListAdministratorsResponse, error) {
		return &authv1.ListAdministratorsResponse{Administrators: []*authv1.Administrator{{Id: "admin_1", Name: "Ada"}, {Id: "admin_2", Name: "Ben"}}}, nil
	})
	on(w.backend, "ListApiClients", func(*authv1.ListApiClientsRequest) (*authv1.ListApiClientsResponse, error) {
		return &authv1.ListApiClientsResponse{ApiClients: []*authv1.ApiClient{{Id: "m2m_1", Name: "Website sync"}}}, nil
	})
	on(w.backend, "ListApiKeys", func(*authv1.ListApiKeysRequest) (*authv1.ListApiKeysResponse, error) {
		return &authv1.ListApiKeysResponse{ApiKeys: []*authv1.ApiKey{{Id: "key_1", Name: "App"}}}, nil
	})
	on(w.backend, "ListEndpoints", func(*webhookv1.ListEndpointsRequest) (*webhookv1.ListEndpointsResponse, error) {
		return &webhookv1.ListEndpointsResponse{Endpoints: []*webhookv1.Endpoint{{Id: "whe_1", Url: "https://new.example/hook"}}}, nil
	})
	on(w.backend, "ListDiscountCodes", func(*bookingv1.ListDiscountCodesRequest) (*bookingv1.ListDiscountCodesResponse, error) {
		return &bookingv1.ListDiscountCodesResponse{DiscountCodes: []*bookingv1.DiscountCode{{Id: "disc_1", Code: "SPRING"}}}, nil
	})
	withEvent(w, "Yoga", "Zoë")
	on(w.backend, "ListPassTypes", func(*passv1.ListPassTypesRequest) (*passv1.ListPassTypesResponse, error) {
		return &passv1.ListPassTypesResponse{PassTypes: []*passv1.PassType{{Id: "pass_1", Title: "Ten classes"}}}, nil
	})
	on(w.backend, "ListCustomerPasses", func(*passv1.ListCustomerPassesRequest) (*passv1.ListCustomerPassesResponse, error) {
		return &passv1.ListCustomerPassesResponse{CustomerPasses: []*passv1.CustomerPass{{Id: "cp_1", CustomerId: "cust_1"}}}, nil
	})
	on(w.backend, "BatchGetCustomers", func(*customerv1.BatchGetCustomersRequest) (*customerv1.BatchGetCustomersResponse, error) {
		return &customerv1.BatchGetCustomersResponse{Customers: []*customerv1.Customer{
			{Id: "cust_1", FirstName: "Zoë", LastName: "O'Brien"}, {Id: "cust_gone", FirstName: "Old", LastName: "Friend", DeletedAt: timestamppb.Now()},
		}}, nil
	})
}

// byKey is entry for the API key App.
func byKey(action, target string, details ...string) *authv1.AuditEntry {
	e := entry(action, target, details...)
	e.Actor, e.ActorName = "key_1", "App"
	return e
}

func TestAuditSentences(t *testing.T) {
	t.Parallel()
	stranger := entry("administrator.create", "admin_2", "name", "", "Ben", "email", "", "ben@example.com", "role", "", "staff")
	stranger.Actor, stranger.ActorName = "svc_9", ""
	restore := entry("credential.revoke_again", "m2m_1", "generation", "", "7")
	restore.Actor, restore.ActorName = "restore", ""
	own := entry("administrator.disable_totp", "admin_1")
	old := entry("webhook_delivery.replay", "whd_1")
	old.At = timestamppb.New(time.Now().AddDate(0, 0, -40))
	for _, c := range []struct {
		name  string
		entry *authv1.AuditEntry
		want  string   // of the sentence and the details, as a person reads them
		parts []string // of the page's markup
	}{
		{"names and links a target that exists", entry("api_client.create", "m2m_1", "name", "", "Website sync", "scopes", "", "customers:read bookings:read"),
			"Ada created the API client Website sync Scopes: List customers, Read bookings",
			[]string{`<a href="/settings/administrators/admin_1" dir="auto">Ada</a>`, `<a href="/settings/api-clients/m2m_1" dir="auto">Website sync</a>`}},
		{"names a deleted target without a link", entry("api_client.delete", "m2m_gone", "name", "", "CRM"),
			"Ada deleted the API client CRM", []string{`<bdi>CRM</bdi>`}},
		{"shows the name that a target had", entry("api_client.create", "m2m_1", "name", "", "Sync"),
			"Ada created the API client Website sync Name: Sync", nil},
		{"says from what to what a field was changed", entry("webhook_endpoint.update", "whe_1", "url", "https://old.example/hook", "https://new.example/hook", "events", "pass.purchased", "pass.purchased"),
			"Ada changed the webhook endpoint https://new.example/hook URL: from https://old.example/hook to https://new.example/hook", nil},
		{"says that a value was removed", entry("api_key.update", "key_1", "rate_limit", "50", "", "expires_at", "", "2027-01-02T09:00:00Z"),
			"Ada changed the API key App Rate limit: removed (was 50 requests in 60 seconds) Expires: Sat 2 Jan 2027, 09:00", nil},
		{"names the customer of a booking", entry("booking.create", "booking_1", "customer", "", "cust_1", "event", "", "Yoga", "paid", "", "£12.50"),
			"Ada created a booking of Yoga for Zoë O'Brien Paid: £12.50", []string{`<a href="/bookings/booking_1"`}},
		{"links the identifier of a booking whose customer is not known", entry("booking.cancel", "booking_9", "outcome", "", "The booking is cancelled."),
			"Ada cancelled the booking booking_9 Outcome: The booking is cancelled.", []string{`<a href="/bookings/booking_9"`}},
		{"says what was recorded at the door", entry("booking.attendance", "booking_1", "attendance", "", "no-show"),
			"Ada recorded a no-show on the booking booking_1", nil},
		{"says that a check-in was recorded", entry("booking.attendance", "booking_1", "attendance", "", "checked-in"), "Ada recorded a check-in on the booking booking_1", nil},
		{"says that a check-in was undone", entry("booking.attendance", "booking_1", "attendance", "", "unknown"), "Ada undid the check-in or no-show on the booking booking_1", nil},
		{"says from when to when a booking was moved", entry("booking.move", "booking_1", "customer", "", "cust_1", "event", "Yoga", "Yoga", "starts_at", "2026-11-02T09:00:00Z", "2026-11-03T09:00:00Z"),
			"Ada moved a booking of Yoga for Zoë O'Brien from Mon 2 Nov 2026, 09:00 to Tue 3 Nov 2026, 09:00", nil},
		{"names the API key that made a change, and links it", byKey("booking.cancel", "booking_1", "customer", "", "cust_1"),
			"API key App cancelled a booking for Zoë O'Brien", []string{`<a href="/settings/api-keys/key_1" dir="auto">API key App</a>`}},
		{"says how many customers an API key imported", byKey("customer.import", "comp_1", "imported", "", "1500"), "API key App imported 1,500 customers", nil},
		{"says how a move was paid", entry("booking.move", "booking_1", "customer", "", "cust_1", "policy_waived", "", "true", "price_kept", "", "", "amount", "", "£2.50", "method", "", "bank_transfer"),
			"Cancellation policy waived: yes Amount: £2.50 Payment method: by bank transfer", nil},
		{"names the earlier customer of a transfer", entry("booking.transfer", "booking_1", "customer", "", "cust_1", "earlier_customer", "", "cust_gone", "buyer_keeps_control", "", "true"),
			"Earlier customer: Old Friend The buyer keeps control: yes", nil},
		{"says that an invited person became an administrator", entry("administrator.create", "admin_1", "name", "", "Ada", "role", "", "owner"), "Ada became an administrator Role: Owner", nil},
		{"says that a person changed their own name", entry("administrator.update", "admin_1", "name", "Adah", "Ada"), "Ada changed their own account Name: from Adah to Ada", nil},
		{"names the customer of a waitlist entry", entry("waitlist.join", "wait_1", "customer", "", "cust_1"), "Ada added Zoë O'Brien to a waitlist", []string{`<a href="/customers/cust_1"`}},
		{"names a waitlist entry whose customer is not known", entry("waitlist.leave", "wait_9"), "Ada removed the customer of the waitlist entry wait_9 from a waitlist", nil},
		{"names the customer of a pass", entry("customer_pass.adjust", "cp_1", "customer", "", "cust_1", "credits", "1000", "1200", "reason", "", "Goodwill"),
			"Ada adjusted the credits of a pass of Zoë O'Brien Credits: from 1,000 to 1,200 Reason: Goodwill", []string{`<a href="/passes/cp_1"`}},
		{"writes days as people do", entry("customer_pass.expiry", "cp_1", "expiry_date", "2026-03-29", "2026-04-29"),
			"Ada changed the last day of a pass of Zoë O'Brien Last day: from 29 Mar 2026 to 29 Apr 2026", nil},
		{"names an event date by its event and its time", entry("event_date.cancel", "date_1", "reason", "", "Snow"), "Ada cancelled the event date Yoga, ", []string{`<a href="/events/evt_1/dates/date_1"`}},
		{"shows the identifier of an event date that is not found", entry("event_date.cancel", "date_9"), "Ada cancelled the event date date_9", nil},
		{"tells a new price from a changed one", entry("event.price", "evt_1", "name", "", "Child", "price", "0.00", "1250.00"),
			"Ada added a price to the event Yoga Name: Child Price: £1,250.00", nil},
		{"writes prices in the company's currency", entry("event.price", "evt_1", "name", "Adult", "Adult", "price", "12.50", "14.00"),
			"Ada changed a price of the event Yoga Price: from £12.50 to £14.00", nil},
		{"names a deleted customer without a link", entry("customer.delete", "cust_gone"), "Ada deleted the customer Old Friend", []string{`<bdi>Old Friend</bdi>`}},
		{"shows the identifier of an erased customer", entry("customer.erase", "cust_erased"), "Ada erased the personal data of the customer cust_erased", []string{`<bdi>cust_erased</bdi>`}},
		{"says yes and no", entry("company.update", "comp_1", "unique_customer_emails", "false", "true", "optional_customer_emails", "true", "false", "timezone", "Europe/London", "America/New_York", "currency", "GBP", "EUR"),
			"Ada changed the company settings Unique e-mail addresses: from no to yes Customers without an e-mail address: from yes to no Time zone: from Europe/London to America/New York Currency: from pound sterling to euro", nil},
		{"names a credential of the platform", stranger, "The service credential svc_9 created the administrator Ben E-mail address: ben@example.com Role: Staff", nil},
		{"names the platform", restore, "The platform revoked the access tokens of Website sync again after a restore from backup Token generation: 7", nil},
		{"tells the own account from another's", own, "Ada turned off their own two-step sign-in", nil},
		{"names another's account", entry("administrator.disable_totp", "admin_2", "name", "", "Ben"), "Ada turned off two-step sign-in for Ben", nil},
		{"says how a person signed in", entry("session.create", "sess_1", "by", "", "password and code", "address", "", "192.0.2.7", "user_agent", "", "Firefox"),
			"Ada signed in Signed in with: a password and a two-step code IP address: 192.0.2.7 Browser: Firefox", nil},
		{"says that a session of another ended", entry("session.end", "sess_1", "administrator", "", "Ben"), "Ada ended a session of Ben", nil},
		{"says that an own session ended", entry("session.end", "sess_1", "administrator", "", "Ada"), "Ada signed out or ended another of their own sessions", nil},
		{"does not name who failed the second step", entry("session.refuse", "admin_1", "reason", "", "wrong code", "address", "", "192.0.2.7"),
			"A sign-in as Ada stopped after the correct password Reason: the two-step code was wrong IP address: 192.0.2.7", nil},
		{"names the invited address", entry("invitation.create", "inv_1", "email", "", "cy@example.com", "role", "", "owner"),
			"Ada invited cy@example.com to become an administrator Role: Owner", nil},
		{"says what a replay's filters were", entry("webhook_delivery.replay_filtered", "filter", "filter", "", "endpoint: whe_1, event: pass.purchased, state: failed, since: 2026-03-01", "count", "", "1234"),
			"Ada replayed the deliveries that matched a filter Filters: endpoint: https://new.example/hook , event: Pass purchased , state: Failed, from 1 Mar 2026 Deliveries: 1,234", nil},
		{"says that a replay had no filters", entry("webhook_delivery.replay_filtered", "filter", "filter", "", "All deliveries of the last 30 days", "count", "", "2"),
			"Filters: All deliveries of the last 30 days Deliveries: 2", nil},
		{"says that a replay was of all endpoints", entry("webhook_delivery.replay_failed", "all endpoints", "since", "", "2026-03-29T12:00:00Z", "count", "", "3"),
			"Ada replayed the failed deliveries of all endpoints Failed since: Sun 29 Mar 2026, 13:00 Deliveries: 3", nil},
		{"links a delivery while it is kept", entry("webhook_delivery.replay", "whd_1"), "Ada replayed the webhook delivery whd_1", []string{`<a href="/settings/webhooks/deliveries/whd_1"`}},
		{"does not link a delivery that is no longer kept", old, "Ada replayed the webhook delivery whd_1", []string{`<bdi>whd_1</bdi>`}},
		{"names the event of a test", entry("webhook_endpoint.test", "whe_1", "event", "", "pass.purchased"), "Ada sent a test to the webhook endpoint https://new.example/hook Event: Pass purchased", nil},
		{"shows an action and a field of a later version", entry("robot.dance", "robot_1", "dance_style", "", "tango"),
			"Ada made the change “robot.dance” to robot_1 Dance style: tango", nil},
		{"escapes what people typed", entry("api_client.delete", "m2m_gone", "name", "", `<script>alert("x")</script>`),
			"Ada deleted the API client &lt;script&gt;alert(&#34;x&#34;)&lt;/script&gt;", nil},
		{"leaves out an empty reason", entry("event.cancel", "evt_1", "reason", "", ""), "Ada cancelled the event Yoga", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.signIn()
			withAuditLog(w, c.entry)
			a := w.get("/settings/audit")
			if a.StatusCode != http.StatusOK {
				t.Fatal(describe(a))
			}
			got := strings.ReplaceAll(text(a.body), "&#39;", "'")
			// The details are folded below the sentence.
			if got = strings.ReplaceAll(got, " Details ", " "); !strings.Contains(got, c.want) {
				t.Errorf("the page lacks %q:\n%s", c.want, got)
			}
			a.must(t, c.parts...)
		})
	}
}

// TestAuditNames checks that names cost one call for each kind of thing, and are not needed.
func TestAuditNames(t *testing.T) {
	t.Parallel()
	entries := []*authv1.AuditEntry{
		entry("customer.update", "cust_1"), entry("customer.update", "cust_2"), entry("customer_pass.pause", "cp_1"), entry("customer_pass.pause", "cp_2"),
		entry("event.update", "evt_1"), entry("event_date.update", "date_1"), entry("booking.create", "booking_1", "customer", "", "cust_1"),
	}
	t.Run("makes one call for each kind", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.signIn()
		withAuditLog(w, slices.Concat(entries, entries, entries)...)
		w.page("/settings/audit")
		// Authenticate, entries, administrators; API keys, API clients and service credentials for the filter;
		// customers, passes, events, event dates.
		if n := w.backend.count(); n != 10 {
			t.Errorf("%d calls", n)
		}
	})
	t.Run("shows identifiers while the other services do not answer", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.signIn()
		withAuditLog(w, entries...)
		for _, method := range []string{"BatchGetCustomers", "ListCustomerPasses", "ListEvents", "ListEventDates"} {
			w.backend.methods[method] = nil
		}
		on(w.backend, "BatchGetCustomers", func(*customerv1.BatchGetCustomersRequest) (*customerv1.BatchGetCustomersResponse, error) {
			return nil, fault.New(fault.Unavailable, "UNAVAILABLE", "down")
		})
		w.get("/settings/audit").must(t, `<a href="/customers/cust_2" dir="auto">cust_2</a>`, "the customer pass cp_1", `<a href="/events/evt_1" dir="auto">evt_1</a>`, "the booking booking_1")
	})
}

func TestEmptyAuditLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withAuditLog(w)
	w.get("/settings/audit?actor=admin_2&action=api_key.").must(t, "No changes match", `<option value="admin_2" selected>Ben</option>`, `<option value="api_key." selected>API keys</option>`)
}

// TestAuditFilters checks what the page asks the auth service for.
func TestAuditFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withAuditLog(w)
	var asked *authv1.ListAuditEntriesRequest
	on(w.backend, "ListAuditEntries", func(req *authv1.ListAuditEntriesRequest) (*authv1.ListAuditEntriesResponse, error) {
		asked = req
		return &authv1.ListAuditEntriesResponse{}, nil
	})
	for query, want := range map[string]struct {
		actor  string
		by     *bool
		marked string
	}{
		"":                   {marked: `<option value="" selected>Everyone</option>`},
		"?actor=key_1":       {actor: "key_1", marked: `<option value="key_1" selected>App</option>`},
		"?actor=people":      {by: new(false), marked: `<option value="people" selected>People</option>`},
		"?actor=credentials": {by: new(true), marked: `<option value="credentials" selected>`},
		"?actor=key_gone":    {actor: "key_gone", marked: `<option value="key_gone" selected>key_gone</option>`},
	} {
		w.get("/settings/audit"+query).must(t, want.marked, `<optgroup label="API clients">`)
		if asked.GetActor() != want.actor || (asked.ByCredential == nil) != (want.by == nil) || want.by != nil && *want.by != asked.GetByCredential() {
			t.Errorf("%s: asked for %v", query, asked)
		}
	}
}

func TestAuditDays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	late, early := entry("session.create", "sess_1"), entry("session.create", "sess_2")
	late.At = timestamppb.New(time.Date(2026, 6, 2, 23, 30, 0, 0, time.UTC)) // the next day in London
	early.At = timestamppb.New(time.Date(2026, 6, 2, 22, 30, 0, 0, time.UTC))
	withAuditLog(w, late, early)
	a := w.get("/settings/audit")
	a.must(t, `<h2 id="day-1" class="log-day">Wed 3 Jun 2026</h2>`, `<h2 id="day-2" class="log-day">Tue 2 Jun 2026</h2>`,
		`<time datetime="2026-06-02T23:30:00Z">00:30</time>`, "Time: 3 Jun 2026, 00:30:00", "ID: sess_1")
}
