package booking

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// registration reads one registration.
func (w *world) registration(booking string) *bookingv1.Registration {
	w.t.Helper()
	resp, err := w.bookings.GetRegistration(w.ctx, &bookingv1.GetRegistrationRequest{BookingId: booking})
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.GetRegistration()
}

// announced returns the last event of a subject.
func announced[M proto.Message](w *world, subject string, into M) M {
	w.t.Helper()
	payload := one[[]byte](w, `select payload from outbox where subject = $1 order by id desc limit 1`, subject)
	if err := proto.Unmarshal(payload, into); err != nil {
		w.t.Fatal(err)
	}
	return into
}

func TestCancellationOutcome(t *testing.T) { // invariants 4 and 23
	t.Parallel()
	w := newWorld(t)
	mia := w.customer(w.company, "Mia")
	w.passes.give(mia, 100)
	day := int32(24 * 60)
	t.Run("a cancellation in time shows what is due and why it was cancelled", func(t *testing.T) {
		b := w.mustBook(w.ctx, mia, w.event(w.ctx, nil), 2).GetBookings()[0].GetId()
		before := w.registration(b)
		resp, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: b, Reason: " Ill. "})
		if err != nil {
			t.Fatal(err)
		}
		r := w.registration(b)
		if got := r.GetBooking(); !proto.Equal(got, resp.GetBooking()) || got.GetLate() || got.GetRefundDue() != 2400 || got.GetCancellationReason() != "Ill." ||
			!got.GetUpdatedAt().AsTime().Equal(got.GetCancelledAt().AsTime()) || !proto.Equal(got.GetUpdatedAt(), r.GetUpdatedAt()) {
			t.Errorf("got %v\nthe response has %v", got, resp.GetBooking())
		}
		event := announced(w, subjectBookingCancelled, &bookingv1.BookingCancelled{})
		if !proto.Equal(event.GetBooking().GetBooking(), r.GetBooking()) || event.GetBooking().GetVersion() != 2 ||
			!proto.Equal(event.GetPrevious().GetBooking(), before.GetBooking()) || event.GetPrevious().GetVersion() != 1 {
			t.Errorf("the event has %v", event)
		}
		again, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: b, Reason: "Another reason."})
		if err != nil || again.GetChanged() || again.GetOutcome() != nil || !proto.Equal(again.GetBooking(), r.GetBooking()) {
			t.Errorf("a repeated call: %v, %v", again, err)
		}
	})
	t.Run("a late cancellation owes nothing, and stays late", func(t *testing.T) {
		e := w.passEvent(nil, 23*time.Hour, &day)
		b := w.mustBook(w.ctx, mia, e, 2).GetBookings()[0].GetId()
		if _, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: b}); err != nil {
			t.Fatal(err)
		}
		w.updateEvent(&bookingv1.UpdateEventRequest{Id: e.GetId(), FreeCancellationMinutes: new(int32(-1))})
		if got := w.registration(b).GetBooking(); !got.GetLate() || got.GetRefundDue() != 0 {
			t.Errorf("got %v", got)
		}
	})
	t.Run("returned credits are announced as a refund as well, in the same version", func(t *testing.T) {
		paid, err := w.byPass(w.ctx, mia, w.passEvent(nil, time.Hour, nil), 3)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: paid.GetBookings()[0].GetId()})
		if got := resp.GetBooking(); err != nil || got.GetCreditsReturned() != 3 || !got.GetIsRefunded() || got.GetRefundedAmount() != 0 || got.GetRefundedAt() == nil {
			t.Fatalf("got %v, %v", got, err)
		}
		cancelled := announced(w, subjectBookingCancelled, &bookingv1.BookingCancelled{})
		refunded := announced(w, subjectBookingRefunded, &bookingv1.BookingRefunded{})
		if !proto.Equal(cancelled.GetBooking(), refunded.GetBooking()) || !proto.Equal(refunded.GetBooking().GetBooking(), resp.GetBooking()) || refunded.GetBooking().GetVersion() != 2 {
			t.Errorf("got %v and %v", cancelled, refunded)
		}
		was, then := cancelled.GetPrevious().GetBooking(), refunded.GetPrevious().GetBooking()
		if was.GetIsCancelled() || was.GetIsRefunded() || !then.GetIsCancelled() || then.GetIsRefunded() || then.GetCreditsReturned() != 0 {
			t.Errorf("previously %v and %v", was, then)
		}
	})
	t.Run("a cancelled date owes what was paid, late or not, and gives its reason", func(t *testing.T) {
		e := w.passEvent(nil, 23*time.Hour, &day)
		card, partly := w.mustBook(w.ctx, mia, e, 2).GetBookings()[0].GetId(), w.mustBook(w.ctx, mia, e, 1).GetBookings()[0].GetId()
		paid, err := w.byPass(w.ctx, mia, e, 1)
		if err != nil {
			t.Fatal(err)
		}
		w.refund(partly, 400)
		refunds := w.published(subjectBookingRefunded)
		if _, err := w.events.CancelEventDate(w.ctx, &bookingv1.CancelEventDateRequest{Id: e.GetDates()[0].GetId(), Reason: "The roof leaks."}); err != nil {
			t.Fatal(err)
		}
		for b, due := range map[string]int64{card: 2000, partly: 600, paid.GetBookings()[0].GetId(): 0} {
			r := w.registration(b)
			got := r.GetBooking()
			if !got.GetIsCancelled() || got.GetLate() || got.GetRefundDue() != due || got.GetCancellationReason() != "The roof leaks." ||
				!got.GetUpdatedAt().AsTime().Equal(got.GetCancelledAt().AsTime()) || got.GetCreditsReturned() != got.GetPass().GetCreditsUsed() {
				t.Errorf("got %v", got)
			}
		}
		if n := w.published(subjectBookingRefunded) - refunds; n != 1 {
			t.Errorf("%d refunds, want that of the credits", n)
		}
	})
	t.Run("so does a cancelled event", func(t *testing.T) {
		e := w.event(w.ctx, nil)
		b := w.mustBook(w.ctx, mia, e, 1).GetBookings()[0].GetId()
		if _, err := w.events.CancelEvent(w.ctx, &bookingv1.CancelEventRequest{Id: e.GetId(), Reason: "The teacher is ill."}); err != nil {
			t.Fatal(err)
		}
		if got := w.registration(b).GetBooking(); got.GetRefundDue() != 1200 || got.GetCancellationReason() != "The teacher is ill." {
			t.Errorf("got %v", got)
		}
	})
	w.verify()
	w.inStep()
}

