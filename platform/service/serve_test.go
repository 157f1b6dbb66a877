package service

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/token"
)

func TestReadinessFollowsTheDependencies(t *testing.T) {
	r := prepare(t)
	r.start(newSample().part())
	health := func() grpc_health_v1.HealthCheckResponse_ServingStatus {
		t.Helper()
		got, err := grpc_health_v1.NewHealthClient(r.conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}, grpc.WaitForReady(true))
		if err != nil {
			t.Fatal(err)
		}
		return got.GetStatus()
	}

	r.awaits("sample") // waits for the keys that verify tokens
	if got := health(); got != grpc_health_v1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("before it is ready gRPC's health is %s", got)
	}
	r.publishKeys()
	r.awaits()
	if got := health(); got != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("when it is ready gRPC's health is %s", got)
	}

	r.loseDatabase()
	r.awaits("sample database")
	r.regainDatabase()
	r.awaits()

	r.nats.Stop(t)
	r.awaits() // it serves without NATS
	r.loseDatabase()
	r.awaits("sample database")
	if code, body, err := r.get("/livez"); code != 200 || body != "alive\n" || err != nil {
		t.Errorf("liveness touches a dependency: %d %q, %v", code, body, err)
	}
	r.regainDatabase()
	r.nats.Start(t)
	r.awaits()

	r.stop()
	if err := r.wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

func TestAdminPortServesHealthMetricsAndProfiles(t *testing.T) {
	r := prepare(t)
	r.publishKeys()
	s := newSample()
	close(s.leave)
	r.start(s.part())
	r.awaits()
	client := grpc_testing.NewTestServiceClient(r.conn)
	for range 3 {
		if _, err := client.EmptyCall(t.Context(), &grpc_testing.Empty{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.UnaryCall(t.Context(), &grpc_testing.SimpleRequest{}); !fault.Is(err, fault.Unauthenticated) {
		t.Fatalf("got %v", err)
	}
	if _, err := client.UnaryCall(r.caller(), &grpc_testing.SimpleRequest{}); err != nil {
		t.Fatal(err)
	}
	_, metrics, err := r.get("/metrics")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"go_build_info{", "process_start_time_seconds",
		`rpc_server_duration_seconds_count{code="OK",method="` + empty + `",part="sample"} 3`,
		`rpc_server_duration_seconds_count{code="Unauthenticated",method="` + unary + `",part="sample"} 1`,
		`rpc_server_duration_seconds_bucket{code="OK",method="` + unary + `",part="sample",le="10"} 1`,
		`part="sample"`, "outbox_pending", "pg_pool",
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics have no %s", want)
		}
	}
	s2, err := grpc_reflection_v1.NewServerReflectionClient(r.conn).ServerReflectionInfo(r.caller())
	if err != nil {
		t.Fatal(err)
	}
	_ = s2.Send(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}})
	if res, err := s2.Recv(); err != nil || !strings.Contains(res.String(), "grpc.testing.TestService") {
		t.Errorf("reflection: %v, %v", res, err)
	}
	_ = s2.CloseSend()
	_, _ = s2.Recv() // the stream ends before the service does
	if code, _, err := r.get("/debug/pprof/goroutine?debug=1"); code != 200 || err != nil {
		t.Errorf("pprof: %d, %v", code, err)
	}
	if code, _, _ := r.get("/"); code != 404 {
		t.Errorf("/ is %d", code)
	}
}

