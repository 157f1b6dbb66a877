package booking

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/bus"
	"reservation.dev/platform/config"
	"reservation.dev/platform/id"
	"reservation.dev/platform/service"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	bookingv1 "reservation.dev/proto/gen/reservation/booking/v1"
)

func TestRun(t *testing.T) {
	t.Run("the service becomes ready, serves, publishes what it commits, and stops when its context ends", func(t *testing.T) {
		b := testkit.Bus(t)
		public, private, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		keys := payload(t, &authv1.SigningKeysChanged{Version: 1, Keys: []*authv1.JsonWebKeySnapshot{{
			Kid: "k1", Kty: "OKP", Crv: "Ed25519", X: base64.RawURLEncoding.EncodeToString(public), Alg: "EdDSA", Use: "sig",
		}}})
		_, err = b.Publish(t.Context(), []bus.Message{{
			ID: id.NewUUID(), Subject: "auth.v1.signing_keys_changed.all", Payload: keys, OccurredAt: time.Now(),
		}})
		if err != nil {
			t.Fatal(err)
		}
		_, appURL := testkit.DBURLs(t, schema())
		addr, health := testkit.FreeAddr(t), service.NewHealth()
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- Run(ctx, &service.Host{
				Part: "booking", Log: testkit.Log(t), Metrics: prometheus.NewRegistry(), Health: health,
				Env: config.Env{
					"DATABASE_URL": appURL, "NATS_URL": testkit.NATSURL(t), "BUS_PREFIX": b.Prefix(), "GRPC_ADDR": addr,
					"SERVICE_CREDENTIAL_ID": "svc_01jb4x9m3vf6ksn8w2d7pq5r0t", "SERVICE_CREDENTIAL_SECRET": strings.Repeat("5", 64),
				},
			})
		}()
		testkit.Eventually(t, time.Minute, func() error {
			if reasons := health.Ready(ctx); len(reasons) > 0 {
				return fmt.Errorf("not ready: %v", reasons)
			}
			return nil
		})

		conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		raw, err := token.Sign(private, "k1", "reservation", token.Claims{
			Subject: id.New[id.APIClient]().String(), Kind: token.KindClient, Company: id.New[id.Company](), Zone: "Europe/London",
			Currency: "GBP", Scopes: []string{"events:write"}, IssuedAt: time.Now(), ExpiresAt: time.Now().Add(time.Hour),
		})
		if err != nil {
			t.Fatal(err)
		}
		made, err := bookingv1.NewEventServiceClient(conn).CreateEvent(bearer(ctx, raw), &bookingv1.CreateEventRequest{
			Title: "Yoga", Dates: []*bookingv1.NewEventDate{newDate(time.Hour, nil)},
		})
		if err != nil {
			t.Fatal(err)
		}
		heard := make(chan bus.Message, 1)
		listen, enough := context.WithCancel(t.Context())
		defer enough()
		go func() {
			_ = b.Consume(listen, bus.Consumer{Name: "listener", Subjects: []string{subjectEventCreated}, Handle: func(_ context.Context, msgs []bus.Message) error {
				heard <- msgs[0]
				return nil
			}})
		}()
		select {
		case m := <-heard:
			if !strings.Contains(string(m.Payload), made.GetEvent().GetId()) {
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
	t.Run("reports all invalid settings together", func(t *testing.T) {
		err := Run(t.Context(), &service.Host{Part: "booking", Env: config.Env{"DATABASE_MAX_CONNS": "0"}})
		for _, name := range []string{"SERVICE_CREDENTIAL_ID", "SERVICE_CREDENTIAL_SECRET", "DATABASE_URL", "DATABASE_MAX_CONNS"} {
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s is not among %v", name, err)
			}
		}
	})
}
