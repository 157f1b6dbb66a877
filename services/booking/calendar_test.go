package booking

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/tenancy"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// calendarWorld is a world with a caller of CalendarService.
type calendarWorld struct {
	*world
	calendars bookingv1.CalendarServiceClient
	caller    context.Context
}

func newCalendarWorld(t *testing.T) *calendarWorld {
	w := &calendarWorld{world: newWorld(t)}
	w.companies.add(tenancy.Company{ID: w.company, Name: "Quiet Yoga", Timezone: "Europe/London", Currency: "GBP", Version: 1})
	w.calendars = bookingv1.NewCalendarServiceClient(w.conn)
	w.caller = w.callerOf(w.company)
	return w
}

func (w *calendarWorld) callerOf(company id.Company) context.Context {
	return bearer(w.t.Context(), w.issuer.Client(company, "calendars:read", "calendars:write"))
}

// staff stores a staff member.
func (w *calendarWorld) staff(name string) id.StaffMember {
	staff := id.New[id.StaffMember]()
	w.exec(`insert into staff (company_id, id, name, email, photo_url, bio, color, active, created_at, updated_at)
		values ($1, $2, $3, '', '', '', '#112233', true, now(), now())`, w.company, staff, name)
	return staff
}

// room stores a room.
func (w *calendarWorld) room(name string) id.Room {
	room := id.New[id.Room]()
	w.exec(`insert into rooms (company_id, id, name, kind, capacity, location, active, created_at, updated_at)
		values ($1, $2, $3, 'room', 1, '', true, now(), now())`, w.company, room, name)
	return room
}

// assign assigns a person or a room to a date. booking is nil unless the date is an appointment.
func (w *calendarWorld) assign(date, kind string, resource id.UUID, booking *id.UUID) {
	which, _ := id.Parse[id.EventDate](date)
	w.exec(`insert into assignments (company_id, event_date_id, booking_id, resource_id, kind, unit, position, taken_from, taken_until)
		select company_id, id, $3, $4, $5, case $5 when 'room' then 1 else 0 end, 0, starts_at, starts_at + make_interval(mins => duration_minutes)
		from event_dates where company_id = $1 and id = $2`, w.company, which, booking, resource, kind)
}

// subscribe creates a calendar and returns its secret.
func (w *calendarWorld) subscribe(kind bookingv1.CalendarKind, subject string) (*bookingv1.Calendar, string) {
	w.t.Helper()
	resp, err := w.calendars.CreateCalendar(w.caller, &bookingv1.CreateCalendarRequest{Kind: kind, SubjectId: subject})
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.GetCalendar(), resp.GetSecret()
}

func (w *calendarWorld) read(secret string) (*bookingv1.ReadCalendarResponse, error) {
	return w.calendars.ReadCalendar(w.t.Context(), &bookingv1.ReadCalendarRequest{Secret: secret})
}

// entries reads a calendar, and returns its entries as short texts: the end of the UID, the sequence, "x" if
// cancelled, the title and the description.
func (w *calendarWorld) entries(secret string) map[string]string {
	w.t.Helper()
	resp, err := w.read(secret)
	if err != nil {
		w.t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range resp.GetEntries() {
		state := ""
		if e.GetCancelled() {
			state = "x"
		}
		if _, twice := all[e.GetUid()]; twice {
			w.t.Errorf("two entries %s", e.GetUid())
		}
		all[e.GetUid()] = fmt.Sprintf("%d%s %s [%s]", e.GetSequence(), state, e.GetTitle(), strings.ReplaceAll(e.GetDescription(), "\n", ", "))
	}
	return all
}

func (w *calendarWorld) mustHave(secret string, want map[string]string) {
	w.t.Helper()
	got := w.entries(secret)
	if len(got) != len(want) {
		w.t.Errorf("%d entries, not %d: %v", len(got), len(want), got)
	}
	for uid, text := range want {
		if got[uid] != text {
			w.t.Errorf("%s: %q, not %q", uid, got[uid], text)
		}
	}
}

// appointment stores an appointment of a customer with a person: a booked date of an event, as
// BookAppointment makes it.
func (w *calendarWorld) appointment(customer id.Customer, staff id.StaffMember) (booking, date string) {
	w.t.Helper()
	e := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{
		Title: "Haircut", Dates: []*bookingv1.NewEventDate{newDate(3*time.Hour, new(int32(1)))}, PricingOptions: []*bookingv1.NewPricingOption{{Name: "Adult"}},
	})
	booking, date = w.mustBook(w.ctx, customer, e, 1).GetBookings()[0].GetId(), e.GetDates()[0].GetId()
	w.makeAppointment(date)
	w.assign(date, "staff", staff.UUID(), new(w.bookingID(booking).UUID()))
	return booking, date
}

