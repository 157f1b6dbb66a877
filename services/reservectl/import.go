package reservectl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/bounds"
	"reservation.dev/platform/enum"
	"reservation.dev/platform/fault"
)

// The bounds of a batch, which is sent in one message and stored in one commit.
const (
	batchSize  = 2000
	batchBytes = 4 << 20 // well below the limit of a message
)

// inFlight bounds the number of batches that were sent and are not yet answered.
const inFlight = 4

// item is one thing to import, such as a customer or a purchase, with the lines that it was read from.
// Made-up data has no lines.
type item[T proto.Message] struct {
	lines     []record
	reference string
	value     T
}

// outcome is the result of importing one item. An item that is neither created nor updated nor
// refused existed before.
type outcome struct {
	created, updated bool
	refused          *refusal
}

// importResult is a service's answer for one item. O is the enum of outcomes.
type importResult[O enum.Enum] interface {
	GetOutcome() O
	GetField() string
	GetRule() string
	GetMessage() string
}

// outcomesOf returns the outcomes of a batch.
func outcomesOf[O enum.Enum, R importResult[O]](results []R) []outcome {
	outcomes := make([]outcome, len(results))
	for i, r := range results {
		outcomes[i] = outcome{created: enum.Name(r.GetOutcome()) == "created"}
		if enum.Name(r.GetOutcome()) == "refused" {
			outcomes[i].refused = &refusal{r.GetField(), r.GetRule(), r.GetMessage()}
		}
	}
	return outcomes
}

// exchange is the stream of one import: it sends batches and receives their outcomes.
type exchange[T proto.Message] struct {
	// size is the maximum number of items in a batch; 0: batchSize.
	size      int
	send      func([]T) error
	receive   func() ([]outcome, error)
	closeSend func() error
}

// unaryExchange returns an exchange for a service that answers each batch in one call of store.
func unaryExchange[T proto.Message](size int, store func(batch []T) ([]outcome, error)) exchange[T] {
	// importAll has at most one batch more than inFlight without an outcome, plus the one that it sends.
	waiting := make(chan []T, inFlight+2)
	return exchange[T]{
		size:      size,
		send:      func(batch []T) error { waiting <- batch; return nil },
		receive:   func() ([]outcome, error) { return store(<-waiting) },
		closeSend: func() error { return nil },
	}
}

// summary is the result of an import.
type summary struct {
	read, created, updated, existed, refused int
	// updates is set if the import can update items.
	updates bool
	report  string
}

func (s summary) row() row {
	r := row{{"read", s.read}, {"created", s.created}}
	if s.updates {
		r = append(r, member{"updated", s.updated})
	}
	r = append(r, member{"existed", s.existed}, member{"refused", s.refused})
	if s.report != "" {
		r = append(r, member{"report", s.report})
	}
	return r
}

// importAll reads items until io.EOF, sends them in batches, and writes refused items to the
// report. next returns a refusal for lines that cannot be sent. The summary counts the answered
// items, even if there is an error. importAll returns when ctx ends and does not wait for next,
// which may be reading from a terminal.
func importAll[T proto.Message](ctx context.Context, next func() (item[T], error), x exchange[T], rep *report, p *progress) (summary, error) {
	checker, err := bounds.NewChecker()
	if err != nil {
		return summary{}, err
	}
	next = withinBounds(checker, next)
	sent := make(chan []item[T], inFlight)
	sender := make(chan error, 1)
	gone := make(chan struct{}) // closed when receiveAll has returned
	go func() {
		err := sendAll(next, x, rep, sent, gone)
		close(sent)
		sender <- err
	}()
	sum, err := receiveAll(ctx, x, rep, sent, p)
	close(gone)
	if err == nil {
		err = <-sender
	}
	p.end()
	sum.refused, sum.report = rep.refusals(), rep.path()
	sum.read = sum.created + sum.updated + sum.existed + sum.refused
	return sum, errors.Join(err, rep.close())
}

// withinBounds refuses items of next whose texts or lists are too long. The service would refuse
// the whole batch of such an item.
func withinBounds[T proto.Message](checker *bounds.Checker, next func() (item[T], error)) func() (item[T], error) {
	return func() (item[T], error) {
		it, err := next()
		if err != nil {
			return it, err
		}
		return it, refusalOf(checker.Check(it.value))
	}
}

// refusalOf returns the first violation in err as a refusal. It returns an error without fields
// unchanged, which ends the import.
func refusalOf(err error) error {
	f := fault.From(err)
	if f == nil || len(f.Fields) == 0 {
		return err
	}
	return refusal{f.Fields[0].Field, f.Fields[0].Rule, f.Fields[0].Message}
}

