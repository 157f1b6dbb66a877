package gatewayb

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

const otherID = "01kg0000000000000000000001"

// changeAnswers has a response of each call of changes of registrations.
func changeAnswers() []proto.Message {
	changed := aRegistration()
	b := changed.GetBooking()
	b.Price, b.ManagedById, b.RefundDue = 1250, "cust_"+otherID, 1250
	before := &bookingv1.BookingFacts{
		EventDateId: "date_" + idOf, StartsAt: at("2026-03-30T08:30:00Z"), Timezone: "Europe/London", EventId: "evt_" + idOf, EventTitle: "Morning Flow",
		PricingOptionId: "po-" + idOf, Spaces: 2, CustomerId: "cust_" + idOf, ManagedById: "cust_" + idOf, Price: 2500,
		Attendance: bookingv1.Attendance_ATTENDANCE_UNKNOWN,
	}
	after := proto.CloneOf(before)
	after.Price, after.Spaces = 1250, 1
	entry := func(action bookingv1.BookingAction, actor string) *bookingv1.BookingHistoryEntry {
		return &bookingv1.BookingHistoryEntry{Action: action, At: at("2026-03-01T10:00:00Z"), Actor: actor, Before: before, After: after}
	}
	booked := entry(bookingv1.BookingAction_BOOKING_ACTION_BOOKED, "key_"+idOf)
	booked.Before, booked.Amount, booked.PaymentMethod, booked.PaymentReference = nil, 2500, bookingv1.PaymentMethod_PAYMENT_METHOD_CASH, "r"
	moved := entry(bookingv1.BookingAction_BOOKING_ACTION_MOVED, "admin_"+idOf)
	moved.SwappedWith, moved.PolicyWaived, moved.Reason = "booking_"+otherID, true, "came late"
	return []proto.Message{
		&bookingv1.MoveBookingResponse{Registration: changed, Changed: true}, &bookingv1.TransferBookingResponse{Registration: changed, Changed: true},
		&bookingv1.SwapBookingsResponse{Registration: changed, Other: aRegistration(), Changed: true},
		&bookingv1.PreviewMoveResponse{Outcome: &bookingv1.MoveOutcome{
			Late: true, FreeUntil: at("2026-03-29T08:30:00Z"), PriceBefore: 2500, PriceAfter: 3050, Currency: "EUR", AmountDue: 550, RefundDue: 25,
		}},
		&bookingv1.ListBookingHistoryResponse{Entries: []*bookingv1.BookingHistoryEntry{
			booked, moved, entry(bookingv1.BookingAction_BOOKING_ACTION_TRANSFERRED, "m2m_"+idOf), entry(bookingv1.BookingAction_BOOKING_ACTION_REFUNDED, "svc_"+idOf),
			entry(bookingv1.BookingAction_BOOKING_ACTION_CANCELLED, "booking"), entry(bookingv1.BookingAction_BOOKING_ACTION_ATTENDANCE_RECORDED, ""),
		}, NextPageToken: "next", Total: 9},
		&bookingv1.GetRegistrationResponse{Registration: changed}, &bookingv1.CreateTransactionResponse{Transaction: aTransaction()},
	}
}

