package rpc

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"reservation.dev/platform/bounds"
	"reservation.dev/platform/fault"
)

// Server is a gRPC server that admits a caller before it reads the request. grpc-go reads the request
// of a unary method before any interceptor runs, so a caller without a token could make it read and
// decode the largest request. Server therefore serves each unary method as a stream of one message
// each way, which is the same on the wire, and runs the guard before the handler of every stream.
type Server struct {
	*grpcServer
	guard *guard
}

// grpcServer is the server without the guard. The name is unexported, so that no other package can
// register a service that the guard does not protect.
type grpcServer = grpc.Server

// RegisterService implements grpc.ServiceRegistrar.
func (s *Server) RegisterService(desc *grpc.ServiceDesc, impl any) {
	s.guard.prepare(desc.ServiceName)
	served := *desc
	served.Methods, served.Streams = nil, nil
	for _, m := range desc.Streams {
		served.Streams = append(served.Streams, s.guard.protect(desc.ServiceName, m))
	}
	for _, m := range desc.Methods {
		unary := grpc.StreamDesc{StreamName: m.MethodName, Handler: unaryHandler(m.Handler)}
		served.Streams = append(served.Streams, s.guard.protect(desc.ServiceName, unary))
	}
	s.grpcServer.RegisterService(&served, impl)
}

// unaryHandler returns a stream handler that behaves like a unary method.
func unaryHandler(handle grpc.MethodHandler) grpc.StreamHandler {
	return func(srv any, stream grpc.ServerStream) error {
		answer, err := handle(srv, stream.Context(), stream.RecvMsg, nil)
		if err != nil {
			return err
		}
		return stream.SendMsg(answer)
	}
}

// prepare reads the bounds of a service's requests before the first request arrives.
func (g *guard) prepare(service string) {
	found, _ := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
	desc, ok := found.(protoreflect.ServiceDescriptor)
	if !ok {
		return
	}
	for i := range desc.Methods().Len() {
		message, err := protoregistry.GlobalTypes.FindMessageByName(desc.Methods().Get(i).Input().FullName())
		if err == nil {
			err = g.bounds.Prepare(message)
		}
		if err != nil {
			g.log.Error("cannot read the bounds of a request", "service", service, "error", err.Error())
		}
	}
}

// serverStream is the stream of an admitted caller. It checks every message that it receives against
// the bounds of its fields.
type serverStream struct {
	grpc.ServerStream
	ctx    context.Context
	bounds *bounds.Checker
	most   int // the largest message, in bytes
}

// Context implements grpc.ServerStream.
func (s *serverStream) Context() context.Context { return s.ctx }

// RecvMsg implements grpc.ServerStream.
func (s *serverStream) RecvMsg(m any) error {
	in := received{message: m, most: s.most, bounds: s.bounds}
	if err := s.ServerStream.RecvMsg(&in); err != nil {
		if status.Code(err) == codes.Internal { // not exactly one message, or not a gRPC frame
			return malformed(err)
		}
		return err
	}
	if in.err != nil {
		return in.err
	}
	return s.bounds.Check(m.(proto.Message)) // decode accepts only proto messages
}

func malformed(cause error) error {
	return fault.New(fault.Invalid, fault.ReasonValidation, "the message is malformed").Because(cause)
}

// received is a message to decode and the error of decoding it. The codec does not return that error,
// because grpc-go would then end the call before the guard can respond with a fault.
type received struct {
	message any
	most    int // bytes
	bounds  *bounds.Checker
	err     error
}

// messages is the protobuf codec of a server. It does not decode messages that are larger than their
// method accepts, or that contain a list that is too long.
type messages struct{ encoding.CodecV2 }

// Unmarshal implements encoding.CodecV2.
func (c messages) Unmarshal(data mem.BufferSlice, v any) error {
	in, ok := v.(*received)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	in.err = in.decodeAll(data)
	return nil
}

// take decodes and frees a message that was read without the codec. It returns err, the error of the
// read.
func (in *received) take(data mem.BufferSlice, err error) error {
	if err != nil {
		return err
	}
	defer data.Free()
	in.err = in.decodeAll(data)
	return nil
}

func (in *received) decodeAll(data mem.BufferSlice) error {
	if data.Len() > in.most {
		return tooLarge(in.most)
	}
	whole := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer whole.Free()
	return in.decode(whole.ReadOnlyData())
}

func tooLarge(most int) error {
	return fault.New(fault.TooLarge, fault.ReasonPayloadTooLarge, fmt.Sprintf("the request is larger than %d bytes", most))
}

func (in *received) decode(encoded []byte) error {
	m, ok := in.message.(proto.Message)
	if !ok {
		return fmt.Errorf("cannot decode into %T", in.message)
	}
	if err := in.bounds.CheckLists(encoded, m.ProtoReflect().Descriptor()); err != nil {
		return err
	}
	if err := proto.Unmarshal(encoded, m); err != nil {
		return malformed(err)
	}
	return nil
}
