package requestlog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// stream stands for the stream. It stores a message once per id, like JetStream.
type stream struct {
	mu      sync.Mutex
	away    bool // nothing is acknowledged
	lost    bool // what is stored is not acknowledged
	refuses bool
	stored  map[id.UUID]*authv1.RequestsReceived
}

func (s *stream) Publish(_ context.Context, msgs []bus.Message) ([]bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	acked, causes := make([]bool, len(msgs)), make([]error, len(msgs))
	for i, m := range msgs {
		switch {
		case s.away:
			causes[i] = nats.ErrDisconnected
			continue
		case s.refuses:
			causes[i] = nats.ErrMaxPayload
			continue
		}
		batch := &authv1.RequestsReceived{}
		if causes[i] = proto.Unmarshal(m.Payload, batch); causes[i] == nil {
			s.stored[m.ID] = batch
		}
		if s.lost {
			causes[i] = errors.New("no acknowledgement")
		}
		acked[i] = causes[i] == nil
	}
	return acked, &bus.PublishError{Causes: causes}
}

func (s *stream) set(away, lost, refuses bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away, s.lost, s.refuses = away, lost, refuses
}

// requests returns what is stored, by the credential.
func (s *stream) requests(t *testing.T) map[string]int {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	counts, seen := map[string]int{}, map[string]bool{}
	for _, batch := range s.stored {
		if len(batch.GetRequests()) > batchSize {
			t.Errorf("a batch has %d requests", len(batch.GetRequests()))
		}
		for _, r := range batch.GetRequests() {
			if seen[r.GetRequest().GetId()] {
				t.Errorf("%s is stored twice", r.GetRequest().GetId())
			}
			seen[r.GetRequest().GetId()] = true
			counts[r.GetRequest().GetCredentialId()]++
		}
	}
	return counts
}

func newLog() (*Log, *stream) {
	s := &stream{stored: map[id.UUID]*authv1.RequestsReceived{}}
	return New(s, slog.New(slog.DiscardHandler)), s
}

func record(l *Log, company id.Company, credential string, n int) {
	r := httptest.NewRequest(http.MethodGet, "/api/v1/customers/cust_1?q=secret", nil)
	for range n {
		l.Record(r, Entry{ID: id.NewUUID(), Company: company, Credential: credential, Status: 401})
	}
}

func dropped(l *Log) int { return int(testutil.ToFloat64(l.dropped)) }

