package model

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

// courseOffer is an offer of a course with n weekly dates and an option for the whole course.
type courseOffer struct {
	counterOffer
	dates []*OfferedDate
	whole PricingOption
}

func newCourse(n int, capacity int32) courseOffer {
	c := courseOffer{counterOffer: newOffer(capacity)}
	credits := int32(11)
	c.whole = PricingOption{ID: id.New[id.PricingOption](), Name: "Term", Price: 10_000, Currency: "GBP", TaxRate: 2000, Credits: &credits, WholeCourse: true}
	c.Options[c.date.Event] = append(c.Options[c.date.Event], c.whole)
	c.date.EventType = Course
	c.dates = []*OfferedDate{c.date}
	for i := 1; i < n; i++ {
		d := *c.date
		d.ID, d.StartsAt = id.New[id.EventDate](), c.date.StartsAt.AddDate(0, 0, 7*i)
		c.Dates[d.ID] = &d
		c.dates = append(c.dates, &d)
	}
	return c
}

// course returns a line that books the whole course.
func (c *courseOffer) course(spaces int32) Line {
	l := Line{Event: c.date.Event, Option: c.whole.ID, Spaces: spaces}
	for _, d := range c.dates {
		l.Course = append(l.Course, d.ID)
	}
	return l
}

func TestGrantOfCourse(t *testing.T) {
	t.Parallel()
	t.Run("books every date at its part of one price, the largest parts first", func(t *testing.T) {
		c := newCourse(7, 5)
		got, err := c.grant(c.order(c.course(1)), c.now)
		if err != nil {
			t.Fatal(err)
		}
		var gross []int64
		for i, b := range got {
			gross = append(gross, b.Payment.Gross)
			if b.Date != c.dates[i].BookedDate || b.Payment.Net != netOf(b.Payment.Gross, 2000) || b.Option != c.whole.ID {
				t.Errorf("booking %d: got %+v", i, b)
			}
		}
		if want := []int64{1429, 1429, 1429, 1429, 1428, 1428, 1428}; !slices.Equal(gross, want) {
			t.Errorf("got %v, want %v", gross, want)
		}
	})
	t.Run("divides credits in the same way", func(t *testing.T) {
		c := newCourse(4, 5)
		o := c.order(c.course(2))
		o.Payment = PaymentChoice{Method: Pass}
		got, err := c.grant(o, c.now)
		if err != nil {
			t.Fatal(err)
		}
		var credits []int32
		for _, b := range got {
			credits = append(credits, b.Payment.Credits)
		}
		if want := []int32{6, 6, 5, 5}; !slices.Equal(credits, want) {
			t.Errorf("got %v, want %v", credits, want)
		}
	})
	t.Run("takes a discount off the whole price", func(t *testing.T) {
		c := newCourse(7, 5)
		share := int32(1500)
		c.Codes = map[string]*DiscountCode{"save": {ID: id.New[id.DiscountCode](), Code: "SAVE", BasisPoints: &share}}
		o := c.order(c.course(1))
		o.Code = "SAVE"
		got, err := c.grant(o, c.now)
		if err != nil {
			t.Fatal(err)
		}
		var gross, discounts []int64
		for _, b := range got {
			gross, discounts = append(gross, b.Payment.Gross), append(discounts, b.Payment.Discount)
		}
		if !slices.Equal(gross, []int64{1215, 1215, 1214, 1214, 1214, 1214, 1214}) || !slices.Equal(discounts, []int64{214, 214, 215, 215, 214, 214, 214}) {
			t.Errorf("got %v with discounts %v", gross, discounts)
		}
		if c.Codes["save"].NewUses != 1 {
			t.Errorf("the code counts %d uses", c.Codes["save"].NewUses)
		}
	})
	t.Run("books nothing if one date is full, and names the date", func(t *testing.T) {
		c := newCourse(3, 5)
		c.dates[1].Booked = 5
		_, err := c.grant(c.order(c.course(1)), c.now)
		if f := wantFault(t, err, fault.Refused, ReasonEventFull); f.Meta["event_date_id"] != c.dates[1].ID.String() {
			t.Errorf("names %v", f.Meta)
		}
		if taken := c.Taken(); len(taken) != 0 {
			t.Errorf("took %v", taken)
		}
	})
	t.Run("leaves out dates that were cancelled or have started since they were read", func(t *testing.T) {
		c := newCourse(4, 5)
		c.dates[0].StartsAt = c.now.Add(-time.Minute)
		c.dates[2].Status = DateCancelled
		got, err := c.grant(c.order(c.course(1)), c.now)
		if err != nil || len(got) != 2 || got[0].Date.ID != c.dates[1].ID || got[1].Date.ID != c.dates[3].ID || got[0].Payment.Gross != 5000 {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	t.Run("refuses a course whose dates have all started, or that is cancelled or a draft", func(t *testing.T) {
		for reason, change := range map[string]func(d *OfferedDate, now time.Time){
			ReasonEventPast:         func(d *OfferedDate, now time.Time) { d.StartsAt = now.Add(-time.Minute) },
			ReasonEventCancelled:    func(d *OfferedDate, _ time.Time) { d.EventStatus = Cancelled },
			ReasonEventNotPublished: func(d *OfferedDate, _ time.Time) { d.EventStatus = Draft },
		} {
			c := newCourse(2, 5)
			for _, d := range c.dates {
				change(d, c.now)
			}
			if _, err := c.grant(c.order(c.course(1)), c.now); !refusedFor(err, reason) {
				t.Errorf("got %v, want %s", err, reason)
			}
		}
	})
	t.Run("the rules that count from a start apply to the first date to come", func(t *testing.T) {
		c := newCourse(10, 5) // the first date is in an hour
		for _, d := range c.dates {
			d.Rules = BookingRules{MaximumAdvance: 1, MinimumNotice: 30}
		}
		if _, err := c.grant(c.order(c.course(1)), c.now); err != nil {
			t.Error(err)
		}
		if _, err := c.grant(c.order(c.course(1)), c.now.Add(45*time.Minute)); !refusedFor(err, ReasonBookingClosed) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("refuses a single date at the price of the whole course", func(t *testing.T) {
		c := newCourse(3, 5)
		l := c.line(1)
		l.Option = c.whole.ID
		_, err := c.grant(c.order(l), c.now)
		if f := wantFault(t, err, fault.Invalid, fault.ReasonValidation); f.Fields[0].Field != "lines[0].event_date_id" {
			t.Errorf("got %v", f.Fields)
		}
	})
	t.Run("has no waitlist", func(t *testing.T) {
		c := newCourse(3, 0)
		err := c.Admits(&WaitlistEntry{Date: c.date.ID, Option: c.whole.ID, Spaces: 1, Method: Card}, c.now)
		if f := wantFault(t, err, fault.Invalid, fault.ReasonValidation); f.Fields[0].Field != "pricing_option_id" {
			t.Errorf("got %v", f.Fields)
		}
	})
	t.Run("a hold of several lines is paid by pass with the credits of each line (invariant 27)", func(t *testing.T) {
		c := newCourse(3, 9)
		got, err := c.grant(c.order(c.course(1), c.course(2), c.line(1)), c.now)
		if err != nil {
			t.Fatal(err)
		}
		held := &Transaction{Bookings: got}
		prices, single := map[id.Booking]CreditPrice{}, int32(4)
		for i := range held.Bookings {
			b := &held.Bookings[i]
			b.ID = id.New[id.Booking]()
			prices[b.ID] = CreditPrice{Credits: &single}
			if b.Option == c.whole.ID {
				prices[b.ID] = CreditPrice{Credits: c.whole.Credits, WholeCourse: true}
			}
		}
		if err := PayHeldByPass(held, prices); err != nil {
			t.Fatal(err)
		}
		var credits []int32
		for _, b := range held.Bookings {
			credits = append(credits, b.Payment.Credits)
		}
		if want := []int32{4, 4, 3, 8, 7, 7, 4}; !slices.Equal(credits, want) {
			t.Errorf("got %v, want %v", credits, want)
		}
	})
}

func TestCourseParts(t *testing.T) {
	t.Parallel()
	t.Run("the parts of a price add up to it, are equal but for one unit, and the largest come first (invariant 27)", func(t *testing.T) {
		random := rand.New(rand.NewPCG(1, 2))
		for range 2000 {
			n, total := 1+random.IntN(MaxBookings), random.Int64N(1_000_000)
			off := random.Int64N(total + 1)
			line := Booking{Payment: Payment{Method: Card, Gross: total - off, Discount: off}}
			dates := make([]*OfferedDate, n)
			for i := range dates {
				dates[i] = &OfferedDate{BookedDate: BookedDate{ID: id.New[id.EventDate]()}}
			}
			var gross, discount int64
			bookings := (&Offer{}).spread([]Booking{line}, [][]*OfferedDate{dates})
			for i, b := range bookings {
				p := b.Payment
				gross, discount = gross+p.Gross, discount+p.Discount
				if p.Gross < 0 || p.Discount < 0 || i > 0 && p.Gross > bookings[i-1].Payment.Gross || p.Gross < bookings[0].Payment.Gross-1 {
					t.Fatalf("%d - %d over %d dates: part %d is %+v", total, off, n, i, p)
				}
			}
			if gross != total-off || discount != off || len(bookings) != n {
				t.Fatalf("%d - %d over %d dates became %d with %d off", total, off, n, gross, discount)
			}
		}
	})
}

func TestNameCourseDates(t *testing.T) {
	t.Parallel()
	event, whole, other := id.New[id.Event](), id.New[id.PricingOption](), id.New[id.PricingOption]()
	dates := []id.EventDate{id.New[id.EventDate](), id.New[id.EventDate]()}
	events := map[id.Event]UndatedEvent{event: {Dates: dates, IsCourse: true}}
	order := func(option id.PricingOption, n int) *Order {
		return &Order{Lines: slices.Repeat([]Line{{Event: event, Option: option, Spaces: 1}}, n)}
	}
	courses := func(c WholeCourse) map[id.Event]*WholeCourse { return map[id.Event]*WholeCourse{event: &c} }
	sold := WholeCourse{Dates: dates, Options: []id.PricingOption{whole}, Singles: true}
	t.Run("a line at the price of the whole course books its dates to come", func(t *testing.T) {
		o := order(whole, 1)
		if err := o.NameDates(events, courses(sold)); err != nil || !slices.Equal(o.Lines[0].Course, dates) || !slices.Equal(o.Dates(), dates) {
			t.Errorf("got %+v, %v", o.Lines, err)
		}
	})
	t.Run("so does a line without an option if the event has no other", func(t *testing.T) {
		o, only := order(id.PricingOption{}, 1), sold
		only.Singles = false
		if err := o.NameDates(events, courses(only)); err != nil || len(o.Lines[0].Course) != 2 {
			t.Errorf("got %+v, %v", o.Lines, err)
		}
	})
	t.Run("another option, or none of several, needs a date", func(t *testing.T) {
		for _, option := range []id.PricingOption{other, {}} {
			f := wantFault(t, order(option, 1).NameDates(events, courses(sold)), fault.Invalid, fault.ReasonValidation)
			if f.Fields[0].Field != "lines[0].event_date_id" {
				t.Errorf("got %v", f.Fields)
			}
		}
	})
	t.Run("a course without dates to come names a date that has passed, so that the commit refuses it", func(t *testing.T) {
		o := order(whole, 1)
		if err := o.NameDates(events, courses(WholeCourse{Options: sold.Options})); err != nil || !slices.Equal(o.Lines[0].Course, dates[:1]) {
			t.Errorf("got %+v, %v", o.Lines, err)
		}
	})
	t.Run("refuses more bookings than a transaction can have", func(t *testing.T) {
		long := sold
		long.Dates = make([]id.EventDate, 100)
		if err := order(whole, 2).NameDates(events, courses(long)); err != nil {
			t.Error(err)
		}
		f := wantFault(t, order(whole, 3).NameDates(events, courses(long)), fault.Invalid, fault.ReasonValidation)
		if f.Fields[0].Field != "lines" || f.Fields[0].Rule != "max_items" {
			t.Errorf("got %v", f.Fields)
		}
	})
}

func TestOncePerCustomer(t *testing.T) { // invariant 26
	t.Parallel()
	once := func() counterOffer {
		c := newOffer(10)
		c.date.Rules.OncePerCustomer = true
		return c
	}
	t.Run("a customer cannot book a date twice in one order or in two", func(t *testing.T) {
		c := once()
		if _, err := c.grant(c.order(c.line(1), c.line(1)), c.now); !refusedFor(err, ReasonAlreadyBooked) {
			t.Errorf("in one order: got %v", err)
		}
		if _, err := c.grant(c.order(c.line(2)), c.now); err != nil {
			t.Errorf("after an order that was refused: %v", err)
		}
		_, err := c.grant(c.order(c.line(1)), c.now)
		if f := wantFault(t, err, fault.Refused, ReasonAlreadyBooked); f.Meta["event_date_id"] != c.date.ID.String() || f.Meta["customer_id"] != c.purchaser.String() {
			t.Errorf("got %v", f.Meta)
		}
	})
	t.Run("counts the customer who attends", func(t *testing.T) {
		c := once()
		forFriend := c.line(1)
		forFriend.BoughtFor = c.friend
		if _, err := c.grant(c.order(c.line(1), forFriend), c.now); err != nil {
			t.Error(err)
		}
		if _, err := c.grant(c.order(forFriend), c.now); !refusedFor(err, ReasonAlreadyBooked) {
			t.Errorf("got %v", err)
		}
		forSelf := c.line(1)
		forSelf.BoughtFor = c.purchaser
		if _, err := c.grant(c.order(forSelf), c.now); !refusedFor(err, ReasonAlreadyBooked) {
			t.Errorf("bought for oneself: got %v", err)
		}
	})
	t.Run("a customer with a booking cannot join the waitlist", func(t *testing.T) {
		c := once()
		*c.date.Capacity = 0
		c.AddAttendee(c.date.ID, c.friend)
		entry := func(customer id.Customer) *WaitlistEntry {
			return &WaitlistEntry{Date: c.date.ID, Customer: customer, Option: c.options[0].ID, Spaces: 1, Method: Card}
		}
		if err := c.Admits(entry(c.friend), c.now); !refusedFor(err, ReasonAlreadyBooked) {
			t.Errorf("got %v", err)
		}
		if err := c.Admits(entry(c.purchaser), c.now); err != nil {
			t.Error(err)
		}
	})
	t.Run("without the rule, a customer can book a date again", func(t *testing.T) {
		c := newOffer(10)
		c.AddAttendee(c.date.ID, c.purchaser)
		if _, err := c.grant(c.order(c.line(1), c.line(1)), c.now); err != nil {
			t.Error(err)
		}
	})
}
