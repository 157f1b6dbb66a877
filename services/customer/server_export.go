package customer

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"google.golang.org/grpc"

	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

const (
	// chunkSize is about how much JSON one message carries, in bytes.
	chunkSize = 256 << 10
	// firstWindow is how many customers are read before it is known how much they
	// take, and maxWindow the most that are read at once.
	firstWindow = 1000
	maxWindow   = 10_000
)

// ExportCustomers implements CustomerService. Rows become JSON here and nowhere
// again.
func (s *Server) ExportCustomers(req *customerv1.ExportCustomersRequest, out grpc.ServerStreamingServer[customerv1.ExportCustomersResponse]) error {
	company, err := rpc.Tenant(out.Context())
	if err != nil {
		return err
	}
	shape, err := shapeOf(req.GetMembers())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(out.Context())
	defer cancel()
	from, err := check.Bound("updated_since", req.GetUpdatedSince())
	if err != nil {
		return err
	}
	e := &export{server: s, company: company, shape: &shape, since: from, sent: make(chan []byte, 1)}
	for c := range e.chunks(ctx) {
		if c.err != nil {
			return c.err
		}
		if err := out.Send(&customerv1.ExportCustomersResponse{Json: c.json, Count: int32(c.count)}); err != nil {
			return err
		}
		e.reuse(c.json) // Send has copied it
	}
	// A channel that was closed because ctx ended is not the end of the customers.
	return ctx.Err()
}

// export is one export under way.
//
// Each chunk is a query of its own that goes on behind the last id, rather than
// a stretch of one snapshot: while a reader is slow, or stops, the export holds
// no connection, and no old rows that vacuum could remove. An id does not change
// and a deletion is final, so that no customer is met twice, and none is missed
// who is there from the beginning to the end.
type export struct {
	server  *Server
	company id.Company
	shape   *shape
	since   time.Time // zero: all
	// sent has the memory of a chunk that was sent, for one to come: an export
	// writes many times what it needs at once.
	sent chan []byte
}

// chunk is a stretch of the exported text, or why there is no more of it.
type chunk struct {
	json  []byte
	count int
	last  id.Customer
	err   error
}

// chunks renders the export, each chunk while the one before it is being sent.
// The channel is closed after the last chunk, after a failure, or when ctx ends.
func (e *export) chunks(ctx context.Context) <-chan chunk {
	chunks := make(chan chunk)
	go func() {
		defer close(chunks)
		var after id.Customer
		for rows := firstWindow; ; {
			c := e.chunk(ctx, after, rows)
			if c.err == nil && c.count == 0 {
				return
			}
			select {
			case chunks <- c:
			case <-ctx.Done():
				return
			}
			if c.err != nil || c.count < rows {
				return
			}
			after, rows = c.last, max(1, min(chunkSize*c.count/len(c.json), maxWindow))
		}
	}()
	return chunks
}

// chunk renders up to so many customers behind one.
func (e *export) chunk(ctx context.Context, after id.Customer, rows int) (c chunk) {
	// No caller's stack is above the goroutine of chunks to recover.
	defer func() {
		if p := recover(); p != nil {
			c = chunk{err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	release, err := e.server.enter(ctx)
	if err != nil {
		return chunk{err: err}
	}
	defer release()
	c = chunk{json: e.buffer(), last: after}
	c.err = e.server.store.export(ctx, e.company, after, rows, e.since, func(values [][]byte) (err error) {
		if c.count > 0 || !after.IsZero() {
			c.json = append(c.json, ',')
		}
		if c.json, err = e.shape.append(c.json, values); err != nil {
			return err
		}
		c.count++
		copy(c.last[:], values[0])
		return nil
	})
	return c
}

// buffer returns memory for a chunk.
func (e *export) buffer() []byte {
	select {
	case b := <-e.sent:
		return b[:0]
	default:
		return make([]byte, 0, chunkSize+chunkSize/8)
	}
}

func (e *export) reuse(b []byte) {
	select {
	case e.sent <- b:
	default:
	}
}
