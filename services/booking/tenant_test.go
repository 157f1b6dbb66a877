package booking

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/tenancy"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

// twoCompanies is a world with two companies. The first has a purchase and a waitlist entry that
// the second must not reach.
type twoCompanies struct {
	*world
	us, them             context.Context
	ann, zoe             id.Customer // a customer of the first and of the second company
	ourEvent, theirEvent *bookingv1.Event
	ourCourse            *bookingv1.Event
	made                 *bookingv1.Transaction
	booking, date        string // of the first company's event
	waiting              *bookingv1.WaitlistEntry
}

func newTwoCompanies(t *testing.T) *twoCompanies {
	t.Helper()
	w := &twoCompanies{world: newWorld(t)}
	other := id.New[id.Company]()
	w.us, w.them = w.ctx, w.as(other)
	w.ann, w.zoe = w.customer(w.company, "ann"), w.customer(other, "zoe")
	w.ourEvent = w.event(w.us, new(int32(5)))
	w.made = w.mustBook(w.us, w.ann, w.ourEvent, 1)
	w.booking, w.date = w.made.GetBookings()[0].GetId(), w.ourEvent.GetDates()[0].GetId()
	w.theirEvent = w.event(w.them, nil)
	w.ourCourse = w.createEvent(w.us, &bookingv1.CreateEventRequest{
		Title: "Clay", Type: bookingv1.EventType_EVENT_TYPE_COURSE, Dates: []*bookingv1.NewEventDate{newDate(time.Hour, nil)},
		PricingOptions: []*bookingv1.NewPricingOption{{Name: "Term", WholeCourse: true}},
	})
	waiting, err := w.join(&bookingv1.JoinWaitlistRequest{Spaces: 5}, w.ann, w.ourEvent)
	if err != nil {
		t.Fatal(err)
	}
	w.waiting = waiting
	w.releaseHold(w.hold(w.ann, w.ourEvent, 1, ""))
	return w
}

func (w *twoCompanies) buy(ctx context.Context, customer, date string) error {
	_, err := w.bookings.CreateTransaction(ctx, &bookingv1.CreateTransactionRequest{
		PurchaserId: customer, Lines: []*bookingv1.TransactionLine{{EventDateId: date}},
	})
	return err
}

// waitlistCalls are calls about waitlists with an identifier of the other company.
func (w *twoCompanies) waitlistCalls() map[string]func() error {
	return map[string]func() error{
		"JoinWaitlist of our date": func() error {
			_, err := w.waitlist.JoinWaitlist(w.them, &bookingv1.JoinWaitlistRequest{EventDateId: w.waiting.GetEventDateId(), CustomerId: w.zoe.String()})
			return err
		},
		"JoinWaitlist with their customer": func() error {
			_, err := w.waitlist.JoinWaitlist(w.us, &bookingv1.JoinWaitlistRequest{EventDateId: w.waiting.GetEventDateId(), CustomerId: w.zoe.String(), Spaces: 5})
			return err
		},
		"LeaveWaitlist": func() error {
			_, err := w.waitlist.LeaveWaitlist(w.them, &bookingv1.LeaveWaitlistRequest{Id: w.waiting.GetId()})
			return err
		},
		"GetWaitlistEntry": func() error {
			_, err := w.waitlist.GetWaitlistEntry(w.them, &bookingv1.GetWaitlistEntryRequest{Id: w.waiting.GetId()})
			return err
		},
		"ListWaitlist": func() error {
			_, err := w.waitlist.ListWaitlist(w.them, &bookingv1.ListWaitlistRequest{EventDateId: w.waiting.GetEventDateId()})
			return err
		},
		"ListWaitlist of all dates, with our customer": func() error {
			resp, err := w.waitlist.ListWaitlist(w.them, &bookingv1.ListWaitlistRequest{
				Order: bookingv1.WaitlistOrder_WAITLIST_ORDER_CREATED, CustomerId: w.ann.String(), IncludeEnded: true,
			})
			return nothing(err, resp.GetTotal())
		},
		"ListWaitlist of all dates": func() error {
			resp, err := w.waitlist.ListWaitlist(w.them, &bookingv1.ListWaitlistRequest{
				Order: bookingv1.WaitlistOrder_WAITLIST_ORDER_UPDATED_DESC, IncludeEnded: true,
			})
			return nothing(err, resp.GetTotal())
		},
		"AcceptOffer": func() error {
			_, err := w.waitlist.AcceptOffer(w.them, &bookingv1.AcceptOfferRequest{Id: w.waiting.GetId()})
			return err
		},
	}
}

