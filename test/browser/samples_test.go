package browser

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	"reservation.dev/test/harness"
)

// samples adds data that the demonstration company does not have, and returns the pages that show it.
func (w *world) samples(t *testing.T) []place {
	t.Helper()
	s := &sampler{t: t, op: w.op, ctx: w.company.Ctx(t.Context())}
	s.ann, s.ben = s.customer("Ann"), s.customer("Ben")
	s.addNote()
	s.addPass()
	s.addCourse()
	s.addBookings()
	s.addKey()
	s.add("erase a customer", "/customers/"+s.ann+"/erase")
	return s.places
}

// sampler adds data and collects the pages that show it.
type sampler struct {
	t        *testing.T
	op       *harness.Operator
	ctx      context.Context
	ann, ben string // customers
	course   *bookingv1.Event
	places   []place
}

func (s *sampler) add(name, path string) { s.places = append(s.places, place{name, path}) }

// response is what a call returns.
type response[T any] struct {
	message T
	err     error
}

func from[T any](message T, err error) response[T] { return response[T]{message, err} }

// must returns the message; the test fails if the call did.
func (r response[T]) must(t *testing.T) T {
	t.Helper()
	if r.err != nil {
		t.Fatal(r.err)
	}
	return r.message
}

func (s *sampler) customer(name string) string {
	s.t.Helper()
	return from(s.op.Customers.CreateCustomer(s.ctx, &customerv1.CreateCustomerRequest{
		FirstName: name, LastName: "Sample", Email: name + "@example.com",
	})).must(s.t).GetCustomer().GetId()
}

func (s *sampler) addNote() {
	s.t.Helper()
	note := from(s.op.Notes.CreateNote(s.ctx, &customerv1.CreateNoteRequest{
		CustomerId: s.ann, Body: "Has a bad knee.\nPrefers the front row.", Kind: customerv1.NoteKind_NOTE_KIND_HEALTH, Author: "Grace", Pinned: true,
	})).must(s.t).GetNote()
	base := "/customers/" + s.ann
	s.add("customer with notes", base)
	s.add("add a note", base+"/notes/new")
	s.add("change a note", base+"/notes/"+note.GetId())
	s.add("delete a note", base+"/notes/"+note.GetId()+"/delete")
}

// addPass adds a pass with unlimited uses that never expires.
func (s *sampler) addPass() {
	s.t.Helper()
	kind := from(s.op.Passes.CreatePassType(s.ctx, &passv1.CreatePassTypeRequest{
		Title: "Founding member", Price: 90000, UnlimitedUses: true, NeverExpires: true,
	})).must(s.t).GetPassType()
	pass := from(s.op.Passes.AssignCustomerPass(s.ctx, &passv1.AssignCustomerPassRequest{
		CustomerId: s.ann, PassTypeId: kind.GetId(), Purchase: &passv1.PassPurchase{Method: "CASH"},
	})).must(s.t).GetCustomerPass()
	s.add("unlimited pass type", "/pass-types/"+kind.GetId())
	s.add("unlimited pass", "/passes/"+pass.GetId())
	s.add("cancel a pass", "/passes/"+pass.GetId()+"/cancel")
}

