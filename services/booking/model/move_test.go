package model

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
)

var moveNow = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// moveWorld is two events: a class with two dates and a course.
type moveWorld struct {
	offer                      *Offer
	here, there, elsewhere     *OfferedDate
	single, family, whole, old PricingOption // of the first event; whole is for the whole course, old has ended
	other                      PricingOption // the only single one of the second event
	booking                    Booking       // 3 spaces of single on here, by card
	free                       *int32        // minutes before the start at which free cancellation ends
}

func newMoveWorld() *moveWorld {
	w := &moveWorld{
		single: PricingOption{ID: id.New[id.PricingOption](), Price: 1000, Currency: "GBP", TaxRate: 2000, Credits: proto.Int32(2)},
		family: PricingOption{ID: id.New[id.PricingOption](), Price: 1500, Currency: "GBP", TaxRate: 2000, Credits: proto.Int32(3)},
		whole:  PricingOption{ID: id.New[id.PricingOption](), Price: 9000, Currency: "GBP", WholeCourse: true, Credits: proto.Int32(9)},
		old:    PricingOption{ID: id.New[id.PricingOption](), Price: 700, Currency: "GBP", Credits: proto.Int32(1)},
		other:  PricingOption{ID: id.New[id.PricingOption](), Price: 400, Currency: "GBP", TaxRate: 500, Credits: proto.Int32(1)},
	}
	first, second := id.New[id.Event](), id.New[id.Event]()
	w.here, w.there, w.elsewhere = newOffered(first, 48*time.Hour), newOffered(first, 72*time.Hour), newOffered(second, 96*time.Hour)
	w.offer = &Offer{
		Dates: map[id.EventDate]*OfferedDate{w.here.ID: w.here, w.there.ID: w.there, w.elsewhere.ID: w.elsewhere},
		Options: map[id.Event][]PricingOption{
			first: {w.single, w.family, w.whole}, second: {w.other, {ID: id.New[id.PricingOption](), WholeCourse: true}},
		},
		Ended: map[id.Event][]PricingOption{first: {w.old}},
	}
	w.booking = Booking{
		ID: id.New[id.Booking](), Spaces: 3, Date: w.here.BookedDate, Option: w.single.ID, Price: 2900,
		Payment: Payment{Method: Card, Currency: "GBP", Gross: 2900, Net: 2417},
	}
	w.here.Booked = 3
	return w
}

func newOffered(event id.Event, in time.Duration) *OfferedDate {
	return &OfferedDate{
		BookedDate: BookedDate{ID: id.New[id.EventDate](), StartsAt: moveNow.Add(in), Timezone: "UTC", Minutes: 60, Event: event, EventType: Class},
		Status:     Scheduled, EventStatus: Published, Capacity: proto.Int32(10),
	}
}

func (w *moveWorld) byPass(credits int32) {
	w.booking.Payment = Payment{Method: Pass, Credits: credits, CustomerPass: id.New[id.CustomerPass]()}
	w.booking.Price = 0
}

// late lets free cancellation of the present date end before now.
func (w *moveWorld) late() { w.free = proto.Int32(3 * 24 * 60) }

func (w *moveWorld) movable(b *Booking, attendee id.Customer) Movable {
	return Movable{Booking: b, Attendee: attendee, Policy: CancellationPolicy{FreeMinutes: w.free}}
}

func (w *moveWorld) move(how Move) (*MovedBooking, error) {
	return w.offer.Move(w.movable(&w.booking, id.New[id.Customer]()), how, moveNow)
}

// money is what a move does to a payment with an amount.
type moneyOutcome struct{ Price, Due, Refund, Gross, Net int64 }