func TestRegistrationChanges(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	const reg, booking = "/registrations/reg_" + idOf, `booking_id:"booking_` + idOf + `"`
	shown := []string{`{"id":"reg_` + idOf + `"`, `"price":12.5,"managedById":"cust_` + otherID + `"}`}
	for _, tt := range []operation{
		{"POST", reg + "/move", `{"eventDateId":"date_x","pricingOptionId":"po-x","spots":3,"payment":{"method":"CASH","reference":"r"},"expectedAmountDue":12.34}`, 200, shown,
			booking + ` event_date_id:"date_x" pricing_option_id:"po-x" spaces:3 payment_method:PAYMENT_METHOD_CASH payment_reference:"r" expected_amount_due:1234`},
		{"POST", reg + "/move", `{"spots":1,"expectedAmountDue":0,"keepPrice":true,"waivePolicy":true,"afterStartReason":"walk-in"}`, 200, shown,
			booking + ` spaces:1 expected_amount_due:0 keep_price:true waive_policy:true after_start_reason:"walk-in"`},
		{"POST", reg + "/move", `{"eventDateId":""}`, 200, nil, booking + ` event_date_id:"-"`},
		{"GET", reg + "/move-preview?eventDateId=date_x&pricingOptionId=po-x&spots=2&keepPrice=true&waivePolicy=true&afterStart=true", "", 200,
			[]string{`{"late":true,"freeUntil":"2026-03-29T08:30:00Z","priceBefore":25,"priceAfter":30.5,"currency":"EUR","amountDue":5.5,"refundDue":0.25,"creditsBefore":0,"creditsAfter":0,"unchanged":false}`},
			booking + ` event_date_id:"date_x" pricing_option_id:"po-x" spaces:2 keep_price:true waive_policy:true after_start:true`},
		{"GET", reg + "/move-preview?keepPrice=false", "", 200, nil, booking},
		{"POST", reg + "/transfer", `{"customerId":"cust_x"}`, 200, shown, booking + ` customer_id:"cust_x"`},
		{"POST", reg + "/transfer", `{"customerId":"cust_x","buyerKeepsControl":true,"afterStartReason":"ill"}`, 200, shown,
			booking + ` customer_id:"cust_x" buyer_keeps_control:true after_start_reason:"ill"`},
		{"POST", reg + "/swap", `{"registrationId":"reg_` + otherID + `","waivePolicy":true,"afterStartReason":"ill"}`, 200, shown,
			booking + ` other_booking_id:"booking_` + otherID + `" waive_policy:true after_start_reason:"ill"`},
		{"GET", reg + "/history?perPage=6&page=2", "", 200, []string{
			`"history":[{"action":"booked","at":"2026-03-01T10:00:00Z","actor":"key_` + idOf + `","via":"interface_b","after":{"eventDateId":"date_` + idOf + `","eventDate":"2026-03-30T08:30:00Z","timezone":"Europe/London"`,
			`"spots":1,"customerId":"cust_` + idOf + `","managedById":"cust_` + idOf + `","attendance":"unknown","price":12.5,"credits":0},"reason":"","amount":25,"paymentMethod":"CASH","paymentReference":"r","policyWaived":false,"swappedWith":null}`,
			`{"action":"moved","at":"2026-03-01T10:00:00Z","actor":"admin_` + idOf + `","via":"dashboard","before":{`,
			`"reason":"came late","amount":0,"paymentMethod":null,"paymentReference":"","policyWaived":true,"swappedWith":"reg_` + otherID + `"}`,
			`"via":"interface_a"`, `"via":"service"`, `"actor":"booking","via":"platform"`, `"action":"attendance_recorded","at":"2026-03-01T10:00:00Z","actor":null,"via":null`,
			`"total":9,"page":2,"perPage":6,"nextCursor":"next"`,
		}, booking + ` page_size:6 offset:6`},
		{"GET", reg + "/history?cursor=abc", "", 200, nil, booking + ` page_size:25 page_token:"abc"`},
		{"POST", "/transactions", `{"purchasedById":"cust_x","lines":[{"eventDateId":"date_x","payment":{"method":"PASS"}},{"eventDateId":"date_y","payment":{"method":"CASH","reference":"r"}},{"eventDateId":"date_z"}],"payment":{"method":"CARD","customerPassId":"cp_x"},"afterStartReason":"door"}`,
			201, nil, `purchaser_id:"cust_x" lines:{event_date_id:"date_x" spaces:1 payment:{method:PAYMENT_METHOD_PASS}} lines:{event_date_id:"date_y" spaces:1 payment:{method:PAYMENT_METHOD_CASH reference:"r"}}` +
				` lines:{event_date_id:"date_z" spaces:1} payment_method:PAYMENT_METHOD_CARD customer_pass_id:"cp_x" after_start_reason:"door"`},
	} {
		t.Run(tt.method+" "+tt.path+" "+tt.body, func(t *testing.T) { g.check(t, tt, changeAnswers()) })
	}
}

