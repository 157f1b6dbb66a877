package customer

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"time"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/privacy"
	"reservation.dev/platform/service"
)

// ErasureJobs advances erasures from round to round until they are complete.
type ErasureJobs struct {
	store  *store
	outbox *outbox.Outbox
	// remove is Bus.Remove.
	remove func(ctx context.Context, remove func(bus.Message) bool) (int, error)
	settle time.Duration
	now    func() time.Time
	log    *slog.Logger
}

// NewErasureJobs returns the jobs on db; settle is the longest time that a request can be under
// way.
func NewErasureJobs(db *pg.DB, box *outbox.Outbox, b *bus.Bus, settle time.Duration, log *slog.Logger) *ErasureJobs {
	return &ErasureJobs{store: newStore(db), outbox: box, remove: b.Remove, settle: settle, now: time.Now, log: log}
}

// Listen stores the other services' answers until ctx ends.
func (j *ErasureJobs) Listen(ctx context.Context, b *bus.Bus) error {
	return b.Consume(ctx, bus.Consumer{Name: erasureConsumer, Subjects: []string{allAnswers()}, Handle: j.handle})
}

// handle stores answers. A repeated one changes nothing.
func (j *ErasureJobs) handle(ctx context.Context, msgs []bus.Message) error {
	return j.store.Fault(j.store.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		for _, m := range msgs {
			answer, err := answerOf(m)
			if err != nil {
				return fmt.Errorf("%s %s: %w", m.Subject, m.ID, err)
			}
			if err := j.store.saveAnswer(ctx, tx, m.Company, answer); err != nil {
				return err
			}
		}
		return nil
	}))
}

const (
	advanceEvery = time.Second
	// advanceBatch is the number of erasures that share one reading of the event stream.
	advanceBatch = 100
)

// Run advances erasures until ctx ends. Every replica can run it.
func (j *ErasureJobs) Run(ctx context.Context, jobs *service.Jobs) error {
	return jobs.Every(ctx, "advance_erasures", advanceEvery, j.runOnce)
}

const (
	// remindEvery is much longer than a round takes, and much shorter than the 7 days for which the
	// stream keeps an announcement.
	remindEvery = time.Hour
	remindBatch = 1000
)

// Remind repeats announcements to services that have not answered, until ctx ends. An announcement
// is lost with the event stream, or with the database of a service that was restored; without the
// repetition the erasure would wait forever.
func (j *ErasureJobs) Remind(ctx context.Context, jobs *service.Jobs) error {
	return jobs.Every(ctx, "remind_erasures", remindEvery, j.remindOnce)
}

// remindOnce announces the rounds that wait for an answer again. Several replicas may do so; a
// service that has already answered erases again and changes nothing.
func (j *ErasureJobs) remindOnce(ctx context.Context) error {
	reminded := 0
	err := j.store.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		list, err := j.store.unanswered(ctx, tx, j.now().Add(-remindEvery), remindBatch)
		if err != nil {
			return err
		}
		reminded = len(list)
		for _, e := range list {
			c, exists, err := j.customerOf(ctx, tx, e)
			if err != nil {
				return err
			}
			if !exists {
				continue
			}
			if err := j.outbox.Append(ctx, tx, erased(e, c)); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && reminded > 0 {
		j.log.Warn("erasures wait for a service; they are announced again", "erasures", reminded)
	}
	return j.store.Fault(err)
}

// runOnce begins the next round of the erasures that have all answers, and completes those that
// were in the last round.
func (j *ErasureJobs) runOnce(ctx context.Context) error {
	var last []Erasure
	err := j.store.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		last = nil
		list, err := j.store.answered(ctx, tx, j.now().Add(-j.settle), advanceBatch)
		if err != nil {
			return err
		}
		for _, e := range list {
			if e.Round == e.LastRound {
				last = append(last, e)
				continue
			}
			if err := j.announce(ctx, tx, e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || len(last) == 0 {
		return j.store.Fault(err)
	}
	return j.finish(ctx, last)
}

// announce begins the next round. The same commit deletes what requests have stored in this
// service's own database since the previous round.
func (j *ErasureJobs) announce(ctx context.Context, tx *pg.Tx, e Erasure) error {
	c, exists, err := j.customerOf(ctx, tx, e)
	if err != nil || !exists {
		return err
	}
	if err := privacy.ForgetAnswers(ctx, tx, e.Company, e.Customer); err != nil {
		return err
	}
	e.Round, e.AnnouncedAt = e.Round+1, j.now()
	if err := j.store.saveErasure(ctx, tx, e); err != nil {
		return err
	}
	return j.outbox.Append(ctx, tx, erased(e, c))
}

// customerOf locks the customer of an erasure. If the test data of the company were deleted, the
// customer does not exist: customerOf deletes the erasure too.
func (j *ErasureJobs) customerOf(ctx context.Context, tx *pg.Tx, e Erasure) (c Customer, exists bool, err error) {
	c, err = j.store.lockAny(ctx, tx, e.Company, e.Customer)
	if fault.Is(err, fault.NotFound) && e.Company.IsTest() {
		return c, false, j.store.deleteErasure(ctx, tx, e)
	}
	return c, err == nil, err
}

// finish removes the remaining events from the event stream, in one reading for all erasures, and
// completes the erasures. Two replicas may both do it.
func (j *ErasureJobs) finish(ctx context.Context, list []Erasure) error {
	var ready []Erasure
	for _, e := range list {
		waiting, err := privacy.Waiting(ctx, j.store.DB, e.Company, e.Customer, subjectErased)
		if err != nil {
			return err
		}
		if !waiting {
			ready = append(ready, e)
		}
	}
	if len(ready) == 0 {
		return nil
	}
	removed, err := j.remove(ctx, aboutAny(ready))
	if err != nil {
		return err
	}
	completed, err := j.store.complete(ctx, ready, j.now())
	if err == nil {
		j.log.Info("customer erasures are complete", "customers", completed, "events_removed", removed)
	}
	return err
}

// aboutAny matches the events that name one of the customers, except those that report the end of
// an erasure.
func aboutAny(list []Erasure) func(bus.Message) bool {
	names := make(map[id.Company][][]byte)
	for _, e := range list {
		names[e.Company] = append(names[e.Company], []byte(e.Customer.String()))
	}
	return func(m bus.Message) bool {
		switch {
		case m.Subject == subjectErased, isAnswer(m.Subject):
			return false
		case m.Subject == subjectDeleted && bytes.Contains(m.Payload, []byte(erasedEmail)):
			return false
		}
		for _, name := range names[m.Company] {
			if bytes.Contains(m.Payload, name) {
				return true
			}
		}
		return false
	}
}