// within returns a context that ends after a moment of the bubble's clock.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestLog(t *testing.T) {
	t.Parallel()
	busy, quiet := id.New[id.Company](), id.New[id.Company]()
	bubble := func(name string, test func(t *testing.T)) {
		t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
	}
	bubble("publishes a request within 200 ms, and a full batch at once", func(t *testing.T) {
		l, s := newLog()
		ctx, stop := context.WithCancel(t.Context())
		go func() { _ = l.Run(ctx) }()
		record(l, quiet, "quiet", 1)
		time.Sleep(flushEvery)
		synctest.Wait()
		if got := s.requests(t); got["quiet"] != 1 {
			t.Errorf("got %v", got)
		}
		record(l, busy, "busy", batchSize)
		synctest.Wait()
		if got := s.requests(t); got["busy"] != batchSize {
			t.Errorf("got %v", got)
		}
		stop()
	})
	bubble("keeps room for every company during a flood of others, and counts what it drops", func(t *testing.T) {
		l, s := newLog()
		s.set(true, false, false)
		const floods = 16
		for i := range floods {
			record(l, id.New[id.Company](), fmt.Sprint("flood", i), 2*mostOfCompany)
		}
		record(l, quiet, "quiet", 100)
		s.set(false, false, false)
		l.Close(within(t))
		got := s.requests(t)
		if got["quiet"] != 100 {
			t.Errorf("%d requests of the quiet company are published, want 100", got["quiet"])
		}
		total := 0
		for _, n := range got {
			total += n
		}
		if got["flood0"] != mostOfCompany || total > capacity || dropped(l)+total != 2*floods*mostOfCompany+100 {
			t.Errorf("%d are published and %d dropped", total, dropped(l))
		}
	})
	bubble("gives requests without a proven credential a small part", func(t *testing.T) {
		l, s := newLog()
		record(l, id.Company{}, "guessed", capacity)
		l.Record(httptest.NewRequest(http.MethodPost, "/token", nil), Entry{ID: id.NewUUID(), Credential: "proven", Status: 200})
		l.Close(within(t))
		if got := s.requests(t); got["guessed"] != mostUnproven || got["proven"] != 1 {
			t.Errorf("got %v", got)
		}
	})
	bubble("bounds what a company adds in an interval, even if all of it is published", func(t *testing.T) {
		l, s := newLog()
		for range 4 {
			record(l, busy, "busy", batchSize)
			l.flush(t.Context())
		}
		l.tick()
		record(l, busy, "later", 1)
		l.Close(within(t))
		if got := s.requests(t); got["busy"] != mostOfCompany || got["later"] != 1 {
			t.Errorf("got %v", got)
		}
	})
	bubble("has a refusal once a second for each credential and error", func(t *testing.T) {
		l, s := newLog()
		refuse := func(company id.Company, credential, code string) {
			for range 50 {
				r := httptest.NewRequest(http.MethodGet, "/customers", nil)
				l.Record(r, Entry{ID: id.NewUUID(), Company: company, Credential: credential, Status: 429, ErrorCode: code, Uncounted: true})
			}
		}
		for range 2 * refusedEvery {
			refuse(busy, "flood", "RATE_LIMIT_EXCEEDED")
			refuse(busy, "flood", "NETWORK_NOT_ALLOWED")
			refuse(id.Company{}, "guessed", "INVALID_CREDENTIALS")
			l.tick()
		}
		l.Close(within(t))
		if got := s.requests(t); got["flood"] != 4 || got["guessed"] != 2 || dropped(l) != 0 {
			t.Errorf("got %v, dropped %d", got, dropped(l))
		}
		if n := testutil.ToFloat64(l.repeated); n != 3*50*2*refusedEvery-6 {
			t.Errorf("%v are counted as repeated", n)
		}
	})
	bubble("publishes again what was not acknowledged, and nothing twice", func(t *testing.T) {
		l, s := newLog()
		s.set(false, true, false)
		record(l, quiet, "quiet", 2*batchSize+1)
		l.flush(t.Context())
		s.set(true, false, false)
		record(l, quiet, "later", 1)
		l.flush(t.Context())
		s.set(false, false, false)
		l.Close(within(t))
		if got := s.requests(t); got["quiet"] != 2*batchSize+1 || got["later"] != 1 || dropped(l) != 0 {
			t.Errorf("got %v, dropped %d", got, dropped(l))
		}
	})
	bubble("gives up at the end of a shutdown, and counts what is lost", func(t *testing.T) {
		l, s := newLog()
		s.set(true, false, false)
		record(l, quiet, "quiet", 3)
		l.flush(t.Context())
		record(l, quiet, "quiet", 4)
		began := time.Now()
		l.Close(within(t))
		if took := time.Since(began); took != 2*time.Second || dropped(l) != 7 {
			t.Errorf("it took %s, and %d are counted as dropped", took, dropped(l))
		}
	})
	bubble("drops a batch that can never be published", func(t *testing.T) {
		l, s := newLog()
		s.set(false, false, true)
		record(l, quiet, "quiet", 3)
		l.Close(within(t))
		if dropped(l) != 3 || l.waits() {
			t.Errorf("%d are counted as dropped", dropped(l))
		}
	})
	t.Run("has metrics", func(t *testing.T) {
		l, _ := newLog()
		if err := l.Collect(prometheus.NewRegistry()); err != nil {
			t.Error(err)
		}
	})
}

