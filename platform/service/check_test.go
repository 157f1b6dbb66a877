package service

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/interop/grpc_testing"

	"reservation.dev/devkit/mtlstest"
	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/config"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/mtls"
	"reservation.dev/platform/rpc"
)

type keyed struct {
	Base Base
	Key  config.Secret `env:"SAMPLE_KEY"`
	Peer string        `env:"PEER_ADDR" envDefault:"127.0.0.1:1"`
}

// Production rejects one key.
func (k *keyed) Production() error {
	if k.Key == "key for trying" {
		return errors.New("SAMPLE_KEY must be another one in production")
	}
	return nil
}

func keyedPart() Part {
	return Part{Name: "sample", Settings: func() any { return &keyed{} }, Run: func(context.Context, *Host) error { return errors.New("it ran") }}
}

func TestCheck(t *testing.T) {
	check := func(env config.Env) (string, error) {
		var out bytes.Buffer
		err := checkSettings(&out, keyedPart(), env)
		return out.String(), err
	}
	with := func(more config.Env) config.Env {
		env := config.Env{"DATABASE_URL": "postgres://sample:p@127.0.0.1/sample"}
		for name, value := range more {
			env[name] = value
		}
		return env
	}
	t.Run("reports valid settings and starts nothing", func(t *testing.T) {
		out, err := check(with(nil))
		if err != nil || out != "sample: the settings are valid\n" {
			t.Errorf("%v %q", err, out)
		}
	})
	t.Run("reports all faults of the process, the service and its certificate together", func(t *testing.T) {
		_, err := check(config.Env{
			"LOG_FORMAT": "xml", "RESERVATION_ENV": "prod", "SHUTDOWN_DRAIN": "soon",
			"GRPC_TLS_CERT_FILE": "/nowhere/c", "GRPC_TLS_KEY_FILE": "/nowhere/k", "GRPC_TLS_CA_FILE": "/nowhere/ca",
		})
		for _, want := range []string{"LOG_FORMAT", "RESERVATION_ENV", "SHUTDOWN_DRAIN", "DATABASE_URL", "GRPC_TLS_CERT_FILE: ", "GRPC_TLS_KEY_FILE: ", "GRPC_TLS_CA_FILE: "} {
			if err == nil || strings.Count(err.Error(), want) != 1 {
				t.Errorf("%v does not name %s once", err, want)
			}
		}
		if ExitCode(err) != exitSettings {
			t.Errorf("the exit code is %d", ExitCode(err))
		}
	})
	t.Run("reports invalid addresses by name and accepts every valid form", func(t *testing.T) {
		_, err := check(with(config.Env{"ADMIN_ADDR": "9100", "GRPC_ADDR": "127.0.0.1:http", "PEER_ADDR": "peer:1, peer, :2, peer:70000"}))
		for _, want := range []string{`ADMIN_ADDR contains "9100"`, `GRPC_ADDR contains "127.0.0.1:http"`, `PEER_ADDR contains "peer"`, `PEER_ADDR contains ":2"`, `PEER_ADDR contains "peer:70000"`} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v does not contain %s", err, want)
			}
		}
		if err != nil && strings.Contains(err.Error(), `"peer:1"`) {
			t.Errorf("got %v", err)
		}
		for _, right := range []config.Env{{"ADMIN_ADDR": ":0", "GRPC_ADDR": "[::1]:9090"}, {"PEER_ADDR": "peer:1,10.0.0.1:2"}, {"PEER_ADDR": "dns:///peer:9090"}, {"PEER_ADDR": "dns:peer:9090"}, {"PEER_ADDR": "unix:/run/peer"}} {
			if _, err := check(with(right)); err != nil {
				t.Errorf("%v: %v", right, err)
			}
		}
	})
	t.Run("a certificate needs all three files", func(t *testing.T) {
		_, err := check(with(config.Env{"GRPC_TLS_CA_FILE": "/nowhere/ca"}))
		if err == nil || !strings.Contains(err.Error(), "GRPC_TLS_CERT_FILE and GRPC_TLS_KEY_FILE must be set too") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("production refuses demonstration settings, development accepts them", func(t *testing.T) {
		for what, env := range map[string]config.Env{
			"DATABASE_URL": {"DATABASE_URL": "postgres://sample:insecure-password@127.0.0.1/sample"},
			"SAMPLE_KEY":   {"SAMPLE_KEY": "aW5zZWN1cmUta2V5LW9mLXRoaXJ0eS10d28tYnl0ZXM="},
			"another one":  {"SAMPLE_KEY": "key for trying"},
		} {
			if _, err := check(with(env)); err != nil {
				t.Errorf("development refuses %s: %v", what, err)
			}
			env = with(env)
			env["RESERVATION_ENV"] = Production
			_, err := check(env)
			if err == nil || !strings.Contains(err.Error(), what) || strings.Contains(err.Error(), "insecure-password") {
				t.Errorf("production: %v, want %s", err, what)
			}
			if err := serve(t.Context(), keyedPart(), env); err == nil || !strings.Contains(err.Error(), what) {
				t.Errorf("served in production: %v", err)
			}
		}
	})
	t.Run("production warns of connections to other machines without TLS", func(t *testing.T) {
		env := with(config.Env{
			"RESERVATION_ENV": Production, "GRPC_ADDR": ":9090", "PEER_ADDR": "127.0.0.1:1,10.0.0.1:1", "ADMIN_ADDR": ":9100",
			"DATABASE_URL": "postgres://sample:p@db/sample?sslmode=prefer", "NATS_URL": "nats://127.0.0.1:4222,nats://nats:4222",
		})
		out, err := check(env)
		var want strings.Builder
		for _, name := range []string{"GRPC_ADDR", "DATABASE_URL", "NATS_URL", "PEER_ADDR"} {
			want.WriteString("warning: " + name + " carries traffic between machines without TLS\n")
		}
		if err != nil || out != want.String()+"sample: the settings are valid\n" {
			t.Errorf("%v\n%s", err, out)
		}
		ca := mtlstest.NewCA(t, "ours")
		for name, value := range mtlstest.NewMount(t, ca.Issue(t, "sample"), ca).Env() {
			env[name] = value
		}
		env["DATABASE_URL"], env["NATS_URL"] = "postgres://sample:p@db/sample?sslmode=verify-full", "tls://nats:4222"
		if out, err := check(env); err != nil || strings.Contains(out, "warning") {
			t.Errorf("with TLS: %v\n%s", err, out)
		}
		env["RESERVATION_ENV"], env["NATS_URL"] = Development, "nats://nats:4222"
		if out, err := check(env); err != nil || strings.Contains(out, "warning") {
			t.Errorf("in development: %v\n%s", err, out)
		}
	})
	t.Run("warns about variables that look like misspelt settings", func(t *testing.T) {
		out, err := check(with(config.Env{"SHUTDOWN_DRIAN": "1s", "BUS_REPLICA_FILE": "/x"}))
		for _, want := range []string{"warning: SHUTDOWN_DRIAN is not a known setting; check the spelling\n", "warning: BUS_REPLICA_FILE is not a known setting; check the spelling\n"} {
			if err != nil || !strings.Contains(out, want) {
				t.Errorf("%v %s", err, out)
			}
		}
	})
}

func TestMutualTLS(t *testing.T) {
	ca := mtlstest.NewCA(t, "ours")
	files := func(name string) *mtls.Files {
		t.Helper()
		m := mtlstest.NewMount(t, ca.Issue(t, name), ca)
		f, err := mtls.Open(mtls.Config{CertFile: m.Path(mtlstest.CertFile), KeyFile: m.Path(mtlstest.KeyFile), CAFile: m.Path(mtlstest.CAFile)}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for name, tt := range map[string]struct {
		allowed string
		callers map[string]bool // whether each caller is allowed
	}{
		"without the setting, the service's default list applies": {"", map[string]bool{"friend": true, "guest": false}},
		"GRPC_ALLOWED_CALLERS replaces the default list":          {"guest,other", map[string]bool{"friend": false, "guest": true}},
	} {
		t.Run(name, func(t *testing.T) {
			r := prepare(t)
			for setting, value := range mtlstest.NewMount(t, ca.Issue(t, "sample"), ca).Env() {
				r.env[setting] = value
			}
			r.env["GRPC_ALLOWED_CALLERS"] = tt.allowed
			s := newSample()
			s.callers = []string{"friend"}
			r.publishKeys()
			r.start(s.part())
			testkit.Eventually(t, patience, func() error {
				res, err := http.Get("http://" + r.env["ADMIN_ADDR"] + "/readyz")
				if err != nil {
					return err
				}
				defer res.Body.Close()
				if res.StatusCode != http.StatusOK {
					return errors.New(res.Status)
				}
				return nil
			})
			for caller, may := range tt.callers {
				h := &Host{TLS: files(caller)}
				conn, err := h.Dial("sample", r.env["GRPC_ADDR"], rpc.DialOptions{Timeout: patience})
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				_, err = grpc_testing.NewTestServiceClient(conn).EmptyCall(t.Context(), &grpc_testing.Empty{})
				if may != (err == nil) || !may && fault.From(err).Reason != fault.ReasonCallerNotAllowed {
					t.Errorf("%s: %v", caller, err)
				}
			}
			if got := scrape(t, r.env["ADMIN_ADDR"]); !slices.ContainsFunc(strings.Split(got, "\n"), func(line string) bool {
				return strings.HasPrefix(line, `grpc_tls_certificate_expiry_timestamp_seconds{part="sample"}`)
			}) {
				t.Errorf("the certificate's expiry is not among the metrics:\n%s", got)
			}
		})
	}
}

func scrape(t *testing.T, addr string) string {
	t.Helper()
	res, err := http.Get("http://" + addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(res.Body); err != nil {
		t.Fatal(err)
	}
	return text.String()
}
