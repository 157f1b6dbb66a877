package reservectl

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// batchSize is how many items travel in one message, and are stored in one commit.
const batchSize = 2000

// inFlight bounds the batches that are sent and not answered.
const inFlight = 4

// item is one thing to import, and the line it stands on.
type item[T any] struct {
	line      int
	reference string
	value     T
}

// outcome is what became of one item.
type outcome struct {
	reference string
	created   bool
	refused   *refusal
}

// exchange is the stream of one import: batches out, their outcomes back.
type exchange[T any] struct {
	send      func([]T) error
	receive   func() ([]outcome, error)
	closeSend func() error
}

// summary is the result of an import.
type summary struct {
	read, created, existed, refused int
	report                          string
}

func (s summary) row() row {
	r := row{{"read", s.read}, {"created", s.created}, {"existed", s.existed}, {"refused", s.refused}}
	if s.report != "" {
		r = append(r, member{"report", s.report})
	}
	return r
}

// importAll reads items until io.EOF, sends them in batches, and notes what was
// refused in a report. next returns a refusal for a line that cannot be sent.
func importAll[T any](next func() (item[T], error), x exchange[T], rep *report, progress *progress) (summary, error) {
	var sum summary
	sent := make(chan []item[T], inFlight)
	var g errgroup.Group
	g.Go(func() error {
		defer close(sent)
		for {
			batch, err := nextBatch(next, rep)
			if len(batch) > 0 {
				values := make([]T, len(batch))
				for i := range batch {
					values[i] = batch[i].value
				}
				sent <- batch
				if sendErr := x.send(values); sendErr != nil {
					return nil // the receiving side learns why
				}
			}
			if errors.Is(err, io.EOF) {
				return x.closeSend()
			}
			if err != nil {
				_ = x.closeSend()
				return err
			}
		}
	})
	receive := func() error {
		for batch := range sent {
			outcomes, err := x.receive()
			if err != nil {
				return err
			}
			if len(outcomes) != len(batch) {
				return fmt.Errorf("%d items were answered with %d results", len(batch), len(outcomes))
			}
			for i, o := range outcomes {
				switch {
				case o.refused != nil:
					rep.refuse(batch[i].line, batch[i].reference, *o.refused)
				case o.created:
					sum.created++
				default:
					sum.existed++
				}
			}
			progress.add(len(batch))
		}
		return nil
	}
	err := receive()
	if err != nil {
		for range sent { // lets the sender end
		}
	}
	err = errors.Join(err, g.Wait())
	progress.end()
	sum.refused, sum.report = rep.count, rep.path()
	sum.read = sum.created + sum.existed + sum.refused
	return sum, errors.Join(err, rep.close())
}

// nextBatch reads up to batchSize items; lines that cannot be sent go to the report.
func nextBatch[T any](next func() (item[T], error), rep *report) ([]item[T], error) {
	batch := make([]item[T], 0, batchSize)
	for len(batch) < batchSize {
		it, err := next()
		var refused refusal
		switch {
		case errors.As(err, &refused):
			rep.refuse(it.line, it.reference, refused)
			continue
		case err != nil:
			return batch, err
		}
		batch = append(batch, it)
	}
	return batch, nil
}

// report collects refused lines in a file, which is made with the first one.
type report struct {
	file  string
	mu    sync.Mutex
	count int
	f     *os.File
	w     *bufio.Writer
	err   error
}

func (r *report) refuse(line int, reference string, why refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	if r.f == nil && r.err == nil {
		if r.f, r.err = os.Create(r.file); r.err == nil {
			r.w = bufio.NewWriter(r.f)
		}
	}
	if r.err != nil {
		return
	}
	text, err := json.Marshal(row{
		{"line", line}, {"reference", reference}, {"field", why.field}, {"rule", why.rule}, {"message", why.message},
	})
	if err == nil {
		_, err = r.w.Write(append(text, '\n'))
	}
	r.err = err
}

func (r *report) path() string {
	if r.count == 0 {
		return ""
	}
	return r.file
}

func (r *report) close() error {
	if r.f == nil {
		return r.err
	}
	return errors.Join(r.err, r.w.Flush(), r.f.Close())
}

// progress says on standard error how far a long command is.
type progress struct {
	w        io.Writer
	terminal bool
	what     string
	total    int // 0: not known
	done     int
	began    time.Time
	said     time.Time
}

func (a *app) progress(what string, total int) *progress {
	return &progress{w: a.errOut, terminal: isTerminal(a.errOut), what: what, total: total, began: time.Now()}
}

// add counts n more, and says so once a second on a terminal, every ten else.
func (p *progress) add(n int) {
	p.done += n
	every := 10 * time.Second
	if p.terminal {
		every = time.Second
	}
	if time.Since(p.said) >= every && time.Since(p.began) >= every {
		p.said = time.Now()
		p.say()
	}
}

func (p *progress) say() {
	rate := float64(p.done) / max(time.Since(p.began).Seconds(), 0.001)
	line := fmt.Sprintf("%d %s, %.0f per second", p.done, p.what, rate)
	if p.total > 0 {
		line = fmt.Sprintf("%d of %d %s, %.0f per second", p.done, p.total, p.what, rate)
	}
	if p.terminal {
		fmt.Fprintf(p.w, "\r\033[K%s", line)
		return
	}
	fmt.Fprintln(p.w, line)
}

func (p *progress) end() {
	p.say()
	if p.terminal {
		fmt.Fprintln(p.w)
	}
}
