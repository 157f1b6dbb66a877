package webhook

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"

	"reservation.dev/platform/bus"
	"reservation.dev/platform/config"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/seal"
	"reservation.dev/platform/service"
	"reservation.dev/platform/tenancy"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
	webhookv1 "reservation.dev/proto/gen/reservation/webhook/v1"
	"reservation.dev/services/webhook/migrations"
)

// Part returns the webhook service as a service of the platform.
func Part() service.Part {
	return service.Part{
		Name:       "webhook",
		About:      "webhook endpoints, and the deliveries to them",
		Callers:    []string{"auth", "admin", "gateway-b", "reservectl"},
		Migrations: migrations.FS,
		Settings:   func() any { return &Config{} },
		Run:        Run,
	}
}

// Run serves the webhook service and sends deliveries until ctx ends.
func Run(ctx context.Context, h *service.Host) error {
	var cfg Config
	if err := config.Read(h.Env, &cfg); err != nil {
		return err
	}
	sealer, err := seal.Parse(cfg.Seal.MasterKey)
	if err != nil {
		return err
	}
	kit, err := service.Open(ctx, h, cfg.Base, Part())
	if err != nil {
		return err
	}
	defer kit.Close()
	authConn, err := h.Dial("auth", cfg.AuthAddr, rpc.DialOptions{})
	if err != nil {
		return err
	}
	defer authConn.Close()
	customerConn, err := h.Dial("customer", cfg.CustomerAddr, rpc.DialOptions{})
	if err != nil {
		return err
	}
	defer customerConn.Close()

	engine := NewEngine(cfg.Delivery, kit.DB, kit.Outbox, sealer, h.Log)
	engine.periodic = kit.Jobs
	if err := engine.Collect(h.Metrics); err != nil {
		return err
	}
	stopListening, err := engine.shareWakeUps(kit.Bus)
	if err != nil {
		return err
	}
	defer stopListening()
	srv := kit.GRPC(Policy())
	webhookv1.RegisterWebhookServiceServer(srv, NewServer(engine))
	authv1.RegisterTestDataServiceServer(srv, tenancy.NewTestData(kit.DB, "endpoints", "endpoint_secrets"))
	privacyv1.RegisterPersonalDataServiceServer(srv, NewExporter(kit.DB))
	intake := NewIntake(engine, NewClients(customerConn, authConn, cfg.Credential.Source(authConn)))

	g := service.NewGroup(ctx, h.Log)
	kit.Run(g)
	g.Go("webhook engine", engine.Run)
	g.Go("webhook intake of purchases", func(ctx context.Context) error { return intake.RunPurchases(ctx, kit.Bus) })
	g.Go("webhook intake of changes", func(ctx context.Context) error { return intake.RunChanges(ctx, kit.Bus) })
	g.Go("erasures", func(ctx context.Context) error { return NewParticipant(kit.DB, kit.Outbox, h.Log).Run(ctx, kit.Bus) })
	g.Go("grpc", kit.ServeGRPC(srv))
	return g.Wait()
}

// shareWakeUps forwards wake-ups and changes of endpoints to the other processes and receives theirs.
// They are hints that can be lost: the sweep finds the deliveries, and those that wait in a process
// are soon sent.
func (e *Engine) shareWakeUps(b *bus.Bus) (stop func(), err error) {
	wake, change := b.Prefix()+".webhook.wake", b.Prefix()+".webhook.change"
	woken, err := b.Conn().Subscribe(wake, func(m *nats.Msg) {
		if keys := parseKeys(m.Data); len(keys) > 0 {
			e.wake(keys)
		}
	})
	if err != nil {
		return nil, err
	}
	changed, err := b.Conn().Subscribe(change, func(m *nats.Msg) {
		for _, key := range parseKeys(m.Data) {
			e.changed(key)
		}
	})
	if err != nil {
		return nil, errors.Join(err, woken.Unsubscribe())
	}
	e.notifyPeers = func(keys []endpointKey) { _ = b.Conn().Publish(wake, appendKeys(nil, keys)) }
	e.notifyChange = func(key endpointKey) { _ = b.Conn().Publish(change, appendKeys(nil, []endpointKey{key})) }
	return func() { _, _ = woken.Unsubscribe(), changed.Unsubscribe() }, nil
}

const keySize = 32

func appendKeys(b []byte, keys []endpointKey) []byte {
	for _, k := range keys {
		b = append(append(b, k.company[:]...), k.endpoint[:]...)
	}
	return b
}

func parseKeys(b []byte) []endpointKey {
	keys := make([]endpointKey, 0, len(b)/keySize)
	for ; len(b) >= keySize; b = b[keySize:] {
		var k endpointKey
		copy(k.company[:], b)
		copy(k.endpoint[:], b[16:])
		keys = append(keys, k)
	}
	return keys
}