// TestUnchangedRegistrations checks the responses if a registration already is as requested.
func TestUnchangedRegistrations(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	const reg = "/registrations/reg_" + idOf
	for _, tt := range []struct{ path, body, code string }{
		{reg + "/move", `{"spots":1}`, reasonAlreadyMoved},
		{reg + "/transfer", `{"customerId":"cust_x"}`, reasonAlreadyTransferred},
		{reg + "/swap", `{"registrationId":"reg_x"}`, reasonAlreadyMoved},
	} {
		t.Run("refuses "+tt.path, func(t *testing.T) {
			g.services.prepare(nil, &bookingv1.MoveBookingResponse{}, &bookingv1.TransferBookingResponse{}, &bookingv1.SwapBookingsResponse{})
			a := g.do(request{Method: "POST", Path: tt.path, Body: tt.body, Token: g.token()})
			if a.Code != 400 || !strings.Contains(a.Body, `"code":"`+tt.code+`"`) {
				t.Errorf("got %d %s", a.Code, a.Body)
			}
		})
	}
	for name, tt := range map[string]struct {
		payment func(*bookingv1.Booking)
		want    string
	}{
		"paid by card": {func(b *bookingv1.Booking) {}, `{"late":false,"freeUntil":null,"priceBefore":12.5,"priceAfter":12.5,"currency":"GBP","amountDue":0,"refundDue":12.5,"creditsBefore":0,"creditsAfter":0,"unchanged":true}`},
		"paid by pass": {func(b *bookingv1.Booking) {
			b.Price, b.RefundDue, b.Payment = 0, 0, &bookingv1.Booking_Pass{Pass: &bookingv1.PassPayment{CreditsUsed: 2}}
		}, `{"late":false,"freeUntil":null,"priceBefore":0,"priceAfter":0,"currency":"GBP","amountDue":0,"refundDue":0,"creditsBefore":2,"creditsAfter":2,"unchanged":true}`},
	} {
		t.Run("previews a registration "+name+" as it is", func(t *testing.T) {
			answers := changeAnswers()
			for _, m := range answers {
				if m, is := m.(*bookingv1.GetRegistrationResponse); is {
					tt.payment(m.GetRegistration().GetBooking())
				}
			}
			g.services.prepare(nil, slices.Insert(answers, 0, proto.Message(&bookingv1.PreviewMoveResponse{Unchanged: true}))...)
			if a := g.do(request{Method: "GET", Path: reg + "/move-preview", Token: g.token()}); a.Code != 200 || a.Body != tt.want {
				t.Errorf("got %d %s\nwant %s", a.Code, a.Body, tt.want)
			}
		})
	}
	t.Run("shows the purchaser and the amount paid of a booking that an earlier release sent", func(t *testing.T) {
		g.services.prepare(nil, &bookingv1.GetRegistrationResponse{Registration: aRegistration()})
		a := g.do(request{Method: "GET", Path: reg, Token: g.token()})
		if !strings.Contains(a.Body, `"price":25,"managedById":"cust_`+idOf+`"`) {
			t.Errorf("got %d %s", a.Code, a.Body)
		}
	})
}