func TestMoveDecidesThePrice(t *testing.T) { // invariant 44
	t.Parallel()
	for behaviour, tt := range map[string]struct {
		given func(*moveWorld)
		how   func(*moveWorld) Move
		want  moneyOutcome
	}{
		"spaces that stay keep their price on another date": {nil,
			func(w *moveWorld) Move { return Move{Date: w.there.ID} }, moneyOutcome{2900, 0, 0, 2900, 2417}},
		"an added space costs the present price": {nil,
			func(*moveWorld) Move { return Move{Spaces: 5} }, moneyOutcome{4900, 2000, 0, 4900, 2417 + 1667}},
		"a space that is given up brings back an equal share, rounded half up": {nil,
			func(*moveWorld) Move { return Move{Spaces: 2} }, moneyOutcome{2900 - 967, 0, 967, 2900, 2417}},
		"a share of exactly half a unit is rounded up": {
			func(w *moveWorld) { w.booking.Spaces, w.booking.Price, w.booking.Payment.Gross = 2, 2901, 2901 },
			func(*moveWorld) Move { return Move{Spaces: 1} }, moneyOutcome{1450, 0, 1451, 2901, 2417}},
		"all spaces cost the present price of another option": {nil,
			func(w *moveWorld) Move { return Move{Option: w.family.ID} }, moneyOutcome{4500, 1600, 0, 4500, 2417 + 1333}},
		"another event has another option": {nil,
			func(w *moveWorld) Move { return Move{Date: w.elsewhere.ID} }, moneyOutcome{1200, 0, 1700, 2900, 2417}},
		"a rise is first taken from what is due": {func(w *moveWorld) { w.booking.Price, w.booking.RefundDue = 2400, 500 },
			func(*moveWorld) Move { return Move{Spaces: 4} }, moneyOutcome{3400, 500, 0, 3400, 2417 + 417}},
		"a rise that is due costs nothing": {func(w *moveWorld) { w.booking.Price, w.booking.RefundDue = 900, 2000 },
			func(*moveWorld) Move { return Move{Spaces: 4} }, moneyOutcome{1900, 0, 1000, 2900, 2417}},
		"a fall is due together with what was due": {func(w *moveWorld) { w.booking.Price, w.booking.RefundDue = 2400, 500 },
			func(*moveWorld) Move { return Move{Spaces: 2} }, moneyOutcome{1600, 0, 1300, 2900, 2417}},
		"no more is due than was paid and not refunded": {func(w *moveWorld) { w.booking.Refunded, w.booking.RefundedAmount = true, 2800 },
			func(*moveWorld) Move { return Move{Spaces: 1} }, moneyOutcome{967, 0, 100, 2900, 2417}},
		"keep_price keeps the price of another option": {nil,
			func(w *moveWorld) Move { return Move{Option: w.family.ID, Spaces: 7, KeepPrice: true} }, moneyOutcome{2900, 0, 0, 2900, 2417}},
		"keep_price keeps the price in another currency": {func(w *moveWorld) { w.booking.Payment.Currency = "EUR" },
			func(w *moveWorld) Move { return Move{Option: w.family.ID, KeepPrice: true} }, moneyOutcome{2900, 0, 0, 2900, 2417}},
		"a free booking stays free": {
			func(w *moveWorld) { w.booking.Payment, w.booking.Price = Payment{Method: Free, Currency: "EUR"}, 0 },
			func(w *moveWorld) Move { return Move{Option: w.family.ID, Spaces: 4} }, moneyOutcome{0, 0, 0, 0, 0}},
		"a late move does not lower the price": {(*moveWorld).late,
			func(*moveWorld) Move { return Move{Spaces: 1} }, moneyOutcome{2900, 0, 0, 2900, 2417}},
		"a late move can raise the price": {(*moveWorld).late,
			func(*moveWorld) Move { return Move{Spaces: 4} }, moneyOutcome{3900, 1000, 0, 3900, 2417 + 833}},
		"a late move with a waiver lowers the price": {(*moveWorld).late,
			func(*moveWorld) Move { return Move{Spaces: 2, Waived: true} }, moneyOutcome{2900 - 967, 0, 967, 2900, 2417}},
		"an ended option stays, also for fewer spaces": {func(w *moveWorld) { w.booking.Option = w.old.ID },
			func(w *moveWorld) Move { return Move{Date: w.there.ID, Spaces: 2} }, moneyOutcome{2900 - 967, 0, 967, 2900, 2417}},
		"a part of a whole course keeps its option and its price within the event": {func(w *moveWorld) { w.booking.Option = w.whole.ID },
			func(w *moveWorld) Move { return Move{Date: w.there.ID, Option: w.whole.ID} }, moneyOutcome{2900, 0, 0, 2900, 2417}},
	} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			w := newMoveWorld()
			if tt.given != nil {
				tt.given(w)
			}
			m, err := w.move(tt.how(w))
			if err != nil {
				t.Fatal(err)
			}
			got := moneyOutcome{m.After.Price, m.Outcome.AmountDue, m.After.RefundDue, m.After.Payment.Gross, m.After.Payment.Net}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if m.Outcome.PriceAfter != m.After.Price || m.Outcome.RefundDue != m.After.RefundDue || m.Outcome.PriceBefore != w.booking.Price {
				t.Errorf("the outcome is %+v", m.Outcome)
			}
			if paid := m.Method != ""; paid != (m.Outcome.AmountDue > 0) {
				t.Errorf("the difference is paid by %q", m.Method)
			}
		})
	}
}

