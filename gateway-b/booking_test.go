package gatewayb

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/resource"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// bookingAnswers returns a response of the booking service to each call.
func bookingAnswers() []proto.Message {
	changed := aRegistration()
	b := changed.GetBooking()
	b.IsCancelled, b.CancelledAt, b.Late, b.RefundDue, b.CancellationReason = true, at("2026-03-02T10:00:00Z"), true, 1000, "moved"
	b.IsRefunded, b.RefundedAmount, b.RefundedAt = true, 1500, at("2026-03-03T10:00:00Z")
	b.Attendance = bookingv1.Attendance_ATTENDANCE_CHECKED_IN
	b.BoughtFor = &bookingv1.CustomerReference{Id: "cust_" + strings.Repeat("0", 26), FirstName: "Ada", LastName: "King", Email: "ada@example.com"}
	pass := aTransaction()
	pass.Bookings = []*bookingv1.Booking{aRegistration().GetBooking()}
	pass.Bookings[0].Payment = &bookingv1.Booking_Pass{Pass: &bookingv1.PassPayment{CreditsUsed: 2, CustomerPassId: "cp_" + idOf}}
	booked := aWaitlistEntry(bookingv1.WaitlistState_WAITLIST_STATE_BOOKED)
	booked.Mode, booked.PassedOverReason, booked.OfferMinutes = bookingv1.WaitlistMode_WAITLIST_MODE_BOOK, "", 0
	waiting := aWaitlistEntry(bookingv1.WaitlistState_WAITLIST_STATE_WAITING)
	waiting.Position = 4
	return []proto.Message{
		&bookingv1.ListEventDatesResponse{Dates: []*bookingv1.ScheduledDate{aScheduledDate(), {Date: aDate("2026-03-30T08:30:00Z", nil, 3), EventId: "evt_" + idOf,
			EventType: bookingv1.EventType_EVENT_TYPE_COURSE, EventStatus: bookingv1.EventStatus_EVENT_STATUS_DRAFT, UpdatedAt: at("2026-03-01T10:00:00Z")}}, Total: 10_000, NextPageToken: "next"},
		&bookingv1.GetEventDateResponse{Date: aScheduledDate()}, &bookingv1.UpdateEventDateResponse{Scheduled: aScheduledDate()},
		&bookingv1.CancelEventDateResponse{Scheduled: aScheduledDate(), Changed: true},
		&bookingv1.AddEventDatesResponse{Scheduled: aScheduledDate()},
		&bookingv1.ListRegistrationsResponse{Registrations: []*bookingv1.Registration{changed}, Total: 7}, &bookingv1.GetRegistrationResponse{Registration: changed},
		&bookingv1.CancelBookingResponse{Changed: true, Registration: changed}, &bookingv1.RefundBookingResponse{Changed: true, Registration: changed},
		&bookingv1.RecordAttendanceResponse{Registration: changed},
		&bookingv1.PreviewCancellationResponse{Outcome: &bookingv1.CancellationOutcome{CreditsReturned: 2, FreeUntil: at("2026-03-29T08:30:00Z")}},
		&bookingv1.ListCompanyTransactionsResponse{Transactions: []*bookingv1.Transaction{aTransaction(), pass}, Total: 2},
		&bookingv1.GetTransactionResponse{Transaction: aTransaction()}, &bookingv1.CreateTransactionResponse{Transaction: aTransaction()},
		&bookingv1.HoldPlacesResponse{Hold: aHold(bookingv1.HoldStatus_HOLD_STATUS_ACTIVE)}, &bookingv1.GetHoldResponse{Hold: aHold(bookingv1.HoldStatus_HOLD_STATUS_CONFIRMED)},
		&bookingv1.ConfirmHoldResponse{Transaction: aTransaction()}, &bookingv1.ReleaseHoldResponse{Changed: true},
		&bookingv1.ListWaitlistResponse{Entries: []*bookingv1.WaitlistEntry{waiting, booked, aWaitlistEntry(bookingv1.WaitlistState_WAITLIST_STATE_CLOSED)}, Total: 3},
		&bookingv1.GetWaitlistEntryResponse{Entry: aWaitlistEntry(bookingv1.WaitlistState_WAITLIST_STATE_OFFERED)}, &bookingv1.JoinWaitlistResponse{Entry: waiting},
		&bookingv1.LeaveWaitlistResponse{Changed: true}, &bookingv1.AcceptOfferResponse{Transaction: aTransaction()},
	}
}

