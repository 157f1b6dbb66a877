package booking

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

const (
	created = bookingv1.ImportOutcome_IMPORT_OUTCOME_CREATED
	existed = bookingv1.ImportOutcome_IMPORT_OUTCOME_EXISTED
	refused = bookingv1.ImportOutcome_IMPORT_OUTCOME_REFUSED
)

// pastDate describes a date of an earlier system.
func pastDate(event string, capacity *int32) *bookingv1.ImportedBooking_ImportedDate {
	return &bookingv1.ImportedBooking_ImportedDate{ImportedDate: &bookingv1.ImportedDate{
		EventReference: event, Title: "Yoga " + event, Type: bookingv1.EventType_EVENT_TYPE_WORKSHOP,
		StartsAt: timestamppb.New(time.Date(2025, 3, 1, 9, 30, 0, 0, time.UTC)), DurationMinutes: 45, Capacity: capacity,
	}}
}

// past returns one imported purchase by card on a described date.
func past(reference, customer, event string, spaces int32) *bookingv1.ImportedTransaction {
	return &bookingv1.ImportedTransaction{
		Reference: reference, Customer: customer, PurchasedAt: timestamppb.New(time.Date(2025, 2, 1, 8, 0, 0, 5e8, time.UTC)),
		Bookings: []*bookingv1.ImportedBooking{{
			Spaces: spaces, Date: pastDate(event, new(int32(5))),
			Payment: &bookingv1.ImportedBooking_Card{Card: &bookingv1.CardPayment{Currency: "EUR", Gross: 1190, Net: 1000, Reference: "ch_9"}},
		}},
	}
}

func outcomes(results []*bookingv1.ImportTransactionResult) string {
	var s string
	for _, r := range results {
		switch r.GetOutcome() {
		case created:
			s += "c"
		case existed:
			s += "e"
		case refused:
			s += "r"
		default:
			s += "?"
		}
	}
	return s
}

// mustSend imports lines as one batch.
func (w *world) mustSend(lines ...*bookingv1.ImportedTransaction) []*bookingv1.ImportTransactionResult {
	w.t.Helper()
	results, err := w.send(w.ctx, lines...)
	if err != nil {
		w.t.Fatal(err)
	}
	return results
}

// studioOf creates the imported customers ann and ben, with their names as references.
func studioOf(w *world) (ann, ben id.Customer) {
	add := func(name string) id.Customer {
		return w.customers.add(w.company, model.CustomerRecord{
			Customer: model.Customer{ID: id.New[id.Customer](), FirstName: name, LastName: "Smith", Email: name + "@example.com"}, Reference: name, Version: 1,
		})
	}
	return add("ann"), add("ben")
}