func TestRegistrationChangeErrors(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	const reg = "/registrations/reg_" + idOf
	fields := func(list ...string) error {
		var out []fault.Field
		for _, name := range list {
			out = append(out, fault.Field{Field: name, Rule: "range", Message: "is wrong"})
		}
		return fault.InvalidFields(out...)
	}
	for name, tt := range map[string]struct {
		method, path, body string
		err                error
		code               int
		want               string
	}{
		"no spots":                        {"POST", reg + "/move", `{"spots":0}`, nil, 400, `"field":"spots","rule":"min"`},
		"an unknown method":               {"POST", reg + "/move", `{"payment":{"method":"GOLD"}}`, nil, 400, `"field":"payment.method","rule":"enum"`},
		"a method that pays no money":     {"POST", reg + "/move", `{"payment":{"method":"PASS"}}`, nil, 400, `"message":"payment.method must be CARD, CASH, BANK_TRANSFER, ONLINE or OTHER"`},
		"a negative amount":               {"POST", reg + "/move", `{"expectedAmountDue":-1}`, nil, 400, `"field":"expectedAmountDue"`},
		"an amount that is null":          {"POST", reg + "/move", `{"expectedAmountDue":null}`, nil, 400, `"field":"expectedAmountDue"`},
		"an empty reason":                 {"POST", reg + "/move", `{"afterStartReason":""}`, nil, 400, `"field":"afterStartReason","rule":"required"`},
		"a blank reason":                  {"POST", reg + "/move", `{"afterStartReason":" \t"}`, nil, 400, `"field":"afterStartReason","rule":"required"`},
		"a reason that is too long":       {"POST", reg + "/move", `{"afterStartReason":"` + strings.Repeat("x", 501) + `"}`, nil, 400, `"field":"afterStartReason","rule":"max_length"`},
		"fields of a move":                {"POST", reg + "/move", `{}`, fields("spaces"), 400, `"field":"spots"`},
		"the method of a move":            {"POST", reg + "/move", `{}`, fields("payment_method"), 400, `"field":"payment.method"`},
		"the reference of a move":         {"POST", reg + "/move", `{}`, fields("payment_reference"), 400, `"field":"payment.reference"`},
		"spots that are no number":        {"GET", reg + "/move-preview?spots=x", "", nil, 400, `"field":"spots","rule":"type"`},
		"no spots to preview":             {"GET", reg + "/move-preview?spots=0", "", nil, 400, `"code":"INVALID_PARAMETER"`},
		"too many spots to preview":       {"GET", reg + "/move-preview?spots=1001", "", nil, 400, `"code":"INVALID_PARAMETER"`},
		"the range of spots to preview":   {"GET", reg + "/move-preview?spots=1001", "", nil, 400, `"field":"spots","rule":"range"`},
		"a switch that is neither":        {"GET", reg + "/move-preview?keepPrice=maybe", "", nil, 400, `"field":"keepPrice","rule":"type"`},
		"no recipient":                    {"POST", reg + "/transfer", `{}`, nil, 400, `"field":"customerId","rule":"required"`},
		"an empty reason of a transfer":   {"POST", reg + "/transfer", `{"customerId":"c","afterStartReason":""}`, nil, 400, `"field":"afterStartReason","rule":"required"`},
		"no other registration":           {"POST", reg + "/swap", `{}`, nil, 400, `"field":"registrationId","rule":"required"`},
		"the other registration":          {"POST", reg + "/swap", `{"registrationId":"reg_x"}`, fields("other_booking_id"), 400, `"field":"registrationId"`},
		"a swap with itself":              {"POST", reg + "/swap", `{"registrationId":"reg_` + idOf + `"}`, swapWithItself(), 400, `"message":"registrationId must be another registration"`},
		"a page that is no number":        {"GET", reg + "/history?page=x", "", nil, 400, `"field":"page","rule":"type"`},
		"a missing registration":          {"POST", reg + "/move", `{}`, fault.Missing("booking"), 404, `"registration not found"`},
		"a missing date":                  {"POST", reg + "/move", `{}`, fault.Missing("event date"), 404, `"event date not found"`},
		"a missing recipient":             {"POST", reg + "/transfer", `{"customerId":"c"}`, fault.Missing("customer"), 404, `"customer not found"`},
		"a missing registration's swap":   {"POST", reg + "/swap", `{"registrationId":"reg_x"}`, fault.Missing("booking"), 404, `"registration not found"`},
		"the missing one of a swap":       {"POST", reg + "/swap", `{"registrationId":"reg_x"}`, missingOther(), 404, `"field":"registrationId","rule":"exists"`},
		"a missing registration's past":   {"GET", reg + "/history", "", fault.Missing("booking"), 404, `"registration not found"`},
		"a missing registration's future": {"GET", reg + "/move-preview", "", fault.Missing("booking"), 404, `"registration not found"`},
		"a price that has changed": {"POST", reg + "/move", `{"expectedAmountDue":1}`, fault.Refuse("PRICE_CHANGED", "the amount has changed").With("amount_due", "550").With("currency", "GBP"),
			400, `"code":"PRICE_CHANGED","details":{"amountDue":"5.5","currency":"GBP"}`},
		"a price in credits": {"POST", reg + "/move", `{"expectedAmountDue":1}`, fault.Refuse("PRICE_CHANGED", "the amount has changed").With("amount_due", "0").With("currency", ""),
			400, `"code":"PRICE_CHANGED","details":{"amountDue":"0","currency":"GBP"}`},
		"a late change": {"POST", reg + "/move", `{}`, fault.Refuse("LATE_CHANGE", "late").With("free_until", "2026-03-29T08:30:00Z"), 400, `"code":"LATE_CHANGE","details":{"freeUntil":"2026-03-29T08:30:00Z"}`},
		"the registration that refuses a swap": {"POST", reg + "/swap", `{"registrationId":"reg_x"}`, fault.Refuse("ALREADY_CANCELLED", "the booking is cancelled").With("booking_id", "booking_"+otherID),
			400, `"code":"ALREADY_CANCELLED","details":{"registrationId":"reg_` + otherID + `"}`},
		"another change in progress": {"POST", reg + "/move", `{}`, fault.New(fault.Conflict, "CHANGE_IN_PROGRESS", "try again").After(2e9),
			409, `"code":"CHANGE_IN_PROGRESS"`},
		"a line without a method":           {"POST", "/transactions", `{"purchasedById":"c","lines":[{"payment":{}}]}`, nil, 400, `"field":"lines[0].payment.method","rule":"required"`},
		"a line with an unknown method":     {"POST", "/transactions", `{"purchasedById":"c","lines":[{"payment":{"method":"GOLD"}}]}`, nil, 400, `"field":"lines[0].payment.method","rule":"enum"`},
		"the reference of a line":           {"POST", "/transactions", `{"purchasedById":"c","lines":[{"payment":{"method":"CASH"}}]}`, fields("lines[0].payment.reference"), 400, `"field":"lines[0].payment.reference"`},
		"an empty reason of a transaction":  {"POST", "/transactions", `{"purchasedById":"c","lines":[{}],"afterStartReason":""}`, nil, 400, `"field":"afterStartReason","rule":"required"`},
		"a hold with the payment of a line": {"POST", "/holds", `{"purchasedById":"c","lines":[{"payment":{"method":"CASH"}}]}`, fields("lines[0].payment"), 400, `"field":"lines[0].payment"`},
	} {
		t.Run("names "+name, func(t *testing.T) {
			g.services.prepare(tt.err)
			if tt.err == nil {
				g.services.prepare(nil, changeAnswers()...)
			}
			a := g.do(request{Method: tt.method, Path: tt.path, Body: tt.body, Token: g.token()})
			if a.Code != tt.code || !strings.Contains(a.Body, tt.want) {
				t.Errorf("got %d %s\nwant %s", a.Code, a.Body, tt.want)
			}
		})
	}
}