func TestBookingOperations(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	const (
		date, reg, hold, wait = "/event-dates/date_" + idOf, "/registrations/reg_" + idOf, "/holds/hold_" + idOf, "/waitlist-entries/wait_" + idOf
		lines                 = `"lines":[{"eventDateId":"date_x","spots":2},{"eventId":"evt_x","pricingOptionId":"po-x","customerId":"cust_y"}]`
		sentLines             = `lines:{event_date_id:"date_x" spaces:2} lines:{pricing_option_id:"po-x" spaces:1 bought_for_id:"cust_y" event_id:"evt_x"}`
	)
	tests := []operation{
		{"GET", "/event-dates?startsFrom=2026-03-30T00:00:00Z&startsBefore=2026-04-06T00:00:00Z&eventId=evt_x&type=class&status=scheduled&available=true&perPage=7&page=2", "", 200,
			[]string{`"eventDates":[{"id":"date_`, `"title":"Morning Flow","type":"class","eventStatus":"published","status":"scheduled","startsAt":"2026-03-30T08:30:00Z","endsAt":"2026-03-30T09:30:00Z"`,
				`"capacity":12,"spotsTaken":3,"spotsAvailable":9,"waitlistLength":2,"available":true,"lowestPrice":12.5,"currency":"GBP","opensAt":null,"closesAt":"2026-03-30T07:30:00Z"`,
				`"capacity":null,"spotsTaken":3,"spotsAvailable":null,"waitlistLength":0,"available":false,"opensAt":null`, `"total":10000,"page":2,"perPage":7,"nextCursor":"next"`},
			`starts_from:{seconds:1774828800} starts_before:{seconds:1775433600} event_id:"evt_x" page_size:7 offset:7 type:EVENT_TYPE_CLASS available:true status:EVENT_DATE_STATUS_SCHEDULED total_limit:10000`},
		{"GET", "/event-dates?available=false&updatedSince=2026-03-30T00:00:00Z&cursor=abc", "", 200, nil, `page_size:25 page_token:"abc" updated_since:{seconds:1774828800} total_limit:10000`},
		{"GET", date, "", 200, []string{`"id":"date_` + idOf + `","eventId":"evt_` + idOf + `"`}, `id:"date_` + idOf + `"`},
		{"PUT", date, `{"startsAt":"2026-03-30T10:30","duration":45,"capacity":null,"title":"ignored"}`, 200, []string{`"location":"Studio 1"`},
			`date:{id:"date_` + idOf + `" local_start:"2026-03-30T10:30:00" duration_minutes:45 unlimited:true}`},
		{"PATCH", date, `{"capacity":3}`, 200, nil, `date:{id:"date_` + idOf + `" capacity:3}`},
		{"POST", date + "/cancel", `{"reason":"ill"}`, 200, nil, `id:"date_` + idOf + `" reason:"ill"`},
		{"POST", "/events/evt_" + idOf + "/dates", `{"startsAt":"2026-03-30T08:30:00Z","duration":60}`, 201, []string{`{"id":"date_` + idOf + `","eventId":"evt_` + idOf + `"`},
			`event_id:"evt_` + idOf + `" dates:{starts_at:{seconds:1774859400} duration_minutes:60}`},
		{"POST", "/events/evt_" + idOf + "/dates", `{"startsAt":"2026-03-30T09:30","endsAt":"2026-03-30T10:30","capacity":8,"recurrence":{"rule":"FREQ=DAILY;COUNT=2"}}`, 201, nil,
			`event_id:"evt_` + idOf + `" dates:{capacity:8 local_start:"2026-03-30T09:30:00" local_end:"2026-03-30T10:30:00"} recurrence:{rule:"FREQ=DAILY;COUNT=2" local_start:"2026-03-30T09:30:00"}`},
		{"GET", "/registrations?customerId=cust_x&purchasedById=cust_y&eventId=evt_x&eventDateId=date_x&status=confirmed&attendance=attended&startsFrom=2026-03-30T00:00:00Z&startsBefore=2026-04-06T00:00:00Z&sort=-updatedAt", "", 200,
			[]string{`"registrations":[{"id":"reg_` + idOf + `"`, `"customerId":"cust_00000000000000000000000000","customerEmail":"ada@example.com","customerName":"Ada King"`, `"status":"cancelled","totalPaid":25`,
				`"attendance":"attended"`, `"refunded":true,"pricingOptionId":"po-` + idOf + `","purchasedById":"cust_` + idOf + `","late":true,"creditsReturned":0,"refundDue":10,"refundedAmount":15,"refundedAt":"2026-03-03T10:00:00Z","cancellationReason":"moved"`, `"total":7`},
			`event_id:"evt_x" page_size:25 order:REGISTRATION_ORDER_UPDATED_DESC event_date_id:"date_x" cancelled:false customer_id:"cust_x" purchaser_id:"cust_y" attendance:ATTENDANCE_CHECKED_IN starts_from:{seconds:1774828800} starts_before:{seconds:1775433600}`},
		{"GET", reg, "", 200, []string{`"id":"reg_` + idOf + `"`}, `booking_id:"booking_` + idOf + `"`},
		{"GET", reg + "/cancellation-preview", "", 200, []string{`{"late":false,"refundDue":0,"creditsReturned":2,"currency":"GBP","freeUntil":"2026-03-29T08:30:00Z"}`}, `booking_id:"booking_` + idOf + `"`},
		{"POST", reg + "/cancel", `{"waivePolicy":true,"reason":"moved"}`, 200, []string{`"status":"cancelled"`}, `booking_id:"booking_` + idOf + `" waive_policy:true reason:"moved"`},
		{"POST", reg + "/refund", `{"amount":12.34}`, 200, []string{`"refundedAmount":15`}, `booking_id:"booking_` + idOf + `" amount:1234`},
		{"POST", reg + "/attendance", `{"attendance":"no_show"}`, 200, nil, `booking_id:"booking_` + idOf + `" attendance:ATTENDANCE_NO_SHOW`},
		{"GET", "/transactions?purchasedById=cust_x&sort=updatedAt", "", 200,
			[]string{`"transactions":[{"id":"txn_`, `"total":50,"currency":"GBP","paymentMethod":"CARD","discountCode":"SPRING","registrations":[{"id":"reg_`, `"total":0,"currency":"GBP","paymentMethod":"PASS","discountCode":null`},
			`page_size:25 order:TRANSACTION_ORDER_UPDATED purchaser_id:"cust_x"`},
		{"POST", "/transactions", `{"purchasedById":"cust_x",` + lines + `,"payment":{"method":"BANK_TRANSFER","reference":"r"},"discountCode":"SPRING"}`, 201, []string{`"purchasedById":"cust_` + idOf + `"`},
			`purchaser_id:"cust_x" ` + sentLines + ` payment_reference:"r" payment_method:PAYMENT_METHOD_BANK_TRANSFER discount_code:"SPRING"`},
		{"GET", "/transactions/txn_" + idOf, "", 200, nil, `transaction_id:"txn_` + idOf + `"`},
		{"POST", "/holds", `{"purchasedById":"cust_x",` + lines + `,"minutes":5}`, 201,
			[]string{`{"id":"hold_` + idOf + `","status":"active"`, `"expiresAt":"2026-03-01T10:15:00Z","total":25,"currency":"GBP","discountCode":"SPRING","lines":[{"eventId"`, `"customerId":"cust_` + idOf + `"`, `"spots":2,"price":25}],"transactionId":null`},
			`purchaser_id:"cust_x" ` + sentLines + ` minutes:5`},
		{"GET", hold, "", 200, []string{`"status":"confirmed"`, `"transactionId":"txn_` + idOf + `"`}, `hold_id:"txn_` + idOf + `"`},
		{"POST", hold + "/confirm", `{"payment":{"method":"PASS","customerPassId":"cp_x"}}`, 200, []string{`{"id":"txn_`}, `hold_id:"txn_` + idOf + `" payment_method:PAYMENT_METHOD_PASS customer_pass_id:"cp_x"`},
		{"DELETE", hold, "", 200, []string{`{"id":"hold_` + idOf + `","deleted":true,"status":"released"}`}, `hold_id:"txn_` + idOf + `"`},
		{"POST", date + "/waitlist", `{"customerId":"cust_x","spots":2,"offerMinutes":30}`, 201, []string{`"status":"waiting","position":4,"passedOver":{"reason":"NOT_ENOUGH_PLACES","at":"2026-03-01T11:00:00Z"}`, `"holdId":null,"transactionId":null`},
			`event_date_id:"date_` + idOf + `" customer_id:"cust_x" spaces:2 mode:WAITLIST_MODE_OFFER offer_minutes:30`},
		{"POST", date + "/waitlist", `{"customerId":"cust_x","autoBook":true,"payment":{"method":"PASS"}}`, 201, nil,
			`event_date_id:"date_` + idOf + `" customer_id:"cust_x" spaces:1 mode:WAITLIST_MODE_BOOK payment_method:PAYMENT_METHOD_PASS`},
		{"GET", "/waitlist-entries?eventDateId=date_x&customerId=cust_x&status=left&sort=-createdAt", "", 200,
			[]string{`"waitlistEntries":[{"id":"wait_`, `"autoBook":true,"paymentMethod":"CARD","customerPassId":null,"status":"booked","position":null,"offerMinutes":null`, `"transactionId":"txn_` + idOf + `"`, `"status":"expired"`},
			`event_date_id:"date_x" include_ended:true page_size:25 order:WAITLIST_ORDER_CREATED_DESC customer_id:"cust_x" state:WAITLIST_STATE_LEFT with_closed:true`},
		{"GET", wait, "", 200, []string{`"status":"offered"`, `"holdId":"hold_` + idOf + `","transactionId":null`}, `id:"wait_` + idOf + `"`},
		{"POST", wait + "/accept", `{}`, 200, []string{`{"id":"txn_`}, `id:"wait_` + idOf + `"`},
		{"DELETE", wait, "", 200, []string{`{"id":"wait_` + idOf + `","deleted":true,"status":"left"}`}, `id:"wait_` + idOf + `"`},
	}
	for _, tt := range tests {
		t.Run(tt.method+" "+tt.path+" "+tt.body, func(t *testing.T) { g.check(t, tt, bookingAnswers()) })
	}
}