func TestDrain(t *testing.T) {
	t.Run("becomes unready, finishes a call in flight and refuses new ones", func(t *testing.T) {
		r := prepare(t)
		r.publishKeys()
		r.env["SHUTDOWN_DRAIN"] = patience.String()
		s := newSample()
		r.start(s.part())
		r.awaits()
		client := grpc_testing.NewTestServiceClient(r.conn)
		answered := make(chan error, 1)
		go func() { _, err := client.UnaryCall(r.caller(), &grpc_testing.SimpleRequest{}); answered <- err }()
		<-s.entered
		r.stop()
		r.awaits("sample")
		testkit.Eventually(t, patience, func() error { // it becomes unready before it refuses calls
			_, err := client.EmptyCall(t.Context(), &grpc_testing.Empty{})
			if fault.Is(err, fault.Unavailable) {
				return nil
			}
			return errors.Join(errors.New("another call was not refused"), err)
		})
		select {
		case <-r.done:
			t.Fatal("the service did not wait for the call")
		default:
		}
		close(s.leave)
		if err := <-answered; err != nil {
			t.Errorf("the call in flight: %v", err)
		}
		if err := r.wait(); err != nil {
			t.Errorf("it ended with %v", err)
		}
	})
	t.Run("cuts off a call that exceeds SHUTDOWN_DRAIN", func(t *testing.T) {
		r := prepare(t)
		r.publishKeys()
		r.env["SHUTDOWN_DRAIN"] = "50ms"
		s := newSample()
		r.start(s.part())
		r.awaits()
		answered := make(chan error, 1)
		go func() {
			_, err := grpc_testing.NewTestServiceClient(r.conn).UnaryCall(r.caller(), &grpc_testing.SimpleRequest{})
			answered <- err
		}()
		<-s.entered
		r.stop()
		if err := <-answered; !fault.Is(err, fault.Unavailable) {
			t.Errorf("the call: %v", err)
		}
		if err := r.wait(); err != nil {
			t.Errorf("it ended with %v", err)
		}
	})
	t.Run("stops cleanly before it serves", func(t *testing.T) {
		r := prepare(t)
		s := newSample()
		s.before = func(*Group) { r.stop() }
		r.start(s.part())
		if err := r.wait(); err != nil {
			t.Errorf("it ended with %v", err)
		}
	})
}

func TestHealthOfNamedServices(t *testing.T) {
	r := prepare(t)
	r.start(newSample().part())
	client := grpc_health_v1.NewHealthClient(r.conn)
	// The service is not ready before it listens, so calls wait for the connection.
	named := func(name string, want grpc_health_v1.HealthCheckResponse_ServingStatus) {
		t.Helper()
		got, err := client.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: name}, grpc.WaitForReady(true))
		if err != nil || got.GetStatus() != want {
			t.Errorf("the health of %q is %s, %v, want %s", name, got.GetStatus(), err, want)
		}
	}
	registered := []string{"", grpc_testing.TestService_ServiceDesc.ServiceName, grpc_health_v1.Health_ServiceDesc.ServiceName}

	r.awaits("sample")
	for _, name := range registered {
		named(name, grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	watch, err := client.Watch(ctx, &grpc_health_v1.HealthCheckRequest{Service: registered[1]}, grpc.WaitForReady(true))
	if err != nil {
		t.Fatal(err)
	}
	watched := func(want grpc_health_v1.HealthCheckResponse_ServingStatus) {
		t.Helper()
		if got, err := watch.Recv(); err != nil || got.GetStatus() != want {
			t.Errorf("the watched health is %s, %v, want %s", got.GetStatus(), err, want)
		}
	}
	watched(grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	r.publishKeys()
	r.awaits()
	watched(grpc_health_v1.HealthCheckResponse_SERVING)
	for _, name := range registered {
		named(name, grpc_health_v1.HealthCheckResponse_SERVING)
	}
	list, err := client.List(t.Context(), &grpc_health_v1.HealthListRequest{})
	for _, name := range registered {
		if got := list.GetStatuses()[name].GetStatus(); got != grpc_health_v1.HealthCheckResponse_SERVING {
			t.Errorf("the list says that %q is %s, %v", name, got, err)
		}
	}
	if _, err := client.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "no.such.Service"}); status.Code(err) != codes.NotFound {
		t.Errorf("the health of an unknown service: %v", err)
	}
}

func TestServeGRPCWithAStoppedServer(t *testing.T) {
	kit := func() *Kit {
		return &Kit{
			Host:     &Host{Part: "sample", Log: testkit.Log(t), Health: NewHealth()},
			Base:     Base{GRPCAddr: "127.0.0.1:0"},
			Verifier: token.NewVerifier(token.Config{CacheSize: 1}, time.Now),
			serving:  health.NewServer(),
		}
	}
	k := kit()
	srv := k.GRPC(rpc.Policy{})
	srv.Stop()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	if err := k.ServeGRPC(srv)(ctx); !errors.Is(err, grpc.ErrServerStopped) {
		t.Errorf("while it should serve: %v", err)
	}
	stop()
	if err := k.ServeGRPC(srv)(ctx); err != nil {
		t.Errorf("when it should end: %v", err)
	}
}

