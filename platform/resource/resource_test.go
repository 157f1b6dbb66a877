package resource

import (
	"strings"
	"testing"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/money"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// TestNamesAreTheServices compares the names of enum values, which are listed by their number, with the
// service's enums.
func TestNamesAreTheServices(t *testing.T) {
	t.Parallel()
	for what, pair := range map[string][2][]string{
		"payment methods":   {money.BookingMethods(), enum.Names[bookingv1.PaymentMethod]()},
		"attendance":        {AttendanceNames(), enum.Names[bookingv1.Attendance]()},
		"waitlist statuses": {append(WaitlistStatusNames(), "closed"), enum.Names[bookingv1.WaitlistState]()},
	} {
		ours, theirs := strings.ToLower(strings.Join(pair[0], " ")), strings.Join(pair[1], " ")
		if got := strings.ReplaceAll(ours, "attended", "checked_in"); got != theirs {
			t.Errorf("%s: got %s, the service has %s", what, ours, theirs)
		}
	}
}

func TestIdentifiers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ got, want string }{
		{RegistrationID("booking_x"), "reg_x"}, {BookingID("reg_x"), "booking_x"}, {BookingID("booking_x"), ""}, {BookingID(""), ""},
		{HoldID("txn_x"), "hold_x"}, {HoldTransactionID("hold_x"), "txn_x"}, {HoldTransactionID("txn_x"), ""},
		{SubscriptionPassID("sub_x"), "cp_x"}, {SubscriptionPassID("cp_x"), ""}, {SubscriptionPassID(""), ""},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func TestATransactionOrHoldCanHaveSeveralCurrencies(t *testing.T) {
	t.Parallel()
	card := func(currency string, gross int64, code string) *bookingv1.Booking {
		return &bookingv1.Booking{Payment: &bookingv1.Booking_Card{Card: &bookingv1.CardPayment{
			Currency: currency, Gross: gross, DiscountCode: code, Method: bookingv1.PaymentMethod_PAYMENT_METHOD_BANK_TRANSFER,
		}}}
	}
	got := Transaction(&bookingv1.Transaction{Bookings: []*bookingv1.Booking{card("EUR", 500, ""), card("USD", 900, ""), card("EUR", 25, "SPRING")}}, "GBP")
	if got.GetTotal().GetMinor() != 525 || got.GetCurrency() != "EUR" || got.GetPaymentMethod() != "BANK_TRANSFER" || got.GetDiscountCode().GetValue() != "SPRING" {
		t.Errorf("got %v", got)
	}
	if h := Hold(&bookingv1.Hold{Bookings: []*bookingv1.Booking{card("EUR", 500, ""), card("USD", 900, "")}}, "GBP"); h.GetTotal().GetMinor() != 500 || h.GetCurrency() != "EUR" {
		t.Errorf("got %v", h)
	}
	if r := got.GetRegistrations()[1]; r.GetTotalPaid().GetMinor() != 900 || r.GetCurrency() != "USD" {
		t.Errorf("got %v", r)
	}
}

// TestARegistrationIsTheSameEverywhere renders one booking as the service's list has it and as a domain
// event has it.
func TestARegistrationIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	b := &bookingv1.Booking{Id: "booking_x", Spaces: 2, Payment: &bookingv1.Booking_Pass{Pass: &bookingv1.PassPayment{CreditsUsed: 2, CustomerPassId: "cp_x"}}}
	who := &bookingv1.CustomerReference{Id: "cust_x", FirstName: "Zoë"}
	listed := Registration(&bookingv1.Registration{Booking: b, TransactionId: "txn_x", Purchaser: who}, "GBP")
	announced := RegistrationAt(&bookingv1.BookingSnapshot{Booking: b, TransactionId: "txn_x", Purchaser: who}, "GBP")
	if got, want := string(JSON(announced)), string(JSON(listed)); got != want || !strings.Contains(got, `"totalPaid":0,"currency":"GBP","paymentMethod":"PASS","passUsed":"cp_x"`) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
