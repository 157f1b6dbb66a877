package bounds

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"reservation.dev/platform/bounds"
)

// call is a request for one RPC that exceeds one bound.
type call struct {
	method protoreflect.MethodDescriptor
	what   string
	path   []protoreflect.FieldDescriptor
	set    func(in protoreflect.Message, fd protoreflect.FieldDescriptor)
}

// service returns the name of a service that serves the method.
func (c call) service() string {
	if c.method.Parent().Name() == "CustomerDeletionService" {
		return "booking"
	}
	service, _, _ := strings.Cut(strings.TrimPrefix(string(c.method.FullName()), "reservation."), ".")
	return service
}

// request encodes the request.
func (c call) request() ([]byte, error) {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(c.method.Input().FullName())
	if err != nil {
		return nil, err
	}
	m := kind.New()
	last := len(c.path) - 1
	c.set(inner(m, c.path[:last]), c.path[last])
	return proto.Marshal(m.Interface())
}

func (c call) name() string {
	return fmt.Sprintf("/%s/%s", c.method.Parent().FullName(), c.method.Name())
}

// calls returns two requests for every text and every list of every RPC: one just beyond its
// bound, and one of a megabyte.
func calls() []call {
	var all []call
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		if !strings.HasPrefix(string(file.Package()), "reservation.") || strings.HasPrefix(string(file.Package()), "reservation.edge.") {
			return true
		}
		for i := range file.Services().Len() {
			methods := file.Services().Get(i).Methods()
			for j := range methods.Len() {
				m := methods.Get(j)
				walk(m.Input(), nil, func(path []protoreflect.FieldDescriptor) { all = append(all, exceeding(m, path)...) })
			}
		}
		return true
	})
	return all
}

// walk calls visit with the path to every text and every list in a message.
func walk(m protoreflect.MessageDescriptor, path []protoreflect.FieldDescriptor, visit func([]protoreflect.FieldDescriptor)) {
	for i := range m.Fields().Len() {
		fd := m.Fields().Get(i)
		here := append(path[:len(path):len(path)], fd)
		if fd.IsList() || fd.Kind() == protoreflect.StringKind || fd.Kind() == protoreflect.BytesKind {
			visit(here)
		}
		if fd.Kind() == protoreflect.MessageKind && fd.Message().ParentFile().Package() != "google.protobuf" {
			walk(fd.Message(), here, visit)
		}
	}
}

// exceeding returns the requests that exceed the bounds of the last field of a path.
func exceeding(m protoreflect.MethodDescriptor, path []protoreflect.FieldDescriptor) []call {
	fd := path[len(path)-1]
	b := bounds.Of(fd)
	var all []call
	add := func(what string, set func(in protoreflect.Message, fd protoreflect.FieldDescriptor)) {
		all = append(all, call{m, pathName(path) + " " + what, path, set})
	}
	if fd.IsList() {
		for what, n := range map[string]int{"one item too many": b.Items + 1, "a megabyte of items": megabyte / 2} {
			add(what, func(in protoreflect.Message, fd protoreflect.FieldDescriptor) { fill(in.Mutable(fd).List(), n) })
		}
	}
	if fd.Kind() != protoreflect.StringKind && fd.Kind() != protoreflect.BytesKind {
		return all
	}
	for what, n := range map[string]int{"one too many in a text": max(b.Characters, b.Bytes) + 1, "a megabyte of text": megabyte} {
		text := protoreflect.ValueOfString(strings.Repeat("x", n))
		if fd.Kind() == protoreflect.BytesKind {
			text = protoreflect.ValueOfBytes(make([]byte, n))
		}
		add(what, func(in protoreflect.Message, fd protoreflect.FieldDescriptor) {
			if fd.IsList() {
				in.Mutable(fd).List().Append(text)
				return
			}
			in.Set(fd, text)
		})
	}
	return all
}

func pathName(path []protoreflect.FieldDescriptor) string {
	var names []string
	for _, fd := range path {
		names = append(names, string(fd.Name()))
	}
	return strings.Join(names, ".")
}

// inner creates the messages on a path, and returns the last.
func inner(m protoreflect.Message, path []protoreflect.FieldDescriptor) protoreflect.Message {
	for _, fd := range path {
		if fd.IsList() {
			list := m.Mutable(fd).List()
			m = list.AppendMutable().Message()
			continue
		}
		m = m.Mutable(fd).Message()
	}
	return m
}

// fill appends n empty items.
func fill(list protoreflect.List, n int) {
	for range n {
		list.Append(list.NewElement())
	}
}

// send makes the call, whether its method is unary or streaming.
func (c call) send(ctx context.Context, conn *grpc.ClientConn, request []byte) error {
	answer := dynamicpb.NewMessage(c.method.Output())
	if !c.method.IsStreamingClient() && !c.method.IsStreamingServer() {
		return conn.Invoke(ctx, c.name(), request, answer, grpc.ForceCodecV2(encoded{}))
	}
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, c.name(), grpc.ForceCodecV2(encoded{}))
	if err != nil {
		return err
	}
	if err := stream.SendMsg(request); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !c.method.IsStreamingClient() {
		_ = stream.CloseSend()
	}
	return stream.RecvMsg(answer)
}

// encoded is a codec for messages that are already encoded.
type encoded struct{}

func (encoded) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (encoded) Unmarshal(data mem.BufferSlice, v any) error {
	return proto.Unmarshal(data.Materialize(), v.(proto.Message))
}

func (encoded) Name() string { return "proto" }

// testRPCs sends every request that exceeds a bound to its RPC.
func (w *world) testRPCs(t *testing.T) {
	all := calls()
	if len(all) < 500 {
		t.Fatalf("only %d requests were derived", len(all))
	}
	each(all, func(c call) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		request, err := c.request()
		if err != nil {
			t.Error(err)
			return
		}
		took := quickest(func() { err = c.send(w.attacker.company.Ctx(ctx), w.conns[c.service()], request) })
		if status.Code(err) == codes.PermissionDenied { // a method that does not belong to a company
			took = quickest(func() { err = c.send(w.attacker.company.Operator().As(ctx, ""), w.conns[c.service()], request) })
		}
		st := status.Convert(err)
		if code := st.Code(); code != codes.InvalidArgument && code != codes.ResourceExhausted {
			t.Errorf("%s %s: got %v", c.name(), c.what, err)
		}
		if size := proto.Size(st.Proto()); size > mostAnswer {
			t.Errorf("%s %s: the answer has %d bytes", c.name(), c.what, size)
		}
		if took > limit {
			t.Errorf("%s %s: took %s", c.name(), c.what, took)
		}
	})
	t.Logf("%d requests", len(all))
}
