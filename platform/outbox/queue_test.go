package outbox

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
)

// rows returns n leased rows that can be published until the given time.
func rows(n int, until time.Time) []leased {
	all := make([]leased, n)
	for i := range all {
		all[i] = leased{Message: bus.Message{ID: id.NewUUID(), Subject: fmt.Sprint(i), Payload: []byte("x")}, attempt: 1, expires: until}
	}
	return all
}

func opened() *queue {
	q := newQueue()
	q.setOpen()
	return q
}

func TestQueue(t *testing.T) {
	t.Parallel()
	now := time.Now()
	later := now.Add(time.Hour)

	t.Run("returns events in the order in which they were put, in batches", func(t *testing.T) {
		q := opened()
		all := rows(batchSize+1, later)
		for i := range all {
			q.put(all[i : i+1])
		}
		first, second := q.next(now), q.next(now)
		if len(first) != batchSize || len(second) != 1 || first[0].ID != all[0].ID || second[0].ID != all[batchSize].ID || q.bytes != 0 {
			t.Errorf("batches of %d and %d, %d bytes are left", len(first), len(second), q.bytes)
		}
		if more := q.next(now); more != nil {
			t.Errorf("%d more", len(more))
		}
	})

	t.Run("releases what is put while it is closed", func(t *testing.T) {
		q := newQueue()
		q.put(rows(3, later))
		if done, _ := q.takeOutcome(now, false); len(done.unpublished) != 3 || q.next(now) != nil {
			t.Errorf("%d released", len(done.unpublished))
		}
	})

	for name, overflow := range map[string]func(q *queue){
		"with too many events": func(q *queue) {
			for range mostQueued + 1 {
				q.put(rows(1, later))
			}
		},
		"with too many bytes": func(q *queue) {
			for range mostQueuedBytes>>20 + 1 {
				big := rows(1, later)
				big[0].Payload = make([]byte, 1<<20)
				q.put(big)
			}
		},
	} {
		t.Run("falls behind "+name+": releases all and closes (invariant 7)", func(t *testing.T) {
			q := opened()
			overflow(q)
			done, _ := q.takeOutcome(now, false)
			if q.isOpen() || len(q.events) != 0 || q.bytes != 0 || len(done.unpublished) == 0 || len(done.published) != 0 {
				t.Errorf("open: %v, %d events, %d bytes, %d released", q.isOpen(), len(q.events), q.bytes, len(done.unpublished))
			}
		})
	}

	t.Run("falls behind if a lease may end before its event is published (invariant 3)", func(t *testing.T) {
		q := opened()
		q.put(rows(1, later))
		q.put(rows(1, now.Add(time.Minute)))
		if batch := q.next(now.Add(2 * time.Minute)); batch != nil {
			t.Errorf("%d events to publish", len(batch))
		}
		if done, _ := q.takeOutcome(now, false); len(done.unpublished) != 2 || q.isOpen() {
			t.Errorf("%d released", len(done.unpublished))
		}
	})

	t.Run("falls behind when NATS does not accept an event", func(t *testing.T) {
		q := opened()
		q.put(rows(2, later))
		q.finish(outcome{unavailable: errors.New("nats: no responders")})
		if done, _ := q.takeOutcome(now, false); len(done.unpublished) != 2 || done.unavailable == nil || q.isOpen() {
			t.Errorf("%d released, open: %v", len(done.unpublished), q.isOpen())
		}
	})

	t.Run("collects the rows to delete for a while, or until a batch is full", func(t *testing.T) {
		q := opened()
		q.finish(published(1))
		q.finish(published(2))
		if done, at := q.takeOutcome(q.since, false); done.len() != 0 || !at.Equal(q.since.Add(settleEvery)) {
			t.Errorf("%d are recorded at once; the others at %s", done.len(), at)
		}
		if done, _ := q.takeOutcome(q.since.Add(settleEvery), false); done.len() != 3 {
			t.Errorf("%d are recorded in the end", done.len())
		}
		q.finish(published(batchSize))
		if done, _ := q.takeOutcome(q.since, false); done.len() != batchSize {
			t.Errorf("%d of a full batch are recorded", done.len())
		}
	})

	t.Run("keeps outcomes that could not be recorded", func(t *testing.T) {
		q := opened()
		q.finish(published(1))
		done, _ := q.takeOutcome(now, true)
		q.finish(published(2))
		q.giveBack(done)
		if done, _ := q.takeOutcome(now, true); done.len() != 3 {
			t.Errorf("%d outcomes", done.len())
		}
	})
}

func published(n int) (done outcome) {
	for range n {
		done.published = append(done.published, rowID(id.NewUUID()))
	}
	return done
}
