package day

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	"reservation.dev/test/harness"
)

const (
	companies = 10
	// customers and dates are those of each company.
	customers = 200
	dates     = 40
	// senders is how many requests are made at the same time, at most.
	senders = 48
	// largeShare is the share of the requests that the largest company makes.
	largeShare = 0.4
)

// studio is a company, and what it sells.
type studio struct {
	*harness.RetryingClient
	company   *harness.Company
	customers []string
	// events have one date each.
	events, dates []string
	passType      string
	made          atomic.Int64 // makes names and keys unique

	mu   sync.Mutex
	open []string // registrations that can be cancelled
}

func newStudio(t *testing.T, w *world) *studio {
	t.Helper()
	company := w.op.NewCompany(t, "Europe/London")
	client, key := company.NewClient(t), company.NewKey(t, 10_000)
	var c harness.Credentials
	c.InterfaceA.BaseURL, c.InterfaceA.ClientID, c.InterfaceA.ClientSecret = w.BaseURL, client.ID, client.Secret
	c.InterfaceB.BaseURL, c.InterfaceB.APIKey, c.InterfaceB.APISecret = w.GatewaysB[0], key.ID, key.Secret
	s := &studio{RetryingClient: harness.NewRetryingClient(t, c), company: company, customers: company.ImportCustomers(t, "customer", customers)}
	ctx := company.Ctx(t.Context())
	kind, err := w.op.Passes.CreatePassType(ctx, &passv1.CreatePassTypeRequest{
		Title: "Unlimited classes", TotalUses: 100_000, ValidityCount: 6, ValidityUnit: passv1.ValidityUnit_VALIDITY_UNIT_MONTH,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.passType = kind.GetPassType().GetId()
	for _, customer := range s.customers {
		if _, err := w.op.Passes.AssignCustomerPass(ctx, &passv1.AssignCustomerPassRequest{CustomerId: customer, PassTypeId: s.passType}); err != nil {
			t.Fatal(err)
		}
	}
	soon := time.Now().AddDate(0, 1, 0).Truncate(time.Hour)
	for i := range dates {
		made, err := w.op.Events.CreateEvent(ctx, &bookingv1.CreateEventRequest{
			Title: "Morning Vinyasa", PricingOptions: []*bookingv1.NewPricingOption{{Name: "Drop-in", Price: 1200, Credits: proto.Int32(1)}},
			Dates: []*bookingv1.NewEventDate{{StartsAt: timestamppb.New(soon.Add(time.Duration(i) * time.Hour)), DurationMinutes: 60, Capacity: proto.Int32(1_000_000)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		s.events = append(s.events, made.GetEvent().GetId())
		s.dates = append(s.dates, made.GetEvent().GetDates()[0].GetId())
	}
	return s
}

func (s *studio) customer() string { return s.customers[rand.IntN(len(s.customers))] }

// date returns the number of a date. Half of all bookings are of the same date.
func (s *studio) date() int { return rand.IntN(2) * rand.IntN(dates) }

// key returns a new Idempotency-Key.
func (s *studio) key() string { return fmt.Sprintf("day-%d", s.made.Add(1)) }

// action is a kind of request.
type action struct {
	name string
	// weight is the number of such requests for every 100 bookings.
	weight int
	// books reports whether it counts as a booking.
	books bool
	do    func(s *studio, ctx context.Context) error
}

// actions are what customers and the studios' programs do. The weights of those that book are 100 in
// total.
var actions = []action{
	{"book by card", 70, true, func(s *studio, ctx context.Context) error { return s.buy(ctx, "CARD") }},
	{"book by pass", 22, true, func(s *studio, ctx context.Context) error { return s.buy(ctx, "PASS") }},
	{"let a hold expire", 8, true, (*studio).hold},
	{"cancel", 12, false, (*studio).cancel},
	{"buy a pass", 3, false, (*studio).buyPass},
	{"create a customer", 5, false, (*studio).createCustomer},
	{"read the schedule", 60, false, func(s *studio, ctx context.Context) error { return s.read(ctx, "/events?perPage=25") }},
	{"read a customer's bookings", 50, false, func(s *studio, ctx context.Context) error { return s.ListBookings(ctx, s.customer()) }},
}

// requestsPerBooking is the number of requests for each booking.
func requestsPerBooking() float64 {
	sum := 0
	for _, a := range actions {
		sum += a.weight
	}
	return float64(sum) / 100
}

// choose returns a random action.
func choose() action {
	n := rand.IntN(int(100 * requestsPerBooking()))
	for _, a := range actions {
		if n -= a.weight; n < 0 {
			return a
		}
	}
	panic("the weights do not add up")
}

func (s *studio) buy(ctx context.Context, method string) error {
	answer, err := s.Write(ctx, "/events/"+s.events[s.date()]+"/registrations",
		fmt.Sprintf(`{"customerId":%q,"payment":{"method":%q}}`, s.customer(), method), s.key(), http.StatusCreated)
	if err != nil {
		return err
	}
	var made struct{ ID string }
	if err := json.Unmarshal(answer.Body, &made); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = append(s.open, made.ID)
	return nil
}

// cancel cancels a random registration.
func (s *studio) cancel(ctx context.Context) error {
	s.mu.Lock()
	if len(s.open) == 0 {
		s.mu.Unlock()
		return nil
	}
	i, last := rand.IntN(len(s.open)), len(s.open)-1
	registration := s.open[i]
	s.open[i] = s.open[last]
	s.open = s.open[:last]
	s.mu.Unlock()
	_, err := s.Write(ctx, "/registrations/"+registration+"/cancel", `{}`, s.key(), http.StatusOK)
	return err
}

// hold reserves a space for a minute, and does not pay for it.
func (s *studio) hold(ctx context.Context) error {
	_, err := s.Write(ctx, "/holds", fmt.Sprintf(`{"purchasedById":%q,"lines":[{"eventDateId":%q}],"minutes":1}`, s.customer(), s.dates[s.date()]),
		s.key(), http.StatusCreated)
	return err
}

func (s *studio) buyPass(ctx context.Context) error {
	_, err := s.Write(ctx, "/customer-passes", fmt.Sprintf(`{"customerId":%q,"passId":%q,"startDate":%q}`,
		s.customer(), s.passType, time.Now().UTC().Format(time.DateOnly)), s.key(), http.StatusCreated)
	return err
}

func (s *studio) createCustomer(ctx context.Context) error {
	key := s.key()
	_, err := s.Write(ctx, "/customers", fmt.Sprintf(`{"firstName":"Ada","lastName":"Byron","email":"%s@example.com"}`, key), key, http.StatusCreated)
	return err
}

func (s *studio) read(ctx context.Context, path string) error {
	_, err := s.Read(ctx, path)
	return err
}

// traffic makes requests at a fixed rate, whether or not the earlier ones have been answered.
type traffic struct {
	studios  []*studio
	rate     float64 // requests per second
	due      chan time.Time
	stop     context.CancelFunc
	all      sync.WaitGroup
	bookings atomic.Int64

	mu       sync.Mutex
	requests int             // answered since the last call of take
	sales    []time.Duration // of the bookings among them
	fault    error           // the first
}

// start starts the traffic.
func start(t *testing.T, studios []*studio, rate float64) *traffic {
	ctx, stop := context.WithCancel(t.Context())
	f := &traffic{studios: studios, rate: rate, due: make(chan time.Time, int(20*rate)+1), stop: stop}
	f.all.Go(func() {
		defer close(f.due)
		began, ticker := time.Now(), time.NewTicker(5*time.Millisecond)
		defer ticker.Stop()
		for n := 0; ; {
			select {
			case <-ctx.Done():
				return
			case now := <-ticker.C:
				for ; float64(n) < now.Sub(began).Seconds()*rate; n++ {
					select {
					case f.due <- began.Add(time.Duration(float64(n) / rate * float64(time.Second))):
					case <-ctx.Done():
						return
					}
				}
			}
		}
	})
	for range senders {
		f.all.Go(func() {
			for at := range f.due {
				a := choose()
				err := a.do(f.studio(), context.WithoutCancel(ctx))
				f.answered(a, at, err)
			}
		})
	}
	t.Cleanup(f.end)
	return f
}

// end stops the traffic and waits for the last answers.
func (f *traffic) end() {
	f.stop()
	f.all.Wait()
}

func (f *traffic) studio() *studio {
	if rand.Float64() < largeShare {
		return f.studios[0]
	}
	return f.studios[1+rand.IntN(len(f.studios)-1)]
}

// answered notes an answer. The time of a booking begins when the request was due.
func (f *traffic) answered(a action, due time.Time, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests++
	if a.books {
		f.sales = append(f.sales, time.Since(due))
		f.bookings.Add(1)
	}
	if err != nil {
		f.fault = cmp.Or(f.fault, fmt.Errorf("%s: %w", a.name, err))
	}
}

// take returns the number of answers since the last call, and the sorted times of the bookings among
// them.
func (f *traffic) take() (requests int, sales []time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	requests, sales = f.requests, f.sales
	f.requests, f.sales = 0, nil
	slices.Sort(sales)
	return requests, sales
}

// failure returns the first request that failed.
func (f *traffic) failure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fault
}

// repeats is the number of requests that were repeated.
func (f *traffic) repeats() (sum int64) {
	for _, s := range f.studios {
		sum += s.Repeats()
	}
	return sum
}
