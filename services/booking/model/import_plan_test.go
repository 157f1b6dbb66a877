package model

import (
	"testing"
	"time"

	"reservation.dev/platform/id"
)

// studio returns a plan in which Ann and Ben are customers.
func studio() *ImportPlan {
	l := NewImportPlan(id.New[id.Company](), "Europe/London", "GBP", time.Now(), id.NewUUID)
	l.Customers["ann"], l.Customers["ben"] = id.New[id.Customer](), id.New[id.Customer]()
	return l
}

var yoga = DescribedDate{
	EventReference: "yoga", Title: "Yoga", EventType: Class, StartsAt: time.Date(2025, 3, 1, 9, 30, 0, 0, time.UTC),
	Timezone: "Europe/London", Minutes: 60, Capacity: new(int32(3)),
}

func sold(spaces int32) ImportedBooking {
	d := yoga
	return ImportedBooking{Spaces: spaces, Described: &d, Payment: Payment{Method: Card, Currency: "EUR", Gross: 2500, Net: 2000}}
}

func purchaseOf(reference string, bookings ...ImportedBooking) *ImportedTransaction {
	return &ImportedTransaction{
		Reference: reference, Customer: "ann", Bookings: bookings,
		PurchasedAt: time.Date(2025, 2, 1, 8, 0, 0, 999, time.UTC),
	}
}

func TestImportPlan(t *testing.T) {
	t.Run("creates a described date, its event and its option once", func(t *testing.T) {
		l := studio()
		first, why := l.Record(purchaseOf("1", sold(2)))
		second, also := l.Record(purchaseOf("2", sold(1)))
		if why != nil || also != nil {
			t.Fatal(why, also)
		}
		a, b := first.Bookings[0], second.Bookings[0]
		if a.Date != b.Date || a.Option != b.Option || len(l.Events) != 1 || len(l.Dates) != 1 || len(l.Options) != 1 {
			t.Errorf("%+v and %+v", a, b)
		}
		if d := l.Dates[a.Date.ID]; d.Origin != Used || d.NewSpaces != 3 || *d.Capacity != 3 {
			t.Errorf("the date is %+v", d)
		}
	})
	t.Run("stores a purchase time to the second, in the company's zone", func(t *testing.T) {
		l := studio()
		got, _ := l.Record(purchaseOf("1", sold(1)))
		if !got.PurchasedAt.Equal(time.Date(2025, 2, 1, 8, 0, 0, 0, time.UTC)) || got.Timezone != "Europe/London" {
			t.Errorf("got %s in %s", got.PurchasedAt, got.Timezone)
		}
	})
	t.Run("a cancelled booking takes no spaces", func(t *testing.T) {
		l := studio()
		cancelled := sold(1000)
		cancelled.Cancelled = true
		if _, why := l.Record(purchaseOf("1", cancelled, sold(3))); why != nil {
			t.Fatal(why)
		}
	})
	t.Run("does not store the purchaser as the recipient", func(t *testing.T) {
		l := studio()
		mine, theirs := sold(1), sold(1)
		mine.BoughtFor, theirs.BoughtFor = "ann", "ben"
		got, why := l.Record(purchaseOf("1", mine, theirs))
		if why != nil || got.Bookings[0].BoughtFor != nil || got.Bookings[1].BoughtFor.ID != l.Customers["ben"] {
			t.Errorf("%v, %+v", why, got.Bookings)
		}
	})
}

