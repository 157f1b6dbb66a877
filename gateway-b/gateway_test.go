package gatewayb

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/token"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// pathOf returns the path of a resource for a route.
func pathOf(template string) string {
	prefixes := map[string]string{
		"customers": "cust_", "events": "evt_", "event-dates": "date_", "registrations": "reg_", "transactions": "txn_", "holds": "hold_",
		"waitlist-entries": "wait_", "passes": "pass_", "customer-passes": "cp_",
		"plans": "plan_", "subscriptions": "sub_", "media": "media_", "media-collections": "col_", "media-entitlements": "ent_", "calendars": "cal_",
		"staff": "staff_", "time-off": "off_", "holidays": "hol_", "rooms": "room_", "appointment-types": "apt_", "appointments": "appt_",
		"discount-codes": "disc_", "webhook-endpoints": "whe_", "webhook-deliveries": "whd_",
	}
	collection, _, _ := strings.Cut(strings.TrimPrefix(template, base+"/"), "/")
	return strings.NewReplacer(base, "", "{id}", prefixes[collection]+idOf, "{registration_id}", "reg_"+idOf, "{upload_id}", "upl_"+idOf, "{media_id}", "media_"+idOf).Replace(template)
}

// collectionOf returns the path of the collection to which a POST adds a resource.
func collectionOf(path string) string {
	switch {
	case strings.HasSuffix(path, "/dates"):
		return "/event-dates"
	case strings.HasSuffix(path, "/waitlist"):
		return "/waitlist-entries"
	case path == "/appointment-holds":
		return "/holds"
	}
	return path
}

func TestAccess(t *testing.T) { // invariant 1
	t.Parallel()
	g := newGateway(t, unlimited{})
	for _, r := range routes() {
		if r.Scope == "" {
			continue
		}
		req := request{Method: r.Method, Path: pathOf(r.Path)}
		name := r.Method + " " + r.Path
		t.Run(name+" requires the token of an API key", func(t *testing.T) {
			tokens := map[string]string{
				"": fault.ReasonUnauthorized, "nonsense": fault.ReasonUnauthorized, g.issuer.Client(g.company, r.Scope): fault.ReasonUnauthorized,
				g.issuer.Sign(token.Claims{Kind: token.KindKey, Company: g.company, Scopes: []string{r.Scope}, IssuedAt: time.Now().Add(-2 * time.Hour)}): fault.ReasonTokenExpired,
			}
			for raw, code := range tokens {
				req.Token = raw
				a := g.do(req)
				if a.Code != http.StatusUnauthorized || !strings.Contains(a.Body, `"code":"`+code+`"`) || !strings.HasPrefix(a.Header.Get("WWW-Authenticate"), "Bearer") {
					t.Errorf("%.20q: got %d %s", raw, a.Code, a.Body)
				}
			}
		})
		t.Run(name+" names the missing permission", func(t *testing.T) {
			others := slices.DeleteFunc(scopes.InterfaceB(), func(p string) bool { return p == r.Scope })
			req.Token = g.issuer.Key(g.company, others...)
			a := g.do(req)
			if a.Code != http.StatusForbidden || !strings.Contains(a.Body, `"code":"FORBIDDEN"`) || !strings.Contains(a.Body, r.Scope) {
				t.Errorf("got %d %s", a.Code, a.Body)
			}
		})
		t.Run(name+" returns 404 for a resource that does not exist", func(t *testing.T) {
			if !strings.Contains(r.Path, "{") {
				t.Skip("the path names no resource")
			}
			g.services.prepare(nil)
			req.Token, req.Body = g.token(), map[bool]string{true: `{"customerId":"cust_x"}`}[r.Method != http.MethodGet && r.Method != http.MethodDelete]
			if a := g.do(req); a.Code != http.StatusNotFound {
				t.Errorf("got %d %s", a.Code, a.Body)
			}
			req.Path = strings.ReplaceAll(req.Path, idOf, strings.Repeat("x", 10_000))
			if a := g.do(req); a.Code != http.StatusNotFound {
				t.Errorf("10 kB: got %d %s", a.Code, a.Body)
			}
		})
	}
}

// operation is a request, and what the gateway makes of it.
type operation struct {
	method, path, body string
	code               int
	want               []string // parts of the response
	call               string   // the request to the service, as text
}