func TestMoveDecidesTheCredits(t *testing.T) { // invariants 45 and 46
	t.Parallel()
	const validates, takes, nothing = "validates", "takes", "nothing"
	for behaviour, tt := range map[string]struct {
		credits int32
		given   func(*moveWorld)
		how     func(*moveWorld) Move
		after   int32
		asks    string
		falls   bool
	}{
		"another date costs the same":              {6, nil, func(w *moveWorld) Move { return Move{Date: w.there.ID} }, 6, validates, false},
		"an added space costs the present credits": {6, nil, func(*moveWorld) Move { return Move{Spaces: 4} }, 8, takes, false},
		"a space that is given up brings back an equal share, rounded down": {5, nil,
			func(*moveWorld) Move { return Move{Spaces: 2} }, 4, nothing, true},
		"fewer credits on another date: the pass must be valid": {6, nil,
			func(w *moveWorld) Move { return Move{Date: w.there.ID, Spaces: 1} }, 2, validates, true},
		"another option costs its credits":            {6, nil, func(w *moveWorld) Move { return Move{Option: w.family.ID} }, 9, takes, false},
		"an option of the same credits needs nothing": {9, nil, func(w *moveWorld) Move { return Move{Option: w.family.ID} }, 9, nothing, false},
		"keep_price keeps the credits on another date": {6, nil,
			func(w *moveWorld) Move { return Move{Date: w.elsewhere.ID, KeepPrice: true} }, 6, validates, false},
		"keep_price needs no option with credits": {6, func(w *moveWorld) { w.offer.Options[w.elsewhere.Event][0].Credits = nil },
			func(w *moveWorld) Move { return Move{Date: w.elsewhere.ID, KeepPrice: true} }, 6, validates, false},
		"a refunded booking keeps its credits": {6, func(w *moveWorld) { w.booking.Refunded = true },
			func(w *moveWorld) Move { return Move{Date: w.there.ID, Option: w.family.ID, Spaces: 1} }, 6, nothing, false},
		"a booking whose pass is not known keeps its credits": {6, func(w *moveWorld) { w.booking.Payment.CustomerPass = id.CustomerPass{} },
			func(w *moveWorld) Move { return Move{Date: w.there.ID, Option: w.family.ID, Spaces: 1} }, 6, nothing, false},
		"an imported booking keeps its credits": {6, func(w *moveWorld) { w.booking.Imported = true },
			func(w *moveWorld) Move { return Move{Date: w.there.ID, Option: w.family.ID, Spaces: 1} }, 6, nothing, false},
		"late: credits do not fall":             {6, (*moveWorld).late, func(*moveWorld) Move { return Move{Spaces: 1} }, 6, nothing, false},
		"late: credits can rise":                {6, (*moveWorld).late, func(*moveWorld) Move { return Move{Spaces: 4} }, 8, takes, false},
		"late, with a waiver: credits can fall": {6, (*moveWorld).late, func(*moveWorld) Move { return Move{Spaces: 1, Waived: true} }, 2, nothing, true},
	} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			w := newMoveWorld()
			w.byPass(tt.credits)
			if tt.given != nil {
				tt.given(w)
			}
			m, err := w.move(tt.how(w))
			if err != nil {
				t.Fatal(err)
			}
			if m.After.Payment.Credits != tt.after || m.Outcome.CreditsAfter != tt.after || m.Outcome.CreditsBefore != tt.credits {
				t.Errorf("got %d credits, %+v", m.After.Payment.Credits, m.Outcome)
			}
			company, purchase := id.New[id.Company](), &Transaction{ID: id.New[id.Transaction]()}
			c, asked := m.CreditChange(company, purchase)
			asks := nothing
			if asked {
				if asks = validates; c.Credits > c.Expected {
					asks = takes
				}
				want := CreditChange{
					Company: company, Transaction: purchase.ID, Booking: w.booking.ID, Pass: w.booking.Payment.CustomerPass,
					EventType: "class", Day: m.After.Date.LocalDay(), Expected: tt.credits, Credits: max(tt.credits, tt.after),
				}
				if diff := cmp.Diff(want, c); diff != "" {
					t.Error(diff)
				}
			}
			fall, falls := m.CreditsFall(company, purchase)
			if asks != tt.asks || falls != tt.falls || falls && (fall.Credits != tt.after || fall.Expected != tt.credits) {
				t.Errorf("the pass %s, and falls: %t (%+v)", asks, falls, fall)
			}
		})
	}
}

