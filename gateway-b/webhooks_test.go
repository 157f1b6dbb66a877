package gatewayb

import (
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
)

const messageBody = `{"id":"msg_` + idOf + `","event":"pass.purchased","timestamp":"2026-03-12T09:30:00Z","data":{"price":1.50,"title":"<A> & B"}}`

// webhookAnswers returns the responses to the operations of discount codes, the ledger and webhooks.
func webhookAnswers() []proto.Message {
	uses := int32(100)
	share := &bookingv1.DiscountCode{
		Id: "disc_" + idOf, Code: "SPRING10", Reduction: &bookingv1.DiscountCode_BasisPoints{BasisPoints: 1250}, ValidFrom: at("2026-03-01T00:00:00Z"),
		MaxUses: &uses, Uses: 12, EventIds: []string{"evt_" + idOf}, CreatedAt: at("2026-02-20T10:00:00Z"), UpdatedAt: at("2026-03-12T09:30:00Z"), Version: 3,
	}
	amount := &bookingv1.DiscountCode{
		Id: "disc_" + idOf, Code: "FIVE", Reduction: &bookingv1.DiscountCode_Amount{Amount: 500}, Currency: "EUR", ValidUntil: at("2026-04-01T00:00:00Z"),
		Disabled: true, CreatedAt: at("2026-02-20T10:00:00Z"), UpdatedAt: at("2026-03-12T09:30:00Z"), Version: 1,
	}
	working := &webhookv1.Endpoint{
		Id: "whe_" + idOf, Url: "https://example.com/webhooks", Description: "CRM", Enabled: true, CreatedAt: at("2026-03-01T10:00:00Z"), UpdatedAt: at("2026-03-01T10:00:00Z"),
		Events: []webhookv1.EventType{webhookv1.EventType_EVENT_TYPE_REGISTRATION_CREATED, webhookv1.EventType_EVENT_TYPE_EVENT_DATE_CANCELLED}, Version: 2,
	}
	gone := &webhookv1.Endpoint{
		Id: "whe_" + idOf, Url: "https://example.com/old", DisabledReason: webhookv1.DisabledReason_DISABLED_REASON_GONE, DisabledAt: at("2026-03-02T10:00:00Z"),
		FailingSince: at("2026-03-02T09:00:00Z"), CreatedAt: at("2026-03-01T10:00:00Z"), UpdatedAt: at("2026-03-02T10:00:00Z"),
	}
	secrets := []*webhookv1.Secret{
		{KeyId: "new", Secret: "whsec_bmV3", CreatedAt: at("2026-03-12T09:30:00Z")},
		{KeyId: "old", Secret: "whsec_b2xk", CreatedAt: at("2026-03-01T10:00:00Z"), ExpiresAt: at("2026-03-13T09:30:00Z")},
	}
	delivered := &webhookv1.Delivery{
		Id: "whd_" + idOf, MessageId: "msg_" + idOf, EndpointId: "whe_" + idOf, Event: webhookv1.EventType_EVENT_TYPE_PASS_PURCHASED,
		State: webhookv1.DeliveryState_DELIVERY_STATE_DELIVERED, Attempts: 2, LastStatus: 200, CreatedAt: at("2026-03-12T09:30:00Z"), FinishedAt: at("2026-03-12T09:30:01Z"),
	}
	pending := &webhookv1.Delivery{
		Id: "whd_" + idOf, MessageId: "msg_" + idOf, EndpointId: "whe_" + idOf, Event: webhookv1.EventType_EVENT_TYPE_PASS_PURCHASED, Test: true,
		State: webhookv1.DeliveryState_DELIVERY_STATE_PENDING, Attempts: 1, LastFailure: webhookv1.Failure_FAILURE_TIMEOUT, CreatedAt: at("2026-03-12T09:30:00Z"), NextAttemptAt: at("2026-03-12T10:00:00Z"),
	}
	attempts := []*webhookv1.Attempt{
		{Number: 1, Url: "https://example.com/webhooks", StartedAt: at("2026-03-12T09:30:00Z"), DurationMicroseconds: 10_000_999, Failure: webhookv1.Failure_FAILURE_TIMEOUT, Message: "no response within 10s"},
		{Number: 2, Url: "https://example.com/webhooks", StartedAt: at("2026-03-12T09:30:01Z"), DurationMicroseconds: 84_100, Status: 200, ResponseBody: []byte("ok\xff\x00"),
			RequestHeaders: []*webhookv1.Header{{Name: "X-Service-Signature", Value: "signature"}}},
	}
	return []proto.Message{
		&passv1.ListLedgerEntriesResponse{Total: 2, NextPageToken: "next", Entries: []*passv1.LedgerEntry{
			{Sequence: 2, Kind: passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_REDEEMED, Credits: -1, Balance: 9, RedemptionId: "txn_" + idOf, ItemId: "booking_" + idOf, Actor: "key_x", CreatedAt: at("2026-03-12T09:30:00Z")},
			{Sequence: 3, Kind: passv1.LedgerEntryKind_LEDGER_ENTRY_KIND_ADJUSTED, Credits: 2, Balance: 11, Reason: "goodwill", CreatedAt: at("2026-03-13T09:30:00Z")},
		}},
		&bookingv1.ListDiscountCodesResponse{DiscountCodes: []*bookingv1.DiscountCode{share, amount}, Total: 41}, &bookingv1.GetDiscountCodeResponse{DiscountCode: share},
		&bookingv1.CreateDiscountCodeResponse{DiscountCode: amount}, &bookingv1.UpdateDiscountCodeResponse{DiscountCode: share},
		&webhookv1.ListEndpointsResponse{Endpoints: []*webhookv1.Endpoint{working, gone}}, &webhookv1.GetEndpointResponse{Endpoint: working},
		&webhookv1.CreateEndpointResponse{Endpoint: working, Secret: "whsec_bmV3"}, &webhookv1.UpdateEndpointResponse{Endpoint: working}, &webhookv1.DeleteEndpointResponse{},
		&webhookv1.GetSecretResponse{Secrets: secrets[:1]}, &webhookv1.RotateSecretResponse{Secrets: secrets},
		&webhookv1.SendTestResponse{DeliveryId: "whd_" + idOf, Body: []byte(messageBody), Attempt: attempts[1]},
		&webhookv1.ListDeliveriesResponse{Deliveries: []*webhookv1.Delivery{delivered, pending}, Total: 100_000, NextPageToken: "next"},
		&webhookv1.GetDeliveryResponse{Delivery: delivered, Body: []byte(messageBody), Attempts: attempts}, &webhookv1.ReplayDeliveryResponse{Delivery: pending},
		&webhookv1.ReplayDeliveriesResponse{Replayed: 12, Skipped: 1},
		&webhookv1.ListMessagesResponse{Messages: []*webhookv1.Message{{Id: "msg_" + idOf, Body: []byte(messageBody)}}, NextPageToken: "last"},
		&customerv1.ListCustomersResponse{Customers: []*customerv1.Customer{aCustomer()}, Total: 10_000},
	}
}

