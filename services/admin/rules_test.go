package admin

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

func TestBookingRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	event, _ := withEvent(w, "Yoga", "Ann")
	on(w.backend, "UpdateEvent", func(*bookingv1.UpdateEventRequest) (*bookingv1.UpdateEventResponse, error) {
		return &bookingv1.UpdateEventResponse{Event: event}, nil
	})
	on(w.backend, "CreateEvent", func(*bookingv1.CreateEventRequest) (*bookingv1.CreateEventResponse, error) {
		return &bookingv1.CreateEventResponse{Event: event}, nil
	})
	want := &bookingv1.BookingRules{
		OpensAt: timestamppb.New(time.Date(2026, 7, 1, 8, 0, 0, 0, time.UTC)), ClosesAt: timestamppb.New(time.Date(2026, 12, 1, 18, 30, 0, 0, time.UTC)),
		MinimumNoticeMinutes: 90, MaximumAdvanceDays: 14, OncePerCustomer: true,
	}
	rules := []string{"opens", "2026-07-01T09:00", "closes", "2026-12-01T18:30", "notice", "1.5", "ahead", "14", "once", "on"}
	t.Run("adds an event with rules, in the company's zone", func(t *testing.T) {
		a := w.post("/events", append(rules, "title", "Yoga", "type", "class", "start", "2026-12-24T09:00", "duration", "60", "name", "Drop-in", "price", "9", "tax", "0")...)
		if a.to() == "" {
			t.Fatal(describe(a))
		}
		if got := last[*bookingv1.CreateEventRequest](w, "CreateEvent").GetBookingRules(); !proto.Equal(got, want) {
			t.Errorf("%v", got)
		}
	})
	event.BookingRules = proto.CloneOf(want)
	t.Run("shows the rules of an event", func(t *testing.T) {
		w.get("/events/evt_1").must(t, "Bookings open on Wed 1 Jul 2026, 09:00.", "Bookings close on Tue 1 Dec 2026, 18:30.",
			"until 1 h 30 min before", "from 14 days before", "Each customer can book a date once.")
		w.get("/events/evt_1/edit").must(t, `value="2026-07-01T09:00"`, `value="1.5"`, `value="14"`, `name="once" value="on" checked`)
	})
	t.Run("keeps the second of two equal hours", func(t *testing.T) {
		second := time.Date(2026, 10, 25, 1, 30, 0, 0, time.UTC) // 01:30 occurs twice
		event.BookingRules.OpensAt = timestamppb.New(second)
		const opens = "2026-10-25T01:30"
		w.post("/events/evt_1/edit", "title", "Yoga", "opens", opens, "was-opens", opens, "closes", "", "was-closes", "2026-12-01T18:30")
		got := last[*bookingv1.UpdateEventRequest](w, "UpdateEvent").GetBookingRules()
		if !got.GetOpensAt().AsTime().Equal(second) || got.ClosesAt != nil {
			t.Errorf("%v", got)
		}
	})
	t.Run("removes the rules whose fields are empty", func(t *testing.T) {
		w.post("/events/evt_1/edit", "title", "Yoga", "opens", "", "closes", "", "notice", "", "ahead", "")
		if got := last[*bookingv1.UpdateEventRequest](w, "UpdateEvent"); got.BookingRules == nil || !proto.Equal(got.GetBookingRules(), &bookingv1.BookingRules{}) {
			t.Errorf("%v", got)
		}
	})
	t.Run("shows errors at the fields", func(t *testing.T) {
		w.post("/events/evt_1/edit", "title", "Yoga", "opens", "soon", "notice", "x", "ahead", "0").must(t, `id="opens-wrong"`, `id="notice-wrong"`, "from 1 to 3,650")
		w.post("/events/evt_1/edit", "title", "Yoga", "opens", "2026-07-02T09:00", "closes", "2026-07-02T09:00").must(t, "Bookings must close after they open.")
		on(w.backend, "UpdateEvent", func(*bookingv1.UpdateEventRequest) (*bookingv1.UpdateEventResponse, error) {
			return nil, fault.InvalidFields(fault.Field{Field: "booking_rules.closes_at", Rule: "min", Message: "must be after opens_at"})
		})
		w.post("/events/evt_1/edit", "title", "Yoga").must(t, `id="closes-wrong"`, "The end of bookings must be after")
	})
	t.Run("says when bookings open and have closed, in the zone of the date", func(t *testing.T) {
		for _, form := range []struct{ path, method string }{{"book", "CreateTransaction"}, {"wait", "JoinWaitlist"}} {
			for fact, want := range map[string][2]string{
				"opens_at":  {"BOOKING_NOT_OPEN", "can be booked from Sun 29 Mar 2026, 04:30 (Asia/Kolkata)"},
				"closes_at": {"BOOKING_CLOSED", "could be booked until Sun 29 Mar 2026, 04:30 (Asia/Kolkata)"},
			} {
				refusal := fault.Refuse(want[0], "refused").With(fact, "2026-03-28T23:00:00Z").With("timezone", "Asia/Kolkata")
				w.backend.methods[form.method] = func(context.Context, proto.Message) (proto.Message, error) { return nil, refusal }
				w.post("/events/evt_1/dates/date_1/"+form.path, "customer", "cust_1", "spaces", "1", "option", "po-1").must(t, want[1])
			}
		}
	})
	t.Run("explains the refusals in words", func(t *testing.T) {
		for code, want := range map[string]string{
			"BOOKING_NOT_OPEN": "cannot be booked yet", "BOOKING_CLOSED": "can no longer be booked", "ALREADY_BOOKED": "one booking per customer and date",
		} {
			on(w.backend, "CreateTransaction", func(*bookingv1.CreateTransactionRequest) (*bookingv1.CreateTransactionResponse, error) {
				return nil, fault.Refuse(code, "refused")
			})
			a := w.post("/events/evt_1/dates/date_1/book", "customer", "cust_1", "spaces", "1", "option", "po-1")
			if a.StatusCode != http.StatusUnprocessableEntity {
				t.Fatal(describe(a))
			}
			a.must(t, want)
		}
	})
}

