package faults

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	"reservation.dev/test/harness"
)

// writer writes to one service, and can list its writes.
type writer struct {
	part    string
	company string // the company it writes for; "": it creates companies
	// write creates the n-th object with its own idempotency key, and returns its identifier.
	write func(ctx context.Context, op *harness.Operator, n int) (string, error)
	// rows returns the identifiers of all objects in the service.
	rows func(t *testing.T, op *harness.Operator) []string
	// subject is the subject of the event about each object, and made reads the object's
	// identifier from the event's payload.
	subject string
	made    func(payload []byte) (string, error) // "": of another test's object

	mu           sync.Mutex
	keys         int
	acknowledged map[string]bool // acknowledged identifiers
}

// kills is how often each service is killed. Only about a millisecond passes between a commit and
// the publication of its event, so not every kill hits that time.
const kills = 8

// concurrent is the number of requests in progress when a service is killed.
const concurrent = 4

func keyed(ctx context.Context, n int) context.Context {
	return rpc.WithIdempotencyKey(ctx, fmt.Sprint("under-fire-", n))
}

func (w *world) writers(t *testing.T) []*writer {
	c := w.op.NewCompany(t, "Europe/London")
	ids := c.ImportCustomers(t, "k", 2)
	return []*writer{
		w.customerWriter(w.op.NewCompany(t, "Europe/London")), w.bookingWriter(t, c, ids[0]), w.passWriter(t, c, ids[1]), w.companyWriter(),
	}
}

func (w *world) customerWriter(c *harness.Company) *writer {
	return &writer{
		part: "customer", company: c.ID, subject: "customer.v1.customer_created",
		write: func(ctx context.Context, op *harness.Operator, n int) (string, error) {
			res, err := op.Customers.CreateCustomer(keyed(op.As(ctx, c.ID), n), &customerv1.CreateCustomerRequest{
				FirstName: "Zoë", LastName: fmt.Sprint("Number ", n), Email: "zoe@example.com",
			})
			return res.GetCustomer().GetId(), err
		},
		rows: func(t *testing.T, op *harness.Operator) (ids []string) {
			for token := ""; ; {
				res, err := op.Customers.ListCustomers(op.As(t.Context(), c.ID), &customerv1.ListCustomersRequest{PageSize: 1000, PageToken: token})
				if err != nil {
					t.Fatal(err)
				}
				for _, customer := range res.GetCustomers() {
					ids = append(ids, customer.GetId())
				}
				if token = res.GetNextPageToken(); token == "" {
					if res.GetTotal() != int64(len(ids)) {
						t.Errorf("the total is %d, want %d", res.GetTotal(), len(ids))
					}
					return ids
				}
			}
		},
		made: func(payload []byte) (string, error) {
			var e customerv1.CustomerCreated
			err := proto.Unmarshal(payload, &e)
			return e.GetCustomer().GetId(), err
		},
	}
}

func (w *world) bookingWriter(t *testing.T, c *harness.Company, customer string) *writer {
	made, err := w.op.Events.CreateEvent(c.Ctx(t.Context()), &bookingv1.CreateEventRequest{
		Title:          "Morning Vinyasa",
		Dates:          []*bookingv1.NewEventDate{{StartsAt: timestamppb.New(time.Now().Add(24 * time.Hour).Truncate(time.Second)), DurationMinutes: 60}},
		PricingOptions: []*bookingv1.NewPricingOption{{Name: "Drop-in", Price: 1200}},
	})
	if err != nil {
		t.Fatal(err)
	}
	event := made.GetEvent()
	return &writer{
		part: "booking", company: c.ID, subject: "booking.v1.booking_confirmed",
		write: func(ctx context.Context, op *harness.Operator, n int) (string, error) {
			res, err := op.Bookings.CreateTransaction(keyed(op.As(ctx, c.ID), n), &bookingv1.CreateTransactionRequest{
				PurchaserId: customer, Lines: []*bookingv1.TransactionLine{{EventDateId: event.GetDates()[0].GetId(), Spaces: 2}},
			})
			return res.GetTransaction().GetId(), err
		},
		rows: func(t *testing.T, op *harness.Operator) (ids []string) {
			size := int32(100)
			for page := int32(0); ; page++ {
				res, err := op.Bookings.ListTransactions(op.As(t.Context(), c.ID), &bookingv1.ListTransactionsRequest{CustomerId: customer, Page: &page, PageSize: &size})
				if err != nil {
					t.Fatal(err)
				}
				for _, transaction := range res.GetTransactions() {
					ids = append(ids, transaction.GetId())
				}
				if len(res.GetTransactions()) == 0 {
					break
				}
			}
			res, err := op.Events.GetEvent(op.As(t.Context(), c.ID), &bookingv1.GetEventRequest{Id: event.GetId()})
			if err != nil {
				t.Fatal(err)
			}
			if booked := res.GetEvent().GetDates()[0].GetBooked(); int(booked) != 2*len(ids) {
				t.Errorf("the date counts %d spaces for %d bookings of two", booked, len(ids))
			}
			return ids
		},
		made: func(payload []byte) (string, error) {
			var e bookingv1.BookingConfirmed
			err := proto.Unmarshal(payload, &e)
			return e.GetBooking().GetTransactionId(), err
		},
	}
}