// sendAll sends each batch to the service, and before that to sent, where receiveAll waits for
// it.
func sendAll[T proto.Message](next func() (item[T], error), x exchange[T], rep *report, sent chan<- []item[T], gone <-chan struct{}) error {
	for ahead := (*item[T])(nil); ; {
		var batch []item[T]
		var err error
		batch, ahead, err = nextBatch(next, ahead, cmp.Or(x.size, batchSize), rep)
		if len(batch) > 0 {
			values := make([]T, len(batch))
			for i := range batch {
				values[i] = batch[i].value
			}
			select {
			case sent <- batch:
			case <-gone:
				return nil
			}
			if x.send(values) != nil {
				return nil // receiveAll gets the error
			}
		}
		if errors.Is(err, io.EOF) {
			return x.closeSend()
		}
		if err != nil {
			return errors.Join(err, x.closeSend())
		}
	}
}

func receiveAll[T proto.Message](ctx context.Context, x exchange[T], rep *report, sent <-chan []item[T], p *progress) (sum summary, err error) {
	for {
		var batch []item[T]
		var more bool
		select {
		case batch, more = <-sent:
		case <-ctx.Done():
			return sum, ctx.Err()
		}
		if !more {
			return sum, nil
		}
		outcomes, err := x.receive()
		if errors.Is(err, io.EOF) {
			err = errors.New("the service ended the import early")
		}
		if err != nil {
			return sum, err
		}
		if len(outcomes) != len(batch) {
			return sum, resultsError(len(outcomes), len(batch))
		}
		for i, o := range outcomes {
			switch {
			case o.refused != nil:
				rep.refuse(batch[i].reference, batch[i].lines, *o.refused)
			case o.created:
				sum.created++
			case o.updated:
				sum.updated++
			default:
				sum.existed++
			}
		}
		p.add(len(batch))
	}
}

func resultsError(results, items int) error {
	return fmt.Errorf("the service returned %d results for %d items", results, items)
}

// nextBatch reads items until the batch is full, which is after most items or batchBytes. Lines
// that cannot be sent go to the report. It returns an item that does not fit as ahead, which is the
// first of the next batch.
func nextBatch[T proto.Message](next func() (item[T], error), first *item[T], most int, rep *report) (batch []item[T], ahead *item[T], err error) {
	batch = make([]item[T], 0, most)
	size := 0
	if first != nil {
		batch, size = append(batch, *first), proto.Size(first.value)
	}
	for len(batch) < most {
		it, err := next()
		var refused refusal
		switch {
		case errors.As(err, &refused):
			rep.refuse(it.reference, it.lines, refused)
			continue
		case err != nil:
			return batch, nil, err
		}
		if size += proto.Size(it.value); size > batchBytes && len(batch) > 0 {
			return batch, &it, nil
		}
		batch = append(batch, it)
	}
	return batch, nil, nil
}

// progress prints the progress of a long command to standard error.
type progress struct {
	w        io.Writer
	terminal bool
	label    string // printed before the numbers
	noun     string // in the plural
	total    int    // 0: not known
	done     int
	began    time.Time
	printed  time.Time
}

func (a *app) progress(noun string, total int) *progress {
	return &progress{w: a.errOut, terminal: isTerminal(a.errOut), noun: noun, total: total, began: time.Now()}
}

// add counts n more items. It prints the count at most once a second on a terminal, and every
// ten seconds elsewhere.
func (p *progress) add(n int) {
	p.done += n
	every := 10 * time.Second
	if p.terminal {
		every = time.Second
	}
	if time.Since(p.printed) >= every && time.Since(p.began) >= every {
		p.printed = time.Now()
		p.print()
	}
}

func (p *progress) print() {
	rate := float64(p.done) / max(time.Since(p.began).Seconds(), 0.001)
	line := fmt.Sprintf("%s%s, %.0f per second", p.label, quantity(p.done, p.noun), rate)
	if p.total > 0 {
		line = fmt.Sprintf("%s%d of %s, %.0f per second", p.label, p.done, quantity(p.total, p.noun), rate)
	}
	if p.terminal {
		fmt.Fprintf(p.w, "\r\033[K%s", line)
		return
	}
	fmt.Fprintln(p.w, line)
}

func (p *progress) end() {
	p.print()
	if p.terminal {
		fmt.Fprintln(p.w)
	}
}

// quantity returns a number with its noun, whose plural is given: "1 customer", "2 customers".
func quantity(n int, plural string) string {
	if n == 1 {
		plural = strings.TrimSuffix(plural, "s")
	}
	return fmt.Sprintf("%d %s", n, plural)
}
