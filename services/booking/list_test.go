package booking

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// list reads a page of the purchases of a customer.
func (w *world) list(req *bookingv1.ListTransactionsRequest) *bookingv1.ListTransactionsResponse {
	w.t.Helper()
	resp, err := w.bookings.ListTransactions(w.ctx, req)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp
}

func idsOf(l *bookingv1.ListTransactionsResponse) []string {
	var ids []string
	for _, t := range l.GetTransactions() {
		ids = append(ids, t.GetId())
	}
	return ids
}

// backdate changes the time of a purchase.
func (w *world) backdate(transaction string, to time.Time) {
	w.t.Helper()
	w.exec(`update transactions set purchased_at = $2 where id = $1`, idOf[id.Transaction](w.t, transaction), to.Truncate(time.Second))
}

func TestListTransactions(t *testing.T) {
	t.Parallel()
	t.Run("lists purchases newest first, by purchase time and then by id", func(t *testing.T) {
		w := newWorld(t)
		ann := w.customer(w.company, "ann")
		e := w.event(w.ctx, nil)
		var ids []string
		for range 5 {
			ids = append(ids, w.mustBook(w.ctx, ann, e, 1).GetId())
		}
		at := time.Now().Add(-time.Hour)
		for i, ago := range []time.Duration{0, time.Minute, time.Minute, time.Minute, 2 * time.Minute} {
			w.backdate(ids[i], at.Add(-ago))
		}
		want := []string{ids[0], ids[3], ids[2], ids[1], ids[4]}
		all := w.list(&bookingv1.ListTransactionsRequest{CustomerId: ann.String()})
		if got := idsOf(all); !slices.Equal(got, want) || all.GetTotal() != 5 || all.GetPage() != 0 || all.GetPageSize() != 30 {
			t.Errorf("got %v, total %d, page %d, size %d", got, all.GetTotal(), all.GetPage(), all.GetPageSize())
		}
		var paged []string
		for n := range int32(3) {
			page := w.list(&bookingv1.ListTransactionsRequest{CustomerId: ann.String(), Page: new(n), PageSize: new(int32(2))})
			if page.GetTotal() != 5 || page.GetPage() != n {
				t.Errorf("page %d has total %d", page.GetPage(), page.GetTotal())
			}
			paged = append(paged, idsOf(page)...)
		}
		if !slices.Equal(paged, want) {
			t.Errorf("the pages are %v", paged)
		}
		far := w.list(&bookingv1.ListTransactionsRequest{CustomerId: ann.String(), Page: new(int32(1<<31 - 1)), PageSize: new(int32(1000))})
		if len(far.GetTransactions()) != 0 || far.GetTotal() != 5 || far.GetPageSize() != 100 {
			t.Errorf("far out: %v", far)
		}
	})
	t.Run("an item of the list equals the single read", func(t *testing.T) {
		w := newWorld(t)
		ann, ben := w.customer(w.company, "ann"), w.customer(w.company, "ben")
		e := w.event(w.ctx, nil)
		line := &bookingv1.TransactionLine{EventDateId: e.GetDates()[0].GetId(), BoughtForId: ben.String()}
		made, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{
			PurchaserId: ann.String(), Lines: []*bookingv1.TransactionLine{line, {EventDateId: line.GetEventDateId()}, line},
		})
		if err != nil {
			t.Fatal(err)
		}
		got := w.list(&bookingv1.ListTransactionsRequest{CustomerId: ann.String()}).GetTransactions()
		if len(got) != 1 || !proto.Equal(got[0], made.GetTransaction()) {
			t.Errorf("got %v\nwant %v", got, made.GetTransaction())
		}
		if n := len(w.list(&bookingv1.ListTransactionsRequest{CustomerId: ben.String()}).GetTransactions()); n != 0 {
			t.Error("bought for Ben is listed as bought by Ben")
		}
	})
	t.Run("names the invalid parameter", func(t *testing.T) {
		w := newWorld(t)
		ann := w.customer(w.company, "ann").String()
		for field, req := range map[string]*bookingv1.ListTransactionsRequest{
			"page":       {CustomerId: ann, Page: new(int32(-1))},
			"page_size":  {CustomerId: ann, PageSize: new(int32(0))},
			"start_date": {CustomerId: ann, StartDate: new("soon")},
			"end_date":   {CustomerId: ann, EndDate: new("2026-02-30")},
		} {
			_, err := w.bookings.ListTransactions(w.ctx, req)
			if f := wantFault(t, err, fault.Invalid, fault.ReasonInvalidParameter); f.Fields[0].Field != field {
				t.Errorf("%s: got %v", field, f.Fields)
			}
		}
	})
}

