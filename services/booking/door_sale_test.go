package booking

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// Tests of sales at the door: after the start, and with a payment for each line.

// startedEvent creates an event whose date began some time ago.
func (w *world) startedEvent(ago time.Duration, capacity int32, rules *bookingv1.BookingRules) *bookingv1.Event {
	w.t.Helper()
	e := w.ruled(capacity, time.Hour, rules)
	w.exec(`update event_dates set starts_at = $2 where id = $1`, idOf[id.EventDate](w.t, e.GetDates()[0].GetId()), time.Now().Add(-ago))
	return e
}

func (w *world) late(c id.Customer, reason string, lines ...*bookingv1.TransactionLine) (*bookingv1.Transaction, error) {
	resp, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{PurchaserId: c.String(), Lines: lines, AfterStartReason: reason})
	return resp.GetTransaction(), err
}

func lineOf(e *bookingv1.Event, spaces int32) *bookingv1.TransactionLine {
	return &bookingv1.TransactionLine{EventDateId: e.GetDates()[0].GetId(), Spaces: spaces}
}

func TestBookingAfterTheStart(t *testing.T) { // invariants 25 and 50
	t.Parallel()
	w := newWorld(t)
	mia := w.customer(w.company, "Mia")
	closed := &bookingv1.BookingRules{ClosesAt: inSeconds(-2 * time.Hour), MinimumNoticeMinutes: 60}
	t.Run("books a date of yesterday with a reason, although its booking window has closed, and keeps the reason", func(t *testing.T) {
		for _, rules := range []*bookingv1.BookingRules{nil, closed} {
			e := w.startedEvent(24*time.Hour, 5, rules)
			_, err := w.late(mia, "", lineOf(e, 1))
			if f := wantFault(t, err, fault.Refused, model.ReasonEventPast); !strings.Contains(f.Message, "with a reason") {
				t.Errorf("got %v", f)
			}
			bought, err := w.late(mia, " Forgot her phone. ", lineOf(e, 1))
			if err != nil || w.booked(e) != 1 {
				t.Fatalf("got %v, %v", bought, err)
			}
			if got := w.history(bought.GetBookings()[0].GetId()); got[0].GetReason() != "Forgot her phone." {
				t.Errorf("the history is %v", got)
			}
		}
		if n := one[int64](w, `select count(*) from transactions where after_start_reason = 'Forgot her phone.'`); n != 2 {
			t.Errorf("%d reasons are stored", n)
		}
	})
	t.Run("a reason is not kept if no date has started", func(t *testing.T) {
		e := w.movingEvent(5, 48, 72)
		line := &bookingv1.TransactionLine{EventDateId: e.GetDates()[0].GetId(), PricingOptionId: e.GetPricingOptions()[0].GetId(), Spaces: 1}
		bought, err := w.late(mia, "needless", line)
		if err != nil {
			t.Fatal(err)
		}
		b := bought.GetBookings()[0]
		w.mustTransfer(b.GetId(), w.customer(w.company, "Tom"), because("needless"))
		w.mustMove(b, &bookingv1.MoveBookingRequest{EventDateId: e.GetDates()[1].GetId(), AfterStartReason: "needless"})
		if got := w.history(b.GetId()); actions(got) != "booked transferred moved" || got[0].GetReason()+got[1].GetReason()+got[2].GetReason() != "" {
			t.Errorf("the history is %v", got)
		}
	})
	t.Run("refuses a date that began more than 31 days ago", func(t *testing.T) {
		_, err := w.late(mia, "late", lineOf(w.startedEvent(31*24*time.Hour+time.Hour, 5, nil), 1))
		wantFault(t, err, fault.Refused, model.ReasonEventPast)
		if _, err := w.late(mia, "late", lineOf(w.startedEvent(31*24*time.Hour-time.Hour, 5, nil), 1)); err != nil {
			t.Error(err)
		}
	})
	t.Run("every other rule applies: spaces, once per customer, and a cancelled date", func(t *testing.T) {
		e := w.startedEvent(time.Hour, 2, &bookingv1.BookingRules{OncePerCustomer: true})
		_, err := w.late(mia, "late", lineOf(e, 3))
		wantFault(t, err, fault.Refused, model.ReasonEventFull)
		if _, err := w.late(mia, "late", lineOf(e, 1)); err != nil {
			t.Fatal(err)
		}
		_, err = w.late(mia, "late", lineOf(e, 1))
		wantFault(t, err, fault.Refused, model.ReasonAlreadyBooked)
		if _, err := w.cancelDate(w.ctx, e.GetDates()[0].GetId()); err != nil {
			t.Fatal(err)
		}
		_, err = w.late(w.customer(w.company, "Ben"), "late", lineOf(e, 1))
		wantFault(t, err, fault.Refused, model.ReasonEventCancelled)
	})
	t.Run("the booking window of a date that is to come applies in the same order", func(t *testing.T) {
		past, closing := w.startedEvent(time.Hour, 5, nil), w.ruled(5, time.Hour, closed)
		_, err := w.late(mia, "late", lineOf(past, 1), lineOf(closing, 1))
		wantFault(t, err, fault.Refused, model.ReasonBookingClosed)
		if w.booked(past) != 0 {
			t.Error("one line was booked")
		}
		if _, err := w.late(mia, "late", lineOf(past, 1), lineOf(w.event(w.ctx, nil), 1)); err != nil {
			t.Error(err)
		}
	})
	t.Run("refuses a reason that is too long or has control characters", func(t *testing.T) {
		e := w.startedEvent(time.Hour, 5, nil)
		for _, reason := range []string{strings.Repeat("x", model.MaxReason+1), "a\x00b"} {
			_, err := w.late(mia, reason, lineOf(e, 1))
			if f := fault.From(err); f.Kind != fault.Invalid || f.Fields[0].Field != "after_start_reason" {
				t.Errorf("got %v", err)
			}
		}
	})
	w.verify()
}

