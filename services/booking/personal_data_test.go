package booking

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

// exported returns a customer's personal data by kind.
func (w *world) exported(customer id.Customer) map[string][]string {
	w.t.Helper()
	ctx := bearer(w.t.Context(), w.issuer.Client(w.company, "privacy:read"))
	stream, err := privacyv1.NewPersonalDataServiceClient(w.conn).ExportPersonalData(ctx, &privacyv1.ExportPersonalDataRequest{CustomerId: customer.String()})
	all := map[string][]string{}
	for err == nil {
		var resp *privacyv1.ExportPersonalDataResponse
		if resp, err = stream.Recv(); err == nil {
			all[resp.GetRecord().GetKind()] = append(all[resp.GetRecord().GetKind()], resp.GetRecord().GetJson())
		}
	}
	if !errors.Is(err, io.EOF) {
		w.t.Fatal(err)
	}
	return all
}

func TestEndedHoldsArePersonalData(t *testing.T) { // invariant 21
	t.Parallel()
	w := newWorld(t)
	mia, zoe, max := w.customer(w.company, "Mia"), w.customer(w.company, "Zoe"), w.customer(w.company, "Max")
	resp, err := w.bookings.HoldPlaces(w.ctx, &bookingv1.HoldPlacesRequest{PurchaserId: mia.String(), Lines: []*bookingv1.TransactionLine{
		{EventId: w.event(w.ctx, nil).GetId()}, {EventId: w.event(w.ctx, nil).GetId(), BoughtForId: zoe.String()},
	}})
	if err != nil {
		t.Fatal(err)
	}
	h := resp.GetHold()
	w.releaseHold(h)
	if n := len(w.exported(mia)["ended_hold"]); n != 0 {
		t.Errorf("%d copies of a hold whose transaction is exported", n)
	}
	w.later(48 * time.Hour) // removes the transaction
	own := w.exported(mia)["ended_hold"]
	if len(own) != 1 || !strings.Contains(own[0], h.GetId()) || !strings.Contains(own[0], h.GetBookings()[1].GetId()) || !strings.Contains(own[0], `"gross"`) {
		t.Errorf("the purchaser's: %v", own)
	}
	others := w.exported(zoe)["ended_hold_for_the_customer"]
	if len(others) != 1 || !strings.Contains(others[0], h.GetBookings()[1].GetId()) || strings.Contains(others[0], h.GetBookings()[0].GetId()) ||
		strings.Contains(others[0], `"gross"`) || strings.Contains(others[0], mia.String()) {
		t.Errorf("the recipient's: %v", others)
	}
	for kind, records := range w.exported(max) {
		if strings.HasPrefix(kind, "ended_hold") {
			t.Errorf("another customer's %s: %v", kind, records)
		}
	}
}

func TestAppointmentsArePersonalData(t *testing.T) {
	t.Parallel()
	s := newSalon(t)
	mine, forBen := s.line("mine", 0), s.line("for-ben", 3)
	mine.Rooms, forBen.BoughtFor = []string{"room"}, "ben"
	s.mustImport(mine, forBen)
	var own []map[string]any
	for _, record := range s.exported(s.ann)["transaction"] {
		var transaction struct{ Bookings []map[string]any }
		if err := json.Unmarshal([]byte(record), &transaction); err != nil {
			t.Fatal(err)
		}
		own = append(own, transaction.Bookings...)
	}
	if len(own) != 2 {
		t.Fatalf("exported %v", own)
	}
	for _, b := range own {
		if fmt.Sprint(b["staff"]) != "[lea]" || b["duration_minutes"] != 60.0 || b["starts_at"] == nil {
			t.Errorf("exported %v", b)
		}
	}
	if fmt.Sprint(own[0]["rooms"], own[1]["rooms"]) != "[room] []" {
		t.Errorf("the rooms are %v and %v", own[0]["rooms"], own[1]["rooms"])
	}
	others := s.exported(s.ben)["booking_for_the_customer"]
	if len(others) != 1 || !strings.Contains(others[0], `"lea"`) || !strings.Contains(others[0], `"duration_minutes":60`) {
		t.Errorf("exported %v", others)
	}
	date := s.event(s.ctx, nil)
	if _, err := s.bookings.CreateTransaction(s.ctx, &bookingv1.CreateTransactionRequest{
		PurchaserId: s.ben.String(), Lines: []*bookingv1.TransactionLine{{EventId: date.GetId()}},
	}); err != nil {
		t.Fatal(err)
	}
	if class := s.exported(s.ben)["transaction"]; len(class) != 1 || strings.Contains(class[0], `"staff"`) {
		t.Errorf("exported %v", class)
	}
}
