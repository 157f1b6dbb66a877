package admin

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/timestamppb"

	"reservation.dev/platform/fault"
	"reservation.dev/platform/id"
	"reservation.dev/platform/roles"
	"reservation.dev/platform/rpc"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
)

// sessionToken is the token of the signed-in administrator's session.
var sessionToken = strings.Repeat("s", sessionTokenLen)

// backend is a fake of all services. A test defines how each method answers; other methods answer
// that their data does not exist.
type backend struct {
	mu sync.Mutex
	// policy says which scopes the methods need, and granted which ones the caller has; nil: all.
	policy  rpc.Policy
	granted []string
	methods map[string]func(ctx context.Context, req proto.Message) (proto.Message, error)
	calls   []call
	// refused are the methods for which the caller lacked the scopes.
	refused []string
	silent  bool // does not record calls
}

func (b *backend) setSilent(silent bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.silent = silent
}

// call is a call that a page has made.
type call struct {
	method string
	token  string
	key    string // idempotency key
	req    proto.Message
}

// on defines how a method answers: on(b, "CreateApiClient", func(*Req) (*Res, error)).
func on[Q, R proto.Message](b *backend, method string, answer func(req Q) (R, error)) {
	b.methods[method] = func(_ context.Context, req proto.Message) (proto.Message, error) { return answer(req.(Q)) }
}

// Invoke implements grpc.ClientConnInterface.
func (b *backend) Invoke(ctx context.Context, method string, req, reply any, _ ...grpc.CallOption) error {
	name := method[strings.LastIndex(method, "/")+1:]
	b.mu.Lock()
	token := ""
	if claims := rpc.ClaimsFrom(ctx); claims != nil {
		token = claims.Raw
	}
	if !b.silent {
		b.calls = append(b.calls, call{name, token, rpc.IdempotencyKey(ctx), proto.Clone(req.(proto.Message))})
	}
	answer, err := b.methods[name], b.admit(method)
	b.mu.Unlock()
	if err != nil {
		return err
	}
	if answer == nil {
		return fault.Missing(name)
	}
	res, err := answer(ctx, req.(proto.Message))
	if err != nil {
		return err
	}
	proto.Merge(reply.(proto.Message), res)
	return nil
}

// admit refuses a call for which the caller lacks every scope, as services do.
func (b *backend) admit(method string) error {
	needed := b.policy[method]
	if needed == rpc.Public || needed == rpc.AnyToken || b.granted == nil {
		return nil
	}
	for scope := range strings.SplitSeq(needed, "|") {
		if slices.Contains(b.granted, scope) {
			return nil
		}
	}
	b.refused = append(b.refused, method)
	return fault.MissingScope(needed)
}

// NewStream implements grpc.ClientConnInterface; no page streams.
func (b *backend) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, fault.Missing("stream")
}

// called returns the calls of a method.
func (b *backend) called(method string) []call {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []call
	for _, c := range b.calls {
		if c.method == method {
			all = append(all, c)
		}
	}
	return all
}

// count returns how many calls were made since the last count.
func (b *backend) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.calls)
	b.calls = nil
	return n
}

// world is the dashboard with a fake backend, and a browser without JavaScript.
type world struct {
	t       *testing.T
	backend *backend
	web     *web
	server  *httptest.Server
	client  *http.Client
	company *authv1.Company
	role    authv1.AdministratorRole
	totp    bool
	notices []*authv1.Notice
	ahead   time.Duration // of the test clock
}

// policyOfAll returns the policy of all services whose protos are compiled in.
func policyOfAll() rpc.Policy {
	var all []*grpc.ServiceDesc
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			all = append(all, &grpc.ServiceDesc{ServiceName: string(file.Services().Get(i).FullName())})
		}
		return true
	})
	return rpc.PolicyOf(all...)
}

// play gives the administrator a role, and the backend the scopes of its token.
func (w *world) play(r roles.Role) {
	w.backend.mu.Lock()
	defer w.backend.mu.Unlock()
	w.role, w.backend.granted = r.Message(), r.Scopes()
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		t: t, backend: &backend{policy: policyOfAll(), methods: map[string]func(context.Context, proto.Message) (proto.Message, error){}},
		company: &authv1.Company{Id: id.New[id.Company]().String(), Name: "Riverside", Timezone: "Europe/London", Currency: "GBP"},
		role:    authv1.AdministratorRole_ADMINISTRATOR_ROLE_OWNER,
	}
	w.serve("")
	on(w.backend, "Authenticate", func(req *authv1.AuthenticateRequest) (*authv1.AuthenticateResponse, error) {
		if req.GetSessionToken() != sessionToken {
			return nil, fault.New(fault.Unauthenticated, "SESSION_ENDED", "the session has ended")
		}
		if req.GetTestMode() {
			return &authv1.AuthenticateResponse{Identity: w.testIdentity()}, nil
		}
		return &authv1.AuthenticateResponse{Identity: w.identity()}, nil
	})
	on(w.backend, "SignOut", func(*authv1.SignOutRequest) (*authv1.SignOutResponse, error) { return &authv1.SignOutResponse{}, nil })
	on(w.backend, "RecordAuditEntry", func(*authv1.RecordAuditEntryRequest) (*authv1.RecordAuditEntryResponse, error) {
		return &authv1.RecordAuditEntryResponse{}, nil
	})
	return w
}

// mediaURL is the setting MEDIA_URL of the dashboard.
const mediaURL = "https://files.test/media"

