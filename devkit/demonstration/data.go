package demonstration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/devkit/sampledata"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/rpc"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	subscriptionv1 "reservation.dev/proto/gen/reservation/subscription/v1"
)

const (
	demoCustomers = 240
	demoHistory   = 1500 // purchases in the past
	demoWeeks     = 26   // of classes, before today and after
)

// demoData holds the results that the seeding steps share.
type demoData struct {
	on     *Platform
	random *rand.Rand
	zone   *time.Location
	today  time.Time
	// present is today, or the time of this run if it continues a run of an earlier day: subscriptions cannot
	// start long ago.
	present time.Time

	customers []string // identifiers, in the order of their references
	events    []*bookingv1.Event
	passTypes []string // identifiers
	staff     []string // identifiers, in the order of people
	rooms     []string // identifiers, as studioA counts them

	appointmentTypes []*bookingv1.AppointmentType // as massage counts them

	collections   []string                       // identifiers, as mediaItems counts them
	items         []string                       // identifiers, in the order of mediaItems
	plans         []string                       // identifiers: the monthly plan, and the yearly one
	subscriptions []*subscriptionv1.Subscription // in the order of members
}

func withKey(ctx context.Context, key string) context.Context {
	return rpc.WithIdempotencyKey(ctx, "demonstration:"+strings.ReplaceAll(key, " ", "-"))
}

func (d *demoData) importCustomers(ctx context.Context) error {
	req := &customerv1.ImportCustomersRequest{}
	for i := range demoCustomers {
		p := sampledata.PersonAt(i)
		req.Customers = append(req.Customers, &customerv1.ImportedCustomer{
			Reference: fmt.Sprintf("demo-%04d", i), FirstName: p.FirstName, LastName: p.LastName, Email: p.Email, Mobile: p.Mobile,
			Archived:  i%40 == 39,
			CreatedAt: timestamppb.New(d.today.AddDate(0, 0, -7*demoWeeks-d.random.IntN(300))),
		})
	}
	stream, err := d.on.customers.ImportCustomers(ctx)
	if err != nil {
		return err
	}
	return exchange(stream, req, func(res *customerv1.ImportCustomersResponse) error {
		for _, r := range res.GetResults() {
			if r.GetOutcome() == customerv1.ImportOutcome_IMPORT_OUTCOME_REFUSED {
				return fmt.Errorf("customer %s: %s %s", r.GetReference(), r.GetField(), r.GetMessage())
			}
			d.customers = append(d.customers, r.GetId())
		}
		return nil
	})
}

// exchange sends one batch of an import and calls each with the responses.
func exchange[Q, R any](stream grpc.BidiStreamingClient[Q, R], req *Q, each func(*R) error) error {
	if err := errors.Join(stream.Send(req), stream.CloseSend()); err != nil {
		return err
	}
	for {
		res, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := each(res); err != nil {
			return err
		}
	}
}

// offering is an event of the demonstration company.
type offering struct {
	title, description string
	kind               bookingv1.EventType
	weekday            time.Weekday
	hour, minute       int
	duration, capacity int32
	price              int64
	credits            int32
	once               int // for a one-off event, days from today (negative: in the past); 0: weekly
	teacher            int // a position in people
}

func offerings() []offering {
	class, workshop := bookingv1.EventType_EVENT_TYPE_CLASS, bookingv1.EventType_EVENT_TYPE_WORKSHOP
	return []offering{
		{"Morning Vinyasa", "A flowing start to the day, all levels.", class, time.Monday, 7, 30, 60, 18, 1400, 1, 0, thora},
		{"Reformer Pilates", "Small group on the reformer; bring grip socks.", class, time.Tuesday, 12, 15, 50, 8, 2200, 2, 0, maya},
		{"Yin & Sound", "Long holds, then a sound bath.", class, time.Wednesday, 19, 0, 75, 20, 1600, 1, 0, sam},
		{"Vinyasa for Beginners", "Six weeks of the basics, drop in at any time.", class, time.Thursday, 18, 30, 60, 16, 1200, 1, 0, thora},
		{"Pregnancy Yoga", "From the second trimester on.", class, time.Saturday, 9, 30, 60, 12, 1500, 1, 0, maya},
		{"Sunday Barre", "Ballet, strength and very sore legs.", class, time.Sunday, 10, 0, 55, 14, 1500, 1, 0, maya},
		{"Handstand Workshop", "An afternoon upside down, with Þóra.", workshop, time.Saturday, 14, 0, 180, 24, 4500, 0, 18, thora},
		{"Breathwork & Cacao", "An evening in candlelight.", workshop, time.Friday, 19, 30, 120, 30, 3500, 0, -40, maya},
	}
}