func TestListTransactionsOfAPeriod(t *testing.T) {
	t.Parallel()
	t.Run("lists only three months by default, also with future_only", func(t *testing.T) {
		w := newWorld(t)
		ann := w.customer(w.company, "ann")
		e := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{Title: "Gala", Dates: []*bookingv1.NewEventDate{newDate(9000*time.Hour, nil)}})
		old, recent := w.mustBook(w.ctx, ann, e, 1), w.mustBook(w.ctx, ann, e, 1)
		w.backdate(old.GetId(), time.Now().AddDate(0, -3, -5))
		w.backdate(recent.GetId(), time.Now().AddDate(0, -2, -20))
		for _, future := range []bool{false, true} {
			req := &bookingv1.ListTransactionsRequest{CustomerId: ann.String(), FutureOnly: future}
			if l := w.list(req); !slices.Equal(idsOf(l), []string{recent.GetId()}) || l.GetTotal() != 1 {
				t.Errorf("future_only %t: %v", future, l)
			}
			req.StartDate = new("1970-01-01")
			if l := w.list(req); len(l.GetTransactions()) != 2 || l.GetTotal() != 2 {
				t.Errorf("future_only %t from the start of time: %v", future, l)
			}
		}
	})
	t.Run("both bounds are inclusive to the second", func(t *testing.T) {
		w := newWorld(t)
		ann := w.customer(w.company, "ann")
		e := w.event(w.ctx, nil)
		made := w.mustBook(w.ctx, ann, e, 1)
		w.backdate(made.GetId(), time.Date(2026, 3, 29, 22, 59, 59, 0, time.UTC)) // the last second of a 23-hour day
		for _, tt := range []struct {
			start, end string
			want       int64
		}{
			{"2026-03-29", "2026-03-29", 1}, {"2026-03-30", "2026-03-31", 0}, {"2026-03-28", "2026-03-28", 0},
			{"2026-03-29T23:59:59", "2026-03-29T23:59:59", 1}, {"2026-03-29T22:59:59Z", "2026-03-29T22:59:59Z", 1},
			{"2026-03-29T22:59:59.001Z", "2026-04-01", 0}, {"2026-03-01", "2026-03-29T22:59:58.999Z", 0},
			{"0001-01-01", "9999-12-31", 1}, {"0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", 1},
		} {
			l := w.list(&bookingv1.ListTransactionsRequest{CustomerId: ann.String(), StartDate: &tt.start, EndDate: &tt.end})
			if l.GetTotal() != tt.want || len(l.GetTransactions()) != int(tt.want) {
				t.Errorf("%s to %s: %d", tt.start, tt.end, l.GetTotal())
			}
		}
	})
	t.Run("future_only returns upcoming bookings, and neither returns nor counts purchases without one", func(t *testing.T) {
		w := newWorld(t)
		ann := w.customer(w.company, "ann")
		e := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{Title: "Series", Dates: []*bookingv1.NewEventDate{
			newDate(time.Hour, nil), newDate(2*time.Hour, nil),
		}})
		first, second := e.GetDates()[0].GetId(), e.GetDates()[1].GetId()
		buy := func(dates ...string) *bookingv1.Transaction {
			req := &bookingv1.CreateTransactionRequest{PurchaserId: ann.String()}
			for _, d := range dates {
				req.Lines = append(req.Lines, &bookingv1.TransactionLine{EventDateId: d})
			}
			resp, err := w.bookings.CreateTransaction(w.ctx, req)
			if err != nil {
				t.Fatal(err)
			}
			return resp.GetTransaction()
		}
		both, past := buy(first, second), buy(first)
		cancelled := buy(second)
		if _, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: cancelled.GetBookings()[0].GetId()}); err != nil {
			t.Fatal(err)
		}
		w.exec(`update event_dates set starts_at = now() - interval '1 hour' where id = $1`, idOf[id.EventDate](t, first))

		l := w.list(&bookingv1.ListTransactionsRequest{CustomerId: ann.String(), FutureOnly: true})
		if got := idsOf(l); !slices.Equal(got, []string{cancelled.GetId(), both.GetId()}) || l.GetTotal() != 2 {
			t.Fatalf("got %v, total %d; %s is past", got, l.GetTotal(), past.GetId())
		}
		if b := l.GetTransactions()[1].GetBookings(); len(b) != 1 || b[0].GetEventDateId() != second {
			t.Errorf("shown are %v", b)
		}
		if !l.GetTransactions()[0].GetBookings()[0].GetIsCancelled() {
			t.Error("a cancelled booking lost its flag")
		}
		page := w.list(&bookingv1.ListTransactionsRequest{CustomerId: ann.String(), FutureOnly: true, PageSize: new(int32(1)), Page: new(int32(1))})
		if got := idsOf(page); !slices.Equal(got, []string{both.GetId()}) || page.GetTotal() != 2 {
			t.Errorf("the second page is %v", got)
		}
		if all := w.list(&bookingv1.ListTransactionsRequest{CustomerId: ann.String()}); all.GetTotal() != 3 {
			t.Errorf("all are %d", all.GetTotal())
		}
	})
}

