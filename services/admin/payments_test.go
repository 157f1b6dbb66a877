package admin

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/money"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// withBooking answers with a booking of £12.50 by card.
func withBooking(w *world) *bookingv1.Registration {
	r := &bookingv1.Registration{
		Purchaser: &bookingv1.CustomerReference{Id: "cust_1", FirstName: "Ann", LastName: "Smith"}, Version: 4,
		Booking: &bookingv1.Booking{
			Id: "booking_1", Spaces: 1, EventId: "evt_1", EventTitle: "Yoga", EventDateId: "date_1", StartsAt: timestamppb.Now(),
			Payment: &bookingv1.Booking_Card{Card: &bookingv1.CardPayment{Currency: "GBP", Gross: 1250}},
		},
	}
	on(w.backend, "GetRegistration", func(*bookingv1.GetRegistrationRequest) (*bookingv1.GetRegistrationResponse, error) {
		return &bookingv1.GetRegistrationResponse{Registration: r}, nil
	})
	on(w.backend, "PreviewCancellation", func(*bookingv1.PreviewCancellationRequest) (*bookingv1.PreviewCancellationResponse, error) {
		return &bookingv1.PreviewCancellationResponse{Outcome: &bookingv1.CancellationOutcome{}}, nil
	})
	return r
}

func TestPaymentMethods(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withEvent(w, "Yoga", "Ann")
	on(w.backend, "CreateTransaction", func(req *bookingv1.CreateTransactionRequest) (*bookingv1.CreateTransactionResponse, error) {
		return &bookingv1.CreateTransactionResponse{Transaction: &bookingv1.Transaction{Bookings: []*bookingv1.Booking{{
			Id: "booking_9", Spaces: 1, Payment: &bookingv1.Booking_Card{Card: &bookingv1.CardPayment{Currency: "GBP", Gross: 1250, Method: req.GetPaymentMethod()}},
		}}}}, nil
	})
	const path = "/events/evt_1/dates/date_1/book"
	form := w.page(path + "?customer=cust_1")
	for _, method := range enum.Names[bookingv1.PaymentMethod]() {
		if method == "pass" {
			continue // Ann has none
		}
		if !strings.Contains(form, `name="method" value="`+method+`"`) {
			t.Errorf("the form does not offer %s", method)
		}
		a := w.post(path, "customer", "cust_1", "spaces", "1", "option", "po-1", "method", method, "reference", "till 4", "discount", "SUMMER")
		if a.to() == "" {
			t.Fatal(describe(a))
		}
		req := last[*bookingv1.CreateTransactionRequest](w, "CreateTransaction")
		if enum.Name(req.GetPaymentMethod()) != method {
			t.Errorf("%s is booked as %s", method, req.GetPaymentMethod())
		}
		if given := req.GetPaymentReference() + req.GetDiscountCode(); (given == "") != (method == "free") {
			t.Errorf("%s has the reference and discount %q", method, given)
		}
	}
	for method, want := range map[bookingv1.PaymentMethod]string{
		bookingv1.PaymentMethod_PAYMENT_METHOD_UNSPECIFIED: "£12.50", bookingv1.PaymentMethod_PAYMENT_METHOD_CARD: "£12.50",
		bookingv1.PaymentMethod_PAYMENT_METHOD_CASH: "£12.50 (cash)", bookingv1.PaymentMethod_PAYMENT_METHOD_BANK_TRANSFER: "£12.50 (bank transfer)",
		bookingv1.PaymentMethod_PAYMENT_METHOD_OTHER: "£12.50 (another way)", bookingv1.PaymentMethod_PAYMENT_METHOD_ONLINE: "£12.50 (online)",
	} {
		withBooking(w).GetBooking().GetCard().Method = method
		w.get("/bookings/booking_1").must(t, "\n      "+want+"\n")
	}
	free := withBooking(w).GetBooking().GetCard()
	free.Gross, free.Method = 0, bookingv1.PaymentMethod_PAYMENT_METHOD_FREE
	w.get("/bookings/booking_1").must(t, "free of charge")
}