// TestActionsWithoutABody checks that actions whose members are all optional need no body.
func TestActionsWithoutABody(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	for _, r := range routes() {
		if !r.Bodiless || strings.HasPrefix(r.Path, base+"/webhook-") {
			continue
		}
		t.Run(r.Path, func(t *testing.T) {
			for _, header := range []http.Header{{}, {"Content-Type": {"application/json"}}, {"Content-Type": {"text/plain;charset=UTF-8"}}} {
				g.services.prepare(nil, slices.Concat(bookingAnswers(), webhookAnswers(), testModeAnswers(), subscriptionAnswers(), mediaAnswers(), appointmentAnswers(), reportAnswers())...)
				if a := g.do(request{Method: r.Method, Path: pathOf(r.Path), Token: g.token(), Header: header}); a.Code != http.StatusOK {
					t.Errorf("%v: got %d %s", header, a.Code, a.Body)
				}
			}
		})
	}
}

// TestRepeatedActions checks the code of an action that is already done.
func TestRepeatedActions(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	unchanged := []proto.Message{
		&bookingv1.CancelEventDateResponse{}, &bookingv1.CancelBookingResponse{}, &bookingv1.RefundBookingResponse{}, &bookingv1.ReleaseHoldResponse{},
		&bookingv1.PreviewCancellationResponse{AlreadyCancelled: true}, &bookingv1.LeaveWaitlistResponse{},
		&bookingv1.ConfirmHoldResponse{Transaction: aTransaction(), AlreadyConfirmed: true}, &bookingv1.AcceptOfferResponse{Transaction: aTransaction(), AlreadyAccepted: true},
	}
	for _, tt := range []struct{ method, path, code string }{
		{"POST", "/event-dates/date_" + idOf + "/cancel", reasonAlreadyCancelled},
		{"POST", "/registrations/reg_" + idOf + "/cancel", reasonAlreadyCancelled},
		{"GET", "/registrations/reg_" + idOf + "/cancellation-preview", reasonAlreadyCancelled},
		{"POST", "/registrations/reg_" + idOf + "/refund", reasonAlreadyRefunded},
		{"POST", "/holds/hold_" + idOf + "/confirm", reasonHoldConfirmed},
		{"DELETE", "/holds/hold_" + idOf, reasonHoldExpired},
		{"POST", "/waitlist-entries/wait_" + idOf + "/accept", reasonNotOffered},
		{"DELETE", "/waitlist-entries/wait_" + idOf, reasonWaitlistEnded},
	} {
		t.Run(tt.method+" "+tt.path, func(t *testing.T) {
			// The services replay the first response to the key of the first request.
			for _, header := range []http.Header{{}, {"Idempotency-Key": {"another-key"}}} {
				g.services.prepare(nil, unchanged...)
				a := g.do(request{Method: tt.method, Path: tt.path, Token: g.token(), Header: header})
				if a.Code != 400 || !strings.Contains(a.Body, `"code":"`+tt.code+`"`) {
					t.Errorf("%v: got %d %s", header, a.Code, a.Body)
				}
			}
		})
	}
}

