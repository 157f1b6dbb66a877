package reports

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
	"reservation.dev/platform/subjects"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// TestUnreadableEvents checks that an event that cannot be read holds up no other one.
func TestUnreadableEvents(t *testing.T) {
	w := open(t)
	var log strings.Builder
	w.server.intake.log = slog.New(slog.NewTextHandler(&log, nil))
	b := newBusiness(w, 1)
	w.handle(b.take()...)
	w.build()
	applied := func() time.Time { return w.status().GetAsOf().AsTime() }
	before := applied()
	message := func(subject string, payload any) bus.Message {
		raw, isRaw := payload.([]byte)
		if !isRaw {
			var err error
			if raw, err = proto.Marshal(payload.(proto.Message)); err != nil {
				t.Fatal(err)
			}
		}
		return bus.Message{ID: id.NewUUID(), Company: w.company, Subject: subject, Payload: raw, OccurredAt: began.Add(time.Hour)}
	}
	unreadable := []bus.Message{
		message(subjects.CompanyUpdated, []byte("\xff")),
		message(subjects.CompanyUpdated, &authv1.CompanyUpdated{Company: &authv1.CompanySnapshot{Id: "x", Timezone: "Asia/Tokyo", Version: 9}}),
		message(subjects.CustomerCreated, []byte("\xff")),
		// Its first date could be read.
		message(subjects.EventDatesAdded, &bookingv1.EventDatesAdded{EventId: id.New[id.Event]().String(), Version: 1, Dates: []*bookingv1.EventDate{
			{Id: id.New[id.EventDate]().String(), StartsAt: timestamppb.New(began), Timezone: "UTC"}, {Id: "x"},
		}}),
	}
	dates, customers := w.count(`select count(*) from dates`), w.count(`select count(*) from customers`)
	t.Run("a batch of unreadable events alone changes nothing", func(t *testing.T) {
		w.handle(unreadable...)
		if w.count(`select count(*) from dates`) != dates || w.count(`select count(*) from companies where timezone = 'Asia/Tokyo'`) != 0 {
			t.Error("a part of an unreadable event was applied")
		}
		if at := applied(); !at.Equal(before) {
			t.Errorf("the reports have everything up to %s, before %s", at, before)
		}
	})
	t.Run("the events of the same batch are applied, of the same company and of others", func(t *testing.T) {
		other := id.New[id.Company]()
		created := func(company id.Company) bus.Message {
			m := message(subjects.CustomerCreated, &customerv1.CustomerCreated{Customer: &customerv1.CustomerSnapshot{
				Id: id.New[id.Customer]().String(), CreatedAt: timestamppb.New(began), Version: 1,
			}})
			m.Company = company
			return m
		}
		batch := append([]bus.Message{created(w.company)}, unreadable...)
		w.handle(append(batch, created(other), created(w.company))...)
		if n := w.count(`select count(*) from customers`); n != customers+3 {
			t.Errorf("%d customers, want %d", n, customers+3)
		}
		if n := w.count(`select count(*) from dates`); n != dates {
			t.Errorf("%d dates, want %d", n, dates)
		}
		w.verify()
	})
	t.Run("each is logged and counted", func(t *testing.T) {
		if n := testutil.ToFloat64(w.server.metrics.unreadable); n != 8 {
			t.Errorf("%v events are counted, want 8", n)
		}
		for _, m := range unreadable {
			if n := strings.Count(log.String(), "event="+m.ID.String()); n != 2 {
				t.Errorf("%s is logged %d times, want 2", m.Subject, n)
			}
		}
	})
}
