package customer

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/id"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/privacy"
	"reservation.dev/platform/service"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
)

// Forgetting takes erasures from round to round and to their end.
type Forgetting struct {
	store  *store
	outbox *outbox.Outbox
	// remove is the bus's Remove.
	remove func(ctx context.Context, remove func(bus.Message) bool) (int, error)
	settle time.Duration
	now    func() time.Time
	log    *slog.Logger
}

// NewForgetting returns the job on db; settle is how long a request that is under
// way may take at most.
func NewForgetting(db *pg.DB, box *outbox.Outbox, b *bus.Bus, settle time.Duration, log *slog.Logger) *Forgetting {
	return &Forgetting{store: newStore(db), outbox: box, remove: b.Remove, settle: settle, now: time.Now, log: log}
}

// Listen takes the other services' answers until ctx ends.
func (f *Forgetting) Listen(ctx context.Context, b *bus.Bus) error {
	return b.Consume(ctx, bus.Consumer{Name: erasureConsumer, Subjects: []string{answersOfAll()}, Handle: f.heard})
}

// heard stores answers. One that comes again changes nothing.
func (f *Forgetting) heard(ctx context.Context, msgs []bus.Message) error {
	return pg.Fault(f.store.db.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		for _, m := range msgs {
			var e privacyv1.CustomerDataErased
			if err := proto.Unmarshal(m.Payload, &e); err != nil {
				return fmt.Errorf("%s %s: %w", m.Subject, m.ID, err)
			}
			customer, err := id.Parse[id.Customer](e.GetCustomerId())
			if err != nil {
				return fmt.Errorf("%s %s: %w", m.Subject, m.ID, err)
			}
			if _, err := tx.Exec(ctx, answerSQL, m.Company, customer, e.GetService(), e.GetRound(), e.GetErasedAt().AsTime()); err != nil {
				return err
			}
		}
		return nil
	}), nil)
}

const (
	goOnEvery = time.Second
	// goOnBatch is how many erasures share one reading of the event stream.
	goOnBatch = 100
)

// Run takes erasures on until ctx ends, in any replica.
func (f *Forgetting) Run(ctx context.Context, jobs *service.Jobs) error {
	return jobs.Every(ctx, "advance_erasures", goOnEvery, f.runOnce)
}

const (
	// remindEvery is long beside what a round takes, and short beside the 7 days
	// after which the stream has an announcement no more.
	remindEvery = time.Hour
	remindBatch = 1000
)

// Remind asks services again that have not answered, until ctx ends. What was
// announced is lost with the event stream, or with the database of a service that
// was restored; without this the erasure would wait for ever.
func (f *Forgetting) Remind(ctx context.Context, jobs *service.Jobs) error {
	return jobs.Every(ctx, "remind_erasures", remindEvery, f.remindOnce)
}

// remindOnce announces once more the rounds that wait for an answer. Several
// replicas may each do it; who has answered does it again and changes nothing.
func (f *Forgetting) remindOnce(ctx context.Context) error {
	reminded := 0
	err := f.store.db.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		list, err := f.store.unanswered(ctx, tx, f.now().Add(-remindEvery), remindBatch)
		if err != nil {
			return err
		}
		reminded = len(list)
		for _, e := range list {
			c, err := f.store.lockAny(ctx, tx, e.Company, e.Customer)
			if err != nil {
				return err
			}
			if err := f.outbox.Append(ctx, tx, erased(e.Company, c, e.Round)); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && reminded > 0 {
		f.log.Warn("erasures wait for a service, and are announced again", "erasures", reminded)
	}
	return pg.Fault(err, nil)
}

// runOnce begins the next round of erasures that have all answers, and ends those
// of which it was the last one.
func (f *Forgetting) runOnce(ctx context.Context) error {
	var last []Erasure
	err := f.store.db.InTx(ctx, pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		last = nil
		list, err := f.store.answered(ctx, tx, f.now().Add(-f.settle), goOnBatch)
		if err != nil {
			return err
		}
		for _, e := range list {
			if e.Round == e.LastRound {
				last = append(last, e)
				continue
			}
			if err := f.announce(ctx, tx, e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || len(last) == 0 {
		return pg.Fault(err, nil)
	}
	return f.finish(ctx, last)
}

// announce begins the next round. What requests have stored in this service's own
// database meanwhile goes in the same commit.
func (f *Forgetting) announce(ctx context.Context, tx *pg.Tx, e Erasure) error {
	c, err := f.store.lockAny(ctx, tx, e.Company, e.Customer)
	if err != nil {
		return err
	}
	if err := privacy.ForgetAnswers(ctx, tx, e.Company, e.Customer); err != nil {
		return err
	}
	e.Round, e.AnnouncedAt = e.Round+1, f.now()
	if err := f.store.saveErasure(ctx, tx, e); err != nil {
		return err
	}
	return f.outbox.Append(ctx, tx, erased(e.Company, c, e.Round))
}

// finish removes what the event stream still has, in one reading for all, and
// ends the erasures. Two replicas may both do it.
func (f *Forgetting) finish(ctx context.Context, list []Erasure) error {
	var ready []Erasure
	for _, e := range list {
		waiting, err := privacy.Waiting(ctx, f.store.db, e.Company, e.Customer, subjectErased)
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
	removed, err := f.remove(ctx, aboutAny(ready))
	if err != nil {
		return err
	}
	completed, err := f.store.complete(ctx, ready, f.now())
	if err == nil {
		f.log.Info("customers are erased", "customers", completed, "events_removed", removed)
	}
	return err
}

// aboutAny recognises the events that name one of the customers, but for those
// that tell of their end.
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
