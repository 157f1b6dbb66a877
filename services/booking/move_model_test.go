package booking

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	"reservation.dev/services/booking/model"
)

// modelled is a booking as an independent model computes it.
type modelled struct {
	Date, Option, Spaces              int
	Pass, Cancelled, Refunded, Late   bool
	Price, Gross, Due, RefundedAmount int
	Credits                           int
}

// moveModel is a company with two events: dates 0 to 2 and options 0 and 1 are of the first, the others of the
// second. Free cancellation of date 0 has ended.
type moveModel struct {
	*world
	r        *rand.Rand
	customer id.Customer
	pass     id.CustomerPass
	dates    []string
	options  []string
	prices   []int
	credits  []int
	booked   []int
	left     int
	ids      []string
	bookings []*modelled
}

const (
	modelCapacity = 9
	modelCredits  = 25
)

func eventOf(date int) int       { return date / 3 }
func eventPriced(option int) int { return option / 2 }

func newMoveModel(t *testing.T, seed uint64) *moveModel {
	w := newWorld(t)
	m := &moveModel{
		world: w, r: rand.New(rand.NewPCG(seed, 1)), customer: w.customer(w.company, "Ann"), prices: []int{1000, 1501, 700},
		credits: []int{1, 2, 3}, booked: make([]int, 5), left: modelCredits,
	}
	m.pass = w.passes.give(m.customer, modelCredits)
	priced := func(from, to int) (all []*bookingv1.NewPricingOption) {
		for n := from; n < to; n++ {
			all = append(all, &bookingv1.NewPricingOption{Name: fmt.Sprint(n), Price: int64(m.prices[n]), Credits: proto.Int32(int32(m.credits[n]))})
		}
		return all
	}
	dated := func(hours ...int) (all []*bookingv1.NewEventDate) {
		for _, h := range hours {
			all = append(all, newDate(time.Duration(h)*time.Hour, proto.Int32(modelCapacity)))
		}
		return all
	}
	for _, e := range []*bookingv1.Event{
		w.createEvent(w.ctx, &bookingv1.CreateEventRequest{Title: "One", Dates: dated(24, 72, 96), PricingOptions: priced(0, 2), FreeCancellationMinutes: proto.Int32(48 * 60)}),
		w.createEvent(w.ctx, &bookingv1.CreateEventRequest{Title: "Two", Dates: dated(72, 96), PricingOptions: priced(2, 3)}),
	} {
		for _, d := range e.GetDates() {
			m.dates = append(m.dates, d.GetId())
		}
		for _, o := range e.GetPricingOptions() {
			m.options = append(m.options, o.GetId())
		}
	}
	return m
}

// buy books spaces in the model and in the service, and compares the outcomes.
func (m *moveModel) buy() {
	b := &modelled{Date: m.r.IntN(5), Spaces: 1 + m.r.IntN(3), Pass: m.r.IntN(2) == 0}
	if b.Option = 2; eventOf(b.Date) == 0 {
		b.Option = m.r.IntN(2)
	}
	want := ""
	switch {
	case m.booked[b.Date]+b.Spaces > modelCapacity:
		want = "EVENT_FULL"
	case b.Pass && m.credits[b.Option]*b.Spaces > m.left:
		want = "PASS_EXHAUSTED"
	}
	req := &bookingv1.CreateTransactionRequest{PurchaserId: m.customer.String(), Lines: []*bookingv1.TransactionLine{{
		EventDateId: m.dates[b.Date], PricingOptionId: m.options[b.Option], Spaces: int32(b.Spaces),
	}}}
	if b.Pass {
		payByPass(req)
	}
	resp, err := m.world.bookings.CreateTransaction(m.ctx, req)
	m.compare("buy", err, want)
	if want != "" {
		return
	}
	m.booked[b.Date] += b.Spaces
	if b.Pass {
		b.Credits = m.credits[b.Option] * b.Spaces
		m.left -= b.Credits
	} else {
		b.Price = m.prices[b.Option] * b.Spaces
		b.Gross = b.Price
	}
	m.bookings, m.ids = append(m.bookings, b), append(m.ids, resp.GetTransaction().GetBookings()[0].GetId())
}