func TestImportPlanOptions(t *testing.T) {
	t.Run("a created option gets its price per space from its first card booking, and its credits from its first pass booking", func(t *testing.T) {
		l := studio()
		pass := sold(2)
		pass.Payment = Payment{Method: Pass, Credits: 3}
		pass.Cancelled = true
		for i, b := range []ImportedBooking{pass, sold(2), sold(1)} {
			if _, why := l.Record(purchaseOf(string(rune('1'+i)), b)); why != nil {
				t.Fatal(why)
			}
		}
		for _, o := range l.Options {
			if o.Name != "Imported" || o.Price != 1250 || o.Currency != "EUR" || *o.Credits != 2 || o.TaxRate != 0 {
				t.Errorf("the option is %+v", o.PricingOption)
			}
		}
	})
	t.Run("an existing option keeps its price", func(t *testing.T) {
		l := studio()
		event := &ImportEvent{ID: id.New[id.Event](), Reference: "yoga"}
		l.Events["yoga"] = event
		option := &ImportOption{Event: event.ID, PricingOption: PricingOption{ID: id.New[id.PricingOption](), Name: "Imported", Price: 7}}
		l.AddOption(option)
		got, why := l.Record(purchaseOf("1", sold(1)))
		if why != nil || got.Bookings[0].Option != option.ID || option.Price != 7 || option.Origin != found {
			t.Errorf("%v, %+v", why, option)
		}
	})
	t.Run("new options come after the existing ones", func(t *testing.T) {
		l := studio()
		event := &ImportEvent{ID: id.New[id.Event](), Reference: "yoga"}
		l.Events["yoga"] = event
		l.AddOption(&ImportOption{Event: event.ID, Position: 4, PricingOption: PricingOption{ID: id.New[id.PricingOption](), Name: "Adult"}})
		child, senior := sold(1), sold(1)
		child.OptionName, senior.OptionName = "Child", "Senior"
		if _, why := l.Record(purchaseOf("1", child, senior)); why != nil {
			t.Fatal(why)
		}
		if l.names[optionKey{event.ID, "Child"}].Position != 5 || l.names[optionKey{event.ID, "Senior"}].Position != 6 {
			t.Error("the positions do not follow")
		}
	})
}

func TestImportPlanRefusals(t *testing.T) {
	t.Run("a line that does not fit takes no spaces and creates nothing, and a later, smaller one fits", func(t *testing.T) {
		l := studio()
		_, why := l.Record(purchaseOf("1", sold(2), sold(2)))
		if why == nil || why.Rule != ReasonEventFull || why.Field != "bookings[1].spaces" {
			t.Fatalf("got %+v", why)
		}
		for _, d := range l.Dates {
			if d.NewSpaces != 0 || d.Origin != made || d.event.Origin != made {
				t.Errorf("the date is %+v of %+v", d, d.event)
			}
		}
		if _, why := l.Record(purchaseOf("2", sold(3))); why != nil {
			t.Fatal(why)
		}
	})
	t.Run("refuses an option of another event", func(t *testing.T) {
		l := studio()
		other := &ImportOption{Event: id.New[id.Event](), PricingOption: PricingOption{ID: id.New[id.PricingOption]()}}
		l.AddOption(other)
		b := sold(1)
		b.option = other.ID
		if _, why := l.Record(purchaseOf("1", b)); why == nil || why.Field != "bookings[0].pricing_option_id" || why.Rule != "exists" {
			t.Errorf("got %+v", why)
		}
	})
	t.Run("refuses customers and dates that do not exist", func(t *testing.T) {
		l := studio()
		stranger := purchaseOf("1", sold(1))
		stranger.Customer = "zoe"
		friend := sold(1)
		friend.BoughtFor = "zoe"
		named := sold(1)
		named.Described, named.Date = nil, id.New[id.EventDate]()
		for field, line := range map[string]*ImportedTransaction{
			"customer": stranger, "bookings[0].bought_for": purchaseOf("2", friend), "bookings[0].event_date_id": purchaseOf("3", named),
		} {
			if _, why := l.Record(line); why == nil || why.Field != field || why.Rule != "exists" {
				t.Errorf("%s: got %+v", field, why)
			}
		}
	})
}

