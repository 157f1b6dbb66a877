package browser

import (
	"fmt"
	"path"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"google.golang.org/protobuf/types/known/timestamppb"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
)

// walkInTaps is the most taps that book, pay and check in a new customer, in addition to typing the first and
// the last name.
const walkInTaps = 6

// hour is the data of a front desk's busiest hour.
type hour struct {
	*tab
	date    string // path of the date
	nextDay string // identifier of the date on the next day
	regular string // identifier of a customer with a pass
}

// busyHour adds a class with a date in half an hour and one on the next day, and a customer with a pass.
func (w *world) busyHour(t *testing.T) hour {
	t.Helper()
	ctx := w.company.Ctx(t.Context())
	now, capacity, credits := time.Now().Truncate(time.Minute), int32(30), int32(1)
	start := func(in time.Duration) *bookingv1.NewEventDate {
		return &bookingv1.NewEventDate{StartsAt: timestamppb.New(now.Add(in)), DurationMinutes: 60, Capacity: &capacity}
	}
	event := from(w.op.Events.CreateEvent(ctx, &bookingv1.CreateEventRequest{
		Title: "Rush hour", Type: bookingv1.EventType_EVENT_TYPE_CLASS, Dates: []*bookingv1.NewEventDate{start(30 * time.Minute), start(24 * time.Hour)},
		PricingOptions: []*bookingv1.NewPricingOption{{Name: "Drop-in", Price: 1200, Credits: &credits}},
	})).must(t).GetEvent()
	regular := from(w.op.Customers.CreateCustomer(ctx, &customerv1.CreateCustomerRequest{FirstName: "Rita", LastName: "Rush", Email: "rita.rush@example.org"})).must(t).GetCustomer().GetId()
	kind := from(w.op.Passes.CreatePassType(ctx, &passv1.CreatePassTypeRequest{Title: "Rush pass", Price: 9000, UnlimitedUses: true, NeverExpires: true})).must(t).GetPassType().GetId()
	from(w.op.Passes.AssignCustomerPass(ctx, &passv1.AssignCustomerPassRequest{CustomerId: regular, PassTypeId: kind, Purchase: &passv1.PassPurchase{Method: "CASH"}})).must(t)
	return hour{w.signedIn(t), "/events/" + event.GetId() + "/dates/" + event.GetDates()[0].GetId(), event.GetDates()[1].GetId(), regular}
}

// chooseAndWait chooses an option of a select that sends its form, and waits for the page.
func (b *tab) chooseAndWait(label, value string) {
	b.t.Helper()
	b.actions++
	ctx, cancel := b.limited()
	defer cancel()
	if _, err := chromedp.RunResponse(ctx, chromedp.SetValue(field(label), value, chromedp.NodeVisible)); err != nil {
		b.t.Fatalf("choose %s: %v\nat %s:\n%s", label, err, b.path(), b.text())
	}
}

// allowNoEmail sets whether customers of the company may have no e-mail address.
func (w *world) allowNoEmail(t *testing.T, optional bool) {
	t.Helper()
	from(w.op.Companies.UpdateCompany(w.company.Ctx(t.Context()), &authv1.UpdateCompanyRequest{OptionalCustomerEmails: &optional})).must(t)
}

// testBusyHour is a front desk's busiest hour, on a phone.
func (w *world) testBusyHour(t *testing.T) { // invariant 1
	b := w.busyHour(t)
	b.size(390, 844)
	b.step("books, takes the payment of and checks in ten walk-ins", func(t *testing.T) {
		b.open(b.date)
		for i := range 10 {
			before := b.actions
			b.follow("Walk-in")
			b.fill("First name", fmt.Sprint("Walker", i))
			b.fill("Last name", "Doorstep")
			b.fill("E-mail address", fmt.Sprintf("walker%d@example.org", i))
			b.tick("Cash")
			b.follow("Book")
			b.says(fmt.Sprintf("Booked: 1 space for Walker%d Doorstep, £12.00 (cash). Checked in: Walker%d Doorstep.", i, i))
			if taps := b.actions - before - 2; taps > walkInTaps {
				t.Errorf("a walk-in takes %d taps", taps)
			}
		}
		b.quiet()
	})
	b.step("books a walk-in by a name alone where the company allows it", func(t *testing.T) {
		w.allowNoEmail(t, true)
		defer w.allowNoEmail(t, false)
		b.open(b.date)
		before := b.actions
		b.follow("Walk-in")
		b.fill("First name", "Nameonly")
		b.fill("Last name", "Doorstep")
		b.tick("Cash")
		b.follow("Book")
		b.says("Booked: 1 space for Nameonly Doorstep, £12.00 (cash). Checked in: Nameonly Doorstep.")
		if taps := b.actions - before - 2; taps > walkInTaps-1 {
			t.Errorf("a walk-in by a name alone takes %d taps", taps)
		}
		b.quiet()
	})
	b.step("sells a line by pass and another in cash in one sale", func(*testing.T) {
		b.open("/customers/" + b.regular)
		b.follow("Book")
		b.choose("Date", path.Base(b.date))
		b.follow("Add")
		b.chooseText("Payment", "Pass")
		b.fill("For somebody else", "walker3@example.org")
		b.follow("Add")
		b.says("Booking 2", "Walker3 Doorstep", "£12.00 and 1 credit")
		b.do("choose cash for booking 2", chromedp.SetValue(chromedp.CSS("#method-1"), "cash", chromedp.NodeVisible))
		b.follow("Book")
		b.says("Booked: 2 bookings for Rita Rush and Walker3 Doorstep, £12.00", "£12.00 (cash)", "1 credit")
		b.quiet()
	})
	b.step("moves a booking to the next day", func(*testing.T) {
		b.followAt("the booking", `(//main//a[starts-with(@href,"/bookings/")])[1]`)
		b.follow("Move or change spaces…")
		b.chooseAndWait("Date", b.nextDay)
		b.says("New date: Rush hour", "Spaces: 1 before, 1 afterwards.")
		b.fill("Spaces", "2")
		b.follow("Move the booking")
		b.says("Your choices have changed.", "Spaces: 1 before, 2 afterwards.")
		b.takeProblems() // a form that is refused is answered 422
		b.fill("Spaces", "1")
		b.follow("Show the effect")
		b.follow("Move the booking")
		b.says("The booking was moved to Rush hour")
		b.follow("History")
		b.says("booked 1 space for Rita Rush", "moved the booking from Rush hour")
		b.quiet()
	})
	b.step("transfers a booking to another customer", func(*testing.T) {
		b.followAt("the booking", `//main//p[@class="crumb"]/a`)
		b.follow("Transfer to another customer…")
		b.fill("Who gets the booking?", "walker4@example.org")
		b.follow("Search")
		b.followAt("Walker4", "(//main//a[contains(@class,'slot')])[1]")
		b.follow("Transfer the booking")
		b.says("The booking now belongs to Walker4 Doorstep.", "Booking for Walker4 Doorstep")
		b.quiet()
	})
}
