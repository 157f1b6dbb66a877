package convert

import (
	"strings"
	"testing"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

func TestPaymentOf(t *testing.T) {
	const card, pass = bookingv1.PaymentMethod_PAYMENT_METHOD_CARD, bookingv1.PaymentMethod_PAYMENT_METHOD_PASS
	tests := []struct {
		behaviour   string
		payment     PaymentRequest
		field, rule string
	}{
		{"a long reference", PaymentRequest{Reference: strings.Repeat("é", 201)}, "payment_reference", "max_length"},
		{"a reference with NUL", PaymentRequest{Reference: "a\x00"}, "payment_reference", "characters"},
		{"a pass for a payment by card", PaymentRequest{Method: card, Pass: id.New[id.CustomerPass]().String()}, "customer_pass_id", "method"},
		{"a reference for a payment by pass", PaymentRequest{Method: pass, Reference: "x"}, "payment_reference", "method"},
		{"an unknown method", PaymentRequest{Method: 9}, "payment_method", "enum"},
	}
	for _, tt := range tests {
		t.Run(tt.behaviour, func(t *testing.T) {
			_, err := Payment(tt.payment)
			f := fault.From(err)
			if f == nil || f.Reason != fault.ReasonValidation || f.Fields[0].Field != tt.field || f.Fields[0].Rule != tt.rule {
				t.Fatalf("got %v", f)
			}
		})
	}
	t.Run("a malformed pass is NOT_FOUND", func(t *testing.T) {
		if _, err := Payment(PaymentRequest{Method: pass, Pass: "cp_x"}); !fault.Is(err, fault.NotFound) {
			t.Errorf("got %v", err)
		}
	})
}
