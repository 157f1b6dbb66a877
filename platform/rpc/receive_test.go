package rpc_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/rpc"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
)

// shop is a customer service that accepts every request.
type shop struct {
	customerv1.UnimplementedCustomerServiceServer
}

func (shop) GetCustomer(_ context.Context, req *customerv1.GetCustomerRequest) (*customerv1.GetCustomerResponse, error) {
	return &customerv1.GetCustomerResponse{Customer: &customerv1.Customer{Id: req.GetId()}}, nil
}

func (shop) CreateCustomer(context.Context, *customerv1.CreateCustomerRequest) (*customerv1.CreateCustomerResponse, error) {
	return &customerv1.CreateCustomerResponse{}, nil
}

func (shop) BatchGetCustomers(context.Context, *customerv1.BatchGetCustomersRequest) (*customerv1.BatchGetCustomersResponse, error) {
	return &customerv1.BatchGetCustomersResponse{}, nil
}

func (shop) ImportCustomers(s grpc.BidiStreamingServer[customerv1.ImportCustomersRequest, customerv1.ImportCustomersResponse]) error {
	for {
		if _, err := s.Recv(); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := s.Send(&customerv1.ImportCustomersResponse{}); err != nil {
			return err
		}
	}
}

// newShop starts a shop whose methods are public.
func newShop(t testing.TB) customerv1.CustomerServiceClient {
	t.Helper()
	policy := rpc.Policy{}
	desc := &customerv1.CustomerService_ServiceDesc
	for _, m := range desc.Methods {
		policy["/"+desc.ServiceName+"/"+m.MethodName] = rpc.Public
	}
	for _, s := range desc.Streams {
		policy["/"+desc.ServiceName+"/"+s.StreamName] = rpc.Public
	}
	srv := rpc.NewServer(rpc.ServerOptions{Policy: policy})
	customerv1.RegisterCustomerServiceServer(srv, shop{})
	return customerv1.NewCustomerServiceClient(dial(t, serve(t, srv), rpc.DialOptions{Timeout: patience}))
}

// serve serves srv until the test ends, and returns its address.
func serve(t testing.TB, srv interface {
	Serve(net.Listener) error
	Stop()
}) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(ln) }()
	t.Cleanup(func() { srv.Stop(); <-done })
	return ln.Addr().String()
}

func TestBoundsOfRequests(t *testing.T) {
	t.Parallel()
	client := newShop(t)
	long := strings.Repeat("x", 101)
	t.Run("a field that exceeds its bound is refused by name", func(t *testing.T) {
		t.Parallel()
		_, err := client.CreateCustomer(t.Context(), &customerv1.CreateCustomerRequest{FirstName: long, LastName: "ok", Mobile: long})
		f := is(t, err, fault.Invalid, fault.ReasonValidation)
		if len(f.Fields) != 2 || f.Fields[0].Field != "first_name" || f.Fields[0].Rule != "max_length" || f.Fields[1].Field != "mobile" ||
			f.Message != "first_name must be at most 100 characters" {
			t.Errorf("got %q, %v", f.Message, f.Fields)
		}
	})
	t.Run("a list that is too long is refused", func(t *testing.T) {
		t.Parallel()
		_, err := client.BatchGetCustomers(t.Context(), &customerv1.BatchGetCustomersRequest{Ids: make([]string, 5001)})
		f := is(t, err, fault.Invalid, fault.ReasonValidation)
		if len(f.Fields) != 1 || f.Fields[0].Field != "ids" || f.Fields[0].Rule != "max_items" {
			t.Errorf("got %v", f.Fields)
		}
	})
	t.Run("each message of a stream is checked", func(t *testing.T) {
		t.Parallel()
		s, err := client.ImportCustomers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_ = s.Send(&customerv1.ImportCustomersRequest{Customers: []*customerv1.ImportedCustomer{{FirstName: "ok"}}})
		if _, err := s.Recv(); err != nil {
			t.Fatal(err)
		}
		_ = s.Send(&customerv1.ImportCustomersRequest{Customers: []*customerv1.ImportedCustomer{{}, {FirstName: strings.Repeat("x", 10_001)}}})
		_, err = s.Recv()
		f := is(t, err, fault.Invalid, fault.ReasonValidation)
		if len(f.Fields) != 1 || f.Fields[0].Field != "customers[1].first_name" {
			t.Errorf("got %v", f.Fields)
		}
	})
	t.Run("a request to a public method has at most 16 kB", func(t *testing.T) {
		t.Parallel()
		_, err := client.GetCustomer(t.Context(), &customerv1.GetCustomerRequest{Id: strings.Repeat("x", 16<<10)})
		is(t, err, fault.TooLarge, fault.ReasonPayloadTooLarge)
		_, err = client.GetCustomer(t.Context(), &customerv1.GetCustomerRequest{Id: strings.Repeat("x", 16<<10-10)})
		is(t, err, fault.Invalid, fault.ReasonValidation)
	})
}