func TestWebhookOperations(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	const code, endpoint, delivery = "/discount-codes/disc_" + idOf, "/webhook-endpoints/whe_" + idOf, "/webhook-deliveries/whd_" + idOf
	const since = "since:{seconds:1772323200}"
	for _, tt := range []operation{
		{"GET", "/customers?q=N%C3%BA%C3%B1ez", "", 200, []string{`"total":10000`}, `page_size:25 order:CUSTOMER_ORDER_CREATED query:"Núñez" total_limit:10000`},
		{"GET", "/customer-passes/cp_" + idOf + "/ledger?sort=-createdAt&page=2&perPage=7", "", 200,
			[]string{`{"ledger":[{"sequence":2,"kind":"redeemed","change":-1,"balance":9,"reason":"","transactionId":"txn_` + idOf + `","at":"2026-03-12T09:30:00Z","period":null},`,
				`"kind":"adjusted","change":2,"balance":11,"reason":"goodwill","transactionId":null`, `"total":2,"page":2,"perPage":7,"nextCursor":"next"}`},
			`customer_pass_id:"cp_` + idOf + `" page_size:7 offset:7 descending:true`},
		{"GET", "/customer-passes/cp_" + idOf + "/ledger?cursor=abc", "", 200, nil, `customer_pass_id:"cp_` + idOf + `" page_size:25 page_token:"abc"`},

		{"GET", "/discount-codes?sort=-updatedAt&updatedSince=2026-03-01T00:00:00Z&page=2", "", 200,
			[]string{`{"discountCodes":[{"id":"disc_` + idOf + `","code":"SPRING10","percent":12.5,"startsAt":"2026-03-01T00:00:00Z","endsAt":null,"maxUses":100,"uses":12,"eventIds":["evt_` + idOf + `"],"status":"active"`,
				`"code":"FIVE","amount":5,"currency":"EUR","startsAt":null,"endsAt":"2026-04-01T00:00:00Z","maxUses":null,"uses":0,"eventIds":[],"status":"disabled"`, `"total":41,"page":2,"perPage":25}`},
			`page_size:25 offset:25 order:DISCOUNT_ORDER_UPDATED_DESC updated_since:{seconds:1772323200}`},
		{"POST", "/discount-codes", `{"code":"SPRING10","percent":12.5,"startsAt":"2026-03-01T00:00:00Z","endsAt":null,"maxUses":100,"eventIds":["evt_x"]}`, 201, nil,
			`code:"SPRING10" basis_points:1250 valid_from:{seconds:1772323200} max_uses:100 event_ids:"evt_x"`},
		{"POST", "/discount-codes", `{"code":"FIVE","amount":5,"currency":"EUR","status":"active"}`, 201, []string{`"amount":5`}, `code:"FIVE" amount:500 currency:"EUR"`},
		{"GET", code, "", 200, nil, `id:"disc_` + idOf + `"`},
		{"PUT", code, `{"startsAt":null,"endsAt":"2026-03-01T00:00:00Z","maxUses":null,"eventIds":[],"status":"disabled"}`, 200, nil,
			`id:"disc_` + idOf + `" valid_until:{seconds:1772323200} max_uses:0 disabled:true no_valid_from:true event_ids:{}`},
		{"PATCH", code, `{"maxUses":5,"status":"active","percent":99,"code":"OTHER"}`, 200, nil, `id:"disc_` + idOf + `" max_uses:5 disabled:false`},
		{"PATCH", code, `{}`, 200, nil, `id:"disc_` + idOf + `"`},

		{"GET", "/webhook-endpoints?page=2&perPage=1", "", 200,
			[]string{`{"webhookEndpoints":[{"id":"whe_` + idOf + `","url":"https://example.com/old","description":"","events":[],"enabled":false,"disabledReason":"gone","disabledAt":"2026-03-02T10:00:00Z","failingSince":"2026-03-02T09:00:00Z"`, `"total":2,"page":2,"perPage":1}`}, ``},
		{"GET", "/webhook-endpoints?page=9", "", 200, []string{`{"webhookEndpoints":[],"total":2,"page":9,"perPage":25}`}, ``},
		{"POST", "/webhook-endpoints", `{"url":"https://example.com/webhooks","events":["registration.created","event_date.cancelled"],"description":"CRM","enabled":false}`, 201,
			[]string{`"events":["registration.created","event_date.cancelled"],"enabled":true,"disabledReason":null`, `"secret":"whsec_bmV3"}`},
			`url:"https://example.com/webhooks" description:"CRM" events:EVENT_TYPE_REGISTRATION_CREATED events:EVENT_TYPE_EVENT_DATE_CANCELLED disabled:true`},
		{"POST", "/webhook-endpoints", `{"url":"https://example.com/webhooks"}`, 201, nil, `url:"https://example.com/webhooks"`},
		{"GET", endpoint, "", 200, []string{`"updatedAt":"2026-03-01T10:00:00Z"}`}, `id:"whe_` + idOf + `"`},
		{"PUT", endpoint, `{"events":[],"enabled":true,"secret":"ignored"}`, 200, []string{`"updatedAt":"2026-03-01T10:00:00Z"}`}, `id:"whe_` + idOf + `" events:{} enabled:true`},
		{"PATCH", endpoint, `{"url":"https://example.com/new","description":""}`, 200, nil, `id:"whe_` + idOf + `" url:"https://example.com/new" description:""`},
		{"DELETE", endpoint, "", 200, []string{`{"id":"whe_` + idOf + `","deleted":true}`}, `id:"whe_` + idOf + `"`},
		{"GET", endpoint + "/secret", "", 200, []string{`{"keyId":"new","secret":"whsec_bmV3","createdAt":"2026-03-12T09:30:00Z","expiresAt":null}`}, `endpoint_id:"whe_` + idOf + `"`},
		{"POST", endpoint + "/rotate-secret", "", 200,
			[]string{`"expiresAt":null,"previous":{"keyId":"old","secret":"whsec_b2xk","createdAt":"2026-03-01T10:00:00Z","expiresAt":"2026-03-13T09:30:00Z"}}`}, `endpoint_id:"whe_` + idOf + `"`},
		{"POST", endpoint + "/test", `{"event":"hold.expired"}`, 200, []string{`{"deliveryId":"whd_` + idOf + `","body":` + messageBody + `,"attempt":{"number":2,`, "\"responseBody\":\"ok\uFFFD\\u0000\"}"},
			`endpoint_id:"whe_` + idOf + `" event:EVENT_TYPE_HOLD_EXPIRED`},
		{"POST", endpoint + "/test", `{}`, 200, nil, `endpoint_id:"whe_` + idOf + `" event:EVENT_TYPE_REGISTRATION_CREATED`},

		{"GET", "/webhook-deliveries?endpointId=whe_x&event=pass.purchased&status=failed&since=2026-03-01T00:00:00Z&until=2026-03-01T00:00:01Z&page=2&perPage=3", "", 200,
			[]string{`{"webhookDeliveries":[{"id":"whd_` + idOf + `","messageId":"msg_` + idOf + `","endpointId":"whe_` + idOf + `","event":"pass.purchased","status":"delivered","test":false,"attemptCount":2,"lastFailure":null,"lastResponseStatus":200,`,
				`"status":"pending","test":true,"attemptCount":1,"lastFailure":"timeout","lastResponseStatus":null,"createdAt":"2026-03-12T09:30:00Z","nextAttemptAt":"2026-03-12T10:00:00Z","finishedAt":null`, `"total":100000,"page":2,"perPage":3,"nextCursor":"next"}`},
			`endpoint_id:"whe_x" event:EVENT_TYPE_PASS_PURCHASED state:DELIVERY_STATE_FAILED ` + since + ` until:{seconds:1772323201} page_size:3 offset:3 with_total:true`},
		{"GET", "/webhook-deliveries?cursor=abc", "", 200, nil, `page_size:25 page_token:"abc" with_total:true`},
		{"GET", delivery, "", 200, []string{`"body":` + messageBody + `,"attempts":[{"number":1,"url":"https://example.com/webhooks","startedAt":"2026-03-12T09:30:00Z","durationMs":10000,"failure":"timeout","message":"no response within 10s","responseStatus":null,"responseBody":""},`},
			`id:"whd_` + idOf + `"`},
		{"POST", delivery + "/replay", "", 200, []string{`"status":"pending"`}, `id:"whd_` + idOf + `"`},
		{"POST", "/webhook-deliveries/replay", `{"ids":["whd_a","whd_b"]}`, 200, []string{`{"replayed":12,"skipped":1}`}, `ids:"whd_a" ids:"whd_b"`},
		{"POST", "/webhook-deliveries/replay", `{"endpointId":"whe_x","event":"pass.purchased","status":"failed","since":"2026-03-01T00:00:00Z"}`, 200, nil,
			`filter:{endpoint_id:"whe_x" event:EVENT_TYPE_PASS_PURCHASED state:DELIVERY_STATE_FAILED ` + since + `}`},
		{"GET", "/webhook-messages?event=pass.purchased&since=2026-03-01T00:00:00Z&perPage=500&cursor=abc", "", 200,
			[]string{`{"webhookMessages":[` + messageBody + `],"perPage":100,"nextCursor":"last","hasMore":false}`}, `page_size:100 page_token:"abc" event:EVENT_TYPE_PASS_PURCHASED ` + since},
	} {
		t.Run(tt.method+" "+tt.path+" "+tt.body, func(t *testing.T) { g.check(t, tt, webhookAnswers()) })
	}
}

