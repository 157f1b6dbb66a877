package booking

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/store"
)

func TestListCompanyRegistrations(t *testing.T) { // invariant 14
	t.Parallel()
	w := newRegistrationWorld(t)
	other := w.registrations(&bookingv1.ListRegistrationsRequest{EventId: w.other.GetId()})[0]
	w.attend(w.all[0], bookingv1.Attendance_ATTENDANCE_CHECKED_IN)
	w.attend(w.all[4], bookingv1.Attendance_ATTENDANCE_NO_SHOW)
	hours := func(n time.Duration) *timestamppb.Timestamp {
		return timestamppb.New(time.Now().Add(n * 30 * time.Minute))
	}
	// The purchases are ann's 0 and 1, ann's other, ben's 2 and 3, and ben's 4; the last changes are
	// those of ann's other, of 2, of 0 and of 4.
	for behaviour, tt := range map[string]struct {
		req     *bookingv1.ListRegistrationsRequest
		created []string
		updated []string
	}{
		"of a company": {&bookingv1.ListRegistrationsRequest{},
			[]string{w.all[0], w.all[1], other, w.all[2], w.all[3], w.all[4]}, []string{other, w.all[2], w.all[3], w.all[0], w.all[1], w.all[4]}},
		"of an event": {&bookingv1.ListRegistrationsRequest{EventId: w.yoga.GetId()}, w.in(0, 1, 2, 3, 4), w.in(2, 3, 0, 1, 4)},
		"of a date":   {&bookingv1.ListRegistrationsRequest{EventDateId: w.first}, w.in(0, 2, 3), w.in(2, 3, 0)},
		"for a customer": {&bookingv1.ListRegistrationsRequest{CustomerId: w.ann.String()},
			[]string{w.all[0], other, w.all[3]}, []string{other, w.all[3], w.all[0]}},
		"of a purchaser": {&bookingv1.ListRegistrationsRequest{PurchaserId: w.ann.String()},
			[]string{w.all[0], w.all[1], other}, []string{other, w.all[0], w.all[1]}},
		"of a purchaser for a customer": {&bookingv1.ListRegistrationsRequest{PurchaserId: w.ann.String(), CustomerId: w.ben.String()}, w.in(1), w.in(1)},
		"of an unknown purchaser":       {&bookingv1.ListRegistrationsRequest{PurchaserId: "cust_x"}, nil, nil},
		"that are cancelled":            {&bookingv1.ListRegistrationsRequest{Cancelled: new(true)}, w.in(2), w.in(2)},
		"that are not cancelled": {&bookingv1.ListRegistrationsRequest{Cancelled: new(false)},
			[]string{w.all[0], w.all[1], other, w.all[3], w.all[4]}, []string{other, w.all[3], w.all[0], w.all[1], w.all[4]}},
		"that were checked in": {&bookingv1.ListRegistrationsRequest{Attendance: bookingv1.Attendance_ATTENDANCE_CHECKED_IN}, w.in(0), w.in(0)},
		"without attendance, of an event": {&bookingv1.ListRegistrationsRequest{Attendance: bookingv1.Attendance_ATTENDANCE_UNKNOWN, EventId: w.yoga.GetId()},
			w.in(1, 2, 3), w.in(2, 3, 1)},
		"no-shows of an event":    {&bookingv1.ListRegistrationsRequest{Attendance: bookingv1.Attendance_ATTENDANCE_NO_SHOW, EventId: w.yoga.GetId()}, w.in(4), w.in(4)},
		"on dates from a time on": {&bookingv1.ListRegistrationsRequest{StartsFrom: hours(3)}, w.in(1, 4), w.in(1, 4)},
		"on dates before a time":  {&bookingv1.ListRegistrationsRequest{StartsBefore: hours(3), EventId: w.yoga.GetId()}, w.in(0, 2, 3), w.in(2, 3, 0)},
		"on dates of a period":    {&bookingv1.ListRegistrationsRequest{StartsFrom: hours(3), StartsBefore: hours(5)}, w.in(1, 4), w.in(1, 4)},
		"of a customer on dates":  {&bookingv1.ListRegistrationsRequest{StartsFrom: hours(3), CustomerId: w.ben.String()}, w.in(1, 4), w.in(1, 4)},
		"changed since the beginning, on dates": {&bookingv1.ListRegistrationsRequest{StartsFrom: hours(3), UpdatedSince: timestamppb.New(w.began)},
			w.in(1, 4), w.in(1, 4)},
		"changed since the beginning": {&bookingv1.ListRegistrationsRequest{UpdatedSince: timestamppb.New(w.began)},
			[]string{w.all[0], w.all[1], other, w.all[2], w.all[3], w.all[4]}, []string{other, w.all[2], w.all[3], w.all[0], w.all[1], w.all[4]}},
		"changed since a change": {&bookingv1.ListRegistrationsRequest{UpdatedSince: w.registration(w.all[0]).GetUpdatedAt()}, w.in(0, 1, 4), w.in(0, 1, 4)},
	} {
		t.Run("a list "+behaviour+" is complete and counted, in every order", func(t *testing.T) {
			for order, want := range map[bookingv1.RegistrationOrder][]string{
				bookingv1.RegistrationOrder_REGISTRATION_ORDER_CREATED: tt.created, bookingv1.RegistrationOrder_REGISTRATION_ORDER_CREATED_DESC: backwards(tt.created),
				bookingv1.RegistrationOrder_REGISTRATION_ORDER_UPDATED: tt.updated, bookingv1.RegistrationOrder_REGISTRATION_ORDER_UPDATED_DESC: backwards(tt.updated),
			} {
				req := proto.Clone(tt.req).(*bookingv1.ListRegistrationsRequest)
				req.Order, req.PageSize = order, 2
				if got := w.registrations(req); !slices.Equal(got, want) {
					t.Errorf("%s: got %v\nwant %v", order, got, want)
				}
				req.Offset = 1
				if got, err := w.bookings.ListRegistrations(w.ctx, req); err != nil || got.GetTotal() != int64(len(want)) ||
					len(want) > 1 && got.GetRegistrations()[0].GetBooking().GetId() != want[1] {
					t.Errorf("%s from 1 on: got %v, %v", order, got, err)
				}
			}
		})
	}
	for limit, want := range map[int64]int64{1: 1, 5: 5, 6: 6, 7: 6, mostCounted: 6} {
		for name, q := range map[string]store.RegistrationQuery{
			"by creation": {}, "changed": {Since: w.began}, "on dates": {StartsFrom: w.began},
		} {
			q.MostCounted = limit
			s := q.Total(w.company)
			if n, err := pg.One[int64](t.Context(), w.db, pg.For(w.company), s.SQL, s.Args...); err != nil || n != want {
				t.Errorf("the total of those %s, up to %d: got %d, %v; want %d", name, limit, n, err, want)
			}
		}
	}
}