const cash = bookingv1.PaymentMethod_PAYMENT_METHOD_CASH

// payments of the lines of a mixed sale.
func paidBy(l *bookingv1.TransactionLine, m bookingv1.PaymentMethod, reference string) *bookingv1.TransactionLine {
	l.Payment = &bookingv1.LinePayment{Method: m, Reference: reference}
	return l
}

// mixed requests a line by pass, one in cash and one as the request says.
func mixed(c id.Customer, e *bookingv1.Event) *bookingv1.CreateTransactionRequest {
	return &bookingv1.CreateTransactionRequest{PurchaserId: c.String(), PaymentReference: "ch_1", Lines: []*bookingv1.TransactionLine{
		paidBy(lineOf(e, 2), byPass, ""), paidBy(lineOf(e, 1), cash, "till 3"), lineOf(e, 1),
	}}
}

// wantMixed checks the payments of a mixed sale.
func wantMixed(t *testing.T, bought *bookingv1.Transaction, pass id.CustomerPass) {
	t.Helper()
	if len(bought.GetBookings()) != 3 {
		t.Fatalf("got %v", bought)
	}
	credits, inCash, card := bought.GetBookings()[0], bought.GetBookings()[1], bought.GetBookings()[2]
	if credits.GetPass().GetCreditsUsed() != 2 || credits.GetPass().GetCustomerPassId() != pass.String() || credits.GetPrice() != 0 {
		t.Errorf("by pass: %v", credits)
	}
	if c := inCash.GetCard(); c.GetMethod() != cash || c.GetGross() != 1000 || c.GetReference() != "till 3" || inCash.GetPrice() != 1000 {
		t.Errorf("in cash: %v", inCash)
	}
	if c := card.GetCard(); c.GetMethod() != bookingv1.PaymentMethod_PAYMENT_METHOD_CARD || c.GetGross() != 1000 || c.GetReference() != "ch_1" {
		t.Errorf("by card: %v", card)
	}
}

