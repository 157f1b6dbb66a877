package booking

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// register books lines of one event and returns the identifiers of the bookings.
func (w *world) register(purchaser id.Customer, lines ...*bookingv1.TransactionLine) (ids []string) {
	w.t.Helper()
	resp, err := w.bookings.CreateTransaction(w.ctx, &bookingv1.CreateTransactionRequest{PurchaserId: purchaser.String(), Lines: lines})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, b := range resp.GetTransaction().GetBookings() {
		ids = append(ids, b.GetId())
	}
	return ids
}

// registrations returns all pages of a list and checks its total.
func (w *world) registrations(req *bookingv1.ListRegistrationsRequest) (ids []string) {
	w.t.Helper()
	req = proto.Clone(req).(*bookingv1.ListRegistrationsRequest)
	for {
		resp, err := w.bookings.ListRegistrations(w.ctx, req)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, r := range resp.GetRegistrations() {
			ids = append(ids, r.GetBooking().GetId())
		}
		if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
			if resp.GetTotal() != int64(len(ids)) {
				w.t.Errorf("%d of %d", len(ids), resp.GetTotal())
			}
			return ids
		}
	}
}

// registrationWorld is a world with an event of two dates and its registrations.
type registrationWorld struct {
	*world
	ann, ben      id.Customer
	yoga, other   *bookingv1.Event
	first, second string // the dates of yoga
	began         time.Time
	all           []string // the registrations of yoga; the third is cancelled
	pending       string   // a booking that is not confirmed
}

func newRegistrationWorld(t *testing.T) *registrationWorld {
	t.Helper()
	w := &registrationWorld{world: newWorld(t), began: time.Now().Add(-time.Second)}
	w.ann, w.ben = w.customer(w.company, "ann"), w.customer(w.company, "ben")
	w.yoga = w.createEvent(w.ctx, &bookingv1.CreateEventRequest{Title: "Yoga", Dates: []*bookingv1.NewEventDate{newDate(time.Hour, nil), newDate(2*time.Hour, nil)}})
	w.other = w.event(w.ctx, nil)
	w.first, w.second = w.yoga.GetDates()[0].GetId(), w.yoga.GetDates()[1].GetId()
	w.all = append(w.all, w.register(w.ann, &bookingv1.TransactionLine{EventDateId: w.first, Spaces: 2}, &bookingv1.TransactionLine{EventDateId: w.second, BoughtForId: w.ben.String()})...)
	w.register(w.ann, &bookingv1.TransactionLine{EventDateId: w.other.GetDates()[0].GetId()})
	w.all = append(w.all, w.register(w.ben, &bookingv1.TransactionLine{EventDateId: w.first}, &bookingv1.TransactionLine{EventDateId: w.first, BoughtForId: w.ann.String()})...)
	w.all = append(w.all, w.register(w.ben, &bookingv1.TransactionLine{EventDateId: w.second})...)
	if _, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: w.all[2]}); err != nil {
		t.Fatal(err)
	}
	// A booking that is not confirmed is not in any list.
	w.pending = w.register(w.ann, &bookingv1.TransactionLine{EventDateId: w.first})[0]
	w.exec(`update transactions set status = 'pending', expires_at = now() + interval '1 hour' where id = (select transaction_id from bookings where id = $1)`, idOf[id.Booking](t, w.pending))
	return w
}

// in returns the registrations with these indexes.
func (w *registrationWorld) in(places ...int) (ids []string) {
	for _, n := range places {
		ids = append(ids, w.all[n])
	}
	return ids
}