func TestInvalidWebhookOperations(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	for name, tt := range map[string]struct{ method, path, body, field, rule string }{
		"a code without a reduction":             {"POST", "/discount-codes", `{"code":"A"}`, "percent", "required"},
		"a code with both reductions":            {"POST", "/discount-codes", `{"code":"A","percent":10,"amount":1}`, "amount", "exclusive"},
		"a code of more than 100 %":              {"POST", "/discount-codes", `{"code":"A","percent":100.01}`, "percent", "range"},
		"a code of 0":                            {"POST", "/discount-codes", `{"code":"A","amount":0}`, "amount", "min"},
		"a code with a local start":              {"POST", "/discount-codes", `{"code":"A","percent":1,"startsAt":"2026-03-01T00:00:00"}`, "startsAt", "format"},
		"a code that starts disabled":            {"POST", "/discount-codes", `{"code":"A","percent":1,"status":"disabled"}`, "status", "enum"},
		"no body":                                {"POST", "/discount-codes", `{}`, "code", "required"},
		"a limit of 0 uses":                      {"PATCH", "/discount-codes/disc_" + idOf, `{"maxUses":0}`, "maxUses", "min"},
		"an unknown status":                      {"PUT", "/discount-codes/disc_" + idOf, `{"status":"off"}`, "status", "enum"},
		"101 events":                             {"PUT", "/discount-codes/disc_" + idOf, `{"eventIds":[` + strings.Repeat(`"e",`, 100) + `"e"]}`, "eventIds", "max_items"},
		"an endpoint without a URL":              {"POST", "/webhook-endpoints", `{}`, "url", "required"},
		"an unknown event":                       {"POST", "/webhook-endpoints", `{"url":"https://x.example","events":["pass.purchased","x"]}`, "events[1]", "enum"},
		"an update with an unknown event":        {"PUT", "/webhook-endpoints/whe_" + idOf, `{"events":["x"]}`, "events[0]", "enum"},
		"a test of an unknown event":             {"POST", "/webhook-endpoints/whe_" + idOf + "/test", `{"event":"x"}`, "event", "enum"},
		"a replay of everything":                 {"POST", "/webhook-deliveries/replay", `{}`, "ids", "required"},
		"a replay of both":                       {"POST", "/webhook-deliveries/replay", `{"ids":["whd_x"],"status":"failed"}`, "ids", "exclusive"},
		"a replay with an invalid filter":        {"POST", "/webhook-deliveries/replay", `{"status":"lost"}`, "status", "enum"},
		"a replay since an invalid time":         {"POST", "/webhook-deliveries/replay", `{"since":"yesterday"}`, "since", "format"},
		"deliveries of an unknown event":         {"GET", "/webhook-deliveries?event=x", "", "event", "enum"},
		"deliveries with an unknown status":      {"GET", "/webhook-deliveries?status=lost", "", "status", "enum"},
		"messages since an invalid time":         {"GET", "/webhook-messages?since=yesterday", "", "since", "format"},
		"a ledger in an unsupported order":       {"GET", "/customer-passes/cp_" + idOf + "/ledger?sort=updatedAt", "", "sort", "enum"},
		"a search of more than 100 characters":   {"GET", "/customers?q=" + strings.Repeat("x", 101), "", "q", "max_length"},
		"a pass type with an empty validityUnit": {"POST", "/passes", `{"title":"A","totalUses":1,"validityCount":1,"validityUnit":""}`, "validityUnit", "enum"},
	} {
		t.Run(name, func(t *testing.T) {
			g.services.prepare(nil, append(webhookAnswers(), &passv1.GetCustomerPassResponse{CustomerPass: aCustomerPass()})...)
			a := g.do(request{Method: tt.method, Path: tt.path, Body: tt.body, Token: g.token()})
			if a.Code != http.StatusBadRequest || !strings.Contains(a.Body, `"field":"`+tt.field+`"`) || !strings.Contains(a.Body, `"rule":"`+tt.rule+`"`) {
				t.Errorf("got %d %s", a.Code, a.Body)
			}
		})
	}
	t.Run("names the events of the same resource first", func(t *testing.T) {
		for _, req := range []request{
			{Method: "POST", Path: "/webhook-endpoints", Body: `{"url":"https://x.example","events":["appointment.created"]}`, Token: g.token()},
			{Method: "GET", Path: "/webhook-deliveries?event=appointment.created", Token: g.token()},
		} {
			g.services.prepare(nil, webhookAnswers()...)
			if a := g.do(req); !strings.Contains(a.Body, "must be appointment.") {
				t.Errorf("%s %s: got %s", req.Method, req.Path, a.Body)
			}
		}
	})
	t.Run("names the service's fields as the interface does", func(t *testing.T) {
		for service, public := range map[string]string{"basis_points": "percent", "valid_until": "endsAt", "max_uses": "maxUses", "event_ids[0]": "eventIds[0]"} {
			g.services.prepare(fault.InvalidFields(fault.Field{Field: service, Rule: "x", Message: "is wrong"}))
			if a := g.do(request{Method: "POST", Path: "/discount-codes", Body: `{"code":"A","percent":1}`, Token: g.token()}); !strings.Contains(a.Body, `"field":"`+public+`"`) {
				t.Errorf("%s: got %s", service, a.Body)
			}
		}
	})
}

