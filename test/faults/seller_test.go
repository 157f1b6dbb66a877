package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/rpc"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	"reservation.dev/test/harness"
)

const (
	// uses is the initial number of credits of each buyer's pass.
	uses = 60
	// aDay is the length of a day, without clock changes.
	aDay = 24 * time.Hour
)

// seller is a company that sells spaces, with its customers: buyers with one pass each, and
// guests. Each order is for a different guest, so that every row can be traced to its order.
type seller struct {
	m       *salesCluster
	company *harness.Company
	token   string // of Interface B
	events  []*bookingv1.Event
	series  *bookingv1.Event // also in events; nil: there is none
	buyers  []string
	guests  []string
	mailbox *harness.Mailbox // gets the company's registrations; nil: there is none

	mu     sync.Mutex
	orders []*order
}

// order is a purchase for one guest, with the answers to its requests.
type order struct {
	guest  int
	buyer  string
	event  *bookingv1.Event
	date   string   // of the event; "": its only date
	more   []string // further dates, of the series
	spaces int32
	byPass bool
	held   bool // the spaces are held first

	// sold are the acknowledged bookings, by identifier; none means the order was refused.
	sold map[string]*sold
	// abandons means that the customer does not retry. unknown means that the order therefore has
	// no final answer.
	abandons, unknown bool
	// lost is the number of attempts without a final answer.
	lost int
}

// sold is the state of a booking as far as the client knows.
type sold struct{ cancelled, refunded bool }

