package observe

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	customerv1 "reservation.dev/proto/gen/reservation/customer/v1"
	passv1 "reservation.dev/proto/gen/reservation/pass/v1"
	"reservation.dev/test/harness"
)

// Personal data and secrets. None of them may appear in a log or a span.
const (
	firstName = "Quillon"
	lastName  = "Zarathorn"
	email     = "q.zarathorn@quillon-mail.example"
	mobile    = "+44 7700 900417"
	password  = "correct-horse-zebra-41"
	wrong     = "incorrect-horse-zebra-42"
	hookPath  = "/hook/quagga-77-token"
)

// TestTelemetry uses every interface of a platform with maximum telemetry, and checks its logs,
// spans and metrics.
func TestTelemetry(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	env := c.env()
	maps.Copy(env, map[string]string{
		"LOG_LEVEL": "debug", "LOG_FORMAT": "json", "WEBHOOK_RETRIES": "100ms", "WEBHOOK_TIMEOUT": "2s", "DEMO": "on",
	})
	s := harness.StartStandalone(t, harness.StandaloneOptions{Env: env})
	u := &user{s: s, op: s.Operator(t), private: []string{firstName, lastName, "quillon-mail", "q.zarathorn", "7700 900417", "7700900417", password, wrong, "quagga-77"}}
	u.company = u.op.NewCompany(t, "Europe/London")
	t.Run("customers and bookings on Interface B", u.useB)
	t.Run("profiles and lists on Interface A", u.useA)
	t.Run("the dashboard", u.useDashboard)
	t.Run("gRPC", u.useGRPC)
	var metrics string
	t.Run("every metric in use exists", func(t *testing.T) {
		harness.Eventually(t, patience, func() error {
			metrics = scrape(t, s.Credentials.AdminPort)
			asked := usedMetrics(t)
			// Standalone serves gRPC without TLS; platform/mtls tests the TLS metrics.
			maps.DeleteFunc(asked, func(name string, _ []string) bool { return strings.HasPrefix(name, "grpc_tls_") })
			return missing(asked, metrics)
		})
	})
	t.Run("every service that uses NATS reports its connection", func(t *testing.T) {
		for _, part := range []string{"auth", "customer", "booking", "pass", "subscription", "media", "reports", "webhook", "gateway-a", "gateway-b"} {
			if !strings.Contains(metrics, fmt.Sprintf("bus_connected{part=%q} 1\n", part)) {
				t.Errorf("%s does not report that it is connected", part)
			}
		}
	})
	t.Run("the runbook for jobs lists every job", func(t *testing.T) {
		told, runs := map[string]bool{}, map[string]bool{}
		for line := range strings.Lines(read(t, filepath.Join(runbooks, "JobNotSucceeding.md"))) {
			if cells := strings.Split(line, "|"); len(cells) > 2 {
				for _, m := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(cells[1], -1) {
					told[m[1]] = true
				}
			}
		}
		for _, m := range regexp.MustCompile(`job_interval_seconds\{[^}]*task="([a-z_]+)"`).FindAllStringSubmatch(metrics, -1) {
			runs[m[1]] = true
		}
		if diff := cmp.Diff(runs, told); diff != "" || len(runs) < 10 {
			t.Errorf("%d jobs differ from the page (-jobs +page):\n%s", len(runs), diff)
		}
	})
	t.Run("series are bounded: routes are patterns and methods are known", func(t *testing.T) { testLabels(t, metrics) })
	s.Stop(t)
	t.Run("no log line has personal data or a secret", func(t *testing.T) {
		text, err := os.ReadFile(s.LogFile())
		if err != nil {
			t.Fatal(err)
		}
		log := string(text)
		for _, want := range []string{`"msg":"request"`, `"msg":"rpc failed"`, `"msg":"webhook attempt"`} {
			if !strings.Contains(log, want) {
				t.Errorf("there is no line %s", want)
			}
		}
		for _, part := range []string{"auth", "customer", "booking", "pass", "subscription", "media", "reports", "webhook", "admin", "gateway-a", "gateway-b"} {
			if !strings.Contains(log, fmt.Sprintf(`"part":%q`, part)) {
				t.Errorf("%s has logged nothing", part)
			}
		}
		if strings.Contains(log, `"part":"standalone","part":`) {
			t.Error("log lines name two services")
		}
		for line := range strings.Lines(log) {
			u.nothingPrivate(t, line, line)
		}
	})
	t.Run("no span has personal data or a secret", func(t *testing.T) {
		all := c.all()
		if len(all) < 50 {
			t.Fatalf("only %d spans were received", len(all))
		}
		for _, s := range all {
			text, err := proto.Marshal(s.Span)
			if err != nil {
				t.Fatal(err)
			}
			u.nothingPrivate(t, string(text), s.Span.String())
		}
	})
}

