package rpc_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/interop/grpc_testing"

	"reservation.dev/devkit/mtlstest"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/mtls"
	"reservation.dev/platform/rpc"
)

// certificate creates the files of a certificate with the given names.
func certificate(t testing.TB, ca *mtlstest.CA, names ...string) *mtls.Files {
	t.Helper()
	m := mtlstest.NewMount(t, ca.Issue(t, names...), ca)
	f, err := mtls.Open(mtls.Config{
		CertFile: m.Path(mtlstest.CertFile), KeyFile: m.Path(mtlstest.KeyFile), CAFile: m.Path(mtlstest.CAFile),
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestCallers(t *testing.T) {
	ca := mtlstest.NewCA(t, "ours")
	p := newPart(t, func(o *rpc.ServerOptions) {
		o.TLS, o.Callers = certificate(t, ca, "booking"), []string{"admin", "gateway-a"}
	})
	call := func(ctx context.Context, o rpc.DialOptions) error {
		o.Timeout = patience
		_, err := grpc_testing.NewTestServiceClient(dial(t, p.addr, o)).EmptyCall(ctx, &grpc_testing.Empty{})
		return err
	}
	gateway, stranger := certificate(t, ca, "gateway-a", "edge.example.org"), certificate(t, ca, "billing")

	t.Run("a certificate with an allowed name can call", func(t *testing.T) {
		if err := call(t.Context(), rpc.DialOptions{TLS: gateway, Part: "booking"}); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("another certificate is denied before its token is checked, on every kind of call, and logged", func(t *testing.T) {
		f := is(t, call(t.Context(), rpc.DialOptions{TLS: stranger, Part: "booking"}), fault.Forbidden, fault.ReasonCallerNotAllowed)
		if !strings.Contains(f.Message, "billing") || !strings.Contains(f.Message, "GRPC_ALLOWED_CALLERS") {
			t.Errorf("the message is %q", f.Message)
		}
		client := grpc_testing.NewTestServiceClient(dial(t, p.addr, rpc.DialOptions{TLS: stranger, Part: "booking"}))
		_, err := client.UnaryCall(t.Context(), &grpc_testing.SimpleRequest{}) // without a token
		is(t, err, fault.Forbidden, fault.ReasonCallerNotAllowed)
		stream, err := client.StreamingOutputCall(t.Context(), &grpc_testing.StreamingOutputCallRequest{})
		if err == nil {
			_, err = stream.Recv()
		}
		is(t, err, fault.Forbidden, fault.ReasonCallerNotAllowed)
		if log := p.log.take(); strings.Count(log, "rpc refused") != 1 || !strings.Contains(log, "billing") {
			t.Errorf("not logged once: %s", log)
		}
	})
	t.Run("a refusal within a served request is an internal error", func(t *testing.T) {
		ctx := rpc.WithRequestID(t.Context(), "req")
		is(t, call(ctx, rpc.DialOptions{TLS: stranger, Part: "booking"}), fault.Internal, fault.ReasonInternal)
		stream, err := grpc_testing.NewTestServiceClient(dial(t, p.addr, rpc.DialOptions{TLS: stranger, Part: "booking"})).
			StreamingOutputCall(ctx, &grpc_testing.StreamingOutputCallRequest{})
		if err == nil {
			_, err = stream.Recv()
		}
		is(t, err, fault.Internal, fault.ReasonInternal)
	})
	t.Run("health needs any certificate", func(t *testing.T) {
		check := func(o rpc.DialOptions) error {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			_, err := grpc_health_v1.NewHealthClient(dial(t, p.addr, o)).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
			return err
		}
		if err := check(rpc.DialOptions{TLS: stranger, Part: "booking"}); err != nil {
			t.Error(err)
		}
		if check(rpc.DialOptions{}) == nil {
			t.Error("the health check succeeds without a certificate")
		}
	})
	t.Run("a client refuses a server that is another service", func(t *testing.T) {
		q := newPart(t, func(o *rpc.ServerOptions) { o.TLS, o.Callers = certificate(t, ca, "pass"), []string{"gateway-a"} })
		_, port, _ := strings.Cut(q.addr, ":")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		// The certificate does not have this name, but it has the address.
		_, err := grpc_testing.NewTestServiceClient(dial(t, "localhost:"+port, rpc.DialOptions{TLS: gateway, Part: "booking"})).EmptyCall(ctx, &grpc_testing.Empty{})
		f := is(t, err, fault.Unavailable, fault.ReasonServiceUnavailable)
		if !strings.Contains(f.Error(), "neither for the service") {
			t.Errorf("the cause does not say why: %v", f)
		}
	})
	t.Run("each address of a list is verified", func(t *testing.T) {
		conn := dial(t, p.addr+","+p.addr, rpc.DialOptions{TLS: gateway, Part: "booking", Timeout: patience})
		if _, err := grpc_testing.NewTestServiceClient(conn).EmptyCall(t.Context(), &grpc_testing.Empty{}); err != nil {
			t.Fatal(err)
		}
	})
}