// check sends the request of an operation to a gateway whose services have the given responses.
func (g *gateway) check(t *testing.T, tt operation, answers []proto.Message) {
	t.Helper()
	g.services.prepare(nil, answers...)
	a := g.do(request{Method: tt.method, Path: tt.path, Body: tt.body, Token: g.token()})
	if a.Code != tt.code || a.Header.Get("RateLimit-Remaining") != "99" {
		t.Fatalf("got %d %s", a.Code, a.Body)
	}
	for _, want := range tt.want {
		if !strings.Contains(a.Body, want) {
			t.Errorf("%s is missing in %s", want, a.Body)
		}
	}
	g.services.mu.Lock()
	defer g.services.mu.Unlock()
	call := strings.ReplaceAll(fmt.Sprint(g.services.requests[len(g.services.requests)-1]), "  ", " ")
	if call != tt.call {
		t.Errorf("called with %s\nwant        %s", call, tt.call)
	}
	wantLocation := ""
	if tt.code == http.StatusCreated {
		wantLocation = base + collectionOf(tt.path) + "/"
	}
	if strings.HasSuffix(tt.path, "/playback-links") {
		wantLocation = "https://media.test/p"
	}
	if tag := a.Header.Get("ETag"); (tag != "") != isTagged(tt) {
		t.Errorf("ETag %q", tag)
	}
	if location := a.Header.Get("Location"); (location != "") != (tt.code == 201) || !strings.HasPrefix(location, wantLocation) {
		t.Errorf("Location %q", location)
	}
	for name := range g.services.metadata {
		if strings.HasPrefix(name, "grpcgateway") {
			t.Errorf("a header became metadata: %s", name)
		}
	}
}

// isTagged reports whether the response to an operation has an ETag: it is a resource with a version,
// or a list, and not only a secret.
func isTagged(tt operation) bool {
	untagged := regexp.MustCompile(`^(DELETE .*|POST .*/(rotate-secret|test|replay|advance|reset|uploads|complete|playback-links|media-entitlements|calendars|time-off|holidays)|PUT .*/progress|GET .*/secret|GET .*/uploads/.*)$`)
	return !untagged.MatchString(tt.method + " " + tt.path)
}

