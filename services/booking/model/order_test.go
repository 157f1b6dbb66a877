package model

import (
	"slices"
	"testing"
	"time"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

func TestNetOf(t *testing.T) {
	tests := []struct {
		behaviour string
		gross     int64
		rate      int32
		want      int64
	}{
		{"20 % of a price that divides evenly", 1200, 2000, 1000},
		{"without tax net is gross", 1999, 0, 1999},
		{"a free booking has no tax", 0, 2000, 0},
		{"a third is rounded down", 1000, 2000, 833},             // 833.33
		{"above a whole unit is rounded down", 1001, 2000, 834},  // 834.17
		{"two thirds are rounded up", 800, 2000, 667},            // 666.67
		{"exactly half is rounded up", 3, 10000, 2},              // 1.5
		{"exactly half above a unit is rounded up", 5, 10000, 3}, // 2.5
		{"a reduced rate", 1070, 700, 1000},
		{"a fraction of a percent", 10775, 775, 10000},
		{"one minor unit", 1, 2000, 1}, // 0.83
		{"the largest amount does not overflow", MaxPrice * MaxSpaces, 10000, MaxPrice * MaxSpaces / 2},
	}
	for _, tt := range tests {
		t.Run(tt.behaviour, func(t *testing.T) {
			if got := netOf(tt.gross, tt.rate); got != tt.want {
				t.Errorf("netOf(%d, %d) = %d, want %d", tt.gross, tt.rate, got, tt.want)
			}
		})
	}
	t.Run("net is never more than gross and never negative", func(t *testing.T) {
		for gross := int64(0); gross < 3000; gross++ {
			for _, rate := range []int32{0, 1, 500, 775, 1900, 2000, 2500, 9999, 10000} {
				if net := netOf(gross, rate); net < 0 || net > gross {
					t.Fatalf("netOf(%d, %d) = %d", gross, rate, net)
				}
			}
		}
	})
}

// counterOffer is an offer with one date, one event and two options.
type counterOffer struct {
	*Offer
	date      *OfferedDate
	options   []PricingOption
	purchaser id.Customer
	friend    id.Customer
	now       time.Time
}

func newOffer(capacity int32) counterOffer {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	date := &OfferedDate{
		BookedDate: BookedDate{
			ID: id.New[id.EventDate](), StartsAt: now.Add(time.Hour), Timezone: "Europe/London", Minutes: 60,
			Event: id.New[id.Event](), EventTitle: "Yoga", EventType: Class,
		},
		Status: Scheduled, EventStatus: Published, Capacity: &capacity,
	}
	options := []PricingOption{
		{ID: id.New[id.PricingOption](), Name: "Adult", Price: 1200, Currency: "GBP", TaxRate: 2000},
		{ID: id.New[id.PricingOption](), Name: "Child", Price: 650, Currency: "GBP"},
	}
	me, friend := id.New[id.Customer](), id.New[id.Customer]()
	return counterOffer{
		Offer: &Offer{
			Dates:   map[id.EventDate]*OfferedDate{date.ID: date},
			Options: map[id.Event][]PricingOption{date.Event: options},
			Customers: map[id.Customer]KnownCustomer{
				me: {Customer: Customer{ID: me, FirstName: "Mia"}}, friend: {Customer: Customer{ID: friend, FirstName: "Fred"}},
			},
		},
		date: date, options: options, purchaser: me, friend: friend, now: now,
	}
}

func (c counterOffer) order(lines ...Line) *Order {
	return &Order{Purchaser: c.purchaser, Lines: lines, Payment: PaymentChoice{Method: Card, Reference: "ch_1"}}
}

func (c counterOffer) line(spaces int32) Line {
	return Line{Date: c.date.ID, Option: c.options[0].ID, Spaces: spaces}
}

func TestGrant(t *testing.T) {
	t.Run("prices a line by its option and taxes it as a whole", func(t *testing.T) {
		c := newOffer(10)
		got, err := c.grant(c.order(c.line(3)), c.now)
		if err != nil {
			t.Fatal(err)
		}
		want := Payment{Method: Card, Currency: "GBP", Gross: 3600, Net: 3000, TaxRate: 2000, Reference: "ch_1"}
		if got[0].Payment != want || got[0].Spaces != 3 || got[0].Date != c.date.BookedDate {
			t.Errorf("got %+v", got[0])
		}
	})
	t.Run("a granted order leaves fewer spaces for the next one", func(t *testing.T) {
		c := newOffer(5)
		c.date.Booked = 1
		for _, n := range []int32{3, 1} {
			if _, err := c.grant(c.order(c.line(n)), c.now); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.grant(c.order(c.line(1)), c.now); !refusedFor(err, ReasonEventFull) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("an order that does not fit takes nothing, and a later, smaller one fits", func(t *testing.T) {
		c := newOffer(5)
		if _, err := c.grant(c.order(c.line(3), c.line(3)), c.now); !refusedFor(err, ReasonEventFull) {
			t.Fatalf("got %v", err)
		}
		if _, err := c.grant(c.order(c.line(5)), c.now); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("a date without capacity is unlimited", func(t *testing.T) {
		c := newOffer(0)
		c.date.Capacity, c.date.Booked = nil, 1_000_000
		if _, err := c.grant(c.order(c.line(1000)), c.now); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("a date without capacity never holds more than the maximum count", func(t *testing.T) {
		c := newOffer(0)
		c.date.Capacity, c.date.Booked = nil, unlimited-5
		if _, err := c.grant(c.order(c.line(6)), c.now); !refusedFor(err, ReasonEventFull) {
			t.Fatalf("got %v", err)
		}
	})
	t.Run("stores the recipient of a booking unless it is the purchaser", func(t *testing.T) {
		c := newOffer(10)
		mine, theirs := c.line(1), c.line(1)
		mine.BoughtFor, theirs.BoughtFor = c.purchaser, c.friend
		got, err := c.grant(c.order(mine, theirs), c.now)
		if err != nil {
			t.Fatal(err)
		}
		if got[0].BoughtFor != nil || got[1].BoughtFor == nil || got[1].BoughtFor.FirstName != "Fred" {
			t.Errorf("got %+v and %+v", got[0].BoughtFor, got[1].BoughtFor)
		}
	})
	t.Run("a date that starts at this moment can be booked", func(t *testing.T) {
		c := newOffer(10)
		if _, err := c.grant(c.order(c.line(1)), c.date.StartsAt); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("the only option of an event is the default", func(t *testing.T) {
		c := newOffer(10)
		c.Offer.Options[c.date.Event] = c.options[1:]
		l := c.line(1)
		l.Option = id.PricingOption{}
		got, err := c.grant(c.order(l), c.now)
		if err != nil || got[0].Option != c.options[1].ID {
			t.Fatalf("got %v, %v", got, err)
		}
	})
	t.Run("reports all customers who are not in the copy", func(t *testing.T) {
		c := newOffer(10)
		l := c.line(1)
		l.BoughtFor = c.friend
		delete(c.Customers, c.friend)
		delete(c.Customers, c.purchaser)
		_, err := c.grant(c.order(l), c.now)
		unknown, ok := AsUnknownCustomers(err)
		if !ok || !slices.Equal(unknown.Ids, []id.Customer{c.purchaser, c.friend}) {
			t.Fatalf("got %v", err)
		}
	})
}

func refusedFor(err error, reason string) bool {
	f := fault.From(err)
	return f != nil && f.Kind == fault.Refused && f.Reason == reason
}

func TestGrantRefusals(t *testing.T) {
	tests := []struct {
		behaviour string
		change    func(c *counterOffer, l *Line)
		kind      fault.Kind
		reason    string
	}{
		{"a draft", func(c *counterOffer, _ *Line) { c.date.EventStatus = Draft }, fault.Refused, ReasonEventNotPublished},
		{"a cancelled event", func(c *counterOffer, _ *Line) { c.date.EventStatus = Cancelled }, fault.Refused, ReasonEventCancelled},
		{"a cancelled date", func(c *counterOffer, _ *Line) { c.date.Status = DateCancelled }, fault.Refused, ReasonEventCancelled},
		{"a date that has started", func(c *counterOffer, _ *Line) { c.now = c.date.StartsAt.Add(time.Nanosecond) }, fault.Refused, ReasonEventPast},
		{"a date that does not exist", func(_ *counterOffer, l *Line) { l.Date = id.New[id.EventDate]() }, fault.NotFound, fault.ReasonNotFound},
		{"an option of another event", func(_ *counterOffer, l *Line) { l.Option = id.New[id.PricingOption]() }, fault.NotFound, fault.ReasonNotFound},
		{"no option if the event has several", func(_ *counterOffer, l *Line) { l.Option = id.PricingOption{} }, fault.Invalid, fault.ReasonValidation},
		{"one space too many", func(_ *counterOffer, l *Line) { l.Spaces = 11 }, fault.Refused, ReasonEventFull},
		{"a deleted purchaser", func(c *counterOffer, _ *Line) {
			c.Customers[c.purchaser] = KnownCustomer{Deleted: true}
		}, fault.NotFound, fault.ReasonNotFound},
		{"a deleted recipient", func(c *counterOffer, l *Line) {
			l.BoughtFor = c.friend
			c.Customers[c.friend] = KnownCustomer{Deleted: true}
		}, fault.NotFound, fault.ReasonNotFound},
	}
	for _, tt := range tests {
		t.Run(tt.behaviour, func(t *testing.T) {
			c := newOffer(10)
			l := c.line(1)
			tt.change(&c, &l)
			_, err := c.grant(c.order(l), c.now)
			f := fault.From(err)
			if err == nil || f.Kind != tt.kind || f.Reason != tt.reason {
				t.Fatalf("got %v", err)
			}
			if c.date.granted != 0 {
				t.Errorf("%d spaces were taken", c.date.granted)
			}
		})
	}
}

func TestOrderCheck(t *testing.T) {
	lines := func(n int) []Line {
		all := make([]Line, n)
		for i := range all {
			all[i].Spaces = 1
		}
		return all
	}
	tests := []struct {
		behaviour   string
		order       Order
		field, rule string
	}{
		{"no lines", Order{}, "lines", "required"},
		{"too many lines", Order{Lines: lines(51)}, "lines", "max_items"},
		{"negative spaces", Order{Lines: []Line{{Spaces: 1}, {Spaces: -1}}}, "lines[1].spaces", "range"},
		{"too many spaces", Order{Lines: []Line{{Spaces: 1001}}}, "lines[0].spaces", "range"},
	}
	for _, tt := range tests {
		t.Run(tt.behaviour, func(t *testing.T) {
			f := fault.From(tt.order.Check())
			if f == nil || f.Reason != fault.ReasonValidation || f.Fields[0].Field != tt.field || f.Fields[0].Rule != tt.rule {
				t.Fatalf("got %v", f)
			}
		})
	}
	t.Run("refuses a discount code with payment by pass", func(t *testing.T) {
		err := (&Order{Lines: lines(1), Code: "SPRING", Payment: PaymentChoice{Method: Pass}}).Check()
		if f := wantFault(t, err, fault.Refused, ReasonDiscountInvalid); f.Meta["why"] != "method" {
			t.Errorf("got %v", f)
		}
	})
	t.Run("accepts fifty lines of a thousand spaces", func(t *testing.T) {
		all := lines(50)
		for i := range all {
			all[i].Spaces = 1000
		}
		if err := (&Order{Lines: all}).Check(); err != nil {
			t.Error(err)
		}
	})
}

func TestPricesOfALength(t *testing.T) {
	c := newOffer(10)
	half, full := c.options[0], c.options[1]
	half.Length, full.Length, c.date.Minutes = 30, 60, 60
	c.Options[c.date.Event] = []PricingOption{half, full}
	line := Line{Date: c.date.ID, Spaces: 1}
	t.Run("a line without an option takes the price of the length", func(t *testing.T) {
		got, err := c.grant(c.order(line), c.now)
		if err != nil || got[0].Option != full.ID {
			t.Errorf("got %v, %v", got, err)
		}
	})
	t.Run("an agreed price stays", func(t *testing.T) {
		agreed := line
		agreed.Option, agreed.agreed = half.ID, true
		if _, err := c.grant(c.order(agreed), c.now); err != nil {
			t.Error(err)
		}
	})
	t.Run("two prices of the length need a choice", func(t *testing.T) {
		both := newOffer(10)
		if _, err := both.grant(both.order(Line{Date: both.date.ID, Spaces: 1}), both.now); fault.From(err).Kind != fault.Invalid {
			t.Errorf("got %v", err)
		}
	})
	t.Run("the lowest price is one of the length", func(t *testing.T) {
		half.Price, full.Price = 100, 200
		e := Event{Options: []PricingOption{half, full}}
		if s := e.Schedule(&EventDate{Minutes: 60}, 0, c.now); s.LowestPrice == nil || *s.LowestPrice != 200 {
			t.Errorf("got %v", s.LowestPrice)
		}
		if s := e.Schedule(&EventDate{Minutes: 45}, 0, c.now); s.LowestPrice != nil {
			t.Errorf("got %v", *s.LowestPrice)
		}
	})
}