func (w *world) passWriter(t *testing.T, c *harness.Company, customer string) *writer {
	made, err := w.op.Passes.CreatePassType(c.Ctx(t.Context()), &passv1.CreatePassTypeRequest{
		Title: "Ten Classes", TotalUses: 10, ValidityCount: 6, ValidityUnit: passv1.ValidityUnit_VALIDITY_UNIT_MONTH, Price: 11000,
	})
	if err != nil {
		t.Fatal(err)
	}
	return &writer{
		part: "pass", company: c.ID, subject: "pass.v1.customer_pass_assigned",
		write: func(ctx context.Context, op *harness.Operator, n int) (string, error) {
			res, err := op.Passes.AssignCustomerPass(keyed(op.As(ctx, c.ID), n), &passv1.AssignCustomerPassRequest{
				CustomerId: customer, PassTypeId: made.GetPassType().GetId(),
			})
			return res.GetCustomerPass().GetId(), err
		},
		rows: func(t *testing.T, op *harness.Operator) (ids []string) {
			for token := ""; ; {
				res, err := op.Passes.ListCustomerPasses(op.As(t.Context(), c.ID), &passv1.ListCustomerPassesRequest{PageSize: 200, PageToken: token})
				if err != nil {
					t.Fatal(err)
				}
				for _, pass := range res.GetCustomerPasses() {
					ids = append(ids, pass.GetId())
				}
				if token = res.GetNextPageToken(); token == "" {
					return ids
				}
			}
		},
		made: func(payload []byte) (string, error) {
			var e passv1.CustomerPassAssigned
			err := proto.Unmarshal(payload, &e)
			return e.GetCustomerPass().GetId(), err
		},
	}
}

// companyWriter creates companies with a unique prefix in their names.
func (w *world) companyWriter() *writer {
	const name = "Made under fire"
	return &writer{
		part: "auth", subject: "auth.v1.company_created",
		write: func(ctx context.Context, op *harness.Operator, n int) (string, error) {
			res, err := op.Companies.CreateCompany(keyed(op.As(ctx, ""), n), &authv1.CreateCompanyRequest{Name: name, Timezone: "Europe/London", Currency: "GBP"})
			return res.GetCompany().GetId(), err
		},
		rows: func(t *testing.T, op *harness.Operator) (ids []string) {
			for token := ""; ; {
				res, err := op.Companies.ListCompanies(op.As(t.Context(), ""), &authv1.ListCompaniesRequest{PageSize: 1000, PageToken: token})
				if err != nil {
					t.Fatal(err)
				}
				for _, company := range res.GetCompanies() {
					if company.GetName() == name {
						ids = append(ids, company.GetId())
					}
				}
				if token = res.GetNextPageToken(); token == "" {
					return ids
				}
			}
		},
		made: func(payload []byte) (string, error) {
			var e authv1.CompanyCreated
			err := proto.Unmarshal(payload, &e)
			if e.GetCompany().GetName() != name {
				return "", err
			}
			return e.GetCompany().GetId(), err
		},
	}
}