// user uses a platform, and knows which data must not appear in its telemetry.
type user struct {
	s       *harness.Standalone
	op      *harness.Operator
	company *harness.Company
	private []string

	customer string // the customer's identifier
}

func (u *user) nothingPrivate(t *testing.T, text, shown string) {
	t.Helper()
	lower := strings.ToLower(text)
	for _, p := range u.private {
		if p != "" && strings.Contains(lower, strings.ToLower(p)) {
			t.Errorf("%q is in %.600s", p, shown)
		}
	}
}

func person() string {
	return fmt.Sprintf(`{"firstName":%q,"lastName":%q,"email":%q,"mobile":%q}`, firstName, lastName, email, mobile)
}

// useB creates customers with valid and invalid requests and books, also with a webhook endpoint
// on which nothing listens.
func (u *user) useB(t *testing.T) {
	key := u.company.NewKey(t, 0)
	b := harness.NewB(t, u.s.Credentials.InterfaceB.BaseURL)
	token := b.Token(t, key)
	u.private = append(u.private, key.Secret, token, token[strings.LastIndexByte(token, '.'):])
	_, secret := u.company.NewEndpoint(t, "https://127.0.0.1:9"+hookPath)
	u.private = append(u.private, secret)
	u.customer = create(t, b, token, "/customers", person(), nil)
	again := create(t, b, token, "/customers", person(), nil)
	event := create(t, b, token, "/events", `{"title":"Clay","timezone":"Europe/London","startsAt":"2099-03-28T09:30:00","duration":60,"capacity":5,
		"pricingOptions":[{"name":"Place","price":12.35,"currency":"GBP","credits":2}]}`, nil)
	create(t, b, token, "/events/"+event+"/registrations", fmt.Sprintf(`{"customerId":%q,"spots":1}`, u.customer), nil)
	for _, r := range []harness.Request{
		{Path: "/customers?email=" + url.QueryEscape(email), Token: token},
		{Path: "/customers/" + url.PathEscape(email), Token: token},
		{Path: "/customers?sort=" + url.QueryEscape(lastName), Token: token},
		{Path: "/customers", Token: token, Body: strings.Replace(person(), "@", " at ", 1)},
		{Path: "/customers", Token: token, Body: strings.Replace(person(), `"email"`, `"`+lastName+`"`, 1)},
		{Path: "/customers", Token: token, Body: person()[:40]},
		{Path: "/customers", Token: token + "x", Body: person()},
		{Path: "/customers/" + u.customer, Token: token, Method: http.MethodPatch, Body: fmt.Sprintf(`{"mobile":%q}`, strings.Repeat(mobile, 10))},
		{Path: "/customers/" + u.customer, Token: token, Method: http.MethodPut, Body: person()},
		{Path: "/customers/" + again, Token: token, Method: http.MethodDelete},
		{Path: "/events/" + event + "/registrations", Token: token, Body: fmt.Sprintf(`{"customerId":%q,"spots":1}`, lastName)},
		{Path: "/events/" + event + "/registrations", Token: token, Body: fmt.Sprintf(`{"customerId":%q,"spots":50}`, u.customer)},
		{Path: "/auth/token", Body: fmt.Sprintf(`{"apiKey":%q,"apiSecret":%q}`, key.ID, wrong)},
		{Path: "/auth/token", Body: fmt.Sprintf(`{"apiKey":%q,"apiSecret":%q}`, email, wrong)},
		{Path: "/" + lastName, Token: token},
	} {
		if answer := b.Do(t, r); answer.Code >= 500 {
			t.Errorf("%s %s: %d", r.Method, r.Path, answer.Code)
		}
	}
}