// addCourse adds a course of two dates with one space each, booking rules, and a price for all of it.
func (s *sampler) addCourse() {
	s.t.Helper()
	now, one := time.Now().Truncate(time.Minute), int32(1)
	date := func(days int) *bookingv1.NewEventDate {
		return &bookingv1.NewEventDate{StartsAt: timestamppb.New(now.AddDate(0, 0, days)), DurationMinutes: 90, Capacity: &one}
	}
	s.course = from(s.op.Events.CreateEvent(s.ctx, &bookingv1.CreateEventRequest{
		Title: "Beginners’ pottery", Type: bookingv1.EventType_EVENT_TYPE_COURSE, Dates: []*bookingv1.NewEventDate{date(4), date(11)},
		PricingOptions: []*bookingv1.NewPricingOption{{Name: "One evening", Price: 3000}, {Name: "The course", Price: 5000, WholeCourse: true}},
		BookingRules: &bookingv1.BookingRules{
			OpensAt: timestamppb.New(now.AddDate(0, 0, -1)), ClosesAt: timestamppb.New(now.AddDate(0, 0, 10)),
			MinimumNoticeMinutes: 90, MaximumAdvanceDays: 60, OncePerCustomer: true,
		},
	})).must(s.t).GetEvent()
	base := "/events/" + s.course.GetId()
	s.add("course", base)
	s.add("change a course", base+"/edit")
	s.add("add a price of a course", base+"/prices/new")
	s.add("end a price", base+"/prices/"+s.course.GetPricingOptions()[0].GetId()+"/end")
	s.add("book a course", s.date(0)+"/book?customer="+s.ann)
}

// date returns the path of a date of the course.
func (s *sampler) date(i int) string {
	return "/events/" + s.course.GetId() + "/dates/" + s.course.GetDates()[i].GetId()
}

// addBookings fills both dates of the course and lets a customer wait for each. Then it cancels the
// booking of the second date, whose space is offered.
func (s *sampler) addBookings() {
	s.t.Helper()
	s.fill(0)
	s.add("full date", s.date(0))
	s.add("find a customer for a waitlist", s.date(0)+"/wait")
	s.add("join a waitlist", s.date(0)+"/wait?customer="+s.customer("Cleo"))

	booking, entry := s.fill(1)
	from(s.op.Bookings.CancelBooking(s.ctx, &bookingv1.CancelBookingRequest{BookingId: booking, Reason: "Ill"})).must(s.t)
	harness.Eventually(s.t, stepLimit, func() error {
		res, err := s.op.Waitlist.GetWaitlistEntry(s.ctx, &bookingv1.GetWaitlistEntryRequest{Id: entry})
		if err == nil && res.GetEntry().GetState() != bookingv1.WaitlistState_WAITLIST_STATE_OFFERED {
			err = errors.New("the space is not offered")
		}
		return err
	})
	s.add("cancelled booking", "/bookings/"+booking)
	s.add("refund a booking", "/bookings/"+booking+"/refund")
	s.add("date with an offer", s.date(1))
	s.add("accept an offer", s.date(1)+"/offers/"+entry)
}

// fill books the space of a date for Ann and lets Ben wait for it. It returns the booking and the
// entry of the waitlist.
func (s *sampler) fill(i int) (booking, entry string) {
	s.t.Helper()
	date, option := s.course.GetDates()[i].GetId(), s.course.GetPricingOptions()[0].GetId()
	bought := from(s.op.Bookings.CreateTransaction(s.ctx, &bookingv1.CreateTransactionRequest{
		PurchaserId: s.ann, PaymentMethod: bookingv1.PaymentMethod_PAYMENT_METHOD_CASH,
		Lines: []*bookingv1.TransactionLine{{EventId: s.course.GetId(), EventDateId: date, PricingOptionId: option, Spaces: 1}},
	})).must(s.t)
	joined := from(s.op.Waitlist.JoinWaitlist(s.ctx, &bookingv1.JoinWaitlistRequest{
		EventDateId: date, CustomerId: s.ben, PricingOptionId: option, OfferMinutes: 720,
	})).must(s.t)
	return bought.GetTransaction().GetBookings()[0].GetId(), joined.GetEntry().GetId()
}

func (s *sampler) addKey() {
	s.t.Helper()
	key := from(s.op.PublishableKeys.CreatePublishableKey(s.ctx, &authv1.CreatePublishableKeyRequest{
		Name: "Timetable", Origins: []string{"https://www.example.com"},
	})).must(s.t).GetPublishableKey()
	const path = "/settings/publishable-keys"
	s.add("publishable keys", path)
	s.add("new publishable key", path+"/new")
	s.add("publishable key", path+"/"+key.GetId())
	s.add("delete a publishable key", path+"/"+key.GetId()+"/delete")
}
