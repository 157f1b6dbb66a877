package edge

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"sync"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
)

// contentType is the media type of all bodies of both interfaces.
const contentType = "application/json"

// marshaler makes grpc-gateway read and write bodies with this package.
type marshaler struct{}

var _ runtime.Marshaler = marshaler{}

// scratches are reusable buffers for responses. They avoid growing a new buffer for each response,
// whose length is not known before it is written.
var scratches = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

// maxScratch is the largest buffer to reuse, in bytes.
const maxScratch = 256 << 10

func (marshaler) ContentType(any) string { return contentType }

func (marshaler) Marshal(v any) ([]byte, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("cannot write %T", v)
	}
	scratch := scratches.Get().(*[]byte)
	*scratch = AppendJSON((*scratch)[:0], m)
	out := bytes.Clone(*scratch)
	recycle(scratch)
	return out, nil
}

// recycle makes a buffer reusable, unless it has grown too large to keep.
func recycle(scratch *[]byte) {
	if cap(*scratch) <= maxScratch {
		scratches.Put(scratch)
	}
}

func (marshaler) Unmarshal(data []byte, v any) error {
	m, err := messageIn(v)
	if err != nil {
		return err
	}
	return DecodeJSON(data, m)
}

func (m marshaler) NewDecoder(r io.Reader) runtime.Decoder {
	return runtime.DecoderFunc(func(v any) error {
		err := m.read(r, v)
		// grpc-gateway keeps only the text of an error, so the exchange keeps the fault.
		if b, ok := r.(*body); ok && err != nil {
			b.exchange.fault = fault.From(err)
		}
		return err
	})
}

func (m marshaler) read(r io.Reader, v any) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return bodyFault(err)
	}
	if b, ok := r.(*body); ok && b.exchange.route.Bodiless && len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{}")
	}
	return m.Unmarshal(data, v)
}

// bodyFault returns the fault for a body that cannot be read.
func bodyFault(err error) *fault.Error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return bodyTooLarge()
	}
	return fault.New(fault.Invalid, fault.ReasonInvalidJSON, "the body could not be read").Because(err)
}

func (marshaler) NewEncoder(w io.Writer) runtime.Encoder {
	return runtime.EncoderFunc(func(v any) error {
		data, err := marshaler{}.Marshal(v)
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	})
}

// messageIn returns v if it is a message. If v is a pointer to a message pointer, it stores a new
// message there and returns it.
func messageIn(v any) (proto.Message, error) {
	if m, ok := v.(proto.Message); ok {
		return m, nil
	}
	p := reflect.ValueOf(v)
	if p.Kind() == reflect.Pointer && p.Elem().Kind() == reflect.Pointer {
		fresh := reflect.New(p.Elem().Type().Elem())
		if m, ok := fresh.Interface().(proto.Message); ok {
			p.Elem().Set(fresh)
			return m, nil
		}
	}
	return nil, fmt.Errorf("cannot read into %T", v)
}

// body is the body of a request, with the exchange of the request.
type body struct {
	io.ReadCloser
	exchange *exchange
}

// Read implements io.Reader, and counts the bytes.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.exchange.received += int64(n)
	return n, err
}

func bodyTooLarge() *fault.Error {
	return fault.New(fault.TooLarge, fault.ReasonPayloadTooLarge, "the body is larger than 1 MiB")
}