func (u *user) useA(t *testing.T) {
	client := u.company.NewClient(t)
	a := u.s.A(t)
	token := a.Token(t, client)
	u.private = append(u.private, client.Secret, token)
	profile := "/customer/" + u.customer + "/profile"
	for _, r := range []harness.Request{
		{Path: "/customers", Token: token}, {Path: profile, Token: token},
		{Path: "/customer/" + u.customer + "/bookings", Token: token},
		{Path: "/customer/" + url.PathEscape(email) + "/profile", Token: token},
		{Path: profile, Token: token, Method: http.MethodPut, Body: fmt.Sprintf(`{"data":{"firstName":%q,"lastName":%q,"email":%q}}`, firstName, lastName, email)},
		{Path: profile, Token: token, Method: http.MethodPut, Body: fmt.Sprintf(`{"email":"%s %s"}`, email, email)},
		{Path: "/token", Body: fmt.Sprintf(`{"client_id":%q,"client_secret":%q}`, client.ID, wrong)},
	} {
		if answer := a.Do(t, r); answer.Code >= 500 {
			t.Errorf("%s %s: %d", r.Method, r.Path, answer.Code)
		}
	}
}

// useDashboard signs in, first with a wrong password, and searches for the customer.
func (u *user) useDashboard(t *testing.T) {
	admin := u.s.Credentials.Admin
	u.private = append(u.private, admin.Password)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	defer client.CloseIdleConnections()
	for _, with := range []url.Values{
		{"email": {email}, "password": {wrong}}, {"email": {admin.Email}, "password": {wrong}}, {"email": {admin.Email}, "password": {admin.Password}},
	} {
		u.visit(t, client, http.MethodPost, "/sign-in", with)
	}
	for _, path := range []string{"/", "/customers?q=" + url.QueryEscape(lastName), "/customers/" + lastName, "/invitation/" + password} {
		u.visit(t, client, http.MethodGet, path, nil)
	}
	u.visit(t, client, http.MethodPost, "/customers", url.Values{"first": {firstName}, "last": {lastName}, "email": {email}, "mobile": {mobile}})
}

func (u *user) visit(t *testing.T, client *http.Client, method, path string, form url.Values) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, u.s.Credentials.Admin.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	if res.StatusCode >= 500 {
		t.Errorf("%s %s: %d", method, path, res.StatusCode)
	}
	for _, cookie := range client.Jar.Cookies(req.URL) {
		u.private = append(u.private, cookie.Value)
	}
}

// useGRPC makes requests that the services refuse, as internal teams may.
func (u *user) useGRPC(t *testing.T) {
	ctx := u.company.Ctx(t.Context())
	refused := map[string]func(ctx context.Context) error{
		"a customer with a wrong address": func(ctx context.Context) error {
			_, err := u.op.Customers.CreateCustomer(ctx, &customerv1.CreateCustomerRequest{FirstName: firstName, LastName: lastName, Email: strings.ReplaceAll(email, "@", " at ")})
			return err
		},
		"an administrator twice": func(ctx context.Context) error {
			req := &authv1.CreateAdministratorRequest{Email: email, Name: firstName + " " + lastName, Role: authv1.AdministratorRole_ADMINISTRATOR_ROLE_MANAGER}
			res, err := u.op.Administrators.CreateAdministrator(ctx, req)
			if err != nil {
				return err
			}
			u.private = append(u.private, res.GetGeneratedPassword())
			_, err = u.op.Administrators.CreateAdministrator(ctx, req)
			return err
		},
		"a pass for an unknown customer": func(ctx context.Context) error {
			_, err := u.op.Passes.AssignCustomerPass(ctx, &passv1.AssignCustomerPassRequest{CustomerId: lastName})
			return err
		},
		"a sign-in with a wrong password": func(ctx context.Context) error {
			_, err := u.op.Administrators.SignIn(ctx, &authv1.SignInRequest{Email: email, Password: wrong, Address: "192.0.2.1"})
			return err
		},
	}
	for what, try := range refused {
		if err := try(ctx); err == nil {
			t.Errorf("%s was accepted", what)
		}
	}
}