func (m *moveModel) compare(what string, err error, want string) {
	m.t.Helper()
	got := ""
	if err != nil {
		got = fault.From(err).Reason
	}
	if got != want {
		m.t.Fatalf("%s: got %q (%v), want %q", what, got, err, want)
	}
}

// move moves a booking.
func (m *moveModel) move() {
	n := m.r.IntN(len(m.ids))
	b := m.bookings[n]
	date, option, spaces := m.r.IntN(5), m.r.IntN(6)-3, m.r.IntN(5)
	keep, waive := m.r.IntN(6) == 0, m.r.IntN(3) == 0
	req := &bookingv1.MoveBookingRequest{BookingId: m.ids[n], EventDateId: m.dates[date], Spaces: int32(spaces), KeepPrice: keep, WaivePolicy: waive}
	if option >= 0 {
		req.PricingOptionId = m.options[option]
	}
	want, after := m.moved(b, date, option, spaces, keep, waive)
	resp, err := m.changes.MoveBooking(m.ctx, req)
	m.compare(fmt.Sprintf("move %+v to %v", b, req), err, want)
	if want != "" {
		return
	}
	if resp.GetChanged() != (*after != *b) && !keep {
		m.t.Fatalf("move %+v to %+v: changed %t", b, after, resp.GetChanged())
	}
	if due := int64(after.Gross - b.Gross); resp.GetOutcome().GetAmountDue() != due {
		m.t.Fatalf("move %+v to %+v: %d due", b, after, resp.GetOutcome().GetAmountDue())
	}
	m.booked[b.Date] -= b.Spaces
	m.booked[after.Date] += after.Spaces
	m.left -= after.Credits - b.Credits
	*b = *after
}

// moved returns the refusal of a move, or the booking after it.
func (m *moveModel) moved(b *modelled, date, option, spaces int, keep, waive bool) (string, *modelled) {
	after := *b
	spaces = cmp.Or(spaces, b.Spaces)
	if b.Cancelled {
		return "ALREADY_CANCELLED", nil
	}
	if date == b.Date && (option < 0 || option == b.Option) && spaces == b.Spaces {
		return "", &after
	}
	switch {
	case option >= 0 && eventPriced(option) != eventOf(date):
		return "NOT_FOUND", nil
	case option < 0 && eventOf(date) == eventOf(b.Date):
		option = b.Option
	case option < 0 && eventOf(date) == 0:
		return "VALIDATION_ERROR", nil
	case option < 0:
		option = 2
	}
	late := b.Date == 0 && !waive
	needed := spaces
	if date == b.Date {
		needed = spaces - b.Spaces
	}
	after.Date, after.Option, after.Spaces = date, option, spaces
	switch {
	case needed > 0 && m.booked[date]+needed > modelCapacity:
		return "EVENT_FULL", nil
	case late && date != b.Date:
		return "LATE_CHANGE", nil
	case keep || b.Pass && b.Refunded:
		return "", &after
	}
	if b.Pass {
		after.Credits = m.costs(b, option, spaces, b.Credits, m.credits, late, false)
		if after.Credits-b.Credits > m.left {
			return "PASS_EXHAUSTED", nil
		}
		return "", &after
	}
	after.Price = m.costs(b, option, spaces, b.Price, m.prices, late, true)
	after.Due += b.Price - after.Price
	if after.Due < 0 {
		after.Gross -= after.Due
		after.Due = 0
	}
	after.Due = min(after.Due, after.Gross-after.RefundedAmount)
	return "", &after
}

// costs returns the price or the credits after a move.
func (m *moveModel) costs(b *modelled, option, spaces, had int, each []int, late, rounds bool) int {
	cost := each[option] * spaces
	if option == b.Option {
		if cost = had + each[option]*(spaces-b.Spaces); spaces < b.Spaces {
			back := had * (b.Spaces - spaces) / b.Spaces
			if rounds && 2*(had*(b.Spaces-spaces)%b.Spaces) >= b.Spaces {
				back++
			}
			cost = had - back
		}
	}
	if late {
		return max(cost, had)
	}
	return cost
}

