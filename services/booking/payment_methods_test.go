package booking

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

const free = bookingv1.PaymentMethod_PAYMENT_METHOD_FREE

// moneyMethods are the payment methods other than a pass.
func moneyMethods() []bookingv1.PaymentMethod {
	return []bookingv1.PaymentMethod{
		bookingv1.PaymentMethod_PAYMENT_METHOD_CARD, bookingv1.PaymentMethod_PAYMENT_METHOD_CASH,
		bookingv1.PaymentMethod_PAYMENT_METHOD_BANK_TRANSFER, bookingv1.PaymentMethod_PAYMENT_METHOD_ONLINE,
		bookingv1.PaymentMethod_PAYMENT_METHOD_OTHER, free,
	}
}

// wantPayment checks the payment of the first booking of a transaction, as it is in the response, in the
// event and when it is read again.
func (w *world) wantPayment(got *bookingv1.Transaction, method bookingv1.PaymentMethod, gross int64) {
	w.t.Helper()
	if method == free {
		gross = 0
	}
	card := got.GetBookings()[0].GetCard()
	if card.GetMethod() != method || card.GetGross() != gross || (card.GetNet() == 0) != (gross == 0) || card.GetCurrency() != "GBP" {
		w.t.Errorf("%s: got %v", method, card)
	}
	if event := announced(w, subjectBookingConfirmed, &bookingv1.BookingConfirmed{}); !proto.Equal(event.GetBooking().GetBooking().GetCard(), card) {
		w.t.Errorf("%s: the event has %v", method, event)
	}
	read, err := w.bookings.GetTransaction(w.ctx, &bookingv1.GetTransactionRequest{TransactionId: got.GetId()})
	if err != nil || !proto.Equal(read.GetTransaction(), got) {
		w.t.Errorf("%s: read %v, %v\nwant %v", method, read.GetTransaction(), err, got)
	}
}

func TestPaymentMethods(t *testing.T) { // invariant 11
	t.Parallel()
	w := newWorld(t)
	ann := w.customer(w.company, "ann")
	e := w.event(w.ctx, nil)
	gift := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{
		Title: "Open day", Dates: []*bookingv1.NewEventDate{newDate(time.Hour, nil)}, PricingOptions: []*bookingv1.NewPricingOption{{Name: "Free"}},
	})
	buy := func(e *bookingv1.Event, method bookingv1.PaymentMethod, code string) (*bookingv1.Transaction, error) {
		resp, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{
			PurchaserId: ann.String(), PaymentMethod: method, PaymentReference: "no. 7", DiscountCode: code,
			Lines: []*bookingv1.TransactionLine{{EventId: e.GetId()}},
		})
		return resp.GetTransaction(), err
	}
	for _, method := range moneyMethods() {
		t.Run(method.String()+" is recorded with a purchase, also of a price of 0", func(t *testing.T) {
			got, err := buy(e, method, "")
			if err != nil {
				t.Fatal(err)
			}
			w.wantPayment(got, method, 1200)
			if got, err = buy(gift, method, ""); err != nil {
				t.Fatal(err)
			}
			w.wantPayment(got, method, 0)
		})
		t.Run(method.String()+" pays for a hold", func(t *testing.T) {
			resp, err := w.bookings.ConfirmHold(w.ctx, &bookingv1.ConfirmHoldRequest{HoldId: w.hold(ann, e, 1, "").GetId(), PaymentMethod: method, PaymentReference: "no. 8"})
			if err != nil {
				t.Fatal(err)
			}
			w.wantPayment(resp.GetTransaction(), method, 1200)
		})
		t.Run(method.String()+" pays for a waitlist entry", func(t *testing.T) {
			full, bought := w.fullEvent(1)
			price := bought.GetBookings()[0].GetCard().GetGross()
			entry, err := w.join(&bookingv1.JoinWaitlistRequest{Mode: byBooking, PaymentMethod: method}, w.customer(w.company, "ben"), full)
			if err != nil || entry.GetPaymentMethod() != method {
				t.Fatalf("got %v, %v", entry, err)
			}
			w.cancel(bought)
			made, err := w.bookings.GetTransaction(w.ctx, &bookingv1.GetTransactionRequest{TransactionId: w.entry(entry).GetTransactionId()})
			if err != nil {
				t.Fatal(err)
			}
			w.wantPayment(made.GetTransaction(), method, price)
		})
		t.Run(method.String()+" accepts an offer", func(t *testing.T) {
			full, bought := w.fullEvent(1)
			entry := w.waits(full, 1, bookingv1.WaitlistMode_WAITLIST_MODE_OFFER)
			w.cancel(bought)
			resp, err := w.waitlist.AcceptOffer(w.ctx, &bookingv1.AcceptOfferRequest{Id: entry.GetId(), PaymentMethod: method})
			if err != nil {
				t.Fatal(err)
			}
			w.wantPayment(resp.GetTransaction(), method, bought.GetBookings()[0].GetCard().GetGross())
		})
		t.Run(method.String()+" is imported", func(t *testing.T) {
			line := past("p-"+method.String(), ann.String(), "yoga", 1)
			line.Bookings[0].GetCard().Method = method
			if method == free {
				line.Bookings[0].GetCard().Gross, line.Bookings[0].GetCard().Net = 0, 0
			}
			line.Bookings[0].GetImportedDate().Capacity = nil
			line.Bookings[0].GetImportedDate().EventReference = method.String()
			made, err := w.bookings.GetTransaction(w.ctx, &bookingv1.GetTransactionRequest{TransactionId: w.mustSend(line)[0].GetId()})
			if err != nil || !proto.Equal(made.GetTransaction().GetBookings()[0].GetCard(), line.Bookings[0].GetCard()) {
				t.Errorf("got %v, %v", made, err)
			}
		})
	}
	t.Run("money of every method is refunded", func(t *testing.T) {
		for _, method := range moneyMethods() {
			got, err := buy(e, method, "")
			if err != nil {
				t.Fatal(err)
			}
			b := got.GetBookings()[0]
			resp, err := w.bookings.RefundBooking(w.ctx, &bookingv1.RefundBookingRequest{BookingId: b.GetId()})
			if err != nil || !resp.GetBooking().GetIsRefunded() || resp.GetBooking().GetRefundedAmount() != b.GetCard().GetGross() {
				t.Errorf("%s: got %v, %v", method, resp, err)
			}
		}
	})
	w.verify()
	w.inStep()
}

