package auth

import (
	"bytes"
	"context"
	"crypto/rand"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"reservation.dev/devkit/testkit"
	"reservation.dev/platform/bus"
	"reservation.dev/platform/config"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/scopes"
	"reservation.dev/platform/seal"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	"reservation.dev/services/auth/migrations"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// world is a database and a bus on which any number of replicas run.
type world struct {
	t         *testing.T
	db        *pg.DB
	ownerURL  string
	sealer    *seal.Sealer
	masterKey []byte
	admin     bootstrapCredential
	log       *lockedBuffer
}

func newWorld(t *testing.T) *world {
	t.Helper()
	key := make([]byte, seal.KeySize)
	_, _ = rand.Read(key)
	sealer, err := seal.New(key)
	if err != nil {
		t.Fatal(err)
	}
	secret, _ := newSecret()
	ownerURL, appURL := testkit.DBURLs(t, pg.Migrations{Part: "auth", FS: migrations.FS, AppRole: testkit.AppRole()})
	db, err := pg.Open(t.Context(), pg.Config{URL: config.Secret(appURL)}, testkit.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return &world{
		t: t, db: db, ownerURL: ownerURL, sealer: sealer, masterKey: key,
		admin: bootstrapCredential{ID: id.New[id.ServiceCredential]().String(), Name: "operator", Secret: config.Secret(secret), Scopes: []string{token.Admin}},
		log:   &lockedBuffer{},
	}
}

// replica is one running auth service, with its own connection to the bus.
type replica struct {
	*world
	server   *Server
	keys     *keyring
	verifier *token.Verifier
	bus      *bus.Bus

	conn      *grpc.ClientConn
	tokens    authv1.TokenServiceClient
	companies authv1.CompanyServiceClient
	clients   authv1.ApiClientServiceClient
	apiKeys   authv1.ApiKeyServiceClient
	services  authv1.ServiceCredentialServiceClient
	signing   authv1.SigningKeyServiceClient
	admins    authv1.AdministratorServiceClient
	audit     authv1.AuditServiceClient
}

// start runs another replica until the test ends.
func (w *world) start() *replica {
	w.t.Helper()
	t := w.t
	b := testkit.Bus(t)
	log := slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	box := outbox.New(w.db, b, log, time.Now)
	r := &replica{
		world: w, bus: b, verifier: w.newVerifier(b),
		keys: &keyring{store: newStore(w.db), outbox: box, sealer: w.sealer, issuer: "reservation", interval: 24 * time.Hour, delay: 500 * time.Millisecond, now: time.Now, log: log},
	}
	if err := r.keys.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.server = NewServer(w.db, box, r.keys, sessionTimes{idle: 12 * time.Hour, lifetime: 14 * 24 * time.Hour}, log)
	r.server.events = b
	r.server.passwords = newPasswords(passwordCost{memory: 64, passes: 1}) // cheap, because nobody guesses in tests
	if err := r.server.bootstrap(t.Context(), []bootstrapCredential{w.admin}); err != nil {
		t.Fatal(err)
	}
	srv := rpc.NewServer(rpc.ServerOptions{Log: log, Verifier: r.verifier, Policy: Policy(), Idempotency: idem.WithKey})
	r.server.register(srv)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.background(func(context.Context) error { return srv.Serve(ln) })
	t.Cleanup(srv.Stop)
	w.background(box.Run)
	w.background(r.keys.follow(b))
	w.background(r.server.identityFeed().follow(b))
	conn, err := rpc.Dial(ln.Addr().String(), rpc.DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	r.conn = conn
	r.tokens, r.companies = authv1.NewTokenServiceClient(conn), authv1.NewCompanyServiceClient(conn)
	r.clients, r.services = authv1.NewApiClientServiceClient(conn), authv1.NewServiceCredentialServiceClient(conn)
	r.admins, r.audit = authv1.NewAdministratorServiceClient(conn), authv1.NewAuditServiceClient(conn)
	r.signing, r.apiKeys = authv1.NewSigningKeyServiceClient(conn), authv1.NewApiKeyServiceClient(conn)
	return r
}

// newVerifier returns a verifier as every process runs one.
func (w *world) newVerifier(b *bus.Bus) *token.Verifier {
	v := token.NewVerifier(token.Config{Issuer: "reservation", CacheSize: 1024}, time.Now)
	w.background(func(ctx context.Context) error { return v.Run(ctx, b) })
	return v
}

// background runs f until the test ends.
func (w *world) background(f func(ctx context.Context) error) {
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = f(ctx)
	}()
	w.t.Cleanup(func() {
		cancel()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
		}
	})
}

// as returns a context of the operator for a company; "" for none.
func (r *replica) as(company string) context.Context {
	r.t.Helper()
	var named id.Company
	if company != "" {
		var err error
		if named, err = id.Parse[id.Company](company); err != nil {
			r.t.Fatal(err)
		}
	}
	return rpc.As(r.t.Context(), token.NewSource(func(ctx context.Context) (string, time.Time, error) {
		res, err := r.tokens.IssueToken(ctx, &authv1.IssueTokenRequest{ClientId: r.admin.ID, ClientSecret: r.admin.Secret.Reveal()})
		return res.GetAccessToken(), time.Now().Add(time.Hour), err
	}), named)
}

func (r *replica) company() string {
	r.t.Helper()
	res, err := r.companies.CreateCompany(r.as(""), &authv1.CreateCompanyRequest{Name: "Studio", Timezone: "Europe/London", Currency: "GBP"})
	if err != nil {
		r.t.Fatal(err)
	}
	return res.GetCompany().GetId()
}

func (r *replica) client(company string, granted ...string) (clientID, secret string) {
	r.t.Helper()
	if len(granted) == 0 {
		granted = scopes.InterfaceA()
	}
	res, err := r.clients.CreateApiClient(r.as(company), &authv1.CreateApiClientRequest{Name: "CRM", Scopes: granted})
	if err != nil {
		r.t.Fatal(err)
	}
	return res.GetApiClient().GetId(), res.GetClientSecret()
}

// key creates an API key; without permissions it has all.
func (r *replica) key(company string, permissions ...string) (keyID, secret string) {
	r.t.Helper()
	res, err := r.apiKeys.CreateApiKey(r.as(company), &authv1.CreateApiKeyRequest{Name: "Website", Permissions: permissions})
	if err != nil {
		r.t.Fatal(err)
	}
	return res.GetApiKey().GetId(), res.GetApiSecret()
}

func (r *replica) token(clientID, secret string) string {
	r.t.Helper()
	res, err := r.tokens.IssueToken(r.t.Context(), &authv1.IssueTokenRequest{ClientId: clientID, ClientSecret: secret})
	if err != nil {
		r.t.Fatal(err)
	}
	return res.GetAccessToken()
}

// lockedBuffer collects the log lines of several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
