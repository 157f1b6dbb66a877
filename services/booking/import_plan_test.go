package booking

import (
	"testing"
	"time"

	"reservation.dev/platform/id"
)

func ptr[T any](v T) *T { return &v }

// studio is a ledger in which Ann and Ben are customers.
func studio() *ledger {
	l := newLedger(id.New[id.Company](), "Europe/London", "GBP", time.Now(), id.NewUUID)
	l.customers["ann"], l.customers["ben"] = id.New[id.Customer](), id.New[id.Customer]()
	return l
}

var yoga = describedDate{
	eventReference: "yoga", title: "Yoga", eventType: Class, startsAt: time.Date(2025, 3, 1, 9, 30, 0, 0, time.UTC),
	timezone: "Europe/London", minutes: 60, capacity: ptr[int32](3),
}

func sold(spaces int32) importedBooking {
	d := yoga
	return importedBooking{spaces: spaces, described: &d, payment: Payment{Method: Card, Currency: "EUR", Gross: 2500, Net: 2000}}
}

func purchaseOf(reference string, bookings ...importedBooking) *imported {
	return &imported{
		reference: reference, customer: "ann", bookings: bookings,
		purchasedAt: time.Date(2025, 2, 1, 8, 0, 0, 999, time.UTC),
	}
}

func TestLedger(t *testing.T) {
	t.Run("a described date, its event and its option are made once", func(t *testing.T) {
		l := studio()
		first, why := l.record(purchaseOf("1", sold(2)))
		second, also := l.record(purchaseOf("2", sold(1)))
		if why != nil || also != nil {
			t.Fatal(why, also)
		}
		a, b := first.Bookings[0], second.Bookings[0]
		if a.Date != b.Date || a.Option != b.Option || len(l.events) != 1 || len(l.dates) != 1 || len(l.options) != 1 {
			t.Errorf("%+v and %+v", a, b)
		}
		if d := l.dates[a.Date.ID]; d.origin != wanted || d.takes != 3 || *d.Capacity != 3 {
			t.Errorf("the date is %+v", d)
		}
	})
	t.Run("a purchase is stored to the second, in the company's zone", func(t *testing.T) {
		l := studio()
		got, _ := l.record(purchaseOf("1", sold(1)))
		if !got.PurchasedAt.Equal(time.Date(2025, 2, 1, 8, 0, 0, 0, time.UTC)) || got.Timezone != "Europe/London" {
			t.Errorf("got %s in %s", got.PurchasedAt, got.Timezone)
		}
	})
	t.Run("an option that is made costs per space what the first card booking cost, and in credits what the first pass one did", func(t *testing.T) {
		l := studio()
		pass := sold(2)
		pass.payment = Payment{Method: Pass, Credits: 3}
		pass.cancelled = true
		for i, b := range []importedBooking{pass, sold(2), sold(1)} {
			if _, why := l.record(purchaseOf(string(rune('1'+i)), b)); why != nil {
				t.Fatal(why)
			}
		}
		for _, o := range l.options {
			if o.Name != "Imported" || o.Price != 1250 || o.Currency != "EUR" || *o.Credits != 2 || o.TaxRate != 0 {
				t.Errorf("the option is %+v", o.PricingOption)
			}
		}
	})
	t.Run("an option that exists keeps its price", func(t *testing.T) {
		l := studio()
		event := &importEvent{id: id.New[id.Event](), reference: "yoga"}
		l.events["yoga"] = event
		option := &importOption{event: event.id, PricingOption: PricingOption{ID: id.New[id.PricingOption](), Name: "Imported", Price: 7}}
		l.addOption(option)
		got, why := l.record(purchaseOf("1", sold(1)))
		if why != nil || got.Bookings[0].Option != option.ID || option.Price != 7 || option.origin != found {
			t.Errorf("%v, %+v", why, option)
		}
	})
	t.Run("options of different names follow those that are there", func(t *testing.T) {
		l := studio()
		event := &importEvent{id: id.New[id.Event](), reference: "yoga"}
		l.events["yoga"] = event
		l.addOption(&importOption{event: event.id, position: 4, PricingOption: PricingOption{ID: id.New[id.PricingOption](), Name: "Adult"}})
		child, senior := sold(1), sold(1)
		child.optionName, senior.optionName = "Child", "Senior"
		if _, why := l.record(purchaseOf("1", child, senior)); why != nil {
			t.Fatal(why)
		}
		if l.names[optionKey{event.id, "Child"}].position != 5 || l.names[optionKey{event.id, "Senior"}].position != 6 {
			t.Error("the positions do not follow")
		}
	})
	t.Run("a line that does not fit takes nothing and makes nothing, and a smaller one behind it fits", func(t *testing.T) {
		l := studio()
		_, why := l.record(purchaseOf("1", sold(2), sold(2)))
		if why == nil || why.rule != ReasonEventFull || why.field != "bookings[1].spaces" {
			t.Fatalf("got %+v", why)
		}
		for _, d := range l.dates {
			if d.takes != 0 || d.origin != made || d.event.origin != made {
				t.Errorf("the date is %+v of %+v", d, d.event)
			}
		}
		if _, why := l.record(purchaseOf("2", sold(3))); why != nil {
			t.Fatal(why)
		}
	})
	t.Run("a cancelled booking takes no space", func(t *testing.T) {
		l := studio()
		cancelled := sold(1000)
		cancelled.cancelled = true
		if _, why := l.record(purchaseOf("1", cancelled, sold(3))); why != nil {
			t.Fatal(why)
		}
	})
	t.Run("bought for the purchaser is stored as none", func(t *testing.T) {
		l := studio()
		mine, theirs := sold(1), sold(1)
		mine.boughtFor, theirs.boughtFor = "ann", "ben"
		got, why := l.record(purchaseOf("1", mine, theirs))
		if why != nil || got.Bookings[0].BoughtFor != nil || got.Bookings[1].BoughtFor.ID != l.customers["ben"] {
			t.Errorf("%v, %+v", why, got.Bookings)
		}
	})
	t.Run("an option of another event is refused", func(t *testing.T) {
		l := studio()
		other := &importOption{event: id.New[id.Event](), PricingOption: PricingOption{ID: id.New[id.PricingOption]()}}
		l.addOption(other)
		b := sold(1)
		b.option = other.ID
		if _, why := l.record(purchaseOf("1", b)); why == nil || why.field != "bookings[0].pricing_option_id" || why.rule != "exists" {
			t.Errorf("got %+v", why)
		}
	})
	t.Run("customers and dates that do not exist are refused", func(t *testing.T) {
		l := studio()
		stranger := purchaseOf("1", sold(1))
		stranger.customer = "zoe"
		friend := sold(1)
		friend.boughtFor = "zoe"
		named := sold(1)
		named.described, named.date = nil, id.New[id.EventDate]()
		for field, line := range map[string]*imported{
			"customer": stranger, "bookings[0].bought_for": purchaseOf("2", friend), "bookings[0].event_date_id": purchaseOf("3", named),
		} {
			if _, why := l.record(line); why == nil || why.field != field || why.rule != "exists" {
				t.Errorf("%s: got %+v", field, why)
			}
		}
	})
}

