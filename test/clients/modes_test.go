package clients

import (
	"context"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"reservation.dev/devkit/pgserver"
	"reservation.dev/platform/id"
	"reservation.dev/platform/roles"
	"reservation.dev/platform/scopes"
	authv1 "reservation.dev/proto/gen/reservation/auth/v1"
	"reservation.dev/test/harness"
)

// TestModes checks for every operation and every RPC that a credential in test mode neither sees nor
// changes the data of the same company in live mode, and the other way round.
func TestModes(t *testing.T) {
	t.Parallel()
	postgres := harness.StartPostgres(t, filepath.Join(harness.TempDir(t), "postgres"), pgserver.Fast)
	platform := harness.StartStandalone(t, harness.StandaloneOptions{
		// The retries of deliveries would change rows during the test.
		Env: map[string]string{"RATE_LIMIT": "10000", "DATABASE_URL": postgres.AdminURL(), "WEBHOOK_RETRIES": "24h"},
	})
	w := &modeWorld{platform: platform, conns: connect(t, platform), databases: databases(t, postgres)}
	operator := platform.Operator(t)
	company := operator.NewCompany(t, "Europe/London")
	enabled, err := authv1.NewTestModeServiceClient(w.conns["auth"]).EnableTestMode(company.Ctx(t.Context()), &authv1.EnableTestModeRequest{})
	if err != nil {
		t.Fatal(err)
	}
	session := signIn(t, operator, company, roles.Owner)
	invited := &authv1.InviteAdministratorRequest{Email: id.NewUUID().String() + "@example.com", Role: authv1.AdministratorRole_ADMINISTRATOR_ROLE_MANAGER}
	if _, err := operator.Administrators.InviteAdministrator(company.Ctx(t.Context()), invited); err != nil {
		t.Fatal(err)
	}
	live := w.side(t, operator, company, " (live)", &authv1.AuthenticateRequest{SessionToken: session})
	test := w.side(t, operator, operator.Company(enabled.GetCompany().GetId()), " (test)", &authv1.AuthenticateRequest{SessionToken: session, TestMode: true})
	// Credentials in test mode can reset the test data, so theirs is the last turn.
	t.Run("live mode neither sees nor changes test data", func(t *testing.T) { w.testSeparation(t, live, test) })
	t.Run("test mode neither sees nor changes live data", func(t *testing.T) { w.testSeparation(t, test, live) })
	t.Run("every RPC accepts exactly the roles that have one of its scopes", func(t *testing.T) {
		w.testRoles(t, operator, operator.NewCompany(t, "Europe/London"))
	})
	t.Run("the RPCs in these tests find what belongs to the caller", func(t *testing.T) { w.testControl(t, operator, live) })
}

// side is a company in one mode, with data and credentials.
type side struct {
	company *harness.Company
	marker  string
	callers []*caller         // of both interfaces
	tokens  map[string]string // by the kind of the credential
	rpcs    []string          // its identifiers, one of each kind, in the order of the kinds
	seen    map[string]bool   // its identifiers
}

// signIn returns the session of a new administrator of a company.
func signIn(t *testing.T, operator *harness.Operator, company *harness.Company, role roles.Role) string {
	t.Helper()
	const password = "correct horse battery"
	req := &authv1.CreateAdministratorRequest{Email: id.NewUUID().String() + "@example.com", Name: "Ada", Password: password, Role: role.Message()}
	if role == roles.Teacher {
		req.StaffId = id.New[id.StaffMember]().String()
	}
	made, err := operator.Administrators.CreateAdministrator(company.Ctx(t.Context()), req)
	if err != nil {
		t.Fatal(err)
	}
	res, err := operator.Administrators.SignIn(t.Context(), &authv1.SignInRequest{Email: made.GetAdministrator().GetEmail(), Password: password, Address: "192.0.2.1"})
	if err != nil {
		t.Fatal(err)
	}
	return res.GetSessionToken()
}