func TestPassesWithoutLimits(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	unlimitedType := aPassType()
	unlimitedType.UnlimitedUses, unlimitedType.TotalUses, unlimitedType.NeverExpires = true, 999999, true
	unlimitedType.ValidityCount, unlimitedType.ValidityUnit = 1000, passv1.ValidityUnit_VALIDITY_UNIT_YEAR
	held := aCustomerPass()
	held.UnlimitedUses, held.TotalUses, held.RemainingUses, held.NeverExpires, held.ExpiryDate = true, 999999, 999999, true, "9999-12-31"
	held.Status, held.PausedSince = passv1.CustomerPassStatus_CUSTOMER_PASS_STATUS_PAUSED, at("2026-03-10T08:00:00Z")
	answers := []proto.Message{
		&passv1.CreatePassTypeResponse{PassType: unlimitedType}, &passv1.UpdatePassTypeResponse{PassType: unlimitedType},
		&passv1.GetCustomerPassResponse{CustomerPass: held}, &passv1.UpdateCustomerPassResponse{CustomerPass: held},
	}
	const shown = `"totalUses":999999,"validityCount":1000,"validityUnit":"year","price":110,"currency":"GBP"`
	for _, tt := range []operation{
		{"POST", "/passes", `{"title":"A","unlimitedUses":true,"neverExpires":true,"planId":null}`, 201, []string{shown, `"unlimitedUses":true,"neverExpires":true,"planId":null}`}, `title:"A" unlimited_uses:true never_expires:true`},
		{"PUT", "/passes/pass_" + idOf, `{"totalUses":999999,"validityCount":1000,"validityUnit":"year","unlimitedUses":true,"neverExpires":true,"planId":null}`, 200, []string{shown},
			`id:"pass_` + idOf + `" total_uses:999999 validity_count:1000 validity_unit:VALIDITY_UNIT_YEAR unlimited_uses:true never_expires:true`},
		{"PATCH", "/passes/pass_" + idOf, `{"neverExpires":false,"validityCount":2,"validityUnit":"week"}`, 200, nil,
			`id:"pass_` + idOf + `" validity_count:2 validity_unit:VALIDITY_UNIT_WEEK never_expires:false`},
		{"GET", "/customer-passes/cp_" + idOf, "", 200,
			[]string{`"remainingUses":999999,"startDate":"2026-03-01","expiryDate":"9999-12-31","status":"paused","title":"Ten Classes","totalUses":999999,"unlimitedUses":true,"neverExpires":true,"pausedSince":"2026-03-10T08:00:00Z","createdAt":"2026-03-01T10:00:00Z","updatedAt":"2026-03-12T09:30:00Z","subscriptionId":null}`},
			`id:"cp_` + idOf + `"`},
		{"PUT", "/customer-passes/cp_" + idOf, `{"remainingUses":999999,"expiryDate":"9999-12-31","neverExpires":true,"status":"paused"}`, 200, nil,
			`id:"cp_` + idOf + `" expiry_date:"9999-12-31" remaining_uses:999999 status:CUSTOMER_PASS_STATUS_PAUSED`},
	} {
		t.Run(tt.method+" "+tt.path+" "+tt.body, func(t *testing.T) { g.check(t, tt, answers) })
	}
}

// TestSecretsAreOnlyWhereTheyBelong checks that no other response repeats a secret.
func TestSecretsAreOnlyWhereTheyBelong(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	for _, r := range routes() {
		if r.Method != http.MethodGet || !strings.HasPrefix(r.Path, base+"/webhook-") {
			continue
		}
		g.services.prepare(nil, webhookAnswers()...)
		a := g.do(request{Method: r.Method, Path: pathOf(r.Path), Token: g.token()})
		if strings.Contains(a.Body, "whsec_") != r.Secret || strings.Contains(a.Body, "signature") || a.Code != 200 {
			t.Errorf("%s: got %d %s", r.Path, a.Code, a.Body)
		}
	}
}