func TestChangeInProgressSaysWhenToRetry(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	for path, body := range map[string]string{"/move": `{}`, "/swap": `{"registrationId":"reg_x"}`} {
		g.services.prepare(fault.New(fault.Conflict, "CHANGE_IN_PROGRESS", "try again").After(2 * time.Second))
		a := g.do(request{Method: "POST", Path: "/registrations/reg_" + idOf + path, Body: body, Token: g.token()})
		if a.Code != 409 || a.Header.Get("Retry-After") != "2" {
			t.Errorf("%s: %d, %v", path, a.Code, a.Header)
		}
	}
}

// TestVersionsOfRegistrationChanges checks that changes send the version of If-Match.
func TestVersionsOfRegistrationChanges(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	const reg = "/registrations/reg_" + idOf
	for path, body := range map[string]string{"/move": `{"spots":1}`, "/transfer": `{"customerId":"c"}`, "/swap": `{"registrationId":"reg_x"}`} {
		t.Run(path, func(t *testing.T) {
			g.services.prepare(nil, changeAnswers()...)
			tag := g.do(request{Method: "GET", Path: reg, Token: g.token()}).Header.Get("ETag")
			a := g.do(request{Method: "POST", Path: reg + path, Body: body, Token: g.token(), Header: http.Header{"If-Match": {tag}}})
			g.services.mu.Lock()
			defer g.services.mu.Unlock()
			call, ok := g.services.requests[len(g.services.requests)-1].(interface{ GetExpectedVersion() int64 })
			if a.Code != 200 || !ok || call.GetExpectedVersion() != 5 {
				t.Errorf("got %d %s, called with %v", a.Code, a.Body, call)
			}
		})
	}
}

// missingOther is the fault of a swap with a booking that does not exist.
func missingOther() error {
	f := fault.Missing("booking")
	f.Fields = []fault.Field{{Field: "other_booking_id", Rule: "exists", Message: "does not exist"}}
	return f
}

// swapWithItself is the fault of a swap of a booking with itself.
func swapWithItself() error {
	return fault.InvalidFields(fault.Field{Field: "other_booking_id", Rule: "distinct", Message: "must be another booking"})
}