func TestTransactionsNotFound(t *testing.T) {
	t.Parallel()
	t.Run("a customer who does not exist is reported rather than an invalid parameter", func(t *testing.T) {
		w := newWorld(t)
		for _, c := range []string{"cust_x", id.New[id.Customer]().String()} {
			_, err := w.bookings.ListTransactions(w.ctx, &bookingv1.ListTransactionsRequest{CustomerId: c, Page: new(int32(-1))})
			wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		}
	})
	t.Run("a customer without purchases has an empty list, and an unknown customer is NOT_FOUND", func(t *testing.T) {
		w := newWorld(t)
		ann := w.customer(w.company, "ann")
		l := w.list(&bookingv1.ListTransactionsRequest{CustomerId: ann.String()})
		if l.GetTotal() != 0 || len(l.GetTransactions()) != 0 {
			t.Errorf("got %v", l)
		}
		w.list(&bookingv1.ListTransactionsRequest{CustomerId: ann.String()})
		if n := w.customers.lookups(); n != 1 {
			t.Errorf("the customer service was called %d times", n)
		}
		gone := w.customers.add(w.company, model.CustomerRecord{Customer: model.Customer{ID: id.New[id.Customer]()}, Version: 2, DeletedAt: time.Now()})
		for _, c := range []string{"", "cust_x", id.New[id.Customer]().String(), gone.String(), gone.String()} {
			_, err := w.bookings.ListTransactions(w.ctx, &bookingv1.ListTransactionsRequest{CustomerId: c})
			wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		}
	})
	t.Run("a deleted customer is NOT_FOUND, with all purchases", func(t *testing.T) {
		w := newWorld(t)
		ann := w.customer(w.company, "ann")
		made := w.mustBook(w.ctx, ann, w.event(w.ctx, nil), 1)
		w.exec(`update customers set deleted_at = now() where id = $1`, ann)
		_, err := w.bookings.ListTransactions(w.ctx, &bookingv1.ListTransactionsRequest{CustomerId: ann.String()})
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		_, err = w.bookings.GetTransaction(w.ctx, &bookingv1.GetTransactionRequest{CustomerId: ann.String(), TransactionId: made.GetId()})
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
	})
	t.Run("a pending purchase is hidden from every read and change (invariant 6)", func(t *testing.T) {
		w := newWorld(t)
		ann := w.customer(w.company, "ann")
		made := w.mustBook(w.ctx, ann, w.event(w.ctx, nil), 1)
		w.exec(`update transactions set status = 'pending', expires_at = now() + interval '1 hour' where id = $1`, idOf[id.Transaction](t, made.GetId()))
		for _, future := range []bool{false, true} {
			if l := w.list(&bookingv1.ListTransactionsRequest{CustomerId: ann.String(), FutureOnly: future}); l.GetTotal() != 0 || len(l.GetTransactions()) != 0 {
				t.Errorf("listed: %v", l)
			}
		}
		_, err := w.bookings.GetTransaction(w.ctx, &bookingv1.GetTransactionRequest{CustomerId: ann.String(), TransactionId: made.GetId()})
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		_, err = w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: made.GetBookings()[0].GetId()})
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
	})
	t.Run("a transaction that another customer bought is not found (invariant 6)", func(t *testing.T) {
		w := newWorld(t)
		ann, ben := w.customer(w.company, "ann"), w.customer(w.company, "ben")
		e := w.event(w.ctx, nil)
		made := w.mustBook(w.ctx, ann, e, 1)
		w.mustBook(w.ctx, ben, e, 1)
		for _, req := range []*bookingv1.GetTransactionRequest{
			{CustomerId: ben.String(), TransactionId: made.GetId()},
			{CustomerId: id.New[id.Customer]().String(), TransactionId: made.GetId()},
			{CustomerId: "cust_x", TransactionId: made.GetId()},
			{CustomerId: ann.String(), TransactionId: "txn_x"},
			{CustomerId: ann.String(), TransactionId: id.New[id.Transaction]().String()},
		} {
			_, err := w.bookings.GetTransaction(w.ctx, req)
			wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		}
	})
}