func TestConcurrentRecords(t *testing.T) {
	t.Parallel()
	l, s := newLog()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- l.Run(ctx) }()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() { record(l, id.New[id.Company](), fmt.Sprint(i), 500) })
	}
	all.Wait()
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	l.Close(t.Context())
	for i := range 8 {
		if got := s.requests(t)[fmt.Sprint(i)]; got != 500 {
			t.Errorf("%d requests of %d are published, want 500", got, i)
		}
	}
}

func TestEntry(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 5000)
	for target, want := range map[string]string{
		"/customers?email=ann@example.com":                  "/customers",
		"/api/v1/customers/cust_01m832zwm9fcc8rh23prmp0001": "/api/v1/customers/cust_01m832zwm9fcc8rh23prmp0001",
		"/customer/ann@example.com/profile":                 "/customer/*/profile",
		"/customers/Ann%20Lee":                              "/customers/*",
		"/customers/a%00b":                                  "/customers/*",
		"/customers/%E2%82%AC/po-01":                        "/customers/*/po-01",
		"/customers/" + strings.Repeat("y", maxSegment):     "/customers/" + strings.Repeat("y", maxSegment),
		"/customers/" + strings.Repeat("y", maxSegment+1):   "/customers/*",
		"/" + long:       "/*",
		"/a/?q=" + long:  "/a/",
		"//x/../y;z=1/.": "//x/../*/.",
	} {
		l, _ := newLog()
		l.Record(httptest.NewRequest(http.MethodGet, target, nil), Entry{
			ID: id.NewUUID(), Company: id.New[id.Company](), RequestID: long, ErrorCode: "NOT\nCODE", Address: "fe80::1%\x00",
		})
		m := l.buffer[0].message().GetRequest()
		if m.GetPath() != want || m.GetRequestId() != "" || m.GetErrorCode() != "" || m.GetClientAddress() != "" {
			t.Errorf("%.80s: got %v, want the path %s", target, m, want)
		}
	}
}

// The largest batch fits into a message of NATS.
func TestLargestBatch(t *testing.T) {
	t.Parallel()
	entries := make([]Entry, batchSize)
	segment := "/" + strings.Repeat("p", 59)
	for i := range entries {
		entries[i] = Entry{
			ID: id.NewUUID(), Company: id.New[id.Company](), Credential: id.New[id.APIClient]().String(), Method: "OPTIONS", Path: strings.Repeat(segment, 5),
			Route: strings.Repeat("r", 120), ErrorCode: strings.Repeat("C", maxCode), RequestID: strings.Repeat("i", 128), Address: strings.Repeat("a", maxAddress),
			Status: 599, Duration: 1 << 62, RequestBytes: 1 << 62, ResponseBytes: 1 << 62, IdempotencyKey: true, Replayed: true,
		}
	}
	m, err := batchOf(entries)
	if err != nil || len(m.Payload) > 512<<10 {
		t.Errorf("the largest batch has %d bytes, %v", len(m.Payload), err)
	}
}

// BenchmarkRecord measures what the request log adds to a request.
func BenchmarkRecord(b *testing.B) {
	r := httptest.NewRequest(http.MethodGet, "/api/v1/customers/cust_01m832zwm9fcc8rh23prmp0001", nil)
	for name, full := range map[string]bool{"room": false, "full": true} {
		b.Run(name, func(b *testing.B) {
			l, _ := newLog()
			e := Entry{ID: id.NewUUID(), Company: id.New[id.Company](), Credential: "key_01m832zwm9fcc8rh23prmp0001", Status: 200}
			if full {
				record(l, e.Company, e.Credential, capacity)
			}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				if n++; !full && n%batchSize == 0 {
					l.buffer = l.buffer[:0]
					clear(l.held)
				}
				l.Record(r, e)
			}
		})
	}
}