func TestMixedSale(t *testing.T) { // invariants 2, 11 and 15
	t.Parallel()
	w := newWorld(t)
	mia := w.customer(w.company, "Mia")
	pass := w.passes.give(mia, 2)
	e := w.passEvent(new(int32(100)), time.Hour, nil)
	t.Run("pays each line in its own way, in one transaction", func(t *testing.T) {
		resp, err := w.bookings.CreateTransaction(w.ctx, mixed(mia, e))
		if err != nil {
			t.Fatal(err)
		}
		wantMixed(t, resp.GetTransaction(), pass)
		read, err := w.bookings.GetTransaction(w.ctx, &bookingv1.GetTransactionRequest{TransactionId: resp.GetTransaction().GetId()})
		if err != nil || !proto.Equal(read.GetTransaction(), resp.GetTransaction()) || w.passes.credits(pass) != 0 || w.published(subjectBookingConfirmed) != 3 {
			t.Errorf("got %v, %v\nwant %v", read, err, resp)
		}
		methods := ""
		for _, b := range resp.GetTransaction().GetBookings() {
			methods += fmt.Sprint(w.history(b.GetId())[0].GetPaymentMethod(), w.history(b.GetId())[0].GetAmount(), " ")
		}
		if methods != "PAYMENT_METHOD_PASS 0 PAYMENT_METHOD_CASH 1000 PAYMENT_METHOD_CARD 1000 " {
			t.Errorf("the histories have %s", methods)
		}
	})
	t.Run("books nothing if the pass cannot pay its line", func(t *testing.T) {
		before := w.booked(e)
		_, err := w.bookings.CreateTransaction(w.ctx, mixed(mia, e))
		if fault.From(err).Reason != "PASS_EXHAUSTED" || w.booked(e) != before || w.published(subjectBookingConfirmed) != 3 {
			t.Errorf("got %v, %d booked", err, w.booked(e))
		}
	})
	t.Run("needs no pass if all lines are paid with money, whatever the request says about the rest", func(t *testing.T) {
		resp, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{PurchaserId: mia.String(), PaymentMethod: byPass, Lines: []*bookingv1.TransactionLine{
			paidBy(lineOf(e, 1), cash, ""), paidBy(lineOf(e, 1), bookingv1.PaymentMethod_PAYMENT_METHOD_FREE, ""),
		}})
		if err != nil || resp.GetTransaction().GetBookings()[0].GetPrice() != 1000 || resp.GetTransaction().GetBookings()[1].GetPrice() != 0 {
			t.Errorf("got %v, %v", resp, err)
		}
	})
	t.Run("takes no credits of an unlimited pass, and the money stays", func(t *testing.T) {
		ann := w.customer(w.company, "Ann")
		w.passes.giveUnlimited(ann)
		resp, err := w.bookings.CreateTransaction(w.ctx, mixed(ann, e))
		if b := resp.GetTransaction().GetBookings(); err != nil || b[0].GetPass().GetCreditsUsed() != 0 || b[1].GetCard().GetGross() != 1000 {
			t.Errorf("got %v, %v", resp, err)
		}
	})
	t.Run("a cancellation returns the credits of its line only", func(t *testing.T) {
		w.passes.set(pass, 2)
		resp, err := w.bookings.CreateTransaction(w.ctx, mixed(mia, e))
		if err != nil {
			t.Fatal(err)
		}
		w.cancel(resp.GetTransaction())
		w.eventually("the credits", func() bool { return w.passes.credits(pass) == 2 })
		second := resp.GetTransaction().GetBookings()[1].GetId()
		cancelled, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: second})
		if err != nil || cancelled.GetBooking().GetRefundDue() != 1000 || w.passes.credits(pass) != 2 {
			t.Errorf("got %v, %v", cancelled, err)
		}
	})
	t.Run("refuses what does not go together, and names the field", func(t *testing.T) {
		w.code(percent("HALF", 5000))
		for field, change := range map[string]func(*bookingv1.CreateTransactionRequest){
			"lines[0].payment exclusive":            func(r *bookingv1.CreateTransactionRequest) { r.DiscountCode = "HALF" },
			"lines[1].payment.method required":      func(r *bookingv1.CreateTransactionRequest) { r.Lines[1].Payment.Method = 0 },
			"lines[1].payment.method enum":          func(r *bookingv1.CreateTransactionRequest) { r.Lines[1].Payment.Method = 99 },
			"lines[0].payment.reference method":     func(r *bookingv1.CreateTransactionRequest) { r.Lines[0].Payment.Reference = "x" },
			"lines[1].payment.reference characters": func(r *bookingv1.CreateTransactionRequest) { r.Lines[1].Payment.Reference = "a\nb" },
			"customer_pass_id method": func(r *bookingv1.CreateTransactionRequest) {
				r.CustomerPassId, r.Lines[0].Payment = pass.String(), nil
			},
		} {
			req := mixed(mia, e)
			change(req)
			_, err := w.bookings.CreateTransaction(w.ctx, req)
			if f := fault.From(err); f.Kind != fault.Invalid || f.Fields[0].Field+" "+f.Fields[0].Rule != field {
				t.Errorf("%s: got %v %v", field, err, f.Fields)
			}
		}
		all := mixed(mia, e)
		all.PaymentMethod, all.PaymentReference, all.CustomerPassId = byPass, "", pass.String()
		all.Lines = []*bookingv1.TransactionLine{paidBy(lineOf(e, 1), cash, ""), paidBy(lineOf(e, 1), bookingv1.PaymentMethod_PAYMENT_METHOD_CARD, "")}
		_, err := w.bookings.CreateTransaction(w.ctx, all)
		if f := fault.From(err); f.Kind != fault.Invalid || f.Fields[0].Field != "customer_pass_id" || f.Fields[0].Rule != "method" {
			t.Errorf("no line is paid by pass: got %v", err)
		}
		_, err = w.bookings.HoldPlaces(w.ctx, &bookingv1.HoldPlacesRequest{PurchaserId: mia.String(), Lines: mixed(mia, e).GetLines()})
		if f := fault.From(err); f.Kind != fault.Invalid || f.Fields[0].Field != "lines[0].payment" || f.Fields[0].Rule != "exclusive" {
			t.Errorf("a hold: got %v", err)
		}
		other := w.customer(w.company, "Other")
		theirs := w.passes.give(other, 5)
		req := mixed(other, e)
		req.CustomerPassId = theirs.String()
		if _, err := w.bookings.CreateTransaction(w.ctx, req); err != nil || w.passes.credits(theirs) != 3 {
			t.Errorf("a named pass for one line: %v", err)
		}
	})
	w.settleDown()
	w.verify()
	w.reconcile()
}