func TestPaymentMethodFaults(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.customer(w.company, "ann")
	e := w.event(w.ctx, nil)
	w.code(&bookingv1.CreateDiscountCodeRequest{Code: "SPRING", Reduction: &bookingv1.CreateDiscountCodeRequest_BasisPoints{BasisPoints: 1000}})
	lines := []*bookingv1.TransactionLine{{EventId: e.GetId()}}
	t.Run("a discount cannot be combined with FREE", func(t *testing.T) {
		_, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{PurchaserId: ann.String(), Lines: lines, PaymentMethod: free, DiscountCode: "SPRING"})
		wantFault(t, err, fault.Refused, model.ReasonDiscountInvalid)
		held := w.hold(ann, e, 1, "SPRING")
		_, err = w.bookings.ConfirmHold(w.ctx, &bookingv1.ConfirmHoldRequest{HoldId: held.GetId(), PaymentMethod: free})
		wantFault(t, err, fault.Refused, model.ReasonDiscountInvalid)
		resp, err := w.bookings.ConfirmHold(w.ctx, &bookingv1.ConfirmHoldRequest{HoldId: held.GetId(), PaymentMethod: bookingv1.PaymentMethod_PAYMENT_METHOD_CASH})
		if card := resp.GetTransaction().GetBookings()[0].GetCard(); err != nil || card.GetGross() != 1080 || card.GetDiscount() != 120 {
			t.Errorf("with another method: %v, %v", resp, err)
		}
	})
	t.Run("names the wrong field of a payment", func(t *testing.T) {
		pass := id.New[id.CustomerPass]().String()
		for _, tt := range []struct {
			field, rule string
			req         *bookingv1.CreateTransactionRequest
		}{
			{"payment_method", "enum", &bookingv1.CreateTransactionRequest{PaymentMethod: 99}},
			{"payment_reference", "method", &bookingv1.CreateTransactionRequest{PaymentMethod: byPass, PaymentReference: "x"}},
			{"customer_pass_id", "method", &bookingv1.CreateTransactionRequest{PaymentMethod: free, CustomerPassId: pass}},
			{"customer_pass_id", "method", &bookingv1.CreateTransactionRequest{CustomerPassId: pass}},
		} {
			tt.req.PurchaserId, tt.req.Lines = ann.String(), lines
			_, err := w.bookings.CreateTransaction(w.ctx, tt.req)
			wantField(t, err, tt.field, tt.rule)
		}
		_, err := w.join(&bookingv1.JoinWaitlistRequest{PaymentMethod: free}, ann, e)
		wantField(t, err, "payment_method", "exclusive")
	})
	t.Run("refuses an imported payment whose method does not fit", func(t *testing.T) {
		for want, card := range map[string]*bookingv1.CardPayment{
			"bookings[0].card.method": {Currency: "GBP", Gross: 1, Method: byPass},
			"bookings[0].card.gross":  {Currency: "GBP", Gross: 1, Method: free},
		} {
			line := past(want, ann.String(), "yoga", 1)
			line.Bookings[0].Payment = &bookingv1.ImportedBooking_Card{Card: card}
			if got := w.mustSend(line)[0]; got.GetOutcome() != refused || got.GetField() != want {
				t.Errorf("got %v", got)
			}
		}
		line := past("unknown", ann.String(), "yoga", 1)
		line.Bookings[0].GetCard().Method = 99
		if got := w.mustSend(line)[0]; got.GetField() != "bookings[0].card.method" || got.GetRule() != "enum" {
			t.Errorf("got %v", got)
		}
	})
}