// TestOperations sends one request of each kind, and checks the request to the service and the
// response. The client checks each response against openapi.yaml as well.
func TestOperations(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	twelve := int32(12)
	event := anEvent(aDate("2026-03-30T08:30:00Z", &twelve, 3))
	cancelled := aRegistration()
	cancelled.Booking.IsCancelled, cancelled.Booking.CancelledAt = true, at("2026-03-02T10:00:00Z")
	cancelled.Booking.Payment = &bookingv1.Booking_Pass{Pass: &bookingv1.PassPayment{CreditsUsed: 2, CustomerPassId: "cp_" + idOf}}
	answers := []proto.Message{
		&customerv1.ListCustomersResponse{Customers: []*customerv1.Customer{aCustomer()}, Total: 41, NextPageToken: "next"},
		&customerv1.GetCustomerResponse{Customer: aCustomer()}, &customerv1.CreateCustomerResponse{Customer: aCustomer()},
		&customerv1.UpdateCustomerResponse{Customer: aCustomer()}, &customerv1.DeleteCustomerResponse{},
		&bookingv1.ListEventsResponse{Events: []*bookingv1.Event{event}, Total: 1}, &bookingv1.GetEventResponse{Event: event},
		&bookingv1.CreateEventResponse{Event: event}, &bookingv1.UpdateEventResponse{Event: event}, &bookingv1.DeleteEventResponse{},
		&bookingv1.ListRegistrationsResponse{Registrations: []*bookingv1.Registration{aRegistration(), cancelled}, Total: 2},
		&bookingv1.GetRegistrationResponse{Registration: aRegistration()},
		&bookingv1.CreateTransactionResponse{Transaction: &bookingv1.Transaction{
			Id: "txn_" + idOf, Purchaser: aRegistration().GetPurchaser(), PurchasedAt: at("2026-03-01T10:00:00Z"), Bookings: []*bookingv1.Booking{aRegistration().GetBooking()},
		}},
		&bookingv1.CancelBookingResponse{Changed: true, Outcome: &bookingv1.CancellationOutcome{Late: true, RefundDue: 1250}},
		&passv1.ListPassTypesResponse{PassTypes: []*passv1.PassType{aPassType()}, Total: 1}, &passv1.GetPassTypeResponse{PassType: aPassType()},
		&passv1.CreatePassTypeResponse{PassType: aPassType()}, &passv1.UpdatePassTypeResponse{PassType: aPassType()},
		&passv1.ListCustomerPassesResponse{CustomerPasses: []*passv1.CustomerPass{aCustomerPass()}, Total: 1},
		&passv1.GetCustomerPassResponse{CustomerPass: aCustomerPass()}, &passv1.AssignCustomerPassResponse{CustomerPass: aCustomerPass()},
		&passv1.UpdateCustomerPassResponse{CustomerPass: aCustomerPass()},
	}
	const eventPath, registrations = "/events/evt_" + idOf, "/events/evt_" + idOf + "/registrations"
	tests := []operation{
		{"GET", "/customers?page=2&perPage=500&sort=-updatedAt&archived=false&email=Z%40x&updatedSince=2026-03-01T00:00:00%2B01:00", "", 200,
			[]string{`"customers":[{"id":"cust_`, `"total":41,"page":2,"perPage":100,"nextCursor":"next"`, `"createdAt":"2026-03-01T10:00:00Z"`},
			`page_size:100 offset:100 updated_since:{seconds:1772319600} order:CUSTOMER_ORDER_UPDATED_DESC archived:false email:"Z@x"`},
		{"GET", "/customers?archived=True", "", 200, nil, `page_size:25 order:CUSTOMER_ORDER_CREATED archived:true`},
		{"GET", "/customers?archived=FALSE", "", 200, nil, `page_size:25 order:CUSTOMER_ORDER_CREATED archived:false`},
		{"GET", "/customers?cursor=abc", "", 200, nil, `page_size:25 page_token:"abc" order:CUSTOMER_ORDER_CREATED`},
		{"POST", "/customers", `{"firstName":"Zoë","lastName":"O'Brien","email":"zoe@example.com"}`, 201, []string{`"firstName":"Zoë"`}, `first_name:"Zoë" last_name:"O'Brien" email:"zoe@example.com"`},
		{"PUT", "/customers/cust_" + idOf, `{"email":"a@b.c","archived":true,"mobile":null}`, 200, nil, `id:"cust_` + idOf + `" email:"a@b.c" archived:true`},
		{"PATCH", "/customers/cust_" + idOf, `{"mobile":""}`, 200, nil, `id:"cust_` + idOf + `" mobile:""`},
		{"DELETE", "/customers/cust_" + idOf, "", 200, []string{`{"id":"cust_` + idOf + `","deleted":true}`}, `id:"cust_` + idOf + `"`},
		{"GET", "/events?type=workshop&status=published&startsFrom=2026-03-01T00:00:00Z", "", 200,
			[]string{`"startsAt":"2026-03-30T08:30:00Z","endsAt":"2026-03-30T09:30:00Z","duration":60,"capacity":12,"spotsTaken":3,"spotsAvailable":9`, `"price":12.5`, `"taxRate":17.5`, `"credits":null`},
			`page_size:25 order:EVENT_ORDER_CREATED with_dates:true max_dates:3 type:EVENT_TYPE_WORKSHOP status:EVENT_STATUS_PUBLISHED starts_from:{seconds:1772323200}`},
		{"POST", "/events", `{"title":"A","startsAt":"2026-03-30T09:30:00","timezone":"Europe/London","duration":60,"capacity":0,"pricingOptions":[{"name":"B","price":12.5,"taxRate":20,"credits":1}]}`, 201, nil,
			`title:"A" timezone:"Europe/London" dates:{duration_minutes:60 capacity:0 local_start:"2026-03-30T09:30:00"} pricing_options:{name:"B" price:1250 credits:1 tax_rate_basis_points:2000}`},
		{"POST", "/events", `{"title":"A","startsAt":"2026-03-30T08:30:00Z","endsAt":"2026-03-30T10:00:00Z","capacity":null}`, 201, nil, `title:"A" dates:{starts_at:{seconds:1774859400} ends_at:{seconds:1774864800}}`},
		{"POST", "/events", `{"title":"A","startsAt":"2027-10-30T22:00","endsAt":"2027-10-31T06:00","duration":540}`, 201, nil, `title:"A" dates:{duration_minutes:540 local_start:"2027-10-30T22:00:00" local_end:"2027-10-31T06:00:00"}`},
		{"POST", "/events", `{"title":"A","endsAt":"2027-10-31T06:00","duration":45,"dates":[{"startsAt":"2027-10-30T22:00","endsAt":"2027-10-31T06:00"},{"startsAt":"2027-11-01T22:00"}]}`, 201, nil,
			`title:"A" dates:{local_start:"2027-10-30T22:00:00" local_end:"2027-10-31T06:00:00"} dates:{duration_minutes:45 local_start:"2027-11-01T22:00:00"}`},
		{"PATCH", eventPath, `{"endsAt":"2027-10-31T06:00","recurrence":{"rule":"FREQ=DAILY;COUNT=2"},"dates":[{"id":"date_x","endsAt":"2027-10-31T06:00:00Z"}]}`, 200, nil,
			`id:"evt_` + idOf + `" dates:{id:"date_x" ends_at:{seconds:1824962400}} only_date:{local_end:"2027-10-31T06:00:00"} recurrence:{rule:"FREQ=DAILY;COUNT=2"}`},
		{"POST", "/events", `{"title":"A","startsAt":"2026-03-30T09:30","duration":45,"recurrence":{"rule":"FREQ=DAILY;COUNT=3","exceptions":["2026-03-31"]}}`, 201, nil,
			`title:"A" dates:{duration_minutes:45 local_start:"2026-03-30T09:30:00"} recurrence:{rule:"FREQ=DAILY;COUNT=3" local_start:"2026-03-30T09:30:00" exceptions:"2026-03-31"}`},
		{"POST", "/events", `{"title":"A","type":"event","duration":30,"capacity":5,"dates":[{"startsAt":"2026-03-30T09:30:00"},{"startsAt":"2026-04-01T09:30:00","duration":60,"capacity":null}]}`, 201, nil,
			`title:"A" type:EVENT_TYPE_EVENT dates:{duration_minutes:30 capacity:5 local_start:"2026-03-30T09:30:00"} dates:{duration_minutes:60 local_start:"2026-04-01T09:30:00"}`},
		{"PUT", eventPath, `{"capacity":null,"status":"cancelled","freeCancellationMinutes":null,"pricingOptions":[{"id":"po-x","credits":null,"price":0}],"dates":[{"id":"date_x","capacity":3}]}`, 200, nil,
			`id:"evt_` + idOf + `" status:EVENT_STATUS_CANCELLED free_cancellation_minutes:-1 dates:{id:"date_x" capacity:3} pricing_options:{id:"po-x" price:0 no_credits:true} only_date:{unlimited:true}`},
		{"DELETE", eventPath, "", 200, []string{`"deleted":true`}, `id:"evt_` + idOf + `"`},
		{"GET", registrations + "?status=cancelled&sort=-createdAt&eventDateId=date_x&customerId=cust_x", "", 200,
			[]string{`"id":"reg_` + idOf + `"`, `"totalPaid":25,"currency":"GBP","paymentMethod":"CARD","passUsed":null`, `"discountCode":"SPRING"`, `"cancelledAt":null`,
				`"status":"cancelled","totalPaid":0,"currency":"GBP","paymentMethod":"PASS","passUsed":"cp_` + idOf + `"`, `"cancelledAt":"2026-03-02T10:00:00Z"`, `"customerName":"Zoë O'Brien"`},
			`event_id:"evt_` + idOf + `" page_size:25 order:REGISTRATION_ORDER_CREATED_DESC event_date_id:"date_x" cancelled:true customer_id:"cust_x"`},
		{"POST", registrations, `{"customerId":"cust_x","spots":2,"payment":{"method":"PASS","customerPassId":"cp_x"}}`, 201, []string{`"spots":2`},
			`purchaser_id:"cust_x" lines:{spaces:2 event_id:"evt_` + idOf + `"} payment_method:PAYMENT_METHOD_PASS customer_pass_id:"cp_x"`},
		{"POST", registrations, `{"customerId":"cust_x","purchasedById":"cust_y","discountCode":"SPRING","payment":{"method":"CARD","reference":"pi_1"}}`, 201, nil,
			`purchaser_id:"cust_y" lines:{spaces:1 bought_for_id:"cust_x" event_id:"evt_` + idOf + `"} payment_reference:"pi_1" payment_method:PAYMENT_METHOD_CARD discount_code:"SPRING"`},
		{"GET", registrations + "/reg_" + idOf, "", 200, []string{`"id":"reg_` + idOf + `","eventId":"evt_` + idOf + `"`, `"status":"confirmed"`}, `booking_id:"booking_` + idOf + `"`},
		{"DELETE", registrations + "/reg_" + idOf, "", 200, []string{`"deleted":true,"status":"cancelled","late":true,"creditsReturned":0,"refundDue":12.5`},
			`booking_id:"booking_` + idOf + `" event_id:"evt_` + idOf + `"`},
		{"GET", "/passes?status=archived", "", 200, []string{`"price":110,`, `"validityUnit":"month"`}, `page_size:25 order:PASS_ORDER_CREATED status:PASS_TYPE_STATUS_ARCHIVED`},
		{"POST", "/passes", `{"title":"T","totalUses":10,"validityCount":3,"validityUnit":"month","price":99.9,"eligibleEventTypes":["class"]}`, 201, nil,
			`title:"T" total_uses:10 validity_count:3 validity_unit:VALIDITY_UNIT_MONTH price:9990 eligible_event_types:"class"`},
		{"PUT", "/passes/pass_" + idOf, `{"eligibleEventTypes":[],"status":"archived"}`, 200, nil, `id:"pass_` + idOf + `" eligible_event_types:{} status:PASS_TYPE_STATUS_ARCHIVED`},
		{"GET", "/customer-passes?customerId=cust_x&passId=pass_x&status=expired", "", 200, []string{`"expiryDate":"2026-06-01","status":"active"`},
			`customer_id:"cust_x" page_size:25 order:PASS_ORDER_CREATED pass_type_id:"pass_x" status:CUSTOMER_PASS_STATUS_EXPIRED`},
		{"POST", "/customer-passes", `{"customerId":"cust_x","passId":"pass_x","startDate":"2026-03-01","payment":{"amount":100.01}}`, 201, nil,
			`customer_id:"cust_x" pass_type_id:"pass_x" start_date:"2026-03-01" purchase:{gross:10001}`},
		{"PUT", "/customer-passes/cp_" + idOf, `{"status":"paused","remainingUses":0,"reason":"x"}`, 200, nil, `id:"cp_` + idOf + `" remaining_uses:0 status:CUSTOMER_PASS_STATUS_PAUSED reason:"x"`},
	}
	for _, tt := range tests {
		t.Run(tt.method+" "+tt.path+" "+tt.body, func(t *testing.T) { g.check(t, tt, answers) })
	}
}