// nothing returns NOT_FOUND if a list is empty.
func nothing(err error, total int64) error {
	if err == nil && total == 0 {
		return fault.Missing("entry")
	}
	return err
}

// bookingCalls are calls about purchases and bookings with an identifier of the other company.
func (w *twoCompanies) bookingCalls() map[string]func() error {
	return map[string]func() error{
		"CreateTransaction of their customer on our date": func() error { return w.buy(w.us, w.zoe.String(), w.date) },
		"CreateTransaction of their customer on their date, as us": func() error {
			return w.buy(w.us, w.zoe.String(), w.theirEvent.GetDates()[0].GetId())
		},
		"CreateTransaction of our customer on their date": func() error { return w.buy(w.us, w.ann.String(), w.theirEvent.GetDates()[0].GetId()) },
		"CreateTransaction with their pricing option": func() error {
			_, err := w.bookings.CreateTransaction(w.us, &bookingv1.CreateTransactionRequest{
				PurchaserId: w.ann.String(), Lines: []*bookingv1.TransactionLine{{EventDateId: w.date, PricingOptionId: w.theirEvent.GetPricingOptions()[0].GetId()}},
			})
			return err
		},
		"CreateTransaction for their customer": func() error {
			_, err := w.bookings.CreateTransaction(w.us, &bookingv1.CreateTransactionRequest{
				PurchaserId: w.ann.String(), Lines: []*bookingv1.TransactionLine{{EventDateId: w.date, BoughtForId: w.zoe.String()}},
			})
			return err
		},
		"GetTransaction": func() error {
			_, err := w.bookings.GetTransaction(w.them, &bookingv1.GetTransactionRequest{CustomerId: w.ann.String(), TransactionId: w.made.GetId()})
			return err
		},
		"GetTransaction of any customer": func() error {
			_, err := w.bookings.GetTransaction(w.them, &bookingv1.GetTransactionRequest{TransactionId: w.made.GetId()})
			return err
		},
		"ListTransactions": func() error {
			_, err := w.bookings.ListTransactions(w.them, &bookingv1.ListTransactionsRequest{CustomerId: w.ann.String()})
			return err
		},
		"CancelBooking": func() error {
			_, err := w.bookings.CancelBooking(w.them, &bookingv1.CancelBookingRequest{BookingId: w.booking})
			return err
		},
		"RefundBooking": func() error {
			_, err := w.bookings.RefundBooking(w.them, &bookingv1.RefundBookingRequest{BookingId: w.booking})
			return err
		},
		"ListRegistrations": func() error {
			_, err := w.bookings.ListRegistrations(w.them, &bookingv1.ListRegistrationsRequest{EventId: w.ourEvent.GetId()})
			return err
		},
		"ListRegistrations of our date": func() error {
			_, err := w.bookings.ListRegistrations(w.them, &bookingv1.ListRegistrationsRequest{EventId: w.theirEvent.GetId(), EventDateId: w.date})
			return err
		},
		"ListRegistrations of our date, of any event": func() error {
			_, err := w.bookings.ListRegistrations(w.them, &bookingv1.ListRegistrationsRequest{EventDateId: w.date})
			return err
		},
		"GetRegistration": func() error {
			_, err := w.bookings.GetRegistration(w.them, &bookingv1.GetRegistrationRequest{BookingId: w.booking})
			return err
		},
		"RecordAttendance": func() error {
			_, err := w.bookings.RecordAttendance(w.them, &bookingv1.RecordAttendanceRequest{
				BookingId: w.booking, Attendance: bookingv1.Attendance_ATTENDANCE_CHECKED_IN,
			})
			return err
		},
	}
}

