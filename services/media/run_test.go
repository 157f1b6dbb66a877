package media

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
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
	"reservation.dev/platform/service"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	"reservation.dev/services/media/migrations"
)

// freeAddr returns a loopback address on which nothing listens. Its port is below those that the system gives to
// sockets without one. Otherwise another process could get it before the service listens.
func freeAddr(t *testing.T) string {
	t.Helper()
	for range 1000 {
		ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 5000+rand.IntN(7000)))
		if err == nil {
			_ = ln.Close()
			return ln.Addr().String()
		}
	}
	t.Fatal("no port is free")
	return ""
}

func TestRun(t *testing.T) {
	t.Run("becomes ready, serves files, and stops when its context ends", func(t *testing.T) {
		b := testkit.Bus(t)
		public, _, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		keys, err := proto.Marshal(&authv1.SigningKeysChanged{Version: 1, Keys: []*authv1.JsonWebKeySnapshot{{
			Kid: "k1", Kty: "OKP", Crv: "Ed25519", X: base64.RawURLEncoding.EncodeToString(public), Alg: "EdDSA", Use: "sig",
		}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Publish(t.Context(), []bus.Message{{
			ID: id.NewUUID(), Subject: "auth.v1.signing_keys_changed.all", Payload: keys, OccurredAt: time.Now(),
		}}); err != nil {
			t.Fatal(err)
		}
		_, appURL := testkit.DBURLs(t, pg.Migrations{Part: "media", FS: migrations.FS, AppRole: testkit.AppRole()})
		files, health := freeAddr(t), service.NewHealth()
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- Run(ctx, &service.Host{
				Part: "media", Log: testkit.Log(t), Metrics: prometheus.NewRegistry(), Health: health,
				Env: config.Env{
					"DATABASE_URL": appURL, "NATS_URL": testkit.NATSURL(t), "BUS_PREFIX": b.Prefix(), "GRPC_ADDR": "127.0.0.1:0", "HTTP_ADDR": files,
					"SERVICE_CREDENTIAL_ID": "svc_01jb4x9m3vf6ksn8w2d7pq5r0t", "SERVICE_CREDENTIAL_SECRET": strings.Repeat("5", 64),
					"MASTER_KEY": masterKey().Reveal(), "MEDIA_URL": "http://" + files,
					"MEDIA_BUCKET": "file://" + filepath.ToSlash(t.TempDir()) + "?no_tmp_dir=true",
				},
			})
		}()
		testkit.Eventually(t, 2*time.Minute, func() error {
			if reasons := health.Ready(ctx); len(reasons) > 0 {
				return fmt.Errorf("not ready: %v", reasons)
			}
			return nil
		})
		testkit.Eventually(t, 2*time.Minute, func() error {
			res, err := http.Get("http://" + files + "/play/x")
			if err != nil {
				return err
			}
			defer res.Body.Close()
			if res.StatusCode != http.StatusNotFound {
				t.Errorf("got %s", res.Status)
			}
			return nil
		})
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Run("reports all invalid settings together", func(t *testing.T) {
		err := Run(t.Context(), &service.Host{Part: "media", Env: config.Env{"MEDIA_BUCKET": "x", "MEDIA_MAX_FILE": "0"}})
		for _, name := range []string{"SERVICE_CREDENTIAL_ID", "MASTER_KEY", "DATABASE_URL", "MEDIA_BUCKET", "MEDIA_MAX_FILE"} {
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s is not among %v", name, err)
			}
		}
	})
}