func TestMoveIsRefused(t *testing.T) {
	t.Parallel()
	at := func(w *moveWorld) Move { return Move{Date: w.there.ID} }
	for behaviour, tt := range map[string]struct {
		given func(*moveWorld)
		how   func(*moveWorld) Move
		want  string // the reason, or the field and rule
	}{
		"a cancelled booking":                     {func(w *moveWorld) { w.booking.Cancelled = true }, at, "ALREADY_CANCELLED"},
		"a customer who has checked in":           {func(w *moveWorld) { w.booking.Attendance = CheckedIn }, at, "ALREADY_ATTENDED"},
		"an unknown date":                         {nil, func(*moveWorld) Move { return Move{Date: id.New[id.EventDate]()} }, "event_date_id exists"},
		"the booking of an appointment":           {func(w *moveWorld) { w.here.OfAppointment = true }, at, "APPOINTMENT_EVENT"},
		"the date of an appointment":              {func(w *moveWorld) { w.there.OfAppointment = true }, at, "APPOINTMENT_EVENT"},
		"a date that was cancelled":               {func(w *moveWorld) { w.there.Status = DateCancelled }, at, "EVENT_CANCELLED"},
		"an event that was cancelled":             {func(w *moveWorld) { w.there.EventStatus = Cancelled }, at, "EVENT_CANCELLED"},
		"leaving a date that was cancelled":       {func(w *moveWorld) { w.here.Status = DateCancelled }, at, "EVENT_CANCELLED"},
		"a draft":                                 {func(w *moveWorld) { w.there.EventStatus = Draft }, at, "EVENT_NOT_PUBLISHED"},
		"a date that has started":                 {func(w *moveWorld) { w.there.StartsAt = moveNow.Add(-time.Second) }, at, "EVENT_PAST"},
		"leaving a date that has started":         {func(w *moveWorld) { w.here.StartsAt = moveNow.Add(-time.Second) }, at, "EVENT_PAST"},
		"fewer spaces of a date that has started": {func(w *moveWorld) { w.here.StartsAt = moveNow.Add(-time.Second) }, func(*moveWorld) Move { return Move{Spaces: 1} }, "EVENT_PAST"},
		"a date that started more than 31 days ago": {func(w *moveWorld) { w.there.StartsAt = moveNow.Add(-MaxAfterStart - time.Second) },
			func(w *moveWorld) Move { return Move{Date: w.there.ID, AfterStart: true} }, "EVENT_PAST"},
		"leaving a date that started more than 31 days ago": {func(w *moveWorld) { w.here.StartsAt = moveNow.Add(-MaxAfterStart - time.Second) },
			func(w *moveWorld) Move { return Move{Date: w.there.ID, AfterStart: true, Waived: true} }, "EVENT_PAST"},
		"a date whose booking has closed":      {func(w *moveWorld) { w.there.Rules.ClosesAt = moveNow }, at, "BOOKING_CLOSED"},
		"a date whose booking has not opened":  {func(w *moveWorld) { w.there.Rules.OpensAt = moveNow.Add(1) }, at, "BOOKING_NOT_OPEN"},
		"more spaces after booking has closed": {func(w *moveWorld) { w.here.Rules.ClosesAt = moveNow }, func(*moveWorld) Move { return Move{Spaces: 4} }, "BOOKING_CLOSED"},
		"a full date":                          {func(w *moveWorld) { w.there.Booked = 8 }, at, "EVENT_FULL"},
		"more spaces than are left":            {func(w *moveWorld) { w.here.Booked = 10 }, func(*moveWorld) Move { return Move{Spaces: 4} }, "EVENT_FULL"},
		"an event with several options and no choice": {
			func(w *moveWorld) { w.booking.Date, w.booking.Option = w.elsewhere.BookedDate, w.other.ID }, at, "pricing_option_id required"},
		"an event without an option for one date": {func(w *moveWorld) {
			w.offer.Options[w.elsewhere.Event] = w.offer.Options[w.elsewhere.Event][1:]
		}, func(w *moveWorld) Move { return Move{Date: w.elsewhere.ID} }, "pricing_option_id required"},
		"an option of another event":                 {nil, func(w *moveWorld) Move { return Move{Date: w.there.ID, Option: w.other.ID} }, "pricing_option_id exists"},
		"an ended option":                            {nil, func(w *moveWorld) Move { return Move{Option: w.old.ID} }, "pricing_option_id exists"},
		"more spaces of an ended option":             {func(w *moveWorld) { w.booking.Option = w.old.ID }, func(*moveWorld) Move { return Move{Spaces: 4} }, "spaces exists"},
		"an option for a whole course":               {nil, func(w *moveWorld) Move { return Move{Option: w.whole.ID} }, "pricing_option_id exclusive"},
		"more spaces of one part of a whole course":  {func(w *moveWorld) { w.booking.Option = w.whole.ID }, func(*moveWorld) Move { return Move{Spaces: 4} }, "spaces exclusive"},
		"a price in another currency":                {func(w *moveWorld) { w.booking.Payment.Currency = "EUR" }, func(w *moveWorld) Move { return Move{Option: w.family.ID} }, "CURRENCY_DIFFERS"},
		"more spaces, whose price is in another one": {func(w *moveWorld) { w.booking.Payment.Currency = "EUR" }, func(*moveWorld) Move { return Move{Spaces: 4} }, "CURRENCY_DIFFERS"},
		"an option that cannot be paid by pass": {func(w *moveWorld) { w.byPass(6); w.offer.Options[w.here.Event][1].Credits = nil },
			func(w *moveWorld) Move { return Move{Option: w.family.ID} }, "PASS_NOT_APPLICABLE"},
		"a late move to another date": {(*moveWorld).late, at, "LATE_CHANGE"},
		"leaving a date that has started without a waiver": {func(w *moveWorld) { w.here.StartsAt = moveNow.Add(-time.Second) },
			func(w *moveWorld) Move { return Move{Date: w.there.ID, AfterStart: true} }, "LATE_CHANGE"},
	} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			w := newMoveWorld()
			if tt.given != nil {
				tt.given(w)
			}
			w.booking.Date = w.offer.Dates[w.booking.Date.ID].BookedDate
			m, err := w.move(tt.how(w))
			if err == nil {
				err = m.Late()
			}
			wantRefusal(t, err, tt.want)
		})
	}
}