// eventCalls are calls about events and their dates with an identifier of the other company.
func (w *twoCompanies) eventCalls() map[string]func() error {
	return map[string]func() error{
		"GetEvent": func() error {
			_, err := w.events.GetEvent(w.them, &bookingv1.GetEventRequest{Id: w.ourEvent.GetId()})
			return err
		},
		"UpdateEvent": func() error {
			_, err := w.events.UpdateEvent(w.them, &bookingv1.UpdateEventRequest{Id: w.ourEvent.GetId(), Title: new("Theirs")})
			return err
		},
		"UpdateEvent with our date": func() error {
			_, err := w.events.UpdateEvent(w.them, &bookingv1.UpdateEventRequest{Id: w.theirEvent.GetId(), Dates: []*bookingv1.EventDateChange{{Id: w.date, Capacity: new(int32(9))}}})
			return err
		},
		"UpdateEvent with our pricing option": func() error {
			_, err := w.events.UpdateEvent(w.them, &bookingv1.UpdateEventRequest{
				Id: w.theirEvent.GetId(), PricingOptions: []*bookingv1.PricingOptionChange{{Id: w.ourEvent.GetPricingOptions()[0].GetId(), Price: new(int64(1))}},
			})
			return err
		},
		"CancelEvent": func() error {
			_, err := w.events.CancelEvent(w.them, &bookingv1.CancelEventRequest{Id: w.ourEvent.GetId()})
			return err
		},
		"DeleteEvent": func() error {
			_, err := w.events.DeleteEvent(w.them, &bookingv1.DeleteEventRequest{Id: w.ourEvent.GetId()})
			return err
		},
		"UpdateEventDate": func() error {
			_, err := w.events.UpdateEventDate(w.them, &bookingv1.UpdateEventDateRequest{Date: &bookingv1.EventDateChange{Id: w.date, Unlimited: true}})
			return err
		},
		"GetEventDate": func() error {
			_, err := w.events.GetEventDate(w.them, &bookingv1.GetEventDateRequest{Id: w.date})
			return err
		},
		"CreateTransaction of our whole course": func() error {
			_, err := w.bookings.CreateTransaction(w.them, &bookingv1.CreateTransactionRequest{
				PurchaserId: w.zoe.String(), Lines: []*bookingv1.TransactionLine{{EventId: w.ourCourse.GetId(), PricingOptionId: w.ourCourse.GetPricingOptions()[0].GetId()}},
			})
			return err
		},
		"CancelEventDate": func() error {
			_, err := w.events.CancelEventDate(w.them, &bookingv1.CancelEventDateRequest{Id: w.date})
			return err
		},
		"AddEventDates": func() error {
			_, err := w.events.AddEventDates(w.them, &bookingv1.AddEventDatesRequest{EventId: w.ourEvent.GetId(), Dates: []*bookingv1.NewEventDate{newDate(time.Hour, nil)}})
			return err
		},
	}
}

