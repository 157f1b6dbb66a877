package requestlog

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"reservation.dev/platform/bus"
)

const (
	// capacity is how many entries the buffer holds.
	capacity = 16_384
	// mostOfCompany is how many of them can be of one company, and how many it can add in one interval.
	mostOfCompany = 1_024
	// mostUnproven is the same for requests whose credential proved nothing.
	mostUnproven = 256
	// batchSize is the largest number of entries in a batch. Even a batch of the longest entries is
	// smaller than what NATS accepts by default, 1 MiB.
	batchSize = 500
	// flushEvery is how long an entry waits for others.
	flushEvery = 200 * time.Millisecond
	// refusedEvery is the number of intervals in which a refusal is recorded once.
	refusedEvery = 5
)

// Publisher publishes messages. *bus.Bus implements it.
type Publisher interface {
	Publish(ctx context.Context, msgs []bus.Message) (acked []bool, err error)
}

// Log collects and publishes entries. Record can be called by several goroutines, and the other methods
// by one.
type Log struct {
	bus       Publisher
	log       *slog.Logger
	full      chan struct{} // receives when the buffer has a batch
	published prometheus.Counter
	dropped   prometheus.Counter
	repeated  prometheus.Counter

	mu      sync.Mutex
	buffer  []Entry
	held    map[share]int    // entries in the buffer
	added   map[share]int    // entries of this interval
	refused map[refusal]bool // of the last refusedEvery intervals
	ticks   int

	spare   []Entry // the other buffer, empty
	sending []batch // taken from the buffer, and not stored by the stream yet
}

// batch is a message with the number of its entries.
type batch struct {
	message bus.Message
	entries int
}

// New returns a log that publishes on b.
func New(b Publisher, log *slog.Logger) *Log {
	return &Log{
		bus: b, log: log, full: make(chan struct{}, 1), held: map[share]int{}, added: map[share]int{}, refused: map[refusal]bool{},
		published: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "request_log_published_total", Help: "Requests published for the request log.",
		}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "request_log_dropped_total", Help: "Requests that are missing in the request log, because the buffer was full or NATS was unavailable.",
		}),
		repeated: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "request_log_repeated_total", Help: "Refused requests that are missing in the request log, because it has one with the same credential and error of the same second.",
		}),
	}
}

// Collect registers the metrics of the log.
func (l *Log) Collect(r prometheus.Registerer) error {
	return errors.Join(r.Register(l.published), r.Register(l.dropped), r.Register(l.repeated))
}

// Record adds the entry of a request. It drops the entry if its company has no room left in the buffer,
// or if it repeats a refusal.
func (l *Log) Record(r *http.Request, e Entry) {
	e.Path = bounded(r.URL.EscapedPath(), r.RequestURI)
	l.mu.Lock()
	lost := l.add(e)
	isFull := lost == nil && len(l.buffer) == batchSize
	l.mu.Unlock()
	if lost != nil {
		lost.Inc()
	}
	if isFull {
		select {
		case l.full <- struct{}{}:
		default:
		}
	}
}

// add adds an entry to the buffer, or returns the counter of the reason why not.
func (l *Log) add(e Entry) (lost prometheus.Counter) {
	of, most := e.share(), mostOfCompany
	if of == (share{}) {
		most = mostUnproven
	}
	isLimited, limited := e.refusal()
	switch {
	case isLimited && l.refused[limited]:
		return l.repeated
	case l.added[of] >= most || l.held[of] >= min(most, (capacity-len(l.buffer))/2):
		return l.dropped
	}
	if isLimited {
		l.refused[limited] = true
	}
	l.buffer = append(l.buffer, e)
	l.added[of]++
	l.held[of]++
	return nil
}

// tick begins an interval.
func (l *Log) tick() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.added)
	if l.ticks++; l.ticks%refusedEvery == 0 {
		clear(l.refused)
	}
}

// Run publishes entries until ctx ends. Close publishes the rest.
func (l *Log) Run(ctx context.Context) error {
	ticker := time.NewTicker(flushEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			l.tick()
		case <-l.full:
		}
		l.flush(ctx)
	}
}

// Close publishes what is left. It gives up when ctx ends.
func (l *Log) Close(ctx context.Context) {
	for l.flush(ctx); ctx.Err() == nil && l.waits(); l.flush(ctx) {
		select {
		case <-ctx.Done():
		case <-time.After(flushEvery):
		}
	}
	l.mu.Lock()
	lost := len(l.buffer)
	l.mu.Unlock()
	for _, b := range l.sending {
		lost += b.entries
	}
	if lost > 0 {
		l.dropped.Add(float64(lost))
		l.log.Warn("requests are missing in the request log, because NATS is unavailable at shutdown", "requests", lost)
	}
}

// waits reports whether something is left to publish.
func (l *Log) waits() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.sending)+len(l.buffer) > 0
}

// flush publishes the batches of an earlier flush that failed, or else those of the buffer.
func (l *Log) flush(ctx context.Context) {
	if len(l.sending) == 0 {
		l.take()
	}
	if len(l.sending) == 0 {
		return
	}
	messages := make([]bus.Message, len(l.sending))
	for i, b := range l.sending {
		messages[i] = b.message
	}
	acked, err := l.bus.Publish(ctx, messages)
	var failed *bus.PublishError
	isRefused := func(i int) bool { return errors.As(err, &failed) && failed.Refused(i) }
	rest := l.sending[:0]
	for i, b := range l.sending {
		switch {
		case acked[i]:
			l.published.Add(float64(b.entries))
		case isRefused(i):
			l.dropped.Add(float64(b.entries))
			l.log.Error("a batch of the request log was refused", "requests", b.entries, "error", err)
		default:
			rest = append(rest, b)
		}
	}
	l.sending = rest
}

// take empties the buffer into batches.
func (l *Log) take() {
	l.mu.Lock()
	entries := l.buffer
	l.buffer = l.spare
	clear(l.held)
	l.mu.Unlock()
	for some := range slices.Chunk(entries, batchSize) {
		m, err := batchOf(some)
		if err != nil {
			l.dropped.Add(float64(len(some)))
			l.log.Error("a batch of the request log cannot be encoded", "error", err)
			continue
		}
		l.sending = append(l.sending, batch{m, len(some)})
	}
	clear(entries) // lets go of the texts
	l.spare = entries[:0]
}