// connectionsTo returns connections that all lead to one backend.
func connectionsTo(b grpc.ClientConnInterface) connections {
	return connections{auth: b, customer: b, booking: b, pass: b, subscription: b, media: b, reports: b, webhook: b}
}

// serve starts the dashboard with ADMIN_URL set to address; "" is the test server's address.
func (w *world) serve(address string) {
	w.t.Helper()
	w.server = httptest.NewUnstartedServer(nil)
	cfg := &Config{URL: address, InterfaceA: "http://a.test", InterfaceB: "http://b.test/api/v1", MediaURL: mediaURL, Drain: time.Second}
	if address == "" {
		cfg.URL = "http://" + w.server.Listener.Addr().String()
	}
	var err error
	w.web, err = newWeb(cfg, slog.New(slog.NewTextHandler(io.Discard, nil)), prometheus.NewRegistry(),
		connectionsTo(w.backend).services())
	if err != nil {
		w.t.Fatal(err)
	}
	w.server.Config.Handler = w.web
	w.server.Start()
	w.t.Cleanup(w.server.Close)
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.client = &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func (w *world) identity() *authv1.Identity {
	return &authv1.Identity{
		Administrator: &authv1.Administrator{Id: id.NewUUID().String(), Name: "Ada", Email: "ada@example.com", Role: w.role, TotpEnabled: w.totp},
		Company:       w.company, AccessToken: "ada's token",
		Session: &authv1.Session{Id: "sess_1", ExpiresAt: timestamppb.New(time.Now().Add(time.Hour))},
		Notices: w.notices,
	}
}

// testIdentity is identity for the company in test mode.
func (w *world) testIdentity() *authv1.Identity {
	identity := w.identity()
	live, err := id.Parse[id.Company](w.company.GetId())
	if err != nil {
		panic(err)
	}
	identity.Company = proto.CloneOf(w.company)
	identity.Company.Id, identity.Company.ClockOffsetSeconds = live.Test().String(), int64(w.ahead/time.Second)
	identity.AccessToken = "ada's test token"
	return identity
}

// signIn puts the cookie of a session into the browser.
func (w *world) signIn() { w.setCookie(sessionCookie, sessionToken) }

// enter puts the browser in a mode.
func (w *world) enter(m mode) {
	value := ""
	if m == testMode {
		value = markOf(sessionToken)
	}
	w.setCookie(modeCookie, value)
}

// setCookie puts a cookie into the browser.
func (w *world) setCookie(name, value string) {
	w.t.Helper()
	u, err := url.Parse(w.server.URL)
	if err != nil {
		w.t.Fatal(err)
	}
	w.client.Jar.SetCookies(u, []*http.Cookie{{Name: name, Value: value, Path: "/"}})
}

// answer is a response that the browser got.
type answer struct {
	*http.Response
	body string
}

func (w *world) do(req *http.Request) answer {
	w.t.Helper()
	res, err := w.client.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	if mark := strings.Index(string(body), "⟦"); mark >= 0 {
		w.t.Errorf("%s prints a message without t: %s", req.URL.Path, string(body)[mark:min(mark+80, len(body))])
	}
	w.inGerman(req, res)
	return answer{res, string(body)}
}

func (w *world) get(path string) answer {
	w.t.Helper()
	req, err := http.NewRequest(http.MethodGet, w.server.URL+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.do(req)
}

// page returns a page, and fails if its status is not 200.
func (w *world) page(path string) string {
	w.t.Helper()
	a := w.get(path)
	if a.StatusCode != http.StatusOK {
		w.t.Fatalf("GET %s: %d\n%s", path, a.StatusCode, text(a.body))
	}
	return a.body
}

// post sends a form of this session with a new key: field, value, field, value, …
func (w *world) post(path string, pairs ...string) answer {
	w.t.Helper()
	return w.postKeyed(path, append([]string{keyField, id.NewUUID().String()}, pairs...)...)
}

// postKeyed is post with a given key.
func (w *world) postKeyed(path string, pairs ...string) answer {
	w.t.Helper()
	values := url.Values{csrfField: {tokenOf(sessionToken, liveMode)}}
	for i := 0; i+1 < len(pairs); i += 2 {
		values.Add(pairs[i], pairs[i+1])
	}
	return w.send(path, values, nil)
}

func (w *world) send(path string, values url.Values, header map[string]string) answer {
	w.t.Helper()
	req, err := http.NewRequest(http.MethodPost, w.server.URL+path, strings.NewReader(values.Encode()))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for name, value := range header {
		req.Header.Set(name, value)
	}
	return w.do(req)
}

// to returns the address that a response redirects to; "" if it does not redirect.
func (a answer) to() string {
	if a.StatusCode != http.StatusSeeOther {
		return ""
	}
	return a.Header.Get("Location")
}

// cookie returns the cookie with a name that the response sets; nil if it sets none.
func (a answer) cookie(name string) *http.Cookie {
	for _, c := range a.Cookies() {
		if c.Name == name {
			return c
		}
	}
	return nil
}

var tags = regexp.MustCompile(`(?s)<[^>]*>`)

// text returns the text of a page without its tags.
func text(body string) string {
	return strings.Join(strings.Fields(tags.ReplaceAllString(body, " ")), " ")
}

func (a answer) must(t *testing.T, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(a.body, part) {
			t.Errorf("the page lacks %q:\n%s", part, text(a.body))
		}
	}
}

func describe(a answer) string {
	return fmt.Sprintf("%d to %q\n%s", a.StatusCode, a.to(), text(a.body))
}