// side plays the scenarios of both interfaces in a company, and creates a credential of each kind.
func (w *modeWorld) side(t *testing.T, operator *harness.Operator, company *harness.Company, marker string, session *authv1.AuthenticateRequest) *side {
	t.Helper()
	s := &side{company: company, marker: marker, tokens: map[string]string{}, seen: map[string]bool{}}
	for _, f := range faces() {
		r := &routes{face: f, platform: w.platform, operator: operator, operations: described(t, descriptionFile(t, f.name))}
		c := r.callerOf(t, company)
		c.marker = marker
		c.steps = slices.DeleteFunc(c.steps, func(s step) bool { return strings.HasPrefix(r.operations[s.operation].path, "/test-") })
		c.play(t, "deleteEvent", "deleteCustomer", "deleteNote", "deleteWebhookEndpoint", "deleteMediaEntitlement", "deleteMediaCollection")
		s.callers = append(s.callers, c)
		s.tokens["of interface "+f.name] = c.values["accessToken"]
		maps.Copy(s.seen, c.seen)
		for _, value := range c.values {
			for _, found := range identifier.FindAllString(value, -1) {
				s.seen[found] = true
			}
		}
	}
	machine, err := operator.Credentials.CreateServiceCredential(company.Ctx(t.Context()), &authv1.CreateServiceCredentialRequest{Name: "Sync", Scopes: scopes.Service()})
	if err != nil {
		t.Fatal(err)
	}
	issued, err := operator.Tokens.IssueToken(t.Context(), &authv1.IssueTokenRequest{ClientId: machine.GetServiceCredential().GetId(), ClientSecret: machine.GetSecret()})
	if err != nil {
		t.Fatal(err)
	}
	signed, err := operator.Administrators.Authenticate(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	published, err := operator.PublishableKeys.CreatePublishableKey(company.Ctx(t.Context()), &authv1.CreatePublishableKeyRequest{Name: "Website", Origins: []string{"https://studio.example"}})
	if err != nil {
		t.Fatal(err)
	}
	exchanged, err := operator.Tokens.ExchangePublishableKey(t.Context(), &authv1.ExchangePublishableKeyRequest{Key: published.GetPublishableKey().GetId()})
	if err != nil {
		t.Fatal(err)
	}
	s.tokens["of a service credential"], s.tokens["of an owner"] = issued.GetAccessToken(), signed.GetIdentity().GetAccessToken()
	s.tokens["of a publishable key"], s.tokens[publishable] = exchanged.GetAccessToken(), published.GetPublishableKey().GetId()
	w.collect(t, s)
	// Both modes know the company, the owner, and the platform's credential, which is in the audit log.
	for _, shared := range []string{company.ID, signed.GetIdentity().GetAdministrator().GetId(), w.platform.OperatorCredential.ID} {
		delete(s.seen, shared)
	}
	return s
}

// databases connects to the databases of all services.
func databases(t *testing.T, postgres *harness.Postgres) (all []*pgx.Conn) {
	t.Helper()
	connect := func(name string) *pgx.Conn {
		cfg, err := pgx.ParseConfig(postgres.AdminURL())
		if err != nil {
			t.Fatal(err)
		}
		if name != "" {
			cfg.Database = name
		}
		conn, err := pgx.ConnectConfig(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
		return conn
	}
	for _, name := range harness.Column(t, connect(""), `select datname from pg_database where datname like 'reservation\_%' order by 1`) {
		all = append(all, connect(name))
	}
	return all
}

// publishable is a publishable key itself, which only Interface B accepts.
const publishable = "a publishable key"

// testSeparation lets the credentials of one side try everything on what belongs to the other. Every
// row of the other company stays as it is.
func (w *modeWorld) testSeparation(t *testing.T, intruder, owner *side) {
	before := harness.SettledRows(t, w.databases, owner.company.ID)
	for i, c := range owner.callers {
		t.Run("interface "+c.name, func(t *testing.T) { c.testIntrusion(t, intruder, intruder.callers[i], owner) })
	}
	t.Run("gRPC", func(t *testing.T) { w.testRPCs(t, intruder, owner) })
	harness.SameRows(t, before, harness.SettledRows(t, w.databases, owner.company.ID))
}

// testIntrusion lets the credentials of another mode try every step of a scenario.
func (c *caller) testIntrusion(t *testing.T, intruder *side, stranger *caller, owner *side) {
	for _, s := range c.steps {
		if c.operations[s.operation].permission == "" {
			continue
		}
		c.intrude(t, stranger, s)
		for name, token := range intruder.tokens {
			r := c.request(s)
			r.Token, r.Header = token, http.Header{"Origin": {"https://studio.example"}}
			r.Body = strings.ReplaceAll(r.Body, c.marker, "")
			answer := c.Do(t, r)
			if leak := owner.leak(string(answer.Body), r.Path+r.Body); leak != "" {
				t.Errorf("%s with a token %s shows %s: %d %s", s.operation, name, leak, answer.Code, answer.Body)
			}
			if c.permitsOthers(name) && answer.Code < 300 {
				t.Errorf("%s with a token %s: %d %s", s.operation, name, answer.Code, answer.Body)
			}
		}
	}
	for found := range stranger.seen {
		if owner.seen[found] {
			t.Errorf("both modes see %s", found)
		}
	}
}

// permitsOthers reports whether a kind of credential is not one of those that the interface accepts.
func (c *caller) permitsOthers(token string) bool {
	return token != "of interface "+c.name && (c.name != "b" || token != publishable)
}

// leak returns what a response shows of the side although the request does not contain it, or "".
func (s *side) leak(response, request string) string {
	if strings.Contains(response, s.marker) {
		return "the text" + s.marker
	}
	for _, found := range identifier.FindAllString(response, -1) {
		if s.seen[found] && !strings.Contains(request, found) {
			return found
		}
	}
	return ""
}