func TestPaymentOfAPass(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withEvent(w, "Yoga", "Ann")
	on(w.backend, "AssignCustomerPass", func(*passv1.AssignCustomerPassRequest) (*passv1.AssignCustomerPassResponse, error) {
		return &passv1.AssignCustomerPassResponse{CustomerPass: &passv1.CustomerPass{Id: "cp_1"}}, nil
	})
	on(w.backend, "ListPassTypes", func(*passv1.ListPassTypesRequest) (*passv1.ListPassTypesResponse, error) {
		return &passv1.ListPassTypesResponse{PassTypes: []*passv1.PassType{{Id: "pass_1", Title: "Ten", TotalUses: 10, ValidityCount: 6, ValidityUnit: passv1.ValidityUnit_VALIDITY_UNIT_MONTH}}}, nil
	})
	form := w.page("/customers/cust_1/assign")
	for _, method := range money.PassMethods() {
		value := strings.ToLower(method)
		if !strings.Contains(form, `name="paid" value="`+value+`"`) {
			t.Errorf("the form does not offer %s", method)
		}
		w.post("/customers/cust_1/assign", "type", "pass_1", "start", "2026-11-23", "paid", value, "reference", "till 4")
		bought := last[*passv1.AssignCustomerPassRequest](w, "AssignCustomerPass").GetPurchase()
		if method == money.MethodFree && bought != nil || method != money.MethodFree && (bought.GetMethod() != method || bought.GetReference() != "till 4") {
			t.Errorf("%s is assigned with %v", method, bought)
		}
	}
	if !strings.Contains(form, `value="card" checked`) {
		t.Error("no payment is selected")
	}
}

func TestCancellation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	b := withBooking(w).GetBooking()
	on(w.backend, "CancelBooking", func(*bookingv1.CancelBookingRequest) (*bookingv1.CancelBookingResponse, error) {
		return &bookingv1.CancelBookingResponse{Changed: true}, nil
	})
	w.get("/bookings/booking_1/cancel").must(t, `name="reason"`)
	w.post("/bookings/booking_1/cancel", "reason", " Ill ")
	if req := last[*bookingv1.CancelBookingRequest](w, "CancelBooking"); req.GetReason() != "Ill" || req.GetWaivePolicy() {
		t.Errorf("%v", req)
	}
	if got := last[*authv1.RecordAuditEntryRequest](w, "RecordAuditEntry"); !slices.ContainsFunc(got.GetDetails(), func(d *authv1.AuditDetail) bool {
		return d.GetField() == "reason" && d.GetAfter() == "Ill"
	}) {
		t.Errorf("%v", got)
	}
	b.IsCancelled, b.CancelledAt, b.Late, b.CancellationReason = true, timestamppb.Now(), true, "<b>Ill</b>"
	b.RefundDue, b.RefundedAmount, b.RefundedAt, b.CreditsReturned = 750, 500, timestamppb.Now(), 2
	w.get("/bookings/booking_1").must(t, "Late, so the cancellation itself refunds nothing.", "&lt;b&gt;Ill&lt;/b&gt;", "£7.50", "£5.00", "2 credits", "Record the refund…")
}

func TestLateCancellationAfterACheaperMove(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	withBooking(w)
	outcome := &bookingv1.CancellationOutcome{Late: true, FreeUntil: timestamppb.Now(), RefundDue: 1100, Currency: "GBP"}
	on(w.backend, "PreviewCancellation", func(*bookingv1.PreviewCancellationRequest) (*bookingv1.PreviewCancellationResponse, error) {
		return &bookingv1.PreviewCancellationResponse{Outcome: outcome}, nil
	})
	on(w.backend, "CancelBooking", func(*bookingv1.CancelBookingRequest) (*bookingv1.CancelBookingResponse, error) {
		return &bookingv1.CancelBookingResponse{Changed: true, Outcome: outcome}, nil
	})
	for _, page := range []string{"/bookings/booking_1", "/bookings/booking_1/cancel"} {
		a := w.get(page)
		a.must(t, "he refund of £11.00 stays due, but the rest of the payment is not refunded.")
		if strings.Contains(strings.ToLower(a.body), "money is not refunded") {
			t.Errorf("%s says that nothing is refunded", page)
		}
	}
	w.get(w.post("/bookings/booking_1/cancel").to()).must(t, "so the rest of the payment is not refunded. Refund due: £11.00. Refund it through")
}