func TestBookingErrors(t *testing.T) { // invariant 4
	t.Parallel()
	g := newGateway(t, unlimited{})
	const date, reg, hold, wait = "/event-dates/date_" + idOf, "/registrations/reg_" + idOf, "/holds/hold_" + idOf, "/waitlist-entries/wait_" + idOf
	fields := func(list ...string) error {
		var out []fault.Field
		for _, name := range list {
			out = append(out, fault.Field{Field: name, Rule: "range", Message: "is wrong"})
		}
		return fault.InvalidFields(out...)
	}
	tests := []struct {
		method, path, body string
		err                error
		code               int
		fields             string
	}{
		{"GET", "/event-dates?available=maybe", "", nil, 400, "available:type"},
		{"GET", "/event-dates?type=party", "", nil, 400, "type:enum"},
		{"GET", "/event-dates?status=gone", "", nil, 400, "status:enum"},
		{"GET", "/event-dates?startsFrom=monday", "", nil, 400, "startsFrom:format"},
		{"PUT", date, `{"startsAt":"monday","duration":"x"}`, nil, 400, "duration:type"},
		{"PUT", date, `{"startsAt":"monday"}`, nil, 400, "startsAt:format"},
		{"PUT", date, `{"startsAt":"2026-03-30T08:30:00Z"}`, fields("date.starts_at", "date.duration_minutes", "date.capacity"), 400, "startsAt:range duration:range capacity:range"},
		{"POST", date + "/cancel", `{"reason":"` + strings.Repeat("x", 501) + `"}`, nil, 400, "reason:max_length"},
		{"POST", "/events/evt_" + idOf + "/dates", `{}`, nil, 400, "startsAt:required"},
		{"POST", "/events/evt_" + idOf + "/dates", `{"startsAt":"2026-03-30T08:30:00Z","duration":0}`, nil, 400, "duration:min"},
		{"POST", "/events/evt_" + idOf + "/dates", `{"startsAt":"2026-03-30T08:30:00Z","duration":9,"recurrence":{"rule":"x"}}`, nil, 400, "startsAt:local"},
		{"POST", "/events/evt_" + idOf + "/dates", `{"startsAt":"2026-03-30T08:30","duration":9}`, fields("dates[0].local_start", "recurrence.rule"), 400, "startsAt:range recurrence.rule:range"},
		{"GET", "/registrations?attendance=checked_in", "", nil, 400, "attendance:enum"},
		{"GET", "/registrations?status=gone", "", nil, 400, "status:enum"},
		{"POST", reg + "/refund", `{"amount":0}`, nil, 400, "amount:range"},
		{"POST", reg + "/refund", `{"amount":0.001}`, nil, 400, "amount:decimals"},
		{"POST", reg + "/attendance", `{}`, nil, 400, "attendance:required"},
		{"POST", reg + "/attendance", `{"attendance":"late"}`, nil, 400, "attendance:enum"},
		{"POST", "/transactions", `{}`, nil, 400, "purchasedById:required lines:required"},
		{"POST", "/transactions", `{"purchasedById":"cust_x","lines":[{"spots":0}],"payment":{"method":"GOLD"}}`, nil, 400, "lines[0].spots:min payment.method:enum"},
		{"POST", "/transactions", `{"purchasedById":"cust_x","lines":[{"eventDateId":"date_x"}]}`,
			fields("purchaser_id", "lines[1].event_date_id", "lines[1].spaces", "lines[2].bought_for_id", "lines[2].pricing_option_id", "customer_pass_id", "payment_reference", "discount_code"), 400,
			"purchasedById:range lines[1].eventDateId:range lines[1].spots:range lines[2].customerId:range lines[2].pricingOptionId:range payment.customerPassId:range payment.reference:range discountCode:range"},
		{"POST", "/holds", `{"purchasedById":"cust_x","lines":[{}],"minutes":0}`, nil, 400, "minutes:min"},
		{"POST", "/holds", `{"purchasedById":"cust_x","lines":[{}]}`, fields("minutes", "lines[0].spaces"), 400, "minutes:range lines[0].spots:range"},
		{"POST", hold + "/confirm", `{"payment":{"method":"GOLD"}}`, nil, 400, "payment.method:enum"},
		{"POST", hold + "/confirm", `{}`, fields("customer_pass_id"), 400, "payment.customerPassId:range"},
		{"POST", date + "/waitlist", `{"spots":0,"offerMinutes":0,"payment":{"reference":"r"}}`, nil, 400, "customerId:required offerMinutes:min spots:min payment.reference:exclusive"},
		{"POST", date + "/waitlist", `{"customerId":"cust_x"}`, fields("mode", "spaces", "payment_method", "offer_minutes"), 400, "autoBook:range spots:range payment.method:range offerMinutes:range"},
		{"GET", "/waitlist-entries?status=closed", "", nil, 400, "status:enum"},
		{"POST", wait + "/accept", `{"payment":{"method":"GOLD"}}`, nil, 400, "payment.method:enum"},
		{"POST", reg + "/cancel", `{}`, fault.Missing("booking"), 404, ""},
		{"GET", "/holds/txn_" + idOf, "", fault.Missing("hold"), 404, ""},
	}
	for _, tt := range tests {
		t.Run(tt.method+" "+tt.path+" "+tt.body, func(t *testing.T) {
			g.services.prepare(tt.err)
			if tt.err == nil {
				g.services.prepare(nil, &bookingv1.GetEventResponse{Event: anEvent()}, &bookingv1.GetEventDateResponse{}, &bookingv1.GetRegistrationResponse{},
					&bookingv1.GetHoldResponse{}, &bookingv1.GetWaitlistEntryResponse{})
			}
			a := g.do(request{Method: tt.method, Path: tt.path, Body: tt.body, Token: g.token()})
			if got := failures(t, a.Body); a.Code != tt.code || got != tt.fields {
				t.Errorf("got %d %s", a.Code, a.Body)
			}
			if strings.Contains(a.Body, "booking not found") {
				t.Errorf("the error calls a registration a booking: %s", a.Body)
			}
		})
	}
	t.Run("an amount that is too large is named without its minor units", func(t *testing.T) {
		g.services.prepare(fault.InvalidFields(fault.Field{Field: "amount", Rule: "range", Message: "must be 1 to 1250"}))
		a := g.do(request{Method: "POST", Path: reg + "/refund", Body: `{"amount":99}`, Token: g.token()})
		if a.Code != 400 || strings.Contains(a.Body, "1250") || failures(t, a.Body) != "amount:range" {
			t.Errorf("got %d %s", a.Code, a.Body)
		}
	})
}