func TestWholeCourse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.signIn()
	event, _ := withEvent(w, "Pottery", "Ann")
	on(w.backend, "UpdateEvent", func(*bookingv1.UpdateEventRequest) (*bookingv1.UpdateEventResponse, error) {
		return &bookingv1.UpdateEventResponse{Event: event}, nil
	})
	t.Run("offers a price for the whole course only for courses", func(t *testing.T) {
		if strings.Contains(w.page("/events/evt_1/prices/new"), `name="whole"`) {
			t.Error("a class has a price for the whole course")
		}
		event.Type = bookingv1.EventType_EVENT_TYPE_COURSE
		w.get("/events/evt_1/prices/new").must(t, `name="whole"`)
		w.post("/events/evt_1/prices", "name", "Course", "price", "60", "whole", "on")
		if o := last[*bookingv1.UpdateEventRequest](w, "UpdateEvent").GetPricingOptions()[0]; !o.GetWholeCourse() {
			t.Errorf("%v", o)
		}
	})
	event.PricingOptions = append(event.PricingOptions, &bookingv1.PricingOption{Id: "po-2", Name: "Course", Price: 6000, Currency: "GBP", WholeCourse: true})
	t.Run("cannot change what an existing price is for", func(t *testing.T) {
		if body := w.page("/events/evt_1/prices/po-2"); strings.Contains(body, `name="whole"`) || !strings.Contains(body, "This price is for the whole course") {
			t.Error(text(body))
		}
		w.post("/events/evt_1/prices/po-2", "name", "Course", "price", "70")
		if o := last[*bookingv1.UpdateEventRequest](w, "UpdateEvent").GetPricingOptions()[0]; o.WholeCourse != nil {
			t.Errorf("%v", o)
		}
	})
	t.Run("books all dates and says what they cost together", func(t *testing.T) {
		on(w.backend, "CreateTransaction", func(req *bookingv1.CreateTransactionRequest) (*bookingv1.CreateTransactionResponse, error) {
			booking := func(id string, gross int64) *bookingv1.Booking {
				return &bookingv1.Booking{Id: id, Spaces: 1, Payment: &bookingv1.Booking_Card{Card: &bookingv1.CardPayment{Currency: "GBP", Gross: gross}}}
			}
			return &bookingv1.CreateTransactionResponse{Transaction: &bookingv1.Transaction{Bookings: []*bookingv1.Booking{
				booking("booking_1", 2001), booking("booking_2", 2000), booking("booking_3", 1999),
			}}}, nil
		})
		const path = "/events/evt_1/dates/date_1/book"
		w.get(path+"?customer=cust_1").must(t, "Course: £60.00 for the whole course")
		a := w.post(path, "customer", "cust_1", "spaces", "1", "option", "po-2")
		w.get(a.to()).must(t, "Booked: 1 space on 3 dates for Ann Smith, £60.00.")
		if line := last[*bookingv1.CreateTransactionRequest](w, "CreateTransaction").GetLines()[0]; line.GetEventDateId() != "" || line.GetEventId() != "evt_1" {
			t.Errorf("%v", line)
		}
	})
	t.Run("has no waitlist for the whole course", func(t *testing.T) {
		if body := w.page("/events/evt_1/dates/date_1/wait?customer=cust_1"); strings.Contains(body, "po-2") || !strings.Contains(body, "po-1") {
			t.Error(text(body))
		}
	})
}
