package customer

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"google.golang.org/grpc"

	"reservation.dev/platform/check"
	"reservation.dev/platform/id"
	"reservation.dev/platform/roles"
	"reservation.dev/platform/rpc"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

const (
	// chunkSize is the approximate size of the JSON in one message, in bytes.
	chunkSize = 256 << 10
	// firstWindow is the number of customers that are read before their size is known, and
	// maxWindow is the largest number that is read at a time.
	firstWindow = 1000
	maxWindow   = 10_000
)

// ExportCustomers implements CustomerService. The rows are converted to JSON only here.
func (s *Server) ExportCustomers(req *customerv1.ExportCustomersRequest, out grpc.ServerStreamingServer[customerv1.ExportCustomersResponse]) error {
	company, err := rpc.Tenant(out.Context())
	if err != nil {
		return err
	}
	if err := roles.CheckExport(rpc.ClaimsFrom(out.Context())); err != nil {
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
	// A channel that was closed because ctx ended does not mean that the export is complete.
	return ctx.Err()
}

// export is one export in progress.
//
// Each chunk is a separate query that continues after the last id, not part of one snapshot. While
// a reader is slow or pauses, the export therefore holds no connection, and does not keep vacuum
// from removing old rows. Ids do not change and deletions are final, so no customer is exported
// twice, and no customer that exists from the beginning to the end is missed.
type export struct {
	server  *Server
	company id.Company
	shape   *shape
	since   time.Time // zero: all
	// sent has buffers of sent chunks for reuse, because an export writes many times the memory
	// that it needs at a time.
	sent chan []byte
}

// chunk is a piece of the exported text, or the reason why there is no more.
type chunk struct {
	json  []byte
	count int
	last  id.Customer
	err   error
}

// chunks renders the export, each chunk while the previous one is being sent. It closes the channel
// after the last chunk, after a failure, or when ctx ends.
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

// chunk renders at most rows customers that follow after.
func (e *export) chunk(ctx context.Context, after id.Customer, rows int) (c chunk) {
	// The goroutine of chunks has no caller that recovers from a panic.
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

// buffer returns a buffer for a chunk.
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