// wantRefusal checks the reason of a refusal, or its field and rule.
func wantRefusal(t *testing.T, err error, want string) {
	t.Helper()
	f := fault.From(err)
	if f == nil {
		t.Fatalf("it is not refused, want %s", want)
	}
	got := f.Reason
	if len(f.Fields) > 0 {
		got = f.Fields[0].Field + " " + f.Fields[0].Rule
	}
	if got != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestMoveIsAllowed(t *testing.T) {
	t.Parallel()
	for behaviour, tt := range map[string]struct {
		given func(*moveWorld)
		how   func(*moveWorld) Move
	}{
		"to the last spaces of a date":     {func(w *moveWorld) { w.there.Booked = 7 }, func(w *moveWorld) Move { return Move{Date: w.there.ID} }},
		"to more spaces, up to the limit":  {func(w *moveWorld) { w.here.Booked = 9 }, func(*moveWorld) Move { return Move{Spaces: 4} }},
		"to fewer spaces of a full date":   {func(w *moveWorld) { w.here.Booked = 10 }, func(*moveWorld) Move { return Move{Spaces: 2} }},
		"from a full date":                 {func(w *moveWorld) { w.here.Booked = 10 }, func(w *moveWorld) Move { return Move{Date: w.there.ID} }},
		"from a date whose booking closed": {func(w *moveWorld) { w.here.Rules.ClosesAt = moveNow }, func(w *moveWorld) Move { return Move{Date: w.there.ID} }},
		"to fewer spaces of such a date":   {func(w *moveWorld) { w.here.Rules.ClosesAt = moveNow }, func(*moveWorld) Move { return Move{Spaces: 2} }},
		"from the event of a draft":        {func(w *moveWorld) { w.here.EventStatus = Draft }, func(w *moveWorld) Move { return Move{Date: w.elsewhere.ID} }},
		"from a date of a deleted event":   {func(w *moveWorld) { delete(w.offer.Dates, w.here.ID) }, func(w *moveWorld) Move { return Move{Date: w.elsewhere.ID} }},
		"to a date that started 31 days ago, whose window has closed, with a reason": {
			func(w *moveWorld) { w.there.StartsAt = moveNow.Add(-MaxAfterStart); w.there.Rules.MinimumNotice = 60 },
			func(w *moveWorld) Move { return Move{Date: w.there.ID, AfterStart: true} }},
		"from a date that has started, with a reason and a waiver": {func(w *moveWorld) { w.here.StartsAt = moveNow.Add(-time.Hour) },
			func(w *moveWorld) Move { return Move{Date: w.there.ID, AfterStart: true, Waived: true} }},
		"to other spaces of a date that has started, with a reason": {func(w *moveWorld) { w.here.StartsAt = moveNow.Add(-time.Hour) },
			func(*moveWorld) Move { return Move{Spaces: 2, AfterStart: true} }},
		"to another option late": {(*moveWorld).late, func(w *moveWorld) Move { return Move{Option: w.family.ID} }},
	} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			w := newMoveWorld()
			tt.given(w)
			if d := w.offer.Dates[w.booking.Date.ID]; d != nil {
				w.booking.Date = d.BookedDate
			}
			w.booking.Attendance = NoShow
			m, err := w.move(tt.how(w))
			if err == nil {
				err = m.Late()
			}
			if err != nil {
				t.Fatal(err)
			}
			if m.After.Attendance != NotRecorded {
				t.Error("the no-show is not cleared")
			}
		})
	}
	t.Run("a move that changes nothing is not decided", func(t *testing.T) {
		t.Parallel()
		w := newMoveWorld()
		w.booking.Attendance = CheckedIn
		if m, err := w.move(Move{Date: w.here.ID, Option: w.single.ID, Spaces: 3}); m != nil || err != nil {
			t.Errorf("got %+v, %v", m, err)
		}
	})
	t.Run("another amount than the expected one is refused", func(t *testing.T) {
		t.Parallel()
		w := newMoveWorld()
		m, err := w.move(Move{Spaces: 4})
		if err != nil || m.Costs(nil) != nil || m.Costs(proto.Int64(1000)) != nil {
			t.Fatalf("got %+v, %v", m, err)
		}
		f := fault.From(m.Costs(proto.Int64(999)))
		if f == nil || f.Reason != ReasonPriceChanged || f.Meta["amount_due"] != "1000" {
			t.Errorf("got %v", f)
		}
	})
}