func (d *demoData) createEvents(ctx context.Context) error {
	for i, o := range offerings() {
		req := &bookingv1.CreateEventRequest{
			Title: o.title, Description: o.description, Type: o.kind, Timezone: demoZone,
			Location: "Studio " + string(rune('A'+i%2)), Dates: d.dates(o),
			PricingOptions: []*bookingv1.NewPricingOption{{Name: "Drop-in", Price: o.price, TaxRateBasisPoints: 2000}},
			StaffAndRooms:  &bookingv1.StaffAndRooms{StaffIds: []string{d.staff[o.teacher]}, RoomIds: []string{d.rooms[i%2]}},
		}
		if o.credits > 0 {
			req.PricingOptions[0].Credits = &o.credits
		}
		res, err := d.on.events.CreateEvent(withKey(ctx, o.title), req)
		if err != nil {
			return fmt.Errorf("%s: %w", o.title, err)
		}
		d.events = append(d.events, res.GetEvent())
	}
	return nil
}

// dates returns the dates of an offering. A weekly one has a date each week at the same local time,
// from half a year ago to half a year ahead. A one-off has a single date.
func (d *demoData) dates(o offering) []*bookingv1.NewEventDate {
	at := func(day time.Time) *bookingv1.NewEventDate {
		starts := time.Date(day.Year(), day.Month(), day.Day(), o.hour, o.minute, 0, 0, d.zone)
		return &bookingv1.NewEventDate{StartsAt: timestamppb.New(starts), DurationMinutes: o.duration, Capacity: &o.capacity}
	}
	today := d.today.In(d.zone)
	if o.once != 0 {
		return []*bookingv1.NewEventDate{at(today.AddDate(0, 0, o.once))}
	}
	first := today.AddDate(0, 0, -7*demoWeeks)
	for first.Weekday() != o.weekday {
		first = first.AddDate(0, 0, 1)
	}
	var dates []*bookingv1.NewEventDate
	for week := range 2 * demoWeeks {
		dates = append(dates, at(first.AddDate(0, 0, 7*week)))
	}
	return dates
}