// refund records a refund of an amount.
func (w *world) refund(booking string, amount int64) *bookingv1.Booking {
	w.t.Helper()
	resp, err := w.bookings.RefundBooking(w.ctx, &bookingv1.RefundBookingRequest{BookingId: booking, Amount: &amount})
	if err != nil || !resp.GetChanged() {
		w.t.Fatalf("got %v, %v", resp, err)
	}
	return resp.GetBooking()
}

func TestRefundAmounts(t *testing.T) { // invariants 3, 4 and 23
	t.Parallel()
	w := newWorld(t)
	ann := w.customer(w.company, "ann")
	e := w.event(w.ctx, nil)
	book := func() string { return w.mustBook(w.ctx, ann, e, 1).GetBookings()[0].GetId() }
	t.Run("partial refunds add up to the price; each is an event", func(t *testing.T) {
		b := book()
		if got := w.refund(b, 500); !got.GetIsRefunded() || got.GetRefundedAmount() != 500 || got.GetRefundDue() != 0 || got.GetIsCancelled() {
			t.Errorf("got %v", got)
		}
		if event := announced(w, subjectBookingRefunded, &bookingv1.BookingRefunded{}); event.GetBooking().GetBooking().GetRefundedAmount() != 500 ||
			event.GetPrevious().GetBooking().GetRefundedAmount() != 0 || event.GetPrevious().GetBooking().GetIsRefunded() {
			t.Errorf("the event has %v", event)
		}
		resp, err := w.bookings.RefundBooking(w.ctx, &bookingv1.RefundBookingRequest{BookingId: b})
		if err != nil || !resp.GetChanged() || resp.GetBooking().GetRefundedAmount() != 1200 {
			t.Errorf("got %v, %v", resp, err)
		}
		if event := announced(w, subjectBookingRefunded, &bookingv1.BookingRefunded{}); event.GetBooking().GetVersion() != 3 || event.GetPrevious().GetBooking().GetRefundedAmount() != 500 {
			t.Errorf("the event has %v", event)
		}
		again, err := w.bookings.RefundBooking(w.ctx, &bookingv1.RefundBookingRequest{BookingId: b, Amount: new(int64(1))})
		if err != nil || again.GetChanged() || !proto.Equal(again.GetBooking(), w.registration(b).GetBooking()) {
			t.Errorf("a repeated call: %v, %v", again, err)
		}
	})
	t.Run("after a cancellation the default is what is due", func(t *testing.T) {
		b := book()
		w.refund(b, 200)
		cancelled, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: b})
		if err != nil || cancelled.GetOutcome().GetRefundDue() != 1000 || cancelled.GetBooking().GetRefundDue() != 1000 {
			t.Fatalf("got %v, %v", cancelled, err)
		}
		resp, err := w.bookings.RefundBooking(w.ctx, &bookingv1.RefundBookingRequest{BookingId: b})
		if got := resp.GetBooking(); err != nil || got.GetRefundDue() != 0 || got.GetRefundedAmount() != 1200 {
			t.Errorf("got %v, %v", got, err)
		}
	})
	t.Run("refuses an amount above what is left, and of a payment by pass", func(t *testing.T) {
		b := book()
		w.refund(b, 1000)
		_, err := w.bookings.RefundBooking(w.ctx, &bookingv1.RefundBookingRequest{BookingId: b, Amount: new(int64(201))})
		wantField(t, err, "amount", "range")
		w.passes.give(ann, 5)
		paid, err := w.byPass(w.ctx, ann, w.passEvent(nil, time.Hour, nil), 1)
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.bookings.RefundBooking(w.ctx, &bookingv1.RefundBookingRequest{BookingId: paid.GetBookings()[0].GetId(), Amount: new(int64(1))})
		wantField(t, err, "amount", "method")
		if got := w.registration(b); got.GetBooking().GetRefundedAmount() != 1000 || got.GetVersion() != 2 {
			t.Errorf("got %v", got)
		}
	})
	t.Run("concurrent refunds never exceed the price, and each that changes something is one event", func(t *testing.T) {
		b := book()
		before := w.published(subjectBookingRefunded)
		together(20, func(int) {
			_, err := w.bookings.RefundBooking(w.ctx, &bookingv1.RefundBookingRequest{BookingId: b, Amount: new(int64(300))})
			if err != nil {
				t.Error(err)
			}
		})
		if got := w.registration(b); got.GetBooking().GetRefundedAmount() != 1200 || w.published(subjectBookingRefunded)-before != 4 || got.GetVersion() != 5 {
			t.Errorf("got %v", got)
		}
	})
	t.Run("a refund and an attendance of another version are refused", func(t *testing.T) {
		b := book()
		_, err := w.bookings.RefundBooking(w.ctx, &bookingv1.RefundBookingRequest{BookingId: b, ExpectedVersion: new(int64(2))})
		wantFault(t, err, fault.VersionMismatch, fault.ReasonVersionMismatch)
		attend := &bookingv1.RecordAttendanceRequest{BookingId: b, Attendance: bookingv1.Attendance_ATTENDANCE_NO_SHOW, ExpectedVersion: new(int64(2))}
		_, err = w.bookings.RecordAttendance(w.ctx, attend)
		wantFault(t, err, fault.VersionMismatch, fault.ReasonVersionMismatch)
		if _, err := w.bookings.RefundBooking(w.ctx, &bookingv1.RefundBookingRequest{BookingId: b, ExpectedVersion: new(int64(1))}); err != nil {
			t.Error(err)
		}
		if resp, err := w.bookings.RecordAttendance(w.ctx, attend); err != nil || !resp.GetChanged() {
			t.Errorf("got %v, %v", resp, err)
		}
		event := announced(w, subjectAttendance, &bookingv1.AttendanceRecorded{})
		if event.GetPrevious().GetBooking().GetAttendance() != bookingv1.Attendance_ATTENDANCE_UNKNOWN ||
			event.GetBooking().GetBooking().GetAttendance() != bookingv1.Attendance_ATTENDANCE_NO_SHOW {
			t.Errorf("the event has %v", event)
		}
	})
	w.verify()
	w.inStep()
}