// TestTokensAreCheckedBeforeRequestsAreRead never sends the end of the request. The server must refuse
// the call without reading it.
func TestTokensAreCheckedBeforeRequestsAreRead(t *testing.T) {
	t.Parallel()
	p := newPart(t, nil)
	conn, err := grpc.NewClient(p.addr, insecureCreds())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	for _, method := range []string{unary, output, duplex, unnamed} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			s, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
			if err != nil {
				t.Fatal(err)
			}
			err = s.RecvMsg(&grpc_testing.SimpleResponse{}) // before anything is sent
			if code := status.Code(err); code != codes.Unauthenticated && code != codes.PermissionDenied {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestMalformedRequests(t *testing.T) {
	t.Parallel()
	p := newPart(t, nil)
	conn, err := grpc.NewClient(p.addr, insecureCreds())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	t.Run("a malformed message is the caller's fault", func(t *testing.T) {
		raw := []byte("\x0a\xff\xff")
		err := conn.Invoke(p.signed(), unary, &raw, &grpc_testing.SimpleResponse{}, grpc.ForceCodec(bytesCodec{}))
		is(t, err, fault.Invalid, fault.ReasonValidation)
	})
	t.Run("a call without a message or with two is not an internal error", func(t *testing.T) {
		for _, n := range []int{0, 2} {
			s, err := conn.NewStream(p.signed(), &grpc.StreamDesc{ClientStreams: true}, unary)
			if err != nil {
				t.Fatal(err)
			}
			for range n {
				_ = s.SendMsg(&grpc_testing.SimpleRequest{})
			}
			_ = s.CloseSend()
			if err := s.RecvMsg(&grpc_testing.SimpleResponse{}); status.Code(err) == codes.OK {
				t.Errorf("%d messages are taken", n)
			}
		}
	})
	p.srv.GracefulStop()
	if log := p.log.take(); strings.Contains(log, "level=ERROR") {
		t.Errorf("logged: %s", log)
	}
}

// bytesCodec sends bytes without encoding them.
type bytesCodec struct{}

func (bytesCodec) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }
func (bytesCodec) Unmarshal(data []byte, v any) error {
	return proto.Unmarshal(data, v.(proto.Message))
}
func (bytesCodec) Name() string { return "proto" }

func TestLargestFaultArrives(t *testing.T) {
	t.Parallel()
	p := newPart(t, nil)
	wide, text := make([]fault.Field, 340_000), strings.Repeat("é", 400)
	for i := range wide {
		wide[i] = fault.Field{Field: text, Rule: "unique", Message: text}
	}
	p.does(func(context.Context) error {
		return &fault.Error{Kind: fault.Invalid, Reason: "WRONG", Message: strings.Repeat("é", 4000), Fields: wide}
	})
	// The default limit of clients in other languages.
	conn, err := grpc.NewClient(p.addr, insecureCreds(), grpc.WithMaxHeaderListSize(fault.MaxWire))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	ctx := metadata.AppendToOutgoingContext(p.signed(), "x-request-id", strings.Repeat("x", 128))
	_, err = grpc_testing.NewTestServiceClient(conn).UnaryCall(ctx, &grpc_testing.SimpleRequest{})
	f := is(t, err, fault.Invalid, "WRONG")
	if len(f.Fields)+f.More != len(wide) {
		t.Errorf("lists %d and counts %d", len(f.Fields), f.More)
	}
}

// BenchmarkSmallCall compares a call to a Server with a call to a plain gRPC server.
func BenchmarkSmallCall(b *testing.B) {
	bare := grpc.NewServer()
	customerv1.RegisterCustomerServiceServer(bare, shop{})
	conn, err := grpc.NewClient(serve(b, bare), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	req := &customerv1.GetCustomerRequest{Id: "cust_01jb0000000000000000000000"}
	for name, client := range map[string]customerv1.CustomerServiceClient{"bare": customerv1.NewCustomerServiceClient(conn), "guarded": newShop(b)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := client.GetCustomer(b.Context(), req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestStreamsOfOneConnection(t *testing.T) {
	t.Parallel()
	p := newPart(t, nil)
	p.does(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	// open opens a stream of a company and returns when its method runs.
	open := func(ctx context.Context, company id.Company) error {
		claims := rpc.ClaimsFrom(p.as(p.issuer.Client(company, "bookings:read")))
		s, err := p.client.StreamingOutputCall(rpc.WithClaims(ctx, claims), &grpc_testing.StreamingOutputCallRequest{})
		if err == nil {
			_, err = s.Recv()
		}
		return err
	}
	for _, most := range []int{512, 256, 128, 64, 64} {
		company := id.New[id.Company]()
		for i := range most {
			if err := open(ctx, company); err != nil {
				t.Fatalf("stream %d of %d: %v", i, most, err)
			}
		}
		if most > 64 { // the last ones leave no stream for a call to be refused
			f := fault.From(open(ctx, company))
			if f == nil || f.Kind != fault.Unavailable || f.RetryAfter != time.Second {
				t.Errorf("the stream after %d streams of a company: %v", most, f)
			}
		}
	}
	one, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	if err := open(one, p.company); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("the next one does not wait: %v", err)
	}
	cancel()
	p.does(nil)
	if _, err := p.client.UnaryCall(p.reader(), &grpc_testing.SimpleRequest{}); err != nil {
		t.Errorf("after the streams have ended: %v", err)
	}
}