func TestRefunds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	registration := withBooking(w)
	b := registration.GetBooking()
	const path = "/bookings/booking_1/refund"
	on(w.backend, "RefundBooking", func(req *bookingv1.RefundBookingRequest) (*bookingv1.RefundBookingResponse, error) {
		if req.ExpectedVersion != nil && req.GetExpectedVersion() != registration.GetVersion() {
			return nil, fault.Stale("booking", registration.GetVersion())
		}
		return &bookingv1.RefundBookingResponse{Changed: true}, nil
	})
	t.Run("suggests what is due, or else all that is left", func(t *testing.T) {
		w.get(path).must(t, `value="12.50"`, "Up to £12.50")
		b.RefundDue, b.RefundedAmount, b.IsRefunded = 600, 250, true
		w.get(path).must(t, `value="6.00"`, "Up to £10.00", `name="version" value="4"`)
	})
	t.Run("records a part of the price", func(t *testing.T) {
		a := w.post(path, "amount", "2.5", "version", "4")
		if a.to() != "/bookings/booking_1" {
			t.Fatal(describe(a))
		}
		if req := last[*bookingv1.RefundBookingRequest](w, "RefundBooking"); req.GetAmount() != 250 {
			t.Errorf("%v", req)
		}
		got := last[*authv1.RecordAuditEntryRequest](w, "RecordAuditEntry")
		if got.GetAction() != "booking.refund" || got.GetDetails()[0].GetAfter() != "£2.50" {
			t.Errorf("%v", got)
		}
		w.get(a.to()).must(t, "The refund of £2.50 was recorded.")
	})
	t.Run("refuses other amounts without a call", func(t *testing.T) {
		w.backend.count()
		for typed, want := range map[string]string{"": "Enter the amount.", "x": "must be an amount", "0": "from £0.01 to £10.00", "10.01": "from £0.01 to £10.00"} {
			a := w.post(path, "amount", typed, "version", "4")
			if a.StatusCode != http.StatusUnprocessableEntity {
				t.Error(describe(a))
			}
			a.must(t, want, `value="`+typed+`"`)
		}
		if len(w.backend.called("RefundBooking")) > 0 {
			t.Error("the service was called")
		}
	})
	t.Run("does not refund after a change that the page does not show", func(t *testing.T) {
		w.post(path, "amount", "12.50", "version", "3").must(t, "Someone else has changed this", `name="version" value="4"`)
	})
	t.Run("returns the credits of a pass as a whole", func(t *testing.T) {
		b.Payment, b.IsRefunded, b.RefundDue, b.RefundedAmount = &bookingv1.Booking_Pass{Pass: &bookingv1.PassPayment{CreditsUsed: 2}}, false, 0, 0
		if body := w.page(path); strings.Contains(body, `name="amount"`) || !strings.Contains(body, "2 credits return to the pass") {
			t.Error(text(body))
		}
		w.post(path, "version", "4")
		if req := last[*bookingv1.RefundBookingRequest](w, "RefundBooking"); req.Amount != nil {
			t.Errorf("%v", req)
		}
	})
	t.Run("offers no refund if nothing is left", func(t *testing.T) {
		b.IsRefunded = true
		a := w.get(path)
		w.get(a.to()).must(t, "already recorded as refunded")
		if body := w.page("/bookings/booking_1"); strings.Contains(body, "/refund") {
			t.Error(text(body))
		}
		on(w.backend, "RefundBooking", func(*bookingv1.RefundBookingRequest) (*bookingv1.RefundBookingResponse, error) {
			return &bookingv1.RefundBookingResponse{Booking: proto.Clone(b).(*bookingv1.Booking)}, nil
		})
		w.backend.count()
		w.get(w.post(path, "version", "4").to()).must(t, "already recorded as refunded")
		if len(w.backend.called("RecordAuditEntry")) > 0 {
			t.Error("a refund that changed nothing is in the audit log")
		}
	})
}