func backwards(ids []string) []string {
	ids = slices.Clone(ids)
	slices.Reverse(ids)
	return ids
}

func TestListCompanyTransactions(t *testing.T) { // invariants 5, 6, 14 and 24
	t.Parallel()
	w := newWorld(t)
	ann, ben := w.customer(w.company, "ann"), w.customer(w.company, "ben")
	e := w.event(w.ctx, nil)
	date := e.GetDates()[0].GetId()
	var all, first []string
	for _, c := range []id.Customer{ann, ben, ann} {
		bookings := w.register(c, &bookingv1.TransactionLine{EventDateId: date}, &bookingv1.TransactionLine{EventDateId: date, BoughtForId: ben.String()})
		first = append(first, bookings[0])
		all = append(all, w.registration(bookings[0]).GetTransactionId())
	}
	w.hold(ann, e, 1, "")
	since := time.Now()
	w.attend(first[0], bookingv1.Attendance_ATTENDANCE_NO_SHOW)
	list := func(req *bookingv1.ListCompanyTransactionsRequest) (ids []string) {
		t.Helper()
		req = proto.Clone(req).(*bookingv1.ListCompanyTransactionsRequest)
		for {
			resp, err := w.bookings.ListCompanyTransactions(w.ctx, req)
			if err != nil {
				t.Fatal(err)
			}
			for _, made := range resp.GetTransactions() {
				ids = append(ids, made.GetId())
				read, err := w.bookings.GetTransaction(w.ctx, &bookingv1.GetTransactionRequest{TransactionId: made.GetId(), CustomerId: made.GetPurchaser().GetId()})
				if err != nil || !proto.Equal(read.GetTransaction(), made) {
					t.Errorf("got %v, the single read has %v, %v", made, read, err)
				}
			}
			if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
				if resp.GetTotal() != int64(len(ids)) {
					t.Errorf("%d of %d", len(ids), resp.GetTotal())
				}
				return ids
			}
		}
	}
	created, updated := bookingv1.TransactionOrder_TRANSACTION_ORDER_CREATED, bookingv1.TransactionOrder_TRANSACTION_ORDER_UPDATED
	for behaviour, tt := range map[string]struct {
		req  *bookingv1.ListCompanyTransactionsRequest
		want []string
	}{
		"by creation, without holds":          {&bookingv1.ListCompanyTransactionsRequest{}, all},
		"by creation":                         {&bookingv1.ListCompanyTransactionsRequest{Order: created}, all},
		"by creation, newest first":           {&bookingv1.ListCompanyTransactionsRequest{Order: created + 1}, backwards(all)},
		"by last change":                      {&bookingv1.ListCompanyTransactionsRequest{Order: updated}, []string{all[1], all[2], all[0]}},
		"by last change, latest first":        {&bookingv1.ListCompanyTransactionsRequest{Order: updated + 1}, []string{all[0], all[2], all[1]}},
		"of a purchaser":                      {&bookingv1.ListCompanyTransactionsRequest{PurchaserId: ann.String()}, []string{all[0], all[2]}},
		"of a purchaser by last change":       {&bookingv1.ListCompanyTransactionsRequest{PurchaserId: ann.String(), Order: updated}, []string{all[2], all[0]}},
		"of an unknown purchaser":             {&bookingv1.ListCompanyTransactionsRequest{PurchaserId: "x"}, nil},
		"changed since a time":                {&bookingv1.ListCompanyTransactionsRequest{UpdatedSince: timestamppb.New(since)}, all[:1]},
		"changed since a time by last change": {&bookingv1.ListCompanyTransactionsRequest{UpdatedSince: timestamppb.New(since), Order: updated}, all[:1]},
		"changed since the beginning":         {&bookingv1.ListCompanyTransactionsRequest{UpdatedSince: timestamppb.New(since.Add(-time.Hour)), Order: updated}, []string{all[1], all[2], all[0]}},
	} {
		t.Run("lists purchases "+behaviour+", in pages of any size", func(t *testing.T) {
			for size := range int32(4) {
				tt.req.PageSize = size
				if got := list(tt.req); !slices.Equal(got, tt.want) {
					t.Errorf("pages of %d: got %v\nwant %v", size, got, tt.want)
				}
			}
		})
	}
	t.Run("names the wrong parameter", func(t *testing.T) {
		for parameter, req := range map[string]*bookingv1.ListCompanyTransactionsRequest{
			"purchased_from": {PurchasedFrom: &timestamppb.Timestamp{Seconds: 1 << 60}}, "purchased_before": {PurchasedBefore: &timestamppb.Timestamp{Seconds: 1 << 60}},
			"total_limit": {TotalLimit: 10_001},
			"page_size":   {PageSize: 201}, "page_token": {PageToken: "x"}, "offset": {Offset: -1}, "order": {Order: 99}, "updated_since": {UpdatedSince: &timestamppb.Timestamp{Seconds: 1 << 60}},
		} {
			_, err := w.bookings.ListCompanyTransactions(w.ctx, req)
			if f := wantFault(t, err, fault.Invalid, fault.ReasonInvalidParameter); f.Fields[0].Field != parameter {
				t.Errorf("got %+v", f.Fields)
			}
		}
	})
	t.Run("an import is listed with its own time", func(t *testing.T) {
		made := w.mustSend(past("p1", ann.String(), "yoga", 1))[0].GetId()
		if got := list(&bookingv1.ListCompanyTransactionsRequest{Order: updated + 1}); got[0] != made {
			t.Errorf("got %v, want %s first", got, made)
		}
	})
	t.Run("a transaction that is not confirmed, or does not exist, is not found", func(t *testing.T) {
		for _, which := range []string{"", "txn_x", id.New[id.Transaction]().String(), w.hold(ann, e, 1, "").GetId()} {
			_, err := w.bookings.GetTransaction(w.ctx, &bookingv1.GetTransactionRequest{TransactionId: which})
			wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		}
	})
}