func (d *demoData) createPasses(ctx context.Context) error {
	types := []*passv1.CreatePassTypeRequest{
		{Title: "Ten Classes", Description: "Ten credits for any class.", TotalUses: 10, ValidityCount: 6, ValidityUnit: passv1.ValidityUnit_VALIDITY_UNIT_MONTH, Price: 11000, EligibleEventTypes: []string{"class"}},
		{Title: "Intro Month", Description: "Five credits in your first month.", TotalUses: 5, ValidityCount: 1, ValidityUnit: passv1.ValidityUnit_VALIDITY_UNIT_MONTH, Price: 4000, EligibleEventTypes: []string{"class"}},
	}
	for i, req := range types {
		res, err := d.on.passes.CreatePassType(withKey(ctx, req.GetTitle()), req)
		if err != nil {
			return fmt.Errorf("%s: %w", req.GetTitle(), err)
		}
		d.passTypes = append(d.passTypes, res.GetPassType().GetId())
		for n := range 15 {
			customer := d.customers[(i*15+n)*3%len(d.customers)]
			start := d.today.In(d.zone).AddDate(0, 0, -d.random.IntN(60)).Format(time.DateOnly)
			_, err := d.on.passes.AssignCustomerPass(withKey(ctx, fmt.Sprintf("%s-%d", req.GetTitle(), n)),
				&passv1.AssignCustomerPassRequest{CustomerId: customer, PassTypeId: res.GetPassType().GetId(), StartDate: start})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// importHistory imports the purchases of the past half year.
func (d *demoData) importHistory(ctx context.Context) error {
	req := &bookingv1.ImportTransactionsRequest{}
	for i := range demoHistory {
		req.Transactions = append(req.Transactions, d.purchase(i))
	}
	stream, err := d.on.bookings.ImportTransactions(ctx)
	if err != nil {
		return err
	}
	return exchange(stream, req, func(res *bookingv1.ImportTransactionsResponse) error {
		for _, r := range res.GetResults() {
			// A purchase may be refused because the class is full.
			if r.GetOutcome() == bookingv1.ImportOutcome_IMPORT_OUTCOME_REFUSED && !strings.HasSuffix(r.GetField(), ".spaces") {
				return fmt.Errorf("purchase %s: %s %s", r.GetReference(), r.GetField(), r.GetMessage())
			}
		}
		return nil
	})
}

// purchase returns the i-th purchase. Most are one space by card; some are by pass, cancelled,
// refunded, or for another customer.
func (d *demoData) purchase(i int) *bookingv1.ImportedTransaction {
	r := d.random
	event := d.events[r.IntN(len(d.events))]
	date := event.GetDates()[r.IntN(len(event.GetDates()))]
	option := event.GetPricingOptions()[0]
	// A few customers buy a lot: the smaller of two draws prefers low numbers.
	buyer := min(r.IntN(demoCustomers), r.IntN(demoCustomers))
	bought := date.GetStartsAt().AsTime().Add(-time.Duration(1+r.IntN(9*24)) * time.Hour)
	if latest := d.today.Add(-time.Minute); bought.After(latest) {
		bought = latest.Add(-time.Duration(r.IntN(60*24*60)) * time.Minute)
	}
	booking := &bookingv1.ImportedBooking{
		Spaces: 1, Date: &bookingv1.ImportedBooking_EventDateId{EventDateId: date.GetId()}, PricingOptionId: option.GetId(),
	}
	if r.IntN(10) == 0 {
		booking.Spaces = 2
	}
	if r.IntN(12) == 0 {
		booking.BoughtFor = d.customers[(buyer+7)%demoCustomers]
	}
	if r.IntN(9) == 0 {
		booking.IsCancelled = true
		booking.IsRefunded = r.IntN(2) == 0
	}
	if option.Credits != nil && r.IntN(3) == 0 {
		booking.Payment = &bookingv1.ImportedBooking_Pass{Pass: &bookingv1.PassPayment{CreditsUsed: option.GetCredits() * booking.Spaces}}
	} else {
		gross := option.GetPrice() * int64(booking.Spaces)
		booking.Payment = &bookingv1.ImportedBooking_Card{Card: &bookingv1.CardPayment{
			Currency: demoCurrency, Gross: gross, Net: gross - gross/6, Reference: fmt.Sprintf("pay_demo_%05d", i),
		}}
	}
	return &bookingv1.ImportedTransaction{
		Reference: fmt.Sprintf("demo-%05d", i), Customer: d.customers[buyer],
		PurchasedAt: timestamppb.New(bought.Truncate(time.Second)), Bookings: []*bookingv1.ImportedBooking{booking},
	}
}

// bookUpcoming books two spaces on the next available date of each event, as customers would today.
func (d *demoData) bookUpcoming(ctx context.Context) error {
	for i, event := range d.events {
		err := d.bookNext(withKey(ctx, "upcoming-"+event.GetTitle()), event, &bookingv1.CreateTransactionRequest{
			PurchaserId: d.customers[i], PaymentReference: fmt.Sprintf("pay_demo_upcoming_%d", i),
			Lines: []*bookingv1.TransactionLine{{Spaces: 1}, {Spaces: 1, BoughtForId: d.customers[i+1]}},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// bookNext books the next available date of an event.
func (d *demoData) bookNext(ctx context.Context, event *bookingv1.Event, req *bookingv1.CreateTransactionRequest) error {
	for _, date := range event.GetDates() {
		if !date.GetStartsAt().AsTime().After(d.today.Add(time.Hour)) {
			continue
		}
		for _, line := range req.GetLines() {
			line.EventDateId = date.GetId()
		}
		_, err := d.on.bookings.CreateTransaction(ctx, req)
		if fault.Is(err, fault.Refused) {
			continue // the imported purchases have filled the date
		}
		if err != nil {
			return fmt.Errorf("%s: %w", event.GetTitle(), err)
		}
		return nil
	}
	return nil
}
