package admin

import (
	"strings"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/money"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// moneyMethods returns the ways to pay without a pass, as a form offers them.
func moneyMethods() []grant { return methodsOf(money.PassMethods()) }

// methodsOf returns ways to pay as a form offers them.
func methodsOf(names []string) []grant {
	return views(names, func(name string) grant {
		method := strings.ToLower(name)
		return grant{Name: method, Title: msg("desk.pay.method." + method)}
	})
}

// payment is how a booking is paid, as a form selects it.
type payment struct {
	method                    bookingv1.PaymentMethod
	pass, reference, discount string
}

// payment reads the fields of a payment. It leaves out what does not belong to the selected method.
func (f *form) payment() payment {
	method, known := enum.Parse[bookingv1.PaymentMethod](f.text("method"))
	if !known {
		method = bookingv1.PaymentMethod_PAYMENT_METHOD_CARD
	}
	switch method {
	case bookingv1.PaymentMethod_PAYMENT_METHOD_PASS:
		return payment{method: method, pass: f.text("pass")}
	case bookingv1.PaymentMethod_PAYMENT_METHOD_FREE:
		return payment{method: method}
	}
	return payment{method: method, reference: f.text("reference"), discount: f.text("discount")}
}

// paid says what was paid for a booking: "2 credits", "£12.50", "£11.25 with SUMMER (cash)".
func paid(b *bookingv1.Booking) *message {
	if p := b.GetPass(); p != nil {
		return creditsText(p.GetCreditsUsed())
	}
	card := b.GetCard()
	price := priceOrFree(card.GetGross(), card.GetCurrency())
	if code := card.GetDiscountCode(); code != "" {
		price = msg("desk.price.with_discount", "price", price, "code", code)
	}
	if method := strings.ToUpper(enum.Name(card.GetMethod())); card.GetGross() != 0 || method == money.MethodFree {
		return byMethod(price, method)
	}
	return price
}

// byMethod adds to a price how it was paid, unless it was by card. Method is as in package money; ""
// means card.
func byMethod(price *message, method string) *message {
	switch method {
	case "", money.MethodCard:
		return price
	case money.MethodFree:
		return msg("desk.pay.free_of_charge")
	}
	return msg("desk.pay.by", "price", price, "method", msg("desk.pay.in."+strings.ToLower(method)).or(method))
}

// sum returns the first of the bookings of a purchase, with the payment of all.
func sum(bookings []*bookingv1.Booking) *bookingv1.Booking {
	all := proto.CloneOf(bookings[0])
	for _, b := range bookings[1:] {
		if p := all.GetPass(); p != nil {
			p.CreditsUsed += b.GetPass().GetCreditsUsed()
		} else if c := all.GetCard(); c != nil {
			c.Gross += b.GetCard().GetGross()
		}
	}
	return all
}
