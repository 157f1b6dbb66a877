package media

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"reservation.dev/devkit/testkit"
	"reservation.dev/devkit/tokentest"
	"reservation.dev/platform/config"
	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/idem"
	"reservation.dev/platform/outbox"
	"reservation.dev/platform/pg"
	"reservation.dev/platform/rpc"
	"reservation.dev/platform/seal"
	"reservation.dev/platform/service"
	"reservation.dev/platform/tenancy"
	"reservation.dev/platform/token"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	mediav1 "reservation.dev/proto/gen/reservation/media/v1"
	privacyv1 "reservation.dev/proto/gen/reservation/privacy/v1"
	"reservation.dev/services/media/migrations"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// fakeAuth is a fake of the auth service that knows every company.
type fakeAuth struct{}

func (fakeAuth) Company(_ context.Context, company id.Company) (tenancy.Company, error) {
	return tenancy.Company{ID: company, Timezone: "America/New_York", Currency: "USD", Version: 1}, nil
}

// clock is a clock that a test moves.
type clock struct {
	mu    sync.Mutex
	ahead time.Duration
	fixed time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.fixed.IsZero() {
		return c.fixed
	}
	return time.Now().Add(c.ahead)
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// world is the service with real gRPC, HTTP and PostgreSQL, and a bucket in a directory, for one company.
type world struct {
	t         testing.TB
	db        *pg.DB
	dir       string // of the bucket
	server    *Server
	settings  Settings
	clock     *clock
	others    *fakeServices
	issuer    *tokentest.Issuer
	client    mediav1.MediaServiceClient
	copies    authv1.CompanyCopyServiceClient
	deletions customerv1.CustomerDeletionServiceClient
	testData  authv1.TestDataServiceClient
	exports   privacyv1.PersonalDataServiceClient
	http      *http.Client
	company   id.Company
	jobs      *service.Jobs
	stopJoins func()
}

// settingsIn returns the settings of tests, with a bucket in a directory.
func settingsIn(dir, publicURL string) Settings {
	return Settings{
		PublicURL: publicURL, Bucket: "file://" + filepath.ToSlash(dir) + "?create_dir=true&no_tmp_dir=true&metadata=skip",
		MaxFile: 2 << 30, MaxUploads: 20, Parts: 32, CompanyParts: 8, Playbacks: 64, CompanyPlaybacks: 16,
		Stalled: 10 * time.Second, RemovalDelay: 168 * time.Hour,
	}
}

// start starts the service on its own database and bucket. Tests that use it run in parallel.
func start(t testing.TB, change ...func(*Settings)) *world {
	t.Helper()
	if t, ok := t.(*testing.T); ok {
		t.Parallel()
	}
	return startAlone(t, change...)
}

// startAlone is start for a test that runs while no other does.
func startAlone(t testing.TB, change ...func(*Settings)) *world {
	t.Helper()
	w := &world{
		t: t, db: testkit.DB(t, pg.Migrations{Part: "media", FS: migrations.FS, AppRole: testkit.AppRole()}), dir: t.TempDir(),
		issuer: tokentest.New(t), others: newFakeServices(t), company: id.New[id.Company](), clock: &clock{},
	}
	files := listen(t)
	w.settings = settingsIn(w.dir, "http://"+files.Addr().String())
	for _, c := range change {
		c(&w.settings)
	}
	w.server = w.newServer()
	srv := &http.Server{Handler: w.server.Handler(), ReadHeaderTimeout: newHTTPServer(nil).ReadHeaderTimeout}
	go func() { _ = srv.Serve(files) }()
	t.Cleanup(func() { _ = srv.Close() })
	transport := &http.Transport{MaxIdleConnsPerHost: 16, ExpectContinueTimeout: 10 * time.Second}
	t.Cleanup(transport.CloseIdleConnections)
	w.http = &http.Client{Transport: transport, Timeout: time.Minute}
	w.serveGRPC()
	w.jobs = service.NewJobs(testkit.Log(t))
	w.startJoins()
	return w
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

func masterKey() config.Secret {
	return config.Secret(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, seal.KeySize)))
}