func TestListRegistrations(t *testing.T) {
	t.Parallel()
	w := newRegistrationWorld(t)
	for behaviour, tt := range map[string]struct {
		req  *bookingv1.ListRegistrationsRequest
		want []string
	}{
		"of an event":                                {&bookingv1.ListRegistrationsRequest{}, w.in(0, 1, 2, 3, 4)},
		"of a date":                                  {&bookingv1.ListRegistrationsRequest{EventDateId: w.first}, w.in(0, 2, 3)},
		"that are cancelled":                         {&bookingv1.ListRegistrationsRequest{Cancelled: new(true)}, w.in(2)},
		"that are not cancelled":                     {&bookingv1.ListRegistrationsRequest{Cancelled: new(false)}, w.in(0, 1, 3, 4)},
		"of a date that are not cancelled":           {&bookingv1.ListRegistrationsRequest{Cancelled: new(false), EventDateId: w.first}, w.in(0, 3)},
		"bought by or for a customer":                {&bookingv1.ListRegistrationsRequest{CustomerId: w.ann.String()}, w.in(0, 3)},
		"bought by or for a customer, not cancelled": {&bookingv1.ListRegistrationsRequest{CustomerId: w.ben.String(), Cancelled: new(false)}, w.in(1, 4)},
		"for a customer on a date":                   {&bookingv1.ListRegistrationsRequest{CustomerId: w.ben.String(), EventDateId: w.second}, w.in(1, 4)},
		"that others bought for a customer":          {&bookingv1.ListRegistrationsRequest{CustomerId: w.ben.String(), BoughtByOthers: true}, w.in(1)},
		"that others bought for another customer":    {&bookingv1.ListRegistrationsRequest{CustomerId: w.ann.String(), BoughtByOthers: true}, w.in(3)},
		"for an unknown customer":                    {&bookingv1.ListRegistrationsRequest{CustomerId: id.New[id.Customer]().String()}, nil},
		"changed since the beginning":                {&bookingv1.ListRegistrationsRequest{UpdatedSince: timestamppb.New(w.began)}, w.in(0, 1, 2, 3, 4)},
		"changed in the future":                      {&bookingv1.ListRegistrationsRequest{UpdatedSince: timestamppb.New(time.Now().Add(time.Hour))}, nil},
	} {
		t.Run("a list of bookings "+behaviour+" is complete and counted, by cursor and by number, in both orders (invariant 14)", func(t *testing.T) {
			for _, order := range []bookingv1.RegistrationOrder{bookingv1.RegistrationOrder_REGISTRATION_ORDER_UNSPECIFIED, bookingv1.RegistrationOrder_REGISTRATION_ORDER_CREATED_DESC} {
				want := slices.Clone(tt.want)
				if order == bookingv1.RegistrationOrder_REGISTRATION_ORDER_CREATED_DESC {
					slices.Reverse(want)
				}
				req := proto.Clone(tt.req).(*bookingv1.ListRegistrationsRequest)
				req.EventId, req.Order, req.PageSize = w.yoga.GetId(), order, 2
				if got := w.registrations(req); !slices.Equal(got, want) {
					t.Errorf("got %v\nwant %v", got, want)
				}
				req.Offset = 1
				if got, err := w.bookings.ListRegistrations(w.ctx, req); err != nil || got.GetTotal() != int64(len(want)) ||
					len(want) > 1 && got.GetRegistrations()[0].GetBooking().GetId() != want[1] {
					t.Errorf("got %v, %v", got, err)
				}
			}
		})
	}
	t.Run("counts up to total_limit", func(t *testing.T) {
		for limit := range int64(8) {
			for all, req := range map[int64]*bookingv1.ListRegistrationsRequest{5: {EventId: w.yoga.GetId()}, 6: {}, 2: {PurchaserId: w.ann.String(), EventId: w.yoga.GetId()}} {
				want := all
				if limit > 0 {
					want = min(all, limit)
				}
				req.TotalLimit, req.PageSize = limit, 1
				if res, err := w.bookings.ListRegistrations(w.ctx, req); err != nil || res.GetTotal() != want || len(res.GetRegistrations()) != 1 {
					t.Errorf("%d, up to %d: got %d, %v", all, limit, res.GetTotal(), err)
				}
			}
		}
	})
	t.Run("a changed registration is listed by updated_since, with the time of its change", func(t *testing.T) {
		since := time.Now().Add(time.Hour).Truncate(time.Second)
		now := w.server.now
		w.server.now = func() time.Time { return since.Add(time.Minute) }
		defer func() { w.server.now = now }()
		if _, err := w.bookings.RefundBooking(w.ctx, &bookingv1.RefundBookingRequest{BookingId: w.all[4]}); err != nil {
			t.Fatal(err)
		}
		w.attend(w.all[0], bookingv1.Attendance_ATTENDANCE_NO_SHOW)
		// A change of a booking is a change of its transaction, and so of the other bookings in it.
		for _, req := range []*bookingv1.ListRegistrationsRequest{{EventId: w.yoga.GetId()}, {}, {PurchaserId: w.ann.String()}} {
			want := w.in(0, 1, 4)
			if req.GetPurchaserId() != "" {
				want = w.in(0, 1)
			}
			req.UpdatedSince = timestamppb.New(since)
			if got := w.registrations(req); !slices.Equal(got, want) {
				t.Errorf("got %v", got)
			}
		}
		r, err := w.bookings.GetRegistration(w.ctx, &bookingv1.GetRegistrationRequest{BookingId: w.all[4]})
		if err != nil || !r.GetRegistration().GetUpdatedAt().AsTime().Equal(since.Add(time.Minute)) {
			t.Errorf("got %v, %v", r, err)
		}
	})
	t.Run("lists imported bookings as well", func(t *testing.T) {
		line := past("p1", w.ann.String(), "", 3)
		line.Bookings[0].Date = &bookingv1.ImportedBooking_EventDateId{EventDateId: w.second}
		if results, err := w.send(w.ctx, line); err != nil || outcomes(results) != "c" {
			t.Fatalf("got %v, %v", results, err)
		}
		if got := w.registrations(&bookingv1.ListRegistrationsRequest{EventId: w.yoga.GetId()}); len(got) != 6 {
			t.Errorf("got %v", got)
		}
	})
	t.Run("a customer who does not exist has no registrations, for any form of the identifier", func(t *testing.T) {
		for _, customer := range []string{id.New[id.Customer]().String(), "cust_x", "cust_00000000000000000000000000"} {
			res, err := w.bookings.ListRegistrations(w.ctx, &bookingv1.ListRegistrationsRequest{EventId: w.yoga.GetId(), CustomerId: customer})
			if err != nil || res.GetTotal() != 0 || len(res.GetRegistrations()) != 0 {
				t.Errorf("%s: got %v, %v", customer, res, err)
			}
		}
	})
	t.Run("refuses invalid paging parameters", func(t *testing.T) {
		page, err := w.bookings.ListRegistrations(w.ctx, &bookingv1.ListRegistrationsRequest{EventId: w.yoga.GetId(), PageSize: 1})
		if err != nil {
			t.Fatal(err)
		}
		for field, req := range map[string]*bookingv1.ListRegistrationsRequest{
			"page_size": {PageSize: 201}, "page_token": {PageToken: "x"}, "offset": {Offset: -1}, "order": {Order: 99},
			"updated_since": {UpdatedSince: &timestamppb.Timestamp{Seconds: 1 << 60}}, "starts_from": {StartsFrom: &timestamppb.Timestamp{Seconds: 1 << 60}},
			"starts_before": {StartsBefore: &timestamppb.Timestamp{Seconds: 1 << 60}}, "attendance": {Attendance: 99},
			"bought_by_others": {BoughtByOthers: true}, "total_limit": {TotalLimit: mostCounted + 1},
		} {
			req.EventId = w.yoga.GetId()
			_, err := w.bookings.ListRegistrations(w.ctx, req)
			if f := wantFault(t, err, fault.Invalid, fault.ReasonInvalidParameter); f.Fields[0].Field != field {
				t.Errorf("got %+v", f.Fields)
			}
		}
		_, err = w.bookings.ListRegistrations(w.ctx, &bookingv1.ListRegistrationsRequest{
			EventId: w.yoga.GetId(), PageToken: page.GetNextPageToken(), Order: bookingv1.RegistrationOrder_REGISTRATION_ORDER_CREATED_DESC,
		})
		wantFault(t, err, fault.Invalid, fault.ReasonInvalidParameter)
		_, err = w.events.ListEvents(w.ctx, &bookingv1.ListEventsRequest{PageToken: page.GetNextPageToken()})
		wantFault(t, err, fault.Invalid, fault.ReasonInvalidParameter)
	})
}