func TestErrors(t *testing.T) { // invariant 4
	t.Parallel()
	g := newGateway(t, unlimited{})
	const customers, events, registrations = "/customers", "/events", "/events/evt_" + idOf + "/registrations"
	tests := map[string]struct {
		request
		err    error
		code   int
		reason string
		fields string
	}{
		"an unknown path":             {request{Path: "/nothing"}, nil, 404, fault.ReasonNotFound, ""},
		"a wrong method":              {request{Method: "DELETE", Path: "/customers"}, nil, 405, fault.ReasonMethodNotAllowed, ""},
		"a page of 0":                 {request{Path: customers + "?page=0"}, nil, 400, fault.ReasonInvalidParameter, "page:min"},
		"a page that is not a number": {request{Path: customers + "?page=one"}, nil, 400, fault.ReasonInvalidParameter, "page:type"},
		"an empty page":               {request{Path: customers + "?page="}, nil, 400, fault.ReasonInvalidParameter, "page:type"},
		"a perPage of 0":              {request{Path: customers + "?perPage=0"}, nil, 400, fault.ReasonInvalidParameter, "perPage:min"},
		"a perPage of -5":             {request{Path: customers + "?perPage=-5"}, nil, 400, fault.ReasonInvalidParameter, "perPage:min"},
		"an unknown sort":             {request{Path: customers + "?sort=name"}, nil, 400, fault.ReasonInvalidParameter, "sort:enum"},
		"page together with cursor":   {request{Path: customers + "?page=2&cursor=x"}, nil, 400, fault.ReasonInvalidParameter, "page:exclusive"},
		"a wrong updatedSince":        {request{Path: customers + "?updatedSince=today"}, nil, 400, fault.ReasonInvalidParameter, "updatedSince:format"},
		"a wrong archived":            {request{Path: customers + "?archived=yes"}, nil, 400, fault.ReasonInvalidParameter, "archived:type"},
		"an unknown type":             {request{Path: events + "?type=party"}, nil, 400, fault.ReasonInvalidParameter, "type:enum"},
		"a search for too many words": {request{Path: customers + "?q=x"}, fault.InvalidParameter("query", "max_items", "has too many"), 400, fault.ReasonInvalidParameter, "q:max_items"},
		"a cursor of another list":    {request{Path: customers + "?cursor=x"}, fault.InvalidParameter("page_token", "format", "is not one"), 400, fault.ReasonInvalidParameter, "cursor:format"},
		"malformed JSON":              {request{Method: "POST", Path: customers, Body: `{"firstName":`}, nil, 400, fault.ReasonInvalidJSON, ""},
		"a wrong media type":          {request{Method: "POST", Path: customers, Body: `{}`, Media: "text/plain"}, nil, 415, fault.ReasonUnsupportedMediaType, ""},
		"a body over 1 MiB":           {request{Method: "POST", Path: customers, Body: `{"firstName":"` + strings.Repeat("a", 1<<20) + `"}`}, nil, 413, fault.ReasonPayloadTooLarge, ""},
		"wrong types":                 {request{Method: "POST", Path: customers, Body: `{"firstName":1,"archived":"x"}`}, nil, 400, fault.ReasonValidation, "firstName:type archived:type"},
		"failed checks of the customer service": {request{Method: "POST", Path: customers, Body: `{}`},
			fault.InvalidFields(fault.Field{Field: "first_name", Rule: "required", Message: "is required"}, fault.Field{Field: "email", Rule: "required", Message: "is required"}), 400, fault.ReasonValidation, "firstName:required email:required"},
		"an event without members":   {request{Method: "POST", Path: events, Body: `{}`}, nil, 400, fault.ReasonValidation, "title:required startsAt:required duration:required"},
		"an event with wrong values": {request{Method: "POST", Path: events, Body: `{"title":"A","type":"party","startsAt":"tomorrow","duration":60,"pricingOptions":[{"name":"x"}]}`}, nil, 400, fault.ReasonValidation, "type:enum startsAt:format pricingOptions[0].price:required"},
		"an end before the start": {request{Method: "POST", Path: events, Body: `{"title":"A","startsAt":"2026-03-30T09:30:00Z","endsAt":"2026-03-30T09:00:00Z"}`},
			fault.InvalidFields(fault.Field{Field: "dates[0].ends_at", Rule: "min", Message: "must be after the start"}), 400, fault.ReasonValidation, "endsAt:min"},
		"a duration that contradicts the end": {request{Method: "POST", Path: events, Body: `{"title":"A","startsAt":"2026-03-30T09:30","endsAt":"2026-03-30T10:00","duration":45}`},
			fault.InvalidFields(fault.Field{Field: "dates[0].duration_minutes", Rule: "mismatch", Message: "must be 30"}), 400, fault.ReasonValidation, "duration:mismatch"},
		"a duration of 0 with an end":    {request{Method: "POST", Path: events, Body: `{"title":"A","startsAt":"2026-03-30T09:30","endsAt":"2026-03-30T10:00","duration":0}`}, nil, 400, fault.ReasonValidation, "duration:min"},
		"an empty timezone":              {request{Method: "POST", Path: events, Body: `{"title":"A","startsAt":"2026-03-30T09:30","duration":60,"timezone":""}`}, nil, 400, fault.ReasonValidation, "timezone:required"},
		"an empty timezone in an update": {request{Method: "PUT", Path: events + "/evt_" + idOf, Body: `{"timezone":""}`}, nil, 400, fault.ReasonValidation, "timezone:required"},
		"an empty currency": {request{Method: "POST", Path: events, Body: `{"title":"A","startsAt":"2026-03-30T09:30","duration":60,"pricingOptions":[{"name":"x","price":1,"currency":""}]}`}, nil, 400, fault.ReasonValidation,
			"pricingOptions[0].currency:required"},
		"an empty currency in an update": {request{Method: "PATCH", Path: events + "/evt_" + idOf, Body: `{"pricingOptions":[{"id":"po-x","currency":""}]}`}, nil, 400, fault.ReasonValidation, "pricingOptions[0].currency:required"},
		"a failed check of the only date by the booking service": {request{Method: "POST", Path: events, Body: `{"title":"A","startsAt":"2026-03-30T09:30:00Z","duration":0}`},
			fault.InvalidFields(fault.Field{Field: "dates[0].duration_minutes", Rule: "range", Message: "must be 1 to 525600"}), 400, fault.ReasonValidation, "duration:range"},
		"a failed check of one of several dates by the booking service": {request{Method: "POST", Path: events, Body: `{"title":"A","dates":[{"startsAt":"2026-03-30T09:30:00Z","duration":0}]}`},
			fault.InvalidFields(fault.Field{Field: "dates[0].duration_minutes", Rule: "range", Message: "must be 1 to 525600"}, fault.Field{Field: "pricing_options[3].tax_rate_basis_points", Rule: "range", Message: "x"}), 400, fault.ReasonValidation, "dates[0].duration:range pricingOptions[3].taxRate:range"},
		"a price with three decimals": {request{Method: "POST", Path: "/passes", Body: `{"price":1.001}`}, nil, 400, fault.ReasonValidation, "price:decimals"},
		"an unknown validity unit":    {request{Method: "POST", Path: "/passes", Body: `{"validityUnit":"decade"}`}, nil, 400, fault.ReasonValidation, "validityUnit:enum"},
		"a customer pass with an unknown payment method": {request{Method: "POST", Path: "/customer-passes",
			Body: `{"customerId":"cust_x","passId":"pass_x","startDate":"2026-03-01","payment":{"method":"Bitcoin"}}`}, nil, 400, fault.ReasonValidation, "payment.method:enum"},
		"a customer pass with an empty payment method": {request{Method: "POST", Path: "/customer-passes",
			Body: `{"customerId":"cust_x","passId":"pass_x","startDate":"2026-03-01","payment":{"method":""}}`}, nil, 400, fault.ReasonValidation, "payment.method:enum"},
		"a customer pass without members":                 {request{Method: "POST", Path: "/customer-passes", Body: `{}`}, nil, 400, fault.ReasonValidation, "customerId:required passId:required startDate:required"},
		"a full event":                                    {request{Method: "POST", Path: registrations, Body: `{"customerId":"cust_x"}`}, fault.Refuse("EVENT_FULL", "full"), 400, "EVENT_FULL", ""},
		"a pricing option that must be chosen":            {request{Method: "POST", Path: registrations, Body: `{"customerId":"cust_x"}`}, fault.InvalidFields(fault.Field{Field: "lines[0].pricing_option_id", Rule: "required", Message: "is required"}), 400, fault.ReasonValidation, "pricingOptionId:required"},
		"a stale If-Match":                                {request{Method: "PUT", Path: customers + "/cust_" + idOf, Body: `{}`}, fault.New(fault.VersionMismatch, fault.ReasonVersionMismatch, "x"), 412, fault.ReasonVersionMismatch, ""},
		"a used Idempotency-Key":                          {request{Method: "POST", Path: customers, Body: `{}`}, fault.New(fault.Conflict, fault.ReasonIdempotencyKeyReused, "x"), 409, fault.ReasonIdempotencyKeyReused, ""},
		"an empty Idempotency-Key":                        {request{Method: "POST", Path: customers, Body: `{}`, Header: http.Header{"Idempotency-Key": {""}}}, nil, 400, fault.ReasonInvalidParameter, "Idempotency-Key:format"},
		"an empty Idempotency-Key in an update":           {request{Method: "PATCH", Path: events + "/evt_" + idOf, Body: `{}`, Header: http.Header{"Idempotency-Key": {""}}}, nil, 400, fault.ReasonInvalidParameter, "Idempotency-Key:format"},
		"an empty Idempotency-Key of a DELETE":            {request{Method: "DELETE", Path: customers + "/cust_" + idOf, Header: http.Header{"Idempotency-Key": {""}}}, nil, 400, fault.ReasonInvalidParameter, "Idempotency-Key:format"},
		"an Idempotency-Key of a DELETE that is too long": {request{Method: "DELETE", Path: registrations + "/reg_" + idOf, Header: http.Header{"Idempotency-Key": {strings.Repeat("k", 256)}}}, nil, 400, fault.ReasonInvalidParameter, "Idempotency-Key:format"},
		"an unavailable service":                          {request{Path: customers}, fault.Away(errBroken), 503, fault.ReasonServiceUnavailable, ""},
		"a failing service":                               {request{Path: customers}, errBroken, 500, fault.ReasonInternal, ""},
	}
	for name, tt := range tests {
		t.Run("responds to "+name, func(t *testing.T) {
			g.services.prepare(tt.err)
			if tt.Method == "" {
				tt.Method = http.MethodGet
			}
			tt.Token = g.token()
			if tt.err == nil && strings.HasPrefix(tt.Path, "/events/") {
				g.services.prepare(nil, &bookingv1.GetEventResponse{Event: anEvent()})
			}
			a := g.do(tt.request)
			var body struct {
				Error struct {
					Code, Message string
					Details       struct {
						Field, Rule string
						Errors      []struct{ Field, Rule string }
					}
				}
			}
			if err := json.Unmarshal([]byte(a.Body), &body); err != nil {
				t.Fatalf("%v: %s", err, a.Body)
			}
			var fields []string
			for _, f := range body.Error.Details.Errors {
				fields = append(fields, f.Field+":"+f.Rule)
			}
			if a.Code != tt.code || body.Error.Code != tt.reason || body.Error.Message == "" || strings.Join(fields, " ") != tt.fields {
				t.Errorf("got %d %s", a.Code, a.Body)
			}
			if len(fields) > 0 && body.Error.Details.Field+":"+body.Error.Details.Rule != fields[0] {
				t.Errorf("details do not name the first failure: %s", a.Body)
			}
			if strings.Contains(a.Body, "hunter2") || strings.Contains(a.Body, "10.0.0.7") {
				t.Errorf("the response contains the cause: %s", a.Body)
			}
		})
	}
}

