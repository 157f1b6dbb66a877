package rpc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"

	"reservation.dev/platform/fault"
)

// frames is implemented by the transport stream of grpc-go, in addition to grpc.ServerTransportStream.
// It gives the length of a message before the message arrives. A grpc.ServerStream would receive
// messages up to the largest size of the whole server.
type frames interface {
	ReadMessageHeader(header []byte) error
	Read(n int) (mem.BufferSlice, error)
	RecvCompress() string
}

// publicStream is the stream of a call that needs no token. It refuses a message that is too large
// before it receives the message, and ends a call whose only message does not arrive in time. A caller
// without a token can therefore use only a little memory, for a short time.
type publicStream struct {
	grpc.ServerStream
	frames frames
	most   int           // the largest message, in bytes
	within time.Duration // the time limit for the only message; 0 means that the caller sends several
}

// newPublicStream returns a publicStream for ss, or ss itself if its transport does not implement
// frames. A test ensures that the transport of the current grpc-go does.
func (g *guard) newPublicStream(ss grpc.ServerStream, desc grpc.StreamDesc) grpc.ServerStream {
	f, ok := grpc.ServerTransportStreamFromContext(ss.Context()).(frames)
	if !ok {
		return ss
	}
	s := &publicStream{ServerStream: ss, frames: f, most: maxPublicRequest}
	if !desc.ClientStreams {
		s.within = g.receiveWithin
	}
	return s
}

// RecvMsg implements grpc.ServerStream. After a timeout, the read in the background ends together with
// the stream, when the handler returns.
func (s *publicStream) RecvMsg(m any) error {
	in, ok := m.(*received)
	if !ok {
		return fmt.Errorf("cannot receive into %T", m)
	}
	if s.within == 0 {
		data, err := s.message()
		return in.take(data, err)
	}
	type arrival struct {
		data mem.BufferSlice
		err  error
	}
	arrived := make(chan arrival, 1)
	go func() {
		data, err := s.onlyMessage()
		arrived <- arrival{data, err}
	}()
	timer := time.NewTimer(s.within)
	defer timer.Stop()
	select {
	case a := <-arrived:
		return in.take(a.data, a.err)
	case <-timer.C:
		return fault.New(fault.Invalid, fault.ReasonValidation, fmt.Sprintf("the request did not arrive within %s", s.within))
	}
}

// onlyMessage returns the message of a caller that must send exactly one.
func (s *publicStream) onlyMessage() (mem.BufferSlice, error) {
	data, err := s.message()
	if errors.Is(err, io.EOF) {
		return nil, malformed(errors.New("no message"))
	}
	if err != nil {
		return nil, err
	}
	_, err = s.header()
	if errors.Is(err, io.EOF) {
		return data, nil
	}
	data.Free()
	if err == nil {
		err = malformed(errors.New("more than one message"))
	}
	return nil, err
}

// message returns the next message, encoded, or io.EOF if there is none.
func (s *publicStream) message() (mem.BufferSlice, error) {
	header, err := s.header()
	if err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(header[1:])
	if int64(size) > int64(s.most) {
		return nil, tooLarge(s.most)
	}
	data, err := s.frames.Read(int(size))
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, s.failure(err)
	}
	if header[0] == 0 {
		return data, nil
	}
	defer data.Free()
	return s.decompress(data)
}

// header returns the compression flag and the length of the next message.
func (s *publicStream) header() (header [5]byte, err error) {
	if err := s.frames.ReadMessageHeader(header[:]); err != nil {
		if errors.Is(err, io.EOF) {
			return header, io.EOF
		}
		return header, s.failure(err)
	}
	return header, nil
}

// failure returns the error of a failed read: the end of the call, or a malformed message.
func (s *publicStream) failure(err error) error {
	if end := s.Context().Err(); end != nil {
		return end
	}
	return malformed(err)
}

// decompress returns the message that is compressed in data. It stops one byte after the limit, because
// a small message can expand to gigabytes.
func (s *publicStream) decompress(data mem.BufferSlice) (mem.BufferSlice, error) {
	compressor := encoding.GetCompressor(s.frames.RecvCompress())
	if compressor == nil {
		return nil, malformed(fmt.Errorf("unknown compression %q", s.frames.RecvCompress()))
	}
	r, err := compressor.Decompress(data.Reader())
	if err != nil {
		return nil, malformed(err)
	}
	if closer, ok := r.(io.Closer); ok {
		defer closer.Close()
	}
	plain, err := mem.ReadAll(io.LimitReader(r, int64(s.most)+1), mem.DefaultBufferPool())
	if err != nil {
		plain.Free()
		return nil, malformed(err)
	}
	return plain, nil
}