// TestPreviousRelease makes the writes of a process of the previous release, which knows none of the
// new columns.
func TestPreviousRelease(t *testing.T) { // invariants 23 and 24
	t.Parallel()
	w := newWorld(t)
	ann := w.customer(w.company, "ann")
	e := w.event(w.ctx, nil)
	book := func() (string, id.Booking) {
		b := w.mustBook(w.ctx, ann, e, 1).GetBookings()[0].GetId()
		return b, idOf[id.Booking](t, b)
	}
	flag := func(b id.Booking, cancelled, refunded bool) {
		w.exec(`update bookings set is_cancelled = $2, is_refunded = $3, cancelled_at = case when $2 then now() end,
			refunded_at = case when $3 then now() end where id = $1`, b, cancelled, refunded)
		w.exec(`update transactions set version = version + 1 where id = (select transaction_id from bookings where id = $1)`, b)
		if cancelled {
			w.exec(`update event_dates set booked = booked - 1 where id = (select event_date_id from bookings where id = $1)`, b)
		}
	}
	t.Run("a refund without an amount is of the whole price", func(t *testing.T) {
		b, which := book()
		flag(which, false, true)
		if got := w.registration(b).GetBooking(); got.GetRefundedAmount() != 1200 || !got.GetIsRefunded() {
			t.Errorf("got %v", got)
		}
		resp, err := w.bookings.RefundBooking(w.ctx, &bookingv1.RefundBookingRequest{BookingId: b})
		if err != nil || resp.GetChanged() {
			t.Errorf("got %v, %v", resp, err)
		}
		w.attend(b, bookingv1.Attendance_ATTENDANCE_CHECKED_IN)
		if got := w.registration(b).GetBooking(); got.GetRefundedAmount() != 1200 {
			t.Errorf("after another change: %v", got)
		}
	})
	t.Run("a refund of what was due leaves nothing due", func(t *testing.T) {
		b, which := book()
		if _, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: b}); err != nil {
			t.Fatal(err)
		}
		w.exec(`update bookings set is_refunded = true, refunded_at = now() where id = $1`, which)
		if got := w.registration(b).GetBooking(); got.GetRefundedAmount() != 1200 || got.GetRefundDue() != 0 {
			t.Errorf("got %v", got)
		}
	})
	t.Run("after a cancellation without an outcome, the default refund is the whole price", func(t *testing.T) {
		b, which := book()
		flag(which, true, false)
		if got := w.registration(b).GetBooking(); got.GetLate() || got.GetRefundDue() != 0 {
			t.Errorf("got %v", got)
		}
		resp, err := w.bookings.RefundBooking(w.ctx, &bookingv1.RefundBookingRequest{BookingId: b})
		if err != nil || resp.GetBooking().GetRefundedAmount() != 1200 {
			t.Errorf("got %v, %v", resp, err)
		}
	})
	t.Run("every change sets the time of the last change", func(t *testing.T) {
		for behaviour, change := range map[string]func(id.Booking){
			"a cancellation": func(b id.Booking) { flag(b, true, false) },
			"a confirmation": func(b id.Booking) {
				of := `where id = (select transaction_id from bookings where id = $1)`
				w.exec(`update transactions set status = 'held', expires_at = now(), updated_at = '2020-01-01' `+of, b)
				w.exec(`update transactions set status = 'confirmed', expires_at = null `+of, b)
			},
		} {
			b, which := book()
			before := w.registration(b).GetUpdatedAt().AsTime()
			change(which)
			if after := w.registration(b).GetUpdatedAt().AsTime(); !after.After(before) {
				t.Errorf("%s: was changed at %s, then at %s", behaviour, before, after)
			}
		}
	})
	t.Run("a purchase has the time of its last change, and one from before the upgrade that of the purchase", func(t *testing.T) {
		b, which := book()
		of := ` where id = (select transaction_id from bookings where id = $1)`
		w.exec(`update transactions set updated_at = default`+of, which)
		if got := w.registration(b); got.GetUpdatedAt().AsTime().Before(got.GetCreatedAt().AsTime().Truncate(time.Second)) {
			t.Errorf("got %v", got)
		}
		w.exec(`update transactions set updated_at = null`+of, which)
		read, err := w.bookings.GetTransaction(w.ctx, &bookingv1.GetTransactionRequest{TransactionId: w.registration(b).GetTransactionId()})
		if got := read.GetTransaction(); err != nil || !proto.Equal(got.GetUpdatedAt(), got.GetPurchasedAt()) {
			t.Errorf("got %v, %v", got, err)
		}
	})
	w.verify()
	w.inStep()
}

