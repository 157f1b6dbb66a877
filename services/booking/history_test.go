package booking

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/token"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// named returns a context with a token of the company, and its identifier.
func (w *world) named() (context.Context, string) {
	w.t.Helper()
	subject := id.New[id.APIClient]().String()
	return w.callerNamed(subject), subject
}

// callerNamed returns a context with a token of the company that has the identifier.
func (w *world) callerNamed(subject string) context.Context {
	w.t.Helper()
	return bearer(w.t.Context(), w.issuer.Sign(token.Claims{
		Subject: subject, Company: w.company, Scopes: []string{"bookings:read", "bookings:write", "events:write"},
	}))
}

// history reads the history of a booking, two entries a page.
func (w *world) history(booking string) (all []*bookingv1.BookingHistoryEntry) {
	w.t.Helper()
	req := &bookingv1.ListBookingHistoryRequest{BookingId: booking, PageSize: 2}
	for {
		resp, err := w.changes.ListBookingHistory(w.ctx, req)
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, resp.GetEntries()...)
		if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
			return all
		}
	}
}

// actions returns the kinds of the entries.
func actions(history []*bookingv1.BookingHistoryEntry) string {
	all := make([]string, len(history))
	for i, e := range history {
		all[i] = strings.ToLower(strings.TrimPrefix(e.GetAction().String(), "BOOKING_ACTION_"))
	}
	return strings.Join(all, " ")
}

func (w *world) mustAttend(booking string, a bookingv1.Attendance) {
	w.t.Helper()
	if _, err := w.bookings.RecordAttendance(w.ctx, &bookingv1.RecordAttendanceRequest{BookingId: booking, Attendance: a}); err != nil {
		w.t.Fatal(err)
	}
}

