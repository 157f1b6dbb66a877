package faults

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/id"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
	"reservation.dev/test/harness"
)

// studio is a company that sells spaces in a class. Each sale causes a webhook.
type studio struct {
	w        *webhookCluster
	company  *harness.Company
	b        *harness.B
	token    string // of Interface B
	customer string
	class    *bookingv1.Event

	mu   sync.Mutex
	keys int
	sold map[string]bool // acknowledged registrations
}

func (w *webhookCluster) newStudio(t *testing.T) *studio {
	t.Helper()
	s := &studio{w: w, company: w.op.NewCompany(t, "Europe/London"), b: harness.NewB(t, w.GatewaysB[0]), sold: map[string]bool{}}
	s.token = s.b.Token(t, s.company.NewKey(t, 10_000))
	s.customer = s.company.ImportCustomers(t, "studio", 1)[0]
	made, err := w.op.Events.CreateEvent(s.company.Ctx(t.Context()), &bookingv1.CreateEventRequest{
		Title: "Morning Vinyasa", PricingOptions: []*bookingv1.NewPricingOption{{Name: "Drop-in", Price: 1200}},
		Dates: []*bookingv1.NewEventDate{{StartsAt: timestamppb.New(time.Now().Add(7 * aDay).Truncate(time.Second)), DurationMinutes: 60}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.class = made.GetEvent()
	return s
}

const (
	// sellers is the number of concurrent sellers over gRPC; one more sells on Interface B.
	sellers = 3
	// pace is the pause between two sales of a seller, and basket the number of spaces in each.
	pace   = 400 * time.Millisecond
	basket = 4
)

// open sells spaces until stop is called, which returns all registrations ever sold.
func (s *studio) open(t *testing.T) (stop func() []string) {
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	every := func(pause time.Duration, sell func(context.Context) error) {
		wg.Go(func() {
			ticker := time.NewTicker(pause)
			defer ticker.Stop()
			for ctx.Err() == nil {
				// A purchase that has begun is completed, because otherwise its outcome would be
				// unknown.
				selling, cancel := context.WithTimeout(context.WithoutCancel(ctx), orderLimit)
				err := sell(selling)
				cancel()
				if err != nil {
					t.Error(err)
					return
				}
				select {
				case <-ctx.Done():
				case <-ticker.C:
				}
			}
		})
	}
	for range sellers {
		every(pace, func(ctx context.Context) error { return s.sell(ctx, basket) })
	}
	every(pace/basket, s.register)
	stop = sync.OnceValue(func() []string {
		cancel()
		wg.Wait()
		return s.registrations()
	})
	t.Cleanup(func() { stop() })
	return stop
}

func (s *studio) key() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys++
	return s.keys
}

func (s *studio) note(registrations ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range registrations {
		s.sold[r] = true
	}
}

// registrations returns all sold registrations, in the order of their identifiers.
func (s *studio) registrations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.sold))
}

// sell sells spaces over gRPC, each as a separate booking, and retries until there is an answer.
func (s *studio) sell(ctx context.Context, places int) error {
	req := &bookingv1.CreateTransactionRequest{PurchaserId: s.customer}
	for range places {
		req.Lines = append(req.Lines, &bookingv1.TransactionLine{EventDateId: s.class.GetDates()[0].GetId(), Spaces: 1})
	}
	ctx = keyed(s.company.Ctx(ctx), s.key())
	var res *bookingv1.CreateTransactionResponse
	err := persist(ctx, func(ctx context.Context) (err error) {
		res, err = s.w.op.Bookings.CreateTransaction(ctx, req)
		return err
	})
	if err != nil {
		return fmt.Errorf("over gRPC: %w", err)
	}
	for _, b := range res.GetTransaction().GetBookings() {
		s.note("reg_" + strings.TrimPrefix(b.GetId(), "booking_"))
	}
	return nil
}

// register sells a space on Interface B.
func (s *studio) register(ctx context.Context) error {
	answer, _, err := requestUntilFinal(ctx, harness.Request{
		Path: "/events/" + s.class.GetId() + "/registrations", Token: s.token, Body: fmt.Sprintf(`{"customerId":%q,"spots":1}`, s.customer),
		Header: http.Header{"Idempotency-Key": {fmt.Sprint("place-", s.key())}},
	}, []*harness.B{s.b})
	if err != nil {
		return err
	}
	var made struct{ ID string }
	if err := answer.Want(http.StatusCreated, &made); err != nil {
		return fmt.Errorf("on Interface B: %w", err)
	}
	s.note(made.ID)
	return nil
}

// replayFailed replays the deliveries that have failed since the given time.
func (s *studio) replayFailed(t *testing.T, since time.Time) {
	t.Helper()
	res, err := s.w.op.Webhooks.ReplayFailed(s.company.Ctx(t.Context()), &webhookv1.ReplayFailedRequest{Since: timestamppb.New(since)})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d deliveries had failed and are replayed", res.GetReplayed())
}

// delivered returns how many deliveries a process reports since its start.
func (w *webhookCluster) delivered(t *testing.T, process string) float64 {
	t.Helper()
	res, err := http.Get("http://" + w.Part(process).AdminAddr() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		labels, value, _ := strings.Cut(lines.Text(), "} ")
		if !strings.HasPrefix(labels, "webhook_attempts_total{") || !strings.Contains(labels, `failure="none"`) {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return 0 // none yet
}

// connect opens a session with the webhook service's database.
func (w *webhookCluster) connect(t *testing.T) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), w.OwnerURL("webhook"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func number(t *testing.T, db *pgx.Conn, sql string, args ...any) int {
	t.Helper()
	var n int
	if err := db.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func companyID(t *testing.T, company string) [16]byte {
	t.Helper()
	return uuid(t, company, id.Parse[id.Company])
}

// compareKeys returns an error unless the keys of got equal want, which is sorted.
func compareKeys[V any](got map[string]V, want []string) error {
	var missing, more []string
	for _, w := range want {
		if _, found := got[w]; !found {
			missing = append(missing, w)
		}
	}
	for g := range got {
		if _, found := slices.BinarySearch(want, g); !found {
			more = append(more, g)
		}
	}
	if len(missing) == 0 && len(more) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d are missing, for example %v; %d are not of a sale, for example %v",
		len(missing), len(want), missing[:min(len(missing), 2)], len(more), more[:min(len(more), 2)])
}