func TestVerifyRefunds(t *testing.T) { // invariant 23
	t.Parallel()
	w := newWorld(t)
	ann := w.customer(w.company, "ann")
	e := w.event(w.ctx, nil)
	for behaviour, tt := range map[string]struct{ wrong, what string }{
		"a late cancellation with money due":           {`update bookings set late = true where id = $1`, "booking.refund_due"},
		"less due than what was paid and not refunded": {`update bookings set refund_due = refund_due - 1 where id = $1`, "booking.refund_due"},
		"a refunded booking without an amount":         {`update bookings set is_refunded = true, refunded_amount = 0 where id = $1`, "booking.refunded_amount"},
	} {
		t.Run("finds "+behaviour, func(t *testing.T) {
			b := w.mustBook(w.ctx, ann, e, 1).GetBookings()[0].GetId()
			if _, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: b}); err != nil {
				t.Fatal(err)
			}
			w.verify()
			w.exec(tt.wrong, idOf[id.Booking](t, b))
			stream, err := w.verifier.VerifyBookings(w.ctx, &bookingv1.VerifyBookingsRequest{})
			if err != nil {
				t.Fatal(err)
			}
			if res, err := stream.Recv(); err != nil || res.GetDifference().GetWhat() != tt.what || res.GetDifference().GetId() != b {
				t.Errorf("got %v, %v", res, err)
			}
			w.exec(`update bookings set late = false, refund_due = gross, is_refunded = false, refunded_amount = null where id = $1`, idOf[id.Booking](t, b))
		})
	}
	w.verify()
}