func TestImportedCheck(t *testing.T) {
	pass := func(b *importedBooking) { b.payment = Payment{Method: Pass, Credits: 1} }
	tests := []struct {
		behaviour string
		change    func(t *imported, b *importedBooking)
		field     string
		rule      string
	}{
		{"no reference", func(t *imported, _ *importedBooking) { t.reference = "" }, "reference", "required"},
		{"a reference with NUL", func(t *imported, _ *importedBooking) { t.reference = "a\x00b" }, "reference", "characters"},
		{"no customer", func(t *imported, _ *importedBooking) { t.customer = "" }, "customer", "required"},
		{"no time of purchase", func(t *imported, _ *importedBooking) { t.purchasedAt = time.Time{} }, "purchased_at", "required"},
		{"a purchase beyond four digits of year", func(t *imported, _ *importedBooking) { t.purchasedAt = endOfTime() }, "purchased_at", "range"},
		{"no bookings", func(t *imported, _ *importedBooking) { t.bookings = nil }, "bookings", "required"},
		{"too many bookings", func(t *imported, _ *importedBooking) { t.bookings = make([]importedBooking, 101) }, "bookings", "max_items"},
		{"no spaces", func(_ *imported, b *importedBooking) { b.spaces = 0 }, "bookings[0].spaces", "range"},
		{"no date", func(_ *imported, b *importedBooking) { b.described = nil }, "bookings[0].date", "required"},
		{"a malformed date", func(_ *imported, b *importedBooking) { b.described, b.dateID = nil, "date_x" }, "bookings[0].event_date_id", "exists"},
		{"a malformed option", func(_ *imported, b *importedBooking) { b.optionID = "po_x" }, "bookings[0].pricing_option_id", "exists"},
		{"no payment", func(_ *imported, b *importedBooking) { b.payment = Payment{} }, "bookings[0].payment", "required"},
		{"another currency", func(_ *imported, b *importedBooking) { b.payment.Currency = "CHF" }, "bookings[0].card.currency", "enum"},
		{"a negative price", func(_ *imported, b *importedBooking) { b.payment.Gross = -1 }, "bookings[0].card.gross", "range"},
		{"more net than gross", func(_ *imported, b *importedBooking) { b.payment.Net = 2501 }, "bookings[0].card.net", "range"},
		{"negative credits", func(_ *imported, b *importedBooking) { pass(b); b.payment.Credits = -1 }, "bookings[0].pass.credits_used", "min"},
		{"a malformed pass", func(_ *imported, b *importedBooking) { pass(b); b.passID = "cp_" }, "bookings[0].pass.customer_pass_id", "format"},
		{"an event without reference", func(_ *imported, b *importedBooking) { b.described.eventReference = "" }, "bookings[0].imported_date.event_reference", "required"},
		{"an event without title", func(_ *imported, b *importedBooking) { b.described.title = "" }, "bookings[0].imported_date.title", "required"},
		{"an unknown type", func(_ *imported, b *importedBooking) { b.described.eventType = "" }, "bookings[0].imported_date.type", "enum"},
		{"no start", func(_ *imported, b *importedBooking) { b.described.startsAt = time.Time{} }, "bookings[0].imported_date.starts_at", "required"},
		{"an unknown zone", func(_ *imported, b *importedBooking) { b.described.timezone = "Mars/Base" }, "bookings[0].imported_date.timezone", "timezone"},
		{"no duration", func(_ *imported, b *importedBooking) { b.described.minutes = 0 }, "bookings[0].imported_date.duration_minutes", "range"},
		{"a negative capacity", func(_ *imported, b *importedBooking) { b.described.capacity = ptr[int32](-1) }, "bookings[0].imported_date.capacity", "min"},
	}
	for _, tt := range tests {
		t.Run(tt.behaviour, func(t *testing.T) {
			line := purchaseOf("1", sold(1))
			tt.change(line, &line.bookings[0])
			why := line.check()
			if why == nil || why.field != tt.field || why.rule != tt.rule || why.message == "" {
				t.Fatalf("got %+v", why)
			}
		})
	}
	t.Run("a line that is right passes", func(t *testing.T) {
		if why := purchaseOf("1", sold(1)).check(); why != nil {
			t.Errorf("got %+v", why)
		}
	})
}