func (w *calendarWorld) makeAppointment(date string) {
	which, _ := id.Parse[id.EventDate](date)
	w.exec(`update event_dates set appointment_id = id where id = $1`, which)
}

func (w *calendarWorld) bookingID(text string) id.Booking {
	which, err := id.Parse[id.Booking](text)
	if err != nil {
		w.t.Fatal(err)
	}
	return which
}

// move gives the booking of an appointment a new date, an hour later, with a person.
func (w *calendarWorld) move(booking, from string, staff id.StaffMember) (to string) {
	old, _ := id.Parse[id.EventDate](from)
	date := id.New[id.EventDate]()
	w.exec(`insert into event_dates (company_id, id, event_id, starts_at, duration_minutes, timezone, capacity, booked, appointment_id, sequence)
		select company_id, $2, event_id, starts_at + interval '1 hour', duration_minutes, timezone, 1, 1, $2, sequence + 1 from event_dates where id = $1`, old, date)
	w.exec(`update bookings set event_date_id = $2 where id = $1`, w.bookingID(booking), date)
	w.exec(`update event_dates set booked = 0, vacated_at = now(), status = 'cancelled' where id = $1`, old)
	w.assign(date.String(), "staff", staff.UUID(), new(w.bookingID(booking).UUID()))
	return date.String()
}

const (
	ofStaff    = bookingv1.CalendarKind_CALENDAR_KIND_STAFF
	ofCustomer = bookingv1.CalendarKind_CALENDAR_KIND_CUSTOMER
	ofCompany  = bookingv1.CalendarKind_CALENDAR_KIND_COMPANY
)