func TestListPurchasesOfPeriod(t *testing.T) { // invariants 6 and 14
	t.Parallel()
	w := newWorld(t)
	began := time.Now().Add(-time.Hour)
	ann := w.customer(w.company, "ann")
	day := time.Date(2024, 5, 6, 0, 0, 0, 0, time.UTC)
	var all []string
	for n, at := range []time.Duration{24*time.Hour - time.Second, 0, -time.Second, 24 * time.Hour, 0} {
		p := past(fmt.Sprint("p", n), ann.String(), "yoga", 1)
		p.PurchasedAt = timestamppb.New(day.Add(at))
		all = append(all, w.mustSend(p)[0].GetId())
	}
	midnight := []string{all[1], all[4]} // at the same time, sorted by id
	slices.Sort(midnight)
	e := w.event(w.ctx, nil)
	w.hold(ann, e, 1, "")
	today := w.mustBook(w.ctx, ann, e, 1).GetId()
	created, purchased := bookingv1.TransactionOrder_TRANSACTION_ORDER_CREATED, bookingv1.TransactionOrder_TRANSACTION_ORDER_PURCHASED
	at := func(t time.Time) *timestamppb.Timestamp { return timestamppb.New(t) }
	for behaviour, tt := range map[string]struct {
		req  *bookingv1.ListCompanyTransactionsRequest
		want []string
	}{
		"of a day by their time, imported ones too": {&bookingv1.ListCompanyTransactionsRequest{
			Order: purchased, PurchasedFrom: at(day), PurchasedBefore: at(day.AddDate(0, 0, 1)),
		}, []string{midnight[0], midnight[1], all[0]}},
		"of a day by creation": {&bookingv1.ListCompanyTransactionsRequest{
			Order: created, PurchasedFrom: at(day), PurchasedBefore: at(day.AddDate(0, 0, 1)),
		}, []string{all[0], all[1], all[4]}},
		"of a day by a purchaser": {&bookingv1.ListCompanyTransactionsRequest{
			Order: purchased, PurchasedFrom: at(day), PurchasedBefore: at(day.AddDate(0, 0, 1)), PurchaserId: ann.String(),
		}, []string{midnight[0], midnight[1], all[0]}},
		"of a day, changed since": {&bookingv1.ListCompanyTransactionsRequest{
			Order: purchased, PurchasedFrom: at(day), PurchasedBefore: at(day.AddDate(0, 0, 1)), UpdatedSince: at(began),
		}, []string{midnight[0], midnight[1], all[0]}},
		"before a time":                 {&bookingv1.ListCompanyTransactionsRequest{Order: purchased, PurchasedBefore: at(day)}, all[2:3]},
		"from a time on, without holds": {&bookingv1.ListCompanyTransactionsRequest{Order: purchased, PurchasedFrom: at(day.AddDate(0, 0, 1))}, []string{all[3], today}},
		"of all times":                  {&bookingv1.ListCompanyTransactionsRequest{Order: purchased}, []string{all[2], midnight[0], midnight[1], all[0], all[3], today}},
	} {
		t.Run("lists purchases "+behaviour+", in pages of any size", func(t *testing.T) {
			for size := range int32(4) {
				req := proto.Clone(tt.req).(*bookingv1.ListCompanyTransactionsRequest)
				var got []string
				for req.PageSize = size; ; {
					resp, err := w.bookings.ListCompanyTransactions(w.ctx, req)
					if err != nil || resp.GetTotal() != int64(len(tt.want)) {
						t.Fatalf("%d in total, %v", resp.GetTotal(), err)
					}
					for _, made := range resp.GetTransactions() {
						got = append(got, made.GetId())
					}
					if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
						break
					}
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("pages of %d: got %v\nwant %v", size, got, tt.want)
				}
			}
		})
	}
	t.Run("counts them up to the limit", func(t *testing.T) {
		resp, err := w.bookings.ListCompanyTransactions(w.ctx, &bookingv1.ListCompanyTransactionsRequest{PurchasedFrom: at(day), TotalLimit: 2})
		if err != nil || resp.GetTotal() != 2 {
			t.Errorf("%d in total, %v", resp.GetTotal(), err)
		}
	})
	t.Run("lists nothing of another company", func(t *testing.T) { // tenancy
		other := w.as(id.New[id.Company]())
		resp, err := w.bookings.ListCompanyTransactions(other, &bookingv1.ListCompanyTransactionsRequest{Order: purchased, PurchasedFrom: at(day)})
		if err != nil || len(resp.GetTransactions()) != 0 || resp.GetTotal() != 0 {
			t.Errorf("got %v, %v", resp, err)
		}
	})
}