func TestImportedCheck(t *testing.T) {
	pass := func(b *ImportedBooking) { b.Payment = Payment{Method: Pass, Credits: 1} }
	tests := []struct {
		behaviour string
		change    func(t *ImportedTransaction, b *ImportedBooking)
		field     string
		rule      string
	}{
		{"no reference", func(t *ImportedTransaction, _ *ImportedBooking) { t.Reference = "" }, "reference", "required"},
		{"a reference with NUL", func(t *ImportedTransaction, _ *ImportedBooking) { t.Reference = "a\x00b" }, "reference", "characters"},
		{"no customer", func(t *ImportedTransaction, _ *ImportedBooking) { t.Customer = "" }, "customer", "required"},
		{"no time of purchase", func(t *ImportedTransaction, _ *ImportedBooking) { t.PurchasedAt = time.Time{} }, "purchased_at", "required"},
		{"a purchase after the year 9999", func(t *ImportedTransaction, _ *ImportedBooking) { t.PurchasedAt = EndOfTime() }, "purchased_at", "range"},
		{"no bookings", func(t *ImportedTransaction, _ *ImportedBooking) { t.Bookings = nil }, "bookings", "required"},
		{"too many bookings", func(t *ImportedTransaction, _ *ImportedBooking) { t.Bookings = make([]ImportedBooking, 101) }, "bookings", "max_items"},
		{"no spaces", func(_ *ImportedTransaction, b *ImportedBooking) { b.Spaces = 0 }, "bookings[0].spaces", "range"},
		{"no date", func(_ *ImportedTransaction, b *ImportedBooking) { b.Described = nil }, "bookings[0].date", "required"},
		{"a malformed date", func(_ *ImportedTransaction, b *ImportedBooking) { b.Described, b.DateID = nil, "date_x" }, "bookings[0].event_date_id", "exists"},
		{"a malformed option", func(_ *ImportedTransaction, b *ImportedBooking) { b.OptionID = "po_x" }, "bookings[0].pricing_option_id", "exists"},
		{"no payment", func(_ *ImportedTransaction, b *ImportedBooking) { b.Payment = Payment{} }, "bookings[0].payment", "required"},
		{"another currency", func(_ *ImportedTransaction, b *ImportedBooking) { b.Payment.Currency = "JPY" }, "bookings[0].card.currency", "enum"},
		{"a negative price", func(_ *ImportedTransaction, b *ImportedBooking) { b.Payment.Gross = -1 }, "bookings[0].card.gross", "range"},
		{"a net price above the gross price", func(_ *ImportedTransaction, b *ImportedBooking) { b.Payment.Net = 2501 }, "bookings[0].card.net", "range"},
		{"negative credits", func(_ *ImportedTransaction, b *ImportedBooking) { pass(b); b.Payment.Credits = -1 }, "bookings[0].pass.credits_used", "min"},
		{"a malformed pass", func(_ *ImportedTransaction, b *ImportedBooking) { pass(b); b.PassID = "cp_" }, "bookings[0].pass.customer_pass_id", "format"},
		{"an event without reference", func(_ *ImportedTransaction, b *ImportedBooking) { b.Described.EventReference = "" }, "bookings[0].imported_date.event_reference", "required"},
		{"an event without title", func(_ *ImportedTransaction, b *ImportedBooking) { b.Described.Title = "" }, "bookings[0].imported_date.title", "required"},
		{"an unknown type", func(_ *ImportedTransaction, b *ImportedBooking) { b.Described.EventType = "" }, "bookings[0].imported_date.type", "enum"},
		{"no start", func(_ *ImportedTransaction, b *ImportedBooking) { b.Described.StartsAt = time.Time{} }, "bookings[0].imported_date.starts_at", "required"},
		{"an unknown zone", func(_ *ImportedTransaction, b *ImportedBooking) { b.Described.Timezone = "Mars/Base" }, "bookings[0].imported_date.timezone", "timezone"},
		{"no duration", func(_ *ImportedTransaction, b *ImportedBooking) { b.Described.Minutes = 0 }, "bookings[0].imported_date.duration_minutes", "range"},
		{"a negative capacity", func(_ *ImportedTransaction, b *ImportedBooking) { b.Described.Capacity = new(int32(-1)) }, "bookings[0].imported_date.capacity", "min"},
	}
	for _, tt := range tests {
		t.Run(tt.behaviour, func(t *testing.T) {
			line := purchaseOf("1", sold(1))
			tt.change(line, &line.Bookings[0])
			why := line.Check()
			if why == nil || why.Field != tt.field || why.Rule != tt.rule || why.Message == "" {
				t.Fatalf("got %+v", why)
			}
		})
	}
	t.Run("accepts a valid line", func(t *testing.T) {
		if why := purchaseOf("1", sold(1)).Check(); why != nil {
			t.Errorf("got %+v", why)
		}
	})
}