func TestCalendars(t *testing.T) { // invariant 41
	t.Parallel()
	w := newCalendarWorld(t)
	sam := w.staff("Sam")
	ann := w.customer(w.company, "Ann")

	t.Run("stores only the hash of the secret, and shows the secret once per key", func(t *testing.T) {
		keyed := withKey(w.caller, "once")
		req := &bookingv1.CreateCalendarRequest{Kind: ofStaff, SubjectId: sam.String()}
		first, err := w.calendars.CreateCalendar(keyed, req)
		if err != nil {
			t.Fatal(err)
		}
		again, err := w.calendars.CreateCalendar(keyed, req)
		if err != nil || again.GetCalendar().GetId() != first.GetCalendar().GetId() || again.GetSecret() != "" || len(first.GetSecret()) != 43 {
			t.Errorf("%v %v %v", first, again, err)
		}
		hash := sha256.Sum256([]byte(first.GetSecret()))
		if n := one[int](w.world, `select count(*) from calendars where secret_hash = $1 and to_jsonb(calendars)::text not like '%' || $2 || '%'`,
			hash[:], first.GetSecret()); n != 1 {
			t.Error("the hash is not stored, or the secret is")
		}
		if n := one[int](w.world, `select count(*) from idempotency_keys where position($1::bytea in response) > 0`, []byte(first.GetSecret())); n != 0 {
			t.Error("the stored response has the secret")
		}
		if !strings.HasPrefix(first.GetSecret(), first.GetCalendar().GetSecretStart()) || len(first.GetCalendar().GetSecretStart()) != 8 {
			t.Errorf("%v", first)
		}
	})
	t.Run("lists calendars, all or of one subject, and reads one", func(t *testing.T) {
		own, _ := w.subscribe(ofCustomer, ann.String())
		w.subscribe(ofCompany, "")
		list, err := w.calendars.ListCalendars(w.caller, &bookingv1.ListCalendarsRequest{SubjectId: ann.String()})
		if err != nil || list.GetTotal() != 1 || list.GetCalendars()[0].GetId() != own.GetId() || list.GetCalendars()[0].GetSubjectId() != ann.String() {
			t.Errorf("%v %v", list, err)
		}
		page, err := w.calendars.ListCalendars(w.caller, &bookingv1.ListCalendarsRequest{PageSize: 2})
		if err != nil || page.GetTotal() != 3 || len(page.GetCalendars()) != 2 || page.GetNextPageToken() == "" {
			t.Errorf("%v %v", page, err)
		}
		got, err := w.calendars.GetCalendar(w.caller, &bookingv1.GetCalendarRequest{Id: own.GetId()})
		if err != nil || got.GetCalendar().GetKind() != ofCustomer || got.GetCalendar().GetLastReadAt() != nil {
			t.Errorf("%v %v", got, err)
		}
	})
	t.Run("refuses a subject that does not exist or does not fit the kind", func(t *testing.T) {
		for _, c := range []struct {
			kind    bookingv1.CalendarKind
			subject string
			want    fault.Kind
		}{
			{ofStaff, id.New[id.StaffMember]().String(), fault.NotFound},
			{ofStaff, ann.String(), fault.NotFound},
			{ofCustomer, id.New[id.Customer]().String(), fault.NotFound},
			{ofCustomer, "", fault.NotFound},
			{ofCompany, ann.String(), fault.Invalid},
			{0, "", fault.Invalid},
		} {
			if _, err := w.calendars.CreateCalendar(w.caller, &bookingv1.CreateCalendarRequest{Kind: c.kind, SubjectId: c.subject}); !fault.Is(err, c.want) {
				t.Errorf("%v %s: %v", c.kind, c.subject, err)
			}
		}
	})
	t.Run("a revoked calendar cannot be read or revoked", func(t *testing.T) {
		c, secret := w.subscribe(ofCompany, "")
		if resp, err := w.read(secret); err != nil || resp.GetName() != "Quiet Yoga" || resp.GetTimezone() != "Europe/London" {
			t.Errorf("%v %v", resp, err)
		}
		if _, err := w.calendars.RevokeCalendar(w.caller, &bookingv1.RevokeCalendarRequest{Id: c.GetId()}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.read(secret); !fault.Is(err, fault.NotFound) {
			t.Errorf("%v", err)
		}
		if _, err := w.calendars.RevokeCalendar(w.caller, &bookingv1.RevokeCalendarRequest{Id: c.GetId()}); !fault.Is(err, fault.NotFound) {
			t.Errorf("%v", err)
		}
	})
	t.Run("a calendar ends with its customer, and is not read while its staff member is not active", func(t *testing.T) {
		zoe := w.customer(w.company, "Zoe")
		c, secret := w.subscribe(ofCustomer, zoe.String())
		if exported := w.exported(zoe)["calendar"]; len(exported) != 1 || !strings.Contains(exported[0], c.GetId()) || strings.Contains(exported[0], "hash") {
			t.Errorf("exported: %v", exported)
		}
		w.deleteAndConfirm(zoe)
		if _, err := w.read(secret); !fault.Is(err, fault.NotFound) {
			t.Errorf("%v", err)
		}
		if _, err := w.calendars.GetCalendar(w.caller, &bookingv1.GetCalendarRequest{Id: c.GetId()}); !fault.Is(err, fault.NotFound) {
			t.Errorf("%v", err)
		}
		if _, err := w.calendars.CreateCalendar(w.caller, &bookingv1.CreateCalendarRequest{Kind: ofCustomer, SubjectId: zoe.String()}); !fault.Is(err, fault.NotFound) {
			t.Errorf("a calendar of a deleted customer: %v", err)
		}
		_, secret = w.subscribe(ofStaff, sam.String())
		w.exec(`update staff set active = false where id = $1`, sam)
		if _, err := w.read(secret); !fault.Is(err, fault.NotFound) {
			t.Errorf("%v", err)
		}
		w.exec(`update staff set active = true where id = $1`, sam)
		if _, err := w.read(secret); err != nil {
			t.Errorf("%v", err)
		}
	})
	t.Run("another company does not reach a calendar", func(t *testing.T) { // invariant 5
		c, _ := w.subscribe(ofCompany, "")
		them := w.callerOf(id.New[id.Company]())
		if _, err := w.calendars.GetCalendar(them, &bookingv1.GetCalendarRequest{Id: c.GetId()}); !fault.Is(err, fault.NotFound) {
			t.Errorf("%v", err)
		}
		if _, err := w.calendars.RevokeCalendar(them, &bookingv1.RevokeCalendarRequest{Id: c.GetId()}); !fault.Is(err, fault.NotFound) {
			t.Errorf("%v", err)
		}
		if list, err := w.calendars.ListCalendars(them, &bookingv1.ListCalendarsRequest{}); err != nil || list.GetTotal() != 0 {
			t.Errorf("%v %v", list, err)
		}
		if _, err := w.calendars.CreateCalendar(them, &bookingv1.CreateCalendarRequest{Kind: ofStaff, SubjectId: sam.String()}); !fault.Is(err, fault.NotFound) {
			t.Errorf("%v", err)
		}
	})
	t.Run("stores the time of a read at most once an hour", func(t *testing.T) {
		c, secret := w.subscribe(ofCompany, "")
		lastRead := func() time.Time {
			if _, err := w.read(secret); err != nil {
				t.Fatal(err)
			}
			got, err := w.calendars.GetCalendar(w.caller, &bookingv1.GetCalendarRequest{Id: c.GetId()})
			if err != nil {
				t.Fatal(err)
			}
			return got.GetCalendar().GetLastReadAt().AsTime()
		}
		defer w.shift(0)
		first := lastRead()
		w.shift(59 * time.Minute)
		if second := lastRead(); second != first {
			t.Errorf("%v, then %v", first, second)
		}
		w.shift(61 * time.Minute)
		if third := lastRead(); third.Sub(first) < time.Hour {
			t.Errorf("%v, then %v", first, third)
		}
	})
}

func TestCalendarLimit(t *testing.T) {
	t.Parallel()
	w := newCalendarWorld(t)
	w.exec(`insert into calendars (company_id, id, kind, secret_hash, secret_start, created_at)
		select $1, gen_random_uuid(), 'company', sha256(n::text::bytea), 'abcdefgh', now() from generate_series(1, $2::int) n`, w.company, model.MaxCalendars-1)
	var callers sync.WaitGroup
	var mu sync.Mutex
	var made, refused int
	for range 8 {
		callers.Go(func() {
			_, err := w.calendars.CreateCalendar(w.caller, &bookingv1.CreateCalendarRequest{Kind: ofCompany})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				made++
			case fault.From(err).Reason == model.ReasonTooManyCalendars:
				refused++
			default:
				t.Errorf("%v", err)
			}
		})
	}
	callers.Wait()
	if made != 1 || refused != 7 {
		t.Errorf("%d made, %d refused", made, refused)
	}
}