func TestIdentifiersOfAnotherCompany(t *testing.T) {
	t.Parallel()
	w := newTwoCompanies(t)
	for _, calls := range []map[string]func() error{w.waitlistCalls(), w.bookingCalls(), w.eventCalls(), w.holdCalls()} {
		for name, call := range calls {
			t.Run(name+": an identifier of another company does not exist (invariant 5)", func(t *testing.T) {
				wantFault(t, call(), fault.NotFound, fault.ReasonNotFound)
			})
		}
	}
	t.Run("ImportTransactions: identifiers of another company do not exist (invariant 5)", func(t *testing.T) {
		foreignDate := past("p1", w.zoe.String(), "", 1)
		foreignDate.Bookings[0].Date = &bookingv1.ImportedBooking_EventDateId{EventDateId: w.date}
		foreignOption := past("p2", w.zoe.String(), "", 1)
		foreignOption.Bookings[0].Date = &bookingv1.ImportedBooking_EventDateId{EventDateId: w.theirEvent.GetDates()[0].GetId()}
		foreignOption.Bookings[0].PricingOptionId = w.ourEvent.GetPricingOptions()[0].GetId()
		results, err := w.send(w.them, foreignDate, foreignOption, past("p3", w.ann.String(), "yoga", 1))
		if err != nil || outcomes(results) != "rrr" {
			t.Fatalf("got %v, %v", results, err)
		}
	})
	t.Run("references of an import belong to one company (invariant 5)", func(t *testing.T) {
		first, err := w.send(w.us, past("same", w.ann.String(), "yoga", 1))
		if err != nil {
			t.Fatal(err)
		}
		second, err := w.send(w.them, past("same", w.zoe.String(), "yoga", 1))
		if err != nil || outcomes(first)+outcomes(second) != "cc" {
			t.Fatalf("got %v and %v, %v", first, second, err)
		}
	})
	t.Run("ListEvents lists and counts only the company's own events (invariant 5)", func(t *testing.T) {
		for ctx, events := range map[context.Context]int{w.us: 3, w.them: 2} {
			resp, err := w.events.ListEvents(ctx, &bookingv1.ListEventsRequest{})
			if err != nil || resp.GetTotal() != int64(events) || len(resp.GetEvents()) != events {
				t.Errorf("got %v, %v", resp, err)
			}
		}
	})
	t.Run("ListEventDates lists and counts only the company's own dates (invariant 5)", func(t *testing.T) {
		for ctx, event := range map[context.Context]string{w.us: w.theirEvent.GetId(), w.them: w.ourEvent.GetId()} {
			resp, err := w.events.ListEventDates(ctx, &bookingv1.ListEventDatesRequest{TotalLimit: 100})
			foreign, _ := w.events.ListEventDates(ctx, &bookingv1.ListEventDatesRequest{EventId: event, TotalLimit: 100})
			if err != nil || resp.GetTotal() != int64(len(resp.GetDates())) || len(resp.GetDates()) == 0 || foreign.GetTotal() != 0 || len(foreign.GetDates()) != 0 {
				t.Errorf("got %v and %v, %v", resp, foreign, err)
			}
			for _, d := range resp.GetDates() {
				if d.GetEventId() == event {
					t.Errorf("got a date of the other company: %v", d)
				}
			}
		}
	})
	t.Run("lists of all purchases and registrations have only the company's own (invariant 5)", func(t *testing.T) {
		for _, updated := range []*timestamppb.Timestamp{nil, timestamppb.New(time.Now().Add(-time.Hour))} {
			for _, customer := range []string{"", w.ann.String()} {
				bought, err := w.bookings.ListCompanyTransactions(w.them, &bookingv1.ListCompanyTransactionsRequest{PurchaserId: customer, UpdatedSince: updated})
				if err != nil {
					t.Fatal(err)
				}
				for _, made := range bought.GetTransactions() {
					if made.GetPurchaser().GetId() != w.zoe.String() {
						t.Errorf("got %v", made)
					}
				}
				list, err := w.bookings.ListRegistrations(w.them, &bookingv1.ListRegistrationsRequest{PurchaserId: customer, UpdatedSince: updated})
				if err != nil || int(list.GetTotal()) != len(bought.GetTransactions()) {
					t.Errorf("got %v, %v", list, err)
				}
			}
		}
	})
	t.Run("the calls changed nothing of the other company (invariant 5)", func(t *testing.T) {
		read, err := w.bookings.GetTransaction(w.us, &bookingv1.GetTransactionRequest{CustomerId: w.ann.String(), TransactionId: w.made.GetId()})
		if err != nil || read.GetTransaction().GetVersion() != 1 {
			t.Errorf("got %v, %v", read, err)
		}
		if after, err := w.events.GetEvent(w.us, &bookingv1.GetEventRequest{Id: w.ourEvent.GetId()}); err != nil || after.GetEvent().GetVersion() != 1 {
			t.Errorf("got %v, %v", after, err)
		}
		w.inStep()
	})
}

func TestRowsOfAnotherCompany(t *testing.T) {
	t.Parallel()
	w := newTwoCompanies(t)
	t.Run("every table with a company has a row policy (invariant 5)", func(t *testing.T) {
		for _, table := range []string{"companies", "customers", "events", "event_totals", "event_dates", "pricing_options", "transactions", "bookings", "waitlist_entries", "ended_holds"} {
			for _, scope := range []pg.Scope{{}, pg.For(id.New[id.Company]())} {
				n, err := pg.One[int64](t.Context(), w.db, scope, `select count(*) from `+table)
				if err != nil || n != 0 {
					t.Errorf("%s shows %d rows to a stranger, %v", table, n, err)
				}
			}
		}
	})
}