func TestBookingHistory(t *testing.T) { // invariant 49
	t.Parallel()
	w := newWorld(t)
	mia := w.customer(w.company, "Mia")
	w.passes.give(mia, 100)
	t.Run("has the purchase and every change, with who made it, when and why", func(t *testing.T) {
		e := w.passEvent(nil, time.Hour, new(int32(24*60)))
		ctx, buyer := w.named()
		bought, err := w.bookings.CreateTransaction(ctx, &bookingv1.CreateTransactionRequest{
			PurchaserId: mia.String(), PaymentReference: "ch_1", Lines: []*bookingv1.TransactionLine{{EventId: e.GetId(), Spaces: 2}},
		})
		if err != nil {
			t.Fatal(err)
		}
		b := bought.GetTransaction().GetBookings()[0].GetId()
		w.mustAttend(b, bookingv1.Attendance_ATTENDANCE_CHECKED_IN)
		w.mustAttend(b, bookingv1.Attendance_ATTENDANCE_CHECKED_IN) // changes nothing
		ctx, canceller := w.named()
		if _, err := w.bookings.CancelBooking(ctx, &bookingv1.CancelBookingRequest{BookingId: b, Reason: "Ill.", WaivePolicy: true}); err != nil {
			t.Fatal(err)
		}
		for _, amount := range []int64{500, 1500} {
			if _, err := w.bookings.RefundBooking(ctx, &bookingv1.RefundBookingRequest{BookingId: b, Amount: &amount}); err != nil {
				t.Fatal(err)
			}
		}
		got := w.history(b)
		if actions(got) != "booked attendance_recorded cancelled refunded refunded" {
			t.Fatalf("got %v", got)
		}
		first, attended, cancelled, refunded := got[0], got[1], got[2], got[4]
		if first.GetActor() != buyer || first.GetBefore() != nil || first.GetAmount() != 2000 || first.GetPaymentReference() != "ch_1" ||
			first.GetPaymentMethod() != bookingv1.PaymentMethod_PAYMENT_METHOD_CARD || !first.GetAt().AsTime().Equal(bought.GetTransaction().GetPurchasedAt().AsTime()) {
			t.Errorf("the purchase is %v", first)
		}
		facts := first.GetAfter()
		if facts.GetEventDateId() != e.GetDates()[0].GetId() || facts.GetEventId() != e.GetId() || facts.GetEventTitle() != "Yoga" || facts.GetSpaces() != 2 ||
			facts.GetCustomerId() != mia.String() || facts.GetManagedById() != mia.String() || facts.GetPrice() != 2000 || facts.GetTimezone() == "" ||
			!facts.GetStartsAt().AsTime().Equal(e.GetDates()[0].GetStartsAt().AsTime()) || facts.GetPricingOptionId() != e.GetPricingOptions()[0].GetId() ||
			facts.GetAttendance() != bookingv1.Attendance_ATTENDANCE_UNKNOWN {
			t.Errorf("the purchase has %v", facts)
		}
		if attended.GetBefore().GetAttendance() != bookingv1.Attendance_ATTENDANCE_UNKNOWN || attended.GetAfter().GetAttendance() != bookingv1.Attendance_ATTENDANCE_CHECKED_IN {
			t.Errorf("the attendance is %v", attended)
		}
		if cancelled.GetActor() != canceller || cancelled.GetReason() != "Ill." || !cancelled.GetPolicyWaived() || cancelled.GetAmount() != 0 {
			t.Errorf("the cancellation is %v", cancelled)
		}
		if refunded.GetAmount() != 1500 || refunded.GetPaymentMethod() != bookingv1.PaymentMethod_PAYMENT_METHOD_CARD || refunded.GetActor() != canceller {
			t.Errorf("the refund is %v", refunded)
		}
	})
	t.Run("has two entries for a cancellation that returns credits", func(t *testing.T) {
		bought, err := w.byPass(w.ctx, mia, w.passEvent(nil, time.Hour, nil), 1)
		if err != nil {
			t.Fatal(err)
		}
		b := bought.GetBookings()[0].GetId()
		w.cancel(bought)
		got := w.history(b)
		if actions(got) != "booked cancelled refunded" || got[0].GetAfter().GetCredits() != 1 || got[0].GetAmount() != 0 || got[1].GetPolicyWaived() {
			t.Errorf("got %v", got)
		}
	})
	t.Run("has one entry for each booking of a date that is cancelled, by the caller or by the job", func(t *testing.T) {
		for _, crash := range []bool{false, true} {
			e := w.passEvent(nil, time.Hour, nil)
			one, two := w.mustBook(w.ctx, mia, e, 1), w.mustBook(w.ctx, mia, e, 2)
			ctx, actor := w.named()
			if crash {
				actor = "booking"
				w.exec(`update event_dates set status = 'cancelled', closing = true, closing_reason = 'Ill' where id = $1`, idOf[id.EventDate](t, e.GetDates()[0].GetId()))
				if err := w.server.finishClosings(t.Context()); err != nil {
					t.Fatal(err)
				}
			} else if _, err := w.cancelDate(ctx, e.GetDates()[0].GetId()); err != nil {
				t.Fatal(err)
			}
			for _, bought := range []*bookingv1.Transaction{one, two} {
				got := w.history(bought.GetBookings()[0].GetId())
				if actions(got) != "booked cancelled" || got[1].GetActor() != actor || got[1].GetReason() != "Ill" || got[1].GetPolicyWaived() {
					t.Errorf("got %v, want the actor %s", got, actor)
				}
			}
		}
	})
	t.Run("a confirmed hold was booked by the caller who paid, and an import and an earlier release have none", func(t *testing.T) {
		e := w.passEvent(nil, time.Hour, nil)
		ctx, payer := w.named()
		held, err := w.bookings.HoldPlaces(w.ctx, &bookingv1.HoldPlacesRequest{PurchaserId: mia.String(), Lines: []*bookingv1.TransactionLine{{EventId: e.GetId()}}})
		if err != nil {
			t.Fatal(err)
		}
		paid, err := w.bookings.ConfirmHold(ctx, &bookingv1.ConfirmHoldRequest{HoldId: held.GetHold().GetId(), PaymentMethod: bookingv1.PaymentMethod_PAYMENT_METHOD_CASH})
		if err != nil {
			t.Fatal(err)
		}
		b := paid.GetTransaction().GetBookings()[0].GetId()
		if got := w.history(b); len(got) != 1 || got[0].GetActor() != payer || got[0].GetPaymentMethod() != bookingv1.PaymentMethod_PAYMENT_METHOD_CASH {
			t.Errorf("got %v", got)
		}
		w.exec(`update transactions set created_by = null`)
		if got := w.history(b); len(got) != 1 || got[0].GetActor() != "" {
			t.Errorf("got %v", got)
		}
		line := &bookingv1.ImportedTransaction{Reference: "old", Customer: mia.String(), PurchasedAt: held.GetHold().GetCreatedAt(), Bookings: []*bookingv1.ImportedBooking{{
			Spaces: 1, Date: &bookingv1.ImportedBooking_EventDateId{EventDateId: e.GetDates()[0].GetId()}, PricingOptionId: e.GetPricingOptions()[0].GetId(),
			Payment: &bookingv1.ImportedBooking_Card{Card: &bookingv1.CardPayment{Currency: "GBP", Gross: 100, Net: 100}},
		}}}
		results, err := w.send(bearer(t.Context(), w.issuer.Client(w.company, "import:write", "bookings:write")), line)
		if err != nil || len(results) != 1 || results[0].GetId() == "" {
			t.Fatal(results, err)
		}
		if n := one[int64](w, `select count(*) from transactions where source = 'import' and created_by is null`); n != 1 {
			t.Errorf("%d imported transactions without a creator", n)
		}
	})
	t.Run("a booking for a waiting customer was made by the platform, and an accepted offer by the caller who paid", func(t *testing.T) {
		full, bought := w.fullEvent(1)
		w.waits(full, 1, bookingv1.WaitlistMode_WAITLIST_MODE_BOOK)
		w.cancel(bought)
		if n := one[int64](w, `select count(*) from transactions where created_by = 'booking'`); n != 1 {
			t.Errorf("%d transactions by the platform", n)
		}
		full, bought = w.fullEvent(1)
		entry := w.waits(full, 1, bookingv1.WaitlistMode_WAITLIST_MODE_OFFER)
		w.cancel(bought)
		ctx, payer := w.named()
		accepted, err := w.waitlist.AcceptOffer(ctx, &bookingv1.AcceptOfferRequest{Id: entry.GetId()})
		if err != nil {
			t.Fatal(err)
		}
		if got := w.history(accepted.GetTransaction().GetBookings()[0].GetId()); got[0].GetActor() != payer {
			t.Errorf("an accepted offer was booked by %q, want %s", got[0].GetActor(), payer)
		}
	})
	t.Run("counts all entries on each page, and begins after those that are skipped", func(t *testing.T) {
		b := w.mustBook(w.ctx, mia, w.passEvent(nil, time.Hour, nil), 1).GetBookings()[0].GetId()
		w.mustAttend(b, bookingv1.Attendance_ATTENDANCE_NO_SHOW)
		w.mustAttend(b, bookingv1.Attendance_ATTENDANCE_UNKNOWN)
		for offset, want := range []string{"booked attendance_recorded", "attendance_recorded attendance_recorded", "attendance_recorded", ""} {
			page, err := w.changes.ListBookingHistory(w.ctx, &bookingv1.ListBookingHistoryRequest{BookingId: b, PageSize: 2, Offset: int64(offset)})
			if err != nil {
				t.Fatal(err)
			}
			if got := actions(page.GetEntries()); got != want || page.GetTotal() != 3 || (page.GetNextPageToken() != "") != (offset == 0) {
				t.Errorf("after %d entries: %q of %d, next %q", offset, got, page.GetTotal(), page.GetNextPageToken())
			}
		}
	})
	t.Run("is not shown to another company, for a hold, or with the page token of another booking", func(t *testing.T) {
		e := w.passEvent(nil, time.Hour, nil)
		b := w.mustBook(w.ctx, mia, e, 1).GetBookings()[0].GetId()
		w.mustAttend(b, bookingv1.Attendance_ATTENDANCE_NO_SHOW)
		h := w.hold(mia, e, 1, "")
		for _, c := range []struct {
			ctx     context.Context
			booking string
		}{{w.as(id.New[id.Company]()), b}, {w.ctx, h.GetBookings()[0].GetId()}, {w.ctx, id.New[id.Booking]().String()}, {w.ctx, "x"}} {
			_, err := w.changes.ListBookingHistory(c.ctx, &bookingv1.ListBookingHistoryRequest{BookingId: c.booking})
			wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		}
		page, err := w.changes.ListBookingHistory(w.ctx, &bookingv1.ListBookingHistoryRequest{BookingId: b, PageSize: 1})
		if err != nil || len(page.GetEntries()) != 1 || page.GetNextPageToken() == "" {
			t.Fatal(page, err)
		}
		other := w.mustBook(w.ctx, mia, e, 1).GetBookings()[0].GetId()
		_, err = w.changes.ListBookingHistory(w.ctx, &bookingv1.ListBookingHistoryRequest{BookingId: other, PageToken: page.GetNextPageToken()})
		wantFault(t, err, fault.Invalid, fault.ReasonInvalidParameter)
	})
	w.verify()
}