func TestServeReturnsErrors(t *testing.T) {
	boom := errors.New("boom")
	t.Run("of the member that failed", func(t *testing.T) {
		r := prepare(t)
		r.publishKeys()
		fail := make(chan struct{})
		s := newSample()
		s.before = func(g *Group) {
			g.Go("copies", func(ctx context.Context) error { <-fail; return boom })
		}
		r.start(s.part())
		r.awaits()
		close(fail)
		if err := r.wait(); !errors.Is(err, boom) || !strings.Contains(err.Error(), "copies") {
			t.Errorf("got %v", err)
		}
		if _, _, err := r.get("/livez"); err == nil {
			t.Error("the admin port is still open")
		}
	})
	t.Run("if its address is in use", func(t *testing.T) {
		r := prepare(t)
		r.env["GRPC_ADDR"] = strings.TrimPrefix(r.nats.URL(), "nats://")
		r.start(newSample().part())
		if err := r.wait(); err == nil || !strings.Contains(err.Error(), "grpc") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("if its admin address is in use", func(t *testing.T) {
		r := prepare(t)
		r.env["ADMIN_ADDR"] = strings.TrimPrefix(r.nats.URL(), "nats://")
		r.start(newSample().part())
		if err := r.wait(); err == nil || !strings.Contains(err.Error(), "admin port") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("if a method has no policy", func(t *testing.T) {
		r := prepare(t)
		s := newSample()
		delete(s.policy, unary)
		r.start(s.part())
		if err := r.wait(); err == nil || !strings.Contains(err.Error(), unary) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("if the database's schema is older than the binary", func(t *testing.T) {
		r := prepare(t)
		p := newSample().part()
		p.Run = func(ctx context.Context, h *Host) error {
			newer := newSample().part()
			newer.Migrations = fstest.MapFS{"0001_things.sql": {}, "0002_more.sql": {}}
			_, err := Open(ctx, h, Base{DB: sampleDB(r)}, newer)
			return err
		}
		r.start(p)
		if err := r.wait(); err == nil || !strings.Contains(err.Error(), "schema") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("if NATS does not answer", func(t *testing.T) {
		r := prepare(t)
		r.nats.Stop(t)
		r.env["NATS_START_TIMEOUT"] = "50ms"
		r.start(newSample().part())
		if err := r.wait(); err == nil || !strings.Contains(err.Error(), "nats") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("if PostgreSQL does not answer", func(t *testing.T) {
		r := prepare(t)
		r.loseDatabase()
		r.env["DATABASE_START_TIMEOUT"] = "50ms"
		r.start(newSample().part())
		if err := r.wait(); err == nil || strings.Contains(err.Error(), "testkit_app:testkit") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("if Run returns early", func(t *testing.T) {
		r := prepare(t)
		r.start(Part{Name: "sample", Run: func(context.Context, *Host) error { return nil }})
		if err := r.wait(); !errors.Is(err, errEarly) {
			t.Errorf("got %v", err)
		}
	})
}

func TestServesDuringShutdownDelay(t *testing.T) {
	r := prepare(t)
	r.env["SHUTDOWN_DELAY"] = "5s"
	r.publishKeys()
	r.start(newSample().part())
	r.awaits()
	if _, err := grpc_testing.NewTestServiceClient(r.conn).EmptyCall(t.Context(), &grpc_testing.Empty{}); err != nil { // connects before the delay begins
		t.Fatal(err)
	}
	began := time.Now()
	r.stop()
	r.awaits("end")
	if _, err := grpc_testing.NewTestServiceClient(r.conn).EmptyCall(t.Context(), &grpc_testing.Empty{}); err != nil {
		t.Errorf("a call during SHUTDOWN_DELAY is refused: %v", err)
	}
	got, err := grpc_health_v1.NewHealthClient(r.conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	if err != nil || got.GetStatus() != grpc_health_v1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("gRPC's health is %s, %v", got.GetStatus(), err)
	}
	if err := r.wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if took := time.Since(began); took < 5*time.Second {
		t.Errorf("it stopped after %s", took)
	}
}