func TestCancellation(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	const path = "/registrations/reg_" + idOf
	t.Run("sends the event, so that the service checks the registration's event", func(t *testing.T) {
		g.services.prepare(nil, &bookingv1.CancelBookingResponse{Changed: true})
		a := g.do(request{Method: "DELETE", Path: "/events/evt_" + strings.Repeat("0", 26) + path, Token: g.token()})
		if req := last[*bookingv1.CancelBookingRequest](g.services); a.Code != 200 || req.GetEventId() != "evt_"+strings.Repeat("0", 26) {
			t.Errorf("got %d %s of %v", a.Code, a.Body, req)
		}
	})
	t.Run("a registration that does not exist is called a registration", func(t *testing.T) {
		g.services.prepare(fault.Missing("booking"))
		a := g.do(request{Method: "DELETE", Path: "/events/evt_" + idOf + path, Token: g.token()})
		if a.Code != 404 || !strings.Contains(a.Body, `"registration not found"`) {
			t.Errorf("got %d %s", a.Code, a.Body)
		}
	})
	t.Run("facts of a refusal have the names of the interface", func(t *testing.T) {
		g.services.prepare(fault.Refuse("EVENT_FULL", "full").With("event_date_id", "date_x"), &bookingv1.GetEventResponse{Event: anEvent()})
		a := g.do(request{Method: "POST", Path: "/events/evt_" + idOf + "/registrations", Body: `{"customerId":"cust_x"}`, Token: g.token()})
		if !strings.Contains(a.Body, `"details":{"eventDateId":"date_x"}`) {
			t.Errorf("got %s", a.Body)
		}
	})
	t.Run("sends the version of If-Match", func(t *testing.T) {
		g.services.prepare(nil, &bookingv1.GetRegistrationResponse{Registration: aRegistration()}, &bookingv1.CancelBookingResponse{Changed: true})
		a := g.do(request{Method: "GET", Path: "/events/evt_" + idOf + path, Token: g.token()})
		a = g.do(request{Method: "DELETE", Path: "/events/evt_" + idOf + path, Token: g.token(), Header: http.Header{"If-Match": {a.Header.Get("ETag")}}})
		if got := last[*bookingv1.CancelBookingRequest](g.services); a.Code != 200 || got.ExpectedVersion == nil || got.GetExpectedVersion() != 5 {
			t.Errorf("got %d %s, requested %v", a.Code, a.Body, got)
		}
	})
	t.Run("a second cancellation is ALREADY_CANCELLED", func(t *testing.T) {
		g.services.prepare(nil, &bookingv1.CancelBookingResponse{})
		a := g.do(request{Method: "DELETE", Path: "/events/evt_" + idOf + path, Token: g.token()})
		if a.Code != 400 || !strings.Contains(a.Body, reasonAlreadyCancelled) {
			t.Errorf("got %d %s", a.Code, a.Body)
		}
	})
}

func TestPages(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	for _, path := range []string{"/openapi.yaml", "/openapi.json", "/docs", base + "/openapi.yaml", base + "/openapi.json", base + "/docs"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.client.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, res.Status)
		}
	}
}