// newServer returns another server on the database and bucket of w, as another process has it.
func (w *world) newServer() *Server {
	w.t.Helper()
	source := token.NewSource(func(context.Context) (string, time.Time, error) { return "own", time.Now().Add(time.Hour), nil })
	s, err := NewServer(w.t.Context(), Deps{
		DB: w.db, Outbox: outbox.New(w.db, nil, testkit.Log(w.t), time.Now), Companies: NewCompanies(w.db, fakeAuth{}),
		Clients: NewClients(w.others.conns(w.t), source), Log: testkit.Log(w.t),
		Config: Config{Media: w.settings, Seal: seal.Config{MasterKey: masterKey()}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(s.Close)
	s.now = w.clock.now
	if err := s.Collect(prometheus.NewRegistry()); err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) serveGRPC() {
	w.t.Helper()
	srv := rpc.NewServer(rpc.ServerOptions{Log: testkit.Log(w.t), Verifier: w.issuer.Verifier, Policy: Policy(), Idempotency: idem.WithKey})
	mediav1.RegisterMediaServiceServer(srv, w.server)
	authv1.RegisterCompanyCopyServiceServer(srv, w.server.companies)
	authv1.RegisterTestDataServiceServer(srv, NewTestData(tenancy.NewTestData(w.db, "removed_objects"), w.server))
	customerv1.RegisterCustomerDeletionServiceServer(srv, w.server)
	privacyv1.RegisterPersonalDataServiceServer(srv, NewExporter(w.db))
	if err := Policy().CheckServer(srv); err != nil {
		w.t.Fatal(err)
	}
	ln := listen(w.t)
	go func() { _ = srv.Serve(ln) }()
	w.t.Cleanup(srv.Stop)
	conn := dial(w.t, ln.Addr().String())
	w.client, w.copies = mediav1.NewMediaServiceClient(conn), authv1.NewCompanyCopyServiceClient(conn)
	w.deletions, w.testData = customerv1.NewCustomerDeletionServiceClient(conn), authv1.NewTestDataServiceClient(conn)
	w.exports = privacyv1.NewPersonalDataServiceClient(conn)
}

func dial(t testing.TB, addr string) *grpc.ClientConn {
	t.Helper()
	conn, err := rpc.Dial(addr, rpc.DialOptions{Timeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// startJoins starts the background joins of the server. stopJoins ends them, as the end of a process does.
func (w *world) startJoins() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.server.joins.Run(ctx, w.jobs)
	}()
	var once sync.Once
	w.stopJoins = func() { once.Do(func() { cancel(); <-done }) }
	w.t.Cleanup(w.stopJoins)
}

// of returns a world for another company on the same server.
func (w *world) of(company id.Company) *world {
	other := *w
	other.company = company
	return &other
}

// ctx returns the context of a caller of the company, with every scope of the service.
func (w *world) ctx() context.Context {
	w.t.Helper()
	return w.with("media:read", "media:write", "playback:write")
}

// with returns the context of a caller of the company with scopes.
func (w *world) with(scopes ...string) context.Context {
	w.t.Helper()
	claims, err := w.issuer.Verifier.Verify(w.t.Context(), w.issuer.Client(w.company, scopes...))
	if err != nil {
		w.t.Fatal(err)
	}
	return rpc.WithClaims(w.t.Context(), claims)
}

// must returns the response of a call that succeeds.
func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func (w *world) item(kind mediav1.MediaKind, collections ...string) *mediav1.MediaItem {
	w.t.Helper()
	return must[*mediav1.CreateMediaItemResponse](w.t)(w.client.CreateMediaItem(w.ctx(), &mediav1.CreateMediaItemRequest{
		Title: "Morning Flow", Kind: kind, DurationSeconds: 1800, Tags: []string{"yoga"}, CollectionIds: collections,
	})).GetItem()
}

func (w *world) get(item string) *mediav1.MediaItem {
	w.t.Helper()
	return must[*mediav1.GetMediaItemResponse](w.t)(w.client.GetMediaItem(w.ctx(), &mediav1.GetMediaItemRequest{Id: item})).GetItem()
}

func (w *world) collection() *mediav1.Collection {
	w.t.Helper()
	return must[*mediav1.CreateCollectionResponse](w.t)(w.client.CreateCollection(w.ctx(), &mediav1.CreateCollectionRequest{Title: "Yoga at home"})).GetCollection()
}

// mp4 returns the content of an MP4 file of a size.
func mp4(size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(i * 7)
	}
	copy(b, "\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom")
	return b
}

func (w *world) newUpload(item string, content []byte) *mediav1.Upload {
	w.t.Helper()
	return must[*mediav1.CreateUploadResponse](w.t)(w.client.CreateUpload(w.ctx(), &mediav1.CreateUploadRequest{
		ItemId: item, FileName: "morning-flow.mp4", ContentType: "video/mp4", Size: int64(len(content)),
	})).GetUpload()
}

// put sends a part and returns the status and the body.
func (w *world) put(url string, body []byte, header ...string) (int, string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPut, url, bytes.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	for n := 0; n < len(header); n += 2 {
		req.Header.Set(header[n], header[n+1])
	}
	return w.do(req)
}

func (w *world) do(req *http.Request) (int, string) {
	w.t.Helper()
	res, err := w.http.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// putAll sends the parts of an upload.
func (w *world) putAll(u *mediav1.Upload, content []byte) {
	w.t.Helper()
	for n := range int(u.GetPartCount()) {
		part := content[n*int(u.GetPartSize()) : min(len(content), (n+1)*int(u.GetPartSize()))]
		if code, text := w.put(fmt.Sprint(u.GetPartUrl(), "/", n+1), part); code != http.StatusNoContent {
			w.t.Fatalf("part %d: %d %s", n+1, code, text)
		}
	}
}

// complete completes an upload, however long its parts are being joined.
func (w *world) complete(u *mediav1.Upload) (res *mediav1.CompleteUploadResponse, err error) {
	w.t.Helper()
	testkit.Eventually(w.t, 2*time.Minute, func() error {
		res, err = w.client.CompleteUpload(w.ctx(), &mediav1.CompleteUploadRequest{ItemId: u.GetItemId(), UploadId: u.GetId()})
		if err == nil && res.GetUpload().GetStatus() == mediav1.UploadStatus_UPLOAD_STATUS_COMPLETING {
			return errors.New("the parts are being joined")
		}
		return nil
	})
	return res, err
}

// video returns a published video with a file.
func (w *world) video(content []byte, collections ...string) *mediav1.MediaItem {
	w.t.Helper()
	i := w.item(mediav1.MediaKind_MEDIA_KIND_VIDEO, collections...)
	u := w.newUpload(i.GetId(), content)
	w.putAll(u, content)
	must[*mediav1.CompleteUploadResponse](w.t)(w.complete(u))
	return w.setStatus(i.GetId(), mediav1.MediaStatus_MEDIA_STATUS_PUBLISHED)
}

func (w *world) setStatus(item string, status mediav1.MediaStatus) *mediav1.MediaItem {
	w.t.Helper()
	return must[*mediav1.UpdateMediaItemResponse](w.t)(w.client.UpdateMediaItem(w.ctx(), &mediav1.UpdateMediaItemRequest{Id: item, Status: status})).GetItem()
}

func (w *world) entitle(req *mediav1.CreateEntitlementRequest) *mediav1.Entitlement {
	w.t.Helper()
	return must[*mediav1.CreateEntitlementResponse](w.t)(w.client.CreateEntitlement(w.ctx(), req)).GetEntitlement()
}

func (w *world) link(item, customer string) (*mediav1.CreatePlaybackLinkResponse, error) {
	return w.client.CreatePlaybackLink(w.ctx(), &mediav1.CreatePlaybackLinkRequest{ItemId: item, CustomerId: customer})
}

// fetch requests a link and returns the status, the headers and the body.
func (w *world) fetch(url string, header ...string) (int, http.Header, []byte) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, url, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	for n := 0; n < len(header); n += 2 {
		req.Header.Set(header[n], header[n+1])
	}
	res, err := w.http.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return res.StatusCode, res.Header, body
}

// status returns the status of a link.
func (w *world) status(url string) int {
	w.t.Helper()
	code, _, _ := w.fetch(url)
	return code
}

// verify fails the test for every difference, and returns the number of checks.
func (w *world) verify() (checked int64) {
	w.t.Helper()
	checked, differences := w.differences()
	for _, d := range differences {
		w.t.Errorf("%v", d)
	}
	return checked
}

func (w *world) differences() (checked int64, found []*mediav1.MediaDifference) {
	w.t.Helper()
	stream, err := w.client.VerifyMedia(w.ctx(), &mediav1.VerifyMediaRequest{})
	if err != nil {
		w.t.Fatal(err)
	}
	for {
		res, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return checked, found
		}
		if err != nil {
			w.t.Fatal(err)
		}
		checked += res.GetChecked()
		if res.GetDifference() != nil {
			found = append(found, res.GetDifference())
		}
	}
}

// objects returns the names of the files in the bucket.
func (w *world) objects() (names []string) {
	w.t.Helper()
	err := w.server.bucket.list(w.t.Context(), "", func(page []stored) error {
		for _, o := range page {
			names = append(names, o.key)
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return names
}

// count returns the result of a query of one number over all companies.
func (w *world) count(sql string, args ...any) int64 {
	w.t.Helper()
	n, err := pg.One[int64](w.t.Context(), w.db, pg.AllCompanies(), sql, args...)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// setClock sets by how much the company's test clock is ahead, as auth does.
func (w *world) setClock(ahead time.Duration) {
	w.t.Helper()
	err := w.db.InTx(w.t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		return w.server.companies.Keep(ctx, tx, []tenancy.Company{{
			ID: w.company, Timezone: "America/New_York", Currency: "USD", ClockOffset: int64(ahead / time.Second), Version: time.Now().UnixNano(),
		}})
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func reason(err error) string {
	if err == nil {
		return ""
	}
	return fault.From(err).Reason
}

func wantReason(t testing.TB, err error, want string) {
	t.Helper()
	if got := reason(err); got != want {
		t.Errorf("got %q (%v), want %q", got, err, want)
	}
}

func wantMissing(t testing.TB, err error) {
	t.Helper()
	if !fault.Is(err, fault.NotFound) {
		t.Errorf("got %v, want NOT_FOUND", err)
	}
}

// changed returns a text with another character at a position.
func changed(s string, at int) string {
	c := byte('A')
	if s[at] == c {
		c = 'B'
	}
	return s[:at] + string(c) + s[at+1:]
}

// tokenOf returns the signed part of a link, and what comes before it.
func tokenOf(url string) (before, token string) {
	at := strings.LastIndex(url, "/") + 1
	return url[:at], url[at:]
}

// setTotals runs a statement over all companies.
func (w *world) setTotals(sql string) {
	w.t.Helper()
	if err := w.db.InTx(w.t.Context(), pg.AllCompanies(), func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, sql)
		return err
	}); err != nil {
		w.t.Fatal(err)
	}
}