// testKill kills the service several times during writes. A request without an answer is retried
// with the same idempotency key. Each key must end up with one acknowledgement, one row and one
// event.
func (w *world) testKill(t *testing.T, x *writer) {
	x.acknowledged = map[string]bool{}
	part := w.Part(x.part)
	for range kills {
		// Use new connections, because those of an earlier round may be in backoff.
		op := w.Operator(t)
		left := int64(1 + rand.IntN(40))
		pause := max(0, time.Duration(rand.IntN(2000)-1000)*time.Microsecond) // 0: immediately
		var yeses atomic.Int64
		killed := make(chan struct{})
		kill := func() {
			part.KillNow()
			close(killed)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // longer than a start, and than an attempt that is undone
		var wg sync.WaitGroup
		for range concurrent {
			wg.Go(func() {
				for {
					select {
					case <-killed:
						return
					default:
					}
					if err := x.createOnce(ctx, w, op); err != nil {
						t.Error(err)
						return
					}
					if yeses.Add(1) != left {
						continue
					}
					if pause == 0 {
						kill()
					} else {
						time.AfterFunc(pause, kill)
					}
				}
			})
		}
		select {
		case <-killed:
		case <-ctx.Done():
			t.Fatal("no write was acknowledged")
		}
		part.Kill(t)
		part.Restart(t)
		wg.Wait()
		cancel()
		if t.Failed() {
			return
		}
	}
	x.checkRows(t, w.Operator(t))
}

// createOnce creates one object with one key, and retries as often as necessary.
func (x *writer) createOnce(ctx context.Context, w *world, op *harness.Operator) error {
	x.mu.Lock()
	n := x.keys
	x.keys++
	x.mu.Unlock()
	for {
		id, err := x.write(ctx, op, n)
		if err == nil {
			x.mu.Lock()
			x.acknowledged[id] = true
			x.mu.Unlock()
			return nil
		}
		// Unavailable, or the earlier attempt with this key is not undone yet.
		if !fault.Is(err, fault.Unavailable) && !fault.Is(err, fault.Conflict) {
			return fmt.Errorf("%s: %w", x.part, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: no final answer: %w", x.part, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (x *writer) checkRows(t *testing.T, op *harness.Operator) {
	t.Helper()
	rows := x.rows(t, op)
	t.Logf("%d kills, %d keys, %d rows", kills, x.keys, len(rows))
	if err := x.compare("rows", rows); err != nil {
		t.Error(err)
	}
}

// compare compares identifiers with those that were acknowledged.
func (x *writer) compare(what string, got []string) error {
	want := slices.Sorted(maps.Keys(x.acknowledged))
	sorted := slices.Sorted(slices.Values(got))
	if slices.Equal(sorted, want) && len(want) == x.keys {
		return nil
	}
	var lost, more int
	for _, id := range want {
		if _, found := slices.BinarySearch(sorted, id); !found {
			lost++
		}
	}
	for _, id := range sorted {
		if !x.acknowledged[id] {
			more++
		}
	}
	return fmt.Errorf("%s: %d keys were acknowledged with %d identifiers, but there are %d %s: %d are missing, %d were never acknowledged",
		x.part, x.keys, len(want), len(got), what, lost, more)
}

// eventsLimit is longer than the lease of a killed relay.
const eventsLimit = 2 * time.Minute

func (w *world) testEvents(t *testing.T, writers []*writer) {
	harness.Eventually(t, eventsLimit, func() error {
		events := w.Events(t)
		var faults []error
		seen := map[string]bool{}
		for _, e := range events {
			if seen[e.ID] {
				faults = append(faults, fmt.Errorf("event %s was published twice", e.ID))
			}
			seen[e.ID] = true
		}
		for _, x := range writers {
			var got []string
			for _, e := range events {
				if e.Subject != x.subject || (x.company != "" && e.Company != x.company) {
					continue
				}
				id, err := x.made(e.Payload)
				if err != nil {
					return err
				}
				if id != "" {
					got = append(got, id)
				}
			}
			if err := x.compare("events", got); err != nil {
				faults = append(faults, err)
			}
		}
		return errors.Join(faults...)
	})
}