func TestImport(t *testing.T) {
	t.Parallel()
	t.Run("a purchase is stored with its event, date and option", func(t *testing.T) {
		w := newWorld(t)
		ann, ben := studioOf(w)
		line := past("p1", "ann", "yoga", 2)
		line.Bookings = append(line.Bookings, &bookingv1.ImportedBooking{
			Spaces: 1, Date: pastDate("yoga", nil), IsCancelled: true, IsRefunded: true, BoughtFor: ben.String(), PricingOptionName: "Pass",
			Payment: &bookingv1.ImportedBooking_Pass{Pass: &bookingv1.PassPayment{CreditsUsed: 3, CustomerPassId: id.New[id.CustomerPass]().String()}},
		})
		result := w.mustSend(line)[0]
		if result.GetOutcome() != created || result.GetReference() != "p1" {
			t.Fatalf("got %v", result)
		}
		read, err := w.bookings.GetTransaction(w.ctx, &bookingv1.GetTransactionRequest{CustomerId: ann.String(), TransactionId: result.GetId()})
		if err != nil {
			t.Fatal(err)
		}
		got := read.GetTransaction()
		first, second := got.GetBookings()[0], got.GetBookings()[1]
		if !got.GetPurchasedAt().AsTime().Equal(time.Date(2025, 2, 1, 8, 0, 0, 0, time.UTC)) || got.GetTimezone() != "Europe/London" {
			t.Errorf("got %v", got)
		}
		if first.GetEventTitle() != "Yoga yoga" || first.GetEventType() != bookingv1.EventType_EVENT_TYPE_WORKSHOP || first.GetDurationMinutes() != 45 ||
			first.GetTimezone() != "Europe/London" || first.GetSpaces() != 2 || first.GetCard().GetNet() != 1000 || first.GetCard().GetReference() != "ch_9" {
			t.Errorf("got %v", first)
		}
		if !second.GetIsCancelled() || !second.GetIsRefunded() || second.GetBoughtFor().GetFirstName() != "ben" || second.GetPass().GetCreditsUsed() != 3 ||
			second.GetPass().GetCustomerPassId() == "" || second.GetPricingOptionId() == first.GetPricingOptionId() {
			t.Errorf("got %v", second)
		}
		event, err := w.events.GetEvent(w.ctx, &bookingv1.GetEventRequest{Id: first.GetEventId()})
		if err != nil {
			t.Fatal(err)
		}
		e := event.GetEvent()
		if len(e.GetDates()) != 1 || e.GetDates()[0].GetBooked() != 2 || e.GetDates()[0].GetCapacity() != 5 || len(e.GetPricingOptions()) != 2 ||
			e.GetStatus() != bookingv1.EventStatus_EVENT_STATUS_PUBLISHED {
			t.Errorf("got %v", e)
		}
		w.inStep()
	})
	t.Run("history publishes only events of imports (invariant 10)", func(t *testing.T) {
		w := newWorld(t)
		studioOf(w)
		w.mustSend(past("p1", "ann", "yoga", 1), past("p2", "ann", "run", 1))
		if n := one[int64](w, `select count(*) from outbox where subject not in ($1, $2)`, subjectEventsImported, subjectTransactionsImported); n != 0 {
			t.Errorf("%d events", n)
		}
	})
	t.Run("imports and live bookings share a date's capacity (invariant 1)", func(t *testing.T) {
		w := newWorld(t)
		ann, _ := studioOf(w)
		e := w.event(w.ctx, new(int32(3)))
		w.mustBook(w.ctx, ann, e, 2)
		line := func(reference string, spaces int32) *bookingv1.ImportedTransaction {
			l := past(reference, "ann", "", spaces)
			l.Bookings[0].Date = &bookingv1.ImportedBooking_EventDateId{EventDateId: e.GetDates()[0].GetId()}
			l.Bookings[0].PricingOptionId = e.GetPricingOptions()[0].GetId()
			return l
		}
		if got := outcomes(w.mustSend(line("p1", 2), line("p2", 1), line("p3", 1))); got != "rcr" {
			t.Errorf("got %s", got)
		}
		_, err := w.book(w.ctx, ann, e, 1)
		wantFault(t, err, fault.Refused, model.ReasonEventFull)
		w.inStep()
	})
	t.Run("many customers are fetched in one request", func(t *testing.T) {
		w := newWorld(t)
		var lines []*bookingv1.ImportedTransaction
		for i := range 300 {
			name := fmt.Sprintf("c%d", i)
			c := w.customers.add(w.company, model.CustomerRecord{Customer: model.Customer{ID: id.New[id.Customer](), FirstName: name}, Reference: name, Version: 1})
			if i%2 == 0 {
				name = c.String()
			}
			lines = append(lines, past(name, name, "yoga", 1))
			lines[i].Bookings[0].GetImportedDate().Capacity = nil
		}
		for _, r := range w.mustSend(lines...) {
			if r.GetOutcome() != created {
				t.Fatal(r)
			}
		}
		if n := w.customers.lookups(); n != 1 {
			t.Errorf("%d requests", n)
		}
	})
}