// swap swaps two bookings.
func (m *moveModel) swap() {
	i, j := m.r.IntN(len(m.ids)), m.r.IntN(len(m.ids))
	if i == j {
		return
	}
	a, b := m.bookings[i], m.bookings[j]
	waive := m.r.IntN(2) == 0
	want := ""
	same := a.Date == b.Date && a.Option == b.Option
	switch {
	case a.Cancelled || b.Cancelled:
		want = "ALREADY_CANCELLED"
	case same:
	case a.Date != b.Date && (m.booked[a.Date]-a.Spaces+b.Spaces > modelCapacity || m.booked[b.Date]-b.Spaces+a.Spaces > modelCapacity):
		want = "EVENT_FULL"
	case !waive && (a.Date == 0 || b.Date == 0):
		want = "LATE_CHANGE"
	}
	resp, err := m.changes.SwapBookings(m.ctx, &bookingv1.SwapBookingsRequest{BookingId: m.ids[i], OtherBookingId: m.ids[j], WaivePolicy: waive})
	m.compare(fmt.Sprintf("swap %+v with %+v", a, b), err, want)
	if want != "" {
		return
	}
	if resp.GetChanged() == same {
		m.t.Fatalf("swap %+v with %+v: changed %t", a, b, resp.GetChanged())
	}
	m.booked[a.Date] += b.Spaces - a.Spaces
	m.booked[b.Date] += a.Spaces - b.Spaces
	a.Date, a.Option, b.Date, b.Option = b.Date, b.Option, a.Date, a.Option
}

// cancel cancels a booking.
func (m *moveModel) cancelOne() {
	n := m.r.IntN(len(m.ids))
	b := m.bookings[n]
	if _, err := m.world.bookings.CancelBooking(m.ctx, &bookingv1.CancelBookingRequest{BookingId: m.ids[n]}); err != nil {
		m.t.Fatal(err)
	}
	if b.Cancelled {
		return
	}
	b.Cancelled, b.Late = true, b.Date == 0
	m.booked[b.Date] -= b.Spaces
	switch {
	case b.Late:
	case b.Pass && !b.Refunded && b.Credits > 0:
		b.Refunded = true
		m.left += b.Credits
	case !b.Pass:
		b.Due = b.Gross - b.RefundedAmount
	}
}

// refund refunds what is due, or everything, or a part.
func (m *moveModel) refund() {
	n := m.r.IntN(len(m.ids))
	b := m.bookings[n]
	req := &bookingv1.RefundBookingRequest{BookingId: m.ids[n]}
	if left := b.Gross - b.RefundedAmount; left > 0 && m.r.IntN(2) == 0 {
		req.Amount = new(int64(1 + m.r.IntN(left)))
	}
	if _, err := m.world.bookings.RefundBooking(m.ctx, req); err != nil {
		m.t.Fatal(err)
	}
	if b.Pass {
		if !b.Refunded {
			m.left += b.Credits
		}
		b.Refunded = true
		return
	}
	b.Refunded = true
	refund := cmp.Or(int(req.GetAmount()), b.Due, b.Gross-b.RefundedAmount)
	b.RefundedAmount += refund
	b.Due = max(0, b.Due-refund)
}

