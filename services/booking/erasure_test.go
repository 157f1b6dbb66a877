package booking

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/privacy"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// erase erases a customer, twice: an erasure can be repeated.
func (w *world) erase(gone id.Customer) (privacy.Erasure, *privacy.Participant) {
	w.t.Helper()
	e := privacy.Erasure{Company: w.company, Customer: gone, At: time.Now(), Left: &customerv1.CustomerSnapshot{
		Id: gone.String(), FirstName: "Erased", LastName: "customer", Email: "erased@customer.invalid", Version: 1000, DeletedAt: timestamppb.Now(),
	}}
	participant := NewParticipant(w.db, nil, testkit.Log(w.t))
	for range 2 {
		if err := participant.Erase(w.t.Context(), e); err != nil {
			w.t.Fatal(err)
		}
	}
	return e, participant
}

func TestErasure(t *testing.T) { // invariant 21
	t.Parallel()
	w := newWorld(t)
	event := w.event(w.ctx, nil)
	gone, stays := w.customer(w.company, "Ann"), w.customer(w.company, "Bea")
	var bought []*bookingv1.Transaction
	for _, c := range []id.Customer{gone, stays} {
		res, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{
			PurchaserId: c.String(), PaymentReference: "paid", Lines: []*bookingv1.TransactionLine{{EventDateId: event.GetDates()[0].GetId(), Spaces: 2}},
		})
		if err != nil {
			t.Fatal(err)
		}
		bought = append(bought, res.GetTransaction())
	}
	e, participant := w.erase(gone)
	count := func(sql string) int64 {
		n, err := pg.One[int64](t.Context(), w.db, pg.AllCompanies(), sql)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	t.Run("deletes the names and references of one customer; bookings and money stay", func(t *testing.T) {
		if n := count(`select count(*) from bookings where payment_reference is not null`); n != 1 {
			t.Errorf("%d references", n)
		}
		if n := count(`select sum(spaces) from bookings where gross > 0`); n != 4 {
			t.Errorf("%d spaces", n)
		}
		list, err := w.bookings.ListRegistrations(w.ctx, &bookingv1.ListRegistrationsRequest{EventId: event.GetId()})
		if err != nil || len(list.GetRegistrations()) != 2 {
			t.Fatal(list, err)
		}
		for i, r := range list.GetRegistrations() {
			if name := r.GetPurchaser().GetFirstName(); name != []string{"Erased", "Bea"}[i] {
				t.Errorf("registration %d is of %s", i, name)
			}
		}
	})
	t.Run("lists everything of the customer and nothing of another customer", func(t *testing.T) {
		names, err := participant.Names(t.Context(), e)
		if err != nil || len(names) != 2 || names[0] != bought[0].GetId() || names[1] != bought[0].GetBookings()[0].GetId() {
			t.Errorf("got %v, %v", names, err)
		}
	})
}