func TestHistoryOfAMovedAppointment(t *testing.T) { // invariant 49
	t.Parallel()
	p := newParlour(t)
	a := p.reserve("2030-01-07T10:00", by(p.lea))
	moved := p.mustMove(a, to("2030-01-07T14:00"))
	got := p.history(a.GetBooking().GetId())
	if actions(got) != "booked moved" || got[0].GetActor() == "" {
		t.Fatalf("got %v", got)
	}
	before, after := got[1].GetBefore(), got[1].GetAfter()
	if before.GetEventDateId() != a.GetBooking().GetEventDateId() || after.GetEventDateId() != moved.GetBooking().GetEventDateId() ||
		!before.GetStartsAt().AsTime().Equal(a.GetBooking().GetStartsAt().AsTime()) || !after.GetStartsAt().AsTime().Equal(moved.GetBooking().GetStartsAt().AsTime()) ||
		got[0].GetAfter().GetEventDateId() != before.GetEventDateId() {
		t.Errorf("moved from %v to %v", before, after)
	}
	p.verify()
}

func TestHistoryUnderConcurrency(t *testing.T) { // invariant 49
	t.Parallel()
	t.Run("concurrent changes of a booking each have one entry, and each begins with the end of the one before it", func(t *testing.T) {
		w := newWorld(t)
		b := w.mustBook(w.ctx, w.customer(w.company, "Mia"), w.event(w.ctx, nil), 1).GetBookings()[0].GetId()
		recorded := []bookingv1.Attendance{bookingv1.Attendance_ATTENDANCE_CHECKED_IN, bookingv1.Attendance_ATTENDANCE_NO_SHOW, bookingv1.Attendance_ATTENDANCE_UNKNOWN}
		together(24, func(i int) {
			if _, err := w.bookings.RecordAttendance(w.ctx, &bookingv1.RecordAttendanceRequest{BookingId: b, Attendance: recorded[i%3]}); err != nil {
				t.Error(err)
			}
		})
		got := w.history(b)
		if events := w.published(subjectAttendance); int64(len(got)) != events+1 {
			t.Errorf("%d entries for %d events", len(got), events)
		}
		for i := range got[1:] {
			if fmt.Sprint(got[i].GetAfter()) != fmt.Sprint(got[i+1].GetBefore()) {
				t.Errorf("entry %d ends with %v, and the next begins with %v", i, got[i].GetAfter(), got[i+1].GetBefore())
			}
		}
		w.verify()
	})
}