// agree compares everything with the model.
func (m *moveModel) agree() {
	m.t.Helper()
	for n, which := range m.ids {
		b := m.registration(which).GetBooking()
		got := modelled{
			Spaces: int(b.GetSpaces()), Pass: b.GetPass() != nil, Cancelled: b.GetIsCancelled(), Refunded: b.GetIsRefunded(), Late: b.GetLate(),
			Price: int(b.GetPrice()), Gross: int(b.GetCard().GetGross()), Due: int(b.GetRefundDue()), RefundedAmount: int(b.GetRefundedAmount()),
			Credits: int(b.GetPass().GetCreditsUsed()),
		}
		for i := range m.dates {
			if m.dates[i] == b.GetEventDateId() {
				got.Date = i
			}
		}
		for i := range m.options {
			if m.options[i] == b.GetPricingOptionId() {
				got.Option = i
			}
		}
		if diff := gocmp.Diff(*m.bookings[n], got); diff != "" {
			m.t.Fatalf("booking %d (-model +service):\n%s", n, diff)
		}
	}
	for i, d := range m.dates {
		if booked := one[int](m.world, `select booked from event_dates where id = $1`, idOf[id.EventDate](m.t, d)); booked != m.booked[i] {
			m.t.Fatalf("date %d has %d booked, want %d", i, booked, m.booked[i])
		}
	}
	if left := m.passes.credits(m.pass); int(left) != m.left {
		m.t.Fatalf("the pass has %d left, want %d", left, m.left)
	}
}

func TestMovesAgreeWithAModel(t *testing.T) { // invariants 1, 23, 42 to 46 and 48
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			m := newMoveModel(t, seed)
			m.buy()
			for n := range 160 {
				switch k := m.r.IntN(20); {
				case k < 4 && len(m.ids) < 25 || len(m.ids) == 0:
					m.buy()
				case k < 13:
					m.move()
				case k < 17:
					m.swap()
				case k < 18:
					m.cancelOne()
				default:
					m.refund()
				}
				if n%20 == 0 {
					m.agree()
				}
			}
			m.agree()
			m.verify()
			m.inStep()
			m.reconcile()
			f := m.followed(t, newFollower(), m.company, nil)
			f.wantMovements(t)
			m.wantFollowed(t, f)
		})
	}
}

func TestGoldenMoveEvent(t *testing.T) { // invariant 42
	t.Parallel()
	w := newWorld(t)
	at := time.Date(2026, 1, 31, 9, 30, 0, 0, time.UTC)
	serial := byte(0)
	w.server.now = func() time.Time { at = at.Add(time.Minute); return at }
	w.server.newID = func() id.UUID { serial++; return id.UUID{0x01, 0x9c, 15: serial} }
	zoe := w.customers.add(w.company, model.CustomerRecord{Version: 1, Customer: model.Customer{
		ID: id.Customer{0x01, 0x9c, 15: 0xf1}, FirstName: "Zoë", LastName: "O'Brien", Email: "zoe@example.com",
	}})
	starts := time.Date(2026, 3, 29, 8, 30, 0, 0, time.UTC)
	e := w.createEvent(w.ctx, &bookingv1.CreateEventRequest{
		Title: "Sunrise yoga", Dates: []*bookingv1.NewEventDate{
			{StartsAt: timestamppb.New(starts), DurationMinutes: 60}, {StartsAt: timestamppb.New(starts.AddDate(0, 0, 7)), DurationMinutes: 60}},
		PricingOptions: []*bookingv1.NewPricingOption{{Name: "Adult", Price: 1200, TaxRateBasisPoints: 2000}},
	})
	b := w.take(zoe, e, 0, 1)
	caller := w.callerNamed("m2m_01kg0000000000000000000001")
	resp, err := w.changes.MoveBooking(caller, &bookingv1.MoveBookingRequest{
		BookingId: b.GetId(), EventDateId: e.GetDates()[1].GetId(), Spaces: 2,
		PaymentMethod: bookingv1.PaymentMethod_PAYMENT_METHOD_CASH, PaymentReference: "till 2",
	})
	if err != nil || resp.GetOutcome().GetAmountDue() != 1200 {
		t.Fatalf("got %v, %v", resp, err)
	}
	event := announced(w, subjectBookingMoved, &bookingv1.BookingMoved{})
	if event.GetActor() == "" || !proto.Equal(event.GetBooking().GetBooking(), resp.GetRegistration().GetBooking()) {
		t.Errorf("got %v", event)
	}
	w.wantGolden("booking.v1.booking_moved", map[string]proto.Message{subjectBookingMoved: &bookingv1.BookingMoved{}})
}