// newSeller creates a company with three events: one with a small capacity, one past its free
// cancellation, and one without a capacity limit.
func (m *salesCluster) newSeller(t *testing.T, buyers, guests int) *seller {
	t.Helper()
	s := &seller{m: m, company: m.op.NewCompany(t, "Europe/London")}
	s.token = m.client(t, 0).Token(t, s.company.NewKey(t, 10_000))
	all := s.company.ImportCustomers(t, "seller", buyers+guests)
	s.buyers, s.guests = all[:buyers], all[buyers:]
	ctx := s.company.Ctx(t.Context())
	for _, e := range []struct {
		capacity, free *int32
	}{{proto.Int32(20), nil}, {proto.Int32(250), proto.Int32(14 * 1440)}, {nil, nil}} {
		made, err := m.op.Events.CreateEvent(ctx, &bookingv1.CreateEventRequest{
			Title: "Evening Vinyasa", FreeCancellationMinutes: e.free,
			Dates:          []*bookingv1.NewEventDate{{StartsAt: timestamppb.New(time.Now().Add(7 * aDay).Truncate(time.Second)), DurationMinutes: 60, Capacity: e.capacity}},
			PricingOptions: []*bookingv1.NewPricingOption{{Name: "Drop-in", Price: 1200, Credits: proto.Int32(1)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		s.events = append(s.events, made.GetEvent())
	}
	kind, err := m.op.Passes.CreatePassType(ctx, &passv1.CreatePassTypeRequest{
		Title: "A pass", TotalUses: uses, ValidityCount: 6, ValidityUnit: passv1.ValidityUnit_VALIDITY_UNIT_MONTH,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, buyer := range s.buyers {
		if _, err := m.op.Passes.AssignCustomerPass(ctx, &passv1.AssignCustomerPassRequest{CustomerId: buyer, PassTypeId: kind.GetPassType().GetId()}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

const (
	// seriesDates is the number of dates of a series, and seriesCapacity their capacity.
	seriesDates, seriesCapacity = 400, 4
)

// addSeries adds an event with many dates.
func (s *seller) addSeries(t *testing.T) {
	t.Helper()
	req := &bookingv1.CreateEventRequest{
		Title: "Morning Vinyasa", PricingOptions: []*bookingv1.NewPricingOption{{Name: "Drop-in", Price: 1200, Credits: proto.Int32(1)}},
	}
	first := time.Now().Add(7 * aDay).Truncate(time.Second)
	for n := range seriesDates {
		req.Dates = append(req.Dates, &bookingv1.NewEventDate{
			StartsAt: timestamppb.New(first.Add(time.Duration(n) * time.Hour)), DurationMinutes: 60, Capacity: proto.Int32(seriesCapacity),
		})
	}
	made, err := s.m.op.Events.CreateEvent(s.company.Ctx(t.Context()), req)
	if err != nil {
		t.Fatal(err)
	}
	s.series = made.GetEvent()
	s.events = append(s.events, s.series)
}

// anyOfSeries adds random dates of the series to an order. An order for the series gets one, and any
// order sometimes gets one or two more.
func (s *seller) anyOfSeries(o *order) {
	dates := s.series.GetDates()
	first := rand.IntN(len(dates) - 2)
	if o.event == s.series {
		o.date = dates[first].GetId()
	}
	if rand.IntN(4) > 0 || o.event.FreeCancellationMinutes != nil {
		return
	}
	for n := range 1 + rand.IntN(2) {
		o.more = append(o.more, dates[first+1+n].GetId())
	}
	if rand.IntN(2) == 0 {
		slices.Reverse(o.more)
	}
}

// dates returns the number of the seller's dates.
func (s *seller) dates() (n int) {
	for _, e := range s.events {
		n += len(e.GetDates())
	}
	return n
}

// newOrder returns a random order for the next guest, or nil if there are no guests left.
func (s *seller) newOrder() *order {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.orders) == len(s.guests) {
		return nil
	}
	o := &order{
		guest: len(s.orders), buyer: s.buyers[rand.IntN(len(s.buyers))], event: s.events[rand.IntN(len(s.events))],
		spaces: int32(1 + rand.IntN(2)), byPass: rand.IntN(3) > 0, abandons: rand.IntN(4) == 0, sold: map[string]*sold{},
	}
	if s.series != nil {
		s.anyOfSeries(o)
		o.held = rand.IntN(6) == 0
	}
	s.orders = append(s.orders, o)
	return o
}

// key returns the idempotency key of an order.
func (o *order) key() string { return fmt.Sprint("order-", o.guest) }

// refusals returns the error codes with which an order ends without a booking.
func refusals() []string { return []string{"EVENT_FULL", "PASS_EXHAUSTED"} }

// request returns the order's request on Interface B.
func (s *seller) request(o *order) harness.Request {
	method := "CARD"
	if o.byPass {
		method = "PASS"
	}
	members := map[string]any{
		"customerId": s.guests[o.guest], "purchasedById": o.buyer, "spots": o.spaces, "payment": map[string]any{"method": method},
	}
	if o.date != "" {
		members["eventDateId"] = o.date
	}
	body, err := json.Marshal(members)
	if err != nil {
		panic(err) // strings and numbers
	}
	return harness.Request{
		Path: "/events/" + o.event.GetId() + "/registrations", Token: s.token, Body: string(body),
		Header: http.Header{"Idempotency-Key": {o.key()}},
	}
}

// placeOrder makes the order on Interface B, at the gateways in turn, until there is an answer,
// and records it. A customer who abandons the order makes only one attempt. It returns an error
// for an answer that no client should get.
func (s *seller) placeOrder(ctx context.Context, o *order, gateways []*harness.B) error {
	answer, final, err := requestOnce(ctx, s.request(o), gateways[o.guest%len(gateways)])
	if !final {
		o.lost++
		if o.abandons {
			o.unknown = true
			return nil
		}
		var lost int
		answer, lost, err = requestUntilFinal(ctx, s.request(o), gateways)
		o.lost += lost
	}
	if err != nil {
		return fmt.Errorf("order %d: %w", o.guest, err)
	}
	if slices.Contains(refusals(), answer.Reason()) {
		return nil
	}
	var made struct{ ID, CustomerID string }
	if err := answer.Want(http.StatusCreated, &made); err != nil {
		return fmt.Errorf("order %d: %w", o.guest, err)
	}
	if made.CustomerID != s.guests[o.guest] {
		return fmt.Errorf("order %d was answered with another customer's registration: %s", o.guest, answer.Body)
	}
	o.sold["booking_"+strings.TrimPrefix(made.ID, "reg_")] = &sold{}
	return nil
}

// placeMany makes an order of several dates over gRPC, as placeOrder does on Interface B.
func (s *seller) placeMany(ctx context.Context, o *order) error {
	ctx = rpc.WithIdempotencyKey(s.company.Ctx(ctx), o.key())
	req := &bookingv1.CreateTransactionRequest{PurchaserId: o.buyer, Lines: s.lines(o), PaymentMethod: o.method()}
	res, err := s.m.op.Bookings.CreateTransaction(ctx, req)
	if inDoubt(err) {
		o.lost++
		if o.abandons {
			o.unknown = true
			return nil
		}
		err = persist(ctx, func(ctx context.Context) (err error) {
			res, err = s.m.op.Bookings.CreateTransaction(ctx, req)
			return err
		})
	}
	if err != nil && slices.Contains(refusals(), fault.From(err).Reason) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("order %d: %w", o.guest, err)
	}
	for _, b := range res.GetTransaction().GetBookings() {
		o.sold[b.GetId()] = &sold{}
	}
	return nil
}

// cancelOne cancels a booking over gRPC until there is an answer.
func (s *seller) cancelOne(ctx context.Context, o *order, booking string) error {
	err := persist(s.company.Ctx(ctx), func(ctx context.Context) error {
		_, err := s.m.op.Bookings.CancelBooking(ctx, &bookingv1.CancelBookingRequest{BookingId: booking})
		return err
	})
	if err != nil {
		return fmt.Errorf("cancelling %s: %w", booking, err)
	}
	o.wasCancelled(booking)
	return nil
}

// cancel cancels a registration on Interface B until there is an answer. "Already cancelled" is
// only acceptable after an attempt without an answer.
func (s *seller) cancel(ctx context.Context, o *order, booking string, gateways []*harness.B) error {
	answer, lost, err := requestUntilFinal(ctx, harness.Request{
		Method: http.MethodDelete, Token: s.token, Path: "/events/" + o.event.GetId() + "/registrations/reg_" + strings.TrimPrefix(booking, "booking_"),
	}, gateways)
	if err != nil {
		return err
	}
	if lost == 0 || answer.Reason() != "ALREADY_CANCELLED" {
		if err := answer.Want(http.StatusOK, nil); err != nil {
			return fmt.Errorf("cancelling %s after %d attempts: %w", booking, lost, err)
		}
	}
	o.wasCancelled(booking)
	return nil
}

// wasCancelled records a cancellation. A cancellation in time returns the credits of a booking by
// pass.
func (o *order) wasCancelled(booking string) {
	b := o.sold[booking]
	b.cancelled = true
	if o.byPass && o.event.FreeCancellationMinutes == nil {
		b.refunded = true
	}
}

// requestOnce makes a request once. The result is final if the outcome is known. A final error is an
// answer that no client should get.
func requestOnce(ctx context.Context, r harness.Request, gateway *harness.B) (answer harness.Answer, final bool, err error) {
	answer, err = gateway.Try(ctx, r)
	if err != nil {
		return answer, false, err
	}
	away := answer.Code == http.StatusServiceUnavailable && answer.Header.Get("Retry-After") != ""
	running := answer.Code == http.StatusConflict && answer.Reason() == "IDEMPOTENCY_IN_PROGRESS"
	return answer, !away && !running, nil
}

// requestUntilFinal makes a request at all gateways in turn until the answer is final. It returns
// how many attempts had no final answer.
func requestUntilFinal(ctx context.Context, r harness.Request, gateways []*harness.B) (answer harness.Answer, lost int, err error) {
	for turn := rand.IntN(len(gateways)); ; turn++ {
		var final bool
		if answer, final, err = requestOnce(ctx, r, gateways[turn%len(gateways)]); final {
			return answer, lost, nil
		}
		lost++
		select {
		case <-ctx.Done():
			return answer, lost, errors.Join(fmt.Errorf("no final answer; the last was %d %s", answer.Code, answer.Body), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
