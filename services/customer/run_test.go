package customer

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/bus"
	"reservation.dev/platform/config"
	"reservation.dev/platform/id"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/service"
	"reservation.dev/platform/subjects"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	"reservation.dev/services/customer/migrations"
)

func TestRun(t *testing.T) {
	t.Run("the service uses events from the bus while auth is unavailable, publishes, and stops on request", func(t *testing.T) { // invariant 9
		b := testkit.Bus(t)
		public, private, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		company := id.New[id.Company]()
		publish := func(subject string, payload proto.Message) {
			body, err := proto.Marshal(payload)
			if err != nil {
				t.Fatal(err)
			}
			m := bus.Message{ID: id.NewUUID(), Company: company, Subject: subject, Payload: body, OccurredAt: time.Now()}
			if _, err := b.Publish(t.Context(), []bus.Message{m}); err != nil {
				t.Fatal(err)
			}
		}
		publish("auth.v1.signing_keys_changed.all", &authv1.SigningKeysChanged{Version: 1, Keys: []*authv1.JsonWebKeySnapshot{{
			Kid: "k1", Kty: "OKP", Crv: "Ed25519", X: base64.RawURLEncoding.EncodeToString(public), Alg: "EdDSA", Use: "sig",
		}}})
		publish(subjects.CompanyCreated, &authv1.CompanyCreated{Company: &authv1.CompanySnapshot{Id: company.String(), Version: 1, UniqueCustomerEmails: true}})

		_, appURL := testkit.DBURLs(t, pg.Migrations{Part: "customer", FS: migrations.FS, AppRole: testkit.AppRole()})
		addr, health := testkit.FreeAddr(t), service.NewHealth()
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- Run(ctx, &service.Host{
				Part: "customer", Log: testkit.Log(t), Metrics: prometheus.NewRegistry(), Health: health,
				Env: config.Env{
					"DATABASE_URL": appURL, "NATS_URL": testkit.NATSURL(t), "BUS_PREFIX": b.Prefix(), "GRPC_ADDR": addr,
					"AUTH_ADDR": testkit.ClosedAddr(t), "SERVICE_CREDENTIAL_ID": "svc_01jb4x9m3vf6ksn8w2d7pq5r0t", "SERVICE_CREDENTIAL_SECRET": strings.Repeat("5", 64),
				},
			})
		}()
		testkit.Eventually(t, time.Minute, func() error {
			if reasons := health.Ready(ctx); len(reasons) > 0 {
				return fmt.Errorf("not ready: %v", reasons)
			}
			return nil
		})

		conn, err := rpc.Dial(addr, rpc.DialOptions{Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		raw, err := token.Sign(private, "k1", "reservation", token.Claims{
			Subject: id.New[id.APIClient]().String(), Kind: token.KindClient, Company: company, Zone: "Europe/London",
			Currency: "GBP", Scopes: []string{"customers:write"}, IssuedAt: time.Now(), ExpiresAt: time.Now().Add(time.Hour),
		})
		if err != nil {
			t.Fatal(err)
		}
		caller := rpc.WithClaims(ctx, &token.Claims{Raw: raw})
		var made *customerv1.CreateCustomerResponse
		create := func() (err error) {
			made, err = customerv1.NewCustomerServiceClient(conn).CreateCustomer(caller, &customerv1.CreateCustomerRequest{
				FirstName: "Zoë", LastName: "O'Brien", Email: "zoe@example.com",
			})
			return err
		}
		testkit.Eventually(t, time.Minute, create)
		first := made.GetCustomer().GetId()
		wantTaken(t, create())

		heard := make(chan bus.Message, 1)
		listen, enough := context.WithCancel(t.Context())
		defer enough()
		go func() {
			_ = b.Consume(listen, bus.Consumer{Name: "listener", Subjects: []string{subjectCreated}, Handle: func(_ context.Context, msgs []bus.Message) error {
				heard <- msgs[0]
				return nil
			}})
		}()
		select {
		case m := <-heard:
			if !strings.Contains(string(m.Payload), first) {
				t.Errorf("heard %q", m.Payload)
			}
		case <-time.After(time.Minute):
			t.Error("nothing was published")
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Run("all invalid settings are reported", func(t *testing.T) {
		err := Run(t.Context(), &service.Host{Part: "customer", Env: config.Env{"DATABASE_MAX_CONNS": "0"}})
		for _, name := range []string{"SERVICE_CREDENTIAL_ID", "SERVICE_CREDENTIAL_SECRET", "DATABASE_URL", "DATABASE_MAX_CONNS"} {
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s is not among %v", name, err)
			}
		}
	})
}