func TestPlatformCredential(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	t.Run("a platform credential acts for the company that it names", func(t *testing.T) {
		w.companies.add(tenancy.Company{ID: w.company, Timezone: "Asia/Tokyo", Currency: "EUR", Version: 1})
		ctx := w.asPlatform(w.company)
		for range 2 {
			resp, err := w.events.CreateEvent(ctx, &bookingv1.CreateEventRequest{Title: "Sushi", Dates: []*bookingv1.NewEventDate{newDate(time.Hour, nil)}})
			if err != nil || resp.GetEvent().GetTimezone() != "Asia/Tokyo" || resp.GetEvent().GetPricingOptions()[0].GetCurrency() != "EUR" {
				t.Fatalf("got %v, %v", resp, err)
			}
		}
		if w.companies.calls != 1 {
			t.Errorf("the auth service was called %d times", w.companies.calls)
		}
		_, err := w.events.ListEvents(w.asPlatform(id.New[id.Company]()), &bookingv1.ListEventsRequest{})
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
		_, err = w.events.ListEvents(bearer(t.Context(), w.issuer.Admin()), &bookingv1.ListEventsRequest{})
		wantFault(t, err, fault.Invalid, fault.ReasonInvalidParameter)
	})
}

func TestCompanyMoves(t *testing.T) { // invariant 11
	t.Parallel()
	w := newWorld(t)
	ann, ben := w.customer(w.company, "ann"), w.customer(w.company, "ben")
	w.passes.give(ann, 10)
	signed := func(version int64, scopes ...string) context.Context { // with a token from before the move
		return bearer(t.Context(), w.issuer.Sign(token.Claims{
			Company: w.company, Zone: "UTC", Currency: "GBP", CompanyVersion: version, Scopes: scopes,
		}))
	}
	before := signed(1, "bookings:read", "bookings:write", "events:write")
	wantZone := func(t *testing.T, bought *bookingv1.Transaction, err error, zone string) {
		t.Helper()
		if err != nil || bought.GetTimezone() != zone {
			t.Fatalf("got %v, %v, want the zone %s", bought, err, zone)
		}
		read, err := w.bookings.GetTransaction(before, &bookingv1.GetTransactionRequest{CustomerId: bought.GetPurchaser().GetId(), TransactionId: bought.GetId()})
		if err != nil || read.GetTransaction().GetTimezone() != zone {
			t.Errorf("read as %v, %v", read, err)
		}
	}
	e := w.passEvent(nil, time.Hour, nil)
	lines := []*bookingv1.TransactionLine{{EventId: e.GetId(), Spaces: 1}}
	held := map[bookingv1.PaymentMethod]string{}
	for _, method := range []bookingv1.PaymentMethod{bookingv1.PaymentMethod_PAYMENT_METHOD_CARD, byPass} {
		res, err := w.bookings.HoldPlaces(before, &bookingv1.HoldPlacesRequest{PurchaserId: ann.String(), Lines: lines})
		if err != nil {
			t.Fatal(err)
		}
		held[method] = res.GetHold().GetId()
	}
	full := w.event(w.ctx, new(int32(1)))
	taken := w.mustBook(before, ann, full, 1)
	wantZone(t, taken, nil, "UTC")
	joined, err := w.join(&bookingv1.JoinWaitlistRequest{Mode: bookingv1.WaitlistMode_WAITLIST_MODE_BOOK}, ben, full)
	if err != nil {
		t.Fatal(err)
	}

	copies := authv1.NewCompanyCopyServiceClient(w.conn)
	w.companies.add(tenancy.Company{ID: w.company, Timezone: "Asia/Tokyo", Currency: "EUR", Version: 3})
	if _, err := copies.RefreshCompany(signed(1, "company:write"), &authv1.RefreshCompanyRequest{}); err != nil {
		t.Fatal(err)
	}
	t.Run("a purchase with a token from before the move uses the new zone", func(t *testing.T) {
		for _, ctx := range []context.Context{before, withKey(before, "key")} {
			bought, err := w.book(ctx, ann, e, 1)
			wantZone(t, bought, err, "Asia/Tokyo")
		}
	})
	t.Run("so does a purchase by pass", func(t *testing.T) {
		bought, err := w.byPass(before, ann, e, 1)
		wantZone(t, bought, err, "Asia/Tokyo")
	})
	t.Run("so does a hold confirmed after the move", func(t *testing.T) {
		for method, hold := range held {
			res, err := w.bookings.ConfirmHold(before, &bookingv1.ConfirmHoldRequest{HoldId: hold, PaymentMethod: method})
			wantZone(t, res.GetTransaction(), err, "Asia/Tokyo")
		}
	})
	t.Run("so does a booking for an entry from before the move", func(t *testing.T) {
		if _, err := w.bookings.CancelBooking(before, &bookingv1.CancelBookingRequest{BookingId: taken.GetBookings()[0].GetId()}); err != nil {
			t.Fatal(err)
		}
		list, err := w.bookings.ListTransactions(before, &bookingv1.ListTransactionsRequest{CustomerId: ben.String()})
		if err != nil || len(list.GetTransactions()) != 1 {
			t.Fatalf("%s: got %v, %v", joined.GetId(), list, err)
		}
		wantZone(t, list.GetTransactions()[0], nil, "Asia/Tokyo")
	})
	t.Run("a new event has the new zone and currency", func(t *testing.T) {
		res, err := w.events.CreateEvent(before, &bookingv1.CreateEventRequest{Title: "Sushi", Dates: []*bookingv1.NewEventDate{newDate(time.Hour, nil)}})
		if got := res.GetEvent(); err != nil || got.GetTimezone() != "Asia/Tokyo" || got.GetPricingOptions()[0].GetCurrency() != "EUR" {
			t.Errorf("got %v, %v", got, err)
		}
	})
	t.Run("a token newer than the copy takes precedence, as after a restore", func(t *testing.T) {
		bought, err := w.book(signed(4, "bookings:write"), ann, e, 1)
		wantZone(t, bought, err, "UTC")
	})
	t.Run("refuses to refresh a copy without the right to change the company, or of a company that does not exist", func(t *testing.T) {
		_, err := copies.RefreshCompany(before, &authv1.RefreshCompanyRequest{})
		wantFault(t, err, fault.Forbidden, fault.ReasonInsufficientScope)
		_, err = copies.RefreshCompany(w.asPlatform(id.New[id.Company]()), &authv1.RefreshCompanyRequest{})
		wantFault(t, err, fault.NotFound, fault.ReasonNotFound)
	})
	w.verify()
}