func TestRepeatedImport(t *testing.T) {
	t.Parallel()
	t.Run("a repeated import changes nothing and returns the same identifiers (invariant 9)", func(t *testing.T) {
		w := newWorld(t)
		studioOf(w)
		lines := []*bookingv1.ImportedTransaction{past("p1", "ann", "yoga", 1), past("p2", "ben", "yoga", 1), past("p3", "ann", "run", 1)}
		first := w.mustSend(lines...)
		lines[0].PurchasedAt = timestamppb.Now()
		again := w.mustSend(append(lines, past("p4", "ann", "yoga", 3))...)
		if outcomes(first) != "ccc" || outcomes(again) != "eeec" {
			t.Fatalf("got %s, then %s", outcomes(first), outcomes(again))
		}
		for i := range first {
			if first[i].GetId() != again[i].GetId() {
				t.Errorf("%d was %s, is %s", i, first[i].GetId(), again[i].GetId())
			}
		}
		if n := one[int64](w, `select count(*) from events`); n != 2 {
			t.Errorf("%d events", n)
		}
		if n := one[int64](w, `select events from event_totals`); n != 2 {
			t.Errorf("the total is %d events", n)
		}
		if n := one[int64](w, `select count(*) from pricing_options`); n != 2 {
			t.Errorf("%d options", n)
		}
		w.inStep()
	})
	t.Run("an interrupted import can be restarted (invariant 9)", func(t *testing.T) {
		w := newWorld(t)
		studioOf(w)
		batch := func(n int) []*bookingv1.ImportedTransaction {
			var lines []*bookingv1.ImportedTransaction
			for i := range 20 {
				lines = append(lines, past(fmt.Sprintf("p%d-%d", n, i), "ann", fmt.Sprintf("class %d", n), 1))
				lines[i].Bookings[0].GetImportedDate().Capacity = nil
			}
			return lines
		}
		ctx, cut := context.WithCancel(w.ctx)
		stream, err := w.bookings.ImportTransactions(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 2 {
			if err := stream.Send(&bookingv1.ImportTransactionsRequest{Transactions: batch(n)}); err != nil {
				t.Fatal(err)
			}
			if _, err := stream.Recv(); err != nil {
				t.Fatal(err)
			}
		}
		// The connection breaks while the third batch is being sent, so the client cannot know
		// whether it was stored.
		if err := stream.Send(&bookingv1.ImportTransactionsRequest{Transactions: batch(2)}); err != nil {
			t.Fatal(err)
		}
		cut()
		for {
			if _, err := stream.Recv(); err != nil {
				break
			}
		}
		for n := range 4 {
			for i, r := range w.mustSend(batch(n)...) {
				if r.GetOutcome() == refused || n < 2 && r.GetOutcome() != existed || n > 2 && r.GetOutcome() != created {
					t.Errorf("batch %d line %d: %v", n, i, r)
				}
			}
		}
		if n := one[int64](w, `select count(*) from transactions`); n != 80 {
			t.Errorf("%d transactions", n)
		}
		w.inStep()
	})
	t.Run("several streams with the same history store it once (invariant 9)", func(t *testing.T) {
		w := newWorld(t)
		studioOf(w)
		var lines []*bookingv1.ImportedTransaction
		for i := range 50 {
			lines = append(lines, past(fmt.Sprintf("p%d", i), "ann", fmt.Sprintf("class %d", i%7), 1))
			lines[i].Bookings[0].GetImportedDate().Capacity = nil
		}
		made := make([]int, 4)
		together(len(made), func(n int) {
			results, err := w.send(w.ctx, lines...)
			if err != nil {
				t.Error(err)
			}
			for _, r := range results {
				if r.GetOutcome() == created {
					made[n]++
				}
			}
		})
		if made[0]+made[1]+made[2]+made[3] != 50 || one[int64](w, `select count(*) from transactions`) != 50 {
			t.Errorf("made %v", made)
		}
		w.inStep()
	})
}

func TestImportRefusals(t *testing.T) {
	t.Parallel()
	t.Run("invalid lines are refused one by one, and the others are stored (invariant 9)", func(t *testing.T) {
		w := newWorld(t)
		ann, _ := studioOf(w)
		gone := w.customers.add(w.company, model.CustomerRecord{Customer: model.Customer{ID: id.New[id.Customer]()}, Version: 2, DeletedAt: time.Now(), Reference: "gone"})
		unknownDate := past("p7", "ann", "yoga", 1)
		unknownDate.Bookings[0].Date = &bookingv1.ImportedBooking_EventDateId{EventDateId: id.New[id.EventDate]().String()}
		results := w.mustSend(
			past("p1", ann.String(), "yoga", 4),
			past("", "ann", "yoga", 1),
			past("p2", "nobody", "yoga", 1),
			past("p3", gone.String(), "yoga", 1),
			past("p4", "gone", "yoga", 1),
			past("p5", "ann", "yoga", 2), // one space is left
			past("p6", "ann", "yoga", 1),
			unknownDate,
			past("p6", "ann", "yoga", 1),
		)
		if got := outcomes(results); got != "crrrrrcre" {
			t.Fatalf("got %s: %v", got, results)
		}
		for i, want := range map[int][2]string{
			1: {"reference", "required"}, 2: {"customer", "exists"}, 3: {"customer", "exists"}, 4: {"customer", "exists"},
			5: {"bookings[0].spaces", model.ReasonEventFull}, 7: {"bookings[0].event_date_id", "exists"},
		} {
			if r := results[i]; r.GetField() != want[0] || r.GetRule() != want[1] || r.GetMessage() == "" || r.GetId() != "" {
				t.Errorf("%d: got %v", i, r)
			}
		}
		if results[8].GetId() != results[6].GetId() {
			t.Error("a duplicate within the batch is another transaction")
		}
		if n := one[int64](w, `select count(*) from bookings`); n != 2 {
			t.Errorf("%d bookings", n)
		}
		w.inStep()
	})
	t.Run("a batch without lines, or with too many, ends the stream with an error", func(t *testing.T) {
		w := newWorld(t)
		_, err := w.send(w.ctx)
		wantFault(t, err, fault.Invalid, fault.ReasonValidation)
		_, err = w.send(w.ctx, make([]*bookingv1.ImportedTransaction, maxImportBatch+1)...)
		wantFault(t, err, fault.Invalid, fault.ReasonValidation)
	})
	t.Run("an empty stream succeeds", func(t *testing.T) {
		w := newWorld(t)
		stream, err := w.bookings.ImportTransactions(w.ctx)
		if err != nil {
			t.Fatal(err)
		}
		_ = stream.CloseSend()
		if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
			t.Errorf("got %v", err)
		}
	})
}