func TestCalendarEntries(t *testing.T) { // invariant 41
	t.Parallel()
	w := newCalendarWorld(t)
	sam, kim, studio := w.staff("Sam"), w.staff("Kim"), w.room("Studio")
	ann, bob := w.customer(w.company, "Ann"), w.customer(w.company, "Bob")
	_, ofSam := w.subscribe(ofStaff, sam.String())
	_, ofKim := w.subscribe(ofStaff, kim.String())
	_, ofAnn := w.subscribe(ofCustomer, ann.String())
	_, ofBob := w.subscribe(ofCustomer, bob.String())
	_, all := w.subscribe(ofCompany, "")

	class := w.event(w.ctx, nil)
	classDate := class.GetDates()[0].GetId()
	w.assign(classDate, "staff", sam.UUID(), nil)
	w.assign(classDate, "room", studio.UUID(), nil)
	resp, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{PurchaserId: ann.String(), Lines: []*bookingv1.TransactionLine{
		{EventDateId: classDate, BoughtForId: bob.String()},
	}})
	if err != nil {
		t.Fatal(err)
	}
	classBooking := resp.GetTransaction().GetBookings()[0].GetId()
	booking, date := w.appointment(ann, sam)
	// A draft, and a hold of an appointment, are in no calendar.
	w.createEvent(w.ctx, &bookingv1.CreateEventRequest{
		Title: "Draft", Status: bookingv1.EventStatus_EVENT_STATUS_DRAFT, Dates: []*bookingv1.NewEventDate{newDate(time.Hour, nil)},
		PricingOptions: []*bookingv1.NewPricingOption{{Name: "Adult"}},
	})
	held := w.event(w.ctx, new(int32(1)))
	w.hold(ann, held, 1, "")
	w.makeAppointment(held.GetDates()[0].GetId())

	t.Run("each calendar has its dates, with the names it can show", func(t *testing.T) {
		yoga, appointment := "0 Yoga [Sam, Studio]", "0 Haircut: Ann Smith [Ann Smith, Sam]"
		w.mustHave(ofSam, map[string]string{classDate: yoga, booking: appointment})
		w.mustHave(ofKim, nil)
		w.mustHave(ofAnn, map[string]string{booking: "0 Haircut [Sam]"})
		w.mustHave(ofBob, map[string]string{classBooking: yoga})
		w.mustHave(all, map[string]string{classDate: yoga, booking: appointment})
	})
	t.Run("an entry has its times, and the time of its creation", func(t *testing.T) {
		resp, err := w.read(ofBob)
		if err != nil {
			t.Fatal(err)
		}
		e, starts := resp.GetEntries()[0], class.GetDates()[0].GetStartsAt().AsTime()
		if resp.GetName() != "Bob Smith" || e.GetStartsAt().AsTime() != starts || e.GetEndsAt().AsTime() != starts.Add(time.Hour) ||
			time.Since(e.GetCreatedAt().AsTime()) > time.Hour || e.GetUpdatedAt().AsTime().IsZero() || e.GetTimezone() != "Europe/London" {
			t.Errorf("%v", resp)
		}
	})
	t.Run("a substitute of a class has it, and the other person sees it cancelled", func(t *testing.T) {
		w.assign(classDate, "staff", kim.UUID(), nil)
		which, _ := id.Parse[id.EventDate](classDate)
		w.exec(`update assignments set active = false, position = -1 where event_date_id = $1 and resource_id = $2`, which, sam)
		w.exec(`update event_dates set sequence = sequence + 1 where id = $1`, which)
		w.mustHave(ofSam, map[string]string{classDate: "1x Yoga [Kim, Studio]", booking: "0 Haircut: Ann Smith [Ann Smith, Sam]"})
		w.mustHave(ofKim, map[string]string{classDate: "1 Yoga [Kim, Studio]"})
	})
	moved := ""
	t.Run("a moved appointment keeps its UID, and is cancelled for the person who had it", func(t *testing.T) {
		moved = w.move(booking, date, kim)
		w.mustHave(ofSam, map[string]string{classDate: "1x Yoga [Kim, Studio]", booking: "1x Haircut: Ann Smith [Ann Smith, Sam]"})
		w.mustHave(ofKim, map[string]string{classDate: "1 Yoga [Kim, Studio]", booking: "1 Haircut: Ann Smith [Ann Smith, Kim]"})
		w.mustHave(ofAnn, map[string]string{booking: "1 Haircut [Kim]"})
		w.mustHave(all, map[string]string{classDate: "1 Yoga [Kim, Studio]", booking: "1 Haircut: Ann Smith [Ann Smith, Kim]"})
	})
	t.Run("back at the first person, it is confirmed with a higher sequence", func(t *testing.T) {
		moved = w.move(booking, moved, sam)
		w.mustHave(ofSam, map[string]string{classDate: "1x Yoga [Kim, Studio]", booking: "2 Haircut: Ann Smith [Ann Smith, Sam]"})
		w.mustHave(ofKim, map[string]string{classDate: "1 Yoga [Kim, Studio]", booking: "2x Haircut: Ann Smith [Ann Smith, Kim]"})
	})
	t.Run("a cancelled booking increases the sequence by 1, in every calendar", func(t *testing.T) {
		w.exec(`update bookings set is_cancelled = true, cancelled_at = now() where id = any($1)`, []id.Booking{w.bookingID(booking), w.bookingID(classBooking)})
		w.mustHave(ofSam, map[string]string{classDate: "1x Yoga [Kim, Studio]", booking: "3x Haircut: Ann Smith [Ann Smith, Sam]"})
		w.mustHave(ofAnn, map[string]string{booking: "3x Haircut [Sam]"})
		w.mustHave(ofBob, map[string]string{classBooking: "2x Yoga [Kim, Studio]"})
		w.mustHave(all, map[string]string{classDate: "1 Yoga [Kim, Studio]", booking: "3x Haircut: Ann Smith [Ann Smith, Sam]"})
	})
	t.Run("a customer who takes the slot of a cancelled appointment has an entry of their own", func(t *testing.T) {
		which, _ := id.Parse[id.EventDate](moved)
		// The purchase is made as long as the date is one of a class.
		w.exec(`update event_dates set appointment_id = null, booked = 0 where id = $1`, which)
		resp, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{PurchaserId: bob.String(), Lines: []*bookingv1.TransactionLine{{EventDateId: moved}}})
		if err != nil {
			t.Fatal(err)
		}
		w.makeAppointment(moved)
		second := resp.GetTransaction().GetBookings()[0].GetId()
		got := w.entries(ofSam)
		if got[booking] != "3x Haircut: Ann Smith [Ann Smith, Sam]" || got[second] != "2 Haircut: Bob Smith [Bob Smith, Sam]" {
			t.Errorf("%v", got)
		}
	})
	t.Run("a date that is moved or cancelled increases the sequence", func(t *testing.T) {
		which, _ := id.Parse[id.EventDate](classDate)
		w.exec(`update event_dates set starts_at = starts_at + interval '1 minute' where id = $1`, which)
		if got := w.entries(all)[classDate]; got != "2 Yoga [Kim, Studio]" {
			t.Error(got)
		}
		w.exec(`update event_dates set status = 'cancelled' where id = $1`, which)
		if got := w.entries(all)[classDate]; got != "3x Yoga [Kim, Studio]" {
			t.Error(got)
		}
	})
}