// failures returns the fields of an error and their rules: "spots:min payment.method:enum".
func failures(t *testing.T, text string) string {
	t.Helper()
	var body struct {
		Error struct {
			Details struct {
				Errors []struct{ Field, Rule string }
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	var fields []string
	for _, f := range body.Error.Details.Errors {
		fields = append(fields, f.Field+":"+f.Rule)
	}
	return strings.Join(fields, " ")
}

// TestVersionsOfBookings checks that changes of single resources send the version of If-Match.
func TestVersionsOfBookings(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	for _, tt := range []struct {
		resource, method, path, body string
		version                      int64
	}{
		{"/event-dates/date_" + idOf, "PUT", "", `{}`, 6}, {"/event-dates/date_" + idOf, "POST", "/cancel", `{}`, 6},
		{"/registrations/reg_" + idOf, "POST", "/cancel", `{}`, 5}, {"/registrations/reg_" + idOf, "POST", "/refund", `{}`, 5},
		{"/registrations/reg_" + idOf, "POST", "/attendance", `{"attendance":"attended"}`, 5}, {"/waitlist-entries/wait_" + idOf, "DELETE", "", "", 3},
		{"/waitlist-entries/wait_" + idOf, "POST", "/accept", `{}`, 3}, {"/holds/hold_" + idOf, "DELETE", "", "", 1},
		{"/holds/hold_" + idOf, "POST", "/confirm", `{}`, 1}, {"/webhook-endpoints/whe_" + idOf, "POST", "/rotate-secret", `{"force":true}`, 2},
	} {
		t.Run(tt.method+" "+tt.resource+tt.path, func(t *testing.T) {
			g.services.prepare(nil, slices.Concat(bookingAnswers(), webhookAnswers())...)
			tag := g.do(request{Method: "GET", Path: tt.resource, Token: g.token()}).Header.Get("ETag")
			a := g.do(request{Method: tt.method, Path: tt.resource + tt.path, Body: tt.body, Token: g.token(), Header: http.Header{"If-Match": {tag}}})
			g.services.mu.Lock()
			defer g.services.mu.Unlock()
			call, ok := g.services.requests[len(g.services.requests)-1].(interface{ GetExpectedVersion() int64 })
			if a.Code != 200 || !ok || call.GetExpectedVersion() != tt.version {
				t.Errorf("got %d %s, called with %v", a.Code, a.Body, call)
			}
		})
	}
}

// course returns an event with n weekly dates to come, of which it has those that a list shows.
func course(n, shown int) *bookingv1.Event {
	var dates []*bookingv1.EventDate
	for i := range n {
		capacity := int32(12)
		d := aDate("2026-03-30T08:30:00Z", &capacity, 3)
		d.StartsAt = at(d.GetStartsAt().AsTime().Add(time.Duration(i) * 7 * 24 * time.Hour).Format(time.RFC3339))
		dates = append(dates, d)
	}
	e := anEvent(dates...)
	e.Title, e.Location, e.Description = "Morning Flow for everybody", "Studio 1, 12 High Street", strings.Repeat("Bring a mat. ", 15)
	e.Dates = dates[:shown]
	return e
}

func TestEventListsAreSmall(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	list := &bookingv1.ListEventsResponse{Total: 100}
	for range 100 {
		list.Events = append(list.Events, course(52, resource.MaxDatesInList))
	}
	g.services.prepare(nil, list)
	a := g.do(request{Path: "/events?perPage=100", Token: g.token(), Method: http.MethodGet})
	if size := len(a.Body); a.Code != 200 || size >= 150_000 {
		t.Errorf("%d: 100 events of 52 dates are %d bytes", a.Code, size)
	}
	if n := strings.Count(a.Body, `"dateCount":52,"datesTruncated":true`); n != 100 || !strings.Contains(a.Body, `"nextDate":{"id":"date_`) {
		t.Errorf("%d events say that dates are left out: %.2000s", n, a.Body)
	}
	if got := last[*bookingv1.ListEventsRequest](g.services); got.GetMaxDates() != 3 || !got.GetWithDates() {
		t.Errorf("requested %v", got)
	}
}

// TestUpdateAcceptsWhatItReturned sends back an event that was read.
func TestUpdateAcceptsWhatItReturned(t *testing.T) {
	t.Parallel()
	g := newGateway(t, unlimited{})
	e := course(2, 2)
	e.BookingRules = &bookingv1.BookingRules{OpensAt: at("2026-03-01T10:00:00Z"), MinimumNoticeMinutes: 60, MaximumAdvanceDays: 14, OncePerCustomer: true}
	e.PricingOptions[0].WholeCourse = true
	for name, rules := range map[string]*bookingv1.BookingRules{"rules": e.GetBookingRules(), "no rules": nil} {
		t.Run("an event with "+name, func(t *testing.T) {
			e := proto.CloneOf(e)
			e.BookingRules = rules
			g.services.prepare(nil, &bookingv1.GetEventResponse{Event: e}, &bookingv1.UpdateEventResponse{Event: e})
			read := g.do(request{Method: http.MethodGet, Path: "/events/" + e.GetId(), Token: g.token()})
			wrote := g.do(request{Method: http.MethodPut, Path: "/events/" + e.GetId(), Body: read.Body, Token: g.token()})
			got := last[*bookingv1.UpdateEventRequest](g.services)
			if wrote.Code != 200 || !proto.Equal(got.GetBookingRules(), rules) || len(got.GetDates()) != 2 || !got.GetPricingOptions()[0].GetWholeCourse() {
				t.Errorf("got %d %s, requested %v", wrote.Code, wrote.Body, got)
			}
		})
	}
}
