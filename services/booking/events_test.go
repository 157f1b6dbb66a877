package booking

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// update rewrites the golden events of this service.
var update = flag.Bool("update", false, "write the golden events")

func TestGoldenEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := time.Date(2026, 1, 31, 9, 30, 0, 0, time.UTC)
	serial := byte(0)
	w.server.now = func() time.Time { at = at.Add(time.Minute); return at }
	w.server.newID = func() id.UUID { serial++; return id.UUID{0x01, 0x9c, 15: serial} }
	zoe := w.customers.add(w.company, model.CustomerRecord{Version: 1, Customer: model.Customer{
		ID: id.Customer{0x01, 0x9c, 15: 0xf1}, FirstName: "Zoë", LastName: "O'Brien", Email: "zoe@example.com",
	}})
	max := w.customers.add(w.company, model.CustomerRecord{Version: 1, Customer: model.Customer{
		ID: id.Customer{0x01, 0x9c, 15: 0xf2}, FirstName: "Max", LastName: "Müller", Email: "max@example.com",
	}})
	starts := time.Date(2026, 3, 29, 8, 30, 0, 0, time.UTC)
	e := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{
		Title: "Sunrise yoga", Description: "Bring a mat.", Type: bookingv1.EventType_EVENT_TYPE_WORKSHOP, Location: "Studio 1",
		Dates:          []*bookingv1.NewEventDate{{StartsAt: timestamppb.New(starts), DurationMinutes: 60, Capacity: new(int32(12))}},
		PricingOptions: []*bookingv1.NewPricingOption{{Name: "Adult", Price: 1200, TaxRateBasisPoints: 2000, Credits: new(int32(1))}},
	})
	if _, err := w.events.AddEventDates(w.ctx, &bookingv1.AddEventDatesRequest{EventId: e.GetId(), Dates: []*bookingv1.NewEventDate{
		{StartsAt: timestamppb.New(starts.AddDate(0, 0, 7)), DurationMinutes: 90, Unlimited: true},
	}}); err != nil {
		t.Fatal(err)
	}
	made, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{
		PurchaserId: zoe.String(), PaymentReference: "ch_1",
		Lines: []*bookingv1.TransactionLine{{EventDateId: e.GetDates()[0].GetId(), Spaces: 2, BoughtForId: max.String()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	booking := made.GetTransaction().GetBookings()[0].GetId()
	_, err = w.bookings.RecordAttendance(w.ctx, &bookingv1.RecordAttendanceRequest{
		BookingId: booking, Attendance: bookingv1.Attendance_ATTENDANCE_CHECKED_IN,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: booking, Reason: "Max is ill."}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.bookings.RefundBooking(w.ctx, &bookingv1.RefundBookingRequest{BookingId: booking, Amount: new(int64(1000))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.events.UpdateEvent(w.ctx, &bookingv1.UpdateEventRequest{
		Id: e.GetId(), Title: new("Sunset yoga"), FreeCancellationMinutes: new(int32(1440)),
	}); err != nil {
		t.Fatal(err)
	}
	date := e.GetDates()[0].GetId()
	if _, err := w.events.UpdateEventDate(w.ctx, &bookingv1.UpdateEventDateRequest{
		Date: &bookingv1.EventDateChange{Id: date, LocalStart: new("2026-03-29T18:30:00"), Capacity: new(int32(20))},
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.events.CancelEventDate(w.ctx, &bookingv1.CancelEventDateRequest{Id: date, Reason: "The teacher is ill."}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.events.CancelEvent(w.ctx, &bookingv1.CancelEventRequest{Id: e.GetId(), Reason: "The roof leaks."}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.events.DeleteEvent(w.ctx, &bookingv1.DeleteEventRequest{Id: e.GetId()}); err != nil {
		t.Fatal(err)
	}

	payloads := map[string]proto.Message{
		subjectEventCreated: &bookingv1.EventCreated{}, subjectEventDatesAdded: &bookingv1.EventDatesAdded{},
		subjectBookingConfirmed: &bookingv1.BookingConfirmed{}, subjectBookingCancelled: &bookingv1.BookingCancelled{},
		subjectBookingRefunded: &bookingv1.BookingRefunded{}, subjectEventUpdated: &bookingv1.EventUpdated{},
		subjectEventDeleted: &bookingv1.EventDeleted{}, subjectEventCancelled: &bookingv1.EventCancelled{},
		subjectDateUpdated: &bookingv1.EventDateUpdated{}, subjectDateCancelled: &bookingv1.EventDateCancelled{},
		subjectAttendance: &bookingv1.AttendanceRecorded{},
	}
	w.wantGolden("booking.v1.%", payloads)
}

func TestGoldenWaitlistEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := time.Date(2026, 1, 31, 9, 30, 0, 0, time.UTC)
	serial := byte(0)
	w.server.now = func() time.Time { return at }
	w.server.newID = func() id.UUID { serial++; return id.UUID{0x01, 0x9c, 15: serial} }
	known := func(n byte) id.Customer {
		return w.customers.add(w.company, model.CustomerRecord{Version: 1, Customer: model.Customer{
			ID: id.Customer{0x01, 0x9c, 15: n}, FirstName: "Zoë", LastName: "O'Brien", Email: "zoe@example.com",
		}})
	}
	one := int32(1)
	e := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{
		Title: "Sunrise yoga", Dates: []*bookingv1.NewEventDate{{
			StartsAt: timestamppb.New(time.Date(2026, 3, 29, 8, 30, 0, 0, time.UTC)), DurationMinutes: 60, Capacity: &one}},
		PricingOptions: []*bookingv1.NewPricingOption{{Name: "Adult", Price: 1200, Credits: &one}},
	})
	bought := w.mustBook(w.ctx, known(0xf1), e, 1)
	var entries []*bookingv1.WaitlistEntry
	for n, spaces := range []int32{2, 1} {
		entry, err := w.join(&bookingv1.JoinWaitlistRequest{Spaces: spaces}, known(0xf2+byte(n)), e)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, entry)
	}
	w.cancel(bought)
	if _, err := w.waitlist.LeaveWaitlist(w.ctx, &bookingv1.LeaveWaitlistRequest{Id: entries[1].GetId()}); err != nil {
		t.Fatal(err)
	}
	w.exec(`delete from outbox where id in (select id from outbox where subject = $1 order by id limit 1)`, subjectWaitlistJoined)
	w.wantGolden("booking.v1.waitlist%", map[string]proto.Message{
		subjectWaitlistJoined: &bookingv1.WaitlistJoined{}, subjectWaitlistOffered: &bookingv1.WaitlistOffered{},
		subjectWaitlistPassedOver: &bookingv1.WaitlistPassedOver{}, subjectWaitlistEnded: &bookingv1.WaitlistEnded{},
	})
}

func TestGoldenHoldEvent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := time.Date(2026, 1, 31, 9, 30, 0, 0, time.UTC)
	serial := byte(0)
	w.server.now = func() time.Time { return at }
	w.server.newID = func() id.UUID { serial++; return id.UUID{0x01, 0x9c, 15: serial} }
	known := func(n byte, first string) id.Customer {
		return w.customers.add(w.company, model.CustomerRecord{Version: 1, Customer: model.Customer{
			ID: id.Customer{0x01, 0x9c, 15: n}, FirstName: first, LastName: "O'Brien", Email: "zoe@example.com",
		}})
	}
	e := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{
		Title: "Sunrise yoga", Dates: []*bookingv1.NewEventDate{{
			StartsAt: timestamppb.New(time.Date(2026, 3, 29, 8, 30, 0, 0, time.UTC)), DurationMinutes: 60}},
		PricingOptions: []*bookingv1.NewPricingOption{{Name: "Adult", Price: 1200, TaxRateBasisPoints: 2000}},
	})
	w.code(percent("SPRING", 1000))
	_, err := w.bookings.HoldPlaces(w.ctx, &bookingv1.HoldPlacesRequest{
		PurchaserId: known(0xf1, "Zoë").String(), Minutes: 20, DiscountCode: "SPRING",
		Lines: []*bookingv1.TransactionLine{{EventId: e.GetId(), Spaces: 2}, {EventId: e.GetId(), BoughtForId: known(0xf2, "Max").String()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	at = at.Add(20 * time.Minute)
	if err := w.server.expireOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.wantGolden("booking.v1.hold%", map[string]proto.Message{subjectHoldExpired: &bookingv1.HoldExpired{}})
}

// wantGolden compares the events in the outbox, one for each subject, with the golden files.
func (w *world) wantGolden(subjects string, payloads map[string]proto.Message) {
	t := w.t.(*testing.T)
	found := 0
	err := w.db.Read(t.Context(), pg.AllCompanies(), pg.Query{SQL: `select subject, payload from outbox where subject like $1`, Args: []any{subjects}, Scan: pg.Each(func(rows pgx.Rows) error {
		var subject string
		var payload []byte
		if err := rows.Scan(&subject, &payload); err != nil {
			return err
		}
		found++
		if payloads[subject] == nil {
			return fmt.Errorf("unexpected event %s", subject)
		}
		return proto.Unmarshal(payload, payloads[subject])
	})})
	if err != nil || found != len(payloads) {
		t.Fatalf("found %d events, %v", found, err)
	}
	for subject, payload := range payloads {
		t.Run(subject+" matches its golden file", func(t *testing.T) {
			file := filepath.Join("testdata", strings.TrimPrefix(subject, "booking.v1.")+".json")
			if *update {
				if err := os.WriteFile(file, goldenText(t, payload), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want := payload.ProtoReflect().New().Interface()
			if err := protojson.Unmarshal(text, want); err != nil || !proto.Equal(payload, want) {
				t.Errorf("got %v, the golden file has %v (%v)", payload, want, err)
			}
		})
	}
}

// goldenText formats an event in a stable way, which protojson alone does not.
func goldenText(t *testing.T, m proto.Message) []byte {
	t.Helper()
	text, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		t.Fatal(err)
	}
	out.WriteByte('\n')
	return out.Bytes()
}

// golden reads an event that its producer's test wrote.
func golden(t *testing.T, service, name string, into proto.Message) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", service, "testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := protojson.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
	return payload(t, into)
}

func payload(t *testing.T, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
