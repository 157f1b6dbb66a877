package booking

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// follower is a read model of a consumer: it keeps the highest version of each booking and date.
type follower struct {
	bookings map[string]*bookingv1.BookingSnapshot
	dates    map[string]followedDate
	events   map[string]followedEvent
	deleted  map[string]bool
}

type followedDate struct {
	Event, Start, Timezone string
	Minutes                int32
	Capacity               string
	Cancelled              bool
	version                int64
}

type followedEvent struct {
	Title, Status string
	version       int64
}

func newFollower() *follower {
	return &follower{
		bookings: map[string]*bookingv1.BookingSnapshot{}, dates: map[string]followedDate{}, events: map[string]followedEvent{}, deleted: map[string]bool{},
	}
}

func (f *follower) booking(b *bookingv1.BookingSnapshot) {
	which := b.GetBooking().GetId()
	if f.bookings[which].GetVersion() < b.GetVersion() {
		f.bookings[which] = b
	}
}

func (f *follower) event(e *bookingv1.Event) {
	if f.events[e.GetId()].version < e.GetVersion() {
		f.events[e.GetId()] = followedEvent{e.GetTitle(), e.GetStatus().String(), e.GetVersion()}
	}
}

func (f *follower) date(event string, version int64, d *bookingv1.EventDate) {
	if f.dates[d.GetId()].version > version {
		return
	}
	capacity := "unlimited"
	if d.Capacity != nil {
		capacity = fmt.Sprint(d.GetCapacity())
	}
	f.dates[d.GetId()] = followedDate{
		event, d.GetStartsAt().AsTime().Format(time.RFC3339), d.GetTimezone(), d.GetDurationMinutes(), capacity,
		d.GetStatus() == bookingv1.EventDateStatus_EVENT_DATE_STATUS_CANCELLED, version,
	}
}

// follow applies an event of the booking service.
func (f *follower) follow(t *testing.T, subject string, payload []byte) {
	t.Helper()
	read := func(m proto.Message) {
		if err := proto.Unmarshal(payload, m); err != nil {
			t.Fatal(err)
		}
	}
	switch subject {
	case subjectBookingConfirmed, subjectBookingCancelled, subjectBookingRefunded, subjectBookingMoved, subjectBookingTransferred, subjectAttendance:
		var m bookingv1.BookingConfirmed // the booking is the first field of each
		read(&m)
		f.booking(m.GetBooking())
	case subjectTransactionsImported:
		var m bookingv1.TransactionsImported
		read(&m)
		for _, b := range m.GetBookings() {
			f.booking(b)
		}
	case subjectEventCreated:
		var m bookingv1.EventCreated
		read(&m)
		f.event(m.GetEvent())
		for _, d := range m.GetEvent().GetDates() {
			f.date(m.GetEvent().GetId(), m.GetEvent().GetVersion(), d)
		}
	case subjectEventsImported:
		var m bookingv1.EventsImported
		read(&m)
		for _, e := range m.GetEvents() {
			f.event(e)
		}
		for _, added := range m.GetDates() {
			f.added(added)
		}
	case subjectEventDatesAdded:
		var m bookingv1.EventDatesAdded
		read(&m)
		f.event(m.GetEvent())
		f.added(&m)
	case subjectEventUpdated:
		var m bookingv1.EventUpdated
		read(&m)
		f.event(m.GetEvent())
		if zone := m.GetEvent().GetTimezone(); zone != m.GetPrevious().GetTimezone() {
			for which, d := range f.dates {
				if d.Event == m.GetEvent().GetId() && d.version < m.GetEvent().GetVersion() {
					d.Timezone = zone
					f.dates[which] = d
				}
			}
		}
	case subjectDateUpdated, subjectDateCancelled:
		var m bookingv1.EventDateUpdated // with the same first fields as EventDateCancelled
		if subject == subjectDateUpdated {
			read(&m)
		} else {
			var c bookingv1.EventDateCancelled
			read(&c)
			m.EventId, m.Date, m.Version = c.GetEventId(), c.GetDate(), c.GetVersion()
		}
		f.date(m.GetEventId(), m.GetVersion(), m.GetDate())
		if e := f.events[m.GetEventId()]; e.version < m.GetVersion() {
			e.version = m.GetVersion()
			f.events[m.GetEventId()] = e
		}
	case subjectEventCancelled:
		var m bookingv1.EventCancelled
		read(&m)
		f.event(m.GetEvent())
		e := f.events[m.GetEventId()]
		e.Status = m.GetEvent().GetStatus().String()
		f.events[m.GetEventId()] = e
		for _, which := range m.GetCancelledDateIds() {
			d := f.dates[which]
			d.Cancelled, d.version = true, m.GetVersion()
			f.dates[which] = d
		}
	case subjectAppointmentMoved: // has no purchase, so the rest of the booking stays
		var m bookingv1.AppointmentMoved
		read(&m)
		if known := f.bookings[m.GetAppointment().GetBooking().GetId()]; known.GetVersion() < m.GetAppointment().GetVersion() {
			known = proto.CloneOf(known)
			known.Version, known.Booking = m.GetAppointment().GetVersion(), m.GetAppointment().GetBooking()
			f.bookings[known.GetBooking().GetId()] = known
		}
	case subjectEventDeleted:
		var m bookingv1.EventDeleted
		read(&m)
		f.deleted[m.GetEventId()] = true
	}
}