func TestGetRegistration(t *testing.T) {
	t.Parallel()
	w := newRegistrationWorld(t)
	t.Run("returns the booking, its purchase and its creation time", func(t *testing.T) {
		resp, err := w.bookings.GetRegistration(w.ctx, &bookingv1.GetRegistrationRequest{BookingId: w.all[1]})
		r := resp.GetRegistration()
		if err != nil || r.GetPurchaser().GetEmail() != "ann@example.com" || r.GetBooking().GetBoughtFor().GetEmail() != "ben@example.com" || r.GetVersion() != 1 {
			t.Fatalf("got %v, %v", r, err)
		}
		made, err := w.bookings.GetTransaction(w.ctx, &bookingv1.GetTransactionRequest{CustomerId: w.ann.String(), TransactionId: r.GetTransactionId()})
		if err != nil || !proto.Equal(made.GetTransaction().GetBookings()[1], r.GetBooking()) {
			t.Errorf("got %v, %v", made, err)
		}
		if at := r.GetCreatedAt().AsTime(); at.Before(w.began) || at.After(time.Now()) || r.GetUpdatedAt().AsTime().Before(at.Add(-time.Second)) {
			t.Errorf("made at %s, changed at %s", at, r.GetUpdatedAt().AsTime())
		}
		list, err := w.bookings.ListRegistrations(w.ctx, &bookingv1.ListRegistrationsRequest{EventId: w.yoga.GetId()})
		if err != nil || !proto.Equal(list.GetRegistrations()[1], r) {
			t.Errorf("the list has %v, %v", list.GetRegistrations()[1], err)
		}
	})
	t.Run("returns NOT_FOUND for a registration that does not exist", func(t *testing.T) {
		for _, which := range []string{"", "booking_x", id.New[id.Booking]().String(), w.pending} {
			_, err := w.bookings.GetRegistration(w.ctx, &bookingv1.GetRegistrationRequest{BookingId: which})
			wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
			_, err = w.bookings.RecordAttendance(w.ctx, &bookingv1.RecordAttendanceRequest{BookingId: which, Attendance: bookingv1.Attendance_ATTENDANCE_NO_SHOW})
			wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		}
		for _, req := range []*bookingv1.ListRegistrationsRequest{
			{EventId: "evt_x"}, {EventId: id.New[id.Event]().String()}, {EventId: "evt_00000000000000000000000000"},
			{EventId: w.yoga.GetId(), EventDateId: "date_x"}, {EventId: w.yoga.GetId(), EventDateId: "date_00000000000000000000000000"}, {EventId: w.yoga.GetId(), EventDateId: w.other.GetDates()[0].GetId()},
			{EventDateId: "date_x"}, {EventDateId: id.New[id.EventDate]().String()},
		} {
			_, err := w.bookings.ListRegistrations(w.ctx, req)
			wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		}
	})
}

func TestCancelBookingVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.customer(w.company, "ann")
	t.Run("refuses to cancel another version", func(t *testing.T) {
		booking := w.mustBook(w.ctx, ann, w.event(w.ctx, nil), 1).GetBookings()[0].GetId()
		_, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: booking, ExpectedVersion: new(int64(2))})
		wantFault(t, err, fault.VersionMismatch, fault.ReasonVersionMismatch)
		got, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: booking, ExpectedVersion: new(int64(1))})
		if err != nil || !got.GetChanged() {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

// attend records attendance and reports whether it changed.
func (w *world) attend(booking string, a bookingv1.Attendance) bool {
	w.t.Helper()
	resp, err := w.bookings.RecordAttendance(w.ctx, &bookingv1.RecordAttendanceRequest{BookingId: booking, Attendance: a})
	if err != nil || resp.GetBooking().GetAttendance() != a {
		w.t.Fatalf("got %v, %v", resp, err)
	}
	return resp.GetChanged()
}

func TestAttendance(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann := w.customer(w.company, "ann")
	e := w.event(w.ctx, nil)
	booking := w.register(ann, &bookingv1.TransactionLine{EventDateId: e.GetDates()[0].GetId()})[0]
	read := func() *bookingv1.Registration {
		resp, err := w.bookings.GetRegistration(w.ctx, &bookingv1.GetRegistrationRequest{BookingId: booking})
		if err != nil {
			t.Fatal(err)
		}
		return resp.GetRegistration()
	}
	t.Run("attendance is recorded, changed and undone, and a repeated call changes nothing (invariant 4)", func(t *testing.T) {
		if read().GetBooking().GetAttendance() != bookingv1.Attendance_ATTENDANCE_UNKNOWN {
			t.Errorf("got %v", read())
		}
		changes := int64(0)
		for _, a := range []bookingv1.Attendance{
			bookingv1.Attendance_ATTENDANCE_CHECKED_IN, bookingv1.Attendance_ATTENDANCE_NO_SHOW, bookingv1.Attendance_ATTENDANCE_UNKNOWN,
		} {
			changes++
			if !w.attend(booking, a) || w.attend(booking, a) {
				t.Errorf("%s does not change it once", a)
			}
			if r := read(); r.GetBooking().GetAttendance() != a || r.GetVersion() != 1+changes || w.published(subjectAttendance) != changes {
				t.Errorf("got %v", r)
			}
		}
	})
	t.Run("only one of many concurrent calls with the same attendance changes it", func(t *testing.T) {
		before := read().GetVersion()
		together(20, func(int) { w.attend(booking, bookingv1.Attendance_ATTENDANCE_CHECKED_IN) })
		if r := read(); r.GetVersion() != before+1 {
			t.Errorf("got %v", r)
		}
	})
	t.Run("refuses unspecified attendance", func(t *testing.T) {
		for _, a := range []bookingv1.Attendance{0, 99} {
			_, err := w.bookings.RecordAttendance(w.ctx, &bookingv1.RecordAttendanceRequest{BookingId: booking, Attendance: a})
			wantField(t, err, "attendance", "enum")
		}
	})
	t.Run("refuses attendance of a cancelled booking", func(t *testing.T) {
		if _, err := w.bookings.CancelBooking(w.ctx, &bookingv1.CancelBookingRequest{BookingId: booking}); err != nil {
			t.Fatal(err)
		}
		_, err := w.bookings.RecordAttendance(w.ctx, &bookingv1.RecordAttendanceRequest{BookingId: booking, Attendance: bookingv1.Attendance_ATTENDANCE_CHECKED_IN})
		wantFault(t, err, fault.Refused, model.ReasonAlreadyCancelled)
	})
}