func TestCancellationReasonsArePersonal(t *testing.T) { // invariant 21
	t.Parallel()
	w := newWorld(t)
	ann, ben := w.customer(w.company, "ann"), w.customer(w.company, "ben")
	e := w.event(w.ctx, nil)
	date := e.GetDates()[0].GetId()
	all := w.register(ann, &bookingv1.TransactionLine{EventDateId: date}, &bookingv1.TransactionLine{EventDateId: date, BoughtForId: ben.String()})
	for _, b := range all {
		if _, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: b, Reason: "Broke a leg."}); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("an export has the reasons of the customer's purchases and of bookings for the customer, the latter without money", func(t *testing.T) {
		found := map[string]string{}
		for _, c := range NewExporter(w.db).Collections {
			err := w.db.Read(t.Context(), pg.For(w.company), pg.Query{SQL: `select coalesce(string_agg(t.content::text, ' '), '') from (` + c.SQL + `) t(id, content)`,
				Args: []any{w.company, ben}, Scan: pg.Each(func(rows pgx.Rows) error {
					var text string
					err := rows.Scan(&text)
					found[c.Kind] = text
					return err
				})})
			if err != nil {
				t.Fatal(err)
			}
		}
		text := found["booking_for_the_customer"]
		for member, want := range map[string]bool{"Broke a leg.": true, "refund_due": false, "refunded_amount": false, "money_method": false, "gross": false} {
			if strings.Contains(text, member) != want {
				t.Errorf("%s: %s", member, text)
			}
		}
	})
	t.Run("an erasure deletes the reasons of the customer's bookings, whoever bought them", func(t *testing.T) {
		w.erase(ben)
		if got := w.registration(all[1]).GetBooking().GetCancellationReason(); got != "" {
			t.Errorf("the booking for the customer has %q", got)
		}
		if got := w.registration(all[0]).GetBooking().GetCancellationReason(); got == "" {
			t.Error("the booking of another customer lost its reason")
		}
		w.erase(ann)
		if got := w.registration(all[0]).GetBooking().GetCancellationReason(); got != "" {
			t.Errorf("the purchase has %q", got)
		}
	})
}