func (f *follower) added(m *bookingv1.EventDatesAdded) {
	for _, d := range m.GetDates() {
		f.date(m.GetEventId(), m.GetVersion(), d)
	}
}

// followed returns what a consumer knows that has consumed the events of a company, except those in without.
func (w *world) followed(t *testing.T, f *follower, company id.Company, without map[id.UUID]bool) *follower {
	t.Helper()
	err := w.db.Read(t.Context(), pg.AllCompanies(), pg.Query{
		SQL: `select id, subject, payload from outbox where company_id = $1 order by id`, Args: []any{company},
		Scan: pg.Each(func(rows pgx.Rows) error {
			var event id.UUID
			var subject string
			var payload []byte
			if err := rows.Scan(&event, &subject, &payload); err != nil {
				return err
			}
			if !without[event] {
				f.follow(t, subject, payload)
			}
			return nil
		})})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// messagesOf collects the messages of a stream.
func messagesOf[M any](stream interface{ Recv() (*M, error) }, err error) ([]*M, error) {
	var all []*M
	for err == nil {
		var m *M
		if m, err = stream.Recv(); err == nil {
			all = append(all, m)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return all, err
}

// snapshot applies a snapshot of a company to f.
func (w *world) snapshot(t *testing.T, f *follower, company id.Company) *follower {
	t.Helper()
	events, err := messagesOf(w.snapshots.StreamEvents(w.asPlatform(company), &bookingv1.StreamEventsRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range events {
		for _, e := range m.GetEvents() {
			f.event(e)
			for _, d := range e.GetDates() {
				f.date(e.GetId(), e.GetVersion(), d)
			}
		}
	}
	bookings, err := messagesOf(w.snapshots.StreamBookings(w.asPlatform(company), &bookingv1.StreamBookingsRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range bookings {
		for _, b := range m.GetBookings() {
			f.booking(b)
		}
	}
	return f
}

// wantFollowed compares what a follower knows with a snapshot of the present state.
func (w *world) wantFollowed(t *testing.T, f *follower) {
	t.Helper()
	want := w.snapshot(t, newFollower(), w.company)
	// A change of a date does not publish its bookings, which show it when they change next.
	ofDate := protocmp.IgnoreFields(&bookingv1.Booking{}, "event_title", "starts_at", "duration_minutes", "timezone")
	if diff := gocmp.Diff(want.bookings, f.bookings, protocmp.Transform(), ofDate); diff != "" {
		t.Errorf("bookings (-snapshot +followed):\n%s", diff)
	}
	for which, d := range f.dates {
		if f.deleted[d.Event] {
			delete(f.dates, which)
		}
	}
	for which := range f.deleted {
		delete(f.events, which)
	}
	unversioned := gocmp.FilterPath(func(p gocmp.Path) bool { return strings.HasSuffix(p.String(), "version") }, gocmp.Ignore())
	allow := gocmp.AllowUnexported(followedDate{}, followedEvent{})
	if diff := gocmp.Diff(want.dates, f.dates, unversioned, allow); diff != "" {
		t.Errorf("dates (-snapshot +followed):\n%s", diff)
	}
	if diff := gocmp.Diff(want.events, f.events, unversioned, allow); diff != "" {
		t.Errorf("events (-snapshot +followed):\n%s", diff)
	}
}

// wantMovements checks that the movements of every booking add up to what was paid and not refunded.
func (f *follower) wantMovements(t *testing.T) {
	t.Helper()
	for which, b := range f.bookings {
		var gross, net int64
		for _, m := range b.GetMovements() {
			gross, net = gross+m.GetGross(), net+m.GetNet()
		}
		if want := b.GetBooking().GetCard().GetGross() - b.GetBooking().GetRefundedAmount(); gross != want || gross == 0 && net != 0 {
			t.Errorf("%s: the movements add up to %d, %d without tax, want %d: %v", which, gross, net, want, b)
		}
	}
}
