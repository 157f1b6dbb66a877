package gatewaya

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/money"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// at returns the instant of a date-time.
func at(t *testing.T, text string) *timestamppb.Timestamp {
	t.Helper()
	v, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return timestamppb.New(v)
}

func TestBookings(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	buyer := &bookingv1.CustomerReference{Id: id.New[id.Customer]().String(), FirstName: "Zoë", LastName: "O'Brien", Email: "z@example.com"}
	friend := &bookingv1.CustomerReference{Id: id.New[id.Customer]().String(), FirstName: "T", LastName: "Ó", Email: "t@example.com"}
	booking := func(zone string) *bookingv1.Booking {
		return &bookingv1.Booking{
			Id: id.New[id.Booking]().String(), Spaces: 2, EventId: id.New[id.Event]().String(), EventTitle: "Yoga",
			EventDateId: id.New[id.EventDate]().String(), StartsAt: at(t, "2026-03-29T01:30:00Z"), Timezone: zone, DurationMinutes: 60,
			PricingOptionId: id.New[id.PricingOption]().String(),
			Payment:         &bookingv1.Booking_Card{Card: &bookingv1.CardPayment{Currency: "GBP", Gross: 2400, Net: 2000, Reference: "secret-ref"}},
		}
	}
	card, pass := booking("Europe/London"), booking("Australia/Lord_Howe")
	pass.Payment = &bookingv1.Booking_Pass{Pass: &bookingv1.PassPayment{CreditsUsed: 3}}
	pass.BoughtFor, pass.IsCancelled = friend, true
	txn := &bookingv1.Transaction{Id: id.New[id.Transaction]().String(), Purchaser: buyer, PurchasedAt: at(t, "2026-01-05T18:02:11Z"), Timezone: "America/New_York", Bookings: []*bookingv1.Booking{card, pass}, Version: 3}
	g.bookings.transactions = []*bookingv1.Transaction{txn}
	list := "/customer/" + buyer.GetId() + "/bookings"

	wantCustomer := `{"id":"` + buyer.GetId() + `","type":"customer","firstname":"Zoë","lastname":"O'Brien","email":"z@example.com"}`
	event := func(b *bookingv1.Booking, datetime, zone string) string {
		return `"event":{"id":"` + b.GetEventId() + `","type":"event","name":"Yoga","date":{"id":"` + b.GetEventDateId() + `","type":"event_date","datetime":"` + datetime + `","tz":"` + zone + `","duration":60}},"pricing_option":{"id":"` + b.GetPricingOptionId() + `"}`
	}
	want := `{"id":"` + txn.GetId() + `","type":"event-booking","purchase_date":"2026-01-05T13:02:11","bookings":[` +
		`{"id":"` + card.GetId() + `","type":"event-booking","is_cancelled":false,"is_refunded":false,"spaces":2,"purchased_by":` + wantCustomer + `,` +
		event(card, "2026-03-29T02:30:00", "Europe/London") + `,"payment":{"method":"CARD","currency":"GBP","base100gross_price":2400,"base100net_price":2000}},` +
		`{"id":"` + pass.GetId() + `","type":"event-booking","is_cancelled":true,"is_refunded":false,"spaces":2,"purchased_by":` + wantCustomer + `,` +
		`"bought_for":{"id":"` + friend.GetId() + `","type":"customer","firstname":"T","lastname":"Ó","email":"t@example.com"},` +
		event(pass, "2026-03-29T12:30:00", "Australia/Lord_Howe") + `,"payment":{"method":"PASS","currency":"CR","credits_used":3}}]}`

	t.Run("the list has exactly the documented JSON", func(t *testing.T) {
		a := g.do(request{Method: http.MethodGet, Path: list, Token: g.token()})
		if a.Code != 200 || a.Body != `{"data":[`+want+`],"total":1,"page":0,"pageSize":30}` {
			t.Errorf("got  %s\nwant %s", a.Body, want)
		}
	})
	t.Run("a single transaction is the same as in the list", func(t *testing.T) {
		a := g.do(request{Method: http.MethodGet, Path: "/customer/" + buyer.GetId() + "/booking/" + txn.GetId(), Token: g.token()})
		if a.Code != 200 || a.Body != `{"data":`+want+`}` || !strings.HasPrefix(a.Header.Get("ETag"), `"3-`) {
			t.Errorf("got %d %s", a.Code, a.Body)
		}
	})
	t.Run("a payment in another currency has a form of its own, and no other value in currency", func(t *testing.T) {
		francs := booking("Europe/Zurich")
		francs.GetCard().Currency = "CHF"
		g.bookings.transactions = []*bookingv1.Transaction{{
			Id: id.New[id.Transaction]().String(), Purchaser: buyer, PurchasedAt: at(t, "2026-01-05T18:02:11Z"), Timezone: "Europe/Zurich",
			Bookings: []*bookingv1.Booking{francs, pass},
		}}
		defer func() { g.bookings.transactions = []*bookingv1.Transaction{txn} }()
		for _, currency := range money.Currencies() {
			francs.GetCard().Currency = currency
			want := `"payment":{"method":"OTHER_CURRENCY","base100gross_price":2400,"base100net_price":2000,"payment_method":"CARD","currency_code":"` + currency + `"}`
			if slices.Contains([]string{"GBP", "EUR", "USD"}, currency) {
				want = `"payment":{"method":"CARD","currency":"` + currency + `","base100gross_price":2400,"base100net_price":2000}`
			}
			a := g.do(request{Method: http.MethodGet, Path: list, Token: g.token()})
			if a.Code != 200 || !strings.Contains(a.Body, want) || !strings.Contains(a.Body, `"payment":{"method":"PASS","currency":"CR","credits_used":3}`) {
				t.Errorf("got %d %s", a.Code, a.Body)
			}
		}
	})
	t.Run("another method than PASS has the members of CARD", func(t *testing.T) {
		other := booking("Europe/London")
		g.bookings.transactions = []*bookingv1.Transaction{{Id: id.New[id.Transaction]().String(), Purchaser: buyer, PurchasedAt: at(t, "2026-01-05T18:02:11Z"), Timezone: "UTC", Bookings: []*bookingv1.Booking{other}}}
		defer func() { g.bookings.transactions = []*bookingv1.Transaction{txn} }()
		for method, want := range map[bookingv1.PaymentMethod]string{
			bookingv1.PaymentMethod_PAYMENT_METHOD_CARD: "CARD", bookingv1.PaymentMethod_PAYMENT_METHOD_CASH: "CASH",
			bookingv1.PaymentMethod_PAYMENT_METHOD_BANK_TRANSFER: "BANK_TRANSFER", bookingv1.PaymentMethod_PAYMENT_METHOD_ONLINE: "ONLINE",
			bookingv1.PaymentMethod_PAYMENT_METHOD_OTHER: "OTHER", bookingv1.PaymentMethod_PAYMENT_METHOD_FREE: "FREE",
		} {
			other.GetCard().Method = method
			a := g.do(request{Method: http.MethodGet, Path: list, Token: g.token()})
			if a.Code != 200 || !strings.Contains(a.Body, `"payment":{"method":"`+want+`","currency":"GBP","base100gross_price":2400,"base100net_price":2000}`) {
				t.Errorf("%s: got %d %s", want, a.Code, a.Body)
			}
		}
	})
	t.Run("an empty list is an empty array", func(t *testing.T) {
		g.bookings.transactions = nil
		defer func() { g.bookings.transactions = []*bookingv1.Transaction{txn} }()
		if a := g.do(request{Method: http.MethodGet, Path: list, Token: g.token()}); a.Body != `{"data":[],"total":0,"page":0,"pageSize":30}` {
			t.Errorf("got %s", a.Body)
		}
	})
	t.Run("passes on the given parameters, and no others", func(t *testing.T) {
		g.do(request{Method: http.MethodGet, Path: list + "?page=2&pageSize=500&future_only=True&startDate=2026-01-01T00:00:00%2B01:00&endDate=2026-02-01&page_size=7", Token: g.token()})
		l := g.bookings.listed
		if l.GetPage() != 2 || l.GetPageSize() != 500 || !l.GetFutureOnly() || l.GetStartDate() != "2026-01-01T00:00:00+01:00" || l.GetEndDate() != "2026-02-01" {
			t.Errorf("requested %v", l)
		}
		g.do(request{Method: http.MethodGet, Path: list + "?pageSize=99999999999999999999&startDate=2026-01-01T00:00:00+01:00&endDate=2026-02-01T00:00:00+01:00", Token: g.token()})
		if l := g.bookings.listed; l.GetPageSize() != 2147483647 || l.GetStartDate() != "2026-01-01T00:00:00+01:00" || l.GetEndDate() != "2026-02-01T00:00:00+01:00" {
			t.Errorf("with unescaped offsets: requested %v", l)
		}
		g.do(request{Method: http.MethodGet, Path: list, Token: g.token()})
		if l := g.bookings.listed; l.Page != nil || l.PageSize != nil || l.GetFutureOnly() || l.StartDate != nil || l.EndDate != nil {
			t.Errorf("requested %v", l)
		}
	})
	t.Run("gives the service's parameters the names of the interface", func(t *testing.T) {
		g.bookings.err = fault.InvalidParameter("start_date", "format", "must be a date")
		defer func() { g.bookings.err = nil }()
		if a := g.do(request{Method: http.MethodGet, Path: list, Token: g.token()}); a.Code != 400 || !strings.Contains(a.Body, `"message":"startDate must be a date"`) {
			t.Errorf("got %d %s", a.Code, a.Body)
		}
	})
}