func TestPurchasesOfSeveralCallers(t *testing.T) { // invariant 49
	t.Parallel()
	t.Run("purchases that share a commit each have their own caller", func(t *testing.T) {
		w := newWorld(t)
		mia, e := w.customer(w.company, "Mia"), w.event(w.ctx, nil)
		w.mustBook(w.ctx, mia, e, 1) // puts Mia in the copy
		bought, callers := make([]string, 24), make([]string, 24)
		release := w.lockDate(e) // so that the others share commits
		var all sync.WaitGroup
		for i := range bought {
			ctx, caller := w.named()
			all.Go(func() {
				made, err := w.book(ctx, mia, e, 1)
				if err != nil {
					t.Error(err)
					return
				}
				bought[i], callers[i] = made.GetBookings()[0].GetId(), caller
			})
		}
		w.waitsFor("event_dates")
		release()
		all.Wait()
		for i, b := range bought {
			if actor := w.history(b)[0].GetActor(); actor != callers[i] {
				t.Errorf("purchase %d of %s was made by %s", i, callers[i], actor)
			}
		}
	})
}

func TestVerifyHistoryAndPrices(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.mustBook(w.ctx, w.customer(w.company, "Mia"), w.event(w.ctx, nil), 1).GetBookings()[0].GetId()
	w.mustAttend(b, bookingv1.Attendance_ATTENDANCE_NO_SHOW)
	which := idOf[id.Booking](t, b)
	for behaviour, tt := range map[string]struct {
		damage, repair string
		want           []string
	}{
		"an option that no entry of the history has": {
			`update bookings set pricing_option_id = gen_random_uuid() where id = $1`,
			`update bookings set pricing_option_id = (select id from pricing_options limit 1) where id = $1`, []string{"booking.history " + b + " 1 0"}},
		"another attendee and manager than the history has": {
			`update bookings set bought_for = gen_random_uuid(), managed_by = gen_random_uuid() where id = $1`,
			`update bookings set bought_for = null, managed_by = null where id = $1`, []string{"booking.history " + b + " 2 0"}},
		"a price above what was paid": {
			`update bookings set price = gross + 1 where id = $1`, `update bookings set price = null where id = $1`, []string{"booking.price " + b + " 1201 1200"}},
		"money due without a lower price": {
			`update bookings set refund_due = 5 where id = $1`, `update bookings set refund_due = 0 where id = $1`, []string{"booking.refund_due " + b + " 5 0"}},
	} {
		t.Run("finds "+behaviour, func(t *testing.T) {
			w.exec(tt.damage, which)
			if found := w.differences(); !slices.Equal(found, tt.want) {
				t.Errorf("got %q, want %q", found, tt.want)
			}
			w.exec(tt.repair, which)
		})
	}
	t.Run("an appointment that the previous release moved is no difference", func(t *testing.T) {
		p := newParlour(t)
		a := p.reserve("2030-01-07T10:00", by(p.lea))
		p.mustMove(a, to("2030-01-07T14:00"))
		p.mustMove(a, to("2030-01-07T15:00"))
		p.exec(`delete from booking_history where sequence = 2`) // it adds no entry
		p.verify()
	})
	t.Run("money that a lower price left is no difference", func(t *testing.T) {
		w.exec(`update bookings set price = gross - 200, refund_due = 200 where id = $1`, which)
		if r := w.registration(b).GetBooking(); r.GetPrice() != 1000 || r.GetCard().GetGross() != 1200 {
			t.Errorf("got %v", r)
		}
		w.verify()
	})
}