// TestMixedSaleThatFails stops a mixed sale at every step. It must end sold with its credits taken, or undone.
func TestMixedSaleThatFails(t *testing.T) { // invariants 2 and 15
	t.Parallel()
	for _, key := range []string{"", "again"} {
		for _, step := range []string{"before redeem", "after redeem", "before cancel", "after cancel"} {
			t.Run(fmt.Sprintf("%s, with the Idempotency-Key %q", step, key), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				mia := w.customer(w.company, "Mia")
				pass := w.passes.give(mia, 2)
				e := w.passEvent(new(int32(4)), time.Hour, nil)
				fails := func(when string) func(string) error {
					return func(call string) error {
						if when+" "+call == step {
							return errPassAway
						}
						return nil
					}
				}
				w.passes.before, w.passes.after = fails("before"), fails("after")
				if strings.HasSuffix(step, "cancel") { // only what is refused is undone
					w.passes.set(pass, 1)
				}
				ctx := w.serverSide()
				if key != "" {
					ctx = idem.WithKey(ctx, key, "caller", "transactions")
				}
				req := mixed(mia, e)
				if _, err := w.server.CreateTransaction(ctx, req); err == nil {
					t.Fatal("it was sold")
				}
				if w.published(subjectBookingConfirmed) != 0 {
					t.Error("a part of it was announced")
				}
				w.passes.before, w.passes.after = nil, nil
				w.passes.set(pass, w.passes.credits(pass)+1) // enough for a purchase that was refused
				w.restart()
				left := w.passes.credits(pass) - 2
				if key != "" && strings.HasSuffix(step, "redeem") { // the retry continues the sale
					left += w.tookCredits()
				} else { // it is undone, and sold again
					w.settleDown()
					if w.booked(e) != 0 {
						t.Errorf("%d are booked", w.booked(e))
					}
					left = w.passes.credits(pass) - 2
				}
				again, err := w.server.CreateTransaction(ctx, req)
				if err != nil {
					t.Fatal(err)
				}
				wantMixed(t, again.GetTransaction(), pass)
				if w.booked(e) != 4 || w.passes.credits(pass) != left {
					t.Errorf("%d booked, %d credits left, want %d", w.booked(e), w.passes.credits(pass), left)
				}
				w.settleDown()
				w.verify()
				w.reconcile()
			})
		}
	}
	t.Run("a date that is cancelled during the payment returns the credits of the whole sale", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		mia := w.customer(w.company, "Mia")
		pass := w.passes.give(mia, 2)
		e := w.passEvent(nil, time.Hour, nil)
		w.passes.after = func(call string) error {
			if call == "redeem" {
				_, err := w.cancelDate(w.ctx, e.GetDates()[0].GetId())
				return err
			}
			return nil
		}
		_, err := w.bookings.CreateTransaction(w.ctx, mixed(mia, e))
		if fault.From(err).Reason != model.ReasonEventCancelled || w.passes.credits(pass) != 2 || w.booked(e) != 0 {
			t.Errorf("got %v, %d credits, %d booked", err, w.passes.credits(pass), w.booked(e))
		}
		if err := w.server.finishClosings(t.Context()); err != nil {
			t.Error(err)
		}
		w.verify()
		w.reconcile()
	})
	t.Run("concurrent mixed sales of one pass never take more than it has", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		mia := w.customer(w.company, "Mia")
		pass := w.passes.give(mia, 10)
		e := w.passEvent(nil, time.Hour, nil)
		together(12, func(int) {
			if _, err := w.bookings.CreateTransaction(w.ctx, mixed(mia, e)); err != nil && fault.From(err).Reason != "PASS_EXHAUSTED" {
				t.Error(err)
			}
		})
		w.settleDown()
		if w.passes.credits(pass) != 0 || w.booked(e) != 5*4 {
			t.Errorf("%d credits are left, %d booked", w.passes.credits(pass), w.booked(e))
		}
		w.verify()
		w.reconcile()
	})
}

// tookCredits returns the credits that redemptions hold.
func (w *world) tookCredits() (sum int32) {
	w.passes.mu.Lock()
	defer w.passes.mu.Unlock()
	for _, items := range w.passes.taken {
		for booking, credits := range items {
			if !w.passes.returned[booking] {
				sum += credits
			}
		}
	}
	return sum
}

// restart replaces the server by a new process on the same database.
func (w *world) restart() {
	now := w.server.now
	w.server = NewServer(w.db, w.server.outbox, w.customers, w.server.companies, w.passes)
	w.server.now = now
}