func TestMoveOncePerCustomer(t *testing.T) { // invariant 26
	t.Parallel()
	w := newMoveWorld()
	ann := id.New[id.Customer]()
	w.here.Rules.OncePerCustomer, w.there.Rules.OncePerCustomer = true, true
	w.offer.AddAttendee(w.there.ID, ann)
	move := func(how Move) error {
		_, err := w.offer.Move(w.movable(&w.booking, ann), how, moveNow)
		return err
	}
	wantRefusal(t, move(Move{Date: w.there.ID}), ReasonAlreadyBooked)
	w.offer.AddAttendee(w.here.ID, ann)
	if err := move(Move{Spaces: 4}); err != nil {
		t.Errorf("spaces of the same date: %v", err)
	}
}

func TestSwap(t *testing.T) { // invariant 48
	t.Parallel()
	setUp := func() (w *moveWorld, b Booking) {
		w = newMoveWorld()
		b = Booking{
			ID: id.New[id.Booking](), Spaces: 1, Date: w.elsewhere.BookedDate, Option: w.other.ID, Price: 400,
			Payment: Payment{Method: Pass, Credits: 1, CustomerPass: id.New[id.CustomerPass]()},
		}
		return w, b
	}
	swap := func(w *moveWorld, b *Booking, how Move) ([]*MovedBooking, error) {
		all, err := w.offer.Swap(w.movable(&w.booking, id.New[id.Customer]()), w.movable(b, id.New[id.Customer]()), how, moveNow)
		for _, m := range all {
			if err == nil {
				err = m.Late()
			}
		}
		return all, err
	}
	t.Run("exchanges dates and options of full dates, and nothing else", func(t *testing.T) {
		t.Parallel()
		w, b := setUp()
		b.Spaces = 3
		w.here.Booked, w.elsewhere.Booked = 10, 10
		all, err := swap(w, &b, Move{})
		if err != nil {
			t.Fatal(err)
		}
		want, other := w.booking, b
		want.Date, want.Option, other.Date, other.Option = b.Date, b.Option, w.booking.Date, w.booking.Option
		if diff := cmp.Diff([]Booking{want, other}, []Booking{all[0].After, all[1].After}); diff != "" {
			t.Error(diff)
		}
		if len(Recount(all...)) != 0 {
			t.Errorf("counts change by %v", Recount(all...))
		}
	})
	t.Run("refuses more spaces than a date has left", func(t *testing.T) {
		t.Parallel()
		w, b := setUp()
		w.elsewhere.Booked = 9
		_, err := swap(w, &b, Move{})
		wantRefusal(t, err, ReasonEventFull)
		w.elsewhere.Booked = 8
		all, err := swap(w, &b, Move{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[id.EventDate]int32{w.here.ID: -2, w.elsewhere.ID: 2}, Recount(all...)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("changes nothing on one date with one option", func(t *testing.T) {
		t.Parallel()
		w, b := setUp()
		b.Date, b.Option = w.booking.Date, w.booking.Option
		if all, err := swap(w, &b, Move{}); all != nil || err != nil {
			t.Errorf("got %v, %v", all, err)
		}
	})
	t.Run("refuses a late swap of options on one date", func(t *testing.T) {
		t.Parallel()
		w, b := setUp()
		b.Date, b.Option = w.booking.Date, w.old.ID
		if _, err := swap(w, &b, Move{}); err != nil {
			t.Fatal(err)
		}
		w.late()
		_, err := swap(w, &b, Move{})
		wantRefusal(t, err, ReasonLateChange)
		if _, err := swap(w, &b, Move{Waived: true}); err != nil {
			t.Error(err)
		}
	})
	t.Run("refuses to swap a part of a whole course for a single date", func(t *testing.T) {
		t.Parallel()
		w, b := setUp()
		w.booking.Option = w.whole.ID
		_, err := swap(w, &b, Move{})
		wantRefusal(t, err, "other_booking_id exclusive")
		b.Date, b.Option = w.there.BookedDate, w.whole.ID
		if _, err := swap(w, &b, Move{}); err != nil {
			t.Errorf("two parts of the course: %v", err)
		}
	})
	t.Run("refuses either booking, and names it", func(t *testing.T) {
		t.Parallel()
		for _, tt := range []struct {
			given  func(*Booking)
			reason string
		}{
			{func(b *Booking) { b.Cancelled = true }, ReasonAlreadyCancelled},
			{func(b *Booking) { b.Attendance = CheckedIn }, ReasonAlreadyAttended},
			{func(b *Booking) { b.Date.StartsAt = moveNow.Add(3 * time.Hour) }, ReasonLateChange},
		} {
			for n := range 2 {
				w, b := setUp()
				w.free = proto.Int32(24 * 60)
				refused := []*Booking{&w.booking, &b}[n]
				tt.given(refused)
				_, err := swap(w, &b, Move{})
				wantRefusal(t, err, tt.reason)
				if got := fault.From(err).Meta["booking_id"]; got != refused.ID.String() {
					t.Errorf("%s of booking %d names %q, want %s", tt.reason, n, got, refused.ID)
				}
			}
		}
	})
}

func TestLateCancellationKeepsWhatIsDue(t *testing.T) { // invariant 46
	t.Parallel()
	w := newMoveWorld()
	w.booking.RefundDue, w.booking.Price = 500, 2400
	late := CancellationPolicy{FreeMinutes: proto.Int32(3 * 24 * 60)}
	o := late.Outcome(&w.booking, false, moveNow)
	w.booking.Cancel(&o, "", moveNow)
	if !w.booking.Late || w.booking.RefundDue != 500 {
		t.Errorf("late: %t, due: %d", w.booking.Late, w.booking.RefundDue)
	}
}