func TestScopes(t *testing.T) {
	t.Parallel()
	descs := []*grpc.ServiceDesc{&bookingv1.BookingService_ServiceDesc, &bookingv1.EventService_ServiceDesc}
	t.Run("every method has a scope", func(t *testing.T) {
		if err := Policy().Check(descs...); err != nil {
			t.Error(err)
		}
	})
	t.Run("a token without the required scope gets a fault that names the scope", func(t *testing.T) {
		w := newWorld(t)
		var others []string
		all := []string{"bookings:read", "bookings:write", "events:read", "events:write"}
		for method, scope := range Policy() {
			if strings.HasSuffix(method, "/ReadCalendar") {
				continue // its secret identifies the caller
			}
			others = others[:0]
			for _, s := range all {
				if !slices.Contains(strings.Split(scope, "|"), s) {
					others = append(others, s)
				}
			}
			ctx := bearer(t.Context(), w.issuer.Sign(token.Claims{Company: w.company, Scopes: others}))
			var err error
			if strings.HasSuffix(method, "ImportTransactions") {
				_, err = w.send(ctx, past("p", "c", "e", 1))
			} else {
				err = w.conn.Invoke(ctx, method, &bookingv1.GetEventRequest{}, &bookingv1.GetEventResponse{})
			}
			f := wantFault(t, err, fault.Forbidden, fault.ReasonInsufficientScope)
			if first, _, _ := strings.Cut(scope, "|"); f.Meta["scope"] != first {
				t.Errorf("%s: the fault names %v", method, f.Meta)
			}
		}
	})
}
